//! Restricted master of one subtree, at the duals `λ^up` of the upper master.
//!
//! ```text
//! minimise  Σ_gk θ_gk·( cost_gk + π^up·load_gk ) + Σ_l f_l( s_l·Σ_gk θ_gk·load_gkl )
//! bound     Σ_g ( cost_g + π^up·load_g - slack_g ) + Σ_l ( λ_l·s_l·load_l - f_l*(λ_l) )
//! ```
//!
//! The limits `l` are those inside the subtree. A column enters at the cost in parentheses, which
//! changes with `λ^up`; the bound holds for the present `λ^up` only.
//!
//! | Symbol | Code |
//! |---|---|
//! | `π^up` | part of the price of a kWh that `λ^up` adds, `outer_dual_price` |
//! | `load_gk` | load of the subtree's root in a column |
//! | `cost_gk + π^up·load_gk` | `SubtreeMaster::cost` |
//! | `λ` | duals inside: `trial` in the round under way, `best_duals` for the best bound |
use crate::area::column_generation::master::{Column, MasterSolution, RestrictedMaster};
use crate::area::column_generation::pricing_round::{PricingOracle, PricingRound};
use crate::area::column_generation::search_state::SEPARATION_ROUNDS_MAX;
use crate::area::column_generation::smoothing::DualSmoothing;
use crate::area::column_generation::subtree::Subtree;
use crate::area::model::linking::Penalty;
use crate::area::problem::micro_wh::as_kwh;
use crate::lp::LpError;
use crate::tolerance::SOLVER_ROUNDING;

/// Open gap at which the artificial penalty of a subtree is raised, relative to its share of the
/// objective's scale.
const OPEN_GAP_WITH_ARTIFICIALS: f64 = 0.1;

/// Restricted master of one subtree at the present duals of the upper master.
pub(crate) struct SubtreeMaster<'a> {
    pub(crate) subtree: &'a Subtree,
    master: RestrictedMaster<'a>,
    pub(crate) solution: MasterSolution,
    /// Limited nodes inside for each of its groups, as positions among all limited nodes of the
    /// group, and the position of the root among these.
    inside: Vec<(Vec<usize>, usize)>,
    /// Duals of limits outside, added to the price of a kWh, by slot.
    outer_dual_price: Vec<f64>,
    /// Duals inside, by limit and slot, with the best bound so far.
    pub(crate) best_duals: Vec<f64>,
    /// Best Lagrangian bound at the present upper duals; negative infinity before a round at them.
    pub(crate) bound: f64,
    /// Duals inside of the round under way.
    pub(crate) trial: Vec<f64>,
    pub(crate) smoothing: DualSmoothing,
    /// True if a round at unsmoothed duals gave no new column.
    pub(crate) is_done: bool,
    /// True if columns, costs or penalties changed since the last solution.
    is_stale: bool,
}

/// Composition of a column of the upper master: the master solutions of several subtrees.
pub(crate) struct AggregatedColumn {
    /// Columns that it consists of: group, pricing round and weight.
    pub(crate) from: Vec<(usize, usize, f64)>,
    pub(crate) shortfall_kwh: f64,
    /// True if one of the solutions exceeds a hard limit.
    pub(crate) uses_artificials: bool,
}

