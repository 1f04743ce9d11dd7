//! Power limit of several requests together, which may change in time.
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::plan::charge::request::PowerLimit;
use crate::units::Power;

/// Highest power of several requests together, as a step function of time.
///
/// # Example
///
/// ```
/// use slackwater_engine::plan::charge::PowerLimit;
/// use slackwater_engine::shared_supply::SharedLimit;
/// use slackwater_engine::units::kw;
///
/// let [six, seven, eight] =
///     [18, 19, 20].map(|hour| format!("2026-01-05T{hour}:00:00Z").parse().unwrap());
/// let dimmed = PowerLimit { start: six, end: seven, power_max: kw(100.0) };
/// let limit = SharedLimit::new(Some(kw(500.0)), vec![dimmed])?;
/// assert_eq!(limit.at(six), Some(kw(100.0)));
/// assert_eq!(limit.at(seven), Some(kw(500.0)));
/// assert_eq!(limit.lowest(six, eight), Some(kw(100.0)));
/// # Ok::<(), slackwater_engine::shared_supply::SharedLimitError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct SharedLimit {
    usual: Option<Power>,
    periods: Vec<PowerLimit>,
}

/// The form of a limit in data, without its rules.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    #[serde(rename = "power_max_kw", default)]
    usual: Option<Power>,
    #[serde(default)]
    periods: Vec<PowerLimit>,
}

/// Limit from one instant to another.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LimitStep {
    /// First instant of the step.
    pub start: DateTime<Utc>,
    /// First instant after the step.
    pub end: DateTime<Utc>,
    /// Highest power; `None` is no limit.
    pub power_max: Option<Power>,
}

/// Reason why periods and powers are no limit.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[non_exhaustive]
pub enum SharedLimitError {
    /// A power is negative.
    #[error("a limit of {given_kw} kW is below 0")]
    Negative {
        /// The power, in kW.
        given_kw: f64,
    },
    /// A period ends before it starts, or has no length.
    #[error("periods[{index}] ends at {end}, and starts at {start}; it has to end later")]
    NotAhead {
        /// Position of the period.
        index: usize,
        /// Its start.
        start: DateTime<Utc>,
        /// Its end.
        end: DateTime<Utc>,
    },
    /// A period starts before the one before it ends.
    #[error(
        "periods[{index}] starts at {start}, before the period before it ends; sort them, and let none overlap"
    )]
    Overlap {
        /// Position of the later period.
        index: usize,
        /// Its start.
        start: DateTime<Utc>,
    },
}

impl SharedLimit {
    /// A limit of `usual` but in `periods`, which are in time order. `None` is no limit outside of
    /// the periods.
    ///
    /// # Errors
    /// A power is negative, or a period is empty or overlaps another.
    pub fn new(usual: Option<Power>, periods: Vec<PowerLimit>) -> Result<Self, SharedLimitError> {
        let powers = usual.into_iter().chain(periods.iter().map(|period| period.power_max));
        if let Some(power) = powers.into_iter().find(|power| *power < Power::ZERO) {
            return Err(SharedLimitError::Negative { given_kw: power.as_kw() });
        }
        for (index, period) in periods.iter().enumerate() {
            let PowerLimit { start, end, .. } = *period;
            if end <= start {
                return Err(SharedLimitError::NotAhead { index, start, end });
            }
            if index > 0 && start < periods[index - 1].end {
                return Err(SharedLimitError::Overlap { index, start });
            }
        }
        Ok(Self { usual, periods })
    }

    /// Limit outside of the periods; `None` is no limit.
    #[must_use]
    pub const fn usual(&self) -> Option<Power> {
        self.usual
    }

    /// Periods with a limit of their own, in time order.
    #[must_use]
    pub fn periods(&self) -> &[PowerLimit] {
        &self.periods
    }

    /// Limit with these periods, and another power outside of them.
    #[must_use]
    pub fn with_usual(mut self, usual: Power) -> Self {
        self.usual = Some(usual.max(Power::ZERO));
        self
    }

    /// The limit at an instant; `None` is no limit.
    #[must_use]
    pub fn at(&self, at: DateTime<Utc>) -> Option<Power> {
        period_at(&self.periods, at).map(|period| period.power_max).or(self.usual)
    }

    /// True if there is no limit from an instant on.
    #[must_use]
    pub fn is_unlimited_from(&self, at: DateTime<Utc>) -> bool {
        self.usual.is_none() && self.periods.last().is_none_or(|last| last.end <= at)
    }

