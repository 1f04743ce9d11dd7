//! Plans of a whole fleet, Arrow to Arrow.
use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, TimestampMicrosecondArray};
use arrow_schema::{DataType, Field, SchemaRef};
use pyo3::prelude::*;
use slackwater_engine::batch::{self as engine, RoomColumn};
use slackwater_engine::columns::{
    ChargeNumbers, Curves, Fleet, NO_TIME, Needs, PlanTable as PlanRows, TargetLists,
};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;

use crate::answer::{self, numbers};
use crate::arrow::{
    Columns, Table, TableInput, cast_times, content, or_nan, refused, schema, to_lists, to_numbers,
};
use crate::charged::Charged;
use crate::doubts::warn_of_columns;
use crate::error::{Named, Refused};
use crate::interrupt;
use crate::plan::{Plan, planned};
use crate::plan_table::PlanTable;
use crate::prices::{PriceCurves, Prices};
use crate::provenance::Estimates;
use crate::row_fields::{find_rows, take_only};
use crate::series::Series;

/// Columns of vehicles and batteries that some function reads. Those that a function does not read
/// are refused there: ignoring them would plan something else.
pub(crate) const VEHICLE_COLUMNS: [&str; 26] = [
    "after_deadline",
    "capacity_kwh",
    "charge_from_grid",
    "charge_limit_percent",
    "discharge_efficiency",
    "discharge_max_kw",
    "discharge_to_grid",
    "efficiency",
    "end_value_per_kwh",
    "energy_kwh",
    "energy_max_kwh",
    "fill_when_negative",
    "node",
    "power_limits",
    "power_min_kw",
    "power_step_kw",
    "priority",
    "reserve_kwh",
    "reserve_percent",
    "soc_fallback_percent",
    "soc_percent",
    "start_cost",
    "target_percent",
    "targets",
    "until",
    "wear_price_per_kwh",
];

/// Columns that are read.
const KNOWN: [&str; 13] = [
    "id",
    "arrival",
    "departure",
    "power_max_kw",
    "energy_kwh",
    "soc_percent",
    "target_percent",
    "capacity_kwh",
    "efficiency",
    "reserve_kwh",
    "reserve_percent",
    "targets",
    "price_id",
];

/// Columns of one vehicle whose numbers have a unit.
pub(crate) const NUMBERS: [&str; 9] = [
    "power_max_kw",
    "discharge_max_kw",
    "energy_kwh",
    "capacity_kwh",
    "soc_percent",
    "target_percent",
    "reserve_percent",
    "charge_limit_percent",
    "reserve_kwh",
];

/// Columns that say where a battery ends, which a batch honours on top of those.
const ROOM: [&str; 3] = ["charge_limit_percent", "energy_max_kwh", "fill_when_negative"];

/// Columns that mean something only where the need is given in percent.
const IN_PERCENT: [&str; 5] = [
    "charge_limit_percent",
    "efficiency",
    "fill_when_negative",
    "reserve_percent",
    "target_percent",
];

/// A column of numbers, borrowed from Arrow where it has no null.
pub(crate) enum Numbers {
    Borrowed(Float64Array),
    Filled(Vec<f64>),
}

impl Numbers {
    pub(crate) fn new(column: Float64Array) -> Self {
        if column.null_count() == 0 {
            Self::Borrowed(column)
        } else {
            Self::Filled(or_nan(&column))
        }
    }

    pub(crate) fn values(&self) -> &[f64] {
        match self {
            Self::Borrowed(column) => column.values(),
            Self::Filled(values) => values,
        }
    }
}

/// A column of times, borrowed from Arrow where it has no null.
pub(crate) enum Times {
    Borrowed(TimestampMicrosecondArray),
    Filled(Vec<i64>),
}

impl Times {
    pub(crate) fn new(column: TimestampMicrosecondArray) -> Self {
        if column.null_count() == 0 {
            Self::Borrowed(column)
        } else {
            Self::Filled(column.iter().map(|time| time.unwrap_or(NO_TIME)).collect())
        }
    }

