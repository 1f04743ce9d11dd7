//! Column generation with one restricted master for all limits.
//!
//! Dantzig-Wolfe decomposition on the loads of groups of vehicles. Each round
//!
//! 1. solves the master, adds rows for violated limits, and takes the duals `λ_master`
//!    ([`ColumnGeneration::solve`]),
//! 2. smooths the duals, `λ = α·λ_best + (1 - α)·λ_master`
//!    ([`smoothing`](crate::area::column_generation::smoothing)),
//! 3. solves the pricing problems at `λ`, which gives a Lagrangian bound, and adds the columns with
//!    a negative reduced cost ([`ColumnGeneration::iterate`]).
//!
//! It ends when the gap between the cost of the master solution and the best bound is small enough,
//! or when no column has a negative reduced cost. Artificial variables keep the master feasible;
//! their penalty starts below that of a shortfall and is raised while they are in use.
//!
//! G. B. Dantzig, P. Wolfe, Decomposition principle for linear programs, Operations Research 8
//! (1960). M. E. Lübbecke, J. Desrosiers, Selected topics in column generation, Operations Research
//! 53 (2005).
use crate::area::column_generation::master::{MasterSolution, RestrictedMaster};
use crate::area::column_generation::pricing_round::PricingOracle;
use crate::area::column_generation::search_state::{
    ARTIFICIAL_PENALTY_MAX, ARTIFICIAL_PENALTY_START, EARLIER_MIN, GAP_WITH_ARTIFICIALS, Incumbent,
    SEPARATION_ROUNDS_MAX, Solver, StoppingCriteria, Termination, energy_scale, penalty_max,
};
use crate::area::column_generation::smoothing::DualSmoothing;
use crate::area::distributed::executor::Executor;
use crate::area::model::energy_by_slot::ColumnWeights;
use crate::area::model::linking::LinkingConstraints;
use crate::area::pricing::context::PricingContext;
use crate::area::problem::micro_wh::as_kwh;
use crate::area::problem::options::WarmStart;
use crate::lp::LpError;
use crate::tolerance::{LIMIT_EXCESS_SHARE, SHORTFALL_TOLERANCE_KWH, SOLVER_ROUNDING};

/// Column generation on one level: oracle, master and the state between rounds.
pub(crate) struct ColumnGeneration<'a> {
    oracle: PricingOracle<'a>,
    master: RestrictedMaster<'a>,
    incumbent: Incumbent,
    solution: MasterSolution,
    /// Largest shortfall penalty per kWh of any vehicle.
    penalty_max: f64,
}

impl<'a> ColumnGeneration<'a> {
    /// Column generation before its first round. `money` is the cost of the area, to scale by, and
    /// `margin` the part of hard import limits to keep free.
    pub(crate) fn new(
        context: PricingContext<'a>,
        constraints: &'a LinkingConstraints,
        (money, margin): (f64, f64),
    ) -> Self {
        let oracle = PricingOracle::new(context, constraints);
        let energy = energy_scale(context.sessions.need_kwh(), constraints.slots());
        let highest_penalty = penalty_max(&context);
        let master = RestrictedMaster::new(
            constraints,
            oracle.nodes.clone(),
            (money, energy),
            (highest_penalty * ARTIFICIAL_PENALTY_START, margin),
        )
        .expect("a programme of empty rows is one that the solver takes");
        let incumbent = Incumbent::new(constraints.each.len() * constraints.slots());
        Self {
            oracle,
            master,
            incumbent,
            solution: MasterSolution::default(),
            penalty_max: highest_penalty,
        }
    }

