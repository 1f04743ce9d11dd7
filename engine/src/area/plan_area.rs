//! Plan of an area: the steps from the problem to the plan of each vehicle.
//!
//! 1. Prepare the vehicles, assign parts to workers if there are any, and cost unmanaged charging.
//! 2. Solve the area at full needs (`solve`): column generation gives a master solution and a
//!    bound, recovery makes a plan for each vehicle.
//! 3. While reserves do not fit within limits, delay them and solve again
//!    ([`relax_until_reserves_hold`]).
//! 4. If a shortfall remains, share it and solve for the reduced needs (`shortage`). Small areas
//!    with indivisible vehicles are solved as a mixed-integer programme.
//! 5. Report cost, bound and gap of the finished plans (`report`).
use std::ops::ControlFlow;

use crate::area::column_generation::search_state::Termination;
use crate::area::distributed::executor::Executor;
use crate::area::distributed::observer::{Hooks, Progress};
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::rooms::Rooms;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::effective_prices::ShortfallPenalty;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::micro_wh::share_of_need;
use crate::area::problem::options::{AreaOptions, WarmStart};
use crate::area::report::outcome::{self, AreaPlan};
use crate::area::shortage::{fair_shares, mixed_integer, relax_reserves};
use crate::area::solve::area_instance::{AreaInstance, Solution, Stopped};
use crate::area::solve::sampling::{GROUPS, SINGLETON_GROUPS_MAX};
use crate::area::solve::search::{GAP_INDIVISIBLE_START, solve_again, solve_first};
use crate::tolerance::NEED_SHARE_MIN;

/// Upper bound on the times that reserves of vehicles without a battery are lowered.
const RESERVE_DELAYS_MAX: usize = 8;

/// Plans an area: the energy of every vehicle in every slot, at least cost within shared limits.
///
/// Every need is met unless limits forbid it, and every hard limit holds. The cost is within `gap`
/// of a bound that no plan with the same shortfalls can undercut, unless the search ends before: at
/// `max_rounds`, by the caller, by a failure of the solver, or because no column improves the
/// master although plans of whole columns cost more. [`AreaPlan::status`] states the reason. The
/// same input gives the same bytes on any number of threads.
///
/// If limits leave less than all needs together, the total shortfall is near the least one: the
/// search for it ends at a gap of 1e-4, and fair shares may raise it by 1e-3. With indivisible
/// vehicles [`AreaPlan::unmet_bound_kwh`] is the bound that is proved. Vehicles of one node that
/// miss the same deadline, mostly their departure, share the shortfall in proportion to need
/// divided by priority.
///
/// Heat units ([`AreaProblem::with_heat`]) share the limits. Needs of vehicles by their deadlines come
/// before comfort, and comfort before money: degree-hours outside the bands have a price
/// ([`AreaPlan::degree_hour_price`]), and missing energy has a higher one. The bound is one on the cost
/// of plans with the same shortfalls and the same degree-hours at that price.
///
/// The time of a round is linear in vehicles. For one vehicle and `T` slots it is `O(T·log T)` at
/// most, and with a battery `O(T·k)` for `k` segments of its value function, plus a branch and
/// bound where one is needed.
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
    let groups = if count <= SINGLETON_GROUPS_MAX { count.max(1) } else { GROUPS };
    let sessions = Sessions::new(problem, groups);
    let executor = &mut Executor::new(hooks, &sessions);
    let constraints = LinkingConstraints::new(problem);
    // Unmanaged charging gives the scales of the gap and of money.
    let rooms = Rooms::new(problem, &constraints);
    let penalty = ShortfallPenalty::uniform(rooms.shortfall_penalty);
    let of_devices = (&sessions, &rooms.each[..], penalty);
    let unmanaged = outcome::unmanaged(problem, of_devices, &constraints, executor);
    let scales = (unmanaged.cost, sessions.need_kwh());
    let instance = AreaInstance::new(problem, (&constraints, &rooms), options, penalty, scales);
    let start = options.start.clone().unwrap_or_default();
    // The least cost of full needs, with reserves as early as limits allow.
    let FullNeeds { sessions, solution, is_short, shortage_instance } =
        solve_at_full_needs(&instance, sessions, &start, executor);
    let is_stopped = solution.termination == Termination::Caller;
    // If a shortfall is left: fair shares of it, and the least cost of the reduced needs.
    let (fair, least_kwh) = if sessions.has_indivisible() && !is_stopped {
        let at_full_needs = (solution, is_short);
        fair_shares::share_indivisible(&shortage_instance, &sessions, at_full_needs, executor)
    } else if is_short && !is_stopped {
        (fair_shares::share_fairly(&shortage_instance, &sessions, solution, executor), None)
    } else {
        return outcome::finish(&instance, (sessions, None, None), solution, unmanaged, executor);
    };
    let instance = AreaInstance { penalty: fair.penalty, ..instance };
    let needs = (fair.sessions, Some(&sessions), least_kwh);
    outcome::finish(&instance, needs, fair.solution, unmanaged, executor)
}

