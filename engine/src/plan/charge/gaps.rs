//! Gaps: periods without a price before the last deadline of a plan.
//!
//! `unpriced_hours` has one definition for all planners: the hours from the start of a plan to
//! its last deadline in which a price is missing. A plan without a deadline ends with the
//! departure, with the end in the request, or else with the last price. The import price counts;
//! where energy may be sold, a missing export price counts as well.
use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use crate::plan::charge::explain::{END_OF_PRICES, wall_clock};
use crate::plan::charge::plan::TargetOutcome;
use crate::plan::charge::request::ChargeProblem;
use crate::plan::charge::sub_slots;
use crate::prices::curve::PriceCurve;
use crate::time::horizon::Horizon;
use crate::time::instant::instant_at;
use crate::units::{Energy, Power};

/// Price that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissingPrice {
    /// The import price: nothing is planned.
    Any,
    /// Only the export price: energy is bought, but none is sold.
    Export,
    /// Only the export price of a site, which plans where both prices are known.
    SiteExport,
}

/// Missed target that a price in a gap could serve.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissedTarget {
    /// Name of the device, if the plan has several.
    pub device: Option<String>,
    /// The deadline; `None` is the last price.
    pub by: Option<DateTime<Utc>>,
}

/// A period without a price, before the last deadline of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// The price that is missing.
    pub missing: MissingPrice,
    /// Missed targets that end after the start of the period, if power is allowed in it.
    pub missed: Vec<MissedTarget>,
}

impl Gap {
    /// Sentence about the gap, with times on the wall clock of `time_zone`.
    #[must_use]
    pub fn sentence(&self, time_zone: Tz) -> String {
        let clock = |at: DateTime<Utc>| wall_clock(at, time_zone);
        let nothing = match self.missing {
            MissingPrice::Any => "nothing is planned, because no price is known",
            MissingPrice::Export => "nothing is sold, because no export price is known",
            MissingPrice::SiteExport => "nothing is planned, because no export price is known",
        };
        let mut text = format!("{} to {}: {nothing}", clock(self.start), clock(self.end));
        for missed in &self.missed {
            let of = missed.device.as_ref().map_or_else(String::new, |name| format!(" of {name}"));
            let by = missed.by.map_or_else(|| END_OF_PRICES.to_owned(), clock);
            let _ = write!(text, "; the target{of} for {by} is missed");
        }
        text + "."
    }
}

/// Returns the gaps of a charging plan, in time order. `targets` are the outcomes of its targets.
#[must_use]
pub fn gaps(curve: &PriceCurve, problem: &ChargeProblem, targets: &[TargetOutcome]) -> Vec<Gap> {
    let (from, to) = sub_slots::span(curve, problem);
    let gap = |(start, end): (i64, i64)| {
        let (first, last) = (instant_at(start), instant_at(end));
        // Only a target due after the start of the gap could use it.
        let is_late = |by: Option<DateTime<Utc>>| by.is_none_or(|by| by > first);
        let targets = targets.iter().filter(|_| has_power(problem, start, end));
        let missed = targets.filter(|target| target.shortfall > Energy::ZERO && is_late(target.by));
        Gap {
            start: first,
            end: last,
            missing: MissingPrice::Any,
            missed: missed.map(|target| MissedTarget { device: None, by: target.by }).collect(),
        }
    };
    uncovered(curve.horizon(), from, to).into_iter().map(gap).collect()
}

/// Returns `true` if power is allowed at some time in `[start, end)`.
fn has_power(problem: &ChargeProblem, start: i64, end: i64) -> bool {
    let (request, limits) = (problem.request(), problem.limits());
    let mut own = limits.overlapping(start, end).map(|at| request.power_limits[at].power_max);
    let is_limited = uncovered(limits, start, end).is_empty();
    request.power_max > Power::ZERO && (!is_limited || own.any(|power| power > Power::ZERO))
}

/// Parts of `[from, to)` that no period of a horizon covers, in time order, in microseconds.
pub(crate) fn uncovered(horizon: &Horizon, from: i64, to: i64) -> Vec<(i64, i64)> {
    let mut gaps = Vec::new();
    let mut last = from;
    for index in horizon.overlapping(from, to) {
        if last < horizon.starts()[index] {
            gaps.push((last, horizon.starts()[index]));
        }
        last = horizon.ends()[index];
    }
    if last < to {
        gaps.push((last, to));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::request::{ChargeRequest, PowerLimit, Target};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh};

    fn hour(hours: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(hours)
    }

    /// Gaps of a plan at 10 kW with prices for two hours from 18:00 on.
    #[track_caller]
    fn check(
        by: Option<i64>,
        energy: f64,
        change: impl FnOnce(&mut ChargeRequest),
        expected: &[&str],
    ) {
        let target = Target { by: by.map(hour), energy: kwh(energy) };
        let mut wish = ChargeRequest::new(hour(0), kw(10.0), target);
        change(&mut wish);
        let (curve, problem) = (curve_of(60, &[10, 20]), ChargeProblem::new(wish).unwrap());
        let plan = plan_charge(&curve, &problem);
        let gaps = gaps(&curve, &problem, &plan.targets);
        let sentences: Vec<String> = gaps.iter().map(|gap| gap.sentence(Tz::UTC)).collect();
        assert_eq!(sentences, expected);
        let hours: f64 =
            gaps.iter().map(|gap| (gap.end - gap.start).as_seconds_f64() / 3600.0).sum();
        assert!((hours - plan.unpriced_hours).abs() < 1e-9);
    }

    #[test]
    fn prices_that_end_before_the_deadline_are_a_gap() {
        let gap = "Mon 20:00 to Mon 22:00: nothing is planned, because no price is known";
        check(Some(4), 15.0, |_| {}, &[&format!("{gap}.")]);
        check(Some(4), 25.0, |_| {}, &[&format!("{gap}; the target for Mon 22:00 is missed.")]);
        check(Some(2), 25.0, |_| {}, &[]);
        check(None, 25.0, |_| {}, &[]);
    }

    #[test]
    fn prices_that_end_before_the_departure_are_a_gap() {
        let gap = "Mon 20:00 to Mon 21:00: nothing is planned, because no price is known";
        check(None, 15.0, |wish| wish.until = Some(hour(3)), &[&format!("{gap}.")]);
        let missed = format!("{gap}; the target for the end of the known prices is missed.");
        check(None, 25.0, |wish| wish.until = Some(hour(3)), &[&missed]);
    }

    #[test]
    fn prices_that_start_late_are_a_gap() {
        let early = |wish: &mut ChargeRequest| wish.now = hour(-1);
        let gap = "Mon 17:00 to Mon 18:00: nothing is planned, because no price is known.";
        check(Some(2), 5.0, early, &[gap]);
    }

    #[test]
    fn a_target_is_not_missed_for_a_gap_without_power() {
        let limit = PowerLimit { start: hour(2), end: hour(4), power_max: kw(0.0) };
        let gap = "Mon 20:00 to Mon 22:00: nothing is planned, because no price is known.";
        check(Some(4), 25.0, |wish| wish.power_limits.push(limit), &[gap]);
    }
}
