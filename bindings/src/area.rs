//! Plans of vehicles that share limits, Arrow to Arrow.
use arrow_array::RecordBatch;
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use slackwater_engine::area::distributed::Partition;
use slackwater_engine::area::{
    self as engine, AreaOptions, AreaProblem, Hooks, PlanChange, Status, WarmStart, plan_area_with,
};
use slackwater_engine::plan::questions::PlanTotals;
use slackwater_engine::units::{Energy, Money};

use crate::area_crew::{Crew, text};
use crate::area_heat::{AreaHeat, AreaHeatIntervals};
use crate::area_input::{AreaColumns, NodeArg, Paid, one_batch};
use crate::area_table::{self, Told};
use crate::area_watch::{Raised, Store, Watched};
use crate::arrow::{Table, TableInput};
use crate::batch::NUMBERS;
use crate::doubts::{warn_of_columns, warn_of_each, warn_of_price_columns};
use crate::error::{Named, Refused};
use crate::plan_table::PlanTable;
use crate::site_request::HeatUnitArgument;
use crate::storage_batch::PRICES;

record! {
    /// Distance of a plan from the previous one.
    ///
    /// Energies are sums over vehicles and slots of what is more or less than before.
    pub(crate) struct AreaChange {
        /// Energy that the cheapest plan would have moved, in kWh.
        cheapest_kwh: f64,
        /// Energy that the plan moves, in kWh.
        moved_kwh: f64,
        /// Cost of the plan beyond the cheapest one, in units of the currency.
        spent: f64,
        /// Number of vehicles that had a plan before.
        vehicles: usize,
        /// Number of those of them whose plan is the same.
        unchanged: usize,
    }

    /// Unmet energy of a vehicle.
    pub(crate) struct Shortfall {
        /// Row of the vehicle, from 0.
        row: usize,
        /// Energy missing, in kWh at the plug; stored energy if the vehicle discharges.
        energy_kwh: f64,
        /// Node whose limit is the cause; `None` for another cause.
        node: Option<String>,
        /// The cause: `limit` (that of :attr:`node`), `own_limits` (the stay is too short, the
        /// charger too weak, or the charge limit below the target) or `no_price` (prices are
        /// missing in the stay; with them the vehicle alone could have this energy).
        cause: String,
    }

    /// Energy at negative prices that a vehicle does not buy.
    pub(crate) struct ForgoneEnergy {
        /// Row of the vehicle, from 0.
        row: usize,
        /// Energy that it could take beside the plans of all, within hard limits, in kWh at the
        /// plug.
        energy_kwh: f64,
        /// Money that this energy would earn, in units of the currency, at the price and what
        /// limits add to it.
        revenue: f64,
    }

    /// Load and prices of a node, slot by slot.
    pub(crate) struct NodeLoad {
        /// Name of the node.
        name: String,
        /// Mean power over each slot, in kW, base load included; of every node, limited or not.
        load_kw: Vec<f64>,
        /// Most by which a hard limit is exceeded, in kW; only base load and limits on export can
        /// lead there.
        breach_kw: f64,
        /// Amount that limits of the node and of the nodes above it add to the price of a kWh in
        /// each slot. While limits leave needs unmet it ranks slots and is not a price: it is highest
        /// in slots where one more kWh would reduce unmet energy.
        congestion_price_per_kwh: Vec<f64>,
        /// Base load over each slot, in kW, that of the nodes below it included.
        base_kw: Vec<f64>,
    }

