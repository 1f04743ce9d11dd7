//! Rounds of asking vehicles and mixing their answers (Dantzig and Wolfe).
//!
//! Each round puts prices on limits, asks every vehicle what it would buy, and
//! gives the sums to the master programme, which says what the limits should
//! cost. Prices are drawn towards the best ones so far, by which they
//! settle. Any prices at all give a bound on the cost of every plan; the best
//! bound is the proof of how good the mix is.
use crate::area::asked::Asked;
use crate::area::coordinate::AreaState;
use crate::area::grains::as_kwh;
use crate::area::hear::Ear;
use crate::area::master::{Master, Mix};
use crate::area::settle::Shares;
use crate::area::staff::Staff;
use crate::area::terms::Terms;
use crate::area::watch::Progress;
use crate::lp::LpError;

/// How far prices are drawn towards the best so far, at first and at most.
const SMOOTHING: f64 = 0.7;

/// The first price on what exceeds hard limits, in proportion to the dearest kWh,
/// and the last.
pub(crate) const BEYOND: f64 = 0.25;
pub(crate) const BEYOND_MAX: f64 = 4.0;

/// Times that a programme is solved anew for limits that were not in it.
pub(crate) const ACTIVATIONS: usize = 20;

/// What an answer must at least be cheaper by to be new, in proportion to its cost.
pub(crate) const ROUNDING: f64 = 1e-9;

/// Part of a limit by which a mix may exceed it: rounding of the solver.
pub(crate) const TOLERANCE: f64 = 1e-7;

/// Most rounds whose prices are kept for the next plan.
const ROUNDS_KEPT: usize = 40;

/// Earlier prices that are asked for even where somebody waits: without them the
/// mix is far beyond its limits, and takes longer to be brought within.
const EARLIER_MIN: usize = 8;

/// Gap to a mix that exceeds hard limits at which exceeding them gets dearer.
/// Half as many rounds as when there is nothing left to find; from 0.1 % to 5 %
/// it makes no difference.
pub(crate) const GAP_BEYOND: f64 = 0.02;

/// Why the rounds ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
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
pub(crate) struct Until {
    pub(crate) gap: f64,
    pub(crate) rounds: usize,
    /// The least that a gap is taken in proportion to.
    pub(crate) scale: f64,
}

impl Until {
    /// Why to end here, if there is a reason.
    pub(crate) fn reached(&self, progress: &Progress, staff: &mut Staff<'_>) -> Option<Ended> {
        if progress.gap <= self.gap {
            Some(Ended::Gap)
        } else if progress.round >= self.rounds {
            Some(Ended::Rounds)
        } else {
            staff.stops(progress).then_some(Ended::Caller)
        }
    }
}

/// How far prices are drawn towards the best so far (Wentges).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace(f64);

impl Default for Pace {
    fn default() -> Self {
        Self(SMOOTHING)
    }
}

impl Pace {
    /// The next prices to ask at.
    pub(crate) fn draw(self, best: &[f64], newest: &[f64]) -> Vec<f64> {
        let drawn = best.iter().zip(newest);
        drawn.map(|(best, newest)| self.0 * best + (1.0 - self.0) * newest).collect()
    }

    /// Learns from a round; tells whether there is nothing left to ask.
    pub(crate) fn learn(&mut self, is_new: bool, is_better: bool) -> bool {
        let Self(smoothing) = *self;
        let is_done = !is_new && smoothing <= 0.0;
        self.0 = match (is_new, is_better) {
            // A better bound says that the step may be longer.
            (true, true) => smoothing * 0.8,
            (true, false) => 0.3 * SMOOTHING + 0.7 * smoothing,
            // Nothing new between the two prices: ask at the new ones themselves.
            (false, _) => {
                if smoothing > 0.5 {
                    0.4
                } else {
                    0.0
                }
            }
        };
        is_done
    }
}

/// What rounds came to so far.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Prices of each round, term by term and slot by slot.
    pub(crate) prices: Vec<Vec<f64>>,
    /// The prices with the best bound.
    pub(crate) best: Vec<f64>,
    pub(crate) bound: f64,
    /// Cost of the best mix; infinite before there is one within the limits.
    pub(crate) cost: f64,
}

