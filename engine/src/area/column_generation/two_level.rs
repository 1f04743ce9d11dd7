//! Column generation on two levels, for areas of many subtrees (feeders).
//!
//! One master for two hundred feeders has thousands of rows and takes seconds to solve. At fixed
//! duals `λ^up` of the upper limits the subtrees `r` are independent. Each has a master for the
//! limits inside ([`SubtreeMaster`]), and all are priced in the same rounds. Subtrees are grouped
//! in aggregates `a`, whose solutions add up to one column of the upper master:
//!
//! ```text
//! upper master:  minimise Σ_ak φ_ak·cost_ak + Σ_l f_l( s_l·Σ_ak φ_ak·load_akl ) ,  Σ_k φ_ak = 1
//! bound:         D(λ^up) = Σ_r D_r(λ^up) - Σ_l f_l*(λ^up_l) ,   l over the upper limits
//! weights:       θ_gk = Σ φ·(weight of column k of group g in the aggregated column)
//! ```
//!
//! where `D_r(λ^up)` is the best bound of subtree `r` at `λ^up`, each with duals of its own. `λ^up`
//! moves when the open gaps of the subtrees are small enough, or after a number of rounds. Both
//! levels smooth their duals.
//!
//! | Symbol | Code |
//! |---|---|
//! | `λ^up` | `TwoLevelColumnGeneration::upper_duals` |
//! | `φ_ak` | weights of `solution`; composition of the column in `aggregated` |
//! | `cost_ak`, `load_akl` | `aggregate` |
//! | `D_r(λ^up)` | [`SubtreeMaster::bound`] |
//! | `D(λ^up)` | `SearchState::bound`, the best so far |
use std::collections::BTreeSet;

use rayon::prelude::*;

use crate::area::column_generation::master::{Column, MasterSolution, RestrictedMaster};
use crate::area::column_generation::pricing_round::PricingOracle;
use crate::area::column_generation::search_state::{
    ARTIFICIAL_PENALTY_MAX, ARTIFICIAL_PENALTY_START, ColumnGeneration, SEPARATION_ROUNDS_MAX,
    SearchState, StoppingCriteria, Termination, energy_scale, shortfall_penalty_max,
};
use crate::area::column_generation::single_level::fill_gaps;
use crate::area::column_generation::smoothing::DualSmoothing;
use crate::area::column_generation::subtree::{Decomposition, Subtree, gather, scatter};
use crate::area::column_generation::subtree_master::{AggregatedColumn, SubtreeMaster};
use crate::area::distributed::executor::Executor;
use crate::area::model::energy_by_slot::ColumnWeights;
use crate::area::model::linking::LinkingConstraints;
use crate::area::pricing::context::PricingContext;
use crate::area::problem::micro_wh::to_micro_wh;
use crate::area::problem::options::WarmStart;
use crate::lp::LpError;
use crate::tolerance::{DIVISOR_MIN, LIMIT_EXCESS_SHARE, SHORTFALL_TOLERANCE_KWH, SOLVER_ROUNDING};

/// Upper bound on the aggregates of subtrees that have limits inside.
///
/// Each aggregate is a convexity row of the upper master and gets a column in each round. One
/// master with a group for each of 200 feeders took two seconds per round. Not tuned further.
const AGGREGATES_MAX: usize = 64;

/// Upper bound on the aggregates of non-binding subtrees, whose columns carry less information.
const AGGREGATES_MAX_NON_BINDING: usize = 6;

/// Fewest subtrees of an aggregate. More columns would slow the upper master down by more than
/// they improve it.
const SUBTREES_PER_AGGREGATE_MIN: usize = 2;

/// Least improvement by a new column of a subtree relative to its cost, as a part of the requested
/// gap.
const IMPROVEMENT_MIN: f64 = 0.02;

/// Upper bound on the pricing rounds at one vector of upper duals.
///
/// A pricing round costs a tenth of solving the subtree masters, so a second one at the same upper
/// duals is worth less than one at others.
const INNER_ITERATIONS_MAX: usize = 1;

