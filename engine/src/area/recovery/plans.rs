//! Assignment of columns to vehicles, and the plan that follows from each.
//!
//! The restricted master returns weights `θ` on the columns of each group. A convex combination of
//! ten columns would switch a vehicle on and off many times, so each vehicle follows one column.
//! With `1/φ` for [`GOLDEN_CONJUGATE`] and `p` for its position among all vehicles, it takes
//!
//! ```text
//! u = fract( (p + 1/2)/φ )         and follows the first column k with  u < θ_1 + ... + θ_k
//! ```
//!
//! so that columns are used in proportion to `θ` and spread evenly over like vehicles. Loads above
//! a hard limit are left to [`repair`](crate::area::recovery::repair). A vehicle that is a group of
//! its own follows the convex combination itself, and so do larger groups if [`Assignment::new`] is
//! not called with `single_column_only`. Indivisible vehicles never do.
//!
//! | Symbol | Code |
//! |---|---|
//! | `θ` | `Assignment::weights`, pairs of round and weight |
//! | `p` | `Sessions::offset` + position |
//! | `k` | round of the column, [`Assignment::column_of`] |
use std::borrow::Cow;
use std::collections::BTreeMap;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::area::model::battery::Battery;
use crate::area::model::energy_by_slot::{Assignment, ColumnWeights, EnergyBySlot, merge_slots};
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::session::{Block, Session};
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::pricing::by_segments::price_by_segments;
use crate::area::pricing::context::{PricingContext, dual_price_by_node};
use crate::area::pricing::effective_prices::EffectivePrices;
use crate::area::pricing::pricing_problem::solve_pricing;
use crate::area::problem::micro_wh::as_kwh;
use crate::tolerance::SOLVER_ROUNDING;

/// Reciprocal `1/φ = φ - 1` of the golden ratio. The fractional parts of its multiples fall evenly
/// into the unit interval, however many there are (a Weyl sequence).
const GOLDEN_CONJUGATE: f64 = 0.618_033_988_749_894_9;

/// Effective prices by class of vehicles (node, price curve) and round of pricing.
pub(crate) struct PricesByClass {
    /// Node, price curve and round, sorted.
    keys: Vec<(u32, u32, usize)>,
    /// Effective prices in the order of `keys`.
    made: Vec<EffectivePrices>,
    /// Duals of each round, per kWh by node and slot: the part that limits add to the price.
    pub(crate) dual_prices: BTreeMap<usize, Vec<Vec<f64>>>,
}

impl PricesByClass {
    /// Builds the effective prices of every class and round that `assignment` uses.
    pub(crate) fn new(
        context: &PricingContext<'_>,
        constraints: &LinkingConstraints,
        assignment: &Assignment,
        duals_by_round: &[Vec<f64>],
    ) -> Self {
        let mut rounds: Vec<usize> =
            assignment.weights.iter().flatten().map(|&(round, _)| round).collect();
        rounds.sort_unstable();
        rounds.dedup();
        let dual_price: BTreeMap<usize, Vec<Vec<f64>>> = rounds
            .iter()
            .map(|&round| (round, dual_price_by_node(context, constraints, &duals_by_round[round])))
            .collect();
        let mut wanted: Vec<((u32, u32, usize), &Block)> = Vec::new();
        for block in &context.sessions.blocks {
            // Vehicles of other blocks share no prices: `get` builds those of each when it is read.
            let Some(curve) = block.curve else { continue };
            for &(round, _) in &assignment.weights[block.group] {
                wanted.push(((block.node, curve, round), block));
            }
        }
        // One block of each class builds its prices: the one with the most vehicles.
        wanted.sort_by_key(|(key, block)| (*key, std::cmp::Reverse(block.sessions.len())));
        wanted.dedup_by_key(|(key, _)| *key);
        let build = |((node, _, round), block): &((u32, u32, usize), &Block)| {
            context.prices_of_block(block, &dual_price[round][*node as usize])
        };
        let made = wanted.par_iter().map(build).collect();
        let keys = wanted.into_iter().map(|(key, _)| key).collect();
        Self { keys, made, dual_prices: dual_price }
    }

    /// Effective prices of a vehicle in a round, built now if its class has none.
    fn get(
        &self,
        context: &PricingContext<'_>,
        session: &Session,
        round: usize,
    ) -> Cow<'_, EffectivePrices> {
        if let Ok(at) = self.keys.binary_search(&(session.node, session.curve, round)) {
            return Cow::Borrowed(&self.made[at]);
        }
        Cow::Owned(
            context.prices_of_session(session, &self.dual_prices[&round][session.node as usize]),
        )
    }
}

