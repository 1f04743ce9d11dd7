//! Flex vehicle policies: a reserve, and a target for each weekday.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::policy::flex_facts::FlexFacts;
use crate::policy::flex_issue::{DAYS, FlexFault, FlexField, FlexIssue, FlexIssues};
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::units::Percent;

/// Highest reserve, in percent, of a manufacturer without a rule of its own.
const RESERVE_MAX: f64 = 20.0;

/// Request for one day. Both members are needed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DayRequest {
    /// Time of day, `HH:MM`.
    #[serde(default)]
    pub deadline: Option<String>,
    /// Least state of charge at the deadline.
    #[serde(default)]
    pub target_percent: Option<f64>,
}

/// Request for a flex vehicle policy, not yet checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlexRequest {
    /// State of charge reached at once on arrival.
    pub reserve_percent: f64,
    /// Requests by name of the day; days may be missing.
    pub schedule: BTreeMap<String, DayRequest>,
    /// Charge limit of the vehicle when it was last seen at the location.
    pub observed_limit_percent: f64,
}

/// Change of a policy. A member that is `None` is kept; a named day is replaced as a whole, and
/// other days are kept.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlexPatch {
    /// The new reserve.
    #[serde(default)]
    pub reserve_percent: Option<f64>,
    /// The new days.
    #[serde(default)]
    pub schedule: BTreeMap<String, DayRequest>,
}

/// Rule of a manufacturer for the reserve.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub enum ReserveRule {
    /// Anything from 0 to 20 %.
    #[default]
    #[serde(rename = "range")]
    Range,
    /// Exactly this, and no target below it.
    #[serde(rename = "fixed")]
    Fixed(Percent),
}

/// Target of one day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlexDay {
    /// Time at which the target must be reached, on the clocks of the location.
    pub deadline: HourMinute,
    /// Least state of charge by then; more is fine.
    pub target: Percent,
}

/// A policy that makes sense.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlexPolicy {
    reserve: Percent,
    /// Monday first.
    days: [Option<FlexDay>; 7],
    observed_limit: Percent,
}

impl FlexPolicy {
    /// Checks a policy as a whole.
    ///
    /// A target may equal the reserve, the charge limit, or both. A policy
    /// without any day is no error.
    ///
    /// # Errors
    /// Everything that is wrong, in the order reserve, limit, unknown days,
    /// Monday to Sunday: a reserve outside 0 to 20 %, or other than the one its
    /// manufacturer allows; a name that is no day; a day without deadline or
    /// target; a deadline that is not `HH:MM`; a target that is no percentage,
    /// is below the reserve, or above the charge limit last seen.
    pub fn new(request: &FlexRequest, rule: ReserveRule) -> Result<Self, FlexIssues> {
        Self::checked(request, Some(rule), |_| true)
    }

    /// Restores a policy that was accepted before, for planning: the bounds of
    /// [`FlexPolicy::new`] are not applied.
    ///
    /// The charge limit may have fallen below a target since. The target is then kept, and plans
    /// clamp it.
    ///
    /// # Errors
    /// A number is no percentage, a name no day, a deadline no time of day, or
    /// a day lacks one of its members.
    pub fn stored(request: &FlexRequest) -> Result<Self, FlexIssues> {
        Self::checked(request, None, |_| false)
    }

    /// Checks a policy, and holds the charge limit last seen against the days
    /// that `is_stated` picks by their names.
    fn checked(
        request: &FlexRequest,
        rule: Option<ReserveRule>,
        is_stated: impl Fn(&str) -> bool,
    ) -> Result<Self, FlexIssues> {
        // All defects are collected, so that a caller can correct them in one go.
        let mut issues = Vec::new();
        let reserve = reserve(request.reserve_percent, rule, &mut issues);
        let limit = request.observed_limit_percent;
        let observed_limit = Percent::from_percent(limit).ok();
        if observed_limit.is_none() {
            let fault = FlexFault::Outside { percent: limit, least: 0.0, most: 100.0 };
            issues.push(FlexIssue { field: FlexField::ObservedLimit, fault });
        }
        for name in request.schedule.keys().filter(|name| !DAYS.contains(&name.as_str())) {
            let field = FlexField::Day(name.clone());
            issues.push(FlexIssue { field, fault: FlexFault::NoDay });
        }
        // The rule of a manufacturer also holds for targets; a reserve that
        // is wrong anyway is not held against them.
        let least = match rule {
            Some(ReserveRule::Fixed(fixed)) => fixed,
            Some(ReserveRule::Range) => reserve.unwrap_or(Percent::ZERO),
            None => Percent::ZERO,
        };
        let mut days = [None; 7];
        for (index, name) in DAYS.iter().enumerate() {
            // A limit that fell after a day was accepted does not make that day invalid.
            let most = observed_limit.filter(|_| is_stated(name)).unwrap_or(Percent::FULL);
            if let Some(day) = request.schedule.get(*name) {
                days[index] = flex_day(index, day, (least, most), &mut issues);
            }
        }
        // A value that is missing has left an issue, so the error is never empty.
        match (reserve, observed_limit) {
            (Some(reserve), Some(observed_limit)) if issues.is_empty() => {
                Ok(Self { reserve, days, observed_limit })
            }
            _ => Err(FlexIssues(issues)),
        }
    }