    /// Numbers of the plan of an area; see `slackwater.AreaPlan`.
    #[pyo3(subclass)]
    pub(crate) struct AreaNumbers {
        /// Cost of the energy and of soft limits, in units of the currency.
        cost: f64,
        /// Lower bound: no plan that serves the same needs, with the same degree-hours outside the
        /// bands of heat units, costs less.
        bound: f64,
        /// Cost minus bound, divided by the larger of bound and baseline cost.
        ///
        /// Where vehicles are on or off it is at least the part of the needs by
        /// which :attr:`shortfall_kwh` is above :attr:`shortfall_bound_kwh`.
        relative_gap: f64,
        /// Rounds of the last search; each prices all vehicles once.
        ///
        /// There may be several searches: on samples of a large fleet before the
        /// whole fleet, and again where limits withhold energy. ``progress`` is
        /// called in the rounds of each.
        rounds: usize,
        /// Why the rounds ended.
        ///
        /// ``optimal_within_gap`` (converged: no plan is cheaper by more than the
        /// requested gap), ``limit_reached`` (the allowed rounds are used),
        /// ``stopped`` (by the caller or Ctrl-C), ``stalled`` (no further
        /// improvement: the remaining gap is due to indivisible vehicle plans) or
        /// ``solver_failed`` (the solver failed in one of the searches: limits hold
        /// and the bound is proved, but a better plan may exist).
        status: String,
        /// Whether the same call gives the same bytes; not if it was stopped.
        is_reproducible: bool,
        /// Energy that vehicles charge, in kWh at the plug.
        energy_kwh: f64,
        /// Energy that vehicles discharge, in kWh at the plug, as a positive number.
        discharged_kwh: f64,
        /// Rows whose reserve is delayed by limits, compared with full power from arrival.
        late_reserves: Vec<usize>,
        /// Distance from the previous plan; ``None`` if it was not requested.
        change: Option<AreaChange>,
        /// Need that is not met in time, in kWh.
        ///
        /// Sum of (a) energy the stay is too short for and (b) energy withheld by
        /// limits, each at its worst deadline.
        shortfall_kwh: f64,
        /// Lower bound on the unmet need in kWh, where vehicles are on or off.
        ///
        /// In a small area (up to 400 decisions, two a slot of each such vehicle,
        /// without batteries that discharge and without reserves) it is the bound
        /// of a mixed-integer search, exact where that search ends. In a larger
        /// area it is the unmet need if these vehicles could charge in parts of
        /// slots; with batteries that discharge only the energy that the stays
        /// are too short for. ``None`` where no vehicle is on or off, or the
        /// search was stopped.
        shortfall_bound_kwh: Option<f64>,
        /// Vehicles that were planned; rows in error are not.
        vehicles: usize,
        /// Invalid rows; their ``error`` column gives the reason.
        errors: usize,
        /// Currency of all costs and prices.
        currency: String,
        /// Start and end of each slot, in UTC.
        periods: Vec<(DateTime<Utc>, DateTime<Utc>)>,
        /// Heat units in the order given, each with its temperatures, cost and reasons.
        heat: Vec<AreaHeat>,
        /// Price of a degree-hour outside the band of a heat unit of priority 1, in units of the
        /// currency per °C·h; 0 without heat units. By it comfort comes before money. Energy that a
        /// vehicle misses has a higher one.
        degree_hour_price: f64,
        /// Mean power of all vehicles and heat units in each slot, in kW.
        load_kw: Vec<f64>,
        /// Baseline: the load if all vehicles charge at full power from arrival and heat units are run
        /// by thermostats, in kW.
        baseline_load_kw: Vec<f64>,
        /// Cost of the baseline, soft limits included; also of energy withheld here.
        baseline_cost: f64,
        /// Load if each vehicle charges in its own cheapest slots, and each heat unit has its own
        /// cheapest plan, in kW.
        price_only_load_kw: Vec<f64>,
        /// Cost of :attr:`price_only_load_kw`, soft limits included.
        price_only_cost: f64,
        /// Load and prices of each node.
        nodes: Vec<NodeLoad>,
        /// Node and price of one more kWh in each slot, a row for each limit.
        ///
        /// While limits leave needs unmet these values are no prices; see
        /// :attr:`NodeLoad.congestion_price_per_kwh`.
        shadow_price_per_kwh: Vec<(String, Vec<f64>)>,
        /// Unmet energy by row; a vehicle can have several causes.
        shortfalls: Vec<Shortfall>,
        /// Most hours of a stay without a price, which no plan uses.
        unpriced_hours: f64,
        /// Energy bought at prices that are only estimated, in kWh.
        energy_on_estimates_kwh: f64,
        /// Energy sold at prices that are only estimated, in kWh.
        sold_on_estimates_kwh: f64,
        /// Revenue that vehicles leave at negative prices, by row, of those that leave some.
        ///
        /// They want a need in kWh, have targets before departure, are on or off, or are not to be
        /// filled.
        forgone: Vec<ForgoneEnergy>,
        /// Prices to begin with when the area is planned again.
        warm_start: (Vec<f64>, Vec<Vec<f64>>),
    }
    impl {
        /// Baseline cost minus cost; negative if limits cost more than planning saves.
        #[getter(savings)]
        fn compute_savings(&self) -> f64 {
            self.read_baseline().savings(self.cost)
        }

