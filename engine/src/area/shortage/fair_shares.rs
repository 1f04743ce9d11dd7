//! Sharing a shortage: first as little of it as possible, then equal shares.
//!
//! Energy is free here, and each tenth of a need is worth more the more of the
//! need has been shed already. The least worth is shed when as little as
//! possible goes unmet and no vehicle bears much more than another that could
//! take its place. Vehicles of one node that miss one deadline then share what
//! they bear. What is missed at a deadline before departure may come later.
use crate::area::column_generation::incumbent::{StoppingCriteria, Termination, relative_gap};
use crate::area::distributed::executor::Executor;
use crate::area::model::deadlines::Deadlines;
use crate::area::model::energy_by_slot::Assignment;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::effective_prices::ShortfallPenalty;
use crate::area::problem::micro_wh::{SHORTFALL_TOLERANCE, as_kwh};
use crate::area::problem::options::WarmStart;
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::recovery::totals::{self, objective_of};
use crate::area::shortage::measure::{
    VehicleShortfall, measure, proportional_shares, reduce_needs,
};
use crate::area::shortage::mixed_integer::{self, MixedIntegerPlan};
use crate::area::solve::solve_subproblem::solve_subproblem;
use crate::area::solve::subproblem::{Solution, Subproblem};

/// Parts of a need, each worth more than the one before.
const TIERS: u32 = 10;

/// By how much, where one vehicle's energy is not another's: batteries lose some of
/// what they give, and what is in time for one deadline is late for another. An
/// equal share must not cost others more than it gives.
const STEP: f64 = 0.002;

/// Part of a need that one may go without beyond its share.
const UNEVEN: f64 = 0.01;

/// Part of the least shortage by which another one is not worse.
const ALIKE: f64 = 1e-3;

/// Vehicles with needs that limits can meet, and their plans.
pub(crate) struct FairPlan {
    pub(crate) sessions: Sessions,
    pub(crate) solution: Solution,
    /// What going without was worth.
    pub(crate) penalty: ShortfallPenalty,
}

/// Finds who goes without what, and plans the rest.
pub(crate) fn share_fairly(
    subproblem: &Subproblem<'_>,
    sessions: &Sessions,
    first: Solution,
    executor: &mut Executor<'_>,
) -> FairPlan {
    let hard = subproblem.constraints.hard();
    let stopping =
        StoppingCriteria { gap: 1e-4, scale: as_kwh(first.load.shortfall), ..subproblem.stopping };
    let is_even = sessions.deadlines.is_empty() && sessions.batteries.is_empty();
    let step = if is_even { 1.0 } else { STEP };
    let free = Subproblem {
        constraints: &hard,
        penalty: ShortfallPenalty { base: 1.0, step, tiers: TIERS },
        is_free: true,
        stopping,
        money: sessions.need_kwh(),
        has_plans: true,
        ..*subproblem
    };
    let least = solve_subproblem(&free, sessions, &WarmStart::default(), executor);
    if least.termination == Termination::Caller {
        return FairPlan::stopped(subproblem, sessions, first);
    }
    // Energy that is free leaves much open, and rounding may then cost more.
    let found = if is_more(least.load.shortfall, first.load.shortfall, first.load.shortfall) {
        measure(subproblem, (sessions, sessions), &first)
    } else {
        measure(&free, (sessions, sessions), &least)
    };
    let start = WarmStart { rounds_per_kwh: Vec::new(), ..first.state.clone() };
    let Some(best) = best_reduction(subproblem, (sessions, &found), &start, executor) else {
        return FairPlan::stopped(subproblem, sessions, first);
    };
    let is_stopped = executor.is_stopped();
    if is_stopped && best.unmet > first.load.shortfall {
        return FairPlan::stopped(subproblem, sessions, first);
    }
    if is_more(best.unmet, first.load.shortfall, first.load.shortfall) {
        return FairPlan {
            sessions: sessions.clone(),
            solution: first,
            penalty: subproblem.penalty,
        };
    }
    let termination = if is_stopped { Termination::Caller } else { best.solution.termination };
    FairPlan {
        sessions: best.sessions,
        solution: Solution { termination, ..best.solution },
        penalty: best.penalty,
    }
}

