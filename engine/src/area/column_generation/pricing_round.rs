//! Pricing round: pricing problems of all vehicles at one dual vector, and the Lagrangian bound.
//!
//! Let `P_v(λ) = min { c_v(x) + w_v(x) + π_v·x : x in X_v }` be the pricing problem of vehicle `v`,
//! with `π_v = Σ_l s_l·λ_l` over the limits above it, and `f_l*` the conjugate of the penalty of
//! limit `l`. For any duals `λ`, no plan costs less than
//!
//! ```text
//! D(λ) = Σ_v P_v(λ) - Σ_l f_l*(λ_l)
//!     >= Σ_g (cost_g - slack_g) + Σ_l ( λ_l·s_l·load_l - f_l*(λ_l) )
//! ```
//!
//! The second line is the bound that is computed. It stays valid for pricing problems that are
//! solved up to a known slack.
//!
//! | Symbol | Code |
//! |---|---|
//! | `cost_g`, `slack_g` | [`Column::cost`], [`Column::optimality_slack`] |
//! | `Σ_g (cost_g - slack_g)` | [`PricingRound::pricing_bound`] |
//! | `load_l` | [`PricingRound::loads`] of the node of `l` |
//! | `s_l` | sign of `l`: 1 for import, -1 for export |
//! | second sum | `LinkingConstraints::dual_value` |
//! | bound | [`PricingOracle::bound_of`] |
use crate::area::column_generation::master::{Column, loads_of};
use crate::area::distributed::executor::Executor;
use crate::area::distributed::observer::{SavedColumn, SavedRound};
use crate::area::distributed::protocol::RequestKind;
use crate::area::model::linking::LinkingConstraints;
use crate::area::pricing::block_loads::{self, BlockLoad};
use crate::area::pricing::context::PricingContext;
use crate::area::pricing::price_room::price_rooms;

/// Aggregate response of every vehicle group and room at one dual vector.
pub(crate) struct PricingRound {
    /// Column of each group of vehicles, and then of each room, which is a group of its own.
    pub(crate) columns: Vec<Column>,
    /// Load of each limited node, in kWh by slot; empty or absent for other nodes.
    pub(crate) loads: Vec<Vec<f64>>,
    /// Sum over the groups of cost minus optimality slack. With the duals' part,
    /// [`PricingOracle::bound_of`] makes the Lagrangian bound of it.
    pub(crate) pricing_bound: f64,
}

/// Pricing problems of all vehicles under given limits, solved in this process or on workers.
#[derive(Clone)]
pub(crate) struct PricingOracle<'a> {
    pub(crate) context: PricingContext<'a>,
    pub(crate) constraints: &'a LinkingConstraints,
    /// Limited nodes of each group, ascending.
    pub(crate) nodes: Vec<Vec<u32>>,
}

impl<'a> PricingOracle<'a> {
    /// Oracle for the vehicles of `context`.
    pub(crate) fn new(context: PricingContext<'a>, constraints: &'a LinkingConstraints) -> Self {
        let nodes = nodes_of_groups(&context, constraints);
        Self { context, constraints, nodes }
    }

    /// Solves the pricing problems at `duals`, unless the store recalls a round of this area and
    /// these duals. A new round is handed to the store.
    pub(crate) fn solve(
        &self,
        round: usize,
        duals: &[f64],
        executor: &mut Executor<'_>,
    ) -> PricingRound {
        // `recall` gives each saved round once: one with other duals is dropped.
        let known = executor.hooks.store.as_mut().and_then(|store| store.recall());
        if let Some(known) = known.filter(|known| self.fits(known, duals)) {
            let groups = known.groups.into_iter().enumerate();
            let columns = groups.map(|(group, known)| {
                let SavedColumn { cost, optimality_slack, shortfall, loads } = known;
                Column { group, iteration: round, cost, optimality_slack, shortfall, loads }
            });
            return self.round_of(columns.collect());
        }
        // Pricing, and a saved round for a search that resumes this one.
        let priced = self.price(round, duals, executor);
        if let Some(store) = &mut executor.hooks.store {
            let groups = priced.columns.iter().map(|column| SavedColumn {
                cost: column.cost,
                optimality_slack: column.optimality_slack,
                shortfall: column.shortfall,
                loads: column.loads.clone(),
            });
            let groups = groups.collect();
            store.save(&SavedRound { prices_per_kwh: duals.to_vec(), groups });
        }
        priced
    }

