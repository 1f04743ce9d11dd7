//! A week of minutes as bits.
use crate::schedule::filter::{HourMinuteWindow, Weekdays};
use crate::schedule::rule::{MINUTES_PER_WEEK, Rule};
use slackwater_engine::time::hour_minute::MINUTES_PER_DAY;

const WORDS: usize = (MINUTES_PER_WEEK as usize).div_ceil(64);

/// Verdict of rules in each minute of a week on the wall clock, from Monday 00:00 on.
///
/// The next change is found by counting zero bits, independent of the number of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Week([u64; WORDS]);

/// Verdicts of rules that leave minutes open: minutes with charging and minutes without. No
/// minute is in both.
///
/// Rules are painted over each other from the last to the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layer {
    yes: [u64; WORDS],
    no: [u64; WORDS],
}

impl Layer {
    /// Layer of no rules.
    pub(crate) const EMPTY: Self = Self { yes: [0; WORDS], no: [0; WORDS] };

    /// Layer of these rules, where the first that applies decides. Rules after one that leaves no
    /// minute open are skipped.
    pub(crate) fn of(rules: &[Rule], at: i64) -> Self {
        let mut layer = Self::EMPTY;
        let in_force = |rule: &&Rule| rule.in_force(at);
        let last = rules.iter().position(|rule| is_whole_week(rule) && rule.in_force(at));
        let seen = last.map_or(rules, |last| &rules[..=last]);
        // From the last rule to the first, so that an earlier rule covers a later one.
        for rule in seen.iter().rev().filter(in_force) {
            layer.paint_rule(rule);
        }
        layer
    }

    /// This layer, with open minutes filled from `below`.
    pub(crate) fn on(&self, below: &Self) -> Self {
        let mut both = self.clone();
        for word in 0..WORDS {
            // A minute that this layer decides keeps its verdict.
            both.yes[word] |= below.yes[word] & !self.no[word];
            both.no[word] |= below.no[word] & !self.yes[word];
        }
        both
    }

    /// Week in which open minutes are `default_should_charge`.
    pub(crate) fn over(&self, default_should_charge: bool) -> Week {
        Week(if default_should_charge { self.no.map(|no| !no) } else { self.yes })
    }

    fn paint_rule(&mut self, rule: &Rule) {
        if is_whole_week(rule) {
            return self.paint(0, MINUTES_PER_WEEK as usize, rule.should_charge);
        }
        let days = rule.weekdays.unwrap_or(Weekdays::ALL);
        let stretches =
            rule.hour_minute.map_or([0..MINUTES_PER_DAY, 0..0], HourMinuteWindow::stretches);
        for day in (0..7).filter(|&day| days.contains(day)) {
            let midnight = usize::from(day) * usize::from(MINUTES_PER_DAY);
            for stretch in &stretches {
                let (start, end) = (usize::from(stretch.start), usize::from(stretch.end));
                self.paint(midnight + start, midnight + end, rule.should_charge);
            }
        }
    }

    fn paint(&mut self, start: usize, end: usize, value: bool) {
        if start >= end {
            return;
        }
        let (wanted, other) =
            if value { (&mut self.yes, &mut self.no) } else { (&mut self.no, &mut self.yes) };
        // The range is a part of its first and last words, and all words between them.
        let (first, last) = (start / 64, (end - 1) / 64);
        let (from, to) = (u64::MAX << (start % 64), u64::MAX >> (63 - (end - 1) % 64));
        let ends =
            if first == last { [(first, from & to); 2] } else { [(first, from), (last, to)] };
        for (word, mask) in ends {
            wanted[word] |= mask;
            other[word] &= !mask;
        }
        if last - first > 1 {
            wanted[first + 1..last].fill(u64::MAX);
            other[first + 1..last].fill(0);
        }
    }
}

/// Returns true if a rule has a verdict in every minute in which it is in force.
fn is_whole_week(rule: &Rule) -> bool {
    rule.hour_minute.is_none_or(|window| window.from == window.to)
        && rule.weekdays.is_none_or(|days| days == Weekdays::ALL)
}

impl Week {
    /// Returns true if charging is wanted in a minute.
    pub(crate) const fn says(&self, minute: i64) -> bool {
        self.0[minute as usize / 64] >> (minute % 64) & 1 == 1
    }

    /// Minutes from `minute` to the next one in which `value` does not hold,
    /// at most a week on; `None` if it always holds.
    pub(crate) fn minutes_until_not(&self, minute: i64, value: bool) -> Option<i64> {
        let end = MINUTES_PER_WEEK as usize;
        let start = minute as usize + 1;
        let later = self.first_not(start, end, value).map(|found| found + 1 - start);
        let wrapped = || self.first_not(0, start, value).map(|found| found + 1 + end - start);
        later.or_else(wrapped).map(|minutes| minutes as i64)
    }

    /// The first minute in `[start, end)` in which `value` does not hold.
    fn first_not(&self, start: usize, end: usize, value: bool) -> Option<usize> {
        let mut at = start;
        while at < end {
            let (word, bit) = (at / 64, at % 64);
            // Minutes from `at` to the end of the word in which `value` does not hold.
            let differs = if value { !self.0[word] } else { self.0[word] } >> bit;
            let found = at + differs.trailing_zeros() as usize;
            // The last word may reach beyond `end`.
            if differs != 0 {
                return (found < end).then_some(found);
            }
            at += 64 - bit;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Painting and searching agree with a plain list of 10,080 answers.
        #[test]
        fn bits_are_a_list_of_minutes(
            start in any::<bool>(),
            strokes in prop::collection::vec((0..10_080_usize, 0..3000_usize, any::<bool>()), 0..6),
            minute in 0..10_080_i64,
        ) {
            let mut layer = Layer::EMPTY;
            let mut list = vec![start; 10_080];
            for (from, length, value) in strokes {
                let to = (from + length).min(10_080);
                layer.paint(from, to, value);
                list[from..to].fill(value);
            }
            let week = layer.over(start);
            let value = list[minute as usize];
            prop_assert_eq!(week.says(minute), value);
            let expected = (1..=10_080).find(|by| list[(minute as usize + by) % 10_080] != value);
            prop_assert_eq!(week.minutes_until_not(minute, value), expected.map(|by| by as i64));
        }
    }
}
