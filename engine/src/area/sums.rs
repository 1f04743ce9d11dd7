//! What vehicles come to, block by block, and how blocks add up.
//!
//! Energy is whole grains: its sums are exact in any order. Money is not, so
//! that the amounts of blocks are kept apart until all are there, and are added
//! up in the order of the blocks, wherever they were computed.
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::area::answer::Scratch;
use crate::area::asked::Asked;
use crate::area::grains::as_kwh;
use crate::area::hear::added_by_node;
use crate::area::outcome::at_once;
use crate::area::parts::{Mix, What};
use crate::area::problem::AreaProblem;
use crate::area::settle::{Plans, Taken, Total};
use crate::area::staff::Staff;
use crate::area::stays::Block;
use crate::area::terms::{Kind, Terms};

/// What a run of blocks comes to, all of one group and node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sum {
    /// The group.
    pub group: usize,
    /// Position of the node.
    pub node: u32,
    /// Cost of the energy at the vehicles' own prices, block by block.
    pub cost: Vec<f64>,
    /// Worth of the need that is not met, block by block.
    pub shed_worth: Vec<f64>,
    /// Most by which a block is dearer than the best at the prices it was asked at.
    pub slack: Vec<f64>,
    /// Energy in each slot, in billionths of a kWh.
    pub load: Vec<i64>,
    /// Need that is not met, in billionths of a kWh.
    pub shed: i64,
    /// Energy that is discharged, in billionths of a kWh.
    pub sold: i64,
    /// Positions of vehicles whose need is not met, where plans are added up.
    pub short: Vec<u32>,
}

impl Sum {
    fn of_block(block: &Block, load: Vec<i64>, cost: f64) -> Self {
        Self {
            group: block.group,
            node: block.node,
            cost: vec![cost],
            shed_worth: vec![0.0],
            slack: vec![0.0],
            load,
            shed: 0,
            sold: 0,
            short: Vec::new(),
        }
    }

    fn append(&mut self, other: &Self) {
        self.cost.extend_from_slice(&other.cost);
        self.shed_worth.extend_from_slice(&other.shed_worth);
        self.slack.extend_from_slice(&other.slack);
        self.short.extend_from_slice(&other.short);
        self.load.iter_mut().zip(&other.load).for_each(|(sum, load)| *sum += load);
        self.shed += other.shed;
        self.sold += other.sold;
    }
}

/// Neighbours of one group and node in one sum.
pub(crate) fn merged(sums: Vec<Sum>) -> Vec<Sum> {
    let mut merged: Vec<Sum> = Vec::new();
    for sum in sums {
        match merged.last_mut() {
            Some(last) if (last.group, last.node) == (sum.group, sum.node) => last.append(&sum),
            _ => merged.push(sum),
        }
    }
    merged
}

/// Asks all vehicles what they buy when limits cost `duals`, block by block.
pub(crate) fn answers(asked: &Asked<'_>, terms: &Terms, duals: &[f64]) -> Vec<Sum> {
    let added = added_by_node(asked, terms, duals);
    let answer = |block: &Block| {
        let answer = asked.answer(block, &added[block.node as usize]);
        Sum {
            shed_worth: vec![answer.shed_worth],
            slack: vec![answer.slack],
            shed: answer.shed,
            ..Sum::of_block(block, answer.load, answer.cost)
        }
    };
    asked.stays.blocks.par_iter().map(answer).collect()
}

/// All vehicles at full power from arrival, block by block.
pub(crate) fn unmanaged(asked: &Asked<'_>) -> Vec<Sum> {
    let add = |block: &Block| {
        let mut load = vec![0i64; asked.horizon().len()];
        let mut cost = 0.0;
        for stay in &asked.stays.each[block.stays.clone()] {
            at_once(asked, stay, asked.need_at_plug(stay), |slot, energy| {
                load[slot] += energy;
                cost += asked.cost_of(stay, slot, energy);
            });
        }
        Sum::of_block(block, load, cost)
    };
    asked.stays.blocks.par_iter().map(add).collect()
}

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
