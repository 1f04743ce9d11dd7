//! Deadlines before departure, and reserves, of vehicles that only charge.
//!
//! A vehicle is to have `N_d` of energy since arrival by each deadline `d`. `N_d` is the running
//! maximum of what targets and reserve require, as far as full power reaches it:
//!
//! ```text
//! N_d = max( N_{d-1}, min(W_d, capacity before d, need) )
//! shortfall = max( max_d (N_d - delivered by d), N_last - late - delivered by departure, 0 )
//! ```
//!
//! The first maximum is over deadlines before departure. Slots are cut at deadlines, so that each
//! [`SubSlot`] is in time for a deadline or not. A reserve is one more deadline, at the time when
//! full power from arrival reaches it.
//!
//! | Symbol | Code |
//! |---|---|
//! | `d` | `stage`, a position in [`Deadlines::needs`] |
//! | `N_d` | [`Deadlines::needs`], and `targets` before limits lowered them |
//! | `W_d` | energy of a [`DeadlineNeed`] |
//! | `late` | [`Deadlines::later`] |
use crate::area::model::energy_by_slot::{EnergyBySlot, Shortfall};
use crate::area::model::session::Session;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::micro_wh::{as_kwh, to_micro_wh};
use crate::columns::fleet::Vehicle;
use crate::columns::row_error::RowError;
use crate::plan::charge::selection::slot_selection::Window;
use crate::time::horizon::Horizon;
use crate::tolerance::SHORTFALL_TOLERANCE;

/// Slot of a session, or the part of it between two deadlines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubSlot {
    /// Slot of the horizon.
    pub(crate) slot: u32,
    /// First deadline that the sub-slot is in time for.
    pub(crate) stage: u32,
    /// Energy at full power, in µWh.
    pub(crate) cap: i64,
}

/// Deadlines of a vehicle in time order, the last at departure. Energies are in µWh at the plug.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deadlines {
    /// Energy to be delivered from arrival to each deadline, never falling; the last is the need.
    pub(crate) needs: Vec<i64>,
    /// Late energy: the part of the need that an earlier deadline misses, and that may still be
    /// delivered by departure, at the lower penalty `ShortfallPenalty::of_late`.
    pub(crate) later: i64,
    /// The `needs` as they were before limits lowered them.
    targets: Vec<i64>,
    /// Energy that the user's target at each deadline requires, before the running maximum over
    /// earlier ones; 0 for the reserve.
    wanted: Vec<i64>,
    /// Position of the reserve among the deadlines, if it is before departure.
    pub(crate) reserve: Option<usize>,
    /// Sub-slots of the session with a price, in time order.
    pub(crate) sub_slots: Vec<SubSlot>,
}

/// Deadline of a row: time in microseconds since 1970, energy from arrival in µWh, and true for
/// the reserve.
type DeadlineNeed = (i64, i64, bool);

