//! Search for the cheapest slots of a window on bit sets of a price order.
//!
//! The slots of a curve that many vehicles share are sorted once ([`RankedSlots`]). For each rank
//! `r`, the set of the `r` cheapest slots is stored as bits in time order. A window is a run of
//! bits, so the usable time among the `r` cheapest slots is a population count of their
//! intersection, less the parts of the first and last slot outside the window. A binary search
//! finds the greatest `r` whose time fits into the need: these slots are used in full, and the
//! slot of rank `r` holds the rest.
use std::ops::Range;

use crate::plan::charge::selection::ordered_sum::{POSITIONS, Slots, between, taken};
use crate::plan::charge::selection::slot_selection::{
    FoundSlots, Need, Next, SlotSelection, SlotSet, WORDS, Window,
};
use crate::prices::ranking::{PrefixSets, RankedSlots};
use crate::tolerance::SNAP_MICROS;

impl RankedSlots {
    /// Selects the cheapest slots for `need` in `[from, to)`, in microseconds, and returns the
    /// window with them.
    #[inline(always)]
    pub(crate) fn choose(&self, from: i64, to: i64, need: Need) -> (Window, SlotSelection) {
        let Some(cut) = self.cut(from, to) else {
            return (
                Window { first: 0, last: 0, from, to },
                SlotSelection::nothing(need, f64::NAN),
            );
        };
        let limit = need.micros() + SNAP_MICROS;
        let (rank, found) = match &self.sets {
            PrefixSets::One(sets) => cut.search(sets, &self.order, limit),
            PrefixSets::Two(sets) => cut.search(sets, &self.order, limit),
        };
        let slots = RankedWindow {
            prices: &self.prices[cut.slots.clone()],
            ranks: &self.ranks[cut.slots.clone()],
            rank: rank as f64,
            step: self.step as f64,
            first_micros: cut.first_micros as f64,
            last_micros: cut.last_micros as f64,
        };
        let window = Window { first: cut.slots.start, last: cut.slots.end, from, to };
        (window, SlotSelection::priced(need, &found, &slots))
    }

    /// Slots of `[from, to)`, or `None` if it holds no time of the curve.
    #[inline(always)]
    fn cut(&self, from: i64, to: i64) -> Option<Cut> {
        let end = self.origin + self.step * self.prices.len() as i64;
        let (from, to) = (from.max(self.origin), to.min(end));
        if from >= to {
            return None;
        }
        let (from, to) = (from - self.origin, to - self.origin);
        let first = self.slot_at(from);
        let last = self.slot_at(to - 1);
        let first_end = ((first + 1) * self.step).min(to);
        Some(Cut {
            slots: first as usize..last as usize + 1,
            step: self.step,
            first_micros: first_end - from,
            last_micros: to - (last * self.step).max(from),
        })
    }

    /// `offset / step`, by a multiplication and a correction of at most one.
    #[inline(always)]
    fn slot_at(&self, offset: i64) -> i64 {
        let near = (offset as f64 * self.per_step) as i64;
        let low = near - i64::from(near * self.step > offset);
        low + i64::from((low + 1) * self.step <= offset)
    }
}

/// Slots of a window after a search, for its sums.
struct RankedWindow<'a> {
    prices: &'a [f64],
    ranks: &'a [f64],
    /// Slots below this rank are used in full.
    rank: f64,
    /// Length of an inner slot in microseconds.
    step: f64,
    /// Usable microseconds of the first slot.
    first_micros: f64,
    /// Usable microseconds of the last slot.
    last_micros: f64,
}

impl RankedWindow<'_> {
    /// Price times `micros` of a slot that is used in full; else zero.
    #[inline(always)]
    fn full_at(&self, position: usize, micros: f64) -> f64 {
        if self.ranks[position] < self.rank { self.prices[position] * micros } else { 0.0 }
    }
}

impl Slots for RankedWindow<'_> {
    #[inline(always)]
    fn price(&self, position: usize) -> f64 {
        self.prices[position]
    }

    #[inline(always)]
    fn full(&self) -> f64 {
        let first = self.full_at(0, self.first_micros);
        let last = self.prices.len() - 1;
        if last == 0 {
            return first;
        }
        let (prices, ranks) = (&self.prices[1..last], &self.ranks[1..last]);
        let inner =
            between(
                prices,
                ranks,
                ranks,
                |price, rank, _| {
                    if rank < self.rank { price * self.step } else { 0.0 }
                },
            );
        first + inner + self.full_at(last, self.last_micros)
    }

    #[inline(always)]
    fn earliest(&self, rest: f64) -> f64 {
        let first = taken(self.prices[0], self.first_micros, 0.0, rest);
        let last = self.prices.len() - 1;
        if last == 0 {
            return first;
        }
        let (prices, positions) = (&self.prices[1..last], &POSITIONS[..last - 1]);
        let before = |position: f64| self.first_micros + self.step * position;
        let inner = between(prices, positions, positions, |price, position, _| {
            taken(price, self.step, before(position), rest)
        });
        let before_last = before((last - 1) as f64);
        first + inner + taken(self.prices[last], self.last_micros, before_last, rest)
    }
}

