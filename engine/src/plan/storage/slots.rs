//! Layout of a storage problem: slots with constant data, and the levels of the battery.
//!
//! Slots are cut where a price, a limit, the consumption or a target changes. The *fullest path*
//! charges as much as it may. It serves every wish as well as any path, so the levels follow
//! from it ([symbols](super); `G_t` is the wished level at the end of slot `t`):
//!
//! ```text
//! R_t = min(R_{t−1} − w_t + A_t, max(C_t, R_{t−1} − w_t)),    R_0 = e_0
//! L_t = min(G_t, R_t),    H_t = max(C_t, R_t)
//! ```
//!
//! A wish above `R_t` is a shortfall that no plan avoids. `G_t` is the largest of the reserve
//! and the lowest state of charge of a period (both at most `C_t`) and the targets due in the
//! slot. With [`AfterDeadline::Continue`] a missed target stays in `G_t`, at most `C_t`, until
//! it is reached.
use crate::plan::charge::request::AfterDeadline;
use crate::plan::storage::branch_and_bound::reached;
use crate::plan::storage::dynamic_programme::{DynamicProgramme, ProgrammeSlot};
use crate::plan::storage::plan::Wish;
use crate::plan::storage::price_slots::PriceSlots;
use crate::plan::storage::request::{Consumption, StorageProblem, StorageRequest};
use crate::time::instant::micros_of;
use crate::units::{Energy, Power};

/// Data of a slot that the dynamic programme does not use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SlotPart {
    /// Start, in microseconds.
    pub(crate) start: i64,
    /// End, in microseconds.
    pub(crate) end: i64,
    pub(crate) charge_max: Power,
    pub(crate) discharge_max: Power,
    /// Wish that sets the least level at the end of the slot.
    pub(crate) wish: Wish,
    /// Consumption of driving that the battery cannot serve, in stored kWh.
    pub(crate) unserved_kwh: f64,
    /// Part of reserve and minimum above the level that can be reached, in kWh.
    pub(crate) below_floor_kwh: f64,
}

/// Slots and prices of a problem, with its dynamic programme.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    pub(crate) programme: DynamicProgramme,
    /// Prices to buy, per kWh; NaN where there is none.
    pub(crate) import: Vec<f64>,
    /// Prices to sell, per kWh; NaN where there is none.
    pub(crate) export: Vec<f64>,
    pub(crate) pieces: Vec<SlotPart>,
}

/// Deadline of a target, with the stored energy that it wants.
#[derive(Debug, Clone, Copy)]
struct StoredDeadline {
    /// Instant in microseconds.
    by: i64,
    wanted_kwh: f64,
    /// Position of the target in the request.
    target: usize,
}

