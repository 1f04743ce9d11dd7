//! Incremental plan of one request within a shared power limit, with the other plans fixed.
//!
//! Planning the whole area for each request would move the other vehicles without need, and start
//! and stop those that charge. A plan that still serves its request is kept ([`hold_current`]). Any
//! other is planned in the residual capacity ([`plan_in_residual_capacity`]). The whole area is
//! planned again only for a [`ReplanReason`].
use chrono::{DateTime, TimeDelta, Utc};

use crate::plan::charge::greedy::plan_charge;
use crate::plan::charge::request::{ChargeProblem, ChargeRequestError};
use crate::plan::interval::Interval;
use crate::plan::record::summary::PlanSummary;
use crate::prices::curve::PriceCurve;
use crate::shared_supply::limit::{LimitStep, SharedLimit};
use crate::shared_supply::load_profile::LoadProfile;
use crate::tolerance::POWER_ROUNDING_KW;
use crate::units::{Energy, Money, Power};

/// Charging time that may be missing while there is charging ahead: a vehicle takes half a minute
/// to start, each time.
const SLACK: TimeDelta = TimeDelta::minutes(2);

/// Charging time that may be missing with none ahead.
const REST: TimeDelta = TimeDelta::minutes(1);

/// Extra cost over the plan alone, as a part of it, that justifies planning the area again.
const DEARER: f64 = 0.05;

/// Load of another request.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherLoad {
    /// Charging periods, in time order.
    pub intervals: Vec<Interval>,
    /// Power taken in them.
    pub power: Power,
}

/// Plan of one request in residual capacity.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct IncrementalPlan {
    /// Summary of the plan.
    pub summary: PlanSummary,
    /// Part of its shortfall that the other loads cause: the plan alone would not have it.
    pub crowded_out: Energy,
}

impl IncrementalPlan {
    /// Plan whose shortfall is not caused by other loads.
    #[must_use]
    pub const fn with_room(summary: PlanSummary) -> Self {
        Self { summary, crowded_out: Energy::ZERO }
    }
}

/// Load of several plans over a period, against a limit.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PlannedLoad {
    /// Steps of the load in time order, without gaps.
    pub steps: Vec<Interval>,
    /// Highest power of the steps.
    pub peak: Power,
    /// Energy of the steps.
    pub energy: Energy,
    /// Time in which the load exceeds the limit by more than rounding; zero without a limit.
    pub time_above: TimeDelta,
}

/// Load that plans, each with the power it takes in its intervals, make together from `from` to
/// `to`.
///
/// # Example
///
/// ```
/// use slackwater_engine::plan::Interval;
/// use slackwater_engine::shared_supply::planned_load;
/// use slackwater_engine::units::kw;
///
/// let [six, seven, eight] =
///     [18, 19, 20].map(|hour| format!("2026-01-05T{hour}:00:00Z").parse().unwrap());
/// let long = [Interval { start: six, end: eight, power: kw(11.0) }];
/// let short = [Interval { start: six, end: seven, power: kw(7.0) }];
/// let plans = [(&long[..], kw(11.0)), (&short[..], kw(7.0))];
/// let load = planned_load(plans, (six, eight), Some(&kw(15.0).into()));
/// assert_eq!(load.steps.len(), 2);
/// assert_eq!((load.peak, load.time_above.num_minutes()), (kw(18.0), 60));
/// ```
pub fn planned_load<'a>(
    plans: impl IntoIterator<Item = (&'a [Interval], Power)>,
    (from, to): (DateTime<Utc>, DateTime<Utc>),
    limit: Option<&SharedLimit>,
) -> PlannedLoad {
    let mut profile = LoadProfile::default();
    for (intervals, power) in plans {
        profile.add(intervals, power);
    }
    let steps = profile.between(from, to);
    let time_above = |(step, limit): (&Interval, &SharedLimit)| {
        let is_above = |part: &LimitStep| {
            let most = part.power_max;
            most.is_some_and(|most| step.power.as_kw() > most.as_kw() + POWER_ROUNDING_KW)
        };
        let parts = limit.steps(step.start, step.end).into_iter().filter(is_above);
        parts.map(|part| part.end - part.start).sum::<TimeDelta>()
    };
    let above = limit.into_iter().flat_map(|limit| steps.iter().map(move |step| (step, limit)));
    PlannedLoad {
        peak: steps.iter().map(|step| step.power).fold(Power::ZERO, Power::max),
        energy: energy_by(&steps, None),
        time_above: above.map(time_above).sum(),
        steps,
    }
}

