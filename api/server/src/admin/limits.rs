//! Limits of areas on the operators' address: lists, and changes while the service runs.
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::admin::body::read;
use crate::admin::console::worlds::first;
use slackwater_http::problem::Problem;
use slackwater_http::request::Path;
use slackwater_http::routes::price_signals::BODY_MAX;
use slackwater_service::grid::describing::count_homes;
use slackwater_service::plans::limit_change::{LimitChange, change_limit};
use slackwater_service::state::App;
use slackwater_store::rows::Pair;

/// Routes below `/limits`.
pub fn router(worlds: Vec<App>) -> Router {
    let one = get(show).patch(change).layer(DefaultBodyLimit::max(BODY_MAX));
    Router::new().route("/limits", get(list)).route("/limits/{zone}/{area}", one).with_state(worlds)
}

/// All areas with a limit, of the settings or set by an operator.
async fn list(State(worlds): State<Vec<App>>) -> Result<Json<Value>, Problem> {
    let app = first(&worlds)?;
    let shown = app.limits().areas().into_iter().map(|area| shown_limit(app, &area));
    Ok(Json(shown.collect()))
}

/// The limit of an area.
async fn show(
    State(worlds): State<Vec<App>>,
    Path(area): Path<Pair>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(shown_limit(first(&worlds)?, &area)))
}

/// Changes the limit of an area, and answers with it.
async fn change(
    State(worlds): State<Vec<App>>,
    Path(area): Path<Pair>,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let wanted: LimitChange = read(&body)?;
    change_limit(&worlds, &area, wanted).await?;
    Ok(Json(shown_limit(first(&worlds)?, &area)))
}

/// Limit of an area as JSON: set by operators, of the settings, and in force now.
fn shown_limit(app: &App, area: &Pair) -> Value {
    let (zone, name) = area;
    let set = app.limits().set_for(area).unwrap_or_default();
    let now = app.area_limit(zone, name).and_then(|limit| limit.at(app.now()));
    let homes = count_homes(app, zone, name);
    json!({
        "zone": zone,
        "area": name,
        "now_kw": now,
        "power_max_kw": set.usual(),
        "settings_power_max_kw": app.limits().configured_for(area),
        "periods": set.periods(),
        "homes": homes,
    })
}
