//! Who is told of the rounds, and who asks the vehicles: here or elsewhere.
use std::ops::Range;

use crate::area::distributed::observer::{Observer, Progress};
use crate::area::distributed::protocol::{
    self, Assigned, Overrides, Partition, PricingRequest, RequestKind, SessionUpdate,
};
use crate::area::model::energy_by_slot::{Assignment, EnergyBySlot};
use crate::area::model::sessions::Sessions;
use crate::area::pricing::block_loads::BlockLoad;
use crate::area::pricing::context::PricingContext;
use crate::lp::LpError;

/// A watch, and what its crew was told last.
pub(crate) struct Executor<'a> {
    pub(crate) observer: &'a mut dyn Observer,
    /// Positions of the vehicles of each part; none where there is no crew.
    parts: Vec<Range<usize>>,
    /// State of the vehicles that the crew knows of.
    state: u32,
    /// Whether the work was stopped.
    is_stopped: bool,
    /// Whether the work is at something that is soon done, and saves more than it takes.
    finishes_first: bool,
    /// Whether plans of all vehicles take long enough for somebody to wait.
    is_long: bool,
    /// First failure of the solver in any of the searches, samples included.
    failure: Option<LpError>,
}

/// Vehicles up to which plans are there at once.
const AT_ONCE_MAX: usize = 8_192;

/// Gap of a sample whose prices are of use for all vehicles.
const GAP_PATIENT: f64 = 0.01;

impl<'a> Executor<'a> {
    /// Deals the vehicles to the crew, if there is one.
    pub(crate) fn new(observer: &'a mut dyn Observer, sessions: &Sessions) -> Self {
        let mut parts = Vec::new();
        if let Some(workers) = observer.workers() {
            let shares = partition(sessions, workers.parts());
            let range = |share: &protocol::Assigned| {
                share.partition.first..share.partition.first + share.partition.vehicles()
            };
            parts.extend(shares.iter().map(range));
            workers.deal(shares);
        }
        let is_long = sessions.each.len() > AT_ONCE_MAX;
        Self {
            observer,
            parts,
            state: sessions.state,
            is_stopped: false,
            finishes_first: false,
            is_long,
            failure: None,
        }
    }

    /// Whether the rounds are to end here. Once they are, nobody is asked again.
    pub(crate) fn stops(&mut self, progress: &Progress) -> bool {
        self.is_stopped = self.is_stopped || self.observer.stop(progress);
        self.is_stopped && !(self.finishes_first && progress.gap > GAP_PATIENT)
    }

    /// Does something that ends no sooner than at a gap that is good for a start,
    /// even where the work was stopped.
    pub(crate) fn finish_even_if_stopped<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.finishes_first = true;
        let solution = work(self);
        self.finishes_first = false;
        solution
    }

    /// Takes note of a failure of the solver in a search beside the rounds.
    pub(crate) fn note_error<T>(&mut self, result: Result<T, LpError>) -> Option<T> {
        self.failure = self.failure.or(result.as_ref().err().copied());
        result.ok()
    }

    /// Whether the solver failed in any search so far, samples included.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Whether the work was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Whether somebody waits for plans that could be made with more care.
    pub(crate) fn is_hurried(&mut self) -> bool {
        self.is_stopped = self.is_stopped || self.observer.hurries();
        self.is_stopped && self.is_long
    }

    /// The sums of all blocks in their order, if it is not for us to ask. A sample
    /// is small enough to be asked here.
    pub(crate) fn price_remotely(
        &mut self,
        context: &PricingContext<'_>,
        what: impl FnOnce() -> RequestKind,
        assignment: Option<&Assignment>,
    ) -> Option<Vec<BlockLoad>> {
        if context.sessions.is_sample {
            return None;
        }
        let workers = self.observer.workers()?;
        if self.state != context.sessions.state {
            let changes: Vec<SessionUpdate> = self
                .parts
                .iter()
                .map(|part| session_update(context.sessions, part.clone()))
                .collect();
            workers.change(&changes);
            self.state = context.sessions.state;
        }
        let own: Vec<Overrides> = match assignment {
            Some(assignment) => {
                let anew = |part| Overrides {
                    plans: overrides_in(assignment, part),
                    unmet_kwh: Vec::new(),
                };
                self.parts.iter().map(anew).collect()
            }
            None => vec![Overrides::default(); self.parts.len()],
        };
        let question =
            PricingRequest { penalty: context.penalty, is_free: context.is_free, kind: what() };
        let mut sums = workers.ask(&question, &own)?;
        for (sums, part) in sums.iter_mut().zip(&self.parts) {
            for short in sums.iter_mut().flat_map(|sum| &mut sum.with_shortfall) {
                *short += part.start as u32;
            }
        }
        Some(sums.into_iter().flatten().collect())
    }
}

/// Cuts all vehicles into at most `parts` parts of whole blocks, much of a size.
pub(crate) fn partition(sessions: &Sessions, parts: usize) -> Vec<Assigned> {
    let (count, mut shares) = (sessions.each.len(), Vec::new());
    let (mut start, mut vehicles) = (0, 0);
    for (at, block) in sessions.blocks.iter().enumerate() {
        let wanted = (shares.len() + 1) * count / parts.max(1);
        let is_last = at + 1 == sessions.blocks.len();
        if is_last || block.sessions.end >= wanted {
            shares.push(assigned_of(sessions, start..at + 1, vehicles..block.sessions.end));
            (start, vehicles) = (at + 1, block.sessions.end);
        }
    }
    if shares.is_empty() {
        shares.push(assigned_of(sessions, 0..0, 0..0));
    }
    if let Some(last) = shares.last_mut() {
        last.rows.extend(sessions.errors.iter().map(|(row, _)| *row as u32));
    }
    shares
}

fn assigned_of(sessions: &Sessions, blocks: Range<usize>, vehicles: Range<usize>) -> Assigned {
    let block = |block: &crate::area::model::session::Block| {
        (block.sessions.len(), block.group, block.node)
    };
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

/// In what the vehicles at some positions are no longer as they were dealt.
pub(crate) fn session_update(sessions: &Sessions, at: Range<usize>) -> SessionUpdate {
    let each = &sessions.each[at];
    let reserve = |(position, session): (u32, &crate::area::model::session::Session)| {
        let battery = sessions.batteries.get(session.battery as usize)?;
        (battery.reserve_from > session.first).then_some((position, battery.reserve_from))
    };
    let deadlines = |(position, session): (u32, &crate::area::model::session::Session)| {
        Some((position, sessions.deadlines.get(session.deadlines as usize)?.update()?))
    };
    SessionUpdate {
        deadlines: (0..).zip(each).filter_map(deadlines).collect(),
        needs: sessions.is_reduced.then(|| each.iter().map(|session| session.need).collect()),
        reserves: (0..).zip(each).filter_map(reserve).collect(),
    }
}

/// What vehicles at some positions have that was planned anew.
pub(crate) fn overrides_in(assignment: &Assignment, at: &Range<usize>) -> Vec<(u32, EnergyBySlot)> {
    let overrides = assignment.overrides.range(at.start as u32..at.end as u32);
    overrides.map(|(&position, taken)| (position - at.start as u32, taken.clone())).collect()
}
