//! Fair sharing of a shortage: the least total shortfall first, then equal shares.
//!
//! The first search has free energy and hard limits only. The need of vehicle `v` is cut into
//! `T` equal tiers, and the penalty rises from each tier to the next:
//!
//! ```text
//! minimise  Σ_v Σ_j (β + δ·q_v·j)·u_vj ,    0 <= u_vj <= need_v / T ,   j = 0 .. T-1
//! ```
//!
//! | Symbol | Meaning | Code |
//! |---|---|---|
//! | `u_vj` | shortfall of `v` in tier `j` | |
//! | `β` | penalty per kWh of the first tier, 1 | `ShortfallPenalty::base` |
//! | `δ` | step from tier to tier | `ShortfallPenalty::step`, 1 or [`STEP`] |
//! | `T` | number of tiers | `ShortfallPenalty::tiers`, [`TIERS`] |
//! | `q_v` | priority, at most 1 | `Session::priority` |
//!
//! If 1 kWh of one vehicle exchanges for 1 kWh of another, the optimum sheds the least total, and
//! no vehicle much more than another that could take its place. Elsewhere the total is weighted by
//! the penalties, which differ by up to 1.8 % over [`TIERS`] tiers at [`STEP`].
//!
//! Then vehicles of one node that miss one deadline share their shortfall in proportion to need
//! over priority ([`proportional_shares`]), needs are reduced, and the rest is planned at least
//! cost. Energy missed at a deadline before departure may be delivered later.
use crate::area::column_generation::search_state::{StoppingCriteria, Termination, relative_gap};
use crate::area::distributed::executor::Executor;
use crate::area::model::deadlines::Deadlines;
use crate::area::model::energy_by_slot::Assignment;
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::effective_prices::ShortfallPenalty;
use crate::area::problem::micro_wh::as_kwh;
use crate::area::problem::options::WarmStart;
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::recovery::totals::{self, objective_of};
use crate::area::shortage::measure::{
    VehicleShortfall, measure, proportional_shares, reduce_needs,
};
use crate::area::shortage::mixed_integer::{self, MixedIntegerPlan};
use crate::area::solve::area_instance::{AreaInstance, Solution, Stopped};
use crate::area::solve::search::solve_again;
use crate::tolerance::{NEED_SHARE_MIN, SHORTFALL_TOLERANCE};

/// Tiers of a need; the shortfall penalty rises from each to the next.
const TIERS: u32 = 10;

/// Step of the penalty from tier to tier where there are deadlines or batteries.
///
/// There one vehicle's kWh is not another's: batteries lose energy, and energy in time for one
/// deadline is late for another. Tiers worth twice as much as the ones before had batteries give
/// 2 kWh for 1 (DESIGN.md).
const STEP: f64 = 0.002;

/// Shortfall beyond its share, as a part of the need, that a vehicle may be left with.
const UNEVEN: f64 = 0.01;

/// Part of the least shortage by which a shortfall may exceed another and still counts as equal.
const ALIKE: f64 = 1e-3;

/// Relative gap of the searches for the least shortage: a tenth of the default gap.
const GAP: f64 = 1e-4;

/// Sessions with needs reduced to what limits allow, and their plans.
pub(crate) struct FairPlan {
    pub(crate) sessions: Sessions,
    pub(crate) solution: Solution,
    /// Shortfall penalty that the plans were made with.
    pub(crate) penalty: ShortfallPenalty,
}

/// Shares the shortage, and plans what can be delivered. `first` is the solution before that.
pub(crate) fn share_fairly(
    instance: &AreaInstance<'_>,
    sessions: &Sessions,
    first: Solution,
    executor: &mut Executor<'_>,
) -> FairPlan {
    let hard = instance.constraints.hard();
    let is_even = sessions.deadlines.is_empty() && sessions.batteries.is_empty();
    let step = if is_even { 1.0 } else { STEP };
    let scale_kwh = as_kwh(first.load.shortfall);
    let free = least_shortfall(instance, (sessions, &hard), (step, TIERS), scale_kwh);
    let least = match solve_again(&free, sessions, &WarmStart::default(), executor) {
        Ok(least) if least.termination != Termination::Caller => least,
        _ => return FairPlan::stopped(instance, sessions, first),
    };
    // With free energy many plans are optimal, and rounding may then shed more than `first` did.
    let shortfalls = if is_more(least.load.shortfall, first.load.shortfall, first.load.shortfall) {
        measure(instance, (sessions, sessions), &first)
    } else {
        measure(&free, (sessions, sessions), &least)
    };
    // Shares, and plans for the reduced needs at least cost.
    let start = WarmStart { rounds_per_kwh: Vec::new(), ..first.warm_start.clone() };
    let Ok(best) = best_reduction(instance, (sessions, &shortfalls), &start, executor) else {
        return FairPlan::stopped(instance, sessions, first);
    };
    // Shares that leave more unmet than `first` are dropped.
    let is_stopped = executor.is_stopped();
    if is_stopped && best.unmet > first.load.shortfall {
        return FairPlan::stopped(instance, sessions, first);
    }
    if is_more(best.unmet, first.load.shortfall, first.load.shortfall) {
        return FairPlan::unchanged(instance, sessions, first);
    }
    let termination = if is_stopped { Termination::Caller } else { best.solution.termination };
    FairPlan {
        sessions: best.sessions,
        solution: Solution { termination, ..best.solution },
        penalty: best.penalty,
    }
}