    pub(crate) fn values(&self) -> &[i64] {
        match self {
            Self::Borrowed(column) => column.values(),
            Self::Filled(values) => values,
        }
    }
}

/// Needs in kWh or in percent.
enum NeedColumns {
    Energy(Numbers),
    Soc { soc: Numbers, target: Numbers, capacity: Numbers },
}

/// The columns of one batch of vehicles.
pub(crate) struct Vehicles {
    pub(crate) id: ArrayRef,
    arrival: Times,
    departure: Times,
    needs: NeedColumns,
    power_max: Numbers,
    reserve_kwh: Option<Vec<f64>>,
    reserve_percent: Option<Vec<f64>>,
    efficiency: Option<Vec<f64>>,
    targets: Option<(Vec<i32>, Times, Numbers)>,
    curve: Option<Vec<u32>>,
    room: Option<Room>,
}

/// Most energy of each vehicle, in kWh or as a charge limit.
enum Room {
    Energy(Vec<f64>),
    Limit { percent: Vec<f64>, fills: Vec<bool> },
}

impl Room {
    /// The room of vehicles whose need is in percent: up to 100 % where nothing else is said.
    fn new(columns: &Columns<'_>) -> Result<Option<Self>, Refused> {
        if columns.find("energy_kwh").is_some() {
            return Ok(columns.optional_numbers("energy_max_kwh")?.map(Self::Energy));
        }
        if columns.find("energy_max_kwh").is_some() {
            let text = "column \"energy_max_kwh\" goes with \"energy_kwh\", not \"soc_percent\"";
            return Err(Refused::Input(text.into()));
        }
        let rows = columns.len();
        let percent = columns.optional_numbers("charge_limit_percent")?;
        let mut percent = percent.unwrap_or_else(|| vec![100.0; rows]);
        percent.iter_mut().filter(|limit| limit.is_nan()).for_each(|limit| *limit = 100.0);
        let fills = columns.optional_flags("fill_when_negative")?;
        Ok(Some(Self::Limit { percent, fills: fills.unwrap_or_else(|| vec![true; rows]) }))
    }
}

impl Vehicles {
    pub(crate) fn new(
        batch: &RecordBatch,
        curves: Option<&PriceCurves>,
        (function, honoured): (&str, &[&str]),
    ) -> Result<Self, Refused> {
        let columns = Columns::new(batch);
        let known = [&KNOWN[..], honoured].concat();
        columns.refuse_foreign(
            VEHICLE_COLUMNS.iter().filter(|name| !known.contains(name)),
            function,
        )?;
        columns.refuse_lookalikes(&known)?;
        let needs = if columns.find("energy_kwh").is_some() {
            if let Some(name) = IN_PERCENT.iter().find(|name| columns.find(name).is_some()) {
                let text = format!("column {name:?} goes with \"soc_percent\", not \"energy_kwh\"");
                return Err(Refused::Input(text));
            }
            NeedColumns::Energy(Numbers::new(columns.numbers("energy_kwh")?))
        } else if columns.find("soc_percent").is_some() {
            NeedColumns::Soc {
                soc: Numbers::new(columns.numbers("soc_percent")?),
                target: Numbers::new(columns.numbers("target_percent")?),
                capacity: Numbers::new(columns.numbers("capacity_kwh")?),
            }
        } else {
            // Says what is missing and what was found.
            columns.column("energy_kwh")?;
            return Err(Refused::Input("energy_kwh is missing".into()));
        };
        Ok(Self {
            id: columns.column("id")?.clone(),
            arrival: Times::new(columns.times("arrival")?),
            departure: Times::new(columns.times("departure")?),
            needs,
            power_max: Numbers::new(columns.numbers("power_max_kw")?),
            reserve_kwh: columns.optional_numbers("reserve_kwh")?,
            reserve_percent: columns.optional_numbers("reserve_percent")?,
            efficiency: columns.optional_numbers("efficiency")?,
            targets: columns.find("targets").map(target_lists).transpose()?,
            curve: curves.map(|curves| find_price_rows(&columns, &curves.ids)).transpose()?,
            room: if honoured == ROOM { Room::new(&columns)? } else { None },
        })
    }

