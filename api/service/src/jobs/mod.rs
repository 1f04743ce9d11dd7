//! Background jobs: polls of devices, in time and after news, the common commit of their results, and which
//! process reads which vendor.

pub mod keeping;
pub mod measuring;
pub mod news;
pub mod poller;
pub mod readers;
pub mod reading;
