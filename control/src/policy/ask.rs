//! Plan requests: conversion of a policy and a device's state into a request for a plan, and the
//! time of the next review.
use chrono::{DateTime, TimeDelta, Timelike, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::device::command::Switch;
use crate::policy::assumptions::Assumptions;
use crate::policy::charger::{ChargerPolicy, prices_cover};
use crate::policy::cycle::{Commitment, Cycle, Observation, START_TIMEOUT};
use crate::policy::flex::FlexPolicy;
use crate::policy::flex_facts::FlexFacts;
use crate::policy::flex_status::{FlexState, flex_state};
use crate::policy::switch::on_since;
use crate::policy::vehicle::VehiclePolicy;
use slackwater_engine::Interval;
use slackwater_engine::plan::charge::{Battery, SocTarget, VehicleRequest};
use slackwater_engine::plan::record::PlanRequest;
use slackwater_engine::plan::record::PlanSummary;
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::units::{Energy, Percent, Power};
use slackwater_engine::words;

/// Shortest remaining time for which a charger that is off is started: switching takes time.
const REST_IGNORED: TimeDelta = TimeDelta::minutes(2);

/// A plan is not looked at again sooner.
const PAUSE: TimeDelta = TimeDelta::minutes(1);

/// A state of charge that fell by more than so many points was driven down.
const DRIVEN_POINTS: f64 = 2.0;

/// Horizon of plans: the week of a weekly schedule.
const AHEAD: TimeDelta = TimeDelta::days(7);

/// Policy of a device, of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum DevicePolicy {
    /// Smart charging of a charger.
    Charger(ChargerPolicy),
    /// Smart charging of a vehicle.
    Vehicle(VehiclePolicy),
    /// A flex policy of a vehicle.
    Flex {
        /// The policy.
        policy: FlexPolicy,
        /// Location at which it applies.
        location: String,
    },
}

/// Known facts of a device; `None` is unknown.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeviceFacts {
    /// True if the device responds.
    pub is_reachable: Option<bool>,
    /// True if a plug is in.
    pub is_plugged_in: Option<bool>,
    /// True if it charges.
    pub is_charging: Option<bool>,
    /// True if the vehicle reports that it is full.
    pub is_fully_charged: Option<bool>,
    /// State of charge.
    pub soc: Option<Percent>,
    /// State of charge at which the vehicle stops charging; unknown counts as full.
    pub charge_limit: Option<Percent>,
    /// Usable capacity.
    pub capacity: Option<Energy>,
    /// Highest power.
    pub power_max: Option<Power>,
    /// Power when the device was last seen to charge at this plug, if it was clearly less than
    /// allowed. A change of it alone causes no new plan.
    pub power_last: Option<Power>,
    /// The location that it is at.
    pub location: Option<String>,
    /// True if the device may be woken when it sleeps.
    pub may_be_woken: Option<bool>,
}

words! {
    /// Reason why a device has no plan.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum NoRequest {
        /// Its policy is off.
        Off = "off",
        /// The charger does not answer.
        NotReachable = "not_reachable",
        /// No plug is known to be in.
        NotPluggedIn = "not_plugged_in",
        /// The device is not at the location of its policy.
        Away = "away",
        /// The policy states no energy or duration.
        NothingAsked = "nothing_asked",
        /// The state of charge is unknown.
        SocUnknown = "soc_unknown",
        /// The capacity of the battery is unknown.
        CapacityUnknown = "capacity_unknown",
        /// Prices are not known, or not far enough.
        AwaitingPrices = "awaiting_prices",
        /// The present price is unknown, and the vehicle is charged because it is below the state
        /// of charge to be reached at any price.
        ReserveAtAnyPrice = "reserve_at_any_price",
    }
}

impl NoRequest {
    /// Returns the order for a device without a plan; `None` is no order.
    ///
    /// A device that waits for the prices of its next deadline, after the previous one was met in
    /// the same stay, does not continue to charge at unknown prices.
    #[must_use]
    pub fn switch(self, cycle: Option<&Cycle>) -> Option<Switch> {
        match self {
            Self::ReserveAtAnyPrice => Some(Switch::Start),
            Self::AwaitingPrices => {
                cycle.is_some_and(|cycle| cycle.is_further).then_some(Switch::Stop)
            }
            _ => None,
        }
    }
}

