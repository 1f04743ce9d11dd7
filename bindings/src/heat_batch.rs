//! Heat plans of many rooms and tanks, Arrow to Arrow.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, SchemaRef};
use pyo3::prelude::*;
use slackwater_engine::batch as engine;
use slackwater_engine::columns::{HeatNumbers, PlanTable as PlanRows, RoomError, Rooms};
use slackwater_engine::plan::heat::{HeatProblem, HeatRequest};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;

use crate::answer::{self, numbers};
use crate::arrow::{Columns, Table, TableInput, refused, schema};
use crate::batch::{Numbers, Times, find_price_rows};
use crate::doubts::warn_of_columns;
use crate::error::Refused;
use crate::heat::{NumberTuple, SetBackTuple, shared_request};
use crate::interrupt;
use crate::plan_table::PlanTable;
use crate::prices::Prices;
use crate::provenance::Estimates;
use crate::row_fields::{RowFields, find_rows, read_row, take_only};
use crate::series::Series;

/// Columns that are arguments here, or that other functions honour; ignoring them would plan
/// something else.
const NOT_HERE: [&str; 15] = [
    "arrival",
    "capacity_kwh",
    "comfort_celsius",
    "departure",
    "gains_kw",
    "mode",
    "off_min",
    "on_min",
    "on_off",
    "outdoor_celsius",
    "power_limits",
    "running_since",
    "set_backs",
    "stopped_since",
    "time_zone",
];

/// Columns that are read.
const KNOWN: [&str; 13] = [
    "id",
    "now",
    "until",
    "capacity_kwh_per_k",
    "loss_kw_per_k",
    "temperature_celsius",
    "min_celsius",
    "max_celsius",
    "power_max_kw",
    "cop",
    "gain_kw",
    "end_value_per_kwh",
    "price_id",
];

/// Columns whose numbers may look like another unit.
const DOUBTED: [&str; 4] = ["power_max_kw", "gain_kw", "loss_kw_per_k", "capacity_kwh_per_k"];

/// The columns of one batch of rooms and tanks.
struct Rows {
    id: ArrayRef,
    now: Times,
    until: Times,
    required: [Numbers; 6],
    optional: [Option<Vec<f64>>; 3],
    grid: Option<Vec<u32>>,
}

impl Rows {
    fn new(batch: &RecordBatch, names: Option<&[String]>) -> Result<Self, Refused> {
        let columns = Columns::new(batch);
        columns.refuse_foreign(&NOT_HERE, "plan_heat_batch")?;
        columns.refuse_lookalikes(&KNOWN)?;
        let required = |name: &str| columns.numbers(name).map(Numbers::new);
        Ok(Self {
            id: columns.column("id")?.clone(),
            now: Times::new(columns.times("now")?),
            until: Times::new(columns.times("until")?),
            required: [
                required("capacity_kwh_per_k")?,
                required("loss_kw_per_k")?,
                required("temperature_celsius")?,
                required("min_celsius")?,
                required("max_celsius")?,
                required("power_max_kw")?,
            ],
            optional: [
                columns.optional_numbers("cop")?,
                columns.optional_numbers("gain_kw")?,
                columns.optional_numbers("end_value_per_kwh")?,
            ],
            grid: names.map(|names| find_price_rows(&columns, names)).transpose()?,
        })
    }

    fn rooms(&self) -> Rooms<'_> {
        let [capacity, loss, temperature, min, max, power] =
            self.required.each_ref().map(Numbers::values);
        let [cop, gain, end_value] = self.optional.each_ref().map(|column| column.as_deref());
        Rooms {
            now: self.now.values(),
            until: self.until.values(),
            capacity_kwh_per_k: capacity,
            loss_kw_per_k: loss,
            temperature_celsius: temperature,
            min_celsius: min,
            max_celsius: max,
            power_max_kw: power,
            cop,
            gain_kw: gain,
            end_value_per_kwh: end_value,
            grid: self.grid.as_deref(),
        }
    }

    /// Values of a row; optional columns are left out where they are null.
    fn row(&self, row: usize) -> Result<RowFields, Refused> {
        let times = [("now", &self.now), ("until", &self.until)];
        let required = KNOWN[3..9].iter().copied().zip(&self.required);
        read_row((row, "room"), times, required, KNOWN[9..].iter().copied().zip(&self.optional))
    }
}

/// Arguments of the row of a room, for a plan of it alone; see `slackwater.plan_heat_row`.
#[pyfunction]
pub(crate) fn heat_row(
    py: Python<'_>,
    rooms: TableInput,
    room: &str,
) -> Result<RowFields, Refused> {
    let rooms = crate::arrow::batches(rooms)?;
    warn_of_columns(py, &rooms, &DOUBTED)?;
    let mut found = Vec::new();
    for batch in &rooms {
        let columns = Rows::new(batch, None)?;
        for row in find_rows(&columns.id, room)? {
            found.push(columns.row(row)?);
        }
    }
    take_only(found, ("room", room))
}

