//! OCPP 2.0.1.

pub mod read;
pub mod write;
