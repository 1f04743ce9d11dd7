//! Deadlines before departure and reserves of vehicles that only charge.
use crate::area::model::energy_by_slot::{EnergyBySlot, Shortfall};
use crate::area::model::session::Session;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::micro_wh::{SHORTFALL_TOLERANCE, as_kwh, to_micro_wh};
use crate::columns::fleet::Vehicle;
use crate::columns::row_error::RowError;
use crate::plan::charge::selection::slot_selection::Window;
use crate::time::horizon::Horizon;

/// A part of a slot before or after a deadline inside it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubSlot {
    pub(crate) slot: u32,
    /// The first deadline that it is in time for.
    pub(crate) stage: u32,
    pub(crate) cap: i64,
}

/// Wishes of a vehicle before its departure, reserve included.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deadlines {
    /// Energy by each deadline, counted from arrival, in order; the last is the need.
    pub(crate) needs: Vec<i64>,
    /// Part of the last of them that was missed at a deadline before, and may come later.
    pub(crate) later: i64,
    /// The energies as it was before limits were in the way.
    targets: Vec<i64>,
    /// What each deadline wants of itself, whatever those before it do; nothing
    /// where it is the reserve's.
    wanted: Vec<i64>,
    /// Which of the deadlines is that of the reserve.
    pub(crate) reserve: Option<usize>,
    /// The stay cut at the deadlines, in time order.
    pub(crate) sub_slots: Vec<SubSlot>,
}

/// A deadline of a row: when, how much, and whether it is the reserve's.
type DeadlineNeed = (i64, i64, bool);

impl Deadlines {
    /// The wishes of a row before departure, if it has any, and the energy that
    /// the stay is too short for by one of its deadlines.
    pub(crate) fn of(
        problem: &AreaProblem<'_>,
        row: usize,
        vehicle: &Vehicle,
        session: &Session,
        window: Window,
    ) -> Result<Option<(Self, f64)>, RowError> {
        let fleet = &problem.vehicles.fleet;
        let reserve =
            to_micro_wh(vehicle.reserve.as_kwh().min(as_kwh(session.need))).min(session.need);
        if !fleet.has_targets(row) && reserve <= 0 {
            return Ok(None);
        }
        let horizon = problem.curves.horizon();
        let prices = problem.curves.prices(session.curve as usize);
        let mut wanted: Vec<DeadlineNeed> = Vec::new();
        for target in fleet.targets(row, vehicle)? {
            let by = target.by.map_or(vehicle.departure, |by| by.timestamp_micros());
            let by = by.clamp(vehicle.arrival, vehicle.departure);
            wanted.push((
                by,
                to_micro_wh(target.energy.as_kwh().min(as_kwh(session.need) + 1.0)),
                false,
            ));
        }
        if reserve > 0 {
            let by = reserve_deadline(horizon, prices, (session, window, vehicle.arrival), reserve);
            wanted.push((by, reserve, true));
        }
        wanted.sort_unstable();
        // Who is late goes on until departure.
        if wanted.last().is_none_or(|&(by, ..)| by < vehicle.departure) {
            wanted.push((vehicle.departure, session.need, false));
        }
        let made = split_slots(horizon, prices, session, window, &wanted);
        let targets = wanted.iter().zip(&made.needs).filter(|((.., is_reserve), _)| !is_reserve);
        let beyond = targets.map(|(&(_, energy, _), &need)| energy.min(session.need) - need).max();
        Ok(Some((made, as_kwh(beyond.unwrap_or(0)))))
    }

    /// Energy that a plan has by each deadline, counted from arrival.
    pub(crate) fn delivered(&self, taken: &EnergyBySlot) -> Vec<i64> {
        let mut had = vec![0; self.needs.len()];
        for &(slot, energy) in taken {
            let mut rest = energy;
            let from = self.sub_slots.partition_point(|piece| piece.slot < slot);
            let pieces = self.sub_slots[from..].iter().take_while(|piece| piece.slot == slot);
            for piece in pieces {
                let part = rest.min(piece.cap);
                had[piece.stage as usize] += part;
                rest -= part;
            }
        }
        let mut sum = 0;
        for had in &mut had {
            sum += *had;
            *had = sum;
        }
        had
    }

    /// What a plan leaves missing, at the deadline by which that is most.
    pub(crate) fn shortfall(&self, taken: &EnergyBySlot) -> Shortfall {
        let had = self.delivered(taken);
        let (had, all) = had.split_at(had.len() - 1);
        let (needs, wanted) = self.needs.split_at(had.len());
        let before = needs.iter().zip(had).map(|(need, had)| need - had).max().unwrap_or(0);
        let need = before.max(wanted[0] - self.later - all[0]).max(0);
        Shortfall { missing: need, late: (wanted[0] - all[0] - need).clamp(0, self.later) }
    }

