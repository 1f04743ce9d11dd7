//! OCPP 1.6-J.

pub mod read;
pub mod write;