/// Cheapest plan of a request that takes `power` while it is on, in periods in which `others` leave
/// that much of `limit`.
///
/// Energy that does not fit before a deadline is a shortfall. The `bound` is the cost of the plan
/// alone.
///
/// # Errors
/// The request has power limits of its own in crowded periods.
///
/// # Example
///
/// Two hours, of which another load takes the cheaper one.
///
/// ```
/// use slackwater_engine::shared_supply::{OtherLoad, plan_in_residual_capacity};
/// use slackwater_engine::plan::Interval;
/// use slackwater_engine::plan::charge::{ChargeProblem, ChargeRequest, Target};
/// use slackwater_engine::prices::curve::{PriceCurve, Slot};
/// use slackwater_engine::units::{kw, kwh, per_kwh};
///
/// let [six, seven, eight] =
///     [18, 19, 20].map(|hour| format!("2026-01-05T{hour}:00:00Z").parse().unwrap());
/// let curve = PriceCurve::new(&[
///     Slot { start: six, end: seven, price: per_kwh(0.10) },
///     Slot { start: seven, end: eight, price: per_kwh(0.30) },
/// ])?;
/// let need = ChargeRequest::new(six, kw(11.0), Target { by: None, energy: kwh(11.0) });
/// let other = Interval { start: six, end: seven, power: kw(11.0) };
/// let others = [OtherLoad { intervals: vec![other], power: kw(11.0) }];
/// let problem = ChargeProblem::new(need)?;
/// let fitted = plan_in_residual_capacity(&curve, &problem, kw(11.0), &others, &kw(20.0).into())?;
/// assert_eq!(fitted.summary.intervals[0].start, seven);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan_in_residual_capacity<'a>(
    curve: &PriceCurve,
    problem: &ChargeProblem,
    power: Power,
    others: impl IntoIterator<Item = &'a OtherLoad>,
    limit: &SharedLimit,
) -> Result<IncrementalPlan, ChargeRequestError> {
    let mut occupied = LoadProfile::default();
    for taker in others {
        occupied.add(&taker.intervals, taker.power);
    }
    plan_beside_profile(curve, problem, power, (&occupied, limit))
}

/// Plans as [`plan_in_residual_capacity`] does, beside other loads that are added up already in the
/// profile `occupied`: for many requests one after the other, of which each removes its earlier load
/// and adds its new one.
///
/// # Errors
/// The request has power limits of its own in crowded periods.
pub fn plan_beside_profile(
    curve: &PriceCurve,
    problem: &ChargeProblem,
    power: Power,
    (occupied, limit): (&LoadProfile, &SharedLimit),
) -> Result<IncrementalPlan, ChargeRequestError> {
    let mut request = problem.request().clone();
    if limit.excludes(power) {
        // Its power exceeds the limit, also without other loads.
        request.power_max = Power::ZERO;
    } else if let Some(end) = curve.horizon().end() {
        let crowded = occupied.crowded((limit, power), (request.now, end));
        request.power_limits.extend(crowded);
    }
    let limited = plan_charge(curve, &ChargeProblem::new(request)?);
    // The plan without other loads is the bound, and tells what these crowd out.
    let alone = plan_charge(curve, problem);
    let mut summary = PlanSummary::from(&limited);
    summary.bound = if alone.cost < summary.cost { alone.cost } else { summary.cost };
    let crowded_out = (summary.shortfall - alone.shortfall).max(Energy::ZERO);
    Ok(IncrementalPlan { summary, crowded_out })
}

