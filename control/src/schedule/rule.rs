//! Rules of a schedule and their verdict at an instant.
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::schedule::filter::{HourMinuteWindow, WeekdayError, Weekdays};
use slackwater_engine::time::civil::offset_micros;
use slackwater_engine::time::hour_minute::{HourMinute, HourMinuteError, MINUTES_PER_DAY};
use slackwater_engine::time::instant::micros_of;

/// Microseconds in a minute.
pub(crate) const MICROS_PER_MINUTE: i64 = 60_000_000;

/// Minutes in a week on the wall.
pub(crate) const MINUTES_PER_WEEK: i64 = 7 * MINUTES_PER_DAY as i64;

/// 1 January 1970 was a Thursday.
const FIRST_WEEKDAY: i64 = 3;

/// One rule: a verdict, and filters that all have to hold (SCH-16).
///
/// A rule without filters always holds (SCH-17). A rule whose
/// `from_timestamp` is not before its `to_timestamp` never does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Verdict of the rule while it holds.
    pub should_charge: bool,
    /// Holds in this part of each local day.
    #[serde(default)]
    pub hour_minute: Option<HourMinuteWindow>,
    /// Holds from this instant on.
    #[serde(default)]
    pub from_timestamp: Option<DateTime<Utc>>,
    /// Holds before this instant.
    #[serde(default)]
    pub to_timestamp: Option<DateTime<Utc>>,
    /// Holds on these local weekdays. The empty set never holds.
    #[serde(default)]
    pub weekdays: Option<Weekdays>,
}

/// A rule as a person wrote it, before it is checked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftRule {
    /// Verdict of the rule while it holds.
    pub should_charge: bool,
    /// `HH:MM` and `HH:MM`.
    pub hour_minute: Option<(String, String)>,
    /// Holds from this instant on.
    pub from_timestamp: Option<DateTime<Utc>>,
    /// Holds before this instant.
    pub to_timestamp: Option<DateTime<Utc>>,
    /// Numbers of weekdays.
    pub weekdays: Option<Vec<i64>>,
}

/// Defect of a rule and its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleIssue {
    /// The window's start is no time of day.
    #[error("rules[{rule}].hour_minute.from: {error}")]
    From {
        /// Position of the rule.
        rule: usize,
        /// The error.
        error: HourMinuteError,
    },
    /// The window's end is no time of day.
    #[error("rules[{rule}].hour_minute.to: {error}")]
    To {
        /// Position of the rule.
        rule: usize,
        /// The error.
        error: HourMinuteError,
    },
    /// A number is no weekday.
    #[error("rules[{rule}].weekdays: {error}")]
    Weekday {
        /// Position of the rule.
        rule: usize,
        /// The error, with the position in the list.
        error: WeekdayError,
    },
}

/// All that is wrong with a list of rules; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct RulesError {
    /// Defects, in the order of the rules.
    pub issues: Vec<RuleIssue>,
}

/// Rules in order of precedence, and a default.
///
/// The first rule that holds decides (SCH-19, AMB-10); if none does, `default_should_charge`
/// applies (SCH-18).
///
/// # Example
///
/// Charge at night from Monday to Friday in Berlin, an hour ahead of UTC.
///
/// ```
/// use slackwater_control::schedule::rule::{DraftRule, Rules};
/// let berlin = "Europe/Berlin".parse().unwrap();
/// let nights = DraftRule {
///     should_charge: true,
///     hour_minute: Some(("22:00".into(), "06:00".into())),
///     weekdays: Some(vec![0, 1, 2, 3, 4]),
///     ..DraftRule::default()
/// };
/// let rules = Rules::parse(false, &[nights])?;
/// // Friday 9 January 2026, 23:30, then Saturday, half an hour past midnight.
/// assert!(rules.should_charge("2026-01-09T22:30:00Z".parse().unwrap(), berlin));
/// assert!(!rules.should_charge("2026-01-09T23:30:00Z".parse().unwrap(), berlin));
/// # Ok::<(), slackwater_control::schedule::rule::RulesError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Verdict if no rule holds.
    pub default_should_charge: bool,
    /// Earlier rules win.
    pub rules: Vec<Rule>,
}

/// Weekday and minute of the wall clock at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wall {
    weekday: u8,
    minute: u16,
}

impl Rules {
    /// Rules from their written form. An empty list is fine.
    ///
    /// # Errors
    /// Times of day or weekdays that are none; all of them, not only the first.
    pub fn parse(default_should_charge: bool, drafts: &[DraftRule]) -> Result<Self, RulesError> {
        let mut issues = Vec::new();
        let checked = drafts.iter().enumerate();
        let rules = checked.map(|(rule, draft)| draft.check(rule, &mut issues)).collect();
        if issues.is_empty() {
            Ok(Self { default_should_charge, rules })
        } else {
            Err(RulesError { issues })
        }
    }

