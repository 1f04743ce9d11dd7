//! Simulations in a receding horizon, Arrow to Arrow, with policies of Python.
use std::iter::Sum;
use std::ops::AddAssign;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, TimestampMicrosecondArray, UInt32Array};
use chrono::{DateTime, TimeDelta, Utc};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use slackwater_engine::plan::record::EmissionPrice;
use slackwater_engine::simulate::{
    Command, Facts, ForecastBook, Memory, Policy, RegretParts, SimulationOptions, Stay,
    StayColumns, StayOutcome, Step, Stopped, View as EngineView, simulate as engine_simulate,
    simulate_replanner, stays_of_fleet,
};
use slackwater_engine::statistics::fixed::Amount;
use slackwater_engine::units::{Money, Power, Price};

use crate::arrow::{Columns, Table, TableInput, batches, utc};
use crate::batch::{NUMBERS, Vehicles};
use crate::doubts::warn_of_columns;
use crate::error::{Named, Refused};
use crate::forecast::Forecast;
use crate::interrupt::{self, Clock};
use crate::keys::Keys;
use crate::prices::Prices;
use crate::simulate_view::View;
use crate::statistics_columns::money;
use crate::time::Instant;

/// Columns that only a simulation reads.
const OWN: [&str; 4] = ["home", "power_min_kw", "power_step_kw", "start_cost"];

/// Columns of `plan_batch` that a simulation cannot honour.
const NOT_HERE: [&str; 4] = ["price_id", "reserve_kwh", "reserve_percent", "targets"];

/// Settings of a simulation as Python gives them.
#[derive(FromPyObject)]
pub(crate) struct Settings {
    budget: Option<f64>,
    step: TimeDelta,
    horizon: Option<TimeDelta>,
    shortfall_price_per_kwh: Option<f64>,
    splits_regret: bool,
    pub(crate) keeps_steps: bool,
}

impl Settings {
    pub(crate) fn options(&self) -> Result<SimulationOptions, Refused> {
        let options = SimulationOptions {
            step: self.step,
            horizon: self.horizon,
            splits_regret: self.splits_regret,
            keeps_steps: self.keeps_steps,
        };
        options.check()?;
        Ok(options)
    }

    /// Facts of stays at settled prices, with the emissions that have a price in them.
    pub(crate) fn facts(&self, read: &ReadStays, prices: &Prices) -> Result<Facts, Refused> {
        let (curve, missing_price) = ((*prices.curve).clone(), self.shortfall_price()?);
        let facts = Facts::new(curve, read.stays.clone(), missing_price)?;
        Ok(match &prices.emissions {
            Some(emissions) => facts.with_intensity((**emissions.intensity()).clone()),
            None => facts,
        })
    }

    /// Price of a kWh that is missing, if one was given.
    pub(crate) fn shortfall_price(&self) -> Result<Option<Price>, Refused> {
        let price = self.shortfall_price_per_kwh.map(Price::from_per_kwh).transpose();
        price.named("shortfall_price_per_kwh")
    }
}

/// A function of Python that is told the share of the work that is done.
struct Progress {
    function: Option<Py<PyAny>>,
    told: f64,
    /// Exception of the function.
    failed: Option<PyErr>,
}

impl Progress {
    fn new(function: Option<Py<PyAny>>) -> Self {
        Self { function, told: 0.0, failed: None }
    }

    /// Tells the share; false if the work has to stop.
    fn tell(&mut self, done: f64, clock: &Clock) -> bool {
        let is_due = done - self.told >= 0.005 || done >= 1.0;
        if let Some(function) = self.function.as_ref().filter(|_| is_due) {
            self.told = done;
            if let Err(error) = Python::attach(|py| function.call1(py, (done,))) {
                self.failed = Some(error);
                return false;
            }
        }
        clock.seconds_left() > 0.0
    }
}

/// Stays that were read from a table, with the names of their homes.
pub(crate) struct ReadStays {
    homes: Keys,
    stays: Vec<Stay>,
}

impl ReadStays {
    pub(crate) fn new(data: TableInput) -> Result<Self, Refused> {
        let batches = batches(data)?;
        let has_home = |batch: &RecordBatch| Columns::new(batch).find("home").is_some();
        let by = if batches.iter().all(has_home) { "home" } else { "id" };
        let mut read = Self { homes: Keys::new(&[by.to_owned()]), stays: Vec::new() };
        read.stays = read_stays(&batches, &mut read.homes, "simulate")?;
        Ok(read)
    }

