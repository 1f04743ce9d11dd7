//! Who watches the rounds of an area, stops them, and remembers what was answered.
use serde::{Deserialize, Serialize};

use crate::area::distributed::protocol::{Assigned, Overrides, PricingRequest, SessionUpdate};
use crate::area::pricing::block_loads::BlockLoad;

/// Where the rounds are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Rounds of this search so far: how often its vehicles were asked.
    pub round: usize,
    /// Cost of the best mix; infinite before there is one within the limits.
    pub cost: f64,
    /// Bound on the cost of every plan.
    pub bound: f64,
    /// Their distance in proportion to the cost.
    pub gap: f64,
}

/// What one group of vehicles answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedColumn {
    /// Cost of the energy plus worth of what is shed.
    #[serde(rename = "value")]
    pub cost: f64,
    /// Most by which that is dearer than the best at these prices.
    #[serde(rename = "slack")]
    pub optimality_slack: f64,
    /// Need that is not met, in billionths of a kWh.
    #[serde(rename = "shed")]
    pub shortfall: i64,
    /// Load of each limited node in each slot, in billionths of a kWh.
    pub loads: Vec<i64>,
}

/// What all vehicles answered at some prices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedRound {
    /// The prices that they were asked at, limit by limit and slot by slot.
    pub prices_per_kwh: Vec<f64>,
    /// Their answers, by group.
    pub groups: Vec<SavedColumn>,
}

/// Who watches the rounds.
///
/// Whoever keeps what was answered, and says it again when the same area is
/// planned with the same options, saves the asking: the rounds are the same
/// to the last bit, so that work that was cut off goes on where it was.
pub trait Observer {
    /// Called once a round; the work ends where it says so.
    fn stop(&mut self, progress: &Progress) -> bool;

    /// Asked now and then while plans are made from the rounds: whether whoever
    /// waits would rather have them as they are. The work then counts as stopped.
    fn hurries(&mut self) -> bool {
        false
    }

    /// What was answered last time, in the order in which it was asked.
    fn recall(&mut self) -> Option<SavedRound> {
        None
    }

    /// Called with every answer that is new.
    fn keep(&mut self, _answered: &SavedRound) {}

    /// Who asks the vehicles, if they are asked elsewhere.
    fn workers(&mut self) -> Option<&mut dyn Workers> {
        None
    }
}

/// Who asks the vehicles of an area, in parts.
///
/// The plan is the same to the last bit, whoever asks and in how many parts.
pub trait Workers {
    /// Number of parts wanted; there are no more of them.
    fn parts(&self) -> usize;

    /// Called once, with all parts.
    fn deal(&mut self, shares: Vec<Assigned>);

    /// Called when vehicles need something else than before, with what is
    /// different from what was dealt, part by part.
    fn change(&mut self, changes: &[SessionUpdate]);

    /// What each part answers; `None` where nobody answers, and vehicles are
    /// asked here. What is not of the places of the parts has to be refused.
    fn ask(&mut self, question: &PricingRequest, own: &[Overrides]) -> Option<Vec<Vec<BlockLoad>>>;
}

/// A watch that can only stop the work.
pub(crate) struct StopCallback<'a>(pub(crate) &'a mut dyn FnMut(&Progress) -> bool);

impl Observer for StopCallback<'_> {
    fn stop(&mut self, progress: &Progress) -> bool {
        (self.0)(progress)
    }
}
