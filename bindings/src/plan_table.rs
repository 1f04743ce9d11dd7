//! Tables of plans, one row a vehicle, and what can be derived from their intervals.
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, RecordBatch, StructArray, TimestampMicrosecondArray, UInt32Array,
};
use chrono::TimeDelta;
use pyo3::prelude::*;
use slackwater_engine::columns::{IntervalColumns, LoadCurve};
use slackwater_engine::plan::Interval;
use slackwater_engine::shared_supply::find_limit_users;
use slackwater_engine::time::instant::instant_at;
use slackwater_engine::units::Power;

use crate::answer::numbers;
use crate::arrow::{Table, refused, utc};
use crate::error::Refused;
use crate::time::Instant;

/// One plan a row, in the order of the vehicles, for any Arrow library.
///
/// ``pyarrow.table(plans)``, ``polars.DataFrame(plans)`` or, in DuckDB, a
/// query over a pyarrow table of it read the same memory. A table can be pickled,
/// so it can be handed to other processes.
#[pyclass(frozen, extends = Table, module = "slackwater")]
#[derive(Debug)]
pub(crate) struct PlanTable;

/// Columns whose sums are told in the line of a table.
const NOTED: [&str; 6] = [
    "shortfall_kwh",
    "energy_on_estimates_kwh",
    "sold_on_estimates_kwh",
    "unpriced_hours",
    "stock_used_kwh",
    "forgone_revenue",
];

impl PlanTable {
    /// A table of plans as Python has it.
    pub(crate) fn wrap(py: Python<'_>, table: Table) -> PyResult<Py<Self>> {
        Py::new(py, PyClassInitializer::from(table).add_subclass(Self))
    }
}

#[pymethods]
impl PlanTable {
    /// Reads the bytes of an Arrow stream, as a pickled table has them.
    #[new]
    fn from_ipc(ipc: &[u8]) -> Result<PyClassInitializer<Self>, Refused> {
        Ok(PyClassInitializer::from(Table::from_ipc(ipc)?).add_subclass(Self))
    }

    /// List the intervals of all plans, one a row.
    ///
    /// Returns:
    ///     A table with ``id`` (of the vehicle, as it was given), ``start``, ``end`` (in UTC) and
    ///     ``power_kw`` (at the plug; negative discharges), in the order of the vehicles and then
    ///     of time. A vehicle without a plan has no row.
    ///
    /// Example:
    ///     >>> import pyarrow as pa
    ///     >>> from datetime import UTC, datetime, timedelta
    ///     >>> import slackwater as sw
    ///     >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
    ///     >>> prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
    ///     >>> vehicles = pa.table({
    ///     ...     "id": ["van"], "arrival": [six], "departure": [six + 3 * hour],
    ///     ...     "energy_kwh": [7.0], "power_max_kw": [7.0],
    ///     ... })
    ///     >>> pa.table(sw.plan_batch(vehicles, prices).intervals_table()).to_pylist()[0]["power_kw"]
    ///     7.0
    fn intervals_table(slf: PyRef<'_, Self>) -> Result<Table, Refused> {
        let batches = slf.as_super().batches().into_iter().map(|batch| {
            let lists = batch["intervals"].as_list::<i32>();
            let lengths = lists.offsets().lengths().zip(0_u32..);
            let rows = lengths.flat_map(|(length, row)| std::iter::repeat_n(row, length));
            let rows = UInt32Array::from_iter_values(rows);
            let ids = arrow_select::take::take(&batch["id"], &rows, None).map_err(refused)?;
            let periods = periods(&batch);
            let column = |name: &str| periods[name].clone();
            RecordBatch::try_from_iter_with_nullable([
                ("id", ids, true),
                ("start", column("start"), false),
                ("end", column("end"), false),
                ("power_kw", column("power_kw"), false),
            ])
            .map_err(refused)
        });
        let batches = batches.collect::<Result<Vec<_>, Refused>>()?;
        Ok(Table::new(batches[0].schema(), batches))
    }

