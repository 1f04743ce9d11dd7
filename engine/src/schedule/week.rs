//! A week of minutes as bits.
use crate::schedule::filter::{HourMinuteWindow, Weekdays};
use crate::schedule::rule::{MINUTES_PER_WEEK, Rule};
use crate::time::hour_minute::MINUTES_PER_DAY;

const WORDS: usize = (MINUTES_PER_WEEK as usize).div_ceil(64);

/// What rules say in each minute of a week on the wall, from Monday 00:00 on.
///
/// Rules are painted over each other from the last to the first; the next
/// change is then a count of zeros, however many rules there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Week([u64; WORDS]);

impl Week {
    /// What these rules say, the first of them winning.
    pub(crate) fn of<'a>(
        default_should_charge: bool,
        rules: impl DoubleEndedIterator<Item = &'a Rule>,
    ) -> Self {
        let mut week = Self([if default_should_charge { u64::MAX } else { 0 }; WORDS]);
        for rule in rules.rev() {
            week.paint_rule(rule);
        }
        week
    }

    fn paint_rule(&mut self, rule: &Rule) {
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
        let mut at = start;
        while at < end {
            let (word, bit) = (at / 64, at % 64);
            let count = (64 - bit).min(end - at);
            let mask = (u64::MAX >> (64 - count)) << bit;
            if value {
                self.0[word] |= mask;
            } else {
                self.0[word] &= !mask;
            }
            at += count;
        }
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
            let differs = if value { !self.0[word] } else { self.0[word] } >> bit;
            let found = at + differs.trailing_zeros() as usize;
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
            let mut week = Week::of(start, std::iter::empty());
            let mut list = vec![start; 10_080];
            for (from, length, value) in strokes {
                let to = (from + length).min(10_080);
                week.paint(from, to, value);
                list[from..to].fill(value);
            }
            let value = list[minute as usize];
            prop_assert_eq!(week.0[minute as usize / 64] >> (minute % 64) & 1 == 1, value);
            let expected = (1..=10_080).find(|by| list[(minute as usize + by) % 10_080] != value);
            prop_assert_eq!(week.minutes_until_not(minute, value), expected.map(|by| by as i64));
        }
    }
}
