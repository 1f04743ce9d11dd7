//! Column generation and primal recovery in turns, at ever smaller gaps.
//!
//! A large fleet of divisible vehicles is planned by a sample where that reaches the requested gap
//! ([`plan_by_sample`]). All else is searched in rounds of all vehicles.
//!
//! Recovered plans mostly cost more than the master solution. So the search first runs to half the
//! requested gap and recovers plans. If their gap is too large, it continues to smaller gaps
//! ([`GAP_PARTS`]), each time with new plans, and the best ones are kept. With indivisible vehicles
//! the gaps are fixed ([`GAPS_INDIVISIBLE`]).
use std::convert::Infallible;
use std::ops::ControlFlow;

use crate::area::column_generation::search_state::{
    ColumnGeneration, SearchState, StoppingCriteria, Termination,
};
use crate::area::column_generation::single_level::SingleLevelColumnGeneration;
use crate::area::column_generation::subtree::Decomposition;
use crate::area::column_generation::two_level::TwoLevelColumnGeneration;
use crate::area::distributed::executor::Executor;
use crate::area::model::energy_by_slot::Assignment;
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::context::PricingContext;
use crate::area::problem::options::WarmStart;
use crate::area::recovery::totals::AreaLoad;
use crate::area::solve::area_instance::{AreaInstance, Solution, Stopped};
use crate::area::solve::recover::{lexicographic_key, reaches_gap, recover_best};
use crate::area::solve::sampled_plans::{SampledPlans, may_plan_by_sample, plan_by_sample};
use crate::area::solve::sampling::{
    SAMPLE, SINGLETON_GROUPS_MAX, expected_loads, is_non_binding, margin, sample_start,
};

/// Gaps of the search at which plans are recovered, with indivisible vehicles. They do not depend
/// on the requested gap: plans at a smaller gap are rounded differently, and may cost more.
const GAPS_INDIVISIBLE: [f64; 6] = [1e-2, 1e-3, 5e-4, 1e-4, 1e-5, 0.0];

/// Gaps of the search at which plans are recovered, without indivisible vehicles, as parts of the
/// requested gap.
const GAP_PARTS: [f64; 4] = [0.5, 0.1, 0.01, 0.0];

/// Gap for samples, first rounds and margins with indivisible vehicles, whatever the requested gap.
pub(crate) const GAP_INDIVISIBLE_START: f64 = 1e-3;

/// Solves an instance for which there are no plans yet: after a stop by the caller, plans are made
/// from the columns that were found before it.
pub(crate) fn solve_first(
    instance: &AreaInstance<'_>,
    sessions: &Sessions,
    start: &WarmStart,
    executor: &mut Executor<'_>,
) -> Solution {
    let Ok(solution) =
        search::<Infallible>(instance, sessions, start, executor, || ControlFlow::Continue(()));
    solution
}

/// Solves an instance for which there are other plans already: a stop by the caller ends it at
/// once.
pub(crate) fn solve_again(
    instance: &AreaInstance<'_>,
    sessions: &Sessions,
    start: &WarmStart,
    executor: &mut Executor<'_>,
) -> Result<Solution, Stopped> {
    search(instance, sessions, start, executor, || ControlFlow::Break(Stopped))
}

/// Plans by a sample where these reach the requested gap, else by rounds of all vehicles. `at_stop`
/// decides what a stop by the caller before the recovery does.
fn search<S>(
    instance: &AreaInstance<'_>,
    sessions: &Sessions,
    start: &WarmStart,
    executor: &mut Executor<'_>,
    at_stop: impl Fn() -> ControlFlow<S>,
) -> Result<Solution, S> {
    let decomposition = Decomposition::new(instance.constraints, sessions, |_| false)
        .filter(|_| sessions.each.len() > SINGLETON_GROUPS_MAX && instance.rooms.each.is_empty());
    let mut first_sample = None;
    if decomposition.is_none() && may_plan_by_sample(instance, sessions) {
        match plan_by_sample(instance, sessions, (SAMPLE, start), executor) {
            SampledPlans::Found(solution) => {
                return match at_stop() {
                    ControlFlow::Break(stopped) if executor.is_stopped() => Err(stopped),
                    _ => Ok(*solution),
                };
            }
            SampledPlans::Open(warm_start) => first_sample = warm_start,
        }
    }
    let search = (instance, sessions, decomposition);
    search_in_rounds(search, (start, first_sample), executor, at_stop)
}

