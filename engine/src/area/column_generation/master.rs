//! The master programme: which mix of collected answers is cheapest.
//!
//! One weight per answer of a group, one row per group that makes its weights
//! add up to 1, and a row for each limit and slot that was ever violated.
//! Money and energy are scaled so that the solver sees numbers near 1.

use crate::area::model::linking::{LinkingConstraints, Penalty};
use crate::area::problem::micro_wh::as_kwh;
use crate::lp::warm::WarmProgram;
use crate::lp::{self, LpError};

/// Money of the whole area in units of the solver.
const MONEY: f64 = 1e3;

/// What one group answered in one round.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) group: usize,
    /// Round, hence prices, from which the plans can be made again.
    pub(crate) iteration: usize,
    /// Cost of the energy plus worth of what is shed.
    pub(crate) cost: f64,
    /// Most by which that is above the least at the prices asked.
    pub(crate) optimality_slack: f64,
    /// Need that is not met.
    pub(crate) shortfall: i64,
    /// Load of each limited node that the group is part of, slot by slot.
    pub(crate) loads: Vec<i64>,
}

/// Loads of the nodes that `terms` limit when replies count with weights, in
/// kWh; empty for other nodes. `nodes` are those of each group, in the order of
/// its loads.
pub(crate) fn loads_of(
    terms: &LinkingConstraints,
    nodes: &[Vec<u32>],
    columns: &[Column],
    weights: &[f64],
) -> Vec<Vec<f64>> {
    let slots = terms.slots();
    let last = terms.each.iter().map(|constraint| constraint.node + 1).max().unwrap_or(0);
    let mut loads = vec![Vec::new(); last];
    for constraint in &terms.each {
        loads[constraint.node] = vec![0.0; slots];
    }
    for (column, &weight) in columns.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
        for (at, &node) in nodes[column.group].iter().enumerate() {
            let sums = loads.get_mut(node as usize).into_iter().flatten();
            let load = column.loads[at * slots..][..slots].iter();
            sums.zip(load).for_each(|(sum, &load)| *sum += weight * as_kwh(load));
        }
    }
    loads
}

/// What the master programme says.
#[derive(Debug, Clone, Default)]
pub(crate) struct MasterSolution {
    /// Weight of each reply.
    pub(crate) weights: Vec<f64>,
    /// Price that each term puts on each slot.
    pub(crate) duals: Vec<f64>,
    /// Value of one whole group, by group.
    pub(crate) group_duals: Vec<f64>,
    /// Whether a hard limit is exceeded for want of better answers.
    pub(crate) uses_artificials: bool,
    /// Energy beyond hard limits, in kWh.
    pub(crate) artificial_kwh: f64,
    /// Cost of the mix, with the price of what exceeds hard limits.
    pub(crate) cost: f64,
    /// Whether it comes from the programme.
    pub(crate) is_solved: bool,
}

/// A row of the programme that stands for a term in a slot.
struct ActiveRow {
    constraint: usize,
    slot: usize,
    lp: usize,
    /// Energy that counts as 1.
    unit: f64,
    /// For squares: slope of the tangent.
    slope: f64,
}

/// The programme with all replies collected so far.
pub(crate) struct RestrictedMaster<'a> {
    constraints: &'a LinkingConstraints,
    lp: WarmProgram,
    /// Limited nodes of each group, in the order of its loads.
    pub(crate) nodes: Vec<Vec<u32>>,
    groups: Vec<usize>,
    pub(crate) columns: Vec<Column>,
    weights: Vec<usize>,
    rows: Vec<ActiveRow>,
    /// Columns for what exceeds hard limits, with the energy of one unit.
    artificials: Vec<(usize, f64)>,
    artificial_penalty: f64,
    /// Columns of peaks and squares, by term, and by term and slot.
    helpers: Vec<Option<usize>>,
    is_active: Vec<bool>,
    /// Money that counts as 1.
    money: f64,
    /// Energy below which no row is scaled.
    energy: f64,
    /// Part of hard limits that is left for whole answers to fit in.
    margin: f64,
}

