//! Rounds for areas of many branches, each with a master programme of its own.
//!
//! One programme for two hundred feeders has thousands of rows, and takes
//! seconds. But once the wide limits have a price, no feeder sees another: each
//! finds its own prices with a small programme, all of them in the same rounds,
//! and offers what it found to the programme of the wide limits. That sets
//! their prices anew when the branches know well enough what the last ones
//! lead to. A bound is the sum of what each branch proved at those prices.
use std::collections::BTreeSet;

use rayon::prelude::*;

use crate::area::column_generation::incumbent::{
    ACTIVATIONS, BEYOND, BEYOND_MAX, Ended, Found, ROUNDING, Search, TOLERANCE, Until, dearest,
    energy_scale,
};
use crate::area::column_generation::master::{Master, Mix, Reply, WEIGHT_MIN};
use crate::area::column_generation::pricing_round::Ear;
use crate::area::column_generation::regional::{Branch, Offer};
use crate::area::column_generation::single_level::fill_gaps;
use crate::area::column_generation::smoothing::Pace;
use crate::area::column_generation::subtree::{Tree, Twig, gathered, scatter};
use crate::area::distributed::executor::Staff;
use crate::area::model::energy_by_slot::Shares;
use crate::area::model::linking::Terms;
use crate::area::pricing::context::Asked;
use crate::area::problem::micro_wh::grains;
use crate::area::problem::options::AreaState;
use crate::lp::LpError;

/// Bundles of branches that offer together, at most: of those with a programme of
/// their own, and of those without, whose answers have less to tell.
const BUNDLES: usize = 64;

const BUNDLES_LOOSE: usize = 6;

/// Branches of a bundle, at least: more offers make the wide programme slower
/// than they make it wiser.
const BUNDLE_MIN: usize = 2;

/// What an answer must be cheaper by to be new to a branch, in proportion to the gap wanted.
const NEW: f64 = 0.02;

/// Rounds at the same wide prices, at most. A round costs a tenth of what solving
/// the programmes of branches does, so that a second one at the same prices is
/// worth less than one at others.
const STAY_MAX: usize = 1;

/// And at the first ones, where branches know nothing yet.
const STAY_FIRST: usize = 40;

/// Part of the whole gap that branches may leave open before wide prices move on.
const OPEN: f64 = 0.25;

/// Gap of the branches at which the first wide prices move on.
const OPEN_FIRST: f64 = 0.002;

/// Wide prices of an earlier plan that are asked for at once, at most.
const EARLIER_MAX: usize = 12;

/// The state between rounds.
pub(crate) struct Nested<'a> {
    ear: Ear<'a>,
    tree: &'a Tree,
    branches: Vec<Branch<'a>>,
    /// Branches that offer together, by position.
    bundles: Vec<Vec<usize>>,
    wide: Master<'a>,
    mix: Mix,
    offers: Vec<Offer>,
    /// Prices of an earlier plan that are to be asked for.
    earlier: Vec<Vec<f64>>,
    is_earlier: bool,
    /// The present wide prices.
    prices: Vec<f64>,
    found: Found,
    pace: Pace,
    /// Rounds at the present wide prices, and whether they brought new offers.
    stay: usize,
    /// Rounds that there are at most.
    stay_max: usize,
    has_offered: bool,
    /// The best bound before the present wide prices.
    bound_before: f64,
    moves: usize,
    dearest: f64,
}

