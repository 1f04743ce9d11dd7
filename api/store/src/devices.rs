//! Linked devices and the last reading of each.
use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt as _;
use slackwater_control::device::scope::{DeviceKind, Granted, Permission};
use slackwater_control::device::uptake::Uptake;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{Cells, Json, as_text, of_keys};
use slackwater_integration::profile::VendorCode;
use slackwater_integration::reading::Reading;

/// A linked device, as far as it does not change with each poll.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// Our identifier.
    pub id: Uuid,
    /// The client.
    pub client_id: Arc<str>,
    /// The user who linked it.
    pub user_id: Arc<str>,
    /// Kind of the device.
    pub kind: DeviceKind,
    /// Its manufacturer.
    pub vendor: VendorCode,
    /// The manufacturer's identifier.
    pub vendor_device: String,
    /// Permissions that its owner granted.
    pub scopes: Granted,
    /// When it was linked.
    pub linked_at: DateTime<Utc>,
    /// Location that was set for it.
    pub location: Option<SetLocation>,
    /// State of the device.
    pub state: DeviceState,
}

/// The place that a device was said to stand at, or at none, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetLocation {
    /// The place.
    pub id: Option<Uuid>,
    /// When it was said.
    pub at: DateTime<Utc>,
}

/// Result of the last polls.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeviceState {
    /// When there was live data last.
    pub heard_at: Option<DateTime<Utc>>,
    /// True if the last poll reached it; `None` if there was none.
    pub is_reachable: Option<bool>,
    /// The last reading.
    pub reading: Option<Arc<Reading>>,
    /// True if it may be woken, as it was found asleep last.
    pub may_be_woken: Option<bool>,
    /// Highest power that readings have shown.
    pub uptake: Option<Uptake>,
}

/// Keeps a device, in place of what was kept under its identifier.
///
/// # Errors
/// The database failed.
pub async fn upsert_device(to: &mut AnyConnection, device: &Device) -> Result<(), StoreError> {
    sqlx::query(
        "insert into devices
             (id, client_id, user_id, kind, vendor, vendor_device, scopes, linked_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)
         on conflict (id) do update set scopes = excluded.scopes",
    )
    .bind(device.id.to_string())
    .bind(&*device.client_id)
    .bind(&*device.user_id)
    .bind(device.kind.as_str())
    .bind(device.vendor.as_str())
    .bind(&device.vendor_device)
    .bind(scope_words(&device.scopes))
    .bind(device.linked_at.timestamp_micros())
    .execute(&mut *to)
    .await?;
    if let Some(location) = device.location {
        set_location(to, device.id, location).await?;
    }
    Ok(())
}

/// Keeps where a device stands.
///
/// # Errors
/// The database failed.
pub async fn set_location(
    to: &mut AnyConnection,
    id: Uuid,
    location: SetLocation,
) -> Result<(), StoreError> {
    sqlx::query("update devices set location_id = $2, location_at = $3 where id = $1")
        .bind(id.to_string())
        .bind(location.id.map(|location| location.to_string()))
        .bind(location.at.timestamp_micros())
        .execute(to)
        .await?;
    Ok(())
}

/// Keeps what a poll found.
///
/// # Errors
/// The database failed.
pub async fn set_state(
    to: &mut AnyConnection,
    id: Uuid,
    state: &DeviceState,
) -> Result<(), StoreError> {
    let reading = state.reading.as_deref().map(as_text);
    sqlx::query(
        "update devices
         set heard_at = $2, is_reachable = $3, reading = $4, may_be_woken = $5, uptake = $6
         where id = $1",
    )
    .bind(id.to_string())
    .bind(state.heard_at.map(|at| at.timestamp_micros()))
    .bind(state.is_reachable.map(i64::from))
    .bind(reading)
    .bind(state.may_be_woken.map(i64::from))
    .bind(state.uptake.as_ref().map(as_text))
    .execute(to)
    .await?;
    Ok(())
}

/// All devices, in no order.
///
/// In two halves at once, by the last digit of the identifier: to make a device of
/// a row takes about as long as to fetch it, and a start waits for little else.
///
/// # Errors
/// The database failed, or holds what no version of this service has written.
pub async fn all_devices(store: &Store) -> Result<impl Iterator<Item = Device>, StoreError> {
    let halves = [
        "select * from devices where substr(id, 36, 1) < '8'",
        "select * from devices where substr(id, 36, 1) >= '8'",
    ];
    let [one, other] =
        halves.map(|statement| tokio::spawn(fetch_devices(store.clone(), statement)));
    let ended = |_| StoreError::Down(sqlx::Error::WorkerCrashed);
    let (one, other) = (one.await.map_err(ended)??, other.await.map_err(ended)??);
    Ok(one.into_iter().chain(other))
}

/// The devices that a statement finds. One is read while the next is fetched.
async fn fetch_devices(store: Store, statement: &'static str) -> Result<Vec<Device>, StoreError> {
    let query = sqlx::query_as(statement);
    Ok(query.fetch(store.reader()).try_collect().await?)
}

/// Those of these devices that are there.
///
/// # Errors
/// The database cannot be read.
pub async fn devices_of_ids(
    from: &mut AnyConnection,
    ids: &BTreeSet<Uuid>,
) -> Result<Vec<Device>, StoreError> {
    let query = "select * from devices where id = any(string_to_array($1, ','))";
    of_keys(from, query, ids).await
}

impl FromRow<'_, AnyRow> for Device {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("devices", row);
        let (location_id, location_at) = (row.get("location_id")?, row.get("location_at")?);
        let location_at: Option<DateTime<Utc>> = location_at;
        let reading: Option<Json<Reading>> = row.get("reading")?;
        Ok(Self {
            id: row.get("id")?,
            client_id: row.get("client_id")?,
            user_id: row.get("user_id")?,
            kind: row.get("kind")?,
            vendor: row.get("vendor")?,
            vendor_device: row.get("vendor_device")?,
            scopes: row.parse("scopes", scopes)?,
            linked_at: row.get("linked_at")?,
            location: location_at.map(|at| SetLocation { id: location_id, at }),
            state: DeviceState {
                heard_at: row.get("heard_at")?,
                is_reachable: row.get("is_reachable")?,
                reading: reading.map(|Json(reading)| Arc::new(reading)),
                may_be_woken: row.get("may_be_woken")?,
                uptake: row.get::<Option<Json<_>>>("uptake")?.map(|Json(uptake)| uptake),
            },
        })
    }
}

fn scope_words(granted: &Granted) -> String {
    let words: Vec<&str> = granted.iter().map(|permission| permission.as_str()).collect();
    words.join(" ")
}

fn scopes(words: &str) -> Result<Granted, String> {
    let words = words.split_whitespace().map(Permission::parse);
    words.collect::<Result<BTreeSet<_>, _>>().map_err(|error| error.to_string())
}
