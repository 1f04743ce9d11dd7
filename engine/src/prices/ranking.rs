//! Price order of a curve, sorted once for all plans that share the curve.
//!
//! Plans of one vehicle search it in `plan::charge::selection::ranked`, pricing problems of areas
//! in `area::pricing::pricing_problem`.
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
    pub(crate) sets: PrefixSets,
}

/// Set of the `k` cheapest slots as bits in time order, for each `k`, in as few words as the slots
/// need.
///
/// Words of 128 bits keep the population count on the integer units: of
/// shorter words the compiler makes vectors, which count bits more slowly.
#[derive(Debug, Clone)]
pub(crate) enum PrefixSets {
    /// Up to 128 slots.
    One(Vec<[u128; 1]>),
    /// Up to [`SLOTS_MAX`] slots.
    Two(Vec<[u128; 2]>),
}

impl PrefixSets {
    /// Sets of the first `k` slots of `order`, for each `k` from 0 to its length. `slots` is the
    /// number of slots, in `order` or not.
    pub(crate) fn new(order: &[u16], slots: usize) -> Self {
        if slots <= 128 { Self::One(prefix_sets(order)) } else { Self::Two(prefix_sets(order)) }
    }

    /// Sets of which the last is repeated until their number is a power of two, so that a binary
    /// search without bounds checks stays inside.
    fn padded(self) -> Self {
        match self {
            Self::One(sets) => Self::One(pad(sets)),
            Self::Two(sets) => Self::Two(pad(sets)),
        }
    }
}

/// Slots from the cheapest to the dearest, of equal prices the earlier first. Slots at an infinite
/// price are left out.
pub(crate) fn slots_by_price(prices: &[f64]) -> Vec<u16> {
    let mut order: Vec<u16> = (0..prices.len() as u16).collect();
    order.retain(|&slot| prices[usize::from(slot)] < f64::INFINITY);
    order.sort_unstable_by(|&a, &b| {
        prices[usize::from(a)].total_cmp(&prices[usize::from(b)]).then(a.cmp(&b))
    });
    order
}

impl RankedSlots {
    /// The order of a curve, if all its slots have one length, follow each
    /// other without a gap, and are at most [`SLOTS_MAX`].
    pub(crate) fn new(horizon: &Horizon, prices: &[f64]) -> Option<Self> {
        let step = horizon.step()?;
        if prices.len() > SLOTS_MAX {
            return None;
        }
        let order = slots_by_price(prices);
        let mut ranks = vec![0.0; prices.len()];
        for (rank, &slot) in order.iter().enumerate() {
            ranks[usize::from(slot)] = rank as f64;
        }
        let sets = PrefixSets::new(&order, prices.len()).padded();
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

fn prefix_sets<const W: usize>(order: &[u16]) -> Vec<[u128; W]> {
    let mut set = [0; W];
    let mut sets = Vec::with_capacity(order.len() + 1);
    sets.push(set);
    for &slot in order {
        set[usize::from(slot) / 128] |= 1 << (slot % 128);
        sets.push(set);
    }
    sets
}

fn pad<const W: usize>(mut sets: Vec<[u128; W]>) -> Vec<[u128; W]> {
    let all = sets[sets.len() - 1];
    sets.resize(sets.len().next_power_of_two(), all);
    sets
}
