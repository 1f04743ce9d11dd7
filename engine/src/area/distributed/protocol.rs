//! Messages between an area and the workers that solve its pricing problems.
use serde::{Deserialize, Serialize};

use crate::area::model::energy_by_slot::{Assignment, ColumnWeights, EnergyBySlot};
use crate::area::pricing::block_loads::BlockLoad;
use crate::area::pricing::effective_prices::ShortfallPenalty;

/// Where a part stands among all vehicles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// Position of its first vehicle in the order of all.
    pub first: usize,
    /// Vehicles, group and node of each block.
    pub blocks: Vec<(usize, usize, u32)>,
    /// Groups of all vehicles.
    pub groups: usize,
    /// Whether vehicles of one curve stand side by side.
    pub by_curve: bool,
    /// The largest priority of all vehicles.
    pub priority_max: f64,
}

impl Partition {
    /// Vehicles of the part, rows in error apart.
    #[must_use]
    pub fn vehicles(&self) -> usize {
        self.blocks.iter().map(|(vehicles, ..)| vehicles).sum()
    }

    /// Whether sums are those of the blocks of this part.
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
        sums.iter().all(|sum| runs.next().is_some_and(|run| is_run(sum, run)))
            && runs.next().is_none()
    }
}

/// The rows of a part, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Assigned {
    /// Where it stands.
    pub partition: Partition,
    /// Rows of the fleet in the order of the part. Those that make no sense come
    /// after all others, in the last part.
    pub rows: Vec<u32>,
}

/// In what a part is no longer as it was dealt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionUpdate {
    /// Need of each vehicle in billionths of a kWh, where a shortage is shared.
    pub needs: Option<Vec<i64>>,
    /// Batteries whose reserve comes later, and the slot from which it is there.
    pub reserves: Vec<(u32, u32)>,
    /// Vehicles that are late for a deadline, their energy by each but the last, and
    /// what of it may come later.
    #[serde(rename = "wishes")]
    pub deadlines: Vec<(u32, Vec<i64>)>,
}

/// What all parts are asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PricingRequest {
    #[serde(rename = "worth")]
    pub(crate) penalty: ShortfallPenalty,
    /// Whether energy is free, and only hard limits on import count.
    pub(crate) is_free: bool,
    #[serde(rename = "what")]
    pub(crate) kind: RequestKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum RequestKind {
    /// Full power from arrival.
    #[serde(rename = "at_once")]
    AtOnce,
    /// What vehicles buy when limits cost so much.
    #[serde(rename = "answer")]
    Answer(Vec<f64>),
    /// Plans from a mix of rounds.
    #[serde(rename = "plans")]
    Plans(ColumnChoice),
}

/// What plans are made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ColumnChoice {
    #[serde(rename = "shares")]
    pub(crate) weights: Vec<ColumnWeights>,
    #[serde(rename = "is_mixed")]
    pub(crate) is_convex_combination: Vec<bool>,
    /// Prices of the rounds that anybody draws from.
    pub(crate) prices: Vec<(usize, Vec<f64>)>,
}

impl ColumnChoice {
    pub(crate) fn new(assignment: &Assignment, prices: &[Vec<f64>]) -> Self {
        let mut rounds: Vec<usize> =
            assignment.weights.iter().flatten().map(|&(round, _)| round).collect();
        rounds.sort_unstable();
        rounds.dedup();
        Self {
            weights: assignment.weights.clone(),
            is_convex_combination: assignment.is_convex_combination.clone(),
            prices: rounds.into_iter().map(|round| (round, prices[round].clone())).collect(),
        }
    }
}

/// What a question says to one part alone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overrides {
    /// Vehicles that were planned anew, by their position in the part, with the
    /// energy of their slots.
    #[serde(rename = "anew")]
    pub(crate) plans: Vec<(u32, EnergyBySlot)>,
    /// Need that is not met, by position in the part, in kWh.
    pub(crate) unmet_kwh: Vec<(u32, f64)>,
}

/// Error of a worker that cannot handle a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WorkerError {
    /// Rows other than those of the worker.
    #[error("the part has {found} vehicles; its worker has {expected}")]
    OtherRows {
        /// Valid vehicles of the part.
        found: usize,
        /// Vehicles of the worker.
        expected: usize,
    },
    /// A change, prices or a mix of another area.
    #[error("the message belongs to another area")]
    OtherArea,
}