    /// One of the stays.
    pub(crate) fn keep_only(mut self, row: usize) -> Result<Self, Refused> {
        let Some(stay) = self.stays.get(row).copied() else {
            let text = format!("stay {row} of {} does not exist", self.stays.len());
            return Err(Refused::Input(text));
        };
        self.stays = vec![stay];
        Ok(self)
    }
}

/// Stays of a table, for the function of Python of that name. `homes` learns the names of their homes.
pub(crate) fn read_stays(
    batches: &[RecordBatch],
    homes: &mut Keys,
    function: &str,
) -> Result<Vec<Stay>, Refused> {
    Python::attach(|py| warn_of_columns(py, batches, &NUMBERS))?;
    let mut read = Vec::new();
    for batch in batches {
        let (columns, first) = (Columns::new(batch), read.len());
        columns.refuse_foreign(&NOT_HERE, function)?;
        let vehicles = Vehicles::new(batch, None, (function, &OWN))?;
        let homes = homes.encode(batch, first)?.unwrap_or_default();
        let numbers = |name: &str| columns.optional_numbers(name);
        let (power_min, power_step) = (numbers("power_min_kw")?, numbers("power_step_kw")?);
        let start_cost = numbers("start_cost")?;
        let own = StayColumns {
            home: Some(&homes),
            power_min_kw: power_min.as_deref(),
            power_step_kw: power_step.as_deref(),
            start_cost: start_cost.as_deref(),
        };
        let stays = stays_of_fleet(&vehicles.fleet(), &own)
            .map_err(|(row, error)| Refused::argument(&format!("stay {}", first + row), error))?;
        read.extend(stays);
    }
    Ok(read)
}

/// A policy that is a function of Python: from a view to periods with their power in kW.
struct PythonPolicy {
    decide: Py<PyAny>,
    currency: Arc<str>,
}

impl Policy for PythonPolicy {
    type Error = PyErr;

    fn is_sequential(&self) -> bool {
        true
    }

    fn decide(
        &self,
        view: &EngineView<'_>,
        _: &mut Memory,
        commands: &mut Vec<Command>,
    ) -> Result<(), PyErr> {
        Python::attach(|py| {
            let view = View::new(view, &self.currency);
            read_commands(&self.decide.call1(py, (view,))?.into_bound(py), commands)?;
            Ok(())
        })
    }
}

/// Commands from the periods of a policy, with their power in kW.
pub(crate) fn read_commands(
    periods: &Bound<'_, PyAny>,
    commands: &mut Vec<Command>,
) -> Result<(), Refused> {
    let periods: Vec<(Instant, Instant, f64)> = periods.extract()?;
    for (start, end, power_kw) in periods {
        let power = Power::from_kw(power_kw).named("power_kw of the policy")?;
        if end.0 <= start.0 || commands.last().is_some_and(|last| last.end() > start.0) {
            let text = "periods of the policy are in time order, without overlap";
            return Err(Refused::Input(format!("{text}; one starts at {}", start.0)));
        }
        commands.push(Command::new(start.0, end.0, power));
    }
    Ok(())
}

/// Rows of a simulation, for any Arrow library. Amounts are exact decimals.
#[pyclass(frozen, extends = Table, module = "slackwater")]
#[derive(Debug)]
pub(crate) struct SimulationTable;

impl SimulationTable {
    fn wrap(py: Python<'_>, table: &Table) -> PyResult<Py<Self>> {
        Py::new(py, PyClassInitializer::from(table.clone()).add_subclass(Self))
    }
}

#[pymethods]
impl SimulationTable {
    /// Reads the bytes of an Arrow stream, as a pickled table has them.
    #[new]
    fn from_ipc(ipc: &[u8]) -> Result<PyClassInitializer<Self>, Refused> {
        Ok(PyClassInitializer::from(Table::from_ipc(ipc)?).add_subclass(Self))
    }

    fn __repr__(slf: PyRef<'_, Self>) -> String {
        slf.as_super().shown("SimulationTable", "row", &[])
    }
}

/// Tables and amounts of a simulation; see `slackwater.Simulation` and `slackwater.HomeSimulation`.
#[pyclass(frozen, subclass, module = "slackwater._engine")]
#[derive(Debug, Clone)]
pub(crate) struct SimulationResult {
    homes: Table,
    steps: Option<Table>,
    amounts: Vec<(String, String)>,
}

impl SimulationResult {
    /// Result with a table of homes, one of steps if they were kept, and the sums of all amounts.
    pub(crate) fn new(
        homes: Table,
        steps: Option<Table>,
        totals: &Amounts,
        emissions: Option<&EmissionPrice>,
    ) -> Self {
        let mut amounts = totals.named();
        if let Some(emissions) = emissions {
            let (own, baseline) = totals.carbon_kg;
            amounts.push(("carbon_kg".to_owned(), own.to_string()));
            amounts.push(("baseline_carbon_kg".to_owned(), baseline.to_string()));
            amounts.push(("carbon_cost".to_owned(), format!("{:.12}", emissions.cost_of(own))));
        }
        Self { homes, steps, amounts }
    }
}

