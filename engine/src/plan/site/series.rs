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
                let after = periods.partition_point(|period| micros_of(period.start) <= start);
                let period = periods[..after].last()?;
                (start < micros_of(period.end)).then(|| period.power.as_kw())
            }
        }
    }
}