impl<'a> Nested<'a> {
    pub(crate) fn new(
        asked: Asked<'a>,
        terms: &'a Terms,
        tree: &'a Tree,
        (money, margin): (f64, f64),
    ) -> Self {
        let ear = Ear::new(asked, terms);
        let (slots, need) = (terms.slots(), asked.stays.need_kwh());
        let dearest = dearest(&asked);
        let beyond = (dearest * BEYOND, margin);
        let branch = |twig: &'a Twig| {
            let share = twig.share.max(1e-9);
            Branch::new(&ear, twig, (money * share, energy_scale(need * share, slots)), beyond)
        };
        let branches: Vec<Branch<'a>> = tree.twigs.iter().map(branch).collect();
        let bundles = bundles(&branches);
        let above = |bundle: &Vec<usize>| {
            let nodes = bundle.iter().flat_map(|&at| branches[at].twig.above.iter().copied());
            nodes.collect::<BTreeSet<u32>>().into_iter().collect::<Vec<u32>>()
        };
        let nodes = bundles.iter().map(above).collect();
        let wide = Master::new(&tree.wide, nodes, (money, energy_scale(need, slots)), beyond)
            .expect("a programme of empty rows is one that the solver takes");
        let found = Found::new(terms.each.len() * slots);
        Self {
            ear,
            tree,
            branches,
            bundles,
            wide,
            mix: Mix::default(),
            offers: Vec::new(),
            earlier: Vec::new(),
            is_earlier: false,
            prices: vec![0.0; tree.wide.each.len() * slots],
            found,
            pace: Pace::default(),
            stay: 0,
            stay_max: STAY_MAX,
            has_offered: false,
            bound_before: f64::NEG_INFINITY,
            moves: 0,
            dearest,
        }
    }

    fn most(&self) -> f64 {
        BEYOND_MAX * self.dearest
    }

    /// Goes to other wide prices.
    fn move_to(&mut self, prices: Vec<f64>) {
        let (cells, slots) = (self.found.best.len(), self.ear.terms.slots());
        let all = self.tree.spread_out(&prices, cells, slots);
        let terms = self.ear.terms;
        self.branches.par_iter_mut().for_each(|branch| {
            let above = branch.twig.above.first();
            branch.move_to(above.map_or(vec![0.0; slots], |&node| terms.added(node, &all)));
        });
        self.prices = prices;
        (self.stay, self.has_offered) = (0, false);
        self.bound_before = self.found.bound;
        self.moves += 1;
    }

    /// Solves the programmes of the branches.
    fn solve_branches(&mut self, scale: f64) -> Result<(), LpError> {
        let most = self.most();
        self.branches.par_iter_mut().try_for_each(|branch| branch.solve(scale, most))
    }

    /// Asks all vehicles at the trial prices of all branches.
    fn ask(&mut self, until: Until, staff: &mut Staff<'_>) -> Result<(), LpError> {
        let least = (NEW * until.gap).max(ROUNDING);
        let (cells, slots) = (self.found.best.len(), self.ear.terms.slots());
        let mut duals = self.tree.spread_out(&self.prices, cells, slots);
        for branch in &self.branches {
            scatter(&branch.twig.terms_at, &branch.trial, &mut duals, slots);
        }
        let heard = self.ear.hear(self.found.prices.len(), &duals, staff);
        self.found.prices.push(duals);
        self.branches.par_iter_mut().try_for_each(|branch| branch.take(&heard, least))?;
        self.stay += 1;
        let wide = &self.tree.wide;
        let paid = wide.each.iter().zip(self.prices.chunks(slots.max(1)));
        let paid: f64 = paid.map(|(term, duals)| wide.conjugate(term, duals)).sum();
        let bound = self.branches.iter().map(|branch| branch.proved).sum::<f64>() - paid;
        if bound > self.found.bound {
            self.found.bound = bound;
            self.found.best = self.tree.spread_out(&self.prices, cells, slots);
            for branch in &self.branches {
                scatter(&branch.twig.terms_at, &branch.best, &mut self.found.best, slots);
            }
        }
        Ok(())
    }

    /// Lets bundles offer their mixes, and finds the best mix of offers.
    fn offer(&mut self) -> Result<(), LpError> {
        let is_first = self.offers.is_empty();
        for bundle in 0..self.bundles.len() {
            let (reply, offer) = self.offer_of(bundle);
            if is_first || self.wide.improves(&reply, reply.value, (&self.mix, ROUNDING)) {
                self.wide.add(reply)?;
                self.offers.push(offer);
                self.has_offered = true;
            }
        }
        self.solve_wide()
    }

    /// What a bundle offers: its loads and cost, and what they are made of.
    fn offer_of(&self, bundle: usize) -> (Reply, Offer) {
        let (most, slots) = (self.most(), self.ear.terms.slots());
        let mut offer = Offer { from: Vec::new(), shed_kwh: 0.0, is_beyond: false };
        let nodes = &self.wide.nodes[bundle];
        let mut loads = vec![0.0; nodes.len() * slots];
        let mut value = 0.0;
        for &branch in &self.bundles[bundle] {
            let branch = &self.branches[branch];
            let (cost, load) = branch.offer(most, &mut offer);
            value += cost;
            for node in &branch.twig.above {
                let at = nodes.binary_search(node).expect("a path is among the nodes");
                let sums = loads[at * slots..][..slots].iter_mut();
                sums.zip(&load).for_each(|(sum, load)| *sum += load);
            }
        }
        let (round, shed) = (self.found.prices.len(), grains(offer.shed_kwh));
        let loads = loads.into_iter().map(grains).collect();
        (Reply { group: bundle, round, value, slack: 0.0, shed, loads }, offer)
    }

    fn solve_wide(&mut self) -> Result<(), LpError> {
        for _ in 0..ACTIVATIONS {
            self.mix = self.wide.solve()?;
            let loads = self.wide.loads(&self.mix.weights);
            let used = self.offers.iter().zip(&self.wide.replies).zip(&self.mix.weights);
            let mut cost = self.tree.wide.cost_of_limits(&loads, TOLERANCE);
            for ((offer, reply), &weight) in used {
                cost += weight * reply.value;
                if offer.is_beyond && weight > TOLERANCE {
                    cost = f64::INFINITY;
                }
            }
            self.found.cost = cost;
            let seen = if self.is_near() { loads } else { self.without_branches(loads) };
            if !self.wide.activate(&seen)? {
                break;
            }
        }
        Ok(())
    }

    /// Whether enough was offered for limits of branches to count among the wide
    /// ones: before that, all offers together are beyond limits that no plan reaches.
    fn is_near(&self) -> bool {
        self.earlier.is_empty() && self.moves > 1
    }

    fn without_branches(&self, mut loads: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        for branch in &self.branches {
            if let Some(load) = loads.get_mut(branch.twig.top as usize) {
                load.clear();
            }
        }
        loads
    }

    /// Whether branches know well enough what the wide prices lead to.
    fn is_settled(&self, until: Until) -> bool {
        let open: f64 = self.branches.iter().map(Branch::open).sum();
        let scale = until.scale.abs().max(self.found.bound.abs());
        let whole = (self.found.cost - self.found.bound).max(until.gap * scale);
        let (most, rounds) = if self.moves <= 1 {
            (OPEN_FIRST * scale, STAY_FIRST)
        } else if self.is_earlier {
            (f64::INFINITY, 1)
        } else if self.found.cost.is_infinite() {
            (OPEN_FIRST * scale, self.stay_max)
        } else {
            (OPEN * whole, self.stay_max)
        };
        let is_done = self.branches.iter().all(|branch| branch.is_done);
        self.stay > 0 && (is_done || open <= most || self.stay >= rounds)
    }

    /// What is left to try where no wide prices bring anything new: to hear the
    /// branches out once, and to make exceeding wide limits dearer.
    fn has_more_to_do(&mut self) -> bool {
        let is_heard = self.branches.iter().all(|branch| branch.is_done);
        if !is_heard && self.stay_max == STAY_MAX {
            self.stay_max = STAY_FIRST;
            return true;
        }
        self.stay_max = STAY_MAX;
        self.mix.is_beyond && self.wide.raise_beyond(self.most())
    }

    fn try_begin(
        &mut self,
        start: &AreaState,
        until: Until,
        staff: &mut Staff<'_>,
    ) -> Result<Ended, LpError> {
        let (cells, slots) = (self.found.best.len(), self.ear.terms.slots());
        self.ask(until, staff)?;
        self.earlier = start.prices_for(cells, self.ear.terms).take(EARLIER_MAX).collect();
        self.solve_branches(until.scale)?;
        self.offer()?;
        if !self.earlier.is_empty() {
            // Limits will cost about what they did: more would only mislead.
            let wide = self.tree.wide_of(&self.earlier[0], slots);
            let dearest = wide.into_iter().fold(0.0, f64::max);
            self.wide.limit_beyond((2.0 * dearest).max(1e-3 * self.dearest));
            self.go_to_earlier(until)?;
            self.ask(until, staff)?;
            self.solve_branches(until.scale)?;
            self.offer()?;
        }
        Ok(Ended::Gap)
    }

    /// Goes to prices of an earlier plan, as far as it has some.
    fn go_to_earlier(&mut self, until: Until) -> Result<(), LpError> {
        let slots = self.ear.terms.slots();
        let duals = self.earlier.remove(0);
        self.move_to(self.tree.wide_of(&duals, slots));
        self.is_earlier = true;
        if self.moves <= 1 {
            self.solve_branches(until.scale)?;
            self.draw();
        }
        for branch in &mut self.branches {
            let inside = gathered(&branch.twig.terms_at, &duals, slots);
            if inside.iter().any(|&dual| dual > 0.0) {
                branch.trial = inside;
            } else if self.moves > 1 {
                branch.trial.clone_from(&branch.best);
            }
        }
        Ok(())
    }

    /// Draws the prices to ask the branches at.
    fn draw(&mut self) {
        for branch in &mut self.branches {
            branch.trial = branch.pace.draw(&branch.best, &branch.mix.duals);
        }
    }

    fn go_on(&mut self, until: Until, staff: &mut Staff<'_>) -> Result<Ended, LpError> {
        loop {
            if let Some(ended) = until.reached(&self.found.progress(until.scale), staff) {
                return Ok(ended);
            }
            if self.mix.is_beyond
                && self.found.gap(self.mix.cost, until.scale) <= until.gap
                && self.wide.raise_beyond(self.most())
            {
                self.solve_wide()?;
                continue;
            }
            if self.is_settled(until) && !self.earlier.is_empty() {
                self.go_to_earlier(until)?;
            } else if self.is_settled(until) {
                let is_better = self.found.bound > self.bound_before;
                let is_done = self.pace.learn(self.has_offered, is_better);
                if is_done && !self.has_more_to_do() {
                    return Ok(Ended::Stalled);
                }
                let best = self.tree.wide_of(&self.found.best, self.ear.terms.slots());
                self.move_to(self.pace.draw(&best, &self.mix.duals));
                self.is_earlier = false;
                // Near the last wide prices the last ones inside do well enough.
                self.draw();
            } else {
                self.draw();
            }
            self.ask(until, staff)?;
            self.solve_branches(until.scale)?;
            self.offer()?;
        }
    }
}

