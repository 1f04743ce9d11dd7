//! Seeded simulation of a site with faults: the real state machines of the service, charge points that
//! speak 1.6 or 2.0.1 in JSON, and a judge that adds up meters.
#![expect(clippy::unwrap_used, reason = "tests fail by a panic")]
mod point;
mod properties;
mod protocol;
mod world;
