//! Plans of rooms from the weights of their columns, within hard limits.
//!
//! A room with its power is a convex set, so the convex combination of its columns is a plan of the
//! unit, and has at most the combined cost:
//!
//! ```text
//! x = Σ_k θ_k·x_k ,      cost(x) + q·M·D(x)  <=  Σ_k θ_k·( cost(x_k) + q·M·D(x_k) )
//! ```
//!
//! What plans of vehicles leave too little capacity for is cut off ([`clip_rooms`]). After that units
//! are planned again in the residual capacity, one after the other, wherever that costs less
//! ([`improve_rooms`]).
use rayon::prelude::*;

use crate::area::model::energy_by_slot::ColumnWeights;
use crate::area::model::linking::{LinkingConstraint, LinkingConstraints, Penalty};
use crate::area::model::rooms::{AreaRoom, RoomPlan};
use crate::area::pricing::context::PricingContext;
use crate::area::pricing::price_room::price_room;
use crate::area::problem::micro_wh::{MICRO_WH_PER_KWH, as_kwh};
use crate::area::recovery::totals::AreaLoad;
use crate::plan::heat::dynamic_programme::HeatBuffers;
use crate::tolerance::SOLVER_ROUNDING;

/// Least gain of a new plan of one unit, in currency: more than the rounding of its cost.
const GAIN_MIN: f64 = 1e-9;

/// Convex combination of the columns of each room, by the weights of the master.
pub(crate) fn mix_rooms(
    context: &PricingContext<'_>,
    constraints: &LinkingConstraints,
    weights: &[ColumnWeights],
    duals_by_round: &[Vec<f64>],
) -> Vec<RoomPlan> {
    let mix = |buffers: &mut HeatBuffers, (room, weights): (&AreaRoom, &ColumnWeights)| {
        // Weights that are rounding of the solver are dropped; the others then sum to 1 again.
        let used = || weights.iter().filter(|(_, weight)| *weight > SOLVER_ROUNDING);
        let sum: f64 = used().map(|(_, weight)| weight).sum();
        let mut kwh = vec![0.0; room.slots.len()];
        for &(round, weight) in used() {
            let dual_price = constraints.dual_price(room.node, &duals_by_round[round]);
            let priced = price_room(room, (context.is_free, &dual_price), None, buffers);
            for (kwh, energy) in kwh.iter_mut().zip(priced.plan) {
                *kwh += weight / sum * as_kwh(energy);
            }
        }
        room.to_plan(kwh.into_iter())
    };
    context.rooms.par_iter().zip(weights).map_init(HeatBuffers::new, mix).collect()
}

/// Range of the load of each node that hard limits allow, in µWh by slot.
struct HardBounds {
    /// Highest load, empty for a node without such a limit.
    most: Vec<Vec<i64>>,
    /// Lowest load, empty for a node without such a limit.
    least: Vec<Vec<i64>>,
}

impl HardBounds {
    fn new(constraints: &LinkingConstraints) -> Self {
        let none = vec![Vec::new(); constraints.by_node.len()];
        let mut bounds = Self { most: none.clone(), least: none };
        let hard = constraints.each.iter().filter(|one| one.penalty == Penalty::Hard);
        for LinkingConstraint { node, sign, bounds: of_limit, .. } in hard {
            let is_import = *sign > 0.0;
            let side = if is_import { &mut bounds.most } else { &mut bounds.least };
            let of_node = &mut side[*node];
            of_node.resize(of_limit.len(), if is_import { i64::MAX } else { i64::MIN });
            for (kept, bound) in of_node.iter_mut().zip(of_limit) {
                // Rounded and clamped as in `ResidualCapacity`.
                let most = (bound * MICRO_WH_PER_KWH).floor().clamp(-4e18, 4e18) as i64;
                *kept = if is_import { (*kept).min(most) } else { (*kept).max(-most) };
            }
        }
        bounds
    }

    /// Least capacity above `loads` in a slot on a path to the root; negative if a limit is exceeded.
    fn capacity_left(&self, path: &[u32], loads: &[Vec<i64>], slot: usize) -> i64 {
        let left = |&node: &u32| {
            let node = node as usize;
            self.most[node].get(slot).map(|most| most.saturating_sub(loads[node][slot]))
        };
        path.iter().filter_map(left).min().unwrap_or(i64::MAX)
    }

