//! Exact answers where a slot must decide for one sign, or for a level.
//!
//! Two rules are not convex. A slot charges or discharges, never both; this
//! matters where charging costs less than discharging brings. And charging
//! ends at the charge limit, above which a battery may stay but not rise;
//! this matters where a battery can be above it. The relaxation ignores
//! both, so its cost is a bound. Where its path breaks a rule, the slot is
//! decided either way and both are solved anew, the least bound first, until
//! no open bound is below the best plan, or [`NODES_MAX`] have been solved.
use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::plan::storage::branch_and_bound;
use crate::plan::storage::dynamic_programme::{
    CostAndBound, DRIFT, DynamicProgramme, Prices, ProgrammeSlot, Relaxation, RelaxedSolution,
    bound, hull,
};

/// Relaxations solved at most for one plan. Then the gap is what it is.
pub const NODES_MAX: usize = 20_000;

/// Costs that differ by less than this part are one cost.
const PART: f64 = 1e-11;

/// What is decided for a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    /// It does not charge.
    NoCharge,
    /// It does not discharge.
    NoDischarge,
    /// It ends at or below the charge limit.
    WithinLimit,
}

/// A decision, with the ones taken before it.
#[derive(Debug, Clone, Copy)]
struct NodeDecision {
    before: usize,
    slot: usize,
    decision: Decision,
}

/// A set of decisions whose relaxation is still to be looked into.
#[derive(Debug, Clone, Copy)]
struct Node {
    bound: f64,
    /// Position of its last step; 0 is the root.
    step: usize,
    /// The slot to decide next, and how.
    split: Split,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Node {}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Node {
    /// The least bound is the greatest node; of equal ones the latest, which
    /// is the deepest and so the nearest to a plan.
    fn cmp(&self, other: &Self) -> Ordering {
        other.bound.total_cmp(&self.bound).then(self.step.cmp(&other.step))
    }
}

/// How a relaxed path breaks a rule.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Split {
    /// The slot is between full discharge and full charge.
    Sign(usize),
    /// The slot charges beyond the limit.
    Limit(usize),
}

/// Memory of the search.
#[derive(Debug, Clone, Default)]
pub(crate) struct BranchAndBound {
    slots: Vec<ProgrammeSlot>,
    steps: Vec<NodeDecision>,
    heap: BinaryHeap<Node>,
}

/// Searches from the relaxation that the scratch holds.
#[inline(never)]
pub(crate) fn search(
    kernel: &DynamicProgramme,
    prices: Prices<'_>,
    root: RelaxedSolution,
    scratch: &mut StorageBuffers,
) -> CostAndBound {
    let mut best = f64::INFINITY;
    scratch.search.steps.clear();
    scratch.search.steps.push(NodeDecision { before: 0, slot: 0, decision: Decision::NoCharge });
    scratch.search.heap.clear();
    consider(kernel, prices, root, 0, (&mut best, f64::NEG_INFINITY), scratch);
    first_plan(kernel, prices, &mut best, scratch);
    if best.is_infinite() {
        // Rounding hides every plan of a relaxation.
        best = fullest_path(kernel, prices, &mut scratch.change);
    }
    let mut nodes = 2;
    let mut bound = root.bound;
    loop {
        let Some(node) = scratch.search.heap.pop() else {
            bound = best;
            break;
        };
        bound = node.bound.max(bound);
        if !is_below(node.bound, best) {
            bound = bound.min(best);
            break;
        }
        if nodes >= NODES_MAX {
            break;
        }
        for decision in decisions(node.split) {
            let slot = slot_of(node.split);
            let step = scratch.search.steps.len();
            scratch.search.steps.push(NodeDecision { before: node.step, slot, decision });
            decide(kernel, step, &mut scratch.search);
            nodes += 1;
            if let Some(relaxed) = scratch.relaxation.solve(kernel, &scratch.search.slots, prices) {
                consider(kernel, prices, relaxed, step, (&mut best, node.bound), scratch);
            }
        }
    }
    CostAndBound { cost: best, bound, nodes }
}

/// Whether a bound leaves room for a plan that costs less than the best one.
fn is_below(bound: f64, best: f64) -> bool {
    best.is_infinite() || bound < best - PART * best.abs().max(1.0)
}

fn decisions(split: Split) -> [Decision; 2] {
    match split {
        Split::Sign(_) => [Decision::NoDischarge, Decision::NoCharge],
        Split::Limit(_) => [Decision::WithinLimit, Decision::NoCharge],
    }
}

fn slot_of(split: Split) -> usize {
    match split {
        Split::Sign(slot) | Split::Limit(slot) => slot,
    }
}

