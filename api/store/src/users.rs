//! Users of clients.
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow};

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{Cells, Pair, of_keys};

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The client whose user it is.
    pub client_id: String,
    /// The identifier that the client chose.
    pub id: String,
    /// When the client first named it.
    pub created_at: DateTime<Utc>,
    /// When the client let go of its accounts. An account that is linked undoes it;
    /// a link session that nobody has used does not.
    pub deauthorised_at: Option<DateTime<Utc>>,
}

/// Keeps a user. One that exists stays as it is.
///
/// # Errors
/// The database failed.
pub async fn insert_user(
    to: &mut AnyConnection,
    (client_id, id): (&str, &str),
    created_at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query(
        "insert into users (client_id, id, created_at) values ($1, $2, $3)
         on conflict (client_id, id) do nothing",
    )
    .bind(client_id)
    .bind(id)
    .bind(created_at.timestamp_micros())
    .execute(to)
    .await?;
    Ok(())
}

/// Counts a user as authorised from now on: an account was linked.
///
/// # Errors
/// The database failed.
pub async fn authorise_user(
    to: &mut AnyConnection,
    (client_id, id): (&str, &str),
) -> Result<(), StoreError> {
    sqlx::query("update users set deauthorised_at = null where client_id = $1 and id = $2")
        .bind(client_id)
        .bind(id)
        .execute(to)
        .await?;
    Ok(())
}

/// Deletes a user of this creation with all that is theirs. Returns `true` if there was one: of two
/// who delete a user, one does, and a user who was created anew meanwhile stays.
///
/// # Errors
/// The database failed.
pub async fn delete_user(
    to: &mut AnyConnection,
    (client_id, id): (&str, &str),
    created_at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let done =
        sqlx::query("delete from users where client_id = $1 and id = $2 and created_at = $3")
            .bind(client_id)
            .bind(id)
            .bind(created_at.timestamp_micros())
            .execute(to)
            .await?;
    Ok(done.rows_affected() == 1)
}

/// Forgets what a user's accounts were called with, and ends their sessions.
/// Everything else stays (LNK-30).
///
/// # Errors
/// The database failed.
pub async fn deauthorise_user(
    to: &mut AnyConnection,
    client_id: &str,
    id: &str,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let statements = [
        "update connections set secret = null, secret_key = null, is_valid = 0,
             renewed_by = null, renewed_until = 0
         where client_id = $1 and user_id = $2",
        "delete from link_sessions where client_id = $1 and user_id = $2",
    ];
    for statement in statements {
        sqlx::query(statement).bind(client_id).bind(id).execute(&mut *to).await?;
    }
    sqlx::query("update users set deauthorised_at = $3 where client_id = $1 and id = $2")
        .bind(client_id)
        .bind(id)
        .bind(now.timestamp_micros())
        .execute(to)
        .await?;
    Ok(())
}

/// All users.
///
/// # Errors
/// The database failed.
pub async fn all_users(store: &Store) -> Result<Vec<User>, StoreError> {
    Ok(sqlx::query_as("select * from users").fetch_all(store.reader()).await?)
}

/// Those of these users that are there.
///
/// # Errors
/// The database cannot be read.
pub async fn users_of_names(
    from: &mut AnyConnection,
    names: &BTreeSet<Pair>,
) -> Result<Vec<User>, StoreError> {
    let query = "select * from users where (client_id, id) in
         (select value ->> 0, value ->> 1 from json_array_elements(cast($1 as json)))";
    of_keys(from, query, names).await
}

impl FromRow<'_, AnyRow> for User {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("users", row);
        Ok(Self {
            client_id: row.get("client_id")?,
            id: row.get("id")?,
            created_at: row.get("created_at")?,
            deauthorised_at: row.get("deauthorised_at")?,
        })
    }
}
