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
use crate::area::model::energy_by_slot::{Settled, Shares, Taken, merge};
use crate::area::model::linking::Terms;
use crate::area::model::session::{Block, NO_STORE, Stay};
use crate::area::pricing::buffers::Scratch;
use crate::area::pricing::by_segments::by_segments;
use crate::area::pricing::context::{Asked, added_by_node};
use crate::area::pricing::effective_prices::Signal;
use crate::area::pricing::oracle::answer_one;
use crate::area::problem::micro_wh::as_kwh;

/// Step of the spread, the golden ratio less 1: the fractional parts of its multiples fall
/// evenly into the unit interval, however many there are (a Weyl sequence).
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Signals of every class of vehicles and round that plans are made from.
pub(crate) struct Signals {
    keys: Vec<(u32, u32, usize)>,
    made: Vec<Signal>,
    /// For each round what limits add, by node.
    pub(crate) added: BTreeMap<usize, Vec<Vec<f64>>>,
}

impl Signals {
    pub(crate) fn new(
        asked: &Asked<'_>,
        terms: &Terms,
        settled: &Settled,
        prices: &[Vec<f64>],
    ) -> Self {
        let mut rounds: Vec<usize> =
            settled.shares.iter().flatten().map(|&(round, _)| round).collect();
        rounds.sort_unstable();
        rounds.dedup();
        let added: BTreeMap<usize, Vec<Vec<f64>>> = rounds
            .iter()
            .map(|&round| (round, added_by_node(asked, terms, &prices[round])))
            .collect();
        let mut wanted: Vec<((u32, u32, usize), &Block)> = Vec::new();
        for block in &asked.stays.blocks {
            let Some(curve) = block.curve else { continue };
            for &(round, _) in &settled.shares[block.group] {
                wanted.push(((block.node, curve, round), block));
            }
        }
        wanted.sort_by_key(|(key, block)| (*key, std::cmp::Reverse(block.stays.len())));
        wanted.dedup_by_key(|(key, _)| *key);
        let build = |((node, _, round), block): &((u32, u32, usize), &Block)| {
            asked.signal(block, &added[round][*node as usize])
        };
        let made = wanted.par_iter().map(build).collect();
        let keys = wanted.into_iter().map(|(key, _)| key).collect();
        Self { keys, made, added }
    }

    /// The signal of a vehicle in a round.
    fn get(&self, asked: &Asked<'_>, stay: &Stay, round: usize) -> Cow<'_, Signal> {
        if let Ok(at) = self.keys.binary_search(&(stay.node, stay.curve, round)) {
            return Cow::Borrowed(&self.made[at]);
        }
        Cow::Owned(asked.signal_of(stay, &self.added[&round][stay.node as usize]))
    }
}

impl Settled {
    /// Gives every vehicle its part of a mix.
    pub(crate) fn new(asked: &Asked<'_>, mut shares: Vec<Shares>, whole_only: bool) -> Self {
        let groups = asked.stays.groups;
        for shares in &mut shares {
            shares.retain(|&(_, weight)| weight > WEIGHT_MIN);
            let sum: f64 = shares.iter().map(|(_, weight)| weight).sum();
            for (_, weight) in shares {
                *weight /= sum;
            }
        }
        let mut vehicles = vec![0; groups];
        for block in &asked.stays.blocks {
            vehicles[block.group] += block.stays.len();
        }
        let is_mixed = vehicles.iter().zip(&shares);
        let is_mixed =
            is_mixed.map(|(&count, shares)| shares.len() > 1 && (count == 1 || !whole_only));
        let is_mixed = is_mixed.collect();
        Self { shares, is_mixed, anew: BTreeMap::new() }
    }

    /// A plan for every vehicle, in the order of the stays.
    pub(crate) fn of_plans(groups: usize, plans: Vec<Taken>) -> Self {
        let shares = vec![vec![(0, 1.0)]; groups];
        Self { shares, is_mixed: vec![false; groups], anew: (0..).zip(plans).collect() }
    }