/// Rest of a previous plan from now on, if it still serves the request; `None` if not.
///
/// Each deadline must be met up to two minutes of charging (one if none is ahead), the plan may
/// exceed the need by no more than that, and energy wanted at once must be charging without a
/// pause. The `bound` is the least cost of the energy that is still ahead.
#[must_use]
pub fn hold_current(
    curve: &PriceCurve,
    problem: &ChargeProblem,
    before: &PlanSummary,
) -> Option<PlanSummary> {
    let request = problem.request();
    let now = request.now;
    let is_alike =
        |i: &Interval| (i.power.as_kw() - request.power_max.as_kw()).abs() < POWER_ROUNDING_KW;
    // The intervals from now on, at the present power of the request.
    let ahead: Vec<Interval> = before
        .intervals
        .iter()
        .filter(|interval| now < interval.end)
        .map(|interval| Interval { start: interval.start.max(now), ..*interval })
        .collect();
    let above_limit = request.above_limit();
    if before.shortfall > above_limit || !ahead.iter().all(is_alike) {
        return None;
    }
    // Each target must be met. For the bound it is set to what the plan delivers.
    let slack = request.power_max.over(if ahead.is_empty() { REST } else { SLACK });
    let at_once = energy_at_once(&ahead, now);
    let mut kept = request.clone();
    for target in &mut kept.targets {
        let by = [target.by, request.until].into_iter().flatten().min();
        let is_late = by.is_some_and(|by| by <= now);
        let there = if is_late { at_once } else { energy_by(&ahead, by) };
        let wanted = request.within_limit(target);
        if there + slack < wanted {
            return None;
        }
        target.energy = if is_late { there.min(wanted) } else { there };
    }
    // It must not exceed the need, and the reserve must be charging at once.
    let is_much = energy_by(&ahead, None) > problem.wanted() + slack;
    if is_much || at_once + slack < request.reserve {
        return None;
    }
    kept.reserve = request.reserve.min(at_once);
    let best = plan_charge(curve, &ChargeProblem::new(kept).ok()?);
    let cost = cost_of(curve, &ahead)?;
    Some(PlanSummary {
        energy: energy_by(&ahead, None),
        intervals: ahead,
        cost,
        bound: if best.cost < cost { best.cost } else { cost },
        baseline_cost: best.baseline_cost,
        shortfall: above_limit,
        marginal_price: None,
        unpriced_hours: best.unpriced_hours,
    })
}

/// Energy of intervals up to an instant; all of it for `None`.
pub(crate) fn energy_by(intervals: &[Interval], by: Option<DateTime<Utc>>) -> Energy {
    let energy = |interval: &Interval| {
        let end = by.map_or(interval.end, |by| by.min(interval.end));
        interval.power.over((end - interval.start).max(TimeDelta::zero()))
    };
    intervals.iter().map(energy).fold(Energy::ZERO, |sum, energy| sum + energy)
}

/// Energy of the intervals that follow each other from now on without a pause.
fn energy_at_once(intervals: &[Interval], now: DateTime<Utc>) -> Energy {
    let mut reached = now;
    let run = intervals.iter().take_while(|interval| {
        let is_next = interval.start <= reached;
        reached = interval.end;
        is_next
    });
    run.fold(Energy::ZERO, |sum, i| sum + i.power.over(i.end - i.start))
}

/// Cost of intervals; `None` if a price is missing.
fn cost_of(curve: &PriceCurve, intervals: &[Interval]) -> Option<Money> {
    let (cost, unpriced) = paid(curve, intervals);
    unpriced.is_zero().then_some(cost)
}

