//! Linking constraints: limits as convex penalties `f_l` on the load of a node, with conjugates.
//!
//! Let `L` be the load of the vehicles below the node, `b` the bound, `h` the length of a slot and
//! `y = sign·L`. With `f*(λ) = max_y { Σ_t λ_t·y_t - f(y) }` any duals `λ` prove a lower bound on
//! the cost of all plans:
//!
//! ```text
//! Σ_v (pricing problem of v at π_v) - Σ_l f_l*(λ_l),     π_vt = Σ_{l on the path} sign_l·λ_lt
//! ```
//!
//! | [`Penalty`] | `f(y)` | `f*(λ)` | finite for |
//! |---|---|---|---|
//! | `Hard` | 0 if all `y_t <= b_t`, else infinite | `Σ λ_t·b_t` | `λ_t >= 0` |
//! | `Priced(p)` | `p·Σ max(y_t - b_t, 0)` | `Σ λ_t·b_t` | `0 <= λ_t <= p` |
//! | `Peak(p)` | `p·max_t max((y_t - b_t)/h_t, 0)` | `Σ λ_t·b_t` | `λ_t >= 0, Σ λ_t·h_t <= p` |
//! | `Square(γ)` | `Σ γ/h_t·(y_t - b_t)²` | `Σ λ_t·b_t + λ_t²·h_t/(4·γ)` | all `λ` |
//!
//! In slots without a bound, `b_t` infinite, all `f` are 0 and `f*` is finite for `λ_t = 0` alone.
//!
//! | Symbol | Code | Unit |
//! |---|---|---|
//! | `b` | [`LinkingConstraint::bounds`] | kWh per slot |
//! | `h` | [`LinkingConstraints::hours`] | h |
//! | `λ` | `duals`, constraint by constraint and slot by slot | money per kWh |
//! | `π_v` | [`LinkingConstraints::dual_price`] | money per kWh |
//! | `f*` | [`LinkingConstraints::conjugate`] | money |
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::limits::{Limit, Node, Profile, base_loads_kw};
use crate::tolerance::PENALTY_MIN;
use crate::units::{MICROS_PER_HOUR, Price};

/// Penalty on the load beyond the bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Penalty {
    /// The load never exceeds the bound.
    Hard,
    /// Price per kWh above the bound.
    Priced(f64),
    /// Price per kW on the highest power above the bound.
    Peak(f64),
    /// Price per kW² and hour on the square of the distance to the bound, on both sides.
    Square(f64),
}

/// Limit of one node in all slots: a load with `sign * load <= bound` costs nothing. For
/// [`Penalty::Square`] only a load at the bound does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinkingConstraint {
    /// Position of the node.
    pub(crate) node: usize,
    /// 1 for import, -1 for export.
    pub(crate) sign: f64,
    pub(crate) penalty: Penalty,
    /// Bound on the energy of the vehicles in each slot, in kWh, the base load subtracted; infinite
    /// in slots without a limit. Bounds of hard limits on import are at least zero.
    pub(crate) bounds: Vec<f64>,
}

/// All limits of an area.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkingConstraints {
    pub(crate) each: Vec<LinkingConstraint>,
    /// Length of each slot, in hours.
    pub(crate) hours: Vec<f64>,
    /// For each node, the limited nodes on the path to the root, from the node itself on.
    pub(crate) paths: Vec<Vec<u32>>,
    /// For each node, the positions of its limits in `each`.
    pub(crate) by_node: Vec<Vec<usize>>,
    /// Penalty per kWh of shortfall, meant to exceed the cost of any kWh where needs can be met.
    pub(crate) shortfall_penalty: f64,
}

impl LinkingConstraints {
    /// Builds the constraints of all nodes, their base loads subtracted.
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
        // Limits by node first: paths list only nodes with a limit.
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

    /// Copy for a sample with the part `part` of the vehicles, from 0 to 1: a load of that part
    /// costs that part of what the whole load costs.
    pub(crate) fn scaled(&self, part: f64) -> Self {
        let mut scaled = self.clone();
        for constraint in &mut scaled.each {
            constraint.bounds.iter_mut().for_each(|bound| *bound *= part);
            if let Penalty::Square(weight) = &mut constraint.penalty {
                // The square of the load falls with `part²`, and its cost is to fall with `part`.
                *weight /= part;
            }
        }
        scaled
    }

