//! Persistent data of the service: rows in SQLite (a file) or PostgreSQL (by URL).
//!
//! One schema and one code path serve both. A change is committed before it is acknowledged to a
//! client, and a commit survives a crash.

pub mod accounts;
pub mod actions;
pub mod audit;
pub mod change;
pub mod checkpoint;
pub mod client;
pub mod clients;
mod commit_log;
pub mod connect;
pub mod database;
pub mod deliveries;
pub mod devices;
pub mod error;
pub mod events;
pub mod evidence;
pub mod file;
pub mod finish;
pub mod flush;
pub mod grid_orders;
pub mod health;
pub mod jobs;
pub mod keyring;
pub mod lease;
pub mod limits;
pub mod links;
pub mod locations;
pub mod notes;
pub mod overrides;
pub mod plans;
pub mod policies;
pub mod price_feeds;
pub mod prices;
mod probe;
pub mod rekey;
pub mod rows;
pub mod samples;
pub mod schedules;
pub mod settings;
pub mod signing;
pub mod subscription;
pub mod tariffs;
pub mod template;
pub mod tokens;
pub mod trace;
pub mod url;
pub mod users;
pub mod vendor_readers;
pub mod writer;
