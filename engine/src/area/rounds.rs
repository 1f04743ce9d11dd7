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
use crate::area::master::{Master, Mix, Reply};
use crate::area::parts::What;
use crate::area::staff::Staff;
use crate::area::sums;
use crate::area::terms::{Kind, Terms};
use crate::area::watch::{Answered, GroupAnswer, Progress};
use crate::lp::LpError;

/// How far prices are drawn towards the best so far (Wentges).
const SMOOTHING: f64 = 0.7;

/// Most rounds whose prices are kept for the next plan.
const ROUNDS_KEPT: usize = 40;

/// And at most.
const SMOOTHING_MAX: f64 = 0.7;

/// Gap to a mix that exceeds hard limits at which exceeding them gets dearer.
/// Half as many rounds as when there is nothing left to find; from 0.1 % to 5 %
/// it makes no difference.
const GAP_BEYOND: f64 = 0.02;

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
}

/// When to end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Until {
    pub(crate) gap: f64,
    pub(crate) rounds: usize,
    /// The least that a gap is taken in proportion to.
    pub(crate) scale: f64,
}

/// What all vehicles answered at some prices.
pub(crate) struct Heard {
    pub(crate) replies: Vec<Reply>,
    /// Load of each limited node in kWh; empty for other nodes.
    pub(crate) loads: Vec<Vec<f64>>,
    /// Cost of the energy plus worth of what is shed.
    pub(crate) value: f64,
    /// Most by which that is above the least at these prices.
    pub(crate) slack: f64,
}

/// The state between rounds.
pub(crate) struct Rounds<'a> {
    asked: Asked<'a>,
    terms: &'a Terms,
    master: Master<'a>,
    /// Prices of each round, term by term and slot by slot.
    pub(crate) prices: Vec<Vec<f64>>,
    pub(crate) best: Vec<f64>,
    pub(crate) bound: f64,
    pub(crate) mix: Mix,
    pub(crate) cost: f64,
    /// The most that a kWh is worth to any vehicle.
    dearest: f64,
}

impl<'a> Rounds<'a> {
    pub(crate) fn new(asked: Asked<'a>, terms: &'a Terms, (money, margin): (f64, f64)) -> Self {
        let nodes = nodes_of_groups(&asked, terms);
        let energy = asked.stays.need_kwh() / terms.slots().max(1) as f64;
        let energy = (energy * 0.01).max(1e-6);
        let dearest = asked.worth.of(asked.worth.tiers - 1, 1.0).max(1e-6);
        let start = dearest * 0.25;
        let master = Master::new(terms, nodes, (money, energy), (start, margin))
            .expect("a programme of empty rows is one that the solver takes");
        let cells = terms.each.len() * terms.slots();
        Self {
            asked,
            terms,
            master,
            prices: Vec::new(),
            best: vec![0.0; cells],
            bound: f64::NEG_INFINITY,
            mix: Mix::default(),
            cost: f64::INFINITY,
            dearest,
        }
    }

    /// All replies that are in the mix or were.
    pub(crate) fn replies(&self) -> &[Reply] {
        &self.master.replies
    }

    /// Whether the mix itself leaves need unmet.
    pub(crate) fn sheds(&self) -> bool {
        let replies = self.master.replies.iter().zip(&self.mix.weights);
        replies.map(|(reply, weight)| as_kwh(reply.shed) * weight).sum::<f64>() > 1e-6
    }

    /// The prices with the best bound.
    pub(crate) fn duals(&self) -> &[f64] {
        &self.best
    }

    /// What helps to plan the same area, or one like it, again: the best
    /// prices, and those of the rounds with the most weight in the mix.
    pub(crate) fn state(&self) -> AreaState {
        let mut weights = vec![0.0; self.prices.len()];
        for (reply, weight) in self.master.replies.iter().zip(&self.mix.weights) {
            weights[reply.round] += weight;
        }
        let mut rounds: Vec<usize> = (1..self.prices.len()).collect();
        rounds.retain(|&round| weights[round] > 0.0);
        rounds.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
        rounds.truncate(ROUNDS_KEPT);
        let rounds_per_kwh = rounds.into_iter().map(|round| self.prices[round].clone()).collect();
        AreaState { duals_per_kwh: self.best.clone(), rounds_per_kwh }
    }

