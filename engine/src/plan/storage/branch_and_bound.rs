//! Branch and bound over the rules of a battery that are not convex.
//!
//! A slot charges or discharges, never both; this matters if `a_t < b_t`. And a battery does not
//! charge above its charge limit, where it may stay; this matters if it can be above `C_t`. The
//! relaxation ([`dynamic_programme`](super::dynamic_programme)) ignores the second rule and
//! replaces the first by a convex hull, so its cost is a lower bound. A period of two slots, for
//! energy at two prices, has one sign. A node is a set of
//! decisions with the bound of its relaxation. Where the relaxed path breaks a rule, two
//! children decide the slot:
//!
//! | Broken rule | Children |
//! |---|---|
//! | `−B_t < x_t < A_t` inside a hull, `a_t < b_t` | `B_t = 0` or `A_t = 0` |
//! | `x_t` and `x_{t+1}` of opposite signs in one period | `B = 0` or `A = 0` in the whole period |
//! | `x_t > 0` and `e_t > C_t` | `H_t ≤ C_t` or `A_t = 0` |
//!
//! The open node with the least bound is next (best-first). A relaxed path that keeps the rule
//! of the charge limit is a plan at its executed cost `U`. The search ends when
//!
//! ```text
//! min over open nodes of bound  ≥  U_best − PRUNING_GAP·max(|U_best|, 1)
//! ```
//!
//! or after [`NODES_MAX`] relaxations; then that least bound is the bound of the plan.
use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::plan::storage::branch_and_bound;
use crate::plan::storage::dynamic_programme::{
    CostAndBound, DynamicProgramme, Prices, ProgrammeSlot, Relaxation, RelaxedSolution, bound, hull,
};
use crate::tolerance::{SUM_DRIFT, allowed};

/// Most relaxations for one plan. The certificate states the gap that remains.
pub const NODES_MAX: usize = 20_000;

/// Share of the best cost, or of 1 if that is more, within which a bound closes its node: a
/// hundredth of `GAP_MAX`, so that a search that ends is a proof.
const PRUNING_GAP: f64 = 1e-11;

/// Decision on a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    /// The slot does not charge.
    NoCharge,
    /// The slot does not discharge.
    NoDischarge,
    /// The slot ends at or below the charge limit.
    WithinLimit,
}

/// Decision of a node, linked to those of its ancestors.
#[derive(Debug, Clone, Copy)]
struct NodeDecision {
    /// Position of the parent's decision in `BranchAndBound::steps`.
    before: usize,
    slot: usize,
    decision: Decision,
}

/// Open node: a set of decisions whose solved relaxation breaks a rule.
#[derive(Debug, Clone, Copy)]
struct Node {
    bound: f64,
    /// Position of its last decision in `BranchAndBound::steps`; 0 is the root.
    step: usize,
    /// Slot to decide next, with the rule that it breaks.
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
    /// Order for a max-heap: the node with the least bound is the greatest. Of equal bounds it is
    /// the latest node, which is the deepest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.bound.total_cmp(&self.bound).then(self.step.cmp(&other.step))
    }
}

/// Rule that a relaxed path breaks, with the slot.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Split {
    /// The slot is strictly between full discharge and full charge, inside a hull, or its period
    /// both charges and discharges.
    Sign(usize),
    /// The slot charges above the charge limit.
    Limit(usize),
}

/// Memory of the branch and bound.
#[derive(Debug, Clone, Default)]
pub(crate) struct BranchAndBound {
    slots: Vec<ProgrammeSlot>,
    steps: Vec<NodeDecision>,
    heap: BinaryHeap<Node>,
}

