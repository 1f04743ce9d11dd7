//! Columns of a fleet, one row per vehicle, and the check of a row.
use crate::columns::row_error::RowError;
use crate::plan::charge::request::Target;
use crate::plan::charge::vehicle::energy_at_plug;
use crate::prices::curve::PriceCurve;
use crate::prices::table::PriceTable;
use crate::time::horizon::Horizon;
use crate::time::instant::instant_at;
use crate::units::{Energy, Percent, Power, UnitError};

/// Value of a missing time.
pub const NO_TIME: i64 = i64::MIN;

/// Energy need of each vehicle, as energy or as states of charge. NaN is a missing value.
#[derive(Debug, Clone, Copy)]
pub enum Needs<'a> {
    /// Energy at the plug.
    Energy {
        /// In kWh.
        energy_kwh: &'a [f64],
    },
    /// State of charge on arrival and at departure.
    Soc {
        /// State of charge on arrival, in percent.
        soc_percent: &'a [f64],
        /// State of charge wanted at departure, in percent.
        target_percent: &'a [f64],
        /// Usable capacity, in kWh.
        capacity_kwh: &'a [f64],
        /// State of charge reached at once, in percent.
        reserve_percent: Option<&'a [f64]>,
        /// Stored energy per energy at the plug; 1 where missing.
        efficiency: Option<&'a [f64]>,
    },
}

/// Targets of each vehicle before its departure. Row `i` has those at `offsets[i]..offsets[i + 1]`.
#[derive(Debug, Clone, Copy)]
pub struct TargetLists<'a> {
    /// Start of each row's targets, and the end of the last: one more than rows.
    pub offsets: &'a [i32],
    /// Deadlines in microseconds since 1970.
    pub by: &'a [i64],
    /// Energy wanted by then, counted from arrival, in kWh.
    pub energy_kwh: &'a [f64],
}

/// Columns of a fleet, all of equal length. Times are microseconds since 1970,
/// [`NO_TIME`] if missing; NaN is a missing number.
#[derive(Debug, Clone, Copy)]
pub struct Fleet<'a> {
    /// Time at which each vehicle is plugged in.
    pub arrival: &'a [i64],
    /// Time of departure, the deadline of its need.
    pub departure: &'a [i64],
    /// Energy need.
    pub needs: Needs<'a>,
    /// Highest power, in kW.
    pub power_max_kw: &'a [f64],
    /// Energy bought at once at any price, in kWh; 0 where missing.
    pub reserve_kwh: Option<&'a [f64]>,
    /// Targets before departure.
    pub targets: Option<TargetLists<'a>>,
    /// Row of the price table; not used with a shared curve. Without it, row `i` has curve `i`.
    pub curve: Option<&'a [u32]>,
}

/// Prices that a fleet pays.
#[derive(Debug, Clone, Copy)]
pub enum Curves<'a> {
    /// One curve for all vehicles.
    Shared(&'a PriceCurve),
    /// One row of a price table for each vehicle, by `Fleet::curve`.
    PerVehicle(&'a PriceTable),
}

impl Curves<'_> {
    /// Horizon of the prices.
    pub(crate) fn horizon(&self) -> &Horizon {
        match self {
            Self::Shared(curve) => curve.horizon(),
            Self::PerVehicle(table) => table.horizon(),
        }
    }

    /// Lowest and highest price per kWh, and true if all vehicles share one curve.
    #[cfg(feature = "lp")]
    pub(crate) fn spread(&self) -> (f64, f64, bool) {
        let (prices, is_shared) = match self {
            Self::Shared(curve) => (curve.prices(), true),
            Self::PerVehicle(table) => (table.prices(), false),
        };
        let known = || prices.iter().copied().filter(|price| !price.is_nan());
        let low = known().fold(f64::INFINITY, f64::min);
        let high = known().fold(f64::NEG_INFINITY, f64::max);
        // Without any price, `low` is above `high`.
        if low <= high { (low, high, is_shared) } else { (0.0, 0.0, is_shared) }
    }

    /// Returns true if a price of a curve is negative.
    #[must_use]
    pub fn has_negative_price(&self) -> bool {
        let prices = match self {
            Self::Shared(curve) => curve.prices(),
            Self::PerVehicle(table) => table.prices(),
        };
        prices.iter().any(|&price| price < 0.0)
    }

    /// Number of curves.
    #[cfg(feature = "lp")]
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Shared(_) => 1,
            Self::PerVehicle(table) => table.len(),
        }
    }

    /// Prices of one curve; NaN is a gap.
    #[cfg(feature = "lp")]
    pub(crate) fn prices(&self, row: usize) -> &[f64] {
        match self {
            Self::Shared(curve) => curve.prices(),
            Self::PerVehicle(table) => table.row(row),
        }
    }
}

