//! Sampling of vehicles: duals to start from, and limits that are expected not to bind.
//!
//! A sample of `n` vehicles has the part `p = need of the sample / need of all` of the demand. It
//! is planned under limits scaled by `p`. Their duals are those of the area up to sampling error.
//!
//! ```text
//! sample:          Σ_(v in sample) x_v <= p·b    instead of    Σ_v x_v <= b
//! expected load:   mean over rounds of  load of the sample at their duals / p , node by node
//! ```
//!
//! | Symbol | Code |
//! |---|---|
//! | `n` | [`SAMPLE`], then [`SAMPLE_STEP`] times as many while the fleet is four times as large |
//! | `p` | `part` in [`solve_sample`], one per node in [`expected_loads`] |
//! | `p·b` | `LinkingConstraints::scaled` |
use crate::area::column_generation::pricing_round::PricingOracle;
use crate::area::column_generation::search_state::{ColumnGeneration, StoppingCriteria};
use crate::area::column_generation::single_level::SingleLevelColumnGeneration;
use crate::area::column_generation::subtree::Decomposition;
use crate::area::distributed::executor::Executor;
use crate::area::model::linking::{LinkingConstraints, Penalty};
use crate::area::model::sessions::{Sessions, shares_curves};
use crate::area::pricing::context::PricingContext;
use crate::area::problem::micro_wh::as_kwh;
use crate::area::problem::options::WarmStart;
use crate::area::solve::area_instance::AreaInstance;
use crate::tolerance::DIVISOR_MIN;

/// Upper bound on the vehicles of an area in which each is a group of its own.
pub(crate) const SINGLETON_GROUPS_MAX: usize = 192;

/// Number of groups of a larger fleet. With many nodes each has groups of its own.
pub(crate) const GROUPS: usize = 8;

/// Vehicles of the first sample of a large fleet.
///
/// The relative error of a sampled load falls with `1/√n`, to about 1 % at 8,192 vehicles. That is
/// the gap to which a sample is always solved, so a larger first sample would gain nothing.
pub(crate) const SAMPLE: usize = 8_192;

/// Factor from one sample size to the next. A larger sample leaves fewer rounds of all vehicles.
const SAMPLE_STEP: usize = 8;

/// Upper bound on the part of its limits that a non-binding node is expected to use.
const NON_BINDING_SHARE: f64 = 0.8;

/// Part of hard import limits that the master keeps free: a tenth of the requested gap, at most
/// 1e-4. Plans of whole columns do not add up to the master's loads exactly, and their repair needs
/// capacity. 0 if each vehicle is a group of its own.
pub(crate) fn margin(instance: &AreaInstance<'_>, sessions: &Sessions) -> f64 {
    if sessions.each.len() <= SINGLETON_GROUPS_MAX {
        0.0
    } else {
        (0.1 * instance.stopping.gap).min(1e-4)
    }
}

/// Warm start from samples of a large fleet, each at most a quarter of it. `None` for smaller
/// fleets, and if there is a warm start already.
pub(crate) fn sample_start(
    instance: &AreaInstance<'_>,
    (sessions, decomposition): (&Sessions, Option<&Decomposition>),
    (start, first): (&WarmStart, Option<WarmStart>),
    executor: &mut Executor<'_>,
) -> Option<WarmStart> {
    let count = sessions.each.len();
    if count < 4 * SAMPLE || !start.duals_per_kwh.is_empty() {
        return None;
    }
    // Recovery without these duals takes longer than the first sample: finish it after a stop.
    let mut warm_start = first.unwrap_or_else(|| {
        executor.finish_even_if_stopped(|executor| {
            solve_sample(instance, (sessions, decomposition), (SAMPLE, start), executor)
        })
    });
    let mut size = SAMPLE * SAMPLE_STEP;
    while count >= 4 * size && !executor.is_stopped() {
        warm_start =
            solve_sample(instance, (sessions, decomposition), (size, &warm_start), executor);
        size *= SAMPLE_STEP;
    }
    // A sample of an area with subtrees has duals of the upper limits only.
    if let Some(decomposition) = decomposition {
        let slots = instance.constraints.slots();
        let dual_count = instance.constraints.each.len() * slots;
        for duals in
            std::iter::once(&mut warm_start.duals_per_kwh).chain(&mut warm_start.rounds_per_kwh)
        {
            *duals = decomposition.spread_out(duals, dual_count, slots);
        }
    }
    Some(warm_start)
}

