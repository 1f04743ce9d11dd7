//! A branch of an area: its own master programme, at prices that come from above.
use crate::area::column_generation::incumbent::SEPARATION_ROUNDS_MAX;
use crate::area::column_generation::master::{
    Column, MasterSolution, RestrictedMaster, WEIGHT_MIN,
};
use crate::area::column_generation::pricing_round::{PricingOracle, PricingRound};
use crate::area::column_generation::smoothing::DualSmoothing;
use crate::area::column_generation::subtree::Subtree;
use crate::area::model::linking::Penalty;
use crate::area::problem::micro_wh::as_kwh;
use crate::lp::LpError;

/// Gap of a branch at which exceeding its limits gets dearer.
const OPEN_GAP_WITH_ARTIFICIALS: f64 = 0.1;

/// One branch at the present wide prices.
pub(crate) struct RegionalMaster<'a> {
    pub(crate) subtree: &'a Subtree,
    master: RestrictedMaster<'a>,
    pub(crate) solution: MasterSolution,
    /// For each of its groups, which of the limited nodes are inside, and where
    /// the load of the top node stands among these.
    inside: Vec<(Vec<usize>, usize)>,
    /// What wide limits add to the price of each slot.
    outer_dual_price: Vec<f64>,
    /// Prices that prove most, and what they prove at the present wide prices.
    pub(crate) best: Vec<f64>,
    pub(crate) bound: f64,
    /// Prices of the round under way.
    pub(crate) trial: Vec<f64>,
    pub(crate) smoothing: DualSmoothing,
    pub(crate) is_done: bool,
    /// Whether anything is new since the programme was solved.
    is_stale: bool,
}

/// What a bundle of branches offers to the wide programme.
pub(crate) struct AggregatedColumn {
    /// Groups, rounds and weights that it is made of.
    pub(crate) from: Vec<(usize, usize, f64)>,
    pub(crate) shortfall_kwh: f64,
    pub(crate) uses_artificials: bool,
}

impl<'a> RegionalMaster<'a> {
    pub(crate) fn new(
        oracle: &PricingOracle<'a>,
        subtree: &'a Subtree,
        scales: (f64, f64),
        beyond: (f64, f64),
    ) -> Self {
        let inside = |&group: &usize| {
            let nodes = &oracle.nodes[group];
            let kept: Vec<usize> = (0..nodes.len()).filter(|&at| subtree.has(nodes[at])).collect();
            let top = kept.iter().position(|&at| nodes[at] == subtree.root);
            (kept, top.expect("a branch has its top node"))
        };
        let inside: Vec<(Vec<usize>, usize)> = subtree.groups.iter().map(inside).collect();
        let nodes = subtree.groups.iter().zip(&inside);
        let nodes = nodes.map(|(&group, (kept, _))| {
            kept.iter().map(|&at| oracle.nodes[group][at]).collect::<Vec<u32>>()
        });
        let master = RestrictedMaster::new(&subtree.constraints, nodes.collect(), scales, beyond)
            .expect("a programme of empty rows is one that the solver takes");
        let cells = subtree.constraints.each.len() * oracle.constraints.slots();
        Self {
            subtree,
            master,
            solution: MasterSolution::default(),
            inside,
            outer_dual_price: vec![0.0; oracle.constraints.slots()],
            best: vec![0.0; cells],
            bound: f64::NEG_INFINITY,
            trial: vec![0.0; cells],
            smoothing: DualSmoothing::default(),
            is_done: false,
            is_stale: true,
        }
    }

    fn slots(&self) -> usize {
        self.outer_dual_price.len()
    }

