//! Orders of grid operators, and signs of life of their senders.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use slackwater_control::grid_order::limit::{GridLimit, InForce};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow};

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{Cells, Json, as_text};

/// State of a sender of grid orders.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GridState {
    /// Orders and signs of life, without the fail-safe, which is a setting.
    pub limit: GridLimit,
    /// Limit that devices were last asked to follow; `None` before the first one.
    pub in_force: Option<InForce>,
}

impl GridState {
    /// Sender of which nothing was heard yet. Silence is counted from `start`.
    #[must_use]
    pub const fn new(start: DateTime<Utc>) -> Self {
        Self { limit: GridLimit::new(None, start), in_force: None }
    }
}

struct GridRow(GridState);

/// State of a sender; `None` if nothing is kept of it.
///
/// # Errors
/// The database failed, or holds what no version of this service has written.
pub async fn read_grid_state(store: &Store, name: &str) -> Result<Option<GridState>, StoreError> {
    let query = sqlx::query_as("select grid_state from grid_orders where name = $1").bind(name);
    let row: Option<GridRow> = query.fetch_optional(store.reader()).await?;
    Ok(row.map(|GridRow(state)| state))
}

/// State of a sender, which nobody else changes until the change is made; `fresh` if nothing is
/// kept of it.
///
/// # Errors
/// As for [`read_grid_state`].
pub async fn lock_grid_state(
    to: &mut AnyConnection,
    name: &str,
    fresh: &GridState,
) -> Result<GridState, StoreError> {
    let query = sqlx::query_as(
        "insert into grid_orders (name, grid_state) values ($1, $2)
         on conflict (name) do update set grid_state = grid_orders.grid_state
         returning grid_state",
    );
    let GridRow(state) = query.bind(name).bind(as_text(fresh)).fetch_one(to).await?;
    Ok(state)
}

/// Keeps the state of a sender that was locked.
///
/// # Errors
/// The database failed.
pub async fn update_grid_state(
    to: &mut AnyConnection,
    name: &str,
    state: &GridState,
) -> Result<(), StoreError> {
    sqlx::query("update grid_orders set grid_state = $2 where name = $1")
        .bind(name)
        .bind(as_text(state))
        .execute(to)
        .await?;
    Ok(())
}

impl FromRow<'_, AnyRow> for GridRow {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("grid_orders", row);
        Ok(Self(row.get::<Json<GridState>>("grid_state")?.0))
    }
}
