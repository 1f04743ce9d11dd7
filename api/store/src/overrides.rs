//! Smart overrides.
use std::collections::BTreeSet;
use std::sync::Arc;

use slackwater_control::device::override_::Override as Life;
use slackwater_control::device::scope::DeviceKind;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{Cells, of_keys};
use slackwater_integration::profile::VendorCode;

/// "Charge now" for a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// Its identifier, which clients do not see.
    pub id: Uuid,
    /// The client.
    pub client_id: Arc<str>,
    /// The owner of the device.
    pub user_id: Arc<str>,
    /// The device.
    pub target_id: Uuid,
    /// Kind of the device.
    pub kind: DeviceKind,
    /// Its manufacturer.
    pub vendor: VendorCode,
    /// The action that starts charging, if one was needed.
    pub action_id: Option<Uuid>,
    /// Progress of the override.
    pub life: Life,
}

/// Keeps a new override. A device that has an active one is a conflict
/// ([`StoreError::is_conflict`]).
///
/// # Errors
/// The database failed.
pub async fn insert_override(to: &mut AnyConnection, row: &Override) -> Result<(), StoreError> {
    sqlx::query(
        "insert into overrides
             (id, client_id, user_id, target_id, kind, vendor, action_id,
              created_at, ended_at, has_start_action, has_charged, restart_until)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(row.id.to_string())
    .bind(&*row.client_id)
    .bind(&*row.user_id)
    .bind(row.target_id.to_string())
    .bind(row.kind.as_str())
    .bind(row.vendor.as_str())
    .bind(row.action_id.map(|id| id.to_string()))
    .bind(row.life.created_at.timestamp_micros())
    .bind(row.life.ended_at.map(|at| at.timestamp_micros()))
    .bind(i64::from(row.life.has_start_action))
    .bind(i64::from(row.life.has_charged))
    .bind(row.life.restart_until.map(|at| at.timestamp_micros()))
    .execute(to)
    .await?;
    Ok(())
}

/// Keeps what became of an active override. Returns `true` if it was active.
///
/// # Errors
/// The database failed.
pub async fn update_override(to: &mut AnyConnection, row: &Override) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "update overrides set ended_at = $2, has_charged = $3, has_start_action = $4,
             action_id = $5, restart_until = $6
         where id = $1 and ended_at is null",
    )
    .bind(row.id.to_string())
    .bind(row.life.ended_at.map(|at| at.timestamp_micros()))
    .bind(i64::from(row.life.has_charged))
    .bind(i64::from(row.life.has_start_action))
    .bind(row.action_id.map(|id| id.to_string()))
    .bind(row.life.restart_until.map(|at| at.timestamp_micros()))
    .execute(to)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The active override of a device; `None` if it has none.
///
/// # Errors
/// The database failed.
pub async fn active_override(
    from: &mut AnyConnection,
    target_id: Uuid,
) -> Result<Option<Override>, StoreError> {
    let query = sqlx::query_as("select * from overrides where target_id = $1 and ended_at is null");
    Ok(query.bind(target_id.to_string()).fetch_optional(from).await?)
}

/// All active overrides.
///
/// # Errors
/// The database failed.
pub async fn all_active_overrides(store: &Store) -> Result<Vec<Override>, StoreError> {
    let query = sqlx::query_as("select * from overrides where ended_at is null");
    Ok(query.fetch_all(store.reader()).await?)
}

/// The active overrides of these devices.
///
/// # Errors
/// The database cannot be read.
pub async fn active_overrides_of(
    from: &mut AnyConnection,
    ids: &BTreeSet<Uuid>,
) -> Result<Vec<Override>, StoreError> {
    let query = "select * from overrides
         where ended_at is null and target_id = any(string_to_array($1, ','))";
    of_keys(from, query, ids).await
}

impl FromRow<'_, AnyRow> for Override {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("overrides", row);
        Ok(Self {
            id: row.get("id")?,
            client_id: row.get("client_id")?,
            user_id: row.get("user_id")?,
            target_id: row.get("target_id")?,
            kind: row.get("kind")?,
            vendor: row.get("vendor")?,
            action_id: row.get("action_id")?,
            life: Life {
                created_at: row.get("created_at")?,
                ended_at: row.get("ended_at")?,
                has_start_action: row.get("has_start_action")?,
                has_charged: row.get("has_charged")?,
                restart_until: row.get("restart_until")?,
            },
        })
    }
}