impl<'a> RestrictedMaster<'a> {
    /// A programme for groups with these limited nodes.
    pub(crate) fn new(
        terms: &'a LinkingConstraints,
        nodes: Vec<Vec<u32>>,
        (money, energy): (f64, f64),
        (beyond_price, margin): (f64, f64),
    ) -> Result<Self, LpError> {
        let mut lp = WarmProgram::new()?;
        let groups = nodes.iter().map(|_| lp.add_row(1.0..=1.0, [])).collect::<Result<_, _>>()?;
        let cells = terms.each.len() * terms.slots();
        let money = money / MONEY;
        Ok(Self {
            constraints: terms,
            lp,
            nodes,
            groups,
            columns: Vec::new(),
            weights: Vec::new(),
            rows: Vec::new(),
            artificials: Vec::new(),
            artificial_penalty: beyond_price,
            helpers: vec![None; cells],
            is_active: vec![false; cells],
            money,
            energy,
            margin,
        })
    }

    /// Loads of limited nodes when the replies so far count with weights.
    pub(crate) fn loads(&self, weights: &[f64]) -> Vec<Vec<f64>> {
        loads_of(self.constraints, &self.nodes, &self.columns, weights)
    }

    /// Adds a reply.
    pub(crate) fn add(&mut self, column: Column) -> Result<(), LpError> {
        let cost = column.cost;
        self.add_at(column, cost)
    }

    /// Adds a reply that costs something else than its value.
    pub(crate) fn add_at(&mut self, reply: Column, cost: f64) -> Result<(), LpError> {
        let mut weights = Vec::with_capacity(self.rows.len() + 1);
        weights.push((self.groups[reply.group], 1.0));
        for row in &self.rows {
            let load = self.load(&reply, row.constraint, row.slot);
            if load != 0.0 {
                weights.push((row.lp, row.slope * load / row.unit));
            }
        }
        let column = lp::Column { cost: cost / self.money, lower: 0.0, upper: f64::INFINITY };
        self.weights.push(self.lp.add_column(column, weights)?);
        self.columns.push(reply);
        Ok(())
    }

    /// Load of a reply that a term sees, in kWh.
    fn load(&self, column: &Column, constraint: usize, slot: usize) -> f64 {
        let node = self.constraints.each[constraint].node as u32;
        let at = self.nodes[column.group].iter().position(|&other| other == node);
        at.map_or(0.0, |at| as_kwh(column.loads[at * self.constraints.slots() + slot]))
    }

    /// Adds rows where a load is beyond a bound, and tangents to squares.
    /// `loads` has a load for each node; tells whether there was a new one.
    pub(crate) fn separate_rows(&mut self, loads: &[Vec<f64>]) -> Result<bool, LpError> {
        let mut is_new = false;
        let slots = self.constraints.slots();
        for constraint in 0..self.constraints.each.len() {
            let at = &self.constraints.each[constraint];
            for (slot, &load) in loads[at.node].iter().enumerate() {
                let is_hard = at.penalty == Penalty::Hard && at.sign > 0.0;
                let kept = if is_hard { 1.0 - self.margin } else { 1.0 };
                let bound = at.bounds[slot] * kept;
                let cell = constraint * slots + slot;
                if let Penalty::Square(weight) = at.penalty
                    && bound.is_finite()
                {
                    is_new |= self.add_tangent(constraint, slot, load, weight)?;
                } else if !self.is_active[cell] && at.sign * load > bound {
                    self.is_active[cell] = true;
                    self.add_limit(constraint, slot, (at.penalty, bound))?;
                    is_new = true;
                }
            }
        }
        Ok(is_new)
    }

