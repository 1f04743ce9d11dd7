//! Storage plans of many batteries, Arrow to Arrow.
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, SchemaRef};
use pyo3::prelude::*;
use slackwater_engine::batch as engine;
use slackwater_engine::columns::{Batteries, PlanTable as PlanRows, StorageNumbers};
use slackwater_engine::plan::storage::PriceSlots;
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;

use crate::answer::{self, numbers};
use crate::arrow::{Columns, Table, TableInput, refused, schema};
use crate::batch::{NUMBERS, Numbers, Times, VEHICLE_COLUMNS, find_price_rows, intensity_by_slot};
use crate::doubts::{warn_of_columns, warn_of_price_columns};
use crate::error::Refused;
use crate::interrupt;
use crate::plan_table::PlanTable;
use crate::prices::Prices;
use crate::provenance::Estimates;
use crate::row_fields::{RowFields, find_rows, read_row, take_only};
use crate::series::Series;

/// Arguments of `plan_storage` with several values, which no column holds.
const LISTS: [&str; 2] = ["consumption", "limits"];

/// Columns of prices.
pub(crate) const PRICES: [&str; 2] = ["end_value_per_kwh", "wear_price_per_kwh"];

/// Columns that are read.
const KNOWN: [&str; 15] = [
    "id",
    "arrival",
    "departure",
    "capacity_kwh",
    "soc_percent",
    "power_max_kw",
    "discharge_max_kw",
    "target_percent",
    "reserve_percent",
    "charge_limit_percent",
    "efficiency",
    "discharge_efficiency",
    "end_value_per_kwh",
    "wear_price_per_kwh",
    "price_id",
];

/// The columns of one batch of batteries.
struct Rows {
    id: ArrayRef,
    arrival: Times,
    departure: Times,
    capacity: Numbers,
    soc: Numbers,
    charge_max: Numbers,
    discharge_max: Numbers,
    optional: [Option<Vec<f64>>; 7],
    grid: Option<Vec<u32>>,
}

impl Rows {
    fn new(batch: &RecordBatch, names: Option<&[String]>) -> Result<Self, Refused> {
        let columns = Columns::new(batch);
        let foreign = VEHICLE_COLUMNS.iter().chain(&LISTS).filter(|name| !KNOWN.contains(name));
        columns.refuse_foreign(foreign, "plan_storage_batch")?;
        columns.refuse_lookalikes(&KNOWN)?;
        let required = |name: &str| columns.numbers(name).map(Numbers::new);
        Ok(Self {
            id: columns.column("id")?.clone(),
            arrival: Times::new(columns.times("arrival")?),
            departure: Times::new(columns.times("departure")?),
            capacity: required("capacity_kwh")?,
            soc: required("soc_percent")?,
            charge_max: required("power_max_kw")?,
            discharge_max: required("discharge_max_kw")?,
            optional: [
                columns.optional_numbers("target_percent")?,
                columns.optional_numbers("reserve_percent")?,
                columns.optional_numbers("charge_limit_percent")?,
                columns.optional_numbers("efficiency")?,
                columns.optional_numbers("discharge_efficiency")?,
                columns.optional_numbers("end_value_per_kwh")?,
                columns.optional_numbers("wear_price_per_kwh")?,
            ],
            grid: names.map(|names| find_price_rows(&columns, names)).transpose()?,
        })
    }

    /// Values of a row; optional columns are left out where they are null.
    fn row(&self, row: usize) -> Result<RowFields, Refused> {
        let times = [("arrival", &self.arrival), ("departure", &self.departure)];
        let numbers = [&self.capacity, &self.soc, &self.charge_max, &self.discharge_max];
        let required = KNOWN[3..7].iter().copied().zip(numbers);
        read_row((row, "vehicle"), times, required, KNOWN[7..].iter().copied().zip(&self.optional))
    }

