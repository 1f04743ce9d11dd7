//! Limits as functions of the load of the vehicles, each slot by itself.
//!
//! A term costs nothing up to a bound, and above it what its kind says. For
//! the proof each knows its conjugate, the most that `dual * load - cost` can
//! be: with it any prices whatsoever give a bound on the cost of all plans.
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::limits::{Limit, Node, Profile, base_loads_kw};
use crate::units::{MICROS_PER_HOUR, Power, Price};

/// What a kWh beyond the bound costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Penalty {
    /// It must not be.
    Hard,
    /// Its price.
    Priced(f64),
    /// A price on the highest power above the bound.
    Peak(f64),
    /// A price on the square of the power beyond the bound, on both sides.
    Square(f64),
}

/// One limit of one node in all slots: `sign * load <= bound` costs nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinkingConstraint {
    pub(crate) node: usize,
    /// 1 for import, -1 for export.
    pub(crate) sign: f64,
    pub(crate) penalty: Penalty,
    /// In kWh of the vehicles; infinite where there is none.
    pub(crate) bounds: Vec<f64>,
}

/// All limits of an area.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkingConstraints {
    pub(crate) each: Vec<LinkingConstraint>,
    /// Length of each slot.
    pub(crate) hours: Vec<f64>,
    /// For each node the limited nodes whose load it is part of, itself first.
    pub(crate) paths: Vec<Vec<u32>>,
    /// Terms of each node.
    pub(crate) by_node: Vec<Vec<usize>>,
    /// More than any kWh can cost where needs can be met.
    pub(crate) shortfall_penalty: f64,
}

impl LinkingConstraints {
    pub(crate) fn new(problem: &AreaProblem<'_>) -> Self {
        let horizon = problem.curves.horizon();
        let hours: Vec<f64> =
            horizon.lengths().iter().map(|micros| micros / MICROS_PER_HOUR).collect();
        let mut constraints = Vec::new();
        let bases = base_loads_kw(&problem.nodes, hours.len());
        for (at, (node, base_kw)) in problem.nodes.iter().zip(&bases).enumerate() {
            for limit in &node.limits {
                add_limit(&mut constraints, (at, base_kw), limit, &hours);
            }
        }
        let mut by_node = vec![Vec::new(); problem.nodes.len()];
        for (at, constraint) in constraints.iter().enumerate() {
            by_node[constraint.node].push(at);
        }
        let paths =
            (0..problem.nodes.len()).map(|node| path_to_root(&problem.nodes, node, &by_node));
        let paths = paths.collect();
        let mut made = Self { each: constraints, hours, paths, by_node, shortfall_penalty: 0.0 };
        made.shortfall_penalty = made.shortfall_penalty_of(problem);
        made
    }

    /// Number of slots.
    pub(crate) fn slots(&self) -> usize {
        self.hours.len()
    }

    /// The same for a part of the vehicles.
    pub(crate) fn scaled(&self, part: f64) -> Self {
        let mut scaled = self.clone();
        for constraint in &mut scaled.each {
            constraint.bounds.iter_mut().for_each(|bound| *bound *= part);
            if let Penalty::Square(weight) = &mut constraint.penalty {
                *weight /= part;
            }
        }
        scaled
    }

    /// Prices of soft limits alone: those of hard ones are zero.
    pub(crate) fn soft_duals(&self, duals: &[f64]) -> Vec<f64> {
        let mut soft = duals.to_vec();
        for (constraint, duals) in self.each.iter().zip(soft.chunks_mut(self.slots().max(1))) {
            if constraint.penalty == Penalty::Hard {
                duals.fill(0.0);
            }
        }
        soft
    }

    /// The hard limits on import alone.
    pub(crate) fn hard(&self) -> Self {
        let each = &self.each;
        self.restricted_to(|at| each[at].penalty == Penalty::Hard && each[at].sign > 0.0)
    }

    /// Some of the limits, with the nodes that have one.
    pub(crate) fn restricted_to(&self, is_kept: impl Fn(usize) -> bool) -> Self {
        let kept: Vec<usize> = (0..self.each.len()).filter(|&at| is_kept(at)).collect();
        let mut only = self.subset(&kept);
        only.by_node = vec![Vec::new(); self.by_node.len()];
        for (at, constraint) in only.each.iter().enumerate() {
            only.by_node[constraint.node].push(at);
        }
        let by_node = &only.by_node;
        let limited = |path: &Vec<u32>| {
            path.iter().copied().filter(|&node| !by_node[node as usize].is_empty()).collect()
        };
        only.paths = self.paths.iter().map(limited).collect();
        only
    }

