//! Best bound, duals and cost of a column generation, and when it ends.
use crate::area::distributed::executor::Executor;
use crate::area::distributed::observer::Progress;
use crate::area::model::energy_by_slot::ColumnWeights;
use crate::area::model::linking::LinkingConstraints;
use crate::area::pricing::context::PricingContext;
use crate::area::problem::options::WarmStart;
use crate::lp::LpError;

impl WarmStart {
    /// The prices that a problem of so many limits and slots can begin with, the
    /// last ones first, each brought into the range of what its limit allows.
    pub(crate) fn prices_for(
        &self,
        cells: usize,
        constraints: &LinkingConstraints,
    ) -> impl Iterator<Item = Vec<f64>> {
        let fits = move |duals: &&Vec<f64>| {
            cells > 0 && duals.len() == cells && duals.iter().all(|dual| dual.is_finite())
        };
        let others = self.rounds_per_kwh.iter().filter(|duals| **duals != self.duals_per_kwh);
        std::iter::once(&self.duals_per_kwh).chain(others).filter(fits).map(move |duals| {
            let mut duals = duals.clone();
            constraints.clamp(&mut duals);
            duals
        })
    }
}

/// The first price on what exceeds hard limits, in proportion to the dearest kWh,
/// and the last.
pub(crate) const ARTIFICIAL_PENALTY_START: f64 = 0.25;

pub(crate) const ARTIFICIAL_PENALTY_MAX: f64 = 4.0;

/// Times that a programme is solved anew for limits that were not in it.
pub(crate) const SEPARATION_ROUNDS_MAX: usize = 20;

/// What an answer must at least be cheaper by to be new, in proportion to its cost.
pub(crate) const ROUNDING: f64 = 1e-9;

/// Part of a limit by which a mix may exceed it: rounding of the solver.
pub(crate) const TOLERANCE: f64 = 1e-7;

/// Most rounds whose prices are kept for the next plan.
const ROUNDS_KEPT: usize = 40;

/// Earlier prices that are asked for even where somebody waits: without them the
/// mix is far beyond its limits, and takes longer to be brought within.
pub(crate) const EARLIER_MIN: usize = 8;

/// Gap to a mix that exceeds hard limits at which exceeding them gets dearer.
/// Half as many rounds as when there is nothing left to find; from 0.1 % to 5 %
/// it makes no difference.
pub(crate) const GAP_WITH_ARTIFICIALS: f64 = 0.02;

/// Why the rounds ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Termination {
    /// The gap is small enough.
    Gap,
    /// There were as many rounds as allowed.
    Rounds,
    /// The caller said so.
    Caller,
    /// No prices improve anything: the optimum up to rounding.
    Stalled,
    /// The solver failed; what was found until then stands.
    Failed,
}

/// When to end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoppingCriteria {
    pub(crate) gap: f64,
    pub(crate) rounds: usize,
    /// The least that a gap is taken in proportion to.
    pub(crate) scale: f64,
}

impl StoppingCriteria {
    /// Why to end here, if there is a reason.
    pub(crate) fn termination(
        &self,
        progress: &Progress,
        executor: &mut Executor<'_>,
    ) -> Option<Termination> {
        if progress.gap <= self.gap {
            Some(Termination::Gap)
        } else if progress.round >= self.rounds {
            Some(Termination::Rounds)
        } else {
            executor.stops(progress).then_some(Termination::Caller)
        }
    }
}

/// What rounds came to so far.
#[derive(Debug, Default)]
pub(crate) struct Incumbent {
    /// Prices of each round, term by term and slot by slot.
    pub(crate) prices: Vec<Vec<f64>>,
    /// The prices with the best bound.
    pub(crate) best: Vec<f64>,
    pub(crate) bound: f64,
    /// Cost of the best mix; infinite before there is one within the limits.
    pub(crate) cost: f64,
}

impl Incumbent {
    pub(crate) fn new(cells: usize) -> Self {
        let best = vec![0.0; cells];
        Self { prices: Vec::new(), best, bound: f64::NEG_INFINITY, cost: f64::INFINITY }
    }

    pub(crate) fn gap(&self, cost: f64, scale: f64) -> f64 {
        relative_gap(cost, self.bound, scale)
    }

    pub(crate) fn progress(&self, scale: f64) -> Progress {
        let (round, cost, bound) = (self.prices.len(), self.cost, self.bound);
        Progress { round, cost, bound, gap: self.gap(cost, scale) }
    }

    /// What helps to plan the same area, or one like it, again: the best
    /// prices, and those of the rounds with the most weight in the mix.
    pub(crate) fn state(&self, shares: &[ColumnWeights]) -> WarmStart {
        let mut weights = vec![0.0; self.prices.len()];
        for &(round, weight) in shares.iter().flatten() {
            weights[round] += weight;
        }
        let mut rounds: Vec<usize> = (1..self.prices.len()).collect();
        rounds.retain(|&round| weights[round] > 0.0);
        rounds.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
        rounds.truncate(ROUNDS_KEPT);
        let rounds_per_kwh = rounds.into_iter().map(|round| self.prices[round].clone()).collect();
        WarmStart { duals_per_kwh: self.best.clone(), rounds_per_kwh }
    }
}

/// A way to find prices and a mix of answers.
pub(crate) trait Solver {
    /// Asks at no prices, and at those of an earlier plan if they fit.
    fn begin(
        &mut self,
        start: &WarmStart,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Termination;

    /// Goes on until there is reason to end. Should the solver give up, what
    /// was found until then stands.
    fn run(&mut self, stopping: StoppingCriteria, executor: &mut Executor<'_>) -> Termination;

    fn incumbent(&self) -> &Incumbent;

    fn into_incumbent(self: Box<Self>) -> Incumbent;

    /// The rounds that each group draws from, with their weights.
    fn weights(&self) -> Vec<ColumnWeights>;

    /// Whether the mix itself leaves need unmet.
    fn has_shortfall(&self) -> bool;
}

/// Energy of a slot that counts as little, of a need spread over all of them.
pub(crate) fn energy_scale(need_kwh: f64, slots: usize) -> f64 {
    (need_kwh / slots.max(1) as f64 * 0.01).max(1e-6)
}

/// The most that a kWh is worth to any vehicle.
pub(crate) fn penalty_max(context: &PricingContext<'_>) -> f64 {
    context.penalty.of_tier(context.penalty.tiers - 1, 1.0).max(1e-6)
}

/// How far a cost is from its bound, in proportion to the larger of bound and scale.
pub(crate) fn relative_gap(cost: f64, bound: f64, scale: f64) -> f64 {
    // A bound that is infinite proves nothing.
    if !cost.is_finite() || !bound.is_finite() {
        return f64::INFINITY;
    }
    let gap = (cost - bound).max(0.0);
    let scale = bound.abs().max(scale.abs());
    if gap <= 0.0 { 0.0 } else { gap / scale.max(f64::MIN_POSITIVE) }
}

impl Executor<'_> {
    /// Takes note of a failure of the solver, and tells how a search ended.
    pub(crate) fn note_failure(
        &mut self,
        termination: Result<Termination, LpError>,
    ) -> Termination {
        self.note_error(termination).unwrap_or(Termination::Failed)
    }
}
