//! Plans of vehicles behind one limit while prices and limit are uncertain.
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use slackwater_engine::area::scenarios as engine;
use slackwater_engine::prices::layers::LayeredPrices;
use slackwater_engine::units::Price;

use crate::area::{from_zero, rounds};
use crate::area_input::{ProfileArg, one_batch};
use crate::arrow::{TableInput, refused};
use crate::batch::{NUMBERS, Vehicles};
use crate::doubts::{warn_of_columns, warn_of_each};
use crate::error::{Named, Refused};
use crate::prices::Prices;
use crate::record;
use crate::saved::tell_estimates;
use crate::time::{Instant, time_zone};
use crate::verification::Verification;

record! {
    /// Power of a vehicle over a slot, or over the part of it within its stay.
    pub(crate) struct AreaScenarioInterval in AreaScenarioIntervals {
        /// The ``id`` of the vehicle, as a text.
        id: String,
        /// Number of the scenario, from 0; `None` before the scenario is known.
        scenario: Option<usize>,
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the interval, in UTC.
        end: DateTime<Utc>,
        /// Mean power, in kW at the plug.
        power_kw: f64,
    }

    /// Energy of a vehicle in one scenario.
    pub(crate) struct AreaScenarioEnergy in AreaScenarioEnergies {
        /// The ``id`` of the vehicle, as a text.
        id: String,
        /// Number of the scenario, from 0.
        scenario: usize,
        /// Energy before the scenario is known, in kWh at the plug; the same in all scenarios.
        before_kwh: f64,
        /// Energy after it, in kWh at the plug.
        later_kwh: f64,
        /// Energy that is missing at departure, in kWh at the plug.
        shortfall_kwh: f64,
    }

    /// Outcome of the plan in one scenario.
    pub(crate) struct AreaScenarioOutcome {
        /// Probability of the scenario, from 0 to 1.
        probability: f64,
        /// Cost of the energy, and of missing energy at its price, in units of the currency.
        cost: f64,
        /// Energy that is missing at the departures, in kWh at the plug.
        shortfall_kwh: f64,
        /// Mean power of all vehicles in each slot, in kW.
        load_kw: Vec<f64>,
        /// Amount that the limit adds to the price of a kWh in each slot, in units of the currency; 0
        /// where it does not bind.
        congestion_price_per_kwh: Vec<f64>,
    }

    /// Decision for a vehicle before the scenario is known, and its reason.
    pub(crate) struct AreaScenarioReason in AreaScenarioReasons {
        /// The ``id`` of the vehicle, as a text.
        id: String,
        /// The reason: `before` (charges then, and not later), `split` (then and later), `wait`
        /// (later) or `nothing`.
        code: String,
        /// Energy before the scenario is known, in kWh at the plug.
        before_kwh: f64,
        /// Least energy after it, over the scenarios, in kWh at the plug.
        later_min_kwh: f64,
        /// Most energy after it, over the scenarios, in kWh at the plug.
        later_max_kwh: f64,
        /// Expected energy that is missing at departure, in kWh at the plug.
        expected_shortfall_kwh: f64,
        /// Highest price of a kWh before the scenario is known, that of the limit included; `None` if
        /// nothing is charged then.
        before_price_per_kwh: Option<f64>,
        /// Expected price of one more kWh after it, that of the limit included; missing energy counts
        /// at its own price.
        later_price_per_kwh: f64,
        /// The reason as a sentence, with times on the wall clock that `explain` was asked for.
        sentence: String,
    }

    /// Expected costs of three ways to plan, missing energy at its price included.
    pub(crate) struct AreaScenarioComparison {
        /// Cost of the plan with scenarios.
        expected_cost: f64,
        /// Cost of planning for mean prices and the mean limit until the scenario is known, and then
        /// for it.
        mean_price_cost: f64,
        /// Cost if the scenario was known from the start.
        perfect_information_cost: f64,
        /// Cost that scenarios save over mean prices (value of the stochastic solution).
        value_of_stochastic_solution: f64,
        /// Cost that knowing the scenario from the start would save.
        value_of_perfect_information: f64,
    }
}

