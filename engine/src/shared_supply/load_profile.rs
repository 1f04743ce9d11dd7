//! Load profile of several plans, and the periods in which it leaves too little power.
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use crate::plan::charge::request::PowerLimit;
use crate::plan::interval::Interval;
use crate::shared_supply::limit::SharedLimit;
use crate::tolerance::POWER_ROUNDING_KW;
use crate::units::Power;

/// Step function of the power that plans take together. A plan is added or removed in a time that
/// grows with the logarithm of the number of its steps.
#[derive(Debug, Clone, Default)]
pub struct LoadProfile {
    /// Change of the power at each instant, in kW.
    changes_kw: BTreeMap<DateTime<Utc>, f64>,
}

impl LoadProfile {
    /// Adds a plan that takes `power` in its intervals.
    pub fn add(&mut self, intervals: &[Interval], power: Power) {
        self.change(intervals, power.as_kw());
    }

    /// Removes a plan that was added, by the same intervals and power.
    pub fn remove(&mut self, intervals: &[Interval], power: Power) {
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

    /// Periods from `from` to `to` in which the load leaves less than `power` of a limit, as power
    /// limits of zero.
    pub(crate) fn crowded(
        &self,
        (limit, power): (&SharedLimit, Power),
        (from, to): (DateTime<Utc>, DateTime<Utc>),
    ) -> Vec<PowerLimit> {
        let mut periods: Vec<PowerLimit> = Vec::new();
        let mut taken = 0.0;
        let mut changes = self.changes_kw.iter().peekable();
        let steps = limit.steps(from, to);
        let inside = self.changes_kw.keys().copied().filter(|at| from < *at && *at < to);
        let cuts: BTreeSet<DateTime<Utc>> =
            steps.iter().flat_map(|step| [step.start, step.end]).chain(inside).collect();
        for (&start, &end) in cuts.iter().zip(cuts.iter().skip(1)) {
            while let Some((_, change)) = changes.next_if(|(at, _)| **at <= start) {
                taken += change;
            }
            let room = limit.at(start).map(|most| most - power);
            if room.is_none_or(|room| taken <= room.as_kw() + POWER_ROUNDING_KW) {
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
