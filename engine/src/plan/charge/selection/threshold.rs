//! Search for the cheapest slots of a window by a threshold on their prices, without sorting.
//!
//! The threshold is the price `m` of the slot in which the need `T` ends, the *critical item* of a
//! continuous knapsack problem: the least price with
//!
//! ```text
//! Σ { h_t : p_t ≤ m } > T          h_t usable microseconds, p_t price of slot t
//! ```
//!
//! It is found by bisection of the price range. Each pass sums the time below a guess, and moves
//! the lower or the upper bound to the nearest price beyond the guess, so that the bounds are
//! prices of slots and the search ends with `m` itself. Slots below `m` are used in full; of the
//! slots at `m` the earliest ones that fit, and the next one in part.
//!
//! Times are whole microseconds, so sums are exact in any order and a pass may run on vectors of
//! any width.
use pulp::{Arch, Simd, WithSimd};

use crate::plan::charge::selection::ordered_sum::{POSITIONS, Slots, between, taken};
use crate::plan::charge::selection::slot_selection::{
    FoundSlots, Need, Next, SlotSelection, WORDS, Window,
};
use crate::prices::ranking::SLOTS_MAX;
use crate::time::horizon::Horizon;
use crate::tolerance::SNAP_MICROS;

/// Numbers in the widest vector of any machine; windows are padded to a multiple of it.
const LANES: usize = 8;

/// Prices and usable times of one window, for up to [`SLOTS_MAX`] slots.
pub(crate) struct ThresholdBuffers {
    /// Infinite where there is no price.
    prices: [f64; SLOTS_MAX],
    /// Usable microseconds, whole numbers; zero where there is no price.
    micros: [f64; SLOTS_MAX],
    /// Usable microseconds before each slot.
    before: [f64; SLOTS_MAX],
}

impl ThresholdBuffers {
    /// Buffers without a window.
    pub(crate) fn new() -> Self {
        let empty = [0.0; SLOTS_MAX];
        Self { prices: [f64::INFINITY; SLOTS_MAX], micros: empty, before: empty }
    }

    /// Loads a window and returns its padded length. Slots without a price (NaN) get no time.
    #[inline(always)]
    fn load(&mut self, horizon: &Horizon, prices: &[f64], window: Window) -> usize {
        let count = window.len();
        let padded = count.next_multiple_of(LANES);
        self.prices[..count].copy_from_slice(&prices[window.first..window.last]);
        self.micros[..count].copy_from_slice(&horizon.lengths()[window.first..window.last]);
        self.micros[0] = window.usable(horizon, window.first) as f64;
        self.micros[count - 1] = window.usable(horizon, window.last - 1) as f64;
        // Padding and gaps: an infinite price and no time.
        self.prices[count..padded].fill(f64::INFINITY);
        self.micros[count..padded].fill(0.0);
        let mut has_gap = false;
        for (price, micros) in self.prices[..padded].iter_mut().zip(&mut self.micros[..padded]) {
            let is_gap = price.is_nan();
            has_gap |= is_gap;
            *micros = if is_gap { 0.0 } else { *micros };
            *price = if is_gap { f64::INFINITY } else { *price };
        }
        self.sum_up(count, horizon.step().filter(|_| !has_gap));
        padded
    }

    /// Computes the usable time before each slot. Where all slots have one length (`step`, in
    /// microseconds), it is a product instead of a running sum.
    #[inline(always)]
    fn sum_up(&mut self, count: usize, step: Option<i64>) {
        self.before[0] = 0.0;
        let first = self.micros[0];
        if let Some(step) = step {
            for (index, before) in self.before[1..count].iter_mut().enumerate() {
                *before = first + step as f64 * index as f64;
            }
        } else {
            for position in 1..count {
                self.before[position] = self.before[position - 1] + self.micros[position - 1];
            }
        }
    }
}

/// Slots of a window after a search, for its sums.
struct FoundWindow<'a> {
    prices: &'a [f64],
    micros: &'a [f64],
    before: &'a [f64],
    /// Threshold: slots below this price are used in full.
    price: f64,
    /// Slots at that price are used in full before this position.
    position: f64,
}

impl FoundWindow<'_> {
    /// Price times time of a slot that is used in full; else zero.
    #[inline(always)]
    fn full_at(&self, price: f64, micros: f64, position: f64) -> f64 {
        // The threshold is a copy of a price, so `<=` without `<` is equality.
        let is_full = price < self.price || (price <= self.price && position < self.position);
        if is_full { price * micros } else { 0.0 }
    }
}

