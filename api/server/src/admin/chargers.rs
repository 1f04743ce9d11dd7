//! Chargers that connect by OCPP: what is known of them, and what operators do with them.
use std::any::Any;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequestParts, State};
use axum::http::Uri;
use axum::http::request::Parts;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slackwater_http::problem::Problem;
use slackwater_http::request::{Path, query_pairs};
use slackwater_integration::error::VendorError;
use slackwater_integration::vendor::Vendor;
use slackwater_ocpp::edge::files::FileError;
use slackwater_ocpp::edge::operator::ForgetError;
use slackwater_ocpp::facts::{Connector, Request, Reset, Trigger};
use slackwater_ocpp::vendor::{Ocpp, check_reply};
use slackwater_service::state::App;
use tracing::error;

use crate::admin::body::read;

/// The services of all environments.
type Worlds = Vec<App>;

/// Message that a charger is to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriggerOrder {
    /// The message.
    pub message: Trigger,
    /// Connector, if it is about one.
    pub connector: Option<Connector>,
}

/// Restart of a charger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResetOrder {
    /// Way to do it.
    pub kind: Reset,
}

/// Cable to unlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnlockOrder {
    /// Its connector.
    pub connector: Connector,
}

/// Routes below `/chargers`.
pub fn router(worlds: &[App]) -> Router {
    Router::new()
        .route("/chargers", get(list_chargers))
        .route("/chargers/{identity}", get(show_charger).delete(forget_charger))
        .route("/chargers/{identity}/trigger", post(trigger_message))
        .route("/chargers/{identity}/reset", post(reset_charger))
        .route("/chargers/{identity}/unlock", post(unlock_cable))
        .route("/chargers/{identity}/clear-tokens", post(clear_tokens))
        .with_state(worlds.to_vec())
}

/// Charger that a path names, and the integrations that it may belong to.
struct Named {
    identity: String,
    integrations: Vec<Arc<Ocpp>>,
}

impl FromRequestParts<Worlds> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, worlds: &Worlds) -> Result<Self, Problem> {
        let Path(identity) = Path::from_request_parts(parts, worlds).await?;
        Ok(Self { identity, integrations: list_integrations(worlds, &parts.uri) })
    }
}

impl Named {
    /// The integration that the charger was added to.
    async fn find_integration(&self) -> Result<&Ocpp, Problem> {
        let Self { identity, integrations } = self;
        let mut found: Vec<&Ocpp> = Vec::new();
        for own in integrations {
            if own.hub().credentials(identity).await.map_err(file_problem)?.is_some() {
                found.push(own);
            }
        }
        match found.as_slice() {
            [own] => Ok(own),
            [] => Err(no_charger()),
            several => {
                let codes: Vec<String> =
                    several.iter().map(|own| own.profile().code.to_string()).collect();
                let codes = codes.join(", ");
                Err(Problem::bad_request(format!(
                    "the vendors {codes} have a charger {identity:?} each; say which by vendor"
                )))
            }
        }
    }

    /// Sends a request to the charger, and answers with what it replied.
    async fn ask_charger(&self, request: Request) -> Result<Json<Value>, Problem> {
        let identity = &self.identity;
        let hub = self.find_integration().await?.hub();
        let reply = hub.ask_charger(identity, request).await.map_err(file_problem)?;
        match check_reply(reply.ok_or_else(no_charger)?) {
            Ok(()) => Ok(Json(json!({ "reply": "accepted" }))),
            Err(VendorError::Unreachable) => {
                Err(Problem::unavailable(format!("the charger {identity} is not connected")))
            }
            Err(VendorError::TimedOut) => {
                Err(Problem::unavailable(format!("the charger {identity} did not answer in time")))
            }
            Err(error) => Err(Problem::of_vendor(&error, true)),
        }
    }
}

/// The integrations of OCPP; with `?vendor=` the one of that code.
fn list_integrations(worlds: &[App], uri: &Uri) -> Vec<Arc<Ocpp>> {
    let is_meant = |vendor: &Arc<dyn Vendor>| {
        let code = vendor.profile().code.clone();
        query_pairs(uri).all(|(name, value)| name != "vendor" || value == code.as_str())
    };
    let vendors = worlds.iter().flat_map(App::vendors).filter(is_meant);
    let typed = vendors.filter_map(|vendor| {
        let any: Arc<dyn Any + Send + Sync> = vendor;
        any.downcast::<Ocpp>().ok()
    });
    typed.collect()
}

fn no_charger() -> Problem {
    Problem::no_entity("charger")
}

#[expect(clippy::needless_pass_by_value, reason = "it stands where an error is mapped")]
fn file_problem(failure: FileError) -> Problem {
    error!(%failure, "a file of a charger failed");
    Problem::server_error()
}

/// All chargers that were added.
async fn list_chargers(State(worlds): State<Worlds>, uri: Uri) -> Result<Json<Value>, Problem> {
    let mut all = Vec::new();
    for own in list_integrations(&worlds, &uri) {
        let code = own.profile().code.clone();
        for mut charger in own.hub().list_chargers().await.map_err(file_problem)? {
            charger["vendor"] = json!(code.as_str());
            all.push(charger);
        }
    }
    Ok(Json(all.into()))
}

/// A charger with its limits, deviations and last messages.
async fn show_charger(charger: Named) -> Result<Json<Value>, Problem> {
    let hub = charger.find_integration().await?.hub();
    let shown = hub.show_charger(&charger.identity).await.map_err(file_problem)?;
    shown.map(Json).ok_or_else(no_charger)
}

/// Has a charger send a message, such as `{"message": "status", "connector": 1}`.
async fn trigger_message(charger: Named, body: Bytes) -> Result<Json<Value>, Problem> {
    let TriggerOrder { message, connector } = read(&body)?;
    charger.ask_charger(Request::Trigger { message, connector }).await
}

/// Restarts a charger: `{"kind": "soft"}` or `{"kind": "hard"}`.
async fn reset_charger(charger: Named, body: Bytes) -> Result<Json<Value>, Problem> {
    let ResetOrder { kind } = read(&body)?;
    charger.ask_charger(Request::Reset { reset: kind }).await
}

/// Unlocks the cable of a connector: `{"connector": 1}`.
async fn unlock_cable(charger: Named, body: Bytes) -> Result<Json<Value>, Problem> {
    let UnlockOrder { connector } = read(&body)?;
    charger.ask_charger(Request::Unlock { connector }).await
}

/// Has a charger forget the tokens that it has accepted.
async fn clear_tokens(charger: Named) -> Result<Json<Value>, Problem> {
    charger.ask_charger(Request::ClearTokens).await
}

/// Removes a charger with its credentials and its state, and ends its connection.
async fn forget_charger(charger: Named) -> Result<Json<Value>, Problem> {
    let hub = charger.find_integration().await?.hub();
    let identity = &charger.identity;
    match hub.forget_charger(identity).await {
        Ok(true) => Ok(Json(json!({ "forgotten": identity }))),
        Ok(false) => Err(no_charger()),
        Err(error @ ForgetError::InSite { .. }) => Err(Problem::bad_request(error.to_string())),
        Err(ForgetError::File(failure)) => Err(file_problem(failure)),
    }
}