    /// State of charge reached at once on arrival.
    #[must_use]
    pub fn reserve(&self) -> Percent {
        self.reserve
    }

    /// Targets of the days, Monday first.
    #[must_use]
    pub fn days(&self) -> &[Option<FlexDay>; 7] {
        &self.days
    }

    /// Charge limit of the vehicle when it was last seen at the location.
    #[must_use]
    pub fn observed_limit(&self) -> Percent {
        self.observed_limit
    }

    /// The policy after its vehicle was seen: the charge limit is noted if the
    /// vehicle is at the location of the policy and the limit is known.
    #[must_use]
    pub fn observing(mut self, facts: &FlexFacts) -> Self {
        if facts.vehicle_location.as_ref() == Some(&facts.policy_location) {
            self.observed_limit = facts.charge_limit.unwrap_or(self.observed_limit);
        }
        self
    }

    /// The policy as it would be stated.
    #[must_use]
    pub fn request(&self) -> FlexRequest {
        let day = |day: FlexDay| DayRequest {
            deadline: Some(day.deadline.to_string()),
            target_percent: Some(day.target.as_percent()),
        };
        let days = DAYS.iter().zip(self.days);
        FlexRequest {
            reserve_percent: self.reserve.as_percent(),
            schedule: days.filter_map(|(name, wish)| Some(((*name).into(), day(wish?)))).collect(),
            observed_limit_percent: self.observed_limit.as_percent(),
        }
    }
}

impl FlexRequest {
    /// Returns the policy after a change, which applies as a whole or not at all.
    ///
    /// A change that conflicts with a day that it does not name is refused, too: a higher reserve
    /// may be above a kept target. The charge limit last seen bounds only the days that the
    /// change names: it may have fallen since the others were accepted, and plans clamp those.
    ///
    /// # Errors
    /// As [`FlexPolicy::new`] for the policy that would result, but for the
    /// charge limit and days that stay.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_control::policy::flex::{DayRequest, FlexPatch, FlexRequest, ReserveRule};
    /// let monday = DayRequest { deadline: Some("07:00".into()), target_percent: Some(15.0) };
    /// let policy = FlexRequest {
    ///     reserve_percent: 10.0,
    ///     schedule: [("monday".into(), monday)].into(),
    ///     observed_limit_percent: 100.0,
    /// };
    /// let patch = FlexPatch { reserve_percent: Some(18.0), ..FlexPatch::default() };
    /// let issues = policy.patched(&patch, ReserveRule::Range).unwrap_err();
    /// assert_eq!(
    ///     issues.to_string(),
    ///     "schedule[\"monday\"].target_percent is 15 %, below the reserve of 18 %"
    /// );
    /// ```
    pub fn patched(&self, patch: &FlexPatch, rule: ReserveRule) -> Result<FlexPolicy, FlexIssues> {
        let mut merged = self.clone();
        merged.reserve_percent = patch.reserve_percent.unwrap_or(self.reserve_percent);
        merged.schedule.extend(patch.schedule.clone());
        FlexPolicy::checked(&merged, Some(rule), |name| patch.schedule.contains_key(name))
    }
}

fn reserve(
    percent: f64,
    rule: Option<ReserveRule>,
    issues: &mut Vec<FlexIssue>,
) -> Option<Percent> {
    let given = Percent::from_percent(percent).ok();
    let (allowed, fault) = match rule {
        Some(ReserveRule::Fixed(fixed)) => {
            (given == Some(fixed), FlexFault::NotFixed { percent, fixed: fixed.as_percent() })
        }
        Some(ReserveRule::Range) => {
            (percent <= RESERVE_MAX, FlexFault::Outside { percent, least: 0.0, most: RESERVE_MAX })
        }
        None => (true, FlexFault::Outside { percent, least: 0.0, most: 100.0 }),
    };
    let reserve = given.filter(|_| allowed);
    if reserve.is_none() {
        issues.push(FlexIssue { field: FlexField::Reserve, fault });
    }
    reserve
}

