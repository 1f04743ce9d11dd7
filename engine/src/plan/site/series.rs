//! Power over time: a constant, one value per price slot, or periods.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::time::horizon::{Horizon, HorizonError};
use crate::time::instant::micros_of;
use crate::units::Power;

/// A period `[start, end)` of constant power.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerPeriod {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Power throughout.
    #[serde(rename = "power_kw")]
    pub power: Power,
}

/// A power as a step function of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Series {
    /// Constant power.
    #[serde(rename = "constant_kw")]
    Constant(Power),
    /// One power for each slot of the import prices, the first slot first.
    #[serde(rename = "per_slot_kw")]
    PerSlot(Vec<Power>),
    /// Periods in time order, without overlap. The power between them is unknown.
    #[serde(rename = "periods")]
    Periods(Vec<PowerPeriod>),
}

/// Error of an invalid power over time.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SeriesError {
    /// A power below zero.
    #[error("value {index} is {} kW; it is 0 kW or more", power.as_kw())]
    Negative {
        /// Position in the input.
        index: usize,
        /// The power as given.
        power: Power,
    },
    /// The number of values differs from the number of price slots.
    #[error("{given} values for {slots} price slots; give one for each")]
    Count {
        /// Number of values.
        given: usize,
        /// Number of slots of the import prices.
        slots: usize,
    },
    /// Periods overlap or have no length.
    #[error(transparent)]
    Periods(#[from] HorizonError),
}

impl Series {
    /// Checks that powers are not negative, periods do not overlap, and a `PerSlot` series has
    /// `slots` values.
    pub(crate) fn check(&self, slots: usize) -> Result<(), SeriesError> {
        let negative = |(index, power): (usize, Power)| {
            if power < Power::ZERO {
                return Err(SeriesError::Negative { index, power });
            }
            Ok(())
        };
        match self {
            Self::Constant(power) => negative((0, *power)),
            Self::PerSlot(powers) if powers.len() != slots => {
                Err(SeriesError::Count { given: powers.len(), slots })
            }
            Self::PerSlot(powers) => powers.iter().copied().enumerate().try_for_each(negative),
            Self::Periods(periods) => {
                Horizon::new(periods.iter().map(|period| (period.start, period.end)))?;
                periods.iter().map(|period| period.power).enumerate().try_for_each(negative)
            }
        }
    }

    /// Powers in the order of the series.
    pub(crate) fn powers(&self) -> impl Iterator<Item = Power> + '_ {
        let (own, periods): (&[Power], &[PowerPeriod]) = match self {
            Self::Constant(power) => (std::slice::from_ref(power), &[]),
            Self::PerSlot(powers) => (powers, &[]),
            Self::Periods(periods) => (&[], periods),
        };
        own.iter().copied().chain(periods.iter().map(|period| period.power))
    }

    /// Adds the instants (in microseconds) at which the power may change, except the borders of
    /// price slots.
    pub(crate) fn cuts(&self, cuts: &mut Vec<i64>) {
        if let Self::Periods(periods) = self {
            for period in periods {
                cuts.extend([micros_of(period.start), micros_of(period.end)]);
            }
        }
    }

    /// Power in kW at `start` (in microseconds), an instant in price slot `slot`; `None` if it is
    /// unknown.
    pub(crate) fn at(&self, slot: usize, start: i64) -> Option<f64> {
        match self {
            Self::Constant(power) => Some(power.as_kw()),
            Self::PerSlot(powers) => powers.get(slot).map(|power| power.as_kw()),
            Self::Periods(periods) => {
                // The last period that has begun is the only one that can hold the instant.
                let after = periods.partition_point(|period| micros_of(period.start) <= start);
                let period = periods[..after].last()?;
                (start < micros_of(period.end)).then(|| period.power.as_kw())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::site::request::tests::{at, powers};
    use crate::units::kw;

    fn period(from: i64, to: i64, power: f64) -> PowerPeriod {
        PowerPeriod { start: at(from), end: at(to), power: kw(power) }
    }

    #[test]
    fn one_power_per_slot_follows_the_slot_and_not_the_instant() {
        let series = powers(&[3.0, 5.0]);
        let late = micros_of(at(10_000));
        assert_eq!(series.at(1, micros_of(at(0))), Some(5.0));
        assert_eq!((series.at(0, late), series.at(2, late)), (Some(3.0), None));
        assert_eq!(Series::Constant(kw(7.0)).at(9, late), Some(7.0));
    }

    #[test]
    fn only_periods_cut_slots() {
        let cuts = |series: Series| {
            let mut cuts = Vec::new();
            series.cuts(&mut cuts);
            cuts
        };
        let periods = Series::Periods(vec![period(10, 20, 1.0), period(40, 50, 1.0)]);
        assert_eq!(cuts(periods), [10, 20, 40, 50].map(|minute| micros_of(at(minute))));
        assert!(cuts(powers(&[1.0])).is_empty() && cuts(Series::Constant(kw(1.0))).is_empty());
    }

    #[test]
    fn what_is_negative_uneven_or_in_disorder_is_refused() {
        let refused = |series: Series| series.check(2).unwrap_err().to_string();
        assert_eq!(refused(powers(&[1.0, -2.0])), "value 1 is -2 kW; it is 0 kW or more");
        assert_eq!(refused(powers(&[1.0])), "1 values for 2 price slots; give one for each");
        assert_eq!(refused(Series::Constant(kw(-1.0))), "value 0 is -1 kW; it is 0 kW or more");
        let overlap = Series::Periods(vec![period(0, 30, 1.0), period(20, 40, 1.0)]);
        assert!(matches!(overlap.check(2), Err(SeriesError::Periods(_))));
        let negative = Series::Periods(vec![period(0, 30, 1.0), period(30, 40, -1.0)]);
        assert!(matches!(negative.check(2), Err(SeriesError::Negative { index: 1, .. })));
        assert_eq!(powers(&[0.0, 1.0]).check(2), Ok(()));
    }

    proptest! {
        /// A scan of all periods finds what the binary search finds.
        #[test]
        fn a_period_holds_from_its_start_to_just_before_its_end(
            lengths in prop::collection::vec((0..3i64, 1..4i64), 0..8), minute in -2..50i64,
        ) {
            let mut periods = Vec::new();
            let mut end = 0;
            for (gap, length) in lengths {
                periods.push(period(end + gap, end + gap + length, (end + gap) as f64));
                end += gap + length;
            }
            let instant = at(minute);
            let holds = |period: &&PowerPeriod| period.start <= instant && instant < period.end;
            let expected = periods.iter().find(holds).map(|period| period.power.as_kw());
            prop_assert_eq!(Series::Periods(periods).at(0, micros_of(instant)), expected);
        }
    }
}
