//! Orders and heartbeats at the operators' address of the service.
use chrono::{DateTime, Utc};
use http::{Method, Request, header};
use serde::Deserialize;
use serde_json::json;
use slackwater_control::grid_order::limit::{GridMessage, GridOrder, GridReason};
use slackwater_engine::units::Power;

use crate::http::{Body, Https, RequestError};

/// Failure to tell the service something.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// A request failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A request could not be made.
    #[error("cannot ask the service: {0}")]
    Form(#[from] http::Error),
}

/// A sender of grid orders as the service shows it.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct SenderState {
    /// Order that is kept.
    pub order: Option<GridOrder>,
    /// Reason of the limit in force.
    pub reason: GridReason,
    /// Limit while nothing is heard; `None` without a fail-safe.
    #[serde(rename = "fail_safe_kw")]
    pub fail_safe: Option<Power>,
    /// Next change of the limit by the passing of time alone.
    pub next_change: Option<DateTime<Utc>>,
}

impl SenderState {
    /// Returns true if the fail-safe has ended by its own time: a sender that is heard has the loss of
    /// its heartbeat as next change.
    #[must_use]
    pub fn has_given_up(&self) -> bool {
        let is_free = self.reason == GridReason::Free && self.next_change.is_none();
        self.fail_safe.is_some() && is_free
    }
}

/// A sender `[grid.NAME]` at the operators' address.
pub struct Service {
    https: Https,
    /// Address of the sender.
    url: String,
    token: Option<String>,
}

impl Service {
    /// The sender `name` at an address without a slash at its end.
    #[must_use]
    pub fn new(https: Https, admin: &str, name: &str, token: Option<String>) -> Self {
        Self { https, url: format!("{admin}/grid/{name}"), token }
    }

    /// Reads the sender.
    ///
    /// # Errors
    /// The service does not answer, or says no.
    pub async fn read_sender(&self) -> Result<SenderState, ServiceError> {
        self.ask(Method::GET, &self.url, None).await
    }

    /// Sends a message. It is in force when this returns.
    ///
    /// # Errors
    /// The service does not answer, or says no.
    pub async fn send_message(&self, message: GridMessage) -> Result<SenderState, ServiceError> {
        match message {
            GridMessage::Heartbeat => {
                self.ask(Method::POST, &format!("{}/heartbeat", self.url), None).await
            }
            GridMessage::Order(order) => self.ask(Method::POST, &self.url, Some(order)).await,
            GridMessage::Release => self.ask(Method::DELETE, &self.url, None).await,
        }
    }

    async fn ask(
        &self,
        method: Method,
        url: &str,
        order: Option<GridOrder>,
    ) -> Result<SenderState, ServiceError> {
        let mut request = Request::builder().method(method).uri(url);
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let mut body = Body::default();
        if let Some(order) = order {
            request = request.header(header::CONTENT_TYPE, "application/json");
            body = Body::from(json!(order).to_string());
        }
        Ok(self.https.read_json(request.body(body)?).await?)
    }
}