/// Plans an area with indivisible vehicles, and returns the energy in kWh that limits withhold in
/// any plan, a lower bound.
///
/// A small area is solved as a mixed-integer programme. `(first, is_short)` is the solution before,
/// and true if it has a shortfall that is to be shared.
pub(crate) fn share_indivisible(
    instance: &AreaInstance<'_>,
    sessions: &Sessions,
    (first, is_short): (Solution, bool),
    executor: &mut Executor<'_>,
) -> (FairPlan, Option<f64>) {
    let gap = relative_gap(
        objective_of(instance.constraints, &first.load),
        first.bound,
        instance.stopping.scale,
    );
    if first.load.shortfall == 0 && gap <= instance.stopping.gap {
        return (FairPlan::unchanged(instance, sessions, first), Some(0.0));
    }
    if let Some(exact) = mixed_integer::solve_mixed_integer(instance, sessions, executor) {
        let least_kwh = exact.least_kwh;
        return (adopt_exact_plans(instance, sessions, (first, exact), executor), Some(least_kwh));
    }
    if !is_short {
        return (FairPlan::unchanged(instance, sessions, first), Some(0.0));
    }
    let least_kwh = relaxed_least_kwh(instance, sessions, executor);
    (share_fairly(instance, sessions, first, executor), Some(least_kwh))
}

/// Adopts the plans of a mixed-integer search, with the duals of a column generation for the same
/// needs, whose own plans are kept if they are better.
fn adopt_exact_plans(
    instance: &AreaInstance<'_>,
    sessions: &Sessions,
    (first, exact): (Solution, MixedIntegerPlan),
    executor: &mut Executor<'_>,
) -> FairPlan {
    let start = WarmStart { rounds_per_kwh: Vec::new(), ..first.warm_start.clone() };
    // A shortfall reduces the needs: duals and bound are found for the reduced ones.
    let is_cut = exact.shortfalls.iter().any(|shortfall| shortfall.missing > SHORTFALL_TOLERANCE);
    let (now, mut solution, penalty) = if is_cut {
        match replan(instance, (sessions, 1), &exact.shortfalls, &start, executor) {
            Ok(cut) => (cut.sessions, cut.solution, cut.penalty),
            Err(Stopped) => return FairPlan::stopped(instance, sessions, first),
        }
    } else {
        (sessions.clone(), first, instance.penalty)
    };
    let instance = AreaInstance { penalty, ..*instance };
    let context = instance.context(&now);
    let assignment = Assignment::of_plans(now.groups, exact.plans);
    let by_class =
        PricesByClass::new(&context, instance.constraints, &assignment, &solution.duals_by_round);
    let plans = PlanReader { context: &context, assignment: &assignment, prices: &by_class };
    let (total, value) = totals::load_of_assignment(
        instance.constraints,
        &plans,
        &solution.duals_by_round,
        executor,
    );
    let (shortfall, objective) = (
        solution.load.shortfall / SHORTFALL_TOLERANCE,
        objective_of(instance.constraints, &solution.load),
    );
    // The lower shortfall wins, then the lower objective value.
    if (total.shortfall / SHORTFALL_TOLERANCE, value) <= (shortfall, objective) {
        (solution.assignment, solution.load) = (assignment, total);
    }
    if executor.is_stopped() {
        solution.termination = Termination::Caller;
    }
    FairPlan { sessions: now, solution, penalty }
}

/// Lower bound on the energy that limits withhold, in kWh: the least shortfall if vehicles could
/// charge at any power. 0 with batteries.
fn relaxed_least_kwh(
    instance: &AreaInstance<'_>,
    sessions: &Sessions,
    executor: &mut Executor<'_>,
) -> f64 {
    if !sessions.batteries.is_empty() {
        // Battery levels are rounded and reserves may be late, so nothing is proved.
        return 0.0;
    }
    let mut sessions = Sessions { version: sessions.version + 4, ..sessions.clone() };
    let needs: Vec<Deadlines> = sessions.deadlines.iter().map(Deadlines::without_reserve).collect();
    sessions.deadlines = needs;
    let hard = instance.constraints.hard();
    let free = least_shortfall(instance, (&sessions, &hard), (0.0, 1), sessions.need_kwh());
    let Ok(least) = solve_again(&free, &sessions, &WarmStart::default(), executor) else {
        return 0.0;
    };
    (least.bound - NEED_SHARE_MIN * sessions.need_kwh()).max(0.0)
}

