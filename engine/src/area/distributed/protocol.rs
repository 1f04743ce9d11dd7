//! Messages between an area and the workers that solve its pricing problems.
use serde::{Deserialize, Serialize};

use crate::area::model::energy_by_slot::{Assignment, ColumnWeights, EnergyBySlot};
use crate::area::pricing::block_loads::BlockLoad;
use crate::area::pricing::effective_prices::ShortfallPenalty;

/// Place of a part among all vehicles of an area.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// Position of its first vehicle in the order of all vehicles.
    pub first: usize,
    /// Number of vehicles, group and node of each block.
    pub blocks: Vec<(usize, usize, u32)>,
    /// Number of groups of the whole area.
    pub groups: usize,
    /// True if vehicles are ordered by price curve within a node.
    pub by_curve: bool,
    /// Largest priority of all vehicles of the area.
    pub priority_max: f64,
}

impl Partition {
    /// Number of vehicles of the part, without rows in error.
    #[must_use]
    pub fn vehicles(&self) -> usize {
        self.blocks.iter().map(|(vehicles, ..)| vehicles).sum()
    }

    /// Returns true if `sums` have the groups, nodes, blocks and `slots` of this part.
    #[must_use]
    pub fn fits(&self, sums: &[BlockLoad], slots: usize) -> bool {
        let mut runs = self.blocks.chunk_by(|a, b| (a.1, a.2) == (b.1, b.2));
        let is_run = |sum: &BlockLoad, run: &[(usize, usize, u32)]| {
            let lengths = [sum.cost.len(), sum.shortfall_penalty.len(), sum.optimality_slack.len()];
            let is_inside = |&at: &u32| (at as usize) < self.vehicles();
            (sum.group, sum.node) == (run[0].1, run[0].2)
                && lengths == [run.len(); 3]
                && sum.load.len() == slots
                && sum.with_shortfall.iter().all(is_inside)
        };
        // One sum for each run of blocks of a group and node, in their order, and no run left over.
        sums.iter().all(|sum| runs.next().is_some_and(|run| is_run(sum, run)))
            && runs.next().is_none()
    }
}

/// Part of an area as it is assigned to a worker.
#[derive(Debug, Clone, PartialEq)]
pub struct Assigned {
    /// Place among all vehicles.
    pub partition: Partition,
    /// Rows of the fleet in the order of the part. Rows in error come after all others, in the
    /// last part.
    pub rows: Vec<u32>,
}

/// Changes to the vehicles of a part since it was assigned.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionUpdate {
    /// Need of each vehicle in µWh (1e-9 kWh), if a shortage reduced the needs.
    pub needs: Option<Vec<i64>>,
    /// Batteries whose reserve is delayed: position in the part, and the first slot with it.
    pub reserves: Vec<(u32, u32)>,
    /// Vehicles with changed deadlines: position in the part, and energies in µWh. These are the
    /// energy by each deadline but the last, then the part of the need that may come late.
    #[serde(rename = "wishes")]
    pub deadlines: Vec<(u32, Vec<i64>)>,
}

/// Request to all parts of an area.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PricingRequest {
    #[serde(rename = "worth")]
    pub(crate) penalty: ShortfallPenalty,
    /// True if energy is free and only hard limits on import count.
    pub(crate) is_free: bool,
    #[serde(rename = "what")]
    pub(crate) kind: RequestKind,
}

/// Kind of a request, with the data that all parts need for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum RequestKind {
    /// Sums of unmanaged charging: full power from arrival.
    #[serde(rename = "at_once")]
    AtOnce,
    /// Sums of the pricing problems at these duals, per kWh by limit and slot.
    #[serde(rename = "answer")]
    Answer(Vec<f64>),
    /// Sums of the plans that follow from these columns.
    #[serde(rename = "plans")]
    Plans(ColumnChoice),
}

/// Columns from which plans are made: weights of the master, and the duals of their rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ColumnChoice {
    /// Rounds and weights of each group.
    #[serde(rename = "shares")]
    pub(crate) weights: Vec<ColumnWeights>,
    /// True for groups whose vehicles follow the convex combination itself.
    #[serde(rename = "is_mixed")]
    pub(crate) is_convex_combination: Vec<bool>,
    /// Rounds with a weight in any group, ascending, and their duals per kWh by limit and slot.
    pub(crate) prices: Vec<(usize, Vec<f64>)>,
}

impl ColumnChoice {
    /// Columns of an assignment, with the duals of their rounds.
    pub(crate) fn new(assignment: &Assignment, duals_by_round: &[Vec<f64>]) -> Self {
        // Only rounds with a weight are sent, since only their columns give plans.
        let mut rounds: Vec<usize> =
            assignment.weights.iter().flatten().map(|&(round, _)| round).collect();
        rounds.sort_unstable();
        rounds.dedup();
        Self {
            weights: assignment.weights.clone(),
            is_convex_combination: assignment.is_convex_combination.clone(),
            prices: rounds
                .into_iter()
                .map(|round| (round, duals_by_round[round].clone()))
                .collect(),
        }
    }
}

/// Data of a request for one part alone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overrides {
    /// Plans that replace those of the columns: position of the vehicle in the part, and energy by
    /// slot in µWh.
    #[serde(rename = "anew")]
    pub(crate) plans: Vec<(u32, EnergyBySlot)>,
    /// Need that is not met: position of the vehicle in the part, and energy in kWh.
    pub(crate) unmet_kwh: Vec<(u32, f64)>,
}

/// Reason that a worker refuses a part or a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// Rows other than those of the worker.
    #[error("the part has {found} vehicles; its worker has {expected}")]
    OtherRows {
        /// Vehicles in the rows, without rows in error.
        found: usize,
        /// Vehicles of the part.
        expected: usize,
    },
    /// A change, prices or a mix of another area.
    #[error("the message belongs to another area")]
    OtherArea,
}