/// Cause of a new plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// The policy is new or changed.
    #[serde(rename = "policy")]
    Policy,
    /// A plug went in.
    #[serde(rename = "plugged_in")]
    PluggedIn,
    /// A plug was pulled.
    #[serde(rename = "unplugged")]
    Unplugged,
    /// Another input of plans was read with a new value.
    #[serde(rename = "reading")]
    Reading,
    /// Prices changed.
    #[serde(rename = "prices")]
    Prices,
    /// A deadline passed, or a period of charging ended, and its result is reviewed.
    #[serde(rename = "review")]
    Review,
}

impl Cause {
    /// Returns true if only the device was observed: policies and prices are unchanged.
    #[must_use]
    pub const fn is_look(self) -> bool {
        match self {
            Self::Reading | Self::Review => true,
            Self::Policy | Self::PluggedIn | Self::Unplugged | Self::Prices => false,
        }
    }
}

/// Window of prices for a plan made `now`: from the start of the present hour, whose slots stay
/// whole, to a week ahead.
#[must_use]
pub fn price_window(now: DateTime<Utc>) -> (DateTime<Utc>, DateTime<Utc>) {
    let hour = now.with_minute(0).and_then(|at| at.with_second(0));
    let hour = hour.and_then(|at| at.with_nanosecond(0)).unwrap_or(now);
    (hour, hour.checked_add_signed(AHEAD).unwrap_or(hour))
}

/// Cause of a new plan after a change of the facts; `None` if no input of plans changed.
#[must_use]
pub fn managing_policy(before: &DeviceFacts, after: &DeviceFacts) -> Option<Cause> {
    let plug = (before.is_plugged_in == Some(true), after.is_plugged_in == Some(true));
    // A state of charge that falls means a drive. One that rises is the effect of a plan.
    let fell = before
        .soc
        .zip(after.soc)
        .is_some_and(|(before, after)| before.as_percent() - after.as_percent() > DRIVEN_POINTS);
    let is_other = before.is_reachable != after.is_reachable
        || before.is_charging != after.is_charging
        || before.is_fully_charged != after.is_fully_charged
        || before.soc.is_some() != after.soc.is_some()
        || before.charge_limit != after.charge_limit
        || before.capacity != after.capacity
        || before.power_max != after.power_max
        || before.location != after.location
        || before.may_be_woken != after.may_be_woken;
    // The plug is named first: other facts usually change along with it.
    match plug {
        (false, true) => Some(Cause::PluggedIn),
        (true, false) => Some(Cause::Unplugged),
        _ => (fell || is_other).then_some(Cause::Reading),
    }
}

/// Position of the policy that counts among several of one device: the first in force, else the
/// first; `None` without a policy. Pass flex policies before smart charging.
pub fn first_in_force<'a>(
    policies: impl IntoIterator<Item = &'a DevicePolicy>,
    known: &DeviceFacts,
) -> Option<usize> {
    let mut is_any = false;
    for (index, policy) in policies.into_iter().enumerate() {
        if policy.is_in_force(known) {
            return Some(index);
        }
        is_any = true;
    }
    is_any.then_some(0)
}

impl DeviceFacts {
    /// State of charge; the charge limit if the vehicle reports that it is full.
    fn soc(&self) -> Option<Percent> {
        if self.is_fully_charged == Some(true) { Some(self.limit()) } else { self.soc }
    }

    fn limit(&self) -> Percent {
        self.charge_limit.unwrap_or(Percent::FULL)
    }

    /// A vehicle that sleeps and may not be woken is out of reach for the rest of
    /// its stay: all that it is to reach, it is to reach at once.
    fn while_awake(&self, request: VehicleRequest) -> VehicleRequest {
        if self.may_be_woken != Some(false) {
            return request;
        }
        let wanted = request.targets.iter().map(|target| target.soc.unwrap_or(self.limit()));
        VehicleRequest { reserve: wanted.fold(request.reserve, Percent::max), ..request }
    }

    /// Returns true if the device charges, or the previous plan ordered it to: a recent order
    /// does not show in readings yet.
    #[must_use]
    pub fn is_on(&self, before: Option<&PlanSummary>, now: DateTime<Utc>) -> bool {
        let told = before.and_then(|before| on_since(&before.intervals, now));
        self.is_charging == Some(true) || told.is_some()
    }

    /// Observation for a cycle, under the previous plan.
    ///
    /// The state of a device that is out of reach is the last one that it reported. It counts as not
    /// charging: a charger may have returned to a safe limit since, and nobody sees it.
    fn sight(&self, told: &[Interval], now: DateTime<Utc>) -> Observation {
        let is_charging = self.is_charging == Some(true) && self.is_reachable != Some(false);
        let told_since = on_since(told, now).filter(|_| self.is_reachable == Some(true));
        Observation { is_plugged_in: self.is_plugged_in, is_charging, told_since }
    }