/// Runs branch and bound from the relaxation `root`, whose path is in `buffers`. The best plan is
/// left in `buffers.change`.
#[inline(never)]
pub(crate) fn search(
    programme: &DynamicProgramme,
    prices: Prices<'_>,
    root: RelaxedSolution,
    buffers: &mut StorageBuffers,
) -> CostAndBound {
    let mut best = f64::INFINITY;
    buffers.search.steps.clear();
    buffers.search.steps.push(NodeDecision { before: 0, slot: 0, decision: Decision::NoCharge });
    buffers.search.heap.clear();
    // Start with the root, and with a plan that needs no search.
    consider(programme, prices, root, 0, (&mut best, f64::NEG_INFINITY), buffers);
    first_plan(programme, prices, &mut best, buffers);
    if best.is_infinite() {
        // Rounding of the levels can exclude every plan of a relaxation.
        best = fullest_path(programme, prices, &mut buffers.change);
    }
    let mut nodes = 2;
    let mut bound = root.bound;
    loop {
        // Without an open node the best plan is optimal.
        let Some(node) = buffers.search.heap.pop() else {
            bound = best;
            break;
        };
        // The least open bound is the bound of the search.
        bound = node.bound.max(bound);
        if !is_below(node.bound, best) {
            bound = bound.min(best);
            break;
        }
        if nodes >= NODES_MAX {
            break;
        }
        // The children decide the slot one way and the other, so no plan is lost between them.
        for decision in decisions(node.split) {
            let slot = slot_of(node.split);
            let step = buffers.search.steps.len();
            buffers.search.steps.push(NodeDecision { before: node.step, slot, decision });
            decide(programme, step, &mut buffers.search);
            nodes += 1;
            if let Some(relaxed) =
                buffers.relaxation.solve(programme, &buffers.search.slots, prices)
            {
                consider(programme, prices, relaxed, step, (&mut best, node.bound), buffers);
            }
        }
    }
    CostAndBound { cost: best, bound, nodes }
}

/// Returns true if a bound is below the best cost by more than `PRUNING_GAP`.
fn is_below(bound: f64, best: f64) -> bool {
    best.is_infinite() || bound < best - allowed(PRUNING_GAP, best)
}

/// Decisions of the two children of a node.
fn decisions(split: Split) -> [Decision; 2] {
    match split {
        Split::Sign(_) => [Decision::NoDischarge, Decision::NoCharge],
        Split::Limit(_) => [Decision::WithinLimit, Decision::NoCharge],
    }
}

/// Slot that a split decides.
fn slot_of(split: Split) -> usize {
    match split {
        Split::Sign(slot) | Split::Limit(slot) => slot,
    }
}

/// Keeps the path of a relaxation if it is the best plan so far, and opens the node if its bound
/// is below the best cost. `floor` is the bound of the parent.
fn consider(
    programme: &DynamicProgramme,
    prices: Prices<'_>,
    relaxed: RelaxedSolution,
    step: usize,
    (best, floor): (&mut f64, f64),
    buffers: &mut StorageBuffers,
) {
    // The root has no decisions, so its slots are those of the programme.
    let slots: &[ProgrammeSlot] = if step == 0 { &programme.slots } else { &buffers.search.slots };
    let (split, is_plan) = split_of(programme, slots, prices, &buffers.relaxation.change);
    if is_plan && relaxed.cost < *best {
        *best = relaxed.cost;
        buffers.change.clone_from(&buffers.relaxation.change);
    }
    let bound = relaxed.bound.max(floor); // A decision can only raise the bound.
    if let Some(split) = split
        && is_below(bound, *best)
    {
        buffers.search.heap.push(Node { bound, step, split });
    }
}

/// Slot to decide next, if any, and true if the path is a plan as it is executed.
///
/// Of slots that charge above the limit it is the first, because later ones depend on it. Of
/// slots inside a hull it is the one with the largest cost above its hull.
fn split_of(
    programme: &DynamicProgramme,
    slots: &[ProgrammeSlot],
    prices: Prices<'_>,
    changes: &[f64],
) -> (Option<Split>, bool) {
    let mut level = programme.stored_kwh;
    let mut largest = level;
    let mut worst = (0.0, None);
    for (index, (slot, &change)) in slots.iter().zip(changes).enumerate() {
        level += change - slot.driving_kwh;
        largest = largest.max(slot.largest_kwh());
        if change > 0.0 && level > slot.limit_kwh + SUM_DRIFT * largest {
            return (Some(Split::Limit(index)), false);
        }
        if programme.has_two_signs(index, changes) {
            return (Some(Split::Sign(index)), false);
        }
        let (room, fill) = (slot.discharge_kwh, slot.charge_kwh);
        if room > 0.0 && fill > 0.0 {
            let (import, export) = (prices.import[index], prices.export[index]);
            let (a, b) = (programme.charge_price(import), programme.discharge_price(export));
            // Only then is there a hull, inside which a slot costs more than its relaxation.
            if a < b {
                let hulled = hull(a, fill, b, room) * (change + room) - b * room;
                let excess = programme.cost_of(change, import, export) - hulled;
                if excess > worst.0 {
                    worst = (excess, Some(Split::Sign(index)));
                }
            }
        }
    }
    (worst.1, true)
}

