//! Connections to devices.

pub mod line;
mod session;
