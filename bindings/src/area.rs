//! Plans of vehicles that share limits, Arrow to Arrow.
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{
    Array, ArrayRef, Float64Array, ListArray, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, SchemaRef};
use chrono::{DateTime, Utc};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;
use slackwater_engine::area::coordinate::{self, AreaOptions, AreaState, Progress};
use slackwater_engine::area::fleet::Curves;
use slackwater_engine::area::limits::{Block, Limit, Node, Profile};
use slackwater_engine::area::outcome::{self, Status};
use slackwater_engine::area::problem::{AreaProblem, AreaVehicles};
use slackwater_engine::area::rows::AreaRows;
use slackwater_engine::units::{Power, Price};

use crate::answer::{interval_fields, numbers};
use crate::arrow::{Columns, Table, refused, schema, utc};
use crate::batch::Vehicles;
use crate::error::{Named, Refused};
use crate::prices::{PriceCurves, Prices};

/// Columns that an area honours on top of those of a batch.
const HONOURED: [&str; 3] = ["node", "power_min_kw", "priority"];

/// Rows of a record batch.
const RUN: usize = 65_536;

/// A number for all slots, or one per slot.
#[derive(FromPyObject)]
pub(crate) enum ProfileArg {
    Constant(f64),
    PerSlot(Vec<Option<f64>>),
}

impl ProfileArg {
    fn profile(&self, name: &str) -> Result<Profile, Refused> {
        Ok(match self {
            Self::Constant(value) => Profile::Constant(Power::from_kw(*value).named(name)?),
            Self::PerSlot(values) => {
                let power = |value: &Option<f64>| value.map(Power::from_kw).transpose().named(name);
                Profile::PerSlot(values.iter().map(power).collect::<Result<_, _>>()?)
            }
        })
    }
}

/// A `slackwater.Node`, read by its attributes.
#[derive(FromPyObject)]
pub(crate) struct NodeArg {
    name: String,
    parent: Option<String>,
    base_kw: Option<ProfileArg>,
    limit_kw: Option<ProfileArg>,
    limit_price_per_kwh: Option<f64>,
    export_limit_kw: Option<ProfileArg>,
    export_limit_price_per_kwh: Option<f64>,
    peak_price_per_kw: Option<f64>,
    peak_incurred_kw: f64,
    blocks: Vec<(f64, f64)>,
    target_kw: Option<ProfileArg>,
    target_price_per_kwh: Option<f64>,
    target_square_price: Option<f64>,
}

impl NodeArg {
    fn node(&self, places: &BTreeMap<&str, usize>) -> Result<Node, Refused> {
        let parent = match &self.parent {
            None => None,
            Some(name) => Some(*places.get(name.as_str()).ok_or_else(|| {
                Refused::Input(format!("parent of node {:?} is {name:?}; no node", self.name))
            })?),
        };
        let base = self.base_kw.as_ref().map(|base| base.profile("base_kw")).transpose()?;
        Ok(Node { name: self.name.clone(), parent, base, limits: self.limits()? })
    }