/// First and last slot of the period that a slot is in.
fn period_of(programme: &DynamicProgramme, slot: usize) -> (usize, usize) {
    let (mut first, mut last) = (slot, slot);
    while programme.is_joined(first) {
        first -= 1;
    }
    while programme.is_joined(last + 1) {
        last += 1;
    }
    (first, last)
}

/// Writes the slots of a node to `search.slots`: those of `programme` with the decisions of the
/// node and of its ancestors, and with the highest levels that can still be reached.
fn decide(programme: &DynamicProgramme, step: usize, search: &mut BranchAndBound) {
    search.slots.clone_from(&programme.slots);
    let mut at = step;
    let mut is_lower = false;
    while at != 0 {
        let NodeDecision { before, slot, decision } = search.steps[at];
        let (first, last) = period_of(programme, slot);
        match decision {
            Decision::NoCharge => {
                search.slots[first..=last].iter_mut().for_each(|slot| slot.charge_kwh = 0.0);
            }
            Decision::NoDischarge => {
                search.slots[first..=last].iter_mut().for_each(|slot| slot.discharge_kwh = 0.0);
            }
            Decision::WithinLimit => {
                let decided = &mut search.slots[slot];
                decided.most_kwh = decided.most_kwh.min(decided.limit_kwh);
                is_lower = true;
            }
        }
        at = before;
    }
    // A lower level also limits the levels after it.
    if is_lower {
        let mut reach = programme.stored_kwh;
        for slot in &mut search.slots {
            reach = reached(reach, slot).min(slot.most_kwh);
            slot.most_kwh = slot.most_kwh.min(slot.limit_kwh.max(reach));
        }
    }
}

/// Level after a slot that charges as much as it may, from the level `before`:
/// `min(e − w_t + A_t, max(C_t, e − w_t))`.
#[inline(always)]
pub(crate) fn reached(before: f64, slot: &ProgrammeSlot) -> f64 {
    let left = before - slot.driving_kwh;
    (left + slot.charge_kwh).min(slot.limit_kwh.max(left))
}

/// Writes the changes of the fullest path, which charges as much as it may, and returns its cost.
///
/// The levels `L_t` and `H_t` are derived from this path, so it is always a plan.
fn fullest_path(programme: &DynamicProgramme, prices: Prices<'_>, changes: &mut Vec<f64>) -> f64 {
    changes.clear();
    let mut level = programme.stored_kwh;
    let mut cost = 0.0;
    for (index, slot) in programme.slots.iter().enumerate() {
        let before = level;
        level = reached(before, slot);
        let change = (level + slot.driving_kwh - before).clamp(0.0, slot.charge_kwh);
        cost += programme.cost_of(change, prices.import[index], prices.export[index]);
        changes.push(change);
    }
    cost - programme.end_value_per_kwh * (level - programme.stored_kwh)
}

