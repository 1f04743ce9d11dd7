//! A branch of an area: its own master programme, at prices that come from above.
use crate::area::column_generation::incumbent::ACTIVATIONS;
use crate::area::column_generation::master::{Master, Mix, Reply, WEIGHT_MIN};
use crate::area::column_generation::pricing_round::{Ear, Heard};
use crate::area::column_generation::smoothing::Pace;
use crate::area::column_generation::subtree::Twig;
use crate::area::model::linking::Kind;
use crate::area::problem::micro_wh::as_kwh;
use crate::lp::LpError;

/// Gap of a branch at which exceeding its limits gets dearer.
const OPEN_BEYOND: f64 = 0.1;

/// One branch at the present wide prices.
pub(crate) struct Branch<'a> {
    pub(crate) twig: &'a Twig,
    master: Master<'a>,
    pub(crate) mix: Mix,
    /// For each of its groups, which of the limited nodes are inside, and where
    /// the load of the top node stands among these.
    inside: Vec<(Vec<usize>, usize)>,
    /// What wide limits add to the price of each slot.
    added: Vec<f64>,
    /// Prices that prove most, and what they prove at the present wide prices.
    pub(crate) best: Vec<f64>,
    pub(crate) proved: f64,
    /// Prices of the round under way.
    pub(crate) trial: Vec<f64>,
    pub(crate) pace: Pace,
    pub(crate) is_done: bool,
    /// Whether anything is new since the programme was solved.
    is_stale: bool,
}

/// What a bundle of branches offers to the wide programme.
pub(crate) struct Offer {
    /// Groups, rounds and weights that it is made of.
    pub(crate) from: Vec<(usize, usize, f64)>,
    pub(crate) shed_kwh: f64,
    pub(crate) is_beyond: bool,
}

impl<'a> Branch<'a> {
    pub(crate) fn new(
        ear: &Ear<'a>,
        twig: &'a Twig,
        scales: (f64, f64),
        beyond: (f64, f64),
    ) -> Self {
        let inside = |&group: &usize| {
            let nodes = &ear.nodes[group];
            let kept: Vec<usize> = (0..nodes.len()).filter(|&at| twig.has(nodes[at])).collect();
            let top = kept.iter().position(|&at| nodes[at] == twig.top);
            (kept, top.expect("a branch has its top node"))
        };
        let inside: Vec<(Vec<usize>, usize)> = twig.groups.iter().map(inside).collect();
        let nodes = twig.groups.iter().zip(&inside);
        let nodes = nodes.map(|(&group, (kept, _))| {
            kept.iter().map(|&at| ear.nodes[group][at]).collect::<Vec<u32>>()
        });
        let master = Master::new(&twig.terms, nodes.collect(), scales, beyond)
            .expect("a programme of empty rows is one that the solver takes");
        let cells = twig.terms.each.len() * ear.terms.slots();
        Self {
            twig,
            master,
            mix: Mix::default(),
            inside,
            added: vec![0.0; ear.terms.slots()],
            best: vec![0.0; cells],
            proved: f64::NEG_INFINITY,
            trial: vec![0.0; cells],
            pace: Pace::default(),
            is_done: false,
            is_stale: true,
        }
    }

    fn slots(&self) -> usize {
        self.added.len()
    }