        /// Energy at negative prices that vehicles do not buy, in kWh: the sum of
        /// :attr:`forgone`.
        #[getter(forgone_kwh)]
        fn add_up_forgone_kwh(&self) -> f64 {
            self.forgone.iter().map(|one| one.energy_kwh).sum::<f64>() + 0.0
        }

        /// Money that :attr:`forgone_kwh` would earn, in units of the currency.
        #[getter(forgone_revenue)]
        fn add_up_forgone_revenue(&self) -> f64 {
            self.forgone.iter().map(|one| one.revenue).sum::<f64>() + 0.0
        }

        /// List the periods in which heat units run, as a table for any Arrow library.
        fn heat_intervals(&self) -> AreaHeatIntervals {
            self.heat.iter().flat_map(AreaHeat::list_intervals).collect()
        }
    }
}

impl AreaNumbers {
    fn read_baseline(&self) -> engine::LoadAndCost {
        engine::LoadAndCost { load_kw: self.baseline_load_kw.clone(), cost: self.baseline_cost }
    }

    /// The statements of the plan, for verification.
    pub(crate) fn state_numbers(&self) -> engine::StatedArea {
        engine::StatedArea {
            cost: self.cost,
            bound: self.bound,
            gap: self.relative_gap,
            baseline_cost: self.baseline_cost,
            energy_kwh: self.energy_kwh,
            discharged_kwh: self.discharged_kwh,
            unmet_kwh: self.shortfall_kwh,
            unmet_bound_kwh: self.shortfall_bound_kwh,
            unmet: self.shortfalls.iter().map(|one| (one.row, one.energy_kwh)).collect(),
            late_reserves: self.late_reserves.clone(),
            nodes: self.nodes.iter().map(|one| (one.load_kw.clone(), one.breach_kw)).collect(),
            duals_per_kwh: self.shadow_price_per_kwh.iter().map(|one| one.1.clone()).collect(),
            heat: self.heat.iter().map(AreaHeat::state).collect(),
        }
    }

    /// Cost, energies and shortfall, for comparison with another plan.
    pub(crate) fn add_up(&self) -> Result<PlanTotals, Refused> {
        Ok(PlanTotals {
            cost: Money::from_amount(self.cost).named("cost")?,
            bound: Money::from_amount(self.bound).named("bound")?,
            drawn: Energy::from_kwh(self.energy_kwh).named("energy_kwh")?,
            fed: Energy::from_kwh(self.discharged_kwh).named("discharged_kwh")?,
            shortfall: Energy::from_kwh(self.shortfall_kwh).named("shortfall_kwh")?,
            degree_hours: 0.0,
        })
    }

