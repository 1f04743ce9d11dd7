//! Rounds of asking vehicles and mixing their answers (Dantzig and Wolfe).
//!
//! Each round puts prices on limits, asks every vehicle what it would buy, and
//! gives the sums to the master programme, which says what the limits should
//! cost. Prices are drawn towards the best ones so far, by which they
//! settle. Any prices at all give a bound on the cost of every plan; the best
//! bound is the proof of how good the mix is.
use crate::area::column_generation::incumbent::{
    ARTIFICIAL_PENALTY_MAX, ARTIFICIAL_PENALTY_START, EARLIER_MIN, GAP_WITH_ARTIFICIALS, Incumbent,
    ROUNDING, SEPARATION_ROUNDS_MAX, Solver, StoppingCriteria, TOLERANCE, Termination,
    energy_scale, penalty_max,
};
use crate::area::column_generation::master::{MasterSolution, RestrictedMaster};
use crate::area::column_generation::pricing_round::PricingOracle;
use crate::area::column_generation::smoothing::DualSmoothing;
use crate::area::distributed::executor::Executor;
use crate::area::model::energy_by_slot::ColumnWeights;
use crate::area::model::linking::LinkingConstraints;
use crate::area::pricing::context::PricingContext;
use crate::area::problem::micro_wh::as_kwh;
use crate::area::problem::options::WarmStart;
use crate::lp::LpError;

/// The state between rounds of one master programme.
pub(crate) struct ColumnGeneration<'a> {
    oracle: PricingOracle<'a>,
    master: RestrictedMaster<'a>,
    incumbent: Incumbent,
    solution: MasterSolution,
    /// The most that a kWh is worth to any vehicle.
    penalty_max: f64,
}

impl<'a> ColumnGeneration<'a> {
    pub(crate) fn new(
        context: PricingContext<'a>,
        constraints: &'a LinkingConstraints,
        (money, margin): (f64, f64),
    ) -> Self {
        let oracle = PricingOracle::new(context, constraints);
        let energy = energy_scale(context.sessions.need_kwh(), constraints.slots());
        let dearest = penalty_max(&context);
        let master = RestrictedMaster::new(
            constraints,
            oracle.nodes.clone(),
            (money, energy),
            (dearest * ARTIFICIAL_PENALTY_START, margin),
        )
        .expect("a programme of empty rows is one that the solver takes");
        let incumbent = Incumbent::new(constraints.each.len() * constraints.slots());
        Self {
            oracle,
            master,
            incumbent,
            solution: MasterSolution::default(),
            penalty_max: dearest,
        }
    }

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
            // Whatever happens, there is a mix: all of the first answers.
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

    /// Asks at some prices, and keeps what is new.
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
            self.master.separate_rows(&priced.loads)?;
        }
        for column in priced.columns {
            if round == 0
                || self.master.has_negative_reduced_cost(
                    &column,
                    column.cost,
                    (&self.solution, ROUNDING),
                )
            {
                is_better = true;
                self.master.add(column)?;
            }
        }
        Ok(is_better)
    }

    /// Solves the master programme until no limit is violated unseen.
    fn solve(&mut self) -> Result<(), LpError> {
        for _ in 0..SEPARATION_ROUNDS_MAX {
            self.solution = self.master.solve()?;
            let loads = self.master.loads(&self.solution.weights);
            let columns = self.master.columns.iter().zip(&self.solution.weights);
            let value: f64 = columns.map(|(column, weight)| column.cost * weight).sum();
            self.incumbent.cost = value + self.oracle.constraints.cost_of_limits(&loads, TOLERANCE);
            if !self.master.separate_rows(&loads)? {
                break;
            }
        }
        Ok(())
    }

    /// Whether the rounds near an optimum that exceeds hard limits: what they
    /// find from there on is thrown away once exceeding them gets dearer.
    fn is_beyond_for_good(&self, stopping: StoppingCriteria) -> bool {
        self.solution.uses_artificials
            && self.incumbent.gap(self.solution.cost, stopping.scale) <= GAP_WITH_ARTIFICIALS
    }

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
            if self.is_beyond_for_good(stopping) && self.master.raise_artificial_penalty(most) {
                continue;
            }
            let duals = smoothing.separation_point(&self.incumbent.best, &self.solution.duals);
            let before = self.incumbent.bound;
            let is_new = self.iterate(duals, executor)?;
            let is_done = smoothing.update(is_new, self.incumbent.bound > before);
            if is_done
                && (!self.solution.uses_artificials || !self.master.raise_artificial_penalty(most))
            {
                return Ok(Termination::Stalled);
            }
        }
    }
}

impl Solver for ColumnGeneration<'_> {
    /// Asks at no prices, and at those of an earlier plan if they fit: the best
    /// ones first, then those that weighed most, until the gap is small enough.
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
        columns.map(|(column, weight)| as_kwh(column.shortfall) * weight).sum::<f64>() > 1e-6
    }
}

/// Gives groups that a failed programme left without a mix the first answer.
pub(crate) fn fill_gaps(shares: &mut [ColumnWeights]) {
    shares.iter_mut().filter(|shares| shares.is_empty()).for_each(|shares| shares.push((0, 1.0)));
}
