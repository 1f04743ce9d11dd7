//! Plans of an area as Arrow columns.
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{
    Array, ArrayRef, Float64Array, GenericStringArray, ListArray, RecordBatch, StructArray,
    TimestampMicrosecondArray,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, SchemaRef};
use pyo3_arrow::input::AnyRecordBatch;
use slackwater_engine::area as engine;
use slackwater_engine::area::AreaProblem;
use slackwater_engine::area::AreaRows;
use slackwater_engine::area::PreviousPlans;

use crate::answer::{interval_fields, numbers};
use crate::area_input::one_batch;
use crate::arrow::{Columns, Table, cast_times, refused, schema, to_numbers, utc};
use crate::error::Refused;

/// Rows of a record batch.
pub(crate) const RUN: usize = 65_536;

/// The columns of a plan.
pub(crate) fn plan_schema(id: &DataType, currency: &str) -> SchemaRef {
    let number = |name: &str| Field::new(name, DataType::Float64, true);
    let item = Field::new("item", DataType::Struct(interval_fields()), false);
    let fields = vec![
        Field::new("id", id.clone(), true),
        number("cost"),
        number("energy_kwh"),
        number("discharged_kwh"),
        number("shortfall_kwh"),
        number("baseline_cost"),
        number("savings"),
        Field::new("intervals", DataType::List(item.into()), false),
        Field::new("error", DataType::Utf8, true),
    ];
    schema(fields, currency)
}

pub(crate) fn record_batch(
    schema: &SchemaRef,
    id: ArrayRef,
    rows: AreaRows,
    error: ArrayRef,
) -> Result<RecordBatch, Refused> {
    let times =
        |micros: Vec<i64>| Arc::new(utc(TimestampMicrosecondArray::from(micros))) as ArrayRef;
    let intervals = StructArray::new(
        interval_fields(),
        vec![
            times(rows.interval_start),
            times(rows.interval_end),
            Arc::new(Float64Array::from(rows.interval_power_kw)),
        ],
        None,
    );
    let item = Field::new("item", DataType::Struct(interval_fields()), false);
    let offsets = OffsetBuffer::new(ScalarBuffer::from(rows.offsets));
    let columns = vec![
        id,
        numbers(rows.cost),
        numbers(rows.energy_kwh),
        numbers(rows.discharged_kwh),
        numbers(rows.unmet_kwh),
        numbers(rows.baseline_cost),
        numbers(rows.savings),
        Arc::new(ListArray::new(item.into(), offsets, Arc::new(intervals), None)),
        error,
    ];
    RecordBatch::try_new(schema.clone(), columns).map_err(refused)
}

/// Hands the plans of all vehicles on, a table of at most [`RUN`] rows after the other.
pub(crate) fn tables(
    plan: &engine::AreaPlan,
    problem: &AreaProblem<'_>,
    (id, currency): (&ArrayRef, &str),
    mut sink: impl FnMut(Table) -> Result<(), Refused>,
) -> Result<(), Refused> {
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
        first += rows.len();
        done = record_batch(&schema, ids, rows, Arc::new(texts.finish()))
            .and_then(|batch| sink(Table::from_batch(batch)));
    });
    done
}

/// The plans of all vehicles as one table.
pub(crate) fn table(
    plan: &engine::AreaPlan,
    problem: &AreaProblem<'_>,
    (id, currency): (&ArrayRef, &str),
) -> Result<Table, Refused> {
    let mut batches = Vec::new();
    tables(plan, problem, (id, currency), |table| {
        batches.extend(table.into_batches());
        Ok(())
    })?;
    Ok(Table::new(plan_schema(id.data_type(), currency), batches))
}

/// A table without plans: they went elsewhere.
pub(crate) fn no_rows(id: &ArrayRef, currency: &str) -> Table {
    Table::new(plan_schema(id.data_type(), currency), Vec::new())
}

/// Rows by their `id`, which has to tell them apart.
fn places<'a>(
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
                 with a stability_budget vehicles are known by their id"
            );
            return Err(Refused::Input(text));
        }
    }
    Ok(places)
}

/// What vehicles were told before, by row.
pub(crate) struct Told {
    offsets: Vec<i32>,
    start: Vec<i64>,
    end: Vec<i64>,
    power_kw: Vec<f64>,
}

impl Told {
    /// Finds the vehicles again by their `id`; one that was not there has no intervals.
    ///
    /// # Errors
    /// The plans are none, or an `id` stands for two vehicles of one table.
    pub(crate) fn new(plans: AnyRecordBatch, id: &ArrayRef) -> Result<Self, Refused> {
        let plans = one_batch(plans)?;
        let columns = Columns::new(&plans);
        let names = |column: &ArrayRef| cast(column, &DataType::Utf8).map_err(refused);
        let (before, now) = (names(columns.column("id")?)?, names(id)?);
        let places = self::places("previous plans", before.as_string())?;
        self::places("vehicles", now.as_string())?;
        let wrong = || Refused::Input("\"intervals\" of previous plans are none".to_owned());
        let lists = columns.column("intervals")?;
        let lists = lists.as_list_opt::<i32>().ok_or_else(wrong)?;
        let fields = lists.values().as_struct_opt().ok_or_else(wrong)?;
        let field = |name: &str| fields.column_by_name(name).ok_or_else(wrong);
        let start = cast_times("intervals.start", field("start")?)?;
        let end = cast_times("intervals.end", field("end")?)?;
        let power = to_numbers("intervals.power_kw", field("power_kw")?)?;
        let micros = |column: &ArrayRef| column.as_primitive::<TimestampMicrosecondType>().clone();
        let (start, end) = (micros(&start), micros(&end));
        let mut told = Self { offsets: vec![0], start: vec![], end: vec![], power_kw: vec![] };
        for id in now.as_string::<i32>() {
            if let Some(&place) = id.and_then(|id| places.get(id)) {
                let (first, last) =
                    (lists.value_offsets()[place], lists.value_offsets()[place + 1]);
                for at in first as usize..last as usize {
                    told.start.push(start.value(at));
                    told.end.push(end.value(at));
                    told.power_kw.push(power.value(at));
                }
            }
            told.offsets.push(told.start.len() as i32);
        }
        Ok(told)
    }

    pub(crate) fn previous(&self) -> PreviousPlans<'_> {
        let Self { offsets, start, end, power_kw } = self;
        PreviousPlans { offsets, start, end, power_kw }
    }
}