    fn new_row(
        &mut self,
        (constraint, slot): (usize, usize),
        (unit, slope): (f64, f64),
        upper: f64,
        more: impl IntoIterator<Item = (usize, f64)>,
    ) -> Result<(), LpError> {
        let mut weights: Vec<(usize, f64)> = more.into_iter().collect();
        for (reply, &column) in self.columns.iter().zip(&self.weights) {
            let load = self.load(reply, constraint, slot);
            if load != 0.0 {
                weights.push((column, slope * load / unit));
            }
        }
        let lp = self.lp.add_row(f64::NEG_INFINITY..=upper, weights)?;
        self.rows.push(ActiveRow { constraint, slot, lp, unit, slope });
        Ok(())
    }

    fn add_limit(
        &mut self,
        constraint: usize,
        slot: usize,
        (kind, bound): (Penalty, f64),
    ) -> Result<(), LpError> {
        let slope = self.constraints.each[constraint].sign;
        let unit = bound.abs().max(self.energy);
        let helper = |cost: f64| lp::Column { cost, lower: 0.0, upper: f64::INFINITY };
        let more = match kind {
            Penalty::Hard => {
                let price = self.artificial_penalty * unit / self.money;
                let column = self.lp.add_column(helper(price), [])?;
                self.artificials.push((column, unit));
                (column, -1.0)
            }
            Penalty::Priced(price) => {
                (self.lp.add_column(helper(price * unit / self.money), [])?, -1.0)
            }
            Penalty::Peak(price) => {
                let first = constraint * self.constraints.slots();
                // One unit of peak is the energy scale spread over an hour.
                let cost = price * self.energy / self.money;
                let column = match self.helpers[first] {
                    Some(column) => column,
                    None => self.lp.add_column(helper(cost), [])?,
                };
                self.helpers[first] = Some(column);
                (column, -self.constraints.hours[slot] * self.energy / unit)
            }
            Penalty::Square(_) => return Ok(()),
        };
        self.new_row((constraint, slot), (unit, slope), bound / unit, [more])
    }

    /// A tangent to `weight / h * (load - bound)²` at a load, unless one is near.
    fn add_tangent(
        &mut self,
        constraint: usize,
        slot: usize,
        load: f64,
        weight: f64,
    ) -> Result<bool, LpError> {
        let bound = self.constraints.each[constraint].bounds[slot];
        let a = weight / self.constraints.hours[slot];
        let slope = 2.0 * a * (load - bound);
        let cell = constraint * self.constraints.slots() + slot;
        let near = |row: &&ActiveRow| row.constraint == constraint && row.slot == slot;
        let step = 2.0 * a * 1e-4 * self.energy.max((load - bound).abs());
        if self.rows.iter().filter(near).any(|row| (row.slope - slope).abs() < step) {
            return Ok(false);
        }
        // The helper column counts money; the row is scaled to it.
        let unit = self.money;
        let column = match self.helpers[cell] {
            Some(column) => column,
            None => self
                .lp
                .add_column(lp::Column { cost: 1.0, lower: 0.0, upper: f64::INFINITY }, [])?,
        };
        self.helpers[cell] = Some(column);
        let constant = slope * load - a * (load - bound).powi(2);
        self.new_row((constraint, slot), (unit, slope), constant / unit, [(column, -1.0)])?;
        Ok(true)
    }

    /// Whether a reply that costs so much is cheaper than the mix of its group, by
    /// at least a part of that.
    pub(crate) fn has_negative_reduced_cost(
        &self,
        column: &Column,
        cost: f64,
        (solution, least): (&MasterSolution, f64),
    ) -> bool {
        let Some(&value) = solution.group_duals.get(column.group) else { return true };
        let slots = self.constraints.slots();
        let mut cost = cost;
        for (constraint, duals) in self.constraints.each.iter().zip(solution.duals.chunks(slots)) {
            let node = constraint.node as u32;
            if let Ok(at) = self.nodes[column.group].binary_search(&node) {
                let load = &column.loads[at * slots..][..slots];
                let paid = load.iter().zip(duals).map(|(&load, dual)| as_kwh(load) * dual);
                cost += constraint.sign * paid.sum::<f64>();
            }
        }
        cost < value - least * value.abs().max(cost.abs())
    }

