//! Rounds of column generation over the nodes of all scenarios.
//!
//! A round solves the [pricing problems](super::node_prices) of all vehicles at smoothed duals, which
//! gives a Lagrangian bound and columns. The restricted master has one limit whose slots are the
//! nodes. Its price on energy above the limit is the highest
//! [cost of a kWh that is taken away](ScenarioProblem::curtailment_price), so its duals stay below
//! that, and curtailing its solution costs no more than it says.
use rayon::prelude::*;

use crate::area::column_generation::master::{Column, MasterSolution, RestrictedMaster};
use crate::area::column_generation::search_state::{
    SEPARATION_ROUNDS_MAX, SearchState, Termination, energy_scale,
};
use crate::area::column_generation::single_level::fill_gaps;
use crate::area::column_generation::smoothing::DualSmoothing;
use crate::area::model::energy_by_slot::ColumnWeights;
use crate::area::model::linking::{LinkingConstraint, LinkingConstraints, Penalty};
use crate::area::problem::micro_wh::as_kwh;
use crate::area::scenarios::node_prices::NodePrices;
use crate::area::scenarios::problem::{ScenarioProblem, ScenarioVehicle};
use crate::area::solve::sampling::SINGLETON_GROUPS_MAX;
use crate::lp::LpError;
use crate::tolerance::{PENALTY_MIN, SOLVER_ROUNDING};

/// Options of planning with scenarios: when to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScenarioOptions {
    /// Gap at which the search ends, relative to the larger of |bound| and the baseline cost; 5e-3 is
    /// 0.5 %.
    pub gap: f64,
    /// Most rounds of pricing.
    pub max_rounds: usize,
}

impl Default for ScenarioOptions {
    fn default() -> Self {
        Self { gap: 5e-3, max_rounds: 500 }
    }
}

/// Limit of all nodes as the one limit of an area whose slots are the nodes.
pub(crate) fn limit_of_nodes(problem: &ScenarioProblem) -> LinkingConstraints {
    let prices = problem.nodes.iter().map(|node| problem.curtailment_price(node));
    let price = prices.fold(PENALTY_MIN, f64::max);
    LinkingConstraints {
        each: vec![LinkingConstraint {
            node: 0,
            sign: 1.0,
            penalty: Penalty::Priced(price),
            bounds: problem.nodes.iter().map(|node| node.capacity_kwh).collect(),
        }],
        hours: problem.nodes.iter().map(|node| problem.horizon.hours(node.slot)).collect(),
        paths: vec![vec![0]],
        by_node: vec![vec![0]],
        shortfall_penalty: problem.shortfall_price,
    }
}

/// Group of vehicles that follow the same weights.
type Group<'a> = Vec<&'a ScenarioVehicle>;

/// Number of groups of a fleet.
pub(crate) fn group_count(vehicles: usize) -> usize {
    vehicles.clamp(1, SINGLETON_GROUPS_MAX)
}

/// Column generation over the nodes.
pub(crate) struct ScenarioSearch<'a> {
    problem: &'a ScenarioProblem,
    constraints: &'a LinkingConstraints,
    groups: Vec<Group<'a>>,
    master: RestrictedMaster<'a>,
    solution: MasterSolution,
    pub(crate) state: SearchState,
    /// Amount of money that the gap is relative to, at least.
    scale: f64,
}

impl<'a> ScenarioSearch<'a> {
    /// Search before its first round. `scale` is the least amount that the gap is relative to.
    pub(crate) fn new(
        problem: &'a ScenarioProblem,
        constraints: &'a LinkingConstraints,
        scale: f64,
    ) -> Self {
        let count = group_count(problem.vehicles.iter().flatten().count());
        let mut groups = vec![Vec::new(); count];
        for (at, vehicle) in problem.vehicles.iter().flatten().enumerate() {
            groups[at % count].push(vehicle);
        }
        let energy = energy_scale(problem.need_kwh(), problem.horizon.len());
        let master = RestrictedMaster::new(
            constraints,
            vec![vec![0]; count],
            (scale, energy),
            // No limit is hard, so there are no artificial variables and no margin.
            (0.0, 0.0),
        )
        .expect("a programme of empty rows is one that the solver takes");
        let state = SearchState::new(problem.nodes.len());
        let solution = MasterSolution { weights: vec![1.0; count], ..MasterSolution::default() };
        Self { problem, constraints, groups, master, solution, state, scale }
    }

