//! Starting prices from a sample of the vehicles, and limits that are expected not to bind.
use crate::area::column_generation::incumbent::{Solver, StoppingCriteria};
use crate::area::column_generation::pricing_round::PricingOracle;
use crate::area::column_generation::single_level::ColumnGeneration;
use crate::area::column_generation::subtree::Decomposition;
use crate::area::distributed::executor::Executor;
use crate::area::model::linking::{LinkingConstraints, Penalty};
use crate::area::model::sessions::{Sessions, shares_curves};
use crate::area::problem::micro_wh::as_kwh;
use crate::area::problem::options::WarmStart;
use crate::area::solve::subproblem::Subproblem;

/// Groups up to which each vehicle is one of its own.
pub(crate) const ALONE_MAX: usize = 192;

/// Groups of a larger fleet.
pub(crate) const GROUPS: usize = 8;

/// Vehicles of the sample on which prices of a large fleet are found first.
const SAMPLE: usize = 8_192;

/// How much larger the next sample is: fewer rounds of the whole fleet are left after it.
const SAMPLE_STEP: usize = 8;

/// Part of its limits that a loose node uses at most.
const NON_BINDING_SHARE: f64 = 0.8;

/// The part of hard limits that the mix leaves alone: whole answers of many
/// vehicles do not add up to it exactly, and need room to be put right.
pub(crate) fn margin(subproblem: &Subproblem<'_>, sessions: &Sessions) -> f64 {
    if sessions.each.len() <= ALONE_MAX { 0.0 } else { (0.1 * subproblem.stopping.gap).min(1e-4) }
}

/// Prices found on a sample of a large fleet, to begin with; on a larger one after
/// that, where the fleet is larger still.
pub(crate) fn sample_start(
    subproblem: &Subproblem<'_>,
    (sessions, decomposition): (&Sessions, Option<&Decomposition>),
    start: &WarmStart,
    executor: &mut Executor<'_>,
) -> Option<WarmStart> {
    let count = sessions.each.len();
    if count < 4 * SAMPLE || !start.duals_per_kwh.is_empty() {
        return None;
    }
    // Without prices to begin with, plans take longer than this does.
    let mut state = executor.finish_even_if_stopped(|executor| {
        solve_sample(subproblem, (sessions, decomposition), (SAMPLE, start), executor)
    });
    let mut size = SAMPLE * SAMPLE_STEP;
    while count >= 4 * size && !executor.is_stopped() {
        state = solve_sample(subproblem, (sessions, decomposition), (size, &state), executor);
        size *= SAMPLE_STEP;
    }
    if let Some(decomposition) = decomposition {
        let slots = subproblem.constraints.slots();
        let cells = subproblem.constraints.each.len() * slots;
        for duals in std::iter::once(&mut state.duals_per_kwh).chain(&mut state.rounds_per_kwh) {
            *duals = decomposition.spread_out(duals, cells, slots);
        }
    }
    Some(state)
}

/// Prices found on a sample, of wide limits only where there are branches.
fn solve_sample(
    subproblem: &Subproblem<'_>,
    (sessions, decomposition): (&Sessions, Option<&Decomposition>),
    (size, start): (usize, &WarmStart),
    executor: &mut Executor<'_>,
) -> WarmStart {
    let by_curve = shares_curves(subproblem.problem, sessions.each.len());
    let sample = sessions.sample(
        size,
        decomposition.map_or((sessions.groups, true), |_| (GROUPS, false)),
        by_curve,
    );
    let part = sample.need_kwh() / sessions.need_kwh().max(1e-9);
    // Of each branch the sample has too few to tell its prices.
    let constraints = decomposition
        .map_or(subproblem.constraints, |decomposition| &decomposition.upper)
        .scaled(part);
    let context = subproblem.context(&sample);
    let mut rounds = ColumnGeneration::new(
        context,
        &constraints,
        (subproblem.money * part, margin(subproblem, sessions)),
    );
    let stopping = StoppingCriteria {
        gap: subproblem.stopping.gap * 0.1,
        scale: subproblem.stopping.scale * part,
        ..subproblem.stopping
    };
    rounds.begin(start, stopping, executor);
    rounds.run(stopping, executor);
    rounds.incumbent().state(&rounds.weights())
}

/// Loads to be expected in the nodes, from what some vehicles do at the prices of
/// a plan; none where all can be asked as well.
pub(crate) fn expected_loads(
    subproblem: &Subproblem<'_>,
    sessions: &Sessions,
    state: &WarmStart,
) -> Vec<Vec<f64>> {
    let count = sessions.each.len();
    let rounds = &state.rounds_per_kwh;
    if count < 4 * SAMPLE || rounds.is_empty() {
        return Vec::new();
    }
    let sample = sessions.sample(SAMPLE, (GROUPS, true), shares_curves(subproblem.problem, count));
    let context = subproblem.context(&sample);
    let oracle = PricingOracle::new(context, subproblem.constraints);
    let needs = |sessions: &Sessions| {
        let mut needs = vec![0.0; subproblem.constraints.by_node.len()];
        for session in &sessions.each {
            for &node in &subproblem.constraints.paths[session.node as usize] {
                needs[node as usize] += as_kwh(session.need);
            }
        }
        needs
    };
    let (all, some) = (needs(sessions), needs(&sample));
    let mut loads: Vec<Vec<f64>> = vec![Vec::new(); all.len()];
    for duals in rounds {
        for (node, load) in oracle.solve_unobserved(duals).loads.into_iter().enumerate() {
            let scale = all[node] / some[node].max(1e-9) / rounds.len() as f64;
            loads[node].resize(load.len(), 0.0);
            loads[node].iter_mut().zip(load).for_each(|(sum, load)| *sum += load * scale);
        }
    }
    loads
}

/// Whether a node is expected to stay well below its limits.
pub(crate) fn is_non_binding(
    constraints: &LinkingConstraints,
    loads: &[Vec<f64>],
    node: u32,
) -> bool {
    let Some(load) = loads.get(node as usize) else { return false };
    constraints.by_node[node as usize].iter().all(|&constraint| {
        let constraint = &constraints.each[constraint];
        let mut slots = load.iter().zip(&constraint.bounds);
        !matches!(constraint.penalty, Penalty::Square(_))
            && slots.all(|(load, bound)| constraint.sign * load <= NON_BINDING_SHARE * bound)
    })
}