/// Plans of an area where vehicles are on or off, and the energy in kWh that limits
/// withhold in any plan: exact where the area is small.
pub(crate) fn share_indivisible(
    subproblem: &Subproblem<'_>,
    sessions: &Sessions,
    (first, is_short): (Solution, bool),
    executor: &mut Executor<'_>,
) -> (FairPlan, Option<f64>) {
    let gap = relative_gap(
        objective_of(subproblem.constraints, &first.load),
        first.bound,
        subproblem.stopping.scale,
    );
    if first.load.shortfall == 0 && gap <= subproblem.stopping.gap {
        return (
            FairPlan { sessions: sessions.clone(), solution: first, penalty: subproblem.penalty },
            Some(0.0),
        );
    }
    if let Some(exact) = mixed_integer::solve_mixed_integer(subproblem, sessions, executor) {
        let least_kwh = exact.least_kwh;
        return (follow(subproblem, sessions, (first, exact), executor), Some(least_kwh));
    }
    if !is_short {
        return (
            FairPlan { sessions: sessions.clone(), solution: first, penalty: subproblem.penalty },
            Some(0.0),
        );
    }
    let least_kwh = least_in_parts(subproblem, sessions, executor);
    (share_fairly(subproblem, sessions, first, executor), Some(least_kwh))
}

/// The plans of an exact search, with prices of limits, or better ones found on the way.
fn follow(
    subproblem: &Subproblem<'_>,
    sessions: &Sessions,
    (first, exact): (Solution, MixedIntegerPlan),
    executor: &mut Executor<'_>,
) -> FairPlan {
    let start = WarmStart { rounds_per_kwh: Vec::new(), ..first.state.clone() };
    let is_cut = exact.shortfalls.iter().any(|shortfall| shortfall.missing > SHORTFALL_TOLERANCE);
    let (now, mut solution, penalty) = if is_cut {
        match replan(subproblem, (sessions, 1), &exact.shortfalls, &start, executor) {
            Some(cut) => (cut.sessions, cut.solution, cut.penalty),
            None => return FairPlan::stopped(subproblem, sessions, first),
        }
    } else {
        (sessions.clone(), first, subproblem.penalty)
    };
    let subproblem = Subproblem { penalty, ..*subproblem };
    let context = subproblem.context(&now);
    let assignment = Assignment::of_plans(now.groups, exact.plans);
    let by_class =
        PricesByClass::new(&context, subproblem.constraints, &assignment, &solution.prices);
    let plans = PlanReader { context: &context, assignment: &assignment, prices: &by_class };
    let (total, value) =
        totals::load_of_assignment(subproblem.constraints, &plans, &solution.prices, executor);
    let (shed, found) = (
        solution.load.shortfall / SHORTFALL_TOLERANCE,
        objective_of(subproblem.constraints, &solution.load),
    );
    if (total.shortfall / SHORTFALL_TOLERANCE, value) <= (shed, found) {
        (solution.assignment, solution.load) = (assignment, total);
    }
    if executor.is_stopped() {
        solution.termination = Termination::Caller;
    }
    FairPlan { sessions: now, solution, penalty }
}

/// Energy in kWh that limits would withhold if vehicles could take parts of slots.
fn least_in_parts(
    subproblem: &Subproblem<'_>,
    sessions: &Sessions,
    executor: &mut Executor<'_>,
) -> f64 {
    if !sessions.batteries.is_empty() {
        // Their levels are rounded, and their reserves may come later: nothing is proved.
        return 0.0;
    }
    let mut sessions = Sessions { state: sessions.state + 4, ..sessions.clone() };
    let needs: Vec<Deadlines> = sessions.deadlines.iter().map(Deadlines::without_reserve).collect();
    sessions.deadlines = needs;
    let stopping =
        StoppingCriteria { gap: 1e-4, scale: sessions.need_kwh(), ..subproblem.stopping };
    let free = Subproblem {
        constraints: &subproblem.constraints.hard(),
        penalty: ShortfallPenalty { base: 1.0, step: 0.0, tiers: 1 },
        is_free: true,
        stopping,
        money: sessions.need_kwh(),
        has_plans: true,
        ..*subproblem
    };
    let least = solve_subproblem(&free, &sessions, &WarmStart::default(), executor).bound;
    (least - 1e-6 * sessions.need_kwh()).max(0.0)
}

