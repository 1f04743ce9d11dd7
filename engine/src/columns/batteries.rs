//! Columns of batteries, one row per battery, and the check of a row.

use crate::columns::fleet::NO_TIME;
use crate::columns::row_error::RowError;
use crate::plan::charge::vehicle::check_capacity;
use crate::plan::storage::branch_and_bound::StorageBuffers;
use crate::plan::storage::dynamic_programme::DynamicProgramme;
use crate::plan::storage::request::{check_efficiency, check_power};
use crate::time::instant::instant_at;
use crate::units::{Energy, Percent, Power, Price, UnitError};

/// Columns of batteries, all of equal length. Times are microseconds since 1970,
/// [`NO_TIME`] if missing; NaN is a missing number.
#[derive(Debug, Clone, Copy, Default)]
pub struct Batteries<'a> {
    /// Time at which each battery is plugged in.
    pub arrival: &'a [i64],
    /// Time of departure, the deadline of its target.
    pub departure: &'a [i64],
    /// Usable capacity, in kWh.
    pub capacity_kwh: &'a [f64],
    /// State of charge on arrival, in percent.
    pub soc_percent: &'a [f64],
    /// State of charge wanted at departure, in percent. Where it is missing, and the end value too, a
    /// battery departs with at least what it holds on arrival, up to its charge limit.
    pub target_percent: Option<&'a [f64]>,
    /// State of charge reached at once and kept, in percent.
    pub reserve_percent: Option<&'a [f64]>,
    /// State of charge at which charging ends, in percent; 100 where missing.
    pub charge_limit_percent: Option<&'a [f64]>,
    /// Highest charging power, in kW.
    pub charge_max_kw: &'a [f64],
    /// Highest discharging power, in kW.
    pub discharge_max_kw: &'a [f64],
    /// Stored energy per energy at the plug; 1 where missing.
    pub efficiency: Option<&'a [f64]>,
    /// Energy at the plug per stored energy; 1 where missing.
    pub efficiency_discharge: Option<&'a [f64]>,
    /// Value per kWh stored at departure. Where there is one, or a target, they decide how much is left.
    pub end_value_per_kwh: Option<&'a [f64]>,
    /// Cost of wear per stored kWh that is discharged; 0 where missing.
    pub wear_price_per_kwh: Option<&'a [f64]>,
    /// Position of the prices that each battery pays; without this column the first.
    pub grid: Option<&'a [u32]>,
}

/// Kernel and buffers that are reused for every row of a run.
#[derive(Debug, Default)]
pub(crate) struct BatteryPlanner {
    pub(crate) programme: DynamicProgramme,
    /// Start and end of each slot of the stay, in microseconds since 1970.
    pub(crate) periods: Vec<(i64, i64)>,
    /// Price of energy bought in each of them, per kWh.
    pub(crate) import: Vec<f64>,
    /// Price of energy sold in each of them, per kWh; NaN where none is sold.
    pub(crate) export: Vec<f64>,
    pub(crate) buffers: StorageBuffers,
}

/// Checked values of one battery; times in microseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatteryRow {
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) target_kwh: f64,
    pub(crate) reserve_kwh: f64,
    pub(crate) limit_kwh: f64,
    pub(crate) charge_max: Power,
    pub(crate) discharge_max: Power,
}

impl BatteryPlanner {
    /// Checks the values of a row, and sets those of the programme that do not depend on a slot.
    pub(crate) fn read(
        &mut self,
        batteries: &Batteries<'_>,
        row: usize,
    ) -> Result<BatteryRow, RowError> {
        let time = |column: &'static str, values: &[i64]| match values[row] {
            NO_TIME => Err(RowError::Missing { column }),
            time => Ok(time),
        };
        let (from, to) =
            (time("arrival", batteries.arrival)?, time("departure", batteries.departure)?);
        if to < from {
            let (arrival, departure) = (instant_at(from), instant_at(to));
            return Err(RowError::DepartureBeforeArrival { arrival, departure });
        }
        // Missing optional values have a default; everything else is an error.
        let or = |values: Option<&[f64]>, absent: f64| match values.map(|values| values[row]) {
            Some(value) if !value.is_nan() => value,
            _ => absent,
        };
        let capacity = quantity("capacity_kwh", batteries.capacity_kwh[row], Energy::from_kwh)?;
        check_capacity(capacity)?;
        let share = |column, value| {
            Ok::<f64, RowError>(
                quantity(column, value, Percent::from_percent)?.of(capacity).as_kwh(),
            )
        };
        let price = |column, value| {
            Ok::<f64, RowError>(quantity(column, value, Price::from_per_kwh)?.as_per_kwh())
        };
        let limit_kwh = share("charge_limit_percent", or(batteries.charge_limit_percent, 100.0))?;
        let stored_kwh = share("soc_percent", batteries.soc_percent[row])?;
        let end_value = or(batteries.end_value_per_kwh, f64::NAN);
        let kept_kwh = if end_value.is_nan() { stored_kwh.min(limit_kwh) } else { 0.0 };
        let target = or(batteries.target_percent, f64::NAN);
        let target_kwh = if target.is_nan() { kept_kwh } else { share("target_percent", target)? };
        // Nothing is charged above the charge limit, so a higher reserve counts up to it.
        let battery = BatteryRow {
            from,
            to,
            target_kwh,
            reserve_kwh: share("reserve_percent", or(batteries.reserve_percent, 0.0))?
                .min(limit_kwh),
            limit_kwh,
            charge_max: power("power_max_kw", batteries.charge_max_kw[row])?,
            discharge_max: power("discharge_max_kw", batteries.discharge_max_kw[row])?,
        };
        // Values of the programme that hold for every slot.
        let programme = &mut self.programme;
        programme.capacity_kwh = capacity.as_kwh();
        programme.stored_kwh = stored_kwh;
        programme.efficiency_charge = or(batteries.efficiency, 1.0);
        programme.efficiency_discharge = or(batteries.efficiency_discharge, 1.0);
        check_efficiency("efficiency", programme.efficiency_charge)?;
        check_efficiency("discharge_efficiency", programme.efficiency_discharge)?;
        programme.end_value_per_kwh =
            price("end_value_per_kwh", if end_value.is_nan() { 0.0 } else { end_value })?;
        let wear = or(batteries.wear_price_per_kwh, 0.0);
        programme.wear_per_kwh = price("wear_price_per_kwh", wear)?;
        // A `Price` may be negative, the cost of wear may not.
        if wear < 0.0 {
            let unit = "per kWh";
            return Err(RowError::Negative { column: "wear_price_per_kwh", value: wear, unit });
        }
        Ok(battery)
    }
}

/// Quantity from a value, or an error that names its column.
fn quantity<T>(
    column: &'static str,
    value: f64,
    make: impl Fn(f64) -> Result<T, UnitError>,
) -> Result<T, RowError> {
    // NaN is a missing value, not a quantity that is refused.
    if value.is_nan() {
        return Err(RowError::Missing { column });
    }
    make(value).map_err(|source| RowError::NotAQuantity { column, source })
}

/// Power of at least zero from a value in kW, or an error that names its column.
pub(crate) fn power(column: &'static str, value: f64) -> Result<Power, RowError> {
    let power = quantity(column, value, Power::from_kw)?;
    check_power(column, power)?;
    Ok(power)
}
