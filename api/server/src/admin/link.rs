//! Link sessions without a browser, for those who test clients (NS-44).
//!
//! The same steps as on the pages: the manufacturer is asked, and what it says
//! comes back as a problem.
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::admin::body::read;
use crate::seeding::residents::SandboxSeeder;
use slackwater_http::problem::Problem;
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::vendor::{LogIn, Login};
use slackwater_service::linking::ending::Failure;
use slackwater_service::linking::flow::{self, Credentials, Refusal};
use slackwater_service::linking::session::{Session, State as SessionState};
use slackwater_service::state::App;

/// A user who says yes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accept {
    /// The address of the session.
    link_url: String,
    /// The manufacturer, if the session does not name it.
    vendor: Option<VendorCode>,
    user_name: String,
    password: String,
    /// The code, where the manufacturer wants one.
    code: Option<String>,
    /// The manufacturer's identifiers of the devices; all that fit, if none are named.
    #[serde(default)]
    devices: Vec<String>,
}

/// A user who says no.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deny {
    /// The address of the session.
    link_url: String,
}

/// Logs in and links.
pub(crate) async fn accept(
    State(residents): State<SandboxSeeder>,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let order: Accept = read(&body)?;
    let app = &residents.app;
    let session = open_session(app, &order.link_url).await?;
    let named = session.request.vendor.clone().or(order.vendor);
    let code =
        named.ok_or_else(|| Problem::bad_request("the session names no vendor: say which"))?;
    let profile = app.vendor(&code).map(|vendor| vendor.profile());
    if !profile.is_some_and(|profile| session.takes(&profile)) {
        return Err(Problem::bad_request(format!("the session is not for {code}")));
    }
    let mut login = Login::new(order.user_name, order.password);
    login.code = order.code;
    let entered = flow::log_in(app, &session, &code, Credentials::Entered(&login)).await;
    let (connection, offers) = match entered.map_err(|error| Problem::of_vendor(&error, true))? {
        LogIn::Connected { connection, offers } => (connection, offers),
        LogIn::CodeNeeded { sent_to } => {
            let detail = format!("{code} sent a code to {sent_to}: say it, too");
            return Err(Problem::bad_request(detail));
        }
    };
    let wants = |name: &String| order.devices.is_empty() || order.devices.contains(name);
    let chosen: Vec<_> = offers.into_iter().filter(|offer| wants(&offer.device)).collect();
    if order.devices.iter().any(|name| !chosen.iter().any(|offer| offer.device == *name)) {
        return Err(Problem::of_vendor(&VendorError::NoSuchDevice, true));
    }
    let ids = flow::accept(app, &session, (&code, connection), &chosen).await?;
    let devices: Vec<Value> = chosen
        .iter()
        .zip(&ids)
        .map(|(offer, id)| json!({ "id": id, "kind": offer.kind.as_str(), "name": offer.name }))
        .collect();
    Ok(Json(json!({ "devices": devices, "redirect": session.end(None) })))
}

/// Leaves without linking anything.
pub(crate) async fn deny(
    State(residents): State<SandboxSeeder>,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let order: Deny = read(&body)?;
    let session = open_session(&residents.app, &order.link_url).await?;
    if !flow::leave(&residents.app, &session).await? {
        return Err(Refusal::Closed.into());
    }
    Ok(Json(json!({ "devices": [], "redirect": session.end(Some(Failure::AccessDenied)) })))
}

/// The session of an address, or of the token at its end.
async fn open_session(app: &App, link_url: &str) -> Result<Session, Problem> {
    let token = link_url.rsplit('/').next().unwrap_or_default();
    let session = Session::find(app, token).await?;
    let session = session.ok_or_else(|| Problem::no_entity("link session"))?;
    match session.state(app.clock().machine().now()) {
        SessionState::Open => Ok(session),
        SessionState::Used | SessionState::Expired => Err(Refusal::Closed.into()),
    }
}
