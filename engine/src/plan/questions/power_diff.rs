//! Differences in power between two plans, by their intervals.
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;

use crate::plan::charge::explain::{rounded, wall_clock};
use crate::plan::interval::Interval;
use crate::tolerance::INSTANT_MICROS;
use crate::units::Power;

/// Difference of two powers that counts as rounding, in kW: a milliwatt.
const SAME_POWER_KW: f64 = 1e-6;

/// Period in which two plans have different powers, each of them constant.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PowerChange {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Power of the first plan; negative feeds.
    pub before: Power,
    /// Power of the second plan; negative feeds.
    pub after: Power,
}

impl PowerChange {
    /// Sentence about the change, with times on the wall clock of `time_zone`. Powers have two
    /// decimals, or as many as tell them apart.
    #[must_use]
    pub fn sentence(&self, time_zone: Tz) -> String {
        let [start, end] = [self.start, self.end].map(|at| wall_clock(at, time_zone));
        let both = |digits| [self.before, self.after].map(|power| rounded(power.as_kw(), digits));
        let is_told = |[before, after]: &[String; 2]| before != after;
        let [before, after] = (2..6).map(both).find(is_told).unwrap_or_else(|| both(6));
        format!("{start} to {end}: {after} kW instead of {before} kW.")
    }
}

/// Returns the periods from an instant on in which two lists of intervals have different powers.
///
/// Both lists are in time order; between intervals the power is zero. A difference of up to a
/// milliwatt or two microseconds is none.
///
/// # Example
///
/// The second plan runs an hour later.
///
/// ```
/// use chrono::TimeDelta;
/// use slackwater_engine::plan::Interval;
/// use slackwater_engine::plan::questions::power_changes;
/// use slackwater_engine::units::kw;
///
/// let six = "2026-01-05T18:00:00Z".parse().unwrap();
/// let hour = TimeDelta::hours(1);
/// let run = |start| vec![Interval { start, end: start + hour, power: kw(7.0) }];
/// let changes = power_changes(&run(six), &run(six + hour), six);
/// let sentences: Vec<String> = changes.iter().map(|one| one.sentence(chrono_tz::UTC)).collect();
/// assert_eq!(sentences, [
///     "Mon 18:00 to Mon 19:00: 0 kW instead of 7 kW.",
///     "Mon 19:00 to Mon 20:00: 7 kW instead of 0 kW.",
/// ]);
/// ```
#[must_use]
pub fn power_changes(
    before: &[Interval],
    after: &[Interval],
    from: DateTime<Utc>,
) -> Vec<PowerChange> {
    let ends = before.iter().chain(after).flat_map(|interval| [interval.start, interval.end]);
    let mut cuts: Vec<DateTime<Utc>> = ends.filter(|&end| end > from).chain([from]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let (mut before, mut after) = (before, after);
    let mut changes: Vec<PowerChange> = Vec::new();
    for pair in cuts.windows(2) {
        let (was, is) = (power_at(&mut before, pair[0]), power_at(&mut after, pair[0]));
        if (is.as_kw() - was.as_kw()).abs() <= SAME_POWER_KW {
            continue;
        }
        let next = PowerChange { start: pair[0], end: pair[1], before: was, after: is };
        push(&mut changes, next);
    }
    changes
        .retain(|change| change.end - change.start > TimeDelta::microseconds(2 * INSTANT_MICROS));
    changes
}

/// Power at an instant; intervals that have ended by then are dropped.
fn power_at(intervals: &mut &[Interval], at: DateTime<Utc>) -> Power {
    while let Some((first, rest)) = intervals.split_first()
        && first.end <= at
    {
        *intervals = rest;
    }
    intervals.first().filter(|first| first.start <= at).map_or(Power::ZERO, |first| first.power)
}

/// Appends a change, or extends the last one if it continues that at the same powers.
fn push(changes: &mut Vec<PowerChange>, next: PowerChange) {
    match changes.last_mut() {
        Some(last)
            if last.end == next.start && (last.before, last.after) == (next.before, next.after) =>
        {
            last.end = next.end;
        }
        _ => changes.push(next),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::kw;

    fn minute(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    fn intervals(rows: &[(i64, i64, f64)]) -> Vec<Interval> {
        let interval = |&(start, end, power): &(i64, i64, f64)| Interval {
            start: minute(start),
            end: minute(end),
            power: kw(power),
        };
        rows.iter().map(interval).collect()
    }

    #[test]
    fn only_different_powers_are_told_and_neighbours_are_one_period() {
        let before = intervals(&[(0, 60, 7.0), (60, 90, 7.0), (120, 180, -3.0)]);
        let after = intervals(&[(0, 30, 7.0), (30, 45, 2.0), (120, 180, -3.0 + 1e-9)]);
        let changes = power_changes(&before, &after, minute(0));
        let told: Vec<_> = changes.iter().map(|one| (one.start, one.end)).collect();
        assert_eq!(told, [(minute(30), minute(45)), (minute(45), minute(90))]);
        assert_eq!((changes[1].before, changes[1].after), (kw(7.0), kw(0.0)));
    }

    #[test]
    fn a_sentence_tells_powers_apart() {
        let sentence = |before, after| {
            let (start, end) = (minute(0), minute(60));
            let (before, after) = (kw(before), kw(after));
            PowerChange { start, end, before, after }.sentence(chrono_tz::UTC)
        };
        assert!(sentence(7.0, 6.9971).ends_with(": 6.997 kW instead of 7 kW."));
        assert!(sentence(0.0, 2e-6).ends_with(": 0.000002 kW instead of 0 kW."));
        assert!(sentence(7.0, 2.4178).ends_with(": 2.42 kW instead of 7 kW."));
    }

    #[test]
    fn what_has_passed_and_two_microseconds_are_no_change() {
        let before = intervals(&[(0, 60, 7.0)]);
        let mut after = before.clone();
        after[0].end += TimeDelta::microseconds(2);
        assert_eq!(power_changes(&before, &after, minute(0)), []);
        assert_eq!(power_changes(&before, &[], minute(60)), []);
        let changes = power_changes(&before, &[], minute(45));
        assert_eq!((changes[0].start, changes[0].end), (minute(45), minute(60)));
    }

    proptest! {
        /// The changes are what turns the energy of one plan into that of the other.
        #[test]
        fn changes_add_up_to_the_difference_of_energies(
            lengths in prop::collection::vec((1..90i64, -5..9i32, -5..9i32), 0..20),
        ) {
            let (mut rows, mut at) = ((Vec::new(), Vec::new()), 0);
            for (length, was, is) in lengths {
                rows.0.push((at, at + length, f64::from(was)));
                rows.1.push((at, at + length, f64::from(is)));
                at += length;
            }
            let (before, after) = (intervals(&rows.0), intervals(&rows.1));
            let energy = |intervals: &[Interval]| -> f64 {
                intervals.iter().map(|one| one.power.over(one.end - one.start).as_kwh()).sum()
            };
            let changes = power_changes(&before, &after, minute(0));
            let changed: f64 = changes
                .iter()
                .map(|one| (one.after.as_kw() - one.before.as_kw()) * (one.end - one.start).as_seconds_f64() / 3600.0)
                .sum();
            prop_assert!((energy(&after) - energy(&before) - changed).abs() < 1e-9);
            prop_assert!(changes.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }
}