    /// Facts for a flex policy at a location.
    #[must_use]
    pub fn flex_facts(&self, location: &str) -> FlexFacts {
        FlexFacts {
            policy_location: location.to_owned(),
            vehicle_location: self.location.clone(),
            is_plugged_in: self.is_plugged_in,
            soc: self.soc(),
            charge_limit: self.charge_limit,
        }
    }

    /// The battery, or why it cannot be planned for.
    fn battery(&self, assumed: &Assumptions) -> Result<Battery, NoRequest> {
        let soc = self.soc();
        // Refused here, because an unknown state of charge is never taken for empty.
        let _: Percent = soc.or(assumed.soc).ok_or(NoRequest::SocUnknown)?;
        Ok(Battery {
            capacity: self.capacity.or(assumed.capacity).ok_or(NoRequest::CapacityUnknown)?,
            soc,
            soc_fallback: assumed.soc,
            charge_limit: self.limit(),
            efficiency: assumed.efficiency,
        })
    }
}

impl DevicePolicy {
    /// Returns true if the policy is switched on. A flex policy always is.
    #[must_use]
    pub const fn is_enabled(&self) -> bool {
        match self {
            Self::Charger(policy) => policy.is_enabled,
            Self::Vehicle(policy) => policy.is_enabled(),
            Self::Flex { .. } => true,
        }
    }

    /// Returns true if the policy controls the device: it is on, and the device is at its
    /// location.
    #[must_use]
    pub fn is_in_force(&self, known: &DeviceFacts) -> bool {
        match self {
            Self::Flex { location, .. } => known.location.as_ref() == Some(location),
            other => other.is_enabled(),
        }
    }

    /// Commitment of the policy for its next deadline after an instant.
    #[must_use]
    pub fn promise(&self, zone: Tz, at: DateTime<Utc>, known: &DeviceFacts) -> Option<Commitment> {
        let at_limit = |by| Commitment { by, target: None };
        match self {
            Self::Charger(policy) => policy.next_deadline(zone, at).map(at_limit),
            Self::Vehicle(policy) => policy.next_deadline(zone, at).map(at_limit),
            Self::Flex { policy, .. } => {
                let next = policy.next_deadline(zone, at, known.charge_limit)?;
                Some(Commitment { by: next.at, target: Some(next.target) })
            }
        }
    }

    /// The cycle of the device at a look at it, from the cycle and the plan before.
    ///
    /// With `is_new` the policy is another than that of the cycle before, and
    /// the deadline is the next one of the new policy.
    #[must_use]
    pub fn cycle(
        &self,
        (before, told): (Option<Cycle>, &[Interval]),
        known: &DeviceFacts,
        zone: Tz,
        now: DateTime<Utc>,
        is_new: bool,
    ) -> Option<Cycle> {
        // The cycle of a policy that is not in force is not continued.
        let before = before.filter(|_| self.is_in_force(known));
        let promise = before.and_then(|cycle| cycle.promise);
        let is_kept = promise.is_none_or(|promise| self.is_kept(promise, known));
        let next = |at| self.promise(zone, at, known);
        let cycle = Cycle::after_observation(before, known.sight(told, now), now, is_kept, next)?;
        Some(if is_new { cycle.promising(next(now)) } else { cycle })
    }

    /// Time of the next review of a plan without other events: its deadline, and each end of
    /// charging. A charger's plan is also reviewed soon after a start, to see whether the vehicle
    /// charges; if it did not, it is started once more.
    #[must_use]
    pub fn review_at(
        &self,
        cycle: Option<&Cycle>,
        summary: Option<&PlanSummary>,
        now: DateTime<Utc>,
    ) -> Option<DateTime<Utc>> {
        let deadline = cycle.and_then(|cycle| cycle.promise).map(|promise| promise.by);
        let intervals = summary.map_or([].as_slice(), |summary| &summary.intervals);
        let ends = intervals.iter().map(|interval| interval.end);
        // A start shows in the readings by then, or the vehicle has declined it.
        let heeded = |interval: &Interval| interval.start.checked_add_signed(START_TIMEOUT);
        let asked = cycle.and_then(Cycle::asked_again_at).into_iter();
        let asked = asked.chain(intervals.iter().filter_map(heeded));
        let is_charger = matches!(self, Self::Charger(_));
        let times = deadline.into_iter().chain(ends).chain(asked.filter(|_| is_charger));
        let first = times.filter(|at| now < *at).min()?;
        // The pause keeps times that lie close together from causing one review each.
        Some(first.max(now.checked_add_signed(PAUSE).unwrap_or(now)))
    }

