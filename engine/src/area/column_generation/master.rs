//! The master programme: which mix of collected answers is cheapest.
//!
//! One weight per answer of a group, one row per group that makes its weights
//! add up to 1, and a row for each limit and slot that was ever violated.
//! Money and energy are scaled so that the solver sees numbers near 1.

use crate::area::model::linking::{Kind, Terms};
use crate::area::problem::micro_wh::as_kwh;
use crate::lp::warm::WarmProgram;
use crate::lp::{Column, LpError};

/// Money of the whole area in units of the solver.
const MONEY: f64 = 1e3;

/// What one group answered in one round.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) group: usize,
    /// Round, hence prices, from which the plans can be made again.
    pub(crate) round: usize,
    /// Cost of the energy plus worth of what is shed.
    pub(crate) value: f64,
    /// Most by which that is above the least at the prices asked.
    pub(crate) slack: f64,
    /// Need that is not met.
    pub(crate) shed: i64,
    /// Load of each limited node that the group is part of, slot by slot.
    pub(crate) loads: Vec<i64>,
}

/// Loads of the nodes that `terms` limit when replies count with weights, in
/// kWh; empty for other nodes. `nodes` are those of each group, in the order of
/// its loads.
pub(crate) fn loads_of(
    terms: &Terms,
    nodes: &[Vec<u32>],
    replies: &[Reply],
    weights: &[f64],
) -> Vec<Vec<f64>> {
    let slots = terms.slots();
    let last = terms.each.iter().map(|term| term.node + 1).max().unwrap_or(0);
    let mut loads = vec![Vec::new(); last];
    for term in &terms.each {
        loads[term.node] = vec![0.0; slots];
    }
    for (reply, &weight) in replies.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
        for (at, &node) in nodes[reply.group].iter().enumerate() {
            let sums = loads.get_mut(node as usize).into_iter().flatten();
            let load = reply.loads[at * slots..][..slots].iter();
            sums.zip(load).for_each(|(sum, &load)| *sum += weight * as_kwh(load));
        }
    }
    loads
}

/// What the master programme says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mix {
    /// Weight of each reply.
    pub(crate) weights: Vec<f64>,
    /// Price that each term puts on each slot.
    pub(crate) duals: Vec<f64>,
    /// Value of one whole group, by group.
    pub(crate) per_group: Vec<f64>,
    /// Whether a hard limit is exceeded for want of better answers.
    pub(crate) is_beyond: bool,
    /// Energy beyond hard limits, in kWh.
    pub(crate) beyond_kwh: f64,
    /// Cost of the mix, with the price of what exceeds hard limits.
    pub(crate) cost: f64,
    /// Whether it comes from the programme.
    pub(crate) is_solved: bool,
}

/// A row of the programme that stands for a term in a slot.
struct Row {
    term: usize,
    slot: usize,
    lp: usize,
    /// Energy that counts as 1.
    unit: f64,
    /// For squares: slope of the tangent.
    slope: f64,
}

/// The programme with all replies collected so far.
pub(crate) struct Master<'a> {
    terms: &'a Terms,
    lp: WarmProgram,
    /// Limited nodes of each group, in the order of its loads.
    pub(crate) nodes: Vec<Vec<u32>>,
    groups: Vec<usize>,
    pub(crate) replies: Vec<Reply>,
    weights: Vec<usize>,
    rows: Vec<Row>,
    /// Columns for what exceeds hard limits, with the energy of one unit.
    beyond: Vec<(usize, f64)>,
    beyond_price: f64,
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

impl<'a> Master<'a> {
    /// A programme for groups with these limited nodes.
    pub(crate) fn new(
        terms: &'a Terms,
        nodes: Vec<Vec<u32>>,
        (money, energy): (f64, f64),
        (beyond_price, margin): (f64, f64),
    ) -> Result<Self, LpError> {
        let mut lp = WarmProgram::new()?;
        let groups = nodes.iter().map(|_| lp.add_row(1.0..=1.0, [])).collect::<Result<_, _>>()?;
        let cells = terms.each.len() * terms.slots();
        let money = money / MONEY;
        Ok(Self {
            terms,
            lp,
            nodes,
            groups,
            replies: Vec::new(),
            weights: Vec::new(),
            rows: Vec::new(),
            beyond: Vec::new(),
            beyond_price,
            helpers: vec![None; cells],
            is_active: vec![false; cells],
            money,
            energy,
            margin,
        })
    }