#[pymethods]
impl SimulationResult {
    /// Makes the class of Python, which takes a currency beside the result.
    #[new]
    #[pyo3(signature = (native, *_rest: "object"))]
    fn from_native(native: &Self, _rest: &Bound<'_, PyTuple>) -> Self {
        native.clone()
    }

    /// One row a home: energies, amounts, parts of the regret. Those of its stays are added up.
    #[getter]
    fn homes(&self, py: Python<'_>) -> PyResult<Py<SimulationTable>> {
        SimulationTable::wrap(py, &self.homes)
    }

    /// One row for each decision of each stay or home; ``None`` if they were not kept.
    ///
    /// ``missing_kwh`` of a stay and ``stored_kwh`` of a home are those at ``end``. The costs
    /// of the steps and ``shortfall_cost`` add up to ``cost``.
    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<Option<Py<SimulationTable>>> {
        self.steps.as_ref().map(|steps| SimulationTable::wrap(py, steps)).transpose()
    }

    /// A result of its tables and amounts, as a pickled one has them.
    #[staticmethod]
    #[pyo3(name = "_of_tables")]
    fn from_tables(
        homes: PyRef<'_, SimulationTable>,
        steps: Option<PyRef<'_, SimulationTable>>,
        amounts: Vec<(String, String)>,
    ) -> Self {
        let table = |table: &PyRef<'_, SimulationTable>| Table::clone(table.as_super());
        Self { homes: table(&homes), steps: steps.as_ref().map(table), amounts }
    }

    /// Amounts by name, as decimal texts.
    #[getter(_amounts)]
    fn named_amounts(&self) -> Vec<(String, String)> {
        self.amounts.clone()
    }
}

/// End of a simulation: the exception of its policy, or `None` if the caller stopped it.
pub(crate) fn failure_of<E: Into<PyErr>>(stopped: Stopped<E>) -> Option<PyErr> {
    match stopped {
        Stopped::ByCaller => None,
        Stopped::Policy(error) => Some(error.into()),
        Stopped::Hindsight(error) => Some(Refused::from(error).into()),
    }
}

/// Runs a simulation apart from the interpreter and tells a function of Python the share that is
/// done, until a signal comes.
pub(crate) fn run_simulation<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(f64) -> bool) -> Result<T, Option<PyErr>> + Send + 'static,
) -> Result<T, Refused> {
    let made = interrupt::run(py, None, move |clock| {
        let mut progress = Progress::new(progress);
        let made = work(&mut |done| progress.tell(done, clock));
        made.map_err(|error| error.or(progress.failed))
    })?;
    Ok(made.map_err(|error| error.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())))?)
}

/// See `slackwater.simulate`.
#[pyfunction]
#[pyo3(signature = (policy, stays, prices, forecasts, *, settings, progress))]
pub(crate) fn simulate(
    py: Python<'_>,
    policy: Option<Py<PyAny>>,
    stays: TableInput,
    prices: &Prices,
    forecasts: Vec<PyRef<'_, Forecast>>,
    settings: Settings,
    progress: Option<Py<PyAny>>,
) -> Result<(SimulationResult, Py<SimulationTable>), Refused> {
    let read = ReadStays::new(stays)?;
    let facts = settings.facts(&read, prices)?;
    let book = ForecastBook::new(forecasts.iter().map(|f| f.engine().clone()).collect());
    let options = settings.options()?;
    let budget = settings.budget.map(Money::from_amount).transpose().named("budget")?;
    if let Some(budget) = budget.filter(|budget| *budget < Money::ZERO) {
        let text = format!("budget is {}; it is 0 or more", budget.as_amount());
        return Err(Refused::Input(text));
    }
    let (currency, emissions) = (prices.currency.clone(), prices.emissions.as_ref());
    let (outcomes, facts) = run_simulation(py, progress, move |report| {
        let made = match policy {
            None => simulate_replanner(&facts, &book, budget, &options, report).map_err(failure_of),
            Some(decide) => {
                let policy = PythonPolicy { decide, currency };
                engine_simulate(&facts, &book, &policy, &options, report).map_err(failure_of)
            }
        };
        made.map(|outcomes| (outcomes, facts))
    })?;
    let totals = Totals::new(outcomes.iter());
    let is_counted = facts.intensity().is_some();
    let homes = home_table(&read, &outcomes, is_counted)?;
    let steps = settings.keeps_steps.then(|| step_table(&read, &outcomes, is_counted));
    let stays = SimulationTable::wrap(py, &stay_table(&read, &facts, &outcomes)?)?;
    Ok((SimulationResult::new(homes, steps.transpose()?, &totals.amounts, emissions), stays))
}