impl Found {
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
    pub(crate) fn state(&self, shares: &[Shares]) -> AreaState {
        let mut weights = vec![0.0; self.prices.len()];
        for &(round, weight) in shares.iter().flatten() {
            weights[round] += weight;
        }
        let mut rounds: Vec<usize> = (1..self.prices.len()).collect();
        rounds.retain(|&round| weights[round] > 0.0);
        rounds.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
        rounds.truncate(ROUNDS_KEPT);
        let rounds_per_kwh = rounds.into_iter().map(|round| self.prices[round].clone()).collect();
        AreaState { duals_per_kwh: self.best.clone(), rounds_per_kwh }
    }
}

/// A way to find prices and a mix of answers.
pub(crate) trait Search {
    /// Asks at no prices, and at those of an earlier plan if they fit.
    fn begin(&mut self, start: &AreaState, until: Until, staff: &mut Staff<'_>) -> Ended;

    /// Goes on until there is reason to end. Should the solver give up, what
    /// was found until then stands.
    fn run(&mut self, until: Until, staff: &mut Staff<'_>) -> Ended;

    fn found(&self) -> &Found;

    fn into_found(self: Box<Self>) -> Found;

    /// The rounds that each group draws from, with their weights.
    fn shares(&self) -> Vec<Shares>;

    /// Whether the mix itself leaves need unmet.
    fn sheds(&self) -> bool;
}

/// The state between rounds of one master programme.
pub(crate) struct Rounds<'a> {
    ear: Ear<'a>,
    master: Master<'a>,
    found: Found,
    mix: Mix,
    /// The most that a kWh is worth to any vehicle.
    dearest: f64,
}

impl<'a> Rounds<'a> {
    pub(crate) fn new(asked: Asked<'a>, terms: &'a Terms, (money, margin): (f64, f64)) -> Self {
        let ear = Ear::new(asked, terms);
        let energy = energy_scale(asked.stays.need_kwh(), terms.slots());
        let dearest = dearest(&asked);
        let master =
            Master::new(terms, ear.nodes.clone(), (money, energy), (dearest * BEYOND, margin))
                .expect("a programme of empty rows is one that the solver takes");
        let found = Found::new(terms.each.len() * terms.slots());
        Self { ear, master, found, mix: Mix::default(), dearest }
    }

    fn try_begin(
        &mut self,
        start: &AreaState,
        until: Until,
        staff: &mut Staff<'_>,
    ) -> Result<Ended, LpError> {
        let free = vec![0.0; self.found.best.len()];
        let earlier: Vec<Vec<f64>> = start.prices_for(free.len(), self.ear.terms).collect();
        self.round(free, staff)?;
        if self.mix.weights.is_empty() {
            // Whatever happens, there is a mix: all of the first answers.
            self.mix.weights = vec![1.0; self.ear.nodes.len()];
        }
        for (at, duals) in earlier.into_iter().enumerate() {
            self.round(duals, staff)?;
            self.solve()?;
            let progress = self.found.progress(until.scale);
            if progress.gap <= until.gap * 0.1 || self.found.prices.len() >= until.rounds {
                break;
            }
            if staff.stops(&progress) && at + 1 >= EARLIER_MIN {
                return Ok(Ended::Caller);
            }
        }
        self.solve()?;
        Ok(Ended::Gap)
    }

    /// Asks at some prices, and keeps what is new.
    fn round(&mut self, duals: Vec<f64>, staff: &mut Staff<'_>) -> Result<bool, LpError> {
        let round = self.found.prices.len();
        let heard = self.ear.hear(round, &duals, staff);
        let bound = self.ear.bound_of(&duals, &heard);
        if bound > self.found.bound {
            self.found.bound = bound;
            self.found.best.clone_from(&duals);
        }
        self.found.prices.push(duals);
        let mut is_better = false;
        if round == 0 {
            self.master.activate(&heard.loads)?;
        }
        for reply in heard.replies {
            if round == 0 || self.master.improves(&reply, reply.value, (&self.mix, ROUNDING)) {
                is_better = true;
                self.master.add(reply)?;
            }
        }
        Ok(is_better)
    }