    /// Loads of limited nodes when the replies so far count with weights.
    pub(crate) fn loads(&self, weights: &[f64]) -> Vec<Vec<f64>> {
        loads_of(self.terms, &self.nodes, &self.replies, weights)
    }

    /// Adds a reply.
    pub(crate) fn add(&mut self, reply: Reply) -> Result<(), LpError> {
        let cost = reply.value;
        self.add_at(reply, cost)
    }

    /// Adds a reply that costs something else than its value.
    pub(crate) fn add_at(&mut self, reply: Reply, cost: f64) -> Result<(), LpError> {
        let mut weights = Vec::with_capacity(self.rows.len() + 1);
        weights.push((self.groups[reply.group], 1.0));
        for row in &self.rows {
            let load = self.load(&reply, row.term, row.slot);
            if load != 0.0 {
                weights.push((row.lp, row.slope * load / row.unit));
            }
        }
        let column = Column { cost: cost / self.money, lower: 0.0, upper: f64::INFINITY };
        self.weights.push(self.lp.add_column(column, weights)?);
        self.replies.push(reply);
        Ok(())
    }

    /// Load of a reply that a term sees, in kWh.
    fn load(&self, reply: &Reply, term: usize, slot: usize) -> f64 {
        let node = self.terms.each[term].node as u32;
        let at = self.nodes[reply.group].iter().position(|&other| other == node);
        at.map_or(0.0, |at| as_kwh(reply.loads[at * self.terms.slots() + slot]))
    }

    /// Adds rows where a load is beyond a bound, and tangents to squares.
    /// `loads` has a load for each node; tells whether there was a new one.
    pub(crate) fn activate(&mut self, loads: &[Vec<f64>]) -> Result<bool, LpError> {
        let mut is_new = false;
        let slots = self.terms.slots();
        for term in 0..self.terms.each.len() {
            let at = &self.terms.each[term];
            for (slot, &load) in loads[at.node].iter().enumerate() {
                let is_hard = at.kind == Kind::Hard && at.sign > 0.0;
                let kept = if is_hard { 1.0 - self.margin } else { 1.0 };
                let bound = at.bounds[slot] * kept;
                let cell = term * slots + slot;
                if let Kind::Square(weight) = at.kind
                    && bound.is_finite()
                {
                    is_new |= self.add_tangent(term, slot, load, weight)?;
                } else if !self.is_active[cell] && at.sign * load > bound {
                    self.is_active[cell] = true;
                    self.add_limit(term, slot, (at.kind, bound))?;
                    is_new = true;
                }
            }
        }
        Ok(is_new)
    }

    fn new_row(
        &mut self,
        (term, slot): (usize, usize),
        (unit, slope): (f64, f64),
        upper: f64,
        more: impl IntoIterator<Item = (usize, f64)>,
    ) -> Result<(), LpError> {
        let mut weights: Vec<(usize, f64)> = more.into_iter().collect();
        for (reply, &column) in self.replies.iter().zip(&self.weights) {
            let load = self.load(reply, term, slot);
            if load != 0.0 {
                weights.push((column, slope * load / unit));
            }
        }
        let lp = self.lp.add_row(f64::NEG_INFINITY..=upper, weights)?;
        self.rows.push(Row { term, slot, lp, unit, slope });
        Ok(())
    }

    fn add_limit(
        &mut self,
        term: usize,
        slot: usize,
        (kind, bound): (Kind, f64),
    ) -> Result<(), LpError> {
        let slope = self.terms.each[term].sign;
        let unit = bound.abs().max(self.energy);
        let helper = |cost: f64| Column { cost, lower: 0.0, upper: f64::INFINITY };
        let more = match kind {
            Kind::Hard => {
                let price = self.beyond_price * unit / self.money;
                let column = self.lp.add_column(helper(price), [])?;
                self.beyond.push((column, unit));
                (column, -1.0)
            }
            Kind::Priced(price) => {
                (self.lp.add_column(helper(price * unit / self.money), [])?, -1.0)
            }
            Kind::Peak(price) => {
                let first = term * self.terms.slots();
                // One unit of peak is the energy scale spread over an hour.
                let cost = price * self.energy / self.money;
                let column = match self.helpers[first] {
                    Some(column) => column,
                    None => self.lp.add_column(helper(cost), [])?,
                };
                self.helpers[first] = Some(column);
                (column, -self.terms.hours[slot] * self.energy / unit)
            }
            Kind::Square(_) => return Ok(()),
        };
        self.new_row((term, slot), (unit, slope), bound / unit, [more])
    }