/// Cost of intervals where there is a price, and their time without one.
pub(crate) fn paid(curve: &PriceCurve, intervals: &[Interval]) -> (Money, TimeDelta) {
    let (mut cost, mut unpriced) = (Money::ZERO, TimeDelta::zero());
    for interval in intervals {
        unpriced += interval.end - interval.start;
        for slot in curve.between(interval.start, interval.end).slots() {
            unpriced -= slot.end - slot.start;
            cost = cost + slot.price.of(interval.power.over(slot.end - slot.start));
        }
    }
    (cost, unpriced)
}

/// Reason that an incremental plan justifies planning the whole area again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ReplanReason {
    /// It is much dearer than alone, and the plan before was not.
    Cheaper,
    /// Its shortfall exceeds that of the plan before, and other loads cause it.
    Energy,
}

impl ReplanReason {
    /// Least time between two plans of an area for this reason. In a crowded evening every
    /// newcomer would pay less in another slot, and planning the area for each of them would move
    /// the others all the time.
    #[must_use]
    pub const fn min_interval(self) -> TimeDelta {
        match self {
            Self::Cheaper => TimeDelta::minutes(15),
            Self::Energy => TimeDelta::zero(),
        }
    }
}

/// Returns why an incremental plan justifies planning the whole area, if it does.
///
/// A shortfall that the plan would have alone is no reason, since moving others does not reduce it.
#[must_use]
pub fn reason_to_replan(
    fitted: &IncrementalPlan,
    before: Option<&PlanSummary>,
) -> Option<ReplanReason> {
    let summary = &fitted.summary;
    let least =
        summary.intervals.first().map_or(Energy::ZERO, |interval| interval.power.over(REST));
    let short = before.map_or(Energy::ZERO, |before| before.shortfall);
    let is_dear = |summary: &PlanSummary| {
        let (cost, bound) = (summary.cost.as_amount(), summary.bound.as_amount());
        cost - bound > DEARER * bound.abs()
    };
    // A shortfall outweighs a higher cost: it has no least interval to wait for.
    if fitted.crowded_out > least && summary.shortfall > short + least {
        return Some(ReplanReason::Energy);
    }
    (is_dear(summary) && !before.is_some_and(is_dear)).then_some(ReplanReason::Cheaper)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::request::{ChargeProblem, ChargeRequest, Target};
    use crate::plan::interval::Interval;
    use crate::plan::record::summary::PlanSummary;
    use crate::prices::curve::tests::curve_of;
    use crate::units::{Energy, kw, kwh};

    const CENTS: [i32; 4] = [40, 10, 30, 20];

    fn at(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    fn interval(from: i64, to: i64) -> Interval {
        Interval { start: at(from), end: at(to), power: kw(10.0) }
    }

    fn taker(from: i64, to: i64) -> OtherLoad {
        OtherLoad { intervals: vec![interval(from, to)], power: kw(10.0) }
    }

    /// Request of 10 kW with its deadline at the end of the fourth hour.
    fn need(from: i64, energy: f64) -> ChargeProblem {
        let target = Target { by: Some(at(240)), energy: kwh(energy) };
        ChargeProblem::new(ChargeRequest::new(at(from), kw(10.0), target)).unwrap()
    }

    fn summary(intervals: Vec<Interval>) -> PlanSummary {
        let alone = plan_charge(&curve_of(60, &CENTS), &need(0, 20.0));
        PlanSummary { intervals, ..PlanSummary::from(&alone) }
    }

    proptest! {
        /// At any minute the load is the sum of the plans that charge then, and nothing is lost.
        #[test]
        fn a_load_is_the_sum_of_its_plans(
            plans in prop::collection::vec((0i64..300, 1i64..120, 1u32..22), 0..12),
            (from, length, most) in (0i64..200, 1i64..200, 0u32..60),
        ) {
            let plans: Vec<(Vec<Interval>, Power)> = plans
                .into_iter()
                .map(|(start, length, power)| (vec![interval(start, start + length)], kw(power.into())))
                .collect();
            let to = from + length;
            let all = plans.iter().map(|(intervals, power)| (&intervals[..], *power));
            let load = planned_load(all, (at(from), at(to)), Some(&kw(most.into()).into()));
            prop_assert_eq!((load.steps[0].start, load.steps.last().unwrap().end), (at(from), at(to)));
            let (mut minutes_above, mut energy_kwh, mut peak_kw) = (0, 0.0, 0.0_f64);
            for minute in from..to {
                let takes = |plan: &&(Vec<Interval>, Power)| {
                    plan.0[0].start <= at(minute) && at(minute) < plan.0[0].end
                };
                let sum_kw: f64 = plans.iter().filter(takes).map(|plan| plan.1.as_kw()).sum();
                let step = load.steps.iter().find(|step| at(minute) < step.end).unwrap();
                prop_assert!((step.power.as_kw() - sum_kw).abs() < 1e-9);
                minutes_above += i64::from(sum_kw > f64::from(most));
                energy_kwh += sum_kw / 60.0;
                peak_kw = peak_kw.max(sum_kw);
            }
            prop_assert_eq!(load.time_above.num_minutes(), minutes_above);
            prop_assert!((load.energy.as_kwh() - energy_kwh).abs() < 1e-9);
            prop_assert!((load.peak.as_kw() - peak_kw).abs() < 1e-9);
        }
    }

    #[test]
    fn others_keep_what_they_have() {
        let curve = curve_of(60, &CENTS);
        let plan = |others: &[OtherLoad], most| {
            plan_in_residual_capacity(&curve, &need(0, 20.0), kw(10.0), others, &kw(most).into())
                .unwrap()
        };
        let hours = |fitted: &IncrementalPlan| -> Vec<i64> {
            fitted.summary.intervals.iter().map(|i| (i.start - at(0)).num_minutes()).collect()
        };
        assert_eq!(hours(&plan(&[], 20.0)), [60, 180]);
        assert_eq!(hours(&plan(&[taker(60, 120)], 20.0)), [60, 180]);
        let beside = plan(&[taker(60, 120), taker(90, 120), taker(-60, 0)], 20.0);
        // Half of the second hour, the fourth hour, and half of the third.
        assert_eq!(hours(&beside), [60, 120, 180]);
        assert_eq!((beside.summary.bound.as_amount(), beside.summary.cost.as_amount()), (3.0, 4.0));
        assert_eq!(reason_to_replan(&beside, None), Some(ReplanReason::Cheaper));
        assert_eq!(reason_to_replan(&beside, Some(&beside.summary)), None);
        // Without capacity all of the need is a shortfall.
        for others in [vec![taker(0, 240), taker(0, 240)], vec![]] {
            let none = plan(&others, if others.is_empty() { 9.0 } else { 20.0 });
            assert_eq!((none.summary.intervals.len(), none.summary.shortfall), (0, kwh(20.0)));
            assert_eq!(none.crowded_out, kwh(20.0));
            assert_eq!(reason_to_replan(&none, None), Some(ReplanReason::Energy));
            assert_eq!(reason_to_replan(&none, Some(&none.summary)), None);
        }
    }

    #[test]
    fn who_is_short_alone_asks_nobody_to_move() {
        let curve = curve_of(60, &CENTS);
        let plan = |energy, others: &[OtherLoad]| {
            plan_in_residual_capacity(&curve, &need(0, energy), kw(10.0), others, &kw(10.0).into())
                .unwrap()
        };
        // Four hours hold 40 kWh; an hour of them is taken.
        let alone = plan(60.0, &[]);
        assert_eq!((alone.summary.shortfall, alone.crowded_out), (kwh(20.0), Energy::ZERO));
        assert_eq!(reason_to_replan(&alone, None), None);
        let beside = plan(60.0, &[taker(60, 120)]);
        assert_eq!((beside.summary.shortfall, beside.crowded_out), (kwh(30.0), kwh(10.0)));
        assert_eq!(reason_to_replan(&beside, None), Some(ReplanReason::Energy));
    }

    #[test]
    fn a_plan_that_does_what_is_asked_goes_on() {
        let curve = curve_of(60, &CENTS);
        let before = summary(vec![interval(60, 120), interval(180, 240)]);
        let on = |from, energy| hold_current(&curve, &need(from, energy), &before);
        assert_eq!(on(0, 20.0).unwrap().intervals, before.intervals);
        // Half an hour of it is over, and a minute was lost at its start.
        let later = on(90, 15.2).unwrap();
        assert_eq!(later.intervals, [interval(90, 120), interval(180, 240)]);
        assert!((later.cost.as_amount() - 2.5).abs() < 1e-9 && later.bound <= later.cost);
        assert_eq!(on(90, 15.4), None, "it lost more than two minutes");
        assert_eq!(on(90, 14.6), None, "somebody else charged it");
        // After the last interval a rest of up to a minute may be missing.
        assert_eq!(on(240, 0.1).map(|summary| summary.intervals), Some(vec![]));
        assert_eq!(on(240, 0.2), None);
        let short = PlanSummary { shortfall: kwh(1.0), ..before.clone() };
        assert_eq!(hold_current(&curve, &need(0, 20.0), &short), None);
    }

    #[test]
    fn what_is_wanted_at_once_is_not_waited_for() {
        let curve = curve_of(60, &CENTS);
        let before = summary(vec![interval(60, 120), interval(180, 240)]);
        let mut request = need(60, 20.0).request().clone();
        request.reserve = kwh(10.0);
        let low = |request: &ChargeRequest| ChargeProblem::new(request.clone()).unwrap();
        assert!(hold_current(&curve, &low(&request), &before).is_some());
        request.reserve = kwh(11.0);
        assert_eq!(hold_current(&curve, &low(&request), &before), None);
        let late = Target { by: Some(at(-10)), energy: kwh(20.0) };
        let late = ChargeProblem::new(ChargeRequest::new(at(0), kw(10.0), late)).unwrap();
        assert_eq!(hold_current(&curve, &late, &before), None);
    }

    proptest! {
        /// An incremental plan never exceeds the limit together with the other loads.
        #[test]
        fn the_limit_holds(
            cents in prop::collection::vec(-5..60_i32, 8),
            others in prop::collection::vec((0..480_i64, 1..120_i64, 1..12_u8), 0..8),
            (energy, power, most) in (0.0..60.0_f64, 3.0..12.0_f64, 0.0..40.0_f64),
        ) {
            let curve = curve_of(60, &cents);
            let others: Vec<OtherLoad> = others.into_iter().map(|(start, length, power)| OtherLoad {
                intervals: vec![interval(start, start + length)],
                power: kw(power.into()),
            }).collect();
            let target = Target { by: Some(at(420)), energy: kwh(energy) };
            let problem = ChargeProblem::new(ChargeRequest::new(at(7), kw(power), target)).unwrap();
            let fitted = plan_in_residual_capacity(&curve, &problem, kw(power), &others, &kw(most).into()).unwrap();
            let summary = fitted.summary;
            prop_assert!(summary.bound <= summary.cost);
            prop_assert!(fitted.crowded_out <= summary.shortfall);
            let is_on = |intervals: &[Interval], at| intervals.iter().any(|i| i.start <= at && at < i.end);
            for minute in 0..480 {
                let at = at(minute);
                let taken = others.iter().filter(|o| is_on(&o.intervals, at)).map(|o| o.power.as_kw());
                let taken: f64 = taken.sum();
                prop_assert!(!is_on(&summary.intervals, at) || taken + power <= most + 1e-5);
            }
        }
    }
}
