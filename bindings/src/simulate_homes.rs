//! Simulations of homes with batteries and vehicles, Arrow to Arrow, with policies of Python.
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, TimestampMicrosecondArray, UInt32Array};
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::simulate as engine;
use slackwater_engine::simulate::{
    ForecastBook, Home, HomeBattery, HomeCommands, HomeFacts, HomeMemory, HomeOutcome, HomePolicy,
    HomeReplanner, HomeStep, IssuedNetLoad, NaiveForecast, NaiveRule, NetForecast, NetLoad, Stay,
    Stopped, TariffBooks,
};
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{Energy, Percent, Power, Price};

use crate::arrow::{Columns, Table, TableInput, batches, utc};
use crate::doubts::warn_of_columns;
use crate::error::{Named, Refused};
use crate::forecast::Forecast;
use crate::keys::Keys;
use crate::prices::Prices;
use crate::simulate::{
    Amounts, Settings, SimulationResult, failure_of, read_commands, read_stays, run_simulation,
};
use crate::simulate_view::SeenPrices;
use crate::statistics_columns::money;
use crate::time::{Instant, time_zone};

/// Columns of batteries.
const BATTERY: [&str; 12] = [
    "home",
    "capacity_kwh",
    "soc_percent",
    "power_max_kw",
    "discharge_max_kw",
    "soc_min_percent",
    "charge_limit_percent",
    "target_percent",
    "efficiency",
    "discharge_efficiency",
    "wear_price_per_kwh",
    "id",
];

/// Columns of powers and of their forecasts.
const POWER: [&str; 6] = ["home", "start", "end", "load_kw", "solar_kw", "known_at"];

/// A table of powers in the order of its rows.
struct Powers {
    home: Vec<u32>,
    /// Instant at which a forecast became known; empty for facts.
    known_at: Vec<i64>,
    start: Vec<i64>,
    end: Option<Vec<i64>>,
    load_kw: Option<Vec<f64>>,
    solar_kw: Option<Vec<f64>>,
}

impl Powers {
    fn new(
        tables: &[RecordBatch],
        what: &str,
        homes: &mut Keys,
        is_forecast: bool,
    ) -> Result<Self, Refused> {
        let mut read = Self {
            home: Vec::new(),
            known_at: Vec::new(),
            start: Vec::new(),
            end: None,
            load_kw: None,
            solar_kw: None,
        };
        for batch in tables {
            let (columns, first) = (Columns::new(batch), read.home.len());
            let known = if is_forecast { &POWER[..] } else { &POWER[..5] };
            columns.refuse_lookalikes(known).map_err(|error| named(what, error))?;
            if ["load_kw", "solar_kw"].iter().all(|name| columns.find(name).is_none()) {
                let text = format!("{what} has neither a column load_kw nor solar_kw");
                return Err(Refused::Input(text));
            }
            let times = |name: &str| -> Result<Vec<i64>, Refused> {
                let column = columns.times(name).map_err(|error| named(what, error))?;
                Columns::refuse_nulls(name, &(Arc::new(column.clone()) as ArrayRef), first)?;
                Ok(column.values().to_vec())
            };
            read.home.extend(homes.encode(batch, first)?.unwrap_or_default());
            read.start.extend(times("start")?);
            if is_forecast {
                read.known_at.extend(times("known_at")?);
            }
            if columns.find("end").is_some() {
                read.end.get_or_insert_default().extend(times("end")?);
            }
            for (name, own) in [("load_kw", &mut read.load_kw), ("solar_kw", &mut read.solar_kw)] {
                if let Some(numbers) = columns.optional_numbers(name)? {
                    own.get_or_insert_default().extend(numbers);
                }
            }
        }
        Ok(read)
    }

    /// Rows of each of `count` homes, in the order of issue and then of time.
    fn rows_by_home(&self, count: usize) -> Vec<Vec<usize>> {
        let mut rows = vec![Vec::new(); count];
        for (row, &home) in self.home.iter().enumerate() {
            if let Some(own) = rows.get_mut(home as usize) {
                own.push(row);
            }
        }
        for own in &mut rows {
            own.sort_by_key(|&row| (self.known_at.get(row).copied(), self.start[row]));
        }
        rows
    }

