//! Smart charging policies of vehicles and chargers.
use chrono::{DateTime, TimeDelta, Utc};
use pyo3::prelude::*;
use slackwater_control::policy::charger::{
    ChargerFacts, ChargerPolicy, charger_state, charging_intervals, prices_cover,
};
use slackwater_control::policy::vehicle::{VehiclePolicy, VehiclePolicyRequest};
use slackwater_engine::units::{Percent, Power};
use slackwater_wire::words::{charger_state_name, interval_status_name};

use crate::charged::Charged;
use crate::error::{Named, Refused};
use crate::plan::{BatteryTuple, Plan, after_deadline, battery, planned};
use crate::prices::Prices;
use crate::time::{ClockLength, ClockTime, Instant, time_zone};

/// Whether it is on, deadline, floor.
type VehicleTuple = (bool, Option<ClockTime>, f64);
/// Whether it is on, deadline, duration.
type ChargerTuple = (bool, Option<ClockTime>, Option<ClockLength>);
/// Reachable, plugged in, charging.
type FactsTuple = (Option<bool>, Option<bool>, Option<bool>);
type IntervalTuple = (DateTime<Utc>, DateTime<Utc>, Option<&'static str>);

fn vehicle(given: VehicleTuple, charge_limit: Option<Percent>) -> Result<VehiclePolicy, Refused> {
    let (is_enabled, deadline, minimum_charge_limit_percent) = given;
    let deadline = deadline.map(|deadline| deadline.hour_minute("deadline")).transpose()?;
    let request = VehiclePolicyRequest { is_enabled, deadline, minimum_charge_limit_percent };
    Ok(VehiclePolicy::new(request, charge_limit)?)
}

fn charger(given: ChargerTuple) -> Result<ChargerPolicy, Refused> {
    let (is_enabled, deadline, duration) = given;
    let duration = duration.map(|duration| duration.hour_minute("charging_duration"));
    Ok(ChargerPolicy {
        is_enabled,
        deadline: deadline.map(|deadline| deadline.hour_minute("deadline")).transpose()?,
        charging_duration: duration.transpose()?,
    })
}

#[pyfunction]
#[pyo3(signature = (policy, *, charge_limit_percent))]
pub(crate) fn vehicle_policy_check(
    policy: VehicleTuple,
    charge_limit_percent: Option<f64>,
) -> Result<(), Refused> {
    let limit = charge_limit_percent.map(Percent::from_percent).transpose();
    vehicle(policy, limit.named("charge_limit_percent")?).map(|_| ())
}

#[pyfunction]
#[pyo3(signature = (policy, *, time_zone, now))]
pub(crate) fn vehicle_policy_deadline(
    policy: VehicleTuple,
    time_zone: &str,
    now: Instant,
) -> Result<Option<DateTime<Utc>>, Refused> {
    Ok(vehicle(policy, None)?.next_deadline(self::time_zone(time_zone)?, now.0))
}

#[pyfunction]
#[pyo3(signature = (prices, policy, *, now, by, power_max_kw, battery, after_deadline))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn policy_plan_vehicle(
    py: Python<'_>,
    prices: &Prices,
    policy: VehicleTuple,
    now: Instant,
    by: Option<Instant>,
    power_max_kw: f64,
    battery: BatteryTuple,
    after_deadline: &str,
) -> Result<Plan, Refused> {
    let battery = self::battery(battery)?;
    let policy = vehicle(policy, Some(battery.charge_limit))?;
    let power_max = Power::from_kw(power_max_kw).named("power_max_kw")?;
    let mut request = policy.request(now.0, by.map(|by| by.0), power_max, battery);
    request.after_deadline = self::after_deadline(after_deadline)?;
    planned(py, prices, request, Charged::Vehicle)
}

#[pyfunction]
#[pyo3(signature = (policy, *, time_zone, now))]
pub(crate) fn charger_deadline(
    policy: ChargerTuple,
    time_zone: &str,
    now: Instant,
) -> Result<Option<DateTime<Utc>>, Refused> {
    Ok(charger(policy)?.next_deadline(self::time_zone(time_zone)?, now.0))
}

#[pyfunction]
#[pyo3(signature = (prices, policy, *, now, by, charged))]
pub(crate) fn policy_plan_charger(
    py: Python<'_>,
    prices: &Prices,
    policy: ChargerTuple,
    now: Instant,
    by: Option<Instant>,
    charged: TimeDelta,
) -> Result<Plan, Refused> {
    let request = charger(policy)?.request(now.0, by.map(|by| by.0), charged);
    planned(py, prices, request, Charged::Charge)
}

fn facts(
    is_enabled: bool,
    (is_reachable, is_plugged_in, is_charging): FactsTuple,
    prices: &Prices,
    now: Instant,
    by: Option<Instant>,
) -> ChargerFacts {
    let are_prices_known = prices_cover(&prices.curve, now.0, by.map(|by| by.0));
    ChargerFacts { is_enabled, is_reachable, is_plugged_in, is_charging, are_prices_known }
}

#[pyfunction]
#[pyo3(signature = (prices, is_enabled, facts, *, now, by))]
pub(crate) fn policy_charger_state(
    prices: &Prices,
    is_enabled: bool,
    facts: FactsTuple,
    now: Instant,
    by: Option<Instant>,
) -> &'static str {
    charger_state_name(charger_state(self::facts(is_enabled, facts, prices, now, by)))
}

#[pyfunction]
#[pyo3(signature = (prices, policy, facts, *, now, by, charged))]
pub(crate) fn charger_status(
    py: Python<'_>,
    prices: &Prices,
    policy: ChargerTuple,
    facts: FactsTuple,
    now: Instant,
    by: Option<Instant>,
    charged: TimeDelta,
) -> Result<(&'static str, Vec<IntervalTuple>), Refused> {
    let is_enabled = policy.0;
    let state = charger_state(self::facts(is_enabled, facts, prices, now, by));
    let plan = policy_plan_charger(py, prices, policy, now, by, charged)?;
    let intervals = charging_intervals(plan.intended(), state, now.0);
    let interval = |interval: slackwater_control::policy::charger::ChargingInterval| {
        (interval.start, interval.end, interval.status.map(interval_status_name))
    };
    Ok((charger_state_name(state), intervals.into_iter().map(interval).collect()))
}
