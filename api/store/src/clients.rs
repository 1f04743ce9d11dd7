//! Clients: the applications that may ask.
use slackwater_wire::version::dated::ApiVersion;
use sqlx::FromRow;
use sqlx::any::AnyRow;

use crate::client::Client;
use crate::database::Store;
use crate::error::StoreError;
use crate::rows::Cells;

/// A client and the hash of its secret.
#[derive(Debug, Clone)]
pub struct ClientRow {
    /// The client.
    pub client: Client,
    /// Its secret, by argon2id, with salt and cost.
    pub secret_hash: String,
}

/// Keeps a new client.
///
/// # Errors
/// The database failed.
pub async fn insert_client(store: &Store, row: &ClientRow) -> Result<(), StoreError> {
    let mut change = store.begin().await?;
    sqlx::query(
        "insert into clients (id, environment, name, secret_hash, version, created_at)
         values ($1, $2, $3, $4, $5, $6)",
    )
    .bind(&row.client.id)
    .bind(row.client.environment.as_str())
    .bind(&row.client.name)
    .bind(&row.secret_hash)
    .bind(row.client.version.as_str())
    .bind(row.client.created_at.timestamp_micros())
    .execute(change.connection())
    .await?;
    change.commit(|| ()).await
}

/// The client of that ID; `None` if there is none.
///
/// # Errors
/// The database failed.
pub async fn get_client(store: &Store, id: &str) -> Result<Option<ClientRow>, StoreError> {
    let query = sqlx::query_as("select * from clients where id = $1").bind(id);
    Ok(query.fetch_optional(store.reader()).await?)
}

/// Changes of a client by its operator. What is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientPatch {
    /// Its name.
    pub name: Option<String>,
    /// The version that it is pinned to.
    pub version: Option<ApiVersion>,
    /// Hash of its secret; [`REVOKED`] is that of none.
    pub secret_hash: Option<String>,
    /// True if its tokens end at once.
    pub ends_tokens: bool,
}

/// Hash that no secret has: of a client whose secret was taken back.
pub const REVOKED: &str = "revoked";

/// Changes a client. Returns `true` if there is one.
///
/// # Errors
/// The database failed, and nothing changed.
pub async fn patch_client(
    store: &Store,
    id: &str,
    patch: &ClientPatch,
) -> Result<bool, StoreError> {
    let mut change = store.begin().await?;
    let done = sqlx::query(
        "update clients set name = coalesce($2, name), version = coalesce($3, version),
             secret_hash = coalesce($4, secret_hash)
         where id = $1",
    )
    .bind(id)
    .bind(&patch.name)
    .bind(patch.version.map(ApiVersion::as_str))
    .bind(&patch.secret_hash)
    .execute(change.connection())
    .await?;
    if patch.ends_tokens {
        let ended = sqlx::query("delete from tokens where client_id = $1").bind(id);
        ended.execute(change.connection()).await?;
    }
    change.commit(|| ()).await?;
    Ok(done.rows_affected() == 1)
}

/// All clients, oldest first.
///
/// # Errors
/// The database failed.
pub async fn all_clients(store: &Store) -> Result<Vec<ClientRow>, StoreError> {
    let query = sqlx::query_as("select * from clients order by created_at, id");
    Ok(query.fetch_all(store.reader()).await?)
}

impl FromRow<'_, AnyRow> for ClientRow {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("clients", row);
        let client = Client {
            id: row.get("id")?,
            environment: row.get("environment")?,
            name: row.get("name")?,
            version: row.get("version")?,
            created_at: row.get("created_at")?,
        };
        Ok(Self { client, secret_hash: row.get("secret_hash")? })
    }
}