/// Warm start from a sample of `size` vehicles, at a tenth of the requested gap. With a
/// decomposition it has duals of the upper limits only.
fn solve_sample(
    instance: &AreaInstance<'_>,
    (sessions, decomposition): (&Sessions, Option<&Decomposition>),
    (size, start): (usize, &WarmStart),
    executor: &mut Executor<'_>,
) -> WarmStart {
    let by_curve = shares_curves(instance.problem, sessions.each.len());
    let sample = sessions.sample(
        size,
        decomposition.map_or((sessions.groups, true), |_| (GROUPS, false)),
        by_curve,
    );
    let part = sample.need_kwh() / sessions.need_kwh().max(DIVISOR_MIN);
    // A sample has too few vehicles of each subtree for duals of the limits inside.
    let constraints = decomposition
        .map_or(instance.constraints, |decomposition| &decomposition.upper)
        .scaled(part);
    // A sample has no part of a heat unit: its duals are those of the vehicles alone.
    let context = PricingContext { rooms: &[], ..instance.context(&sample) };
    let mut column_generation = SingleLevelColumnGeneration::new(
        context,
        &constraints,
        (instance.money * part, margin(instance, sessions)),
    );
    let stopping = StoppingCriteria {
        gap: instance.stopping.gap * 0.1,
        scale: instance.stopping.scale * part,
        ..instance.stopping
    };
    column_generation.begin(start, stopping, executor);
    column_generation.run(stopping, executor);
    column_generation.state().warm_start(&column_generation.weights())
}

/// Expected load of each node in kWh by slot, from a sample priced at the duals of the rounds in
/// `warm_start`. Empty for small fleets and without such rounds.
pub(crate) fn expected_loads(
    instance: &AreaInstance<'_>,
    sessions: &Sessions,
    warm_start: &WarmStart,
) -> Vec<Vec<f64>> {
    let count = sessions.each.len();
    let rounds = &warm_start.rounds_per_kwh;
    if count < 4 * SAMPLE || rounds.is_empty() {
        return Vec::new();
    }
    let sample = sessions.sample(SAMPLE, (GROUPS, true), shares_curves(instance.problem, count));
    let context = instance.context(&sample);
    let oracle = PricingOracle::new(context, instance.constraints);
    // Need below each limited node, to scale the sample's loads node by node.
    let needs = |sessions: &Sessions| {
        let mut needs = vec![0.0; instance.constraints.by_node.len()];
        for session in &sessions.each {
            for &node in &instance.constraints.paths[session.node as usize] {
                needs[node as usize] += as_kwh(session.need);
            }
        }
        needs
    };
    let (all, some) = (needs(sessions), needs(&sample));
    let mut loads: Vec<Vec<f64>> = vec![Vec::new(); all.len()];
    for duals in rounds {
        for (node, load) in oracle.solve_unobserved(duals).loads.into_iter().enumerate() {
            let scale = all[node] / some[node].max(DIVISOR_MIN) / rounds.len() as f64;
            loads[node].resize(load.len(), 0.0);
            loads[node].iter_mut().zip(load).for_each(|(sum, load)| *sum += load * scale);
        }
    }
    loads
}

/// Returns true if a node is expected to use at most 80 % of each of its limits. Quadratic limits
/// count as binding.
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
            && slots.all(|(load, &bound)| constraint.sign * load <= with_margin(bound))
    })
}

/// A bound with the margin of [`NON_BINDING_SHARE`] below it. A load that must be at least 10 kW
/// has the bound -10, and is far from it at -12.5.
fn with_margin(bound: f64) -> f64 {
    if bound < 0.0 { bound / NON_BINDING_SHARE } else { bound * NON_BINDING_SHARE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_of_a_bound_is_below_it() {
        for (bound, with) in [(10.0, 8.0), (0.0, 0.0), (-10.0, -12.5)] {
            assert!((with_margin(bound) - with).abs() < 1e-12, "{bound}");
        }
    }
}
