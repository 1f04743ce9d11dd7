//! Rounds of asking vehicles and mixing their answers (Dantzig and Wolfe).
//!
//! Each round puts prices on limits, asks every vehicle what it would buy, and
//! gives the sums to the master programme, which says what the limits should
//! cost. Prices are drawn towards the best ones so far, by which they
//! settle. Any prices at all give a bound on the cost of every plan; the best
//! bound is the proof of how good the mix is.
use crate::area::column_generation::incumbent::{
    ACTIVATIONS, BEYOND, BEYOND_MAX, EARLIER_MIN, Ended, Found, GAP_BEYOND, ROUNDING, Search,
    TOLERANCE, Until, dearest, energy_scale,
};
use crate::area::column_generation::master::{Master, Mix};
use crate::area::column_generation::pricing_round::Ear;
use crate::area::column_generation::smoothing::Pace;
use crate::area::distributed::executor::Staff;
use crate::area::model::energy_by_slot::Shares;
use crate::area::model::linking::Terms;
use crate::area::pricing::context::Asked;
use crate::area::problem::micro_wh::as_kwh;
use crate::area::problem::options::AreaState;
use crate::lp::LpError;

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
