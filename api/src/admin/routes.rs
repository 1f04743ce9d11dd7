//! What answers on the operators' address.
use axum::Router;
use axum::http::{Method, Uri};
use axum::routing::get;

use crate::admin::residents::Residents;
use crate::admin::{control, docs, events, metrics, openapi, policies, prices, sandbox};
use crate::problem::Problem;
use crate::routes::health;
use crate::state::App;

/// Metrics, documentation and readiness of all environments.
pub fn router(worlds: &[App], residents: Option<Residents>) -> Router {
    let plain = Router::new()
        .route("/", get(docs::page))
        .route("/docs", get(docs::page))
        .route("/openapi.json", get(openapi::file))
        .route("/metrics", get(metrics::render))
        .fallback(async |method: Method, uri: Uri| Problem::no_such_route(&method, &uri))
        .method_not_allowed_fallback(async |method: Method, uri: Uri| {
            Problem::no_such_method(&method, &uri)
        });
    let Some(app) = worlds.first() else { return plain };
    let strings = residents.map(sandbox::router).unwrap_or_default();
    let told = Router::new()
        .route("/events", get(events::list))
        .route("/events/subscriptions", get(events::subscriptions))
        .route("/health/ready", get(health::ready));
    plain
        .merge(strings)
        .merge(prices::router(app.clone()))
        .merge(control::router(worlds))
        .merge(policies::router(worlds.to_vec()))
        .merge(told.with_state(app.clone()))
}
