//! Samples of devices, a row for each day, and the sessions that they belong to.
//!
//! Four years of quarters of an hour are 140,000 samples of a device. A row
//! holds those of a day as columns, so that they are read within a second.
use std::collections::BTreeSet;

use chrono::{DateTime, NaiveTime, Utc};
use serde::{Deserialize, Serialize};
use slackwater_control::device::scope::DeviceKind;
use slackwater_engine::statistics::range::Range;
use slackwater_engine::statistics::recording::Stay;
use slackwater_engine::statistics::sample::Sample;
use slackwater_engine::units::{Power, Price};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{Cells, Json, of_keys};

/// A device that was measured, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// The device.
    pub device_id: Uuid,
    /// The client.
    pub client_id: String,
    /// The user.
    pub user_id: String,
    /// Kind of the device.
    pub kind: DeviceKind,
    /// The place at which it was.
    pub location_id: Option<Uuid>,
}

/// A stay of a vehicle at a plug, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargeSession {
    /// Its identifier.
    pub id: Uuid,
    /// Device and location of the measurement.
    pub measured: Measured,
    /// From when to when.
    pub stay: Stay,
    /// True if smart charging controlled it.
    pub is_smart: bool,
    /// True if nothing of it changes any more.
    pub is_frozen: bool,
}

/// Selection of samples.
#[derive(Debug, Clone)]
pub struct SampleFilter<'a> {
    /// The client.
    pub client_id: &'a str,
    /// The user.
    pub user_id: &'a str,
    /// The kind of device.
    pub kind: DeviceKind,
    /// One device of that kind only.
    pub device_id: Option<Uuid>,
    /// One place only.
    pub location_id: Option<Uuid>,
    /// The time.
    pub range: Range,
}

/// Samples as columns; times in microseconds since 1970, NaN where nothing is known.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// First microsecond of each.
    pub start: Vec<i64>,
    /// First microsecond after each.
    pub end: Vec<i64>,
    /// Measured power in kW.
    pub power_kw: Vec<f64>,
    /// Price of a kWh.
    pub price_per_kwh: Vec<f64>,
    /// Power without smart charging, in kW.
    pub non_smart_kw: Vec<f64>,
}

/// Columns as they are written. A column of which nothing is known is empty.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    start: Vec<i64>,
    end: Vec<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    power_kw: Vec<Option<f64>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    price_per_kwh: Vec<Option<f64>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    non_smart_kw: Vec<Option<f64>>,
}

impl Written {
    fn of(samples: &[Sample]) -> Self {
        let micros = |at: fn(&Sample) -> DateTime<Utc>| {
            samples.iter().map(|sample| at(sample).timestamp_micros()).collect()
        };
        let column = |number: fn(&Sample) -> Option<f64>| {
            let column: Vec<Option<f64>> = samples.iter().map(number).collect();
            if column.iter().all(Option::is_none) { Vec::new() } else { column }
        };
        Self {
            start: micros(|sample| sample.start),
            end: micros(|sample| sample.end),
            power_kw: column(|sample| sample.power.map(Power::as_kw)),
            price_per_kwh: column(|sample| sample.price.map(Price::as_per_kwh)),
            non_smart_kw: column(|sample| sample.non_smart.map(Power::as_kw)),
        }
    }

    fn samples(&self) -> Result<Vec<Sample>, String> {
        let at = |micros: i64| {
            DateTime::from_timestamp_micros(micros).ok_or("a time is beyond the calendar")
        };
        let number = |column: &[Option<f64>], index: usize| column.get(index).copied().flatten();
        let power = |column, index| number(column, index).map(Power::from_kw).transpose();
        let sample = |index: usize| {
            let price = number(&self.price_per_kwh, index).map(Price::from_per_kwh);
            let end = self.end.get(index).ok_or("columns differ in length")?;
            Ok(Sample {
                start: at(self.start[index])?,
                end: at(*end)?,
                power: power(&self.power_kw, index).map_err(|error| error.to_string())?,
                price: price.transpose().map_err(|error| error.to_string())?,
                non_smart: power(&self.non_smart_kw, index).map_err(|error| error.to_string())?,
            })
        };
        (0..self.start.len()).map(sample).collect()
    }

