//! Use of power that a joint plan leaves free: service of shortfalls, and closing of short pauses.
//!
//! An area is planned in means of slots and with whole columns, so that a few vehicles may lack up
//! to a slot each while power stays free between the others.
use chrono::{DateTime, TimeDelta, Utc};

use crate::plan::interval::Interval;
use crate::plan::record::summary::PlanSummary;
use crate::prices::curve::PriceCurve;
use crate::shared_supply::incremental::{paid, plan_beside_profile};
use crate::shared_supply::limit::SharedLimit;
use crate::shared_supply::load_profile::LoadProfile;
use crate::shared_supply::wish::SharedWish;
use crate::tolerance::POWER_ROUNDING_KW;

/// Charging time below which a shortfall is rounding.
const GRAIN: TimeDelta = TimeDelta::seconds(1);

/// Pauses shorter than this are closed: a vehicle takes half a minute to stop, and as long to
/// start again.
const PAUSE_MIN: TimeDelta = TimeDelta::minutes(2);

/// Upper bound on the requests with a shortfall that are served. With more of them power is scarce
/// in general, and the shortfalls do not come from gaps between whole columns.
const SHORT_MAX: usize = 256;

/// Passes over the requests that still have a shortfall; others may have freed power meanwhile.
const PASSES: usize = 3;

/// Pause from its start to its end.
type Pause = (DateTime<Utc>, DateTime<Utc>);

