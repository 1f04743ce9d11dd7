//! Sums over the slots of a window, in one order on every machine.
//!
//! A sum of floating-point numbers depends on its order in the last bits. The order here is fixed:
//! the first slot; then the inner slots, dealt to eight lanes in turn, the lanes added in pairs;
//! then the last slot. It does not depend on the width of the vectors of the machine. Both
//! searches use it, so that they agree to the bit.
use crate::prices::ranking::SLOTS_MAX;

/// Number of partial sums to which the inner slots are dealt in turn.
const LANES: usize = 8;

/// The numbers 0, 1, 2, … as `f64`, so that vectors load positions instead of converting them.
pub(crate) const POSITIONS: [f64; SLOTS_MAX] = positions();

/// Value of [`POSITIONS`].
const fn positions() -> [f64; SLOTS_MAX] {
    let mut positions = [0.0; SLOTS_MAX];
    let mut index = 0;
    while index < SLOTS_MAX {
        positions[index] = index as f64;
        index += 1;
    }
    positions
}

/// Sums over the prices of a window after a search. Times are in microseconds.
pub(crate) trait Slots {
    /// Price of a slot, by its position in the window.
    fn price(&self, position: usize) -> f64;
    /// Price times time of the slots that are used in full.
    fn full(&self) -> f64;
    /// Price times time of the first `rest` microseconds of the window.
    fn earliest(&self, rest: f64) -> f64;
}

/// Price times the time of a slot of `micros` microseconds that lies within the first `rest`
/// microseconds of the window; `before` microseconds lie ahead of the slot.
#[inline(always)]
pub(crate) fn taken(price: f64, micros: f64, before: f64, rest: f64) -> f64 {
    let left = rest - before;
    let taken = if left < micros { left } else { micros };
    // A product with zero would be NaN: the price of a gap is infinite.
    if taken > 0.0 { price * taken } else { 0.0 }
}

/// Sum of `term(a, b, c)` over the inner slots of a window, which have one entry each in `a`, `b`
/// and `c`.
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
    // Lanes are summed in one fixed order, so that machines with other vectors agree.
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
