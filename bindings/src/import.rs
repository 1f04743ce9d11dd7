//! Price lists and driving logs: rows in, prices and stays with notes out.
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use pyo3::prelude::*;
use slackwater_engine::import::civil_series::{CivilRow, prices_from_civil};
use slackwater_engine::import::driving::{DrivingEvent, DrivingLog, LogOptions, stays_from_log};
use slackwater_engine::import::driving_report::DrivingFinding;
use slackwater_engine::import::finding::ImportedPrices;
use slackwater_engine::import::price_unit::PriceUnit;
use slackwater_engine::import::series::{InstantRow, SeriesOptions, prices_from_zoned_instants};
use slackwater_engine::units::Energy;
use slackwater_wire::market::entsoe::{EntsoeChoice, read_entsoe};
use slackwater_wire::market::nordpool::{NordpoolChoice, read_nordpool};
use slackwater_wire::market::reply::{PublishedPrices, ReplyError};

use crate::arrow::{Table, refused, utc};
use crate::doubts::warn_of_read_prices;
use crate::error::{Named, Refused};
use crate::prices::Prices;
use crate::time::{Instant, time_zone};

/// Prices, gaps and notes.
type Imported = (Prices, Vec<(DateTime<Utc>, DateTime<Utc>)>, Vec<String>);

/// Row, local start, its mark, local end, price.
type CivilTuple = (usize, NaiveDateTime, Option<String>, Option<NaiveDateTime>, Option<f64>);

/// Row, start, end, price.
type InstantTuple = (usize, Instant, Option<Instant>, Option<f64>);

/// Row, timestamp, start and length in steps, location, fractions of charge
/// at start and end, kWh, kW of the charger.
type EventTuple = (usize, Option<NaiveDateTime>, i64, i64, String, f64, f64, f64, f64);

/// Row, arrival, departure, location, kWh, percent at arrival, kW of the charger.
type StayTuple = (usize, DateTime<Utc>, DateTime<Utc>, String, f64, f64, f64);

/// Stays, capacity in kWh, and notes.
type Stays = (Vec<StayTuple>, Option<f64>, Vec<String>);

/// Id, vehicle, location, arrival, departure, kWh, kW of the charger, percent
/// at arrival, capacity in kWh.
type StayRow = (String, String, String, Instant, Instant, f64, f64, f64, Option<f64>);

/// See `slackwater.io.read_prices_csv`.
#[pyfunction]
#[pyo3(signature = (rows, *, time_zone, currency, unit, step_minutes, holds_until_next))]
pub(crate) fn prices_from_civil_rows(
    py: Python<'_>,
    rows: Vec<CivilTuple>,
    time_zone: &str,
    currency: String,
    unit: &str,
    step_minutes: Option<i64>,
    holds_until_next: bool,
) -> Result<Imported, Refused> {
    let time_zone = self::time_zone(time_zone)?;
    let options = options(unit, &currency, step_minutes, holds_until_next)?;
    let rows: Vec<CivilRow> = rows
        .into_iter()
        .map(|(row, start, mark, end, price)| CivilRow { row, start, mark, end, price })
        .collect();
    let imported = py.detach(|| prices_from_civil(&rows, time_zone, &options))?;
    let notes = imported.notes(time_zone);
    result(py, imported, currency, notes)
}

/// See `slackwater.io.read_prices_csv` and `slackwater.io.read_octopus`.
#[pyfunction]
#[pyo3(signature = (rows, *, time_zone, currency, unit, step_minutes, holds_until_next))]
pub(crate) fn prices_from_instant_rows(
    py: Python<'_>,
    rows: Vec<InstantTuple>,
    time_zone: &str,
    currency: String,
    unit: &str,
    step_minutes: Option<i64>,
    holds_until_next: bool,
) -> Result<Imported, Refused> {
    let time_zone = self::time_zone(time_zone)?;
    let options = options(unit, &currency, step_minutes, holds_until_next)?;
    let rows: Vec<InstantRow> = rows
        .into_iter()
        .map(|(row, start, end, price)| InstantRow {
            row,
            start: start.0,
            end: end.map(|end| end.0),
            price,
        })
        .collect();
    let imported = py.detach(|| prices_from_zoned_instants(&rows, time_zone, &options))?;
    let notes = imported.notes(chrono_tz::UTC);
    result(py, imported, currency, notes)
}

/// See `slackwater.io.read_entsoe`. `path` is for messages.
#[pyfunction]
#[pyo3(signature = (path, text, *, currency, repeats_missing, sequence, resolution, area))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn prices_from_entsoe(
    py: Python<'_>,
    path: &str,
    text: &str,
    currency: Option<String>,
    repeats_missing: Option<bool>,
    sequence: Option<String>,
    resolution: Option<String>,
    area: Option<String>,
) -> Result<Imported, Refused> {
    let choice = EntsoeChoice { currency, repeats_missing, sequence, resolution, area };
    published(py, path, py.detach(|| read_entsoe(text, &choice)))
}