    /// Asks at no prices, and at those of an earlier plan if they fit: the best
    /// ones first, then those that weighed most, until the gap is small enough.
    pub(crate) fn begin(
        &mut self,
        start: &AreaState,
        until: Until,
        staff: &mut Staff<'_>,
    ) -> Ended {
        self.try_begin(start, until, staff).unwrap_or(Ended::Stalled)
    }

    fn try_begin(
        &mut self,
        start: &AreaState,
        until: Until,
        staff: &mut Staff<'_>,
    ) -> Result<Ended, LpError> {
        let free = vec![0.0; self.best.len()];
        let others = start.rounds_per_kwh.iter().filter(|duals| **duals != start.duals_per_kwh);
        let fits = |duals: &&Vec<f64>| {
            duals.len() == free.len()
                && !duals.is_empty()
                && duals.iter().all(|dual| dual.is_finite())
        };
        let earlier: Vec<Vec<f64>> =
            std::iter::once(&start.duals_per_kwh).chain(others).filter(fits).cloned().collect();
        self.round(free, staff)?;
        if self.mix.weights.is_empty() {
            // Whatever happens, there is a mix: all of the first answers.
            self.mix.weights = vec![1.0; self.asked.stays.groups];
        }
        for mut duals in earlier {
            self.terms.clamp(&mut duals);
            self.round(duals, staff)?;
            self.solve()?;
            let progress = self.progress(until.scale);
            if progress.gap <= until.gap * 0.1 || self.prices.len() >= until.rounds {
                break;
            }
            if staff.watch.stop(&progress) {
                return Ok(Ended::Caller);
            }
        }
        self.solve()?;
        Ok(Ended::Gap)
    }

    /// What all vehicles buy when limits cost `duals`: remembered, or asked.
    fn hear(&self, duals: &[f64], staff: &mut Staff<'_>) -> Heard {
        if let Some(known) = staff.watch.recall().filter(|known| self.is_answer(known, duals)) {
            let replies =
                known.groups.into_iter().zip(self.empty_replies()).map(|(known, reply)| Reply {
                    value: known.value,
                    shed: known.shed,
                    loads: known.loads,
                    ..reply
                });
            return self.heard(replies.collect(), known.slack);
        }
        let heard = self.ask(duals, staff);
        let groups = heard.replies.iter().map(|reply| GroupAnswer {
            value: reply.value,
            shed: reply.shed,
            loads: reply.loads.clone(),
        });
        let (groups, slack) = (groups.collect(), heard.slack);
        staff.watch.keep(&Answered { prices_per_kwh: duals.to_vec(), groups, slack });
        heard
    }

    /// Whether something remembered answers this very question.
    fn is_answer(&self, known: &Answered, duals: &[f64]) -> bool {
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        let fits = |(group, reply): (&GroupAnswer, Reply)| group.loads.len() == reply.loads.len();
        known.prices_per_kwh.len() == duals.len()
            && known.prices_per_kwh.iter().zip(duals).all(same)
            && known.groups.len() == self.asked.stays.groups
            && known.groups.iter().zip(self.empty_replies()).all(fits)
    }

