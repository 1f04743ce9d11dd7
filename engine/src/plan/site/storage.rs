//! Vehicles and stationary batteries as storages: a level, power limits and goals.
//!
//! ```text
//! L_t = L_{t−1} − W_t + u_t + η·c_t − d_t / ζ,   floor ≤ L_t ≤ ceiling
//! c_t ≤ h_t·(a_j − b_j·L_t)                      for each line j of the taper
//! ```
//!
//! `W_t` is the energy of the drives that belong to slot `t`, and `u_t` the part of it that the
//! battery lacks (see `driving`).
//!
//! The taper holds for the level at the end of a slot. The largest charge from a level `L` is
//! therefore `c = h·(a − b·L) / (1 + b·η·h)`, which [`Storage::charge_from`] returns. Charging it
//! in every slot from arrival gives the highest levels that the storage can reach alone.
//!
//! | Symbol | Field |
//! |---|---|
//! | `c_t`, `d_t` | at most `Storage::charge_max` and `discharge_max`, in kWh at the plug |
//! | `L_0` | `Storage::start`, in stored kWh |
//! | `η`, `ζ` | `Storage::efficiency_in`, `efficiency_out` |
//! | `a_j`, `b_j` | `TaperLine::at_zero`, `fall` |
use std::ops::Range;

use chrono::{DateTime, Utc};

use crate::plan::charge::request::AfterDeadline;
use crate::plan::site::device::{StationaryBattery, Vehicle};
use crate::plan::site::driving::{Bounds, Drive, drives};
use crate::plan::site::goal::Goal;
use crate::plan::site::price_slots::SiteSlots;
use crate::plan::site::soft_levels::{SoftLevels, soft_levels};
use crate::time::instant::micros_of;

/// Line that bounds the charging power: `at_zero - fall * level`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaperLine {
    /// Power in kW at an empty battery.
    pub(crate) at_zero: f64,
    /// Fall of the power in kW per stored kWh.
    pub(crate) fall: f64,
}

/// Vehicle or battery. Levels are in stored kWh, charges and discharges in kWh at the plug.
#[derive(Debug, Clone)]
pub(crate) struct Storage {
    /// True if a deadline lies before the end of the session, so that late energy is possible.
    pub(crate) may_go_on: bool,
    /// Slots of the session; without further use after the last deadline, the slots up to it.
    pub(crate) stay: Range<usize>,
    /// Most energy charged in each slot of the session, in kWh at the plug.
    pub(crate) charge_max: Vec<f64>,
    /// Least energy charged in each slot of the session, if any, in kWh at the plug.
    pub(crate) charge_min: Vec<f64>,
    /// Most energy discharged in each slot of the session, in kWh at the plug.
    pub(crate) discharge_max: Vec<f64>,
    /// Level up to which it charges in each slot of the session, in stored kWh. The level itself
    /// may be higher, if it was so on arrival.
    pub(crate) charge_until: Vec<f64>,
    /// Level that limits want after each slot of the session, in stored kWh; zero for none.
    pub(crate) level_min: Vec<f64>,
    /// Those levels, each once.
    pub(crate) levels_of_limits: Vec<f64>,
    /// False if it charges only in slots in which the site imports nothing.
    pub(crate) charges_from_grid: bool,
    /// False if it discharges only in slots in which the site exports nothing.
    pub(crate) discharges_to_grid: bool,
    /// Stored energy per energy charged, above 0 and at most 1.
    pub(crate) efficiency_in: f64,
    /// Energy discharged at the plug per stored energy, above 0 and at most 1.
    pub(crate) efficiency_out: f64,
    /// Stored energy on arrival.
    pub(crate) start: f64,
    /// Bounds on the level up to the first drive, or for good.
    pub(crate) first: Bounds,
    /// Drives in time order, each with the bounds after it.
    pub(crate) drives: Vec<Drive>,
    /// Stored energy below which it does not discharge; above the floor if it arrives with less, or
    /// comes back with less.
    pub(crate) discharge_from: f64,
    /// Capacity in stored kWh; `None` if the battery is unknown.
    pub(crate) capacity: Option<f64>,
    /// Level to be reached as soon as possible; zero if the level on arrival is not below it and no
    /// drive leads there.
    pub(crate) reserve: f64,
    /// Levels wanted by deadlines, the earliest first; the late goal is the last.
    pub(crate) goals: Vec<Goal>,
    /// Weight of a kWh of shortfall.
    pub(crate) priority: f64,
    /// Wear per discharged kWh.
    pub(crate) wear: f64,
    /// Value of a stored kWh at the end of the session.
    pub(crate) end_value: f64,
    /// Upper bounds on the charging power that fall with the level.
    pub(crate) taper: Vec<TaperLine>,
    /// Energy in each slot of the session that is to be charged until the storage is full, in kWh
    /// at the plug; zero for none.
    pub(crate) power_wanted: Vec<f64>,
    /// Bounds on the level with a price.
    pub(crate) soft_bounds: Vec<SoftLevels>,
}

