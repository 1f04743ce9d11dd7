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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn tiers_add_up_to_the_need(need in 0..i64::MAX, tiers in 1..20u32) {
            let penalty = ShortfallPenalty { base: 1.0, step: 0.1, tiers };
            let parts: Vec<i64> = (0..tiers).map(|tier| penalty.tier_energy(need, tier)).collect();
            prop_assert_eq!(parts.iter().sum::<i64>(), need);
            let (least, most) = (parts.iter().min().unwrap(), parts.iter().max().unwrap());
            prop_assert!(most - least <= 1);
        }

        #[test]
        fn ranks_go_from_the_cheapest_to_the_dearest(
            cents in prop::collection::vec(prop::option::of(-9..9i32), 1..200),
        ) {
            let price = |cents: &Option<i32>| cents.map_or(f64::NAN, |cents| f64::from(cents) / 100.0);
            let prices: Vec<f64> = cents.iter().map(price).collect();
            let made = EffectivePrices::new(&prices, &vec![0.5; prices.len()], true);
            let ranks = made.ranks.unwrap();
            let mut expected: Vec<usize> = (0..cents.len()).filter(|&at| cents[at].is_some()).collect();
            expected.sort_by_key(|&at| (cents[at], at));
            let order: Vec<usize> = ranks.order.iter().map(|&slot| usize::from(slot)).collect();
            prop_assert_eq!(&order, &expected);
            prop_assert!(order.iter().zip(&ranks.prices).all(|(&at, price)| *price <= prices[at] + 0.5));
            // The set of a rank holds the slots before it, and no others.
            let words = |rank: usize| match &ranks.sets {
                PrefixSets::One(sets) => sets[rank].to_vec(),
                PrefixSets::Two(sets) => sets[rank].to_vec(),
            };
            for rank in 0..=order.len() {
                let set = words(rank);
                let holds = |slot: usize| set[slot / 128] >> (slot % 128) & 1 == 1;
                let cheaper = &order[..rank];
                prop_assert!((0..cents.len()).all(|slot| holds(slot) == cheaper.contains(&slot)));
            }
        }
    }

    #[test]
    fn a_shortfall_costs_the_cheapest_tiers_first() {
        let kwh = 1_000_000_000;
        let penalty = ShortfallPenalty { base: 1.0, step: 0.5, tiers: 4 };
        // Four tiers of 2 kWh at 1, 1.25, 1.50 and 1.75 for a priority of a half.
        assert!((penalty.of_tier(3, 0.5) - 1.75).abs() < 1e-12);
        assert!((penalty.total_kwh(5 * kwh, 8 * kwh, 0.5) - (2.0 + 2.5 + 1.5)).abs() < 1e-9);
        assert!((penalty.total_kwh(8 * kwh, 8 * kwh, 0.5) - 11.0).abs() < 1e-9);
        assert!(penalty.total_kwh(-kwh, 8 * kwh, 0.5).abs() < 1e-12);
    }

    #[test]
    fn energy_that_comes_late_costs_a_quarter() {
        let penalty = ShortfallPenalty { base: 2.0, step: 0.5, tiers: 4 };
        assert!((penalty.of_late() - 0.5).abs() < 1e-12);
        let full = penalty.with_late_at_full_penalty();
        assert!((full.of_late() - 2.0).abs() < 1e-12 && (full.base - 8.0).abs() < 1e-12);
    }

    #[test]
    fn a_gap_has_no_price_at_any_dual() {
        let made = EffectivePrices::new(&[0.1, f64::NAN, 0.3], &[0.5, 0.5, -0.5], false);
        assert!(made.ranks.is_none());
        assert!((made.prices[0] - 0.6).abs() < 1e-12 && (made.prices[2] + 0.2).abs() < 1e-12);
        assert_eq!(made.prices[1].to_bits(), f64::INFINITY.to_bits());
    }
}