    /// Returns true if the rules want charging at an instant.
    ///
    /// Wall clocks are those of `time_zone` at that very instant: a window
    /// inside a skipped hour does not occur, and one inside a repeated hour
    /// occurs twice (SCH-21, AMB-15). A window over midnight is judged by the
    /// weekday of the instant, not of its start (AMB-12).
    #[must_use]
    pub fn should_charge(&self, at: DateTime<Utc>, time_zone: Tz) -> bool {
        self.verdict(micros_of(at), time_zone)
    }

    pub(crate) fn verdict(&self, at: i64, time_zone: Tz) -> bool {
        let wall = wall(at, time_zone);
        let first = self.rules.iter().find(|rule| rule.in_force(at) && rule.matches(wall));
        first.map_or(self.default_should_charge, |rule| rule.should_charge)
    }
}

impl Rule {
    /// Returns true if the absolute filters hold.
    pub(crate) fn in_force(&self, at: i64) -> bool {
        self.from_timestamp.is_none_or(|from| micros_of(from) <= at)
            && self.to_timestamp.is_none_or(|to| at < micros_of(to))
    }

    fn matches(&self, wall: Wall) -> bool {
        self.weekdays.is_none_or(|days| days.contains(wall.weekday))
            && self.hour_minute.is_none_or(|window| window.contains(wall.minute))
    }
}

impl DraftRule {
    /// Converts the valid parts of a rule; defects are added to `issues`.
    fn check(&self, rule: usize, issues: &mut Vec<RuleIssue>) -> Rule {
        let hour_minute = self.hour_minute.as_ref().and_then(|(from, to)| {
            // Both ends are parsed before either is used, so that two defects are two issues.
            let from = HourMinute::parse(from)
                .map_err(|error| issues.push(RuleIssue::From { rule, error }));
            let to =
                HourMinute::parse(to).map_err(|error| issues.push(RuleIssue::To { rule, error }));
            Some(HourMinuteWindow { from: from.ok()?, to: to.ok()? })
        });
        let weekdays = self.weekdays.as_ref().and_then(|numbers| {
            Weekdays::from_numbers(numbers)
                .map_err(|error| issues.push(RuleIssue::Weekday { rule, error }))
                .ok()
        });
        Rule {
            should_charge: self.should_charge,
            hour_minute,
            from_timestamp: self.from_timestamp,
            to_timestamp: self.to_timestamp,
            weekdays,
        }
    }
}

/// The minute since 1970 that the wall shows, counted as if every day had 24 hours.
pub(crate) fn wall_minute(at: i64, offset: i64) -> i64 {
    at.saturating_add(offset).div_euclid(MICROS_PER_MINUTE)
}

/// The minute of the week, from Monday 00:00 on, of a minute since 1970.
pub(crate) fn minute_of_week(wall_minute: i64) -> i64 {
    (wall_minute + FIRST_WEEKDAY * i64::from(MINUTES_PER_DAY)).rem_euclid(MINUTES_PER_WEEK)
}

