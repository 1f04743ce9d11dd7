//! Clients on the operators' address: making, listing and changing them (NS-40).
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
use slackwater_http::request::Path;
use slackwater_service::auth::secret::{NoRandomness, generate, hash};
use slackwater_service::cache::index::Index;
use slackwater_service::clock::Clock;
use slackwater_service::config::VersionSettings;
use slackwater_service::state::App;
use slackwater_store::client::{Client, Environment};
use slackwater_store::clients::{self, ClientPatch, ClientRow, REVOKED};
use slackwater_store::database::Store;
use slackwater_store::error::StoreError;

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
            Some(given) => choose_version(given, versions, now)?,
            None => choose_version(versions.current(now).as_str(), versions, now)?,
        };
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
        let (secret, secret_hash) = new_secret().await?;
        let id = Uuid::new_v4().to_string();
        let created_at = Clock::system().now();
        let client = Client { id, environment, name, version, created_at };
        Ok(Self { row: ClientRow { client, secret_hash }, secret })
    }

    /// The client with its secret, for the one time that it is shown.
    pub(crate) fn shown(&self) -> Value {
        let mut shown = shown_client(&self.row.client);
        shown["client_secret"] = self.secret.as_str().into();
        shown
    }
}

/// A client without its secret.
pub(crate) fn shown(row: &ClientRow) -> Value {
    let mut shown = shown_client(&row.client);
    shown["is_revoked"] = (row.secret_hash == REVOKED).into();
    shown
}

fn shown_client(client: &Client) -> Value {
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
    let served = &app.config().environments;
    let is_served = match wish.environment.as_str() {
        "sandbox" => served.sandbox.is_some(),
        "production" => served.production.is_some(),
        _ => true,
    };
    if !is_served {
        let name = &wish.environment;
        return Err(Problem::invalid(vec![format!(
            "/environment: {name} is not served here; open it by [environments.{name}] of the \
             settings first"
        )]));
    }
    let made = wish.make(&app.config().versions, Clock::system().now()).await?;
    clients::insert_client(app.store(), &made.row).await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(made.shown())).into_response())
}

/// All clients, without their secrets.
pub(crate) async fn list(State(app): State<App>) -> Result<Json<Value>, Problem> {
    let all = clients::all_clients(app.store()).await?;
    Ok(Json(all.iter().map(shown).collect()))
}

/// A change that an operator wants of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum ClientChange {
    /// A new secret, in place of the one before.
    Rotate {
        /// True if tokens end at once, too; else each goes on until its hour is over.
        ends_tokens: bool,
    },
    /// No secret and no tokens any more. What belongs to the client stays.
    Revoke,
    /// Another name.
    Rename(String),
    /// Another version.
    Pin(String),
}

impl ClientChange {
    /// The change as the database takes it, with the new secret if there is one.
    pub(crate) async fn prepare(
        self,
        versions: &VersionSettings,
        now: DateTime<Utc>,
    ) -> Result<(ClientPatch, Option<String>), NewClientError> {
        let usual = ClientPatch::default();
        Ok(match self {
            Self::Rotate { ends_tokens } => {
                let (secret, secret_hash) = new_secret().await?;
                let secret_hash = Some(secret_hash);
                (ClientPatch { secret_hash, ends_tokens, ..usual }, Some(secret))
            }
            Self::Revoke => {
                let secret_hash = Some(REVOKED.to_owned());
                (ClientPatch { secret_hash, ends_tokens: true, ..usual }, None)
            }
            Self::Rename(name) => (ClientPatch { name: Some(name), ..usual }, None),
            Self::Pin(version) => {
                let version = Some(choose_version(&version, versions, now)?);
                (ClientPatch { version, ..usual }, None)
            }
        })
    }
}

/// A version that a client may be pinned to.
fn choose_version(
    given: &str,
    versions: &VersionSettings,
    now: DateTime<Utc>,
) -> Result<ApiVersion, NewClientError> {
    let refused = |reason: String| NewClientError::ScheduleRequest(reason);
    let version = ApiVersion::parse(given).map_err(|error| refused(error.to_string()))?;
    let releases = versions.releases.as_ref();
    if releases.is_some_and(|releases| !releases.stage(version, now).may_be_chosen()) {
        return Err(refused(format!("version {version} cannot be chosen any more")));
    }
    Ok(version)
}

/// A secret and its hash.
async fn new_secret() -> Result<(String, String), NewClientError> {
    let secret = generate()?;
    let hashed = secret.clone();
    // Hashing takes tens of milliseconds of a processor.
    let hashed = spawn_blocking(move || hash(&hashed)).await;
    Ok((secret, hashed.unwrap_or(Err(NoRandomness))?))
}

/// A client as it is after a change; `None` if there is none of that identifier.
pub(crate) async fn change_client(
    store: &Store,
    versions: &VersionSettings,
    id: &str,
    change: ClientChange,
) -> Result<Option<Value>, ClientChangeError> {
    let (patch, secret) = change.prepare(versions, Clock::system().now()).await?;
    if !clients::patch_client(store, id, &patch).await? {
        return Ok(None);
    }
    let Some(row) = clients::get_client(store, id).await? else { return Ok(None) };
    let mut changed = shown(&row);
    if let Some(secret) = secret {
        changed["client_secret"] = secret.into();
    }
    Ok(Some(changed))
}

/// Reason why a client is not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientChangeError {
    /// The change itself.
    #[error(transparent)]
    Invalid(#[from] NewClientError),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Changes a client. This process knows of it at once, others within a minute.
pub(crate) async fn change(
    State(app): State<App>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Response, Problem> {
    let wish: ClientChange = read(&body)?;
    let changed = change_client(app.store(), &app.config().versions, &id, wish).await;
    app.tokens().forget(&id);
    let changed = changed.map_err(|error| match error {
        ClientChangeError::Invalid(error) => Problem::from(error),
        ClientChangeError::Store(error) => Problem::from(error),
    })?;
    let changed = changed.ok_or_else(|| Problem::no_entity(&format!("client {id:?}")))?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(changed)).into_response())
}

/// One client, without its secret.
pub(crate) async fn show(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    let row = clients::get_client(app.store(), &id).await?;
    let row = row.ok_or_else(|| Problem::no_entity(&format!("client {id:?}")))?;
    let users = app.cache().read(|tables| tables.users(&id).map_or(0, Index::len));
    let devices = app
        .cache()
        .read(|tables| tables.devices().filter(|device| *device.client_id == *id).count());
    let mut shown = shown(&row);
    shown["users"] = users.into();
    shown["devices"] = devices.into();
    Ok(Json(shown))
}

impl From<NewClientError> for Problem {
    fn from(error: NewClientError) -> Self {
        match error {
            NewClientError::ScheduleRequest(reason) => Self::bad_request(reason),
            NewClientError::Randomness(error) => error.into(),
        }
    }
}