    /// Net load of some rows, which are in time order. `name` is told with what is refused.
    fn net_load(&self, rows: &[usize], name: &str) -> Result<NetLoad, Refused> {
        let starts: Vec<i64> = rows.iter().map(|&row| self.start[row]).collect();
        let ends = match &self.end {
            Some(ends) => rows.iter().map(|&row| ends[row]).collect(),
            None => NetLoad::ends_of(&starts).ok_or_else(|| {
                Refused::argument(name, "a single slot has no length; add a column end")
            })?,
        };
        let horizon = Horizon::from_micros(starts.into_iter().zip(ends)).named(name)?;
        let pick = |numbers: &Option<Vec<f64>>| -> Option<Vec<f64>> {
            numbers.as_ref().map(|numbers| rows.iter().map(|&row| numbers[row]).collect())
        };
        let (load, solar) = (pick(&self.load_kw), pick(&self.solar_kw));
        NetLoad::new(horizon, load.as_deref(), solar.as_deref()).named(name)
    }
}

fn named(what: &str, error: Refused) -> Refused {
    match error {
        Refused::Input(text) => Refused::Input(format!("{what}: {text}")),
        python @ Refused::Python(_) => python,
    }
}

/// Batteries that were read from a table, with the names of their homes.
struct ReadBatteries {
    homes: Keys,
    batteries: Vec<HomeBattery>,
}

