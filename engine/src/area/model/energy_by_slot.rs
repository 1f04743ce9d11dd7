//! Plans as energy by slot, their shortfall, and the assignment of plans to vehicles and rooms.
use std::collections::BTreeMap;

use crate::area::model::rooms::RoomPlan;

/// Plan of a vehicle: pairs of slot and energy at the plug in µWh, in time order. Energy is
/// positive if it is bought and negative if it is sold.
pub(crate) type EnergyBySlot = Vec<(u32, i64)>;

/// Weights `θ` on the columns of one group: pairs of round and weight. The weights add up to 1.
pub(crate) type ColumnWeights = Vec<(usize, f64)>;

/// Assignment of a plan to each vehicle: a column of its group, or a plan of its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Assignment {
    /// Weights of the columns of each group.
    pub(crate) weights: Vec<ColumnWeights>,
    /// For each group, true if its vehicles follow the convex combination of its columns.
    pub(crate) is_convex_combination: Vec<bool>,
    /// Plans of single vehicles in place of columns, by position in `Sessions::each`.
    pub(crate) overrides: BTreeMap<u32, EnergyBySlot>,
    /// Plan of each room.
    pub(crate) rooms: Vec<RoomPlan>,
}

/// Sorts the energies by slot and adds up those of one slot.
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

/// Shortfall of one plan, in µWh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Shortfall {
    /// Energy missing at the deadline that misses most.
    pub(crate) missing: i64,
    /// Late energy that is not delivered by departure either; see `Deadlines::later`.
    pub(crate) late: i64,
}

impl From<i64> for Shortfall {
    fn from(missing: i64) -> Self {
        Self { missing, late: 0 }
    }
}
