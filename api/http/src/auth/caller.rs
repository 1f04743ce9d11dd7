//! Caller of a request, as handlers see it.
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use chrono::{DateTime, Utc};

use crate::problem::Problem;
use crate::version::Version;
use slackwater_store::client::Client;

/// Client of a request, with version, user and time.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The client.
    pub client: Arc<Client>,
    /// The version of the answer.
    pub version: Version,
    /// The user that the request is limited to, in versions that name it in a header.
    pub user_id: Option<Arc<str>>,
    /// When the request came.
    pub now: DateTime<Utc>,
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| Problem::unauthorized("no token was sent"))
    }
}
