//! Starting prices from a sample of the vehicles, and limits that are expected not to bind.
use crate::area::column_generation::incumbent::{Search, Until};
use crate::area::column_generation::pricing_round::Ear;
use crate::area::column_generation::single_level::Rounds;
use crate::area::column_generation::subtree::Tree;
use crate::area::distributed::executor::Staff;
use crate::area::model::linking::{Kind, Terms};
use crate::area::model::sessions::{Stays, shares_curves};
use crate::area::problem::micro_wh::as_kwh;
use crate::area::problem::options::AreaState;
use crate::area::solve::subproblem::Task;

/// Groups up to which each vehicle is one of its own.
pub(crate) const ALONE_MAX: usize = 192;

/// Groups of a larger fleet.
pub(crate) const GROUPS: usize = 8;

/// Vehicles of the sample on which prices of a large fleet are found first.
const SAMPLE: usize = 8_192;

/// How much larger the next sample is: fewer rounds of the whole fleet are left after it.
const SAMPLE_STEP: usize = 8;

/// Part of its limits that a loose node uses at most.
const LOOSE: f64 = 0.8;

/// The part of hard limits that the mix leaves alone: whole answers of many
/// vehicles do not add up to it exactly, and need room to be put right.
pub(crate) fn margin(task: &Task<'_>, stays: &Stays) -> f64 {
    if stays.each.len() <= ALONE_MAX { 0.0 } else { (0.1 * task.until.gap).min(1e-4) }
}

/// Prices found on a sample of a large fleet, to begin with; on a larger one after
/// that, where the fleet is larger still.
pub(crate) fn sampled(
    task: &Task<'_>,
    (stays, tree): (&Stays, Option<&Tree>),
    start: &AreaState,
    staff: &mut Staff<'_>,
) -> Option<AreaState> {
    let count = stays.each.len();
    if count < 4 * SAMPLE || !start.duals_per_kwh.is_empty() {
        return None;
    }
    // Without prices to begin with, plans take longer than this does.
    let mut state =
        staff.patiently(|staff| sampled_once(task, (stays, tree), (SAMPLE, start), staff));
    let mut size = SAMPLE * SAMPLE_STEP;
    while count >= 4 * size && !staff.is_stopped() {
        state = sampled_once(task, (stays, tree), (size, &state), staff);
        size *= SAMPLE_STEP;
    }
    if let Some(tree) = tree {
        let slots = task.terms.slots();
        let cells = task.terms.each.len() * slots;
        for duals in std::iter::once(&mut state.duals_per_kwh).chain(&mut state.rounds_per_kwh) {
            *duals = tree.spread_out(duals, cells, slots);
        }
    }
    Some(state)
}

/// Prices found on a sample, of wide limits only where there are branches.
fn sampled_once(
    task: &Task<'_>,
    (stays, tree): (&Stays, Option<&Tree>),
    (size, start): (usize, &AreaState),
    staff: &mut Staff<'_>,
) -> AreaState {
    let by_curve = shares_curves(task.problem, stays.each.len());
    let sample =
        stays.sample(size, tree.map_or((stays.groups, true), |_| (GROUPS, false)), by_curve);
    let part = sample.need_kwh() / stays.need_kwh().max(1e-9);
    // Of each branch the sample has too few to tell its prices.
    let terms = tree.map_or(task.terms, |tree| &tree.wide).scaled(part);
    let asked = task.asked(&sample);
    let mut rounds = Rounds::new(asked, &terms, (task.money * part, margin(task, stays)));
    let until = Until { gap: task.until.gap * 0.1, scale: task.until.scale * part, ..task.until };
    rounds.begin(start, until, staff);
    rounds.run(until, staff);
    rounds.found().state(&rounds.shares())
}

/// Loads to be expected in the nodes, from what some vehicles do at the prices of
/// a plan; none where all can be asked as well.
pub(crate) fn expected(task: &Task<'_>, stays: &Stays, state: &AreaState) -> Vec<Vec<f64>> {
    let count = stays.each.len();
    let rounds = &state.rounds_per_kwh;
    if count < 4 * SAMPLE || rounds.is_empty() {
        return Vec::new();
    }
    let sample = stays.sample(SAMPLE, (GROUPS, true), shares_curves(task.problem, count));
    let asked = task.asked(&sample);
    let ear = Ear::new(asked, task.terms);
    let needs = |stays: &Stays| {
        let mut needs = vec![0.0; task.terms.by_node.len()];
        for stay in &stays.each {
            for &node in &task.terms.paths[stay.node as usize] {
                needs[node as usize] += as_kwh(stay.need);
            }
        }
        needs
    };
    let (all, some) = (needs(stays), needs(&sample));
    let mut loads: Vec<Vec<f64>> = vec![Vec::new(); all.len()];
    for duals in rounds {
        for (node, load) in ear.answers(duals).loads.into_iter().enumerate() {
            let scale = all[node] / some[node].max(1e-9) / rounds.len() as f64;
            loads[node].resize(load.len(), 0.0);
            loads[node].iter_mut().zip(load).for_each(|(sum, load)| *sum += load * scale);
        }
    }
    loads
}

/// Whether a node is expected to stay well below its limits.
pub(crate) fn is_loose(terms: &Terms, loads: &[Vec<f64>], node: u32) -> bool {
    let Some(load) = loads.get(node as usize) else { return false };
    terms.by_node[node as usize].iter().all(|&term| {
        let term = &terms.each[term];
        let mut slots = load.iter().zip(&term.bounds);
        !matches!(term.kind, Kind::Square(_))
            && slots.all(|(load, bound)| term.sign * load <= LOOSE * bound)
    })
}