impl Storage {
    /// Storage of a vehicle over the slots of a site. With `goes_on`, energy that misses a
    /// deadline is wanted by departure (the late goal), unless the vehicle stops at deadlines.
    pub(crate) fn of_vehicle(vehicle: &Vehicle, grid: &SiteSlots, goes_on: bool) -> Self {
        let continues = vehicle.after_deadline == AfterDeadline::Continue;
        let goes_on = goes_on && continues;
        let (start, capacity, limit, efficiency_in) = levels(vehicle);
        let from = vehicle.arrival.map_or(i64::MIN, micros_of);
        let to = vehicle.departure.map_or(i64::MAX, micros_of);
        let kept = capacity.map_or(0.0, |kwh| vehicle.reserve.as_percent() / 100.0 * kwh);
        let (discharge_kw, efficiency_out, soc_min, wear) = discharging(vehicle);
        let mut stay = grid.between(from, to);
        let first = Bounds::on_arrival(soc_min.max(kept), start, limit);
        let drives = drives(vehicle, grid, stay.start, limit, first);
        // A reserve that is held on arrival is the floor, and a wish only after a drive.
        let is_wish = kept > start || !drives.is_empty();
        let reserve = if is_wish { kept.min(limit.max(start)) } else { 0.0 };
        let mut goals = goals(vehicle, grid, to, (start, efficiency_in), (first, &drives));
        // A missed target is gone on with up to departure, but not over a drive.
        let ended =
            goals.iter().filter(|goal| goal.slots < stay.end && goal.drives == drives.len());
        let late = ended.map(|goal| goal.wanted).reduce(f64::max);
        if !vehicle.may_go_on() && !goes_on && reserve == 0.0 && drives.is_empty() {
            // Charging after the last deadline serves no goal.
            let last = goals.last().map_or(stay.start, |goal| goal.slots);
            stay.end = stay.end.min(last).max(stay.start);
        }
        if let Some(wanted) = late.filter(|_| goes_on) {
            // The late goal: the highest level of the earlier goals, by departure.
            goals.push(Goal::new((None, None), (stay.end, drives.len()), wanted, wanted));
        }
        let energies = |kw: f64| stay.clone().map(|slot| kw * grid.hours[slot]).collect();
        let mut storage = Self {
            may_go_on: continues && late.is_some(),
            charge_max: energies(vehicle.power_max.as_kw()),
            charge_min: energies(vehicle.power_min.as_kw()),
            discharge_max: energies(discharge_kw),
            charge_until: vec![limit; stay.len()],
            level_min: vec![0.0; stay.len()],
            levels_of_limits: Vec::new(),
            power_wanted: vec![0.0; stay.len()],
            charges_from_grid: vehicle.charge_from_grid,
            discharges_to_grid: vehicle.discharge.as_ref().is_none_or(|d| d.discharge_to_grid),
            stay,
            efficiency_in,
            efficiency_out,
            start,
            first,
            // After a drive the level may lie below the reserve, which is never sold.
            discharge_from: if drives.is_empty() { soc_min } else { soc_min.max(kept) },
            drives,
            capacity,
            reserve,
            goals,
            priority: vehicle.priority,
            wear,
            end_value: vehicle.end_value.as_per_kwh(),
            taper: taper_lines(vehicle, capacity.unwrap_or(0.0)),
            soft_bounds: Vec::new(),
        };
        storage.soft_bounds = soft_levels(&vehicle.soft_bounds, capacity, grid, &storage.stay);
        storage.stay_away(grid);
        storage.apply_limits(&vehicle.limits, grid);
        storage.want_power(vehicle.power_wanted.as_ref(), grid);
        storage.set_wanted(vehicle.may_fill());
        if !continues && !vehicle.may_fill() {
            storage.stop_at_deadlines();
        }
        storage.end_at_taper();
        storage.forbid_full_charges();
        storage.find_reachable(grid, vehicle.power_max.as_kw(), (from, to));
        storage
    }

    /// Forbids charging and discharging in the slots of all drives.
    fn stay_away(&mut self, grid: &SiteSlots) {
        let stay = self.stay.clone();
        for slot in self.drives.iter().flat_map(|drive| drive.slots(grid)) {
            if stay.contains(&slot) {
                let index = slot - stay.start;
                for energies in
                    [&mut self.charge_max, &mut self.charge_min, &mut self.discharge_max]
                {
                    energies[index] = 0.0;
                }
            }
        }
    }

