//! Operators' address: console, metrics, documentation, clients, events, prices, policies, control of the
//! sandbox.

pub mod audit;
mod body;
pub mod chargers;
pub mod clients;
mod console;
pub mod control;
pub mod docs;
pub mod events;
pub mod grid;
pub mod guard;
pub mod inventory;
pub mod limits;
pub mod link;
pub mod policies;
pub mod prices;
mod reason;
pub mod routes;
pub mod sandbox;