    fn add_to(self, all: &mut Columns) {
        let count = self.start.len();
        let fill = |to: &mut Vec<f64>, column: Vec<Option<f64>>| {
            let to_be = to.len() + count;
            to.extend(column.into_iter().take(count).map(|number| number.unwrap_or(f64::NAN)));
            to.resize(to_be, f64::NAN);
        };
        fill(&mut all.power_kw, self.power_kw);
        fill(&mut all.price_per_kwh, self.price_per_kwh);
        fill(&mut all.non_smart_kw, self.non_smart_kw);
        let last = all.start.len() + count;
        all.start.extend(self.start);
        all.end.extend(self.end);
        all.end.resize(last, i64::MIN);
    }
}

/// Treatment of samples that exist already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// They stay, and the new ones come beside them.
    Join,
    /// Days that have any stay as they are.
    Stay,
    /// The new ones take the place of theirs, day by day.
    Yield,
}

/// Keeps samples, in time order, day by day.
///
/// # Errors
/// The database failed.
pub async fn insert_samples(
    to: &mut AnyConnection,
    of: &Measured,
    session_id: Option<Uuid>,
    samples: &[Sample],
    there: OnConflict,
) -> Result<(), StoreError> {
    let day = |sample: &Sample| sample.start.date_naive();
    for own in samples.chunk_by(|one, next| day(one) == day(next)) {
        let start = own[0].start.date_naive().and_time(NaiveTime::MIN).and_utc();
        let mut all = Vec::new();
        if there == OnConflict::Join {
            all = samples_of_day(to, of.device_id, session_id, start).await?;
        }
        all.extend_from_slice(own);
        insert_day(to, of, session_id, start, &all, there).await?;
    }
    Ok(())
}

async fn samples_of_day(
    to: &mut AnyConnection,
    device_id: Uuid,
    session_id: Option<Uuid>,
    start: DateTime<Utc>,
) -> Result<Vec<Sample>, StoreError> {
    let day: Option<Day> = sqlx::query_as(
        "select device_id as id, columns from samples
         where device_id = $1 and start_at = $2 and session_id = $3",
    )
    .bind(device_id.to_string())
    .bind(start.timestamp_micros())
    .bind(word(session_id))
    .fetch_optional(to)
    .await?;
    Ok(day.map(|Day(samples)| samples).unwrap_or_default())
}

async fn insert_day(
    to: &mut AnyConnection,
    of: &Measured,
    session_id: Option<Uuid>,
    start: DateTime<Utc>,
    samples: &[Sample],
    there: OnConflict,
) -> Result<(), StoreError> {
    const INSERT: &str = "insert into samples (device_id, start_at, session_id, end_at, client_id, \
         user_id, kind, location_id, columns) values ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
         on conflict (device_id, start_at, session_id) do ";
    let query = match there {
        OnConflict::Stay => format!("{INSERT} nothing"),
        OnConflict::Join | OnConflict::Yield => format!(
            "{INSERT} update set end_at = excluded.end_at, columns = excluded.columns, \
             location_id = excluded.location_id"
        ),
    };
    let end = samples.iter().map(|sample| sample.end).max().unwrap_or(start);
    sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(of.device_id.to_string())
        .bind(start.timestamp_micros())
        .bind(word(session_id))
        .bind(end.timestamp_micros())
        .bind(&of.client_id)
        .bind(&of.user_id)
        .bind(of.kind.as_str())
        .bind(of.location_id.map(|id| id.to_string()))
        .bind(as_text(samples))
        .execute(to)
        .await?;
    Ok(())
}

/// The samples of a session, oldest first.
///
/// # Errors
/// The database failed.
pub async fn samples_of_session(
    to: &mut AnyConnection,
    id: Uuid,
) -> Result<Vec<Sample>, StoreError> {
    let query = "select device_id as id, columns from samples where session_id = $1 \
         order by start_at";
    let query = sqlx::query_as(query).bind(id.to_string());
    let days: Vec<Day> = query.fetch_all(to).await?;
    Ok(days.into_iter().flat_map(|Day(samples)| samples).collect())
}

/// Puts samples in the place of all that a session has.
///
/// # Errors
/// The database failed.
pub async fn replace_session_samples(
    to: &mut AnyConnection,
    session: &ChargeSession,
    samples: &[Sample],
) -> Result<(), StoreError> {
    let gone = sqlx::query("delete from samples where session_id = $1");
    gone.bind(session.id.to_string()).execute(&mut *to).await?;
    let mut samples = samples.to_vec();
    samples.sort_by_key(|sample| sample.start);
    insert_samples(to, &session.measured, Some(session.id), &samples, OnConflict::Yield).await
}

