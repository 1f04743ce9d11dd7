//! Restricted master: the cheapest convex combination of the columns generated so far.
//!
//! ```text
//! minimise  Σ_gk θ_gk·cost_gk + Σ_l f_l(y_l) ,    y_lt = s_l·Σ_gk θ_gk·load_gklt
//! so that   Σ_k θ_gk = 1  for each group g ,      θ >= 0
//! ```
//!
//! `f_l` is the penalty of limit `l`, zero up to the bounds `b_lt`; that of `Square` is zero at the
//! bounds alone. The row of one limit and slot is added once a solution violates it
//! ([`RestrictedMaster::separate_rows`]), with a variable `a >= 0`:
//!
//! | Penalty | Row of slot `t` | Cost of `a` |
//! |---|---|---|
//! | `Hard` | `y_t - a <= b_t` | artificial penalty per kWh |
//! | `Priced` | `y_t - a <= b_t` | its price per kWh |
//! | `Peak` | `y_t - h_t·a <= b_t`, one `a` in kW for all slots | its price per kW |
//! | `Square` | tangent of `γ_l/h_t·(y_t - b_t)²` at a former load, at most `a` | 1 |
//!
//! | Symbol | Code |
//! |---|---|
//! | `θ_gk` | [`MasterSolution::weights`] |
//! | `cost_gk`, `load_gklt` | [`Column::cost`], [`Column::loads`] |
//! | `s_l`, `b_lt` | `LinkingConstraint::sign` and `bounds` |
//! | `h_t` | `LinkingConstraints::hours` |
//! | dual `λ_lt >= 0` of a row | [`MasterSolution::duals`], of squares with either sign |
//! | dual `σ_g` of `Σ_k θ_gk = 1` | [`MasterSolution::group_duals`] |
//! | reduced cost | `has_negative_reduced_cost` |
//!
//! The reduced cost of a column of group `g` is `cost + Σ_lt λ_lt·s_l·load_lt - σ_g`. A column can
//! improve the solution only if it is negative.
//!
//! Money and energy are scaled so that the solver sees numbers near 1.

use crate::area::model::linking::{LinkingConstraint, LinkingConstraints, Penalty};
use crate::area::problem::micro_wh::as_kwh;
use crate::lp::warm::WarmProgram;
use crate::lp::{self, LpError};
use crate::tolerance::SOLVER_ROUNDING;

/// Cost of a whole area in the units of the solver.
const MONEY: f64 = 1e3;

/// Least difference of the loads of two tangents to one penalty, as a share of the distance to the
/// bound, or of the energy scale if that is larger. Nearer ones would add rows and no accuracy.
const TANGENT_SPACING: f64 = 1e-4;

/// Column: aggregate response of one group of vehicles in one pricing round.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// Position of the group in its master.
    pub(crate) group: usize,
    /// Pricing round. Its duals give the plans of the vehicles again.
    pub(crate) iteration: usize,
    /// Energy cost plus shortfall penalty, without duals.
    pub(crate) cost: f64,
    /// Upper bound on the distance, in money, to the optimum of the pricing problems.
    pub(crate) optimality_slack: f64,
    /// Need that is not met, in µWh.
    pub(crate) shortfall: i64,
    /// Load of each limited node that the group is part of, in µWh by slot.
    pub(crate) loads: Vec<i64>,
}