    /// Copy of `duals` with those of hard limits set to zero.
    pub(crate) fn soft_duals(&self, duals: &[f64]) -> Vec<f64> {
        let mut soft = duals.to_vec();
        for (constraint, duals) in self.each.iter().zip(soft.chunks_mut(self.slots().max(1))) {
            if constraint.penalty == Penalty::Hard {
                duals.fill(0.0);
            }
        }
        soft
    }

    /// Copy with the hard limits on import alone.
    pub(crate) fn hard(&self) -> Self {
        let each = &self.each;
        self.restricted_to(|at| each[at].penalty == Penalty::Hard && each[at].sign > 0.0)
    }

    /// Copy with the limits for which `is_kept` is true, given their position. Paths are shortened
    /// to the nodes that still have a limit.
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

    /// Copy with the limits at the positions `kept`, without `paths` and `by_node`.
    pub(crate) fn subset(&self, kept: &[usize]) -> Self {
        let each = kept.iter().map(|&at| self.each[at].clone()).collect();
        Self {
            each,
            hours: self.hours.clone(),
            shortfall_penalty: self.shortfall_penalty,
            ..Self::default()
        }
    }

    /// Penalty per kWh of shortfall, meant to exceed what delivering one kWh more can cost by any
    /// exchange of slots: `(chain·(p_max - p_min + soft limits) + max |p|)·loss + wear`.
    fn shortfall_penalty_of(&self, problem: &AreaProblem<'_>) -> f64 {
        let (mut low, mut high, is_shared) = problem.curves.spread();
        // A stored kWh takes more than one at the plug, and adds wear: (loss, wear).
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
        // The most that one kWh more can cost at each limit that may be exceeded.
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
        // Spans of prices that a chain of exchanges can cost. On one curve the losses of a chain
        // cancel but for two spans. With several curves a kWh may pass from vehicle to vehicle,
        // each time at a loss; 16 spans are allowed for that.
        let chain = if is_shared { 2.0 } else { 16.0 };
        let penalty = chain * ((high - low) + soft) + high.abs().max(low.abs()) + PENALTY_MIN;
        penalty * storing.0 + storing.1
    }

    /// Part of the effective price that limits add for vehicles of `node`, per kWh and slot: the
    /// sum of `sign * dual` over all limits on the path to the root.
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

    /// Penalty of one limit at a load in kWh per slot; 0 for a hard limit, whether it holds or not.
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

    /// Penalty of all limits at the loads of their nodes in kWh; infinite if a hard limit is
    /// exceeded by more than `tolerance * (1 + |bound|)`.
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

    /// Slope of the Lagrangian bound in each dual, at the loads in kWh that the pricing problems have
    /// at these duals: `s_l·load_lt - ∂f_l*/∂λ_lt`; 0 in slots without a bound.
    pub(crate) fn dual_gradient(&self, duals: &[f64], loads: &[Vec<f64>]) -> Vec<f64> {
        let mut gradient = Vec::with_capacity(duals.len());
        for (constraint, duals) in self.each.iter().zip(duals.chunks(self.slots().max(1))) {
            let slots = loads[constraint.node].iter().zip(&constraint.bounds);
            gradient.extend(slots.zip(duals.iter().zip(&self.hours)).map(
                |((load, &bound), (dual, hours))| match constraint.penalty {
                    _ if bound.is_infinite() => 0.0,
                    Penalty::Square(weight) => {
                        constraint.sign * load - bound - dual * hours / (2.0 * weight)
                    }
                    Penalty::Hard | Penalty::Priced(_) | Penalty::Peak(_) => {
                        constraint.sign * load - bound
                    }
                },
            ));
        }
        gradient
    }

    /// Part of the Lagrangian bound that comes from limits: `Σ_l (sign·λ·load - f_l*(λ))`, at the
    /// loads in kWh that the pricing problems have at these duals.
    pub(crate) fn dual_value(&self, duals: &[f64], loads: &[Vec<f64>]) -> f64 {
        let constraints = self.each.iter().zip(duals.chunks(self.slots().max(1)));
        let of_terms = constraints.map(|(constraint, duals)| {
            let paid: f64 =
                loads[constraint.node].iter().zip(duals).map(|(load, dual)| load * dual).sum();
            constraint.sign * paid - self.conjugate(constraint, duals)
        });
        of_terms.sum()
    }

    /// Conjugate `f*` of one limit at its duals, which must be clamped: the most that
    /// `Σ dual * sign * load - cost` can be at any load. Slots without a bound count as dual 0.
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

