//! Executor: runs pricing rounds in this process or on remote workers, and remembers whether the
//! caller asked to stop.
//!
//! The vehicles are cut into parts of whole blocks ([`partition`]). Workers return the amounts of
//! each block of a part. The executor puts them in the order of the blocks, so that money is added
//! up in one order on any number of workers, and the result is the same to the bit. Needs,
//! deadlines and reserves that changed since the parts were assigned are sent before the next request
//! ([`session_update`]).
use std::ops::Range;

use crate::area::distributed::observer::{Hooks, Progress};
use crate::area::distributed::protocol::{
    self, Assigned, Overrides, Partition, PricingRequest, RequestKind, SessionUpdate,
};
use crate::area::model::energy_by_slot::{Assignment, EnergyBySlot};
use crate::area::model::session::{Block, Session};
use crate::area::model::sessions::Sessions;
use crate::area::pricing::block_loads::BlockLoad;
use crate::area::pricing::context::PricingContext;
use crate::lp::LpError;

/// Hooks of a search, and the state that its workers know of.
pub(crate) struct Executor<'a> {
    pub(crate) hooks: Hooks<'a>,
    /// Positions of the vehicles of each part; empty without workers.
    parts: Vec<Range<usize>>,
    /// `Sessions::version` that the workers have.
    version: u32,
    /// True if the caller asked to stop.
    is_stopped: bool,
    /// True while a first sample is planned: that is short, and worth finishing after a stop.
    finishes_first: bool,
    /// True if recovery takes long enough for a caller to interrupt it.
    is_long: bool,
    /// First failure of the solver in any of the searches, samples included.
    failure: Option<LpError>,
}

/// Upper bound on the vehicles for which recovery is not cut short after a stop.
const AT_ONCE_MAX: usize = 8_192;

/// Gap at which the duals of a sample are a good start for all vehicles.
const GAP_PATIENT: f64 = 0.01;

impl<'a> Executor<'a> {
    /// Executor for `sessions`. If there are workers, parts of the area are assigned to them.
    pub(crate) fn new(mut hooks: Hooks<'a>, sessions: &Sessions) -> Self {
        let mut parts = Vec::new();
        if let Some(workers) = &mut hooks.workers {
            let shares = partition(sessions, workers.parts());
            let range = |share: &protocol::Assigned| {
                share.partition.first..share.partition.first + share.partition.vehicles()
            };
            parts.extend(shares.iter().map(range));
            workers.assign(shares);
        }
        let is_long = sessions.each.len() > AT_ONCE_MAX;
        Self {
            hooks,
            parts,
            version: sessions.version,
            is_stopped: false,
            finishes_first: false,
            is_long,
            failure: None,
        }
    }

    /// Returns true if the search is to end here. The observer is called until it first says so;
    /// a stop is final.
    pub(crate) fn stops(&mut self, progress: &Progress) -> bool {
        self.is_stopped = self.is_stopped || self.hooks.observer.after_round(progress).is_break();
        self.is_stopped && !(self.finishes_first && progress.gap > GAP_PATIENT)
    }

