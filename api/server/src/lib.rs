//! The device-control service as a program: settings, listeners, the operators' address and the
//! command line.
//!
//! A program with integrations of its own hands them to [`process::run`]; everything else is as in
//! `slackwater-api`.

pub mod admin;
mod commands;
pub mod process;
pub mod running;
pub mod seeding;
pub mod serve;
