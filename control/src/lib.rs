//! Rules of device control as pure functions: what users want, what devices report and support, and
//! the commands that follow.
//!
//! The crate decides; it has no clock, no network and no storage. A service passes the facts and the
//! instant, and carries out the result. Plans come from [`slackwater_engine`].
//!
//! | Module | Content |
//! |---|---|
//! | [`charging_profile`] | limits as a charge point keeps them, and their expiry into a safe default |
//! | [`quirk`] | deviations of charge points from the protocol, and a probe that finds them |
//! | [`device`] | readings, capabilities, commands, and the actions that track commands |
//! | [`schedule`] | a user's rules for charging, their transitions, the schedule in control |
//! | [`policy`] | charging policies of users, and their conversion into requests for plans |
pub mod charging_profile;
pub mod device;
pub mod policy;
pub mod quirk;
pub mod schedule;
