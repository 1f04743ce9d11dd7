//! The service through its doors, on both databases.
#![expect(clippy::unwrap_used, reason = "what goes wrong in a test ends it, in helpers too")]

mod answer;
mod devices;
mod fetching;
mod harness;
mod identity;
mod lists;
mod postgres;
mod prices;
mod problems;
mod process;
mod readings;
mod sandbox;
mod statistics;
mod tenants;
mod users;
mod vendor;
mod versions;