/// Duals from samples, column generation, and recovery until the plans reach the requested gap or
/// the search ends. `first_sample` are the duals of the first sample if it is solved already.
fn search_in_rounds<S>(
    (instance, sessions, decomposition): (&AreaInstance<'_>, &Sessions, Option<Decomposition>),
    (start, first_sample): (&WarmStart, Option<WarmStart>),
    executor: &mut Executor<'_>,
    at_stop: impl Fn() -> ControlFlow<S>,
) -> Result<Solution, S> {
    let has_indivisible = sessions.has_indivisible();
    let stopping = StoppingCriteria {
        gap: if has_indivisible { GAP_INDIVISIBLE_START } else { instance.stopping.gap },
        ..instance.stopping
    };
    let capped = &AreaInstance { stopping, ..*instance };
    // Start: duals from samples, and loads that say which subtrees will not bind.
    let known = (start, first_sample);
    let sampled = sample_start(capped, (sessions, decomposition.as_ref()), known, executor);
    let start = sampled.as_ref().unwrap_or(start);
    let decomposition = decomposition.and_then(|_| {
        let loads = expected_loads(instance, sessions, start);
        Decomposition::new(instance.constraints, sessions, |top| {
            is_non_binding(instance.constraints, &loads, top)
        })
    });
    // First rounds of all vehicles.
    let context = instance.context(sessions);
    let scales = (instance.money, margin(capped, sessions));
    let mut column_generation =
        build_column_generation(context, instance.constraints, decomposition.as_ref(), scales);
    let mut termination = column_generation.begin(start, stopping, executor);
    let mut best: Option<(Assignment, AreaLoad, f64)> = None;
    let gaps: &[f64] = if has_indivisible {
        &GAPS_INDIVISIBLE
    } else {
        &GAP_PARTS.map(|part| instance.stopping.gap * part)
    };
    // Smaller and smaller gaps, with plans after each, until these are good enough.
    for &gap in gaps {
        if termination == Termination::Gap {
            let stopping = StoppingCriteria { gap, ..instance.stopping };
            termination = column_generation.run(stopping, executor);
        }
        if executor.is_stopped() {
            termination = Termination::Caller;
            if let ControlFlow::Break(stopped) = at_stop() {
                return Err(stopped);
            }
        }
        let mix = column_generation.mix();
        let candidate = recover_best(instance, &mix, context, executor);
        if executor.is_stopped() {
            termination = Termination::Caller;
        }
        if best.as_ref().is_none_or(|best| {
            lexicographic_key(instance, &candidate) < lexicographic_key(instance, best)
        }) {
            best = Some(candidate);
        }
        let is_enough =
            best.as_ref().is_some_and(|best| reaches_gap(instance, &mix, sessions, best));
        if is_enough || termination != Termination::Gap {
            break;
        }
    }
    Ok(finish_search(column_generation, best.unwrap_or_default(), termination))
}

/// Solution of the best plans, with bound, duals and warm start of the ended column generation.
fn finish_search(
    column_generation: Box<dyn ColumnGeneration + '_>,
    (assignment, load, _): (Assignment, AreaLoad, f64),
    termination: Termination,
) -> Solution {
    let warm_start = column_generation.state().warm_start(&column_generation.weights());
    let SearchState { duals_by_round, best_duals: duals, bound, .. } =
        column_generation.into_state();
    let rounds = duals_by_round.len();
    Solution { assignment, duals_by_round, load, bound, duals, termination, rounds, warm_start }
}

/// Column generation on two levels where there is a decomposition, else on one.
fn build_column_generation<'a>(
    context: PricingContext<'a>,
    constraints: &'a LinkingConstraints,
    decomposition: Option<&'a Decomposition>,
    scales: (f64, f64),
) -> Box<dyn ColumnGeneration + 'a> {
    match decomposition {
        Some(tree) => Box::new(TwoLevelColumnGeneration::new(context, constraints, tree, scales)),
        None => Box::new(SingleLevelColumnGeneration::new(context, constraints, scales)),
    }
}
