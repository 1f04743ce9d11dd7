//! Column generation and primal recovery in turns, at ever smaller gaps.
//!
//! Recovered plans mostly cost more than the master solution. So the search first runs to half the
//! requested gap and recovers plans. If their gap is too large, it continues to smaller gaps
//! ([`GAP_PARTS`]), each time with new plans, and the best ones are kept.
use std::convert::Infallible;
use std::ops::ControlFlow;

use crate::area::column_generation::search_state::{
    Incumbent, Solver, StoppingCriteria, Termination,
};
use crate::area::column_generation::single_level::ColumnGeneration;
use crate::area::column_generation::subtree::Decomposition;
use crate::area::column_generation::two_level::TwoLevelColumnGeneration;
use crate::area::distributed::executor::Executor;
use crate::area::model::energy_by_slot::Assignment;
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::context::PricingContext;
use crate::area::problem::options::WarmStart;
use crate::area::recovery::totals::AreaLoad;
use crate::area::solve::area_instance::{Solution, Stopped, Subproblem};
use crate::area::solve::recover::{is_good, lexicographic_key, recover_best};
use crate::area::solve::sampling::{
    ALONE_MAX, expected_loads, is_non_binding, margin, sample_start,
};

/// Gaps of the search at which plans are recovered, with indivisible vehicles. They do not depend
/// on the requested gap: plans at a smaller gap are rounded differently, and may cost more.
const GAPS_INDIVISIBLE: [f64; 6] = [1e-2, 1e-3, 5e-4, 1e-4, 1e-5, 0.0];

/// Gaps of the search at which plans are recovered, without indivisible vehicles, as parts of the
/// requested gap.
const GAP_PARTS: [f64; 4] = [0.5, 0.1, 0.01, 0.0];

/// Gap for samples, first rounds and margins with indivisible vehicles, whatever the requested gap.
pub(crate) const GAP_OF_PRICES: f64 = 1e-3;

/// Solves a subproblem for which there are no plans yet: after a stop by the caller, plans are made
/// from the columns that were found before it.
pub(crate) fn solve_first(
    subproblem: &Subproblem<'_>,
    sessions: &Sessions,
    start: &WarmStart,
    executor: &mut Executor<'_>,
) -> Solution {
    let Ok(solution) =
        search::<Infallible>(subproblem, sessions, start, executor, || ControlFlow::Continue(()));
    solution
}

/// Solves a subproblem for which there are other plans already: a stop by the caller ends it at
/// once.
pub(crate) fn solve_again(
    subproblem: &Subproblem<'_>,
    sessions: &Sessions,
    start: &WarmStart,
    executor: &mut Executor<'_>,
) -> Result<Solution, Stopped> {
    search(subproblem, sessions, start, executor, || ControlFlow::Break(Stopped))
}

/// Duals from samples, column generation, and recovery until the plans reach the requested gap or
/// the search ends. `at_stop` decides what a stop by the caller before the recovery does.
fn search<S>(
    subproblem: &Subproblem<'_>,
    sessions: &Sessions,
    start: &WarmStart,
    executor: &mut Executor<'_>,
    at_stop: impl Fn() -> ControlFlow<S>,
) -> Result<Solution, S> {
    let has_whole = sessions.has_indivisible();
    let stopping = StoppingCriteria {
        gap: if has_whole { GAP_OF_PRICES } else { subproblem.stopping.gap },
        ..subproblem.stopping
    };
    let paced = &Subproblem { stopping, ..*subproblem };
    // Start: duals from samples, and loads that say which subtrees will not bind.
    let whole = Decomposition::new(subproblem.constraints, sessions, |_| false)
        .filter(|_| sessions.each.len() > ALONE_MAX);
    let sampled = sample_start(paced, (sessions, whole.as_ref()), start, executor);
    let start = sampled.as_ref().unwrap_or(start);
    let decomposition = whole.and_then(|_| {
        let loads = expected_loads(subproblem, sessions, start);
        Decomposition::new(subproblem.constraints, sessions, |top| {
            is_non_binding(subproblem.constraints, &loads, top)
        })
    });
    // First rounds of all vehicles.
    let context = subproblem.context(sessions);
    let scales = (subproblem.money, margin(paced, sessions));
    let mut rounds = solver(context, subproblem.constraints, decomposition.as_ref(), scales);
    let mut termination = rounds.begin(start, stopping, executor);
    let mut best: Option<(Assignment, AreaLoad, f64)> = None;
    let stops: &[f64] = if has_whole {
        &GAPS_INDIVISIBLE
    } else {
        &GAP_PARTS.map(|part| subproblem.stopping.gap * part)
    };
    // Smaller and smaller gaps, with plans after each, until these are good enough.
    for &gap in stops {
        if termination == Termination::Gap {
            let stopping = StoppingCriteria { gap, ..subproblem.stopping };
            termination = rounds.run(stopping, executor);
        }
        if executor.is_stopped() {
            termination = Termination::Caller;
            if let ControlFlow::Break(stopped) = at_stop() {
                return Err(stopped);
            }
        }
        let assignment = recover_best(subproblem, &*rounds, context, executor);
        if executor.is_stopped() {
            termination = Termination::Caller;
        }
        if best.as_ref().is_none_or(|best| {
            lexicographic_key(subproblem, &assignment) < lexicographic_key(subproblem, best)
        }) {
            best = Some(assignment);
        }
        let is_good =
            best.as_ref().is_some_and(|best| is_good(subproblem, &*rounds, sessions, best));
        if is_good || termination != Termination::Gap {
            break;
        }
    }
    let (assignment, total, _) = best.unwrap_or_default();
    let state = rounds.incumbent().state(&rounds.weights());
    let Incumbent { prices, best: duals, bound, .. } = rounds.into_incumbent();
    let rounds = prices.len();
    Ok(Solution { assignment, prices, load: total, bound, duals, termination, rounds, state })
}

/// Column generation on two levels where there is a decomposition, else on one.
fn solver<'a>(
    context: PricingContext<'a>,
    constraints: &'a LinkingConstraints,
    decomposition: Option<&'a Decomposition>,
    scales: (f64, f64),
) -> Box<dyn Solver + 'a> {
    match decomposition {
        Some(tree) => Box::new(TwoLevelColumnGeneration::new(context, constraints, tree, scales)),
        None => Box::new(ColumnGeneration::new(context, constraints, scales)),
    }
}
