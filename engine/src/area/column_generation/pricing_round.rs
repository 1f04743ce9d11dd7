//! Asking all vehicles at some prices, and what their answers prove.
use crate::area::column_generation::master::{Column, loads_of};
use crate::area::distributed::executor::Executor;
use crate::area::distributed::observer::{SavedColumn, SavedRound};
use crate::area::distributed::protocol::RequestKind;
use crate::area::model::linking::LinkingConstraints;
use crate::area::pricing::block_loads::{self, BlockLoad};
use crate::area::pricing::context::PricingContext;

/// What all vehicles answered at some prices.
pub(crate) struct PricingRound {
    pub(crate) columns: Vec<Column>,
    /// Load of each limited node in kWh; empty or absent for other nodes.
    pub(crate) loads: Vec<Vec<f64>>,
    /// Cost of the energy plus worth of what is shed, less what that can at
    /// most be above the least at these prices.
    pub(crate) pricing_bound: f64,
}

/// Whoever asks all vehicles.
#[derive(Clone)]
pub(crate) struct PricingOracle<'a> {
    pub(crate) context: PricingContext<'a>,
    pub(crate) constraints: &'a LinkingConstraints,
    /// Limited nodes of each group, in order.
    pub(crate) nodes: Vec<Vec<u32>>,
}

impl<'a> PricingOracle<'a> {
    pub(crate) fn new(context: PricingContext<'a>, constraints: &'a LinkingConstraints) -> Self {
        let nodes = nodes_of_groups(&context, constraints);
        Self { context, constraints, nodes }
    }

    /// What all vehicles buy when limits cost `duals`: remembered, or asked.
    pub(crate) fn solve(
        &self,
        round: usize,
        duals: &[f64],
        executor: &mut Executor<'_>,
    ) -> PricingRound {
        if let Some(known) = executor.observer.recall().filter(|known| self.fits(known, duals)) {
            let groups = known.groups.into_iter().enumerate();
            let columns = groups.map(|(group, known)| {
                let SavedColumn { cost: value, optimality_slack: slack, shortfall: shed, loads } =
                    known;
                Column {
                    group,
                    iteration: round,
                    cost: value,
                    optimality_slack: slack,
                    shortfall: shed,
                    loads,
                }
            });
            return self.round_of(columns.collect());
        }
        let priced = self.price(round, duals, executor);
        let groups = priced.columns.iter().map(|column| SavedColumn {
            cost: column.cost,
            optimality_slack: column.optimality_slack,
            shortfall: column.shortfall,
            loads: column.loads.clone(),
        });
        let groups = groups.collect();
        executor.observer.keep(&SavedRound { prices_per_kwh: duals.to_vec(), groups });
        priced
    }

    /// Whether something remembered answers this very question.
    fn fits(&self, known: &SavedRound, duals: &[f64]) -> bool {
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        let slots = self.constraints.slots();
        let fits =
            |(group, nodes): (&SavedColumn, &Vec<u32>)| group.loads.len() == nodes.len() * slots;
        known.prices_per_kwh.len() == duals.len()
            && known.prices_per_kwh.iter().zip(duals).all(same)
            && known.groups.len() == self.context.sessions.groups
            && known.groups.iter().zip(&self.nodes).all(fits)
    }

    fn round_of(&self, columns: Vec<Column>) -> PricingRound {
        let least = columns.iter().map(|column| column.cost - column.optimality_slack).sum();
        let weights = vec![1.0; columns.len()];
        let loads = loads_of(self.constraints, &self.nodes, &columns, &weights);
        PricingRound { columns, loads, pricing_bound: least }
    }

    /// Asks all vehicles what they buy when limits cost `duals`.
    fn price(&self, round: usize, duals: &[f64], executor: &mut Executor<'_>) -> PricingRound {
        let sums =
            executor.price_remotely(&self.context, || RequestKind::Answer(duals.to_vec()), None);
        let sums = sums.unwrap_or_else(|| {
            block_loads::loads_of_responses(&self.context, self.constraints, duals)
        });
        self.aggregate(round, &sums)
    }

    /// The same without anybody who watches.
    pub(crate) fn solve_unobserved(&self, duals: &[f64]) -> PricingRound {
        self.aggregate(0, &block_loads::loads_of_responses(&self.context, self.constraints, duals))
    }

    fn aggregate(&self, round: usize, sums: &[BlockLoad]) -> PricingRound {
        let slots = self.constraints.slots();
        let groups = self.nodes.iter().enumerate();
        let mut columns: Vec<Column> = groups
            .map(|(group, nodes)| Column {
                group,
                iteration: round,
                cost: 0.0,
                optimality_slack: 0.0,
                shortfall: 0,
                loads: vec![0; nodes.len() * slots],
            })
            .collect();
        for sum in sums {
            let column = &mut columns[sum.group];
            for (block, of_block) in sum.optimality_slack.iter().enumerate() {
                column.optimality_slack += of_block;
                column.cost += sum.cost[block] + sum.shortfall_penalty[block];
            }
            column.shortfall += sum.shortfall;
            for node in &self.constraints.paths[sum.node as usize] {
                let nodes = &self.nodes[sum.group];
                let at = nodes.binary_search(node).expect("a path is among the nodes");
                let loads = &mut column.loads[at * slots..][..slots];
                loads.iter_mut().zip(&sum.load).for_each(|(sum, load)| *sum += load);
            }
        }
        self.round_of(columns)
    }

    /// The bound that prices prove, given what was heard at them.
    pub(crate) fn bound_of(&self, duals: &[f64], priced: &PricingRound) -> f64 {
        priced.pricing_bound + self.constraints.dual_value(duals, &priced.loads)
    }
}

/// The limited nodes that each group is part of, in order.
fn nodes_of_groups(
    context: &PricingContext<'_>,
    constraints: &LinkingConstraints,
) -> Vec<Vec<u32>> {
    let mut nodes = vec![Vec::new(); context.sessions.groups];
    for block in &context.sessions.blocks {
        nodes[block.group].extend_from_slice(&constraints.paths[block.node as usize]);
    }
    for nodes in &mut nodes {
        nodes.sort_unstable();
        nodes.dedup();
    }
    nodes
}