    /// Runs the rounds of [`Solver::begin`].
    fn warm_start(
        &mut self,
        start: &WarmStart,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Result<Termination, LpError> {
        let free = vec![0.0; self.incumbent.best.len()];
        let earlier: Vec<Vec<f64>> =
            start.prices_for(free.len(), self.oracle.constraints).collect();
        self.iterate(free, executor)?;
        if self.solution.weights.is_empty() {
            // If the solver fails, the columns of the first round are the solution.
            self.solution.weights = vec![1.0; self.oracle.nodes.len()];
        }
        for (at, duals) in earlier.into_iter().enumerate() {
            self.iterate(duals, executor)?;
            self.solve()?;
            let progress = self.incumbent.progress(stopping.scale);
            if progress.gap <= stopping.gap * 0.1 || self.incumbent.prices.len() >= stopping.rounds
            {
                break;
            }
            if executor.stops(&progress) && at + 1 >= EARLIER_MIN {
                return Ok(Termination::Caller);
            }
        }
        self.solve()?;
        Ok(Termination::Gap)
    }

    /// Solves the pricing problems at `duals`, updates the bound, and adds the columns with a
    /// negative reduced cost. Returns true if there are any.
    fn iterate(&mut self, duals: Vec<f64>, executor: &mut Executor<'_>) -> Result<bool, LpError> {
        let round = self.incumbent.prices.len();
        let priced = self.oracle.solve(round, &duals, executor);
        let bound = self.oracle.bound_of(&duals, &priced);
        if bound > self.incumbent.bound {
            self.incumbent.bound = bound;
            self.incumbent.best.clone_from(&duals);
        }
        self.incumbent.prices.push(duals);
        let mut is_better = false;
        if round == 0 {
            // The first rows are those that the loads at zero duals violate.
            self.master.separate_rows(&priced.loads)?;
        }
        for column in priced.columns {
            if round == 0
                || self.master.has_negative_reduced_cost(
                    &column,
                    column.cost,
                    (&self.solution, SOLVER_ROUNDING),
                )
            {
                is_better = true;
                self.master.add(column)?;
            }
        }
        Ok(is_better)
    }

    /// Solves the master, adding rows for violated limits, until there are none. Sets the cost of
    /// the incumbent.
    fn solve(&mut self) -> Result<(), LpError> {
        for _ in 0..SEPARATION_ROUNDS_MAX {
            self.solution = self.master.solve()?;
            let loads = self.master.loads(&self.solution.weights);
            let columns = self.master.columns.iter().zip(&self.solution.weights);
            let value: f64 = columns.map(|(column, weight)| column.cost * weight).sum();
            self.incumbent.cost =
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
            && self.incumbent.gap(self.solution.cost, stopping.scale) <= GAP_WITH_ARTIFICIALS
    }

    /// Runs rounds until a stopping criterion is met or no column is new.
    fn run_to(
        &mut self,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Result<Termination, LpError> {
        let mut smoothing = DualSmoothing::default();
        loop {
            self.solve()?;
            let progress = self.incumbent.progress(stopping.scale);
            if let Some(termination) = stopping.termination(&progress, executor) {
                return Ok(termination);
            }
            let most = ARTIFICIAL_PENALTY_MAX * self.penalty_max;
            // A higher penalty changes the duals: solve the master again before pricing.
            if self.converges_to_artificials(stopping) && self.master.raise_artificial_penalty(most)
            {
                continue;
            }
            let duals = smoothing.separation_point(&self.incumbent.best, &self.solution.duals);
            let before = self.incumbent.bound;
            let is_new = self.iterate(duals, executor)?;
            let is_done = smoothing.update(is_new, self.incumbent.bound > before);
            // Without a new column at unsmoothed duals, only a higher penalty changes the duals.
            if is_done
                && (!self.solution.uses_artificials || !self.master.raise_artificial_penalty(most))
            {
                return Ok(Termination::Stalled);
            }
        }
    }
}

impl Solver for ColumnGeneration<'_> {
    /// Runs a round at zero duals, then at those of an earlier plan if they fit: the best ones
    /// first, then those with the largest weights, until the gap is a tenth of the requested one.
    fn begin(
        &mut self,
        start: &WarmStart,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Termination {
        let begun = self.warm_start(start, stopping, executor);
        executor.note_failure(begun)
    }

    fn run(&mut self, stopping: StoppingCriteria, executor: &mut Executor<'_>) -> Termination {
        let termination = self.run_to(stopping, executor);
        executor.note_failure(termination)
    }

    fn incumbent(&self) -> &Incumbent {
        &self.incumbent
    }

    fn into_incumbent(self: Box<Self>) -> Incumbent {
        self.incumbent
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

/// Gives the column of round 0 to groups that a failed solution left without any.
pub(crate) fn fill_gaps(shares: &mut [ColumnWeights]) {
    shares.iter_mut().filter(|shares| shares.is_empty()).for_each(|shares| shares.push((0, 1.0)));
}
