//! Load, cost and shortfall of plans, block by block and for the whole area.
//!
//! Energies are whole numbers of 1 µWh, so their sums are exact in any order. Sums of money are
//! not. So the amounts of blocks are kept apart until all blocks are computed, here or on
//! workers, and then added in the order of the blocks.
use rayon::prelude::*;

use crate::area::distributed::executor::Executor;
use crate::area::distributed::protocol::{ColumnChoice, RequestKind};
use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::linking::{LinkingConstraints, Penalty};
use crate::area::model::session::Block;
use crate::area::pricing::block_loads::BlockLoad;
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::micro_wh::as_kwh;
use crate::area::recovery::plans::PlanReader;

/// Load, cost and shortfall of every block of plans, computed in parallel.
pub(crate) fn block_loads(plans: &PlanReader<'_>) -> Vec<BlockLoad> {
    plans.context.sessions.blocks.par_iter().map(|block| block_load(plans, block)).collect()
}

/// Load, cost and shortfall of the plans of one block.
fn block_load(plans: &PlanReader<'_>, block: &Block) -> BlockLoad {
    let context = plans.context;
    let mut sum = BlockLoad::of_block(block, vec![0i64; context.horizon().len()], 0.0);
    let (mut cost, mut shed_worth) = (0.0, 0.0);
    let (mut buffers, mut taken) = (PricingBuffers::default(), EnergyBySlot::new());
    for position in block.sessions.clone() {
        plans.plan(block.group, position, &mut buffers, &mut taken);
        let session = &context.sessions.each[position];
        for &(slot, energy) in &taken {
            sum.load[slot as usize] += energy;
            sum.discharged -= energy.min(0);
            if block.curve.is_none() {
                cost += context.cost_of(session, slot as usize, energy);
            }
        }
        let missing = context.shortfall_of(session, &taken);
        shed_worth += context.penalty_of(session, missing);
        if missing.missing > 0 {
            sum.shortfall += missing.missing;
            sum.with_shortfall.push(position as u32);
        }
    }
    // With one price curve the cost follows from the load of the block.
    if let Some(curve) = block.curve {
        let used = sum.load.iter().enumerate().filter(|(_, energy)| **energy != 0);
        cost = used.map(|(slot, &e)| context.own_price(curve, slot) * as_kwh(e)).sum();
    }
    (sum.cost, sum.shortfall_penalty) = (vec![cost], vec![shed_worth]);
    sum
}

/// Load of every node, in µWh by slot.
///
/// `total` holds the loads of limited nodes only. Loads of the other nodes are added up here from
/// the plans of their own vehicles and from the nodes below.
pub(crate) fn node_loads(
    plans: &PlanReader<'_>,
    problem: &AreaProblem<'_>,
    total: &AreaLoad,
) -> Vec<Vec<i64>> {
    let nodes = &problem.nodes;
    let is_open: Vec<bool> = total.loads.iter().map(Vec::is_empty).collect();
    let mut loads = total.loads.clone();
    if !is_open.contains(&true) {
        return loads;
    }
    for (load, _) in loads.iter_mut().zip(&is_open).filter(|(_, is_open)| **is_open) {
        load.resize(total.load.len(), 0);
    }
    let blocks = &plans.context.sessions.blocks;
    let own: Vec<BlockLoad> = blocks
        .par_iter()
        .filter(|block| is_open[block.node as usize])
        .map(|block| block_load(plans, block))
        .collect();
    let own = own.iter().map(|sum| (Some(sum.node as usize), &sum.load));
    let limited = total.loads.iter().zip(nodes).filter(|(load, _)| !load.is_empty());
    for (from, load) in own.chain(limited.map(|(load, node)| (node.parent, load))) {
        // A limited node already has its sum, and adds it to the nodes above itself.
        let up = std::iter::successors(from, |&at| nodes[at].parent);
        for at in up.take_while(|&at| is_open[at]) {
            loads[at].iter_mut().zip(load).for_each(|(all, load)| *all += load);
        }
    }
    loads
}

/// Sum of all blocks, with the loads of the limited nodes.
pub(crate) fn area_load(sums: &[BlockLoad], constraints: &LinkingConstraints) -> AreaLoad {
    let slots = constraints.slots();
    let limited =
        |constraints: &Vec<usize>| if constraints.is_empty() { Vec::new() } else { vec![0; slots] };
    let mut total = AreaLoad {
        loads: constraints.by_node.iter().map(limited).collect(),
        load: vec![0; slots],
        ..AreaLoad::default()
    };
    for sum in sums {
        for (cost, shed_worth) in sum.cost.iter().zip(&sum.shortfall_penalty) {
            total.cost += cost;
            total.shortfall_penalty += shed_worth;
        }
        total.discharged += sum.discharged;
        total.shortfall += sum.shortfall;
        total.with_shortfall.extend_from_slice(&sum.with_shortfall);
        total.load.iter_mut().zip(&sum.load).for_each(|(all, load)| *all += load);
        for &node in &constraints.paths[sum.node as usize] {
            let all = total.loads[node as usize].iter_mut();
            all.zip(&sum.load).for_each(|(all, load)| *all += load);
        }
    }
    total
}

/// Load of an assignment, computed here or on workers, and its objective value. `prices` holds
/// the duals of each round.
pub(crate) fn load_of_assignment(
    constraints: &LinkingConstraints,
    plans: &PlanReader<'_>,
    prices: &[Vec<f64>],
    executor: &mut Executor<'_>,
) -> (AreaLoad, f64) {
    let mixed = || RequestKind::Plans(ColumnChoice::new(plans.assignment, prices));
    let sums = executor.price_remotely(plans.context, mixed, Some(plans.assignment));
    let total = area_load(&sums.unwrap_or_else(|| self::block_loads(plans)), constraints);
    let value = objective_of(constraints, &total);
    (total, value)
}

/// Objective value: cost of energy, cost of soft limits, and shortfall penalty.
pub(crate) fn objective_of(constraints: &LinkingConstraints, total: &AreaLoad) -> f64 {
    total.cost + cost_of_limits(constraints, total) + total.shortfall_penalty
}

/// Cost of all soft limits at a load.
pub(crate) fn cost_of_limits(constraints: &LinkingConstraints, total: &AreaLoad) -> f64 {
    let soft = constraints.each.iter().filter(|constraint| constraint.penalty != Penalty::Hard);
    soft.map(|constraint| {
        let load: Vec<f64> =
            total.loads[constraint.node].iter().map(|&load| as_kwh(load)).collect();
        constraints.cost(constraint, &load)
    })
    .sum()
}

/// Load, cost and shortfall of all plans of an area.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct AreaLoad {
    /// Load of each limited node, in µWh by slot; empty for other nodes.
    pub(crate) loads: Vec<Vec<i64>>,
    /// Load of all vehicles, in µWh by slot.
    pub(crate) load: Vec<i64>,
    /// Energy that they discharge, in µWh.
    pub(crate) discharged: i64,
    /// Cost of the energy at the vehicles' own prices.
    pub(crate) cost: f64,
    /// Need that is not met, in µWh.
    pub(crate) shortfall: i64,
    /// Shortfall penalty.
    pub(crate) shortfall_penalty: f64,
    /// Positions of vehicles with a shortfall.
    pub(crate) with_shortfall: Vec<u32>,
}

/// Load of all plans, computed in this process.
pub(crate) fn load_of_plans(plans: &PlanReader<'_>, constraints: &LinkingConstraints) -> AreaLoad {
    area_load(&self::block_loads(plans), constraints)
}
