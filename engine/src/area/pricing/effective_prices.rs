//! The prices that vehicles are asked with, and the order of their slots.
use serde::{Deserialize, Serialize};

use crate::prices::ranking::SLOTS_MAX;

/// Worth of energy that may still come after a deadline that was missed, in
/// proportion to that of energy in time.
const LATE_PENALTY_RATIO: f64 = 0.25;

/// What a kWh is worth to a vehicle that would go without it.
///
/// Need is cut in `tiers` equal parts. The part shed first is worth `base`, and
/// each further part `step` times the priority more, so that sharing a
/// shortage equally sheds what is worth least.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShortfallPenalty {
    pub(crate) base: f64,
    pub(crate) step: f64,
    pub(crate) tiers: u32,
}

impl ShortfallPenalty {
    /// The worth of a part, the part shed first being 0.
    #[inline(always)]
    pub(crate) fn of_tier(&self, tier: u32, priority: f32) -> f64 {
        self.base + self.step * f64::from(priority) * f64::from(tier)
    }

    /// The worth of all need that is shed.
    pub(crate) fn total_kwh(&self, shed: i64, need: i64, priority: f32) -> f64 {
        if shed <= 0 {
            return 0.0;
        }
        let mut left = shed;
        let mut total = 0.0;
        for tier in 0..self.tiers {
            let part = self.tier_energy(need, tier).min(left);
            total += crate::area::problem::micro_wh::as_kwh(part) * self.of_tier(tier, priority);
            left -= part;
        }
        total
    }

    /// The worth of energy that may still come after a missed deadline.
    #[inline(always)]
    pub(crate) fn of_late(&self) -> f64 {
        self.base * LATE_PENALTY_RATIO
    }

    /// The same worth of what may still come, and so much more of all else.
    pub(crate) fn with_late_at_full_penalty(self) -> Self {
        Self { base: self.base / LATE_PENALTY_RATIO, ..self }
    }

    /// Energy of a part: parts add up to the need.
    pub(crate) fn tier_energy(&self, need: i64, tier: u32) -> i64 {
        let (tier, tiers) = (i128::from(tier), i128::from(self.tiers));
        let up_to = |parts: i128| (i128::from(need) * parts / tiers) as i64;
        up_to(tier + 1) - up_to(tier)
    }
}

/// Prices of one class of vehicles in one round.
#[derive(Debug, Clone)]
pub(crate) struct EffectivePrices {
    /// Price of the curve plus what limits add; infinite in gaps.
    pub(crate) prices: Vec<f64>,
    /// The order of the slots, where it pays to have it.
    pub(crate) ranks: Option<PriceRanks>,
}

impl EffectivePrices {
    pub(crate) fn new(prices: &[f64], dual_price: &[f64], has_ranks: bool) -> Self {
        let sum = |(&price, &dual_price): (&f64, &f64)| {
            if price.is_nan() { f64::INFINITY } else { price + dual_price }
        };
        let prices: Vec<f64> = prices.iter().zip(dual_price).map(sum).collect();
        let ranks = (has_ranks && prices.len() <= SLOTS_MAX).then(|| PriceRanks::new(&prices));
        Self { prices, ranks }
    }
}

/// Slots from the cheapest to the dearest, and for each rank the set of the
/// slots below it. Of equal prices the earlier slot comes first.
#[derive(Debug, Clone)]
pub(crate) struct PriceRanks {
    pub(crate) order: Vec<u16>,
    pub(crate) prices: Vec<f64>,
    pub(crate) sets: PrefixSets,
}

/// Sets of slots in as few words as they need.
#[derive(Debug, Clone)]
pub(crate) enum PrefixSets {
    One(Vec<[u128; 1]>),
    Two(Vec<[u128; 2]>),
}

impl PriceRanks {
    fn new(prices: &[f64]) -> Self {
        let mut order: Vec<u16> = (0..prices.len() as u16).collect();
        order.retain(|&slot| prices[usize::from(slot)] < f64::INFINITY);
        order.sort_unstable_by(|&a, &b| {
            prices[usize::from(a)].total_cmp(&prices[usize::from(b)]).then(a.cmp(&b))
        });
        let sets = if prices.len() <= 128 {
            PrefixSets::One(prefix_sets(&order))
        } else {
            PrefixSets::Two(prefix_sets(&order))
        };
        let prices = order.iter().map(|&slot| prices[usize::from(slot)]).collect();
        Self { order, prices, sets }
    }
}

fn prefix_sets<const W: usize>(order: &[u16]) -> Vec<[u128; W]> {
    let mut sets = Vec::with_capacity(order.len() + 1);
    let mut set = [0u128; W];
    sets.push(set);
    for &slot in order {
        set[usize::from(slot) / 128] |= 1 << (slot % 128);
        sets.push(set);
    }
    sets
}