    fn limits(&self) -> Result<Vec<Limit>, Refused> {
        let price =
            |price: Option<f64>, name: &str| price.map(Price::from_per_kwh).transpose().named(name);
        let mut limits = Vec::new();
        if let Some(limit) = &self.limit_kw {
            let power_max = limit.profile("limit_kw")?;
            let price = price(self.limit_price_per_kwh, "limit_price_per_kwh")?;
            limits.push(Limit::Import { power_max, price });
        }
        if let Some(limit) = &self.export_limit_kw {
            let power_max = limit.profile("export_limit_kw")?;
            let price = price(self.export_limit_price_per_kwh, "export_limit_price_per_kwh")?;
            limits.push(Limit::Export { power_max, price });
        }
        if let Some(price_per_kw) = self.peak_price_per_kw {
            let incurred = Power::from_kw(self.peak_incurred_kw).named("peak_incurred_kw")?;
            limits.push(Limit::Peak { price_per_kw, incurred });
        }
        if !self.blocks.is_empty() {
            let block = |&(above, price): &(f64, f64)| -> Result<Block, Refused> {
                let above = Power::from_kw(above).named("blocks")?;
                Ok(Block { above, price: Price::from_per_kwh(price).named("blocks")? })
            };
            limits.push(Limit::Blocks(self.blocks.iter().map(block).collect::<Result<_, _>>()?));
        }
        if let Some(target) = &self.target_kw {
            let power = target.profile("target_kw")?;
            if let Some(price) = price(self.target_price_per_kwh, "target_price_per_kwh")? {
                limits.push(Limit::Follow { power: power.clone(), price });
            }
            if let Some(weight) = self.target_square_price {
                limits.push(Limit::FollowSquares { power, weight });
            }
        }
        Ok(limits)
    }
}

/// What is done about an area: its plan, and the table of the vehicles' plans.
#[pyclass(frozen, module = "slackwater._engine")]
pub(crate) struct AreaPlan {
    plan: outcome::AreaPlan,
    table: Table,
    currency: String,
    periods: Vec<(DateTime<Utc>, DateTime<Utc>)>,
    names: Vec<String>,
}

#[pymethods]
impl AreaPlan {
    #[getter]
    fn cost(&self) -> f64 {
        self.plan.cost
    }

    #[getter]
    fn bound(&self) -> f64 {
        self.plan.bound
    }

    #[getter]
    fn gap(&self) -> f64 {
        self.plan.gap
    }

    #[getter]
    fn rounds(&self) -> usize {
        self.plan.rounds
    }

    #[getter]
    fn status(&self) -> &'static str {
        match self.plan.status {
            Status::Gap => "gap",
            Status::Rounds => "rounds",
            Status::Stopped => "stopped",
            Status::Stalled => "stalled",
        }
    }

    #[getter]
    fn reproducible(&self) -> bool {
        self.plan.reproducible
    }

    #[getter]
    fn energy_kwh(&self) -> f64 {
        self.plan.energy_kwh
    }

    #[getter]
    fn unmet_kwh(&self) -> f64 {
        self.plan.unmet_kwh
    }

    #[getter]
    fn vehicles(&self) -> usize {
        self.plan.vehicles()
    }

    #[getter]
    fn errors(&self) -> usize {
        self.plan.errors.len()
    }

    #[getter]
    fn currency(&self) -> &str {
        &self.currency
    }

    #[getter]
    fn periods(&self) -> Vec<(DateTime<Utc>, DateTime<Utc>)> {
        self.periods.clone()
    }

    #[getter]
    fn load_kw(&self) -> Vec<f64> {
        self.plan.load_kw.clone()
    }

    #[getter]
    fn unmanaged(&self) -> (Vec<f64>, f64) {
        (self.plan.unmanaged.load_kw.clone(), self.plan.unmanaged.cost)
    }

    #[getter]
    fn price_only(&self) -> (Vec<f64>, f64) {
        (self.plan.price_only.load_kw.clone(), self.plan.price_only.cost)
    }

    /// Name, load, breach and added price of each node.
    #[getter]
    fn nodes(&self) -> Vec<(String, Vec<f64>, f64, Vec<f64>)> {
        let node = |node: &outcome::NodeOutcome| {
            let (load, added) = (node.load_kw.clone(), node.added_per_kwh.clone());
            (node.name.clone(), load, node.breach_kw, added)
        };
        self.plan.nodes.iter().map(node).collect()
    }

    /// Node and price per slot of each limit.
    #[getter]
    fn shadow_prices(&self) -> Vec<(String, Vec<f64>)> {
        let price =
            |price: &outcome::ShadowPrice| (self.names[price.node].clone(), price.per_kwh.clone());
        self.plan.shadow_prices.iter().map(price).collect()
    }

    /// Row, energy and node of each unmet need.
    #[getter]
    fn unmet(&self) -> Vec<(usize, f64, Option<String>)> {
        let unmet = |unmet: &outcome::Unmet| {
            (unmet.row, unmet.energy_kwh, unmet.node.map(|node| self.names[node].clone()))
        };
        self.plan.unmet.iter().map(unmet).collect()
    }

    /// Prices to begin with when the area is planned again.
    #[getter]
    fn state(&self) -> (Vec<f64>, Vec<Vec<f64>>) {
        let state = &self.plan.state;
        (state.duals_per_kwh.clone(), state.rounds_per_kwh.clone())
    }

    #[getter]
    fn plans(&self) -> Table {
        self.table.clone()
    }
}

