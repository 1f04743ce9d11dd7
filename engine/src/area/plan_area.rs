//! Plans for all vehicles of an area, within what they share.
//!
//! The rounds find a mix of answers and a bound (`column_generation`), the mix becomes a
//! plan for each vehicle (`recovery`), and the gap that is reported is
//! that of the finished plans. Where limits leave less than all needs, the
//! shortage is shared first (`shortage`), and then the least cost is found for what
//! is left.
use crate::area::column_generation::incumbent::{Ended, Until};
use crate::area::distributed::executor::Staff;
use crate::area::distributed::observer::{Progress, Stop, Watch};
use crate::area::model::linking::Terms;
use crate::area::model::sessions::Stays;
use crate::area::pricing::effective_prices::Worth;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::micro_wh::as_share;
use crate::area::problem::options::{AreaOptions, AreaState};
use crate::area::report::outcome::{self, AreaPlan};
use crate::area::shortage::{fair_shares, mixed_integer, relax_reserves};
use crate::area::solve::sampling::{ALONE_MAX, GROUPS};
use crate::area::solve::solve_subproblem::{PACE, coordinate};
use crate::area::solve::subproblem::{Coordinated, Task};

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
    plan_area_watched(problem, options, &mut Stop(stop))
}

/// The same with somebody who watches, and may remember what was answered.
#[must_use]
pub fn plan_area_watched(
    problem: &AreaProblem<'_>,
    options: &AreaOptions,
    watch: &mut dyn Watch,
) -> AreaPlan {
    let count = problem.vehicles.fleet.len();
    let groups = if count <= ALONE_MAX { count.max(1) } else { GROUPS };
    let stays = Stays::new(problem, groups);
    let staff = &mut Staff::new(watch, &stays);
    let terms = Terms::new(problem);
    let worth = Worth { base: terms.worth, step: 0.0, tiers: 1 };
    let unmanaged = outcome::unmanaged(problem, (&stays, worth), &terms, staff);
    let until = Until { gap: options.gap, rounds: options.max_rounds, scale: unmanaged.cost };
    let money = unmanaged.cost.abs().max(stays.need_kwh() * terms.worth * 1e-2).max(1e-9);
    let mut task =
        Task { problem, terms: &terms, worth, is_free: false, until, money, has_plans: false };
    let start = options.start.clone().unwrap_or_default();
    let has_many = stays.has_whole() && !mixed_integer::is_small(&task, &stays);
    let is_other = options.gap.total_cmp(&PACE).is_ne();
    let whole = (has_many && is_other).then(|| stays.clone());
    let first = coordinate(&task, &stays, &start, staff);
    let (mut stays, mut first) = later(&task, stays, first, staff);
    let is_short = |first: &Coordinated, stays: &Stays| {
        first.ended != Ended::Caller && as_share(first.total.shed, stays.need_kwh()) > 1e-6
    };
    if let Some(whole) = whole.filter(|_| is_short(&first, &stays)) {
        // Shares depend on the plans before them: those of one gap.
        task.until.gap = PACE;
        let again = Task { has_plans: true, ..task };
        let found = coordinate(&again, &whole, &start, staff);
        if found.is_nothing() {
            first.ended = Ended::Caller;
        } else {
            (stays, first) = later(&task, whole, found, staff);
        }
    }
    let is_short = is_short(&first, &stays);
    let is_stopped = first.ended == Ended::Caller;
    let (shared, least_kwh) = if stays.has_whole() && !is_stopped {
        fair_shares::share_whole(&task, &stays, (first, is_short), staff)
    } else if !is_short || is_stopped {
        return outcome::finish(&task, (stays, None, None), first, unmanaged, staff);
    } else {
        (fair_shares::share(&task, &stays, first, staff), None)
    };
    let task = Task { worth: shared.worth, until, ..task };
    outcome::finish(&task, (shared.stays, Some(&stays), least_kwh), shared.done, unmanaged, staff)
}

/// Plans where reserves that limits leave no room for come later.
fn later(
    task: &Task<'_>,
    mut stays: Stays,
    mut first: Coordinated,
    staff: &mut Staff<'_>,
) -> (Stays, Coordinated) {
    let may_be_late = !stays.wishes.is_empty() || !stays.stores.is_empty();
    let mut times_late = 0;
    while may_be_late && first.ended != Ended::Caller {
        let mut next = stays.clone();
        let is_late = times_late < LATE_MAX
            && relax_reserves::postpone(task, &mut next, &first, times_late == 0);
        times_late += usize::from(is_late);
        if !relax_reserves::postpone_reserves(task, &mut next, &first) && !is_late {
            break;
        }
        let start = AreaState { rounds_per_kwh: Vec::new(), ..first.state.clone() };
        let done = coordinate(&Task { has_plans: true, ..*task }, &next, &start, staff);
        if done.is_nothing() {
            first.ended = Ended::Caller;
        } else {
            (stays, first) = (next, done);
        }
    }
    (stays, first)
}