impl Deadlines {
    /// Reads the deadlines of a row. Returns `None` for a row without targets before departure and
    /// without a reserve; otherwise also the energy in kWh by which the stay is too short for the
    /// target that misses most.
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
        // Targets, capped so that they are within an `i64`.
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
        // The target at departure is one of them, so that the last deadline is departure.
        wanted.sort_unstable();
        let made = split_slots(horizon, prices, session, window, &wanted);
        // The stay is too short by the most that full power misses of any target.
        let targets = wanted.iter().zip(&made.needs).filter(|((.., is_reserve), _)| !is_reserve);
        let beyond = targets.map(|(&(_, energy, _), &need)| energy.min(session.need) - need).max();
        Ok(Some((made, as_kwh(beyond.unwrap_or(0)))))
    }

    /// Energy in µWh that a plan delivers from arrival to each deadline. The energy of a slot fills
    /// its sub-slots from the start.
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

    /// Shortfall of a plan at the deadline that misses most, and its late energy.
    pub(crate) fn shortfall(&self, taken: &EnergyBySlot) -> Shortfall {
        let had = self.delivered(taken);
        let (had, all) = had.split_at(had.len() - 1);
        let (needs, wanted) = self.needs.split_at(had.len());
        let before = needs.iter().zip(had).map(|(need, had)| need - had).max().unwrap_or(0);
        let missing = before.max(wanted[0] - self.later - all[0]).max(0);
        Shortfall { missing, late: (wanted[0] - all[0] - missing).clamp(0, self.later) }
    }

    /// Energy in µWh that a plan misses at each deadline before the last.
    pub(crate) fn shortfall_by_deadline(&self, taken: &EnergyBySlot) -> Vec<i64> {
        let had = self.delivered(taken);
        let before = self.needs.iter().zip(&had).take(had.len() - 1);
        before.map(|(need, had)| (need - had).max(0)).collect()
    }

    /// Deadlines before the last at which the reserve requires more than all targets, each with the
    /// energy in µWh that a plan misses of that excess; 0 for `None` or within the tolerance.
    pub(crate) fn of_reserve(&self, taken: Option<&EnergyBySlot>) -> Vec<(usize, i64)> {
        let Some(reserve) = self.reserve else { return Vec::new() };
        let had = taken.map(|taken| self.delivered(taken));
        // `most` is the running maximum of the targets; a shortfall below it is theirs.
        let mut most = 0;
        let mut shortfalls = Vec::new();
        for (stage, &need) in self.needs[..self.needs.len() - 1].iter().enumerate() {
            most = self.wanted[stage].max(most);
            if stage >= reserve && need > most {
                let there = had.as_ref().map_or(need, |had| had[stage].max(most));
                let missing = need - there;
                shortfalls.push((stage, if missing > SHORTFALL_TOLERANCE { missing } else { 0 }));
            }
        }
        shortfalls
    }

    /// Largest energy in µWh that a plan misses of the targets before limits lowered them, and the
    /// slot by whose start it is due; `None` if that is departure. The reserve is no target.
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

    /// Returns true if a plan misses the reserve at its deadline, beyond the tolerance.
    pub(crate) fn is_reserve_late(&self, taken: &EnergyBySlot) -> bool {
        let missing = |stage: usize| self.targets[stage] - self.delivered(taken)[stage];
        self.reserve.is_some_and(|stage| missing(stage) > SHORTFALL_TOLERANCE)
    }

    /// Returns true if limits lowered a need, or there is late energy.
    pub(crate) fn is_late(&self) -> bool {
        self.later > 0 || self.needs.iter().zip(&self.targets).any(|(need, target)| need < target)
    }

    /// First slot after those that are in time for a deadline.
    pub(crate) fn end_of(&self, stage: usize) -> u32 {
        let count = self.sub_slots.partition_point(|piece| piece.stage as usize <= stage);
        count.checked_sub(1).map_or(0, |last| self.sub_slots[last].slot + 1)
    }

    /// Returns true if a deadline falls inside a slot.
    pub(crate) fn is_cut(&self, slot: u32) -> bool {
        let from = self.sub_slots.partition_point(|piece| piece.slot < slot);
        self.sub_slots[from..].iter().take_while(|piece| piece.slot == slot).count() > 1
    }

    /// Energy of a slot at full power that is in time for a deadline, in µWh.
    pub(crate) fn cap_by(&self, slot: u32, stage: usize) -> i64 {
        let from = self.sub_slots.partition_point(|piece| piece.slot < slot);
        let pieces = self.sub_slots[from..].iter().take_while(|piece| piece.slot == slot);
        let in_time = pieces.filter(|piece| piece.stage as usize <= stage);
        in_time.map(|piece| piece.cap).sum()
    }

    /// Returns true if one of the deadlines before departure is that of a reserve.
    pub(crate) fn has_reserve(&self) -> bool {
        self.reserve.is_some()
    }

    /// Copy with the needs of the user's targets alone: without the reserve, not lowered by limits,
    /// and without late energy.
    pub(crate) fn without_reserve(&self) -> Self {
        let mut most = 0;
        let needs = self.wanted.iter().map(|&wanted| {
            most = wanted.max(most);
            most
        });
        Self { needs: needs.collect(), later: 0, ..self.clone() }
    }

    /// Sets the need at departure, in µWh, and caps the needs before at it.
    pub(crate) fn reduce_need(&mut self, need: i64) {
        self.needs.iter_mut().for_each(|earlier| *earlier = (*earlier).min(need));
        if let Some(last) = self.needs.last_mut() {
            *last = need;
        }
    }

    /// Copy with the needs before the last reduced by `missing`, one number per deadline, and with
    /// `need` at departure, of which `later` is late energy. All in µWh.
    pub(crate) fn reduced_by(&self, missing: &[i64], need: i64, later: i64) -> Self {
        let mut needs = self.needs.clone();
        // `wanted` is the running maximum of the targets, `least` the need at the deadline before.
        let (mut wanted, mut least) = (0, 0);
        for (stage, missing) in missing.iter().enumerate() {
            wanted = self.wanted[stage].max(wanted);
            let is_of_reserve =
                self.reserve.is_some_and(|reserve| reserve <= stage) && needs[stage] > wanted;
            // Need of this deadline by itself: the excess of an earlier target over it is not
            // required again, but that of the reserve is.
            let own = if is_of_reserve { needs[stage] } else { self.wanted[stage] };
            needs[stage] = own.min(needs[stage] - missing).clamp(least, need.max(least));
            least = needs[stage];
        }
        let mut reduced = Self { needs, later, ..self.clone() };
        reduced.reduce_need(need);
        reduced
    }

    /// Lowers the need at a deadline to `need` µWh, but not below that of the deadline before.
    pub(crate) fn lower_need(&mut self, stage: usize, need: i64) {
        let least = stage.checked_sub(1).map_or(0, |before| self.needs[before]);
        self.needs[stage] = self.needs[stage].min(need).max(least);
    }

    /// Changes for a worker: the needs before the last, then `later`, in µWh. `None` if limits have
    /// changed neither.
    pub(crate) fn update(&self) -> Option<Vec<i64>> {
        let before = self.needs.len() - 1;
        let is_unchanged = self.needs[..before] == self.targets[..before] && self.later == 0;
        let update = self.needs[..before].iter().copied().chain([self.later]);
        (!is_unchanged).then(|| update.collect())
    }

    /// Applies what [`update`](Self::update) returned; `None` if the number of deadlines differs.
    pub(crate) fn apply_update(&mut self, update: &[i64]) -> Option<()> {
        let (later, needs) = update.split_last()?;
        let before = self.needs.len() - 1;
        (needs.len() == before).then(|| self.needs[..before].copy_from_slice(needs))?;
        self.later = *later;
        Some(())
    }
}

/// Time at which full power from arrival reaches the energy `reserve`, in microseconds since 1970;
/// at most the end of the last slot with a price.
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

/// Cuts the slots of a session at its deadlines, and lowers each need to what full power delivers
/// by then.
fn split_slots(
    horizon: &Horizon,
    prices: &[f64],
    session: &Session,
    window: Window,
    wanted: &[DeadlineNeed],
) -> Deadlines {
    let mut made = Deadlines::default();
    // `capacity` is the energy of all sub-slots up to the present deadline.
    let mut capacity = 0;
    let mut slot = window.first;
    let mut from = window.from;
    for (stage, &(by, energy, is_reserve)) in wanted.iter().enumerate() {
        // Add the sub-slots up to this deadline; one that it cuts goes on at the next.
        while slot < window.last && from < by {
            let start = horizon.starts()[slot].max(from);
            let end = horizon.ends()[slot].min(window.to);
            let stopping = end.min(by);
            if !prices[slot].is_nan() && stopping > start {
                // A slot that is not cut holds the same rounded energy as without deadlines.
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
    // A reserve that is reached at departure only is the need itself.
    made.reserve = made.reserve.filter(|&stage| (stage as u32) < last);
    made
}
