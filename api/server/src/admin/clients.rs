//! Clients on the operators' address: making them, and listing them (NS-40).
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slackwater_wire::version::dated::ApiVersion;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use crate::admin::body::read;
use slackwater_http::problem::Problem;
use slackwater_service::auth::secret::{NoRandomness, generate, hash};
use slackwater_service::clock::Clock;
use slackwater_service::config::VersionSettings;
use slackwater_service::state::App;
use slackwater_store::client::{Client, Environment};
use slackwater_store::clients::{self, ClientRow};

/// A client that an operator wants.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewClient {
    /// `sandbox` or `production`, for ever.
    pub environment: String,
    /// The name that operators read.
    #[serde(default)]
    pub name: String,
    /// The version to pin it to, if not the current one.
    #[serde(default)]
    pub version: Option<String>,
}

/// A client that is not kept yet, and its secret, which nobody can read again.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) row: ClientRow,
    pub(crate) secret: String,
}

/// Reason against a new client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NewClientError {
    /// The environment or the version means nothing, or cannot be chosen.
    #[error("{0}")]
    ScheduleRequest(String),
    /// The system has no random numbers.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
}

impl NewClient {
    /// A client as wished, with a new identifier and secret. Nothing is kept yet.
    pub(crate) async fn make(
        self,
        versions: &VersionSettings,
        now: DateTime<Utc>,
    ) -> Result<Made, NewClientError> {
        let wish = |reason: &dyn ToString| NewClientError::ScheduleRequest(reason.to_string());
        let environment = Environment::parse(&self.environment).map_err(|error| wish(&error))?;
        let version = match &self.version {
            Some(given) => ApiVersion::parse(given).map_err(|error| wish(&error))?,
            None => versions.current(now),
        };
        let releases = versions.releases.as_ref();
        if releases.is_some_and(|releases| !releases.stage(version, now).may_be_chosen()) {
            return Err(wish(&format!("version {version} cannot be chosen any more")));
        }
        Made::new(environment, self.name, version).await
    }
}

impl Made {
    /// A new client and its secret.
    pub(crate) async fn new(
        environment: Environment,
        name: String,
        version: ApiVersion,
    ) -> Result<Self, NewClientError> {
        let secret = generate()?;
        let hashed = secret.clone();
        // Hashing takes tens of milliseconds of a processor.
        let hashed = spawn_blocking(move || hash(&hashed)).await;
        let secret_hash = hashed.unwrap_or(Err(NoRandomness))?;
        let id = Uuid::new_v4().to_string();
        let created_at = Clock::system().now();
        let client = Client { id, environment, name, version, created_at };
        Ok(Self { row: ClientRow { client, secret_hash }, secret })
    }

    /// The client with its secret, for the one time that it is shown.
    pub(crate) fn shown(&self) -> Value {
        let mut shown = shown(&self.row.client);
        shown["client_secret"] = self.secret.as_str().into();
        shown
    }
}

/// A client without its secret.
pub(crate) fn shown(client: &Client) -> Value {
    json!({
        "client_id": client.id,
        "environment": client.environment.as_str(),
        "name": client.name,
        "version": client.version.as_str(),
        "created_at": client.created_at,
    })
}

/// Makes a client, and answers with its secret.
pub(crate) async fn create(State(app): State<App>, body: Bytes) -> Result<Response, Problem> {
    let wish: NewClient = read(&body)?;
    let made = wish.make(&app.config().versions, Clock::system().now()).await?;
    clients::insert_client(app.store(), &made.row).await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(made.shown())).into_response())
}

/// All clients, without their secrets.
pub(crate) async fn list(State(app): State<App>) -> Result<Json<Value>, Problem> {
    let all = clients::all_clients(app.store()).await?;
    Ok(Json(all.iter().map(|row| shown(&row.client)).collect()))
}

impl From<NewClientError> for Problem {
    fn from(error: NewClientError) -> Self {
        match error {
            NewClientError::ScheduleRequest(reason) => Self::bad_request(reason),
            NewClientError::Randomness(error) => error.into(),
        }
    }
}