    /// Lets each reply cost something else.
    pub(crate) fn reprice(&mut self, costs: &[f64]) {
        for (&column, cost) in self.weights.iter().zip(costs) {
            self.lp.change_cost(column, cost / self.money);
        }
    }

    /// The price on what exceeds hard limits.
    pub(crate) fn artificial_penalty(&self) -> f64 {
        self.artificial_penalty
    }

    /// Makes exceeding a hard limit dearer.
    pub(crate) fn raise_artificial_penalty(&mut self, most: f64) -> bool {
        if self.artificial_penalty >= most {
            return false;
        }
        self.limit_artificial_penalty((self.artificial_penalty * 8.0).min(most));
        true
    }

    /// Lets exceeding a hard limit cost so much.
    pub(crate) fn limit_artificial_penalty(&mut self, price: f64) {
        self.artificial_penalty = price;
        for &(column, unit) in &self.artificials {
            self.lp.change_cost(column, price * unit / self.money);
        }
    }

    /// Part of hard limits that is left for whole answers to fit in.
    pub(crate) fn margin(&self) -> f64 {
        self.margin
    }

    /// The cheapest mix.
    pub(crate) fn solve(&mut self) -> Result<MasterSolution, LpError> {
        let solution = self.lp.minimise()?;
        let mut duals = vec![0.0; self.is_active.len()];
        for row in &self.rows {
            let dual = -solution.duals[row.lp] * self.money / row.unit;
            let is_square =
                matches!(self.constraints.each[row.constraint].penalty, Penalty::Square(_));
            // Squares carry their slope, the others the price of a kWh.
            let price = if is_square { dual * row.slope } else { dual };
            duals[row.constraint * self.constraints.slots() + row.slot] += price;
        }
        self.constraints.clamp(&mut duals);
        let beyond = self.artificials.iter().map(|&(column, _)| solution.values[column]);
        let kwh = self.artificials.iter().map(|&(column, unit)| solution.values[column] * unit);
        Ok(MasterSolution {
            weights: self.weights.iter().map(|&column| solution.values[column].max(0.0)).collect(),
            duals,
            group_duals: self.groups.iter().map(|&r| solution.duals[r] * self.money).collect(),
            uses_artificials: beyond.fold(0.0, f64::max) > 1e-9,
            artificial_kwh: kwh.sum(),
            cost: solution.cost * self.money,
            is_solved: true,
        })
    }
}