    /// Some of the limits by themselves, without nodes and paths.
    pub(crate) fn subset(&self, kept: &[usize]) -> Self {
        let each = kept.iter().map(|&at| self.each[at].clone()).collect();
        Self {
            each,
            hours: self.hours.clone(),
            shortfall_penalty: self.shortfall_penalty,
            ..Self::default()
        }
    }

    /// A price above which going without is cheaper than any detour.
    fn shortfall_penalty_of(&self, problem: &AreaProblem<'_>) -> f64 {
        let (mut low, mut high, is_shared) = problem.curves.spread();
        // A stored kWh takes more than one at the plug, and wears.
        let mut storing = (1.0, 0.0);
        if let Some(columns) = &problem.vehicles.storage {
            if let Some(export) = &columns.export {
                let (least, most, _) = export.spread();
                (low, high) = (low.min(least), high.max(most));
            }
            storing = columns.dearest(&problem.vehicles.fleet);
        }
        let hours_min = self.hours.iter().copied().fold(f64::INFINITY, f64::min);
        let most_kw: f64 = problem.vehicles.fleet.power_most_kw();
        let soft = self.each.iter().map(|constraint| match constraint.penalty {
            Penalty::Hard => 0.0,
            Penalty::Priced(price) => price,
            Penalty::Peak(price) => price / hours_min,
            Penalty::Square(weight) => {
                let far = constraint.bounds.iter().zip(&self.hours).filter(|(b, _)| b.is_finite());
                let far = far.map(|(bound, hours)| (bound / hours).abs()).fold(0.0, f64::max);
                2.0 * weight * (most_kw + far)
            }
        });
        let soft: f64 = soft.sum();
        // On curves of their own vehicles may pass a kWh on from one to the
        // next, each at a loss; on one curve the losses cancel.
        let chain = if is_shared { 2.0 } else { 16.0 };
        let penalty = chain * ((high - low) + soft) + high.abs().max(low.abs()) + 1e-6;
        penalty * storing.0 + storing.1
    }

    /// What the terms of a node add to the price of a kWh, for each vehicle
    /// below `node`.
    pub(crate) fn dual_price(&self, node: u32, duals: &[f64]) -> Vec<f64> {
        let mut dual_price = vec![0.0; self.slots()];
        for &node in &self.paths[node as usize] {
            for &constraint in &self.by_node[node as usize] {
                let sign = self.each[constraint].sign;
                let duals = &duals[constraint * self.slots()..][..self.slots()];
                dual_price
                    .iter_mut()
                    .zip(duals)
                    .for_each(|(dual_price, dual)| *dual_price += sign * dual);
            }
        }
        dual_price
    }

    /// The cost of a term at a load in kWh per slot.
    pub(crate) fn cost(&self, constraint: &LinkingConstraint, load: &[f64]) -> f64 {
        let beyond = |slot: usize| constraint.sign * load[slot] - constraint.bounds[slot];
        let finite = (0..load.len()).filter(|&slot| constraint.bounds[slot].is_finite());
        match constraint.penalty {
            Penalty::Hard => 0.0,
            Penalty::Priced(price) => finite.map(|slot| price * beyond(slot).max(0.0)).sum(),
            Penalty::Peak(price) => {
                let power = |slot: usize| beyond(slot) / self.hours[slot];
                price * finite.map(power).fold(0.0, f64::max)
            }
            Penalty::Square(weight) => {
                finite.map(|slot| weight / self.hours[slot] * beyond(slot).powi(2)).sum()
            }
        }
    }

    /// What the limits cost at some loads; infinite beyond a hard one.
    pub(crate) fn cost_of_limits(&self, loads: &[Vec<f64>], tolerance: f64) -> f64 {
        let of_term = |constraint: &LinkingConstraint| {
            let load = &loads[constraint.node];
            let beyond = |slot: usize| constraint.sign * load[slot] - constraint.bounds[slot];
            let is_beyond =
                |slot: usize| beyond(slot) > tolerance * (1.0 + constraint.bounds[slot].abs());
            if constraint.penalty == Penalty::Hard && (0..load.len()).any(is_beyond) {
                return f64::INFINITY;
            }
            self.cost(constraint, load)
        };
        self.each.iter().map(of_term).sum()
    }