/// Finds a first plan for a battery above its charge limit, and keeps it if it costs less than
/// `best`. No slot charges in which the fullest path is at or above the limit.
fn first_plan(
    programme: &DynamicProgramme,
    prices: Prices<'_>,
    best: &mut f64,
    buffers: &mut StorageBuffers,
) {
    let search = &mut buffers.search;
    search.slots.clone_from(&programme.slots);
    let mut reach = programme.stored_kwh;
    for slot in &mut search.slots {
        let left = reach - slot.driving_kwh;
        reach = reached(reach, slot);
        // Driving leaves the battery at or above the limit, so any charging would exceed it.
        if left >= slot.limit_kwh {
            slot.charge_kwh = 0.0;
        }
    }
    let Some(relaxed) = buffers.relaxation.solve(programme, &buffers.search.slots, prices) else {
        return;
    };
    let change = &buffers.relaxation.change;
    let (_, is_plan) = split_of(programme, &buffers.search.slots, prices, change);
    if is_plan && relaxed.cost < *best {
        *best = relaxed.cost;
        buffers.change.clone_from(change);
    }
}

/// Memory of the solver, reused from plan to plan. It holds the last solution.
#[derive(Debug, Clone, Default)]
pub struct StorageBuffers {
    pub(crate) relaxation: Relaxation,
    pub(crate) search: branch_and_bound::BranchAndBound,
    /// Change of the stored energy in each slot, without driving; negative discharges.
    pub(crate) change: Vec<f64>,
    /// Marginal value `λ_t` of a stored kWh in each slot.
    pub(crate) marginal: Vec<f64>,
}

impl StorageBuffers {
    /// Empty memory, which grows with the first plan.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// Solves for the cheapest plan of a battery at the prices to buy (`import`) and to sell
/// (`export`), one of each per slot.
///
/// No slot both charges and discharges, also at negative prices. Prices of slots without power
/// are not read. The changes of the stored energy are in `buffers.change` until the next call.
/// Nothing is allocated once `buffers` has grown to the number of slots. Of equal prices the
/// earlier slot is used.
pub(crate) fn solve(
    programme: &DynamicProgramme,
    import: &[f64],
    export: &[f64],
    buffers: &mut StorageBuffers,
) -> CostAndBound {
    let prices = Prices { import, export };
    let root = buffers
        .relaxation
        .solve(programme, &programme.slots, prices)
        .expect("levels are within what can be reached");
    buffers.relaxation.marginal_values(programme, &mut buffers.marginal);
    let bound = bound(programme, prices, &buffers.marginal);
    // A relaxation that is a plan is the cheapest plan.
    if root.is_exact {
        std::mem::swap(&mut buffers.change, &mut buffers.relaxation.change);
        return CostAndBound { cost: root.cost, bound, nodes: 1 };
    }
    branch_and_bound::search(programme, prices, root, buffers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lossless battery over `hours` slots of one hour, which starts with `stored` kWh, moves
    /// 2 kWh an hour, and charges to `limit` kWh.
    fn programme(hours: usize, stored: f64, limit: f64) -> DynamicProgramme {
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
            joined: Vec::new(),
        }
    }

    #[test]
    fn the_fullest_path_is_a_plan_above_the_limit_and_below() {
        let mut programme = programme(4, 5.0, 4.0);
        programme.slots[1].driving_kwh = 2.5;
        programme.end_value_per_kwh = 0.5;
        let mut changes = Vec::new();
        let prices = Prices { import: &[f64::NAN, 0.2, 0.3, 0.4], export: &[0.0; 4] };
        let cost = fullest_path(&programme, prices, &mut changes);
        assert_eq!(changes, [0.0, 1.5, 0.0, 0.0]);
        assert!((cost - (0.2 * 1.5 + 0.5)).abs() < 1e-12, "{cost}");
    }

    #[test]
    fn a_battery_above_its_limit_makes_room_to_be_paid() {
        let (import, export) = ([0.0, 0.0, -0.03, -0.03, 0.0], [0.0, 0.0, -0.02, -0.02, 0.0]);
        let mut buffers = StorageBuffers::new();
        let mut programme = programme(5, 5.0, 4.0);
        programme.slots[4].least_kwh = 3.0;
        let found = solve(&programme, &import, &export, &mut buffers);
        assert!((found.cost + 0.09).abs() < 1e-9, "{found:?} {:?}", buffers.change);
        assert!((found.bound - found.cost).abs() < 1e-9);
    }
}
