//! State of a column generation (best bound, its duals, cost) and the criteria that end it.
//!
//! With `C` the cost of the master solution, `D` the best Lagrangian bound and `U` a scale, the
//! cost of unmanaged charging for an area as a whole:
//!
//! ```text
//! gap = max(0, C - D) / max(|D|, |U|)
//! ```
//!
//! | Symbol | Code |
//! |---|---|
//! | `C` | [`SearchState::cost`] |
//! | `D` | [`SearchState::bound`], proved by the duals [`SearchState::best_duals`] |
//! | `U` | [`StoppingCriteria::scale`] |
//! | gap | [`relative_gap`] |
use crate::area::distributed::executor::Executor;
use crate::area::distributed::observer::Progress;
use crate::area::model::energy_by_slot::ColumnWeights;
use crate::area::model::linking::LinkingConstraints;
use crate::area::pricing::context::PricingContext;
use crate::area::problem::options::WarmStart;
use crate::lp::LpError;
use crate::tolerance::{PENALTY_MIN, SHORTFALL_TOLERANCE_KWH};

impl WarmStart {
    /// Dual vectors of an earlier plan that fit a problem with `dual_count` duals (limits times
    /// slots).
    ///
    /// The vector with the best bound comes first, then those of the rounds kept. Each is clamped
    /// to duals that prove a finite bound.
    pub(crate) fn warm_duals(
        &self,
        dual_count: usize,
        constraints: &LinkingConstraints,
    ) -> impl Iterator<Item = Vec<f64>> {
        let fits = move |duals: &&Vec<f64>| {
            dual_count > 0 && duals.len() == dual_count && duals.iter().all(|dual| dual.is_finite())
        };
        // The best duals may also be those of a round that was kept: they are priced once.
        let others = self.rounds_per_kwh.iter().filter(|duals| **duals != self.duals_per_kwh);
        std::iter::once(&self.duals_per_kwh).chain(others).filter(fits).map(move |duals| {
            let mut duals = duals.clone();
            constraints.clamp(&mut duals);
            duals
        })
    }
}

/// Penalty per kWh above a hard limit at the start, as a multiple of [`shortfall_penalty_max`].
pub(crate) const ARTIFICIAL_PENALTY_START: f64 = 0.25;

/// Upper bound on the penalty per kWh above a hard limit, as a multiple of
/// [`shortfall_penalty_max`].
pub(crate) const ARTIFICIAL_PENALTY_MAX: f64 = 4.0;

/// Upper bound on solutions of one master in a row, each after rows for violated limits were added.
pub(crate) const SEPARATION_ROUNDS_MAX: usize = 20;

/// Upper bound on the rounds whose duals are kept for the next plan.
///
/// A basic solution of the master has few columns per group, so most rounds weigh nothing, and the
/// rounds with the smallest weights are left out. Each kept round is a vector of duals in the
/// saved plan, and a pricing round of all vehicles in the next search. Not tuned.
const ROUNDS_KEPT: usize = 40;

/// Pricing rounds at duals of an earlier plan that are run even if the caller asked to stop.
/// Without them the master solution is far above its limits, and its repair takes longer.
pub(crate) const EARLIER_MIN: usize = 8;

/// Gap at which the penalty on energy above hard limits is raised, if the master solution has any.
///
/// This takes half as many rounds as raising it only when no new column is left. Values from 0.1 %
/// to 5 % make no difference.
pub(crate) const GAP_WITH_ARTIFICIALS: f64 = 0.02;

/// Reason that a column generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Termination {
    /// The requested gap is reached.
    Gap,
    /// The maximum number of rounds is reached.
    Rounds,
    /// The caller asked to stop.
    Caller,
    /// No new column has a negative reduced cost: the optimum of the master up to rounding.
    Stalled,
    /// The solver failed; the state up to then stands.
    Failed,
}

/// Criteria that end a column generation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoppingCriteria {
    /// Relative gap to reach; 1e-3 is 0.1 %.
    pub(crate) gap: f64,
    /// Upper bound on the pricing rounds.
    pub(crate) rounds_max: usize,
    /// Lower bound on the amount of money that the gap is relative to.
    pub(crate) scale: f64,
}

impl StoppingCriteria {
    /// Reason to end now, if there is one. Calls the observer if gap and rounds give none.
    pub(crate) fn termination(
        &self,
        progress: &Progress,
        executor: &mut Executor<'_>,
    ) -> Option<Termination> {
        if progress.gap <= self.gap {
            Some(Termination::Gap)
        } else if progress.round >= self.rounds_max {
            Some(Termination::Rounds)
        } else {
            executor.stops(progress).then_some(Termination::Caller)
        }
    }
}

/// Best bound and current cost of a column generation, and the duals of its rounds.
#[derive(Debug, Default)]
pub(crate) struct SearchState {
    /// Duals of each pricing round per kWh, by limit and slot.
    pub(crate) duals_by_round: Vec<Vec<f64>>,
    /// Duals that prove `bound`.
    pub(crate) best_duals: Vec<f64>,
    /// Best Lagrangian bound so far; negative infinity before the first round.
    pub(crate) bound: f64,
    /// Cost of the master solution; infinite while it exceeds a hard limit.
    pub(crate) cost: f64,
}

