//! State of a flex vehicle policy at an instant: state, deadlines and requests for a plan.
use chrono::{DateTime, Datelike, Days, TimeDelta, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::policy::flex::FlexPolicy;
use crate::policy::flex_facts::FlexFacts;
use slackwater_engine::plan::charge::AfterDeadline;
use slackwater_engine::plan::charge::{Battery, SocTarget, VehicleRequest};
use slackwater_engine::time::civil::{instant_of, local_of};
use slackwater_engine::units::{Percent, Power};
use slackwater_engine::words;

words! {
    /// State of a policy.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum FlexState {
        /// The vehicle is not at the location of the policy, or its location is unknown.
        Unavailable = "unavailable",
        /// The vehicle is at the location, and not known to be plugged in.
        NotPluggedIn = "not_plugged_in",
        /// The vehicle is plugged in, and its state of charge is unknown.
        SocUnknown = "soc_unknown",
        /// Charging at once to the reserve.
        BatteryReserve = "battery_reserve",
        /// Following the weekly schedule.
        Schedule = "schedule",
    }
}

impl FlexState {
    /// Returns true if the policy controls charging: the vehicle is at the location and plugged
    /// in.
    #[must_use]
    pub const fn is_in_control(self) -> bool {
        matches!(self, Self::SocUnknown | Self::BatteryReserve | Self::Schedule)
    }
}

/// Returns the state of a policy with `reserve`. A total function of the facts.
///
/// The order is: location, plug, state of charge. The reserve counts as reached at the charge
/// limit if that is lower, because the vehicle takes no more. An unknown state of charge is never
/// read as empty.
#[must_use]
pub fn flex_state(reserve: Percent, facts: &FlexFacts) -> FlexState {
    if facts.vehicle_location.as_ref() != Some(&facts.policy_location) {
        FlexState::Unavailable
    } else if facts.is_plugged_in != Some(true) {
        FlexState::NotPluggedIn
    } else {
        match facts.soc {
            None => FlexState::SocUnknown,
            Some(soc) if soc < clamped(reserve, facts.charge_limit) => FlexState::BatteryReserve,
            Some(_) => FlexState::Schedule,
        }
    }
}

fn clamped(wanted: Percent, charge_limit: Option<Percent>) -> Percent {
    wanted.min(charge_limit.unwrap_or(Percent::FULL))
}

/// A deadline of the weekly schedule on its date.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlexDeadline {
    /// The instant.
    pub at: DateTime<Utc>,
    /// Weekday of the entry, 0 is Monday.
    pub weekday: u8,
    /// The target as the policy has it.
    #[serde(rename = "wanted_percent")]
    pub wanted: Percent,
    /// Target clamped to the vehicle's charge limit.
    #[serde(rename = "target_percent")]
    pub target: Percent,
}

/// State and deadlines of a policy, as input of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlexIntent {
    /// State of the policy.
    pub state: FlexState,
    /// The next deadline, also when the vehicle is away or full enough.
    pub next: Option<FlexDeadline>,
    /// True if the vehicle has reached the next target; `None` without a next deadline or a known
    /// state of charge.
    pub is_next_met: Option<bool>,
    /// State of charge to reach at once; 0 where the policy is not in control.
    #[serde(rename = "reserve_percent")]
    pub reserve: Percent,
    /// Deadlines to plan for; none where the policy is not in control.
    pub deadlines: Vec<FlexDeadline>,
}

