//! Options of planning an area: when to stop, and the duals to start from.
use serde::{Deserialize, Serialize};

/// Options of planning an area.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AreaOptions {
    /// Gap at which the search ends, relative to the larger of |bound| and |unmanaged cost|; 1e-3
    /// is 0.1 %.
    pub gap: f64,
    /// Most rounds of pricing in one search.
    pub max_rounds: usize,
    /// Duals of an earlier plan of the same area, to begin with.
    pub start: Option<WarmStart>,
}

impl Default for AreaOptions {
    fn default() -> Self {
        Self { gap: 1e-3, max_rounds: 500, start: None }
    }
}

/// Duals of one plan of an area, with which planning it again starts: the price that each limit
/// puts on each slot. They can be serialised and kept.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmStart {
    /// Duals per kWh, limit by limit and slot by slot.
    pub duals_per_kwh: Vec<f64>,
    /// Further dual vectors, whose columns are priced at the start as well.
    pub rounds_per_kwh: Vec<Vec<f64>>,
}