/// Checked values of one vehicle; times in microseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vehicle {
    pub(crate) arrival: i64,
    pub(crate) departure: i64,
    pub(crate) energy: Energy,
    pub(crate) reserve: Energy,
    pub(crate) power_max: Power,
}

impl Fleet<'_> {
    /// Number of vehicles.
    #[must_use]
    pub fn len(&self) -> usize {
        self.arrival.len()
    }

    /// Returns true if there is no vehicle.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arrival.is_empty()
    }

    /// Checks one row and returns its values.
    #[inline(always)]
    pub(crate) fn vehicle(&self, row: usize) -> Result<Vehicle, RowError> {
        let arrival = time(self.arrival[row], "arrival")?;
        let departure = time(self.departure[row], "departure")?;
        if departure < arrival {
            let (arrival, departure) = (instant_at(arrival), instant_at(departure));
            return Err(RowError::DepartureBeforeArrival { arrival, departure });
        }
        let power_max = kw(self.power_max_kw[row], "power_max_kw")?;
        let mut reserve = match self.reserve_kwh {
            Some(column) if !column[row].is_nan() => kwh(column[row], "reserve_kwh")?,
            _ => Energy::ZERO,
        };
        // A reserve in kWh and one in percent may both be given: the larger one counts.
        let energy = match self.needs {
            Needs::Energy { energy_kwh } => kwh(energy_kwh[row], "energy_kwh")?,
            Needs::Soc { .. } => {
                let (energy, at_once) = self.energy_from_soc(row)?;
                reserve = reserve.max(at_once);
                energy
            }
        };
        Ok(Vehicle { arrival, departure, energy, reserve, power_max })
    }

    /// Need and reserve at the plug of a row in states of charge.
    #[inline(never)]
    fn energy_from_soc(&self, row: usize) -> Result<(Energy, Energy), RowError> {
        // `vehicle` calls this for needs in percent only, so no other case occurs.
        let Needs::Soc { target_percent, reserve_percent, .. } = self.needs else {
            return Ok((Energy::ZERO, Energy::ZERO));
        };
        let target = percent(target_percent[row], "target_percent")?;
        let reserve = match reserve_percent {
            Some(column) if !column[row].is_nan() => percent(column[row], "reserve_percent")?,
            _ => Percent::ZERO,
        };
        Ok((self.at_plug(row, target)?, self.at_plug(row, reserve)?))
    }

    /// Energy at the plug up to the charge limit, for a row in states of charge.
    pub(crate) fn energy_up_to(&self, row: usize, limit_percent: f64) -> Result<Energy, RowError> {
        self.at_plug(row, percent(limit_percent, "charge_limit_percent")?)
    }

    /// Energy at the plug from the present to the `wanted` state of charge.
    fn at_plug(&self, row: usize, wanted: Percent) -> Result<Energy, RowError> {
        let Needs::Soc { soc_percent, capacity_kwh, efficiency, .. } = self.needs else {
            return Err(RowError::Missing { column: "capacity_kwh" });
        };
        let soc = percent(soc_percent[row], "soc_percent")?;
        let capacity = kwh(capacity_kwh[row], "capacity_kwh")?;
        let efficiency = efficiency.map_or(1.0, |column| column[row]);
        let efficiency = if efficiency.is_nan() { 1.0 } else { efficiency };
        Ok(energy_at_plug(capacity, efficiency, soc, wanted)?)
    }

    /// Sum of the highest powers of all vehicles, in kW.
    #[cfg(feature = "lp")]
    pub(crate) fn power_most_kw(&self) -> f64 {
        self.power_max_kw.iter().filter(|power| power.is_finite()).map(|power| power.max(0.0)).sum()
    }

    /// Upper bound on the energy that all vehicles can charge on a horizon, in kWh.
    #[cfg(feature = "lp")]
    pub(crate) fn energy_most_kwh(&self, horizon: &Horizon) -> f64 {
        let hours: f64 = horizon.lengths().iter().sum::<f64>() / crate::units::MICROS_PER_HOUR;
        // Rows with errors are not planned, so they count nothing.
        let most = |row| {
            let vehicle: Vehicle = self.vehicle(row).ok()?;
            let wanted = vehicle.energy.max(vehicle.reserve).as_kwh();
            Some(wanted.min(vehicle.power_max.as_kw() * hours))
        };
        (0..self.len()).filter_map(most).sum()
    }

    /// Targets of a row; the first is that at departure.
    pub(crate) fn targets(&self, row: usize, vehicle: &Vehicle) -> Result<Vec<Target>, RowError> {
        let departure = Target { by: Some(instant_at(vehicle.departure)), energy: vehicle.energy };
        let mut targets = vec![departure];
        if let Some(lists) = self.targets {
            for position in lists.offsets[row] as usize..lists.offsets[row + 1] as usize {
                let by = instant_at(time(lists.by[position], "targets.by")?);
                let energy = kwh(lists.energy_kwh[position], "targets.energy_kwh")?;
                targets.push(Target { by: Some(by), energy });
            }
        }
        Ok(targets)
    }

    /// Returns true if a row has targets before its departure.
    pub(crate) fn has_targets(&self, row: usize) -> bool {
        self.targets.is_some_and(|lists| lists.offsets[row] < lists.offsets[row + 1])
    }
}

