//! Certificate of a vehicle that only charges, at the prices of its area.
use crate::area::model::sessions::charge_limit;
use crate::area::verification::vehicle_at_prices::{
    NoCertificate, ProvedBound, VehicleAtPrices, curve_of_known,
};
use crate::batch::charge::request_of_row;
use crate::columns::row_error::RowError;
use crate::plan::charge::greedy::plan_charge;
use crate::plan::charge::request::{ChargeProblem, ChargeRequest, Target};
use crate::plan::charge::verify::verify;
use crate::plan::verification::Stated;
use crate::time::instant::{instant_at, micros_of};
use crate::tolerance::SHORTFALL_TOLERANCE_KWH;
use crate::units::{Energy, MICROS_PER_HOUR};

/// Proves a bound on the cost of delivering what the plan delivers by each deadline.
///
/// The reserve counts as a deadline at the instant at which full power from arrival reaches it.
pub(crate) fn prove_charging(vehicle: &VehicleAtPrices<'_>) -> Result<ProvedBound, NoCertificate> {
    let fleet = &vehicle.problem.vehicles.fleet;
    let mut request = request_of_row(fleet, None, vehicle.row)?;
    let mut proved = ProvedBound::default();
    proved.failed.extend(broken_promises(vehicle, &request)?);
    request.targets = deliveries(vehicle, &request);
    request.reserve = Energy::ZERO;
    let curve = curve_of_known(vehicle.horizon(), &vehicle.import)?;
    let problem = ChargeProblem::new(request).map_err(RowError::from)?;
    let plan = plan_charge(&curve, &problem);
    let certificate = &plan.certificate;
    let stated = Stated {
        cost: certificate.cost.as_amount(),
        bound: certificate.bound.as_amount(),
        gap: certificate.gap().as_amount(),
        is_proved: certificate.is_proved(),
    };
    let checks = verify(&plan.slots, &certificate.evidence, stated);
    let failing = checks.into_iter().filter(|check| !check.holds());
    proved.failed.extend(failing.map(|check| format!("certificate.{}", check.line)));
    proved.bound = stated.bound;
    proved.rounding = vehicle.price_size() * 2.0 * vehicle.taken.rounding_kwh;
    Ok(proved)
}

/// Deadlines of a request before its last instant, in microseconds since 1970, with the energy
/// wanted in kWh. The reserve is one of them.
fn deadlines(vehicle: &VehicleAtPrices<'_>, request: &ChargeRequest) -> Vec<(i64, f64)> {
    let arrival = micros_of(request.now);
    let departure = request.until.map_or(i64::MAX, micros_of);
    let by = |target: &Target| target.by.map_or(departure, micros_of).clamp(arrival, departure);
    let mut wanted: Vec<(i64, f64)> =
        request.targets.iter().map(|target| (by(target), target.energy.as_kwh())).collect();
    if request.reserve > Energy::ZERO {
        wanted.push((reserve_deadline(vehicle, request), request.reserve.as_kwh()));
    }
    wanted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    wanted
}

/// Instant at which full power from arrival reaches the reserve, in microseconds since 1970; the
/// end of the last usable slot if it never does.
fn reserve_deadline(vehicle: &VehicleAtPrices<'_>, request: &ChargeRequest) -> i64 {
    let horizon = vehicle.horizon();
    let arrival = micros_of(request.now);
    let departure = request.until.map_or(i64::MAX, micros_of);
    let mut left = request.reserve.as_kwh();
    let mut reached = arrival;
    for slot in horizon.overlapping(arrival, departure) {
        if left <= 0.0 {
            break;
        }
        if !vehicle.import[slot].is_nan() {
            let start = horizon.starts()[slot].max(arrival);
            let end = horizon.ends()[slot].min(departure);
            let micros = request.power_max.micros_for_kwh(left);
            reached = end.min(start.saturating_add(micros.min(1e18).ceil() as i64));
            left -= request.power_max.over_micros(end - start).as_kwh();
        }
    }
    reached
}

/// Targets that the plan meets: at each deadline the wanted energy, or what the plan delivers if
/// that is less. An energy wanted earlier is wanted later, too.
fn deliveries(vehicle: &VehicleAtPrices<'_>, request: &ChargeRequest) -> Vec<Target> {
    let mut most = 0.0f64;
    let target = |(by, wanted): (i64, f64)| {
        most = most.max(wanted);
        let delivered = most.min(vehicle.taken.energy_by(by)).max(0.0);
        // A sum of energies of one vehicle is an energy.
        let energy = Energy::from_kwh(delivered).unwrap_or(Energy::ZERO);
        Target { by: Some(instant_at(by)), energy }
    };
    deadlines(vehicle, request).into_iter().map(target).collect()
}

/// Names of the promises that the plan does not keep: energy that is missing although the plan does
/// not say so, a late reserve, and energy beyond what is wanted.
fn broken_promises(
    vehicle: &VehicleAtPrices<'_>,
    request: &ChargeRequest,
) -> Result<Vec<String>, RowError> {
    let taken = vehicle.taken;
    let tolerance = SHORTFALL_TOLERANCE_KWH + taken.rounding_kwh;
    let limit = charge_limit(vehicle.problem, vehicle.row)?.map_or(f64::INFINITY, Energy::as_kwh);
    let departure = request.until.map_or(i64::MAX, micros_of);
    let missing = request.targets.iter().map(|target| {
        let by = target.by.map_or(departure, micros_of).min(departure);
        target.energy.as_kwh() - taken.energy_by(by)
    });
    let missing = missing.fold(0.0, f64::max);
    let reserve = request.reserve.as_kwh();
    let is_late = reserve > 0.0 && {
        let by = reserve_deadline(vehicle, request);
        // A stay that is too short for the reserve misses a part of it at full power.
        let arrival = micros_of(request.now);
        let reachable = request.power_max.as_kw() * (by - arrival) as f64 / MICROS_PER_HOUR;
        taken.energy_by(by) < reserve.min(reachable).min(limit) - tolerance
    };
    let wanted = request.targets.iter().map(|target| target.energy.as_kwh());
    let wanted = wanted.fold(reserve, f64::max).min(limit);
    let rules = [
        ("targets", missing <= vehicle.unmet_kwh + tolerance),
        ("reserve", !is_late || vehicle.is_late || vehicle.unmet_kwh > 0.0),
        ("energy_kwh", taken.charged_kwh() <= wanted + tolerance),
    ];
    Ok(rules.into_iter().filter(|(_, holds)| !holds).map(|(name, _)| name.to_owned()).collect())
}