/// Amounts of money of a stay or of a home, or their sums over many.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Amounts {
    pub(crate) cost: Amount,
    pub(crate) shortfall_cost: Amount,
    pub(crate) hindsight_cost: Amount,
    pub(crate) baseline_cost: Amount,
    /// Emissions in kg, and those of the baseline; 0 where they are not counted.
    pub(crate) carbon_kg: (f64, f64),
    /// Parts of the regret; `None` if it was not split.
    pub(crate) parts: Option<[Amount; RegretParts::NAMES.len()]>,
}

impl AddAssign for Amounts {
    fn add_assign(&mut self, other: Self) {
        self.cost += other.cost;
        self.shortfall_cost += other.shortfall_cost;
        self.hindsight_cost += other.hindsight_cost;
        self.baseline_cost += other.baseline_cost;
        self.carbon_kg.0 += other.carbon_kg.0;
        self.carbon_kg.1 += other.carbon_kg.1;
        if let Some(parts) = other.parts {
            let sums = self.parts.get_or_insert_default();
            for (sum, part) in sums.iter_mut().zip(parts) {
                *sum += part;
            }
        }
    }
}

impl Sum for Amounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        let mut total = Self::default();
        all.for_each(|one| total += one);
        total
    }
}

impl Amounts {
    fn regret(&self) -> Amount {
        self.cost - self.hindsight_cost
    }

    /// The amounts by name, as decimal texts.
    fn named(&self) -> Vec<(String, String)> {
        let amounts = [
            ("cost", self.cost),
            ("shortfall_cost", self.shortfall_cost),
            ("hindsight_cost", self.hindsight_cost),
            ("baseline_cost", self.baseline_cost),
            ("regret", self.regret()),
        ];
        let named = amounts.iter().map(|(name, amount)| ((*name).to_owned(), amount.to_string()));
        let parts = RegretParts::NAMES.iter().zip(self.parts.into_iter().flatten());
        named
            .chain(parts.map(|(name, part)| (format!("regret_{name}"), part.to_string())))
            .collect()
    }

    /// One column for each amount, and if emissions are counted for them and their baseline.
    pub(crate) fn columns(
        all: &[Self],
        is_counted: bool,
    ) -> Result<Vec<(String, ArrayRef, bool)>, Refused> {
        let amounts = |of: fn(&Self) -> Amount| money(all.iter().map(|one| Some(of(one))));
        let mut columns = vec![
            ("cost".to_owned(), amounts(|one| one.cost)?, false),
            ("shortfall_cost".to_owned(), amounts(|one| one.shortfall_cost)?, false),
            ("hindsight_cost".to_owned(), amounts(|one| one.hindsight_cost)?, false),
            ("baseline_cost".to_owned(), amounts(|one| one.baseline_cost)?, false),
            ("regret".to_owned(), amounts(Self::regret)?, false),
        ];
        for (part, name) in RegretParts::NAMES.iter().enumerate() {
            let column = money(all.iter().map(|one| one.parts.map(|parts| parts[part])))?;
            columns.push((format!("regret_{name}"), column, true));
        }
        if is_counted {
            let kg = |of: fn(&Self) -> f64| -> ArrayRef {
                Arc::new(Float64Array::from_iter_values(all.iter().map(of)))
            };
            columns.push(("carbon_kg".to_owned(), kg(|one| one.carbon_kg.0), false));
            columns.push(("baseline_carbon_kg".to_owned(), kg(|one| one.carbon_kg.1), false));
        }
        Ok(columns)
    }
}

/// Energies and amounts of a stay or their sums over many.
#[derive(Default, Clone, Copy)]
struct Totals {
    energy_kwh: f64,
    shortfall_kwh: f64,
    starts: u32,
    decisions: u32,
    amounts: Amounts,
}

impl Totals {
    fn new<'a>(outcomes: impl Iterator<Item = &'a StayOutcome>) -> Self {
        let mut totals = Self::default();
        outcomes.for_each(|outcome| totals.add(outcome));
        totals
    }

    fn add(&mut self, outcome: &StayOutcome) {
        self.energy_kwh += outcome.energy_kwh;
        self.shortfall_kwh += outcome.shortfall_kwh;
        self.starts += outcome.starts;
        self.decisions += outcome.decisions;
        self.amounts += Amounts {
            cost: outcome.cost,
            shortfall_cost: outcome.shortfall_cost,
            hindsight_cost: outcome.hindsight_cost,
            baseline_cost: outcome.baseline_cost,
            carbon_kg: outcome.carbon_kg.unwrap_or_default(),
            parts: outcome.regret.map(|regret| regret.amounts()),
        };
    }
}

