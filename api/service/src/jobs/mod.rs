//! What happens without being asked for.

pub mod keeping;
pub mod poller;
pub mod reading;
