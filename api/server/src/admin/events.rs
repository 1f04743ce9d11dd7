//! Events on the operators' address: all of them, under their own names.
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::Uri;
use serde_json::{Value, json};

use crate::admin::body::{read, read_window};
use slackwater_http::problem::Problem;
use slackwater_http::request::{Path, query_pairs};
use slackwater_service::outbox::lines::line;
use slackwater_service::outbox::subscribing::{check_events, subscribe as keep};
use slackwater_service::state::App;
use slackwater_store::subscription::NewSubscription;
use slackwater_store::{clients, deliveries, events};

/// Events after `?after=`, oldest first, `?limit=` of them, of `?client=` or of all.
pub(crate) async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Value>, Problem> {
    let given = query_pairs(&uri).find(|(name, _)| name == "client").map(|(_, client)| client);
    let (after, count) = read_window(&uri)?;
    let found = match given {
        Some(client) => {
            let known = clients::get_client(app.store(), &client).await?;
            known.ok_or_else(|| Problem::no_entity(&format!("client {client:?}")))?;
            deliveries::client_events_after(app.store(), &client, after, count).await?
        }
        None => events::events_after(app.store(), after, count).await?,
    };
    let last = found.last().map_or(after, |event| event.seq);
    Ok(Json(json!({ "events": found.iter().map(line).collect::<Vec<_>>(), "last": last })))
}

/// Subscriptions, and how far each was served. No secrets.
pub(crate) async fn subscriptions(State(app): State<App>) -> Result<Json<Value>, Problem> {
    let all = deliveries::all_subscriptions(app.store()).await?;
    Ok(Json(all.iter().map(slackwater_service::outbox::lines::subscription).collect()))
}

/// Subscribes a receiver from now on, and answers with it, without its secret.
pub(crate) async fn subscribe(State(app): State<App>, body: Bytes) -> Result<Json<Value>, Problem> {
    let new: NewSubscription = read(&body)?;
    if new.secret_file.is_some() {
        return Err(Problem::bad_request(
            "secret_file is of the settings; send secret in its place",
        ));
    }
    check_events(&app.config().events, &new)?;
    keep(app.store(), &new).await?;
    Ok(Json(shown(&app, &new.name).await?))
}

/// Removes a receiver that was subscribed by hand, and answers with its name.
pub(crate) async fn unsubscribe(
    State(app): State<App>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Problem> {
    let mut change = app.store().begin().await?;
    let was_there = deliveries::delete_subscription(change.connection(), &name).await?;
    change.commit(|| ()).await?;
    if was_there {
        Ok(Json(json!({ "removed": name })))
    } else {
        // Those of the settings are removed there.
        Err(Problem::no_entity(&format!("subscription {name:?} made by hand")))
    }
}

/// A subscription by its name.
async fn shown(app: &App, name: &str) -> Result<Value, Problem> {
    let all = deliveries::all_subscriptions(app.store()).await?;
    let shown = all.iter().map(slackwater_service::outbox::lines::subscription);
    Ok(shown.into_iter().find(|one| one["name"] == name).unwrap_or_default())
}
