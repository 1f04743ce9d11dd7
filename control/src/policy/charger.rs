//! Smart charging of a charger: so many hours on, before a deadline.
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use slackwater_engine::Interval;
use slackwater_engine::plan::charge::Plan;
use slackwater_engine::plan::charge::{AfterDeadline, ChargeRequest, Target};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::deadline::next_deadline;
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::time::instant::micros_of;
use slackwater_engine::units::{Energy, Power, kw};
use slackwater_engine::words;

/// Smart charging policy of a charger. The default is off, without deadline and duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargerPolicy {
    /// True if smart charging controls the charger.
    pub is_enabled: bool,
    /// Time at which charging must be done; `None` is no deadline, so that a plan may use all
    /// known prices.
    pub deadline: Option<HourMinute>,
    /// Time to be switched on in each cycle, which lasts from plug-in to the
    /// deadline; `None` plans nothing.
    pub charging_duration: Option<HourMinute>,
}

/// A new value for a member, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Change<T> {
    /// Keeps the present value.
    #[default]
    #[serde(rename = "keep")]
    Keep,
    /// Replaces the value.
    #[serde(rename = "set")]
    Set(T),
}

impl<T> Change<T> {
    fn over(self, before: T) -> T {
        match self {
            Self::Keep => before,
            Self::Set(value) => value,
        }
    }
}

/// A partial update of a charger's policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargerPatch {
    /// On or off.
    #[serde(default)]
    pub is_enabled: Change<bool>,
    /// A deadline, or none.
    #[serde(default)]
    pub deadline: Change<Option<HourMinute>>,
    /// A duration, or none.
    #[serde(default)]
    pub charging_duration: Change<Option<HourMinute>>,
}

/// Power that turns hours into kWh and prices into price times hours.
const UNIT_POWER: Power = kw(1.0);

impl ChargerPolicy {
    /// Returns the policy after a partial update; members that are not named are kept.
    #[must_use]
    pub fn patched(self, patch: ChargerPatch) -> Self {
        Self {
            is_enabled: patch.is_enabled.over(self.is_enabled),
            deadline: patch.deadline.over(self.deadline),
            charging_duration: patch.charging_duration.over(self.charging_duration),
        }
    }

    /// The next deadline, if there is one. Compute it once per cycle, at plug-in.
    #[must_use]
    pub fn next_deadline(&self, time_zone: Tz, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.deadline.map(|deadline| next_deadline(deadline.time(), time_zone, now))
    }

    /// Converts the policy into a request for a plan at 1 kW, so that its energy reads as hours
    /// and its cost as price times hours.
    ///
    /// The time `charged` for which the charger was on in this cycle is subtracted. A duration
    /// that does not fit is a shortfall, and the cycle ends at the deadline all the same. A
    /// policy that is off requests no energy.
    #[must_use]
    pub fn request(
        &self,
        now: DateTime<Utc>,
        by: Option<DateTime<Utc>>,
        charged: TimeDelta,
    ) -> ChargeRequest {
        let duration = self.charging_duration.filter(|_| self.is_enabled);
        let length = duration.map_or(TimeDelta::zero(), HourMinute::length);
        // A charger may have been on for longer than the policy asks for.
        let left = length - charged.clamp(TimeDelta::zero(), length);
        let target = Target { by, energy: UNIT_POWER.over(left).max(Energy::ZERO) };
        let after_deadline = AfterDeadline::Stop;
        ChargeRequest { after_deadline, ..ChargeRequest::new(now, UNIT_POWER, target) }
    }
}

words! {
    /// State of smart charging of a charger. Exactly one applies at any time.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ChargerState {
        /// The policy is off.
        Disabled = "disabled",
        /// The charger does not answer.
        ChargerNotReachable = "charger_not_reachable",
        /// No vehicle is plugged in.
        VehicleNotPluggedIn = "vehicle_not_plugged_in",
        /// Prices do not cover the time until the deadline.
        AwaitingPrices = "awaiting_prices",
        /// Charging.
        Charging = "charging",
        /// Waiting for the time that the plan has chosen.
        ChargingPaused = "charging_paused",
    }
}

