//! The operators' address: metrics, documentation, and the sandbox's strings.

mod body;
pub mod clients;
pub mod control;
pub mod docs;
pub mod events;
pub mod guard;
pub mod link;
pub mod policies;
pub mod prices;
pub mod routes;
pub mod sandbox;
