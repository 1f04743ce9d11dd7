//! Column generation with one restricted master for all limits.
//!
//! Dantzig-Wolfe decomposition on the loads of groups of vehicles. Each round
//!
//! 1. solves the master, adds rows for violated limits, and takes the duals `λ_master`
//!    ([`SingleLevelColumnGeneration::solve_master`]),
//! 2. smooths the duals, `λ = α·λ_best + (1 - α)·λ_master`
//!    ([`smoothing`](crate::area::column_generation::smoothing)),
//! 3. solves the pricing problems at `λ`, which gives a Lagrangian bound, and adds the columns with
//!    a negative reduced cost ([`SingleLevelColumnGeneration::price_and_add_columns`]).
//!
//! It ends when the gap between the cost of the master solution and the best bound is small enough,
//! when no column has a negative reduced cost, or for another reason in [`Termination`]. Artificial
//! variables keep the master feasible; their penalty starts below that of a shortfall and is raised
//! while they are in use.
//!
//! Where each vehicle has prices of its own, an ascent on the dual comes before the first master
//! ([`dual_ascent`](crate::area::column_generation::dual_ascent)).
//!
//! G. B. Dantzig, P. Wolfe, Decomposition principle for linear programs, Operations Research 8
//! (1960). M. E. Lübbecke, J. Desrosiers, Selected topics in column generation, Operations Research
//! 53 (2005).
use std::ops::ControlFlow;

use crate::area::column_generation::dual_ascent::{
    ASCENT_ROUNDS, ASCENT_ROUNDS_AGAIN, DualAscent, DualPoint,
};
use crate::area::column_generation::master::{Column, MasterSolution, RestrictedMaster};
use crate::area::column_generation::pricing_round::PricingOracle;
use crate::area::column_generation::search_state::{
    ARTIFICIAL_PENALTY_MAX, ARTIFICIAL_PENALTY_START, ColumnGeneration, EARLIER_MIN,
    GAP_WITH_ARTIFICIALS, SEPARATION_ROUNDS_MAX, SearchState, StoppingCriteria, Termination,
    energy_scale, shortfall_penalty_max,
};
use crate::area::column_generation::smoothing::DualSmoothing;
use crate::area::distributed::executor::Executor;
use crate::area::model::energy_by_slot::ColumnWeights;
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::rooms::Rooms;
use crate::area::pricing::context::PricingContext;
use crate::area::problem::micro_wh::as_kwh;
use crate::area::problem::options::WarmStart;
use crate::lp::LpError;
use crate::tolerance::{LIMIT_EXCESS_SHARE, SHORTFALL_TOLERANCE_KWH, SOLVER_ROUNDING};

/// Least number of vehicles for an ascent on the dual. With fewer, its slope changes in large steps.
const ASCENT_VEHICLES_MIN: usize = 200;

/// Length of the first step of an ascent, as a part of the cost of a kWh. In a model (numpy) 0.01, 0.03
/// and 0.3 make no difference.
const FIRST_STEP_SHARE: f64 = 0.1;

/// Column generation on one level: oracle, master and the state between rounds.
pub(crate) struct SingleLevelColumnGeneration<'a> {
    oracle: PricingOracle<'a>,
    master: RestrictedMaster<'a>,
    state: SearchState,
    solution: MasterSolution,
    /// Largest shortfall penalty per kWh of any vehicle.
    shortfall_penalty_max: f64,
    /// Curvature of the dual function and the length of a first step, if it is nearly smooth.
    ascent: Option<(DualAscent, f64)>,
}

/// Columns of a search, with which a search under other bounds goes on.
#[derive(Debug)]
pub(crate) struct PricedColumns {
    columns: Vec<Column>,
    /// Duals of each round, by limit and slot.
    pub(crate) duals_by_round: Vec<Vec<f64>>,
    /// Duals of the best bound.
    pub(crate) best_duals: Vec<f64>,
    /// Curvature of the dual function, if there was an ascent.
    ascent: Option<DualAscent>,
}

impl<'a> SingleLevelColumnGeneration<'a> {
    /// Column generation before its first round. `money` is the cost of the area, to scale by, and
    /// `margin` the part of hard import limits to keep free.
    pub(crate) fn new(
        context: PricingContext<'a>,
        constraints: &'a LinkingConstraints,
        (money, margin): (f64, f64),
    ) -> Self {
        let oracle = PricingOracle::new(context, constraints);
        let need_kwh = context.sessions.need_kwh() + Rooms::held_kwh(context.rooms);
        let energy = energy_scale(need_kwh, constraints.slots());
        let shortfall_penalty_max = shortfall_penalty_max(&context);
        let master = RestrictedMaster::new(
            constraints,
            oracle.nodes.clone(),
            (money, energy),
            (shortfall_penalty_max * ARTIFICIAL_PENALTY_START, margin),
        )
        .expect("a programme of empty rows is one that the solver takes");
        let state = SearchState::new(constraints.each.len() * constraints.slots());
        let first_step = FIRST_STEP_SHARE * money.abs() / need_kwh.max(SHORTFALL_TOLERANCE_KWH);
        let ascent = is_nearly_smooth(&context).then(|| (DualAscent::default(), first_step));
        let solution = MasterSolution::default();
        Self { oracle, master, state, solution, shortfall_penalty_max, ascent }
    }

