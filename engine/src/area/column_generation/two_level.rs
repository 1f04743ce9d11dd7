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
    ARTIFICIAL_PENALTY_MAX, ARTIFICIAL_PENALTY_START, Incumbent, ROUNDING, SEPARATION_ROUNDS_MAX,
    Solver, StoppingCriteria, TOLERANCE, Termination, energy_scale, penalty_max,
};
use crate::area::column_generation::master::{
    Column, MasterSolution, RestrictedMaster, WEIGHT_MIN,
};
use crate::area::column_generation::pricing_round::PricingOracle;
use crate::area::column_generation::regional::{AggregatedColumn, RegionalMaster};
use crate::area::column_generation::single_level::fill_gaps;
use crate::area::column_generation::smoothing::DualSmoothing;
use crate::area::column_generation::subtree::{Decomposition, Subtree, gather, scatter};
use crate::area::distributed::executor::Executor;
use crate::area::model::energy_by_slot::ColumnWeights;
use crate::area::model::linking::LinkingConstraints;
use crate::area::pricing::context::PricingContext;
use crate::area::problem::micro_wh::to_micro_wh;
use crate::area::problem::options::WarmStart;
use crate::lp::LpError;

/// Bundles of branches that offer together, at most: of those with a programme of
/// their own, and of those without, whose answers have less to tell.
const AGGREGATES_MAX: usize = 64;

const AGGREGATES_MAX_NON_BINDING: usize = 6;

/// Branches of a bundle, at least: more offers make the wide programme slower
/// than they make it wiser.
const SUBTREES_PER_AGGREGATE_MIN: usize = 2;

/// What an answer must be cheaper by to be new to a branch, in proportion to the gap wanted.
const NEW: f64 = 0.02;

/// Rounds at the same wide prices, at most. A round costs a tenth of what solving
/// the programmes of branches does, so that a second one at the same prices is
/// worth less than one at others.
const INNER_ITERATIONS_MAX: usize = 1;

/// And at the first ones, where branches know nothing yet.
const INNER_ITERATIONS_FIRST: usize = 40;

/// Part of the whole gap that branches may leave open before wide prices move on.
const INNER_GAP_SHARE: f64 = 0.25;

/// Gap of the branches at which the first wide prices move on.
const INNER_GAP_FIRST: f64 = 0.002;

/// Wide prices of an earlier plan that are asked for at once, at most.
const EARLIER_MAX: usize = 12;

/// The state between rounds.
pub(crate) struct TwoLevelColumnGeneration<'a> {
    oracle: PricingOracle<'a>,
    decomposition: &'a Decomposition,
    regions: Vec<RegionalMaster<'a>>,
    /// Branches that offer together, by position.
    aggregates: Vec<Vec<usize>>,
    upper: RestrictedMaster<'a>,
    solution: MasterSolution,
    aggregated: Vec<AggregatedColumn>,
    /// Prices of an earlier plan that are to be asked for.
    earlier: Vec<Vec<f64>>,
    is_earlier: bool,
    /// The present wide prices.
    prices: Vec<f64>,
    incumbent: Incumbent,
    smoothing: DualSmoothing,
    /// Rounds at the present wide prices, and whether they brought new offers.
    inner_iterations: usize,
    /// Rounds that there are at most.
    inner_iterations_max: usize,
    has_aggregated: bool,
    /// The best bound before the present wide prices.
    bound_before: f64,
    moves: usize,
    penalty_max: f64,
}