/// Known facts of a charger; `None` is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargerFacts {
    /// True if its policy is on.
    pub is_enabled: bool,
    /// True if the charger responds.
    pub is_reachable: Option<bool>,
    /// True if a vehicle is plugged in.
    pub is_plugged_in: Option<bool>,
    /// True if it is charging.
    pub is_charging: Option<bool>,
    /// True if prices cover the time until the deadline: [`prices_cover`].
    pub are_prices_known: bool,
}

/// Returns the state of a charger. A total function of the facts.
///
/// The order is: off, reachability, plug, prices, charging. Unknown counts as false.
///
/// # Example
///
/// ```
/// use slackwater_control::policy::charger::{ChargerFacts, ChargerState, charger_state};
/// let facts = ChargerFacts {
///     is_enabled: true,
///     is_reachable: Some(false),
///     is_plugged_in: Some(false),
///     is_charging: None,
///     are_prices_known: true,
/// };
/// assert_eq!(charger_state(facts), ChargerState::ChargerNotReachable);
/// ```
#[must_use]
pub fn charger_state(facts: ChargerFacts) -> ChargerState {
    let is = |fact: Option<bool>| fact.unwrap_or(false);
    if !facts.is_enabled {
        ChargerState::Disabled
    } else if !is(facts.is_reachable) {
        ChargerState::ChargerNotReachable
    } else if !is(facts.is_plugged_in) {
        ChargerState::VehicleNotPluggedIn
    } else if !facts.are_prices_known {
        ChargerState::AwaitingPrices
    } else if is(facts.is_charging) {
        ChargerState::Charging
    } else {
        ChargerState::ChargingPaused
    }
}

/// Returns true if every instant from `now` to the deadline has a price.
///
/// Without a deadline, or with one that has passed, any price from now on is enough: the plan
/// uses the known prices.
#[must_use]
pub fn prices_cover(curve: &PriceCurve, now: DateTime<Utc>, by: Option<DateTime<Utc>>) -> bool {
    let from = micros_of(now);
    match by.map(micros_of) {
        Some(to) if from < to => curve.horizon().covered(from, to) == to - from,
        _ => curve.horizon().end().is_some_and(|end| micros_of(end) > from),
    }
}

/// Position of a plan's interval relative to the present.
///
/// The specification names this one word; intervals ahead have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntervalStatus {
    /// The interval contains the present.
    #[serde(rename = "in_progress")]
    InProgress,
}

/// A period in which a charger is to be on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargingInterval {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// `None` if no name is printed for how it stands.
    pub status: Option<IntervalStatus>,
}

/// The intervals of a plan that are not over, as a status shows them.
///
/// There are some only while the plan is in force: in the states charging and
/// paused.
#[must_use]
pub fn charging_intervals(
    plan: &Plan,
    state: ChargerState,
    now: DateTime<Utc>,
) -> Vec<ChargingInterval> {
    intervals_shown(&plan.intervals, state, now)
}

