//! From what devices report to samples, Arrow to Arrow.
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, TimestampMicrosecondArray, UInt32Array};
use chrono::{DateTime, TimeDelta, Utc};
use pyo3::prelude::*;
use slackwater_engine::statistics::measurements::{
    Findings, Measured, MeasurementError, MeterReading, PowerReading, Rules, SessionEnergy,
    from_meter, from_power, from_sessions, of_each,
};
use slackwater_engine::statistics::sample::Sample;
use slackwater_engine::units::{Energy, Power};

use crate::arrow::{Columns, Table, TableInput, utc};
use crate::error::{Named, Refused};
use crate::keys::Keys;

/// Counts of odd measurements, in the order of the engine.
type FindingsTuple = (usize, usize, usize, usize, usize, usize, f64, usize, usize);

/// Rows of a table with the device of each.
struct Read<T> {
    keys: Keys,
    group: Vec<u32>,
    rows: Vec<T>,
}

impl<T> Read<T> {
    /// Reads all batches: two columns of times, or one twice, and a number.
    fn all(
        data: TableInput,
        by: &[String],
        (start, end, number): (&str, &str, &str),
        row: impl Fn(DateTime<Utc>, DateTime<Utc>, f64) -> Result<T, MeasurementError>,
    ) -> Result<Self, Refused> {
        let mut read = Self { keys: Keys::new(by), group: Vec::new(), rows: Vec::new() };
        for batch in crate::arrow::batches(data)? {
            let columns = Columns::new(&batch);
            let first = read.rows.len();
            let (starts, ends) = (columns.times(start)?, columns.times(end)?);
            let numbers = columns.numbers(number)?;
            Columns::refuse_nulls(start, &starts, first)?;
            Columns::refuse_nulls(end, &ends, first)?;
            Columns::refuse_nulls(number, &numbers, first)?;
            let instant = |micros: i64, index: usize| {
                DateTime::from_timestamp_micros(micros).ok_or_else(|| {
                    let text = "lies outside of the years that can be told";
                    Refused::Input(format!("{start} of row {} {text}", first + index))
                })
            };
            for index in 0..batch.num_rows() {
                let (from, to) = (starts.value(index), ends.value(index));
                let made = row(instant(from, index)?, instant(to, index)?, numbers.value(index));
                read.rows.push(made.map_err(|error| {
                    Refused::Input(format!("{number} of row {}: {error}", first + index))
                })?);
            }
            let group = read.keys.encode(&batch, first)?;
            read.group.extend(group.unwrap_or_else(|| vec![0; batch.num_rows()]));
        }
        Ok(read)
    }

    /// Samples of all devices in one table, and what was found.
    fn samples(
        self,
        make: impl Fn(&[T]) -> Measured + Sync,
    ) -> Result<(Table, FindingsTuple), Refused>
    where
        T: Copy + Send + Sync,
    {
        let measured = of_each(&self.group, self.keys.len(), &self.rows, make);
        let owners = measured.iter().zip(0_u32..);
        let owners = owners.flat_map(|(own, group)| own.samples.iter().map(move |_| group));
        let owners: UInt32Array = owners.collect();
        let all = || measured.iter().flat_map(|own| &own.samples);
        let times = |of: fn(&Sample) -> DateTime<Utc>| {
            let micros = all().map(|sample| of(sample).timestamp_micros());
            Arc::new(utc(TimestampMicrosecondArray::from_iter_values(micros))) as ArrayRef
        };
        let power: Float64Array = all().map(|sample| sample.power.map(Power::as_kw)).collect();
        let mut columns = self.keys.columns(&owners);
        columns.push(("start".to_owned(), times(|sample| sample.start), false));
        columns.push(("end".to_owned(), times(|sample| sample.end), false));
        columns.push(("power_kw".to_owned(), Arc::new(power), true));
        let sum = measured.iter().fold(Findings::default(), |sum, own| sum.plus(own.findings));
        Ok((Table::of_columns(columns)?, findings(sum)))
    }
}

fn findings(found: Findings) -> FindingsTuple {
    let Findings { rows, out_of_order, repeated, replaced, resets, gaps, gap_hours, .. } = found;
    let Findings { without_length, implausible, .. } = found;
    (rows, out_of_order, repeated, replaced, resets, gaps, gap_hours, without_length, implausible)
}

fn power_max(kw: Option<f64>) -> Result<Option<Power>, Refused> {
    kw.map(Power::from_kw).transpose().named("power_max_kw")
}

/// See `slackwater.statistics.samples_from_meter`.
#[pyfunction]
#[pyo3(signature = (readings, *, by, gap_max, power_max_kw))]
pub(crate) fn samples_from_meter(
    py: Python<'_>,
    readings: TableInput,
    by: Vec<String>,
    gap_max: TimeDelta,
    power_max_kw: Option<f64>,
) -> Result<(Table, FindingsTuple), Refused> {
    let rules = Rules::new("gap_max", gap_max, power_max(power_max_kw)?)?;
    crate::work::in_parallel(py, || {
        let row = |at, _, total| MeterReading::new(at, Energy::from_kwh(total)?);
        let rows = Read::all(readings, &by, ("at", "at", "total_kwh"), row)?;
        rows.samples(|rows| from_meter(rows, rules))
    })?
}

/// See `slackwater.statistics.samples_from_power`.
#[pyfunction]
#[pyo3(signature = (readings, *, by, hold_max, power_max_kw))]
pub(crate) fn samples_from_power(
    py: Python<'_>,
    readings: TableInput,
    by: Vec<String>,
    hold_max: TimeDelta,
    power_max_kw: Option<f64>,
) -> Result<(Table, FindingsTuple), Refused> {
    let rules = Rules::new("hold_max", hold_max, power_max(power_max_kw)?)?;
    crate::work::in_parallel(py, || {
        let row = |at, _, power| Ok(PowerReading { at, power: Power::from_kw(power)? });
        let rows = Read::all(readings, &by, ("at", "at", "power_kw"), row)?;
        rows.samples(|rows| from_power(rows, rules))
    })?
}

/// See `slackwater.statistics.samples_from_sessions`.
#[pyfunction]
#[pyo3(signature = (sessions, *, by, power_max_kw))]
pub(crate) fn samples_from_sessions(
    py: Python<'_>,
    sessions: TableInput,
    by: Vec<String>,
    power_max_kw: Option<f64>,
) -> Result<(Table, FindingsTuple), Refused> {
    // Sessions have no pauses between them that could be too long.
    let rules = Rules::new("gap_max", TimeDelta::zero(), power_max(power_max_kw)?)?;
    crate::work::in_parallel(py, || {
        let row = |start, end, energy| {
            Ok(SessionEnergy { start, end, energy: Energy::from_kwh(energy)? })
        };
        let rows = Read::all(sessions, &by, ("start", "end", "energy_kwh"), row)?;
        rows.samples(|rows| from_sessions(rows, rules))
    })?
}