    /// Load of the whole branch in an answer, slot by slot.
    fn load<'r>(&self, column: &'r Column) -> &'r [i64] {
        &column.loads[self.inside[column.group].1 * self.slots()..][..self.slots()]
    }

    /// What an answer costs at the present wide prices.
    fn cost(&self, column: &Column) -> f64 {
        let paid = self.load(column).iter().zip(&self.outer_dual_price);
        column.cost + paid.map(|(&load, dual_price)| as_kwh(load) * dual_price).sum::<f64>()
    }

    /// Other wide prices.
    pub(crate) fn move_to(&mut self, dual_price: Vec<f64>) {
        self.outer_dual_price = dual_price;
        let costs: Vec<f64> = self.master.columns.iter().map(|column| self.cost(column)).collect();
        self.master.reprice(&costs);
        self.bound = f64::NEG_INFINITY;
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
            let is_near = self.is_done
                || self.open_gap() <= OPEN_GAP_WITH_ARTIFICIALS * scale * self.subtree.share;
            if !(self.solution.uses_artificials
                && is_near
                && self.master.raise_artificial_penalty(most))
            {
                return Ok(());
            }
            (self.is_done, self.is_stale) = (false, true);
        }
    }

    fn solve_once(&mut self) -> Result<(), LpError> {
        self.solution = self.cheapest();
        if self.is_within(&self.master.loads(&self.solution.weights)) {
            return Ok(());
        }
        for _ in 0..SEPARATION_ROUNDS_MAX {
            let loads = self.master.loads(&self.solution.weights);
            if !self.master.separate_rows(&loads)? && self.solution.is_solved {
                break;
            }
            self.solution = self.master.solve()?;
        }
        Ok(())
    }

    /// Whether loads reach no limit, so that none of them costs anything.
    fn is_within(&self, loads: &[Vec<f64>]) -> bool {
        self.subtree.constraints.each.iter().all(|constraint| {
            let kept =
                if constraint.penalty == Penalty::Hard { 1.0 - self.master.margin() } else { 1.0 };
            let mut load = loads[constraint.node].iter().zip(&constraint.bounds);
            !matches!(constraint.penalty, Penalty::Square(_))
                && load.all(|(load, bound)| constraint.sign * load <= bound * kept)
        })
    }

    /// The cheapest answer of each group, where no limit is in the way.
    fn cheapest(&self) -> MasterSolution {
        let columns = &self.master.columns;
        let mut least: Vec<Option<(f64, usize)>> = vec![None; self.subtree.groups.len()];
        for (at, column) in columns.iter().enumerate() {
            let cost = self.cost(column);
            if least[column.group].is_none_or(|(other, _)| cost < other) {
                least[column.group] = Some((cost, at));
            }
        }
        let mut solution = MasterSolution {
            weights: vec![0.0; columns.len()],
            duals: vec![0.0; self.best.len()],
            ..MasterSolution::default()
        };
        for (cost, at) in least.into_iter().flatten() {
            solution.weights[at] = 1.0;
            solution.group_duals.push(cost);
            solution.cost += cost;
        }
        solution
    }

    /// How far the mix is from what is proved.
    pub(crate) fn open_gap(&self) -> f64 {
        (self.solution.cost - self.bound).max(0.0)
    }

    /// Takes what its vehicles answered at the prices of the round.
    pub(crate) fn add_columns(&mut self, priced: &PricingRound, least: f64) -> Result<(), LpError> {
        let slots = self.slots();
        let mut proved = self.subtree.constraints.dual_value(&self.trial, &priced.loads);
        // Since the wide prices moved, or at first, there is no mix to compare with.
        let is_blind = self.is_stale;
        let mut is_new = false;
        for (own, &group) in self.subtree.groups.iter().enumerate() {
            let all = &priced.columns[group];
            let kept = self.inside[own].0.iter();
            let loads = kept.flat_map(|&at| all.loads[at * slots..][..slots].iter().copied());
            let column = Column { group: own, loads: loads.collect(), ..*all };
            let cost = self.cost(&column);
            proved += cost - column.optimality_slack;
            if is_blind
                || self.master.has_negative_reduced_cost(&column, cost, (&self.solution, least))
            {
                is_new = true;
                self.master.add_at(column, cost)?;
            }
        }
        let is_better = proved > self.bound;
        if is_better {
            self.bound = proved;
            self.best.clone_from(&self.trial);
        }
        self.is_done = self.smoothing.update(is_new, is_better);
        self.is_stale |= is_new;
        Ok(())
    }

    /// What the mix costs without the wide prices, its loads as a whole, and of
    /// what it is made.
    pub(crate) fn add_to_aggregate(
        &self,
        most: f64,
        offer: &mut AggregatedColumn,
    ) -> (f64, Vec<f64>) {
        let mut load = vec![0.0; self.slots()];
        let columns = self.master.columns.iter().zip(&self.solution.weights);
        for (column, &weight) in columns.filter(|(_, weight)| **weight > WEIGHT_MIN) {
            let sums = load.iter_mut().zip(self.load(column));
            sums.for_each(|(sum, &load)| *sum += weight * as_kwh(load));
            offer.from.push((self.subtree.groups[column.group], column.iteration, weight));
            offer.shortfall_kwh += weight * as_kwh(column.shortfall);
        }
        offer.uses_artificials |= self.solution.uses_artificials;
        let paid: f64 = load
            .iter()
            .zip(&self.outer_dual_price)
            .map(|(load, dual_price)| load * dual_price)
            .sum();
        let beyond = (most - self.master.artificial_penalty()) * self.solution.artificial_kwh;
        (self.solution.cost + beyond - paid, load)
    }
}
