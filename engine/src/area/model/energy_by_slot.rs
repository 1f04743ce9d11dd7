//! Energy of a vehicle by slot, and the columns that a vehicle follows.
use std::collections::BTreeMap;

/// Energy bought by slot, in time order; sold where it is negative.
pub(crate) type EnergyBySlot = Vec<(u32, i64)>;

/// Rounds that a group draws from, with weights that add up to 1.
pub(crate) type ColumnWeights = Vec<(usize, f64)>;

/// Which plan each vehicle has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Assignment {
    /// Rounds and weights of each group.
    pub(crate) weights: Vec<ColumnWeights>,
    /// Whether a group has the mix itself.
    pub(crate) is_convex_combination: Vec<bool>,
    /// Vehicles planned anew, by their position in the order of the stays.
    pub(crate) overrides: BTreeMap<u32, EnergyBySlot>,
}

/// Puts energies in time order, one per slot.
pub(crate) fn merge_slots(taken: &mut EnergyBySlot) {
    taken.sort_unstable();
    taken.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
        }
        is_same
    });
}

/// Need that goes unmet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Shortfall {
    /// At the deadline by which most is missing.
    pub(crate) missing: i64,
    /// What could have come after it, and does not either.
    pub(crate) late: i64,
}

impl From<i64> for Shortfall {
    fn from(need: i64) -> Self {
        Self { missing: need, late: 0 }
    }
}
