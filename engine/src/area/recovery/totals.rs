//! What vehicles come to, block by block, and how blocks add up.
//!
//! Energy is whole grains: its sums are exact in any order. Money is not, so
//! that the amounts of blocks are kept apart until all are there, and are added
//! up in the order of the blocks, wherever they were computed.
use rayon::prelude::*;

use crate::area::distributed::executor::Staff;
use crate::area::distributed::protocol::{Mix, What};
use crate::area::model::energy_by_slot::Taken;
use crate::area::model::linking::{Kind, Terms};
use crate::area::model::session::Block;
use crate::area::pricing::block_loads::Sum;
use crate::area::pricing::buffers::Scratch;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::micro_wh::as_kwh;
use crate::area::recovery::plans::Plans;

/// All plans, block by block.
pub(crate) fn plans(plans: &Plans<'_>) -> Vec<Sum> {
    plans.asked.stays.blocks.par_iter().map(|block| of_plans(plans, block)).collect()
}

fn of_plans(plans: &Plans<'_>, block: &Block) -> Sum {
    let asked = plans.asked;
    let mut sum = Sum::of_block(block, vec![0i64; asked.horizon().len()], 0.0);
    let (mut cost, mut shed_worth) = (0.0, 0.0);
    let (mut scratch, mut taken) = (Scratch::default(), Taken::new());
    for position in block.stays.clone() {
        plans.plan(block.group, position, &mut scratch, &mut taken);
        let stay = &asked.stays.each[position];
        for &(slot, energy) in &taken {
            sum.load[slot as usize] += energy;
            sum.sold -= energy.min(0);
            if block.curve.is_none() {
                cost += asked.cost_of(stay, slot as usize, energy);
            }
        }
        let missing = asked.missing(stay, &taken);
        shed_worth += asked.worth_of(stay, missing);
        if missing.need > 0 {
            sum.shed += missing.need;
            sum.short.push(position as u32);
        }
    }
    if let Some(curve) = block.curve {
        let used = sum.load.iter().enumerate().filter(|(_, energy)| **energy != 0);
        cost = used.map(|(slot, &e)| asked.own_price(curve, slot) * as_kwh(e)).sum();
    }
    (sum.cost, sum.shed_worth) = (vec![cost], vec![shed_worth]);
    sum
}

/// Energy of every node in each slot.
///
/// The rounds add up what limits are about. The nodes without one are added up
/// here, once: from the plans of who hangs from them, and from what is below.
pub(crate) fn loads(plans: &Plans<'_>, problem: &AreaProblem<'_>, total: &Total) -> Vec<Vec<i64>> {
    let nodes = &problem.nodes;
    let is_open: Vec<bool> = total.loads.iter().map(Vec::is_empty).collect();
    let mut loads = total.loads.clone();
    if !is_open.contains(&true) {
        return loads;
    }
    for (load, _) in loads.iter_mut().zip(&is_open).filter(|(_, is_open)| **is_open) {
        load.resize(total.load.len(), 0);
    }
    let blocks = &plans.asked.stays.blocks;
    let own: Vec<Sum> = blocks
        .par_iter()
        .filter(|block| is_open[block.node as usize])
        .map(|block| of_plans(plans, block))
        .collect();
    let own = own.iter().map(|sum| (Some(sum.node as usize), &sum.load));
    let limited = total.loads.iter().zip(nodes).filter(|(load, _)| !load.is_empty());
    for (from, load) in own.chain(limited.map(|(load, node)| (node.parent, load))) {
        // A limited node has its sum, and hands it on itself.
        let up = std::iter::successors(from, |&at| nodes[at].parent);
        for at in up.take_while(|&at| is_open[at]) {
            loads[at].iter_mut().zip(load).for_each(|(all, load)| *all += load);
        }
    }
    loads
}

/// What all blocks add up to.
pub(crate) fn total(sums: &[Sum], terms: &Terms) -> Total {
    let slots = terms.slots();
    let limited = |terms: &Vec<usize>| if terms.is_empty() { Vec::new() } else { vec![0; slots] };
    let mut total = Total {
        loads: terms.by_node.iter().map(limited).collect(),
        load: vec![0; slots],
        ..Total::default()
    };
    for sum in sums {
        for (cost, shed_worth) in sum.cost.iter().zip(&sum.shed_worth) {
            total.cost += cost;
            total.shed_worth += shed_worth;
        }
        total.sold += sum.sold;
        total.shed += sum.shed;
        total.short.extend_from_slice(&sum.short);
        total.load.iter_mut().zip(&sum.load).for_each(|(all, load)| *all += load);
        for &node in &terms.paths[sum.node as usize] {
            let all = total.loads[node as usize].iter_mut();
            all.zip(&sum.load).for_each(|(all, load)| *all += load);
        }
    }
    total
}

/// Total of all plans, and its value: cost, limits and the worth of unmet need.
pub(crate) fn settled(
    terms: &Terms,
    plans: &Plans<'_>,
    prices: &[Vec<f64>],
    staff: &mut Staff<'_>,
) -> (Total, f64) {
    let mixed = || What::Plans(Mix::new(plans.settled, prices));
    let sums = staff.ask(plans.asked, mixed, Some(plans.settled));
    let total = total(&sums.unwrap_or_else(|| self::plans(plans)), terms);
    let value = value_of(terms, &total);
    (total, value)
}

/// Cost of energy and limits, and the worth of unmet need.
pub(crate) fn value_of(terms: &Terms, total: &Total) -> f64 {
    total.cost + cost_of_limits(terms, total) + total.shed_worth
}

/// What soft limits cost at a total.
pub(crate) fn cost_of_limits(terms: &Terms, total: &Total) -> f64 {
    let soft = terms.each.iter().filter(|term| term.kind != Kind::Hard);
    soft.map(|term| {
        let load: Vec<f64> = total.loads[term.node].iter().map(|&load| as_kwh(load)).collect();
        terms.cost(term, &load)
    })
    .sum()
}

/// What all plans add up to.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Total {
    /// Load of each limited node by slot, in grains; empty for other nodes.
    pub(crate) loads: Vec<Vec<i64>>,
    /// Load of all vehicles.
    pub(crate) load: Vec<i64>,
    /// Energy that they discharge.
    pub(crate) sold: i64,
    /// Cost of the energy at the vehicles' own prices.
    pub(crate) cost: f64,
    /// Need that is not met.
    pub(crate) shed: i64,
    /// What that need is worth.
    pub(crate) shed_worth: f64,
    /// Vehicles whose need is not met.
    pub(crate) short: Vec<u32>,
}

/// Adds up all plans.
pub(crate) fn add_up(plans: &Plans<'_>, terms: &Terms) -> Total {
    total(&self::plans(plans), terms)
}