impl ReadBatteries {
    fn new(data: TableInput) -> Result<Self, Refused> {
        let mut read = Self { homes: Keys::new(&["home".to_owned()]), batteries: Vec::new() };
        for batch in &batches(data)? {
            read.add(batch)?;
        }
        let mut seen = vec![false; read.homes.len()];
        for (row, battery) in read.batteries.iter().enumerate() {
            if std::mem::replace(&mut seen[battery.home as usize], true) {
                let text = format!("battery {row}: its home has another battery; join the two");
                return Err(Refused::Input(text));
            }
        }
        Ok(read)
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<(), Refused> {
        let (columns, first) = (Columns::new(batch), self.batteries.len());
        columns.refuse_lookalikes(&BATTERY)?;
        let homes = self.homes.encode(batch, first)?.unwrap_or_default();
        let required = |name: &str| -> Result<Vec<f64>, Refused> {
            columns.column(name)?;
            Ok(columns.optional_numbers(name)?.unwrap_or_default())
        };
        let optional = |name: &str| columns.optional_numbers(name);
        let (capacity, soc) = (required("capacity_kwh")?, required("soc_percent")?);
        let (charge, discharge) = (required("power_max_kw")?, required("discharge_max_kw")?);
        let (soc_min, limit) = (optional("soc_min_percent")?, optional("charge_limit_percent")?);
        let (target, wear) = (optional("target_percent")?, optional("wear_price_per_kwh")?);
        let (efficiency, back) = (optional("efficiency")?, optional("discharge_efficiency")?);
        for (row, &home) in homes.iter().enumerate() {
            let name = |column: &str| format!("battery {}: {column}", first + row);
            let number = |column: &Option<Vec<f64>>, default: f64| {
                let number = column.as_ref().map(|numbers| numbers[row]);
                number.filter(|number| !number.is_nan()).unwrap_or(default)
            };
            let percent =
                |column: &str, value: f64| Percent::from_percent(value).named(&name(column));
            let power = |column: &str, value: f64| Power::from_kw(value).named(&name(column));
            self.batteries.push(HomeBattery {
                home,
                capacity: Energy::from_kwh(capacity[row]).named(&name("capacity_kwh"))?,
                soc: percent("soc_percent", soc[row])?,
                soc_min: percent("soc_min_percent", number(&soc_min, 0.0))?,
                charge_limit: percent("charge_limit_percent", number(&limit, 100.0))?,
                target: percent("target_percent", number(&target, soc[row]))?,
                charge_max: power("power_max_kw", charge[row])?,
                discharge_max: power("discharge_max_kw", discharge[row])?,
                efficiency: number(&efficiency, 1.0),
                efficiency_discharge: number(&back, 1.0),
                wear_price: Price::from_per_kwh(number(&wear, 0.0))
                    .named(&name("wear_price_per_kwh"))?,
            });
        }
        Ok(())
    }
}

/// Forecast of load and solar power: a rule, `(days, time_zone)`, or a table.
#[derive(FromPyObject)]
pub(crate) enum PowerForecast {
    Rule(Option<u32>, String),
    Issued(TableInput),
}

/// Facts and forecasts of homes as Python gives them.
#[derive(FromPyObject)]
pub(crate) struct HomeInput {
    stays: Option<TableInput>,
    power: Option<TableInput>,
    power_forecast: Option<PowerForecast>,
    start: Option<Instant>,
    end: Option<Instant>,
}

impl HomeInput {
    /// Homes with their powers, and the stays of their vehicles.
    fn homes(
        self,
        py: Python<'_>,
        read: &mut ReadBatteries,
        prices: &Prices,
    ) -> Result<(Vec<Home>, Vec<Stay>), Refused> {
        let stays = match self.stays {
            Some(data) => read_stays(&batches(data)?, &mut read.homes, "simulate_homes")?,
            None => Vec::new(),
        };
        let powers = match self.power {
            Some(data) => {
                let tables = batches(data)?;
                warn_of_columns(py, &tables, &["load_kw", "solar_kw"])?;
                Some(Powers::new(&tables, "power", &mut read.homes, false)?)
            }
            None => None,
        };
        let persistence =
            NaiveForecast { rule: NaiveRule::Persistence, time_zone: time_zone("UTC")? };
        let (naive, issued) = match self.power_forecast {
            Some(PowerForecast::Rule(days, zone)) => {
                let rule = days.map_or(NaiveRule::Persistence, |days| NaiveRule::Seasonal { days });
                (NaiveForecast { rule, time_zone: time_zone(&zone)? }, None)
            }
            Some(PowerForecast::Issued(data)) => {
                let tables = batches(data)?;
                let issued = Powers::new(&tables, "power_forecast", &mut read.homes, true)?;
                (persistence, Some(issued))
            }
            None if powers.is_some() => {
                let text = "power_forecast is missing: what was known of load and solar power, \
                            such as SeasonalNaive(time_zone=..., days=1) or a table";
                return Err(Refused::Input(text.to_owned()));
            }
            None => (persistence, None),
        };
        let facts = HomePowers { powers, issued, naive };
        let rows = facts.rows_by_home(read.homes.len());
        let home = |(row, &battery): (usize, &HomeBattery)| -> Result<Home, Refused> {
            let (net, forecast) = facts.read_home(row, battery.home as usize, &rows)?;
            let horizon = net.as_ref().map_or(prices.curve.horizon(), NetLoad::horizon);
            let first = horizon.periods().next().map(|period| period.0);
            let from = self.start.as_ref().map(|at| at.0).or(first).unwrap_or_default();
            let to = self.end.as_ref().map(|at| at.0).or(horizon.end()).unwrap_or_default();
            Ok(Home { battery, net, forecast, span: (from, to) })
        };
        let homes = read.batteries.iter().enumerate().map(home).collect::<Result<_, _>>()?;
        Ok((homes, stays))
    }
}

/// Powers of homes, and what was known of them.
struct HomePowers {
    powers: Option<Powers>,
    issued: Option<Powers>,
    naive: NaiveForecast,
}

/// Rows of each home in the tables of powers and of their forecasts.
type HomeRows = (Vec<Vec<usize>>, Vec<Vec<usize>>);

impl HomePowers {
    fn rows_by_home(&self, count: usize) -> HomeRows {
        let rows = |powers: &Option<Powers>| {
            powers.as_ref().map(|powers| powers.rows_by_home(count)).unwrap_or_default()
        };
        (rows(&self.powers), rows(&self.issued))
    }

