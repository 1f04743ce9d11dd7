//! Inverters and home batteries that speak SunSpec over Modbus TCP, as an integration of the service.
//!
//! A device has its facts in holding registers, in a chain of *models*: each has an identifier, a
//! length, and points at offsets that the SunSpec Alliance has published. The integration opens a
//! connection for each poll and each command, finds the models, and closes it.
//!
//! | Folder, file | Holds |
//! |---|---|
//! | [`map`] | pure functions over registers: points, the chain, facts of a device, storage control |
//! | [`settings`] | the settings, checked |
//! | [`edge`] | the socket: one request at a time, time-outs, pauses after failures |
//! | [`vendor`] | the integration |

pub mod edge;
pub mod map;
pub mod settings;
pub mod vendor;
