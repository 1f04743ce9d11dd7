//! Tariffs of clients, and which of them a location has.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use slackwater_engine::prices::tariff::{IntervalRequest, RateRequest};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{Cells, Json, Pair, as_text, of_keys};

/// A tariff of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TariffRow {
    /// The client.
    pub client_id: String,
    /// The identifier that the client chose.
    pub id: String,
    /// Its named prices, with all the digits that were given.
    pub rates: Vec<RateRequest>,
}

/// Tariff of a location, with the weekly hours of its rates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TariffSchedule {
    /// The tariff.
    pub tariff_id: String,
    /// Weekly intervals, on the clocks of the location.
    pub intervals: Vec<IntervalRequest>,
}

/// Keeps a tariff, in place of what was kept under its identifier.
///
/// # Errors
/// The database failed.
pub async fn upsert_tariff(to: &mut AnyConnection, row: &TariffRow) -> Result<(), StoreError> {
    sqlx::query(
        "insert into tariffs (client_id, id, rates) values ($1, $2, $3)
         on conflict (client_id, id) do update set rates = excluded.rates",
    )
    .bind(&row.client_id)
    .bind(&row.id)
    .bind(as_text(&row.rates))
    .execute(to)
    .await?;
    Ok(())
}

/// Keeps the schedule of a location, in place of the one before; `None` takes it away.
///
/// # Errors
/// The database failed.
pub async fn assign_tariff(
    to: &mut AnyConnection,
    location_id: Uuid,
    schedule: Option<&TariffSchedule>,
) -> Result<(), StoreError> {
    let Some(schedule) = schedule else {
        let gone = sqlx::query("delete from tariff_schedules where location_id = $1");
        gone.bind(location_id.to_string()).execute(to).await?;
        return Ok(());
    };
    sqlx::query(
        "insert into tariff_schedules (location_id, tariff_id, intervals) values ($1, $2, $3)
         on conflict (location_id) do update
         set tariff_id = excluded.tariff_id, intervals = excluded.intervals",
    )
    .bind(location_id.to_string())
    .bind(&schedule.tariff_id)
    .bind(as_text(&schedule.intervals))
    .execute(to)
    .await?;
    Ok(())
}

/// All tariffs.
///
/// # Errors
/// The database failed.
pub async fn all_tariffs(store: &Store) -> Result<Vec<TariffRow>, StoreError> {
    Ok(sqlx::query_as("select * from tariffs").fetch_all(store.reader()).await?)
}

/// The schedules of all locations.
///
/// # Errors
/// The database failed.
pub async fn all_tariff_schedules(
    store: &Store,
) -> Result<Vec<(Uuid, TariffSchedule)>, StoreError> {
    let query = "select location_id as id, tariff_id, intervals from tariff_schedules";
    let rows: Vec<Assigned> = sqlx::query_as(query).fetch_all(store.reader()).await?;
    Ok(rows.into_iter().map(|Assigned(id, schedule)| (id, schedule)).collect())
}

/// Those of these tariffs that are there.
///
/// # Errors
/// The database cannot be read.
pub async fn tariffs_of_names(
    from: &mut AnyConnection,
    names: &BTreeSet<Pair>,
) -> Result<Vec<TariffRow>, StoreError> {
    let query = "select * from tariffs where (client_id, id) in
         (select value ->> 0, value ->> 1 from json_array_elements(cast($1 as json)))";
    of_keys(from, query, names).await
}

/// The schedules of these locations.
///
/// # Errors
/// The database cannot be read.
pub async fn tariff_schedules_of(
    from: &mut AnyConnection,
    ids: &BTreeSet<Uuid>,
) -> Result<Vec<(Uuid, TariffSchedule)>, StoreError> {
    let query = "select location_id as id, tariff_id, intervals from tariff_schedules
         where location_id = any(string_to_array($1, ','))";
    let rows: Vec<Assigned> = of_keys(from, query, ids).await?;
    Ok(rows.into_iter().map(|Assigned(id, schedule)| (id, schedule)).collect())
}

impl FromRow<'_, AnyRow> for TariffRow {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("tariffs", row);
        Ok(Self {
            client_id: row.get("client_id")?,
            id: row.get("id")?,
            rates: row.get::<Json<Vec<RateRequest>>>("rates")?.0,
        })
    }
}

/// Tariff schedule of a location.
struct Assigned(Uuid, TariffSchedule);

impl FromRow<'_, AnyRow> for Assigned {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("tariff_schedules", row);
        let schedule = TariffSchedule {
            tariff_id: row.get("tariff_id")?,
            intervals: row.get::<Json<Vec<IntervalRequest>>>("intervals")?.0,
        };
        Ok(Self(row.get("id")?, schedule))
    }
}