    /// Net load of the home of battery `row`, and what was known of it.
    fn read_home(
        &self,
        row: usize,
        home: usize,
        (own, told): &HomeRows,
    ) -> Result<(Option<NetLoad>, NetForecast), Refused> {
        let net = match &self.powers {
            Some(powers) => {
                let name = format!("battery {row}: power of its home");
                if own[home].is_empty() {
                    return Err(Refused::argument(&name, "there is no row"));
                }
                Some(powers.net_load(&own[home], &name)?)
            }
            None => None,
        };
        let Some(issued) = &self.issued else { return Ok((net, NetForecast::Naive(self.naive))) };
        let name = format!("battery {row}: power_forecast of its home");
        let issue = |rows: &[usize]| -> Result<IssuedNetLoad, Refused> {
            let known_at = DateTime::from_timestamp_micros(issued.known_at[rows[0]]);
            let expected = issued.net_load(rows, &name)?;
            Ok(IssuedNetLoad { known_at: known_at.unwrap_or_default(), expected })
        };
        let same = |&a: &usize, &b: &usize| issued.known_at[a] == issued.known_at[b];
        let forecasts = told[home].chunk_by(same).map(issue).collect::<Result<_, _>>()?;
        Ok((net, NetForecast::Issued(forecasts)))
    }
}

/// Copies of all that is known of one home at one instant. See `slackwater.HomeView`.
#[pyclass(frozen, subclass, module = "slackwater._engine")]
#[derive(Debug, Clone)]
pub(crate) struct HomeView {
    /// Position of the battery in the table.
    #[pyo3(get)]
    battery: usize,
    /// The present, in UTC.
    #[pyo3(get)]
    now: DateTime<Utc>,
    /// Next instant of decision.
    #[pyo3(get)]
    until: DateTime<Utc>,
    /// End of planning: that of the horizon or of the simulation.
    #[pyo3(get)]
    horizon_end: DateTime<Utc>,
    /// Energy in the battery.
    #[pyo3(get)]
    stored_kwh: f64,
    /// State of charge.
    #[pyo3(get)]
    soc_percent: f64,
    /// Highest charging power.
    #[pyo3(get)]
    power_max_kw: f64,
    /// Highest discharging power, as a positive number.
    #[pyo3(get)]
    discharge_max_kw: f64,
    /// Load less solar power that is expected from now on: ``(start, end, power_kw)``.
    #[pyo3(get)]
    net_load: Vec<(DateTime<Utc>, DateTime<Utc>, f64)>,
    stays: Vec<SeenStay>,
    prices: SeenPrices,
    export: Option<Arc<PriceCurve>>,
}

/// Row, arrival, departure, energy that is missing in kWh, highest power in kW.
type SeenStay = (usize, DateTime<Utc>, DateTime<Utc>, f64, f64);

impl HomeView {
    fn new(view: &engine::HomeView<'_>, currency: &Arc<str>) -> Self {
        let net_load = view.net_load().into_iter();
        let stays = view.stays().into_iter().map(|stay| {
            let (missing, power_max) = (stay.missing.as_kwh(), stay.power_max.as_kw());
            (stay.row, stay.arrival, stay.departure, missing, power_max)
        });
        Self {
            battery: view.row(),
            now: view.now(),
            until: view.until(),
            horizon_end: view.horizon_end(),
            stored_kwh: view.stored().as_kwh(),
            soc_percent: view.soc().as_percent(),
            power_max_kw: view.charge_max().as_kw(),
            discharge_max_kw: view.discharge_max().as_kw(),
            net_load: net_load.map(|(start, end, power)| (start, end, power.as_kw())).collect(),
            stays: stays.collect(),
            prices: SeenPrices::new(view, currency),
            export: view.export_prices().map(Arc::new),
        }
    }
}

#[pymethods]
impl HomeView {
    /// Makes the class of Python, which takes forecasts beside the view.
    #[new]
    #[pyo3(signature = (native, *_rest: "object"))]
    fn from_native(native: &Self, _rest: &Bound<'_, PyTuple>) -> Self {
        native.clone()
    }

    #[getter(_known)]
    fn prices(&self) -> Prices {
        self.prices.known_prices()
    }

    #[getter(_stays)]
    fn stays(&self) -> Vec<SeenStay> {
        self.stays.clone()
    }

    #[getter(_known_export)]
    fn export_prices(&self) -> Option<Prices> {
        self.export.as_ref().map(|export| self.prices.wrap_curve(export))
    }

