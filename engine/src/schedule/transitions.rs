//! When what a schedule says will change.
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::schedule::rule::{
    MICROS_PER_MINUTE, MINUTES_PER_WEEK, Rules, minute_of_week, wall_minute,
};
use crate::schedule::week::Week;
use crate::time::civil::{next_offset_change, offset_micros};
use crate::time::instant::{instant_at, micros_of};

/// Most transitions that a status lists (SCH-35).
pub const UPCOMING_MAX: usize = 2;

/// An instant from which on a schedule says something else than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transition {
    /// The instant.
    pub at: DateTime<Utc>,
    /// What the schedule says from then on.
    pub should_charge: bool,
}

impl Rules {
    /// The next transitions strictly after `now`, in time order, at most
    /// [`UPCOMING_MAX`] (SCH-35, SCH-36, AMB-16).
    ///
    /// There is no horizon: a rule that starts in twenty years is found, in
    /// about the same time. A list shorter than two means that nothing changes
    /// any more. Adjacent rules with one verdict make no transition.
    ///
    /// # Example: the hour that clocks show twice
    ///
    /// Berlin, 25 October 2026: a window from 02:15 to 02:45 occurs at +02:00
    /// and again an hour later, at +01:00.
    ///
    /// ```
    /// use slackwater_engine::schedule::rule::{DraftRule, Rules};
    /// let window = DraftRule {
    ///     should_charge: true,
    ///     hour_minute: Some(("02:15".into(), "02:45".into())),
    ///     ..DraftRule::default()
    /// };
    /// let rules = Rules::parse(false, &[window])?;
    /// let berlin = "Europe/Berlin".parse().unwrap();
    /// let first = rules.upcoming("2026-10-25T00:00:00Z".parse().unwrap(), berlin);
    /// assert_eq!(first[1].at.to_rfc3339(), "2026-10-25T00:45:00+00:00");
    /// let second = rules.upcoming(first[1].at, berlin);
    /// assert_eq!(second[0].at.to_rfc3339(), "2026-10-25T01:15:00+00:00");
    /// # Ok::<(), slackwater_engine::schedule::rule::RulesError>(())
    /// ```
    #[must_use]
    pub fn upcoming(&self, now: DateTime<Utc>, time_zone: Tz) -> Vec<Transition> {
        let mut found = Vec::with_capacity(UPCOMING_MAX);
        let mut at = now;
        while let Some(next) = self.next_transition(at, time_zone) {
            found.push(next);
            at = next.at;
            if found.len() == UPCOMING_MAX {
                break;
            }
        }
        found
    }

    /// The next transition strictly after an instant; `None` if what holds
    /// then holds for ever.
    ///
    /// Walks over stretches in which neither a rule comes into force or
    /// expires nor clocks change. Inside one, the rules are a pattern of one
    /// week, and the next change is looked up in it. A stretch whose pattern
    /// is constant is skipped as a whole, whatever clocks do in it.
    #[must_use]
    pub fn next_transition(&self, after: DateTime<Utc>, time_zone: Tz) -> Option<Transition> {
        let after = micros_of(after);
        let value = self.verdict(after, time_zone);
        let mut from = after;
        loop {
            if from > after && self.verdict(from, time_zone) != value {
                return Some(Transition { at: instant_at(from), should_charge: !value });
            }
            let in_force = self.rules.iter().filter(|rule| rule.in_force(from));
            let week = Week::of(self.default_should_charge, in_force);
            let bound = self.next_timestamp(from);
            let offset = offset_micros(from, time_zone);
            let wall = wall_minute(from, offset);
            let Some(minutes) = week.minutes_until_not(minute_of_week(wall), value) else {
                from = bound?;
                continue;
            };
            let change = (wall + minutes) * MICROS_PER_MINUTE - offset;
            let end = bound.unwrap_or(i64::MAX).min(change).min(LAST);
            if let Some(clocks) = next_offset_change(from, end, time_zone) {
                from = clocks;
            } else if end < LAST {
                from = end;
            } else {
                return None;
            }
        }
    }

    /// The next instant at which a rule comes into force or expires.
    fn next_timestamp(&self, after: i64) -> Option<i64> {
        let both = self.rules.iter().flat_map(|rule| [rule.from_timestamp, rule.to_timestamp]);
        both.flatten().map(micros_of).filter(|&at| at > after).min()
    }
}

/// No transition is looked for in the last week of the calendar that chrono
/// can hold, some 262,000 years from now.
const LAST: i64 =
    DateTime::<Utc>::MAX_UTC.timestamp_micros() - MINUTES_PER_WEEK * MICROS_PER_MINUTE;

#[cfg(test)]
mod tests;