    /// What prices of limits prove at these loads: what is paid at them, less the
    /// most that it could be worth to the limits.
    pub(crate) fn dual_value(&self, duals: &[f64], loads: &[Vec<f64>]) -> f64 {
        let constraints = self.each.iter().zip(duals.chunks(self.slots().max(1)));
        let of_terms = constraints.map(|(constraint, duals)| {
            let paid: f64 =
                loads[constraint.node].iter().zip(duals).map(|(load, dual)| load * dual).sum();
            constraint.sign * paid - self.conjugate(constraint, duals)
        });
        of_terms.sum()
    }

    /// The most that `Σ dual * load - cost` can be, whatever the load.
    pub(crate) fn conjugate(&self, constraint: &LinkingConstraint, duals: &[f64]) -> f64 {
        let finite = (0..duals.len()).filter(|&slot| constraint.bounds[slot].is_finite());
        match constraint.penalty {
            Penalty::Hard | Penalty::Priced(_) | Penalty::Peak(_) => {
                finite.map(|slot| duals[slot] * constraint.bounds[slot]).sum()
            }
            Penalty::Square(weight) => finite
                .map(|slot| {
                    let a = weight / self.hours[slot];
                    duals[slot] * constraint.bounds[slot] + duals[slot].powi(2) / (4.0 * a)
                })
                .sum(),
        }
    }

    /// Moves duals to where the conjugate is finite: what rounding of the
    /// solver left beyond a price must not spoil the proof.
    pub(crate) fn clamp(&self, duals: &mut [f64]) {
        for (constraint, duals) in self.each.iter().zip(duals.chunks_mut(self.slots().max(1))) {
            let top = match constraint.penalty {
                Penalty::Square(_) => continue,
                Penalty::Priced(price) => price,
                Penalty::Hard | Penalty::Peak(_) => f64::INFINITY,
            };
            for dual in &mut *duals {
                *dual = dual.clamp(0.0, top);
            }
            if let Penalty::Peak(price) = constraint.penalty {
                let sum: f64 = duals.iter().zip(&self.hours).map(|(dual, h)| dual * h).sum();
                if sum > price {
                    for dual in duals {
                        *dual *= price / sum;
                    }
                }
            }
        }
    }
}

/// The limited nodes from a node to the top.
fn path_to_root(nodes: &[Node], node: usize, by_node: &[Vec<usize>]) -> Vec<u32> {
    let up = std::iter::successors(Some(node), |&at| nodes[at].parent);
    up.filter(|&at| !by_node[at].is_empty()).map(|at| at as u32).collect()
}

/// A profile less the load that is there anyway, in kWh.
fn bounds_of(base_kw: &[f64], profile: Option<&Profile>, sign: f64, hours: &[f64]) -> Vec<f64> {
    let bound = |(slot, hours): (usize, &f64)| match profile
        .map_or(Some(0.0), |profile| profile.at(slot).map(Power::as_kw))
    {
        Some(power) => (power - sign * base_kw[slot]) * hours,
        None => f64::INFINITY,
    };
    hours.iter().enumerate().map(bound).collect()
}

