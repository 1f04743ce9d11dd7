//! From a mix of answers to one plan for every vehicle.
//!
//! A mix of ten answers would be a chopped plan. So each vehicle of a group
//! gets one of the answers of its group, in proportion to the mix and spread
//! evenly over like vehicles; what that leaves beyond a limit is planned anew
//! within the room that is left. A group of one vehicle has the mix itself,
//! unless the vehicle only takes whole answers.
use std::borrow::Cow;
use std::collections::BTreeMap;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::area::column_generation::master::WEIGHT_MIN;
use crate::area::model::energy_by_slot::{Assignment, ColumnWeights, EnergyBySlot, merge_slots};
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::session::{Block, NO_BATTERY, Session};
use crate::area::pricing::buffers::PricingBuffers;
use crate::area::pricing::by_segments::price_by_segments;
use crate::area::pricing::context::{PricingContext, dual_price_by_node};
use crate::area::pricing::effective_prices::EffectivePrices;
use crate::area::pricing::oracle::solve_pricing;
use crate::area::problem::micro_wh::as_kwh;

/// Step of the spread, the golden ratio less 1: the fractional parts of its multiples fall
/// evenly into the unit interval, however many there are (a Weyl sequence).
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Signals of every class of vehicles and round that plans are made from.
pub(crate) struct PricesByClass {
    keys: Vec<(u32, u32, usize)>,
    made: Vec<EffectivePrices>,
    /// For each round what limits add, by node.
    pub(crate) dual_prices: BTreeMap<usize, Vec<Vec<f64>>>,
}

impl PricesByClass {
    pub(crate) fn new(
        context: &PricingContext<'_>,
        constraints: &LinkingConstraints,
        assignment: &Assignment,
        prices: &[Vec<f64>],
    ) -> Self {
        let mut rounds: Vec<usize> =
            assignment.weights.iter().flatten().map(|&(round, _)| round).collect();
        rounds.sort_unstable();
        rounds.dedup();
        let dual_price: BTreeMap<usize, Vec<Vec<f64>>> = rounds
            .iter()
            .map(|&round| (round, dual_price_by_node(context, constraints, &prices[round])))
            .collect();
        let mut wanted: Vec<((u32, u32, usize), &Block)> = Vec::new();
        for block in &context.sessions.blocks {
            let Some(curve) = block.curve else { continue };
            for &(round, _) in &assignment.weights[block.group] {
                wanted.push(((block.node, curve, round), block));
            }
        }
        wanted.sort_by_key(|(key, block)| (*key, std::cmp::Reverse(block.sessions.len())));
        wanted.dedup_by_key(|(key, _)| *key);
        let build = |((node, _, round), block): &((u32, u32, usize), &Block)| {
            context.prices_of_block(block, &dual_price[round][*node as usize])
        };
        let made = wanted.par_iter().map(build).collect();
        let keys = wanted.into_iter().map(|(key, _)| key).collect();
        Self { keys, made, dual_prices: dual_price }
    }

    /// The signal of a vehicle in a round.
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
    /// Gives every vehicle its part of a mix.
    pub(crate) fn new(
        context: &PricingContext<'_>,
        mut shares: Vec<ColumnWeights>,
        whole_only: bool,
    ) -> Self {
        let groups = context.sessions.groups;
        for shares in &mut shares {
            shares.retain(|&(_, weight)| weight > WEIGHT_MIN);
            let sum: f64 = shares.iter().map(|(_, weight)| weight).sum();
            for (_, weight) in shares {
                *weight /= sum;
            }
        }
        let mut vehicles = vec![0; groups];
        for block in &context.sessions.blocks {
            vehicles[block.group] += block.sessions.len();
        }
        let is_mixed = vehicles.iter().zip(&shares);
        let is_mixed =
            is_mixed.map(|(&count, shares)| shares.len() > 1 && (count == 1 || !whole_only));
        let is_mixed = is_mixed.collect();
        Self { weights: shares, is_convex_combination: is_mixed, overrides: BTreeMap::new() }
    }

