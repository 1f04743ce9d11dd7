//! Orders and heartbeats of a grid operator, sent to a running service.
//!
//! Programs that follow a grid operator use this crate to reach the operators' address. It decides nothing.
//!
//! | File | Holds |
//! |---|---|
//! | `http` | requests over HTTP and TLS, with limits of time and size |
//! | `service` | orders and heartbeats at the operators' address |
//! | `arguments` | arguments that name the sender, the address, its token and certificates; and the log |
pub mod arguments;
pub mod http;
pub mod service;