    /// Sets the level that is wanted in each stay, from the last stay to the first. The next drive
    /// wants its energy and all that is wanted after it. Without leave to fill up, the ceiling is
    /// the level that is wanted, or that a soft bound asks for, and the power that is wanted.
    fn set_wanted(&mut self, may_fill: bool) {
        let soft = self.soft_bounds.iter().map(|bound| bound.least).fold(0.0, f64::max);
        let powers = self.efficiency_in * self.power_wanted.iter().sum::<f64>();
        // Energy of the next drive and what is wanted after it.
        let mut later = 0.0;
        for count in (0..=self.drives.len()).rev() {
            let goals = self.goals.iter().filter(|goal| goal.drives == count);
            let least = self.reserve.max(later).max(self.most_wanted_in(count));
            let wanted = goals.map(|goal| goal.wanted).fold(least, f64::max);
            let bounds = self.bounds_mut(count);
            bounds.wanted = wanted.min(bounds.ceiling);
            if !may_fill {
                let most = bounds.wanted.max(bounds.uncharged).max(soft) + powers;
                bounds.ceiling = bounds.ceiling.min(most);
            }
            later = bounds.wanted;
            if let Some(last) = count.checked_sub(1) {
                later += self.drives[last].energy;
            }
        }
    }

    /// Ends charging for each target at its deadline: a slot charges up to the level of a later
    /// target, of the reserve, of the next drive and what is wanted after it, or of a bound in time.
    fn stop_at_deadlines(&mut self) {
        let soft = self.soft_bounds.iter().map(|bound| bound.least).fold(self.reserve, f64::max);
        for (index, slot) in self.stay.clone().enumerate() {
            let count = self.drives_before(slot + 1);
            let next = self.drives.get(count);
            let next = next.map_or(0.0, |drive| drive.energy + self.bounds(count + 1).wanted);
            let due = self.goals.iter().filter(|goal| goal.drives == count && goal.slots > slot);
            let due = due.map(|goal| goal.wanted).fold(soft.max(next), f64::max);
            let most = due.max(self.most_wanted_in(count));
            // A power that is wanted ends at the charge limit.
            if self.power_wanted[index] <= 0.0 {
                self.charge_until[index] = self.charge_until[index].min(most);
            }
        }
    }

    /// Bounds on the level after `count` drives.
    pub(crate) fn bounds(&self, count: usize) -> &Bounds {
        count.checked_sub(1).map_or(&self.first, |last| &self.drives[last].after)
    }

    fn bounds_mut(&mut self, count: usize) -> &mut Bounds {
        count.checked_sub(1).map_or(&mut self.first, |last| &mut self.drives[last].after)
    }

    /// Bounds on the level after a slot.
    pub(crate) fn bounds_in(&self, slot: usize) -> &Bounds {
        self.bounds(self.drives_before(slot + 1))
    }

    /// Number of drives that belong to slots before `slot`.
    pub(crate) fn drives_before(&self, slot: usize) -> usize {
        self.drives.partition_point(|drive| drive.goal.slots < slot)
    }

    /// Positions of the drives that belong to a slot.
    pub(crate) fn drives_in(&self, slot: usize) -> Range<usize> {
        self.drives_before(slot)..self.drives_before(slot + 1)
    }

    /// Positions of the drives between the last slot that ends by the deadline of a goal and the
    /// deadline. Only a gap in the prices holds any.
    pub(crate) fn drives_in_gap(&self, goal: &Goal) -> Range<usize> {
        self.drives_before(goal.slots).min(goal.drives)..goal.drives
    }

    /// Level after some drives, from the `level` before them.
    pub(crate) fn level_after_drives(&self, which: Range<usize>, level: f64) -> f64 {
        self.drives[which].iter().fold(level, |level, drive| (level - drive.energy).max(0.0))
    }

    /// Lowers the ceilings to the level at which the taper reaches zero power. A storage does not
    /// charge in a stay that begins at that level or above.
    fn end_at_taper(&mut self) {
        let falling = self.taper.iter().filter(|line| line.fall > 0.0);
        // The power is zero where the first of the lines is.
        let end = falling.map(|line| line.at_zero / line.fall).fold(f64::INFINITY, f64::min);
        for count in 0..=self.drives.len() {
            let bounds = self.bounds_mut(count);
            bounds.ceiling = bounds.ceiling.min(end).max(bounds.uncharged);
        }
        for (index, slot) in self.stay.clone().enumerate() {
            if self.bounds_in(slot).uncharged >= end {
                self.charge_max[index] = 0.0;
            }
        }
        if self.bounds(self.drives.len()).uncharged >= end {
            self.taper.clear();
        }
    }