impl Assignment {
    /// Assignment from the weights of a master solution. `single_column_only` excludes convex
    /// combinations in groups of several vehicles.
    pub(crate) fn new(
        context: &PricingContext<'_>,
        mut shares: Vec<ColumnWeights>,
        single_column_only: bool,
    ) -> Self {
        let groups = context.sessions.groups;
        for shares in &mut shares {
            // Weights that are rounding of the solver are dropped; the others then sum to 1 again.
            shares.retain(|&(_, weight)| weight > SOLVER_ROUNDING);
            let sum: f64 = shares.iter().map(|(_, weight)| weight).sum();
            for (_, weight) in shares {
                *weight /= sum;
            }
        }
        // Vehicles of each group; only groups that mix columns can be convex combinations.
        let mut vehicles = vec![0; groups];
        for block in &context.sessions.blocks {
            vehicles[block.group] += block.sessions.len();
        }
        let is_mixed = vehicles.iter().zip(&shares);
        let is_mixed = is_mixed
            .map(|(&count, shares)| shares.len() > 1 && (count == 1 || !single_column_only));
        let is_mixed = is_mixed.collect();
        Self { weights: shares, is_convex_combination: is_mixed, ..Self::default() }
    }

    /// Assignment of one given plan to each vehicle, in the order of the sessions.
    pub(crate) fn of_plans(groups: usize, plans: Vec<EnergyBySlot>) -> Self {
        let shares = vec![vec![(0, 1.0)]; groups];
        Self {
            weights: shares,
            is_convex_combination: vec![false; groups],
            overrides: (0..).zip(plans).collect(),
            rooms: Vec::new(),
        }
    }

    /// Round whose column the vehicle follows; `position` counts all vehicles of the area.
    fn column_of(&self, group: usize, position: usize) -> usize {
        let shares = &self.weights[group];
        let mut rest = ((position as f64 + 0.5) * GOLDEN_CONJUGATE).fract();
        for &(round, weight) in shares {
            if rest < weight {
                return round;
            }
            rest -= weight;
        }
        // By rounding, all weights together may be slightly less than 1.
        shares.last().map_or(0, |&(round, _)| round)
    }
}

/// Reader of vehicle plans: solves the pricing problem of the assigned round again.
///
/// Plans are not stored; only those in `Assignment::overrides` are.
pub(crate) struct PlanReader<'a> {
    pub(crate) context: &'a PricingContext<'a>,
    pub(crate) assignment: &'a Assignment,
    pub(crate) prices: &'a PricesByClass,
}

/// Pricing problem of one vehicle in one round, as a type that pulp can dispatch.
struct VehiclePricing<'a> {
    plans: &'a PlanReader<'a>,
    session: &'a Session,
    round: usize,
    buffers: &'a mut PricingBuffers,
    taken: &'a mut EnergyBySlot,
}

impl WithSimd for VehiclePricing<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { plans, session, round, buffers, taken } = self;
        let context = plans.context;
        if let Some(battery) = context.sessions.battery_of(session) {
            let dual_price = &plans.prices.dual_prices[&round][session.node as usize];
            price_by_segments(
                context,
                (session, battery),
                dual_price,
                None,
                &mut buffers.segments,
                |slot, energy| {
                    taken.push((slot as u32, energy));
                },
            );
            return;
        }
        let effective = plans.prices.get(context, session, round);
        solve_pricing(simd, context, session, &effective, buffers, |slot, energy| {
            if energy > 0 {
                taken.push((slot as u32, energy));
            }
        });
    }
}