    /// Where the batteries end.
    fn rooms(&self) -> Option<RoomColumn<'_>> {
        self.room.as_ref().map(|room| match room {
            Room::Energy(most) => RoomColumn::EnergyMaxKwh(most),
            Room::Limit { percent, fills } => RoomColumn::ChargeLimitPercent { percent, fills },
        })
    }

    /// Periods of the estimates among the prices to buy and to sell at, for each row.
    pub(crate) fn estimates(&self, import: Vec<Horizon>, export: Vec<Horizon>) -> Estimates<'_> {
        Estimates::new(import, export, self.curve.as_deref())
    }

    /// Returns true if the needs are given in percent.
    pub(crate) fn are_in_percent(&self) -> bool {
        matches!(self.needs, NeedColumns::Soc { .. })
    }

    pub(crate) fn fleet(&self) -> Fleet<'_> {
        let needs = match &self.needs {
            NeedColumns::Energy(energy) => Needs::Energy { energy_kwh: energy.values() },
            NeedColumns::Soc { soc, target, capacity } => Needs::Soc {
                soc_percent: soc.values(),
                target_percent: target.values(),
                capacity_kwh: capacity.values(),
                reserve_percent: self.reserve_percent.as_deref(),
                efficiency: self.efficiency.as_deref(),
            },
        };
        Fleet {
            arrival: self.arrival.values(),
            departure: self.departure.values(),
            needs,
            power_max_kw: self.power_max.values(),
            reserve_kwh: self.reserve_kwh.as_deref(),
            targets: self.targets.as_ref().map(|(offsets, by, energy)| TargetLists {
                offsets,
                by: by.values(),
                energy_kwh: energy.values(),
            }),
            curve: self.curve.as_deref(),
        }
    }
}

/// The `targets` column: lists of `{by, energy_kwh}`.
fn target_lists(column: &ArrayRef) -> Result<(Vec<i32>, Times, Numbers), Refused> {
    let wrong = || {
        let text = "column \"targets\" holds no lists of {by, energy_kwh}";
        Refused::Input(format!("{text}, but {}", content(column.data_type())))
    };
    let lists = to_lists(column)?.ok_or_else(wrong)?;
    let targets = lists.values().as_struct_opt().ok_or_else(wrong)?;
    let field = |name: &str| targets.column_by_name(name).ok_or_else(wrong);
    let by = cast_times("targets.by", field("by")?)?;
    let energy = to_numbers("targets.energy_kwh", field("energy_kwh")?)?;
    let by = Times::new(by.as_primitive::<TimestampMicrosecondType>().clone());
    Ok((lists.offsets().to_vec(), by, Numbers::new(energy)))
}

/// Position of the prices that each row names, among `ids`; one beyond them where there are none of
/// that name.
pub(crate) fn find_price_rows(columns: &Columns<'_>, ids: &[String]) -> Result<Vec<u32>, Refused> {
    let column = columns.column("price_id")?;
    let names = arrow_cast::cast(column, &DataType::Utf8).map_err(refused)?;
    let rows: HashMap<&str, u32> = ids.iter().map(String::as_str).zip(0..).collect();
    let row =
        |name: Option<&str>| name.and_then(|name| rows.get(name).copied()).unwrap_or(u32::MAX);
    Ok(names.as_string::<i32>().iter().map(row).collect())
}

