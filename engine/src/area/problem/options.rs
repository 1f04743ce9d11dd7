//! How hard to look for a plan of an area, and what to start from.
use serde::{Deserialize, Serialize};

/// How hard to try.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AreaOptions {
    /// Gap at which to end, in proportion to the cost; 1e-3 is 0.1 %.
    pub gap: f64,
    /// Rounds after which to end in any case.
    pub max_rounds: usize,
    /// Prices to begin with, those of an earlier plan of the same area.
    pub start: Option<WarmStart>,
}

impl Default for AreaOptions {
    fn default() -> Self {
        Self { gap: 1e-3, max_rounds: 500, start: None }
    }
}

/// What one plan of an area hands on to the next: the price that each limit
/// puts on each slot. It serialises, so that it can be kept.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmStart {
    /// Prices per kWh, limit by limit and slot by slot.
    pub duals_per_kwh: Vec<f64>,
    /// Further prices whose answers are worth asking for at once.
    pub rounds_per_kwh: Vec<Vec<f64>>,
}
