//! Effective prices, their order, and the penalty on shortfall.
//!
//! The effective price of slot `t` is `c_t + π_t`: the price of the curve, and what the duals of
//! limits add. The penalty on shortfall is convex and piecewise linear:
//!
//! ```text
//! w(s) = Σ_j w_j·(part of s in tier j),      w_j = base + step·priority·j,      j = 0, 1, ...
//! ```
//!
//! | Symbol | Code |
//! |---|---|
//! | `c_t + π_t` | `EffectivePrices::prices` |
//! | `w_j` | `ShortfallPenalty::of_tier`, per kWh |
//! | size of tier `j` | `ShortfallPenalty::tier_energy`, in µWh |
//! | `w(s)` | `ShortfallPenalty::cost_of_shortfall` |
use serde::{Deserialize, Serialize};

use crate::area::problem::micro_wh::as_kwh;
use crate::prices::ranking::{PrefixSets, SLOTS_MAX, slots_by_price};

/// Penalty on late energy, as a part of `base`. Late energy is what a missed deadline leaves to be
/// delivered by departure.
const LATE_PENALTY_RATIO: f64 = 0.25;

/// Penalty on the shortfall of a vehicle, per kWh.
///
/// The need is divided into `tiers` equal parts. Shortfall fills tier 0 first, at `base`; each
/// further tier costs `step` times the priority more. With several tiers the least total penalty
/// therefore spreads a shortage over the vehicles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShortfallPenalty {
    /// Penalty on tier 0, per kWh.
    pub(crate) base: f64,
    /// Rise from one tier to the next at priority 1, per kWh.
    pub(crate) step: f64,
    /// Number of tiers, at least 1.
    pub(crate) tiers: u32,
}

impl ShortfallPenalty {
    /// Penalty of `base` per kWh on all of a need.
    pub(crate) const fn uniform(base: f64) -> Self {
        Self { base, step: 0.0, tiers: 1 }
    }

    /// Penalty per kWh on a tier; tier 0 is filled first.
    #[inline(always)]
    pub(crate) fn of_tier(&self, tier: u32, priority: f32) -> f64 {
        self.base + self.step * f64::from(priority) * f64::from(tier)
    }

    /// Penalty in money on a shortfall of a need, both in µWh.
    pub(crate) fn cost_of_shortfall(&self, shortfall: i64, need: i64, priority: f32) -> f64 {
        if shortfall <= 0 {
            return 0.0;
        }
        let mut left = shortfall;
        let mut total = 0.0;
        for tier in 0..self.tiers {
            let part = self.tier_energy(need, tier).min(left);
            total += as_kwh(part) * self.of_tier(tier, priority);
            left -= part;
        }
        total
    }

    /// Penalty per kWh on late energy that is not delivered by departure either.
    #[inline(always)]
    pub(crate) fn of_late(&self) -> f64 {
        self.base * LATE_PENALTY_RATIO
    }

    /// Divides `base` by [`LATE_PENALTY_RATIO`]: late energy then costs what energy in time cost
    /// before, and energy in time four times that. `step` is unchanged.
    pub(crate) fn with_late_at_full_penalty(self) -> Self {
        Self { base: self.base / LATE_PENALTY_RATIO, ..self }
    }

    /// Size of a tier, in µWh. Tiers add up to the need exactly.
    pub(crate) fn tier_energy(&self, need: i64, tier: u32) -> i64 {
        let (tier, tiers) = (i128::from(tier), i128::from(self.tiers));
        // The ends of the tiers are rounded, not their sizes: so the sizes add up to the need.
        let up_to = |parts: i128| (i128::from(need) * parts / tiers) as i64;
        up_to(tier + 1) - up_to(tier)
    }
}

/// Effective prices of the vehicles of one node and curve at one dual vector.
#[derive(Debug, Clone)]
pub(crate) struct EffectivePrices {
    /// Price of the curve plus what limits add, per kWh by slot; infinite in gaps.
    pub(crate) prices: Vec<f64>,
    /// Order of the slots, if it was requested and there are at most [`SLOTS_MAX`].
    pub(crate) ranks: Option<PriceRanks>,
}

impl EffectivePrices {
    /// Effective prices from the prices of a curve (NaN in gaps) and what limits add.
    pub(crate) fn new(prices: &[f64], dual_price: &[f64], has_ranks: bool) -> Self {
        let sum = |(&price, &dual_price): (&f64, &f64)| {
            if price.is_nan() { f64::INFINITY } else { price + dual_price }
        };
        let prices: Vec<f64> = prices.iter().zip(dual_price).map(sum).collect();
        let ranks = (has_ranks && prices.len() <= SLOTS_MAX).then(|| PriceRanks::new(&prices));
        Self { prices, ranks }
    }
}

/// Slots with a price, from the cheapest to the dearest. Of equal prices the earlier slot comes
/// first.
#[derive(Debug, Clone)]
pub(crate) struct PriceRanks {
    /// Slot of each rank.
    pub(crate) order: Vec<u16>,
    /// Effective price of each rank.
    pub(crate) prices: Vec<f64>,
    /// For each rank `k`, the set of the `k` cheapest slots.
    pub(crate) sets: PrefixSets,
}

impl PriceRanks {
    /// Sorts the slots by price and builds their sets.
    fn new(prices: &[f64]) -> Self {
        // Slots in a gap have an infinite price, and get no rank.
        let order = slots_by_price(prices);
        let sets = PrefixSets::new(&order, prices.len());
        let prices = order.iter().map(|&slot| prices[usize::from(slot)]).collect();
        Self { order, prices, sets }
    }
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
        assert!(
            (penalty.cost_of_shortfall(5 * kwh, 8 * kwh, 0.5) - (2.0 + 2.5 + 1.5)).abs() < 1e-9
        );
        assert!((penalty.cost_of_shortfall(8 * kwh, 8 * kwh, 0.5) - 11.0).abs() < 1e-9);
        assert!(penalty.cost_of_shortfall(-kwh, 8 * kwh, 0.5).abs() < 1e-12);
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
