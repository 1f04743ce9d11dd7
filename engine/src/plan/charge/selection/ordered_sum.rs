//! Sums over the slots of a window, in an order that no machine changes.
//!
//! Numbers with a fraction add up to different last bits in different orders.
//! Here the order is fixed: the first slot, then the slots between dealt to
//! eight lanes in turn and the lanes added in pairs, then the last slot. It
//! is the same on vectors of any width, and both searches use it, so that
//! they agree to the bit.
use crate::prices::ranking::SLOTS_MAX;

/// Lanes to which slots are dealt.
const LANES: usize = 8;

/// The numbers 0, 1, 2, …, to be loaded where a position is wanted.
pub(crate) const POSITIONS: [f64; SLOTS_MAX] = positions();

const fn positions() -> [f64; SLOTS_MAX] {
    let mut positions = [0.0; SLOTS_MAX];
    let mut index = 0;
    while index < SLOTS_MAX {
        positions[index] = index as f64;
        index += 1;
    }
    positions
}

/// What a window's prices add up to, asked once a search has found its slots.
pub(crate) trait Slots {
    /// Price of a slot, by its position in the window.
    fn price(&self, position: usize) -> f64;
    /// Price times time of the slots that are used for all their time.
    fn full(&self) -> f64;
    /// Price times time of the first `rest` microseconds of the window.
    fn earliest(&self, rest: f64) -> f64;
}

/// Price times the part of a slot that lies within the first `rest`
/// microseconds, `before` of which have gone by when the slot starts.
#[inline(always)]
pub(crate) fn taken(price: f64, micros: f64, before: f64, rest: f64) -> f64 {
    let left = rest - before;
    let taken = if left < micros { left } else { micros };
    // Not by a product with zero: the price of a gap is infinite.
    if taken > 0.0 { price * taken } else { 0.0 }
}

/// The sum of `term` over the slots between the first and the last of a
/// window, with three numbers for each of them.
#[inline(always)]
pub(crate) fn between(a: &[f64], b: &[f64], c: &[f64], term: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let (c, c_rest) = c.as_chunks::<LANES>();
    for ((a, b), c) in a.iter().zip(b).zip(c) {
        for lane in 0..LANES {
            lanes[lane] += term(a[lane], b[lane], c[lane]);
        }
    }
    let rest = a_rest.iter().zip(b_rest).zip(c_rest);
    for (sum, ((&a, &b), &c)) in lanes.iter_mut().zip(rest) {
        *sum += term(a, b, c);
    }
    let pair = |lane: usize| lanes[lane] + lanes[lane + LANES / 2];
    (pair(0) + pair(2)) + (pair(1) + pair(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_counts_once() {
        for count in 0..60 {
            let slots = &POSITIONS[..count];
            let sum = between(slots, slots, slots, |a, b, c| a + 100.0 * b + 10_000.0 * c);
            let expected = (count * count.saturating_sub(1) / 2) as f64 * 10_101.0;
            assert!((sum - expected).abs() < 1e-6, "{count} slots");
        }
    }

    #[test]
    fn a_slot_is_taken_as_far_as_the_rest_reaches() {
        assert!((taken(2.0, 10.0, 30.0, 35.0) - 10.0).abs() < 1e-12);
        assert!((taken(2.0, 10.0, 30.0, 99.0) - 20.0).abs() < 1e-12);
        assert!(taken(f64::INFINITY, 0.0, 30.0, 99.0).abs() < 1e-12);
        assert!(taken(2.0, 10.0, 30.0, 20.0).abs() < 1e-12);
    }
}