    /// What it leaves missing by each deadline before the last.
    pub(crate) fn shortfall_by_deadline(&self, taken: &EnergyBySlot) -> Vec<i64> {
        let had = self.delivered(taken);
        let before = self.needs.iter().zip(&had).take(had.len() - 1);
        before.map(|(need, had)| (need - had).max(0)).collect()
    }

    /// Energy that only the reserve wants by a deadline before the last, and that
    /// which a plan leaves missing of it; nothing where other wishes are as high.
    pub(crate) fn of_reserve(&self, taken: Option<&EnergyBySlot>) -> Vec<(usize, i64)> {
        let Some(reserve) = self.reserve else { return Vec::new() };
        let had = taken.map(|taken| self.delivered(taken));
        let mut most = 0;
        let mut found = Vec::new();
        for (stage, &need) in self.needs[..self.needs.len() - 1].iter().enumerate() {
            most = self.wanted[stage].max(most);
            if stage >= reserve && need > most {
                let there = had.as_ref().map_or(need, |had| had[stage].max(most));
                let missing = need - there;
                found.push((stage, if missing > SHORTFALL_TOLERANCE { missing } else { 0 }));
            }
        }
        found
    }

    /// Most that it leaves missing of what was asked, and the slot before which that
    /// is; `None` where that is departure. The reserve is no deadline.
    pub(crate) fn unmet(&self, taken: &EnergyBySlot) -> (i64, Option<u32>) {
        let had = self.delivered(taken);
        let last = had.len() - 1;
        let in_the_end = self.targets[last] - had[last];
        let before = (0..last).map(|stage| (self.wanted[stage] - had[stage], stage));
        match before.max_by_key(|&(missing, _)| missing) {
            Some((missing, stage)) if missing > in_the_end.max(SHORTFALL_TOLERANCE) => {
                (missing, Some(self.end_of(stage)))
            }
            _ => (in_the_end.max(0), None),
        }
    }

    /// Whether limits let the reserve come later in a plan.
    pub(crate) fn is_reserve_late(&self, taken: &EnergyBySlot) -> bool {
        let missing = |stage: usize| self.targets[stage] - self.delivered(taken)[stage];
        self.reserve.is_some_and(|stage| missing(stage) > SHORTFALL_TOLERANCE)
    }

    /// Whether something of what was asked comes later, or not at all.
    pub(crate) fn is_late(&self) -> bool {
        self.later > 0 || self.needs.iter().zip(&self.targets).any(|(need, context)| need < context)
    }

    /// The slot after the last one that is in time for a deadline.
    pub(crate) fn end_of(&self, stage: usize) -> u32 {
        let count = self.sub_slots.partition_point(|piece| piece.stage as usize <= stage);
        count.checked_sub(1).map_or(0, |last| self.sub_slots[last].slot + 1)
    }

    /// Whether a deadline falls inside a slot.
    pub(crate) fn is_cut(&self, slot: u32) -> bool {
        let from = self.sub_slots.partition_point(|piece| piece.slot < slot);
        self.sub_slots[from..].iter().take_while(|piece| piece.slot == slot).count() > 1
    }

    /// Energy of a slot that is in time for a deadline.
    pub(crate) fn cap_by(&self, slot: u32, stage: usize) -> i64 {
        let from = self.sub_slots.partition_point(|piece| piece.slot < slot);
        let pieces = self.sub_slots[from..].iter().take_while(|piece| piece.slot == slot);
        let in_time = pieces.filter(|piece| piece.stage as usize <= stage);
        in_time.map(|piece| piece.cap).sum()
    }

    /// Whether one of the deadlines is that of a reserve.
    pub(crate) fn has_reserve(&self) -> bool {
        self.reserve.is_some()
    }

    /// The energies that count as unmet where they are missing: those of all deadlines
    /// but that of the reserve, as they were asked for.
    pub(crate) fn without_reserve(&self) -> Self {
        let mut most = 0;
        let needs = self.wanted.iter().map(|&wanted| {
            most = wanted.max(most);
            most
        });
        Self { needs: needs.collect(), later: 0, ..self.clone() }
    }

    /// Wants just so much in the end, and no more before.
    pub(crate) fn reduce_need(&mut self, need: i64) {
        self.needs.iter_mut().for_each(|wish| *wish = (*wish).min(need));
        if let Some(last) = self.needs.last_mut() {
            *last = need;
        }
    }

