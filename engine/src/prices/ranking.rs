//! Price order of a curve, sorted once for all plans that share the curve.
//!
//! For each rank r the set of the r cheapest slots is kept as bits in time
//! order. How plans search it is in `plan::ranked`.
use crate::time::horizon::Horizon;

/// Longest curve that has a price order, and longest window that has a compact
/// answer, in slots: two days of quarter
/// hours, one of them with 25 hours, and some to spare.
pub(crate) const SLOTS_MAX: usize = 256;

/// Slots of one curve in the order of their prices.
#[derive(Debug, Clone)]
pub(crate) struct RankedSlots {
    /// First instant of the curve.
    pub(crate) origin: i64,
    /// Length of each slot.
    pub(crate) step: i64,
    /// Its inverse, to find a slot without a division.
    pub(crate) per_step: f64,
    pub(crate) prices: Vec<f64>,
    /// Slots, cheapest first; of equal prices the earlier first.
    pub(crate) order: Vec<u16>,
    /// Position of each slot in that order, as a number to compare in vectors.
    pub(crate) ranks: Vec<f64>,
    pub(crate) sets: Sets,
}

/// Set of the slots below each rank, in as few words as the curve needs.
///
/// Words of 128 bits keep the population count on the integer units: of
/// shorter words the compiler makes vectors, which count bits more slowly.
#[derive(Debug, Clone)]
pub(crate) enum Sets {
    One(Vec<[u128; 1]>),
    Two(Vec<[u128; 2]>),
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
        let mut ranks = vec![0.0; prices.len()];
        for (rank, &slot) in order.iter().enumerate() {
            ranks[usize::from(slot)] = rank as f64;
        }
        // Up to 128 slots fit into one word of a set.
        let sets =
            if prices.len() <= 128 { Sets::One(below(&order)) } else { Sets::Two(below(&order)) };
        Some(Self {
            origin: horizon.starts()[0],
            step,
            per_step: 1.0 / step as f64,
            prices: prices.to_vec(),
            order,
            ranks,
            sets,
        })
    }
}

/// Sets of the slots below each rank, from none to all. The last set is repeated until their
/// number is a power of two, so that a binary search stays in bounds.
fn below<const W: usize>(order: &[u16]) -> Vec<[u128; W]> {
    let mut set = [0; W];
    let mut sets = vec![set];
    sets.extend(order.iter().map(|&slot| {
        set[usize::from(slot) / 128] |= 1 << (slot % 128);
        set
    }));
    sets.resize(sets.len().next_power_of_two(), set);
    sets
}