fn answer_schema(id: &DataType, currency: &str, has_emissions: bool) -> SchemaRef {
    let number = |name: &str| Field::new(name, DataType::Float64, true);
    let [intervals, status, error] = answer::fields();
    let mut fields = vec![
        Field::new("id", id.clone(), true),
        number("cost"),
        number("energy_kwh"),
        number("shortfall_kwh"),
        number("marginal_price_per_kwh"),
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
    fields.extend(["energy_on_estimates_kwh", "forgone_kwh", "forgone_revenue"].map(number));
    schema(fields, currency)
}

/// Energy beyond the need that is more than rounding, in kWh.
const FILLED_KWH: f64 = 1e-6;

/// Carbon intensity, and the same on the slots of the prices.
#[derive(Clone, Copy)]
struct Intensity<'a> {
    curve: &'a PriceCurve,
    by_slot: Curves<'a>,
}

impl Intensity<'_> {
    /// Emissions of the rows of each run, and of their baselines, in kg.
    ///
    /// A baseline takes the energy of its plan at full power from arrival, whatever the prices
    /// are: with intensities in their place its cost is in kg. That plan takes the need alone,
    /// so the baseline of a row that is filled beyond its need is not known.
    fn emissions(
        self,
        fleet: &Fleet<'_>,
        runs: &[PlanRows<ChargeNumbers>],
    ) -> Vec<(Vec<f64>, Vec<f64>)> {
        let baselines = engine::plan_batch(fleet, self.by_slot).into_iter();
        let both = runs.iter().zip(baselines);
        both.map(|(plans, baseline)| {
            let errors: Vec<usize> = plans.errors.iter().map(|(row, _)| *row).collect();
            let mut planned = plans.intervals.emissions(self.curve);
            for row in errors {
                planned[row] = f64::NAN;
            }
            let energies = plans.numbers.energy_kwh.iter().zip(&baseline.numbers.energy_kwh);
            let mut baselines = baseline.numbers.baseline_cost;
            for (kg, (filled, need)) in baselines.iter_mut().zip(energies) {
                if filled - need > FILLED_KWH {
                    *kg = f64::NAN;
                }
            }
            (planned, baselines)
        })
        .collect()
    }
}

fn record_batch(
    schema: &SchemaRef,
    id: ArrayRef,
    plans: PlanRows<ChargeNumbers>,
    on_estimates: Vec<f64>,
    emissions: Option<(Vec<f64>, Vec<f64>)>,
) -> Result<RecordBatch, Refused> {
    let status = answer::status(&plans.numbers.shortfall_kwh);
    let errors = answer::errors(plans.len(), &plans.errors);
    let intervals = answer::intervals(plans.intervals);
    let mut columns = vec![
        id,
        numbers(plans.numbers.cost),
        numbers(plans.numbers.energy_kwh),
        numbers(plans.numbers.shortfall_kwh),
        numbers(plans.numbers.marginal_price),
        numbers(plans.numbers.baseline_cost),
        numbers(plans.numbers.savings),
        numbers(plans.numbers.gap),
        numbers(plans.numbers.unpriced_hours),
        intervals,
        status,
        errors,
    ];
    if let Some((planned, baseline)) = emissions {
        columns.extend([numbers(planned), numbers(baseline)]);
    }
    columns.extend(
        [on_estimates, plans.numbers.forgone_kwh, plans.numbers.forgone_revenue].map(numbers),
    );
    RecordBatch::try_new(schema.clone(), columns).map_err(refused)
}

/// Plans all batches of vehicles; see `slackwater.plan_batch`.
fn plan_all(
    vehicles: Vec<RecordBatch>,
    curves: Curves<'_>,
    named: Option<&PriceCurves>,
    (currency, estimated): (&str, &[Horizon]),
    intensity: Option<Intensity<'_>>,
) -> Result<Table, Refused> {
    let mut answered = Vec::new();
    let mut schema = answer_schema(&DataType::Utf8, currency, intensity.is_some());
    for batch in vehicles {
        let columns = Vehicles::new(&batch, named, ("plan_batch", &ROOM))?;
        drop(batch);
        schema = answer_schema(columns.id.data_type(), currency, intensity.is_some());
        let fleet = columns.fleet();
        let runs = engine::plan_batch_within(&fleet, curves, columns.rooms());
        let emissions = intensity.map(|intensity| intensity.emissions(&fleet, &runs));
        let mut emissions = emissions.into_iter().flatten();
        let guesses = columns.estimates(estimated.to_vec(), Vec::new());
        let mut first = 0;
        for plans in runs {
            let id = columns.id.slice(first, plans.len());
            let [bought, _] = guesses.energies(first, &plans.intervals, &plans.numbers.cost);
            first += plans.len();
            answered.push(record_batch(&schema, id, plans, bought, emissions.next())?);
        }
    }
    Ok(Table::new(schema, answered))
}