/// A `slackwater.AreaScenario`: probability, prices, limit and base load in kW.
type ScenarioTuple = (f64, Py<Prices>, Option<ProfileArg>, Option<ProfileArg>);

/// The scenario as the engine has it; `position` is its place among all.
fn scenario(
    position: usize,
    (probability, prices, limit, base): &ScenarioTuple,
) -> Result<engine::AreaScenario<'_>, Refused> {
    let profile = |field: &str, given: &Option<ProfileArg>| {
        let name = format!("{field} of scenarios[{position}]");
        given.as_ref().map(|given| given.profile(&name)).transpose()
    };
    Ok(engine::AreaScenario {
        probability: *probability,
        prices: &prices.get().curve,
        limit: profile("limit_kw", limit)?,
        base: profile("base_kw", base)?,
    })
}

/// Plan of an area with scenarios; see `slackwater.AreaScenarioPlan`.
#[pyclass(frozen, subclass, module = "slackwater._engine")]
#[derive(Debug, Clone)]
pub(crate) struct AreaScenarioPlan {
    plan: Arc<engine::ScenarioPlan>,
    ids: Arc<[String]>,
    currency: Arc<str>,
    layers: Vec<Option<Arc<LayeredPrices>>>,
    options: engine::ScenarioOptions,
}

impl AreaScenarioPlan {
    /// Position of the scenarios.
    fn numbers(&self) -> std::ops::Range<usize> {
        0..self.plan.problem().probabilities().len()
    }

    /// Rows that are planned.
    fn planned(&self) -> impl Iterator<Item = usize> + '_ {
        let problem = self.plan.problem();
        (0..problem.rows()).filter(|&row| problem.row_error(row).is_none())
    }
}

/// Fields of a plan with scenarios, in the order of `to_dict`.
const FIELDS: [&str; 16] = [
    "currency",
    "expected_cost",
    "expected_shortfall_kwh",
    "bound",
    "relative_gap",
    "rounds",
    "status",
    "baseline_cost",
    "periods",
    "shared_slots",
    "scenarios",
    "intervals",
    "energies",
    "errors",
    "vehicles",
    "unpriced_hours",
];

#[pymethods]
impl AreaScenarioPlan {
    /// Makes the class of Python, which takes arguments beside the plan.
    #[new]
    #[pyo3(signature = (native, *_rest: "object"))]
    fn from_native(native: &Self, _rest: &Bound<'_, PyTuple>) -> Self {
        native.clone()
    }

    /// Currency of all amounts.
    #[getter]
    fn currency(&self) -> &str {
        &self.currency
    }

    /// Expected cost of the energy, and of missing energy at its price.
    #[getter]
    fn expected_cost(&self) -> f64 {
        self.plan.expected_cost()
    }

    /// Expected energy that is missing at the departures, in kWh at the plug.
    #[getter]
    fn expected_shortfall_kwh(&self) -> f64 {
        self.plan.expected_shortfall_kwh()
    }

    /// Lower bound: no plan has a lower expected cost.
    #[getter]
    fn bound(&self) -> f64 {
        self.plan.bound
    }

    /// Expected cost minus bound, divided by the larger of bound and baseline cost.
    #[getter]
    fn relative_gap(&self) -> f64 {
        self.plan.gap
    }

    /// Rounds of the search; each prices all vehicles once.
    #[getter]
    fn rounds(&self) -> usize {
        self.plan.rounds
    }

