//! Plans of vehicles that share limits, Arrow to Arrow.
use std::collections::BTreeMap;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;
use slackwater_engine::area::coordinate::{self, AreaOptions, AreaState};
use slackwater_engine::area::fleet::Curves;
use slackwater_engine::area::limits::{Block, Limit, Node, Profile};
use slackwater_engine::area::outcome::{self, Status};
use slackwater_engine::area::problem::{AreaProblem, AreaVehicles};
use slackwater_engine::area::stability::Change;
use slackwater_engine::area::store::StorageColumns;
use slackwater_engine::units::{Power, Price};

use crate::area_table::{self, Told};
use crate::area_watch::Watched;
use crate::arrow::{Columns, Table, refused};
use crate::batch::Vehicles;
use crate::error::{Named, Refused};
use crate::prices::{PriceCurves, Prices};

/// Columns that an area honours on top of those of a batch.
const HONOURED: [&str; 8] = [
    "charge_limit_percent",
    "discharge_max_kw",
    "efficiency_discharge",
    "end_value_per_kwh",
    "node",
    "power_min_kw",
    "priority",
    "wear_price_per_kwh",
];

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
    change: Option<Change>,
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
    fn discharged_kwh(&self) -> f64 {
        self.plan.discharged_kwh
    }

    /// Rows of batteries whose reserve comes later than it could alone.
    #[getter]
    fn late_reserves(&self) -> Vec<usize> {
        self.plan.late_reserves.clone()
    }

    /// Energy that the cheapest plan and this one move, what that costs, and
    /// vehicles that were there before and that are left alone.
    #[getter]
    fn change(&self) -> Option<(f64, f64, f64, usize, usize)> {
        self.change.map(|change| {
            let Change { cheapest_kwh, moved_kwh, spent, vehicles, unchanged } = change;
            (cheapest_kwh, moved_kwh, spent, vehicles, unchanged)
        })
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
pub(crate) fn one_batch(vehicles: AnyRecordBatch) -> Result<RecordBatch, Refused> {
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

/// Prices to sell at, for all or by `price_id`.
fn export<'a>(
    shared: Option<&'a Prices>,
    own: Option<&'a PriceCurves>,
    (curves, currency): (Option<&PriceCurves>, &str),
) -> Result<Option<Curves<'a>>, Refused> {
    let found = match (shared, own) {
        (Some(prices), _) if curves.is_none() => (Curves::Shared(&prices.curve), prices.currency()),
        (_, Some(own)) if curves.is_some_and(|curves| curves.ids == own.ids) => {
            (Curves::PerVehicle(&own.table), own.currency())
        }
        (None, None) => return Ok(None),
        _ => {
            let text = "export_prices are to be of the same kind as prices, with the same ids";
            return Err(Refused::Input(text.into()));
        }
    };
    if found.1 != currency {
        let text = format!("export_prices are in {:?}, prices in {currency:?}", found.1);
        return Err(Refused::Input(text));
    }
    Ok(Some(found.0))
}

/// Columns of vehicles that also discharge.
struct Discharging {
    discharge_max: Vec<f64>,
    optional: [Option<Vec<f64>>; 4],
}

impl Discharging {
    fn new(columns: &Columns<'_>) -> Result<Option<Self>, Refused> {
        let optional = [
            columns.optional_numbers("efficiency_discharge")?,
            columns.optional_numbers("charge_limit_percent")?,
            columns.optional_numbers("end_value_per_kwh")?,
            columns.optional_numbers("wear_price_per_kwh")?,
        ];
        match columns.optional_numbers("discharge_max_kw")? {
            Some(discharge_max) => Ok(Some(Self { discharge_max, optional })),
            None if optional.iter().all(Option::is_none) => Ok(None),
            None => Err(Refused::Input("discharge_max_kw is missing".into())),
        }
    }

    fn columns<'a>(&'a self, export: Option<Curves<'a>>) -> StorageColumns<'a> {
        let [efficiency_discharge, charge_limit_percent, end_value_per_kwh, wear_price_per_kwh] =
            self.optional.each_ref().map(|column| column.as_deref());
        StorageColumns {
            discharge_max_kw: &self.discharge_max,
            efficiency_discharge,
            charge_limit_percent,
            end_value_per_kwh,
            wear_price_per_kwh,
            export,
        }
    }
}

/// Names of nodes and their positions.
fn places(nodes: &[NodeArg]) -> Result<BTreeMap<&str, usize>, Refused> {
    let mut places = BTreeMap::new();
    for (at, node) in nodes.iter().enumerate() {
        if places.insert(node.name.as_str(), at).is_some() {
            return Err(Refused::Input(format!("there are two nodes {:?}", node.name)));
        }
    }
    Ok(places)
}

/// Refuses what is no number from 0 on.
fn from_zero(name: &str, value: f64) -> Result<(), Refused> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Refused::Input(format!("{name} is {value}; it is a number from 0 on")))
}

