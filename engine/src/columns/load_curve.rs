//! Load curve: the mean power of all intervals of a table over steps of equal length.
use chrono::{DateTime, TimeDelta, Utc};

use crate::columns::intervals::IntervalColumns;
use crate::time::instant::instant_at;
use crate::units::MICROS_PER_HOUR;

/// Most steps of a load curve: 10 years of minutes, 80 MB.
const STEPS_MAX: i64 = 5_300_000;

/// Power and energy of all intervals together, step by step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadCurve {
    /// Starts of the steps, in microseconds since 1970: multiples of the length of a step.
    pub start: Vec<i64>,
    /// Ends of the steps, in microseconds since 1970.
    pub end: Vec<i64>,
    /// Energy in each step, in kWh: charged less discharged.
    pub energy_kwh: Vec<f64>,
    /// Mean power in each step, in kW: charged less discharged.
    pub power_kw: Vec<f64>,
}

/// Reason why there is no load curve of a resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadCurveError {
    /// A step has no length.
    #[error("a step of {} s has no length; give one above 0", .0.as_seconds_f64())]
    NoLength(TimeDelta),
    /// There are more steps than a curve may have.
    #[error(
        "steps of {} s from {start} to {end} are more than {STEPS_MAX}; give longer ones",
        resolution.as_seconds_f64()
    )]
    TooMany {
        /// Length of a step.
        resolution: TimeDelta,
        /// First start of an interval.
        start: DateTime<Utc>,
        /// Last end of an interval.
        end: DateTime<Utc>,
    },
}

impl IntervalColumns {
    /// Load curve from the first start to the last end of the intervals.
    ///
    /// Steps begin at multiples of `resolution` since 1970, so an hour begins with the hour in UTC.
    /// An interval that covers a part of a step adds its energy in that part, so the energies of all
    /// steps add up to those of all intervals. Without intervals there is no step. Time is linear in
    /// intervals and the steps that they cover.
    ///
    /// # Errors
    /// The resolution is not positive, or gives more than 5.3 million steps.
    pub fn load_curve(&self, resolution: TimeDelta) -> Result<LoadCurve, LoadCurveError> {
        let step = resolution.num_microseconds().unwrap_or(i64::MAX);
        if step <= 0 {
            return Err(LoadCurveError::NoLength(resolution));
        }
        let (Some(&from), Some(&to)) = (self.start.iter().min(), self.end.iter().max()) else {
            return Ok(LoadCurve::default());
        };
        let first = from.div_euclid(step);
        let steps = to.div_euclid(step) - first + i64::from(to.rem_euclid(step) > 0);
        if steps > STEPS_MAX {
            let (start, end) = (instant_at(from), instant_at(to));
            return Err(LoadCurveError::TooMany { resolution, start, end });
        }
        let mut energy_kwh = vec![0.0; usize::try_from(steps).unwrap_or(0)];
        for at in 0..self.start.len() {
            let (start, end) = (self.start[at], self.end[at]);
            let begin = start.div_euclid(step) - first;
            for (place, energy) in (begin..).zip(&mut energy_kwh[begin as usize..]) {
                let opens = (first + place) * step;
                if opens >= end {
                    break;
                }
                let micros = end.min(opens.saturating_add(step)) - start.max(opens);
                *energy += self.power_kw[at] * micros as f64 / MICROS_PER_HOUR;
            }
        }
        let starts = (first..first + steps).map(|place| place * step);
        let power = energy_kwh.iter().map(|kwh| kwh * MICROS_PER_HOUR / step as f64).collect();
        let (start, end) = starts.map(|start| (start, start.saturating_add(step))).unzip();
        Ok(LoadCurve { start, end, energy_kwh, power_kw: power })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: i64 = 60_000_000;

    fn columns(intervals: &[(i64, i64, f64)]) -> IntervalColumns {
        let mut columns = IntervalColumns::default();
        for &(start, end, kw) in intervals {
            columns.push(start * MINUTE, end * MINUTE, kw);
            columns.end_row();
        }
        columns
    }

    #[test]
    fn parts_of_a_step_count_by_their_length() {
        // Half of the first quarter at 8 kW; all of the second, where another discharges 2 kW.
        let intervals = columns(&[(7, 30, 8.0), (15, 30, -2.0)]);
        let curve = intervals.load_curve(TimeDelta::minutes(15)).unwrap();
        assert_eq!(curve.start, [0, 15 * MINUTE]);
        assert_eq!(curve.end, [15 * MINUTE, 30 * MINUTE]);
        assert!((curve.power_kw[0] - 8.0 * 8.0 / 15.0).abs() < 1e-12);
        assert!((curve.power_kw[1] - 6.0).abs() < 1e-12);
        assert!((curve.energy_kwh[1] - 1.5).abs() < 1e-12);
    }

    #[test]
    fn steps_begin_with_the_hour_also_before_1970() {
        let curve = columns(&[(-90, -30, 1.0)]).load_curve(TimeDelta::hours(1)).unwrap();
        assert_eq!(curve.start, [-120 * MINUTE, -60 * MINUTE]);
        assert_eq!(curve.energy_kwh, [0.5, 0.5]);
    }

    #[test]
    fn a_resolution_without_a_curve_is_refused() {
        let intervals = columns(&[(0, 1_000_000, 1.0)]);
        let refused = |resolution| intervals.load_curve(resolution).unwrap_err().to_string();
        assert_eq!(refused(TimeDelta::zero()), "a step of 0 s has no length; give one above 0");
        assert_eq!(
            refused(TimeDelta::seconds(1)),
            "steps of 1 s from 1970-01-01 00:00:00 UTC to 1971-11-26 10:40:00 UTC are more than \
             5300000; give longer ones"
        );
        let none = columns(&[]).load_curve(TimeDelta::seconds(1)).unwrap();
        assert_eq!(none, LoadCurve::default());
    }

    proptest! {
        /// All energy is in the curve, and the curve has no other.
        #[test]
        fn energy_is_conserved(
            intervals in prop::collection::vec((-500..500_i64, 0..300_i64, -20.0..20.0_f64), 0..20),
            minutes in 1..120_i64,
        ) {
            let ended = |&(start, length, kw): &(i64, i64, f64)| (start, start + length, kw);
            let intervals: Vec<_> = intervals.iter().map(ended).collect();
            let curve = columns(&intervals).load_curve(TimeDelta::minutes(minutes)).unwrap();
            let all: f64 = intervals.iter().map(|(s, e, kw)| kw * (e - s) as f64 / 60.0).sum();
            prop_assert!((curve.energy_kwh.iter().sum::<f64>() - all).abs() < 1e-9);
            let hours = minutes as f64 / 60.0;
            let mean: f64 = curve.power_kw.iter().map(|kw| kw * hours).sum();
            prop_assert!((mean - all).abs() < 1e-9);
        }
    }
}