impl Layout {
    /// Layout of a problem on the prices of `grid`.
    pub(crate) fn new(grid: &PriceSlots, problem: &StorageProblem) -> Self {
        let request = problem.request();
        let (from, to) = (micros_of(request.now), end_of(grid, request));
        let cuts = cuts(grid, request, (from, to));
        let room = cuts.len().saturating_sub(1);
        let mut layout = Self {
            programme: DynamicProgramme {
                stored_kwh: problem.stored().as_kwh(),
                efficiency_charge: request.battery.efficiency,
                efficiency_discharge: request.efficiency_discharge,
                wear_per_kwh: request.wear_price.as_per_kwh(),
                end_value_per_kwh: problem.end_value().as_per_kwh(),
                capacity_kwh: request.battery.capacity.as_kwh(),
                slots: Vec::with_capacity(room),
                joined: Vec::new(),
            },
            import: Vec::with_capacity(room),
            export: Vec::with_capacity(room),
            pieces: Vec::with_capacity(room),
        };
        // Prices, consumption and cuts are in time order: one pass over all three.
        let mut slot = grid.ends.partition_point(|&end| end <= from);
        let mut driving = 0;
        for pair in cuts.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            while slot < grid.len() && grid.ends[slot] <= start {
                slot += 1;
            }
            while request.consumption.get(driving).is_some_and(|c| micros_of(c.end) <= start) {
                driving += 1;
            }
            let priced = (slot < grid.len() && grid.starts[slot] <= start).then_some(slot);
            let period = request.consumption.get(driving).filter(|c| micros_of(c.start) <= start);
            layout.push(grid, request, priced, period, (start, end));
        }
        layout.set_levels(request);
        layout
    }

    /// Adds the slot `[start, end)` without its levels. `priced` is its position in `grid`, if it
    /// has a price, and `period` its consumption.
    fn push(
        &mut self,
        grid: &PriceSlots,
        request: &StorageRequest,
        priced: Option<usize>,
        period: Option<&Consumption>,
        (start, end): (i64, i64),
    ) {
        let import = priced.map_or(f64::NAN, |slot| grid.import[slot]);
        let export = priced.map_or(f64::NAN, |slot| grid.export[slot]);
        let is_away = period.is_some_and(|period| !period.is_plugged_in);
        let battery = &request.battery;
        let mut charge_max = request.charge_max;
        let mut discharge_max = request.discharge_max;
        let mut limit = battery.charge_limit;
        // The tightest limits of all periods that cover the slot.
        let is_in = |from, to| micros_of(from) <= start && end <= micros_of(to);
        for own in request.limits.iter().filter(|own| is_in(own.start, own.end)) {
            charge_max = own.charge_max.map_or(charge_max, |own| own.min(charge_max));
            discharge_max = own.discharge_max.map_or(discharge_max, |own| own.min(discharge_max));
            limit = own.soc_max.map_or(limit, |own| own.min(limit));
        }
        // No power while unplugged, or without a price.
        if is_away || import.is_nan() {
            charge_max = Power::ZERO;
        }
        if is_away || export.is_nan() {
            discharge_max = Power::ZERO;
        }
        // Consumption is spread evenly over its period.
        let driving_kwh = period.map_or(0.0, |period| {
            let share =
                (end - start) as f64 / (micros_of(period.end) - micros_of(period.start)) as f64;
            period.energy.as_kwh() * share
        });
        let (charge_kwh, discharge_kwh) =
            self.moved(request, (charge_max, discharge_max), end - start);
        self.programme.slots.push(ProgrammeSlot {
            charge_kwh,
            discharge_kwh,
            driving_kwh,
            least_kwh: 0.0,
            most_kwh: 0.0,
            limit_kwh: limit.of(battery.capacity).as_kwh(),
        });
        self.import.push(import);
        self.export.push(export);
        self.pieces.push(SlotPart {
            start,
            end,
            charge_max,
            discharge_max,
            wish: Wish::Empty,
            unserved_kwh: 0.0,
            below_floor_kwh: 0.0,
        });
    }

    /// Most stored energy `(A_t, B_t)` that a slot of `micros` can add and take. It is copied from
    /// the slot before if length and powers are equal, which is the usual case.
    #[inline(always)]
    fn moved(
        &self,
        request: &StorageRequest,
        (charge_max, discharge_max): (Power, Power),
        micros: i64,
    ) -> (f64, f64) {
        if let (Some(slot), Some(piece)) = (self.programme.slots.last(), self.pieces.last())
            && piece.end - piece.start == micros
            && piece.charge_max == charge_max
            && piece.discharge_max == discharge_max
        {
            return (slot.charge_kwh, slot.discharge_kwh);
        }
        (
            stored_by(charge_max, micros, request.battery.efficiency),
            taken_by(discharge_max, micros, request.efficiency_discharge),
        )
    }

    /// Sets the levels of all slots from the fullest path, and the wish behind each least level.
    fn set_levels(&mut self, request: &StorageRequest) {
        let deadlines = deadlines(request, self.pieces.last().map_or(i64::MIN, |piece| piece.end));
        let capacity = request.battery.capacity;
        let mut next = 0;
        let mut reach = self.programme.stored_kwh;
        let mut most = reach;
        let continues = request.after_deadline == AfterDeadline::Continue;
        let mut owed: Option<StoredDeadline> = None;
        // A past deadline is missed, unless the battery is at its level or at the charge limit.
        // With `Continue` the highest missed one stays owed.
        let now = micros_of(request.now);
        let limit_kwh = request.battery.charge_limit.of(capacity).as_kwh();
        while let Some(&deadline) = deadlines.get(next).filter(|d| d.by <= now) {
            let is_owed = continues && deadline.wanted_kwh.min(limit_kwh) > reach;
            if is_owed && owed.is_none_or(|owed| owed.wanted_kwh < deadline.wanted_kwh) {
                owed = Some(deadline);
            }
            next += 1;
        }
        for (slot, piece) in self.programme.slots.iter_mut().zip(&mut self.pieces) {
            // Fullest path, highest level and unserved driving.
            let wanted = slot.driving_kwh;
            slot.drop_useless_power(reach, most);
            piece.unserved_kwh = wanted - slot.driving_kwh;
            reach = reached(reach, slot).max(0.0);
            slot.most_kwh = slot.limit_kwh.max(reach);
            most = slot.most_kwh;
            // Reserve and minimum, then the targets that are owed or due.
            let (floor_kwh, wish) = floor_at(request, piece, capacity);
            let floor_kwh = floor_kwh.min(slot.limit_kwh);
            piece.below_floor_kwh = (floor_kwh - reach).max(0.0);
            let mut wished = (floor_kwh, wish);
            if wanted > 0.0 && floor_kwh <= 0.0 {
                wished.1 = Wish::Driving;
            }
            let mut raise = |deadline: StoredDeadline, wanted_kwh: f64| {
                if wanted_kwh > wished.0 {
                    wished = (wanted_kwh, Wish::Target { target: deadline.target });
                }
            };
            // The part of a target above the charge limit is never owed.
            let owed_kwh = |deadline: StoredDeadline| deadline.wanted_kwh.min(slot.limit_kwh);
            let mut is_owed = owed.is_some_and(|owed| owed_kwh(owed) > reach);
            if let Some(owed) = owed {
                raise(owed, owed_kwh(owed));
            }
            while let Some(&deadline) = deadlines.get(next).filter(|d| d.by <= piece.end) {
                raise(deadline, deadline.wanted_kwh);
                if continues && owed_kwh(deadline) > reach {
                    is_owed = true;
                    if owed.is_none_or(|owed| owed.wanted_kwh < deadline.wanted_kwh) {
                        owed = Some(deadline);
                    }
                }
                next += 1;
            }
            // Every owed level is reached.
            if !is_owed {
                owed = None;
            }
            slot.least_kwh = wished.0.min(reach);
            piece.wish = wished.1;
        }
    }
}

