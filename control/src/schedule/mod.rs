//! Charging schedules: a user's rules, their transitions and their execution.
//!
//! Requirements are named by their identifiers (`SCH-19`), open points by the
//! reading that settles them (`AMB-10`).
pub mod control;
pub mod filter;
pub mod place;
pub mod rule;
pub mod status;
pub mod steer;
pub mod transitions;

mod layers;
mod week;