    /// Why the rounds ended: ``optimal_within_gap`` (no plan is cheaper by more than the requested
    /// gap), ``limit_reached`` (the allowed rounds are used), ``stalled`` (no further improvement) or
    /// ``solver_failed`` (the solver failed: limits hold and the bound is proved, but a better plan
    /// may exist).
    #[getter(status)]
    fn status_text(&self) -> &'static str {
        self.plan.status.as_str()
    }

    /// Expected cost of the energy if all vehicles charged at full power from arrival, without the
    /// limit.
    #[getter]
    fn baseline_cost(&self) -> f64 {
        self.plan.baseline_cost
    }

    /// Start and end of each slot, in UTC.
    #[getter]
    fn periods(&self) -> Vec<(DateTime<Utc>, DateTime<Utc>)> {
        self.plan.problem().horizon().periods().collect()
    }

    /// Number of slots, from the first one, in which all scenarios share one plan.
    #[getter]
    fn shared_slots(&self) -> usize {
        self.plan.problem().shared_slots()
    }

    /// Vehicles that were planned; rows in error are not.
    #[getter]
    fn vehicles(&self) -> usize {
        self.planned().count()
    }

    /// Most hours of a stay without a price.
    #[getter]
    fn unpriced_hours(&self) -> f64 {
        self.plan.problem().unpriced_hours()
    }

    /// Rows that are not planned, from 0, each with what is wrong with it.
    #[getter]
    fn errors(&self) -> Vec<(usize, String)> {
        let problem = self.plan.problem();
        let error = |row| Some((row, problem.row_error(row)?.to_string()));
        (0..problem.rows()).filter_map(error).collect()
    }

    /// Outcome of each scenario, in the order given.
    #[getter]
    fn scenarios(&self) -> Vec<AreaScenarioOutcome> {
        let outcome = |scenario| AreaScenarioOutcome {
            probability: self.plan.problem().probabilities()[scenario],
            cost: self.plan.cost_in(scenario),
            shortfall_kwh: self
                .planned()
                .map(|row| self.plan.shortfall_kwh(row, scenario))
                .sum::<f64>()
                + 0.0,
            load_kw: self.plan.load_kw(scenario),
            congestion_price_per_kwh: self.plan.congestion_prices(scenario),
        };
        self.numbers().map(outcome).collect()
    }

    /// When each vehicle charges: first before the scenario is known, then in each scenario.
    ///
    /// An Arrow library reads the plan itself as this table.
    #[getter]
    fn intervals(&self) -> AreaScenarioIntervals {
        let interval = |interval: engine::ScenarioInterval| AreaScenarioInterval {
            id: self.ids[interval.row].clone(),
            scenario: interval.scenario,
            start: interval.start,
            end: interval.end,
            power_kw: interval.power_kw,
        };
        self.plan.intervals().map(interval).collect()
    }

    /// Energy of each planned vehicle in each scenario.
    #[getter]
    fn energies(&self) -> AreaScenarioEnergies {
        let rows =
            self.planned().flat_map(|row| self.numbers().map(move |scenario| (row, scenario)));
        let energy = |(row, scenario): (usize, usize)| {
            let (before_kwh, later_kwh) = self.plan.energy_kwh(row, scenario);
            let shortfall_kwh = self.plan.shortfall_kwh(row, scenario);
            let id = self.ids[row].clone();
            AreaScenarioEnergy { id, scenario, before_kwh, later_kwh, shortfall_kwh }
        };
        rows.map(energy).collect()
    }

    #[pyo3(signature = (*, time_zone))]
    fn explain(&self, time_zone: &str) -> Result<AreaScenarioReasons, Refused> {
        let zone = self::time_zone(time_zone)?;
        let reason = |reason: engine::ScenarioReason| AreaScenarioReason {
            id: self.ids[reason.row].clone(),
            code: reason.code.as_str().to_owned(),
            before_kwh: reason.before_kwh,
            later_min_kwh: reason.later_kwh.0,
            later_max_kwh: reason.later_kwh.1,
            expected_shortfall_kwh: reason.expected_shortfall_kwh,
            before_price_per_kwh: reason.before_price_per_kwh,
            later_price_per_kwh: reason.later_price_per_kwh,
            sentence: tell_estimates(
                reason.sentence(zone, &self.currency),
                &self.layers,
                reason.stay,
            ),
        };
        Ok(engine::explain(&self.plan).into_iter().map(reason).collect())
    }

    fn compare(&self, py: Python<'_>) -> AreaScenarioComparison {
        let compared = py.detach(|| self.plan.compare(&self.options));
        AreaScenarioComparison {
            expected_cost: compared.expected_cost,
            mean_price_cost: compared.mean_price_cost,
            perfect_information_cost: compared.perfect_information_cost,
            value_of_stochastic_solution: compared.value_of_stochastic_solution(),
            value_of_perfect_information: compared.value_of_perfect_information(),
        }
    }

    fn verify(&self, py: Python<'_>) -> Verification {
        let checks = py.detach(|| engine::verify(self.plan.problem(), &self.plan.statement()));
        Verification::new(checks)
    }

    /// Return the fields as a dictionary; records inside of it become dictionaries, too.
    fn to_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<record::Fields<'py>> {
        record::to_dict(slf.as_any(), &FIELDS)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.currency == other.currency && self.ids == other.ids && self.plan == other.plan
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        record::hash(slf.as_any(), &["currency", "expected_cost", "bound"])
    }

    /// Hand the intervals to an Arrow library.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Result<Bound<'py, PyCapsule>, Refused> {
        self.intervals().table()?.stream(py, requested_schema)
    }
}

