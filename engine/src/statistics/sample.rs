//! Measured power and baseline power over a time interval.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::time::instant::micros_of;
use crate::units::{Power, Price};

/// A period of constant power, with the price that held then.
///
/// Prices and the course without smart charging are part of the sample: they
/// are fixed when the energy flows, and no later price changes them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Measured power; `None` if nothing was measured.
    #[serde(rename = "power_kw")]
    pub power: Option<Power>,
    /// Price of a kWh; `None` where none was known. Unknown is never free.
    #[serde(rename = "price_per_kwh")]
    pub price: Option<Price>,
    /// Power that would have flowed without smart charging, zero included;
    /// `None` where smart charging had no part in it.
    #[serde(rename = "non_smart_kw")]
    pub non_smart: Option<Power>,
}

/// Longest sample, in days. A constant power over ten years is implausible, and a longer sample
/// cut into quarters of an hour would fill the memory.
pub(crate) const DAYS_MAX: i64 = 3660;

/// Longest sample, in microseconds.
pub(crate) const LENGTH_MAX: i64 = DAYS_MAX * 24 * 3_600_000_000;

/// Invalid sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// The sample has no length.
    #[error("sample {index} ends at {end}, not after its start at {start}")]
    NoLength {
        /// Position in the input.
        index: usize,
        /// Start as given.
        start: DateTime<Utc>,
        /// End as given.
        end: DateTime<Utc>,
    },
    /// The sample is longer than any measurement.
    #[error("sample {index} lasts {days} days; it is at most {DAYS_MAX} days")]
    TooLong {
        /// Position in the input.
        index: usize,
        /// Its length in whole days.
        days: i64,
    },
}

/// Checks that every sample has a length, and one below 3660 days.
///
/// Samples may be in any order and may overlap: two devices charge at once.
///
/// # Errors
/// A sample ends when it starts, or before, or is longer than any measurement.
pub fn check(samples: &[Sample]) -> Result<(), SampleError> {
    for (index, &Sample { start, end, .. }) in samples.iter().enumerate() {
        let length = micros_of(end) - micros_of(start);
        if length <= 0 {
            return Err(SampleError::NoLength { index, start, end });
        }
        if length > LENGTH_MAX {
            return Err(SampleError::TooLong { index, days: (end - start).num_days() });
        }
    }
    Ok(())
}

/// A sample as bare numbers; NaN is a missing one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) power_kw: f64,
    pub(crate) price: f64,
    pub(crate) non_smart_kw: f64,
}

impl From<&Sample> for Row {
    fn from(sample: &Sample) -> Self {
        Self {
            start: micros_of(sample.start),
            end: micros_of(sample.end),
            power_kw: sample.power.map_or(f64::NAN, Power::as_kw),
            price: sample.price.map_or(f64::NAN, Price::as_per_kwh),
            non_smart_kw: sample.non_smart.map_or(f64::NAN, Power::as_kw),
        }
    }
}
