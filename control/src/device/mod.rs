//! Devices: readings, capabilities, commands, and the actions that track commands.
//!
//! Requirements are named by their identifiers (`ACT-13`), open points by the
//! reading that settles them (`AMB-04`).
pub mod action;
pub mod action_log;
pub mod battery;
pub mod battery_order;
pub mod capability;
pub mod charge_state;
pub mod command;
pub mod control;
pub mod hvac;
pub mod override_;
pub mod override_log;
pub mod pairing;
pub mod place;
pub mod polling;
pub mod power_state;
pub mod pursuit;
pub mod reading;
pub mod scope;
pub mod target;
pub mod uptake;
