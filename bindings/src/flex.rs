//! Flex vehicle policies.
use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use pyo3::prelude::*;
use slackwater_control::policy::flex::{
    DayRequest, FlexPatch, FlexPolicy, FlexRequest, ReserveRule,
};
use slackwater_control::policy::flex_facts::FlexFacts;
use slackwater_control::policy::flex_status::{FlexDeadline, FlexIntent, flex_state};
use slackwater_engine::units::{Energy, Percent, Power};
use slackwater_wire::words::flex_state_name;

use crate::charged::Charged;
use crate::error::{Named, Refused};
use crate::plan::{Plan, planned};
use crate::prices::Prices;
use crate::time::{ClockTime, Instant, time_zone};

/// Longest time of which deadlines are listed: ten years.
const DEADLINES_FOR_MAX: TimeDelta = TimeDelta::days(3_653);

type DayTuple = (Option<ClockTime>, Option<f64>);
type Schedule = BTreeMap<String, DayTuple>;
/// Reserve, schedule, charge limit last seen.
type PolicyTuple = (f64, Schedule, f64);
/// Location of the policy, of the vehicle, plug, state of charge, charge limit.
type FactsTuple = (String, Option<String>, Option<bool>, Option<f64>, Option<f64>);
/// Instant, weekday, wanted, target.
type DeadlineTuple = (DateTime<Utc>, u8, f64, f64);
/// State and its public name, next deadline, whether it is met, reserve, deadlines.
type IntentTuple = (
    &'static str,
    Option<&'static str>,
    Option<DeadlineTuple>,
    Option<bool>,
    f64,
    Vec<DeadlineTuple>,
);
type DayBack = (String, Option<f64>);
type PolicyBack = (f64, BTreeMap<String, DayBack>, f64);

fn schedule(given: Schedule) -> BTreeMap<String, DayRequest> {
    let day = |(deadline, target_percent): DayTuple| {
        let deadline = deadline.map(ClockTime::text);
        DayRequest { deadline, target_percent }
    };
    given.into_iter().map(|(name, wish)| (name, day(wish))).collect()
}

fn request((reserve_percent, days, observed_limit_percent): PolicyTuple) -> FlexRequest {
    FlexRequest { reserve_percent, schedule: schedule(days), observed_limit_percent }
}

fn rule(fixed_percent: Option<f64>) -> Result<ReserveRule, Refused> {
    let fixed = fixed_percent.map(Percent::from_percent).transpose();
    let fixed = fixed.named("fixed_reserve_percent")?;
    Ok(fixed.map_or(ReserveRule::Range, ReserveRule::Fixed))
}

fn percent(value: Option<f64>, name: &str) -> Result<Option<Percent>, Refused> {
    value.map(Percent::from_percent).transpose().named(name)
}

fn facts(given: FactsTuple) -> Result<FlexFacts, Refused> {
    let (policy_location, vehicle_location, is_plugged_in, soc, limit) = given;
    Ok(FlexFacts {
        policy_location,
        vehicle_location,
        is_plugged_in,
        soc: percent(soc, "soc_percent")?,
        charge_limit: percent(limit, "charge_limit_percent")?,
    })
}

fn deadline(found: &FlexDeadline) -> DeadlineTuple {
    (found.at, found.weekday, found.wanted.as_percent(), found.target.as_percent())
}

fn back(policy: &FlexPolicy) -> PolicyBack {
    let FlexRequest { reserve_percent, schedule, observed_limit_percent } = policy.request();
    let day = |day: DayRequest| (day.deadline.unwrap_or_default(), day.target_percent);
    let days = schedule.into_iter().map(|(name, wish)| (name, day(wish))).collect();
    (reserve_percent, days, observed_limit_percent)
}

fn intent_back(intent: &FlexIntent) -> IntentTuple {
    (
        intent.state.as_str(),
        flex_state_name(intent.state),
        intent.next.as_ref().map(deadline),
        intent.is_next_met,
        intent.reserve.as_percent(),
        intent.deadlines.iter().map(deadline).collect(),
    )
}

#[pyfunction]
#[pyo3(signature = (policy, *, fixed_reserve_percent))]
pub(crate) fn flex_check(
    policy: PolicyTuple,
    fixed_reserve_percent: Option<f64>,
) -> Result<(), Refused> {
    FlexPolicy::new(&request(policy), rule(fixed_reserve_percent)?)?;
    Ok(())
}