    /// Numbers of a plan of the engine. `names` are those of the nodes.
    fn new(plan: &engine::AreaPlan, change: Option<PlanChange>, names: &[String]) -> Self {
        let change = change.map(|change| {
            let PlanChange { cheapest_kwh, moved_kwh, spent, vehicles, unchanged } = change;
            AreaChange { cheapest_kwh, moved_kwh, spent, vehicles, unchanged }
        });
        let node = |node: &engine::NodeOutcome| NodeLoad {
            name: node.name.clone(),
            load_kw: node.load_kw.clone(),
            breach_kw: node.breach_kw,
            congestion_price_per_kwh: node.added_per_kwh.clone(),
            base_kw: node.base_kw.clone(),
        };
        let price =
            |price: &engine::ShadowPrice| (names[price.node].clone(), price.per_kwh.clone());
        let unmet = |unmet: &engine::Unmet| Shortfall {
            row: unmet.row,
            energy_kwh: unmet.energy_kwh,
            node: unmet.node.map(|node| names[node].clone()),
            cause: cause(unmet).to_owned(),
        };
        Self {
            cost: plan.cost,
            bound: plan.bound,
            relative_gap: plan.gap,
            rounds: plan.rounds,
            status: plan.status.as_str().to_owned(),
            is_reproducible: plan.reproducible,
            energy_kwh: plan.energy_kwh,
            discharged_kwh: plan.discharged_kwh,
            late_reserves: plan.late_reserves.clone(),
            change,
            shortfall_kwh: plan.unmet_kwh,
            shortfall_bound_kwh: plan.unmet_bound_kwh,
            vehicles: plan.vehicles(),
            errors: plan.errors.len(),
            currency: String::new(),
            periods: Vec::new(),
            heat: plan.heat.iter().map(|unit| AreaHeat::new(unit, names)).collect(),
            degree_hour_price: plan.degree_hour_price,
            load_kw: plan.load_kw.clone(),
            baseline_load_kw: plan.unmanaged.load_kw.clone(),
            baseline_cost: plan.unmanaged.cost,
            price_only_load_kw: plan.price_only.load_kw.clone(),
            price_only_cost: plan.price_only.cost,
            nodes: plan.nodes.iter().map(node).collect(),
            shadow_price_per_kwh: plan.shadow_prices.iter().map(price).collect(),
            shortfalls: plan.unmet.iter().map(unmet).collect(),
            unpriced_hours: 0.0,
            energy_on_estimates_kwh: 0.0,
            sold_on_estimates_kwh: 0.0,
            forgone: Vec::new(),
            warm_start: (plan.state.duals_per_kwh.clone(), plan.state.rounds_per_kwh.clone()),
        }
    }
}

/// Why energy is unmet, in the words of a site.
fn cause(unmet: &engine::Unmet) -> &'static str {
    match unmet.node {
        Some(_) => "limit",
        None if unmet.is_unpriced => "no_price",
        None => "own_limits",
    }
}

/// Energy and money that the plan leaves at negative prices, by vehicle.
fn forgone(
    plan: &engine::AreaPlan,
    problem: &AreaProblem<'_>,
) -> Result<Vec<ForgoneEnergy>, Refused> {
    let forgone = |one: engine::VehicleForgone| ForgoneEnergy {
        row: one.row,
        energy_kwh: one.energy_kwh,
        revenue: one.revenue,
    };
    Ok(plan.forgone(problem)?.into_iter().map(forgone).collect())
}

/// Message to all parts of an area, and to each of them: its own, and what changed in it.
type Instructions = (String, Vec<(String, String)>);

/// Messages from which the parts write their plans: one to all of them, and then one to each, with
/// what is different from what was dealt.
fn instructions(plan: &engine::AreaPlan, places: &[Partition]) -> Instructions {
    let (question, own) = plan.instructions(places);
    let own = own.iter().map(|(own, change)| (text(own), text(change)));
    (text(&question), own.collect())
}

/// Refuses what is no number from 0 on.
pub(crate) fn from_zero(name: &str, value: f64) -> Result<(), Refused> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Refused::Input(format!("{name} is {value}; it is a number from 0 on")))
}

/// A number of rounds; Python has negative ones too.
pub(crate) fn rounds(value: i64) -> Result<usize, Refused> {
    let refused = || format!("rounds_max is {value} rounds; it is a whole number from 0 on");
    usize::try_from(value).map_err(|_| Refused::Input(refused()))
}