    /// Runs rounds until the gap is small enough, they run out, or no column is new.
    pub(crate) fn run(&mut self, options: &ScenarioOptions) -> Result<Termination, LpError> {
        self.price_and_add_columns(vec![0.0; self.problem.nodes.len()])?;
        let mut smoothing = DualSmoothing::default();
        loop {
            self.solve_master()?;
            if self.state.gap(self.state.cost, self.scale) <= options.gap {
                return Ok(Termination::Gap);
            }
            if self.state.duals_by_round.len() >= options.max_rounds {
                return Ok(Termination::Rounds);
            }
            let duals = smoothing.separation_point(&self.state.best_duals, &self.solution.duals);
            let before = self.state.bound;
            let has_new_columns = self.price_and_add_columns(duals)?;
            if smoothing.update(has_new_columns, self.state.bound > before) {
                return Ok(Termination::Stalled);
            }
        }
    }

    /// Solves the pricing problems at `duals`, updates the bound, and adds the columns with a
    /// negative reduced cost. Returns true if there are any.
    fn price_and_add_columns(&mut self, duals: Vec<f64>) -> Result<bool, LpError> {
        let round = self.state.duals_by_round.len();
        let columns = price_groups(self.problem, &self.groups, (round, &duals));
        let cost: f64 = columns.iter().map(|column| column.cost).sum();
        let mut loads = vec![0.0; duals.len()];
        for column in &columns {
            loads.iter_mut().zip(&column.loads).for_each(|(sum, &load)| *sum += as_kwh(load));
        }
        let loads = [loads];
        let bound = cost + self.constraints.dual_value(&duals, &loads);
        if bound > self.state.bound {
            self.state.bound = bound;
            self.state.best_duals.clone_from(&duals);
        }
        self.state.duals_by_round.push(duals);
        if round == 0 {
            // The first rows are those that the loads without duals violate.
            self.master.separate_rows(&loads)?;
        }
        let mut has_new_columns = false;
        for column in columns {
            let known = (&self.solution, SOLVER_ROUNDING);
            if self.master.has_negative_reduced_cost(&column, column.cost, known) {
                has_new_columns = true;
                self.master.add(column)?;
            }
        }
        Ok(has_new_columns)
    }

    /// Solves the master, adding rows for violated limits, until there are none. Sets the cost of
    /// the state to that of the solution, curtailed where it exceeds the limit.
    fn solve_master(&mut self) -> Result<(), LpError> {
        for _ in 0..SEPARATION_ROUNDS_MAX {
            self.solution = self.master.solve()?;
            let loads = self.master.loads(&self.solution.weights);
            let columns = self.master.columns.iter().zip(&self.solution.weights);
            let cost: f64 = columns.map(|(column, weight)| column.cost * weight).sum();
            let excess = self.problem.nodes.iter().zip(&loads[0]).map(|(node, load)| {
                let excess_kwh = (load - node.capacity_kwh).max(0.0);
                excess_kwh * self.problem.curtailment_price(node)
            });
            self.state.cost = cost + excess.sum::<f64>();
            if !self.master.separate_rows(&loads)? {
                break;
            }
        }
        Ok(())
    }

    /// Rounds and weights of each group in the solution of the master. The weights add up to 1.
    pub(crate) fn weights(&self) -> Vec<ColumnWeights> {
        let mut shares = vec![ColumnWeights::new(); self.groups.len()];
        for (column, &weight) in self.master.columns.iter().zip(&self.solution.weights) {
            if weight > 0.0 {
                shares[column.group].push((column.iteration, weight));
            }
        }
        fill_gaps(&mut shares);
        for of_group in &mut shares {
            let sum: f64 = of_group.iter().map(|&(_, weight)| weight).sum();
            for (_, weight) in of_group {
                *weight /= sum;
            }
        }
        shares
    }
}

/// Column of each group in a round, at its duals.
fn price_groups(
    problem: &ScenarioProblem,
    groups: &[Group<'_>],
    (round, duals): (usize, &[f64]),
) -> Vec<Column> {
    let prices = NodePrices::new(problem, duals);
    let column = |(group, vehicles): (usize, &Group<'_>)| {
        let mut loads = vec![0; duals.len()];
        for vehicle in vehicles {
            let taken = prices.take_cheapest(vehicle);
            loads.iter_mut().zip(taken).for_each(|(sum, energy)| *sum += energy);
        }
        let wanted = vehicles.iter().map(|vehicle| vehicle.energy).sum();
        let cost = expected_cost(problem, &loads, wanted);
        Column { group, iteration: round, cost, optimality_slack: 0.0, shortfall: 0, loads }
    };
    groups.par_iter().enumerate().map(column).collect()
}

/// Expected cost of loads in µWh by node, missing energy included.
fn expected_cost(problem: &ScenarioProblem, loads: &[i64], wanted: i64) -> f64 {
    let nodes = problem.nodes.iter().zip(loads);
    // Each kWh that is charged saves what it would cost if it was missing.
    let saved = nodes.map(|(node, &load)| problem.curtailment_price(node) * as_kwh(load));
    problem.shortfall_price * as_kwh(wanted) - saved.sum::<f64>()
}