/// What a new plan has to do with the one before.
#[derive(FromPyObject)]
pub(crate) struct Before {
    /// Plans of vehicles, with `id` and `intervals`.
    #[pyo3(item("plans"))]
    plans: Option<AnyRecordBatch>,
    #[pyo3(item("budget"))]
    budget: f64,
    #[pyo3(item("start"))]
    start: Option<(Vec<f64>, Vec<Vec<f64>>)>,
}

/// Who is told of the rounds, and of the plans.
#[derive(FromPyObject)]
pub(crate) struct Listeners {
    #[pyo3(item("progress"))]
    progress: Option<Py<PyAny>>,
    #[pyo3(item("recall"))]
    recall: Option<Py<PyAny>>,
    #[pyo3(item("keep"))]
    keep: Option<Py<PyAny>>,
    #[pyo3(item("sink"))]
    sink: Option<Py<PyAny>>,
}

/// The plans as a table, or none where a sink takes them as they are made.
fn hand_on(
    plan: &outcome::AreaPlan,
    problem: &AreaProblem<'_>,
    (id, currency): (&ArrayRef, &str),
    sink: Option<&Py<PyAny>>,
) -> Result<Table, Refused> {
    let Some(sink) = sink else { return area_table::table(plan, problem, (id, currency)) };
    area_table::tables(plan, problem, (id, currency), |table| {
        Python::attach(|py| sink.call1(py, (table,))).map(drop).map_err(Refused::Python)
    })?;
    Ok(area_table::no_rows(id, currency))
}

/// Plans an area; see `slackwater.plan_area`.
#[pyfunction]
#[pyo3(signature = (vehicles, prices, *, curves, export_prices, export_curves, nodes, gap, max_rounds, before, listeners))]
#[expect(clippy::too_many_arguments, reason = "the arguments that Python names")]
pub(crate) fn plan_area(
    py: Python<'_>,
    vehicles: AnyRecordBatch,
    prices: Option<PyRef<'_, Prices>>,
    curves: Option<PyRef<'_, PriceCurves>>,
    export_prices: Option<PyRef<'_, Prices>>,
    export_curves: Option<PyRef<'_, PriceCurves>>,
    nodes: Vec<NodeArg>,
    gap: f64,
    max_rounds: usize,
    before: Before,
    listeners: Listeners,
) -> Result<AreaPlan, Refused> {
    from_zero("gap", gap)?;
    from_zero("stability_budget", before.budget)?;
    let (prices, own) = (prices.as_deref(), curves.as_deref());
    let (used, currency) = match (prices, own) {
        (_, Some(own)) => (Curves::PerVehicle(&own.table), own.currency()),
        (Some(prices), None) => (Curves::Shared(&prices.curve), prices.currency()),
        (None, None) => return Err(Refused::Input("prices are missing".into())),
    };
    let export = export(export_prices.as_deref(), export_curves.as_deref(), (own, currency))?;
    let places = places(&nodes)?;
    let batch = one_batch(vehicles)?;
    let columns = Vehicles::new(&batch, own, ("plan_area", &HONOURED))?;
    let node = node_column(&batch, &places)?;
    let found = Columns::new(&batch);
    let priority = found.optional_numbers("priority")?;
    let power_min = found.optional_numbers("power_min_kw")?;
    let discharging = Discharging::new(&found)?;
    let made = nodes.iter().map(|node| node.node(&places)).collect::<Result<Vec<_>, _>>()?;
    let area = AreaVehicles {
        fleet: columns.fleet(),
        node: node.as_deref(),
        priority: priority.as_deref(),
        power_min_kw: power_min.as_deref(),
        storage: discharging.as_ref().map(|columns| columns.columns(export)),
    };
    let problem = AreaProblem::new(area, used, made)?;
    let told = before.plans.map(|plans| Told::new(plans, &columns.id)).transpose()?;
    let state = |(duals_per_kwh, rounds_per_kwh)| AreaState { duals_per_kwh, rounds_per_kwh };
    let start = before.start.map(state);
    let options = AreaOptions { gap, max_rounds, start };
    let Listeners { progress, recall, keep, sink } = listeners;
    let mut watch = Watched { progress, recall, keep, failed: None };
    let told = told.as_ref().map(|told| (told.previous(), before.budget));
    let (plan, change) = py.detach(|| {
        let plan = coordinate::plan_area_watched(&problem, &options, &mut watch);
        match told {
            Some((previous, budget)) => {
                let (plan, change) = plan.near(&problem, &previous, budget);
                (plan, Some(change))
            }
            None => (plan, None),
        }
    });
    if let Some(error) = watch.failed {
        return Err(Refused::Python(error));
    }
    let what = (&columns.id, currency);
    let table = py.detach(|| hand_on(&plan, &problem, what, sink.as_ref()))?;
    let periods = problem.horizon().periods().collect();
    let names = nodes.iter().map(|node| node.name.clone()).collect();
    Ok(AreaPlan { plan, change, table, currency: currency.to_owned(), periods, names })
}