/// Relation of a new plan to the one before.
#[derive(FromPyObject)]
pub(crate) struct Before {
    /// Plans of vehicles, with `id` and `intervals`.
    #[pyo3(item("plans"))]
    plans: Option<TableInput>,
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
    told: Told<'_>,
    sink: Option<&Py<PyAny>>,
) -> Result<Table, Refused> {
    let Some(sink) = sink else { return area_table::table(plan, problem, told) };
    area_table::tables(plan, problem, told, |table| {
        Python::attach(|py| sink.call1(py, (PlanTable::wrap(py, table)?,)))
            .map(drop)
            .map_err(Refused::Python)
    })?;
    Ok(area_table::no_rows(told.id, told.currency))
}

/// Adds to the numbers of a plan what follows from its input: currency, periods, guesses, time
/// without a price, and money that is left.
fn add_input(
    numbers: AreaNumbers,
    plan: &engine::AreaPlan,
    problem: &AreaProblem<'_>,
    told: Told<'_>,
) -> Result<AreaNumbers, Refused> {
    let [bought, sold] = area_table::add_up_estimates(plan, problem, told.estimates)?;
    Ok(AreaNumbers {
        currency: told.currency.to_owned(),
        periods: problem.horizon().periods().collect(),
        unpriced_hours: plan.unpriced_hours(problem)?,
        energy_on_estimates_kwh: bought,
        sold_on_estimates_kwh: sold,
        forgone: forgone(plan, problem)?,
        ..numbers
    })
}

/// Warns of columns of vehicles with unlikely numbers.
fn warn_of_vehicles(py: Python<'_>, batch: &RecordBatch, currency: &str) -> Result<(), Refused> {
    let batches = std::slice::from_ref(batch);
    warn_of_columns(py, batches, &NUMBERS)?;
    warn_of_price_columns(py, batches, currency, &PRICES)
}

/// Plans an area; see `slackwater.plan_area`.
#[pyfunction]
#[pyo3(signature = (vehicles, paid, *, nodes, heat, relative_gap, rounds_max, before, listeners))]
#[expect(clippy::too_many_arguments, reason = "the arguments that Python names")]
pub(crate) fn plan_area(
    py: Python<'_>,
    vehicles: TableInput,
    paid: Paid,
    nodes: Vec<NodeArg>,
    heat: Vec<HeatUnitArgument>,
    relative_gap: f64,
    rounds_max: i64,
    before: Before,
    listeners: Listeners,
) -> Result<(AreaNumbers, Py<PlanTable>, Instructions), Refused> {
    from_zero("relative_gap", relative_gap)?;
    let rounds_max = rounds(rounds_max)?;
    from_zero("stability_budget", before.budget)?;
    let batch = one_batch(vehicles)?;
    let columns = AreaColumns::new(&batch, &paid, &nodes)?.with_heat(heat);
    warn_of_vehicles(py, &batch, paid.import()?.1)?;
    let problem = columns.problem(&paid)?;
    warn_of_each(py, &problem.find_power_doubts())?;
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
    if let Some(error) = raised.take_error() {
        return Err(Refused::Python(error));
    }
    let currency = paid.import()?.1;
    let places = crew.map(Crew::into_places);
    let estimates = columns.estimates(&paid);
    let told = Told { id: columns.id(), currency, estimates: &estimates };
    // Ctrl-C after the rounds: whoever takes the table must not be the one to be stopped.
    let is_interrupted = py.check_signals().is_err();
    let table = match &places {
        Some(_) => area_table::no_rows(columns.id(), currency),
        None => crate::work::in_parallel(py, || hand_on(&plan, &problem, told, sink.as_ref()))??,
    };
    // Ctrl-C while the last was done: the plan is there, and is what was asked for.
    if is_interrupted || py.check_signals().is_err() {
        (plan.status, plan.reproducible) = (Status::Stopped, false);
    }
    let numbers = AreaNumbers::new(&plan, change, &columns.names());
    let numbers = crate::work::in_parallel(py, || add_input(numbers, &plan, &problem, told))??;
    let instructions = instructions(&plan, places.as_deref().unwrap_or_default());
    Ok((numbers, PlanTable::wrap(py, table)?, instructions))
}