    /// Steps of the limit from `from` to `to`, without gaps; none if `to` is not after `from`.
    #[must_use]
    pub fn steps(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<LimitStep> {
        if to <= from {
            return Vec::new();
        }
        let first = self.periods.partition_point(|period| period.end <= from);
        let inside = self.periods[first..].iter().take_while(|period| period.start < to);
        let mut steps = Vec::new();
        let mut reached = from;
        for period in inside {
            let (start, end) = (period.start.max(from), period.end.min(to));
            if reached < start {
                steps.push(LimitStep { start: reached, end: start, power_max: self.usual });
            }
            steps.push(LimitStep { start, end, power_max: Some(period.power_max) });
            reached = end;
        }
        if reached < to {
            steps.push(LimitStep { start: reached, end: to, power_max: self.usual });
        }
        steps
    }

    /// Lowest limit from `from` to `to`; `None` is no limit in all of it.
    #[must_use]
    pub fn lowest(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> Option<Power> {
        let steps = self.steps(from, to).into_iter();
        steps.filter_map(|step| step.power_max).reduce(Power::min)
    }

    /// True if `power` fits nowhere, at no time.
    pub(crate) fn excludes(&self, power: Power) -> bool {
        let is_above = |most: Power| most < power;
        self.usual.is_some_and(is_above)
            && self.periods.iter().all(|period| is_above(period.power_max))
    }

    /// This limit with `periods` in place of what it had at their times. Neighbours of one power
    /// are joined.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn overlaid(&self, periods: Vec<PowerLimit>) -> Result<Self, SharedLimitError> {
        let top = Self::new(self.usual, periods)?;
        let all = self.periods.iter().chain(&top.periods);
        let cuts: BTreeSet<DateTime<Utc>> =
            all.flat_map(|period| [period.start, period.end]).collect();
        let mut joined: Vec<PowerLimit> = Vec::new();
        for (&start, &end) in cuts.iter().zip(cuts.iter().skip(1)) {
            let there = period_at(&top.periods, start).or_else(|| period_at(&self.periods, start));
            let Some(&PowerLimit { power_max, .. }) = there else { continue };
            let same = |last: &&mut PowerLimit| last.end == start && last.power_max == power_max;
            match joined.last_mut().filter(same) {
                Some(last) => last.end = end,
                None => joined.push(PowerLimit { start, end, power_max }),
            }
        }
        Ok(Self { usual: self.usual, periods: joined })
    }

    /// The lower one of this limit and `power`, from one instant to another; without an end at all
    /// times. A negative power leaves nothing.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_engine::shared_supply::SharedLimit;
    /// use slackwater_engine::units::kw;
    ///
    /// let [six, seven] = [18, 19].map(|hour| format!("2026-01-05T{hour}:00:00Z").parse().unwrap());
    /// let limit = SharedLimit::from(kw(50.0)).capped(kw(4.2), six, Some(seven));
    /// assert_eq!((limit.at(six), limit.at(seven)), (Some(kw(4.2)), Some(kw(50.0))));
    /// ```
    #[must_use]
    pub fn capped(&self, power: Power, from: DateTime<Utc>, to: Option<DateTime<Utc>>) -> Self {
        let power = power.max(Power::ZERO);
        let lower = |most: Option<Power>| most.map_or(power, |most| most.min(power));
        let Some(to) = to else {
            let cap = |period: &PowerLimit| PowerLimit {
                power_max: lower(Some(period.power_max)),
                ..*period
            };
            let periods = self.periods.iter().map(cap).collect();
            return Self { usual: Some(lower(self.usual)), periods };
        };
        let steps = self.steps(from, to).into_iter();
        let mut periods = self.cleared(from, to).periods;
        periods.extend(steps.map(|LimitStep { start, end, power_max }| PowerLimit {
            start,
            end,
            power_max: lower(power_max),
        }));
        periods.sort_unstable_by_key(|period| period.start);
        Self { usual: self.usual, periods }
    }

    /// This limit with the usual one from `from` to `to`.
    #[must_use]
    pub fn cleared(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> Self {
        let outside = |period: &PowerLimit| {
            let before = PowerLimit { end: period.end.min(from), ..*period };
            let after = PowerLimit { start: period.start.max(to), ..*period };
            [before, after].into_iter().filter(|part| part.start < part.end)
        };
        let periods = if from < to {
            self.periods.iter().flat_map(outside).collect()
        } else {
            self.periods.clone()
        };
        Self { usual: self.usual, periods }
    }
}

impl From<Power> for SharedLimit {
    /// A limit that is the same at all times. A negative power leaves nothing.
    fn from(power_max: Power) -> Self {
        Self::default().with_usual(power_max)
    }
}

impl TryFrom<Unchecked> for SharedLimit {
    type Error = SharedLimitError;

    fn try_from(unchecked: Unchecked) -> Result<Self, Self::Error> {
        Self::new(unchecked.usual, unchecked.periods)
    }
}

impl From<SharedLimit> for Unchecked {
    fn from(limit: SharedLimit) -> Self {
        Self { usual: limit.usual, periods: limit.periods }
    }
}

/// The period at an instant, of periods in time order.
fn period_at(periods: &[PowerLimit], at: DateTime<Utc>) -> Option<&PowerLimit> {
    let next = periods.partition_point(|period| period.end <= at);
    periods.get(next).filter(|period| period.start <= at)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::*;
    use crate::units::kw;

    fn at(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    fn period(from: i64, to: i64, power: f64) -> PowerLimit {
        PowerLimit { start: at(from), end: at(to), power_max: kw(power) }
    }

    #[test]
    fn periods_are_checked_by_position() {
        let new = |periods: &[PowerLimit]| SharedLimit::new(None, periods.to_vec());
        let error = |periods: &[PowerLimit]| new(periods).unwrap_err().to_string();
        assert!(error(&[period(5, 5, 1.0)]).starts_with("periods[0] ends at 2026-01-05"));
        let overlap = error(&[period(0, 5, 1.0), period(4, 9, 1.0)]);
        assert!(overlap.starts_with("periods[1] starts at"), "{overlap}");
        assert_eq!(error(&[period(0, 5, -1.0)]), "a limit of -1 kW is below 0");
        assert!(SharedLimit::new(Some(kw(-1.0)), Vec::new()).is_err());
        assert!(new(&[period(0, 5, 0.0), period(5, 9, 1.0)]).is_ok());
    }

    #[test]
    fn data_pass_the_same_check() {
        let limit = SharedLimit::new(Some(kw(9.0)), vec![period(0, 60, 4.0)]).unwrap();
        let text = serde_json::to_string(&limit).unwrap();
        assert_eq!(
            text,
            r#"{"power_max_kw":9.0,"periods":[{"start":"2026-01-05T18:00:00Z","end":"2026-01-05T19:00:00Z","power_max_kw":4.0}]}"#
        );
        assert_eq!(serde_json::from_str::<SharedLimit>(&text).unwrap(), limit);
        assert_eq!(serde_json::from_str::<SharedLimit>("{}").unwrap(), SharedLimit::default());
        let negative = serde_json::from_str::<SharedLimit>(r#"{"power_max_kw": -1.0}"#);
        assert!(negative.unwrap_err().to_string().contains("-1 kW is below 0"));
    }

    #[test]
    fn a_window_that_ends_before_it_starts_has_no_limit() {
        let limit = SharedLimit::new(Some(kw(9.0)), vec![period(0, 26, 4.0)]).unwrap();
        for (from, to) in [(18, 1), (18, 18), (30, 20)] {
            assert_eq!(
                (limit.steps(at(from), at(to)), limit.lowest(at(from), at(to))),
                (vec![], None)
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// At every minute the steps, and what is laid over or cleared, are what each rule says.
        #[test]
        fn every_minute_has_one_limit(
            usual in prop::option::of(0u32..9),
            lengths in prop::collection::vec((0i64..20, 1i64..30, 0u32..9), 0..6),
            laid in prop::collection::vec((0i64..20, 1i64..30, 0u32..9), 0..6),
            (from, to) in (0i64..100, 0i64..100),
        ) {
            let line = |lengths: Vec<(i64, i64, u32)>| {
                let mut reached = 0;
                let next = |(pause, length, power): (i64, i64, u32)| {
                    let start = reached + pause;
                    reached = start + length;
                    period(start, reached, power.into())
                };
                lengths.into_iter().map(next).collect::<Vec<_>>()
            };
            let (below, top) = (line(lengths), line(laid));
            let usual = usual.map(|power| kw(power.into()));
            let limit = SharedLimit::new(usual, below.clone()).unwrap();
            let over = limit.overlaid(top.clone()).unwrap();
            let cleared = limit.cleared(at(from), at(to));
            let cap = kw(4.0);
            let capped = limit.capped(cap, at(from), Some(at(to)));
            let always = limit.capped(cap, at(from), None);
            prop_assert!(SharedLimit::new(usual, capped.periods().to_vec()).is_ok());
            let own = |periods: &[PowerLimit], minute| {
                let here = periods.iter().find(|p| p.start <= at(minute) && at(minute) < p.end);
                here.map(|period| period.power_max)
            };
            let steps = limit.steps(at(-5), at(400));
            prop_assert!(steps.windows(2).all(|pair| pair[0].end == pair[1].start));
            for minute in -5..400 {
                let base = own(&below, minute).or(usual);
                prop_assert_eq!(limit.at(at(minute)), base);
                let step = steps.iter().find(|step| at(minute) < step.end).unwrap();
                prop_assert_eq!(step.power_max, base);
                prop_assert_eq!(over.at(at(minute)), own(&top, minute).or(base));
                let is_cleared = from <= minute && minute < to;
                prop_assert_eq!(cleared.at(at(minute)), if is_cleared { usual } else { base });
                let low = base.map_or(cap, |most| most.min(cap));
                prop_assert_eq!(capped.at(at(minute)), if is_cleared { Some(low) } else { base });
                prop_assert_eq!(always.at(at(minute)), Some(low));
            }
            prop_assert!(SharedLimit::new(usual, over.periods().to_vec()).is_ok());
            prop_assert!(SharedLimit::new(usual, cleared.periods().to_vec()).is_ok());
            let least = (from..to).filter_map(|minute| limit.at(at(minute))).reduce(Power::min);
            prop_assert_eq!(limit.lowest(at(from), at(to)), least);
        }
    }
}