    fn empty_replies(&self) -> impl Iterator<Item = Reply> + '_ {
        let (slots, nodes) = (self.terms.slots(), &self.master.nodes);
        (0..self.asked.stays.groups).map(move |group| Reply {
            group,
            round: self.prices.len(),
            value: 0.0,
            shed: 0,
            loads: vec![0; nodes[group].len() * slots],
        })
    }

    fn heard(&self, replies: Vec<Reply>, slack: f64) -> Heard {
        let value = replies.iter().map(|reply| reply.value).sum();
        let weights = vec![1.0; replies.len()];
        let loads = self.loads(&replies, &weights);
        Heard { replies, loads, value, slack }
    }

    /// Asks all vehicles what they buy when limits cost `duals`.
    fn ask(&self, duals: &[f64], staff: &mut Staff<'_>) -> Heard {
        let sums = staff.ask(&self.asked, || What::Answer(duals.to_vec()), None);
        let sums = sums.unwrap_or_else(|| sums::answers(&self.asked, self.terms, duals));
        let slots = self.terms.slots();
        let nodes = &self.master.nodes;
        let mut replies: Vec<Reply> = self.empty_replies().collect();
        let mut slack = 0.0;
        for sum in &sums {
            let reply = &mut replies[sum.group];
            for (block, of_block) in sum.slack.iter().enumerate() {
                slack += of_block;
                reply.value += sum.cost[block] + sum.shed_worth[block];
            }
            reply.shed += sum.shed;
            for node in &self.terms.paths[sum.node as usize] {
                let at = nodes[sum.group].binary_search(node).expect("a path is among the nodes");
                let loads = &mut reply.loads[at * slots..][..slots];
                loads.iter_mut().zip(&sum.load).for_each(|(sum, load)| *sum += load);
            }
        }
        self.heard(replies, slack)
    }

    /// Loads of limited nodes when replies count with weights, in kWh.
    pub(crate) fn loads(&self, replies: &[Reply], weights: &[f64]) -> Vec<Vec<f64>> {
        let slots = self.terms.slots();
        let mut loads: Vec<Vec<f64>> = self
            .terms
            .by_node
            .iter()
            .map(|terms| if terms.is_empty() { Vec::new() } else { vec![0.0; slots] })
            .collect();
        for (reply, &weight) in replies.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
            for (at, &node) in self.master.nodes[reply.group].iter().enumerate() {
                let load = &reply.loads[at * slots..][..slots];
                let sums = loads[node as usize].iter_mut();
                sums.zip(load).for_each(|(sum, &load)| *sum += weight * as_kwh(load));
            }
        }
        loads
    }

    /// The bound that prices prove, given what was heard at them.
    pub(crate) fn bound_of(&self, duals: &[f64], heard: &Heard) -> f64 {
        let slots = self.terms.slots().max(1);
        let terms = self.terms.each.iter().zip(duals.chunks(slots));
        let of_terms = terms.map(|(term, duals)| {
            let load = &heard.loads[term.node];
            let paid: f64 = load.iter().zip(duals).map(|(load, dual)| load * dual).sum();
            term.sign * paid - self.terms.conjugate(term, duals)
        });
        heard.value - heard.slack + of_terms.sum::<f64>()
    }

    /// What the limits cost at some loads; infinite beyond a hard one.
    pub(crate) fn cost_of_limits(&self, loads: &[Vec<f64>], tolerance: f64) -> f64 {
        let of_term = |term: &crate::area::terms::Term| {
            let load = &loads[term.node];
            let beyond = |slot: usize| term.sign * load[slot] - term.bounds[slot];
            let is_beyond =
                |slot: usize| beyond(slot) > tolerance * (1.0 + term.bounds[slot].abs());
            if term.kind == Kind::Hard && (0..load.len()).any(is_beyond) {
                return f64::INFINITY;
            }
            self.terms.cost(term, load)
        };
        self.terms.each.iter().map(of_term).sum()
    }

    pub(crate) fn gap(&self, cost: f64, scale: f64) -> f64 {
        relative_gap(cost, self.bound, scale)
    }

    fn progress(&self, scale: f64) -> Progress {
        let (round, cost, bound) = (self.prices.len(), self.cost, self.bound);
        Progress { round, cost, bound, gap: self.gap(cost, scale) }
    }

    /// Asks at some prices, and keeps what is new.
    fn round(&mut self, duals: Vec<f64>, staff: &mut Staff<'_>) -> Result<bool, LpError> {
        let heard = self.hear(&duals, staff);
        let bound = self.bound_of(&duals, &heard);
        if bound > self.bound {
            self.bound = bound;
            self.best.clone_from(&duals);
        }
        self.prices.push(duals);
        let mut is_better = false;
        if self.prices.len() == 1 {
            self.master.activate(&heard.loads)?;
        }
        for reply in heard.replies {
            if self.prices.len() == 1 || self.improves(&reply) {
                is_better = true;
                self.master.add(reply)?;
            }
        }
        Ok(is_better)
    }

    /// Whether a reply is cheaper than the mix of its group at the last prices.
    fn improves(&self, reply: &Reply) -> bool {
        let Some(&value) = self.mix.per_group.get(reply.group) else { return true };
        let slots = self.terms.slots();
        let mut cost = reply.value;
        for (at, &node) in self.master.nodes[reply.group].iter().enumerate() {
            let load = &reply.loads[at * slots..][..slots];
            for &term in &self.terms.by_node[node as usize] {
                let duals = &self.mix.duals[term * slots..][..slots];
                let sign = self.terms.each[term].sign;
                let paid = load.iter().zip(duals).map(|(&load, dual)| sign * as_kwh(load) * dual);
                cost += paid.sum::<f64>();
            }
        }
        cost < value - 1e-9 * value.abs().max(cost.abs())
    }

    /// Solves the master programme until no limit is violated unseen.
    fn solve(&mut self) -> Result<(), LpError> {
        for _ in 0..20 {
            self.mix = self.master.solve()?;
            let loads = self.loads(&self.master.replies, &self.mix.weights);
            let replies = self.master.replies.iter().zip(&self.mix.weights);
            let value: f64 = replies.map(|(reply, weight)| reply.value * weight).sum();
            self.cost = value + self.cost_of_limits(&loads, 1e-7);
            if !self.master.activate(&loads)? {
                break;
            }
        }
        Ok(())
    }

    /// Whether the rounds near an optimum that exceeds hard limits: what they
    /// find from there on is thrown away once exceeding them gets dearer.
    fn is_beyond_for_good(&self, until: Until) -> bool {
        self.mix.is_beyond && self.gap(self.mix.cost, until.scale) <= GAP_BEYOND
    }

    /// Goes on until there is reason to end. Should the solver give up, what
    /// was found until then stands.
    pub(crate) fn run(&mut self, until: Until, staff: &mut Staff<'_>) -> Ended {
        self.go_on(until, staff).unwrap_or(Ended::Stalled)
    }

    fn go_on(&mut self, until: Until, staff: &mut Staff<'_>) -> Result<Ended, LpError> {
        let mut smoothing = SMOOTHING;
        loop {
            self.solve()?;
            let progress = self.progress(until.scale);
            if progress.gap <= until.gap {
                return Ok(Ended::Gap);
            }
            if self.prices.len() >= until.rounds {
                return Ok(Ended::Rounds);
            }
            if staff.watch.stop(&progress) {
                return Ok(Ended::Caller);
            }
            if self.is_beyond_for_good(until) && self.master.raise_beyond(4.0 * self.dearest) {
                continue;
            }
            let drawn = self.best.iter().zip(&self.mix.duals);
            let duals = drawn.map(|(best, dual)| smoothing * best + (1.0 - smoothing) * dual);
            let before = self.bound;
            let is_better = self.round(duals.collect(), staff)?;
            if is_better {
                // A better bound says that the step may be longer.
                smoothing = if self.bound > before {
                    smoothing * 0.8
                } else {
                    0.3 * SMOOTHING_MAX + 0.7 * smoothing
                };
            } else if smoothing > 0.0 {
                // Nothing new between the two prices: ask at the new ones themselves.
                smoothing = if smoothing > 0.5 { 0.4 } else { 0.0 };
            } else if !self.mix.is_beyond || !self.master.raise_beyond(4.0 * self.dearest) {
                return Ok(Ended::Stalled);
            }
        }
    }
}

