//! Causes of unmet energy that no limit of the area withholds: the vehicle itself, or missing prices.
use crate::area::model::battery::Battery;
use crate::area::model::sessions::{battery_columns, charge_limit};
use crate::area::problem::area_problem::AreaProblem;
use crate::plan::charge::request::Target;
use crate::time::instant::micros_of;
use crate::tolerance::SHORTFALL_TOLERANCE_KWH;
use crate::units::{Energy, MICROS_PER_HOUR, Power};

/// Splits the energy that a vehicle cannot have even alone into what its own limits are the cause
/// of, because it would miss it with prices at all times, too, and what missing prices are.
pub(crate) fn split_by_cause(problem: &AreaProblem<'_>, row: usize, energy_kwh: f64) -> (f64, f64) {
    let own_kwh = own_shortfall_kwh(problem, row).unwrap_or(energy_kwh).min(energy_kwh);
    // Rounding is no cause.
    if energy_kwh - own_kwh <= SHORTFALL_TOLERANCE_KWH {
        (energy_kwh, 0.0)
    } else if own_kwh <= SHORTFALL_TOLERANCE_KWH {
        (0.0, energy_kwh)
    } else {
        (own_kwh, energy_kwh - own_kwh)
    }
}

/// Energy in kWh that the vehicle would miss alone if all prices of its stay were known, at the
/// deadline with the most missing: of each target what full power from arrival, up to the charge
/// limit, does not reach. `None` for a row in error.
fn own_shortfall_kwh(problem: &AreaProblem<'_>, row: usize) -> Option<f64> {
    let fleet = &problem.vehicles.fleet;
    let vehicle = fleet.vehicle(row).ok()?;
    let reach = |power: Power, to: i64| {
        power.as_kw() * (to.min(vehicle.departure) - vehicle.arrival).max(0) as f64
            / MICROS_PER_HOUR
    };
    if let Some(columns) = battery_columns(problem, row) {
        let battery = Battery::new(columns, fleet, row).ok()?;
        let stored = battery.stored_kwh();
        let gained = battery.stored(reach(battery.row.charge_max, battery.row.to));
        let reached = (stored + gained).min(battery.row.limit_kwh.max(stored));
        return Some((battery.row.target_kwh - reached).max(0.0));
    }
    let limit = charge_limit(problem, row).ok()?.map_or(f64::INFINITY, Energy::as_kwh);
    let missing =
        |energy: Energy, by: i64| energy.as_kwh() - reach(vehicle.power_max, by).min(limit);
    let targets = fleet.targets(row, &vehicle).ok()?;
    let by = |target: &Target| target.by.map_or(vehicle.departure, micros_of);
    let each = targets.iter().map(|target| missing(target.energy, by(target)));
    Some(each.fold(missing(vehicle.reserve, vehicle.departure), f64::max).max(0.0))
}