/// Keeps a session, in place of what was kept of it.
///
/// # Errors
/// The database failed.
pub async fn upsert_session(to: &mut AnyConnection, row: &ChargeSession) -> Result<(), StoreError> {
    sqlx::query(
        "insert into charge_sessions (id, client_id, user_id, device_id, kind, location_id,
             plugged_in_at, unplugged_at, is_smart, is_frozen)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         on conflict (id) do update set unplugged_at = excluded.unplugged_at,
             location_id = excluded.location_id, is_smart = excluded.is_smart,
             is_frozen = excluded.is_frozen",
    )
    .bind(row.id.to_string())
    .bind(&row.measured.client_id)
    .bind(&row.measured.user_id)
    .bind(row.measured.device_id.to_string())
    .bind(row.measured.kind.as_str())
    .bind(row.measured.location_id.map(|id| id.to_string()))
    .bind(row.stay.plugged_in.timestamp_micros())
    .bind(row.stay.unplugged.map(|at| at.timestamp_micros()))
    .bind(i64::from(row.is_smart))
    .bind(i64::from(row.is_frozen))
    .execute(to)
    .await?;
    Ok(())
}

/// Sessions that are not frozen yet.
///
/// # Errors
/// The database failed.
pub async fn open_sessions(store: &Store) -> Result<Vec<ChargeSession>, StoreError> {
    let query = "select * from charge_sessions where is_frozen = 0 order by plugged_in_at";
    Ok(sqlx::query_as(query).fetch_all(store.reader()).await?)
}

/// Deletes all that was recorded of a device of a user. Until when it was
/// recorded goes with the device itself.
///
/// # Errors
/// The database failed.
pub async fn delete_device_samples(
    to: &mut AnyConnection,
    (client_id, user_id): (&str, &str),
    device_id: Uuid,
) -> Result<(), StoreError> {
    // Sessions have no index by device, but one by user.
    let statements = [
        "delete from samples where client_id = $1 and user_id = $2 and device_id = $3",
        "delete from charge_sessions where client_id = $1 and user_id = $2 and device_id = $3",
    ];
    for statement in statements {
        let query = sqlx::query(statement).bind(client_id).bind(user_id);
        query.bind(device_id.to_string()).execute(&mut *to).await?;
    }
    Ok(())
}

/// Keeps until when a device is recorded, if it was recorded until `before`. Returns `true` if it
/// was: not if it was removed meanwhile, or another replica recorded it.
///
/// # Errors
/// The database failed.
pub async fn advance_recording(
    to: &mut AnyConnection,
    device_id: Uuid,
    before: Option<DateTime<Utc>>,
    until: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let kept = sqlx::query(
        "insert into recordings (device_id, until)
         select id, cast($2 as bigint) from devices where id = $1
         on conflict (device_id) do update set until = excluded.until
         where recordings.until = $3",
    )
    .bind(device_id.to_string())
    .bind(until.timestamp_micros())
    .bind(before.map(|before| before.timestamp_micros()))
    .execute(to)
    .await?;
    Ok(kept.rows_affected() == 1)
}

/// Returns `true` if a device exists.
///
/// # Errors
/// The database failed.
pub async fn is_device_known(
    from: &mut AnyConnection,
    device_id: Uuid,
) -> Result<bool, StoreError> {
    let query = sqlx::query("select id from devices where id = $1").bind(device_id.to_string());
    Ok(query.fetch_optional(from).await?.is_some())
}

/// Until when each device is recorded.
///
/// # Errors
/// The database failed.
pub async fn all_recordings(store: &Store) -> Result<Vec<(Uuid, DateTime<Utc>)>, StoreError> {
    let query = "select device_id as id, until from recordings";
    let rows: Vec<Recording> = sqlx::query_as(query).fetch_all(store.reader()).await?;
    Ok(rows.into_iter().map(|Recording(id, until)| (id, until)).collect())
}

/// Until when these devices are recorded.
///
/// # Errors
/// The database cannot be read.
pub async fn recordings_of(
    from: &mut AnyConnection,
    ids: &BTreeSet<Uuid>,
) -> Result<Vec<(Uuid, DateTime<Utc>)>, StoreError> {
    let query = "select device_id as id, until from recordings
         where device_id = any(string_to_array($1, ','))";
    let rows: Vec<Recording> = of_keys(from, query, ids).await?;
    Ok(rows.into_iter().map(|Recording(id, until)| (id, until)).collect())
}