/// Intervals with their status, from the intervals of a plan alone.
#[must_use]
pub fn intervals_shown(
    intervals: &[Interval],
    state: ChargerState,
    now: DateTime<Utc>,
) -> Vec<ChargingInterval> {
    // In other states the charger does not follow the plan.
    if !matches!(state, ChargerState::Charging | ChargerState::ChargingPaused) {
        return Vec::new();
    }
    let ahead = intervals.iter().filter(|interval| now < interval.end);
    ahead
        .map(|interval| ChargingInterval {
            start: interval.start,
            end: interval.end,
            status: (interval.start <= now).then_some(IntervalStatus::InProgress),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::policy::flex::tests::curve_of;
    use proptest::prelude::*;

    use super::*;
    use slackwater_engine::plan::charge::ChargeProblem;
    use slackwater_engine::plan::charge::plan_charge;
    use slackwater_engine::units::money;

    fn at(hour: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(hour)
    }

    fn policy(duration: &str) -> ChargerPolicy {
        let charging_duration = Some(HourMinute::parse(duration).unwrap());
        ChargerPolicy { is_enabled: true, deadline: None, charging_duration }
    }

    /// Hours of the intervals, price times hours, and what is missing.
    #[track_caller]
    fn check(cents: &[i32], request: ChargeRequest, expected: (&[(i64, i64)], f64, f64)) {
        let plan = plan_charge(&curve_of(60, cents), &ChargeProblem::new(request).unwrap());
        let hour = |instant: DateTime<Utc>| (instant - at(0)).num_hours();
        let hours: Vec<_> = plan.intervals.iter().map(|i| (hour(i.start), hour(i.end))).collect();
        assert_eq!(hours, expected.0);
        assert!((plan.cost - money(expected.1)).as_amount().abs() < 1e-9, "{:?}", plan.cost);
        assert!((plan.shortfall.as_kwh() - expected.2).abs() < 1e-9, "{:?}", plan.shortfall);
    }

    #[test]
    fn the_cheapest_hours_before_the_deadline() {
        let cents = [30, 10, 30, 10, 30, 5];
        let none = TimeDelta::zero();
        let two = policy("02:00");
        check(&cents, two.request(at(0), Some(at(5)), none), (&[(1, 2), (3, 4)], 0.2, 0.0));
        check(&cents, two.request(at(0), None, none), (&[(1, 2), (5, 6)], 0.15, 0.0));
        check(&cents, policy("00:00").request(at(0), None, none), (&[], 0.0, 0.0));
        let unset = ChargerPolicy { charging_duration: None, ..two };
        check(&cents, unset.request(at(0), Some(at(5)), none), (&[], 0.0, 0.0));
        let off = ChargerPolicy { is_enabled: false, ..two };
        check(&cents, off.request(at(0), Some(at(5)), none), (&[], 0.0, 0.0));
    }

    #[test]
    fn a_cycle_ends_at_its_deadline_and_knows_what_it_had() {
        let cents = [30, 10, 30, 10];
        let four = policy("04:00");
        let none = TimeDelta::zero();
        check(&cents, four.request(at(0), Some(at(3)), none), (&[(0, 3)], 0.7, 1.0));
        let had = TimeDelta::hours(3);
        check(&cents, four.request(at(0), Some(at(3)), had), (&[(1, 2)], 0.1, 0.0));
        for enough in [TimeDelta::hours(4), TimeDelta::MAX] {
            check(&cents, four.request(at(0), Some(at(3)), enough), (&[], 0.0, 0.0));
        }
        check(&cents, four.request(at(0), Some(at(3)), TimeDelta::MIN), (&[(0, 3)], 0.7, 1.0));
    }

    #[test]
    fn a_cheaper_hour_moves_the_plan() {
        let one = policy("01:00").request(at(0), None, TimeDelta::zero());
        check(&[30, 10, 20], one.clone(), (&[(1, 2)], 0.1, 0.0));
        check(&[30, 10, 5], one, (&[(2, 3)], 0.05, 0.0));
    }

    /// SCP-08, SCP-09: all 108 combinations of facts. A state holds exactly if
    /// its own condition does and none of those before it does.
    #[test]
    fn exactly_one_state_for_all_facts() {
        let maybe = [None, Some(false), Some(true)];
        let mut count = [0; 6];
        for bits in 0..2 * 3 * 3 * 3 * 2 {
            let facts = ChargerFacts {
                is_enabled: bits % 2 == 1,
                is_reachable: maybe[bits / 2 % 3],
                is_plugged_in: maybe[bits / 6 % 3],
                is_charging: maybe[bits / 18 % 3],
                are_prices_known: bits / 54 == 1,
            };
            let conditions = [
                (!facts.is_enabled, ChargerState::Disabled),
                (facts.is_reachable != Some(true), ChargerState::ChargerNotReachable),
                (facts.is_plugged_in != Some(true), ChargerState::VehicleNotPluggedIn),
                (!facts.are_prices_known, ChargerState::AwaitingPrices),
                (facts.is_charging == Some(true), ChargerState::Charging),
                (facts.is_charging != Some(true), ChargerState::ChargingPaused),
            ];
            let first = conditions.iter().position(|(holds, _)| *holds).unwrap();
            assert_eq!(charger_state(facts), conditions[first].1, "{facts:?}");
            count[first] += 1;
        }
        // Each fact halves, or leaves a third of, what the ones before it left.
        assert_eq!(count, [54, 36, 12, 3, 1, 2]);
    }

    #[test]
    fn prices_must_reach_the_deadline() {
        let curve = curve_of(60, &[10, 20, 30]);
        let gap = PriceCurve::new(&[curve.slots().next().unwrap(), curve.slots().last().unwrap()]);
        let (gap, none) = (gap.unwrap(), PriceCurve::new(&[]).unwrap());
        assert!(prices_cover(&curve, at(0), Some(at(3))));
        assert!(prices_cover(&curve, at(1), Some(at(2))));
        assert!(!prices_cover(&curve, at(0), Some(at(3) + TimeDelta::microseconds(1))));
        assert!(!prices_cover(&curve, at(0) - TimeDelta::microseconds(1), Some(at(3))));
        assert!(!prices_cover(&gap, at(0), Some(at(3))));
        assert!(prices_cover(&gap, at(2), Some(at(3))));
        assert!(!prices_cover(&none, at(0), Some(at(3))));
        for by in [None, Some(at(0)), Some(at(-5))] {
            assert!(prices_cover(&gap, at(1), by));
            assert!(!prices_cover(&gap, at(3), by));
            assert!(!prices_cover(&none, at(0), by));
        }
    }

    #[test]
    fn intervals_of_a_plan_in_force() {
        let request = policy("02:00").request(at(0), Some(at(4)), TimeDelta::zero());
        let problem = ChargeProblem::new(request).unwrap();
        let plan = plan_charge(&curve_of(60, &[10, 30, 10, 30]), &problem);
        let shown = |state, hour| {
            let intervals = charging_intervals(&plan, state, at(hour));
            intervals.iter().map(|interval| interval.status).collect::<Vec<_>>()
        };
        assert_eq!(shown(ChargerState::Charging, 0), [Some(IntervalStatus::InProgress), None]);
        assert_eq!(shown(ChargerState::ChargingPaused, 1), [None]);
        assert_eq!(shown(ChargerState::ChargingPaused, 2), [Some(IntervalStatus::InProgress)]);
        assert_eq!(shown(ChargerState::ChargingPaused, 3), [None; 0]);
        assert_eq!(shown(ChargerState::AwaitingPrices, 0), [None; 0]);
        assert_eq!(shown(ChargerState::Disabled, 0), [None; 0]);
    }

    #[test]
    fn a_partial_update_keeps_the_rest() {
        let time = |text: &str| Some(HourMinute::parse(text).unwrap());
        let on = ChargerPatch { is_enabled: Change::Set(true), ..ChargerPatch::default() };
        let mut policy = ChargerPolicy::default();
        assert_eq!(policy.patched(ChargerPatch::default()), policy);
        policy = policy.patched(on);
        policy = policy.patched(ChargerPatch {
            deadline: Change::Set(time("07:00")),
            charging_duration: Change::Set(time("02:30")),
            ..ChargerPatch::default()
        });
        policy = policy.patched(on);
        assert_eq!((policy.deadline, policy.charging_duration), (time("07:00"), time("02:30")));
        policy = policy.patched(ChargerPatch { deadline: Change::Set(None), ..on });
        assert_eq!((policy.deadline, policy.charging_duration), (None, time("02:30")));
        let text = serde_json::to_string(&policy).unwrap();
        assert_eq!(text, r#"{"is_enabled":true,"deadline":null,"charging_duration":"02:30"}"#);
    }

    proptest! {
        /// SCP-11: no interval outside the cycle, exactly the hours asked for
        /// or all there are, and never more than the dearest choice costs.
        #[test]
        fn a_plan_keeps_to_the_hours_asked_for(
            cents in prop::collection::vec(-20..90i32, 0..30),
            minutes in 0..1440u16, from in 0..30i64, length in 0..30i64, had in 0..300i64,
        ) {
            let duration = format!("{:02}:{:02}", minutes / 60, minutes % 60);
            let by = at(from + length);
            let had = TimeDelta::minutes(had);
            let request = policy(&duration).request(at(from), Some(by), had);
            let curve = curve_of(60, &cents);
            let plan = plan_charge(&curve, &ChargeProblem::new(request).unwrap());
            let wanted = (TimeDelta::minutes(i64::from(minutes)) - had).max(TimeDelta::zero());
            let room = (by.min(at(cents.len() as i64)) - at(from)).max(TimeDelta::zero());
            let on: TimeDelta = plan.intervals.iter().map(|i| i.end - i.start).sum();
            prop_assert!((on - wanted.min(room)).abs() <= TimeDelta::milliseconds(1));
            prop_assert!(plan.intervals.iter().all(|i| at(from) <= i.start && i.end <= by));
            prop_assert_eq!(plan.shortfall > Energy::ZERO, wanted > room);
        }
    }
}