impl PlanReader<'_> {
    /// Writes the plan of the vehicle at `position` of `group` into `taken`: slots and µWh.
    pub(crate) fn plan(
        &self,
        group: usize,
        position: usize,
        buffers: &mut PricingBuffers,
        taken: &mut EnergyBySlot,
    ) {
        taken.clear();
        // Plan that was made again, by repair or improvement.
        if let Some(new) = self.assignment.overrides.get(&(position as u32)) {
            taken.extend_from_slice(new);
            return;
        }
        let session = &self.context.sessions.each[position];
        // A mix of columns would run an indivisible vehicle at a part of its power.
        if self.assignment.is_convex_combination[group] && !session.is_indivisible {
            match self.context.sessions.battery_of(session) {
                None => self.convex_combination(group, session, buffers, taken),
                Some(battery) => {
                    self.convex_combination_of_battery((group, session, battery), buffers, taken);
                }
            }
            return;
        }
        let round = self.assignment.column_of(group, self.context.sessions.offset + position);
        self.solve_pricing(session, round, buffers, taken);
    }

    /// Solves the pricing problem of a vehicle at the duals of a round.
    fn solve_pricing(
        &self,
        session: &Session,
        round: usize,
        buffers: &mut PricingBuffers,
        taken: &mut EnergyBySlot,
    ) {
        Arch::new().dispatch(VehiclePricing { plans: self, session, round, buffers, taken });
        merge_slots(taken);
    }

    /// Writes the convex combination of the columns of a vehicle with a battery.
    ///
    /// The mean is that of stored energy, so that levels stay between their limits. A slot in
    /// which one column charges and another discharges draws no more than their mean at the plug.
    fn convex_combination_of_battery(
        &self,
        (group, session, battery): (usize, &Session, &Battery),
        buffers: &mut PricingBuffers,
        taken: &mut EnergyBySlot,
    ) {
        let mut mean = vec![0.0; (session.end - session.first) as usize];
        for &(round, weight) in &self.assignment.weights[group] {
            taken.clear();
            self.solve_pricing(session, round, buffers, taken);
            for &(slot, energy) in taken.iter() {
                mean[(slot - session.first) as usize] += weight * battery.stored(as_kwh(energy));
            }
        }
        taken.clear();
        let plug = mean.iter().map(|&stored| battery.at_plug(stored)).zip(session.first..);
        taken.extend(plug.filter(|(energy, _)| *energy != 0).map(|(energy, slot)| (slot, energy)));
    }

    /// Writes the convex combination of the columns of a vehicle that only charges, in whole µWh
    /// that add up to the mean energy, at most the need.
    fn convex_combination(
        &self,
        group: usize,
        session: &Session,
        buffers: &mut PricingBuffers,
        taken: &mut EnergyBySlot,
    ) {
        let count = (session.end - session.first) as usize;
        let mut mean = vec![0.0; count];
        let mut most = vec![0i64; count];
        let mut wanted = 0.0;
        for &(round, weight) in &self.assignment.weights[group] {
            taken.clear();
            self.solve_pricing(session, round, buffers, taken);
            for &(slot, energy) in taken.iter() {
                let at = (slot - session.first) as usize;
                mean[at] += weight * energy as f64;
                most[at] = most[at].max(energy);
                wanted += weight * energy as f64;
            }
        }
        // Round down, then hand out the rest by 1 µWh where a column has more in the slot.
        let mut energies: Vec<i64> = mean.iter().map(|&energy| energy.floor() as i64).collect();
        let mut left = (wanted.round() as i64).min(session.need) - energies.iter().sum::<i64>();
        while left > 0 {
            let before = left;
            for (energy, &most) in energies.iter_mut().zip(&most) {
                if left > 0 && *energy < most {
                    *energy += 1;
                    left -= 1;
                }
            }
            // Every slot holds the most of any column.
            if left == before {
                break;
            }
        }
        taken.clear();
        let slots = energies.iter().zip(session.first..).filter(|(energy, _)| **energy > 0);
        taken.extend(slots.map(|(&energy, slot)| (slot, energy)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::area::recovery::totals::tests::{Town, car, context_of, kwh_of, plan};

    /// Three vehicles in groups of their own, or all in one.
    fn town(groups_max: usize) -> Town {
        let cars = [car(2, 5.0), car(2, 6.0), car(2, 7.0)];
        Town::new(&[10, 20], &cars, &[Some(10.0)]).in_groups(groups_max)
    }

    #[test]
    fn weights_add_up_to_one_and_only_mixed_groups_are_combinations() {
        let assignment = |groups_max, single_column_only| {
            town(groups_max).with(|problem, sessions, _| {
                let context = context_of(problem, sessions);
                let mut weights = vec![vec![(0, 1.0), (1, 3.0), (2, 1e-12)]; sessions.groups];
                weights[0] = vec![(4, 0.5)];
                Assignment::new(&context, weights, single_column_only)
            })
        };
        let alone = assignment(3, true);
        assert_eq!(alone.weights[0], [(4, 1.0)]);
        assert_eq!(alone.weights[1], [(0, 0.25), (1, 0.75)]);
        assert_eq!(alone.is_convex_combination, [false, true, true]);
        let together = |single_column_only| {
            town(1).with(|problem, sessions, _| {
                let weights = vec![vec![(0, 1.0), (1, 1.0)]];
                let context = context_of(problem, sessions);
                Assignment::new(&context, weights, single_column_only).is_convex_combination
            })
        };
        assert_eq!((together(true), together(false)), (vec![false], vec![true]));
    }

    #[test]
    fn columns_are_followed_in_proportion_to_their_weights() {
        let weights = vec![vec![(3, 0.25), (5, 0.6), (8, 0.15)]];
        let assignment = Assignment { weights, ..Assignment::default() };
        let count = |round: usize, positions: std::ops::Range<usize>| {
            positions.filter(|&position| assignment.column_of(0, position) == round).count()
        };
        for start in [0, 777, 5_000] {
            let counts = [3, 5, 8].map(|round| count(round, start..start + 1_000));
            assert_eq!(counts.iter().sum::<usize>(), 1_000);
            // A sequence of multiples of the golden ratio is even to a few of a thousand.
            for (count, wanted) in counts.into_iter().zip([250, 600, 150]) {
                assert!(count.abs_diff(wanted) <= 4, "{counts:?}");
            }
        }
    }

    #[test]
    fn a_vehicle_alone_follows_the_combination_of_its_columns() {
        let town = Town::new(&[10, 20], &[car(2, 5.000_000_001)], &[Some(10.0)]);
        town.with(|problem, sessions, constraints| {
            let context = context_of(problem, sessions);
            // The first hour is cheaper at no duals, and dearer where a kWh of it costs 30 more.
            let duals = [vec![0.0, 0.0], vec![0.3, 0.0]];
            let weights = vec![vec![(0, 0.5), (1, 0.5)]];
            let assignment = Assignment::new(&context, weights, true);
            let prices = PricesByClass::new(&context, constraints, &assignment, &duals);
            let plans = PlanReader { context: &context, assignment: &assignment, prices: &prices };
            let mut taken = EnergyBySlot::new();
            plans.plan(0, 0, &mut PricingBuffers::default(), &mut taken);
            // Half of the need in each hour; the odd µWh is in the first one.
            assert_eq!(taken, [(0, 2_500_000_001), (1, 2_500_000_000)]);
        });
    }

    #[test]
    fn a_vehicle_of_a_group_follows_one_column_unless_it_was_planned_anew() {
        town(1).with(|problem, sessions, constraints| {
            let context = context_of(problem, sessions);
            let duals = [vec![0.0, 0.0], vec![0.3, 0.0]];
            let weights = vec![vec![(0, 0.5), (1, 0.5)]];
            let mut assignment = Assignment::new(&context, weights, true);
            assignment.overrides.insert(2, plan(&[(0, 1.0), (1, 2.0)]));
            let prices = PricesByClass::new(&context, constraints, &assignment, &duals);
            let plans = PlanReader { context: &context, assignment: &assignment, prices: &prices };
            let mut taken = EnergyBySlot::new();
            for position in 0..2 {
                plans.plan(0, position, &mut PricingBuffers::default(), &mut taken);
                // All of the need in the cheapest hour of the round that it follows.
                let slot = assignment.column_of(0, position) as u32;
                assert_eq!(taken, [(slot, sessions.each[position].need)]);
            }
            plans.plan(0, 2, &mut PricingBuffers::default(), &mut taken);
            assert_eq!(taken, plan(&[(0, 1.0), (1, 2.0)]));
        });
    }

    #[test]
    fn given_plans_are_read_as_they_are() {
        town(3).with(|problem, sessions, constraints| {
            let context = context_of(problem, sessions);
            let given = vec![plan(&[(0, 5.0)]), plan(&[]), plan(&[(0, 3.0), (1, 4.0)])];
            let assignment = Assignment::of_plans(sessions.groups, given.clone());
            let prices = PricesByClass::new(&context, constraints, &assignment, &[vec![0.0; 2]]);
            let plans = PlanReader { context: &context, assignment: &assignment, prices: &prices };
            for (position, given) in given.iter().enumerate() {
                let mut taken = plan(&[(1, 9.0)]);
                let group = sessions.group_of(position);
                plans.plan(group, position, &mut PricingBuffers::default(), &mut taken);
                assert_eq!(&taken, given);
            }
            let needs: Vec<i64> = sessions.each.iter().map(|session| session.need).collect();
            assert_eq!(kwh_of(&needs), [5.0, 6.0, 7.0]);
        });
    }
}
