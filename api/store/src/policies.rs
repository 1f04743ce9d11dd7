//! Rows of smart charging policies, comfort policies and flex policies.
//!
//! Changes of one policy are made from its row, under the lock of the row, so
//! that those of other replicas are not lost.
use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use slackwater_control::policy::charger::ChargerPolicy;
use slackwater_control::policy::comfort::ComfortPolicy;
use slackwater_control::policy::flex::FlexRequest;
use slackwater_control::policy::vehicle::VehiclePolicyRequest;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{Cells, Json, as_text, of_keys};

/// The standing policy of a device: smart charging, or comfort.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SmartPolicy {
    /// Of a charger.
    #[serde(rename = "charger")]
    Charger(ChargerPolicy),
    /// Of a vehicle.
    #[serde(rename = "vehicle")]
    Vehicle(VehiclePolicyRequest),
    /// Of a heating or cooling unit.
    #[serde(rename = "comfort")]
    Comfort(Box<ComfortPolicy>),
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
    /// Location at which it holds.
    pub location_id: Uuid,
    /// Request of the policy.
    pub policy: FlexRequest,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// Keeps the smart charging policy of a device.
///
/// # Errors
/// The database failed.
pub async fn upsert_smart_policy(
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

/// Deletes the standing policy of a device.
///
/// # Errors
/// The database failed.
pub async fn delete_smart_policy(
    from: &mut AnyConnection,
    device_id: Uuid,
) -> Result<(), StoreError> {
    let query = sqlx::query("delete from smart_charging_policies where device_id = $1");
    query.bind(device_id.to_string()).execute(from).await?;
    Ok(())
}

/// The smart charging policy of a device, which nobody else changes until the
/// change is made.
///
/// # Errors
/// The database failed.
pub async fn lock_smart_policy(
    to: &mut AnyConnection,
    device_id: Uuid,
) -> Result<Option<SmartPolicy>, StoreError> {
    let query = "update smart_charging_policies set policy = policy
         where device_id = $1 returning device_id, policy";
    let query = sqlx::query_as(query).bind(device_id.to_string());
    let row: Option<SmartRow> = query.fetch_optional(to).await?;
    Ok(row.map(|SmartRow(_, policy)| policy))
}

/// Keeps a flex policy, in place of what was kept of it.
///
/// # Errors
/// The database failed.
pub async fn upsert_flex_policy(to: &mut AnyConnection, row: &FlexRow) -> Result<(), StoreError> {
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
pub async fn lock_flex_policy(
    to: &mut AnyConnection,
    client_id: &str,
    id: Uuid,
) -> Result<Option<FlexRow>, StoreError> {
    let query = "update flex_policies set policy = policy
         where id = $1 and client_id = $2 returning *";
    let query = sqlx::query_as(query).bind(id.to_string()).bind(client_id);
    Ok(query.fetch_optional(to).await?)
}

/// All smart charging policies.
///
/// # Errors
/// The database failed.
pub async fn all_smart_policies(store: &Store) -> Result<Vec<(Uuid, SmartPolicy)>, StoreError> {
    let query = sqlx::query_as("select device_id, policy from smart_charging_policies");
    let rows: Vec<SmartRow> = query.fetch_all(store.reader()).await?;
    Ok(rows.into_iter().map(|SmartRow(id, policy)| (id, policy)).collect())
}

/// All flex policies.
///
/// # Errors
/// The database failed.
pub async fn all_flex_policies(store: &Store) -> Result<Vec<FlexRow>, StoreError> {
    let query = sqlx::query_as("select * from flex_policies");
    Ok(query.fetch_all(store.reader()).await?)
}

/// The smart charging policies of these devices.
///
/// # Errors
/// The database cannot be read.
pub async fn smart_policies_of(
    from: &mut AnyConnection,
    ids: &BTreeSet<Uuid>,
) -> Result<Vec<(Uuid, SmartPolicy)>, StoreError> {
    let query = "select device_id, policy from smart_charging_policies
         where device_id = any(string_to_array($1, ','))";
    let rows: Vec<SmartRow> = of_keys(from, query, ids).await?;
    Ok(rows.into_iter().map(|SmartRow(id, policy)| (id, policy)).collect())
}

/// The flex policies of these vehicles.
///
/// # Errors
/// The database cannot be read.
pub async fn flex_policies_of(
    from: &mut AnyConnection,
    ids: &BTreeSet<Uuid>,
) -> Result<Vec<FlexRow>, StoreError> {
    let query = "select * from flex_policies where vehicle_id = any(string_to_array($1, ','))";
    of_keys(from, query, ids).await
}

/// Smart charging policy of a device.
struct SmartRow(Uuid, SmartPolicy);

impl FromRow<'_, AnyRow> for SmartRow {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("smart_charging_policies", row);
        let Json(policy) = row.get("policy")?;
        Ok(Self(row.get("device_id")?, policy))
    }
}

impl FromRow<'_, AnyRow> for FlexRow {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("flex_policies", row);
        Ok(Self {
            id: row.get("id")?,
            client_id: row.get("client_id")?,
            vehicle_id: row.get("vehicle_id")?,
            location_id: row.get("location_id")?,
            policy: row.get::<Json<FlexRequest>>("policy")?.0,
            created_at: row.get("created_at")?,
        })
    }
}