impl Search for Nested<'_> {
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
        for (offer, &weight) in self.offers.iter().zip(&self.mix.weights) {
            for &(group, round, part) in offer.from.iter().filter(|_| weight > WEIGHT_MIN) {
                match shares[group].iter_mut().find(|(other, _)| *other == round) {
                    Some((_, sum)) => *sum += weight * part,
                    None => shares[group].push((round, weight * part)),
                }
            }
        }
        fill_gaps(&mut shares);
        shares
    }

    fn sheds(&self) -> bool {
        let offers = self.offers.iter().zip(&self.mix.weights);
        offers.map(|(offer, weight)| offer.shed_kwh * weight).sum::<f64>() > 1e-6
    }
}

/// The branches of each bundle.
fn bundles(branches: &[Branch<'_>]) -> Vec<Vec<usize>> {
    let has_terms = |at: &usize| !branches[*at].twig.terms.each.is_empty();
    let (own, loose): (Vec<usize>, Vec<usize>) = (0..branches.len()).partition(has_terms);
    let dealt = |branches: &[usize], most: usize| -> Vec<Vec<usize>> {
        let size = branches.len().div_ceil(most).max(BUNDLE_MIN);
        branches.chunks(size).map(<[usize]>::to_vec).collect()
    };
    [dealt(&own, BUNDLES), dealt(&loose, BUNDLES_LOOSE)].concat()
}