/// Stored energy in kWh that charging at `power` adds in `micros` microseconds.
#[inline(always)]
pub(crate) fn stored_by(power: Power, micros: i64, efficiency: f64) -> f64 {
    power.over_micros(micros).as_kwh() * efficiency
}

/// Stored energy in kWh that discharging at `power` takes in `micros` microseconds.
#[inline(always)]
pub(crate) fn taken_by(power: Power, micros: i64, efficiency: f64) -> f64 {
    power.over_micros(micros).as_kwh() / efficiency
}

/// End of the plan in microseconds: `until`, or the last instant of prices, targets and
/// consumption.
fn end_of(grid: &PriceSlots, request: &StorageRequest) -> i64 {
    let known = || {
        let targets = request.targets.iter().filter_map(|target| target.by);
        let wishes = targets.chain(request.consumption.iter().map(|period| period.end));
        wishes.map(micros_of).chain(grid.ends.last().copied()).max()
    };
    request.until.map(micros_of).or_else(known).unwrap_or(i64::MIN)
}

/// Instants in microseconds within `[from, to]` at which the data change, both ends included.
fn cuts(grid: &PriceSlots, request: &StorageRequest, (from, to): (i64, i64)) -> Vec<i64> {
    if from >= to {
        return Vec::new();
    }
    let first = grid.ends.partition_point(|&end| end <= from);
    let last = grid.starts.partition_point(|&start| start < to).max(first);
    let mut cuts = Vec::with_capacity(last - first + 2 + 2 * request.limits.len());
    cuts.push(from);
    for slot in first..last {
        let (start, end) = (grid.starts[slot], grid.ends[slot]);
        // The start of a slot is a cut already, unless a gap lies before it.
        if cuts.last().is_some_and(|&cut| cut < start) {
            cuts.push(start);
        }
        cuts.push(end);
    }
    let ends = request.limits.iter().flat_map(|limit| [limit.start, limit.end]);
    let driving = request.consumption.iter().flat_map(|period| [period.start, period.end]);
    let targets = request.targets.iter().filter_map(|target| target.by);
    cuts.extend(ends.chain(driving).chain(targets).map(micros_of));
    cuts.push(to);
    // Limits, consumption and targets can lie outside the time of the plan.
    cuts.retain(|&cut| from <= cut && cut <= to);
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// Deadlines of the targets in time order. Those without an instant, or after the end, are at
/// the end.
fn deadlines(request: &StorageRequest, end: i64) -> Vec<StoredDeadline> {
    let mut deadlines: Vec<StoredDeadline> = request
        .targets
        .iter()
        .enumerate()
        .map(|(target, wish)| StoredDeadline {
            by: wish.by.map_or(end, micros_of).min(end),
            wanted_kwh: wish
                .soc
                .unwrap_or(request.battery.charge_limit)
                .of(request.battery.capacity)
                .as_kwh(),
            target,
        })
        .collect();
    deadlines.sort_by_key(|deadline| deadline.by);
    deadlines
}

/// Level in kWh that reserve and minimum want at the end of a slot, with its wish.
fn floor_at(request: &StorageRequest, piece: &SlotPart, capacity: Energy) -> (f64, Wish) {
    let mut floor = (request.reserve.of(capacity).as_kwh(), Wish::Reserve);
    for limit in &request.limits {
        // At every boundary of the period, its start and its end included.
        let holds = micros_of(limit.start) <= piece.end && piece.end <= micros_of(limit.end);
        if let Some(soc) = limit.soc_min.filter(|_| holds) {
            let least_kwh = soc.of(capacity).as_kwh();
            if least_kwh > floor.0 {
                floor = (least_kwh, Wish::Minimum);
            }
        }
    }
    if floor.0 > 0.0 { floor } else { (0.0, Wish::Empty) }
}
