//! Plans for all vehicles of an area, within what they share.
//!
//! The rounds find a mix of answers and a bound (`column_generation`), the mix becomes a
//! plan for each vehicle (`recovery`), and the gap that is reported is
//! that of the finished plans. Where limits leave less than all needs, the
//! shortage is shared first (`shortage`), and then the least cost is found for what
//! is left.
use crate::area::column_generation::incumbent::{StoppingCriteria, Termination};
use crate::area::distributed::executor::Executor;
use crate::area::distributed::observer::{Observer, Progress, StopCallback};
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::effective_prices::ShortfallPenalty;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::micro_wh::share_of_need;
use crate::area::problem::options::{AreaOptions, WarmStart};
use crate::area::report::outcome::{self, AreaPlan};
use crate::area::shortage::{fair_shares, mixed_integer, relax_reserves};
use crate::area::solve::sampling::{ALONE_MAX, GROUPS};
use crate::area::solve::solve_subproblem::{GAP_OF_PRICES, solve_subproblem};
use crate::area::solve::subproblem::{Solution, Subproblem};

/// Times that all is planned anew because levels come later than wanted.
const LATE_MAX: usize = 8;

/// Plans an area.
///
/// Every need is met unless limits forbid it, every hard limit holds, and the
/// cost is within `gap` of a bound that no plan can undercut, unless the rounds
/// end before. `stop` is called once in every round and ends the work when it
/// says so; the plan is then the best so far. Same input, same bytes out, on
/// any number of threads, unless `stop` cut it short.
///
/// Where limits leave less than the needs together, as little as possible goes
/// unmet, and vehicles of one node that miss the same deadline, mostly their
/// departure, bear it in equal shares of their needs, divided by their priorities.
///
/// A round is linear in vehicles and slots.
#[must_use]
pub fn plan_area(
    problem: &AreaProblem<'_>,
    options: &AreaOptions,
    stop: &mut dyn FnMut(&Progress) -> bool,
) -> AreaPlan {
    plan_area_observed(problem, options, &mut StopCallback(stop))
}

/// The same with somebody who watches, and may remember what was answered.
#[must_use]
pub fn plan_area_observed(
    problem: &AreaProblem<'_>,
    options: &AreaOptions,
    observer: &mut dyn Observer,
) -> AreaPlan {
    let count = problem.vehicles.fleet.len();
    let groups = if count <= ALONE_MAX { count.max(1) } else { GROUPS };
    let sessions = Sessions::new(problem, groups);
    let executor = &mut Executor::new(observer, &sessions);
    let constraints = LinkingConstraints::new(problem);
    let penalty = ShortfallPenalty { base: constraints.shortfall_penalty, step: 0.0, tiers: 1 };
    let unmanaged = outcome::unmanaged(problem, (&sessions, penalty), &constraints, executor);
    let stopping =
        StoppingCriteria { gap: options.gap, rounds: options.max_rounds, scale: unmanaged.cost };
    let money = unmanaged
        .cost
        .abs()
        .max(sessions.need_kwh() * constraints.shortfall_penalty * 1e-2)
        .max(1e-9);
    let mut subproblem = Subproblem {
        problem,
        constraints: &constraints,
        penalty,
        is_free: false,
        stopping,
        money,
        has_plans: false,
    };
    let start = options.start.clone().unwrap_or_default();
    let has_many = sessions.has_indivisible() && !mixed_integer::is_small(&subproblem, &sessions);
    let is_other = options.gap.total_cmp(&GAP_OF_PRICES).is_ne();
    let whole = (has_many && is_other).then(|| sessions.clone());
    let first = solve_subproblem(&subproblem, &sessions, &start, executor);
    let (mut sessions, mut first) =
        relax_until_reserves_hold(&subproblem, sessions, first, executor);
    let is_short = |first: &Solution, sessions: &Sessions| {
        first.termination != Termination::Caller
            && share_of_need(first.load.shortfall, sessions.need_kwh()) > 1e-6
    };
    if let Some(whole) = whole.filter(|_| is_short(&first, &sessions)) {
        // Shares depend on the plans before them: those of one gap.
        subproblem.stopping.gap = GAP_OF_PRICES;
        let again = Subproblem { has_plans: true, ..subproblem };
        let solution = solve_subproblem(&again, &whole, &start, executor);
        if solution.is_nothing() {
            first.termination = Termination::Caller;
        } else {
            (sessions, first) = relax_until_reserves_hold(&subproblem, whole, solution, executor);
        }
    }
    let is_short = is_short(&first, &sessions);
    let is_stopped = first.termination == Termination::Caller;
    let (shared, least_kwh) = if sessions.has_indivisible() && !is_stopped {
        fair_shares::share_indivisible(&subproblem, &sessions, (first, is_short), executor)
    } else if !is_short || is_stopped {
        return outcome::finish(&subproblem, (sessions, None, None), first, unmanaged, executor);
    } else {
        (fair_shares::share_fairly(&subproblem, &sessions, first, executor), None)
    };
    let subproblem = Subproblem { penalty: shared.penalty, stopping, ..subproblem };
    outcome::finish(
        &subproblem,
        (shared.sessions, Some(&sessions), least_kwh),
        shared.solution,
        unmanaged,
        executor,
    )
}

/// Plans where reserves that limits leave no room for come later.
fn relax_until_reserves_hold(
    subproblem: &Subproblem<'_>,
    mut sessions: Sessions,
    mut first: Solution,
    executor: &mut Executor<'_>,
) -> (Sessions, Solution) {
    let may_be_late = !sessions.deadlines.is_empty() || !sessions.batteries.is_empty();
    let mut times_late = 0;
    while may_be_late && first.termination != Termination::Caller {
        let mut next = sessions.clone();
        let is_late = times_late < LATE_MAX
            && relax_reserves::relax_reserves(subproblem, &mut next, &first, times_late == 0);
        times_late += usize::from(is_late);
        if !relax_reserves::delay_battery_reserves(subproblem, &mut next, &first) && !is_late {
            break;
        }
        let start = WarmStart { rounds_per_kwh: Vec::new(), ..first.state.clone() };
        let solution = solve_subproblem(
            &Subproblem { has_plans: true, ..*subproblem },
            &next,
            &start,
            executor,
        );
        if solution.is_nothing() {
            first.termination = Termination::Caller;
        } else {
            (sessions, first) = (next, solution);
        }
    }
    (sessions, first)
}
