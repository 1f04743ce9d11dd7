//! Sites: charge points behind one fuse, whose limits are decided together.
//!
//! | File | Holds |
//! |---|---|
//! | [`settings`] | a site in the settings |
//! | [`plan`] | a site that was checked, and its base load |
//! | [`balance`] | limits of its charge points, from their states and the time |
//!
//! The rules are those of `slackwater_control::load_balancing`; `docs/safe-limits.md` has the argument.
//! A charge point of a site writes no limit that was not decided here.
pub mod balance;
pub mod plan;
pub mod settings;
