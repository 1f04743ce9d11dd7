//! Commands to devices: a power in a period.
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

/// Commands to the devices of a home, of each device in time order and without overlap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HomeCommands {
    /// Commands to the battery.
    pub battery: Vec<Command>,
    /// Commands to the vehicle of each stay of the home, in the order of its stays.
    pub stays: Vec<Vec<Command>>,
}

impl HomeCommands {
    /// Forgets all commands, and has room for those of `stays` stays.
    pub(crate) fn clear(&mut self, stays: usize) {
        self.battery.clear();
        self.stays.iter_mut().for_each(Vec::clear);
        self.stays.resize_with(stays, Vec::new);
    }
}