    #[getter(_past)]
    fn history(&self) -> Prices {
        self.prices.past_prices()
    }

    #[pyo3(signature = (at))]
    fn price_at(&self, at: Instant) -> Result<f64, Refused> {
        self.prices.find_price(at)
    }
}

/// Row of a stay, and periods with their power in kW.
type VehiclePeriods<'py> = Vec<(usize, Bound<'py, PyAny>)>;

/// A policy that is a function of Python: from a view to periods with their power in kW, of the battery
/// and of vehicles by the rows of their stays.
struct PythonHomePolicy {
    decide: Py<PyAny>,
    currency: Arc<str>,
}

impl HomePolicy for PythonHomePolicy {
    type Error = PyErr;

    fn is_sequential(&self) -> bool {
        true
    }

    fn decide(
        &self,
        view: &engine::HomeView<'_>,
        _: &mut HomeMemory,
        commands: &mut HomeCommands,
    ) -> Result<(), PyErr> {
        Python::attach(|py| {
            let seen = HomeView::new(view, &self.currency);
            let answer = self.decide.call1(py, (seen,))?.into_bound(py);
            let (battery, vehicles): (Bound<'_, PyAny>, VehiclePeriods<'_>) = answer.extract()?;
            read_commands(&battery, &mut commands.battery)?;
            for (row, periods) in vehicles {
                let position = view.stay_position(row).ok_or_else(|| {
                    let text = "no vehicle that the home has now and that needs energy";
                    Refused::Input(format!("vehicles of the policy name stay {row}, {text}"))
                })?;
                read_commands(&periods, &mut commands.stays[position])?;
            }
            Ok(())
        })
    }
}

/// Prices to buy and to sell, with their forecasts, as Python gives them.
#[derive(FromPyObject)]
pub(crate) struct TariffInput<'py> {
    prices: PyRef<'py, Prices>,
    forecasts: Vec<PyRef<'py, Forecast>>,
    export_prices: Option<PyRef<'py, Prices>>,
    export_forecasts: Vec<PyRef<'py, Forecast>>,
}

/// See `slackwater.simulate_homes`.
#[pyfunction]
#[pyo3(signature = (policy, batteries, tariff, facts, *, settings, progress))]
pub(crate) fn simulate_homes(
    py: Python<'_>,
    policy: Option<Py<PyAny>>,
    batteries: TableInput,
    tariff: TariffInput<'_>,
    facts: HomeInput,
    settings: Settings,
    progress: Option<Py<PyAny>>,
) -> Result<SimulationResult, Refused> {
    let options = settings.options()?;
    let mut read = ReadBatteries::new(batteries)?;
    let (homes, stays) = facts.homes(py, &mut read, &tariff.prices)?;
    let import = (*tariff.prices.curve).clone();
    let export = tariff.export_prices.as_ref().map(|prices| (*prices.curve).clone());
    let facts = HomeFacts::new(import, export, homes, settings.shortfall_price()?)?;
    let facts = facts.with_stays(stays)?;
    let emissions = tariff.prices.emissions.as_ref();
    let facts = match emissions {
        Some(emissions) => facts.with_intensity((**emissions.intensity()).clone()),
        None => facts,
    };
    let book = |forecasts: &[PyRef<'_, Forecast>]| {
        ForecastBook::new(forecasts.iter().map(|forecast| forecast.engine().clone()).collect())
    };
    let (buying, selling) = (book(&tariff.forecasts), book(&tariff.export_forecasts));
    let currency = tariff.prices.currency.clone();
    let outcomes = run_simulation(py, progress, move |report| {
        let books = TariffBooks { import: &buying, export: &selling };
        match policy {
            None => engine::simulate_homes(&facts, books, &HomeReplanner, &options, report)
                .map_err(|stopped| match stopped {
                    Stopped::ByCaller => None,
                    Stopped::Policy(error) | Stopped::Hindsight(error) => {
                        Some(Refused::from(error).into())
                    }
                }),
            Some(decide) => {
                let policy = PythonHomePolicy { decide, currency };
                engine::simulate_homes(&facts, books, &policy, &options, report).map_err(failure_of)
            }
        }
    })?;
    let amounts: Vec<Amounts> = outcomes.iter().map(amounts_of).collect();
    let is_counted = emissions.is_some();
    let steps = settings.keeps_steps.then(|| step_table(&read, &outcomes, is_counted));
    Ok(SimulationResult::new(
        home_table(&read, &outcomes, &amounts, is_counted)?,
        steps.transpose()?,
        &amounts.into_iter().sum(),
        emissions,
    ))
}

