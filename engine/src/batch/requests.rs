//! Batch of charging requests on one price curve.
//!
//! A request in which one target decides is a row of [`plan_batch`]. Every other request is planned
//! by [`plan_charge`].
use std::borrow::Borrow;

use rayon::prelude::*;

use crate::batch::charge::plan_batch;
use crate::columns::fleet::{Curves, Fleet, Needs};
use crate::columns::plan_table::{ChargeNumbers, PlanTable};
use crate::plan::charge::greedy::plan_charge;
use crate::plan::charge::request::ChargeProblem;
use crate::plan::charge::single_target::{cheaper, is_all, price_after};
use crate::plan::charge::sub_slots::unpriced_hours;
use crate::plan::record::plan_record::{PlanRecord, PreviousPlan};
use crate::plan::record::refused_request::RefusedRequest;
use crate::plan::record::steady_request::PlanRequest;
use crate::plan::record::summary::PlanSummary;
use crate::prices::curve::PriceCurve;
use crate::time::instant::micros_of;
use crate::units::{Energy, Money, Power, Price};

/// Columns of the requests that a batch can plan, with their positions among all.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    pub(crate) positions: Vec<usize>,
    pub(crate) arrival: Vec<i64>,
    pub(crate) departure: Vec<i64>,
    pub(crate) energy_kwh: Vec<f64>,
    pub(crate) power_max_kw: Vec<f64>,
}

impl Columns {
    /// Columns of the requests in which one target decides. `end` is the end of the prices, in
    /// microseconds since 1970.
    pub(crate) fn of(problems: &[impl Borrow<ChargeProblem>], end: i64) -> Self {
        let mut columns = Self::default();
        for (position, problem) in problems.iter().enumerate() {
            let request = problem.borrow().request();
            let Some(target) = request.deciding() else { continue };
            let target = &request.targets[target];
            let energy = request.within_limit(target);
            let from = micros_of(request.now);
            // A deadline after the last price stays: hours without prices count up to it.
            let by = target.by.map_or(end, micros_of);
            let by = request.until.map_or(by, |until| by.min(micros_of(until)));
            // A row has no power limits, no reserve and no upper bound on its energy.
            let is_plain = request.power_max > Power::ZERO
                && energy > Energy::ZERO
                && request.power_limits.is_empty()
                && request.reserve <= Energy::ZERO
                && request.energy_max.is_none();
            if is_plain && from < by {
                columns.positions.push(position);
                columns.arrival.push(from);
                columns.departure.push(by);
                columns.energy_kwh.push(energy.as_kwh());
                columns.power_max_kw.push(request.power_max.as_kw());
            }
        }
        columns
    }

    /// View of the columns as a fleet.
    pub(crate) fn fleet(&self) -> Fleet<'_> {
        Fleet {
            arrival: &self.arrival,
            departure: &self.departure,
            needs: Needs::Energy { energy_kwh: &self.energy_kwh },
            power_max_kw: &self.power_max_kw,
            reserve_kwh: None,
            targets: None,
            curve: None,
        }
    }
}

/// Plan summary of each request, bit for bit that of the request alone.
///
/// Requests in which one target decides are planned as columns. Others, such as those with a
/// reserve or a later target that wants more, are planned one by one on all threads.
///
/// # Example
///
/// ```
/// use slackwater_engine::batch::plan_requests;
/// use slackwater_engine::plan::charge::{ChargeProblem, ChargeRequest, Target};
/// use slackwater_engine::prices::curve::{PriceCurve, Slot};
/// use slackwater_engine::units::{kw, kwh, per_kwh};
///
/// let start = "2026-01-05T18:00:00Z".parse().unwrap();
/// let end = "2026-01-05T20:00:00Z".parse().unwrap();
/// let curve = PriceCurve::new(&[Slot { start, end, price: per_kwh(0.30) }])?;
/// let wish = |energy| ChargeRequest::new(start, kw(11.0), Target { by: None, energy: kwh(energy) });
/// let problems = [ChargeProblem::new(wish(11.0))?, ChargeProblem::new(wish(33.0))?];
/// let plans = plan_requests(&curve, &problems);
/// assert_eq!(plans[0].energy, kwh(11.0));
/// assert_eq!(plans[1].shortfall, kwh(11.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn plan_requests<P>(curve: &PriceCurve, problems: &[P]) -> Vec<PlanSummary>
where
    P: Borrow<ChargeProblem> + Sync,
{
    let end = curve.horizon().end().map_or(0, micros_of);
    let columns = Columns::of(problems, end);
    let mut summaries: Vec<Option<PlanSummary>> = vec![None; problems.len()];
    let runs = plan_batch(&columns.fleet(), Curves::Shared(curve));
    let rows = runs.iter().flat_map(|run| (0..run.len()).map(move |row| summary(run, row)));
    for (&position, summary) in columns.positions.iter().zip(rows) {
        let problem = problems[position].borrow();
        summaries[position] = summary.and_then(|summary| whole(curve, problem, summary));
    }
    // Requests without a row, or with more to charge after the deciding target.
    let alone = |(summary, problem): (Option<PlanSummary>, &P)| {
        summary.unwrap_or_else(|| PlanSummary::from(&plan_charge(curve, problem.borrow())))
    };
    summaries.into_par_iter().zip(problems).map(alone).collect()
}

