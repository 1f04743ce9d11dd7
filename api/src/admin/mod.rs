//! The operators' address: metrics, documentation, and the sandbox's strings.

pub mod docs;
pub mod metrics;
pub mod openapi;
pub mod prices;
pub mod residents;
pub mod routes;
pub mod sandbox;
