//! The device-control service without its doors: planning, control, recording, linking, events.
//!
//! Decisions are made by `slackwater-control` and the engine; the modules here read what they need
//! from [`cache`] and store, call them, and keep the results. Nothing here knows HTTP: errors are
//! facts, and the crate `slackwater-http` gives them statuses.

pub mod auth;
pub mod cache;
pub mod clock;
pub mod config;
pub mod control;
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