fn wall(at: i64, time_zone: Tz) -> Wall {
    let of_week = minute_of_week(wall_minute(at, offset_micros(at, time_zone)));
    let day = i64::from(MINUTES_PER_DAY);
    Wall { weekday: (of_week / day) as u8, minute: (of_week % day) as u16 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{Datelike, TimeDelta, Timelike};
    use proptest::prelude::*;
    use slackwater_engine::time::civil::local_of;

    fn rule(should_charge: bool) -> DraftRule {
        DraftRule { should_charge, ..DraftRule::default() }
    }

    fn window(from: &str, to: &str) -> DraftRule {
        DraftRule { hour_minute: Some((from.into(), to.into())), ..rule(true) }
    }

    /// Draws a local day in half hours: `#` is charging.
    #[track_caller]
    fn check(default: bool, drafts: &[DraftRule], zone: &str, midnight: &str, expected: &str) {
        let rules = Rules::parse(default, drafts).unwrap();
        let start: DateTime<Utc> = midnight.parse().unwrap();
        let half_hours = i32::try_from(expected.len()).unwrap();
        let drawn: String = (0..half_hours)
            .map(|i| start + TimeDelta::minutes(30) * i)
            .map(|at| if rules.should_charge(at, zone.parse().unwrap()) { '#' } else { '.' })
            .collect();
        assert_eq!(drawn, expected);
    }

    #[test]
    fn default_where_no_rule_holds() {
        check(true, &[], "UTC", "2026-01-05T00:00:00Z", "####");
        check(false, &[], "UTC", "2026-01-05T00:00:00Z", "....");
        check(
            true,
            &[DraftRule { weekdays: Some(vec![]), ..rule(false) }],
            "UTC",
            "2026-01-05T00:00:00Z",
            "####",
        );
    }

    #[test]
    fn filters_are_optional_and_hold_together() {
        check(false, &[rule(true)], "UTC", "2026-01-05T00:00:00Z", "####");
        // Mondays from one to two, and at no other time.
        let both = DraftRule { weekdays: Some(vec![0]), ..window("01:00", "02:00") };
        check(false, std::slice::from_ref(&both), "UTC", "2026-01-05T00:00:00Z", "..##..");
        check(false, &[both], "UTC", "2026-01-06T00:00:00Z", "......");
    }

    #[test]
    fn the_first_rule_wins() {
        let never = DraftRule { should_charge: false, ..window("01:00", "02:00") };
        let midnight = "2026-01-05T00:00:00Z";
        check(false, &[never.clone(), window("00:30", "02:30")], "UTC", midnight, ".#..#.");
        check(false, &[window("00:30", "02:30"), never], "UTC", midnight, ".####.");
    }

    #[test]
    fn a_weekday_is_that_of_the_instant() {
        // Friday 9 January 2026: its small hours and its late evening, not Saturday's.
        let friday = DraftRule { weekdays: Some(vec![4]), ..window("22:00", "02:00") };
        check(false, std::slice::from_ref(&friday), "UTC", "2026-01-09T00:00:00Z", "####....");
        check(false, std::slice::from_ref(&friday), "UTC", "2026-01-09T21:00:00Z", "..####....");
        check(false, &[friday], "UTC", "2026-01-10T00:00:00Z", "....");
    }

    #[test]
    fn a_window_in_the_gap_does_not_occur_and_in_the_fold_twice() {
        let night = [window("02:00", "03:00")];
        // Berlin: no such hour on 29 March 2026, two of them on 25 October.
        check(false, &night, "Europe/Berlin", "2026-03-28T23:00:00Z", "........");
        check(false, &night, "Europe/Berlin", "2026-10-24T22:00:00Z", "....####..");
    }

    #[test]
    fn timestamps_are_half_open_to_the_microsecond() {
        let from: DateTime<Utc> = "2026-01-05T10:00:00.5Z".parse().unwrap();
        let limited = DraftRule {
            from_timestamp: Some(from),
            to_timestamp: Some(from + TimeDelta::microseconds(2)),
            ..rule(true)
        };
        let rules = Rules::parse(false, &[limited]).unwrap();
        let at = |micros| rules.should_charge(from + TimeDelta::microseconds(micros), Tz::UTC);
        assert_eq!([-1, 0, 1, 2].map(at), [false, true, true, false]);
    }

    #[test]
    fn a_reversed_rule_never_holds() {
        let at: DateTime<Utc> = "2026-01-05T10:00:00Z".parse().unwrap();
        let reversed = DraftRule { from_timestamp: Some(at), to_timestamp: Some(at), ..rule(true) };
        assert!(!Rules::parse(false, &[reversed]).unwrap().should_charge(at, Tz::UTC));
    }

    #[test]
    fn every_issue_is_named_with_its_place() {
        let bad = DraftRule { weekdays: Some(vec![1, 7]), ..window("7:00", "24:00") };
        let error = Rules::parse(false, &[rule(true), bad]).unwrap_err();
        assert_eq!(error.issues.len(), 3);
        assert_eq!(
            error.to_string(),
            "rules[1].hour_minute.from: \"7:00\" is not HH:MM from 00:00 to 23:59; \
             rules[1].hour_minute.to: \"24:00\" is not HH:MM from 00:00 to 23:59; \
             rules[1].weekdays: 7 at position 1 is not a weekday from 0 (Monday) to 6 (Sunday)"
        );
    }

    #[test]
    fn rules_survive_their_json() {
        let drafts = [DraftRule { weekdays: Some(vec![0]), ..window("22:00", "06:00") }];
        let rules = Rules::parse(true, &drafts).unwrap();
        let text = serde_json::to_string(&rules).unwrap();
        assert!(text.contains(r#""weekdays":[0]"#), "{text}");
        assert_eq!(serde_json::from_str::<Rules>(&text).unwrap(), rules);
    }

    proptest! {
        /// The arithmetic of walls agrees with chrono's calendar in every zone.
        #[test]
        fn the_wall_is_chronos(
            zone in 0..chrono_tz::TZ_VARIANTS.len(), seconds in -2_000_000_000..4_000_000_000_i64,
        ) {
            let zone = chrono_tz::TZ_VARIANTS[zone];
            let at = DateTime::from_timestamp(seconds, 0).unwrap();
            let local = local_of(at, zone);
            let minute = local.hour() * 60 + local.minute();
            let expected = (local.weekday().num_days_from_monday(), minute);
            let wall = wall(micros_of(at), zone);
            prop_assert_eq!((u32::from(wall.weekday), u32::from(wall.minute)), expected);
        }
    }

    #[test]
    fn the_ends_of_the_calendar_are_no_surprise() {
        let rules = Rules::parse(false, &[window("00:00", "12:00")]).unwrap();
        for at in [DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC] {
            for zone in [chrono_tz::Asia::Tokyo, chrono_tz::America::Los_Angeles] {
                let wall = wall(micros_of(at), zone);
                let expected = wall.minute < 12 * 60;
                assert_eq!(rules.should_charge(at, zone), expected, "{at} in {zone}");
            }
        }
    }
}