impl Slots for FoundWindow<'_> {
    #[inline(always)]
    fn price(&self, position: usize) -> f64 {
        self.prices[position]
    }

    #[inline(always)]
    fn full(&self) -> f64 {
        let at = |p: usize| self.full_at(self.prices[p], self.micros[p], POSITIONS[p]);
        let last = self.prices.len() - 1;
        if last == 0 {
            return at(0);
        }
        let inner = 1..last;
        let (prices, micros) = (&self.prices[inner.clone()], &self.micros[inner.clone()]);
        let full = |price, micros, position| self.full_at(price, micros, position);
        at(0) + between(prices, micros, &POSITIONS[inner], full) + at(last)
    }

    #[inline(always)]
    fn earliest(&self, rest: f64) -> f64 {
        let at = |p: usize| taken(self.prices[p], self.micros[p], self.before[p], rest);
        let last = self.prices.len() - 1;
        if last == 0 {
            return at(0);
        }
        let inner = 1..last;
        let (prices, micros) = (&self.prices[inner.clone()], &self.micros[inner.clone()]);
        let earliest = |price, micros, before| taken(price, micros, before, rest);
        at(0) + between(prices, micros, &self.before[inner], earliest) + at(last)
    }
}

/// Selects the cheapest slots for `need` in a window of 1 to [`SLOTS_MAX`] slots, on the vectors
/// of this machine.
pub(crate) fn choose_one(
    horizon: &Horizon,
    prices: &[f64],
    window: Window,
    need: Need,
) -> SlotSelection {
    Arch::new().dispatch(ChooseOne { horizon, prices, window, need })
}

/// Arguments of [`choose_one`], for the dispatch to the vectors of this machine.
struct ChooseOne<'a> {
    horizon: &'a Horizon,
    prices: &'a [f64],
    window: Window,
    need: Need,
}

impl WithSimd for ChooseOne<'_> {
    type Output = SlotSelection;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> SlotSelection {
        let Self { horizon, prices, window, need } = self;
        choose(simd, &mut ThresholdBuffers::new(), horizon, prices, window, need)
    }
}

/// Selects the cheapest slots as [`choose_one`], with given vectors and buffers.
#[inline(always)]
pub(crate) fn choose<S: Simd>(
    simd: S,
    buffers: &mut ThresholdBuffers,
    horizon: &Horizon,
    prices: &[f64],
    window: Window,
    need: Need,
) -> SlotSelection {
    let count = window.len();
    let padded = buffers.load(horizon, prices, window);
    let prices = &buffers.prices[..padded];
    let micros = &buffers.micros[..padded];
    let limit = need.micros() + SNAP_MICROS;
    let ends = threshold(simd, prices, micros, limit);
    // The padding served the vectors of the search only.
    let (prices, micros) = (&prices[..count], &micros[..count]);
    let found = match ends {
        Some(ends) => take(window.first, prices, micros, ends, limit),
        None => take_all(window.first, micros),
    };
    let slots = FoundWindow {
        prices,
        micros,
        before: &buffers.before[..count],
        price: ends.map_or(f64::INFINITY, |ends| ends.price),
        position: found.next.map_or(0.0, |next| POSITIONS[next.position]),
    };
    SlotSelection::priced(need, &found, &slots)
}

/// Result of one pass over the prices with a guess of the threshold.
struct Pass {
    /// Microseconds at prices below the guess.
    micros_below: f64,
    /// Highest price below the guess.
    below: f64,
    /// Lowest price at or above the guess.
    above: f64,
}

/// Sums the time below a guess, and finds the nearest prices on both sides of it.
#[inline(always)]
fn pass<S: Simd>(simd: S, prices: &[f64], micros: &[f64], guess: f64) -> Pass {
    let (prices, _) = S::as_simd_f64s(prices);
    let (micros, _) = S::as_simd_f64s(micros);
    let guess = simd.splat_f64s(guess);
    let (least, most) = (simd.splat_f64s(f64::NEG_INFINITY), simd.splat_f64s(f64::INFINITY));
    let mut sum = simd.splat_f64s(0.0);
    let (mut below, mut above) = (least, most);
    for (&price, &micros) in prices.iter().zip(micros) {
        let is_below = simd.less_than_f64s(price, guess);
        sum = simd.add_f64s(sum, simd.select_f64s(is_below, micros, simd.splat_f64s(0.0)));
        below = simd.max_f64s(below, simd.select_f64s(is_below, price, least));
        above = simd.min_f64s(above, simd.select_f64s(is_below, most, price));
    }
    Pass {
        micros_below: simd.reduce_sum_f64s(sum),
        below: simd.reduce_max_f64s(below),
        above: simd.reduce_min_f64s(above),
    }
}

/// Price at which the need ends.
#[derive(Clone, Copy)]
pub(crate) struct Threshold {
    /// Price of the slot in which the need ends.
    pub(crate) price: f64,
    /// Microseconds at lower prices.
    micros_below: f64,
}