/// A day, or `None` with one issue or two.
fn flex_day(
    index: usize,
    day: &DayRequest,
    (least, limit): (Percent, Percent),
    issues: &mut Vec<FlexIssue>,
) -> Option<FlexDay> {
    let deadline = match day.deadline.as_deref().map(HourMinute::parse) {
        Some(Ok(deadline)) => Ok(deadline),
        Some(Err(error)) => Err(FlexFault::NotATime(error)),
        None => Err(FlexFault::Missing),
    };
    let target = match day.target_percent {
        Some(percent) => target(percent, least, limit),
        None => Err(FlexFault::Missing),
    };
    let mut note =
        |field, fault: &FlexFault| issues.push(FlexIssue { field, fault: fault.clone() });
    let _ = deadline.as_ref().map_err(|fault| note(FlexField::Deadline(index), fault));
    let _ = target.as_ref().map_err(|fault| note(FlexField::Target(index), fault));
    Some(FlexDay { deadline: deadline.ok()?, target: target.ok()? })
}

fn target(percent: f64, least: Percent, limit: Percent) -> Result<Percent, FlexFault> {
    // The percentage first, so that a number outside 0 to 100 is named as such.
    let Ok(target) = Percent::from_percent(percent) else {
        return Err(FlexFault::Outside { percent, least: 0.0, most: 100.0 });
    };
    if target < least {
        return Err(FlexFault::BelowReserve { percent, reserve: least.as_percent() });
    }
    if target > limit {
        return Err(FlexFault::AboveLimit { percent, limit: limit.as_percent() });
    }
    Ok(target)
}

#[cfg(test)]
pub(crate) mod tests {
    use chrono::{DateTime, TimeDelta, Utc};
    use slackwater_engine::prices::curve::PriceCurve;
    use slackwater_engine::time::horizon::Horizon;
    use slackwater_engine::units::percent;

    use super::*;
    use proptest::prelude::*;

    /// Slots of `minutes` each from 5 January 2026, 18:00Z, priced in cents.
    pub(crate) fn curve_of(minutes: i64, cents: &[i32]) -> PriceCurve {
        let start: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        let slots = Horizon::steps(start, TimeDelta::minutes(minutes), cents.len()).unwrap();
        let prices = cents.iter().map(|&cent| f64::from(cent) / 100.0).collect();
        PriceCurve::from_parts(slots, prices).unwrap()
    }

    pub(crate) fn day(deadline: &str, target: f64) -> DayRequest {
        DayRequest { deadline: Some(deadline.into()), target_percent: Some(target) }
    }

    pub(crate) fn request(reserve: f64, days: &[(&str, &str, f64)]) -> FlexRequest {
        let wish =
            |&(name, deadline, target): &(&str, &str, f64)| (name.into(), day(deadline, target));
        FlexRequest {
            reserve_percent: reserve,
            schedule: days.iter().map(wish).collect(),
            observed_limit_percent: 100.0,
        }
    }

    #[track_caller]
    fn accepted(reserve: f64, target: f64, rule: ReserveRule) {
        let request = request(reserve, &[("friday", "06:45", target)]);
        let policy = FlexPolicy::new(&request, rule).unwrap();
        assert_eq!(policy.request(), request);
    }

    #[track_caller]
    fn refused(reserve: f64, target: f64, rule: ReserveRule, expected: &str) {
        let request = request(reserve, &[("friday", "06:45", target)]);
        assert_eq!(FlexPolicy::new(&request, rule).unwrap_err().to_string(), expected);
    }

    const FIFTY: ReserveRule = ReserveRule::Fixed(percent(50.0));

    #[test]
    fn reserve_and_target_at_their_bounds() {
        for (reserve, target) in [(0.0, 0.0), (0.0, 100.0), (20.0, 20.0), (7.5, 7.5)] {
            accepted(reserve, target, ReserveRule::Range);
        }
        let outside = "reserve_percent is 20.5 %, outside 0 to 20 %";
        refused(20.5, 80.0, ReserveRule::Range, outside);
        refused(-0.1, 80.0, ReserveRule::Range, "reserve_percent is -0.1 %, outside 0 to 20 %");
        refused(f64::NAN, 80.0, ReserveRule::Range, "reserve_percent is NaN %, outside 0 to 20 %");
        let below = "schedule[\"friday\"].target_percent is 14.9 %, below the reserve of 15 %";
        refused(15.0, 14.9, ReserveRule::Range, below);
        let above = "schedule[\"friday\"].target_percent is 101 %, outside 0 to 100 %";
        refused(15.0, 101.0, ReserveRule::Range, above);
    }

