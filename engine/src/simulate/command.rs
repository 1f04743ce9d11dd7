//! Commands to a device: a power in a period.
use chrono::{DateTime, Utc};

use crate::simulate::exact::Milliwatts;
use crate::time::instant::{instant_at, micros_of};
use crate::units::Power;

/// Power of a device in a period, in whole microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) power: Milliwatts,
}

impl Command {
    /// A power from `start` until `end`.
    #[must_use]
    pub fn new(start: DateTime<Utc>, end: DateTime<Utc>, power: Power) -> Self {
        Self { start: micros_of(start), end: micros_of(end), power: Milliwatts::from_power(power) }
    }

    /// First instant after it.
    #[must_use]
    pub fn end(&self) -> DateTime<Utc> {
        instant_at(self.end)
    }
}
