//! Device-control service without its addresses: planning, control, recording, linking, events.
//!
//! Decisions are made by `slackwater-control` and the engine. The modules of this crate collect the
//! inputs of a decision from [`cache`] and store, call the decision, and keep its result. Errors
//! are facts without a status of HTTP; the crate `slackwater-http` maps them to problems.

pub mod auth;
pub mod cache;
pub mod clock;
pub mod config;
pub mod control;
pub mod delimited;
pub mod device_calls;
pub mod grid;
pub mod jobs;
pub mod linking;
pub mod outbox;
pub mod plans;
pub mod prices;
pub mod queue;
pub mod replicas;
pub mod samples;
pub mod state;
pub mod steering;
pub mod supervise;
pub mod traces;
pub mod vendor_calls;
pub mod words;
