//! Plan of an area: the steps from the problem to the plan of each vehicle.
//!
//! 1. Make the vehicles ready, deal them to workers if there are any, and cost unmanaged charging.
//! 2. Solve the area at full needs (`solve`): column generation gives a master solution and a
//!    bound, recovery makes a plan for each vehicle.
//! 3. While reserves do not fit within limits, delay them and solve again
//!    ([`relax_until_reserves_hold`]).
//! 4. If a shortfall remains, share it and solve for the reduced needs (`shortage`). Small areas
//!    with indivisible vehicles are solved as a mixed-integer programme.
//! 5. Report cost, bound and gap of the finished plans (`report`).
use std::ops::ControlFlow;

use crate::area::column_generation::incumbent::{StoppingCriteria, Termination};
use crate::area::distributed::executor::Executor;
use crate::area::distributed::observer::{Hooks, Progress};
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
use crate::tolerance::{DIVISOR_MIN, NEED_SHARE_MIN};

/// Upper bound on the times that reserves of vehicles without a battery are lowered.
const LATE_MAX: usize = 8;

/// Plans an area: the energy of every vehicle in every slot, at least cost within shared limits.
///
/// Every need is met unless limits forbid it, and every hard limit holds. The cost is within `gap`
/// of a bound that no plan can undercut, unless the search ends before at `max_rounds`. The same input
/// gives the same bytes on any number of threads.
///
/// If limits leave less than all needs together, the total shortfall is as small as possible.
/// Vehicles of one node that miss the same deadline, mostly their departure, share it in proportion
/// to need divided by priority.
///
/// The time of a round is linear in vehicles and slots.
#[must_use]
pub fn plan_area(problem: &AreaProblem<'_>, options: &AreaOptions) -> AreaPlan {
    let mut to_the_end = |_: &Progress| ControlFlow::Continue(());
    plan_area_with(problem, options, Hooks::new(&mut to_the_end))
}

/// Plans an area as [`plan_area`] does, with hooks: an observer that may end the search with the
/// best plan so far, a store of priced rounds by which a search is resumed, and workers.
#[must_use]
pub fn plan_area_with(
    problem: &AreaProblem<'_>,
    options: &AreaOptions,
    hooks: Hooks<'_>,
) -> AreaPlan {
    let count = problem.vehicles.fleet.len();
    let groups = if count <= ALONE_MAX { count.max(1) } else { GROUPS };
    let sessions = Sessions::new(problem, groups);
    let executor = &mut Executor::new(hooks, &sessions);
    let constraints = LinkingConstraints::new(problem);
    let penalty = ShortfallPenalty { base: constraints.shortfall_penalty, step: 0.0, tiers: 1 };
    // Unmanaged charging gives the scales of the gap and of money.
    let unmanaged = outcome::unmanaged(problem, (&sessions, penalty), &constraints, executor);
    let stopping =
        StoppingCriteria { gap: options.gap, rounds: options.max_rounds, scale: unmanaged.cost };
    let money = unmanaged
        .cost
        .abs()
        .max(sessions.need_kwh() * constraints.shortfall_penalty * 1e-2)
        .max(DIVISOR_MIN);
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
    // Solve at full needs. With many indivisible vehicles and a gap other than `GAP_OF_PRICES`,
    // keep a copy of the sessions for a second search.
    let has_many = sessions.has_indivisible() && !mixed_integer::is_small(&subproblem, &sessions);
    let is_other = options.gap.total_cmp(&GAP_OF_PRICES).is_ne();
    let whole = (has_many && is_other).then(|| sessions.clone());
    let first = solve_subproblem(&subproblem, &sessions, &start, executor);
    let (mut sessions, mut first) =
        relax_until_reserves_hold(&subproblem, sessions, first, executor);
    let is_short = |first: &Solution, sessions: &Sessions| {
        first.termination != Termination::Caller
            && share_of_need(first.load.shortfall, sessions.need_kwh()) > NEED_SHARE_MIN
    };
    if let Some(whole) = whole.filter(|_| is_short(&first, &sessions)) {
        // Shares depend on the plans before them, so these are made at one gap, whichever is
        // requested.
        subproblem.stopping.gap = GAP_OF_PRICES;
        let again = Subproblem { has_plans: true, ..subproblem };
        let solution = solve_subproblem(&again, &whole, &start, executor);
        if solution.is_nothing() {
            first.termination = Termination::Caller;
        } else {
            (sessions, first) = relax_until_reserves_hold(&subproblem, whole, solution, executor);
        }
    }
    // Share a shortfall, and report.
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

/// Delays reserves that limits leave no capacity for, and solves again until no more are found.
/// Returns the sessions with later reserves, and their plans. A stop keeps the plans so far.
fn relax_until_reserves_hold(
    subproblem: &Subproblem<'_>,
    mut sessions: Sessions,
    mut first: Solution,
    executor: &mut Executor<'_>,
) -> (Sessions, Solution) {
    let may_be_late = !sessions.deadlines.is_empty() || !sessions.batteries.is_empty();
    let mut times_late = 0;
    while may_be_late && first.termination != Termination::Caller {
        // The first time vehicles share what is late; after that each keeps its own.
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
