//! Questions to the plan of an area: verification, a changed vehicle, changes of power.
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, Float64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat;
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use slackwater_engine::area as engine;
use slackwater_engine::columns::IntervalColumns;

use crate::area::AreaNumbers;
use crate::area_heat::AreaHeatCertificate;
use crate::area_input::{AreaColumns, NodeArg, Paid, one_batch};
use crate::area_table::{add_intervals, names_of, places};
use crate::arrow::{Columns, Table, TableInput, refused, utc};
use crate::error::Refused;
use crate::plan_table::PlanTable;
use crate::power::{PowerChanges, changes_of_devices};
use crate::site_request::HeatUnitArgument;
use crate::time::{Instant, time_zone};
use crate::verification::{CertificateCheck, Verification};

record! {
    /// Own certificate of a vehicle of an area, at its prices plus those of the limits.
    pub(crate) struct VehicleCertificate in VehicleCertificates {
        /// Row of the vehicle, from 0.
        row: usize,
        /// ``id`` of the vehicle, as a text.
        id: String,
        /// Cost of its plan at these prices, in units of the currency.
        cost: f64,
        /// Lower bound on the cost of every plan that delivers as much by each of its deadlines.
        bound: f64,
        /// Cost less bound: what the vehicle could save at these prices by a plan of its own.
        gap: f64,
        /// True if the plan keeps all rules and the certificate holds.
        holds: bool,
        /// Names of the statements that do not hold, separated by commas; empty if all do.
        failed: String,
    }

    /// All statements of the plan of an area, computed anew.
    pub(crate) struct AreaVerification {
        /// True if every statement holds.
        holds: bool,
        /// Names of the statements that do not hold; empty if all do.
        failed: Vec<String>,
        /// One check per statement: nodes, shadow prices, vehicles, heat units, energies, cost, bound,
        /// gap.
        checks: Vec<CertificateCheck>,
        /// Lower bound on the cost that the vehicles and the shadow prices give.
        bound: f64,
        /// Part of cost less bound that the limits cause. The gaps of the vehicles and heat units are
        /// the rest.
        limits_gap: f64,
        /// Certificates of the vehicles, in the order of their rows, without rows in error.
        vehicles: Vec<VehicleCertificate>,
        /// Certificates of the heat units, in their order.
        heat: Vec<AreaHeatCertificate>,
    }
    impl {
        /// List the certificates of the vehicles, as a table for any Arrow library.
        fn vehicles_table(&self) -> VehicleCertificates {
            self.vehicles.iter().cloned().collect()
        }
    }
}

/// Rows of a table of vehicles, held so that it can be read more than once.
#[pyfunction]
pub(crate) fn hold_table(vehicles: TableInput) -> Result<Table, Refused> {
    Ok(Table::from_batch(one_batch(vehicles)?))
}

/// See `slackwater.AreaPlan.verify`.
#[pyfunction]
#[pyo3(signature = (numbers, plans, *, vehicles, paid, nodes, heat))]
pub(crate) fn verify_area(
    py: Python<'_>,
    numbers: PyRef<'_, AreaNumbers>,
    plans: PyRef<'_, PlanTable>,
    vehicles: TableInput,
    paid: Paid,
    nodes: Vec<NodeArg>,
    heat: Vec<HeatUnitArgument>,
) -> Result<AreaVerification, Refused> {
    let batch = one_batch(vehicles)?;
    let columns = AreaColumns::new(&batch, &paid, &nodes)?.with_heat(heat);
    let (names, intervals) = plans_of(&plans)?;
    let ids = names_of(columns.id())?;
    check_same_vehicles(ids.as_string(), names.as_string())?;
    let problem = columns.problem(&paid)?;
    let stated = numbers.state_numbers();
    let found =
        crate::work::in_parallel(py, || engine::verify_area(&problem, &intervals, &stated))??;
    let certificate = |one: engine::VehicleCheck| VehicleCertificate {
        row: one.row,
        id: ids.as_string::<i32>().value(one.row).to_owned(),
        cost: one.cost,
        bound: one.bound,
        gap: one.gap(),
        holds: one.failed.is_empty(),
        failed: one.failed.join(", "),
    };
    let units = found.heat.iter().zip(problem.heat_units());
    let certificates = units.map(|(check, unit)| AreaHeatCertificate::new(check, &unit.name));
    let (holds, failed, checks) = Verification::new(found.checks).into_parts();
    Ok(AreaVerification {
        holds,
        failed,
        checks,
        bound: found.bound,
        limits_gap: found.limits_gap,
        vehicles: found.vehicles.into_iter().map(certificate).collect(),
        heat: certificates.collect(),
    })
}

/// Ids of plans as texts, and their intervals by row.
fn plans_of(plans: &PyRef<'_, PlanTable>) -> Result<(ArrayRef, IntervalColumns), Refused> {
    let batches = plans.as_super().batches();
    let Some(first) = batches.first() else {
        return Ok((Arc::new(StringArray::from(Vec::<&str>::new())), IntervalColumns::default()));
    };
    let batch = arrow_select::concat::concat_batches(&first.schema(), &batches).map_err(refused)?;
    let columns = Columns::new(&batch);
    let mut intervals = IntervalColumns::default();
    add_intervals(&columns, 0..batch.num_rows(), &mut intervals)?;
    Ok((names_of(columns.column("id")?)?, intervals))
}

