//! The audit log: what operators did, and the list of it.
use std::net::{IpAddr, Ipv4Addr};

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, Uri};
use chrono::TimeDelta;
use serde_json::{Value, json};
use tracing::{error, info};

use crate::admin::body::read_window;
use slackwater_http::problem::Problem;
use slackwater_service::clock::Clock;
use slackwater_service::config::admin::Operator;
use slackwater_service::config::proxies::Peer;
use slackwater_service::state::App;
use slackwater_store::audit::{Act, acts_after, record_act};

/// A request as far as the log tells of it.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) peer: String,
}

impl Attempt {
    pub(crate) fn of(request: &Request) -> Self {
        let peer = request.extensions().get::<Peer>();
        let peer = peer.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.0);
        let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        Self { method: request.method().clone(), path, peer: peer.to_string() }
    }
}

/// Keeps an act and its result. It has happened: a database that fails leaves it to the log.
pub(crate) async fn record(app: &App, operator: Operator, attempt: Attempt, status: StatusCode) {
    let Attempt { method, path, peer } = attempt;
    let act = Act {
        at: Clock::system().now(),
        operator: operator.name,
        role: operator.role.as_str().to_owned(),
        peer,
        method: method.to_string(),
        path,
        status: status.as_u16().into(),
    };
    let Act { operator, role, peer, method, path, status, .. } = &act;
    info!(operator, role, peer, method, path, status, "an operator acted");
    let days = TimeDelta::days(app.config().admin.audit_days.into());
    let keep_after = act.at.checked_sub_signed(days).unwrap_or_default();
    if let Err(failure) = record_act(app.store(), &act, keep_after).await {
        error!(%failure, operator, method, path, status, "an act was not kept in the audit log");
    }
}

/// Acts after `?after=`, oldest first, `?limit=` of them.
pub(crate) async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Value>, Problem> {
    let (after, count) = read_window(&uri)?;
    let acts = acts_after(app.store(), after, count).await?;
    let last = acts.last().map_or(after, |act| act.seq);
    Ok(Json(json!({ "acts": acts, "last": last })))
}
