//! Certificate of a vehicle that also discharges, at the prices of its area.
use crate::area::model::battery::Battery;
use crate::area::problem::area_problem::StorageColumns;
use crate::area::verification::vehicle_at_prices::{
    NoCertificate, ProvedBound, VehicleAtPrices, curve_of_known,
};
use crate::columns::row_error::RowError;
use crate::plan::charge::vehicle::{Battery as Cell, SocTarget};
use crate::plan::storage::plan::StoragePlan;
use crate::plan::storage::planner::plan_storage;
use crate::plan::storage::request::{StorageLimit, StorageProblem, StorageRequest};
use crate::plan::storage::verify::verify;
use crate::plan::verification::Stated;
use crate::time::instant::instant_at;
use crate::tolerance::SHORTFALL_TOLERANCE_KWH;
use crate::units::{Energy, MICROS_PER_HOUR, Percent, Price};

/// Levels of a plan at the ends of the slots of its stay, and the cost of the plan.
struct Levels {
    /// Slot and stored energy at its end, in kWh.
    each: Vec<(usize, f64)>,
    /// Cost at the prices of the area, wear and the value of what is stored included.
    cost: f64,
}

/// Cost of the plan of a battery, with wear and the value of what is stored.
pub(crate) fn cost_of_battery(
    vehicle: &VehicleAtPrices<'_>,
    columns: &StorageColumns<'_>,
) -> Result<f64, RowError> {
    let battery = Battery::new(columns, &vehicle.problem.vehicles.fleet, vehicle.row)?;
    Ok(follow_levels(vehicle, &battery).cost)
}

/// Proves a bound on the cost of every plan that ends at the level of this plan, or at the target
/// if that is lower, and holds the reserve from where this plan holds it. Also returns the cost of
/// the plan.
pub(crate) fn prove_battery(
    vehicle: &VehicleAtPrices<'_>,
    columns: &StorageColumns<'_>,
) -> Result<(f64, ProvedBound), NoCertificate> {
    let fleet = &vehicle.problem.vehicles.fleet;
    let battery = Battery::new(columns, fleet, vehicle.row)?;
    let levels = follow_levels(vehicle, &battery);
    let kept_from = reserve_kept_from(vehicle, &battery, &levels);
    let mut proved = ProvedBound {
        failed: broken_levels(vehicle, &battery, &levels, kept_from > 0),
        ..ProvedBound::default()
    };
    let request = request_of_battery(vehicle, &battery, &levels, kept_from)?;
    let import = curve_of_known(vehicle.horizon(), &vehicle.import)?;
    let export = vehicle.export.as_ref().map(|prices| curve_of_known(vehicle.horizon(), prices));
    let problem = StorageProblem::new(request).map_err(RowError::from)?;
    let plan = plan_storage(&import, export.transpose()?.as_ref(), &problem);
    proved.failed.extend(failing_lines(&plan));
    proved.bound = plan.certificate.bound.as_amount();
    // A target that is missed by less than the tolerance counts as met.
    let programme = &battery.programme;
    let price = vehicle.price_size() / programme.efficiency_charge
        + programme.wear_per_kwh
        + programme.end_value_per_kwh.abs();
    proved.rounding = price * (SHORTFALL_TOLERANCE_KWH + 2.0 * vehicle.taken.rounding_kwh);
    Ok((levels.cost, proved))
}

/// Lines of the certificate of a battery that do not hold.
fn failing_lines(plan: &StoragePlan) -> impl Iterator<Item = String> {
    let certificate = &plan.certificate;
    let stated = Stated {
        cost: certificate.cost.as_amount(),
        bound: certificate.bound.as_amount(),
        gap: certificate.gap().as_amount(),
        is_proved: certificate.is_proved(),
    };
    let by_values = certificate.bound_by_values.as_amount();
    let checks = verify(&plan.slots, &certificate.evidence, by_values, stated);
    let failing = checks.into_iter().filter(|check| !check.holds());
    failing.map(|check| format!("certificate.{}", check.line))
}

/// Follows the stored energy of a plan, and adds up what it costs.
fn follow_levels(vehicle: &VehicleAtPrices<'_>, battery: &Battery) -> Levels {
    let programme = &battery.programme;
    let (mut stored, mut cost) = (battery.stored_kwh(), 0.0);
    let mut next = vehicle.taken.each.iter().peekable();
    let horizon = vehicle.horizon();
    let mut each = Vec::new();
    for slot in horizon.overlapping(battery.row.from, battery.row.to) {
        if let Some(&(_, kwh)) = next.next_if(|(at, _)| *at == slot) {
            let (change, paid) = if kwh > 0.0 {
                (kwh * programme.efficiency_charge, vehicle.import[slot] * kwh)
            } else {
                let out = kwh / programme.efficiency_discharge;
                let export = vehicle.export.as_ref().map_or(f64::NAN, |export| export[slot]);
                (out, export * kwh - programme.wear_per_kwh * out)
            };
            stored += change;
            // Energy without a price is a broken rule.
            let paid = if paid.is_nan() { 0.0 } else { paid };
            cost += paid - programme.end_value_per_kwh * change;
        }
        each.push((slot, stored));
    }
    Levels { each, cost }
}

