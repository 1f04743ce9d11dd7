//! Orders of grid operators on the operators' address.
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::Value;
use slackwater_control::grid_order::limit::{GridMessage, GridOrder};
use slackwater_http::problem::Problem;
use slackwater_http::request::Path;
use slackwater_service::grid::describing::{describe_sender, describe_senders};
use slackwater_service::grid::orders::take_message;
use slackwater_service::state::App;

use crate::admin::body::read;

/// The services of all environments.
type Worlds = Vec<App>;

/// Routes below `/grid`.
pub fn router(worlds: Vec<App>) -> Router {
    let one = get(show_sender).post(take_order).delete(release_order);
    Router::new()
        .route("/grid", get(list_senders))
        .route("/grid/{name}", one)
        .route("/grid/{name}/heartbeat", post(take_heartbeat))
        .with_state(worlds)
}

/// All senders of grid orders with the limits in force.
async fn list_senders(State(worlds): State<Worlds>) -> Json<Value> {
    Json(describe_senders(&worlds).into())
}

/// A sender with its order and the limit in force.
async fn show_sender(
    State(worlds): State<Worlds>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Problem> {
    let no_sender = || Problem::no_entity(&format!("sender of grid orders {name:?}"));
    describe_sender(&worlds, &name).map(Json).ok_or_else(no_sender)
}

/// Takes an order, such as `{"limit_kw": 4.2, "until": "2026-01-05T20:00:00Z"}`.
async fn take_order(
    State(worlds): State<Worlds>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let order: GridOrder = read(&body)?;
    pass_message(worlds, name, GridMessage::Order(order)).await
}

/// Takes an order back.
async fn release_order(
    State(worlds): State<Worlds>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Problem> {
    pass_message(worlds, name, GridMessage::Release).await
}

/// Takes a sign of life.
async fn take_heartbeat(
    State(worlds): State<Worlds>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Problem> {
    pass_message(worlds, name, GridMessage::Heartbeat).await
}

/// Passes a message on, and answers with the sender.
async fn pass_message(
    worlds: Worlds,
    name: String,
    message: GridMessage,
) -> Result<Json<Value>, Problem> {
    take_message(&worlds, &name, message).await?;
    show_sender(State(worlds), Path(name)).await
}
