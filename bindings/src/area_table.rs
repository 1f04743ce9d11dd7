//! Plans of an area as Arrow columns.
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, ArrayRef, GenericStringArray, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, SchemaRef};
use slackwater_engine::area as engine;
use slackwater_engine::area::AreaNumbers;
use slackwater_engine::area::AreaProblem;
use slackwater_engine::columns::{IntervalColumns, PlanTable};

use crate::answer::{intervals, item, numbers};
use crate::area_input::one_batch;
use crate::arrow::{Columns, Table, TableInput, cast_times, refused, schema, to_lists, to_numbers};
use crate::error::Refused;
use crate::provenance::Estimates;

/// Rows of a record batch.
pub(crate) const RUN: usize = 65_536;

/// The columns of a plan.
pub(crate) fn plan_schema(id: &DataType, currency: &str) -> SchemaRef {
    let number = |name: &str| Field::new(name, DataType::Float64, true);
    let fields = vec![
        Field::new("id", id.clone(), true),
        number("cost"),
        number("energy_kwh"),
        number("discharged_kwh"),
        number("shortfall_kwh"),
        number("baseline_cost"),
        number("savings"),
        Field::new("intervals", DataType::List(item().into()), false),
        Field::new("error", DataType::Utf8, true),
        number("unpriced_hours"),
        number("energy_on_estimates_kwh"),
        number("sold_on_estimates_kwh"),
    ];
    schema(fields, currency)
}

pub(crate) fn record_batch(
    schema: &SchemaRef,
    id: ArrayRef,
    rows: PlanTable<AreaNumbers>,
    [bought, sold]: [Vec<f64>; 2],
    error: ArrayRef,
) -> Result<RecordBatch, Refused> {
    let columns = vec![
        id,
        numbers(rows.numbers.cost),
        numbers(rows.numbers.energy_kwh),
        numbers(rows.numbers.discharged_kwh),
        numbers(rows.numbers.unmet_kwh),
        numbers(rows.numbers.baseline_cost),
        numbers(rows.numbers.savings),
        intervals(rows.intervals),
        error,
        numbers(rows.numbers.unpriced_hours),
        numbers(bought),
        numbers(sold),
    ];
    RecordBatch::try_new(schema.clone(), columns).map_err(refused)
}

/// Facts that the tables of an area have besides its plan: names, currency, and estimated periods.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    pub(crate) id: &'a ArrayRef,
    pub(crate) currency: &'a str,
    pub(crate) estimates: &'a Estimates<'a>,
}

/// Hands the plans of all vehicles on, a table of at most [`RUN`] rows after the other.
pub(crate) fn tables(
    plan: &engine::AreaPlan,
    problem: &AreaProblem<'_>,
    told: Told<'_>,
    mut sink: impl FnMut(Table) -> Result<(), Refused>,
) -> Result<(), Refused> {
    let Told { id, currency, estimates } = told;
    let schema = plan_schema(id.data_type(), currency);
    let (mut first, mut done) = (0, Ok(()));
    let mut errors = plan.errors.iter().peekable();
    plan.rows(problem, RUN, &mut |rows| {
        if done.is_err() {
            return;
        }
        let mut texts = StringBuilder::new();
        for row in first..first + rows.len() {
            let error = errors.next_if(|(at, _)| *at == row);
            texts.append_option(error.map(|(_, error)| error.to_string()));
        }
        let ids = id.slice(first, rows.len());
        let guessed = estimates.energies(first, &rows.intervals, &rows.numbers.cost);
        first += rows.len();
        done = record_batch(&schema, ids, rows, guessed, Arc::new(texts.finish()))
            .and_then(|batch| sink(Table::from_batch(batch)));
    })?;
    done
}

/// The plans of all vehicles as one table.
pub(crate) fn table(
    plan: &engine::AreaPlan,
    problem: &AreaProblem<'_>,
    told: Told<'_>,
) -> Result<Table, Refused> {
    let mut batches = Vec::new();
    tables(plan, problem, told, |table| {
        batches.extend(table.into_batches());
        Ok(())
    })?;
    Ok(Table::new(plan_schema(told.id.data_type(), told.currency), batches))
}