/// Search for the least shortfall: free energy, the limits `hard` only, and a penalty that rises by
/// `step` from each of the `tiers` to the next. `scale_kwh` is the scale of the gap.
fn least_shortfall<'a>(
    instance: &AreaInstance<'a>,
    (sessions, hard): (&Sessions, &'a LinkingConstraints),
    (step, tiers): (f64, u32),
    scale_kwh: f64,
) -> AreaInstance<'a> {
    AreaInstance {
        constraints: hard,
        penalty: ShortfallPenalty { base: 1.0, step, tiers },
        is_free: true,
        stopping: StoppingCriteria { gap: GAP, scale: scale_kwh, ..instance.stopping },
        money: sessions.need_kwh(),
        ..*instance
    }
}

/// Returns true if `unmet` exceeds `than` by more than [`ALIKE`] times `least`, all in µWh.
fn is_more(unmet: i64, than: i64, least: i64) -> bool {
    as_kwh(unmet - than) > ALIKE * as_kwh(least)
}

impl FairPlan {
    /// Plans before sharing, with the sessions as they are.
    fn unchanged(instance: &AreaInstance<'_>, sessions: &Sessions, first: Solution) -> Self {
        Self { sessions: sessions.clone(), solution: first, penalty: instance.penalty }
    }

    /// Plans before sharing, marked as stopped by the caller.
    fn stopped(instance: &AreaInstance<'_>, sessions: &Sessions, first: Solution) -> Self {
        let solution = Solution { termination: Termination::Caller, ..first };
        Self::unchanged(instance, sessions, solution)
    }
}

/// Best of up to three reductions of needs: equal shares, equal shares of what these left unmet,
/// and `shortfalls` as they are if equal shares shed more.
fn best_reduction(
    instance: &AreaInstance<'_>,
    (sessions, shortfalls): (&Sessions, &[VehicleShortfall]),
    start: &WarmStart,
    executor: &mut Executor<'_>,
) -> Result<Reduction, Stopped> {
    let least: i64 = shortfalls.iter().map(|shortfall| shortfall.missing).sum();
    let mut best = replan(
        instance,
        (sessions, 1),
        &proportional_shares(sessions, shortfalls),
        start,
        executor,
    )?;
    if !executor.is_stopped() && best.worst > UNEVEN {
        // Rounding left more to a few vehicles: share that as well.
        let all = proportional_shares(sessions, &best.shortfalls);
        let again = replan(instance, (sessions, 2), &all, start, executor).ok();
        let is_better =
            |cut: &Reduction| cut.worst < best.worst && !is_more(cut.unmet, best.unmet, least);
        if let Some(again) = again.filter(is_better) {
            best = again;
        }
    }
    if !executor.is_stopped() && is_more(best.unmet, least, least) {
        let as_found = replan(instance, (sessions, 3), shortfalls, start, executor).ok();
        if let Some(as_found) = as_found.filter(|cut| cut.unmet < best.unmet) {
            best = as_found;
        }
    }
    Ok(best)
}

/// Sessions with reduced needs, and plans for them.
struct Reduction {
    sessions: Sessions,
    solution: Solution,
    penalty: ShortfallPenalty,
    /// Shortfall of each vehicle against its original need.
    shortfalls: Vec<VehicleShortfall>,
    /// Sum of them, in µWh.
    unmet: i64,
    /// Largest shortfall beyond the share, as a part of the vehicle's need.
    worst: f64,
}

