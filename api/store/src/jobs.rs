//! Areas whose plans have to follow their prices: rows with a lease.
//!
//! Asking counts up, and whoever has worked up to a count says so. A crash
//! leaves the two apart, and the work is done again when the lease has run out.
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, FromRow};

use crate::client::Environment;
use crate::database::Store;
use crate::error::StoreError;
use crate::lease::{Lease, LeasedTable};
use crate::rows::Cells;

/// Leases of areas.
const LEASED: LeasedTable = LeasedTable {
    name: "area_jobs",
    key: &["client_id", "zone_id", "area_id"],
    holder: "lease_owner",
    until: "lease_until",
    has_work: "asked > done",
};

/// Work on the plans of an area, of a process that holds its lease.
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

impl AreaJob {
    /// Values of the primary key.
    fn key(&self) -> [&str; 3] {
        [&self.client_id, &self.zone_id, &self.area_id]
    }
}

/// Asks for the plans of an area to follow its prices.
///
/// # Errors
/// The database failed.
pub async fn request_area(
    to: &mut AnyConnection,
    area: (&str, &str, &str),
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    request_area_after(to, area, now, TimeDelta::zero()).await
}

/// The same, unless the area was asked for less than `patience` before.
///
/// # Errors
/// The database failed.
pub async fn request_area_after(
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

/// Acquires the lease of one area of an environment that has unfinished work. Returns `None` if
/// there is none, or other processes work on all of them.
///
/// # Errors
/// The database failed.
pub async fn acquire_area(
    to: &mut AnyConnection,
    environment: Environment,
    lease: &Lease<'_>,
) -> Result<Option<AreaJob>, StoreError> {
    let statement = format!(
        "select * from area_jobs
         where {} and client_id in (select id from clients where environment = $2)
         order by asked_at, client_id, zone_id, area_id limit 1",
        LEASED.is_available("$1"),
    );
    let waiting: Option<AreaJob> = sqlx::query_as(AssertSqlSafe(statement))
        .bind(lease.now.timestamp_micros())
        .bind(environment.as_str())
        .fetch_optional(&mut *to)
        .await?;
    // Another process may have been faster since.
    match waiting {
        Some(waiting) => LEASED.acquire(to, &waiting.key(), lease).await,
        None => Ok(None),
    }
}

/// Renews the lease of an area, within the change that needs it. Returns `false`, and nothing may
/// be written, if another process holds it now.
///
/// # Errors
/// The database failed.
pub async fn renew_lease(
    to: &mut AnyConnection,
    job: &AreaJob,
    lease: &Lease<'_>,
) -> Result<bool, StoreError> {
    LEASED.renew(to, &job.key(), lease).await
}

/// Records that an area is done up to the count of when its lease was acquired, and gives the
/// lease back. Changes nothing if another process holds the lease now.
///
/// # Errors
/// The database failed.
pub async fn finish_area(
    to: &mut AnyConnection,
    job: &AreaJob,
    holder: &str,
) -> Result<(), StoreError> {
    let key = job.key();
    if !LEASED.release(to, &key, holder).await? {
        return Ok(());
    }
    let [client_id, zone_id, area_id] = key;
    sqlx::query(
        "update area_jobs set done = $1 where client_id = $2 and zone_id = $3 and area_id = $4",
    )
    .bind(job.asked)
    .bind(client_id)
    .bind(zone_id)
    .bind(area_id)
    .execute(to)
    .await?;
    Ok(())
}

/// Returns `true` if an area of an environment has unfinished work.
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

impl FromRow<'_, AnyRow> for AreaJob {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("area_jobs", row);
        Ok(Self {
            client_id: row.get("client_id")?,
            zone_id: row.get("zone_id")?,
            area_id: row.get("area_id")?,
            asked: row.get("asked")?,
            asked_at: row.get("asked_at")?,
        })
    }
}
