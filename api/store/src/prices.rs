//! Market zones, and step functions of prices.
use std::collections::BTreeSet;

use slackwater_engine::prices::currency::Currency;
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::prices::overlay::overlaid;
use slackwater_engine::prices::signal::Zone;
use slackwater_engine::units::Price;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow, Row};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{Cells, Pair, as_text, of_keys};

/// A market zone of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneRow {
    /// The client.
    pub client_id: String,
    /// Its name.
    pub id: String,
    /// Its currency, and whether price signals are taken for it.
    pub zone: Zone,
}

/// Subject of a series of prices.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SeriesName {
    /// The market of a zone.
    Market {
        /// The zone.
        zone_id: String,
    },
    /// Price signal of a client for an area.
    Area {
        /// The client.
        client_id: String,
        /// The zone.
        zone_id: String,
        /// The area.
        area_id: String,
    },
}

/// A series of prices.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Number of changes.
    pub revision: i64,
    /// The currency of its prices.
    pub currency: Currency,
    /// The prices.
    pub curve: PriceCurve,
}

impl SeriesName {
    /// Client, zone and area, as they are kept.
    fn columns(&self) -> (Option<&str>, &str, Option<&str>) {
        match self {
            Self::Market { zone_id } => (None, zone_id, None),
            Self::Area { client_id, zone_id, area_id } => (Some(client_id), zone_id, Some(area_id)),
        }
    }
}

/// Keeps a zone, in place of what was kept under its name.
///
/// # Errors
/// The database failed.
pub async fn upsert_zone(to: &mut AnyConnection, row: &ZoneRow) -> Result<(), StoreError> {
    sqlx::query(
        "insert into zones (client_id, id, currency, is_activated) values ($1, $2, $3, $4)
         on conflict (client_id, id) do update
         set currency = excluded.currency, is_activated = excluded.is_activated",
    )
    .bind(&row.client_id)
    .bind(&row.id)
    .bind(row.zone.currency.code())
    .bind(i64::from(row.zone.is_activated))
    .execute(to)
    .await?;
    Ok(())
}

/// All zones of all clients.
///
/// # Errors
/// The database failed.
pub async fn all_zones(store: &Store) -> Result<Vec<ZoneRow>, StoreError> {
    Ok(sqlx::query_as("select * from zones").fetch_all(store.reader()).await?)
}

/// Those of these zones that are there.
///
/// # Errors
/// The database cannot be read.
pub async fn zones_of(
    from: &mut AnyConnection,
    names: &BTreeSet<Pair>,
) -> Result<Vec<ZoneRow>, StoreError> {
    let query = "select * from zones where (client_id, id) in
         (select value ->> 0, value ->> 1 from json_array_elements(cast($1 as json)))";
    of_keys(from, query, names).await
}

impl FromRow<'_, AnyRow> for ZoneRow {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("zones", row);
        Ok(Self {
            client_id: row.get("client_id")?,
            id: row.get("id")?,
            zone: Zone { is_activated: row.get("is_activated")?, currency: row.get("currency")? },
        })
    }
}

/// Lays prices over those of a series, making it if there is none, and says
/// how often it has been changed. What is there in another currency is forgotten.
///
/// Only steps that touch the new prices are read and written. The row of the
/// series is locked meanwhile, so that of two changes at once, of whichever
/// replica, one sees what the other did.
///
/// # Errors
/// The database failed.
pub async fn overlay_prices(
    to: &mut AnyConnection,
    name: &SeriesName,
    currency: Currency,
    new: &PriceCurve,
) -> Result<i64, StoreError> {
    const READ: &str = "select start_at, end_at, price from price_steps \
         where series_id = $1 and end_at > $2 and start_at < $3 order by start_at";
    // Of a window without gaps nothing stays but what reaches beyond it.
    const READ_ENDS: &str = "select start_at, end_at, price from price_steps \
         where series_id = $1 and end_at > $2 and start_at < $3 \
         and (start_at < $4 or end_at > $5) order by start_at";
    const REMOVE: &str =
        "delete from price_steps where series_id = $1 and end_at > $2 and start_at < $3";
    let (id, revision) = lock(to, name, currency).await?;
    let slots: Vec<Slot> = new.slots().collect();
    let (Some(first), Some(last)) = (slots.first(), slots.last()) else { return Ok(revision) };
    let (from, until) = (first.start.timestamp_micros(), last.end.timestamp_micros());
    let before = if slots.windows(2).all(|pair| pair[0].end == pair[1].start) {
        sqlx::query(READ_ENDS).bind(&id).bind(from).bind(until).bind(from).bind(until)
    } else {
        sqlx::query(READ).bind(&id).bind(from).bind(until)
    };
    let before = curve(&before.fetch_all(&mut *to).await?)?;
    sqlx::query(REMOVE).bind(&id).bind(from).bind(until).execute(&mut *to).await?;
    insert(to, &id, &overlaid(&before, new)).await?;
    Ok(revision)
}

