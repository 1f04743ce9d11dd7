//! Single values that the service made for itself, such as keys.
use sqlx::Row;

use crate::store::database::{Store, StoreError};

/// The value of that name; `made` is kept and returned if there is none yet.
///
/// # Errors
/// The database failed.
pub async fn get_or_keep(store: &Store, name: &str, made: &str) -> Result<String, StoreError> {
    let mut change = store.begin().await?;
    sqlx::query("insert into settings (name, value) values ($1, $2) on conflict (name) do nothing")
        .bind(name)
        .bind(made)
        .execute(change.connection())
        .await?;
    let row = sqlx::query("select value from settings where name = $1")
        .bind(name)
        .fetch_one(change.connection())
        .await?;
    change.commit(|| ()).await?;
    Ok(row.try_get("value")?)
}
