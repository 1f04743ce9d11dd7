//! Load profile of several plans, and the periods in which it leaves too little power.
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::plan::charge::request::PowerLimit;
use crate::plan::interval::Interval;
use crate::tolerance::POWER_ROUNDING_KW;
use crate::units::Power;

/// Step function of the power that plans take together.
#[derive(Debug, Default)]
pub(crate) struct LoadProfile {
    /// Change of the power at each instant, in kW.
    changes_kw: BTreeMap<DateTime<Utc>, f64>,
}

impl LoadProfile {
    /// Adds a plan that takes `power` in its intervals.
    pub(crate) fn add(&mut self, intervals: &[Interval], power: Power) {
        self.change(intervals, power.as_kw());
    }

    /// Removes a plan that was added.
    #[cfg(feature = "lp")]
    pub(crate) fn remove(&mut self, intervals: &[Interval], power: Power) {
        self.change(intervals, -power.as_kw());
    }

    /// Adds `kw` from the start to the end of each interval.
    fn change(&mut self, intervals: &[Interval], kw: f64) {
        for interval in intervals {
            *self.changes_kw.entry(interval.start).or_default() += kw;
            *self.changes_kw.entry(interval.end).or_default() -= kw;
        }
    }

    /// Instants of change, and the power in kW from each to the next.
    #[cfg(feature = "lp")]
    pub(crate) fn steps(&self) -> (Vec<DateTime<Utc>>, Vec<f64>) {
        let mut taken_kw = 0.0;
        let step = |(&at, change): (&DateTime<Utc>, &f64)| {
            taken_kw += change;
            (at, taken_kw)
        };
        self.changes_kw.iter().map(step).unzip()
    }

    /// The load from `from` to `to`, as steps without gaps; neighbours of one power are joined.
    pub(crate) fn between(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<Interval> {
        let mut steps = Vec::new();
        let mut taken_kw = 0.0;
        let mut start = from;
        let is_same = |a: Power, b: Power| (a.as_kw() - b.as_kw()).abs() < POWER_ROUNDING_KW;
        for (&at, change) in self.changes_kw.range(..to) {
            if at > start {
                Interval { start, end: at, power: rounded(taken_kw) }.join(&mut steps, is_same);
                start = at;
            }
            taken_kw += change;
        }
        Interval { start, end: to, power: rounded(taken_kw) }.join(&mut steps, is_same);
        steps
    }

    /// Periods after `from` in which the load exceeds `room`, as power limits of zero.
    pub(crate) fn crowded(&self, room: Power, from: DateTime<Utc>) -> Vec<PowerLimit> {
        let mut periods: Vec<PowerLimit> = Vec::new();
        let mut taken = 0.0;
        // After the last change nothing is taken, so each step ends at the next change.
        let ends = self.changes_kw.keys().skip(1);
        for ((&start, change), &end) in self.changes_kw.iter().zip(ends) {
            taken += change;
            let start = start.max(from);
            if end <= start || taken <= room.as_kw() + POWER_ROUNDING_KW {
                continue;
            }
            match periods.last_mut().filter(|last| last.end == start) {
                Some(last) => last.end = end,
                None => periods.push(PowerLimit { start, end, power_max: Power::ZERO }),
            }
        }
        periods
    }
}

/// A sum of powers, of which rounding may leave a trace where it is zero.
fn rounded(kw: f64) -> Power {
    if kw.abs() < POWER_ROUNDING_KW { Power::ZERO } else { crate::units::kw(kw) }
}
