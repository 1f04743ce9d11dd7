//! The pages on which people link devices.
//!
//! One address per session, plain forms, no script: each page is made here from
//! what the session's row says. How far a user came is kept in that row, sealed
//! with a key that only the user's browser has, so that any replica can go on
//! and nobody who reads the database finds a password.
//!
//! | File | Holds |
//! |---|---|
//! | [`session`] | a session as its address finds it, and the steps of it |
//! | [`flow`] | logging in, accepting, declining: what the pages and the command line share |
//! | [`ending`] | where the browser goes in the end, and with what |
//! | [`browser`] | the secret of a browser: forms that are its own, progress that it can read |
//! | [`form`] | what a form says |
//! | [`guard`] | what every page tells the browser not to do |
//! | [`language`], [`texts`] | the words, in one table |
//! | [`frame`], [`pages`], [`icons`] | how it looks |
//! | [`routes`] | requests and answers |

pub mod browser;
pub mod ending;
pub mod flow;
pub mod form;
pub mod frame;
pub mod guard;
pub mod icons;
pub mod language;
pub mod pages;
pub mod routes;
pub mod session;
pub mod texts;
