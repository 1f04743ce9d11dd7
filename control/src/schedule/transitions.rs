//! Transitions of a schedule: the instants at which its verdict changes.
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::schedule::layers::Layers;
use crate::schedule::rule::{
    MICROS_PER_MINUTE, MINUTES_PER_WEEK, Rule, Rules, minute_of_week, wall_minute,
};
use crate::schedule::week::Week;
use slackwater_engine::time::civil::{next_offset_change, offset_micros};
use slackwater_engine::time::instant::{instant_at, micros_of};

/// Most transitions that a status lists (SCH-35).
pub const UPCOMING_MAX: usize = 2;

/// Instant from which a schedule's verdict differs from before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transition {
    /// The instant.
    pub at: DateTime<Utc>,
    /// Verdict of the schedule from then on.
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
    /// use slackwater_control::schedule::rule::{DraftRule, Rules};
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
    /// # Ok::<(), slackwater_control::schedule::rule::RulesError>(())
    /// ```
    #[must_use]
    pub fn upcoming(&self, now: DateTime<Utc>, time_zone: Tz) -> Vec<Transition> {
        TransitionSearch::from(self, micros_of(now), time_zone).take(UPCOMING_MAX).collect()
    }

    /// The next transition strictly after an instant; `None` if the verdict never changes again.
    #[cfg(test)]
    pub(crate) fn next_transition(
        &self,
        after: DateTime<Utc>,
        time_zone: Tz,
    ) -> Option<Transition> {
        TransitionSearch::from(self, micros_of(after), time_zone).next()
    }

    /// Instants after `after` at which rules come into force or expire, earliest on top. The heap
    /// is built in one pass and sorted only as far as it is consumed.
    fn turns(&self, after: i64) -> BinaryHeap<Reverse<(i64, usize)>> {
        let of_rule = |(index, rule): (usize, &Rule)| {
            let both = [rule.from_timestamp, rule.to_timestamp].into_iter().flatten();
            both.map(micros_of).filter(move |&at| at > after).map(move |at| Reverse((at, index)))
        };
        self.rules.iter().enumerate().flat_map(of_rule).collect()
    }
}

/// Search from transition to transition, over stretches in which no rule comes into force or
/// expires and clocks do not change.
///
/// Inside a stretch the rules are a weekly pattern, and the next change is looked up in it. A
/// stretch with a constant pattern is skipped as a whole, regardless of clock changes. Between
/// stretches only the rules that come or go are processed, so that the time of a search is nearly
/// proportional to their number.
struct TransitionSearch<'a> {
    rules: &'a Rules,
    time_zone: Tz,
    turns: BinaryHeap<Reverse<(i64, usize)>>,
    layers: Layers<'a>,
    week: Week,
    /// Instant that the search has reached.
    from: i64,
    /// Verdict of the rules at `from`.
    value: bool,
}

impl<'a> TransitionSearch<'a> {
    fn from(rules: &'a Rules, from: i64, time_zone: Tz) -> Self {
        let layers = Layers::at(&rules.rules, from);
        let week = layers.week(rules.default_should_charge);
        let value = week.says(minute_of_week(wall_minute(from, offset_micros(from, time_zone))));
        Self { rules, time_zone, turns: rules.turns(from), layers, week, from, value }
    }

    /// The end of a stretch, and the rules that come or go there.
    fn advance_to(&mut self, to: i64) {
        self.from = to;
        let mut is_changed = false;
        while let Some(top) = self.turns.peek_mut()
            && top.0.0 <= to
        {
            let Reverse((_, rule)) = PeekMut::pop(top);
            is_changed |= self.layers.turn(rule, to);
        }
        if is_changed {
            self.week = self.layers.week(self.rules.default_should_charge);
        }
    }
}

impl Iterator for TransitionSearch<'_> {
    type Item = Transition;

    fn next(&mut self) -> Option<Transition> {
        loop {
            let offset = offset_micros(self.from, self.time_zone);
            let wall = wall_minute(self.from, offset);
            let minute = minute_of_week(wall);
            // The stretch begins with another verdict than the one before it ended with.
            if self.week.says(minute) != self.value {
                self.value = !self.value;
                return Some(Transition { at: instant_at(self.from), should_charge: self.value });
            }
            let bound = self.turns.peek().map(|turn| turn.0.0);
            // A pattern of one verdict holds until a rule comes or goes.
            let Some(minutes) = self.week.minutes_until_not(minute, self.value) else {
                self.advance_to(bound?);
                continue;
            };
            // Instant of the change if clocks keep their offset until then.
            let change = (wall + minutes) * MICROS_PER_MINUTE - offset;
            let end = bound.unwrap_or(i64::MAX).min(change).min(LAST);
            // A change of the clocks before it moves the wall clock, so the pattern is read anew
            // there.
            if let Some(clocks) = next_offset_change(self.from, end, self.time_zone) {
                self.advance_to(clocks);
            } else if end < LAST {
                self.advance_to(end);
            } else {
                return None;
            }
        }
    }
}

/// No transition is looked for in the last week of the calendar that chrono
/// can hold, some 262,000 years from now.
const LAST: i64 =
    DateTime::<Utc>::MAX_UTC.timestamp_micros() - MINUTES_PER_WEEK * MICROS_PER_MINUTE;

#[cfg(test)]
mod tests;