impl<'a> SubtreeMaster<'a> {
    /// Subtree master without columns. `scales` and `penalty` are those of
    /// [`RestrictedMaster::new`].
    pub(crate) fn new(
        oracle: &PricingOracle<'a>,
        subtree: &'a Subtree,
        scales: (f64, f64),
        penalty: (f64, f64),
    ) -> Self {
        // Columns are priced with all limited nodes of a group: the positions of those to keep.
        let inside = |&group: &usize| {
            let nodes = &oracle.nodes[group];
            let kept: Vec<usize> = (0..nodes.len()).filter(|&at| subtree.has(nodes[at])).collect();
            let top = kept.iter().position(|&at| nodes[at] == subtree.root);
            (kept, top.expect("a group of a subtree counts at its root"))
        };
        let inside: Vec<(Vec<usize>, usize)> = subtree.groups.iter().map(inside).collect();
        let nodes = subtree.groups.iter().zip(&inside);
        let nodes = nodes.map(|(&group, (kept, _))| {
            kept.iter().map(|&at| oracle.nodes[group][at]).collect::<Vec<u32>>()
        });
        let master = RestrictedMaster::new(&subtree.constraints, nodes.collect(), scales, penalty)
            .expect("a programme of empty rows is one that the solver takes");
        let dual_count = subtree.constraints.each.len() * oracle.constraints.slots();
        Self {
            subtree,
            master,
            solution: MasterSolution::default(),
            inside,
            outer_dual_price: vec![0.0; oracle.constraints.slots()],
            best_duals: vec![0.0; dual_count],
            bound: f64::NEG_INFINITY,
            trial: vec![0.0; dual_count],
            smoothing: DualSmoothing::default(),
            is_done: false,
            is_stale: true,
        }
    }

    /// Number of slots.
    fn slots(&self) -> usize {
        self.outer_dual_price.len()
    }