    /// Storage of a stationary battery over the slots of a site.
    pub(crate) fn of_battery(device: &StationaryBattery, grid: &SiteSlots) -> Self {
        let capacity = device.battery.capacity.as_kwh();
        let soc = device.battery.soc.or(device.battery.soc_fallback).unwrap_or_default();
        let share = |percent: f64| percent / 100.0 * capacity;
        let start = share(soc.as_percent());
        // A battery above its charge limit may keep its level.
        let limit = share(device.battery.charge_limit.as_percent());
        let ceiling = limit.max(start);
        let stay = 0..grid.len();
        let energies = |kw: f64| grid.hours.iter().map(|hours| kw * hours).collect();
        let goal = |soc: f64| Goal::new((Some(0), None), (grid.len(), 0), share(soc), ceiling);
        let goals: Vec<Goal> =
            device.soc_end.map(|soc| goal(soc.as_percent())).into_iter().collect();
        let first = Bounds {
            floor: share(device.discharge.soc_min.as_percent()).min(start),
            ceiling,
            wanted: goals.first().map_or(0.0, |goal| goal.wanted),
            uncharged: start,
        };
        let soft_bounds = soft_levels(&device.soft_bounds, Some(capacity), grid, &stay);
        let mut storage = Self {
            may_go_on: false,
            charge_max: energies(device.power_max.as_kw()),
            charge_min: vec![0.0; grid.len()],
            discharge_max: energies(device.discharge.power_max.as_kw()),
            charge_until: vec![limit; grid.len()],
            level_min: vec![0.0; grid.len()],
            levels_of_limits: Vec::new(),
            power_wanted: vec![0.0; grid.len()],
            charges_from_grid: device.charge_from_grid,
            discharges_to_grid: device.discharge.discharge_to_grid,
            stay,
            efficiency_in: device.battery.efficiency,
            efficiency_out: device.discharge.efficiency,
            start,
            first,
            drives: Vec::new(),
            discharge_from: share(device.discharge.soc_min.as_percent()),
            capacity: Some(capacity),
            reserve: 0.0,
            goals,
            priority: 1.0,
            wear: device.discharge.wear.as_per_kwh(),
            end_value: device.end_value.as_per_kwh(),
            taper: Vec::new(),
            soft_bounds,
        };
        storage.apply_limits(&device.limits, grid);
        storage.want_power(device.power_wanted.as_ref(), grid);
        storage.find_reachable(grid, device.power_max.as_kw(), (i64::MIN, i64::MAX));
        storage
    }

    /// True if the storage can discharge.
    pub(crate) fn can_discharge(&self) -> bool {
        self.discharge_max.iter().any(|&kwh| kwh > 0.0)
    }

    /// True if the storage has a least charging power.
    pub(crate) fn has_least_power(&self) -> bool {
        self.charge_min.iter().any(|&kwh| kwh > 0.0)
    }

    /// True if the programme needs a level column per slot. Without discharging, drives, reserve,
    /// taper, least power, soft bounds and limits that vary, sums of charges up to the deadlines are enough.
    pub(crate) fn needs_levels(&self) -> bool {
        self.can_discharge()
            || !self.drives.is_empty()
            || self.reserve > 0.0
            || !self.levels_of_limits.is_empty()
            || !self.taper.is_empty()
            || self.has_least_power()
            || !self.soft_bounds.is_empty()
            || self.wants_power()
            || self.may_pass_limit()
    }

    /// Levels at which a run that includes `slot` may end with a top-off, in rising order: those of
    /// the goals of its stay, the energy of the next drive, the reserve, those that limits want, the
    /// one up to which the slot charges and the ceiling.
    pub(crate) fn run_ends(&self, slot: usize) -> Vec<f64> {
        let count = self.drives_before(slot + 1);
        let bounds = self.bounds(count);
        let next = self.drives.get(count).map(|drive| &drive.goal);
        let goals = self.goals.iter().filter(|goal| goal.drives == count).chain(next);
        let wanted = goals.map(|goal| goal.wanted);
        let until = self.charge_until[slot - self.stay.start];
        let own = [self.reserve, bounds.ceiling, until].into_iter();
        let mut ends: Vec<f64> = wanted.chain(own).chain(self.levels_of_limits.clone()).collect();
        ends.retain(|&level| level > bounds.floor && level <= bounds.ceiling);
        ends.sort_by(f64::total_cmp);
        ends.dedup();
        ends
    }

    /// Most energy in kWh at the plug that a slot of `hours` can charge from `level`.
    pub(crate) fn charge_from(&self, level: f64, slot: usize, hours: f64) -> f64 {
        let index = slot - self.stay.start;
        let ceiling = self.bounds_in(slot).ceiling.min(self.charge_until[index]);
        self.charge_within((level, ceiling), self.charge_max[index], hours)
    }

    /// Most energy in kWh at the plug that `hours` can charge from `level` up to `ceiling`, at most
    /// `most`.
    fn charge_within(&self, (level, ceiling): (f64, f64), most: f64, hours: f64) -> f64 {
        let room = (ceiling - level).max(0.0) / self.efficiency_in;
        let most = most.min(room);
        self.taper.iter().fold(most, |most, line| most.min(self.under(*line, level, hours)))
    }

