//! Levels that a storage is wanted to have by deadlines.
use chrono::{DateTime, Utc};

/// Level that a target wants at the end of a slot.
#[derive(Debug, Clone)]
pub(crate) struct Goal {
    /// Position among the device's targets; energy targets come first. `None` for the late goal:
    /// energy that missed its deadline and is wanted by departure.
    pub(crate) target: Option<usize>,
    /// The deadline as the caller gave it.
    pub(crate) by: Option<DateTime<Utc>>,
    /// Number of slots of the site that end by the deadline.
    pub(crate) slots: usize,
    /// Number of drives that begin before the deadline.
    pub(crate) drives: usize,
    /// Level wanted in stored kWh, at most the charge limit.
    pub(crate) wanted: f64,
    /// Part of the target above the charge limit, in stored kWh.
    pub(crate) above_limit: f64,
    /// Highest level up to `wanted` that the device can reach alone.
    pub(crate) reachable: f64,
    /// Highest level up to `wanted` that it could reach alone if all times had a price.
    pub(crate) reachable_if_priced: f64,
}

impl Goal {
    /// Goal of `level`, cut at the charge limit `most`. `(target, by)` and `(slots, drives)` are
    /// the fields of that name. Both reachable levels begin as the level wanted.
    pub(crate) fn new(
        (target, by): (Option<usize>, Option<DateTime<Utc>>),
        (slots, drives): (usize, usize),
        level: f64,
        most: f64,
    ) -> Self {
        let wanted = level.min(most);
        Self {
            target,
            by,
            slots,
            drives,
            wanted,
            above_limit: level - wanted,
            reachable: wanted,
            reachable_if_priced: wanted,
        }
    }
}
