//! Plans of vehicles that share limits, Arrow to Arrow.
use arrow_array::ArrayRef;
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;
use slackwater_engine::area::distributed::Partition;
use slackwater_engine::area::{
    self as engine, AreaOptions, AreaProblem, Hooks, PlanChange, Status, WarmStart, plan_area_with,
};

use crate::area_crew::{Crew, text};
use crate::area_input::{AreaColumns, NodeArg, Paid, one_batch};
use crate::area_table;
use crate::area_watch::{Raised, Store, Watched};
use crate::arrow::Table;
use crate::error::Refused;

/// Name, load, breach, added price and base load of a node.
type NodeRow = (String, Vec<f64>, f64, Vec<f64>, Vec<f64>);

/// What is done about an area: its plan, and the table of the vehicles' plans.
#[pyclass(frozen, module = "slackwater._engine")]
pub(crate) struct AreaPlan {
    plan: engine::AreaPlan,
    change: Option<PlanChange>,
    table: Table,
    /// Places of the parts, where vehicles were asked in parts.
    places: Option<Vec<Partition>>,
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
    fn relative_gap(&self) -> f64 {
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
            Status::Failed => "failed",
        }
    }

    #[getter]
    fn is_reproducible(&self) -> bool {
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
            let PlanChange { cheapest_kwh, moved_kwh, spent, vehicles, unchanged } = change;
            (cheapest_kwh, moved_kwh, spent, vehicles, unchanged)
        })
    }

    #[getter]
    fn shortfall_kwh(&self) -> f64 {
        self.plan.unmet_kwh
    }

    #[getter]
    fn shortfall_bound_kwh(&self) -> Option<f64> {
        self.plan.unmet_bound_kwh
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
    fn baseline(&self) -> (Vec<f64>, f64) {
        (self.plan.unmanaged.load_kw.clone(), self.plan.unmanaged.cost)
    }

    #[getter]
    fn price_only(&self) -> (Vec<f64>, f64) {
        (self.plan.price_only.load_kw.clone(), self.plan.price_only.cost)
    }

    /// Load and prices of each node.
    #[getter]
    fn nodes(&self) -> Vec<NodeRow> {
        let node = |node: &engine::NodeOutcome| {
            let (load, added) = (node.load_kw.clone(), node.added_per_kwh.clone());
            (node.name.clone(), load, node.breach_kw, added, node.base_kw.clone())
        };
        self.plan.nodes.iter().map(node).collect()
    }

    /// Node and price per slot of each limit.
    #[getter]
    fn shadow_price_per_kwh(&self) -> Vec<(String, Vec<f64>)> {
        let price =
            |price: &engine::ShadowPrice| (self.names[price.node].clone(), price.per_kwh.clone());
        self.plan.shadow_prices.iter().map(price).collect()
    }

    /// Row, energy and node of each unmet need.
    #[getter]
    fn shortfalls(&self) -> Vec<(usize, f64, Option<String>)> {
        let unmet = |unmet: &engine::Unmet| {
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

    /// What the parts are told to write their plans from: all of them, and then
    /// each of them, with what is different from what was dealt.
    fn told(&self) -> (String, Vec<(String, String)>) {
        let (question, own) = self.plan.instructions(self.places.as_deref().unwrap_or_default());
        let own = own.iter().map(|(own, change)| (text(own), text(change)));
        (text(&question), own.collect())
    }
}

/// Refuses what is no number from 0 on.
fn from_zero(name: &str, value: f64) -> Result<(), Refused> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Refused::Input(format!("{name} is {value}; it is a number from 0 on")))
}

/// A number of rounds; Python has negative ones too.
fn rounds(value: i64) -> Result<usize, Refused> {
    let refused = || format!("rounds_max is {value} rounds; it is a whole number from 0 on");
    usize::try_from(value).map_err(|_| Refused::Input(refused()))
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
    /// Who asks the vehicles, in parts.
    #[pyo3(item("crew"))]
    crew: Option<Py<PyAny>>,
}

/// The plans as a table, or none where a sink takes them as they are made.
fn hand_on(
    plan: &engine::AreaPlan,
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
#[pyo3(signature = (vehicles, paid, *, nodes, relative_gap, rounds_max, before, listeners))]
#[expect(clippy::too_many_arguments, reason = "the arguments that Python names")]
pub(crate) fn plan_area(
    py: Python<'_>,
    vehicles: AnyRecordBatch,
    paid: Paid,
    nodes: Vec<NodeArg>,
    relative_gap: f64,
    rounds_max: i64,
    before: Before,
    listeners: Listeners,
) -> Result<AreaPlan, Refused> {
    from_zero("relative_gap", relative_gap)?;
    let rounds_max = rounds(rounds_max)?;
    from_zero("stability_budget", before.budget)?;
    let batch = one_batch(vehicles)?;
    let columns = AreaColumns::new(&batch, &paid, &nodes)?;
    let problem = columns.problem(&paid)?;
    let previous = before
        .plans
        .map(|plans| area_table::previous_intervals(plans, columns.id()))
        .transpose()?;
    let state = |(duals_per_kwh, rounds_per_kwh)| WarmStart { duals_per_kwh, rounds_per_kwh };
    let start = before.start.map(state);
    let options = AreaOptions { gap: relative_gap, max_rounds: rounds_max, start };
    let Listeners { progress, recall, keep, sink, crew } = listeners;
    let slots = problem.horizon().len();
    let raised = Raised::default();
    let crew = crew.map(|crew| Crew::new(py, crew, batch, slots, raised.clone()));
    let mut crew = crew.transpose()?;
    let mut watch = Watched { progress, raised: raised.clone() };
    let mut store = Store { recall, keep, raised: raised.clone() };
    let (mut plan, change) = crate::work::in_parallel(py, || {
        let hooks = Hooks {
            observer: &mut watch,
            store: Some(&mut store),
            workers: crew.as_mut().map(|crew| crew as &mut dyn engine::Workers),
        };
        let plan = plan_area_with(&problem, &options, hooks);
        Ok::<_, engine::AreaError>(match &previous {
            Some(previous) => {
                let (plan, change) = plan.replan_close_to(&problem, previous, before.budget)?;
                (plan, Some(change))
            }
            None => (plan, None),
        })
    })??;
    if let Some(error) = raised.take() {
        return Err(Refused::Python(error));
    }
    let currency = paid.import()?.1;
    let places = crew.map(Crew::into_places);
    let what = (columns.id(), currency);
    // Ctrl-C after the rounds: whoever takes the table must not be the one to be stopped.
    let is_interrupted = py.check_signals().is_err();
    let table = match &places {
        Some(_) => area_table::no_rows(columns.id(), currency),
        None => crate::work::in_parallel(py, || hand_on(&plan, &problem, what, sink.as_ref()))??,
    };
    // Ctrl-C while the last was done: the plan is there, and is what was asked for.
    if is_interrupted || py.check_signals().is_err() {
        (plan.status, plan.reproducible) = (Status::Stopped, false);
    }
    let periods = problem.horizon().periods().collect();
    let (names, currency) = (columns.names(), currency.to_owned());
    Ok(AreaPlan { plan, change, table, places, currency, periods, names })
}
