//! What is to be done with devices: smart charging policies and flex policies.
//!
//! Changes of one policy are made from its row, under the lock of the row, so
//! that those of other replicas are not lost.
use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use slackwater_control::policy::charger::ChargerPolicy;
use slackwater_control::policy::flex::FlexRequest;
use slackwater_control::policy::vehicle::VehiclePolicyRequest;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{instant, of_keys, parsed};

/// The smart charging policy of a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum SmartPolicy {
    /// Of a charger.
    #[serde(rename = "charger")]
    Charger(ChargerPolicy),
    /// Of a vehicle.
    #[serde(rename = "vehicle")]
    Vehicle(VehiclePolicyRequest),
}

/// A flex policy of a vehicle.
#[derive(Debug, Clone, PartialEq)]
pub struct FlexRow {
    /// Its identifier.
    pub id: Uuid,
    /// The client.
    pub client_id: Arc<str>,
    /// The vehicle.
    pub vehicle_id: Uuid,
    /// Where it holds.
    pub location_id: Uuid,
    /// What it wants.
    pub policy: FlexRequest,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// Keeps the smart charging policy of a device.
///
/// # Errors
/// The database failed.
pub async fn keep_smart(
    to: &mut AnyConnection,
    device_id: Uuid,
    policy: &SmartPolicy,
) -> Result<(), StoreError> {
    sqlx::query(
        "insert into smart_charging_policies (device_id, policy) values ($1, $2)
         on conflict (device_id) do update set policy = excluded.policy",
    )
    .bind(device_id.to_string())
    .bind(as_text(policy))
    .execute(to)
    .await?;
    Ok(())
}

/// The smart charging policy of a device, which nobody else changes until the
/// change is made.
///
/// # Errors
/// The database failed.
pub async fn smart_to_change(
    to: &mut AnyConnection,
    device_id: Uuid,
) -> Result<Option<SmartPolicy>, StoreError> {
    let query = "update smart_charging_policies set policy = policy
         where device_id = $1 returning device_id, policy";
    let row = sqlx::query(query).bind(device_id.to_string()).fetch_optional(to).await?;
    row.as_ref().map(|row| Ok(smart(row)?.1)).transpose()
}

/// Keeps a flex policy, in place of what was kept of it.
///
/// # Errors
/// The database failed.
pub async fn keep_flex(to: &mut AnyConnection, row: &FlexRow) -> Result<(), StoreError> {
    sqlx::query(
        "insert into flex_policies
             (id, client_id, vehicle_id, location_id, policy, created_at)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (id) do update set policy = excluded.policy,
             vehicle_id = excluded.vehicle_id, location_id = excluded.location_id",
    )
    .bind(row.id.to_string())
    .bind(&*row.client_id)
    .bind(row.vehicle_id.to_string())
    .bind(row.location_id.to_string())
    .bind(as_text(&row.policy))
    .bind(row.created_at.timestamp_micros())
    .execute(to)
    .await?;
    Ok(())
}

/// A flex policy of a client, which nobody else changes until the change is made.
///
/// # Errors
/// The database failed.
pub async fn flex_to_change(
    to: &mut AnyConnection,
    client_id: &str,
    id: Uuid,
) -> Result<Option<FlexRow>, StoreError> {
    let query = "update flex_policies set policy = policy
         where id = $1 and client_id = $2 returning *";
    let row = sqlx::query(query).bind(id.to_string()).bind(client_id).fetch_optional(to).await?;
    row.as_ref().map(flex).transpose()
}

/// All smart charging policies.
///
/// # Errors
/// The database failed.
pub async fn all_smart(store: &Store) -> Result<Vec<(Uuid, SmartPolicy)>, StoreError> {
    let rows = sqlx::query("select device_id, policy from smart_charging_policies");
    rows.fetch_all(store.reader()).await?.iter().map(smart).collect()
}

/// All flex policies.
///
/// # Errors
/// The database failed.
pub async fn all_flex(store: &Store) -> Result<Vec<FlexRow>, StoreError> {
    let rows = sqlx::query("select * from flex_policies").fetch_all(store.reader()).await?;
    rows.iter().map(flex).collect()
}

/// The smart charging policies of these devices.
///
/// # Errors
/// As [`of_keys`].
pub async fn smart_of(
    from: &mut AnyConnection,
    ids: &BTreeSet<Uuid>,
) -> Result<Vec<(Uuid, SmartPolicy)>, StoreError> {
    let query = "select device_id, policy from smart_charging_policies
         where device_id = any(string_to_array($1, ','))";
    of_keys(from, query, ids, smart).await
}

/// The flex policies of these vehicles.
///
/// # Errors
/// As [`of_keys`].
pub async fn flex_of(
    from: &mut AnyConnection,
    ids: &BTreeSet<Uuid>,
) -> Result<Vec<FlexRow>, StoreError> {
    let query = "select * from flex_policies where vehicle_id = any(string_to_array($1, ','))";
    of_keys(from, query, ids, flex).await
}

fn smart(row: &AnyRow) -> Result<(Uuid, SmartPolicy), StoreError> {
    let table = "smart_charging_policies";
    let id = parsed(row, table, "device_id", Uuid::parse_str)?;
    Ok((id, parsed(row, table, "policy", |text| serde_json::from_str(text))?))
}

fn flex(row: &AnyRow) -> Result<FlexRow, StoreError> {
    let table = "flex_policies";
    Ok(FlexRow {
        id: parsed(row, table, "id", Uuid::parse_str)?,
        client_id: row.try_get::<&str, &str>("client_id")?.into(),
        vehicle_id: parsed(row, table, "vehicle_id", Uuid::parse_str)?,
        location_id: parsed(row, table, "location_id", Uuid::parse_str)?,
        policy: parsed(row, table, "policy", |text| serde_json::from_str(text))?,
        created_at: instant(row, "created_at")?,
    })
}

fn as_text(policy: &impl Serialize) -> String {
    serde_json::to_string(policy).expect("names and finite numbers have a JSON form")
}