/// Texts of the `id` column.
fn read_ids(vehicles: &Vehicles) -> Result<Arc<[String]>, Refused> {
    let names = arrow_cast::cast(&vehicles.id, &DataType::Utf8).map_err(refused)?;
    let names = names.as_string::<i32>();
    Ok((0..names.len()).map(|row| names.value(row).to_owned()).collect())
}

/// See `slackwater.plan_area_scenarios`.
#[pyfunction]
#[pyo3(signature = (
    vehicles, scenarios, *, known_from, shortfall_price_per_kwh, relative_gap, rounds_max
))]
pub(crate) fn plan_area_scenarios(
    py: Python<'_>,
    vehicles: TableInput,
    scenarios: Vec<ScenarioTuple>,
    known_from: Instant,
    shortfall_price_per_kwh: f64,
    relative_gap: f64,
    rounds_max: i64,
) -> Result<AreaScenarioPlan, Refused> {
    from_zero("relative_gap", relative_gap)?;
    let options = engine::ScenarioOptions { gap: relative_gap, max_rounds: rounds(rounds_max)? };
    let shortfall_price =
        Price::from_per_kwh(shortfall_price_per_kwh).named("shortfall_price_per_kwh")?;
    let Some(first) = scenarios.first() else {
        return Err(Refused::Input("scenarios is empty; give at least one".into()));
    };
    for other in &scenarios[1..] {
        first.1.get().require_same_currency(other.1.get())?;
    }
    let batch = one_batch(vehicles)?;
    let columns = Vehicles::new(&batch, None, ("plan_area_scenarios", &[]))?;
    warn_of_columns(py, std::slice::from_ref(&batch), &NUMBERS)?;
    let given = scenarios.iter().enumerate().map(|(position, given)| scenario(position, given));
    let given = given.collect::<Result<Vec<_>, _>>()?;
    let fleet = columns.fleet();
    for (position, scenario) in given.iter().enumerate() {
        let place = format!("scenarios[{position}]");
        warn_of_each(py, &scenario.find_power_doubts(&fleet, &place))?;
    }
    let problem = engine::ScenarioProblem::new(&fleet, &given, known_from.0, shortfall_price)?;
    let plan = py.detach(|| engine::plan_area_scenarios(problem, &options));
    let (ids, currency) = (read_ids(&columns)?, first.1.get().currency.clone());
    let layers = scenarios.iter().map(|given| given.1.get().layers.clone()).collect();
    Ok(AreaScenarioPlan { plan: Arc::new(plan), ids, currency, layers, options })
}