/// Sessions of these devices that are not frozen yet.
///
/// # Errors
/// The database cannot be read.
pub async fn open_sessions_of(
    from: &mut AnyConnection,
    ids: &BTreeSet<Uuid>,
) -> Result<Vec<ChargeSession>, StoreError> {
    let query = "select * from charge_sessions
         where is_frozen = 0 and device_id = any(string_to_array($1, ',')) order by plugged_in_at";
    of_keys(from, query, ids).await
}

/// Device, and the instant until which it is recorded.
struct Recording(Uuid, DateTime<Utc>);

impl FromRow<'_, AnyRow> for Recording {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("recordings", row);
        Ok(Self(row.get("id")?, row.get("until")?))
    }
}

/// Samples of a device on one day.
struct Day(Vec<Sample>);

impl FromRow<'_, AnyRow> for Day {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("samples", row);
        Ok(Self(row.parse("columns", read)?))
    }
}

/// All samples that share time with a range.
///
/// # Errors
/// The database failed.
pub async fn sample_columns(
    store: &Store,
    wanted: &SampleFilter<'_>,
) -> Result<Columns, StoreError> {
    let query =
        format!("select device_id as id, columns from samples where {OF_USER} order by start_at");
    let rows = bind_filter(sqlx::query(sqlx::AssertSqlSafe(query)), wanted);
    let mut all = Columns::default();
    for row in &rows.fetch_all(store.reader()).await? {
        let Json(written) = Cells::new("samples", row).get::<Json<Written>>("columns")?;
        written.add_to(&mut all);
    }
    Ok(all)
}

/// Frozen sessions that share time with a range, each with all of its samples,
/// in the order in which they began.
///
/// # Errors
/// The database failed.
pub async fn frozen_sessions(
    store: &Store,
    wanted: &SampleFilter<'_>,
) -> Result<Vec<(ChargeSession, Vec<Sample>)>, StoreError> {
    let query = format!(
        "select * from charge_sessions where is_frozen = 1 and id in (
             select session_id from samples where {OF_USER}
         ) order by plugged_in_at, id"
    );
    let rows = bind_filter(sqlx::query(sqlx::AssertSqlSafe(query)), wanted);
    let rows = rows.fetch_all(store.reader()).await?;
    let mut connection = store.reader().acquire().await?;
    let mut all = Vec::with_capacity(rows.len());
    for row in &rows {
        let session = ChargeSession::from_row(row)?;
        let samples = samples_of_session(&mut connection, session.id).await?;
        all.push((session, samples));
    }
    Ok(all)
}

/// SQL condition of a selection of samples.
const OF_USER: &str = "client_id = $1 and user_id = $2 and kind = $3 and end_at > $4 \
     and start_at < $5 and ($6 = '' or device_id = $6) and ($7 = '' or location_id = $7)";

type Query<'q> = sqlx::query::Query<'q, sqlx::Any, <sqlx::Any as sqlx::Database>::Arguments>;

fn bind_filter<'q>(query: Query<'q>, wanted: &'q SampleFilter<'_>) -> Query<'q> {
    query
        .bind(wanted.client_id)
        .bind(wanted.user_id)
        .bind(wanted.kind.as_str())
        .bind(wanted.range.start.timestamp_micros())
        .bind(wanted.range.end.timestamp_micros())
        .bind(word(wanted.device_id))
        .bind(word(wanted.location_id))
}

impl FromRow<'_, AnyRow> for ChargeSession {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("charge_sessions", row);
        Ok(Self {
            id: row.get("id")?,
            measured: Measured {
                device_id: row.get("device_id")?,
                client_id: row.get("client_id")?,
                user_id: row.get("user_id")?,
                kind: row.get("kind")?,
                location_id: row.get("location_id")?,
            },
            stay: Stay {
                plugged_in: row.get("plugged_in_at")?,
                unplugged: row.get("unplugged_at")?,
            },
            is_smart: row.get("is_smart")?,
            is_frozen: row.get("is_frozen")?,
        })
    }
}

fn read(text: &str) -> Result<Vec<Sample>, String> {
    let written: Written = serde_json::from_str(text).map_err(|error| error.to_string())?;
    written.samples()
}

fn as_text(samples: &[Sample]) -> String {
    serde_json::to_string(&Written::of(samples)).expect("numbers have a JSON form")
}

/// An identifier as a text; none is an empty one.
fn word(id: Option<Uuid>) -> String {
    id.map(|id| id.to_string()).unwrap_or_default()
}