/// Upper bound on the pricing rounds at the first upper duals, when subtrees have few columns, and
/// in the last attempt before the search stalls.
const INNER_ITERATIONS_FIRST: usize = 40;

/// Part of the area's gap that the open gaps of the subtrees may sum to when the upper duals move.
const INNER_GAP_SHARE: f64 = 0.25;

/// Sum of the subtrees' open gaps, relative to the objective, at which the upper duals move as long
/// as they are the first ones or the upper solution exceeds a hard limit.
const INNER_GAP_FIRST: f64 = 0.002;

/// Upper bound on the dual vectors of an earlier plan that are priced first.
///
/// Each costs a pricing round of all vehicles. The vectors come in the order of their weights in
/// the earlier solution, so the ones beyond the first dozen add little. Not tuned.
const EARLIER_MAX: usize = 12;

/// Column generation on two levels: oracle, masters and the state between rounds.
pub(crate) struct TwoLevelColumnGeneration<'a> {
    oracle: PricingOracle<'a>,
    decomposition: &'a Decomposition,
    subtree_masters: Vec<SubtreeMaster<'a>>,
    /// Subtrees of each aggregate, by position. Each aggregate is a group of the upper master.
    aggregates: Vec<Vec<usize>>,
    /// Master of the upper limits.
    upper: RestrictedMaster<'a>,
    /// Solution of the upper master.
    solution: MasterSolution,
    /// Composition of each column of the upper master.
    aggregated: Vec<AggregatedColumn>,
    /// Dual vectors of an earlier plan that are still to be priced.
    earlier: Vec<Vec<f64>>,
    /// True if the present upper duals are those of an earlier plan.
    is_earlier: bool,
    /// Present upper duals per kWh, by limit and slot.
    upper_duals: Vec<f64>,
    state: SearchState,
    smoothing: DualSmoothing,
    /// Pricing rounds at the present upper duals.
    inner_iterations: usize,
    /// Upper bound on them.
    inner_iterations_max: usize,
    /// True if the upper master got new columns at the present upper duals.
    has_aggregated: bool,
    /// Best bound before the move to the present upper duals.
    bound_before: f64,
    /// Moves of the upper duals so far.
    moves: usize,
    /// Largest shortfall penalty per kWh of any vehicle.
    shortfall_penalty_max: f64,
}