/// Price of the slot in which `limit` microseconds of the cheapest time end,
/// or `None` if all usable time together does not exceed them.
#[inline(always)]
pub(crate) fn threshold<S: Simd>(
    simd: S,
    prices: &[f64],
    micros: &[f64],
    limit: f64,
) -> Option<Threshold> {
    // Gaps and padding have an infinite price, so they are never below a guess.
    let all = pass(simd, prices, micros, f64::INFINITY);
    if all.micros_below <= limit {
        return None;
    }
    let mut low = pass(simd, prices, micros, f64::NEG_INFINITY).above;
    let mut high = all.below;
    let mut micros_below = 0.0;
    // Invariant: the threshold lies in `[low, high]`, and both are prices of slots.
    while low < high {
        // A midpoint that rounds to `low` would not shrink the interval.
        let middle = 0.5 * low + 0.5 * high;
        let guess = if middle > low { middle } else { high };
        let seen = pass(simd, prices, micros, guess);
        if seen.micros_below > limit {
            high = seen.below;
        } else {
            low = seen.above;
            micros_below = seen.micros_below;
        }
    }
    Some(Threshold { price: low, micros_below })
}

/// Takes all slots below the threshold, and of those at it the earliest that fit into `limit`.
#[inline(always)]
fn take(origin: usize, prices: &[f64], micros: &[f64], ends: Threshold, limit: f64) -> FoundSlots {
    let mut full = [0u64; WORDS];
    let mut tied = [0u64; WORDS];
    for (word, prices) in prices.chunks(64).enumerate() {
        for (bit, &price) in prices.iter().enumerate() {
            full[word] |= u64::from(price < ends.price) << bit;
            // The threshold is a copy of one of these prices, so equality is exact.
            tied[word] |= u64::from(price.total_cmp(&ends.price).is_eq()) << bit;
        }
    }
    let mut full_micros = ends.micros_below;
    for (word, bits) in tied.iter_mut().enumerate() {
        while *bits != 0 {
            let slot = word * 64 + bits.trailing_zeros() as usize;
            if full_micros + micros[slot] > limit {
                let next = Next { slot: origin + slot, position: slot };
                return FoundSlots { origin, full, full_micros, next: Some(next) };
            }
            full[word] |= *bits & bits.wrapping_neg();
            full_micros += micros[slot];
            *bits &= *bits - 1;
        }
    }
    // Not reached: times are whole, and all slots up to the threshold exceed the limit.
    FoundSlots { origin, full, full_micros, next: None }
}

/// Takes all slots with a price; `next` is `None`.
#[inline(always)]
fn take_all(origin: usize, micros: &[f64]) -> FoundSlots {
    let mut full = [0u64; WORDS];
    for (slot, &length) in micros.iter().enumerate() {
        full[slot / 64] |= u64::from(length > 0.0) << (slot % 64);
    }
    FoundSlots { origin, full, full_micros: micros.iter().sum(), next: None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The slots found are those of a plain sort: a prefix of the price order,
        /// of which the next slot does not fit.
        #[test]
        fn a_threshold_is_a_sort(
            prices in prop::collection::vec(-4..5i32, 1..200),
            seed in any::<u64>(), share in 0.0..1.2f64, spread in prop::sample::select(vec![1.0, 1e-300, 1e6]),
        ) {
            let horizon = Horizon::from_micros((0..prices.len() as i64).map(|i| {
                let length = 1 + (seed >> (i % 60) & 7) as i64;
                (i * 10, i * 10 + length)
            })).unwrap();
            let prices: Vec<f64> = prices.iter().map(|&price| match price {
                4 => f64::NAN,
                other => f64::from(other) * spread,
            }).collect();
            let window = Window::new(&horizon, 3, prices.len() as i64 * 10 - 8);
            prop_assume!(window.len() > 0);
            let total: i64 = (window.first..window.last).map(|i| window.usable(&horizon, i)).sum();
            let need = Need { energy_kwh: total as f64 * share / 3.6e9 * 7.0, power_kw: 7.0 };
            let choice = choose_one(&horizon, &prices, window, need);

            let mut order: Vec<usize> =
                (window.first..window.last).filter(|&i| !prices[i].is_nan()).collect();
            order.sort_by(|&a, &b| prices[a].total_cmp(&prices[b]));
            let mut used = 0;
            let mut slots = order.iter();
            let next = loop {
                let Some(&slot) = slots.next() else { break None };
                if (used + window.usable(&horizon, slot)) as f64 > need.micros() + SNAP_MICROS {
                    break Some(slot);
                }
                prop_assert!(choice.is_full(slot));
                used += window.usable(&horizon, slot);
            };
            let bits: u32 = choice.full.iter().map(|word| word.count_ones()).sum();
            let sorted = order.len() - slots.len() - usize::from(next.is_some());
            prop_assert_eq!(bits as usize, sorted);
            prop_assert_eq!(next.map(|slot| prices[slot].to_bits()),
                (!choice.marginal_price.is_nan()).then(|| choice.marginal_price.to_bits()));
        }
    }
}