/// Window of slots of one length, of which the first and the last may be cut. Times are in
/// microseconds.
struct Cut {
    slots: Range<usize>,
    step: i64,
    first_micros: i64,
    last_micros: i64,
}

impl Cut {
    /// Greatest rank whose slots in the window fit into `limit` microseconds, and these slots.
    #[inline(always)]
    fn search<const W: usize>(
        &self,
        sets: &[[u128; W]],
        order: &[u16],
        limit: f64,
    ) -> (usize, FoundSlots) {
        // The bits of the window, and the parts of its ends that lie outside of it.
        let window = run_of_bits::<W>(self.slots.clone());
        let (start, last) = (self.slots.start, self.slots.end - 1);
        let first_missing = self.step - self.first_micros;
        let last_missing = if start == last { 0 } else { self.step - self.last_micros };
        let (first_bit, last_bit) = (1u128 << (start % 128), 1u128 << (last % 128));
        // Usable time of a set: slots in the window, less those parts.
        let micros = |set: &[u128; W]| {
            let mut count = 0;
            for word in 0..W {
                count += (set[word] & window[word]).count_ones();
            }
            let first = if set[start / 128] & first_bit == 0 { 0 } else { first_missing };
            let last = if set[last / 128] & last_bit == 0 { 0 } else { last_missing };
            i64::from(count) * self.step - first - last
        };
        // A whole number is at most the limit exactly if it is at most its floor.
        let limit = limit as i64;
        let mut rank = 0;
        let mut stride = sets.len() / 2;
        while stride > 0 {
            // Arithmetic instead of a branch, which would be mispredicted half of the time.
            rank += stride * usize::from(micros(&sets[rank + stride]) <= limit);
            stride /= 2;
        }
        let rank = rank.min(order.len());
        // Each word of 128 bits becomes two words of the selection.
        let mut full: SlotSet = [0; WORDS];
        for word in 0..W {
            let bits = sets[rank][word] & window[word];
            full[2 * word] = bits as u64;
            full[2 * word + 1] = (bits >> 64) as u64;
        }
        let next = order.get(rank).map(|&slot| {
            let slot = usize::from(slot);
            Next { slot, position: slot - start }
        });
        (rank, FoundSlots { origin: 0, full, full_micros: micros(&sets[rank]) as f64, next })
    }
}

/// Bit set of a range of slots.
#[inline(always)]
fn run_of_bits<const W: usize>(slots: Range<usize>) -> [u128; W] {
    let below = |count: usize, word: usize| {
        let bits = count.saturating_sub(word * 128).min(128);
        if bits == 128 { u128::MAX } else { (1 << bits) - 1 }
    };
    std::array::from_fn(|word| below(slots.end, word) & !below(slots.start, word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::selection::threshold;
    use crate::prices::ranking::SLOTS_MAX;
    use crate::time::horizon::Horizon;

    proptest! {
        /// Both searches give the same slots and the same bits of every number.
        #[test]
        fn the_two_searches_agree_bit_for_bit(
            cents in prop::collection::vec(-20..60i32, 1..=SLOTS_MAX),
            from in -50..3000i64, length in 0..4000i64,
            kwh in 0.0..300.0f64, power in 0.5..22.0f64, scale in prop::sample::select(vec![1, 60, 900]),
        ) {
            let step = scale * 1_000_003;
            let count = cents.len() as i64;
            let horizon = Horizon::from_micros((0..count).map(|i| (i * step, (i + 1) * step))).unwrap();
            let prices: Vec<f64> = cents.iter().map(|&cent| f64::from(cent) / 7.0).collect();
            let (from, to) = (from * step / 12, (from + length) * step / 12);
            let need = Need { energy_kwh: kwh * scale as f64 / 900.0, power_kw: power };
            let ranked = RankedSlots::new(&horizon, &prices).unwrap().choose(from, to, need).1;
            let window = Window::new(&horizon, from, to);
            let mut other = if window.len() == 0 {
                SlotSelection::nothing(need, f64::NAN)
            } else {
                threshold::choose_one(&horizon, &prices, window, need)
            };
            // `threshold` counts bits from the window, `ranked` from the curve.
            let mut moved = [0; WORDS];
            for slot in 0..SLOTS_MAX {
                moved[slot / 64] |= u64::from(other.is_full(slot)) << (slot % 64);
            }
            other.full = moved;
            other.origin = 0;
            prop_assert_eq!(format!("{ranked:?}"), format!("{other:?}"));
        }
    }
}
