//! Naive forecasts of prices: persistence, and the same time of an earlier day. Any other
//! forecast should beat them.
//!
//! The quantile `q` of a forecast is its point plus the quantile `q` of its past errors: of the
//! last [`ERRORS_MAX`] slots for which the rule gives a point from what lies as far back. Without
//! past errors all quantiles are the point.
use chrono::TimeDelta;
use chrono_tz::Tz;

use crate::prices::curve::PriceCurve;
use crate::time::civil::{instant_of, local_of};
use crate::time::instant::{instant_at, micros_of};

/// Past errors from which quantiles are taken: a week of quarter-hours.
const ERRORS_MAX: usize = 672;

/// Seasons that are tried, one before the other, until one has a known price.
const SEASONS_MAX: i64 = 8;

/// Rule of a naive forecast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NaiveRule {
    /// The last known price goes on.
    Persistence,
    /// The price at the same wall-clock time so many days before, or of the season before that.
    Seasonal {
        /// Days of a season: 1 or 7.
        days: u32,
    },
}

/// A naive forecast in a time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NaiveForecast {
    /// The rule.
    pub rule: NaiveRule,
    /// Zone in whose wall clock a day repeats itself.
    pub time_zone: Tz,
}

impl NaiveForecast {
    /// Quantiles of the price at each instant: one row per level, one number per instant; NaN
    /// where the rule knows nothing. Levels lie between 0 and 1.
    ///
    /// Wall clocks decide what the same time is: on the day after a clock change 18:00 is forecast
    /// from 18:00. A time that clocks skipped is that of the offset before; of a time that they
    /// show twice the first is taken.
    #[must_use]
    pub fn quantiles(
        &self,
        known: &PriceCurve,
        at: &[chrono::DateTime<chrono::Utc>],
        levels: &[f64],
    ) -> Vec<Vec<f64>> {
        let seasonal_errors = match self.rule {
            NaiveRule::Persistence => None,
            NaiveRule::Seasonal { .. } => Some(self.errors(known, 0)),
        };
        let mut rows = vec![Vec::with_capacity(at.len()); levels.len()];
        for &at in at {
            let at = micros_of(at);
            let point = self.point(known, at, i64::MAX);
            let errors = match &seasonal_errors {
                Some(errors) => errors.clone(),
                None => self.errors(known, at),
            };
            for (row, &level) in rows.iter_mut().zip(levels) {
                row.push(point.map_or(f64::NAN, |point| point + quantile(&errors, level)));
            }
        }
        rows
    }

    /// Price at `at` by the rule, from slots that end by `end`.
    fn point(&self, known: &PriceCurve, at: i64, end: i64) -> Option<f64> {
        let horizon = known.horizon();
        match self.rule {
            NaiveRule::Persistence => {
                let known_slots = horizon.ends().partition_point(|&slot_end| slot_end <= end);
                known.prices()[..known_slots].last().copied()
            }
            NaiveRule::Seasonal { days } => {
                let local = local_of(instant_at(at), self.time_zone);
                (1..=SEASONS_MAX).find_map(|seasons| {
                    let back = TimeDelta::days(i64::from(days.max(1)) * seasons);
                    let then = instant_of(local.checked_sub_signed(back)?, self.time_zone);
                    known.price_at(then).map(crate::units::Price::as_per_kwh)
                })
            }
        }
    }

    /// Past errors of the rule, sorted: those of a forecast as far ahead as `at` is, for
    /// persistence.
    fn errors(&self, known: &PriceCurve, at: i64) -> Vec<f64> {
        let horizon = known.horizon();
        let Some(&end) = horizon.ends().last() else { return Vec::new() };
        let ahead = (at - end).max(0);
        let first = known.len().saturating_sub(ERRORS_MAX);
        let error = |slot: usize| {
            let start = horizon.starts()[slot];
            Some(known.prices()[slot] - self.point(known, start, start - ahead)?)
        };
        let mut errors: Vec<f64> = (first..known.len()).filter_map(error).collect();
        errors.sort_by(f64::total_cmp);
        errors
    }
}