    /// Most energy in kWh at the plug under one line of the taper. The line holds for the level at
    /// the end of the slot, so that the battery can take the energy at any course of the power.
    fn under(&self, line: TaperLine, level: f64, hours: f64) -> f64 {
        let power = (line.at_zero - line.fall * level).max(0.0);
        power * hours / (1.0 + line.fall * self.efficiency_in * hours)
    }

    /// Levels at full power from arrival, after each slot of the session, in stored kWh.
    pub(crate) fn levels_at_full_power(&self, grid: &SiteSlots) -> Vec<f64> {
        let mut level = self.start;
        self.stay
            .clone()
            .map(|slot| {
                level = self.level_after_drives(self.drives_in(slot), level);
                level += self.efficiency_in * self.charge_from(level, slot, grid.hours[slot]);
                level
            })
            .collect()
    }

    /// Sets the reachable levels of each goal and drive. The session is `[from, to)` in
    /// microseconds; `power_max` is in kW.
    fn find_reachable(&mut self, grid: &SiteSlots, power_max: f64, (from, to): (i64, i64)) {
        let levels = self.levels_at_full_power(grid);
        let reach = |goal: &Goal| {
            let slots = goal.slots.clamp(self.stay.start, self.stay.end) - self.stay.start;
            let most = slots.checked_sub(1).map_or(self.start, |last| levels[last]);
            let most = self.level_after_drives(self.drives_in_gap(goal), most);
            let reachable = goal.wanted.min(most);
            // Time without a price before the deadline, added after the priced slots of its stay.
            let due = goal.by.map_or(i64::MAX, micros_of).min(to);
            let due = if due == i64::MAX { grid.open_end } else { due };
            let back = goal.drives.checked_sub(1).map_or(from, |last| self.drives[last].period.1);
            let unpriced = grid.unpriced_between(back, due);
            let range = (reachable, self.bounds(goal.drives).ceiling);
            (reachable, goal.wanted.min(self.level_after(range, power_max, unpriced)))
        };
        let goals: Vec<(f64, f64)> = self.goals.iter().map(reach).collect();
        let drives: Vec<(f64, f64)> = self.drives.iter().map(|drive| reach(&drive.goal)).collect();
        let own = self.goals.iter_mut().zip(goals);
        for (goal, reached) in own.chain(self.drives.iter_mut().map(|d| &mut d.goal).zip(drives)) {
            (goal.reachable, goal.reachable_if_priced) = reached;
        }
    }

    /// Level after `hours` at full power from `level`, at most `ceiling`. The hours may come before
    /// or after others, because the power under a taper depends on the level alone. With a taper it
    /// is computed in steps of a quarter of an hour, at most 400.
    fn level_after(&self, (level, ceiling): (f64, f64), power_max: f64, hours: f64) -> f64 {
        let steps =
            if self.taper.is_empty() { 1.0 } else { (4.0 * hours).ceil().clamp(1.0, 400.0) };
        let step = hours / steps;
        (0..steps as usize).fold(level, |level, _| {
            level
                + self.efficiency_in * self.charge_within((level, ceiling), power_max * step, step)
        })
    }
}

/// Stored energy on arrival, capacity, charge limit (all in stored kWh) and charging efficiency.
fn levels(vehicle: &Vehicle) -> (f64, Option<f64>, f64, f64) {
    let Some(battery) = &vehicle.battery else { return (0.0, None, f64::INFINITY, 1.0) };
    let capacity = battery.capacity.as_kwh();
    let soc = battery.soc.or(battery.soc_fallback).unwrap_or_default();
    let start = soc.of(battery.capacity).as_kwh();
    let limit = battery.charge_limit.of(battery.capacity).as_kwh();
    (start, Some(capacity), limit, battery.efficiency)
}

/// Discharging power in kW, energy at the plug per stored energy, least level in stored kWh and wear
/// per kWh of a vehicle.
fn discharging(vehicle: &Vehicle) -> (f64, f64, f64, f64) {
    vehicle.discharge.as_ref().map_or((0.0, 1.0, 0.0, 0.0), |discharge| {
        let kw = discharge.power_max.as_kw();
        let capacity = vehicle.battery.as_ref().map_or(0.0, |battery| battery.capacity.as_kwh());
        let least = discharge.soc_min.as_percent() / 100.0 * capacity;
        (kw, discharge.efficiency, least, discharge.wear.as_per_kwh())
    })
}