/// Time of a column, or an error that names it. Times beyond the years 1 to 9999 are missing.
#[inline(always)]
fn time(micros: i64, column: &'static str) -> Result<i64, RowError> {
    if Horizon::holds(micros) { Ok(micros) } else { Err(RowError::Missing { column }) }
}

/// Energy of at least zero from a value in kWh, or an error that names its column.
#[inline(always)]
pub(crate) fn kwh(value: f64, column: &'static str) -> Result<Energy, RowError> {
    let energy = Energy::from_kwh(value).map_err(|source| refused(column, source))?;
    if energy < Energy::ZERO {
        return Err(RowError::Negative { column, value, unit: "kWh" });
    }
    Ok(energy)
}

/// Power of at least zero from a value in kW, or an error that names its column.
#[inline(always)]
fn kw(value: f64, column: &'static str) -> Result<Power, RowError> {
    let power = Power::from_kw(value).map_err(|source| refused(column, source))?;
    if power < Power::ZERO {
        return Err(RowError::Negative { column, value, unit: "kW" });
    }
    Ok(power)
}

/// Percentage from a value, or an error that names its column.
fn percent(value: f64, column: &'static str) -> Result<Percent, RowError> {
    Percent::from_percent(value).map_err(|source| refused(column, source))
}

/// Error of a value that is no quantity: missing if it is NaN.
#[cold]
fn refused(column: &'static str, source: UnitError) -> RowError {
    match source {
        UnitError::NotFinite { value, .. } if value.is_nan() => RowError::Missing { column },
        source => RowError::NotAQuantity { column, source },
    }
}