/// Loads of the nodes with a limit, in kWh by slot: the sum of `columns` times `weights`. Empty for
/// other nodes. `nodes` are the limited nodes of each group, in the order of its loads.
pub(crate) fn loads_of(
    constraints: &LinkingConstraints,
    nodes: &[Vec<u32>],
    columns: &[Column],
    weights: &[f64],
) -> Vec<Vec<f64>> {
    let slots = constraints.slots();
    let last = constraints.each.iter().map(|constraint| constraint.node + 1).max().unwrap_or(0);
    let mut loads = vec![Vec::new(); last];
    for constraint in &constraints.each {
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

/// Solution of a restricted master.
#[derive(Debug, Clone, Default)]
pub(crate) struct MasterSolution {
    /// Weight `θ_gk` of each column.
    pub(crate) weights: Vec<f64>,
    /// Dual of each limit and slot, per kWh; zero where there is no row.
    pub(crate) duals: Vec<f64>,
    /// Dual of each group's row `Σ_k θ_gk = 1`, in money.
    pub(crate) group_duals: Vec<f64>,
    /// True if artificial variables are above zero: the columns so far exceed a hard limit.
    pub(crate) uses_artificials: bool,
    /// Energy above hard limits, in kWh.
    pub(crate) artificial_kwh: f64,
    /// Objective value, with the penalty on energy above hard limits.
    pub(crate) cost: f64,
    /// True if the linear programme was solved for it.
    pub(crate) is_solved: bool,
}

/// Row of one limit in one slot.
struct ActiveRow {
    constraint: usize,
    slot: usize,
    /// Position of the row in the linear programme.
    lp: usize,
    /// Energy in kWh that counts as 1 in the row; for squares an amount of money.
    unit: f64,
    /// Factor of the load: the sign of the limit; for squares the slope of the tangent per kWh.
    slope: f64,
}

/// Restricted master with all columns generated so far.
pub(crate) struct RestrictedMaster<'a> {
    constraints: &'a LinkingConstraints,
    lp: WarmProgram,
    /// Limited nodes of each group, in the order of its loads.
    pub(crate) nodes: Vec<Vec<u32>>,
    /// Row `Σ_k θ_gk = 1` of each group in the linear programme.
    groups: Vec<usize>,
    pub(crate) columns: Vec<Column>,
    /// Variable of the weight of each column in the linear programme.
    weights: Vec<usize>,
    rows: Vec<ActiveRow>,
    /// Artificial variables of hard limits, each with the energy in kWh that counts as 1.
    artificials: Vec<(usize, f64)>,
    /// Penalty on energy above hard limits, per kWh.
    artificial_penalty: f64,
    /// Variables of peaks, at the first slot of the limit, and of squares, at each slot.
    penalty_variables: Vec<Option<usize>>,
    /// True for each limit and slot with a row, squares apart.
    is_active: Vec<bool>,
    /// Money that counts as 1.
    money: f64,
    /// Least energy in kWh that counts as 1 in a row.
    energy: f64,
    /// Part of hard import limits kept free, so that plans of whole columns fit.
    margin: f64,
}

impl<'a> RestrictedMaster<'a> {
    /// Restricted master without columns, for groups with the limited nodes `nodes`.
    ///
    /// `money` is the cost of the area and `energy` a small energy in kWh, to scale by;
    /// `artificial_penalty` is the first penalty per kWh above hard limits, `margin` the part of
    /// them to keep free.
    pub(crate) fn new(
        constraints: &'a LinkingConstraints,
        nodes: Vec<Vec<u32>>,
        (money, energy): (f64, f64),
        (artificial_penalty, margin): (f64, f64),
    ) -> Result<Self, LpError> {
        let mut lp = WarmProgram::new()?;
        // Rows `Σ_k θ_gk = 1`, which get their terms from the columns.
        let groups = nodes.iter().map(|_| lp.add_row(1.0..=1.0, [])).collect::<Result<_, _>>()?;
        let dual_count = constraints.each.len() * constraints.slots();
        let money = money / MONEY;
        Ok(Self {
            constraints,
            lp,
            nodes,
            groups,
            columns: Vec::new(),
            weights: Vec::new(),
            rows: Vec::new(),
            artificials: Vec::new(),
            artificial_penalty,
            penalty_variables: vec![None; dual_count],
            is_active: vec![false; dual_count],
            money,
            energy,
            margin,
        })
    }

    /// Loads of limited nodes in kWh by slot: the sum of the columns times `weights`.
    pub(crate) fn loads(&self, weights: &[f64]) -> Vec<Vec<f64>> {
        loads_of(self.constraints, &self.nodes, &self.columns, weights)
    }

    /// Adds a column at its own cost.
    pub(crate) fn add(&mut self, column: Column) -> Result<(), LpError> {
        let cost = column.cost;
        self.add_at(column, cost)
    }

    /// Adds a column whose cost in the objective is `cost`.
    pub(crate) fn add_at(&mut self, column: Column, cost: f64) -> Result<(), LpError> {
        let mut weights = Vec::with_capacity(self.rows.len() + 1);
        weights.push((self.groups[column.group], 1.0));
        for row in &self.rows {
            let load = self.load(&column, row.constraint, row.slot);
            if load != 0.0 {
                weights.push((row.lp, row.slope * load / row.unit));
            }
        }
        let variable = lp::Column { cost: cost / self.money, lower: 0.0, upper: f64::INFINITY };
        self.weights.push(self.lp.add_column(variable, weights)?);
        self.columns.push(column);
        Ok(())
    }

    /// Load of a column at the node of a limit, in kWh; 0 if its group is not below the node.
    fn load(&self, column: &Column, constraint: usize, slot: usize) -> f64 {
        let node = self.constraints.each[constraint].node as u32;
        let at = self.nodes[column.group].iter().position(|&other| other == node);
        at.map_or(0.0, |at| as_kwh(column.loads[at * self.constraints.slots() + slot]))
    }

    /// Adds a row for each limit and slot whose bound is exceeded, and tangents for squares.
    ///
    /// `loads` holds the load of each node in kWh by slot; a node with an empty load is skipped.
    /// Returns true if there was a new row.
    pub(crate) fn separate_rows(&mut self, loads: &[Vec<f64>]) -> Result<bool, LpError> {
        let mut is_new = false;
        let slots = self.constraints.slots();
        for constraint in 0..self.constraints.each.len() {
            let at = &self.constraints.each[constraint];
            for (slot, &load) in loads[at.node].iter().enumerate() {
                let bound = self.bound_less_margin(at, slot);
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

    /// Bound of a limit in a slot; of a hard limit on import the part that leaves the margin free,
    /// as room for plans of whole columns, which miss the loads slightly.
    pub(crate) fn bound_less_margin(&self, limit: &LinkingConstraint, slot: usize) -> f64 {
        let is_hard = limit.penalty == Penalty::Hard && limit.sign > 0.0;
        limit.bounds[slot] * if is_hard { 1.0 - self.margin } else { 1.0 }
    }

    /// Adds a row `slope·load / unit + more <= upper` with the loads of all columns so far. `more`
    /// are pairs of variable and coefficient.
    fn new_row(
        &mut self,
        (constraint, slot): (usize, usize),
        (unit, slope): (f64, f64),
        upper: f64,
        more: impl IntoIterator<Item = (usize, f64)>,
    ) -> Result<(), LpError> {
        let mut weights: Vec<(usize, f64)> = more.into_iter().collect();
        for (column, &variable) in self.columns.iter().zip(&self.weights) {
            let load = self.load(column, constraint, slot);
            if load != 0.0 {
                weights.push((variable, slope * load / unit));
            }
        }
        let lp = self.lp.add_row(f64::NEG_INFINITY..=upper, weights)?;
        self.rows.push(ActiveRow { constraint, slot, lp, unit, slope });
        Ok(())
    }

    /// Adds the row of a limit in a slot, with the variable that its penalty needs.
    fn add_limit(
        &mut self,
        constraint: usize,
        slot: usize,
        (kind, bound): (Penalty, f64),
    ) -> Result<(), LpError> {
        let slope = self.constraints.each[constraint].sign;
        // The row is scaled so that the bound is near 1.
        let unit = bound.abs().max(self.energy);
        let penalty_variable = |cost: f64| lp::Column { cost, lower: 0.0, upper: f64::INFINITY };
        let more = match kind {
            Penalty::Hard => {
                let price = self.artificial_penalty * unit / self.money;
                let column = self.lp.add_column(penalty_variable(price), [])?;
                self.artificials.push((column, unit));
                (column, -1.0)
            }
            Penalty::Priced(price) => {
                (self.lp.add_column(penalty_variable(price * unit / self.money), [])?, -1.0)
            }
            Penalty::Peak(price) => {
                let first = constraint * self.constraints.slots();
                // One unit of the peak is `energy` kWh in one hour, in kW.
                let cost = price * self.energy / self.money;
                let column = match self.penalty_variables[first] {
                    Some(column) => column,
                    None => self.lp.add_column(penalty_variable(cost), [])?,
                };
                self.penalty_variables[first] = Some(column);
                (column, -self.constraints.hours[slot] * self.energy / unit)
            }
            // `separate_rows` adds tangents for squares, and never this row.
            Penalty::Square(_) => return Ok(()),
        };
        self.new_row((constraint, slot), (unit, slope), bound / unit, [more])
    }

    /// Adds the tangent to `c·(y - bound)²` at `y = load`, with `c = weight / hours` and the
    /// penalty variable `a`:
    ///
    /// ```text
    /// 2c·(load - bound)·y - a  <=  2c·(load - bound)·load - c·(load - bound)²
    /// ```
    ///
    /// Returns false if the slot has a tangent with nearly this slope already: at a load that
    /// differs by less than [`TANGENT_SPACING`] of the distance to the bound.
    fn add_tangent(
        &mut self,
        constraint: usize,
        slot: usize,
        load: f64,
        weight: f64,
    ) -> Result<bool, LpError> {
        let bound = self.constraints.each[constraint].bounds[slot];
        let c = weight / self.constraints.hours[slot];
        let slope = 2.0 * c * (load - bound);
        let cell = constraint * self.constraints.slots() + slot;
        let near = |row: &&ActiveRow| row.constraint == constraint && row.slot == slot;
        let step = 2.0 * c * TANGENT_SPACING * self.energy.max((load - bound).abs());
        if self.rows.iter().filter(near).any(|row| (row.slope - slope).abs() < step) {
            return Ok(false);
        }
        // The penalty variable is an amount of money, and so is the unit of the row.
        let unit = self.money;
        let column = match self.penalty_variables[cell] {
            Some(column) => column,
            None => self
                .lp
                .add_column(lp::Column { cost: 1.0, lower: 0.0, upper: f64::INFINITY }, [])?,
        };
        self.penalty_variables[cell] = Some(column);
        let constant = slope * load - c * (load - bound).powi(2);
        self.new_row((constraint, slot), (unit, slope), constant / unit, [(column, -1.0)])?;
        Ok(true)
    }

    /// Returns true if the reduced cost of a column is negative by more than the part `tolerance`
    /// of its cost at the duals, or of the group's dual if that is larger.
    ///
    /// `cost` is the cost of the column in the objective. Without a dual of the group every column
    /// is new.
    pub(crate) fn has_negative_reduced_cost(
        &self,
        column: &Column,
        cost: f64,
        (solution, tolerance): (&MasterSolution, f64),
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
        // Relative to the larger amount: rounding of the solver must not make a column new.
        cost < value - tolerance * value.abs().max(cost.abs())
    }

    /// Sets the cost of each column in the objective.
    pub(crate) fn reprice(&mut self, costs: &[f64]) {
        for (&column, cost) in self.weights.iter().zip(costs) {
            self.lp.change_cost(column, cost / self.money);
        }
    }

    /// Penalty on energy above hard limits, per kWh.
    pub(crate) fn artificial_penalty(&self) -> f64 {
        self.artificial_penalty
    }

    /// Multiplies the penalty on energy above hard limits by 8, up to `penalty_max` per kWh.
    /// Returns false if it is there already.
    pub(crate) fn raise_artificial_penalty(&mut self, penalty_max: f64) -> bool {
        if self.artificial_penalty >= penalty_max {
            return false;
        }
        self.set_artificial_penalty((self.artificial_penalty * 8.0).min(penalty_max));
        true
    }

    /// Sets the penalty on energy above hard limits, per kWh.
    pub(crate) fn set_artificial_penalty(&mut self, price: f64) {
        self.artificial_penalty = price;
        // Rows that are still to come take the penalty from the field.
        for &(column, unit) in &self.artificials {
            self.lp.change_cost(column, price * unit / self.money);
        }
    }

    /// Solves the linear programme, and converts its duals to money per kWh.
    pub(crate) fn solve(&mut self) -> Result<MasterSolution, LpError> {
        let solution = self.lp.minimise()?;
        let mut duals = vec![0.0; self.is_active.len()];
        for row in &self.rows {
            // The solver's dual of a row `<=` is negative or zero, in its own units.
            let dual = -solution.duals[row.lp] * self.money / row.unit;
            let is_square =
                matches!(self.constraints.each[row.constraint].penalty, Penalty::Square(_));
            // The row of a square counts money: its slope converts the dual to a price per kWh.
            let price = if is_square { dual * row.slope } else { dual };
            duals[row.constraint * self.constraints.slots() + row.slot] += price;
        }
        // Rounding may move a dual out of the domain in which it proves a bound.
        self.constraints.clamp(&mut duals);
        // Values up to `SOLVER_ROUNDING` are rounding, and so are weights below zero.
        let artificials = self.artificials.iter().map(|&(column, _)| solution.values[column]);
        let kwh = self.artificials.iter().map(|&(column, unit)| solution.values[column] * unit);
        Ok(MasterSolution {
            weights: self.weights.iter().map(|&column| solution.values[column].max(0.0)).collect(),
            duals,
            group_duals: self.groups.iter().map(|&r| solution.duals[r] * self.money).collect(),
            uses_artificials: artificials.fold(0.0, f64::max) > SOLVER_ROUNDING,
            artificial_kwh: kwh.sum(),
            cost: solution.cost * self.money,
            is_solved: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    /// each, and the dual of the limit is 0.1 per kWh.
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