/// Goals of a vehicle that departs at `to` (microseconds), the earliest first. `start` is the
/// stored energy on arrival; energy targets count from there, at the plug. `first` has the bounds
/// up to the first of the `drives`.
fn goals(
    vehicle: &Vehicle,
    grid: &SiteSlots,
    to: i64,
    (start, efficiency): (f64, f64),
    (first, drives): (Bounds, &[Drive]),
) -> Vec<Goal> {
    let energies = vehicle
        .targets
        .iter()
        .map(|target| (target.by, start + efficiency * target.energy.as_kwh()));
    let socs = vehicle.soc_targets.iter().map(|target| {
        let level = |battery: &crate::plan::charge::vehicle::Battery| {
            target.soc.unwrap_or(battery.charge_limit).of(battery.capacity).as_kwh()
        };
        (target.by, vehicle.battery.as_ref().map_or(start, level))
    });
    let goal = |(index, (by, level)): (usize, (Option<DateTime<Utc>>, f64))| {
        let end = by.map_or(i64::MAX, micros_of).min(to);
        let slots = grid.ends.partition_point(|&slot_end| slot_end <= end);
        let count = drives.partition_point(|drive| drive.period.0 < end);
        let bounds = count.checked_sub(1).map_or(first, |last| drives[last].after);
        // A vehicle that only charges stays above a target below its level on arrival, or on return.
        let least = if vehicle.discharge.is_some() { 0.0 } else { bounds.uncharged };
        Goal::new((Some(index), by), (slots, count), level.max(least), bounds.ceiling)
    };
    let mut goals: Vec<Goal> = energies.chain(socs).enumerate().map(goal).collect();
    // Stable: goals of one deadline stay in the order of the request.
    goals.sort_by_key(|goal| goal.slots);
    goals
}