/// Energy in kWh that all vehicles buy and sell on estimates.
pub(crate) fn add_up_estimates(
    plan: &engine::AreaPlan,
    problem: &AreaProblem<'_>,
    estimates: &Estimates<'_>,
) -> Result<[f64; 2], Refused> {
    let (mut first, mut sums) = (0, [0.0; 2]);
    if estimates.are_empty() {
        return Ok(sums);
    }
    plan.rows(problem, RUN, &mut |rows| {
        // A row in error has no intervals.
        let energies = estimates.energies(first, &rows.intervals, &[]);
        for (sum, energies) in sums.iter_mut().zip(&energies) {
            *sum += energies.iter().sum::<f64>();
        }
        first += rows.len();
    })?;
    Ok(sums)
}

/// A table without plans: they went elsewhere.
pub(crate) fn no_rows(id: &ArrayRef, currency: &str) -> Table {
    Table::new(plan_schema(id.data_type(), currency), Vec::new())
}

/// Rows by their `id`, which has to tell them apart.
pub(crate) fn places<'a>(
    of: &str,
    ids: &'a GenericStringArray<i32>,
) -> Result<HashMap<&'a str, usize>, Refused> {
    let mut places = HashMap::with_capacity(ids.len());
    for (row, id) in ids.iter().enumerate() {
        if let Some(id) = id
            && let Some(other) = places.insert(id, row)
        {
            let text = format!(
                "rows {other} and {row} of the {of} have the id {id:?}; \
                 vehicles of two plans are matched by their id"
            );
            return Err(Refused::Input(text));
        }
    }
    Ok(places)
}

/// Texts of the `id` column of vehicles or plans.
pub(crate) fn names_of(id: &ArrayRef) -> Result<ArrayRef, Refused> {
    cast(id, &DataType::Utf8).map_err(refused)
}

/// Adds the intervals of some rows of a table of plans; a row without a place has none.
pub(crate) fn add_intervals(
    plans: &Columns<'_>,
    places: impl IntoIterator<Item = impl Into<Option<usize>>>,
    to: &mut IntervalColumns,
) -> Result<(), Refused> {
    let wrong = || Refused::Input("\"intervals\" of previous plans are none".to_owned());
    let lists = to_lists(plans.column("intervals")?)?.ok_or_else(wrong)?;
    let fields = lists.values().as_struct_opt().ok_or_else(wrong)?;
    let field = |name: &str| fields.column_by_name(name).ok_or_else(wrong);
    let start = cast_times("intervals.start", field("start")?)?;
    let end = cast_times("intervals.end", field("end")?)?;
    let power = to_numbers("intervals.power_kw", field("power_kw")?)?;
    let micros = |column: &ArrayRef| column.as_primitive::<TimestampMicrosecondType>().clone();
    let (start, end) = (micros(&start), micros(&end));
    for place in places {
        if let Some(place) = place.into() {
            let (first, last) = (lists.value_offsets()[place], lists.value_offsets()[place + 1]);
            for at in first as usize..last as usize {
                to.push(start.value(at), end.value(at), power.value(at));
            }
        }
        to.end_row();
    }
    Ok(())
}

/// Intervals of the previous plans by row, matched by `id`; a vehicle without a previous plan has
/// no intervals.
///
/// # Errors
/// The plans are none, or an `id` stands for two vehicles of one table.
pub(crate) fn previous_intervals(
    plans: TableInput,
    id: &ArrayRef,
) -> Result<IntervalColumns, Refused> {
    let plans = one_batch(plans)?;
    let columns = Columns::new(&plans);
    let (before, now) = (names_of(columns.column("id")?)?, names_of(id)?);
    let rows = places("previous plans", before.as_string())?;
    places("vehicles", now.as_string())?;
    let mut previous = IntervalColumns::default();
    let places = now.as_string::<i32>().iter().map(|id| id.and_then(|id| rows.get(id)).copied());
    add_intervals(&columns, places, &mut previous)?;
    Ok(previous)
}