    /// Returns true if less load by `less` in a slot falls below a limit on export further.
    fn falls_below(&self, path: &[u32], loads: &[Vec<i64>], (slot, less): (usize, i64)) -> bool {
        less > 0
            && path.iter().any(|&node| {
                let node = node as usize;
                self.least[node].get(slot).is_some_and(|&least| loads[node][slot] - less < least)
            })
    }
}

/// Cuts energy off the plans where hard limits on import are exceeded. Returns whether any was cut.
pub(crate) fn clip_rooms(
    context: &PricingContext<'_>,
    constraints: &LinkingConstraints,
    plans: &mut [RoomPlan],
    total: &AreaLoad,
) -> bool {
    let bounds = HardBounds::new(constraints);
    let mut loads = total.loads.clone();
    let mut is_cut = false;
    for (room, plan) in context.rooms.iter().zip(plans) {
        let path = &constraints.paths[room.node as usize];
        for (energy, slot) in plan.iter_mut().zip(&room.slots) {
            let Some(slot) = slot.map(|slot| slot as usize) else { continue };
            let cut = (-bounds.capacity_left(path, &loads, slot)).clamp(0, *energy);
            *energy -= cut;
            for &node in path {
                loads[node as usize][slot] -= cut;
            }
            is_cut |= cut > 0;
        }
    }
    is_cut
}

/// Plans units again in the residual capacity of hard limits, at the duals `duals`, and keeps the new
/// plan where it costs less. Returns whether any was kept. `total` is the load of all plans.
pub(crate) fn improve_rooms(
    context: &PricingContext<'_>,
    constraints: &LinkingConstraints,
    (plans, total): (&mut [RoomPlan], &AreaLoad),
    duals: &[f64],
) -> bool {
    let bounds = HardBounds::new(constraints);
    let (mut loads, mut buffers) = (total.loads.clone(), HeatBuffers::new());
    let mut is_better = false;
    for (room, plan) in context.rooms.iter().zip(plans) {
        let path = &constraints.paths[room.node as usize];
        let slots = 0..constraints.slots();
        let mut own = vec![0; slots.len()];
        room.add_to(&mut own, plan, 1);
        let free =
            |slot: usize| bounds.capacity_left(path, &loads, slot).saturating_add(own[slot]).max(0);
        let free: Vec<i64> = slots.clone().map(free).collect();
        let dual_price = constraints.dual_price(room.node, duals);
        let priced = (context.is_free, &dual_price[..]);
        let new = price_room(room, priced, Some(&free), &mut buffers).plan;
        let mut change: Vec<i64> = own.iter().map(|energy| -energy).collect();
        room.add_to(&mut change, &new, 1);
        let gain = room.cost(context.is_free, plan).total()
            - room.cost(context.is_free, &new).total()
            - cost_of_change(constraints, path, &loads, &change);
        let falls =
            slots.clone().any(|slot| bounds.falls_below(path, &loads, (slot, -change[slot])));
        if gain > GAIN_MIN && !falls {
            for &node in path {
                loads[node as usize].iter_mut().zip(&change).for_each(|(load, by)| *load += by);
            }
            *plan = new;
            is_better = true;
        }
    }
    is_better
}

/// Rise of the cost of soft limits on a path if its loads change.
fn cost_of_change(
    constraints: &LinkingConstraints,
    path: &[u32],
    loads: &[Vec<i64>],
    change: &[i64],
) -> f64 {
    let mut more = 0.0;
    for &node in path {
        let load = &loads[node as usize];
        let now: Vec<f64> = load.iter().map(|&load| as_kwh(load)).collect();
        let next: Vec<f64> = load.iter().zip(change).map(|(load, by)| as_kwh(load + by)).collect();
        for &at in &constraints.by_node[node as usize] {
            let limit = &constraints.each[at];
            more += constraints.cost(limit, &next) - constraints.cost(limit, &now);
        }
    }
    more
}
