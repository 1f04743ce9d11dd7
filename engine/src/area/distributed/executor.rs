//! Who is told of the rounds, and who asks the vehicles: here or elsewhere.
use std::ops::Range;

use crate::area::distributed::observer::{Progress, Watch};
use crate::area::distributed::protocol::{self, Change, Own, Place, Question, Share, What};
use crate::area::model::energy_by_slot::{Settled, Taken};
use crate::area::model::sessions::Stays;
use crate::area::pricing::block_loads::Sum;
use crate::area::pricing::context::Asked;
use crate::lp::LpError;

/// A watch, and what its crew was told last.
pub(crate) struct Staff<'a> {
    pub(crate) watch: &'a mut dyn Watch,
    /// Positions of the vehicles of each part; none where there is no crew.
    parts: Vec<Range<usize>>,
    /// State of the vehicles that the crew knows of.
    state: u32,
    /// Whether the work was stopped.
    is_stopped: bool,
    /// Whether the work is at something that is soon done, and saves more than it takes.
    is_patient: bool,
    /// Whether plans of all vehicles take long enough for somebody to wait.
    is_long: bool,
    /// First failure of the solver in any of the searches, samples included.
    failure: Option<LpError>,
}

/// Vehicles up to which plans are there at once.
const AT_ONCE_MAX: usize = 8_192;

/// Gap of a sample whose prices are of use for all vehicles.
const GAP_PATIENT: f64 = 0.01;

impl<'a> Staff<'a> {
    /// Deals the vehicles to the crew, if there is one.
    pub(crate) fn new(watch: &'a mut dyn Watch, stays: &Stays) -> Self {
        let mut parts = Vec::new();
        if let Some(crew) = watch.crew() {
            let shares = deal(stays, crew.parts());
            let range = |share: &protocol::Share| {
                share.place.first..share.place.first + share.place.vehicles()
            };
            parts.extend(shares.iter().map(range));
            crew.deal(shares);
        }
        let is_long = stays.each.len() > AT_ONCE_MAX;
        Self {
            watch,
            parts,
            state: stays.state,
            is_stopped: false,
            is_patient: false,
            is_long,
            failure: None,
        }
    }

    /// Whether the rounds are to end here. Once they are, nobody is asked again.
    pub(crate) fn stops(&mut self, progress: &Progress) -> bool {
        self.is_stopped = self.is_stopped || self.watch.stop(progress);
        self.is_stopped && !(self.is_patient && progress.gap > GAP_PATIENT)
    }

    /// Does something that ends no sooner than at a gap that is good for a start,
    /// even where the work was stopped.
    pub(crate) fn patiently<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.is_patient = true;
        let done = work(self);
        self.is_patient = false;
        done
    }

    /// Takes note of a failure of the solver in a search beside the rounds.
    pub(crate) fn note_error<T>(&mut self, found: Result<T, LpError>) -> Option<T> {
        self.failure = self.failure.or(found.as_ref().err().copied());
        found.ok()
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
        self.is_stopped = self.is_stopped || self.watch.hurries();
        self.is_stopped && self.is_long
    }

    /// The sums of all blocks in their order, if it is not for us to ask. A sample
    /// is small enough to be asked here.
    pub(crate) fn ask(
        &mut self,
        asked: &Asked<'_>,
        what: impl FnOnce() -> What,
        settled: Option<&Settled>,
    ) -> Option<Vec<Sum>> {
        if asked.stays.is_sample {
            return None;
        }
        let crew = self.watch.crew()?;
        if self.state != asked.stays.state {
            let changes: Vec<Change> =
                self.parts.iter().map(|part| change(asked.stays, part.clone())).collect();
            crew.change(&changes);
            self.state = asked.stays.state;
        }
        let own: Vec<Own> = match settled {
            Some(settled) => {
                let anew = |part| Own { anew: anew(settled, part), unmet_kwh: Vec::new() };
                self.parts.iter().map(anew).collect()
            }
            None => vec![Own::default(); self.parts.len()],
        };
        let question = Question { worth: asked.worth, is_free: asked.is_free, what: what() };
        let mut sums = crew.ask(&question, &own)?;
        for (sums, part) in sums.iter_mut().zip(&self.parts) {
            for short in sums.iter_mut().flat_map(|sum| &mut sum.short) {
                *short += part.start as u32;
            }
        }
        Some(sums.into_iter().flatten().collect())
    }
}

/// Cuts all vehicles into at most `parts` parts of whole blocks, much of a size.
pub(crate) fn deal(stays: &Stays, parts: usize) -> Vec<Share> {
    let (count, mut shares) = (stays.each.len(), Vec::new());
    let (mut start, mut vehicles) = (0, 0);
    for (at, block) in stays.blocks.iter().enumerate() {
        let wanted = (shares.len() + 1) * count / parts.max(1);
        let is_last = at + 1 == stays.blocks.len();
        if is_last || block.stays.end >= wanted {
            shares.push(share(stays, start..at + 1, vehicles..block.stays.end));
            (start, vehicles) = (at + 1, block.stays.end);
        }
    }
    if shares.is_empty() {
        shares.push(share(stays, 0..0, 0..0));
    }
    if let Some(last) = shares.last_mut() {
        last.rows.extend(stays.errors.iter().map(|(row, _)| *row as u32));
    }
    shares
}

fn share(stays: &Stays, blocks: Range<usize>, vehicles: Range<usize>) -> Share {
    let block =
        |block: &crate::area::model::session::Block| (block.stays.len(), block.group, block.node);
    let place = Place {
        first: vehicles.start,
        blocks: stays.blocks[blocks].iter().map(block).collect(),
        groups: stays.groups,
        by_curve: stays.by_curve,
        priority_max: f64::from(stays.priority_max),
    };
    Share { place, rows: stays.each[vehicles].iter().map(|stay| stay.row).collect() }
}

/// In what the vehicles at some positions are no longer as they were dealt.
pub(crate) fn change(stays: &Stays, at: Range<usize>) -> Change {
    let each = &stays.each[at];
    let reserve = |(position, stay): (u32, &crate::area::model::session::Stay)| {
        let store = stays.stores.get(stay.store as usize)?;
        (store.reserve_from > stay.first).then_some((position, store.reserve_from))
    };
    let wishes = |(position, stay): (u32, &crate::area::model::session::Stay)| {
        Some((position, stays.wishes.get(stay.wishes as usize)?.change()?))
    };
    Change {
        wishes: (0..).zip(each).filter_map(wishes).collect(),
        needs: stays.is_cut.then(|| each.iter().map(|stay| stay.need).collect()),
        reserves: (0..).zip(each).filter_map(reserve).collect(),
    }
}

/// What vehicles at some positions have that was planned anew.
pub(crate) fn anew(settled: &Settled, at: &Range<usize>) -> Vec<(u32, Taken)> {
    let found = settled.anew.range(at.start as u32..at.end as u32);
    found.map(|(&position, taken)| (position - at.start as u32, taken.clone())).collect()
}