    /// Takes over the columns of a search of the same vehicles under other bounds, in place of the
    /// rounds of [`ColumnGeneration::begin`]. One round at its best duals proves a bound under
    /// these ones.
    pub(crate) fn resume(
        &mut self,
        columns: PricedColumns,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Termination {
        let resumed = self.take_over(columns, stopping, executor);
        executor.note_failure(resumed)
    }

    /// Runs the steps of [`resume`](Self::resume).
    fn take_over(
        &mut self,
        columns: PricedColumns,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Result<Termination, LpError> {
        for column in columns.columns {
            self.master.add(column)?;
        }
        self.state.duals_by_round = columns.duals_by_round;
        self.solve_master()?;
        let (_, point) = self.price_and_add_columns(columns.best_duals, executor)?;
        if let (Some(ascent), Some(earlier)) = (&mut self.ascent, columns.ascent) {
            ascent.0 = earlier;
            self.ascend(point, ASCENT_ROUNDS_AGAIN, stopping, executor)?;
        }
        Ok(Termination::Gap)
    }

    /// Columns priced so far, for a search under other bounds.
    pub(crate) fn into_columns(self) -> PricedColumns {
        PricedColumns {
            columns: self.master.columns,
            duals_by_round: self.state.duals_by_round,
            best_duals: self.state.best_duals,
            ascent: self.ascent.map(|(ascent, _)| ascent),
        }
    }

    /// Loads of limited nodes in the master solution, in kWh by slot.
    pub(crate) fn loads(&self) -> Vec<Vec<f64>> {
        self.master.loads(&self.solution.weights)
    }

    /// Runs the rounds of [`ColumnGeneration::begin`].
    fn run_first_rounds(
        &mut self,
        start: &WarmStart,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Result<Termination, LpError> {
        // Round 0 at zero duals gives each group a column, so that `Σ_k θ_gk = 1` can hold.
        let free = vec![0.0; self.state.best_duals.len()];
        let earlier: Vec<Vec<f64>> =
            start.warm_duals(free.len(), self.oracle.constraints).collect();
        let (_, mut point) = self.price_and_add_columns(free, executor)?;
        if self.solution.weights.is_empty() {
            // If the solver fails, the columns of the first round are the solution.
            self.solution.weights = vec![1.0; self.oracle.nodes.len()];
        }
        for (at, duals) in earlier.into_iter().enumerate() {
            let (_, other) = self.price_and_add_columns(duals, executor)?;
            if other.value > point.value {
                point = other;
            }
            self.solve_master()?;
            let progress = self.state.progress(stopping.scale);
            if progress.gap <= stopping.gap * 0.1
                || self.state.duals_by_round.len() >= stopping.rounds_max
            {
                break;
            }
            // `stops` stands first: it calls the observer, also in rounds in which no stop
            // counts.
            if executor.stops(&progress) && at + 1 >= EARLIER_MIN {
                return Ok(Termination::Caller);
            }
            // The ascent goes on from the best duals, for which the others are not needed.
            if self.ascent.is_some() {
                break;
            }
        }
        if self.state.gap(self.state.cost, stopping.scale) > stopping.gap {
            self.ascend(point, ASCENT_ROUNDS, stopping, executor)?;
        }
        self.solve_master()?;
        Ok(Termination::Gap)
    }

    /// Climbs on a nearly smooth dual function from `start`, each point a pricing round.
    fn ascend(
        &mut self,
        start: DualPoint,
        rounds_max: usize,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Result<(), LpError> {
        let Some((mut ascent, first_step)) = self.ascent.take() else { return Ok(()) };
        let left = stopping.rounds_max.saturating_sub(self.state.duals_by_round.len());
        let rounds = left.min(rounds_max);
        let constraints = self.oracle.constraints;
        let climbed = ascent.maximise(
            start,
            (first_step, rounds),
            |duals| constraints.clamp(duals),
            |duals| {
                let (_, point) = self.price_and_add_columns(duals, executor)?;
                // The search ends at its next round, which asks again.
                let is_stopped = executor.stops(&self.state.progress(stopping.scale));
                Ok(if is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(point) })
            },
        );
        self.ascent = Some((ascent, first_step));
        climbed
    }

    /// Solves the pricing problems at `duals`, updates the bound, and adds the columns with a
    /// negative reduced cost. Returns true if there are any, and the dual function at `duals`.
    fn price_and_add_columns(
        &mut self,
        duals: Vec<f64>,
        executor: &mut Executor<'_>,
    ) -> Result<(bool, DualPoint), LpError> {
        let round = self.state.duals_by_round.len();
        let priced = self.oracle.solve(round, &duals, executor);
        // Every dual vector proves a bound, so that of smoothed duals counts as well.
        let bound = self.oracle.bound_of(&duals, &priced);
        if bound > self.state.bound {
            self.state.bound = bound;
            self.state.best_duals.clone_from(&duals);
        }
        let gradient = self.oracle.constraints.dual_gradient(&duals, &priced.loads);
        self.state.duals_by_round.push(duals.clone());
        let point = DualPoint { duals, value: bound, gradient };
        let mut has_new_columns = false;
        if round == 0 {
            // The first rows are those that the loads at zero duals violate.
            self.master.separate_rows(&priced.loads)?;
        }
        // Round 0 has no solution to compute reduced costs from: every column is added.
        for column in priced.columns {
            if round == 0
                || self.master.has_negative_reduced_cost(
                    &column,
                    column.cost,
                    (&self.solution, SOLVER_ROUNDING),
                )
            {
                has_new_columns = true;
                self.master.add(column)?;
            }
        }
        Ok((has_new_columns, point))
    }

    /// Solves the master, adding rows for violated limits, until there are none. Sets the cost of
    /// the state.
    fn solve_master(&mut self) -> Result<(), LpError> {
        for _ in 0..SEPARATION_ROUNDS_MAX {
            self.solution = self.master.solve()?;
            let loads = self.master.loads(&self.solution.weights);
            let columns = self.master.columns.iter().zip(&self.solution.weights);
            let value: f64 = columns.map(|(column, weight)| column.cost * weight).sum();
            // The loads are costed anew: without the rows still missing, the objective is too low.
            self.state.cost =
                value + self.oracle.constraints.cost_of_limits(&loads, LIMIT_EXCESS_SHARE);
            if !self.master.separate_rows(&loads)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns true if the search converges to a solution that exceeds hard limits. Columns found
    /// from here on would be of no use once the artificial penalty is raised.
    fn converges_to_artificials(&self, stopping: StoppingCriteria) -> bool {
        self.solution.uses_artificials
            && self.state.gap(self.solution.cost, stopping.scale) <= GAP_WITH_ARTIFICIALS
    }

    /// Runs rounds until a stopping criterion is met or no column is new.
    fn run_to(
        &mut self,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Result<Termination, LpError> {
        let mut smoothing = DualSmoothing::default();
        loop {
            self.solve_master()?;
            let progress = self.state.progress(stopping.scale);
            if let Some(termination) = stopping.termination(&progress, executor) {
                return Ok(termination);
            }
            let artificial_penalty_max = ARTIFICIAL_PENALTY_MAX * self.shortfall_penalty_max;
            // A higher penalty changes the duals: solve the master again before pricing.
            if self.converges_to_artificials(stopping)
                && self.master.raise_artificial_penalty(artificial_penalty_max)
            {
                continue;
            }
            let duals = smoothing.separation_point(&self.state.best_duals, &self.solution.duals);
            let before = self.state.bound;
            let (has_new_columns, _) = self.price_and_add_columns(duals, executor)?;
            let is_done = smoothing.update(has_new_columns, self.state.bound > before);
            // Without a new column at unsmoothed duals, only a higher penalty changes the duals.
            if is_done
                && (!self.solution.uses_artificials
                    || !self.master.raise_artificial_penalty(artificial_penalty_max))
            {
                return Ok(Termination::Stalled);
            }
        }
    }
}

impl ColumnGeneration for SingleLevelColumnGeneration<'_> {
    /// Runs a round at zero duals, then at those of an earlier plan if they fit: the best ones
    /// first, then those with the largest weights, until the gap is a tenth of the requested one.
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
        for (column, &weight) in self.master.columns.iter().zip(&self.solution.weights) {
            if weight > 0.0 {
                shares[column.group].push((column.iteration, weight));
            }
        }
        fill_gaps(&mut shares);
        shares
    }

    fn has_shortfall(&self) -> bool {
        let columns = self.master.columns.iter().zip(&self.solution.weights);
        columns.map(|(column, weight)| as_kwh(column.shortfall) * weight).sum::<f64>()
            > SHORTFALL_TOLERANCE_KWH
    }
}

/// Returns true if the dual function is nearly smooth: each of many vehicles has prices of its own.
fn is_nearly_smooth(context: &PricingContext<'_>) -> bool {
    context.sessions.each.len() >= ASCENT_VEHICLES_MIN
        && context.rooms.is_empty()
        && context.sessions.blocks.iter().all(|block| block.curve.is_none())
}

/// Gives the column of round 0 to groups that a failed solution left without any.
pub(crate) fn fill_gaps(shares: &mut [ColumnWeights]) {
    shares.iter_mut().filter(|shares| shares.is_empty()).for_each(|shares| shares.push((0, 1.0)));
}
