//! The integration over real sockets: its contract, its security profiles, its files.
#![expect(clippy::unwrap_used, reason = "helpers of tests are blunt, too")]

mod contract;
mod operators;
mod other_client;
mod point;
mod security;