/// Plans the area with needs reduced by `shares`. `version` tells the sessions apart from those of
/// other reductions.
fn replan(
    instance: &AreaInstance<'_>,
    (sessions, version): (&Sessions, u32),
    shares: &[VehicleShortfall],
    start: &WarmStart,
    executor: &mut Executor<'_>,
) -> Result<Reduction, Stopped> {
    let has_later = shares.iter().any(|share| share.by.is_some());
    let penalty =
        if has_later { instance.penalty.with_late_at_full_penalty() } else { instance.penalty };
    let instance = AreaInstance { penalty, ..*instance };
    let cut = Sessions { version: sessions.version + version, ..reduce_needs(sessions, shares) };
    let solution = solve_again(&instance, &cut, start, executor)?;
    let shortfalls = measure(&instance, (sessions, &cut), &solution);
    let excess =
        shortfalls.iter().zip(shares).zip(&sessions.each).map(|((shortfall, share), session)| {
            (shortfall.missing - share.missing).max(0) as f64 / (session.need as f64).max(1.0)
        });
    let worst = excess.fold(0.0, f64::max);
    let unmet = shortfalls.iter().map(|shortfall| shortfall.missing).sum();
    Ok(Reduction { sessions: cut, solution, penalty, shortfalls, unmet, worst })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::area::recovery::totals::tests::{Car, Town, car};
    use crate::area::shortage::measure::tests::{assert_near, with_instance};
    use crate::area::solve::search::solve_first;

    /// Needs in kWh by row after sharing, and what plans for these leave missing.
    fn shared(town: &Town) -> (Vec<f64>, f64) {
        with_instance(town, |instance, sessions, executor| {
            let first = solve_first(instance, sessions, &WarmStart::default(), executor);
            let plan = share_fairly(instance, sessions, first, executor);
            let mut needs = vec![0.0; plan.sessions.each.len()];
            for session in &plan.sessions.each {
                needs[session.row as usize] = as_kwh(session.need);
            }
            (needs, as_kwh(plan.solution.load.shortfall))
        })
    }

    #[test]
    fn a_shortage_is_shared_in_proportion_to_needs() {
        // 9 kWh for needs of 10 and 5: 6 missing, shared as 4 and 2.
        let town = Town::new(&[10, 20], &[car(1, 10.0), car(1, 5.0)], &[Some(9.0)]);
        let (needs, missing) = shared(&town);
        assert_near(&needs, &[6.0, 3.0]);
        assert_near(&[missing], &[0.0]);
    }

    #[test]
    fn a_vehicle_of_half_the_priority_bears_twice_the_share() {
        let cars = [car(1, 10.0), Car { priority: 0.5, ..car(1, 5.0) }];
        // Weights of 10 and 5 / 0.5 are equal: 3 each of the 6 kWh missing.
        let (needs, _) = shared(&Town::new(&[10, 20], &cars, &[Some(9.0)]));
        assert_near(&needs, &[7.0, 2.0]);
    }

    #[test]
    fn vehicles_of_another_node_or_departure_bear_nothing() {
        // The second vehicle has another hour, and the third one is on a feeder with room.
        let cars = [Car { node: 1, ..car(1, 10.0) }, Car { node: 1, ..car(2, 5.0) }, car(1, 8.0)];
        let (needs, _) = shared(&Town::new(&[10, 20], &cars, &[Some(50.0), Some(6.0)]));
        assert_near(&needs, &[6.0, 5.0, 8.0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn all_get_the_same_part_of_their_needs(
            needs in prop::collection::vec(1.0..10.0f64, 2..6), part in 0.1..0.95f64,
        ) {
            let cars: Vec<Car> = needs.iter().map(|&kwh| car(1, kwh)).collect();
            let limit = part * needs.iter().sum::<f64>();
            let (found, _) = shared(&Town::new(&[10, 20], &cars, &[Some(limit)]));
            for (found, need) in found.iter().zip(&needs) {
                prop_assert!((found - part * need).abs() < 1e-3, "{found} of {need}, not {part}");
            }
        }
    }

    #[test]
    fn what_limits_withhold_in_any_plan_is_a_bound() {
        let least = |limit: f64| {
            let cars = [car(1, 10.0), Car { is_indivisible: true, ..car(1, 5.0) }];
            let town = Town::new(&[10, 20], &cars, &[Some(limit)]);
            with_instance(&town, relaxed_least_kwh)
        };
        // Found to a ten-thousandth of the needs.
        assert!((5.998..=6.0).contains(&least(9.0)));
        assert_near(&[least(15.0)], &[0.0]);
    }

    #[test]
    fn indivisible_vehicles_that_all_fit_keep_their_needs() {
        let cars = [Car { is_indivisible: true, ..car(2, 10.0) }; 2];
        let town = Town::new(&[10, 20], &cars, &[Some(10.0)]);
        with_instance(&town, |instance, sessions, executor| {
            let first = solve_first(instance, sessions, &WarmStart::default(), executor);
            let first = (first, false);
            let (plan, least_kwh) = share_indivisible(instance, sessions, first, executor);
            assert_eq!((least_kwh, plan.solution.load.shortfall), (Some(0.0), 0));
            // One hour of each, or half of both: 10 kWh at 10 cents and 10 at 20 cents.
            assert!((plan.solution.load.cost - 3.0).abs() < 1e-2);
        });
    }

    #[test]
    fn more_is_a_thousandth_of_the_least() {
        let kwh = 1_000_000_000;
        assert!(is_more(1_002 * kwh, 1_000 * kwh, 1_000 * kwh));
        assert!(!is_more(1_001 * kwh, 1_000 * kwh, 1_000 * kwh));
        assert!(!is_more(999 * kwh, 1_000 * kwh, 0));
    }
}