impl<'a> TwoLevelColumnGeneration<'a> {
    pub(crate) fn new(
        context: PricingContext<'a>,
        constraints: &'a LinkingConstraints,
        decomposition: &'a Decomposition,
        (money, margin): (f64, f64),
    ) -> Self {
        let oracle = PricingOracle::new(context, constraints);
        let (slots, need) = (constraints.slots(), context.sessions.need_kwh());
        let dearest = penalty_max(&context);
        let beyond = (dearest * ARTIFICIAL_PENALTY_START, margin);
        let region = |subtree: &'a Subtree| {
            let share = subtree.share.max(1e-9);
            RegionalMaster::new(
                &oracle,
                subtree,
                (money * share, energy_scale(need * share, slots)),
                beyond,
            )
        };
        let regions: Vec<RegionalMaster<'a>> = decomposition.subtrees.iter().map(region).collect();
        let bundles = group_subtrees(&regions);
        let above = |bundle: &Vec<usize>| {
            let nodes =
                bundle.iter().flat_map(|&at| regions[at].subtree.outer_nodes.iter().copied());
            nodes.collect::<BTreeSet<u32>>().into_iter().collect::<Vec<u32>>()
        };
        let nodes = bundles.iter().map(above).collect();
        let wide = RestrictedMaster::new(
            &decomposition.upper,
            nodes,
            (money, energy_scale(need, slots)),
            beyond,
        )
        .expect("a programme of empty rows is one that the solver takes");
        let incumbent = Incumbent::new(constraints.each.len() * slots);
        Self {
            oracle,
            decomposition,
            regions,
            aggregates: bundles,
            upper: wide,
            solution: MasterSolution::default(),
            aggregated: Vec::new(),
            earlier: Vec::new(),
            is_earlier: false,
            prices: vec![0.0; decomposition.upper.each.len() * slots],
            incumbent,
            smoothing: DualSmoothing::default(),
            inner_iterations: 0,
            inner_iterations_max: INNER_ITERATIONS_MAX,
            has_aggregated: false,
            bound_before: f64::NEG_INFINITY,
            moves: 0,
            penalty_max: dearest,
        }
    }

    fn artificial_penalty(&self) -> f64 {
        ARTIFICIAL_PENALTY_MAX * self.penalty_max
    }

    /// Goes to other wide prices.
    fn move_to(&mut self, prices: Vec<f64>) {
        let (cells, slots) = (self.incumbent.best.len(), self.oracle.constraints.slots());
        let all = self.decomposition.spread_out(&prices, cells, slots);
        let constraints = self.oracle.constraints;
        self.regions.par_iter_mut().for_each(|region| {
            let above = region.subtree.outer_nodes.first();
            region.move_to(
                above.map_or(vec![0.0; slots], |&node| constraints.dual_price(node, &all)),
            );
        });
        self.prices = prices;
        (self.inner_iterations, self.has_aggregated) = (0, false);
        self.bound_before = self.incumbent.bound;
        self.moves += 1;
    }

    /// Solves the programmes of the branches.
    fn solve_regions(&mut self, scale: f64) -> Result<(), LpError> {
        let most = self.artificial_penalty();
        self.regions.par_iter_mut().try_for_each(|region| region.solve(scale, most))
    }

    /// Asks all vehicles at the trial prices of all branches.
    fn price(
        &mut self,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Result<(), LpError> {
        let least = (NEW * stopping.gap).max(ROUNDING);
        let (cells, slots) = (self.incumbent.best.len(), self.oracle.constraints.slots());
        let mut duals = self.decomposition.spread_out(&self.prices, cells, slots);
        for region in &self.regions {
            scatter(&region.subtree.constraints_at, &region.trial, &mut duals, slots);
        }
        let priced = self.oracle.solve(self.incumbent.prices.len(), &duals, executor);
        self.incumbent.prices.push(duals);
        self.regions.par_iter_mut().try_for_each(|region| region.add_columns(&priced, least))?;
        self.inner_iterations += 1;
        let wide = &self.decomposition.upper;
        let paid = wide.each.iter().zip(self.prices.chunks(slots.max(1)));
        let paid: f64 = paid.map(|(constraint, duals)| wide.conjugate(constraint, duals)).sum();
        let bound = self.regions.iter().map(|region| region.bound).sum::<f64>() - paid;
        if bound > self.incumbent.bound {
            self.incumbent.bound = bound;
            self.incumbent.best = self.decomposition.spread_out(&self.prices, cells, slots);
            for region in &self.regions {
                scatter(
                    &region.subtree.constraints_at,
                    &region.best,
                    &mut self.incumbent.best,
                    slots,
                );
            }
        }
        Ok(())
    }

    /// Lets bundles offer their mixes, and finds the best mix of offers.
    fn add_aggregates(&mut self) -> Result<(), LpError> {
        let is_first = self.aggregated.is_empty();
        for bundle in 0..self.aggregates.len() {
            let (column, offer) = self.aggregate(bundle);
            if is_first
                || self.upper.has_negative_reduced_cost(
                    &column,
                    column.cost,
                    (&self.solution, ROUNDING),
                )
            {
                self.upper.add(column)?;
                self.aggregated.push(offer);
                self.has_aggregated = true;
            }
        }
        self.solve_upper()
    }

    /// What a bundle offers: its loads and cost, and what they are made of.
    fn aggregate(&self, bundle: usize) -> (Column, AggregatedColumn) {
        let (most, slots) = (self.artificial_penalty(), self.oracle.constraints.slots());
        let mut offer =
            AggregatedColumn { from: Vec::new(), shortfall_kwh: 0.0, uses_artificials: false };
        let nodes = &self.upper.nodes[bundle];
        let mut loads = vec![0.0; nodes.len() * slots];
        let mut value = 0.0;
        for &region in &self.aggregates[bundle] {
            let region = &self.regions[region];
            let (cost, load) = region.add_to_aggregate(most, &mut offer);
            value += cost;
            for node in &region.subtree.outer_nodes {
                let at = nodes.binary_search(node).expect("a path is among the nodes");
                let sums = loads[at * slots..][..slots].iter_mut();
                sums.zip(&load).for_each(|(sum, load)| *sum += load);
            }
        }
        let (round, shed) = (self.incumbent.prices.len(), to_micro_wh(offer.shortfall_kwh));
        let loads = loads.into_iter().map(to_micro_wh).collect();
        (
            Column {
                group: bundle,
                iteration: round,
                cost: value,
                optimality_slack: 0.0,
                shortfall: shed,
                loads,
            },
            offer,
        )
    }

    fn solve_upper(&mut self) -> Result<(), LpError> {
        for _ in 0..SEPARATION_ROUNDS_MAX {
            self.solution = self.upper.solve()?;
            let loads = self.upper.loads(&self.solution.weights);
            let used = self.aggregated.iter().zip(&self.upper.columns).zip(&self.solution.weights);
            let mut cost = self.decomposition.upper.cost_of_limits(&loads, TOLERANCE);
            for ((offer, column), &weight) in used {
                cost += weight * column.cost;
                if offer.uses_artificials && weight > TOLERANCE {
                    cost = f64::INFINITY;
                }
            }
            self.incumbent.cost = cost;
            let seen = if self.is_near() { loads } else { self.upper_only(loads) };
            if !self.upper.separate_rows(&seen)? {
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

    fn upper_only(&self, mut loads: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        for region in &self.regions {
            if let Some(load) = loads.get_mut(region.subtree.root as usize) {
                load.clear();
            }
        }
        loads
    }

    /// Whether branches know well enough what the wide prices lead to.
    fn is_settled(&self, stopping: StoppingCriteria) -> bool {
        let open: f64 = self.regions.iter().map(RegionalMaster::open_gap).sum();
        let scale = stopping.scale.abs().max(self.incumbent.bound.abs());
        let whole = (self.incumbent.cost - self.incumbent.bound).max(stopping.gap * scale);
        let (most, rounds) = if self.moves <= 1 {
            (INNER_GAP_FIRST * scale, INNER_ITERATIONS_FIRST)
        } else if self.is_earlier {
            (f64::INFINITY, 1)
        } else if self.incumbent.cost.is_infinite() {
            (INNER_GAP_FIRST * scale, self.inner_iterations_max)
        } else {
            (INNER_GAP_SHARE * whole, self.inner_iterations_max)
        };
        let is_done = self.regions.iter().all(|region| region.is_done);
        self.inner_iterations > 0 && (is_done || open <= most || self.inner_iterations >= rounds)
    }

    /// What is left to try where no wide prices bring anything new: to hear the
    /// branches out once, and to make exceeding wide limits dearer.
    fn has_more_to_do(&mut self) -> bool {
        let is_heard = self.regions.iter().all(|region| region.is_done);
        if !is_heard && self.inner_iterations_max == INNER_ITERATIONS_MAX {
            self.inner_iterations_max = INNER_ITERATIONS_FIRST;
            return true;
        }
        self.inner_iterations_max = INNER_ITERATIONS_MAX;
        self.solution.uses_artificials
            && self.upper.raise_artificial_penalty(self.artificial_penalty())
    }

    fn warm_start(
        &mut self,
        start: &WarmStart,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Result<Termination, LpError> {
        let (cells, slots) = (self.incumbent.best.len(), self.oracle.constraints.slots());
        self.price(stopping, executor)?;
        self.earlier = start.prices_for(cells, self.oracle.constraints).take(EARLIER_MAX).collect();
        self.solve_regions(stopping.scale)?;
        self.add_aggregates()?;
        if !self.earlier.is_empty() {
            // Limits will cost about what they did: more would only mislead.
            let wide = self.decomposition.upper_duals(&self.earlier[0], slots);
            let dearest = wide.into_iter().fold(0.0, f64::max);
            self.upper.limit_artificial_penalty((2.0 * dearest).max(1e-3 * self.penalty_max));
            self.go_to_earlier(stopping)?;
            self.price(stopping, executor)?;
            self.solve_regions(stopping.scale)?;
            self.add_aggregates()?;
        }
        Ok(Termination::Gap)
    }

    /// Goes to prices of an earlier plan, as far as it has some.
    fn go_to_earlier(&mut self, stopping: StoppingCriteria) -> Result<(), LpError> {
        let slots = self.oracle.constraints.slots();
        let duals = self.earlier.remove(0);
        self.move_to(self.decomposition.upper_duals(&duals, slots));
        self.is_earlier = true;
        if self.moves <= 1 {
            self.solve_regions(stopping.scale)?;
            self.move_to_separation_point();
        }
        for region in &mut self.regions {
            let inside = gather(&region.subtree.constraints_at, &duals, slots);
            if inside.iter().any(|&dual| dual > 0.0) {
                region.trial = inside;
            } else if self.moves > 1 {
                region.trial.clone_from(&region.best);
            }
        }
        Ok(())
    }

    /// Draws the prices to ask the branches at.
    fn move_to_separation_point(&mut self) {
        for region in &mut self.regions {
            region.trial = region.smoothing.separation_point(&region.best, &region.solution.duals);
        }
    }

    fn run_to(
        &mut self,
        stopping: StoppingCriteria,
        executor: &mut Executor<'_>,
    ) -> Result<Termination, LpError> {
        loop {
            if let Some(termination) =
                stopping.termination(&self.incumbent.progress(stopping.scale), executor)
            {
                return Ok(termination);
            }
            if self.solution.uses_artificials
                && self.incumbent.gap(self.solution.cost, stopping.scale) <= stopping.gap
                && self.upper.raise_artificial_penalty(self.artificial_penalty())
            {
                self.solve_upper()?;
                continue;
            }
            if self.is_settled(stopping) && !self.earlier.is_empty() {
                self.go_to_earlier(stopping)?;
            } else if self.is_settled(stopping) {
                let is_better = self.incumbent.bound > self.bound_before;
                let is_done = self.smoothing.update(self.has_aggregated, is_better);
                if is_done && !self.has_more_to_do() {
                    return Ok(Termination::Stalled);
                }
                let best = self
                    .decomposition
                    .upper_duals(&self.incumbent.best, self.oracle.constraints.slots());
                self.move_to(self.smoothing.separation_point(&best, &self.solution.duals));
                self.is_earlier = false;
                // Near the last wide prices the last ones inside do well enough.
                self.move_to_separation_point();
            } else {
                self.move_to_separation_point();
            }
            self.price(stopping, executor)?;
            self.solve_regions(stopping.scale)?;
            self.add_aggregates()?;
        }
    }
}

impl Solver for TwoLevelColumnGeneration<'_> {
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
        for (offer, &weight) in self.aggregated.iter().zip(&self.solution.weights) {
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

    fn has_shortfall(&self) -> bool {
        let offers = self.aggregated.iter().zip(&self.solution.weights);
        offers.map(|(offer, weight)| offer.shortfall_kwh * weight).sum::<f64>() > 1e-6
    }
}

/// The branches of each bundle.
fn group_subtrees(regions: &[RegionalMaster<'_>]) -> Vec<Vec<usize>> {
    let has_terms = |at: &usize| !regions[*at].subtree.constraints.each.is_empty();
    let (own, loose): (Vec<usize>, Vec<usize>) = (0..regions.len()).partition(has_terms);
    let dealt = |regions: &[usize], most: usize| -> Vec<Vec<usize>> {
        let size = regions.len().div_ceil(most).max(SUBTREES_PER_AGGREGATE_MIN);
        regions.chunks(size).map(<[usize]>::to_vec).collect()
    };
    [dealt(&own, AGGREGATES_MAX), dealt(&loose, AGGREGATES_MAX_NON_BINDING)].concat()
}