/// Whether more goes unmet than somewhere else, where `least` is what must.
fn is_more(unmet: i64, than: i64, least: i64) -> bool {
    as_kwh(unmet - than) > ALIKE * as_kwh(least)
}

impl FairPlan {
    /// The plans that there were before anything was shared.
    fn stopped(subproblem: &Subproblem<'_>, sessions: &Sessions, first: Solution) -> Self {
        let solution = Solution { termination: Termination::Caller, ..first };
        Self { sessions: sessions.clone(), solution, penalty: subproblem.penalty }
    }
}

/// Equal shares, if they cost nobody more than they give, and what was found
/// otherwise; `None` if the work was stopped before there were plans.
fn best_reduction(
    subproblem: &Subproblem<'_>,
    (sessions, found): (&Sessions, &[VehicleShortfall]),
    start: &WarmStart,
    executor: &mut Executor<'_>,
) -> Option<Reduction> {
    let least: i64 = found.iter().map(|shortfall| shortfall.missing).sum();
    let mut best =
        replan(subproblem, (sessions, 1), &proportional_shares(sessions, found), start, executor)?;
    if !executor.is_stopped() && best.worst > UNEVEN {
        // What rounding left to a few is shared as well.
        let all = proportional_shares(sessions, &best.shortfalls);
        let again = replan(subproblem, (sessions, 2), &all, start, executor);
        let is_better =
            |cut: &Reduction| cut.worst < best.worst && !is_more(cut.unmet, best.unmet, least);
        if let Some(again) = again.filter(is_better) {
            best = again;
        }
    }
    if !executor.is_stopped() && is_more(best.unmet, least, least) {
        let as_found = replan(subproblem, (sessions, 3), found, start, executor);
        if let Some(as_found) = as_found.filter(|cut| cut.unmet < best.unmet) {
            best = as_found;
        }
    }
    Some(best)
}

/// Needs that were cut, and plans for them.
struct Reduction {
    sessions: Sessions,
    solution: Solution,
    penalty: ShortfallPenalty,
    /// What each vehicle goes without of what it asked for, and all together.
    shortfalls: Vec<VehicleShortfall>,
    unmet: i64,
    /// Most that any goes without beyond its share, in proportion to its need.
    worst: f64,
}

/// Plans for vehicles that go without something; none if the work was stopped.
fn replan(
    subproblem: &Subproblem<'_>,
    (sessions, state): (&Sessions, u32),
    shares: &[VehicleShortfall],
    start: &WarmStart,
    executor: &mut Executor<'_>,
) -> Option<Reduction> {
    let has_later = shares.iter().any(|share| share.by.is_some());
    let penalty =
        if has_later { subproblem.penalty.with_late_at_full_penalty() } else { subproblem.penalty };
    let subproblem = Subproblem { penalty, has_plans: true, ..*subproblem };
    let cut = Sessions { state: sessions.state + state, ..reduce_needs(sessions, shares) };
    let solution = solve_subproblem(&subproblem, &cut, start, executor);
    if solution.is_nothing() {
        return None;
    }
    let shortfalls = measure(&subproblem, (sessions, &cut), &solution);
    let besides =
        shortfalls.iter().zip(shares).zip(&sessions.each).map(|((shortfall, share), session)| {
            (shortfall.missing - share.missing).max(0) as f64 / (session.need as f64).max(1.0)
        });
    let worst = besides.fold(0.0, f64::max);
    let unmet = shortfalls.iter().map(|shortfall| shortfall.missing).sum();
    Some(Reduction { sessions: cut, solution, penalty, shortfalls, unmet, worst })
}