impl FlexPolicy {
    /// All deadlines in `(now, until]`, in time order.
    ///
    /// Each local date has the entry of its weekday. A time that clocks skip
    /// takes the offset before the jump, one that they show twice is its first
    /// showing. Where clocks jump over midnight, the entries of two days can
    /// fall on one instant: the greater target counts. Targets are cut at
    /// `charge_limit`; `None` is 100 %.
    ///
    /// # Example: a week of deadlines, the short Sunday of March among them
    ///
    /// ```
    /// use slackwater_control::policy::flex::{DayRequest, FlexPolicy, FlexRequest, ReserveRule};
    /// let day = |at: &str| DayRequest { deadline: Some(at.into()), target_percent: Some(80.0) };
    /// let policy = FlexPolicy::new(&FlexRequest {
    ///     reserve_percent: 10.0,
    ///     schedule: [("sunday".into(), day("02:30")), ("monday".into(), day("07:00"))].into(),
    ///     observed_limit_percent: 100.0,
    /// }, ReserveRule::Range)?;
    /// let berlin = "Europe/Berlin".parse().unwrap();
    /// let friday = "2026-03-27T12:00:00Z".parse().unwrap();
    /// let until = "2026-04-03T12:00:00Z".parse().unwrap();
    /// let at: Vec<String> = policy
    ///     .deadlines(berlin, friday, until, None)
    ///     .iter()
    ///     .map(|deadline| deadline.at.to_rfc3339())
    ///     .collect();
    /// assert_eq!(at, ["2026-03-29T01:30:00+00:00", "2026-03-30T05:00:00+00:00"]);
    /// # Ok::<(), slackwater_control::policy::flex_issue::FlexIssues>(())
    /// ```
    #[must_use]
    pub fn deadlines(
        &self,
        time_zone: Tz,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
        charge_limit: Option<Percent>,
    ) -> Vec<FlexDeadline> {
        if self.days().iter().all(Option::is_none) || until <= now {
            return Vec::new();
        }
        // A skipped time can land on the next date: a day of margin on each side.
        let first = local_of(now, time_zone).date();
        let first = first.checked_sub_days(Days::new(1)).unwrap_or(first);
        let last = local_of(until, time_zone).date();
        let last = last.checked_add_days(Days::new(1)).unwrap_or(last);
        let dates = first.iter_days().take_while(|&date| date <= last);
        let deadline = |date: chrono::NaiveDate| {
            let weekday = date.weekday().num_days_from_monday();
            let day = self.days()[weekday as usize]?;
            let at = instant_of(date.and_time(day.deadline.time()), time_zone);
            let (wanted, target) = (day.target, clamped(day.target, charge_limit));
            Some(FlexDeadline { at, weekday: weekday as u8, wanted, target })
        };
        let mut deadlines: Vec<FlexDeadline> = dates.filter_map(deadline).collect();
        deadlines.retain(|deadline| now < deadline.at && deadline.at <= until);
        // Of several targets at one instant the greatest is sorted first and kept.
        deadlines.sort_by(|a, b| {
            a.at.cmp(&b.at).then(b.wanted.as_percent().total_cmp(&a.wanted.as_percent()))
        });
        deadlines.dedup_by_key(|deadline| deadline.at);
        deadlines
    }

    /// The next deadline strictly after `now`; `None` without any day.
    #[must_use]
    pub fn next_deadline(
        &self,
        time_zone: Tz,
        now: DateTime<Utc>,
        charge_limit: Option<Percent>,
    ) -> Option<FlexDeadline> {
        // A weekday comes back within a week, give or take a clock change.
        let until = now.checked_add_signed(TimeDelta::days(9))?;
        self.deadlines(time_zone, now, until, charge_limit).first().copied()
    }