    /// The round whose answer the vehicle at a position among all has.
    fn round_of(&self, group: usize, position: usize) -> usize {
        let shares = &self.shares[group];
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
pub(crate) struct Plans<'a> {
    pub(crate) asked: &'a Asked<'a>,
    pub(crate) settled: &'a Settled,
    pub(crate) signals: &'a Signals,
}

struct OnePlan<'a> {
    plans: &'a Plans<'a>,
    stay: &'a Stay,
    round: usize,
    scratch: &'a mut Scratch,
    taken: &'a mut Taken,
}

impl WithSimd for OnePlan<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { plans, stay, round, scratch, taken } = self;
        let asked = plans.asked;
        if stay.store != NO_STORE {
            let added = &plans.signals.added[&round][stay.node as usize];
            by_segments(asked, stay, added, None, &mut scratch.store, |slot, energy| {
                taken.push((slot as u32, energy));
            });
            return;
        }
        let signal = plans.signals.get(asked, stay, round);
        answer_one(simd, asked, stay, &signal, scratch, |slot, energy| {
            if energy > 0 {
                taken.push((slot as u32, energy));
            }
        });
    }
}

impl Plans<'_> {
    /// The plan of the vehicle at a position of a group, by slot.
    pub(crate) fn plan(
        &self,
        group: usize,
        position: usize,
        scratch: &mut Scratch,
        taken: &mut Taken,
    ) {
        taken.clear();
        if let Some(anew) = self.settled.anew.get(&(position as u32)) {
            taken.extend_from_slice(anew);
            return;
        }
        let stay = &self.asked.stays.each[position];
        if self.settled.is_mixed[group] && !stay.whole {
            if stay.store == NO_STORE {
                self.mixed(group, stay, scratch, taken);
            } else {
                self.mixed_store(group, stay, scratch, taken);
            }
            return;
        }
        let round = self.settled.round_of(group, self.asked.stays.first + position);
        self.answer(stay, round, scratch, taken);
    }

    fn answer(&self, stay: &Stay, round: usize, scratch: &mut Scratch, taken: &mut Taken) {
        Arch::new().dispatch(OnePlan { plans: self, stay, round, scratch, taken });
        merge(taken);
    }

    /// The mean of what several answers store. Levels keep between limits, and
    /// no slot draws more than the mean of the answers does: what one charges
    /// and another discharges is not lost on the way.
    fn mixed_store(&self, group: usize, stay: &Stay, scratch: &mut Scratch, taken: &mut Taken) {
        let store = &self.asked.stays.stores[stay.store as usize];
        let mut mean = vec![0.0; (stay.last - stay.first) as usize];
        for &(round, weight) in &self.settled.shares[group] {
            taken.clear();
            self.answer(stay, round, scratch, taken);
            for &(slot, energy) in taken.iter() {
                mean[(slot - stay.first) as usize] += weight * store.stored(as_kwh(energy));
            }
        }
        taken.clear();
        let plug = mean.iter().map(|&stored| store.plug(stored)).zip(stay.first..);
        taken.extend(plug.filter(|(energy, _)| *energy != 0).map(|(energy, slot)| (slot, energy)));
    }

    /// The mean of several answers, in whole grains that add up.
    fn mixed(&self, group: usize, stay: &Stay, scratch: &mut Scratch, taken: &mut Taken) {
        let count = (stay.last - stay.first) as usize;
        let mut mean = vec![0.0; count];
        let mut most = vec![0i64; count];
        let mut wanted = 0.0;
        for &(round, weight) in &self.settled.shares[group] {
            taken.clear();
            self.answer(stay, round, scratch, taken);
            for &(slot, energy) in taken.iter() {
                let at = (slot - stay.first) as usize;
                mean[at] += weight * energy as f64;
                most[at] = most[at].max(energy);
                wanted += weight * energy as f64;
            }
        }
        let mut energies: Vec<i64> = mean.iter().map(|&energy| energy.floor() as i64).collect();
        let mut left = (wanted.round() as i64).min(stay.need) - energies.iter().sum::<i64>();
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
        let slots = energies.iter().zip(stay.first..).filter(|(energy, _)| **energy > 0);
        taken.extend(slots.map(|(&energy, slot)| (slot, energy)));
    }
}
