//! Load, cost and shortfall of blocks of vehicles.
//!
//! Energy is whole numbers of 1 µWh: its sums are exact in any order. Money is not, so
//! that the amounts of blocks are kept apart until all are there, and are added
//! up in the order of the blocks, wherever they were computed.
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::area::model::linking::Terms;
use crate::area::model::session::{Block, Stay};
use crate::area::pricing::context::{Asked, added_by_node};

/// Energy of a stay at full power from its start, slot by slot.
pub(crate) fn at_once(asked: &Asked<'_>, stay: &Stay, most: i64, mut buy: impl FnMut(usize, i64)) {
    let prices = asked.curves.prices(stay.curve as usize);
    let mut left = most;
    let window = stay.first as usize..stay.last as usize;
    for slot in window.filter(|&slot| !prices[slot].is_nan()) {
        if left <= 0 {
            break;
        }
        let part = stay.cap(asked.horizon(), slot).min(left);
        buy(slot, part);
        left -= part;
    }
}

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
    pub(crate) fn of_block(block: &Block, load: Vec<i64>, cost: f64) -> Self {
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