/// Completes the plan for the deciding target to that of its request; `None` if more is charged
/// after that target.
fn whole(curve: &PriceCurve, problem: &ChargeProblem, summary: PlanSummary) -> Option<PlanSummary> {
    let request = problem.request();
    let by = request.targets[request.deciding()?].by_micros();
    if !is_all(problem, by, summary.shortfall.as_kwh()) {
        return None;
    }
    // Rows end with the last price, but a request without a deadline may end with the departure.
    let summary = PlanSummary {
        shortfall: summary.shortfall + request.above_limit(),
        unpriced_hours: unpriced_hours(curve, problem),
        ..summary
    };
    if request.targets.len() == 1 {
        return Some(summary);
    }
    let after = price_after(curve, problem, by.min(problem.to()));
    let marginal_price = cheaper(summary.marginal_price, after);
    Some(PlanSummary { marginal_price, ..summary })
}

/// Plan of each request: close to its previous plan if there is one and a budget, otherwise the
/// cheapest.
///
/// An invalid request is an error in its place and does not affect the others.
#[must_use]
pub fn plan_wishes(
    curve: &PriceCurve,
    wishes: Vec<(PlanRequest, Option<PreviousPlan<'_>>)>,
    budget: Option<Money>,
) -> Vec<Result<PlanRecord, RefusedRequest>> {
    // Requests for a cheapest plan are planned as a batch, the others one by one.
    let (mut problems, mut positions) = (Vec::new(), Vec::new());
    for (position, (wish, before)) in wishes.iter().enumerate() {
        let is_near = before.is_some() && budget.is_some();
        if let (false, Ok(problem)) = (is_near, wish.problem()) {
            problems.push(problem);
            positions.push(position);
        }
    }
    let mut placed: Vec<Option<PlanSummary>> = vec![None; wishes.len()];
    for (position, summary) in positions.into_iter().zip(plan_requests(curve, &problems)) {
        placed[position] = Some(summary);
    }
    let plan = |((wish, before), summary): (
        (PlanRequest, Option<PreviousPlan<'_>>),
        Option<PlanSummary>,
    )| match (summary, before, budget) {
        (Some(summary), _, _) => Ok(PlanRecord::cheapest(wish, summary)),
        (None, Some(before), Some(total)) => PlanRecord::close_to(curve, wish, before, total),
        (None, _, _) => PlanRecord::new(curve, wish),
    };
    wishes.into_par_iter().zip(placed).map(plan).collect()
}

/// Plan summary of a row of a batch; `None` for a row in error.
fn summary(run: &PlanTable<ChargeNumbers>, row: usize) -> Option<PlanSummary> {
    let numbers = &run.numbers;
    let energy = Energy::from_kwh(numbers.energy_kwh[row]).ok()?;
    let money = |amount: f64| Money::from_amount(amount).ok();
    let cost = money(numbers.cost[row])?;
    Some(PlanSummary {
        intervals: run.intervals.of_row(row),
        energy,
        cost,
        bound: cost - money(numbers.gap[row])?,
        baseline_cost: money(numbers.baseline_cost[row])?,
        shortfall: Energy::from_kwh(numbers.shortfall_kwh[row]).ok()?,
        marginal_price: Price::from_per_kwh(numbers.marginal_price[row]).ok(),
        unpriced_hours: numbers.unpriced_hours[row],
    })
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::request::{AfterDeadline, ChargeProblem, ChargeRequest, Target};
    use crate::plan::record::plan_record::{PlanRecord, PreviousPlan};
    use crate::plan::record::refused_request::RefusedRequest;
    use crate::plan::record::steady_request::PlanRequest;
    use crate::plan::record::summary::PlanSummary;
    use crate::prices::curve::tests::curve_of;
    use crate::units::{Energy, kw, kwh};

    fn at(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    fn wish() -> impl Strategy<Value = ChargeRequest> {
        let target = (prop::option::of(-60..900i64), 0.0..80.0f64);
        let targets = prop::collection::vec(target, 0..3);
        let reserve = prop::sample::select(vec![0.0, 0.0, 0.0, 5.0]);
        let limit = prop::option::weighted(0.3, 5.0..60.0f64);
        let rest = (prop::option::of(-60..900i64), reserve, limit);
        (0..600i64, 0.0..22.0f64, targets, rest, any::<bool>(), any::<bool>()).prop_map(
            |(now, power, targets, (until, reserve, limit), stops, fills)| {
                let target = |(by, energy): (Option<i64>, f64)| Target {
                    by: by.map(at),
                    energy: kwh(energy),
                };
                ChargeRequest {
                    until: until.map(at),
                    targets: targets.into_iter().map(target).collect(),
                    reserve: kwh(reserve),
                    energy_max: fills.then_some(kwh(90.0)),
                    charge_limit: limit.map(kwh),
                    after_deadline: if stops {
                        AfterDeadline::Stop
                    } else {
                        AfterDeadline::Continue
                    },
                    ..ChargeRequest::new(
                        at(now),
                        kw(power),
                        Target { by: None, energy: Energy::ZERO },
                    )
                }
            },
        )
    }

    #[test]
    fn a_wish_without_sense_stops_nobody_else() {
        let curve = curve_of(60, &[30, 10, 20]);
        let wish = |energy: f64| {
            PlanRequest::Charge(ChargeRequest::new(
                at(0),
                kw(10.0),
                Target { by: None, energy: kwh(energy) },
            ))
        };
        let before = PlanRecord::new(&curve_of(60, &[10, 30, 30]), wish(10.0)).unwrap();
        let old = curve_of(60, &[10, 30, 30]);
        let near = Some(PreviousPlan { planned: &before, curve: &old });
        let wishes = vec![(wish(10.0), None), (wish(-1.0), None), (wish(10.0), near)];
        let made = plan_wishes(&curve, wishes.clone(), Some(crate::units::money(5.0)));
        let starts = |made: &Result<PlanRecord, RefusedRequest>| {
            made.as_ref().ok().map(|planned| planned.summary.intervals[0].start)
        };
        assert_eq!(made.iter().map(starts).collect::<Vec<_>>(), [Some(at(60)), None, Some(at(0))]);
        let cheapest = plan_wishes(&curve, wishes, None);
        assert_eq!(starts(&cheapest[2]), Some(at(60)));
    }

    proptest! {
        /// The plan summaries of a batch equal those of single plans.
        #[test]
        fn plans_of_many_are_plans_of_one_each(
            cents in prop::collection::vec(-20..60i32, 0..60), step in prop::sample::select(vec![15, 60]),
            wishes in prop::collection::vec(wish(), 1..30),
        ) {
            let curve = curve_of(step, &cents);
            let problems: Vec<ChargeProblem> =
                wishes.into_iter().map(|wish| ChargeProblem::new(wish).unwrap()).collect();
            let alone = |problem| PlanSummary::from(&plan_charge(&curve, problem));
            for (summary, problem) in plan_requests(&curve, &problems).iter().zip(&problems) {
                let alone = alone(problem);
                prop_assert_eq!(&summary.intervals, &alone.intervals);
                let numbers = |b: &PlanSummary| [
                    b.cost.as_amount(), b.energy.as_kwh(), b.shortfall.as_kwh(), b.unpriced_hours,
                    b.baseline_cost.as_amount(),
                ].map(f64::to_bits);
                prop_assert_eq!(numbers(summary), numbers(&alone));
                prop_assert_eq!(summary.marginal_price, alone.marginal_price);
                // The bound is summed in two ways.
                let off = (summary.bound - alone.bound).as_amount().abs();
                prop_assert!(off <= 1e-9 * alone.cost.as_amount().abs().max(1.0));
            }
        }
    }
}
