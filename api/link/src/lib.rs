//! Pages on which users link devices.
//!
//! Each link session has one address, with plain forms and without scripts. A page is rendered
//! from the session's row. The progress of the user is in that row, sealed with a key that only the
//! user's browser has: any replica can continue the session, and a reader of the database finds no
//! password.
//!
//! Texts are those of [`texts`](slackwater_service::config::texts), link sessions and their ends are in [`linking`](slackwater_service::linking).
//!
//! | File | Holds |
//! |---|---|
//! | [`browser`] | secret of a browser: token of its forms, key of its progress |
//! | [`form`] | fields of a form |
//! | [`guard`] | headers that forbid scripts, framing, copies and referrers |
//! | [`frame`], [`pages`], [`icons`] | layout, steps as pages, pictures |
//! | [`routes`] | requests and answers |
//! | [`returning`] | the way to a manufacturer's own page, and back |

pub mod browser;
pub mod form;
pub mod frame;
pub mod guard;
pub mod icons;
pub mod pages;
pub mod returning;
pub mod routes;

use axum::Router;
use slackwater_http::{with_problem_fallbacks, with_shared_layers};
use slackwater_service::state::App;

/// The pages, on an address of their own.
pub fn router(app: App) -> Router {
    with_shared_layers(with_problem_fallbacks(routes::router()), app)
}
