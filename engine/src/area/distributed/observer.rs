//! Interfaces for callers of a search: progress, stopping, saved rounds, and remote workers.
use serde::{Deserialize, Serialize};

use crate::area::distributed::protocol::{Assigned, Overrides, PricingRequest, SessionUpdate};
use crate::area::pricing::block_loads::BlockLoad;

/// Progress of a search after a pricing round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Pricing rounds of this search so far.
    pub round: usize,
    /// Cost of the solution of the restricted master, a mix of columns; infinite while it exceeds a
    /// hard limit.
    pub cost: f64,
    /// Lower bound on the cost of every plan.
    pub bound: f64,
    /// Cost minus bound, relative to the larger of |bound| and a scale of the search, mostly the
    /// cost of unmanaged charging.
    pub gap: f64,
}

/// Column: aggregate response of one group of vehicles to the prices of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedColumn {
    /// Energy cost plus shortfall penalty.
    #[serde(rename = "value")]
    pub cost: f64,
    /// Upper bound on the distance, in money, to the best response at these prices.
    #[serde(rename = "slack")]
    pub optimality_slack: f64,
    /// Need that is not met, in µWh (1e-9 kWh).
    #[serde(rename = "shed")]
    pub shortfall: i64,
    /// Load of each limited node that the group is part of, by slot, in µWh; positive is import.
    pub loads: Vec<i64>,
}

/// Pricing round: prices of limits, and the response of each group of vehicles to them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedRound {
    /// Prices per kWh (duals), limit by limit and slot by slot.
    pub prices_per_kwh: Vec<f64>,
    /// Column of each group.
    pub groups: Vec<SavedColumn>,
}

/// Observer of a search: may stop it, save its rounds, and provide workers.
///
/// An observer that saves rounds can resume a search that was cut off. It returns them in
/// [`recall`](Self::recall) when the same area is planned with the same options. The search then
/// takes the same course to the last bit without pricing those rounds again.
pub trait Observer {
    /// Returns true to stop the search. Called after each round, until it returns true.
    fn stop(&mut self, progress: &Progress) -> bool;

    /// Returns true to cut short the making of plans after the rounds. The search then counts as
    /// stopped. Called now and then while plans are made.
    fn hurries(&mut self) -> bool {
        false
    }

    /// Next saved round, in the order in which [`keep`](Self::keep) received them. A round with
    /// other prices than those at hand is ignored.
    fn recall(&mut self) -> Option<SavedRound> {
        None
    }

    /// Receives every round that was priced and not recalled.
    fn keep(&mut self, _answered: &SavedRound) {}

    /// Workers that solve the pricing problems; `None` to solve them in this process.
    fn workers(&mut self) -> Option<&mut dyn Workers> {
        None
    }
}

/// Workers that solve the pricing problems of an area, part by part.
///
/// The plan is the same to the last bit for any number of parts, and without workers.
pub trait Workers {
    /// Upper bound on the number of parts.
    fn parts(&self) -> usize;

    /// Receives all parts, once.
    fn deal(&mut self, shares: Vec<Assigned>);

    /// Receives one update for each part when needs, deadlines or reserves change. Each replaces
    /// the one before: it holds all changes since the parts were dealt.
    fn change(&mut self, changes: &[SessionUpdate]);

    /// Sends a request to all parts, with the overrides of each part, and returns their sums.
    ///
    /// `None` if there is no response; the area then computes the sums itself. The implementation
    /// must refuse sums that do not fit a part, see
    /// [`Partition::fits`](crate::area::distributed::Partition::fits).
    fn ask(&mut self, request: &PricingRequest, own: &[Overrides]) -> Option<Vec<Vec<BlockLoad>>>;
}

/// Observer that only calls a function to stop the search.
pub(crate) struct StopCallback<'a>(pub(crate) &'a mut dyn FnMut(&Progress) -> bool);

impl Observer for StopCallback<'_> {
    fn stop(&mut self, progress: &Progress) -> bool {
        (self.0)(progress)
    }
}