    /// Moves duals into the domain of the conjugates, so that rounding of the solver does not make
    /// a bound invalid. See the last column of the table above.
    pub(crate) fn clamp(&self, duals: &mut [f64]) {
        for (constraint, duals) in self.each.iter().zip(duals.chunks_mut(self.slots().max(1))) {
            let domain = match constraint.penalty {
                Penalty::Square(_) => (f64::NEG_INFINITY, f64::INFINITY),
                Penalty::Priced(price) => (0.0, price),
                Penalty::Hard | Penalty::Peak(_) => (0.0, f64::INFINITY),
            };
            for (dual, bound) in duals.iter_mut().zip(&constraint.bounds) {
                // Without a bound no load costs anything, and the conjugate is finite at 0 alone.
                *dual = if bound.is_finite() { dual.clamp(domain.0, domain.1) } else { 0.0 };
            }
            if let Penalty::Peak(price) = constraint.penalty {
                // The conjugate of a peak is finite only if `Σ_t λ_t·h_t` is at most its price.
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

/// Limited nodes on the path from a node to the root, the node itself first.
fn path_to_root(nodes: &[Node], node: usize, by_node: &[Vec<usize>]) -> Vec<u32> {
    let up = std::iter::successors(Some(node), |&at| nodes[at].parent);
    up.filter(|&at| !by_node[at].is_empty()).map(|at| at as u32).collect()
}

/// Bounds in kWh per slot: the power of a profile less `sign` times the base load; infinite in
/// slots where the profile has no power.
fn bounds_of(base_kw: &[f64], profile: &Profile, sign: f64, hours: &[f64]) -> Vec<f64> {
    let bound = |(slot, hours): (usize, &f64)| {
        let power = profile.at(slot);
        power.map_or(f64::INFINITY, |power| (power.as_kw() - sign * base_kw[slot]) * hours)
    };
    hours.iter().enumerate().map(bound).collect()
}

/// Adds the constraints of one limit: one for each price block, two for a load to follow at a
/// price per kWh, else one.
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
            let mut bounds = bounds_of(base_kw, power_max, 1.0, hours);
            if price.is_none() {
                // A base load above the limit leaves no capacity. Vehicles need not make up for it.
                for bound in &mut bounds {
                    *bound = bound.max(0.0);
                }
            }
            add(1.0, kind(price), bounds);
        }
        Limit::Export { power_max, price } => {
            add(-1.0, kind(price), bounds_of(base_kw, power_max, -1.0, hours));
        }
        Limit::Peak { price_per_kw, incurred } => {
            let incurred = Profile::Constant(*incurred);
            add(1.0, Penalty::Peak(*price_per_kw), bounds_of(base_kw, &incurred, 1.0, hours));
        }
        Limit::Blocks(blocks) => {
            // Each block adds the difference of its price to that of the block below.
            let mut below = 0.0;
            for block in blocks {
                let price = block.price.as_per_kwh();
                let above = Profile::Constant(block.above);
                let bounds = bounds_of(base_kw, &above, 1.0, hours);
                add(1.0, Penalty::Priced(price - below), bounds);
                below = price;
            }
        }
        Limit::Follow { power, price } => {
            // One constraint for the load above the profile, one for the load below it.
            let bounds = bounds_of(base_kw, power, 1.0, hours);
            let below = bounds.iter().map(|b| if b.is_finite() { -b } else { *b }).collect();
            add(1.0, Penalty::Priced(price.as_per_kwh()), bounds);
            add(-1.0, Penalty::Priced(price.as_per_kwh()), below);
        }
        Limit::FollowSquares { power, weight } => {
            add(1.0, Penalty::Square(*weight), bounds_of(base_kw, power, 1.0, hours));
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
    fn a_slot_without_a_bound_has_no_dual() {
        for penalty in [Penalty::Hard, Penalty::Peak(9.0), Penalty::Square(0.2)] {
            let mut all = limit_with(1.0, penalty);
            all.each[0].bounds[1] = f64::INFINITY;
            let mut duals = vec![0.1, 5.0];
            all.clamp(&mut duals);
            assert_eq!(duals, [0.1, 0.0]);
            let loads = [vec![1.0, 80.0]];
            assert!(all.dual_value(&duals, &loads) <= all.cost_of_limits(&loads, 1e-9));
        }
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
