//! Exchanges with charge points, without sockets and clock: texts in, texts out.
#![expect(clippy::unwrap_used, reason = "helpers of tests are blunt, too")]

mod balancing;
mod complaints;
mod limits;
mod messages;
mod pairing;
mod properties;
mod rig;
mod setup;
mod two_systems;
mod unknown_models;
