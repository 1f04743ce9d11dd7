//! Link sessions, by the hashes of their tokens.
use chrono::{DateTime, Utc};
use sqlx::{AnyConnection, Row};
use uuid::Uuid;

use crate::store::database::StoreError;

/// A session in which a user connects devices, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSession {
    /// Hash of the token in its address.
    pub hash: String,
    /// The client that asked for it.
    pub client_id: String,
    /// The user.
    pub user_id: String,
    /// What the client asked for, as JSON.
    pub request: String,
    /// The device that is linked again, if it is one.
    pub device_id: Option<Uuid>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// The first instant at which it is refused.
    pub expires_at: DateTime<Utc>,
}

/// Keeps a session.
///
/// # Errors
/// The database failed.
pub async fn insert(to: &mut AnyConnection, row: &LinkSession) -> Result<(), StoreError> {
    sqlx::query(
        "insert into link_sessions
             (hash, client_id, user_id, request, device_id, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(&row.hash)
    .bind(&row.client_id)
    .bind(&row.user_id)
    .bind(&row.request)
    .bind(row.device_id.map(|id| id.to_string()))
    .bind(row.created_at.timestamp_micros())
    .bind(row.expires_at.timestamp_micros())
    .execute(to)
    .await?;
    Ok(())
}

/// Connections of a client, and sessions that may still become some.
///
/// # Errors
/// The database failed.
pub async fn connections_taken(
    from: &mut AnyConnection,
    client_id: &str,
    now: DateTime<Utc>,
) -> Result<u64, StoreError> {
    let row = sqlx::query(
        "select (select count(*) from connections where client_id = $1)
              + (select count(*) from link_sessions
                 where client_id = $2 and device_id is null and used_at is null
                   and expires_at > $3) as taken",
    )
    .bind(client_id)
    .bind(client_id)
    .bind(now.timestamp_micros())
    .fetch_one(from)
    .await?;
    let taken: i64 = row.try_get("taken")?;
    Ok(taken.unsigned_abs())
}