/// Compares the vehicles of a table with those of plans, row by row.
fn check_same_vehicles(vehicles: &StringArray, plans: &StringArray) -> Result<(), Refused> {
    let (rows, planned) = (vehicles.len(), plans.len());
    if rows != planned {
        let text = format!("vehicles has {rows} rows; the plan is of {planned} vehicles");
        return Err(Refused::Input(text));
    }
    let differing = vehicles.iter().zip(plans).position(|(one, other)| one != other);
    let Some(row) = differing else { return Ok(()) };
    Err(Refused::Input(format!(
        "row {row} of vehicles has the id {:?}; in the plan it is {:?}",
        vehicles.value(row),
        plans.value(row)
    )))
}

/// New value of a column for one vehicle.
#[derive(Debug, Clone, FromPyObject)]
pub(crate) enum NewValue {
    Time(Instant),
    Number(f64),
    Text(String),
}

impl NewValue {
    /// Words for what a column holds, if that is something else.
    fn unfit_for(&self, column: &DataType) -> Option<&'static str> {
        match (self, column) {
            (Self::Number(_), kind) if kind.is_numeric() => None,
            (Self::Time(_), DataType::Timestamp(..)) => None,
            (Self::Text(_), kind) if kind.is_string() => None,
            (_, kind) if kind.is_numeric() => Some("a number"),
            (_, DataType::Timestamp(..)) => Some("a datetime with a time zone"),
            (_, kind) if kind.is_string() => Some("a text"),
            // Ids that are categories, flags and lists: the conversion decides.
            _ => None,
        }
    }
}

/// The table of vehicles with other values for one of them; see `slackwater.AreaPlan.what_if`.
#[pyfunction]
pub(crate) fn change_vehicle(
    vehicles: TableInput,
    id: &str,
    values: BTreeMap<String, Option<NewValue>>,
) -> Result<Table, Refused> {
    let batch = one_batch(vehicles)?;
    let columns = Columns::new(&batch);
    let ids = names_of(columns.column("id")?)?;
    let rows: Vec<usize> =
        (0..batch.num_rows()).filter(|&row| ids.as_string::<i32>().value(row) == id).collect();
    let &[row] = &*rows else {
        let found = if rows.is_empty() { "no".to_owned() } else { rows.len().to_string() };
        return Err(Refused::Input(format!("vehicle is {id:?}, the id of {found} vehicles")));
    };
    let schema = batch.schema();
    let mut fields: Vec<Field> = schema.fields().iter().map(|field| (**field).clone()).collect();
    let mut arrays = batch.columns().to_vec();
    for (name, value) in values {
        columns.column(&name)?;
        let at = schema.index_of(&name).map_err(refused)?;
        if let Some(kind) = value.as_ref().and_then(|value| value.unfit_for(arrays[at].data_type()))
        {
            return Err(Refused::Input(format!("vehicle: {name} has to be {kind}")));
        }
        let array = with_value(&arrays[at], row, value.as_ref()).map_err(refused)?;
        fields[at] = Field::new(name, array.data_type().clone(), true);
        arrays[at] = array;
    }
    let changed = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(refused)?;
    Ok(Table::from_batch(changed))
}

/// A column with another value in one row.
fn with_value(
    column: &ArrayRef,
    row: usize,
    value: Option<&NewValue>,
) -> Result<ArrayRef, arrow_schema::ArrowError> {
    // A column of whole numbers would cut a fraction off.
    let is_number = matches!(value, Some(NewValue::Number(_)));
    let column = if is_number && column.data_type().is_integer() {
        cast(column, &DataType::Float64)?
    } else {
        column.clone()
    };
    let kind = column.data_type().clone();
    let one: ArrayRef = match value {
        None => arrow_array::new_null_array(&kind, 1),
        Some(NewValue::Number(number)) => cast(&Float64Array::from(vec![*number]), &kind)?,
        Some(NewValue::Text(text)) => cast(&StringArray::from(vec![text.as_str()]), &kind)?,
        Some(NewValue::Time(at)) => {
            let micros = at.0.timestamp_micros();
            cast(&utc(TimestampMicrosecondArray::from(vec![micros])), &kind)?
        }
    };
    let after = row + 1;
    concat(&[&column.slice(0, row), &one, &column.slice(after, column.len() - after)])
}

/// See `slackwater.AreaPlan.diff`.
#[pyfunction]
#[pyo3(signature = (before, after, *, now, time_zone))]
pub(crate) fn area_power_changes(
    before: PyRef<'_, PlanTable>,
    after: PyRef<'_, PlanTable>,
    now: Instant,
    time_zone: &str,
) -> Result<PowerChanges, Refused> {
    let zone = self::time_zone(time_zone)?;
    let now: DateTime<Utc> = now.0;
    let (was, is) = (plans_of(&before)?, plans_of(&after)?);
    let powers = |of: &str, (names, intervals): &(ArrayRef, IntervalColumns)| {
        let names = names.as_string::<i32>();
        places(of, names)?;
        let rows = names.iter().enumerate().filter_map(|(row, name)| Some((name?, row)));
        let each = rows.map(|(name, row)| (name.to_owned(), intervals.of_row(row)));
        Ok::<_, Refused>(each.collect::<Vec<_>>())
    };
    let (was, is) = (powers("plans before", &was)?, powers("plans after", &is)?);
    Ok(changes_of_devices(&was, &is, now, zone))
}
