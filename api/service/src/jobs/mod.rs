//! Background jobs: polls of devices, and the common commit of their results.

pub mod keeping;
pub mod measuring;
pub mod poller;
pub mod reading;
