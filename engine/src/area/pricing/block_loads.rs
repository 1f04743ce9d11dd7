//! Load, cost and shortfall of blocks of vehicles.
//!
//! Energy is in whole µWh, so its sums are exact in any order. Money is `f64`: the amounts of
//! blocks are kept apart and added in the order of the blocks, whatever thread or machine computed
//! them.
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::area::model::linking::LinkingConstraints;
use crate::area::model::session::{Block, Session};
use crate::area::pricing::context::{PricingContext, dual_price_by_node};

/// Charges at full power from arrival until `most` µWh are bought. `buy` is called with each slot
/// and its energy in µWh.
pub(crate) fn charge_at_once(
    context: &PricingContext<'_>,
    session: &Session,
    most: i64,
    mut buy: impl FnMut(usize, i64),
) {
    let prices = context.curves.prices(session.curve as usize);
    let mut left = most;
    let window = session.first as usize..session.end as usize;
    for slot in window.filter(|&slot| !prices[slot].is_nan()) {
        if left <= 0 {
            break;
        }
        let part = session.cap(context.horizon(), slot).min(left);
        buy(slot, part);
        left -= part;
    }
}

/// Aggregate response of consecutive blocks of one group and node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockLoad {
    /// Position of the group.
    pub group: usize,
    /// Position of the node.
    pub node: u32,
    /// Cost of the energy of each block at the prices of its vehicles, without duals.
    pub cost: Vec<f64>,
    /// Penalty of the shortfall of each block.
    #[serde(rename = "shed_worth")]
    pub shortfall_penalty: Vec<f64>,
    /// Upper bound on how much each block costs above the optimum of its pricing problems.
    #[serde(rename = "slack")]
    pub optimality_slack: Vec<f64>,
    /// Energy of each slot, in µWh (1e-9 kWh); negative if more is sold than bought.
    pub load: Vec<i64>,
    /// Shortfall, in µWh.
    #[serde(rename = "shed")]
    pub shortfall: i64,
    /// Energy that is discharged at the plug, in µWh, as a positive number; 0 in pricing rounds.
    #[serde(rename = "sold")]
    pub discharged: i64,
    /// Positions of vehicles with a shortfall; empty in pricing rounds.
    #[serde(rename = "short")]
    pub with_shortfall: Vec<u32>,
}

impl BlockLoad {
    /// Response of one block without shortfall.
    pub(crate) fn of_block(block: &Block, load: Vec<i64>, cost: f64) -> Self {
        Self {
            group: block.group,
            node: block.node,
            cost: vec![cost],
            shortfall_penalty: vec![0.0],
            optimality_slack: vec![0.0],
            load,
            shortfall: 0,
            discharged: 0,
            with_shortfall: Vec::new(),
        }
    }

    /// Adds the response of blocks that follow these; their money is kept apart.
    fn append(&mut self, other: &Self) {
        self.cost.extend_from_slice(&other.cost);
        self.shortfall_penalty.extend_from_slice(&other.shortfall_penalty);
        self.optimality_slack.extend_from_slice(&other.optimality_slack);
        self.with_shortfall.extend_from_slice(&other.with_shortfall);
        self.load.iter_mut().zip(&other.load).for_each(|(sum, load)| *sum += load);
        self.shortfall += other.shortfall;
        self.discharged += other.discharged;
    }
}

/// Merges neighbouring responses of the same group and node.
pub(crate) fn concatenate(sums: Vec<BlockLoad>) -> Vec<BlockLoad> {
    let mut merged: Vec<BlockLoad> = Vec::new();
    for sum in sums {
        // Only neighbours are merged, so that money stays in the order of the blocks.
        match merged.last_mut() {
            Some(last) if (last.group, last.node) == (sum.group, sum.node) => last.append(&sum),
            _ => merged.push(sum),
        }
    }
    merged
}

