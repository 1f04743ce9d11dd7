//! What vehicles take together over time, and when they leave no room.
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::plan::charge::plan::Interval;
use crate::plan::charge::request::PowerLimit;
use crate::units::Power;

/// Powers this near are one.
pub(crate) const POWER_TOLERANCE_KW: f64 = 1e-6;

/// What vehicles take together, from change to change.
#[derive(Debug, Default)]
pub(crate) struct LoadProfile {
    changes_kw: BTreeMap<DateTime<Utc>, f64>,
}

impl LoadProfile {
    /// One more who takes `power` in its charging periods.
    pub(crate) fn add(&mut self, intervals: &[Interval], power: Power) {
        self.change(intervals, power.as_kw());
    }

    /// One of them no longer.
    #[cfg(feature = "lp")]
    pub(crate) fn remove(&mut self, intervals: &[Interval], power: Power) {
        self.change(intervals, -power.as_kw());
    }

    fn change(&mut self, intervals: &[Interval], kw: f64) {
        for interval in intervals {
            *self.changes_kw.entry(interval.start).or_default() += kw;
            *self.changes_kw.entry(interval.end).or_default() -= kw;
        }
    }

    /// What is taken from each instant on until the next.
    #[cfg(feature = "lp")]
    pub(crate) fn steps(&self) -> (Vec<DateTime<Utc>>, Vec<f64>) {
        let mut taken_kw = 0.0;
        let step = |(&at, change): (&DateTime<Utc>, &f64)| {
            taken_kw += change;
            (at, taken_kw)
        };
        self.changes_kw.iter().map(step).unzip()
    }

    /// Periods from `from` on in which more than `room` is taken.
    pub(crate) fn crowded(&self, room: Power, from: DateTime<Utc>) -> Vec<PowerLimit> {
        let mut found: Vec<PowerLimit> = Vec::new();
        let mut taken = 0.0;
        let ends = self.changes_kw.keys().skip(1);
        for ((&start, change), &end) in self.changes_kw.iter().zip(ends) {
            taken += change;
            let start = start.max(from);
            if end <= start || taken <= room.as_kw() + POWER_TOLERANCE_KW {
                continue;
            }
            match found.last_mut().filter(|last| last.end == start) {
                Some(last) => last.end = end,
                None => found.push(PowerLimit { start, end, power_max: Power::ZERO }),
            }
        }
        found
    }
}