/// Weights below this are rounding of the solver.
pub(crate) const WEIGHT_MIN: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::area::model::linking::LinkingConstraint;
    use crate::area::problem::micro_wh::to_micro_wh;

    /// A hard limit on the load of one node, in slots of an hour.
    fn hard_limit_of(bounds: &[f64]) -> LinkingConstraints {
        let bounds = bounds.to_vec();
        LinkingConstraints {
            hours: vec![1.0; bounds.len()],
            each: vec![LinkingConstraint { node: 0, sign: 1.0, penalty: Penalty::Hard, bounds }],
            paths: vec![vec![0]],
            by_node: vec![vec![0]],
            shortfall_penalty: 100.0,
        }
    }

    fn make_column(group: usize, cost: f64, loads_kwh: &[f64]) -> Column {
        let loads = loads_kwh.iter().map(|&kwh| to_micro_wh(kwh)).collect();
        Column { group, iteration: 0, cost, optimality_slack: 0.0, shortfall: 0, loads }
    }

    /// A master for groups that all lie below the node.
    fn build_master(constraints: &LinkingConstraints, groups: usize) -> RestrictedMaster<'_> {
        RestrictedMaster::new(constraints, vec![vec![0]; groups], (1.0, 1.0), (100.0, 0.0)).unwrap()
    }

    /// Solves, and adds the rows that the solution violates, until it violates none.
    fn solve_with_all_rows(master: &mut RestrictedMaster<'_>) -> MasterSolution {
        loop {
            let solution = master.solve().unwrap();
            let loads = master.loads(&solution.weights);
            if !master.separate_rows(&loads).unwrap() {
                return solution;
            }
        }
    }

    #[track_caller]
    fn assert_near(found: &[f64], expected: &[f64]) {
        let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(near && found.len() == expected.len(), "{found:?}, not {expected:?}");
    }

    /// 10 kWh in the first hour cost 1, in the second 2, and 5 kWh fit in the first: half of
    /// each, and the limit is worth a tenth a kWh.
    #[test]
    fn two_columns_are_mixed_as_by_hand() {
        let constraints = hard_limit_of(&[5.0, 8.0]);
        let mut master = build_master(&constraints, 1);
        master.add(make_column(0, 1.0, &[10.0, 0.0])).unwrap();
        master.add(make_column(0, 2.0, &[0.0, 10.0])).unwrap();
        let solution = solve_with_all_rows(&mut master);
        assert_near(&solution.weights, &[0.5, 0.5]);
        assert_near(&solution.duals, &[0.1, 0.0]);
        assert_near(&solution.group_duals, &[2.0]);
        assert_near(&[solution.cost], &[1.5]);
        assert!(!solution.uses_artificials);
        let improves = |cost| {
            let column = make_column(0, cost, &[5.0, 5.0]);
            master.has_negative_reduced_cost(&column, cost, (&solution, 0.0))
        };
        assert!(improves(1.4) && !improves(1.6), "5 kWh in the first hour cost 0.5 more");
    }

    #[test]
    fn what_no_column_avoids_is_carried_by_artificial_columns() {
        let constraints = hard_limit_of(&[5.0]);
        let mut master = build_master(&constraints, 1);
        master.add(make_column(0, 1.0, &[10.0])).unwrap();
        let solution = solve_with_all_rows(&mut master);
        assert!(solution.uses_artificials);
        assert_near(&[solution.artificial_kwh], &[5.0]);
        assert!(master.raise_artificial_penalty(1e6));
        assert_near(&[master.artificial_penalty()], &[800.0]);
    }

    /// Two vehicles need 10 kWh each from four hours at prices 1 to 4, of which each has room for
    /// 5 kWh: the least cost is 50. The pricing problem is the hour with the least price and dual.
    #[test]
    fn column_generation_ends_at_the_optimum_of_a_textbook_instance() {
        let (prices, need) = ([1.0, 2.0, 3.0, 4.0], 10.0);
        let constraints = hard_limit_of(&[5.0; 4]);
        let mut master = build_master(&constraints, 2);
        let price = |duals: &[f64]| {
            let reduced = |hour: &usize| prices[*hour] + duals[*hour];
            let best = (0..4).min_by(|a, b| reduced(a).total_cmp(&reduced(b))).unwrap();
            let mut loads = [0.0; 4];
            loads[best] = need;
            (prices[best] * need, loads, reduced(&best) * need)
        };
        let mut duals = vec![0.0; 4];
        for iteration in 0.. {
            assert!(iteration < 50, "column generation ends");
            let (cost, loads, value) = price(&duals);
            let bound = 2.0 * value - constraints.conjugate(&constraints.each[0], &duals);
            assert!(bound <= 50.0 + 1e-6, "no duals prove more than the optimum, not {bound}");
            for group in 0..2 {
                master.add(make_column(group, cost, &loads)).unwrap();
            }
            let solution = solve_with_all_rows(&mut master);
            let (cost, loads, _) = price(&solution.duals);
            let next = make_column(0, cost, &loads);
            if !master.has_negative_reduced_cost(&next, cost, (&solution, 1e-9)) {
                let value = price(&solution.duals).2;
                let paid = constraints.conjugate(&constraints.each[0], &solution.duals);
                assert_near(&[solution.cost, 2.0 * value - paid], &[50.0, 50.0]);
                return;
            }
            duals = solution.duals;
        }
    }
}