    /// Returns true if a due commitment was met. A charger's always counts as met, because its
    /// cycle ends with the deadline; unknown counts as met.
    fn is_kept(&self, promise: Commitment, known: &DeviceFacts) -> bool {
        let reached =
            |target: Percent| known.soc().is_none_or(|soc| soc >= target.min(known.limit()));
        match self {
            Self::Charger(_) => true,
            Self::Vehicle(_) | Self::Flex { .. } => {
                reached(promise.target.unwrap_or(Percent::FULL))
            }
        }
    }

    /// Request of the policy for a plan made `now`, or the reason why there is none.
    ///
    /// # Errors
    /// There is nothing to plan.
    pub fn plan_request(
        &self,
        known: &DeviceFacts,
        cycle: Option<&Cycle>,
        zone: Tz,
        now: DateTime<Utc>,
        curve: &PriceCurve,
        assumed: &Assumptions,
    ) -> Result<PlanRequest, NoRequest> {
        if !self.is_enabled() {
            return Err(NoRequest::Off);
        }
        let promise = cycle.and_then(|cycle| cycle.promise);
        let by = promise.map(|promise| promise.by);
        let power_max = known.power_max.unwrap_or(assumed.power_max);
        match self {
            Self::Charger(policy) => ask_charger(*policy, known, cycle, by, now, curve),
            Self::Vehicle(policy) => {
                plugged_in(known)?;
                let battery = known.battery(assumed)?;
                priced(curve, now, known, policy.minimum())?;
                Ok(PlanRequest::Vehicle(
                    known.while_awake(policy.request(now, by, power_max, battery)),
                ))
            }
            Self::Flex { policy, location } => {
                let facts = known.flex_facts(location);
                // A plug elsewhere does not count, so the place is checked before the plug.
                let state = flex_state(policy.reserve(), &facts);
                if state == FlexState::Unavailable {
                    return Err(NoRequest::Away);
                }
                plugged_in(known)?;
                let battery = known.battery(assumed)?;
                priced(curve, now, known, policy.reserve())?;
                // Deadlines count up to the end of the known prices; the next one counts in any
                // case.
                let until = curve.horizon().end().unwrap_or(now);
                let intent = policy.intent(&facts, zone, now, until);
                let mut wish = intent.request(now, power_max, battery, assumed.fill_when_negative);
                // Charging continues for a deadline that was missed.
                let late = promise.filter(|promise| promise.by <= now);
                wish.targets
                    .extend(late.map(|late| SocTarget { by: Some(late.by), soc: late.target }));
                Ok(PlanRequest::Vehicle(known.while_awake(wish)))
            }
        }
    }
}

fn plugged_in(known: &DeviceFacts) -> Result<(), NoRequest> {
    if known.is_plugged_in == Some(true) { Ok(()) } else { Err(NoRequest::NotPluggedIn) }
}

/// Checks the prices for a plan. A vehicle below `at_once` needs the present price, others any
/// price from now on.
fn priced(
    curve: &PriceCurve,
    now: DateTime<Utc>,
    known: &DeviceFacts,
    at_once: Percent,
) -> Result<(), NoRequest> {
    let is_low = known.soc().is_some_and(|soc| soc < at_once.min(known.limit()));
    if is_low && curve.price_at(now).is_none() {
        Err(NoRequest::ReserveAtAnyPrice)
    } else if prices_cover(curve, now, None) {
        Ok(())
    } else {
        Err(NoRequest::AwaitingPrices)
    }
}