    /// The same wishes with so much less by each deadline before the last, and so
    /// much in the end, of which a part may come `later`.
    pub(crate) fn reduced_by(&self, missing: &[i64], need: i64, later: i64) -> Self {
        let mut needs = self.needs.clone();
        let (mut wanted, mut least) = (0, 0);
        for (stage, missing) in missing.iter().enumerate() {
            wanted = self.wanted[stage].max(wanted);
            let is_of_reserve =
                self.reserve.is_some_and(|reserve| reserve <= stage) && needs[stage] > wanted;
            // What an earlier deadline wanted more is not wanted again by this one.
            let own = if is_of_reserve { needs[stage] } else { self.wanted[stage] };
            needs[stage] = own.min(needs[stage] - missing).clamp(least, need.max(least));
            least = needs[stage];
        }
        let mut cut = Self { needs, later, ..self.clone() };
        cut.reduce_need(need);
        cut
    }

    /// Wants less by a deadline, never less than by those before it.
    pub(crate) fn lower_need(&mut self, stage: usize, need: i64) {
        let least = stage.checked_sub(1).map_or(0, |before| self.needs[before]);
        self.needs[stage] = self.needs[stage].min(need).max(least);
    }

    /// The energy by all deadlines but the last, where it is not as asked, and what
    /// may come later.
    pub(crate) fn update(&self) -> Option<Vec<i64>> {
        let before = self.needs.len() - 1;
        let is_as_asked = self.needs[..before] == self.targets[..before] && self.later == 0;
        let told = self.needs[..before].iter().copied().chain([self.later]);
        (!is_as_asked).then(|| told.collect())
    }

    /// The same as [`change`](Self::change) told it; `None` if it is that of other wishes.
    pub(crate) fn apply_update(&mut self, told: &[i64]) -> Option<()> {
        let (later, needs) = told.split_last()?;
        let before = self.needs.len() - 1;
        (needs.len() == before).then(|| self.needs[..before].copy_from_slice(needs))?;
        self.later = *later;
        Some(())
    }
}

/// When a reserve is there at full power from arrival.
fn reserve_deadline(
    horizon: &Horizon,
    prices: &[f64],
    (session, window, arrival): (&Session, Window, i64),
    reserve: i64,
) -> i64 {
    let (mut left, mut by) = (reserve, arrival);
    for slot in (window.first..window.last).filter(|&slot| !prices[slot].is_nan()) {
        if left <= 0 {
            break;
        }
        let start = horizon.starts()[slot].max(window.from);
        let end = horizon.ends()[slot].min(window.to);
        by = (start + (left as f64 / session.rate).ceil() as i64).min(end);
        left -= session.cap(horizon, slot);
    }
    by
}

/// Cuts a stay at its deadlines; what cannot be had by one is not wished for.
fn split_slots(
    horizon: &Horizon,
    prices: &[f64],
    session: &Session,
    window: Window,
    wanted: &[DeadlineNeed],
) -> Deadlines {
    let mut made = Deadlines::default();
    let mut capacity = 0;
    let mut slot = window.first;
    let mut from = window.from;
    for (stage, &(by, energy, is_reserve)) in wanted.iter().enumerate() {
        while slot < window.last && from < by {
            let start = horizon.starts()[slot].max(from);
            let end = horizon.ends()[slot].min(window.to);
            let stopping = end.min(by);
            if !prices[slot].is_nan() && stopping > start {
                let whole = window.usable(horizon, slot) == stopping - start;
                let part = (session.rate * (stopping - start) as f64).round() as i64;
                let cap = if whole { session.cap(horizon, slot) } else { part };
                made.sub_slots.push(SubSlot { slot: slot as u32, stage: stage as u32, cap });
                capacity += cap;
            }
            from = stopping.max(start);
            if stopping == end {
                slot += 1;
            } else {
                break;
            }
        }
        let least = made.needs.last().copied().unwrap_or(0);
        let wanted = energy.min(capacity).min(session.need);
        made.needs.push(wanted.max(least));
        made.wanted.push(if is_reserve { 0 } else { wanted });
        made.reserve = if is_reserve { Some(stage) } else { made.reserve };
    }
    made.targets.clone_from(&made.needs);
    let last = wanted.len() as u32 - 1;
    // What is wanted at once until departure is the need itself.
    made.reserve = made.reserve.filter(|&stage| (stage as u32) < last);
    debug_assert!(made.sub_slots.iter().all(|piece| piece.stage <= last), "stages are deadlines");
    made
}
