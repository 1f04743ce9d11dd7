//! Price feeds: what came of fetching market prices, by zone, with a lease for who fetches.
//!
//! All instants are times of the machine, as those of leases are.
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow};

use crate::database::Store;
use crate::error::StoreError;
use crate::lease::{Lease, LeasedTable};
use crate::rows::{Cells, Json, as_text};

/// Leases of feeds. When a feed is due depends on who asks, so that every row has work.
const LEASED: LeasedTable = LeasedTable {
    name: "price_feeds",
    key: &["zone_id"],
    holder: "lease_owner",
    until: "lease_until",
    has_work: "zone_id is not null",
};

/// Validators of a reply (RFC 9110, section 8.8): a later request names them, and the server answers
/// that nothing has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// Value of `ETag`.
    pub etag: Option<String>,
    /// Value of `Last-Modified`.
    pub last_modified: Option<String>,
}

/// State of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedState {
    /// The zone.
    pub zone_id: String,
    /// Instant at which it is fetched next.
    pub next_at: DateTime<Utc>,
    /// Instant of the last try.
    pub tried_at: Option<DateTime<Utc>>,
    /// Instant of the last try that succeeded.
    pub succeeded_at: Option<DateTime<Utc>>,
    /// Failures since then.
    pub failures: u32,
    /// Reason of the last try's failure; `None` if it succeeded.
    pub last_failure: Option<String>,
    /// Number of prices in the replies of the last try that found any.
    pub last_rows: Option<u32>,
    /// Validators of replies, by a hash of what was asked for.
    pub validators: BTreeMap<String, Validators>,
}

impl FeedState {
    /// Feed that was never fetched, and is due.
    #[must_use]
    pub fn new(zone_id: &str) -> Self {
        Self {
            zone_id: zone_id.to_owned(),
            next_at: DateTime::UNIX_EPOCH,
            tried_at: None,
            succeeded_at: None,
            failures: 0,
            last_failure: None,
            last_rows: None,
            validators: BTreeMap::new(),
        }
    }
}

/// All feeds that were ever fetched.
///
/// # Errors
/// The database failed, or holds what no version of this service has written.
pub async fn all_feeds(store: &Store) -> Result<Vec<FeedState>, StoreError> {
    Ok(sqlx::query_as("select * from price_feeds").fetch_all(store.reader()).await?)
}

/// Acquires the lease of a feed; `None` if another process holds it.
///
/// # Errors
/// As for [`all_feeds`].
pub async fn acquire_feed(
    to: &mut AnyConnection,
    zone_id: &str,
    lease: &Lease<'_>,
) -> Result<Option<FeedState>, StoreError> {
    sqlx::query(
        "insert into price_feeds (zone_id, next_at, failures, validators)
         values ($1, 0, 0, '{}') on conflict do nothing",
    )
    .bind(zone_id)
    .execute(&mut *to)
    .await?;
    LEASED.acquire(to, &[zone_id], lease).await
}

/// Keeps the state of a feed and gives its lease back. Returns `false`, and keeps nothing, if the
/// process does not hold the lease any more.
///
/// # Errors
/// The database failed.
pub async fn record_feed_and_release(
    to: &mut AnyConnection,
    state: &FeedState,
    holder: &str,
) -> Result<bool, StoreError> {
    if !LEASED.release(to, &[&state.zone_id], holder).await? {
        return Ok(false);
    }
    let micros = |at: Option<DateTime<Utc>>| at.map(|at| at.timestamp_micros());
    sqlx::query(
        "update price_feeds
         set next_at = $1, tried_at = $2, succeeded_at = $3, failures = $4, last_failure = $5,
             last_rows = $6, validators = $7
         where zone_id = $8",
    )
    .bind(state.next_at.timestamp_micros())
    .bind(micros(state.tried_at))
    .bind(micros(state.succeeded_at))
    .bind(i64::from(state.failures))
    .bind(&state.last_failure)
    .bind(state.last_rows.map(i64::from))
    .bind(as_text(&state.validators))
    .bind(&state.zone_id)
    .execute(to)
    .await?;
    Ok(true)
}

impl FromRow<'_, AnyRow> for FeedState {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("price_feeds", row);
        Ok(Self {
            zone_id: row.get("zone_id")?,
            next_at: row.get("next_at")?,
            tried_at: row.get("tried_at")?,
            succeeded_at: row.get("succeeded_at")?,
            failures: row.get("failures")?,
            last_failure: row.get("last_failure")?,
            last_rows: row.get("last_rows")?,
            validators: row.get::<Json<_>>("validators")?.0,
        })
    }
}