    /// Solves the master programme until no limit is violated unseen.
    fn solve(&mut self) -> Result<(), LpError> {
        for _ in 0..ACTIVATIONS {
            self.mix = self.master.solve()?;
            let loads = self.master.loads(&self.mix.weights);
            let replies = self.master.replies.iter().zip(&self.mix.weights);
            let value: f64 = replies.map(|(reply, weight)| reply.value * weight).sum();
            self.found.cost = value + self.ear.terms.cost_of_limits(&loads, TOLERANCE);
            if !self.master.activate(&loads)? {
                break;
            }
        }
        Ok(())
    }

    /// Whether the rounds near an optimum that exceeds hard limits: what they
    /// find from there on is thrown away once exceeding them gets dearer.
    fn is_beyond_for_good(&self, until: Until) -> bool {
        self.mix.is_beyond && self.found.gap(self.mix.cost, until.scale) <= GAP_BEYOND
    }

    fn go_on(&mut self, until: Until, staff: &mut Staff<'_>) -> Result<Ended, LpError> {
        let mut pace = Pace::default();
        loop {
            self.solve()?;
            let progress = self.found.progress(until.scale);
            if let Some(ended) = until.reached(&progress, staff) {
                return Ok(ended);
            }
            let most = BEYOND_MAX * self.dearest;
            if self.is_beyond_for_good(until) && self.master.raise_beyond(most) {
                continue;
            }
            let duals = pace.draw(&self.found.best, &self.mix.duals);
            let before = self.found.bound;
            let is_new = self.round(duals, staff)?;
            let is_done = pace.learn(is_new, self.found.bound > before);
            if is_done && (!self.mix.is_beyond || !self.master.raise_beyond(most)) {
                return Ok(Ended::Stalled);
            }
        }
    }
}

impl Search for Rounds<'_> {
    /// Asks at no prices, and at those of an earlier plan if they fit: the best
    /// ones first, then those that weighed most, until the gap is small enough.
    fn begin(&mut self, start: &AreaState, until: Until, staff: &mut Staff<'_>) -> Ended {
        let begun = self.try_begin(start, until, staff);
        staff.note_failure(begun)
    }

    fn run(&mut self, until: Until, staff: &mut Staff<'_>) -> Ended {
        let ended = self.go_on(until, staff);
        staff.note_failure(ended)
    }

    fn found(&self) -> &Found {
        &self.found
    }

    fn into_found(self: Box<Self>) -> Found {
        self.found
    }

    fn shares(&self) -> Vec<Shares> {
        let mut shares = vec![Shares::new(); self.ear.nodes.len()];
        for (reply, &weight) in self.master.replies.iter().zip(&self.mix.weights) {
            if weight > 0.0 {
                shares[reply.group].push((reply.round, weight));
            }
        }
        fill_gaps(&mut shares);
        shares
    }

    fn sheds(&self) -> bool {
        let replies = self.master.replies.iter().zip(&self.mix.weights);
        replies.map(|(reply, weight)| as_kwh(reply.shed) * weight).sum::<f64>() > 1e-6
    }
}

/// Gives groups that a failed programme left without a mix the first answer.
pub(crate) fn fill_gaps(shares: &mut [Shares]) {
    shares.iter_mut().filter(|shares| shares.is_empty()).for_each(|shares| shares.push((0, 1.0)));
}

/// Energy of a slot that counts as little, of a need spread over all of them.
pub(crate) fn energy_scale(need_kwh: f64, slots: usize) -> f64 {
    (need_kwh / slots.max(1) as f64 * 0.01).max(1e-6)
}

/// The most that a kWh is worth to any vehicle.
pub(crate) fn dearest(asked: &Asked<'_>) -> f64 {
    asked.worth.of(asked.worth.tiers - 1, 1.0).max(1e-6)
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