/// Columns that tables of stays and of homes have in common.
fn columns_of(
    totals: &[Totals],
    is_counted: bool,
) -> Result<Vec<(String, ArrayRef, bool)>, Refused> {
    let numbers = |of: fn(&Totals) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(totals.iter().map(of)))
    };
    let counts = |of: fn(&Totals) -> u32| -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(totals.iter().map(of)))
    };
    let mut columns = vec![
        ("energy_kwh".to_owned(), numbers(|totals| totals.energy_kwh), false),
        ("shortfall_kwh".to_owned(), numbers(|totals| totals.shortfall_kwh), false),
        ("starts".to_owned(), counts(|totals| totals.starts), false),
        ("decisions".to_owned(), counts(|totals| totals.decisions), false),
    ];
    let amounts: Vec<Amounts> = totals.iter().map(|totals| totals.amounts).collect();
    columns.extend(Amounts::columns(&amounts, is_counted)?);
    Ok(columns)
}

fn home_table(
    read: &ReadStays,
    outcomes: &[StayOutcome],
    is_counted: bool,
) -> Result<Table, Refused> {
    let count = read.stays.iter().map(|stay| stay.home + 1).max().unwrap_or(0);
    let mut totals = vec![Totals::default(); count as usize];
    for (stay, outcome) in read.stays.iter().zip(outcomes) {
        totals[stay.home as usize].add(outcome);
    }
    let mut columns = read.homes.columns(&(0..count).collect::<UInt32Array>());
    columns.extend(columns_of(&totals, is_counted)?);
    Table::of_columns(columns)
}

fn stay_table(read: &ReadStays, facts: &Facts, outcomes: &[StayOutcome]) -> Result<Table, Refused> {
    let homes: UInt32Array = read.stays.iter().map(|stay| stay.home).collect();
    let times = |of: fn(&Stay) -> DateTime<Utc>| -> ArrayRef {
        let micros = facts.stays().iter().map(|stay| of(stay).timestamp_micros());
        Arc::new(utc(TimestampMicrosecondArray::from_iter_values(micros)))
    };
    let mut columns = read.homes.columns(&homes);
    let rows = UInt32Array::from_iter_values(0..outcomes.len() as u32);
    columns.push(("stay".to_owned(), Arc::new(rows), false));
    columns.push(("arrival".to_owned(), times(|stay| stay.arrival), false));
    columns.push(("departure".to_owned(), times(|stay| stay.departure), false));
    let totals: Vec<Totals> =
        outcomes.iter().map(|outcome| Totals::new(std::iter::once(outcome))).collect();
    columns.extend(columns_of(&totals, facts.intensity().is_some())?);
    Table::of_columns(columns)
}

fn step_table(
    read: &ReadStays,
    outcomes: &[StayOutcome],
    is_counted: bool,
) -> Result<Table, Refused> {
    let all = || {
        let rows = outcomes.iter().zip(0_u32..);
        rows.flat_map(|(outcome, row)| outcome.steps.iter().map(move |step| (row, step)))
    };
    let homes: UInt32Array = all().map(|(row, _)| read.stays[row as usize].home).collect();
    let times = |of: fn(&Step) -> i64| -> ArrayRef {
        let micros = all().map(|(_, step)| of(step));
        Arc::new(utc(TimestampMicrosecondArray::from_iter_values(micros)))
    };
    let numbers = |of: fn(&Step) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(all().map(|(_, step)| of(step))))
    };
    let mut columns = read.homes.columns(&homes);
    let rows = UInt32Array::from_iter_values(all().map(|(row, _)| row));
    columns.push(("stay".to_owned(), Arc::new(rows), false));
    columns.push(("start".to_owned(), times(|step| step.start), false));
    columns.push(("end".to_owned(), times(|step| step.end), false));
    columns.push(("energy_kwh".to_owned(), numbers(|step| step.energy_kwh), false));
    columns.push(("missing_kwh".to_owned(), numbers(|step| step.missing_kwh), false));
    columns.push(("cost".to_owned(), money(all().map(|(_, step)| Some(step.cost)))?, false));
    if is_counted {
        columns.push(("carbon_kg".to_owned(), numbers(|step| step.carbon_kg), false));
    }
    Table::of_columns(columns)
}