    /// A plan for every vehicle, in the order of the stays.
    pub(crate) fn of_plans(groups: usize, plans: Vec<EnergyBySlot>) -> Self {
        let shares = vec![vec![(0, 1.0)]; groups];
        Self {
            weights: shares,
            is_convex_combination: vec![false; groups],
            overrides: (0..).zip(plans).collect(),
        }
    }

    /// The round whose answer the vehicle at a position among all has.
    fn column_of(&self, group: usize, position: usize) -> usize {
        let shares = &self.weights[group];
        let mut rest = ((position as f64 + 0.5) * GOLDEN).fract();
        for &(round, weight) in shares {
            if rest < weight {
                return round;
            }
            rest -= weight;
        }
        shares.last().map_or(0, |&(round, _)| round)
    }
}

/// Makes plans of vehicles again from the rounds they are drawn from.
pub(crate) struct PlanReader<'a> {
    pub(crate) context: &'a PricingContext<'a>,
    pub(crate) assignment: &'a Assignment,
    pub(crate) prices: &'a PricesByClass,
}

struct OnePlan<'a> {
    plans: &'a PlanReader<'a>,
    session: &'a Session,
    round: usize,
    buffers: &'a mut PricingBuffers,
    taken: &'a mut EnergyBySlot,
}

impl WithSimd for OnePlan<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { plans, session, round, buffers, taken } = self;
        let context = plans.context;
        if session.battery != NO_BATTERY {
            let dual_price = &plans.prices.dual_prices[&round][session.node as usize];
            price_by_segments(
                context,
                session,
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
    /// The plan of the vehicle at a position of a group, by slot.
    pub(crate) fn plan(
        &self,
        group: usize,
        position: usize,
        buffers: &mut PricingBuffers,
        taken: &mut EnergyBySlot,
    ) {
        taken.clear();
        if let Some(anew) = self.assignment.overrides.get(&(position as u32)) {
            taken.extend_from_slice(anew);
            return;
        }
        let session = &self.context.sessions.each[position];
        if self.assignment.is_convex_combination[group] && !session.is_indivisible {
            if session.battery == NO_BATTERY {
                self.convex_combination(group, session, buffers, taken);
            } else {
                self.convex_combination_of_battery(group, session, buffers, taken);
            }
            return;
        }
        let round = self.assignment.column_of(group, self.context.sessions.first + position);
        self.solve_pricing(session, round, buffers, taken);
    }

    fn solve_pricing(
        &self,
        session: &Session,
        round: usize,
        buffers: &mut PricingBuffers,
        taken: &mut EnergyBySlot,
    ) {
        Arch::new().dispatch(OnePlan { plans: self, session, round, buffers, taken });
        merge_slots(taken);
    }

    /// The mean of what several answers store. Levels keep between limits, and
    /// no slot draws more than the mean of the answers does: what one charges
    /// and another discharges is not lost on the way.
    fn convex_combination_of_battery(
        &self,
        group: usize,
        session: &Session,
        buffers: &mut PricingBuffers,
        taken: &mut EnergyBySlot,
    ) {
        let battery = &self.context.sessions.batteries[session.battery as usize];
        let mut mean = vec![0.0; (session.last - session.first) as usize];
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

    /// The mean of several answers, in whole grains that add up.
    fn convex_combination(
        &self,
        group: usize,
        session: &Session,
        buffers: &mut PricingBuffers,
        taken: &mut EnergyBySlot,
    ) {
        let count = (session.last - session.first) as usize;
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
            if left == before {
                break;
            }
        }
        taken.clear();
        let slots = energies.iter().zip(session.first..).filter(|(energy, _)| **energy > 0);
        taken.extend(slots.map(|(&energy, slot)| (slot, energy)));
    }
}