    #[test]
    fn one_manufacturer_has_one_reserve() {
        accepted(50.0, 50.0, FIFTY);
        accepted(50.0, 100.0, FIFTY);
        for wrong in [0.0, 20.0, 49.0, 51.0] {
            let text = format!("reserve_percent is {wrong} %; for this manufacturer it is 50 %");
            refused(wrong, 80.0, FIFTY, &text);
        }
        // FLX-30: targets, too, are at least what it allows.
        let both = "reserve_percent is 20 %; for this manufacturer it is 50 %; \
            schedule[\"friday\"].target_percent is 49 %, below the reserve of 50 %";
        refused(20.0, 49.0, FIFTY, both);
        refused(50.0, 80.0, ReserveRule::Range, "reserve_percent is 50 %, outside 0 to 20 %");
    }

    #[test]
    fn targets_are_checked_against_the_limit_last_seen() {
        let mut given = request(10.0, &[("monday", "07:00", 80.0), ("sunday", "09:00", 81.0)]);
        given.observed_limit_percent = 80.0;
        let issues = FlexPolicy::new(&given, ReserveRule::Range).unwrap_err();
        assert_eq!(
            issues.to_string(),
            "schedule[\"sunday\"].target_percent is 81 %, \
             above the charge limit of 80 % last seen at the location"
        );
        given.observed_limit_percent = 181.0;
        let issues = FlexPolicy::new(&given, ReserveRule::Range).unwrap_err();
        assert_eq!(issues.to_string(), "observed_limit_percent is 181 %, outside 0 to 100 %");
    }

