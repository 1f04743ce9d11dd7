//! Tokens, by their hashes. A token itself is never kept.
use chrono::{DateTime, Utc};
use sqlx::FromRow;
use sqlx::any::AnyRow;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::Cells;

/// Owner and lifetime of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// The client that it was issued to.
    pub client_id: String,
    /// The first instant at which it is refused.
    pub expires_at: DateTime<Utc>,
}

/// Keeps a token, and forgets those that expired before `now`.
///
/// # Errors
/// The database failed.
pub async fn insert_token(
    store: &Store,
    hash: &str,
    token: &TokenRow,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let mut change = store.begin().await?;
    sqlx::query("delete from tokens where expires_at <= $1")
        .bind(now.timestamp_micros())
        .execute(change.connection())
        .await?;
    sqlx::query("insert into tokens (hash, client_id, expires_at) values ($1, $2, $3)")
        .bind(hash)
        .bind(&token.client_id)
        .bind(token.expires_at.timestamp_micros())
        .execute(change.connection())
        .await?;
    change.commit(|| ()).await
}

/// Forgets a token.
///
/// # Errors
/// The database failed.
pub async fn delete_token(store: &Store, hash: &str) -> Result<(), StoreError> {
    let mut change = store.begin().await?;
    let delete = sqlx::query("delete from tokens where hash = $1").bind(hash);
    delete.execute(change.connection()).await?;
    change.commit(|| ()).await
}

/// The token of that hash; `None` if there is none.
///
/// # Errors
/// The database failed.
pub async fn get_token(store: &Store, hash: &str) -> Result<Option<TokenRow>, StoreError> {
    let query = sqlx::query_as("select * from tokens where hash = $1").bind(hash);
    Ok(query.fetch_optional(store.reader()).await?)
}

impl FromRow<'_, AnyRow> for TokenRow {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("tokens", row);
        Ok(Self { client_id: row.get("client_id")?, expires_at: row.get("expires_at")? })
    }
}