/// Position among the slots of the stay from whose end on a plan holds the reserve, or what full
/// power reaches of it by then.
fn reserve_kept_from(vehicle: &VehicleAtPrices<'_>, battery: &Battery, levels: &Levels) -> usize {
    let (row, horizon) = (&battery.row, vehicle.horizon());
    let mut reach = battery.stored_kwh();
    let mut from = 0;
    for (position, &(slot, level)) in levels.each.iter().enumerate() {
        if !vehicle.import[slot].is_nan() {
            let start = horizon.starts()[slot].max(row.from);
            let micros = horizon.ends()[slot].min(row.to) - start;
            let gain = row.charge_max.as_kw() * micros as f64 / MICROS_PER_HOUR
                * battery.programme.efficiency_charge;
            reach = reach.max((reach + gain).min(row.limit_kwh));
        }
        if level < row.reserve_kwh.min(reach) - SHORTFALL_TOLERANCE_KWH {
            from = position + 1;
        }
    }
    from
}

/// Names of the rules that levels break: below empty or above the charge limit, a target that is
/// missed although the plan does not say so, and a late reserve.
fn broken_levels(
    vehicle: &VehicleAtPrices<'_>,
    battery: &Battery,
    levels: &Levels,
    is_late: bool,
) -> Vec<String> {
    let start = battery.stored_kwh();
    let tolerance = SHORTFALL_TOLERANCE_KWH + vehicle.taken.rounding_kwh;
    let most = battery.row.limit_kwh.max(start) + tolerance;
    let is_within = levels.each.iter().all(|(_, level)| (-tolerance..=most).contains(level));
    let end = levels.each.last().map_or(start, |last| last.1);
    let rules = [
        ("soc_percent", is_within),
        ("targets", battery.row.target_kwh - end <= vehicle.unmet_kwh + tolerance),
        ("reserve", !is_late || vehicle.is_late),
    ];
    rules.into_iter().filter(|(_, holds)| !holds).map(|(name, _)| name.to_owned()).collect()
}

/// Request of the battery alone, with the levels that this plan reaches.
fn request_of_battery(
    vehicle: &VehicleAtPrices<'_>,
    battery: &Battery,
    levels: &Levels,
    kept_from: usize,
) -> Result<StorageRequest, RowError> {
    let (row, programme) = (&battery.row, &battery.programme);
    let quantity = |column| move |source| RowError::NotAQuantity { column, source };
    let capacity = Energy::from_kwh(programme.capacity_kwh).map_err(quantity("capacity_kwh"))?;
    let percent = |kwh: f64, column| {
        let share = (100.0 * kwh / programme.capacity_kwh).clamp(0.0, 100.0);
        Percent::from_percent(share).map_err(quantity(column))
    };
    let price = |price: f64, column| Price::from_per_kwh(price).map_err(quantity(column));
    let reserve = percent(row.reserve_kwh, "reserve_percent")?;
    let cell = Cell {
        capacity,
        soc: Some(percent(battery.stored_kwh(), "soc_percent")?),
        soc_fallback: None,
        charge_limit: percent(row.limit_kwh, "charge_limit_percent")?,
        efficiency: programme.efficiency_charge,
    };
    let (from, to) = (instant_at(row.from), instant_at(row.to));
    let mut request = StorageRequest::new(from, cell, row.charge_max);
    request.until = Some(to);
    request.discharge_max = row.discharge_max;
    request.efficiency_discharge = programme.efficiency_discharge;
    request.end_value = Some(price(programme.end_value_per_kwh, "end_value_per_kwh")?);
    request.wear_price = price(programme.wear_per_kwh, "wear_price_per_kwh")?;
    // A target below the level on arrival keeps the battery from being sold below it.
    let end = levels.each.last().map_or(battery.stored_kwh(), |last| last.1);
    let target = percent(row.target_kwh.min(end), "target_percent")?;
    request.targets.push(SocTarget { by: Some(to), soc: Some(target) });
    match kept_from.checked_sub(1).and_then(|last| levels.each.get(last)) {
        None => request.reserve = reserve,
        // A reserve that is late holds from the end of the slot after the last one that misses it.
        Some(&(slot, _)) => {
            let next = (slot + 1).min(vehicle.horizon().len() - 1);
            let start = instant_at(vehicle.horizon().ends()[next].min(row.to));
            if start < to {
                let (charge_max, discharge_max, soc_max) = (None, None, None);
                let soc_min = Some(reserve);
                let held =
                    StorageLimit { start, end: to, charge_max, discharge_max, soc_min, soc_max };
                request.limits.push(held);
            }
        }
    }
    Ok(request)
}