/// How far a cost is from its bound, in proportion to the larger of bound and scale.
pub(crate) fn relative_gap(cost: f64, bound: f64, scale: f64) -> f64 {
    if !cost.is_finite() {
        return f64::INFINITY;
    }
    let gap = (cost - bound).max(0.0);
    let scale = bound.abs().max(scale.abs());
    if gap <= 0.0 { 0.0 } else { gap / scale.max(f64::MIN_POSITIVE) }
}

/// What limits add to the prices of each node that has vehicles.
pub(crate) fn added_by_node(asked: &Asked<'_>, terms: &Terms, duals: &[f64]) -> Vec<Vec<f64>> {
    let mut added = vec![Vec::new(); terms.paths.len()];
    for block in &asked.stays.blocks {
        let node = block.node as usize;
        if added[node].is_empty() {
            added[node] = terms.added(block.node, duals);
        }
    }
    added
}

/// The limited nodes that each group is part of, in order.
fn nodes_of_groups(asked: &Asked<'_>, terms: &Terms) -> Vec<Vec<u32>> {
    let mut nodes = vec![Vec::new(); asked.stays.groups];
    for block in &asked.stays.blocks {
        nodes[block.group].extend_from_slice(&terms.paths[block.node as usize]);
    }
    for nodes in &mut nodes {
        nodes.sort_unstable();
        nodes.dedup();
    }
    nodes
}