/// See `slackwater.io.read_nordpool`. `path` is for messages.
#[pyfunction]
#[pyo3(signature = (path, text, *, currency, unit, area))]
pub(crate) fn prices_from_nordpool(
    py: Python<'_>,
    path: &str,
    text: &str,
    currency: Option<String>,
    unit: Option<String>,
    area: Option<String>,
) -> Result<Imported, Refused> {
    let choice = NordpoolChoice { currency, unit, area };
    published(py, path, py.detach(|| read_nordpool(text, &choice)))
}

/// See `slackwater.io.read_simbev`.
#[pyfunction]
#[pyo3(signature = (events, *, time_zone, step_minutes, origin, capacity_kwh))]
pub(crate) fn stays_from_events(
    py: Python<'_>,
    events: Vec<EventTuple>,
    time_zone: &str,
    step_minutes: i64,
    origin: Option<Instant>,
    capacity_kwh: Option<f64>,
) -> Result<Stays, Refused> {
    let options = LogOptions {
        time_zone: self::time_zone(time_zone)?,
        step: minutes("step_minutes", step_minutes)?,
        origin: origin.map(|origin| origin.0),
        capacity: capacity_kwh.map(Energy::from_kwh).transpose().named("capacity_kwh")?,
    };
    let events: Vec<DrivingEvent> = events.into_iter().map(event).collect();
    let DrivingLog { stays, capacity, counts, findings } =
        py.detach(|| stays_from_log(&events, &options))?;
    let stays = stays
        .into_iter()
        .map(|stay| {
            (
                stay.row,
                stay.arrival,
                stay.departure,
                stay.location,
                stay.required.as_kwh(),
                stay.soc.as_percent(),
                stay.power_max.as_kw(),
            )
        })
        .collect();
    let notes =
        [counts.sentence()].into_iter().chain(findings.iter().map(DrivingFinding::sentence));
    Ok((stays, capacity.map(Energy::as_kwh), notes.collect()))
}

/// Stays as a table that `plan_batch` takes.
#[pyfunction]
pub(crate) fn stays_to_table(stays: Vec<StayRow>) -> Result<Table, Refused> {
    let text = |read: fn(&StayRow) -> &String| -> ArrayRef {
        Arc::new(stays.iter().map(|stay| Some(read(stay))).collect::<StringArray>())
    };
    let times = |read: fn(&StayRow) -> Instant| -> ArrayRef {
        let micros = stays.iter().map(|stay| read(stay).0.timestamp_micros());
        Arc::new(utc(TimestampMicrosecondArray::from_iter_values(micros)))
    };
    let numbers = |read: fn(&StayRow) -> Option<f64>| -> ArrayRef {
        Arc::new(stays.iter().map(read).collect::<Float64Array>())
    };
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("id", text(|stay| &stay.0), false),
        ("vehicle", text(|stay| &stay.1), false),
        ("location", text(|stay| &stay.2), false),
        ("arrival", times(|stay| stay.3), false),
        ("departure", times(|stay| stay.4), false),
        ("energy_kwh", numbers(|stay| Some(stay.5)), false),
        ("power_max_kw", numbers(|stay| Some(stay.6)), false),
        ("soc_percent", numbers(|stay| Some(stay.7)), false),
        ("capacity_kwh", numbers(|stay| stay.8), true),
    ]);
    Ok(Table::from_batch(batch.map_err(refused)?))
}

fn event(tuple: EventTuple) -> DrivingEvent {
    let (row, timestamp, start_steps, length_steps, location, soc_start, soc_end, energy, power) =
        tuple;
    DrivingEvent {
        row,
        timestamp,
        start_steps,
        length_steps,
        location,
        soc_start_fraction: soc_start,
        soc_end_fraction: soc_end,
        energy_kwh: energy,
        station_power_max_kw: power,
    }
}

/// Prices of a reply. An error has the name of the file ahead of it.
fn published(
    py: Python<'_>,
    path: &str,
    read: Result<PublishedPrices, ReplyError>,
) -> Result<Imported, Refused> {
    let PublishedPrices { currency, prices } =
        read.map_err(|error| Refused::Input(error.message_in(path)))?;
    let notes = prices.notes(chrono_tz::UTC);
    result(py, prices, currency, notes)
}

fn result(
    py: Python<'_>,
    imported: ImportedPrices,
    currency: String,
    notes: Vec<String>,
) -> Result<Imported, Refused> {
    let gaps = imported.gaps();
    warn_of_read_prices(py, &currency, imported.curve.prices())?;
    Ok((Prices::new(imported.curve, currency), gaps, notes))
}

fn options(
    unit: &str,
    currency: &str,
    step_minutes: Option<i64>,
    holds_until_next: bool,
) -> Result<SeriesOptions, Refused> {
    let unit = PriceUnit::parse(unit, currency)?;
    let step = step_minutes.map(|step| minutes("step_minutes", step)).transpose()?;
    Ok(SeriesOptions { unit, step, holds_until_next })
}

fn minutes(name: &str, count: i64) -> Result<TimeDelta, Refused> {
    TimeDelta::try_minutes(count)
        .ok_or_else(|| Refused::argument(name, format!("{count} minutes are no length of time")))
}
