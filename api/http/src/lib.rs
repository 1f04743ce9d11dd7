//! The HTTP interface of the device-control service.
//!
//! A handler reads the request, calls [`slackwater_service`] and writes the answer; it computes
//! with no quantity. [`router`] is the whole interface without a socket, so tests call it directly.
//! Every failure leaves as a [`problem::Problem`], those of the framework included.

pub mod auth;
mod examples;
mod handlers;
pub mod issues;
pub mod json;
mod member_words;
pub mod openapi;
mod overload;
pub mod page;
mod parameters;
pub mod problem;
mod problem_meanings;
pub mod refusals;
pub mod request;
pub mod routes;
pub mod scope;
pub mod telemetry;
pub mod version;

use axum::Router;
use axum::http::{Method, Uri};
use axum::middleware::from_fn_with_state;
use axum::routing::post;
use tower_http::catch_panic::CatchPanicLayer;

use crate::auth::gate::{authenticate, name_user};
use crate::handlers::documented_routes;
use crate::overload::{Load, shed_load};
use crate::problem::Problem;
use crate::routes::oauth;
use slackwater_service::state::App;

/// The service as a function from request to response.
///
/// A path that no handler names answers 404, a method that a named path does not have answers
/// 405 with the methods it has.
pub fn router(app: App) -> Router {
    // Methods that are not there need no user.
    let routes =
        Router::from(documented_routes()).route_layer(from_fn_with_state(app.clone(), name_user));
    let load = Load::new(app.config().serve.requests_max);
    let routes = with_problem_fallbacks(routes)
        .layer(from_fn_with_state(load, shed_load))
        .layer(from_fn_with_state(app.clone(), authenticate));
    with_shared_layers(routes, app)
}

/// The token endpoint, on an address of its own.
pub fn auth_router(app: App) -> Router {
    with_shared_layers(
        with_problem_fallbacks(Router::new().route("/oauth2/token", post(oauth::issue_token))),
        app,
    )
}

/// Routes with problems for paths and methods that are not there.
pub fn with_problem_fallbacks(routes: Router<App>) -> Router<App> {
    routes
        .fallback(async |method: Method, uri: Uri| Problem::no_such_route(&method, &uri))
        .method_not_allowed_fallback(async |method: Method, uri: Uri| {
            Problem::no_such_method(&method, &uri)
        })
}

/// Adds to routes what all addresses share: problems for panics, and the version on each answer.
pub fn with_shared_layers(routes: Router<App>, app: App) -> Router {
    routes
        .layer(CatchPanicLayer::custom(problem::of_panic))
        .layer(from_fn_with_state(app.clone(), telemetry::observe))
        .layer(from_fn_with_state(app.clone(), version::add_version_header))
        .with_state(app)
}