/// Solves the pricing problems of all vehicles at `duals`, and returns the response of each block.
pub(crate) fn loads_of_responses(
    context: &PricingContext<'_>,
    constraints: &LinkingConstraints,
    duals: &[f64],
) -> Vec<BlockLoad> {
    let dual_price = dual_price_by_node(context, constraints, duals);
    let price = |block: &Block| {
        let response = context.price_block(block, &dual_price[block.node as usize]);
        BlockLoad {
            shortfall_penalty: vec![response.shortfall_penalty],
            optimality_slack: vec![response.optimality_slack],
            shortfall: response.shortfall,
            ..BlockLoad::of_block(block, response.load, response.cost)
        }
    };
    context.sessions.blocks.par_iter().map(price).collect()
}

/// Load and cost of each block if all vehicles charge at full power from arrival.
pub(crate) fn unmanaged_loads(context: &PricingContext<'_>) -> Vec<BlockLoad> {
    let add = |block: &Block| {
        let mut load = vec![0i64; context.horizon().len()];
        let mut cost = 0.0;
        for session in &context.sessions.each[block.sessions.clone()] {
            charge_at_once(context, session, context.need_at_plug(session), |slot, energy| {
                load[slot] += energy;
                cost += context.cost_of(session, slot, energy);
            });
        }
        BlockLoad::of_block(block, load, cost)
    };
    context.sessions.blocks.par_iter().map(add).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::area::recovery::totals::tests::{Car, Town, car, context_of, kwh_of};

    #[test]
    fn unmanaged_vehicles_charge_at_full_power_from_arrival() {
        let cars = [car(3, 14.0), Car { stay: (1, 3), ..car(3, 25.0) }];
        let town = Town::new(&[30, 20, 10], &cars, &[Some(5.0)]).in_groups(1);
        town.with(|problem, sessions, _| {
            let loads = unmanaged_loads(&context_of(problem, sessions));
            // 10 + 4 kWh, and 10 + 10 of the 20 kWh that two hours hold; limits do not count.
            assert_eq!(kwh_of(&loads[0].load), [10.0, 14.0, 10.0]);
            assert!((loads[0].cost[0] - (3.0 + 2.8 + 1.0)).abs() < 1e-9);
            assert_eq!((loads.len(), loads[0].shortfall), (1, 0));
        });
    }

    #[test]
    fn responses_follow_the_duals() {
        let cars = [car(2, 8.0), car(2, 9.0)];
        let town = Town::new(&[10, 20], &cars, &[Some(9.0)]).in_groups(1);
        town.with(|problem, sessions, constraints| {
            let context = context_of(problem, sessions);
            let loads = |duals: [f64; 2]| {
                let loads = loads_of_responses(&context, constraints, &duals);
                (kwh_of(&loads[0].load), loads[0].cost[0], loads[0].shortfall)
            };
            assert_eq!(loads([0.0, 0.0]).0, [17.0, 0.0]);
            // With 30 cents on the first hour the second is cheaper; costs are without duals.
            let (load, cost, _) = loads([0.3, 0.0]);
            assert!(load == [0.0, 17.0] && (cost - 3.4).abs() < 1e-9);
            // At 1.00 a kWh vehicles go without.
            assert_eq!(loads([0.9, 0.8]).2, 17_000_000_000);
        });
    }

    #[test]
    fn neighbours_of_one_group_and_node_become_one() {
        let load = |group, node, energy: i64| BlockLoad {
            group,
            node,
            cost: vec![energy as f64],
            shortfall_penalty: vec![0.5],
            optimality_slack: vec![0.25],
            load: vec![energy, 1],
            shortfall: 2,
            discharged: 3,
            with_shortfall: vec![energy as u32],
        };
        let merged =
            concatenate(vec![load(0, 0, 10), load(0, 0, 20), load(0, 1, 30), load(0, 0, 40)]);
        assert_eq!(merged.len(), 3);
        assert_eq!((&merged[0].load[..], &merged[0].cost[..]), (&[30, 2][..], &[10.0, 20.0][..]));
        assert_eq!((merged[0].shortfall, merged[0].discharged), (4, 6));
        assert_eq!(merged[0].with_shortfall, [10, 20]);
        assert_eq!((merged[1].clone(), merged[2].clone()), (load(0, 1, 30), load(0, 0, 40)));
    }
}