/// Keeps a path that is a plan, and opens the node if it could be improved.
fn consider(
    kernel: &DynamicProgramme,
    prices: Prices<'_>,
    relaxed: RelaxedSolution,
    step: usize,
    (best, floor): (&mut f64, f64),
    scratch: &mut StorageBuffers,
) {
    let slots: &[ProgrammeSlot] = if step == 0 { &kernel.slots } else { &scratch.search.slots };
    let (split, is_plan) = split_of(kernel, slots, prices, &scratch.relaxation.change);
    if is_plan && relaxed.cost < *best {
        *best = relaxed.cost;
        scratch.change.clone_from(&scratch.relaxation.change);
    }
    let bound = relaxed.bound.max(floor); // A decision only takes plans away.
    if let Some(split) = split
        && is_below(bound, *best)
    {
        scratch.search.heap.push(Node { bound, step, split });
    }
}

/// The slot that breaks a rule most, and whether the path is a plan as it is.
///
/// Beyond the limit the first slot counts, because what follows depends on
/// it; between the signs the one that costs most beside its hull.
fn split_of(
    kernel: &DynamicProgramme,
    slots: &[ProgrammeSlot],
    prices: Prices<'_>,
    change: &[f64],
) -> (Option<Split>, bool) {
    let mut level = kernel.stored_kwh;
    let mut largest = level;
    let mut worst = (0.0, None);
    for (index, (slot, &change)) in slots.iter().zip(change).enumerate() {
        level += change - slot.driving_kwh;
        largest = largest.max(slot.largest_kwh());
        if change > 0.0 && level > slot.limit_kwh + DRIFT * largest {
            return (Some(Split::Limit(index)), false);
        }
        let (room, fill) = (slot.discharge_kwh, slot.charge_kwh);
        if room > 0.0 && fill > 0.0 {
            let (import, export) = (prices.import[index], prices.export[index]);
            let (a, b) = (kernel.charge_price(import), kernel.discharge_price(export));
            if a < b {
                let hulled = hull(a, fill, b, room) * (change + room) - b * room;
                let excess = kernel.cost_of(change, import, export) - hulled;
                if excess > worst.0 {
                    worst = (excess, Some(Split::Sign(index)));
                }
            }
        }
    }
    (worst.1, true)
}

/// Writes the slots of a node: the kernel's, with its decisions, and with the
/// levels that they leave possible.
fn decide(kernel: &DynamicProgramme, step: usize, search: &mut BranchAndBound) {
    search.slots.clone_from(&kernel.slots);
    let mut at = step;
    let mut is_lower = false;
    while at != 0 {
        let NodeDecision { before, slot, decision } = search.steps[at];
        let decided = &mut search.slots[slot];
        match decision {
            Decision::NoCharge => decided.charge_kwh = 0.0,
            Decision::NoDischarge => decided.discharge_kwh = 0.0,
            Decision::WithinLimit => {
                decided.most_kwh = decided.most_kwh.min(decided.limit_kwh);
                is_lower = true;
            }
        }
        at = before;
    }
    if is_lower {
        let mut reach = kernel.stored_kwh;
        for slot in &mut search.slots {
            reach = reached(reach, slot).min(slot.most_kwh);
            slot.most_kwh = slot.most_kwh.min(slot.limit_kwh.max(reach));
        }
    }
}

/// The level after a slot that charges all it may.
#[inline(always)]
pub(crate) fn reached(before: f64, slot: &ProgrammeSlot) -> f64 {
    let left = before - slot.driving_kwh;
    (left + slot.charge_kwh).min(slot.limit_kwh.max(left))
}

/// The path that charges all it may, so that there is a plan whatever the search
/// finds: levels are bounded by this path, so it keeps within them. Its cost.
fn fullest_path(kernel: &DynamicProgramme, prices: Prices<'_>, changes: &mut Vec<f64>) -> f64 {
    changes.clear();
    let mut level = kernel.stored_kwh;
    let mut cost = 0.0;
    for (index, slot) in kernel.slots.iter().enumerate() {
        let before = level;
        level = reached(before, slot);
        let change = (level + slot.driving_kwh - before).clamp(0.0, slot.charge_kwh);
        cost += kernel.cost_of(change, prices.import[index], prices.export[index]);
        changes.push(change);
    }
    cost - kernel.end_value_per_kwh * (level - kernel.stored_kwh)
}

