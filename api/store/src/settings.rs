//! Single values that the service made for itself, such as keys.
use sqlx::Row;

use crate::database::Store;
use crate::error::StoreError;

/// The value of that name; `None` if there is none.
///
/// # Errors
/// The database failed.
pub async fn get_setting(store: &Store, name: &str) -> Result<Option<String>, StoreError> {
    let query = sqlx::query("select value from settings where name = $1").bind(name);
    let row = query.fetch_optional(store.reader()).await?;
    Ok(row.map(|row| row.try_get("value")).transpose()?)
}

/// Keeps a value, in place of what was kept under its name.
///
/// # Errors
/// The database failed.
pub async fn set_setting(store: &Store, name: &str, value: &str) -> Result<(), StoreError> {
    let mut change = store.begin().await?;
    sqlx::query(
        "insert into settings (name, value) values ($1, $2)
         on conflict (name) do update set value = excluded.value",
    )
    .bind(name)
    .bind(value)
    .execute(change.connection())
    .await?;
    change.commit(|| ()).await
}

/// The value of that name; `made` is kept and returned if there is none yet.
///
/// # Errors
/// The database failed.
pub async fn get_or_insert_setting(
    store: &Store,
    name: &str,
    made: &str,
) -> Result<String, StoreError> {
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
