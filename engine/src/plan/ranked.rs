//! The cheapest slots of a window, found on bit sets of a price order.
//!
//! When many vehicles share one curve, its slots are sorted once. For each
//! rank r the set of the r cheapest slots is kept as bits in time order; a
//! vehicle's window is a run of bits, and the time it can buy among the r
//! cheapest slots is a population count. The need ends at the rank that a
//! binary search finds, in some two hundred cycles.
use std::ops::Range;

use crate::plan::choice::{Choice, Found, Need, SLOTS_MAX, SNAP_MICROS, SlotSet, WORDS};
use crate::time::horizon::Horizon;

/// The price order of one curve. See the module.
#[derive(Debug, Clone)]
pub(crate) struct RankedSlots {
    /// First instant of the curve.
    origin: i64,
    /// Length of each slot.
    step: i64,
    prices: Vec<f64>,
    /// Slots, cheapest first; of equal prices the earlier first.
    order: Vec<u16>,
    sets: Sets,
}

/// For each rank the slots below it, in as few words as the curve needs.
#[derive(Debug, Clone)]
enum Sets {
    Two(Vec<[u64; 2]>),
    Four(Vec<[u64; WORDS]>),
}

impl RankedSlots {
    /// The order of a curve, if all its slots have one length, follow each
    /// other without a gap, and are at most [`SLOTS_MAX`].
    pub(crate) fn new(horizon: &Horizon, prices: &[f64]) -> Option<Self> {
        let step = horizon.step()?;
        if prices.len() > SLOTS_MAX {
            return None;
        }
        let mut order: Vec<u16> = (0..prices.len() as u16).collect();
        // Stable: of equal prices the earlier slot comes first.
        order.sort_by(|&a, &b| prices[usize::from(a)].total_cmp(&prices[usize::from(b)]));
        let sets =
            if prices.len() <= 128 { Sets::Two(below(&order)) } else { Sets::Four(below(&order)) };
        Some(Self { origin: horizon.starts()[0], step, prices: prices.to_vec(), order, sets })
    }

    /// The cheapest way to meet `need` in `[from, to)`.
    #[inline(always)]
    pub(crate) fn choose(&self, from: i64, to: i64, need: Need) -> Choice {
        let Some(cut) = self.cut(from, to) else {
            return Choice::nothing(need, f64::NAN);
        };
        let limit = need.micros() + SNAP_MICROS;
        let found = match &self.sets {
            Sets::Two(sets) => cut.search(sets, &self.order, limit),
            Sets::Four(sets) => cut.search(sets, &self.order, limit),
        };
        let Cut { slots, .. } = &cut;
        Choice::priced(
            need,
            &found,
            slots.clone(),
            |slot| self.prices[slot],
            |slot| cut.usable(slot) as f64,
        )
    }

    /// The window `[from, to)` in slots, or `None` if it holds no time.
    #[inline(always)]
    fn cut(&self, from: i64, to: i64) -> Option<Cut> {
        let end = self.origin + self.step * self.prices.len() as i64;
        let (from, to) = (from.max(self.origin), to.min(end));
        if from >= to {
            return None;
        }
        let (from, to) = (from - self.origin, to - self.origin);
        let first = from / self.step;
        let last = (to - 1) / self.step;
        let first_end = ((first + 1) * self.step).min(to);
        Some(Cut {
            slots: first as usize..last as usize + 1,
            step: self.step,
            first_micros: first_end - from,
            last_micros: to - (last * self.step).max(from),
        })
    }
}

/// A window as slots of one length, of which the first and last may be cut.
struct Cut {
    slots: Range<usize>,
    step: i64,
    first_micros: i64,
    last_micros: i64,
}

impl Cut {
    #[inline(always)]
    fn usable(&self, slot: usize) -> i64 {
        if slot == self.slots.start {
            self.first_micros
        } else if slot + 1 == self.slots.end {
            self.last_micros
        } else {
            self.step
        }
    }

    /// The longest run of ranks whose slots in the window fit into `limit`.
    #[inline(always)]
    fn search<const W: usize>(&self, sets: &[[u64; W]], order: &[u16], limit: f64) -> Found {
        let window = run_of_bits::<W>(self.slots.clone());
        let (start, last) = (self.slots.start, self.slots.end - 1);
        let first_missing = self.step - self.first_micros;
        let last_missing = if start == last { 0 } else { self.step - self.last_micros };
        let micros = |set: &[u64; W]| {
            let mut count = 0;
            for word in 0..W {
                count += (set[word] & window[word]).count_ones();
            }
            let first_in = (set[start / 64] >> (start % 64) & 1) as i64;
            let last_in = (set[last / 64] >> (last % 64) & 1) as i64;
            i64::from(count) * self.step - first_in * first_missing - last_in * last_missing
        };
        let ranks = order.len();
        let mut rank = 0;
        let mut stride = (ranks + 1).next_power_of_two() / 2;
        while stride > 0 {
            let further = rank + stride;
            if further <= ranks && micros(&sets[further]) as f64 <= limit {
                rank = further;
            }
            stride /= 2;
        }
        let mut full: SlotSet = [0; WORDS];
        for word in 0..W {
            full[word] = sets[rank][word] & window[word];
        }
        let next = order.get(rank).map(|&slot| usize::from(slot));
        Found { origin: 0, full, full_micros: micros(&sets[rank]) as f64, next }
    }
}

/// The slots below each rank, from none to all.
fn below<const W: usize>(order: &[u16]) -> Vec<[u64; W]> {
    let mut set = [0; W];
    let mut sets = vec![set];
    sets.extend(order.iter().map(|&slot| {
        set[usize::from(slot) / 64] |= 1 << (slot % 64);
        set
    }));
    sets
}

/// The bits of a range of slots.
#[inline(always)]
fn run_of_bits<const W: usize>(slots: Range<usize>) -> [u64; W] {
    let below = |count: usize, word: usize| {
        let bits = count.saturating_sub(word * 64).min(64);
        if bits == 64 { u64::MAX } else { (1 << bits) - 1 }
    };
    std::array::from_fn(|word| below(slots.end, word) & !below(slots.start, word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::choice::Window;
    use crate::plan::threshold;
    use proptest::prelude::*;

    proptest! {
        /// Both searches give the same bits, slot for slot and cent for cent.
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
            let ranked = RankedSlots::new(&horizon, &prices).unwrap().choose(from, to, need);
            let window = Window::new(&horizon, from, to);
            let mut other = if window.len() == 0 {
                Choice::nothing(need, f64::NAN)
            } else {
                threshold::choose_one(&horizon, &prices, window, need)
            };
            // The threshold counts bits from its window, the ranks from the curve.
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
