//! Routes of the operators' address.
use axum::http::{Method, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::{delete, get};
use axum::{Json, Router};
use serde_json::json;
use tower_http::catch_panic::CatchPanicLayer;

use crate::admin::guard::guard;
use crate::admin::{
    audit, chargers, clients, console, control, docs, events, grid, inventory, limits, policies,
    prices, sandbox,
};
use crate::seeding::residents::SandboxSeeder;
use slackwater_http::problem::{self, Problem};
use slackwater_http::routes::health;
use slackwater_http::telemetry;
use slackwater_service::state::App;

/// Metrics, documentation and health of all environments, the console, and what operators
/// change.
///
/// Documentation and health are open: they tell nothing about anyone, and a probe of a
/// cluster has no token. All else is behind the `guard`.
pub fn router(worlds: &[App], residents: Option<SandboxSeeder>) -> Router {
    let start = get(async || Redirect::to("/console"));
    let live = get(async || Json(json!({ "is_alive": true })));
    let mut open = docs::router(worlds).route("/", start).route("/health/live", live);
    let mut guarded = Router::new();
    if let Some(app) = worlds.first() {
        let ready = Router::new().route("/health/ready", get(health::check_readiness));
        open = open.merge(ready.with_state(app.clone()));
        let kept = Router::new()
            .route("/clients", get(clients::list).post(clients::create))
            .route("/clients/{client}", get(clients::show).patch(clients::change))
            .route("/audit", get(audit::list))
            .route("/events", get(events::list))
            .route("/events/subscriptions", get(events::subscriptions).post(events::subscribe))
            .route("/events/subscriptions/{name}", delete(events::unsubscribe));
        guarded = guarded
            .route("/metrics", get(async || telemetry::render()))
            .merge(residents.map(sandbox::router).unwrap_or_default())
            .merge(prices::router(app.clone()))
            .merge(chargers::router(worlds))
            .merge(control::router(worlds))
            .merge(inventory::router(worlds.to_vec()))
            .merge(policies::router(worlds.to_vec()))
            .merge(limits::router(worlds.to_vec()))
            .merge(grid::router(worlds.to_vec()))
            .merge(console::routes::router(worlds))
            .merge(kept.with_state(app.clone()))
            .route_layer(from_fn_with_state(app.clone(), guard));
    }
    open.merge(guarded)
        .fallback(async |method: Method, uri: Uri| Problem::no_such_route(&method, &uri))
        .method_not_allowed_fallback(async |method: Method, uri: Uri| {
            Problem::no_such_method(&method, &uri)
        })
        .layer(CatchPanicLayer::custom(problem::of_panic))
        .layer(from_fn(telemetry::identify_request))
}
