//! The pages on which people link devices.
//!
//! One address per session, plain forms, no script: each page is made here from
//! what the session's row says. How far a user came is kept in that row, sealed
//! with a key that only the user's browser has, so that any replica can go on
//! and nobody who reads the database finds a password.
//!
//! Sessions and what becomes of them are in [`linking`](slackwater_service::linking).
//!
//! | File | Holds |
//! |---|---|
//! | [`browser`] | the secret of a browser: forms that are its own, progress that it can read |
//! | [`form`] | what a form says |
//! | [`guard`] | what every page tells the browser not to do |
//! | [`texts`] | the words, in one table |
//! | [`frame`], [`pages`], [`icons`] | how it looks |
//! | [`routes`] | requests and answers |

pub mod browser;
pub mod form;
pub mod frame;
pub mod guard;
pub mod icons;
pub mod pages;
pub mod routes;
pub mod texts;

use axum::Router;
use slackwater_http::{answered, finished};
use slackwater_service::state::App;

/// The pages, on an address of their own.
pub fn router(app: App) -> Router {
    finished(answered(routes::router()), app)
}
