//! Stays of a fleet in columns, one row a stay.
use crate::columns::fleet::{Fleet, Needs};
use crate::columns::row_error::RowError;
use crate::simulate::device::ChargeDevice;
use crate::simulate::facts::Stay;
use crate::time::instant::instant_at;
use crate::units::{Money, Power, UnitError};

/// Columns of a fleet that only a simulation has, as long as the others. NaN is a missing number.
#[derive(Debug, Clone, Copy, Default)]
pub struct StayColumns<'a> {
    /// Number of the home; without it each row is a home.
    pub home: Option<&'a [u32]>,
    /// Least power while charging, in kW.
    pub power_min_kw: Option<&'a [f64]>,
    /// Step of the powers, in kW.
    pub power_step_kw: Option<&'a [f64]>,
    /// Cost of each start.
    pub start_cost: Option<&'a [f64]>,
}

/// Stays of a fleet.
///
/// # Errors
/// A value of a row is missing or makes no sense; the row is named.
pub fn stays_of_fleet(
    fleet: &Fleet<'_>,
    columns: &StayColumns<'_>,
) -> Result<Vec<Stay>, (usize, RowError)> {
    (0..fleet.len()).map(|row| stay(fleet, columns, row).map_err(|error| (row, error))).collect()
}

fn stay(fleet: &Fleet<'_>, columns: &StayColumns<'_>, row: usize) -> Result<Stay, RowError> {
    let vehicle = fleet.vehicle(row)?;
    let number = |column: Option<&[f64]>, missing: f64| {
        column.map_or(missing, |column| if column[row].is_nan() { missing } else { column[row] })
    };
    let refused =
        |column: &'static str| move |source: UnitError| RowError::NotAQuantity { column, source };
    let efficiency = match fleet.needs {
        Needs::Soc { efficiency, .. } => number(efficiency, 1.0),
        Needs::Energy { .. } => 1.0,
    };
    let power_min = number(columns.power_min_kw, 0.0);
    let power_step = number(columns.power_step_kw, 0.0);
    let start_cost = number(columns.start_cost, 0.0);
    Ok(Stay {
        home: columns.home.map_or(row as u32, |home| home[row]),
        arrival: instant_at(vehicle.arrival),
        departure: instant_at(vehicle.departure),
        need: vehicle.energy,
        device: ChargeDevice {
            power_max: vehicle.power_max,
            power_min: Power::from_kw(power_min).map_err(refused("power_min_kw"))?,
            power_step: Power::from_kw(power_step).map_err(refused("power_step_kw"))?,
            efficiency,
            start_cost: Money::from_amount(start_cost).map_err(refused("start_cost"))?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{kw, kwh};

    #[test]
    fn rows_become_stays_and_errors_name_them() {
        let (soc, target, capacity, efficiency) =
            ([20.0, 20.0], [80.0, 80.0], [50.0, 50.0], [0.5, f64::NAN]);
        let needs = Needs::Soc {
            soc_percent: &soc,
            target_percent: &target,
            capacity_kwh: &capacity,
            reserve_percent: None,
            efficiency: Some(&efficiency),
        };
        let mut fleet = Fleet {
            arrival: &[0, 0],
            departure: &[3_600_000_000, 7_200_000_000],
            needs,
            power_max_kw: &[11.0, 7.0],
            reserve_kwh: None,
            targets: None,
            curve: None,
        };
        let columns = StayColumns {
            home: Some(&[4, 4]),
            power_min_kw: Some(&[f64::NAN, 1.4]),
            ..StayColumns::default()
        };
        let stays = stays_of_fleet(&fleet, &columns).unwrap();
        // 30 kWh stored are 60 at the plug with half of it lost.
        assert_eq!((stays[0].need, stays[1].need), (kwh(60.0), kwh(30.0)));
        assert_eq!((stays[0].home, stays[1].device.power_min), (4, kw(1.4)));
        assert_eq!((stays[0].device.efficiency, stays[1].device.efficiency), (0.5, 1.0));
        fleet.power_max_kw = &[11.0, f64::NAN];
        let (row, error) = stays_of_fleet(&fleet, &columns).unwrap_err();
        assert_eq!((row, error.to_string().as_str()), (1, "power_max_kw is missing"));
    }
}
