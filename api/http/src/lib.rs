//! The HTTP interface of the device-control service.
//!
//! A handler reads the request, calls [`slackwater_service`] and writes the answer; it computes
//! with no quantity. [`router`] is the whole interface without a socket, so tests call it directly.
//! Every failure leaves as a [`problem::Problem`], those of the framework included.

pub mod auth;
pub mod issues;
pub mod json;
pub mod openapi;
pub mod page;
pub mod problem;
pub mod refusals;
pub mod request;
pub mod routes;
pub mod scope;
pub mod telemetry;
pub mod version;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{Method, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{delete, get, post, put};
use tower_http::catch_panic::CatchPanicLayer;

use crate::auth::gate::{authenticate, name_user};
use crate::problem::Problem;
use crate::routes::batteries::Battery;
use crate::routes::chargers::Charger;
use crate::routes::hvacs::Hvac;
use crate::routes::inverters::Inverter;
use crate::routes::vehicles::Vehicle;
use crate::routes::{
    actions, chargers, flex, health, lists, oauth, overrides, price_signals, refresh, schedules,
    sessions, smart_charging, statistics, tariffs, users,
};
use slackwater_service::state::App;

/// The service as a function from request to response.
///
/// A path that is not listed here answers 404, a method that a listed path does
/// not have answers 405 with the methods it has.
pub fn router(app: App) -> Router {
    let routes = Router::new()
        .merge(devices())
        .merge(people())
        .merge(money())
        .route("/health/ready", get(health::ready))
        .route("/health/chargers", get(health::chargers));
    // Methods that are not there need no user.
    let routes = routes.route_layer(from_fn_with_state(app.clone(), name_user));
    let routes =
        with_problem_fallbacks(routes).layer(from_fn_with_state(app.clone(), authenticate));
    with_shared_layers(routes, app)
}

/// Devices of all kinds.
fn devices() -> Router<App> {
    Router::new()
        .route("/vehicles", get(lists::list::<Vehicle>))
        .route("/vehicles/{vehicleId}", get(lists::get::<Vehicle>))
        .route("/vehicles/{vehicleId}/refresh-hint", post(refresh::hint::<Vehicle>))
        .route("/chargers", get(lists::list::<Charger>))
        .route("/chargers/{chargerId}", get(lists::get::<Charger>).put(chargers::put))
        .route("/chargers/{chargerId}/refresh-hint", post(refresh::hint::<Charger>))
        .route("/chargers/{chargerId}/max-current", post(actions::max_current))
        .route("/chargers/{chargerId}/charge-rate-limit", post(actions::charge_rate_limit))
        .route(
            "/chargers/{chargerId}/smart-override",
            post(overrides::create).delete(overrides::end),
        )
        .route("/chargers/actions/{actionId}", get(actions::get_of_charger))
        .route("/chargers/actions/{actionId}/cancel", post(actions::cancel_of_charger))
        .route(
            "/chargers/{chargerId}/smart-charging-policy",
            get(smart_charging::policy).put(smart_charging::put_policy),
        )
        .route("/chargers/{chargerId}/smart-charging-status", get(smart_charging::status))
        .route("/flex/vehicle-policies/{policyId}", get(flex::get).patch(flex::patch))
        .route("/hvacs", get(lists::list::<Hvac>))
        .route("/hvacs/{hvacId}/refresh-hint", post(refresh::hint::<Hvac>))
        .route("/hvacs/{hvacId}/follow-schedule", post(actions::follow_schedule))
        .route("/inverters", get(lists::list::<Inverter>))
        .route("/inverters/{inverterId}", get(lists::get::<Inverter>))
        .route("/inverters/{inverterId}/refresh-hint", post(refresh::hint::<Inverter>))
        .route("/batteries", get(lists::list::<Battery>))
        .route("/batteries/{batteryId}/refresh-hint", post(refresh::hint::<Battery>))
        .route("/batteries/actions/{actionId}", get(actions::get_of_battery))
        .route("/batteries/actions/{actionId}/cancel", post(actions::cancel_of_battery))
}

/// Users, and how they link devices.
fn people() -> Router<App> {
    Router::new()
        .route("/users", get(users::list))
        .route("/users/{userId}", get(users::get).delete(users::delete))
        .route("/users/{userId}/authorization", delete(users::deauthorise))
        .route("/users/{userId}/link", post(sessions::link))
        .route("/users/{userId}/vendor/{vendor}", get(users::vendor).delete(users::disconnect))
        .route("/users/{userId}/vehicles", get(lists::list_of_user::<Vehicle>))
        .route("/users/{userId}/chargers", get(lists::list_of_user::<Charger>))
        .route("/users/{userId}/hvacs", get(lists::list_of_user::<Hvac>))
        .route("/users/{userId}/inverters", get(lists::list_of_user::<Inverter>))
        .route("/users/{userId}/schedules", get(schedules::list).post(schedules::create))
        .route(
            "/schedules/{scheduleId}",
            get(schedules::get).put(schedules::put).delete(schedules::delete),
        )
        .route("/schedules/{scheduleId}/status", get(schedules::status))
        .route("/assets/{assetId}/relink", post(sessions::relink))
        .route("/me", get(users::me))
        .route("/me/vendors/{vendor}", delete(users::disconnect_me))
}

/// Prices, and what energy cost.
fn money() -> Router<App> {
    let price_signal =
        put(price_signals::put).layer(DefaultBodyLimit::max(price_signals::BODY_MAX));
    Router::new()
        .route("/flex/price-signals/{zoneId}/areas/{areaId}", price_signal)
        .route("/tariffs/{tariffId}", put(tariffs::put))
        .route("/statistics/charging", get(statistics::charging))
        .route("/statistics/charging/sessions", get(statistics::sessions))
        .route("/statistics/production", get(statistics::production))
        .route("/users/{userId}/statistics/charging", get(statistics::charging))
        .route("/users/{userId}/statistics/charging/sessions", get(statistics::sessions))
        .route("/users/{userId}/statistics/production", get(statistics::production))
}

/// The token endpoint, on an address of its own.
pub fn auth_router(app: App) -> Router {
    with_shared_layers(
        with_problem_fallbacks(Router::new().route("/oauth2/token", post(oauth::token))),
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
        .layer(from_fn(telemetry::observe))
        .layer(from_fn_with_state(app.clone(), version::add_version_header))
        .with_state(app)
}