/// Counts a change of a series, and forgets its prices if they are in another currency.
async fn lock(
    to: &mut AnyConnection,
    name: &SeriesName,
    currency: Currency,
) -> Result<(String, i64), StoreError> {
    let (client_id, zone_id, area_id) = name.columns();
    sqlx::query(
        "insert into price_series (id, client_id, zone_id, area_id, currency, revision)
         values ($1, $2, $3, $4, $5, 0) on conflict do nothing",
    )
    .bind(Uuid::new_v4().to_string())
    .bind(client_id)
    .bind(zone_id)
    .bind(area_id)
    .bind(currency.code())
    .execute(&mut *to)
    .await?;
    let row = sqlx::query(
        "update price_series set revision = revision + 1
         where zone_id = $1 and coalesce(client_id, '') = $2 and coalesce(area_id, '') = $3
         returning id, revision, currency",
    )
    .bind(zone_id)
    .bind(client_id.unwrap_or_default())
    .bind(area_id.unwrap_or_default())
    .fetch_one(&mut *to)
    .await?;
    let (id, kept): (String, String) = (row.try_get("id")?, row.try_get("currency")?);
    if kept != currency.code() {
        let gone = sqlx::query("delete from price_steps where series_id = $1").bind(&id);
        gone.execute(&mut *to).await?;
        let update = sqlx::query("update price_series set currency = $2 where id = $1");
        update.bind(&id).bind(currency.code()).execute(to).await?;
    }
    Ok((id, row.try_get("revision")?))
}

/// Keeps all steps by one statement: others wait for their turn meanwhile, and most
/// of the time of many statements goes into their parameters.
async fn insert(to: &mut AnyConnection, id: &str, curve: &PriceCurve) -> Result<(), StoreError> {
    let step = |slot: Slot| {
        let (start, end) = (slot.start.timestamp_micros(), slot.end.timestamp_micros());
        (start, end, slot.price.as_per_kwh().to_string())
    };
    let steps = as_text(&curve.slots().map(step).collect::<Vec<_>>());
    // The databases name the function differently, and nothing else.
    let rows = match to.backend_name() {
        "PostgreSQL" => "json_array_elements(cast($2 as json))",
        _ => "json_each($2)",
    };
    let query = format!(
        "insert into price_steps (series_id, start_at, end_at, price)
         select $1, cast(value ->> 0 as bigint), cast(value ->> 1 as bigint), value ->> 2
         from {rows}"
    );
    sqlx::query(sqlx::AssertSqlSafe(query)).bind(id).bind(steps).execute(to).await?;
    Ok(())
}

/// All of a series, as it stands in a change; `None` if there is none.
///
/// # Errors
/// The database failed, or holds what no version of this service has written.
pub async fn get_series(
    to: &mut AnyConnection,
    name: &SeriesName,
) -> Result<Option<Series>, StoreError> {
    let (client_id, zone_id, area_id) = name.columns();
    let row = sqlx::query(
        "select * from price_series
         where zone_id = $1 and coalesce(client_id, '') = $2 and coalesce(area_id, '') = $3",
    )
    .bind(zone_id)
    .bind(client_id.unwrap_or_default())
    .bind(area_id.unwrap_or_default())
    .fetch_optional(&mut *to)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let id: String = row.try_get("id")?;
    let query = "select start_at, end_at, price from price_steps where series_id = $1 \
         order by start_at";
    let steps = sqlx::query(query).bind(&id).fetch_all(to).await?;
    series(&row, &steps).map(Some)
}

/// All series.
///
/// # Errors
/// As for [`get_series`].
pub async fn all_series(store: &Store) -> Result<Vec<(SeriesName, Series)>, StoreError> {
    let rows = sqlx::query("select * from price_series").fetch_all(store.reader()).await?;
    let mut all = Vec::with_capacity(rows.len());
    for row in &rows {
        let id: String = row.try_get("id")?;
        let query = "select start_at, end_at, price from price_steps where series_id = $1 \
             order by start_at";
        let steps = sqlx::query(query).bind(&id).fetch_all(store.reader()).await?;
        all.push((name(row)?, series(row, &steps)?));
    }
    Ok(all)
}

/// All series with the counts of their changes.
///
/// # Errors
/// The database failed.
pub async fn series_revisions(store: &Store) -> Result<Vec<(SeriesName, i64)>, StoreError> {
    let query = "select client_id, zone_id, area_id, revision from price_series";
    let rows = sqlx::query(query).fetch_all(store.reader()).await?;
    rows.iter().map(|row| Ok((name(row)?, row.try_get("revision")?))).collect()
}

fn name(row: &AnyRow) -> Result<SeriesName, StoreError> {
    let zone_id = row.try_get("zone_id")?;
    let client_id: Option<String> = row.try_get("client_id")?;
    let area_id: Option<String> = row.try_get("area_id")?;
    Ok(match (client_id, area_id) {
        (Some(client_id), Some(area_id)) => SeriesName::Area { client_id, zone_id, area_id },
        _ => SeriesName::Market { zone_id },
    })
}

fn series(row: &AnyRow, steps: &[AnyRow]) -> Result<Series, StoreError> {
    Ok(Series {
        revision: row.try_get("revision")?,
        currency: Cells::new("price_series", row).get("currency")?,
        curve: curve(steps)?,
    })
}

fn curve(steps: &[AnyRow]) -> Result<PriceCurve, StoreError> {
    let corrupt =
        |reason: String| StoreError::Corrupt { table: "price_steps", id: String::new(), reason };
    let slot = |row: &AnyRow| {
        let price: &str = row.try_get("price")?;
        let number: f64 =
            price.parse().map_err(|_| corrupt(format!("{price:?} is not a price")))?;
        let price = Price::from_per_kwh(number).map_err(|error| corrupt(error.to_string()))?;
        let cells = Cells::new("price_steps", row);
        Ok(Slot { start: cells.get("start_at")?, end: cells.get("end_at")?, price })
    };
    let slots: Vec<Slot> = steps.iter().map(slot).collect::<Result<_, StoreError>>()?;
    PriceCurve::new(&slots).map_err(|error| corrupt(error.to_string()))
}