#[pyfunction]
#[pyo3(signature = (vehicles, prices, *, intensity = None))]
pub(crate) fn plan_batch(
    py: Python<'_>,
    vehicles: TableInput,
    prices: &Prices,
    intensity: Option<&Series>,
) -> Result<Py<PlanTable>, Refused> {
    let vehicles = crate::arrow::batches(vehicles)?;
    warn_of_columns(py, &vehicles, &NUMBERS)?;
    let (curve, currency) = (prices.curve.clone(), prices.currency.clone());
    let estimated = [prices.estimated()];
    let intensity = intensity
        .map(|series| {
            Ok::<_, Refused>((series.curve.clone(), intensity_by_slot(&curve, &series.curve)?))
        })
        .transpose()?;
    let table = interrupt::run(py, None, move |_| {
        let intensity = intensity.as_ref().map(|(curve, by_slot)| {
            let by_slot = Curves::Shared(by_slot);
            Intensity { curve, by_slot }
        });
        plan_all(vehicles, Curves::Shared(&curve), None, (&currency, &estimated), intensity)
    })??;
    Ok(PlanTable::wrap(py, table)?)
}

/// Plans the row of a vehicle; see `slackwater.plan_row`.
#[pyfunction]
pub(crate) fn plan_row(
    py: Python<'_>,
    vehicles: TableInput,
    prices: &Prices,
    vehicle: &str,
) -> Result<Plan, Refused> {
    let vehicles = crate::arrow::batches(vehicles)?;
    warn_of_columns(py, &vehicles, &NUMBERS)?;
    let mut requests = Vec::new();
    for batch in &vehicles {
        let columns = Vehicles::new(batch, None, ("plan_row", &ROOM))?;
        for row in find_rows(&columns.id, vehicle)? {
            let request = engine::request_of_row(&columns.fleet(), columns.rooms(), row);
            requests.push(request.named(&format!("vehicle {vehicle:?}"))?);
        }
    }
    planned(py, prices, take_only(requests, ("vehicle", vehicle))?, Charged::Charge)
}

/// The intensity on the slots of a curve.
pub(crate) fn intensity_by_slot(
    curve: &PriceCurve,
    intensity: &PriceCurve,
) -> Result<PriceCurve, Refused> {
    Ok(curve.times(0.0)?.plus(intensity)?)
}

#[pyfunction]
#[pyo3(signature = (vehicles, prices, *, intensity = None))]
pub(crate) fn plan_batch_own(
    py: Python<'_>,
    vehicles: TableInput,
    prices: Py<PriceCurves>,
    intensity: Option<&Series>,
) -> Result<Py<PlanTable>, Refused> {
    let vehicles = crate::arrow::batches(vehicles)?;
    let intensity = intensity.map(|series| series.curve.clone());
    warn_of_columns(py, &vehicles, &NUMBERS)?;
    let table = interrupt::run(py, None, move |_| {
        let prices = prices.get();
        let by_slot = intensity.as_deref().map(|curve| prices.table.with_values_of(curve));
        let intensity = intensity.as_deref().zip(by_slot.as_ref());
        let intensity = intensity.map(|(curve, table)| {
            let by_slot = Curves::PerVehicle(table);
            Intensity { curve, by_slot }
        });
        let curves = Curves::PerVehicle(&prices.table);
        let paid = (prices.currency(), &*prices.estimated);
        plan_all(vehicles, curves, Some(prices), paid, intensity)
    })??;
    Ok(PlanTable::wrap(py, table)?)
}