    /// Add the plans up to one load curve.
    ///
    /// Each interval adds its energy to the steps that it covers, in proportion to the time in
    /// each, so the energies of all steps add up to those of all plans.
    ///
    /// Args:
    ///     resolution: Length of a step. Steps begin at multiples of it since 1970 in UTC, so with
    ///         an hour they begin with the hour.
    ///
    /// Returns:
    ///     A table with ``start``, ``end`` (in UTC), ``power_kw`` (mean power of the step, charging
    ///     less discharging) and ``energy_kwh``, from the first start of an interval to the last
    ///     end. Without an interval it has no rows.
    ///
    /// Raises:
    ///     InputError: The resolution is not positive, or gives more than 5.3 million steps.
    ///
    /// Example:
    ///     >>> import pyarrow as pa
    ///     >>> from datetime import UTC, datetime, timedelta
    ///     >>> import slackwater as sw
    ///     >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
    ///     >>> prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
    ///     >>> vehicles = pa.table({
    ///     ...     "id": ["van", "bus"], "arrival": [six, six], "departure": [six + 3 * hour] * 2,
    ///     ...     "energy_kwh": [10.5, 40.0], "power_max_kw": [7.0, 40.0],
    ///     ... })
    ///     >>> load = pa.table(sw.plan_batch(vehicles, prices).load(hour))
    ///     >>> load["power_kw"].to_pylist()
    ///     [47.0, 3.5]
    fn load(slf: PyRef<'_, Self>, resolution: TimeDelta) -> Result<Table, Refused> {
        let mut columns = IntervalColumns::default();
        for batch in slf.as_super().batches() {
            let periods = periods(&batch);
            let micros = |name: &str| periods[name].as_primitive::<TimestampMicrosecondType>();
            columns.start.extend(micros("start").values());
            columns.end.extend(micros("end").values());
            columns.power_kw.extend(periods["power_kw"].as_primitive::<Float64Type>().values());
        }
        load_table(&columns, resolution)
    }

    /// One line with the number of rows, those in error, what stands on estimates and other notes,
    /// and the columns.
    fn __repr__(slf: PyRef<'_, Self>, py: Python<'_>) -> PyResult<String> {
        let table = slf.as_super();
        let sum = |name: &&'static str| Some((*name, table.add_up(name)?));
        let totals: HashMap<_, _> = NOTED.iter().filter_map(sum).collect();
        let view = py.import("slackwater._view")?;
        let notes = view.call_method1("table_notes", (totals, table.currency()))?;
        let errors = count_errors(table);
        let mut words = Vec::new();
        words.extend((errors > 0).then(|| format!("{errors} in error")));
        words.extend(notes.extract::<Vec<String>>()?);
        Ok(table.shown("PlanTable", "plan", &words))
    }
}

/// Rows that draw most in some periods, no more than `count_max`, each with its mean power in kW
/// there.
#[pyfunction]
pub(crate) fn limit_users(
    plans: PyRef<'_, PlanTable>,
    rows: Vec<usize>,
    periods: Vec<(Instant, Instant)>,
    count_max: usize,
) -> Vec<(usize, f64)> {
    let planned = intervals_by_row(plans.as_super());
    let loads = rows.iter().map(|&row| planned.get(row).cloned().unwrap_or_default());
    let periods: Vec<_> = periods.iter().map(|(start, end)| (start.0, end.0)).collect();
    let users = find_limit_users(loads, &periods, count_max);
    users.iter().map(|user| (rows[user.position], user.power.as_kw())).collect()
}

/// Intervals of each plan of a table.
fn intervals_by_row(table: &Table) -> Vec<Vec<Interval>> {
    let mut planned = Vec::new();
    for batch in table.batches() {
        let all = periods(&batch);
        let micros = |name: &str| all[name].as_primitive::<TimestampMicrosecondType>();
        let (starts, ends) = (micros("start").values(), micros("end").values());
        let powers = all["power_kw"].as_primitive::<Float64Type>().values();
        let mut first = 0;
        for length in batch["intervals"].as_list::<i32>().offsets().lengths() {
            let row = (first..first + length).map(|at| Interval {
                start: instant_at(starts[at]),
                end: instant_at(ends[at]),
                power: Power::from_kw(powers[at]).unwrap_or_default(),
            });
            planned.push(row.collect());
            first += length;
        }
    }
    planned
}

/// Number of rows without a plan, which sums over a column pass over.
fn count_errors(table: &Table) -> usize {
    let batches = table.batches();
    let errors = batches.iter().filter_map(|batch| batch.column_by_name("error"));
    errors.map(|column| column.len() - column.null_count()).sum()
}

/// The load curve of intervals, as a table.
pub(crate) fn load_table(
    columns: &IntervalColumns,
    resolution: TimeDelta,
) -> Result<Table, Refused> {
    let curve =
        columns.load_curve(resolution).map_err(|error| Refused::argument("resolution", error))?;
    let LoadCurve { start, end, energy_kwh, power_kw } = curve;
    let times =
        |micros: Vec<i64>| -> ArrayRef { Arc::new(utc(TimestampMicrosecondArray::from(micros))) };
    Table::of_columns([
        ("start", times(start), false),
        ("end", times(end), false),
        ("power_kw", numbers(power_kw), false),
        ("energy_kwh", numbers(energy_kwh), false),
    ])
}

/// Intervals of all rows of a batch, row after row.
fn periods(batch: &RecordBatch) -> StructArray {
    let lists = batch["intervals"].as_list::<i32>();
    let offsets = lists.offsets();
    let (first, last) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
    lists.values().as_struct().slice(first, last - first)
}