    /// Load of the subtree's root in a column, in µWh by slot.
    fn load<'r>(&self, column: &'r Column) -> &'r [i64] {
        &column.loads[self.inside[column.group].1 * self.slots()..][..self.slots()]
    }

    /// Cost of a column plus the upper duals on its load.
    fn cost(&self, column: &Column) -> f64 {
        let paid = self.load(column).iter().zip(&self.outer_dual_price);
        column.cost + paid.map(|(&load, dual_price)| as_kwh(load) * dual_price).sum::<f64>()
    }

    /// Moves to other upper duals: `dual_price` is what they add to the price of a kWh, by slot.
    /// All columns get new costs, and the bound starts again.
    pub(crate) fn move_to(&mut self, dual_price: Vec<f64>) {
        self.outer_dual_price = dual_price;
        let costs: Vec<f64> = self.master.columns.iter().map(|column| self.cost(column)).collect();
        self.master.reprice(&costs);
        self.bound = f64::NEG_INFINITY;
        (self.is_done, self.is_stale) = (false, true);
    }

    /// Solves the master at the present upper duals.
    ///
    /// If the solution exceeds a hard limit and the subtree is nearly converged, the artificial
    /// penalty is raised up to `penalty_max` per kWh and the master is solved again. `scale` is
    /// that of the whole area's gap.
    pub(crate) fn solve(&mut self, scale: f64, penalty_max: f64) -> Result<(), LpError> {
        loop {
            if self.is_stale {
                self.solve_once()?;
            }
            self.is_stale = false;
            // Far from convergence, new columns may remove the excess at the present penalty.
            let is_near = self.is_done
                || self.open_gap() <= OPEN_GAP_WITH_ARTIFICIALS * scale * self.subtree.share;
            if !(self.solution.uses_artificials
                && is_near
                && self.master.raise_artificial_penalty(penalty_max))
            {
                return Ok(());
            }
            (self.is_done, self.is_stale) = (false, true);
        }
    }

    /// Solves the master, adding rows for violated limits. If the cheapest columns are within all
    /// limits, they are the solution, and the solver is not called.
    fn solve_once(&mut self) -> Result<(), LpError> {
        self.solution = self.cheapest();
        if self.is_within(&self.master.loads(&self.solution.weights)) {
            return Ok(());
        }
        // Rows of violated limits, until none is left. The cheapest columns may violate rows that
        // exist already, so that the first pass solves the master in any case.
        for _ in 0..SEPARATION_ROUNDS_MAX {
            let loads = self.master.loads(&self.solution.weights);
            if !self.master.separate_rows(&loads)? && self.solution.is_solved {
                break;
            }
            self.solution = self.master.solve()?;
        }
        Ok(())
    }

    /// Returns true if loads reach no limit: all duals and penalties are then zero.
    fn is_within(&self, loads: &[Vec<f64>]) -> bool {
        self.subtree.constraints.each.iter().all(|constraint| {
            let mut load = loads[constraint.node].iter().enumerate();
            // A square costs money at any load off its profile, so it needs the master.
            !matches!(constraint.penalty, Penalty::Square(_))
                && load.all(|(slot, load)| {
                    constraint.sign * load <= self.master.bound_less_margin(constraint, slot)
                })
        })
    }

    /// Solution with the cheapest column of each group, optimal if it is within all limits.
    fn cheapest(&self) -> MasterSolution {
        let columns = &self.master.columns;
        let mut least: Vec<Option<(f64, usize)>> = vec![None; self.subtree.groups.len()];
        for (at, column) in columns.iter().enumerate() {
            let cost = self.cost(column);
            if least[column.group].is_none_or(|(other, _)| cost < other) {
                least[column.group] = Some((cost, at));
            }
        }
        let mut solution = MasterSolution {
            weights: vec![0.0; columns.len()],
            duals: vec![0.0; self.best_duals.len()],
            ..MasterSolution::default()
        };
        // Each group has had a column since the first round, so `group_duals` has one per group.
        for (cost, at) in least.into_iter().flatten() {
            solution.weights[at] = 1.0;
            solution.group_duals.push(cost);
            solution.cost += cost;
        }
        solution
    }

    /// Distance of the objective value to the bound at the present upper duals, in money.
    pub(crate) fn open_gap(&self) -> f64 {
        (self.solution.cost - self.bound).max(0.0)
    }

    /// Adds the columns of a round at the duals `trial`, and updates bound and smoothing.
    ///
    /// A column is added if its reduced cost is negative by more than the part `tolerance` of its
    /// cost.
    pub(crate) fn add_columns(
        &mut self,
        priced: &PricingRound,
        tolerance: f64,
    ) -> Result<(), LpError> {
        let slots = self.slots();
        let mut proved = self.subtree.constraints.dual_value(&self.trial, &priced.loads);
        // Without a solution at the present upper duals there are no reduced costs.
        let lacks_duals = self.is_stale;
        let mut is_new = false;
        for (own, &group) in self.subtree.groups.iter().enumerate() {
            let all = &priced.columns[group];
            // The column of a group has all of its limited nodes; keep those inside.
            let kept = self.inside[own].0.iter();
            let loads = kept.flat_map(|&at| all.loads[at * slots..][..slots].iter().copied());
            let column = Column { group: own, loads: loads.collect(), ..*all };
            let cost = self.cost(&column);
            proved += cost - column.optimality_slack;
            if lacks_duals
                || self.master.has_negative_reduced_cost(&column, cost, (&self.solution, tolerance))
            {
                is_new = true;
                self.master.add_at(column, cost)?;
            }
        }
        let is_better = proved > self.bound;
        if is_better {
            self.bound = proved;
            self.best_duals.clone_from(&self.trial);
        }
        self.is_done = self.smoothing.update(is_new, is_better);
        self.is_stale |= is_new;
        Ok(())
    }

    /// Adds this subtree's solution to a column of the upper master. Returns its cost without the
    /// upper duals, with excess over hard limits at `penalty_max` per kWh, and the load of the root
    /// in kWh by slot.
    pub(crate) fn add_to_aggregate(
        &self,
        penalty_max: f64,
        composition: &mut AggregatedColumn,
    ) -> (f64, Vec<f64>) {
        let mut load = vec![0.0; self.slots()];
        let columns = self.master.columns.iter().zip(&self.solution.weights);
        for (column, &weight) in columns.filter(|(_, weight)| **weight > SOLVER_ROUNDING) {
            let sums = load.iter_mut().zip(self.load(column));
            sums.for_each(|(sum, &load)| *sum += weight * as_kwh(load));
            composition.from.push((self.subtree.groups[column.group], column.iteration, weight));
            composition.shortfall_kwh += weight * as_kwh(column.shortfall);
        }
        composition.uses_artificials |= self.solution.uses_artificials;
        // The upper master adds its own duals, and compares all columns at one penalty.
        let paid: f64 = load
            .iter()
            .zip(&self.outer_dual_price)
            .map(|(load, dual_price)| load * dual_price)
            .sum();
        let excess =
            (penalty_max - self.master.artificial_penalty()) * self.solution.artificial_kwh;
        (self.solution.cost + excess - paid, load)
    }
}