    /// A tangent to `weight / h * (load - bound)²` at a load, unless one is near.
    fn add_tangent(
        &mut self,
        term: usize,
        slot: usize,
        load: f64,
        weight: f64,
    ) -> Result<bool, LpError> {
        let bound = self.terms.each[term].bounds[slot];
        let a = weight / self.terms.hours[slot];
        let slope = 2.0 * a * (load - bound);
        let cell = term * self.terms.slots() + slot;
        let near = |row: &&Row| row.term == term && row.slot == slot;
        let step = 2.0 * a * 1e-4 * self.energy.max((load - bound).abs());
        if self.rows.iter().filter(near).any(|row| (row.slope - slope).abs() < step) {
            return Ok(false);
        }
        // The helper column counts money; the row is scaled to it.
        let unit = self.money;
        let column = match self.helpers[cell] {
            Some(column) => column,
            None => {
                self.lp.add_column(Column { cost: 1.0, lower: 0.0, upper: f64::INFINITY }, [])?
            }
        };
        self.helpers[cell] = Some(column);
        let constant = slope * load - a * (load - bound).powi(2);
        self.new_row((term, slot), (unit, slope), constant / unit, [(column, -1.0)])?;
        Ok(true)
    }

    /// Whether a reply that costs so much is cheaper than the mix of its group, by
    /// at least a part of that.
    pub(crate) fn improves(&self, reply: &Reply, cost: f64, (mix, least): (&Mix, f64)) -> bool {
        let Some(&value) = mix.per_group.get(reply.group) else { return true };
        let slots = self.terms.slots();
        let mut cost = cost;
        for (term, duals) in self.terms.each.iter().zip(mix.duals.chunks(slots)) {
            let node = term.node as u32;
            if let Ok(at) = self.nodes[reply.group].binary_search(&node) {
                let load = &reply.loads[at * slots..][..slots];
                let paid = load.iter().zip(duals).map(|(&load, dual)| as_kwh(load) * dual);
                cost += term.sign * paid.sum::<f64>();
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
    pub(crate) fn beyond_price(&self) -> f64 {
        self.beyond_price
    }

    /// Makes exceeding a hard limit dearer.
    pub(crate) fn raise_beyond(&mut self, most: f64) -> bool {
        if self.beyond_price >= most {
            return false;
        }
        self.limit_beyond((self.beyond_price * 8.0).min(most));
        true
    }

    /// Lets exceeding a hard limit cost so much.
    pub(crate) fn limit_beyond(&mut self, price: f64) {
        self.beyond_price = price;
        for &(column, unit) in &self.beyond {
            self.lp.change_cost(column, price * unit / self.money);
        }
    }

    /// Part of hard limits that is left for whole answers to fit in.
    pub(crate) fn margin(&self) -> f64 {
        self.margin
    }

    /// The cheapest mix.
    pub(crate) fn solve(&mut self) -> Result<Mix, LpError> {
        let solution = self.lp.minimise()?;
        let mut duals = vec![0.0; self.is_active.len()];
        for row in &self.rows {
            let dual = -solution.duals[row.lp] * self.money / row.unit;
            let is_square = matches!(self.terms.each[row.term].kind, Kind::Square(_));
            // Squares carry their slope, the others the price of a kWh.
            let price = if is_square { dual * row.slope } else { dual };
            duals[row.term * self.terms.slots() + row.slot] += price;
        }
        self.terms.clamp(&mut duals);
        let beyond = self.beyond.iter().map(|&(column, _)| solution.values[column]);
        let kwh = self.beyond.iter().map(|&(column, unit)| solution.values[column] * unit);
        Ok(Mix {
            weights: self.weights.iter().map(|&column| solution.values[column].max(0.0)).collect(),
            duals,
            per_group: self.groups.iter().map(|&r| solution.duals[r] * self.money).collect(),
            is_beyond: beyond.fold(0.0, f64::max) > 1e-9,
            beyond_kwh: kwh.sum(),
            cost: solution.cost * self.money,
            is_solved: true,
        })
    }
}

/// Weights below this are rounding of the solver.
pub(crate) const WEIGHT_MIN: f64 = 1e-9;