#[pyfunction]
#[pyo3(signature = (policy, patch, *, fixed_reserve_percent))]
pub(crate) fn flex_patch(
    policy: PolicyTuple,
    patch: (Option<f64>, Schedule),
    fixed_reserve_percent: Option<f64>,
) -> Result<PolicyBack, Refused> {
    let patch = FlexPatch { reserve_percent: patch.0, schedule: schedule(patch.1) };
    let policy = request(policy).patched(&patch, rule(fixed_reserve_percent)?)?;
    Ok(back(&policy))
}

#[pyfunction]
pub(crate) fn flex_observe(policy: PolicyTuple, facts: FactsTuple) -> Result<PolicyBack, Refused> {
    let policy = FlexPolicy::stored(&request(policy))?;
    Ok(back(&policy.observing(&self::facts(facts)?)))
}

#[pyfunction]
#[pyo3(name = "flex_state")]
pub(crate) fn state(
    reserve_percent: f64,
    facts: FactsTuple,
) -> Result<(&'static str, Option<&'static str>), Refused> {
    let reserve = Percent::from_percent(reserve_percent).named("reserve_percent")?;
    let state = flex_state(reserve, &self::facts(facts)?);
    Ok((state.as_str(), flex_state_name(state)))
}

#[pyfunction]
#[pyo3(signature = (policy, *, time_zone, now, until, charge_limit_percent))]
pub(crate) fn flex_deadlines(
    policy: PolicyTuple,
    time_zone: &str,
    now: Instant,
    until: Option<Instant>,
    charge_limit_percent: Option<f64>,
) -> Result<Vec<DeadlineTuple>, Refused> {
    let policy = FlexPolicy::stored(&request(policy))?;
    let zone = self::time_zone(time_zone)?;
    let limit = percent(charge_limit_percent, "charge_limit_percent")?;
    if let Some(until) = until.filter(|until| until.0 - now.0 > DEADLINES_FOR_MAX) {
        let days = DEADLINES_FOR_MAX.num_days();
        let text = format!("until is {}, more than {days} days after now", until.0);
        return Err(Refused::Input(text));
    }
    let found = match until {
        Some(until) => policy.deadlines(zone, now.0, until.0, limit),
        None => policy.next_deadline(zone, now.0, limit).into_iter().collect(),
    };
    Ok(found.iter().map(deadline).collect())
}

#[pyfunction]
#[pyo3(signature = (policy, facts, *, time_zone, now, until))]
pub(crate) fn flex_intent(
    policy: PolicyTuple,
    facts: FactsTuple,
    time_zone: &str,
    now: Instant,
    until: Instant,
) -> Result<IntentTuple, Refused> {
    let policy = FlexPolicy::stored(&request(policy))?;
    let zone = self::time_zone(time_zone)?;
    Ok(intent_back(&policy.intent(&self::facts(facts)?, zone, now.0, until.0)))
}

#[pyfunction]
#[pyo3(signature = (
    prices, policy, facts, *, time_zone, now, power_max_kw, battery, fill_when_negative
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn flex_plan(
    py: Python<'_>,
    prices: &Prices,
    policy: PolicyTuple,
    facts: FactsTuple,
    time_zone: &str,
    now: Instant,
    power_max_kw: f64,
    battery: (f64, f64, Option<f64>),
    fill_when_negative: bool,
) -> Result<(Plan, IntentTuple), Refused> {
    let policy = FlexPolicy::stored(&request(policy))?;
    let zone = self::time_zone(time_zone)?;
    let facts = self::facts(facts)?;
    let power_max = Power::from_kw(power_max_kw).named("power_max_kw")?;
    let until = prices.curve.horizon().end().unwrap_or(now.0);
    let intent = policy.intent(&facts, zone, now.0, until);
    let (capacity, efficiency, fallback) = battery;
    let capacity = Energy::from_kwh(capacity).named("capacity_kwh")?;
    let fallback = percent(fallback, "soc_fallback_percent")?;
    let battery = facts.battery(capacity, efficiency, fallback);
    let vehicle = intent.request(now.0, power_max, battery, fill_when_negative);
    let plan = planned(py, prices, vehicle, Charged::Vehicle)?;
    Ok((plan, intent_back(&intent)))
}