    /// Load of the whole branch in an answer, slot by slot.
    fn load<'r>(&self, reply: &'r Reply) -> &'r [i64] {
        &reply.loads[self.inside[reply.group].1 * self.slots()..][..self.slots()]
    }

    /// What an answer costs at the present wide prices.
    fn cost(&self, reply: &Reply) -> f64 {
        let paid = self.load(reply).iter().zip(&self.added);
        reply.value + paid.map(|(&load, added)| as_kwh(load) * added).sum::<f64>()
    }

    /// Other wide prices.
    pub(crate) fn move_to(&mut self, added: Vec<f64>) {
        self.added = added;
        let costs: Vec<f64> = self.master.replies.iter().map(|reply| self.cost(reply)).collect();
        self.master.reprice(&costs);
        self.proved = f64::NEG_INFINITY;
        (self.is_done, self.is_stale) = (false, true);
    }

    /// The cheapest mix at the present wide prices. Exceeding limits gets
    /// dearer where there is little left to find.
    pub(crate) fn solve(&mut self, scale: f64, most: f64) -> Result<(), LpError> {
        loop {
            if self.is_stale {
                self.solve_once()?;
            }
            self.is_stale = false;
            let is_near = self.is_done || self.open() <= OPEN_BEYOND * scale * self.twig.share;
            if !(self.mix.is_beyond && is_near && self.master.raise_beyond(most)) {
                return Ok(());
            }
            (self.is_done, self.is_stale) = (false, true);
        }
    }

    fn solve_once(&mut self) -> Result<(), LpError> {
        self.mix = self.cheapest();
        if self.is_within(&self.master.loads(&self.mix.weights)) {
            return Ok(());
        }
        for _ in 0..ACTIVATIONS {
            let loads = self.master.loads(&self.mix.weights);
            if !self.master.activate(&loads)? && self.mix.is_solved {
                break;
            }
            self.mix = self.master.solve()?;
        }
        Ok(())
    }

    /// Whether loads reach no limit, so that none of them costs anything.
    fn is_within(&self, loads: &[Vec<f64>]) -> bool {
        self.twig.terms.each.iter().all(|term| {
            let kept = if term.kind == Kind::Hard { 1.0 - self.master.margin() } else { 1.0 };
            let mut load = loads[term.node].iter().zip(&term.bounds);
            !matches!(term.kind, Kind::Square(_))
                && load.all(|(load, bound)| term.sign * load <= bound * kept)
        })
    }

    /// The cheapest answer of each group, where no limit is in the way.
    fn cheapest(&self) -> Mix {
        let replies = &self.master.replies;
        let mut least: Vec<Option<(f64, usize)>> = vec![None; self.twig.groups.len()];
        for (at, reply) in replies.iter().enumerate() {
            let cost = self.cost(reply);
            if least[reply.group].is_none_or(|(other, _)| cost < other) {
                least[reply.group] = Some((cost, at));
            }
        }
        let mut mix = Mix {
            weights: vec![0.0; replies.len()],
            duals: vec![0.0; self.best.len()],
            ..Mix::default()
        };
        for (cost, at) in least.into_iter().flatten() {
            mix.weights[at] = 1.0;
            mix.per_group.push(cost);
            mix.cost += cost;
        }
        mix
    }

    /// How far the mix is from what is proved.
    pub(crate) fn open(&self) -> f64 {
        (self.mix.cost - self.proved).max(0.0)
    }

    /// Takes what its vehicles answered at the prices of the round.
    pub(crate) fn take(&mut self, heard: &Heard, least: f64) -> Result<(), LpError> {
        let slots = self.slots();
        let mut proved = self.twig.terms.proved(&self.trial, &heard.loads);
        // Since the wide prices moved, or at first, there is no mix to compare with.
        let is_blind = self.is_stale;
        let mut is_new = false;
        for (own, &group) in self.twig.groups.iter().enumerate() {
            let all = &heard.replies[group];
            let kept = self.inside[own].0.iter();
            let loads = kept.flat_map(|&at| all.loads[at * slots..][..slots].iter().copied());
            let reply = Reply { group: own, loads: loads.collect(), ..*all };
            let cost = self.cost(&reply);
            proved += cost - reply.slack;
            if is_blind || self.master.improves(&reply, cost, (&self.mix, least)) {
                is_new = true;
                self.master.add_at(reply, cost)?;
            }
        }
        let is_better = proved > self.proved;
        if is_better {
            self.proved = proved;
            self.best.clone_from(&self.trial);
        }
        self.is_done = self.pace.learn(is_new, is_better);
        self.is_stale |= is_new;
        Ok(())
    }

    /// What the mix costs without the wide prices, its loads as a whole, and of
    /// what it is made.
    pub(crate) fn offer(&self, most: f64, offer: &mut Offer) -> (f64, Vec<f64>) {
        let mut load = vec![0.0; self.slots()];
        let replies = self.master.replies.iter().zip(&self.mix.weights);
        for (reply, &weight) in replies.filter(|(_, weight)| **weight > WEIGHT_MIN) {
            let sums = load.iter_mut().zip(self.load(reply));
            sums.for_each(|(sum, &load)| *sum += weight * as_kwh(load));
            offer.from.push((self.twig.groups[reply.group], reply.round, weight));
            offer.shed_kwh += weight * as_kwh(reply.shed);
        }
        offer.is_beyond |= self.mix.is_beyond;
        let paid: f64 = load.iter().zip(&self.added).map(|(load, added)| load * added).sum();
        let beyond = (most - self.master.beyond_price()) * self.mix.beyond_kwh;
        (self.mix.cost + beyond - paid, load)
    }
}