    /// Runs `work`, in which [`stops`](Self::stops) returns true at the earliest when the gap is at
    /// most [`GAP_PATIENT`].
    pub(crate) fn finish_even_if_stopped<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.finishes_first = true;
        let solution = work(self);
        self.finishes_first = false;
        solution
    }

    /// Records a failure of the solver; `None` if there is one.
    pub(crate) fn note_error<T>(&mut self, result: Result<T, LpError>) -> Option<T> {
        self.failure = self.failure.or(result.as_ref().err().copied());
        result.ok()
    }

    /// Returns true if the solver failed in any search so far, samples included.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Returns true if the caller asked to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Returns true if the caller asked to stop, and recovery of this many vehicles is to be cut
    /// short. Calls the observer.
    pub(crate) fn stops_recovery(&mut self) -> bool {
        self.is_stopped = self.is_stopped || self.hooks.observer.during_recovery().is_break();
        self.is_stopped && self.is_long
    }

    /// Sums of all blocks in their order, computed by the workers. `None` if the caller has to
    /// compute them: without workers, if these do not respond, and for samples, which are small.
    ///
    /// `what` builds the request for all parts. `assignment` holds the plans that were made again,
    /// each of which is sent to the part of its vehicle.
    pub(crate) fn price_remotely(
        &mut self,
        context: &PricingContext<'_>,
        what: impl FnOnce() -> RequestKind,
        assignment: Option<&Assignment>,
    ) -> Option<Vec<BlockLoad>> {
        // The parts were made from all vehicles: positions in a sample mean other ones.
        if context.sessions.is_sample {
            return None;
        }
        let workers = self.hooks.workers.as_mut()?;
        // Needs or reserves changed since the last request: update the workers first.
        if self.version != context.sessions.version {
            let changes: Vec<SessionUpdate> = self
                .parts
                .iter()
                .map(|part| session_update(context.sessions, part.clone()))
                .collect();
            workers.update(&changes);
            self.version = context.sessions.version;
        }
        // Each part gets the overrides of its own vehicles.
        let own: Vec<Overrides> = match assignment {
            Some(assignment) => {
                let overrides = |part| Overrides {
                    plans: overrides_in(assignment, part),
                    unmet_kwh: Vec::new(),
                };
                self.parts.iter().map(overrides).collect()
            }
            None => vec![Overrides::default(); self.parts.len()],
        };
        let request =
            PricingRequest { penalty: context.penalty, is_free: context.is_free, kind: what() };
        let mut sums = workers.price(&request, &own)?;
        // Workers count vehicles within their part; the area counts all.
        for (sums, part) in sums.iter_mut().zip(&self.parts) {
            for position in sums.iter_mut().flat_map(|sum| &mut sum.with_shortfall) {
                *position += part.start as u32;
            }
        }
        Some(sums.into_iter().flatten().collect())
    }
}

/// Cuts all vehicles into at most `parts` parts of whole blocks, of nearly equal size. Rows with
/// errors belong to the last part.
pub(crate) fn partition(sessions: &Sessions, parts: usize) -> Vec<Assigned> {
    let (count, mut shares) = (sessions.each.len(), Vec::new());
    let (mut start, mut vehicles) = (0, 0);
    // A part ends with the block that reaches its even share of the vehicles.
    for (at, block) in sessions.blocks.iter().enumerate() {
        let wanted = (shares.len() + 1) * count / parts.max(1);
        let is_last = at + 1 == sessions.blocks.len();
        if is_last || block.sessions.end >= wanted {
            shares.push(assigned_of(sessions, start..at + 1, vehicles..block.sessions.end));
            (start, vehicles) = (at + 1, block.sessions.end);
        }
    }
    // Without vehicles, one empty part takes the rows with errors.
    if shares.is_empty() {
        shares.push(assigned_of(sessions, 0..0, 0..0));
    }
    if let Some(last) = shares.last_mut() {
        last.rows.extend(sessions.errors.iter().map(|(row, _)| *row as u32));
    }
    shares
}

/// Part with the given blocks and the positions of their vehicles.
fn assigned_of(sessions: &Sessions, blocks: Range<usize>, vehicles: Range<usize>) -> Assigned {
    let block = |block: &Block| (block.sessions.len(), block.group, block.node);
    let place = Partition {
        first: vehicles.start,
        blocks: sessions.blocks[blocks].iter().map(block).collect(),
        groups: sessions.groups,
        by_curve: sessions.by_curve,
        priority_max: f64::from(sessions.priority_max),
    };
    Assigned {
        partition: place,
        rows: sessions.each[vehicles].iter().map(|session| session.row).collect(),
    }
}

/// Changes to the vehicles at the positions `at` since they were assigned.
pub(crate) fn session_update(sessions: &Sessions, at: Range<usize>) -> SessionUpdate {
    let each = &sessions.each[at];
    let reserve = |(position, session): (u32, &Session)| {
        let battery = sessions.battery_of(session)?;
        (battery.reserve_from > session.first).then_some((position, battery.reserve_from))
    };
    let deadlines = |(position, session): (u32, &Session)| {
        Some((position, sessions.deadlines_of(session)?.update()?))
    };
    // All changes since the parts were assigned: they are applied to a worker as it was made.
    SessionUpdate {
        deadlines: (0..).zip(each).filter_map(deadlines).collect(),
        needs: sessions.is_reduced.then(|| each.iter().map(|session| session.need).collect()),
        reserves: (0..).zip(each).filter_map(reserve).collect(),
    }
}

/// Plans that were made again for vehicles at the positions `at`, by position within that range.
pub(crate) fn overrides_in(assignment: &Assignment, at: &Range<usize>) -> Vec<(u32, EnergyBySlot)> {
    let overrides = assignment.overrides.range(at.start as u32..at.end as u32);
    overrides.map(|(&position, taken)| (position - at.start as u32, taken.clone())).collect()
}
