//! Register of a meter over time, and the energy of quarters of an hour.
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use slackwater_engine::units::{Energy, Power};

use crate::assumption::Assumption;

/// Length of the periods that are counted.
pub const QUARTER: TimeDelta = TimeDelta::minutes(15);

/// Longest pause between two counts that is read as a steady flow.
const STEADY_MAX: TimeDelta = TimeDelta::minutes(20);

/// Time for which counts are kept.
const KEPT: TimeDelta = TimeDelta::days(8);

/// Two counts this close are equal, in kWh: meters round to a watt-hour.
const TOLERANCE_KWH: f64 = 0.001;

/// Least register, and most energy between two counts, by which a missing unit is told, in kWh.
/// Below, a meter that begins anew with each transaction looks alike.
const LIFETIME_MIN_KWH: f64 = 100.0;
const ADVANCE_MAX_KWH: f64 = 200.0;

/// Least time and power by which a missing unit is told: below, rounding decides.
const TELLING_TIME: TimeDelta = TimeDelta::seconds(60);
const TELLING_POWER_KW: f64 = 0.5;

/// Count of a meter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Count {
    #[serde(rename = "kwh")]
    energy: Energy,
    /// Number of the meter: a new one begins where the register falls.
    meter: u32,
}

/// Energy in a quarter of an hour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quarter {
    /// First instant.
    pub start: DateTime<Utc>,
    /// Energy.
    pub energy: Energy,
}

/// Register over the last days. Of each quarter of an hour the first and the last count are kept, and
/// of a time without flow the first and the last, however long it is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Register {
    counts: BTreeMap<DateTime<Utc>, Count>,
}

impl Register {
    /// Last count.
    #[must_use]
    pub fn last(&self) -> Option<(DateTime<Utc>, Energy)> {
        self.counts.last_key_value().map(|(at, count)| (*at, count.energy))
    }

    /// Adds a count, also one that comes late. A register that falls begins a new meter; a late
    /// count that does not lie between its neighbours is left out.
    pub fn add(&mut self, at: DateTime<Utc>, energy: Energy) -> Option<Assumption> {
        let before = self.counts.range(..=at).next_back().map(|(_, count)| *count);
        let after = self.counts.range((Excluded(at), Unbounded)).next().map(|(_, count)| *count);
        let falls = |from: Energy, to: Energy| (from - to).as_kwh() > TOLERANCE_KWH;
        let (meter, assumption) = match (before, after) {
            (None, None) => (0, None),
            (_, Some(after)) if falls(energy, after.energy) => {
                return Some(Assumption::SampleContradicts);
            }
            (None, Some(after)) => (after.meter, None),
            (Some(before), None) if falls(before.energy, energy) => {
                (before.meter + 1, Some(Assumption::MeterFell))
            }
            (Some(before), Some(_)) if falls(before.energy, energy) => {
                return Some(Assumption::SampleContradicts);
            }
            (Some(before), _) => (before.meter, None),
        };
        self.counts.insert(at, Count { energy, meter });
        self.thin(at);
        assumption
    }

    /// Keeps the first and last count of the quarter around `at`, and forgets old ones.
    fn thin(&mut self, at: DateTime<Utc>) {
        let start = quarter_of(at);
        let all: Vec<_> =
            self.counts.range(start..start + QUARTER).map(|(at, one)| (*at, one.meter)).collect();
        for three in all.windows(3) {
            if three[0].1 == three[2].1 {
                self.counts.remove(&three[1].0);
            }
        }
        let recent: Vec<_> =
            self.counts.iter().rev().take(3).map(|(at, one)| (*at, *one)).collect();
        if let [(_, last), (middle, _), (_, first)] = recent[..]
            && first == last
        {
            self.counts.remove(&middle);
        }
        if let Some((last, _)) = self.last() {
            self.counts = self.counts.split_off(&(last - KEPT));
        }
    }

    /// Register at an instant, where it is known: on a count, between two close ones, or
    /// between two equal ones.
    fn at(&self, at: DateTime<Utc>) -> Option<Count> {
        let (from, before) = self.counts.range(..=at).next_back()?;
        if *from == at {
            return Some(*before);
        }
        let (to, after) = self.counts.range(at..).next()?;
        let advance = after.energy - before.energy;
        let is_still = advance.as_kwh().abs() <= TOLERANCE_KWH;
        let is_known = before.meter == after.meter && (is_still || *to - *from <= STEADY_MAX);
        let share = (at - *from).as_seconds_f64() / (*to - *from).as_seconds_f64();
        let energy = Energy::from_kwh(before.energy.as_kwh() + share * advance.as_kwh()).ok()?;
        is_known.then_some(Count { energy, meter: before.meter })
    }