/// Plans at full needs, and whether they leave a shortfall that is to be shared.
struct FullNeeds<'a> {
    sessions: Sessions,
    solution: Solution,
    is_short: bool,
    /// Instance by which a shortfall is shared.
    shortage_instance: AreaInstance<'a>,
}

/// Solves an area at full needs, with reserves as early as limits allow.
///
/// Shares of a shortage depend on the plans before them. With many indivisible vehicles these are
/// rounded differently at each gap, so a shortage is found again at [`GAP_INDIVISIBLE_START`],
/// whichever gap is requested.
fn solve_at_full_needs<'a>(
    instance: &AreaInstance<'a>,
    sessions: Sessions,
    start: &WarmStart,
    executor: &mut Executor<'_>,
) -> FullNeeds<'a> {
    let is_short = |solution: &Solution, sessions: &Sessions| {
        solution.termination != Termination::Caller
            && share_of_need(solution.load.shortfall, sessions.need_kwh()) > NEED_SHARE_MIN
    };
    let has_many = sessions.has_indivisible() && !mixed_integer::is_small(instance, &sessions);
    let is_other = instance.stopping.gap.total_cmp(&GAP_INDIVISIBLE_START).is_ne();
    // The second search begins with full reserves, which the first relaxation lowers.
    let full_sessions = (has_many && is_other).then(|| sessions.clone());
    let solution = solve_first(instance, &sessions, start, executor);
    let (mut sessions, mut solution) =
        relax_until_reserves_hold(instance, sessions, solution, executor);
    let mut shortage_instance = *instance;
    if let Some(full_sessions) = full_sessions.filter(|_| is_short(&solution, &sessions)) {
        shortage_instance.stopping.gap = GAP_INDIVISIBLE_START;
        match solve_again(&shortage_instance, &full_sessions, start, executor) {
            Ok(again) => {
                (sessions, solution) =
                    relax_until_reserves_hold(&shortage_instance, full_sessions, again, executor);
            }
            Err(Stopped) => solution.termination = Termination::Caller,
        }
    }
    let is_short = is_short(&solution, &sessions);
    FullNeeds { sessions, solution, is_short, shortage_instance }
}

/// Delays reserves that limits leave no capacity for, and solves again until no more are found.
/// Returns the sessions with later reserves, and their plans. A stop keeps the plans so far.
fn relax_until_reserves_hold(
    instance: &AreaInstance<'_>,
    mut sessions: Sessions,
    mut solution: Solution,
    executor: &mut Executor<'_>,
) -> (Sessions, Solution) {
    let may_be_delayed = !sessions.deadlines.is_empty() || !sessions.batteries.is_empty();
    let mut times_delayed = 0;
    while may_be_delayed && solution.termination != Termination::Caller {
        // The first time vehicles share what is late; after that each keeps its own.
        let mut next = sessions.clone();
        let is_delayed = times_delayed < RESERVE_DELAYS_MAX
            && relax_reserves::relax_reserves(instance, &mut next, &solution, times_delayed == 0);
        times_delayed += usize::from(is_delayed);
        if !relax_reserves::delay_battery_reserves(instance, &mut next, &solution) && !is_delayed {
            break;
        }
        let start = WarmStart { rounds_per_kwh: Vec::new(), ..solution.warm_start.clone() };
        match solve_again(instance, &next, &start, executor) {
            Ok(again) => (sessions, solution) = (next, again),
            Err(Stopped) => solution.termination = Termination::Caller,
        }
    }
    (sessions, solution)
}