/// Lines through neighbouring points of the taper. The first extends below the first point, the
/// last above the last point.
fn taper_lines(vehicle: &Vehicle, capacity: f64) -> Vec<TaperLine> {
    let level = |index: usize| vehicle.taper[index].soc.as_percent() / 100.0 * capacity;
    let power = |index: usize| vehicle.taper[index].power_max.as_kw();
    // One point is a constant limit: a line that does not fall.
    if vehicle.taper.len() == 1 {
        return vec![TaperLine { at_zero: power(0), fall: 0.0 }];
    }
    let line = |index: usize| {
        let fall = (power(index - 1) - power(index)) / (level(index) - level(index - 1));
        TaperLine { at_zero: power(index) + fall * level(index), fall }
    };
    (1..vehicle.taper.len()).map(line).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::request::Target;
    use crate::plan::charge::vehicle::SocTarget;
    use crate::plan::site::device::{Device, TaperPoint};
    use crate::plan::site::request::tests::{at, battery_of, discharge, home, site, van};
    use crate::units::{kw, kwh, percent};

    /// A vehicle alone on hours of one price.
    fn stored(vehicle: &Vehicle, hours: usize, goes_on: bool) -> Storage {
        let request = site(&vec![10; hours], &[Device::Vehicle(vehicle.clone())]);
        Storage::of_vehicle(vehicle, &SiteSlots::new(&request), goes_on)
    }

    /// 10 kW and a battery of 20 kWh, half full, without a wish.
    fn car() -> Vehicle {
        let mut car = Vehicle::new("car", kw(10.0));
        car.battery = Some(battery_of(20.0, 50.0));
        car
    }

    fn soc_by(minutes: i64, soc: f64) -> SocTarget {
        SocTarget { by: Some(at(minutes)), soc: Some(percent(soc)) }
    }

    fn taper(points: &[(f64, f64)]) -> Vec<TaperPoint> {
        let point = |&(soc, power)| TaperPoint { soc: percent(soc), power_max: kw(power) };
        points.iter().map(point).collect()
    }

    #[test]
    fn energies_at_the_plug_become_levels() {
        let mut car = car();
        car.battery.as_mut().unwrap().efficiency = 0.5;
        car.targets.push(Target { by: None, energy: kwh(8.0) });
        car.targets.push(Target { by: Some(at(60)), energy: kwh(30.0) });
        let storage = stored(&car, 3, false);
        // 10 + 0.5·30 = 25 kWh pass the limit of 20 by 5; an hour at 10 kW leads to 15.
        let early = &storage.goals[0];
        assert_eq!((early.target, early.slots), (Some(1), 1));
        assert_eq!((early.wanted, early.above_limit, early.reachable), (20.0, 5.0, 15.0));
        let late = &storage.goals[1];
        assert_eq!((late.target, late.slots, late.wanted), (Some(0), 3, 14.0));
        assert_eq!(
            (storage.start, storage.first.ceiling, storage.capacity),
            (10.0, 20.0, Some(20.0))
        );
    }

    #[test]
    fn a_stay_ends_with_the_last_deadline_where_nothing_else_pays() {
        let mut van = van("van", 10.0, 5.0);
        (van.arrival, van.departure) = (Some(at(60)), Some(at(240)));
        van.targets[0].by = Some(at(120));
        let storage = stored(&van, 5, false);
        assert_eq!((storage.stay.clone(), storage.may_go_on), (1..2, true));
        assert_eq!(storage.charge_max, [10.0]);
        let on = stored(&van, 5, true);
        assert_eq!((on.stay.clone(), on.goals.len()), (1..4, 2));
        assert_eq!((on.goals[1].target, on.goals[1].slots, on.goals[1].wanted), (None, 4, 5.0));
        van.targets[0].by = None;
        assert!(!stored(&van, 5, false).may_go_on);
    }

    #[test]
    fn a_vehicle_that_stops_charges_for_later_deadlines_only() {
        let mut car = car();
        (car.power_max, car.after_deadline) = (kw(2.0), AfterDeadline::Stop);
        car.soc_targets = vec![soc_by(60, 90.0), soc_by(120, 60.0)];
        for goes_on in [false, true] {
            let storage = stored(&car, 4, goes_on);
            assert!(!storage.may_go_on && storage.goals.len() == 2);
            // 18 kWh by the first hour, 12 by the second, and nothing after it.
            assert_eq!(
                (storage.stay.clone(), &storage.charge_until[..]),
                (0..2, &[18.0, 12.0][..])
            );
        }
        car.after_deadline = AfterDeadline::Continue;
        assert_eq!(stored(&car, 4, true).charge_until, [20.0; 4]);
    }

    #[test]
    fn what_only_charges_is_above_a_lower_wish_for_good() {
        let mut car = car();
        car.soc_targets.push(soc_by(60, 20.0));
        assert!((stored(&car, 2, false).goals[0].wanted - 10.0).abs() < 1e-12);
        car.discharge = Some(discharge(5.0));
        let storage = stored(&car, 2, false);
        assert_eq!(
            (storage.goals[0].wanted, storage.first.floor, storage.first.ceiling),
            (4.0, 0.0, 20.0)
        );
        assert!(storage.can_discharge() && storage.needs_levels());
    }

    #[test]
    fn neither_floor_nor_reserve_lies_above_what_can_be_held() {
        let mut car = car();
        car.discharge = Some(discharge(5.0));
        car.discharge.as_mut().unwrap().soc_min = percent(75.0);
        let storage = stored(&car, 2, false);
        // It arrives with 10 kWh, below the 15 from which it gives back.
        assert_eq!(
            (storage.first.floor, storage.discharge_from, storage.reserve),
            (10.0, 15.0, 0.0)
        );
        car.reserve = percent(80.0);
        assert!((stored(&car, 2, false).reserve - 16.0).abs() < 1e-12);
        car.battery.as_mut().unwrap().charge_limit = percent(60.0);
        let storage = stored(&car, 2, false);
        assert_eq!((storage.reserve, storage.first.ceiling), (12.0, 12.0));
        // A reserve that is there already is a floor.
        car.reserve = percent(40.0);
        car.discharge.as_mut().unwrap().soc_min = percent(0.0);
        let storage = stored(&car, 2, false);
        assert_eq!((storage.reserve, storage.first.floor), (0.0, 8.0));
    }

    #[test]
    fn sums_are_enough_unless_the_course_of_the_level_matters() {
        let mut van = van("van", 10.0, 5.0);
        assert!(!stored(&van, 2, false).needs_levels());
        van.power_min = kw(4.0);
        let storage = stored(&van, 2, false);
        assert!(storage.has_least_power() && storage.needs_levels());
        assert_eq!(storage.charge_min, [4.0, 4.0]);
        let mut car = car();
        car.taper = taper(&[(50.0, 5.0)]);
        assert!(stored(&car, 2, false).needs_levels());
        (car.taper, car.reserve) = (Vec::new(), percent(60.0));
        assert!(stored(&car, 2, false).needs_levels());
    }

    #[test]
    fn a_run_ends_at_targets_the_reserve_and_a_full_battery() {
        let mut car = car();
        car.fill_when_worth = true;
        car.soc_targets = vec![soc_by(120, 90.0), soc_by(60, 60.0), soc_by(120, 70.0)];
        car.soc_targets.push(soc_by(120, 10.0));
        // 14 twice, 18, 12, and 20 when full; the wish for 2 is held to the start of 10.
        assert_eq!(stored(&car, 3, false).run_ends(0), [10.0, 12.0, 14.0, 18.0, 20.0]);
        // With a reserve of 16 it never falls below the 10 that it brings: no run ends there.
        car.reserve = percent(80.0);
        assert_eq!(stored(&car, 3, false).run_ends(0), [12.0, 14.0, 16.0, 18.0, 20.0]);
    }

    #[test]
    fn a_taper_is_the_lines_between_its_points() {
        let mut car = car();
        car.taper = taper(&[(50.0, 10.0), (75.0, 8.0), (100.0, 0.0)]);
        let lines = taper_lines(&car, 20.0);
        // 2 kW over 5 kWh through (10, 10), and 8 kW over 5 kWh through (20, 0).
        let found: Vec<_> = lines.iter().map(|line| (line.at_zero, line.fall)).collect();
        assert_eq!(found, [(14.0, 0.4), (32.0, 1.6)]);
        car.taper.truncate(1);
        let line = taper_lines(&car, 20.0)[0];
        assert_eq!((line.at_zero, line.fall), (10.0, 0.0));
    }

    #[test]
    fn charging_ends_where_the_taper_does() {
        let mut car = car();
        (car.taper, car.fill_when_worth) = (taper(&[(0.0, 10.0), (80.0, 0.0)]), true);
        let storage = stored(&car, 2, false);
        assert_eq!((storage.first.ceiling, storage.charge_max[0]), (16.0, 10.0));
        car.battery.as_mut().unwrap().soc = Some(percent(90.0));
        let above = stored(&car, 2, false);
        assert_eq!((above.first.ceiling, above.charge_max.clone()), (18.0, vec![0.0, 0.0]));
        assert!(above.taper.is_empty());
    }

    #[test]
    fn a_gap_in_the_prices_takes_only_what_it_would_have_allowed() {
        // Two hours of prices and a deadline after four, at 10 kW.
        let mut van = van("van", 10.0, 35.0);
        van.targets[0].by = Some(at(240));
        let goal = stored(&van, 2, false).goals[0].clone();
        assert_eq!((goal.reachable, goal.reachable_if_priced), (20.0, 35.0));
        van.departure = Some(at(180));
        let goal = stored(&van, 2, false).goals[0].clone();
        assert_eq!((goal.reachable, goal.reachable_if_priced), (20.0, 30.0));
    }

    #[test]
    fn a_stationary_battery_is_there_all_the_time() {
        let mut home = home(5.0, 20.0, 50.0);
        home.battery.charge_limit = percent(90.0);
        home.discharge.soc_min = percent(60.0);
        home.soc_end = Some(percent(80.0));
        let request = site(&[10, 20], &[Device::Battery(home.clone())]);
        let storage = Storage::of_battery(&home, &SiteSlots::new(&request));
        assert_eq!((storage.stay.clone(), storage.start), (0..2, 10.0));
        assert_eq!(
            (storage.first.ceiling, storage.first.floor, storage.discharge_from),
            (18.0, 10.0, 12.0)
        );
        assert_eq!((storage.charge_max.clone(), storage.discharge_max.len()), (vec![5.0, 5.0], 2));
        let goal = &storage.goals[0];
        assert_eq!((goal.slots, goal.wanted, goal.reachable), (2, 16.0, 16.0));
    }

    proptest! {
        /// Bisection finds the most energy whose power keeps every line at the level after it.
        #[test]
        fn a_slot_charges_the_most_that_the_taper_allows(
            soc in 0.0..100.0_f64, efficiency in 0.2..=1.0_f64, hours in 0.1..4.0_f64,
            power in 4.5..9.0_f64,
        ) {
            let mut car = car();
            car.battery = Some(battery_of(20.0, soc));
            car.battery.as_mut().unwrap().efficiency = efficiency;
            car.taper = taper(&[(20.0, 9.0), (60.0, power), (100.0, 0.0)]);
            car.fill_when_worth = true;
            let storage = stored(&car, 1, false);
            let start = storage.start;
            let fits = |kwh: f64| {
                let level = start + efficiency * kwh;
                let lines = [(4.0, 9.0, 12.0, power), (12.0, power, 20.0, 0.0)];
                let line = |(from, high, to, low): (f64, f64, f64, f64)| {
                    high + (low - high) * (level - from) / (to - from)
                };
                level <= 20.0 && lines.iter().all(|&l| kwh / hours <= line(l).min(10.0))
            };
            let (mut low, mut high) = (0.0, 100.0);
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                if fits(middle) { low = middle } else { high = middle }
            }
            let found = storage.charge_within((start, storage.first.ceiling), 10.0 * hours, hours);
            prop_assert!((found - low).abs() < 1e-6, "{found} and {low}");
        }

        /// Levels never fall, never pass the ceiling, and rise by what each slot charges.
        #[test]
        fn levels_at_full_power_rise_up_to_the_ceiling(
            soc in 0.0..100.0_f64, limit in 0.0..100.0_f64, power in 0.0..10.0_f64,
        ) {
            let mut car = car();
            car.battery = Some(battery_of(20.0, soc));
            car.battery.as_mut().unwrap().charge_limit = percent(limit);
            (car.power_max, car.fill_when_worth) = (kw(power), true);
            let request = site(&[10; 4], &[Device::Vehicle(car.clone())]);
            let grid = SiteSlots::new(&request);
            let storage = Storage::of_vehicle(&car, &grid, false);
            let (start, most) = (soc / 5.0, (limit / 5.0).max(soc / 5.0));
            for (slot, level) in storage.levels_at_full_power(&grid).into_iter().enumerate() {
                let expected = (start + power * (slot + 1) as f64).min(most);
                prop_assert!((level - expected).abs() < 1e-9, "{slot}: {level}, {expected}");
            }
        }
    }
}