/// Amounts of one home.
fn amounts_of(outcome: &HomeOutcome) -> Amounts {
    Amounts {
        cost: outcome.cost,
        shortfall_cost: outcome.shortfall_cost,
        hindsight_cost: outcome.hindsight_cost,
        baseline_cost: outcome.baseline_cost,
        carbon_kg: outcome.carbon_kg.unwrap_or_default(),
        parts: outcome.regret.map(|regret| regret.amounts()),
    }
}

fn home_table(
    read: &ReadBatteries,
    outcomes: &[HomeOutcome],
    amounts: &[Amounts],
    is_counted: bool,
) -> Result<Table, Refused> {
    let homes: UInt32Array = read.batteries.iter().map(|battery| battery.home).collect();
    let numbers = |of: fn(&HomeOutcome) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(outcomes.iter().map(of)))
    };
    let decisions = UInt32Array::from_iter_values(outcomes.iter().map(|o| o.decisions));
    let mut columns = read.homes.columns(&homes);
    columns.extend([
        ("import_kwh".to_owned(), numbers(|outcome| outcome.import_kwh), false),
        ("export_kwh".to_owned(), numbers(|outcome| outcome.export_kwh), false),
        ("charged_kwh".to_owned(), numbers(|outcome| outcome.charged_kwh), false),
        ("discharged_kwh".to_owned(), numbers(|outcome| outcome.discharged_kwh), false),
        ("shortfall_kwh".to_owned(), numbers(|outcome| outcome.shortfall_kwh), false),
        ("vehicle_kwh".to_owned(), numbers(|outcome| outcome.vehicle_kwh), false),
        (
            "vehicle_shortfall_kwh".to_owned(),
            numbers(|outcome| outcome.vehicle_shortfall_kwh),
            false,
        ),
        ("decisions".to_owned(), Arc::new(decisions) as ArrayRef, false),
    ]);
    columns.extend(Amounts::columns(amounts, is_counted)?);
    Table::of_columns(columns)
}

fn step_table(
    read: &ReadBatteries,
    outcomes: &[HomeOutcome],
    is_counted: bool,
) -> Result<Table, Refused> {
    let all = || {
        let rows = outcomes.iter().zip(&read.batteries);
        rows.flat_map(|(outcome, battery)| outcome.steps.iter().map(move |step| (battery, step)))
    };
    let homes: UInt32Array = all().map(|(battery, _)| battery.home).collect();
    let times = |of: fn(&HomeStep) -> i64| -> ArrayRef {
        let micros = all().map(|(_, step)| of(step));
        Arc::new(utc(TimestampMicrosecondArray::from_iter_values(micros)))
    };
    let numbers = |of: fn(&HomeStep) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(all().map(|(_, step)| of(step))))
    };
    let mut columns = read.homes.columns(&homes);
    columns.extend([
        ("start".to_owned(), times(|step| step.start), false),
        ("end".to_owned(), times(|step| step.end), false),
        ("battery_kwh".to_owned(), numbers(|step| step.battery_kwh), false),
        ("vehicle_kwh".to_owned(), numbers(|step| step.vehicle_kwh), false),
        ("import_kwh".to_owned(), numbers(|step| step.import_kwh), false),
        ("export_kwh".to_owned(), numbers(|step| step.export_kwh), false),
        ("stored_kwh".to_owned(), numbers(|step| step.stored_kwh), false),
        ("cost".to_owned(), money(all().map(|(_, step)| Some(step.cost)))?, false),
    ]);
    if is_counted {
        columns.push(("carbon_kg".to_owned(), numbers(|step| step.carbon_kg), false));
    }
    Table::of_columns(columns)
}