fn answer_schema(id: &DataType, currency: &str, has_emissions: bool) -> SchemaRef {
    let number = |name: &str| Field::new(name, DataType::Float64, true);
    let [intervals, status, error] = answer::fields();
    let mut fields = vec![
        Field::new("id", id.clone(), true),
        number("cost"),
        number("used_kwh"),
        number("heat_kwh"),
        number("below_celsius_hours"),
        number("above_celsius_hours"),
        number("temperature_celsius"),
        number("baseline_cost"),
        number("savings"),
        number("gap"),
        number("unpriced_hours"),
        intervals,
        status,
        error,
    ];
    if has_emissions {
        fields.extend([number("carbon_kg"), number("baseline_carbon_kg")]);
    }
    fields.push(number("energy_on_estimates_kwh"));
    schema(fields, currency)
}

fn record_batch(
    schema: &SchemaRef,
    id: ArrayRef,
    plans: PlanRows<HeatNumbers, RoomError>,
    on_estimates: Vec<f64>,
    has_emissions: bool,
) -> Result<RecordBatch, Refused> {
    let errors = answer::errors(plans.len(), &plans.errors);
    let found = plans.numbers;
    // Outside of the band in either direction.
    let outside = found.below_celsius_hours.iter().zip(&found.above_celsius_hours);
    let outside: Vec<f64> = outside.map(|(below, above)| below + above).collect();
    let mut columns = vec![
        id,
        numbers(found.cost),
        numbers(found.used_kwh),
        numbers(found.heat_kwh),
        numbers(found.below_celsius_hours),
        numbers(found.above_celsius_hours),
        numbers(found.temperature_celsius),
        numbers(found.baseline_cost),
        numbers(found.savings),
        numbers(found.gap),
        numbers(found.unpriced_hours),
        answer::intervals(plans.intervals),
        answer::status(&outside),
        errors,
    ];
    if has_emissions {
        columns.extend([numbers(found.carbon_kg), numbers(found.baseline_carbon_kg)]);
    }
    columns.push(numbers(on_estimates));
    RecordBatch::try_new(schema.clone(), columns).map_err(refused)
}

/// See `slackwater.plan_heat_batch`. Without names all rows pay the first prices.
#[pyfunction]
#[pyo3(signature = (
    rooms, prices, names, *, mode, cop, outdoor, gains, set_backs, time_zone, end_value_per_kwh,
    intensity = None
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn plan_heat_batch(
    py: Python<'_>,
    rooms: TableInput,
    prices: Vec<PyRef<'_, Prices>>,
    names: Option<Vec<String>>,
    mode: &str,
    cop: Vec<(f64, f64)>,
    outdoor: Vec<NumberTuple>,
    gains: Vec<NumberTuple>,
    set_backs: Vec<SetBackTuple>,
    time_zone: &str,
    end_value_per_kwh: f64,
    intensity: Option<&Series>,
) -> Result<Py<PlanTable>, Refused> {
    let rooms = crate::arrow::batches(rooms)?;
    warn_of_columns(py, &rooms, &DOUBTED)?;
    let Some(first) = prices.first() else {
        return Err(Refused::Input("prices holds no price curve".into()));
    };
    let currency = first.currency().to_owned();
    for other in &prices {
        first.require_same_currency(other)?;
    }
    let estimated: Vec<Horizon> = prices.iter().map(|prices| prices.estimated()).collect();
    let curves: Vec<PriceCurve> =
        prices.iter().map(|prices| PriceCurve::clone(&prices.curve)).collect();
    let shared: HeatRequest = shared_request(
        (mode, &cop),
        (&outdoor, &gains),
        (&set_backs, time_zone),
        end_value_per_kwh,
    )?;
    // What is shared is refused at once, and not in each row.
    HeatProblem::new(shared.clone())?;
    let intensity = intensity.map(|series| series.curve.clone());
    let table = interrupt::run(py, None, move |_| {
        let mut answered = Vec::new();
        let mut schema = answer_schema(&DataType::Utf8, &currency, intensity.is_some());
        for batch in rooms {
            let rows = Rows::new(&batch, names.as_deref())?;
            schema = answer_schema(rows.id.data_type(), &currency, intensity.is_some());
            let runs =
                engine::plan_heat_batch(&rows.rooms(), &shared, &curves, intensity.as_deref());
            let guesses = Estimates::new(estimated.clone(), Vec::new(), rows.grid.as_deref());
            let mut first = 0;
            for plans in runs {
                let id = rows.id.slice(first, plans.len());
                let [bought, _] = guesses.energies(first, &plans.intervals, &plans.numbers.cost);
                first += plans.len();
                answered.push(record_batch(&schema, id, plans, bought, intensity.is_some())?);
            }
        }
        Ok::<_, Refused>(Table::new(schema, answered))
    })??;
    Ok(PlanTable::wrap(py, table)?)
}