    #[test]
    fn a_stored_policy_outlives_a_lower_limit() {
        let given = request(10.0, &[("monday", "07:00", 90.0)]);
        let policy = FlexPolicy::new(&given, ReserveRule::Range).unwrap();
        let mut facts = FlexFacts {
            policy_location: "home".into(),
            vehicle_location: Some("home".into()),
            is_plugged_in: None,
            soc: None,
            charge_limit: Some(percent(80.0)),
        };
        assert_eq!(policy.observed_limit(), Percent::FULL);
        let seen = policy.observing(&facts);
        assert_eq!(seen.observed_limit(), percent(80.0));
        // Accepted as it was, refused when it is written again.
        assert_eq!(FlexPolicy::stored(&seen.request()), Ok(seen));
        assert!(FlexPolicy::new(&seen.request(), ReserveRule::Range).is_err());
        facts.charge_limit = None;
        assert_eq!(seen.observing(&facts), seen);
        facts.charge_limit = Some(percent(70.0));
        for elsewhere in [None, Some("work".to_owned())] {
            facts.vehicle_location = elsewhere;
            assert_eq!(seen.observing(&facts), seen);
        }
        let text = FlexPolicy::stored(&request(-1.0, &[])).unwrap_err().to_string();
        assert_eq!(text, "reserve_percent is -1 %, outside 0 to 100 %");
        assert!(FlexPolicy::stored(&request(50.0, &[("friday", "06:00", 10.0)])).is_ok());
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let mut given = request(21.0, &[("tuesday", "7:00", -1.0), ("Monday", "07:00", 80.0)]);
        let half = DayRequest { deadline: None, target_percent: Some(80.0) };
        given.schedule.insert("saturday".into(), half);
        given.schedule.insert("sunday".into(), DayRequest::default());
        let FlexIssues(issues) = FlexPolicy::new(&given, ReserveRule::Range).unwrap_err();
        let lines: Vec<String> = issues.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "reserve_percent is 21 %, outside 0 to 20 %",
                "schedule[\"Monday\"] is not a day; days are monday to sunday",
                "schedule[\"tuesday\"].deadline: \"7:00\" is not HH:MM from 00:00 to 23:59",
                "schedule[\"tuesday\"].target_percent is -1 %, outside 0 to 100 %",
                "schedule[\"saturday\"].deadline is missing; a day has a deadline and a target",
                "schedule[\"sunday\"].deadline is missing; a day has a deadline and a target",
                "schedule[\"sunday\"].target_percent is missing; a day has a deadline and a target",
            ]
        );
        assert_eq!(issues[2].field, FlexField::Deadline(1));
    }

    #[test]
    fn a_patch_keeps_what_it_does_not_name() {
        let policy = request(10.0, &[("monday", "07:00", 80.0), ("friday", "06:00", 60.0)]);
        let mut patch = FlexPatch::default();
        assert_eq!(policy.patched(&patch, ReserveRule::Range).unwrap().request(), policy);
        patch.reserve_percent = Some(0.0);
        patch.schedule.insert("friday".into(), day("08:30", 5.0));
        patch.schedule.insert("sunday".into(), day("10:00", 0.0));
        let after = policy.patched(&patch, ReserveRule::Range).unwrap().request();
        let days = [("monday", "07:00", 80.0), ("friday", "08:30", 5.0), ("sunday", "10:00", 0.0)];
        assert_eq!(after, request(0.0, &days));
    }

    #[test]
    fn the_merged_policy_is_what_counts() {
        let policy = request(10.0, &[("monday", "07:00", 15.0)]);
        let mut patch = FlexPatch { reserve_percent: Some(18.0), ..FlexPatch::default() };
        assert!(policy.patched(&patch, ReserveRule::Range).is_err());
        // The same reserve together with a higher target is fine.
        patch.schedule.insert("monday".into(), day("07:00", 18.0));
        assert!(policy.patched(&patch, ReserveRule::Range).is_ok());
    }

    #[test]
    fn a_limit_that_fell_since_is_held_against_named_days_only() {
        let mut lower = request(10.0, &[("monday", "07:00", 90.0)]);
        lower.observed_limit_percent = 80.0;
        let mut patch = FlexPatch { reserve_percent: Some(5.0), ..FlexPatch::default() };
        patch.schedule.insert("friday".into(), day("06:00", 80.0));
        assert!(lower.patched(&patch, ReserveRule::Range).is_ok());
        for (name, target) in [("friday", 81.0), ("monday", 90.0)] {
            patch.schedule.insert(name.into(), day("06:00", target));
            let FlexIssues(issues) = lower.patched(&patch, ReserveRule::Range).unwrap_err();
            let above = FlexFault::AboveLimit { percent: target, limit: 80.0 };
            assert!(issues.iter().any(|issue| issue.fault == above), "{name}");
        }
    }

    #[test]
    fn a_request_survives_its_json() {
        let given = request(10.0, &[("monday", "07:00", 80.0)]);
        let text = serde_json::to_string(&given).unwrap();
        assert_eq!(serde_json::from_str::<FlexRequest>(&text).unwrap(), given);
        let rule = serde_json::to_string(&FIFTY).unwrap();
        assert_eq!(rule, r#"{"fixed":50.0}"#);
    }

    fn any_days() -> impl Strategy<Value = BTreeMap<String, DayRequest>> {
        let deadline = prop::sample::select(vec!["07:00", "23:59", "24:00", ""]);
        let wish = (prop::option::of(deadline), prop::option::of(-10..120i32));
        let name = prop::sample::select([&DAYS[..], &["Monday"]].concat());
        prop::collection::btree_map(name.prop_map(String::from), wish, 0..4).prop_map(|days| {
            let wish = |(deadline, target): (Option<&str>, Option<i32>)| DayRequest {
                deadline: deadline.map(Into::into),
                target_percent: target.map(f64::from),
            };
            days.into_iter().map(|(name, day)| (name, wish(day))).collect()
        })
    }

    proptest! {
        /// EP-30: what a patch leaves is itself a policy that is accepted, and
        /// says what policy and patch said; what is refused names a member.
        #[test]
        fn patches_are_atomic(
            reserve in -5..60i32, days in any_days(), limit in 40..101i32,
            new_reserve in prop::option::of(-5..60i32), new_days in any_days(), fixed in any::<bool>(),
        ) {
            let rule = if fixed { FIFTY } else { ReserveRule::Range };
            let policy = FlexRequest {
                reserve_percent: f64::from(reserve),
                schedule: days,
                observed_limit_percent: f64::from(limit),
            };
            let patch = FlexPatch {
                reserve_percent: new_reserve.map(f64::from),
                schedule: new_days,
            };
            match policy.patched(&patch, rule) {
                Ok(after) => {
                    let mut unlimited = after.request();
                    unlimited.observed_limit_percent = 100.0;
                    prop_assert!(FlexPolicy::new(&unlimited, rule).is_ok());
                    let limit = after.observed_limit().as_percent();
                    for (name, day) in &patch.schedule {
                        prop_assert!(day.target_percent.is_some_and(|t| t <= limit), "{}", name);
                    }
                    let reserve = patch.reserve_percent.unwrap_or(policy.reserve_percent);
                    prop_assert_eq!(Percent::from_percent(reserve), Ok(after.reserve()));
                    for (name, day) in after.request().schedule {
                        let source = patch.schedule.get(&name).or(policy.schedule.get(&name));
                        prop_assert_eq!(Some(&day), source);
                    }
                }
                Err(FlexIssues(issues)) => prop_assert!(!issues.is_empty()),
            }
        }
    }
}
