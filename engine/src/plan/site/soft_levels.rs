//! Soft bounds of a storage in the slots of its session, in stored kWh.
use std::ops::Range;

use crate::plan::site::device::SoftBound;
use crate::plan::site::price_slots::SiteSlots;
use crate::time::instant::micros_of;
use crate::units::Percent;

/// Soft bound of a storage in stored kWh.
#[derive(Debug, Clone)]
pub(crate) struct SoftLevels {
    /// Slots at whose ends the bound holds.
    pub(crate) slots: Range<usize>,
    /// Least level; zero for none.
    pub(crate) least: f64,
    /// Highest level; infinite for none.
    pub(crate) most: f64,
    /// Price per stored kWh outside of the bound and hour.
    pub(crate) price: f64,
}

impl SoftLevels {
    /// Stored energy outside of the bound at a level.
    pub(crate) fn outside(&self, level: f64) -> f64 {
        (self.least - level).max(level - self.most).max(0.0)
    }
}

/// Soft bounds of a storage of `capacity` kWh in the slots of its session.
pub(crate) fn soft_levels(
    bounds: &[SoftBound],
    capacity: Option<f64>,
    grid: &SiteSlots,
    stay: &Range<usize>,
) -> Vec<SoftLevels> {
    let Some(capacity) = capacity else { return Vec::new() };
    let level = |soc: Percent| soc.as_percent() / 100.0 * capacity;
    let levels = |bound: &SoftBound| {
        let from = bound.start.map_or(i64::MIN, micros_of);
        let to = bound.end.map_or(i64::MAX, micros_of);
        let slots = grid.between(from, to);
        SoftLevels {
            slots: slots.start.max(stay.start)..slots.end.min(stay.end),
            least: bound.soc_min.map_or(0.0, level),
            most: bound.soc_max.map_or(f64::INFINITY, level),
            price: bound.price_per_kwh_hour,
        }
    };
    bounds.iter().map(levels).collect()
}