/// Serves requests with a shortfall in the power that is free, then closes pauses shorter than
/// [`PAUSE_MIN`].
///
/// `alone` are the plans of each request without the others: a shortfall that it has there as well
/// is not served.
pub(crate) fn fill_gaps(
    summaries: &mut [Option<PlanSummary>],
    wishes: &[SharedWish<'_>],
    (curves, alone): (&[PriceCurve], &[PlanSummary]),
    limit: &SharedLimit,
) {
    let mut short = positions_with_shortfall(summaries, wishes, alone);
    if short.is_empty() && pauses(summaries, wishes).is_empty() {
        return;
    }
    let mut occupied = LoadProfile::default();
    for (summary, wish) in summaries.iter().zip(wishes) {
        occupied.add(summary.as_ref().map_or(&[], |summary| &summary.intervals), wish.power);
    }
    for _ in 0..PASSES {
        let mut is_any = false;
        for &position in &short {
            let (Some(summary), wish) = (&mut summaries[position], &wishes[position]) else {
                continue;
            };
            // The own load of a request does not count against it.
            occupied.remove(&summary.intervals, wish.power);
            if let Some(fitted) = serve_shortfall(summary, wish, curves, (&occupied, limit)) {
                *summary = fitted;
                is_any = true;
            }
            occupied.add(&summary.intervals, wish.power);
        }
        // A request that moved has freed power.
        short =
            if is_any { positions_with_shortfall(summaries, wishes, alone) } else { Vec::new() };
    }
    close_short_pauses(summaries, wishes, curves, (&occupied, limit));
}

/// New plan of a request in the free power, if its shortfall is smaller.
fn serve_shortfall(
    summary: &PlanSummary,
    wish: &SharedWish<'_>,
    curves: &[PriceCurve],
    room: (&LoadProfile, &SharedLimit),
) -> Option<PlanSummary> {
    let grain = wish.problem.request().power_max.over(GRAIN);
    let fitted = plan_beside_profile(&curves[wish.curve], wish.problem, wish.power, room).ok()?;
    let is_better = fitted.summary.shortfall + grain < summary.shortfall;
    is_better.then_some(PlanSummary { marginal_price: None, ..fitted.summary })
}

/// Positions of requests whose shortfall exceeds that of their plan alone, by falling hours of
/// charging missed; at most [`SHORT_MAX`].
fn positions_with_shortfall(
    summaries: &[Option<PlanSummary>],
    wishes: &[SharedWish<'_>],
    alone: &[PlanSummary],
) -> Vec<usize> {
    let lacks = |position: usize, summary: &PlanSummary| {
        let power = wishes[position].problem.request().power_max;
        let missing = summary.shortfall - alone[position].shortfall;
        (missing > power.over(GRAIN)).then(|| missing.as_kwh() / power.as_kw())
    };
    let mut short: Vec<(usize, f64)> = summaries
        .iter()
        .enumerate()
        .filter_map(|(position, summary)| Some((position, lacks(position, summary.as_ref()?)?)))
        .collect();
    short.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    short.into_iter().take(SHORT_MAX).map(|(position, _)| position).collect()
}

/// Pauses shorter than [`PAUSE_MIN`], with the position of their request. Those of requests with
/// power limits of their own are left out.
fn pauses(summaries: &[Option<PlanSummary>], wishes: &[SharedWish<'_>]) -> Vec<(usize, Pause)> {
    let mut short_pauses = Vec::new();
    for (position, (summary, wish)) in summaries.iter().zip(wishes).enumerate() {
        let intervals = summary.as_ref().map_or(&[][..], |summary| &summary.intervals);
        let now = wish.problem.request().now;
        let begins = intervals.first().filter(|_| wish.is_on).map(|first| (now, first.start));
        let between = intervals.windows(2).map(|pair| (pair[0].end, pair[1].start));
        let may_go_on = wish.problem.request().power_limits.is_empty();
        let pauses = begins.into_iter().chain(between).filter(|_| may_go_on);
        let is_short = |pause: &Pause| pause.0 < pause.1 && pause.1 - pause.0 < PAUSE_MIN;
        short_pauses.extend(pauses.filter(is_short).map(|pause| (position, pause)));
    }
    short_pauses
}

/// Closes short pauses where power and a price exist, and shortens the end of the plan by the same
/// time.
fn close_short_pauses(
    summaries: &mut [Option<PlanSummary>],
    wishes: &[SharedWish<'_>],
    curves: &[PriceCurve],
    (occupied, limit): (&LoadProfile, &SharedLimit),
) {
    let (at, mut taken_kw) = occupied.steps();
    for (position, (start, end)) in pauses(summaries, wishes) {
        let (wish, Some(summary)) = (&wishes[position], &mut summaries[position]) else { continue };
        // Steps of the load profile that the pause overlaps.
        let first = at.partition_point(|at| *at <= start).saturating_sub(1);
        let within = first..at.partition_point(|at| *at < end);
        let kw = wish.power.as_kw();
        let most = limit.lowest(start, end);
        let is_full =
            |taken: &f64| most.is_some_and(|most| taken + kw > most.as_kw() + POWER_ROUNDING_KW);
        if taken_kw[within.clone()].iter().any(is_full) {
            continue;
        }
        let Some(intervals) = close_pause(&summary.intervals, (start, end)) else { continue };
        let (cost, unpriced) = paid(&curves[wish.curve], &intervals);
        // A pause in a gap of the prices stays: its energy would have no price.
        if unpriced > paid(&curves[wish.curve], &summary.intervals).1 {
            continue;
        }
        // The time cut off at the end still counts as taken, which errs on the safe side.
        taken_kw[within].iter_mut().for_each(|taken| *taken += kw);
        summary.intervals = intervals;
        summary.cost = cost;
        summary.bound = if summary.cost < summary.bound { summary.cost } else { summary.bound };
    }
}

/// Intervals with a pause closed and the same total length. `None` if no interval follows the
/// pause any more.
fn close_pause(intervals: &[Interval], (start, end): Pause) -> Option<Vec<Interval>> {
    if !intervals.iter().any(|interval| interval.start == end) {
        return None;
    }
    let mut made: Vec<Interval> = Vec::with_capacity(intervals.len());
    for interval in intervals {
        let begins = if interval.start == end { start } else { interval.start };
        match made.last_mut().filter(|last| last.end == begins) {
            Some(last) => last.end = interval.end,
            None => made.push(Interval { start: begins, ..*interval }),
        }
    }
    // Charging only moves to earlier times, so that no deadline misses energy by it.
    let mut more = end - start;
    while let Some(last) = made.last_mut().filter(|_| more > TimeDelta::zero()) {
        let cut = more.min(last.end - last.start);
        last.end -= cut;
        more -= cut;
        if last.end == last.start {
            made.pop();
        }
    }
    Some(made)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};
    use proptest::prelude::*;

    use super::*;
    use crate::area::problem::options::AreaOptions;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::request::{ChargeProblem, ChargeRequest, Target};
    use crate::plan::interval::Interval;
    use crate::plan::record::summary::PlanSummary;
    use crate::prices::curve::tests::curve_of;
    use crate::prices::curve::{PriceCurve, Slot};
    use crate::shared_supply::capacity::plan_within_capacity;
    use crate::shared_supply::incremental::{OtherLoad, paid, plan_in_residual_capacity};
    use crate::shared_supply::wish::{SharedPower, SharedWish};
    use crate::units::{kw, kwh, per_kwh};

    fn at(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    fn need(power: f64, energy: f64, by: i64) -> ChargeProblem {
        let target = Target { by: Some(at(by)), energy: kwh(energy) };
        ChargeProblem::new(ChargeRequest::new(at(0), kw(power), target)).unwrap()
    }

    fn wishes(problems: &[ChargeProblem]) -> Vec<SharedWish<'_>> {
        let power = |problem: &ChargeProblem| problem.request().power_max;
        let wish = |problem| SharedWish { problem, curve: 0, power: power(problem), is_on: false };
        problems.iter().map(wish).collect()
    }

    fn interval(from: i64, to: i64) -> Interval {
        Interval { start: at(from), end: at(to), power: kw(10.0) }
    }

    #[test]
    fn nobody_pauses_for_a_moment_where_there_is_room() {
        let curve = curve_of(60, &[40, 10, 30, 20]);
        let needs = [need(10.0, 20.0, 240), need(10.0, 10.0, 240)];
        let curves = std::slice::from_ref(&curve);
        let filled = |intervals: [&[(i64, i64)]; 2], is_on, most| -> Vec<Vec<(i64, i64)>> {
            let alone: Vec<PlanSummary> =
                needs.iter().map(|need| PlanSummary::from(&plan_charge(&curve, need))).collect();
            let mut summaries: Vec<Option<PlanSummary>> = intervals
                .iter()
                .zip(&alone)
                .map(|(on, summary)| {
                    let on = on.iter().map(|&(from, to)| interval(from, to));
                    let intervals: Vec<Interval> = on.collect();
                    let cost = paid(&curve, &intervals).0;
                    Some(PlanSummary { cost, bound: cost, intervals, ..summary.clone() })
                })
                .collect();
            let mut wishes = wishes(&needs);
            wishes[0].is_on = is_on;
            fill_gaps(&mut summaries, &wishes, (curves, &alone), &kw(most).into());
            let minute = |at: DateTime<Utc>| (at - self::at(0)).num_minutes();
            let drawn = |summary: &PlanSummary| {
                summary.intervals.iter().map(|i| (minute(i.start), minute(i.end))).collect()
            };
            for summary in summaries.iter().flatten() {
                assert_eq!(summary.cost, paid(&curve, &summary.intervals).0);
                assert!(summary.bound <= summary.cost);
            }
            summaries.iter().flatten().map(drawn).collect()
        };
        let paused: [&[(i64, i64)]; 2] = [&[(60, 80), (81, 120), (180, 181)], &[(120, 180)]];
        assert_eq!(filled(paused, false, 10.0), [vec![(60, 120)], vec![(120, 180)]]);
        // Closing the first pause uses up the interval after the second.
        let twice: [&[(i64, i64)]; 2] = [&[(60, 80), (81, 120), (121, 122)], &[]];
        assert_eq!(filled(twice, false, 10.0), [vec![(60, 120)], vec![]]);
        // No power is free, or the pause is long enough to stay.
        let beside = [paused[0], &[(60, 120)]];
        assert_eq!(filled(beside, false, 10.0), beside.map(<[_]>::to_vec));
        assert_eq!(filled(beside, false, 20.0), [vec![(60, 120)], vec![(60, 120)]]);
        let long: [&[(i64, i64)]; 2] = [&[(60, 80), (82, 122)], &[]];
        assert_eq!(filled(long, false, 10.0), long.map(<[_]>::to_vec));
        // A vehicle that is on does not stop briefly; one that is off starts as planned.
        let late: [&[(i64, i64)]; 2] = [&[(1, 61)], &[]];
        assert_eq!(filled(late, true, 10.0), [vec![(0, 60)], vec![]]);
        assert_eq!(filled(late, false, 10.0), late.map(<[_]>::to_vec));
        // Two pauses at one time: power for both, then for one.
        let both: [&[(i64, i64)]; 2] = [&[(60, 80), (81, 121)], &[(70, 80), (81, 131)]];
        let made = filled(both, false, 29.0);
        assert_eq!(made, [vec![(60, 120)], vec![(70, 130)]]);
        let made = filled(both, false, 19.0);
        assert_eq!(made, [vec![(60, 120)], both[1].to_vec()]);
    }

    #[test]
    fn nobody_goes_on_at_a_price_that_is_not_known() {
        let slot = |from, to| Slot { start: at(from), end: at(to), price: per_kwh(0.2) };
        let gap = PriceCurve::new(&[slot(0, 80), slot(81, 240)]).unwrap();
        let paused = vec![interval(60, 80), interval(81, 121)];
        let needs = [need(10.0, 10.0, 240)];
        for (curve, is_one) in [(gap, false), (curve_of(60, &[20, 20, 20, 20]), true)] {
            let alone = [PlanSummary::from(&plan_charge(&curve, &needs[0]))];
            let mut summaries =
                [Some(PlanSummary { intervals: paused.clone(), ..alone[0].clone() })];
            fill_gaps(
                &mut summaries,
                &wishes(&needs),
                (std::slice::from_ref(&curve), &alone),
                &kw(10.0).into(),
            );
            let [made] = summaries.map(|summary| summary.unwrap().intervals);
            assert_eq!(made, if is_one { vec![interval(60, 120)] } else { paused.clone() });
        }
    }

    #[test]
    fn who_is_short_takes_what_is_free() {
        let curve = curve_of(60, &[40, 10, 30, 20]);
        let needs = [need(10.0, 20.0, 120), need(10.0, 10.0, 240), need(10.0, 50.0, 240)];
        let alone: Vec<PlanSummary> =
            needs.iter().map(|need| PlanSummary::from(&plan_charge(&curve, need))).collect();
        // The first lacks an hour, the second half an hour, the third as much as alone.
        let short = |summary: &PlanSummary, intervals: Vec<Interval>, energy| PlanSummary {
            intervals,
            shortfall: kwh(energy),
            ..summary.clone()
        };
        let mut summaries = [
            Some(short(&alone[0], vec![interval(60, 120)], 10.0)),
            Some(short(&alone[1], vec![interval(120, 150)], 5.0)),
            Some(alone[2].clone()),
        ];
        let drawn = |summaries: &[Option<PlanSummary>]| -> Vec<String> {
            let is_on =
                |b: &PlanSummary, m| b.intervals.iter().any(|i| i.start <= at(m) && at(m) < i.end);
            let cell = |b: &PlanSummary, m| if is_on(b, m) { '#' } else { '.' };
            let row = |b: &Option<PlanSummary>| {
                (0..240).step_by(30).map(|m| cell(b.as_ref().unwrap(), m)).collect()
            };
            summaries.iter().map(row).collect()
        };
        assert_eq!(drawn(&summaries), ["..##....", "....#...", "########"]);
        let room = (std::slice::from_ref(&curve), &alone[..]);
        fill_gaps(&mut summaries, &wishes(&needs), room, &kw(20.0).into());
        assert_eq!(drawn(&summaries), ["####....", "......##", "########"]);
        assert_eq!(summaries[0].as_ref().unwrap().shortfall, kwh(0.0));
        // Without free power the plans stay.
        let mut crowded = summaries.clone();
        crowded[1] = Some(short(&alone[1], vec![interval(120, 150)], 5.0));
        let before = crowded.clone();
        fill_gaps(&mut crowded, &wishes(&needs), room, &kw(10.0).into());
        assert_eq!(crowded, before);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        /// No request has a shortfall that the power left by the others could serve, up to the
        /// time that closed pauses free. Plans hold the energy they state.
        #[test]
        fn nobody_is_short_where_there_is_room(
            cents in prop::collection::vec(-5..60_i32, 4),
            cars in prop::collection::vec((0..3_usize, 1.0..40.0_f64, 4..16_i64), 1..9),
            power_max in 11.0..45.0_f64,
        ) {
            let curve = curve_of(60, &cents);
            let powers = [3.7, 7.4, 11.0];
            let problems: Vec<ChargeProblem> = cars
                .into_iter()
                .map(|(power, energy, by)| need(powers[power], energy, by * 15))
                .collect();
            let mut wishes = wishes(&problems);
            wishes.iter_mut().step_by(2).for_each(|wish| wish.is_on = true);
            let power = SharedPower::with_headroom(kw(power_max));
            let curves = std::slice::from_ref(&curve);
            let options = AreaOptions::default();
            let plan = plan_within_capacity(curves, &wishes, &power, &options).unwrap();
            let summaries: Vec<PlanSummary> = plan.into_iter().map(Option::unwrap).collect();
            let taker = |(summary, wish): (&PlanSummary, &SharedWish<'_>)| OtherLoad {
                intervals: summary.intervals.clone(),
                power: wish.power,
            };
            let takers: Vec<OtherLoad> = summaries.iter().zip(&wishes).map(taker).collect();
            for (position, (summary, problem)) in summaries.iter().zip(&problems).enumerate() {
                let others = takers.iter().enumerate().filter(|(other, _)| *other != position);
                let others = others.map(|(_, taker)| taker);
                let own = problem.request().power_max;
                let best = plan_in_residual_capacity(&curve, problem, own, others, &kw(power_max).into()).unwrap();
                let on = |energy: f64, i: &Interval| energy + i.power.over(i.end - i.start).as_kwh();
                let energy = summary.intervals.iter().fold(0.0, on);
                prop_assert!((energy - summary.energy.as_kwh()).abs() < 1e-5, "{} kWh", energy);
                let missed = summary.shortfall - best.summary.shortfall;
                prop_assert!(missed <= own.over(PAUSE_MIN * 2), "{} misses {:?}", position, missed);
            }
        }
    }
}
