//! Pricing on other processes or machines: messages, observers, the executor.
pub(crate) mod executor;
pub(crate) mod observer;
pub(crate) mod protocol;

pub use protocol::{Assigned, Overrides, Partition, PricingRequest, SessionUpdate, WorkerError};