    fn batteries(&self) -> Batteries<'_> {
        let [target, reserve, limit, efficiency, discharge_efficiency, end_value, wear] =
            self.optional.each_ref().map(|column| column.as_deref());
        Batteries {
            arrival: self.arrival.values(),
            departure: self.departure.values(),
            capacity_kwh: self.capacity.values(),
            soc_percent: self.soc.values(),
            target_percent: target,
            reserve_percent: reserve,
            charge_limit_percent: limit,
            charge_max_kw: self.charge_max.values(),
            discharge_max_kw: self.discharge_max.values(),
            efficiency,
            efficiency_discharge: discharge_efficiency,
            end_value_per_kwh: end_value,
            wear_price_per_kwh: wear,
            grid: self.grid.as_deref(),
        }
    }
}

/// Arguments of the row of a battery, for a plan of it alone; see `slackwater.plan_storage_row`.
#[pyfunction]
pub(crate) fn storage_row(
    py: Python<'_>,
    vehicles: TableInput,
    vehicle: &str,
) -> Result<RowFields, Refused> {
    let vehicles = crate::arrow::batches(vehicles)?;
    warn_of_columns(py, &vehicles, &NUMBERS)?;
    let mut found = Vec::new();
    for batch in &vehicles {
        let columns = Rows::new(batch, None)?;
        for row in find_rows(&columns.id, vehicle)? {
            found.push(columns.row(row)?);
        }
    }
    take_only(found, ("vehicle", vehicle))
}

fn answer_schema(id: &DataType, currency: &str, has_emissions: bool) -> SchemaRef {
    let number = |name: &str| Field::new(name, DataType::Float64, true);
    let [intervals, status, error] = answer::fields();
    let mut fields = vec![
        Field::new("id", id.clone(), true),
        number("cost"),
        number("charged_kwh"),
        number("discharged_kwh"),
        number("shortfall_kwh"),
        number("soc_percent"),
        number("baseline_cost"),
        number("savings"),
        number("gap"),
        intervals,
        status,
        error,
    ];
    if has_emissions {
        fields.extend([number("carbon_kg"), number("baseline_carbon_kg")]);
    }
    fields.extend(
        ["unpriced_hours", "energy_on_estimates_kwh", "sold_on_estimates_kwh", "stock_used_kwh"]
            .map(number),
    );
    schema(fields, currency)
}

/// Carbon intensity, and the same on the slots of each pair of prices.
struct Intensity {
    curve: Arc<PriceCurve>,
    by_slot: Vec<PriceSlots>,
}

impl Intensity {
    fn new(
        curve: &Arc<PriceCurve>,
        imports: &[Arc<PriceCurve>],
        exports: &[Option<Arc<PriceCurve>>],
    ) -> Result<Self, Refused> {
        let pairs = imports.iter().zip(exports);
        let slots = pairs.map(|(import, export)| {
            Ok(PriceSlots::new(&intensity_by_slot(import, curve)?, export.as_deref()))
        });
        Ok(Self { curve: curve.clone(), by_slot: slots.collect::<Result<_, Refused>>()? })
    }

    /// Emissions in kg of the rows of each run, and of their baselines.
    fn emissions(
        &self,
        batteries: &Batteries<'_>,
        runs: &[PlanRows<StorageNumbers>],
    ) -> Vec<(Vec<f64>, Vec<f64>)> {
        let soc: Vec<f64> = runs.iter().flat_map(|run| run.numbers.soc_percent.clone()).collect();
        let baselines = engine::storage_baseline_emissions(batteries, &self.by_slot, &soc);
        let mut baselines = baselines.into_iter();
        let both = |run: &PlanRows<StorageNumbers>| {
            let mut planned = run.intervals.emissions(&self.curve);
            for (row, _) in &run.errors {
                planned[*row] = f64::NAN;
            }
            (planned, baselines.by_ref().take(run.len()).collect())
        };
        runs.iter().map(both).collect()
    }
}

