//! Smart overrides.
use std::collections::BTreeSet;
use std::sync::Arc;

use slackwater_control::device::override_::Override as Life;
use slackwater_control::device::scope::DeviceKind;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{instant, of_keys, optional_instant, parsed};
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
    /// What the device is.
    pub kind: DeviceKind,
    /// Its manufacturer.
    pub vendor: VendorCode,
    /// The action that starts charging, if one was needed.
    pub action_id: Option<Uuid>,
    /// How far it has come.
    pub life: Life,
}

/// Keeps a new override. A device that has an active one is a conflict
/// ([`StoreError::is_conflict`]).
///
/// # Errors
/// The database failed.
pub async fn insert(to: &mut AnyConnection, row: &Override) -> Result<(), StoreError> {
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

/// Keeps what became of an active override. Returns whether it was active.
///
/// # Errors
/// The database failed.
pub async fn change(to: &mut AnyConnection, row: &Override) -> Result<bool, StoreError> {
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
pub async fn active_of(
    from: &mut AnyConnection,
    target_id: Uuid,
) -> Result<Option<Override>, StoreError> {
    let query = sqlx::query("select * from overrides where target_id = $1 and ended_at is null");
    let row = query.bind(target_id.to_string()).fetch_optional(from).await?;
    row.map(|row| override_(&row)).transpose()
}

/// All active overrides.
///
/// # Errors
/// The database failed.
pub async fn all_active(store: &Store) -> Result<Vec<Override>, StoreError> {
    let query = sqlx::query("select * from overrides where ended_at is null");
    query.fetch_all(store.reader()).await?.iter().map(override_).collect()
}

/// The active overrides of these devices.
///
/// # Errors
/// As [`of_keys`].
pub async fn active_of_all(
    from: &mut AnyConnection,
    ids: &BTreeSet<Uuid>,
) -> Result<Vec<Override>, StoreError> {
    let query = "select * from overrides
         where ended_at is null and target_id = any(string_to_array($1, ','))";
    of_keys(from, query, ids, override_).await
}

fn override_(row: &AnyRow) -> Result<Override, StoreError> {
    let text = |column| row.try_get::<&str, &str>(column);
    let is = |column| row.try_get::<i64, &str>(column).map(|is| is != 0);
    let action_id: Option<&str> = row.try_get("action_id")?;
    Ok(Override {
        id: parsed(row, "overrides", "id", Uuid::parse_str)?,
        client_id: text("client_id")?.into(),
        user_id: text("user_id")?.into(),
        target_id: parsed(row, "overrides", "target_id", Uuid::parse_str)?,
        kind: parsed(row, "overrides", "kind", DeviceKind::parse)?,
        vendor: parsed(row, "overrides", "vendor", VendorCode::parse)?,
        action_id: action_id.and_then(|id| Uuid::parse_str(id).ok()),
        life: Life {
            created_at: instant(row, "created_at")?,
            ended_at: optional_instant(row, "ended_at")?,
            has_start_action: is("has_start_action")?,
            has_charged: is("has_charged")?,
            restart_until: optional_instant(row, "restart_until")?,
        },
    })
}