impl<'a> TwoLevelColumnGeneration<'a> {
    /// Column generation before its first round. `money` is the cost of the area, to scale by, and
    /// `margin` the part of hard import limits to keep free.
    pub(crate) fn new(
        context: PricingContext<'a>,
        constraints: &'a LinkingConstraints,
        decomposition: &'a Decomposition,
        (money, margin): (f64, f64),
    ) -> Self {
        let oracle = PricingOracle::new(context, constraints);
        let (slots, need) = (constraints.slots(), context.sessions.need_kwh());
        let shortfall_penalty_max = shortfall_penalty_max(&context);
        let artificial_penalty = (shortfall_penalty_max * ARTIFICIAL_PENALTY_START, margin);
        // Subtree masters, scaled by their share of the need.
        let subtree_master = |subtree: &'a Subtree| {
            let share = subtree.share.max(DIVISOR_MIN);
            SubtreeMaster::new(
                &oracle,
                subtree,
                (money * share, energy_scale(need * share, slots)),
                artificial_penalty,
            )
        };
        let subtree_masters: Vec<SubtreeMaster<'a>> =
            decomposition.subtrees.iter().map(subtree_master).collect();
        // Upper master: one group per aggregate, which counts at all nodes above its subtrees.
        let aggregates = group_subtrees(&subtree_masters);
        let above = |aggregate: &Vec<usize>| {
            let nodes = aggregate
                .iter()
                .flat_map(|&at| subtree_masters[at].subtree.outer_nodes.iter().copied());
            nodes.collect::<BTreeSet<u32>>().into_iter().collect::<Vec<u32>>()
        };
        let nodes = aggregates.iter().map(above).collect();
        let upper = RestrictedMaster::new(
            &decomposition.upper,
            nodes,
            (money, energy_scale(need, slots)),
            artificial_penalty,
        )
        .expect("a programme of empty rows is one that the solver takes");
        let state = SearchState::new(constraints.each.len() * slots);
        Self {
            oracle,
            decomposition,
            subtree_masters,
            aggregates,
            upper,
            solution: MasterSolution::default(),
            aggregated: Vec::new(),
            earlier: Vec::new(),
            is_earlier: false,
            upper_duals: vec![0.0; decomposition.upper.each.len() * slots],
            state,
            smoothing: DualSmoothing::default(),
            inner_iterations: 0,
            inner_iterations_max: INNER_ITERATIONS_MAX,
            has_aggregated: false,
            bound_before: f64::NEG_INFINITY,
            moves: 0,
            shortfall_penalty_max,
        }
    }

    /// Upper bound on the artificial penalty, per kWh.
    fn artificial_penalty_max(&self) -> f64 {
        ARTIFICIAL_PENALTY_MAX * self.shortfall_penalty_max
    }

    /// Moves to `upper_duals`, and sets what they add to the price of a kWh in each subtree.
    fn move_to(&mut self, upper_duals: Vec<f64>) {
        let (dual_count, slots) = (self.state.best_duals.len(), self.oracle.constraints.slots());
        let all = self.decomposition.spread_out(&upper_duals, dual_count, slots);
        let constraints = self.oracle.constraints;
        self.subtree_masters.par_iter_mut().for_each(|master| {
            // The outer nodes are a path to the root: the price at the first includes all others.
            let above = master.subtree.outer_nodes.first();
            master.move_to(
                above.map_or(vec![0.0; slots], |&node| constraints.dual_price(node, &all)),
            );
        });
        self.upper_duals = upper_duals;
        (self.inner_iterations, self.has_aggregated) = (0, false);
        self.bound_before = self.state.bound;
        self.moves += 1;
    }

    /// Solves the subtree masters in parallel. `scale` is that of the area's gap.
    fn solve_subtree_masters(&mut self, scale: f64) -> Result<(), LpError> {
        let artificial_penalty_max = self.artificial_penalty_max();
        self.subtree_masters
            .par_iter_mut()
            .try_for_each(|master| master.solve(scale, artificial_penalty_max))
    }

    /// Solves all pricing problems at the upper duals and the trial duals of the subtrees, adds
    /// columns to the subtree masters, and updates the bound.
    fn price(
        &mut self,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Result<(), LpError> {
        let tolerance = (IMPROVEMENT_MIN * stopping.gap).max(SOLVER_ROUNDING);
        let (dual_count, slots) = (self.state.best_duals.len(), self.oracle.constraints.slots());
        // Dual vector of the round: the upper duals, and the trial duals of each subtree.
        let mut duals = self.decomposition.spread_out(&self.upper_duals, dual_count, slots);
        for master in &self.subtree_masters {
            scatter(&master.subtree.constraints_at, &master.trial, &mut duals, slots);
        }
        let priced = self.oracle.solve(self.state.duals_by_round.len(), &duals, executor);
        self.state.duals_by_round.push(duals);
        self.subtree_masters
            .par_iter_mut()
            .try_for_each(|master| master.add_columns(&priced, tolerance))?;
        self.inner_iterations += 1;
        // D(λ^up) = Σ_r D_r(λ^up) - Σ_l f_l*(λ^up_l)
        let upper = &self.decomposition.upper;
        let paid = upper.each.iter().zip(self.upper_duals.chunks(slots.max(1)));
        let paid: f64 = paid.map(|(constraint, duals)| upper.conjugate(constraint, duals)).sum();
        let bound = self.subtree_masters.iter().map(|master| master.bound).sum::<f64>() - paid;
        // The best duals inside were found at these upper duals: together they prove the bound.
        if bound > self.state.bound {
            self.state.bound = bound;
            self.state.best_duals =
                self.decomposition.spread_out(&self.upper_duals, dual_count, slots);
            for master in &self.subtree_masters {
                scatter(
                    &master.subtree.constraints_at,
                    &master.best_duals,
                    &mut self.state.best_duals,
                    slots,
                );
            }
        }
        Ok(())
    }

    /// Adds aggregated columns with a negative reduced cost to the upper master, and solves it.
    fn add_aggregates(&mut self) -> Result<(), LpError> {
        // Each group of the upper master needs a first column, since its weights sum to 1.
        let is_first = self.aggregated.is_empty();
        for aggregate in 0..self.aggregates.len() {
            let (column, composition) = self.aggregate(aggregate);
            if is_first
                || self.upper.has_negative_reduced_cost(
                    &column,
                    column.cost,
                    (&self.solution, SOLVER_ROUNDING),
                )
            {
                self.upper.add(column)?;
                self.aggregated.push(composition);
                self.has_aggregated = true;
            }
        }
        self.solve_upper()
    }

    /// Sum of the present solutions of an aggregate's subtrees: a column of the upper master, and
    /// its composition.
    fn aggregate(&self, aggregate: usize) -> (Column, AggregatedColumn) {
        let (artificial_penalty_max, slots) =
            (self.artificial_penalty_max(), self.oracle.constraints.slots());
        let mut composition =
            AggregatedColumn { from: Vec::new(), shortfall_kwh: 0.0, uses_artificials: false };
        let nodes = &self.upper.nodes[aggregate];
        let mut loads = vec![0.0; nodes.len() * slots];
        let mut cost = 0.0;
        for &at in &self.aggregates[aggregate] {
            let master = &self.subtree_masters[at];
            let (subtree_cost, load) =
                master.add_to_aggregate(artificial_penalty_max, &mut composition);
            cost += subtree_cost;
            for node in &master.subtree.outer_nodes {
                let at = nodes.binary_search(node).expect("a path is among the nodes");
                let sums = loads[at * slots..][..slots].iter_mut();
                sums.zip(&load).for_each(|(sum, load)| *sum += load);
            }
        }
        let (round, shortfall) =
            (self.state.duals_by_round.len(), to_micro_wh(composition.shortfall_kwh));
        let loads = loads.into_iter().map(to_micro_wh).collect();
        (
            Column {
                group: aggregate,
                iteration: round,
                cost,
                // The bound comes from the subtrees, not from this column, so it has no slack.
                optimality_slack: 0.0,
                shortfall,
                loads,
            },
            composition,
        )
    }

    /// Solves the upper master, adding rows for violated limits. Sets the cost of the search state,
    /// infinite if a used column exceeds a hard limit inside its subtrees.
    fn solve_upper(&mut self) -> Result<(), LpError> {
        for _ in 0..SEPARATION_ROUNDS_MAX {
            self.solution = self.upper.solve()?;
            let loads = self.upper.loads(&self.solution.weights);
            let used = self.aggregated.iter().zip(&self.upper.columns).zip(&self.solution.weights);
            let mut cost = self.decomposition.upper.cost_of_limits(&loads, LIMIT_EXCESS_SHARE);
            for ((composition, column), &weight) in used {
                cost += weight * column.cost;
                if composition.uses_artificials && weight > LIMIT_EXCESS_SHARE {
                    cost = f64::INFINITY;
                }
            }
            self.state.cost = cost;
            let seen =
                if self.may_limit_non_binding() { loads } else { self.clear_subtree_loads(loads) };
            if !self.upper.separate_rows(&seen)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns true if limits of non-binding subtrees may get rows in the upper master: after the
    /// earlier duals and the first move. Until then the columns exceed limits that no plan reaches.
    fn may_limit_non_binding(&self) -> bool {
        self.earlier.is_empty() && self.moves > 1
    }

    /// Clears the loads of the roots of subtrees, so that their limits get no rows.
    fn clear_subtree_loads(&self, mut loads: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        for master in &self.subtree_masters {
            if let Some(load) = loads.get_mut(master.subtree.root as usize) {
                load.clear();
            }
        }
        loads
    }

    /// Returns true if the subtrees are converged closely enough at the present upper duals to move
    /// on.
    fn subtrees_converged(&self, stopping: StoppingCriteria) -> bool {
        let open: f64 = self.subtree_masters.iter().map(SubtreeMaster::open_gap).sum();
        let scale = stopping.scale.abs().max(self.state.bound.abs());
        let gap = (self.state.cost - self.state.bound).max(stopping.gap * scale);
        let (open_max, rounds_max) = if self.moves <= 1 {
            (INNER_GAP_FIRST * scale, INNER_ITERATIONS_FIRST)
        } else if self.is_earlier {
            (f64::INFINITY, 1)
        } else if self.state.cost.is_infinite() {
            // The gap of the area is infinite as well, so that no part of it can be required.
            (INNER_GAP_FIRST * scale, self.inner_iterations_max)
        } else {
            (INNER_GAP_SHARE * gap, self.inner_iterations_max)
        };
        let is_done = self.subtree_masters.iter().all(|master| master.is_done);
        self.inner_iterations > 0
            && (is_done || open <= open_max || self.inner_iterations >= rounds_max)
    }

    /// Takes the next step when no upper duals give new columns: run the subtrees to convergence
    /// once, then raise the artificial penalty of the upper master. Returns false if none is left.
    fn take_last_steps(&mut self) -> bool {
        let is_converged = self.subtree_masters.iter().all(|master| master.is_done);
        if !is_converged && self.inner_iterations_max == INNER_ITERATIONS_MAX {
            self.inner_iterations_max = INNER_ITERATIONS_FIRST;
            return true;
        }
        self.inner_iterations_max = INNER_ITERATIONS_MAX;
        self.solution.uses_artificials
            && self.upper.raise_artificial_penalty(self.artificial_penalty_max())
    }

    /// Runs the rounds of [`ColumnGeneration::begin`].
    fn run_first_rounds(
        &mut self,
        start: &WarmStart,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Result<Termination, LpError> {
        let (dual_count, slots) = (self.state.best_duals.len(), self.oracle.constraints.slots());
        // Round 0 at zero duals gives all masters their first columns.
        self.price(stopping, executor)?;
        self.earlier =
            start.warm_duals(dual_count, self.oracle.constraints).take(EARLIER_MAX).collect();
        self.solve_subtree_masters(stopping.scale)?;
        self.add_aggregates()?;
        if !self.earlier.is_empty() {
            // The duals will be near those of the earlier plan, and an artificial penalty far above
            // them would mislead: start at twice the highest one.
            let upper = self.decomposition.upper_duals(&self.earlier[0], slots);
            let highest_dual = upper.into_iter().fold(0.0, f64::max);
            self.upper.set_artificial_penalty(
                (2.0 * highest_dual).max(1e-3 * self.shortfall_penalty_max),
            );
            self.move_to_earlier(stopping)?;
            self.price(stopping, executor)?;
            self.solve_subtree_masters(stopping.scale)?;
            self.add_aggregates()?;
        }
        Ok(Termination::Gap)
    }

    /// Moves to the next duals of the earlier plan. Subtrees for which it has none use smoothed
    /// duals at the first move, and those of their best bounds later.
    fn move_to_earlier(&mut self, stopping: StoppingCriteria) -> Result<(), LpError> {
        let slots = self.oracle.constraints.slots();
        let duals = self.earlier.remove(0);
        self.move_to(self.decomposition.upper_duals(&duals, slots));
        self.is_earlier = true;
        // The first move starts at zero duals, too far away for the last duals inside to serve.
        if self.moves <= 1 {
            self.solve_subtree_masters(stopping.scale)?;
            self.move_to_separation_point();
        }
        for master in &mut self.subtree_masters {
            let inside = gather(&master.subtree.constraints_at, &duals, slots);
            if inside.iter().any(|&dual| dual > 0.0) {
                master.trial = inside;
            } else if self.moves > 1 {
                master.trial.clone_from(&master.best_duals);
            }
        }
        Ok(())
    }

    /// Sets the trial duals of each subtree by smoothing.
    fn move_to_separation_point(&mut self) {
        for master in &mut self.subtree_masters {
            master.trial =
                master.smoothing.separation_point(&master.best_duals, &master.solution.duals);
        }
    }

    /// Runs rounds until a stopping criterion is met or nothing is left to try.
    fn run_to(
        &mut self,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Result<Termination, LpError> {
        loop {
            if let Some(termination) =
                stopping.termination(&self.state.progress(stopping.scale), executor)
            {
                return Ok(termination);
            }
            // At this penalty the search has converged above a hard limit: raise the penalty.
            if self.solution.uses_artificials
                && self.state.gap(self.solution.cost, stopping.scale) <= stopping.gap
                && self.upper.raise_artificial_penalty(self.artificial_penalty_max())
            {
                self.solve_upper()?;
                continue;
            }
            // Duals of the next round: those of the earlier plan, moved upper duals, or the present
            // upper duals with others inside.
            if self.subtrees_converged(stopping) && !self.earlier.is_empty() {
                self.move_to_earlier(stopping)?;
            } else if self.subtrees_converged(stopping) {
                let is_better = self.state.bound > self.bound_before;
                let is_done = self.smoothing.update(self.has_aggregated, is_better);
                if is_done && !self.take_last_steps() {
                    return Ok(Termination::Stalled);
                }
                let best = self
                    .decomposition
                    .upper_duals(&self.state.best_duals, self.oracle.constraints.slots());
                self.move_to(self.smoothing.separation_point(&best, &self.solution.duals));
                self.is_earlier = false;
                // The last duals inside serve as well near the last upper duals, so the subtree
                // masters are not solved first.
                self.move_to_separation_point();
            } else {
                self.move_to_separation_point();
            }
            self.price(stopping, executor)?;
            self.solve_subtree_masters(stopping.scale)?;
            self.add_aggregates()?;
        }
    }
}

impl ColumnGeneration for TwoLevelColumnGeneration<'_> {
    fn begin(
        &mut self,
        start: &WarmStart,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Termination {
        let begun = self.run_first_rounds(start, stopping, executor);
        executor.note_failure(begun)
    }

    fn run(&mut self, stopping: StoppingCriteria, executor: &mut Executor<'_>) -> Termination {
        let termination = self.run_to(stopping, executor);
        executor.note_failure(termination)
    }

    fn state(&self) -> &SearchState {
        &self.state
    }

    fn into_state(self: Box<Self>) -> SearchState {
        self.state
    }

    fn weights(&self) -> Vec<ColumnWeights> {
        let mut shares = vec![ColumnWeights::new(); self.oracle.nodes.len()];
        for (composition, &weight) in self.aggregated.iter().zip(&self.solution.weights) {
            for &(group, round, part) in
                composition.from.iter().filter(|_| weight > SOLVER_ROUNDING)
            {
                // Several aggregated columns may contain the same column of a group.
                match shares[group].iter_mut().find(|(other, _)| *other == round) {
                    Some((_, sum)) => *sum += weight * part,
                    None => shares[group].push((round, weight * part)),
                }
            }
        }
        fill_gaps(&mut shares);
        shares
    }

    fn has_shortfall(&self) -> bool {
        let columns = self.aggregated.iter().zip(&self.solution.weights);
        columns.map(|(composition, weight)| composition.shortfall_kwh * weight).sum::<f64>()
            > SHORTFALL_TOLERANCE_KWH
    }
}

/// Subtrees of each aggregate: runs of like size, those with limits inside apart from non-binding
/// ones.
fn group_subtrees(masters: &[SubtreeMaster<'_>]) -> Vec<Vec<usize>> {
    let has_inner_limits = |at: &usize| !masters[*at].subtree.constraints.each.is_empty();
    let (binding, non_binding): (Vec<usize>, Vec<usize>) =
        (0..masters.len()).partition(has_inner_limits);
    let in_chunks = |positions: &[usize], count_max: usize| -> Vec<Vec<usize>> {
        let size = positions.len().div_ceil(count_max).max(SUBTREES_PER_AGGREGATE_MIN);
        positions.chunks(size).map(<[usize]>::to_vec).collect()
    };
    [in_chunks(&binding, AGGREGATES_MAX), in_chunks(&non_binding, AGGREGATES_MAX_NON_BINDING)]
        .concat()
}