fn record_batch(
    schema: &SchemaRef,
    id: ArrayRef,
    plans: PlanRows<StorageNumbers>,
    [bought, sold]: [Vec<f64>; 2],
    emissions: Option<(Vec<f64>, Vec<f64>)>,
) -> Result<RecordBatch, Refused> {
    let status = answer::status(&plans.numbers.shortfall_kwh);
    let errors = answer::errors(plans.len(), &plans.errors);
    let intervals = answer::intervals(plans.intervals);
    let mut columns = vec![
        id,
        numbers(plans.numbers.cost),
        numbers(plans.numbers.charged_kwh),
        numbers(plans.numbers.discharged_kwh),
        numbers(plans.numbers.shortfall_kwh),
        numbers(plans.numbers.soc_percent),
        numbers(plans.numbers.baseline_cost),
        numbers(plans.numbers.savings),
        numbers(plans.numbers.gap),
        intervals,
        status,
        errors,
    ];
    if let Some((planned, baseline)) = emissions {
        columns.extend([numbers(planned), numbers(baseline)]);
    }
    let (unpriced, stock) = (plans.numbers.unpriced_hours, plans.numbers.stock_used_kwh);
    columns.extend([unpriced, bought, sold, stock].map(numbers));
    RecordBatch::try_new(schema.clone(), columns).map_err(refused)
}

/// See `slackwater.plan_storage_batch`. Without names all rows pay the first prices.
#[pyfunction]
#[pyo3(signature = (vehicles, prices, export_prices, names, *, intensity = None))]
pub(crate) fn plan_storage_batch(
    py: Python<'_>,
    vehicles: TableInput,
    prices: Vec<PyRef<'_, Prices>>,
    export_prices: Vec<Option<PyRef<'_, Prices>>>,
    names: Option<Vec<String>>,
    intensity: Option<&Series>,
) -> Result<Py<PlanTable>, Refused> {
    let vehicles = crate::arrow::batches(vehicles)?;
    warn_of_columns(py, &vehicles, &NUMBERS)?;
    let Some(first) = prices.first() else {
        return Err(Refused::Input("prices holds no price curve".into()));
    };
    let currency = first.currency().to_owned();
    warn_of_price_columns(py, &vehicles, &currency, &PRICES)?;
    for other in prices.iter().chain(export_prices.iter().flatten()) {
        first.require_same_currency(other)?;
    }
    let bought: Vec<Horizon> = prices.iter().map(|prices| prices.estimated()).collect();
    let exports = export_prices.iter();
    let sold: Vec<Horizon> = exports
        .map(|export| export.as_ref().map(|export| export.estimated()).unwrap_or_default())
        .collect();
    let curves: Vec<_> = prices.iter().map(|prices| prices.curve.clone()).collect();
    let exports: Vec<_> =
        export_prices.iter().map(|export| export.as_ref().map(|e| e.curve.clone())).collect();
    let intensity = intensity.map(|series| Intensity::new(&series.curve, &curves, &exports));
    let intensity = intensity.transpose()?;
    let table = interrupt::run(py, None, move |_| {
        let pairs = curves.iter().zip(&exports);
        let grids: Vec<PriceSlots> =
            pairs.map(|(import, export)| PriceSlots::new(import, export.as_deref())).collect();
        let mut answered = Vec::new();
        let mut schema = answer_schema(&DataType::Utf8, &currency, intensity.is_some());
        for batch in vehicles {
            let rows = Rows::new(&batch, names.as_deref())?;
            schema = answer_schema(rows.id.data_type(), &currency, intensity.is_some());
            let batteries = rows.batteries();
            let runs = engine::plan_storage_batch(&batteries, &grids);
            let emissions = intensity.as_ref().map(|one| one.emissions(&batteries, &runs));
            let mut emissions = emissions.into_iter().flatten();
            let estimates = Estimates::new(bought.clone(), sold.clone(), rows.grid.as_deref());
            let mut first = 0;
            for plans in runs {
                let id = rows.id.slice(first, plans.len());
                let guessed = estimates.energies(first, &plans.intervals, &plans.numbers.cost);
                first += plans.len();
                answered.push(record_batch(&schema, id, plans, guessed, emissions.next())?);
            }
        }
        Ok::<_, Refused>(Table::new(schema, answered))
    })??;
    Ok(PlanTable::wrap(py, table)?)
}
