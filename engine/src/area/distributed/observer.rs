//! Interfaces for callers of a search: progress, stopping, saved rounds, and remote workers.
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::area::distributed::protocol::{Assigned, Overrides, PricingRequest, SessionUpdate};
use crate::area::pricing::block_loads::BlockLoad;

/// Progress of a search after a pricing round.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
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

/// Observer of a search, which may end it.
///
/// Every closure `FnMut(&Progress) -> ControlFlow<()>` is one.
pub trait Observer {
    /// Progress after a pricing round; [`ControlFlow::Break`] ends the search with the best plan so
    /// far. Called after each round, until it breaks.
    fn after_round(&mut self, progress: &Progress) -> ControlFlow<()>;

    /// Called now and then while plans are made after the rounds; [`ControlFlow::Break`] cuts that
    /// short, and the search counts as stopped.
    fn during_recovery(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(&Progress) -> ControlFlow<()>> Observer for F {
    fn after_round(&mut self, progress: &Progress) -> ControlFlow<()> {
        self(progress)
    }
}

/// Store of priced rounds, by which a search that was cut off is resumed.
///
/// When the same area is planned again with the same options, a store that gives back its rounds
/// lets the search take the same course to the last bit without pricing them again.
pub trait RoundStore {
    /// Next saved round, in the order in which [`save`](Self::save) received them. A round with
    /// other prices than those at hand is ignored.
    fn recall(&mut self) -> Option<SavedRound>;

    /// Receives every round that was priced and not recalled.
    fn save(&mut self, round: &SavedRound);
}

/// Callers of a search: its observer, and a store and workers if there are any.
pub struct Hooks<'a> {
    /// Observer that may end the search.
    pub observer: &'a mut dyn Observer,
    /// Store of priced rounds.
    pub store: Option<&'a mut dyn RoundStore>,
    /// Workers that solve the pricing problems; without them they are solved in this process.
    pub workers: Option<&'a mut dyn Workers>,
}

impl<'a> Hooks<'a> {
    /// Hooks of an observer alone.
    #[must_use]
    pub fn new(observer: &'a mut dyn Observer) -> Self {
        Self { observer, store: None, workers: None }
    }
}

/// Workers that solve the pricing problems of an area, part by part.
///
/// The plan is the same to the last bit for any number of parts, and without workers.
pub trait Workers {
    /// Upper bound on the number of parts.
    fn parts(&self) -> usize;

    /// Receives all parts, once.
    fn assign(&mut self, shares: Vec<Assigned>);

    /// Receives one update for each part when needs, deadlines or reserves change. Each replaces
    /// the one before: it holds all changes since the parts were assigned.
    fn update(&mut self, changes: &[SessionUpdate]);

    /// Sends a request to all parts, with the overrides of each part, and returns their sums.
    ///
    /// `None` if there is no response; the area then computes the sums itself. The implementation
    /// must refuse sums that do not fit a part, see
    /// [`Partition::fits`](crate::area::distributed::Partition::fits).
    fn price(&mut self, request: &PricingRequest, own: &[Overrides])
    -> Option<Vec<Vec<BlockLoad>>>;
}
