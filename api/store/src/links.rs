//! Link sessions, by the hashes of their tokens.
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow, Row};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::Cells;

/// A session in which a user connects devices, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSession {
    /// Hash of the token in its address.
    pub hash: String,
    /// The client that asked for it.
    pub client_id: String,
    /// The user.
    pub user_id: String,
    /// Request of the client, as JSON.
    pub request: String,
    /// The device that is linked again, if it is one.
    pub device_id: Option<Uuid>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// The first instant at which it is refused.
    pub expires_at: DateTime<Utc>,
}

/// A session as it was kept, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSession {
    /// As it was made.
    pub made: LinkSession,
    /// When it was used; nothing before that.
    pub used_at: Option<DateTime<Utc>>,
    /// Progress of the user, sealed.
    pub progress: Option<String>,
}

/// For how long a session that is over is still known as one.
const REMEMBERED: TimeDelta = TimeDelta::days(30);

/// Keeps a session, and lets go of those that have long been over.
///
/// # Errors
/// The database failed.
pub async fn insert_session(to: &mut AnyConnection, row: &LinkSession) -> Result<(), StoreError> {
    sqlx::query("delete from link_sessions where expires_at < $1")
        .bind((row.created_at - REMEMBERED).timestamp_micros())
        .execute(&mut *to)
        .await?;
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
pub async fn count_connections(
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

/// The session of a hash; `None` if there is none.
///
/// # Errors
/// The database failed.
pub async fn get_session(store: &Store, hash: &str) -> Result<Option<KeptSession>, StoreError> {
    let query = sqlx::query_as("select * from link_sessions where hash = $1").bind(hash);
    Ok(query.fetch_optional(store.reader()).await?)
}

/// Keeps how far a user came, if that is still as it was read. Of many who go on
/// from the same step one does; once the session is used nobody.
///
/// # Errors
/// The database failed.
pub async fn advance_progress(
    to: &mut AnyConnection,
    hash: &str,
    (before, progress): (&str, &str),
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "update link_sessions set progress = $1
         where hash = $2 and progress = $3 and used_at is null",
    )
    .bind(progress)
    .bind(hash)
    .bind(before)
    .execute(to)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Keeps how far a user came. Does nothing once the session is used.
///
/// # Errors
/// The database failed.
pub async fn keep_progress(
    to: &mut AnyConnection,
    hash: &str,
    progress: &str,
) -> Result<(), StoreError> {
    sqlx::query("update link_sessions set progress = $1 where hash = $2 and used_at is null")
        .bind(progress)
        .bind(hash)
        .execute(to)
        .await?;
    Ok(())
}

/// Takes one of the log-ins that a session has, before the manufacturer is asked: of many at once
/// no more than `most` are under way or refused. Returns `true` if there was one; a session that is
/// used has none.
///
/// # Errors
/// The database failed.
pub async fn take_attempt(
    to: &mut AnyConnection,
    hash: &str,
    most: u64,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "update link_sessions set refused = refused + 1
         where hash = $1 and used_at is null and refused < $2",
    )
    .bind(hash)
    .bind(most.cast_signed())
    .execute(to)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Gives a log-in back that was not refused.
///
/// # Errors
/// The database failed.
pub async fn return_attempt(to: &mut AnyConnection, hash: &str) -> Result<(), StoreError> {
    sqlx::query("update link_sessions set refused = refused - 1 where hash = $1 and refused > 0")
        .bind(hash)
        .execute(to)
        .await?;
    Ok(())
}

/// Returns `true` if a session that can still be used has no log-in left.
///
/// # Errors
/// The database failed.
pub async fn is_spent(from: &mut AnyConnection, hash: &str, most: u64) -> Result<bool, StoreError> {
    let row = sqlx::query(
        "select hash from link_sessions where hash = $1 and used_at is null and refused >= $2",
    )
    .bind(hash)
    .bind(most.cast_signed())
    .fetch_optional(from)
    .await?;
    Ok(row.is_some())
}

/// Uses a session up, and forgets how far its user came. Returns `true` if it could still be used:
/// of many who try, one does (LNK-13, LNK-14).
///
/// # Errors
/// The database failed.
pub async fn use_session(
    to: &mut AnyConnection,
    hash: &str,
    now: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "update link_sessions set used_at = $1, progress = null
         where hash = $2 and used_at is null and expires_at > $3",
    )
    .bind(now.timestamp_micros())
    .bind(hash)
    .bind(now.timestamp_micros())
    .execute(to)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Connections of a client, those of one user with one manufacturer left out.
///
/// # Errors
/// The database failed.
pub async fn count_other_connections(
    from: &mut AnyConnection,
    client_id: &str,
    (user_id, vendor): (&str, &str),
) -> Result<u64, StoreError> {
    let row = sqlx::query(
        "select count(*) as taken from connections
         where client_id = $1 and not (user_id = $2 and vendor = $3)",
    )
    .bind(client_id)
    .bind(user_id)
    .bind(vendor)
    .fetch_one(from)
    .await?;
    let taken: i64 = row.try_get("taken")?;
    Ok(taken.unsigned_abs())
}

impl FromRow<'_, AnyRow> for KeptSession {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("link_sessions", row);
        let made = LinkSession {
            hash: row.get("hash")?,
            client_id: row.get("client_id")?,
            user_id: row.get("user_id")?,
            request: row.get("request")?,
            device_id: row.get("device_id")?,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
        };
        Ok(Self { made, used_at: row.get("used_at")?, progress: row.get("progress")? })
    }
}