fn add_limit(
    constraints: &mut Vec<LinkingConstraint>,
    (node, base_kw): (usize, &[f64]),
    limit: &Limit,
    hours: &[f64],
) {
    let mut add = |sign: f64, kind: Penalty, bounds: Vec<f64>| {
        constraints.push(LinkingConstraint { node, sign, penalty: kind, bounds });
    };
    let kind =
        |price: &Option<Price>| price.map_or(Penalty::Hard, |p| Penalty::Priced(p.as_per_kwh()));
    match limit {
        Limit::Import { power_max, price } => {
            let mut bounds = bounds_of(base_kw, Some(power_max), 1.0, hours);
            if price.is_none() {
                // Vehicles cannot make up for a base load above the limit.
                for bound in &mut bounds {
                    *bound = bound.max(0.0);
                }
            }
            add(1.0, kind(price), bounds);
        }
        Limit::Export { power_max, price } => {
            add(-1.0, kind(price), bounds_of(base_kw, Some(power_max), -1.0, hours));
        }
        Limit::Peak { price_per_kw, incurred } => {
            let incurred = Profile::Constant(*incurred);
            add(1.0, Penalty::Peak(*price_per_kw), bounds_of(base_kw, Some(&incurred), 1.0, hours));
        }
        Limit::Blocks(blocks) => {
            let mut below = 0.0;
            for block in blocks {
                let price = block.price.as_per_kwh();
                let above = Profile::Constant(block.above);
                let bounds = bounds_of(base_kw, Some(&above), 1.0, hours);
                add(1.0, Penalty::Priced(price - below), bounds);
                below = price;
            }
        }
        Limit::Follow { power, price } => {
            let bounds = bounds_of(base_kw, Some(power), 1.0, hours);
            let below = bounds.iter().map(|b| if b.is_finite() { -b } else { *b }).collect();
            add(1.0, Penalty::Priced(price.as_per_kwh()), bounds);
            add(-1.0, Penalty::Priced(price.as_per_kwh()), below);
        }
        Limit::FollowSquares { power, weight } => {
            add(1.0, Penalty::Square(*weight), bounds_of(base_kw, Some(power), 1.0, hours));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One constraint of one node in two slots, of an hour and of half an hour.
    fn limit_with(sign: f64, penalty: Penalty) -> LinkingConstraints {
        let bounds = vec![3.0, 2.0];
        LinkingConstraints {
            each: vec![LinkingConstraint { node: 0, sign, penalty, bounds }],
            hours: vec![1.0, 0.5],
            paths: vec![vec![0]],
            by_node: vec![vec![0]],
            shortfall_penalty: 100.0,
        }
    }

    /// The highest `Σ dual·y - f(y)` on a grid of loads `y` in the direction of the constraint.
    fn highest_on_a_grid(all: &LinkingConstraints, duals: &[f64]) -> f64 {
        let constraint = &all.each[0];
        let grid = || (-80..=160).map(|step| f64::from(step) * 0.05);
        let mut highest = f64::NEG_INFINITY;
        for first in grid() {
            for second in grid() {
                let load = [constraint.sign * first, constraint.sign * second];
                let cost = all.cost_of_limits(&[load.to_vec()], 1e-9);
                highest = highest.max(duals[0] * first + duals[1] * second - cost);
            }
        }
        highest
    }

    #[test]
    fn conjugates_are_the_highest_values_on_a_grid() {
        let penalties = [
            (Penalty::Hard, 1e-9),
            (Penalty::Priced(0.3), 1e-9),
            (Penalty::Peak(0.4), 1e-9),
            // Half a step of the grid from the best load, at the weight over half an hour.
            (Penalty::Square(0.2), 0.4 * 0.025 * 0.025),
        ];
        for (penalty, tolerance) in penalties {
            for sign in [1.0, -1.0] {
                for duals in [[0.0, 0.0], [0.1, 0.25], [0.3, 0.0], [0.27, 0.11]] {
                    let all = limit_with(sign, penalty);
                    let conjugate = all.conjugate(&all.each[0], &duals);
                    let highest = highest_on_a_grid(&all, &duals);
                    let case = format!("{penalty:?}, sign {sign}, duals {duals:?}");
                    assert!(conjugate >= highest - 1e-9, "{case}: {conjugate} below {highest}");
                    assert!(conjugate <= highest + tolerance + 1e-9, "{case}: {conjugate}");
                }
            }
        }
    }

    #[test]
    fn clamped_duals_have_a_finite_conjugate() {
        let clamped = |penalty| {
            let mut duals = vec![-1.0, 5.0];
            limit_with(1.0, penalty).clamp(&mut duals);
            duals
        };
        assert_eq!(clamped(Penalty::Hard), [0.0, 5.0]);
        assert_eq!(clamped(Penalty::Priced(0.3)), [0.0, 0.3]);
        // Over half an hour, 0.8 per kWh is the price of 0.4 on the power.
        assert_eq!(clamped(Penalty::Peak(0.4)), [0.0, 0.8]);
        assert_eq!(clamped(Penalty::Square(0.2)), [-1.0, 5.0]);
    }

    #[test]
    fn weak_duality_holds_for_any_duals_and_loads() {
        for penalty in [Penalty::Hard, Penalty::Priced(0.3), Penalty::Peak(0.4)] {
            let all = limit_with(1.0, penalty);
            let mut duals = vec![0.2, 0.35];
            all.clamp(&mut duals);
            for load in [[0.0, 0.0], [3.0, 2.0], [1.0, 1.9]] {
                let loads = [load.to_vec()];
                assert!(all.dual_value(&duals, &loads) <= all.cost_of_limits(&loads, 1e-9) + 1e-12);
            }
        }
    }
}
