//! Limits of areas that operators set while the service runs.
use std::collections::BTreeSet;

use slackwater_engine::shared_supply::SharedLimit;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow};

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{Cells, Json, Pair, as_text, of_keys};

/// Limit that an operator set for an area.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitRow {
    /// Market zone and area.
    pub area: Pair,
    /// The limit. Its usual power, if it has one, comes before that of the settings.
    pub limit: SharedLimit,
}

/// Keeps a limit, in place of what was kept for its area.
///
/// # Errors
/// The database failed.
pub async fn upsert_limit(to: &mut AnyConnection, row: &LimitRow) -> Result<(), StoreError> {
    sqlx::query(
        "insert into area_limits (zone_id, area_id, area_limit) values ($1, $2, $3)
         on conflict (zone_id, area_id) do update set area_limit = excluded.area_limit",
    )
    .bind(&row.area.0)
    .bind(&row.area.1)
    .bind(as_text(&row.limit))
    .execute(to)
    .await?;
    Ok(())
}

/// Deletes the limit of an area, if there is one.
///
/// # Errors
/// The database failed.
pub async fn delete_limit(to: &mut AnyConnection, area: &Pair) -> Result<(), StoreError> {
    sqlx::query("delete from area_limits where zone_id = $1 and area_id = $2")
        .bind(&area.0)
        .bind(&area.1)
        .execute(to)
        .await?;
    Ok(())
}

/// The limit of an area, which nobody else changes until the change is made. An area without one
/// gets an empty limit.
///
/// # Errors
/// The database failed, or holds what no version of this service has written.
pub async fn lock_limit(to: &mut AnyConnection, area: &Pair) -> Result<LimitRow, StoreError> {
    let query = sqlx::query_as(
        "insert into area_limits (zone_id, area_id, area_limit) values ($1, $2, $3)
         on conflict (zone_id, area_id) do update set area_limit = area_limits.area_limit
         returning zone_id, area_id, area_limit",
    );
    let empty = as_text(&SharedLimit::default());
    Ok(query.bind(&area.0).bind(&area.1).bind(empty).fetch_one(to).await?)
}

/// All limits.
///
/// # Errors
/// As for [`lock_limit`].
pub async fn all_limits(store: &Store) -> Result<Vec<LimitRow>, StoreError> {
    Ok(sqlx::query_as("select * from area_limits").fetch_all(store.reader()).await?)
}

/// The limits of these areas.
///
/// # Errors
/// As for [`lock_limit`].
pub async fn limits_of(
    from: &mut AnyConnection,
    areas: &BTreeSet<Pair>,
) -> Result<Vec<LimitRow>, StoreError> {
    let query = "select * from area_limits where (zone_id, area_id) in
         (select value ->> 0, value ->> 1 from json_array_elements(cast($1 as json)))";
    of_keys(from, query, areas).await
}

impl FromRow<'_, AnyRow> for LimitRow {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("area_limits", row);
        Ok(Self {
            area: (row.get("zone_id")?, row.get("area_id")?),
            limit: row.get::<Json<SharedLimit>>("area_limit")?.0,
        })
    }
}
