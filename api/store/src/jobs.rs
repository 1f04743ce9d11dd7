//! Areas whose plans have to follow their prices: rows with a lease.
//!
//! Asking counts up, and whoever has worked up to a count says so. A crash
//! leaves the two apart, and the work is done again when the lease has run out.
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::client::Environment;
use crate::database::Store;
use crate::error::StoreError;
use crate::rows::instant;

/// How long a lease lasts after it was last renewed.
pub const LEASE: Duration = Duration::from_secs(30);

/// Work on an area that somebody holds the lease of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AreaJob {
    /// The client whose prices they are.
    pub client_id: String,
    /// The zone.
    pub zone_id: String,
    /// The area; empty for the whole zone.
    pub area_id: String,
    /// The count up to which it was asked when the lease was taken.
    pub asked: i64,
    /// When it was asked last.
    pub asked_at: DateTime<Utc>,
}

/// Asks for the plans of an area to follow its prices.
///
/// # Errors
/// The database failed.
pub async fn ask(
    to: &mut AnyConnection,
    area: (&str, &str, &str),
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    ask_after(to, area, now, TimeDelta::zero()).await
}

/// The same, unless the area was asked for less than `patience` before.
///
/// # Errors
/// The database failed.
pub async fn ask_after(
    to: &mut AnyConnection,
    (client_id, zone_id, area_id): (&str, &str, &str),
    now: DateTime<Utc>,
    patience: TimeDelta,
) -> Result<(), StoreError> {
    // Clocks of replicas differ: without patience the time does not count.
    let latest = if patience.is_zero() { i64::MAX } else { (now - patience).timestamp_micros() };
    sqlx::query(
        "insert into area_jobs (client_id, zone_id, area_id, asked, done, asked_at)
         values ($1, $2, $3, 1, 0, $4)
         on conflict (client_id, zone_id, area_id) do update
             set asked = area_jobs.asked + 1, asked_at = excluded.asked_at
             where area_jobs.asked_at <= $5",
    )
    .bind(client_id)
    .bind(zone_id)
    .bind(area_id)
    .bind(now.timestamp_micros())
    .bind(latest)
    .execute(to)
    .await?;
    Ok(())
}

/// Takes the lease of an area of an environment that waits, if there is one:
/// nobody holds it, or whoever did let it run out.
///
/// # Errors
/// The database failed.
pub async fn take(
    to: &mut AnyConnection,
    environment: Environment,
    owner: &str,
    machine_now: DateTime<Utc>,
) -> Result<Option<AreaJob>, StoreError> {
    let row = sqlx::query(
        "update area_jobs set lease_owner = $1, lease_until = $2
         where (client_id, zone_id, area_id) = (
             select client_id, zone_id, area_id from area_jobs
             where asked > done and (lease_owner is null or lease_until <= $3)
                 and client_id in (select id from clients where environment = $4)
             order by asked_at, client_id, zone_id, area_id limit 1)
         and asked > done and (lease_owner is null or lease_until <= $5)
         returning client_id, zone_id, area_id, asked, asked_at",
    )
    .bind(owner)
    .bind((machine_now + LEASE).timestamp_micros())
    .bind(machine_now.timestamp_micros())
    .bind(environment.as_str())
    .bind(machine_now.timestamp_micros())
    .fetch_optional(to)
    .await?;
    row.as_ref().map(job).transpose()
}

/// Renews the lease of an area, within the change that needs it. Returns false,
/// and nothing may be written, if somebody else holds it now.
///
/// # Errors
/// The database failed.
pub async fn renew(
    to: &mut AnyConnection,
    job: &AreaJob,
    owner: &str,
    machine_now: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "update area_jobs set lease_until = $1
         where client_id = $2 and zone_id = $3 and area_id = $4 and lease_owner = $5",
    )
    .bind((machine_now + LEASE).timestamp_micros())
    .bind(&job.client_id)
    .bind(&job.zone_id)
    .bind(&job.area_id)
    .bind(owner)
    .execute(to)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Says that an area is done as far as it was asked when it was taken, and
/// gives the lease back.
///
/// # Errors
/// The database failed.
pub async fn finish(to: &mut AnyConnection, job: &AreaJob, owner: &str) -> Result<(), StoreError> {
    sqlx::query(
        "update area_jobs set done = $1, lease_owner = null, lease_until = null
         where client_id = $2 and zone_id = $3 and area_id = $4 and lease_owner = $5",
    )
    .bind(job.asked)
    .bind(&job.client_id)
    .bind(&job.zone_id)
    .bind(&job.area_id)
    .bind(owner)
    .execute(to)
    .await?;
    Ok(())
}

/// Whether an area of an environment waits for new plans.
///
/// # Errors
/// The database failed.
pub async fn is_any_waiting(store: &Store, environment: Environment) -> Result<bool, StoreError> {
    let waiting = "select client_id from area_jobs
         where asked > done and client_id in (select id from clients where environment = $1)
         limit 1";
    let found = sqlx::query(waiting).bind(environment.as_str());
    Ok(found.fetch_optional(store.reader()).await?.is_some())
}

fn job(row: &AnyRow) -> Result<AreaJob, StoreError> {
    Ok(AreaJob {
        client_id: row.try_get("client_id")?,
        zone_id: row.try_get("zone_id")?,
        area_id: row.try_get("area_id")?,
        asked: row.try_get("asked")?,
        asked_at: instant(row, "asked_at")?,
    })
}