    /// Returns true if a saved round has these duals, bit for bit, and the groups of this area.
    fn fits(&self, known: &SavedRound, duals: &[f64]) -> bool {
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        let slots = self.constraints.slots();
        let fits =
            |(group, nodes): (&SavedColumn, &Vec<u32>)| group.loads.len() == nodes.len() * slots;
        // Duals are compared by their bits: with others the search would take another course.
        known.prices_per_kwh.len() == duals.len()
            && known.prices_per_kwh.iter().zip(duals).all(same)
            && known.groups.len() == self.nodes.len()
            && known.groups.iter().zip(&self.nodes).all(fits)
    }

    /// Round of one column for each group.
    fn round_of(&self, columns: Vec<Column>) -> PricingRound {
        let pricing_bound =
            columns.iter().map(|column| column.cost - column.optimality_slack).sum();
        let weights = vec![1.0; columns.len()];
        let loads = loads_of(self.constraints, &self.nodes, &columns, &weights);
        PricingRound { columns, loads, pricing_bound }
    }

    /// Solves the pricing problems at `duals`, on workers if there are any.
    fn price(&self, round: usize, duals: &[f64], executor: &mut Executor<'_>) -> PricingRound {
        let sums =
            executor.price_remotely(&self.context, || RequestKind::Answer(duals.to_vec()), None);
        let sums = sums.unwrap_or_else(|| {
            block_loads::loads_of_responses(&self.context, self.constraints, duals)
        });
        self.aggregate(round, &sums, duals)
    }

    /// Solves the pricing problems at `duals` in this process, without an observer.
    pub(crate) fn solve_unobserved(&self, duals: &[f64]) -> PricingRound {
        let sums = block_loads::loads_of_responses(&self.context, self.constraints, duals);
        self.aggregate(0, &sums, duals)
    }

    /// Adds up blocks, in their order, to one column for each group, and prices the rooms.
    fn aggregate(&self, round: usize, sums: &[BlockLoad], duals: &[f64]) -> PricingRound {
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
            // Money is added block by block, so that the sum has the same bits on any workers.
            for (block, of_block) in sum.optimality_slack.iter().enumerate() {
                column.optimality_slack += of_block;
                column.cost += sum.cost[block] + sum.shortfall_penalty[block];
            }
            column.shortfall += sum.shortfall;
            // The load counts at every limited node from the block's own to the root.
            for node in &self.constraints.paths[sum.node as usize] {
                let nodes = &self.nodes[sum.group];
                let at = nodes.binary_search(node).expect("a path is among the nodes");
                let loads = &mut column.loads[at * slots..][..slots];
                loads.iter_mut().zip(&sum.load).for_each(|(sum, load)| *sum += load);
            }
        }
        self.fill_columns_of_rooms(&mut columns, duals);
        self.round_of(columns)
    }

    /// Fills the columns of the rooms, which follow those of the vehicles.
    fn fill_columns_of_rooms(&self, columns: &mut [Column], duals: &[f64]) {
        let rooms = self.context.rooms;
        let slots = self.constraints.slots();
        let of_rooms = &mut columns[self.context.sessions.groups..];
        let priced = price_rooms(&self.context, self.constraints, duals);
        for ((column, room), priced) in of_rooms.iter_mut().zip(rooms).zip(&priced) {
            column.cost = room.cost(self.context.is_free, &priced.plan).total();
            column.optimality_slack = priced.slack;
            for loads in column.loads.chunks_mut(slots.max(1)) {
                room.add_to(loads, &priced.plan, 1);
            }
        }
    }

    /// Lagrangian bound of `duals`, from the round priced at them.
    pub(crate) fn bound_of(&self, duals: &[f64], priced: &PricingRound) -> f64 {
        priced.pricing_bound + self.constraints.dual_value(duals, &priced.loads)
    }
}

/// Limited nodes that each group, and then each room, is part of, ascending.
fn nodes_of_groups(
    context: &PricingContext<'_>,
    constraints: &LinkingConstraints,
) -> Vec<Vec<u32>> {
    let mut nodes = vec![Vec::new(); context.sessions.groups];
    for block in &context.sessions.blocks {
        nodes[block.group].extend_from_slice(&constraints.paths[block.node as usize]);
    }
    nodes.extend(context.rooms.iter().map(|room| constraints.paths[room.node as usize].clone()));
    // Sorted, so that the position of a node is found by binary search.
    for nodes in &mut nodes {
        nodes.sort_unstable();
        nodes.dedup();
    }
    nodes
}