    /// Energy of all quarters of an hour in `[from, to)` that are known at both ends.
    #[must_use]
    pub fn quarters(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<Quarter> {
        let Some((first, last)) = self.counts.first_key_value().zip(self.counts.last_key_value())
        else {
            return Vec::new();
        };
        let mut start = quarter_of(from.max(*first.0));
        if start < from {
            start += QUARTER;
        }
        let mut found = Vec::new();
        while start + QUARTER <= to.min(*last.0) {
            if let Some((one, other)) = self.at(start).zip(self.at(start + QUARTER))
                && one.meter == other.meter
            {
                found
                    .push(Quarter { start, energy: (other.energy - one.energy).max(Energy::ZERO) });
            }
            start += QUARTER;
        }
        found
    }

    /// Returns true if a value without a unit, which should be in Wh, can only be in kWh.
    ///
    /// It is if a large register goes on in kWh, and would fall to a thousandth in Wh; or if the
    /// advance is a thousandth of what the power has delivered.
    #[must_use]
    pub fn is_in_kwh(&self, at: DateTime<Utc>, value: f64, power: Option<Power>) -> bool {
        let Some((last_at, last)) = self.last() else { return false };
        let last = last.as_kwh();
        let goes_on = (-TOLERANCE_KWH..=ADVANCE_MAX_KWH).contains(&(value - last));
        if goes_on && last >= LIFETIME_MIN_KWH {
            return true;
        }
        let elapsed = at - last_at;
        let Some(power) = power.filter(|power| power.as_kw() >= TELLING_POWER_KW) else {
            return false;
        };
        let delivered = power.over(elapsed.max(TimeDelta::zero())).as_kwh();
        let advance = value / 1e3 - last;
        let is_telling = (TELLING_TIME..=STEADY_MAX).contains(&elapsed) && advance > 0.0;
        is_telling && (500.0..2000.0).contains(&(delivered / advance))
    }
}

/// Start of the quarter of an hour around an instant.
#[must_use]
pub fn quarter_of(at: DateTime<Utc>) -> DateTime<Utc> {
    let seconds = at.timestamp().rem_euclid(QUARTER.num_seconds());
    at - TimeDelta::seconds(seconds)
        - TimeDelta::nanoseconds(i64::from(at.timestamp_subsec_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slackwater_engine::units::{kw, kwh};

    fn at(clock: &str) -> DateTime<Utc> {
        format!("2026-01-05T{clock}:00Z").parse().unwrap()
    }

    fn register(counts: &[(&str, f64)]) -> Register {
        let mut register = Register::default();
        for (clock, energy) in counts {
            assert_eq!(register.add(at(clock), kwh(*energy)), None, "{clock}");
        }
        register
    }

    fn drawn(register: &Register) -> Vec<(String, f64)> {
        let all = register.quarters(at("00:00"), at("23:45"));
        all.iter().map(|one| (one.start.format("%H:%M").to_string(), one.energy.as_kwh())).collect()
    }

    #[test]
    fn quarters_between_close_counts() {
        // 10 kWh at 18:10 and 12 kWh at 18:20: 11 kWh at 18:15.
        let register =
            register(&[("18:00", 9.0), ("18:10", 10.0), ("18:20", 12.0), ("18:30", 13.0)]);
        assert_eq!(drawn(&register), [("18:00".to_owned(), 2.0), ("18:15".to_owned(), 2.0)]);
    }

    #[test]
    fn a_gap_is_left_out_unless_nothing_flowed() {
        let gap = register(&[("18:00", 9.0), ("18:15", 10.0), ("19:15", 14.0), ("19:30", 15.0)]);
        assert_eq!(drawn(&gap), [("18:00".to_owned(), 1.0), ("19:15".to_owned(), 1.0)]);
        let still = register(&[("18:00", 9.0), ("19:00", 9.0)]);
        assert!(drawn(&still).iter().map(|one| one.1).sum::<f64>().abs() < 1e-9);
        assert_eq!(drawn(&still).len(), 4);
    }

    #[test]
    fn counts_that_come_late_close_the_gap() {
        let mut register = register(&[("18:00", 9.0), ("19:00", 13.0)]);
        assert_eq!(drawn(&register), []);
        for (clock, energy) in [("18:15", 10.0), ("18:30", 11.0), ("18:45", 12.0)] {
            assert_eq!(register.add(at(clock), kwh(energy)), None);
        }
        assert_eq!(drawn(&register).len(), 4);
        let late = register.add(at("18:40"), kwh(20.0));
        assert_eq!(late, Some(Assumption::SampleContradicts));
        assert_eq!(register.add(at("18:40"), kwh(5.0)), Some(Assumption::SampleContradicts));
        assert_eq!(drawn(&register).len(), 4);
    }

    #[test]
    fn a_register_that_falls_counts_anew() {
        let mut register = register(&[("18:00", 9.0), ("18:15", 10.0)]);
        assert_eq!(register.add(at("18:30"), kwh(0.0)), Some(Assumption::MeterFell));
        assert_eq!(register.add(at("18:45"), kwh(1.0)), None);
        assert_eq!(drawn(&register), [("18:00".to_owned(), 1.0), ("18:30".to_owned(), 1.0)]);
    }

    #[test]
    fn kilowatt_hours_are_told_by_the_register_or_by_the_power() {
        let register = register(&[("18:00", 1234.5)]);
        let is_in_kwh = |value, power| register.is_in_kwh(at("18:10"), value, power);
        assert!(!is_in_kwh(1_235_500.0, None));
        assert!(is_in_kwh(1235.5, None));
        // A meter that was exchanged, or begins anew with a transaction: nothing is assumed.
        assert!(!is_in_kwh(12.0, None));
        let session = self::register(&[("18:00", 8.0)]);
        assert!(!session.is_in_kwh(at("18:10"), 60.0, None));
        // 6 kW for ten minutes are 1 kWh; the register advances by a thousandth of that.
        assert!(is_in_kwh(1_234_501.0, Some(kw(6.0))));
        assert!(!is_in_kwh(1_235_500.0, Some(kw(6.0))));
        assert!(!Register::default().is_in_kwh(at("18:00"), 5.0, None));
    }

    #[test]
    fn a_time_without_flow_has_two_counts() {
        let counts = |hour: i64| (at("00:00") + TimeDelta::hours(hour), kwh(9.0));
        let mut register = Register::default();
        for (at, energy) in (0..24).map(counts) {
            register.add(at, energy);
        }
        assert_eq!(register.counts.len(), 2);
        register.add(at("23:45"), kwh(10.0));
        assert_eq!(register.counts.len(), 3);
        let quarters = register.quarters(at("00:00"), at("23:45"));
        assert_eq!(quarters.len(), 92, "{quarters:?}");
        assert!(quarters.iter().all(|one| one.energy == Energy::ZERO));
    }

    #[test]
    fn the_number_of_counts_is_bounded() {
        let mut register = Register::default();
        for second in 0..100_000_i64 {
            register.add(at("00:00") + TimeDelta::seconds(10 * second), kwh(second as f64 * 0.01));
        }
        assert!(register.counts.len() <= 2 * 8 * 96 + 4, "{}", register.counts.len());
    }

    proptest! {
        #[test]
        fn quarters_sum_to_the_advance(advances in prop::collection::vec(0.0..3.0_f64, 2..60)) {
            let mut register = Register::default();
            let mut energy = 5.0;
            for (index, advance) in advances.iter().enumerate() {
                register.add(at("06:00") + TimeDelta::minutes(5 * index as i64), kwh(energy));
                energy += advance;
            }
            let quarters = register.quarters(at("00:00"), at("23:45"));
            let sum: f64 = quarters.iter().map(|one| one.energy.as_kwh()).sum();
            let whole = (advances.len() - 1) / 3 * 3;
            let expected: f64 = advances[..whole].iter().sum();
            prop_assert!((sum - expected).abs() < 1e-9, "{sum} {expected}");
            prop_assert!(quarters.iter().all(|one| one.energy >= Energy::ZERO));
        }

        #[test]
        fn no_quarter_is_negative(counts in prop::collection::vec((0..3000_i64, 0.0..50.0_f64), 0..60)) {
            let mut register = Register::default();
            for (minute, energy) in counts {
                register.add(at("00:00") + TimeDelta::minutes(minute), kwh(energy));
            }
            let all = register.quarters(at("00:00"), at("00:00") + TimeDelta::days(4));
            prop_assert!(all.iter().all(|one| one.energy >= Energy::ZERO));
            prop_assert!(all.windows(2).all(|two| two[0].start + QUARTER <= two[1].start));
        }
    }
}