/// The columns of all vehicles as one.
fn one_batch(vehicles: AnyRecordBatch) -> Result<RecordBatch, Refused> {
    let batches = crate::arrow::batches(vehicles)?;
    arrow_select::concat::concat_batches(&batches[0].schema(), &batches).map_err(refused)
}

/// Positions of the nodes that the `node` column names; `None` without one.
fn node_column(
    batch: &RecordBatch,
    places: &BTreeMap<&str, usize>,
) -> Result<Option<Vec<u32>>, Refused> {
    let Some(column) = Columns::new(batch).find("node") else { return Ok(None) };
    let names = cast(column, &DataType::Utf8).map_err(refused)?;
    let names = names
        .as_any()
        .downcast_ref::<StringArray>()
        .ok_or_else(|| Refused::Input("column \"node\" holds no names".into()))?;
    let place = |(row, name): (usize, Option<&str>)| {
        let place = name.and_then(|name| places.get(name));
        place.map(|&place| place as u32).ok_or_else(|| {
            let name = name.unwrap_or("null");
            Refused::Input(format!("node of row {row} is {name:?}; there is no such node"))
        })
    };
    names.iter().enumerate().map(place).collect::<Result<_, _>>().map(Some)
}

/// Calls Python once a round: for signals, and for who watches the progress.
struct Watch {
    progress: Option<Py<PyAny>>,
    failed: Option<PyErr>,
}

impl Watch {
    fn stop(&mut self, progress: &Progress) -> bool {
        Python::attach(|py| {
            // Ctrl-C asks for the plan so far, not for an exception.
            if py.check_signals().is_err() {
                return true;
            }
            let Some(watch) = &self.progress else { return false };
            let numbers = (progress.round, progress.cost, progress.bound, progress.gap);
            match watch.call1(py, numbers).and_then(|answer| answer.is_truthy(py)) {
                Ok(stop) => stop,
                // Ctrl-C while the callback runs is raised there.
                Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => true,
                Err(error) => {
                    self.failed = Some(error);
                    true
                }
            }
        })
    }
}

fn plan_schema(id: &DataType, currency: &str) -> SchemaRef {
    let number = |name: &str| Field::new(name, DataType::Float64, true);
    let item = Field::new("item", DataType::Struct(interval_fields()), false);
    let fields = vec![
        Field::new("id", id.clone(), true),
        number("cost"),
        number("energy_kwh"),
        number("shortfall_kwh"),
        number("baseline_cost"),
        number("savings"),
        Field::new("intervals", DataType::List(item.into()), false),
        Field::new("error", DataType::Utf8, true),
    ];
    schema(fields, currency)
}

fn record_batch(
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
        numbers(rows.unmet_kwh),
        numbers(rows.baseline_cost),
        numbers(rows.savings),
        Arc::new(ListArray::new(item.into(), offsets, Arc::new(intervals), None)),
        error,
    ];
    RecordBatch::try_new(schema.clone(), columns).map_err(refused)
}