/// Quantile of sorted numbers, interpolated between the two nearest; 0 without numbers.
fn quantile(sorted: &[f64], level: f64) -> f64 {
    if sorted.is_empty() {
        return 0.0;
    }
    let position = level.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (below, above) = (position.floor() as usize, position.ceil() as usize);
    let share = position - position.floor();
    sorted[below] + (sorted[above] - sorted[below]) * share
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;
    use crate::prices::curve::Slot;
    use crate::units::per_kwh;

    /// Hours from a start, priced by the hour of the wall clock in Berlin.
    fn by_wall_clock(start: &str, hours: i32) -> PriceCurve {
        let start: DateTime<Utc> = start.parse().unwrap();
        let slot = |index: i32| {
            let from = start + TimeDelta::hours(1) * index;
            let hour = local_of(from, Tz::Europe__Berlin).format("%H").to_string();
            let price = per_kwh(hour.parse::<f64>().unwrap());
            Slot { start: from, end: from + TimeDelta::hours(1), price }
        };
        PriceCurve::new(&(0..hours).map(slot).collect::<Vec<_>>()).unwrap()
    }

    fn forecast(rule: NaiveRule) -> NaiveForecast {
        NaiveForecast { rule, time_zone: Tz::Europe__Berlin }
    }

    fn hours(start: &str, count: i32) -> Vec<DateTime<Utc>> {
        let start: DateTime<Utc> = start.parse().unwrap();
        (0..count).map(|index| start + TimeDelta::hours(1) * index).collect()
    }

    #[test]
    fn a_day_repeats_itself_by_the_wall_clock_on_clock_changes() {
        let daily = forecast(NaiveRule::Seasonal { days: 1 });
        // Spring: 29 March 2026 has 23 hours, and 02:00 is missing from the day after's past; it
        // is then that of the offset before, 03:00 on the new clock.
        let known = by_wall_clock("2026-03-27T23:00:00Z", 24 + 23);
        let rows = daily.quantiles(&known, &hours("2026-03-29T22:00:00Z", 24), &[0.5]);
        let mut expected: Vec<f64> = (0..24).map(f64::from).collect();
        expected[2] = 3.0;
        assert_eq!(rows[0], expected);
        // Autumn: 25 October 2026 has 25 hours, and both 02:00 come from the day before.
        let known = by_wall_clock("2026-10-22T22:00:00Z", 48);
        let rows = daily.quantiles(&known, &hours("2026-10-24T22:00:00Z", 25), &[0.5]);
        let mut expected: Vec<f64> = (0..24).map(f64::from).collect();
        expected.insert(3, 2.0);
        assert_eq!(rows[0], expected);
    }

    #[test]
    fn a_missing_season_is_looked_for_further_back() {
        let known = by_wall_clock("2026-01-04T23:00:00Z", 24);
        let daily = forecast(NaiveRule::Seasonal { days: 1 });
        let rows = daily.quantiles(&known, &hours("2026-01-07T23:00:00Z", 2), &[0.5]);
        assert_eq!(rows[0], [0.0, 1.0]);
        let weekly = forecast(NaiveRule::Seasonal { days: 7 });
        let rows = weekly.quantiles(&known, &hours("2026-01-07T23:00:00Z", 1), &[0.5]);
        assert!(rows[0][0].is_nan());
    }

    #[test]
    fn quantiles_are_those_of_past_errors() {
        let start: DateTime<Utc> = "2026-01-05T00:00:00Z".parse().unwrap();
        let slot = |index: i32| Slot {
            start: start + TimeDelta::hours(1) * index,
            end: start + TimeDelta::hours(1) * (index + 1),
            price: per_kwh(f64::from(index)),
        };
        let known = PriceCurve::new(&(0..10).map(slot).collect::<Vec<_>>()).unwrap();
        let last = forecast(NaiveRule::Persistence);
        // Prices rise by 1 an hour: so far ahead, persistence was always 3 too low.
        let at = start + TimeDelta::hours(12);
        let rows = last.quantiles(&known, &[at], &[0.1, 0.5, 0.9]);
        assert_eq!(rows, [[12.0], [12.0], [12.0]]);
        assert!(last.quantiles(&PriceCurve::default(), &[at], &[0.5])[0][0].is_nan());
        assert!((quantile(&[0.0, 1.0, 4.0], 0.75) - 2.5).abs() < 1e-12);
    }
}