fn ask_charger(
    policy: ChargerPolicy,
    known: &DeviceFacts,
    cycle: Option<&Cycle>,
    by: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
    curve: &PriceCurve,
) -> Result<PlanRequest, NoRequest> {
    if known.is_reachable != Some(true) {
        return Err(NoRequest::NotReachable);
    }
    plugged_in(known)?;
    if !prices_cover(curve, now, by) {
        return Err(NoRequest::AwaitingPrices);
    }
    let length = policy.charging_duration.ok_or(NoRequest::NothingAsked)?.length();
    let charged = cycle.map_or(TimeDelta::zero(), |cycle| cycle.charged);
    // A remainder of this length is not worth another start.
    let is_too_little = known.is_charging != Some(true) && length - charged < REST_IGNORED;
    // A vehicle that declined to start is not ordered again before its pause is over.
    let is_left_alone = cycle.is_some_and(|cycle| cycle.has_declined(now));
    // In both cases all of the time counts as charged, so that the plan is empty.
    let charged = if is_too_little || is_left_alone { length } else { charged };
    Ok(PlanRequest::Charge(policy.request(now, by, charged)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::charger::ChargerPolicy;
    use crate::policy::flex::ReserveRule;
    use crate::policy::flex::tests::{curve_of, request};
    use crate::policy::vehicle::VehiclePolicyRequest;
    use slackwater_engine::plan::charge::{ChargeRequest, Target};
    use slackwater_engine::plan::record::PlanRecord;
    use slackwater_engine::time::hour_minute::HourMinute;
    use slackwater_engine::units::{kw, kwh, percent};

    fn at(hour: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(hour)
    }

    fn clock(text: &str) -> HourMinute {
        HourMinute::parse(text).unwrap()
    }

    fn charger(duration: Option<HourMinute>) -> DevicePolicy {
        let deadline = Some(clock("23:00"));
        let policy = ChargerPolicy { is_enabled: true, deadline, charging_duration: duration };
        DevicePolicy::Charger(policy)
    }

    fn vehicle(minimum: f64) -> DevicePolicy {
        let request = VehiclePolicyRequest {
            is_enabled: true,
            deadline: Some(clock("22:00")),
            minimum_charge_limit_percent: minimum,
        };
        DevicePolicy::Vehicle(VehiclePolicy::new(request, None).unwrap())
    }

    fn flex(reserve: f64) -> DevicePolicy {
        let given = request(reserve, &[("monday", "22:00", 60.0), ("tuesday", "02:00", 70.0)]);
        let policy = FlexPolicy::new(&given, ReserveRule::Range).unwrap();
        DevicePolicy::Flex { policy, location: "home".into() }
    }

    /// Plugged in at home, at 50 % of 40 kWh, 10 kW.
    fn known() -> DeviceFacts {
        DeviceFacts {
            is_reachable: Some(true),
            is_plugged_in: Some(true),
            is_charging: Some(false),
            soc: Some(percent(50.0)),
            charge_limit: Some(percent(80.0)),
            capacity: Some(kwh(40.0)),
            power_max: Some(kw(10.0)),
            location: Some("home".into()),
            ..DeviceFacts::default()
        }
    }

    fn ask(
        policy: &DevicePolicy,
        known: &DeviceFacts,
        hour: i64,
        cents: &[i32],
    ) -> Result<PlanRequest, NoRequest> {
        let cycle = policy.cycle((None, &[]), known, Tz::UTC, at(hour), true);
        let assumed = Assumptions::default();
        policy.plan_request(
            known,
            cycle.as_ref(),
            Tz::UTC,
            at(hour),
            &curve_of(60, cents),
            &assumed,
        )
    }

    /// Hours at which charging starts and ends.
    #[track_caller]
    fn hours(wish: PlanRequest, cents: &[i32]) -> Vec<(f64, f64)> {
        let planned = PlanRecord::new(&curve_of(60, cents), wish).unwrap();
        let hour = |t: DateTime<Utc>| (t - at(0)).num_minutes() as f64 / 60.0;
        planned.summary.intervals.iter().map(|i| (hour(i.start), hour(i.end))).collect()
    }

    /// The plan that is made at six.
    fn summary_of(policy: &DevicePolicy) -> PlanSummary {
        let wish = ask(policy, &known(), 0, &CENTS).unwrap();
        PlanRecord::new(&curve_of(60, &CENTS), wish).unwrap().summary
    }

    const CENTS: [i32; 8] = [30, 20, 10, 40, 5, 30, 30, 30];

    #[test]
    fn who_was_told_a_moment_ago_counts_as_on() {
        let curve = curve_of(60, &[30, 10, 20]);
        let target = Target { by: None, energy: kwh(10.0) };
        let wish = PlanRequest::Charge(ChargeRequest::new(at(0), kw(10.0), target));
        let summary = PlanRecord::new(&curve, wish).unwrap().summary;
        let known = |is_charging| DeviceFacts { is_charging, ..DeviceFacts::default() };
        for (hour, is_told) in [(0, false), (1, true), (2, false)] {
            assert_eq!(known(None).is_on(Some(&summary), at(hour)), is_told, "{hour} h");
            assert_eq!(known(Some(false)).is_on(Some(&summary), at(hour)), is_told, "{hour} h");
            assert!(known(Some(true)).is_on(Some(&summary), at(hour)), "{hour} h");
        }
        assert!(!known(Some(false)).is_on(None, at(1)));
    }

    #[test]
    fn a_charger_is_asked_for_its_hours() {
        let policy = charger(Some(clock("02:00")));
        let wish = ask(&policy, &known(), 0, &CENTS).unwrap();
        assert_eq!(hours(wish, &CENTS), [(2.0, 3.0), (4.0, 5.0)]);
        assert_eq!(ask(&policy, &known(), 0, &CENTS[..4]), Err(NoRequest::AwaitingPrices));
        assert_eq!(ask(&charger(None), &known(), 0, &CENTS), Err(NoRequest::NothingAsked));
        let silent = DeviceFacts { is_reachable: None, ..known() };
        assert_eq!(ask(&policy, &silent, 0, &CENTS), Err(NoRequest::NotReachable));
        let unplugged = DeviceFacts { is_plugged_in: Some(false), ..known() };
        assert_eq!(ask(&policy, &unplugged, 0, &CENTS), Err(NoRequest::NotPluggedIn));
        let off = DevicePolicy::Charger(ChargerPolicy::default());
        assert_eq!(ask(&off, &known(), 0, &CENTS), Err(NoRequest::Off));
    }

    #[test]
    fn what_was_charged_in_the_cycle_is_not_asked_for_again() {
        let policy = charger(Some(clock("02:00")));
        let on = DeviceFacts { is_charging: Some(true), ..known() };
        let begun = policy.cycle((None, &[]), &on, Tz::UTC, at(0), true);
        let assumed = Assumptions::default();
        let left_of = |known: &DeviceFacts, minutes: i64| {
            let now = at(0) + TimeDelta::minutes(minutes);
            // It charged until a minute ago, as looks every two minutes show.
            let on_until =
                policy.cycle((begun, &[]), &on, Tz::UTC, now - TimeDelta::minutes(1), false);
            let before = if minutes > 0 { on_until } else { begun };
            let cycle = policy.cycle((before, &[]), known, Tz::UTC, now, false);
            let curve = curve_of(60, &CENTS);
            let wish =
                policy.plan_request(known, cycle.as_ref(), Tz::UTC, now, &curve, &assumed).unwrap();
            PlanRecord::new(&curve, wish).unwrap().summary.energy
        };
        let left = |minutes| left_of(&on, minutes);
        assert_eq!((left(0), left(60), left(150)), (kwh(2.0), kwh(1.0), kwh(0.0)));
        // Nobody starts a charger for a minute, but one that is on stays so for it.
        assert!(left(119) > kwh(0.0));
        assert_eq!((left_of(&known(), 119), left_of(&known(), 118)), (kwh(0.0), left(118)));
    }

    #[test]
    fn hours_out_of_reach_are_asked_for_again() {
        let policy = charger(Some(clock("02:00")));
        let on = DeviceFacts { is_charging: Some(true), ..known() };
        // What it reported last is kept while it is out of reach.
        let silent = DeviceFacts { is_reachable: Some(false), ..on.clone() };
        let mut cycle = None;
        for minutes in 0..=90 {
            let now = at(0) + TimeDelta::minutes(minutes);
            let seen = if (30..90).contains(&minutes) { &silent } else { &on };
            cycle = policy.cycle((cycle, &[]), seen, Tz::UTC, now, false);
        }
        assert_eq!(cycle.unwrap().charged, TimeDelta::minutes(30));
    }

    #[test]
    fn a_floor_is_bought_at_once_whatever_the_price() {
        let wish = ask(&vehicle(60.0), &known(), 0, &CENTS).unwrap();
        // 4 kWh at once, the other 8 in the cheapest hours before ten.
        assert_eq!(hours(wish, &CENTS)[0], (0.0, 0.4));
        let low = DeviceFacts { soc: Some(percent(10.0)), ..known() };
        let wish = ask(&flex(20.0), &low, 0, &CENTS).unwrap();
        assert_eq!(hours(wish, &CENTS)[0], (0.0, 0.4));
        assert_eq!(ask(&flex(20.0), &low, 0, &[]), Err(NoRequest::ReserveAtAnyPrice));
        assert_eq!(ask(&flex(20.0), &known(), 0, &[]), Err(NoRequest::AwaitingPrices));
    }

    #[test]
    fn a_flex_policy_asks_at_its_place_for_each_deadline() {
        let wish = ask(&flex(0.0), &known(), 0, &CENTS).unwrap();
        // 4 kWh by ten in the evening, 4 more by two.
        assert_eq!(hours(wish, &CENTS), [(2.0, 2.4), (4.0, 4.4)]);
        let away = DeviceFacts { location: None, ..known() };
        assert_eq!(ask(&flex(0.0), &away, 0, &CENTS), Err(NoRequest::Away));
        let blind = DeviceFacts { soc: None, ..known() };
        assert_eq!(ask(&flex(0.0), &blind, 0, &CENTS), Err(NoRequest::SocUnknown));
        let strange = DeviceFacts { capacity: None, ..known() };
        assert_eq!(ask(&flex(0.0), &strange, 0, &CENTS), Err(NoRequest::CapacityUnknown));
        let full = DeviceFacts { is_fully_charged: Some(true), soc: None, ..known() };
        assert!(ask(&flex(0.0), &full, 0, &CENTS).is_ok());
    }

    #[test]
    fn who_may_not_be_woken_is_charged_before_it_sleeps() {
        let sleeper = DeviceFacts { may_be_woken: Some(false), ..known() };
        // 12 kWh to the charge limit, 8 kWh to the later of two targets.
        for (policy, end) in [(vehicle(0.0), 1.2), (flex(0.0), 0.8)] {
            let wish = ask(&policy, &sleeper, 0, &CENTS).unwrap();
            assert_eq!(hours(wish, &CENTS), [(0.0, end)], "{policy:?}");
            let other = DeviceFacts { may_be_woken: Some(true), ..known() };
            assert_eq!(ask(&policy, &other, 0, &CENTS), ask(&policy, &known(), 0, &CENTS));
        }
    }

    #[test]
    fn a_target_that_was_missed_is_charged_for_without_pause() {
        for policy in [vehicle(0.0), flex(0.0)] {
            let begun = policy.cycle((None, &[]), &known(), Tz::UTC, at(0), true);
            let late = at(5);
            let cycle = policy.cycle((begun, &[]), &known(), Tz::UTC, late, false);
            assert!(cycle.is_some_and(|cycle| cycle.is_late(late)), "{policy:?}");
            let curve = curve_of(60, &CENTS);
            let assumed = Assumptions::default();
            let wish =
                policy.plan_request(&known(), cycle.as_ref(), Tz::UTC, late, &curve, &assumed);
            assert_eq!(hours(wish.unwrap(), &CENTS)[0].0.to_string(), "5");
            let there = DeviceFacts { soc: Some(percent(80.0)), ..known() };
            let kept = policy.cycle((begun, &[]), &there, Tz::UTC, late, false).unwrap();
            assert!(!kept.is_late(late));
        }
    }

    #[test]
    fn a_flex_policy_counts_where_it_holds_and_smart_charging_elsewhere() {
        let both = [flex(0.0), vehicle(0.0)];
        assert_eq!(first_in_force(&both, &known()), Some(0));
        let away = DeviceFacts { location: Some("work".into()), ..known() };
        assert_eq!(first_in_force(&both, &away), Some(1));
        let off = VehiclePolicy::new(VehiclePolicyRequest::default(), None).unwrap();
        assert_eq!(first_in_force(&[flex(0.0), DevicePolicy::Vehicle(off)], &away), Some(0));
        assert_eq!(first_in_force(&[], &away), None);
    }

    #[test]
    fn what_makes_a_new_plan_necessary() {
        let with = |change: &dyn Fn(&mut DeviceFacts)| {
            let mut after = known();
            change(&mut after);
            managing_policy(&known(), &after)
        };
        assert_eq!(with(&|_| ()), None);
        assert_eq!(with(&|k| k.soc = Some(percent(51.0))), None);
        assert_eq!(with(&|k| k.soc = Some(percent(49.0))), None);
        assert_eq!(with(&|k| k.soc = Some(percent(40.0))), Some(Cause::Reading));
        assert_eq!(with(&|k| k.soc = None), Some(Cause::Reading));
        assert_eq!(with(&|k| k.is_charging = Some(true)), Some(Cause::Reading));
        assert_eq!(with(&|k| k.charge_limit = None), Some(Cause::Reading));
        assert_eq!(with(&|k| k.location = None), Some(Cause::Reading));
        assert_eq!(with(&|k| k.may_be_woken = Some(false)), Some(Cause::Reading));
        assert_eq!(with(&|k| k.is_plugged_in = None), Some(Cause::Unplugged));
        let unplugged = DeviceFacts { is_plugged_in: Some(false), ..known() };
        assert_eq!(managing_policy(&unplugged, &known()), Some(Cause::PluggedIn));
    }

    #[test]
    fn a_plan_is_looked_at_when_it_stops_and_at_its_deadline() {
        // On until 20:24, and from ten, which is the deadline, until 22:24.
        let policy = flex(0.0);
        let cycle = policy.cycle((None, &[]), &known(), Tz::UTC, at(0), true);
        let summary = summary_of(&policy);
        let minutes = |minutes| at(0) + TimeDelta::minutes(minutes);
        let review = |at| policy.review_at(cycle.as_ref(), Some(&summary), minutes(at));
        assert_eq!([0, 120, 144].map(review), [144, 144, 240].map(|at| Some(minutes(at))));
        assert_eq!([240, 264].map(review), [Some(minutes(264)), None]);
        assert_eq!(policy.review_at(cycle.as_ref(), None, at(0)), Some(at(4)));
        // Not at once, however near the end is.
        assert_eq!(review(143), Some(minutes(144)));
        let near = minutes(144) - TimeDelta::seconds(1);
        let soonest = policy.review_at(cycle.as_ref(), Some(&summary), near);
        assert_eq!(soonest, Some(near + TimeDelta::minutes(1)));
    }

    #[test]
    fn a_vehicle_that_does_not_want_to_charge_is_asked_again_after_an_hour() {
        let policy = charger(Some(clock("02:00")));
        let summary = summary_of(&policy);
        let minutes = |minutes| at(0) + TimeDelta::minutes(minutes);
        let begun = policy.cycle((None, &[]), &known(), Tz::UTC, at(0), true);
        let review =
            |cycle: Option<Cycle>, now| policy.review_at(cycle.as_ref(), Some(&summary), now);
        // On from eight to nine, looked at five minutes after the start.
        assert_eq!(review(begun, at(1)), Some(minutes(125)));
        let look = |known: &DeviceFacts| {
            policy.cycle((begun, &summary.intervals), known, Tz::UTC, minutes(125), false)
        };
        let left = |cycle: Option<Cycle>, now| {
            let assumed = Assumptions::default();
            let curve = curve_of(60, &CENTS);
            let wish =
                policy.plan_request(&known(), cycle.as_ref(), Tz::UTC, now, &curve, &assumed);
            PlanRecord::new(&curve, wish.unwrap()).unwrap().summary.energy
        };
        let declined = look(&known());
        // By then less than its two hours is left until the deadline.
        let hours = [125, 184, 185].map(|m| left(declined, minutes(m)).as_kwh() * 60.0);
        assert_eq!(hours.map(|minutes| minutes.round() as i64), [0, 0, 115]);
        assert_eq!(policy.review_at(declined.as_ref(), None, minutes(125)), Some(minutes(185)));
        // One that charges has not declined, nor has one that cannot be heard.
        let on = DeviceFacts { is_charging: Some(true), ..known() };
        let silent = DeviceFacts { is_reachable: Some(false), ..known() };
        assert!([on, silent].iter().all(|known| look(known).unwrap().declined_at.is_none()));
    }

    #[test]
    fn who_was_ready_does_not_charge_on_without_prices() {
        let policy = charger(Some(clock("02:00")));
        let begun = policy.cycle((None, &[]), &known(), Tz::UTC, at(0), true);
        let next = policy.cycle((begun, &[]), &known(), Tz::UTC, at(5), false);
        let switches = |idle: NoRequest| [begun, next].map(|cycle| idle.switch(cycle.as_ref()));
        assert_eq!(switches(NoRequest::AwaitingPrices), [None, Some(Switch::Stop)]);
        assert_eq!(switches(NoRequest::ReserveAtAnyPrice), [Some(Switch::Start); 2]);
        assert_eq!(switches(NoRequest::NotPluggedIn), [None; 2]);
        assert_eq!(NoRequest::AwaitingPrices.switch(None), None);
    }

    #[test]
    fn prices_count_from_the_hour_on() {
        let (from, to) = price_window("2026-01-05T18:47:12.5Z".parse().unwrap());
        assert_eq!((from, to), (at(0), at(7 * 24)));
    }

    #[test]
    fn assumptions_are_checked() {
        let text = |assumed: Assumptions| assumed.check().unwrap_err().to_string();
        let base = Assumptions::default();
        assert!(base.check().is_ok());
        let efficiency = text(Assumptions { efficiency: f64::NAN, ..base });
        assert_eq!(efficiency, "efficiency is NaN; it lies above 0 and is at most 1");
        let capacity = text(Assumptions { capacity: Some(kwh(0.0)), ..base });
        assert_eq!(capacity, "capacity_kwh is 0 kWh; a battery holds more than 0 kWh");
        let power = text(Assumptions { power_max: kw(-1.0), ..base });
        assert_eq!(power, "power_max_kw is -1 kW; a power is 0 kW or more");
    }
}
