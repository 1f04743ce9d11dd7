//! Pricing in this process or on remote workers: the executor, observers, and messages.
pub(crate) mod executor;
pub(crate) mod observer;
pub(crate) mod protocol;

pub use protocol::{Assigned, Overrides, Partition, PricingRequest, SessionUpdate, WorkerError};