/// A plan for a battery above its limit, whatever the search finds: no slot
/// charges in which the fullest path could not.
fn first_plan(
    kernel: &DynamicProgramme,
    prices: Prices<'_>,
    best: &mut f64,
    scratch: &mut StorageBuffers,
) {
    let search = &mut scratch.search;
    search.slots.clone_from(&kernel.slots);
    let mut reach = kernel.stored_kwh;
    for slot in &mut search.slots {
        let left = reach - slot.driving_kwh;
        reach = reached(reach, slot);
        if left >= slot.limit_kwh {
            slot.charge_kwh = 0.0;
        }
    }
    let Some(relaxed) = scratch.relaxation.solve(kernel, &scratch.search.slots, prices) else {
        return;
    };
    let change = &scratch.relaxation.change;
    let (_, is_plan) = split_of(kernel, &scratch.search.slots, prices, change);
    if is_plan && relaxed.cost < *best {
        *best = relaxed.cost;
        scratch.change.clone_from(change);
    }
}

/// Memory of the kernel, kept from plan to plan. Holds the last answer.
#[derive(Debug, Clone, Default)]
pub struct StorageBuffers {
    pub(crate) relaxation: Relaxation,
    pub(crate) search: branch_and_bound::BranchAndBound,
    /// Change of the stored energy in each slot, driving apart.
    pub(crate) change: Vec<f64>,
    pub(crate) marginal: Vec<f64>,
}

impl StorageBuffers {
    /// Memory that grows with the first plan.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// The cheapest plan of a battery for a price per slot to buy at and one to
/// sell at.
///
/// No slot both charges and discharges, whatever the prices are. Prices of
/// slots that allow nothing are not looked at. The changes of the stored energy are in
/// `scratch.change` until the next call. Nothing is allocated once the buffers have grown to the
/// number of slots; ties go to the earlier slot.
pub(crate) fn solve(
    kernel: &DynamicProgramme,
    import: &[f64],
    export: &[f64],
    scratch: &mut StorageBuffers,
) -> CostAndBound {
    let prices = Prices { import, export };
    let root = scratch
        .relaxation
        .solve(kernel, &kernel.slots, prices)
        .expect("levels are within what can be reached");
    scratch.relaxation.marginal_values(kernel, &mut scratch.marginal);
    let bound = bound(kernel, prices, &scratch.marginal);
    if root.is_exact {
        std::mem::swap(&mut scratch.change, &mut scratch.relaxation.change);
        return CostAndBound { cost: root.cost, bound, nodes: 1 };
    }
    branch_and_bound::search(kernel, prices, root, scratch)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hours of a lossless battery that starts with `stored` kWh, moves 2 kWh
    /// an hour, and charges to `limit` kWh.
    fn kernel(hours: usize, stored: f64, limit: f64) -> DynamicProgramme {
        let mut slot = ProgrammeSlot {
            charge_kwh: 2.0,
            discharge_kwh: 2.0,
            limit_kwh: limit,
            ..ProgrammeSlot::default()
        };
        let mut reach = stored;
        let mut slots = Vec::new();
        for _ in 0..hours {
            reach = reached(reach, &slot);
            slot.most_kwh = limit.max(reach);
            slots.push(slot);
        }
        DynamicProgramme {
            stored_kwh: stored,
            efficiency_charge: 1.0,
            efficiency_discharge: 1.0,
            wear_per_kwh: 0.0,
            end_value_per_kwh: 0.0,
            capacity_kwh: 6.0,
            slots,
        }
    }

    #[test]
    fn the_fullest_path_is_a_plan_above_the_limit_and_below() {
        let mut kernel = kernel(4, 5.0, 4.0);
        kernel.slots[1].driving_kwh = 2.5;
        kernel.end_value_per_kwh = 0.5;
        let mut changes = Vec::new();
        let prices = Prices { import: &[f64::NAN, 0.2, 0.3, 0.4], export: &[0.0; 4] };
        let cost = fullest_path(&kernel, prices, &mut changes);
        assert_eq!(changes, [0.0, 1.5, 0.0, 0.0]);
        assert!((cost - (0.2 * 1.5 + 0.5)).abs() < 1e-12, "{cost}");
    }

    #[test]
    fn a_battery_above_its_limit_makes_room_to_be_paid() {
        let (import, export) = ([0.0, 0.0, -0.03, -0.03, 0.0], [0.0, 0.0, -0.02, -0.02, 0.0]);
        let mut scratch = StorageBuffers::new();
        let mut kernel = kernel(5, 5.0, 4.0);
        kernel.slots[4].least_kwh = 3.0;
        let found = solve(&kernel, &import, &export, &mut scratch);
        assert!((found.cost + 0.09).abs() < 1e-9, "{found:?} {:?}", scratch.change);
        assert!((found.bound - found.cost).abs() < 1e-9);
    }
}
