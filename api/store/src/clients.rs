//! Clients: the applications that may ask.
use slackwater_wire::version::dated::ApiVersion;
use sqlx::Row;
use sqlx::any::AnyRow;

use crate::client::{Client, Environment};
use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{instant, parsed};

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
pub async fn insert(store: &Store, row: &ClientRow) -> Result<(), StoreError> {
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
pub async fn get(store: &Store, id: &str) -> Result<Option<ClientRow>, StoreError> {
    let row = sqlx::query("select * from clients where id = $1")
        .bind(id)
        .fetch_optional(store.reader())
        .await?;
    row.map(|row| client(&row)).transpose()
}

/// All clients, oldest first.
///
/// # Errors
/// The database failed.
pub async fn all(store: &Store) -> Result<Vec<ClientRow>, StoreError> {
    let query = sqlx::query("select * from clients order by created_at, id");
    query.fetch_all(store.reader()).await?.iter().map(client).collect()
}

fn client(row: &AnyRow) -> Result<ClientRow, StoreError> {
    let client = Client {
        id: row.try_get("id")?,
        environment: parsed(row, "clients", "environment", Environment::parse)?,
        name: row.try_get("name")?,
        version: parsed(row, "clients", "version", ApiVersion::parse)?,
        created_at: instant(row, "created_at")?,
    };
    Ok(ClientRow { client, secret_hash: row.try_get("secret_hash")? })
}