    /// State and deadlines of the policy for a plan made `now` with prices until `until`.
    ///
    /// All deadlines in that time are included, and the next one even if it lies beyond. A
    /// deadline that is already met remains as a constraint.
    #[must_use]
    pub fn intent(
        &self,
        facts: &FlexFacts,
        time_zone: Tz,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> FlexIntent {
        let state = flex_state(self.reserve(), facts);
        // The next deadline is shown in any state, but planned for only while the policy is in
        // control.
        let next = self.next_deadline(time_zone, now, facts.charge_limit);
        let mut deadlines = Vec::new();
        let mut reserve = Percent::ZERO;
        if state.is_in_control() {
            reserve = clamped(self.reserve(), facts.charge_limit);
            deadlines = self.deadlines(time_zone, now, until, facts.charge_limit);
            if deadlines.is_empty() {
                deadlines.extend(next);
            }
        }
        let is_next_met = next.zip(facts.soc).map(|(next, soc)| soc >= next.target);
        FlexIntent { state, next, is_next_met, reserve, deadlines }
    }
}

impl FlexIntent {
    /// Converts the policy into a request for a plan.
    ///
    /// The request covers the targets. With `fill_when_negative`, negative prices charge the
    /// battery up to its charge limit, which a policy allows. While the policy is not in control,
    /// the request has no energy.
    #[must_use]
    pub fn request(
        &self,
        now: DateTime<Utc>,
        power_max: Power,
        battery: Battery,
        fill_when_negative: bool,
    ) -> VehicleRequest {
        let target = |deadline: &FlexDeadline| SocTarget {
            by: Some(deadline.at),
            soc: Some(deadline.target),
        };
        VehicleRequest {
            now,
            until: None,
            power_max,
            power_limits: Vec::new(),
            battery,
            targets: self.deadlines.iter().map(target).collect(),
            reserve: self.reserve,
            fill_when_negative: fill_when_negative && self.state.is_in_control(),
            after_deadline: AfterDeadline::Continue,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::flex::tests::{curve_of, request};
    use crate::policy::flex::{FlexPolicy, ReserveRule};
    use crate::policy::flex_issue::DAYS;
    use slackwater_engine::plan::charge::ChargeProblem;
    use slackwater_engine::plan::charge::plan_charge;
    use slackwater_engine::units::{Energy, kw, kwh, percent};

    fn policy(reserve: f64, days: &[(&str, &str, f64)]) -> FlexPolicy {
        FlexPolicy::new(&request(reserve, days), ReserveRule::Range).unwrap()
    }

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn facts(soc: Option<f64>) -> FlexFacts {
        FlexFacts {
            policy_location: "home".into(),
            vehicle_location: Some("home".into()),
            is_plugged_in: Some(true),
            soc: soc.map(percent),
            charge_limit: Some(percent(80.0)),
        }
    }

    /// FLX-22, FLX-23, FLX-40: every combination of facts, against the rules
    /// written as a list of exclusions.
    #[test]
    fn one_state_for_all_facts() {
        let mut seen = Vec::new();
        for vehicle_location in [None, Some("home"), Some("work"), Some("")] {
            for is_plugged_in in [None, Some(false), Some(true)] {
                for soc in [None, Some(0.0), Some(14.9), Some(15.0), Some(100.0)] {
                    for charge_limit in [None, Some(0.0), Some(10.0), Some(80.0)] {
                        let mut facts = facts(soc);
                        facts.vehicle_location = vehicle_location.map(Into::into);
                        facts.is_plugged_in = is_plugged_in;
                        facts.charge_limit = charge_limit.map(percent);
                        let is_there = vehicle_location == Some("home");
                        let is_plugged = is_plugged_in == Some(true);
                        let is_low = soc.is_some_and(|soc| {
                            soc < 15.0 && charge_limit.is_none_or(|limit| soc < limit)
                        });
                        let expected = match (is_there, is_plugged, soc) {
                            (false, _, _) => FlexState::Unavailable,
                            (true, false, _) => FlexState::NotPluggedIn,
                            (true, true, None) => FlexState::SocUnknown,
                            (true, true, Some(_)) if is_low => FlexState::BatteryReserve,
                            (true, true, Some(_)) => FlexState::Schedule,
                        };
                        let state = flex_state(percent(15.0), &facts);
                        assert_eq!(state, expected, "{facts:?}");
                        let word = serde_json::to_string(&state).unwrap();
                        assert_eq!(word.trim_matches('"'), state.as_str());
                        seen.push(state.as_str());
                    }
                }
            }
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 5);
    }

    #[track_caller]
    fn next(policy: &FlexPolicy, zone: &str, now: &str, expected: &str, target: f64) {
        let limit = Some(percent(75.0));
        let next = policy.next_deadline(zone.parse().unwrap(), at(now), limit).unwrap();
        assert_eq!((next.at, next.target), (at(expected), percent(target)));
    }

    #[test]
    fn the_next_deadline_by_the_clocks_of_the_location() {
        let week = policy(10.0, &[("monday", "07:00", 80.0), ("sunday", "02:30", 60.0)]);
        // 5 January 2026 is a Monday; strictly after now; the target is cut.
        next(&week, "UTC", "2026-01-05T06:59:59Z", "2026-01-05T07:00:00Z", 75.0);
        next(&week, "UTC", "2026-01-05T07:00:00Z", "2026-01-11T02:30:00Z", 60.0);
        // Sunday evening in Los Angeles is Monday in UTC.
        next(&week, "America/Los_Angeles", "2026-01-12T07:00:00Z", "2026-01-12T15:00:00Z", 75.0);
        // Skipped and doubled.
        next(&week, "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:30:00Z", 60.0);
        next(&week, "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z", 60.0);
        next(&week, "Europe/Berlin", "2026-10-25T01:00:00Z", "2026-10-26T06:00:00Z", 75.0);
        let friday = policy(0.0, &[("friday", "07:00", 50.0)]);
        next(&friday, "UTC", "2026-01-09T07:00:00Z", "2026-01-16T07:00:00Z", 50.0);
        assert_eq!(policy(0.0, &[]).next_deadline(Tz::UTC, at("2026-01-09T07:00:00Z"), None), None);
    }

    #[test]
    fn all_deadlines_of_the_horizon_are_constraints() {
        // Monday's target is met already; Tuesday's is planned for all the same.
        let week = policy(20.0, &[("monday", "22:00", 40.0), ("tuesday", "02:00", 70.0)]);
        let curve = curve_of(60, &[30, 10, 10, 10, 20, 20, 5, 5, 20, 20]);
        let (now, until) = (at("2026-01-05T18:00:00Z"), curve.horizon().end().unwrap());
        let intent = week.intent(&facts(Some(45.0)), Tz::UTC, now, until);
        assert_eq!(intent.state, FlexState::Schedule);
        assert_eq!(intent.next.map(|next| next.at), Some(at("2026-01-05T22:00:00Z")));
        assert_eq!(intent.is_next_met, Some(true));
        assert_eq!(intent.deadlines.len(), 2);
        let battery = facts(Some(45.0)).battery(kwh(40.0), 1.0, None);
        let request = intent.request(now, kw(5.0), battery, false);
        let problem = ChargeProblem::new(request.in_energy().unwrap()).unwrap();
        let plan = plan_charge(&curve, &problem);
        assert_eq!(plan.energy, kwh(10.0));
        assert_eq!(plan.energy_by(at("2026-01-06T00:00:00Z")), Energy::ZERO);
        assert_eq!(plan.shortfall, Energy::ZERO);
    }

    #[test]
    fn the_reserve_is_bought_at_once() {
        let week = policy(20.0, &[("tuesday", "04:00", 20.0)]);
        let now = at("2026-01-05T18:00:00Z");
        let intent = week.intent(&facts(Some(10.0)), Tz::UTC, now, at("2026-01-06T04:00:00Z"));
        assert_eq!((intent.state, intent.reserve), (FlexState::BatteryReserve, percent(20.0)));
        assert_eq!(intent.is_next_met, Some(false));
    }

    #[test]
    fn away_asks_for_nothing_and_still_tells_the_next_deadline() {
        let week = policy(20.0, &[("friday", "07:00", 60.0)]);
        let now = at("2026-01-05T18:00:00Z");
        for facts in [
            FlexFacts { vehicle_location: None, ..facts(Some(10.0)) },
            FlexFacts { is_plugged_in: None, ..facts(Some(10.0)) },
        ] {
            let intent = week.intent(&facts, Tz::UTC, now, at("2026-02-06T04:00:00Z"));
            assert_eq!((intent.reserve, intent.deadlines.len()), (Percent::ZERO, 0));
            let battery = facts.battery(kwh(40.0), 1.0, None);
            assert!(!intent.request(now, kw(5.0), battery, true).fill_when_negative);
            assert_eq!(intent.next.map(|next| next.at), Some(at("2026-01-09T07:00:00Z")));
        }
        // Beyond the prices the next deadline is asked for all the same.
        let intent = week.intent(&facts(None), Tz::UTC, now, at("2026-01-05T20:00:00Z"));
        let battery = facts(None).battery(kwh(40.0), 1.0, None);
        // FLX-31: a target is the least, not the most.
        assert!(intent.request(now, kw(5.0), battery, true).fill_when_negative);
        assert_eq!((intent.state, intent.is_next_met), (FlexState::SocUnknown, None));
        assert_eq!(intent.deadlines.len(), 1);
    }

    #[test]
    fn two_days_that_end_at_one_instant_are_one_deadline() {
        // Clocks in Nuuk jump from Saturday 23:00 to Sunday 00:00 on 28 March 2026.
        let both = [("saturday", "23:30", 80.0), ("sunday", "00:30", 60.0)];
        for (late, early) in [(80.0, 60.0), (60.0, 80.0)] {
            let days = [("saturday", "23:30", late), ("sunday", "00:30", early)];
            let found = policy(0.0, &days).deadlines(
                chrono_tz::America::Nuuk,
                at("2026-03-28T12:00:00Z"),
                at("2026-03-30T12:00:00Z"),
                None,
            );
            let shown: Vec<_> = found.iter().map(|d| (d.at, d.target)).collect();
            assert_eq!(shown, [(at("2026-03-29T01:30:00Z"), percent(80.0))]);
        }
        // A week earlier they are two.
        let found = policy(0.0, &both).deadlines(
            chrono_tz::America::Nuuk,
            at("2026-03-21T12:00:00Z"),
            at("2026-03-23T12:00:00Z"),
            None,
        );
        assert_eq!(found.len(), 2);
    }

    proptest! {
        /// FLX-36, in every zone: what is found is what each local date says,
        /// in order, and the next deadline is the first of all.
        #[test]
        fn deadlines_are_those_of_the_dates(
            zone in 0..chrono_tz::TZ_VARIANTS.len(),
            days in prop::collection::vec(prop::option::of((0..1440u32, 20..101u8)), 7),
            hours in 0..24 * 366 * 12i64, span in 0..400i64,
        ) {
            let zone = chrono_tz::TZ_VARIANTS[zone];
            let clock = |m: u32| format!("{:02}:{:02}", m / 60, m % 60);
            let texts: Vec<(&str, String, f64)> = DAYS
                .iter()
                .zip(&days)
                .filter_map(|(name, day)| day.map(|(m, t)| (*name, clock(m), f64::from(t))))
                .collect();
            let wishes: Vec<(&str, &str, f64)> =
                texts.iter().map(|(name, time, target)| (*name, time.as_str(), *target)).collect();
            let policy = policy(20.0, &wishes);
            let now = at("2020-01-01T00:00:00Z") + TimeDelta::hours(hours);
            let until = now + TimeDelta::hours(span);
            let found = policy.deadlines(zone, now, until, None);
            let mut expected = Vec::new();
            for offset in -3..span / 24 + 4 {
                let date = local_of(now + TimeDelta::days(offset), zone).date();
                let day = days[date.weekday().num_days_from_monday() as usize];
                let Some((minute, _)) = day else { continue };
                let time = chrono::NaiveTime::from_hms_opt(minute / 60, minute % 60, 0).unwrap();
                let instant = instant_of(date.and_time(time), zone);
                if now < instant && instant <= until && !expected.contains(&instant) {
                    expected.push(instant);
                }
            }
            expected.sort_unstable();
            let instants: Vec<_> = found.iter().map(|deadline| deadline.at).collect();
            prop_assert_eq!(instants, expected);
            let next = policy.next_deadline(zone, now, None);
            prop_assert_eq!(next.is_some(), !wishes.is_empty());
            if let Some(first) = found.first() {
                prop_assert_eq!(next, Some(*first));
            }
        }
    }
}
