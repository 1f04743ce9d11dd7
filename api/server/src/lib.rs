//! Process of the device-control service: command line, sockets, operators' address and seeding of
//! the sandbox.
//!
//! A program with integrations of its own passes them to [`process::run`]. Everything else is as in
//! the program `slackwater-api`.
//!
//! | Module | Holds |
//! |---|---|
//! | [`process`], `commands` | arguments of the process, and one file per command |
//! | [`running`] | state, sockets and jobs together |
//! | [`serve`] | sockets and their connections |
//! | [`admin`] | routes of the operators' address |
//! | [`seeding`] | rows of a scenario |

pub mod admin;
mod commands;
pub mod process;
pub mod running;
pub mod seeding;
pub mod serve;
