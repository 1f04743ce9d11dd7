//! Powers of a plan before, near which a new plan of one device stays.
use serde::{Deserialize, Serialize};

use crate::plan::interval::Interval;
use crate::plan::stability::budget::Budget;
use crate::time::horizon::{Horizon, HorizonError};

/// Plan before of one device, near which a new plan stays within a budget.
///
/// Time that its intervals do not cover counts as power 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreviousPowers {
    /// Periods of the plan before, in time order; a negative power discharges.
    pub intervals: Vec<Interval>,
    /// Money that the new plan may cost beyond the cheapest one.
    pub budget: Budget,
}

/// Checks that intervals are in time order, without overlap and each of some length.
pub(crate) fn check_intervals(intervals: &[Interval]) -> Result<(), HorizonError> {
    Horizon::new(intervals.iter().map(|interval| (interval.start, interval.end))).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::kw;

    #[test]
    fn intervals_out_of_order_are_refused() {
        let interval = |start: &str, end: &str| Interval {
            start: format!("2026-01-05T{start}:00Z").parse().unwrap(),
            end: format!("2026-01-05T{end}:00Z").parse().unwrap(),
            power: kw(1.0),
        };
        let (first, second) = (interval("18:00", "19:00"), interval("19:00", "20:00"));
        assert!(check_intervals(&[first, second]).is_ok());
        let refused = |intervals: &[Interval]| check_intervals(intervals).unwrap_err();
        assert!(matches!(refused(&[second, first]), HorizonError::Overlap { index: 1, .. }));
        let empty = interval("18:00", "18:00");
        assert!(matches!(refused(&[empty]), HorizonError::NoLength { index: 0, .. }));
    }
}