impl SearchState {
    /// State before the first round, for `dual_count` duals (limits times slots).
    pub(crate) fn new(dual_count: usize) -> Self {
        let best_duals = vec![0.0; dual_count];
        Self {
            duals_by_round: Vec::new(),
            best_duals,
            bound: f64::NEG_INFINITY,
            cost: f64::INFINITY,
        }
    }

    /// Gap of `cost` to the best bound, see [`relative_gap`].
    pub(crate) fn gap(&self, cost: f64, scale: f64) -> f64 {
        relative_gap(cost, self.bound, scale)
    }

    /// Progress as the observer sees it.
    pub(crate) fn progress(&self, scale: f64) -> Progress {
        let (round, cost, bound) = (self.duals_by_round.len(), self.cost, self.bound);
        Progress { round, cost, bound, gap: self.gap(cost, scale) }
    }

    /// Warm start for the next plan of the same or a similar area: the duals of the best bound,
    /// and those of the rounds with the largest weights in the master solution.
    pub(crate) fn warm_start(&self, shares: &[ColumnWeights]) -> WarmStart {
        let mut weights = vec![0.0; self.duals_by_round.len()];
        for &(round, weight) in shares.iter().flatten() {
            weights[round] += weight;
        }
        // Every search begins with round 0, at zero duals, so it need not be kept.
        let mut rounds: Vec<usize> = (1..self.duals_by_round.len()).collect();
        rounds.retain(|&round| weights[round] > 0.0);
        rounds.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
        rounds.truncate(ROUNDS_KEPT);
        let rounds_per_kwh =
            rounds.into_iter().map(|round| self.duals_by_round[round].clone()).collect();
        WarmStart { duals_per_kwh: self.best_duals.clone(), rounds_per_kwh }
    }
}

/// Master solution from which plans are recovered.
pub(crate) struct ColumnMix<'a> {
    /// Bound, and duals of the rounds.
    pub(crate) state: &'a SearchState,
    /// Rounds and weights of each group.
    pub(crate) weights: Vec<ColumnWeights>,
    /// True if the solution itself has a shortfall.
    pub(crate) has_shortfall: bool,
}

/// Column generation on one level or on two.
pub(crate) trait ColumnGeneration {
    /// Runs the first pricing rounds: at zero duals, then at those of an earlier plan if they fit.
    /// Returns [`Termination::Gap`] if [`run`](Self::run) may follow, whatever the gap is.
    fn begin(
        &mut self,
        start: &WarmStart,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Termination;

    /// Runs pricing rounds until a stopping criterion is met. If the solver fails, the state up to
    /// then stands.
    fn run(&mut self, stopping: StoppingCriteria, executor: &mut Executor<'_>) -> Termination;

    /// State of the search so far.
    fn state(&self) -> &SearchState;

    /// State of the ended search.
    fn into_state(self: Box<Self>) -> SearchState;

    /// Rounds and weights of each group in the master solution.
    fn weights(&self) -> Vec<ColumnWeights>;

    /// Returns true if the master solution itself has a shortfall.
    fn has_shortfall(&self) -> bool;

    /// Master solution from which plans are recovered.
    fn mix(&self) -> ColumnMix<'_> {
        ColumnMix {
            state: self.state(),
            weights: self.weights(),
            has_shortfall: self.has_shortfall(),
        }
    }
}

/// Least energy in kWh by which a row of the master is scaled: 1 % of the need divided evenly
/// among the slots.
pub(crate) fn energy_scale(need_kwh: f64, slots: usize) -> f64 {
    (need_kwh / slots.max(1) as f64 * 0.01).max(SHORTFALL_TOLERANCE_KWH)
}

/// Largest shortfall penalty per kWh: that of the last tier at priority 1.
pub(crate) fn shortfall_penalty_max(context: &PricingContext<'_>) -> f64 {
    context.penalty.of_tier(context.penalty.tiers - 1, 1.0).max(PENALTY_MIN)
}

/// Gap of a cost to a bound, relative to the larger of |bound| and |scale|; infinite if cost or
/// bound is.
pub(crate) fn relative_gap(cost: f64, bound: f64, scale: f64) -> f64 {
    // An infinite bound proves nothing.
    if !cost.is_finite() || !bound.is_finite() {
        return f64::INFINITY;
    }
    // By rounding, a bound may exceed the cost of an optimal solution.
    let gap = (cost - bound).max(0.0);
    let scale = bound.abs().max(scale.abs());
    if gap <= 0.0 { 0.0 } else { gap / scale.max(f64::MIN_POSITIVE) }
}

impl Executor<'_> {
    /// Records a failure of the solver, and returns the reason that the search ended.
    pub(crate) fn note_failure(
        &mut self,
        termination: Result<Termination, LpError>,
    ) -> Termination {
        self.note_error(termination).unwrap_or(Termination::Failed)
    }
}