/// The plans of all vehicles as record batches.
fn table(
    plan: &outcome::AreaPlan,
    problem: &AreaProblem<'_>,
    id: &ArrayRef,
    currency: &str,
) -> Result<Table, Refused> {
    let schema = plan_schema(id.data_type(), currency);
    let mut batches = Vec::new();
    let (mut first, mut failed) = (0, None);
    let mut errors = plan.errors.iter().peekable();
    plan.rows(problem, RUN, &mut |rows| {
        let mut texts = StringBuilder::new();
        for row in first..first + rows.len() {
            match errors.next_if(|(at, _)| *at == row) {
                Some((_, error)) => texts.append_value(error.to_string()),
                None => texts.append_null(),
            }
        }
        let ids = id.slice(first, rows.len());
        first += rows.len();
        match record_batch(&schema, ids, rows, Arc::new(texts.finish())) {
            Ok(batch) => batches.push(batch),
            Err(error) => failed = Some(error),
        }
    });
    failed.map_or(Ok(Table::new(schema, batches)), Err)
}

/// Plans an area; see `slackwater.plan_area`.
#[pyfunction]
#[pyo3(signature = (vehicles, prices, *, curves, nodes, gap, max_rounds, progress, start))]
#[expect(clippy::too_many_arguments, reason = "the arguments that Python names")]
pub(crate) fn plan_area(
    py: Python<'_>,
    vehicles: AnyRecordBatch,
    prices: Option<PyRef<'_, Prices>>,
    curves: Option<PyRef<'_, PriceCurves>>,
    nodes: Vec<NodeArg>,
    gap: f64,
    max_rounds: usize,
    progress: Option<Py<PyAny>>,
    start: Option<(Vec<f64>, Vec<Vec<f64>>)>,
) -> Result<AreaPlan, Refused> {
    if !(gap >= 0.0 && gap.is_finite()) {
        return Err(Refused::Input(format!("gap is {gap}; it is a number from 0 on")));
    }
    let (prices, own) = (prices.as_deref(), curves.as_deref());
    let (used, currency) = match (prices, own) {
        (_, Some(own)) => (Curves::PerVehicle(&own.table), own.currency()),
        (Some(prices), None) => (Curves::Shared(&prices.curve), prices.currency()),
        (None, None) => return Err(Refused::Input("prices are missing".into())),
    };
    let mut places = BTreeMap::new();
    for (at, node) in nodes.iter().enumerate() {
        if places.insert(node.name.as_str(), at).is_some() {
            return Err(Refused::Input(format!("there are two nodes {:?}", node.name)));
        }
    }
    let batch = one_batch(vehicles)?;
    let columns = Vehicles::new(&batch, own, ("plan_area", &HONOURED))?;
    let node = node_column(&batch, &places)?;
    let found = Columns::new(&batch);
    let priority = found.optional_numbers("priority")?;
    let power_min = found.optional_numbers("power_min_kw")?;
    let made = nodes.iter().map(|node| node.node(&places)).collect::<Result<Vec<_>, _>>()?;
    let names = nodes.iter().map(|node| node.name.clone()).collect();
    let area = AreaVehicles {
        fleet: columns.fleet(),
        node: node.as_deref(),
        priority: priority.as_deref(),
        power_min_kw: power_min.as_deref(),
    };
    let problem = AreaProblem::new(area, used, made)?;
    let start =
        start.map(|(duals_per_kwh, rounds_per_kwh)| AreaState { duals_per_kwh, rounds_per_kwh });
    let options = AreaOptions { gap, max_rounds, start };
    let mut watch = Watch { progress, failed: None };
    let (plan, table) = py.detach(|| {
        let plan = coordinate::plan_area(&problem, &options, &mut |round| watch.stop(round));
        let table = table(&plan, &problem, &columns.id, currency);
        (plan, table)
    });
    if let Some(error) = watch.failed {
        return Err(Refused::Python(error));
    }
    let periods = problem.horizon().periods().collect();
    Ok(AreaPlan { plan, table: table?, currency: currency.to_owned(), periods, names })
}
