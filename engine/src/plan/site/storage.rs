//! Vehicles and stationary batteries as storages: a level, power limits and goals.
//!
//! ```text
//! L_t = L_{t−1} + η·c_t − d_t / ζ,   floor ≤ L_t ≤ ceiling
//! c_t ≤ h_t·(a_j − b_j·L_t)          for each line j of the taper
//! ```
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

use crate::plan::site::device::{StationaryBattery, Vehicle};
use crate::plan::site::price_slots::SiteSlots;
use crate::time::instant::micros_of;

/// Level that a target wants at the end of a slot.
#[derive(Debug, Clone)]
pub(crate) struct Goal {
    /// Position among the device's targets; energy targets come first. `None` for the late goal:
    /// energy that missed its deadline and is wanted by departure.
    pub(crate) target: Option<usize>,
    /// The deadline as the caller gave it.
    pub(crate) by: Option<DateTime<Utc>>,
    /// Number of slots of the site that end by the deadline.
    pub(crate) slots: usize,
    /// Level wanted in stored kWh, at most the charge limit.
    pub(crate) wanted: f64,
    /// Part of the target above the charge limit, in stored kWh.
    pub(crate) above_limit: f64,
    /// Highest level up to `wanted` that the device can reach alone.
    pub(crate) reachable: f64,
    /// Highest level up to `wanted` that it could reach alone if all times had a price.
    pub(crate) reachable_if_priced: f64,
}

impl Goal {
    /// Goal of `level`, cut at the charge limit `most`. `(target, by)` are the fields of that
    /// name. Both reachable levels begin as the level wanted.
    fn new(
        (target, by): (Option<usize>, Option<DateTime<Utc>>),
        slots: usize,
        level: f64,
        most: f64,
    ) -> Self {
        let wanted = level.min(most);
        Self {
            target,
            by,
            slots,
            wanted,
            above_limit: level - wanted,
            reachable: wanted,
            reachable_if_priced: wanted,
        }
    }
}

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
    /// Stored energy per energy charged, above 0 and at most 1.
    pub(crate) efficiency_in: f64,
    /// Energy discharged at the plug per stored energy, above 0 and at most 1.
    pub(crate) efficiency_out: f64,
    /// Stored energy on arrival.
    pub(crate) start: f64,
    /// Stored energy below which the level never falls.
    pub(crate) floor: f64,
    /// Stored energy below which it does not discharge; above the floor if it arrives with less.
    pub(crate) discharge_from: f64,
    /// Highest stored energy.
    pub(crate) ceiling: f64,
    /// Capacity in stored kWh; `None` if the battery is unknown.
    pub(crate) capacity: Option<f64>,
    /// Level to be reached as soon as possible; zero if the level on arrival is not below it.
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
}

impl Storage {
    /// Storage of a vehicle over the slots of a site. With `goes_on`, energy that misses a
    /// deadline is wanted by departure (the late goal).
    pub(crate) fn of_vehicle(vehicle: &Vehicle, grid: &SiteSlots, goes_on: bool) -> Self {
        let (start, capacity, limit, efficiency_in) = levels(vehicle);
        let from = vehicle.arrival.map_or(i64::MIN, micros_of);
        let to = vehicle.departure.map_or(i64::MAX, micros_of);
        let mut goals = goals(vehicle, grid, to, (start, efficiency_in));
        let wanted = goals.iter().fold(start, |most, goal| most.max(goal.wanted));
        let kept = capacity.map_or(0.0, |kwh| vehicle.reserve.as_percent() / 100.0 * kwh);
        let reserve = if kept > start { kept.min(limit.max(start)) } else { 0.0 };
        // Without leave to fill up, the ceiling is the highest level that anything wants.
        let may_fill = vehicle.may_fill();
        let ceiling = if may_fill { limit.max(start) } else { wanted.max(reserve) };
        let mut stay = grid.between(from, to);
        let ended = goals.iter().filter(|goal| goal.slots < stay.end);
        let late = ended.map(|goal| goal.wanted).reduce(f64::max);
        if !may_fill && !goes_on && reserve == 0.0 {
            // Charging after the last deadline serves no goal.
            let last = goals.last().map_or(stay.start, |goal| goal.slots);
            stay.end = stay.end.min(last).max(stay.start);
        }
        if let Some(wanted) = late.filter(|_| goes_on) {
            // The late goal: the highest level of the earlier goals, by departure.
            goals.push(Goal::new((None, None), stay.end, wanted, wanted));
        }
        let (discharge_kw, efficiency_out, soc_min, wear) =
            vehicle.discharge.as_ref().map_or((0.0, 1.0, 0.0, 0.0), |discharge| {
                let kw = discharge.power_max.as_kw();
                let (soc_min, wear) = (discharge.soc_min.as_percent(), discharge.wear.as_per_kwh());
                (kw, discharge.efficiency, soc_min, wear)
            });
        // The floor is `soc_min` or the reserve, but at most the level on arrival.
        let floor = (soc_min / 100.0 * capacity.unwrap_or(0.0)).max(kept).min(start);
        let energies = |kw: f64| stay.clone().map(|slot| kw * grid.hours[slot]).collect();
        let mut storage = Self {
            may_go_on: late.is_some(),
            charge_max: energies(vehicle.power_max.as_kw()),
            charge_min: energies(vehicle.power_min.as_kw()),
            discharge_max: energies(discharge_kw),
            stay,
            efficiency_in,
            efficiency_out,
            start,
            floor,
            discharge_from: soc_min / 100.0 * capacity.unwrap_or(0.0),
            ceiling,
            capacity,
            reserve,
            goals,
            priority: vehicle.priority,
            wear,
            end_value: vehicle.end_value.as_per_kwh(),
            taper: taper_lines(vehicle, capacity.unwrap_or(0.0)),
        };
        storage.end_at_taper();
        storage.find_reachable(grid, vehicle.power_max.as_kw(), (from, to));
        storage
    }

    /// Lowers the ceiling to the level at which the taper reaches zero power. A storage that
    /// arrives at that level or above does not charge.
    fn end_at_taper(&mut self) {
        let falling = self.taper.iter().filter(|line| line.fall > 0.0);
        let end = falling.map(|line| line.at_zero / line.fall).fold(f64::INFINITY, f64::min);
        self.ceiling = self.ceiling.min(end).max(self.start);
        if self.start >= end {
            self.taper.clear();
            self.charge_max.fill(0.0);
        }
    }

    /// Storage of a stationary battery over the slots of a site.
    pub(crate) fn of_battery(device: &StationaryBattery, grid: &SiteSlots) -> Self {
        let capacity = device.battery.capacity.as_kwh();
        let soc = device.battery.soc.or(device.battery.soc_fallback).unwrap_or_default();
        let share = |percent: f64| percent / 100.0 * capacity;
        let start = share(soc.as_percent());
        let ceiling = share(device.battery.charge_limit.as_percent()).max(start);
        let stay = 0..grid.len();
        let energies = |kw: f64| grid.hours.iter().map(|hours| kw * hours).collect();
        let goal = |soc: f64| Goal::new((Some(0), None), grid.len(), share(soc), ceiling);
        let mut storage = Self {
            may_go_on: false,
            charge_max: energies(device.power_max.as_kw()),
            charge_min: vec![0.0; grid.len()],
            discharge_max: energies(device.discharge.power_max.as_kw()),
            stay,
            efficiency_in: device.battery.efficiency,
            efficiency_out: device.discharge.efficiency,
            start,
            floor: share(device.discharge.soc_min.as_percent()).min(start),
            discharge_from: share(device.discharge.soc_min.as_percent()),
            ceiling,
            capacity: Some(capacity),
            reserve: 0.0,
            goals: device.soc_end.map(|soc| goal(soc.as_percent())).into_iter().collect(),
            priority: 1.0,
            wear: device.discharge.wear.as_per_kwh(),
            end_value: device.end_value.as_per_kwh(),
            taper: Vec::new(),
        };
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

    /// True if the programme needs a level column per slot. Without discharging, reserve, taper
    /// and least power, sums of charges up to the deadlines are enough.
    pub(crate) fn needs_levels(&self) -> bool {
        self.can_discharge()
            || self.reserve > 0.0
            || !self.taper.is_empty()
            || self.has_least_power()
    }

    /// Levels at which a run may end with a top-off, in rising order: those of the goals, the
    /// reserve and the ceiling.
    pub(crate) fn run_ends(&self) -> Vec<f64> {
        let goals = self.goals.iter().map(|goal| goal.wanted);
        let mut ends: Vec<f64> = goals.chain([self.reserve, self.ceiling]).collect();
        ends.retain(|&level| level > self.floor && level <= self.ceiling);
        ends.sort_by(f64::total_cmp);
        ends.dedup();
        ends
    }

    /// Most energy in kWh at the plug that a slot of `hours` can charge from `level`.
    pub(crate) fn charge_from(&self, level: f64, slot: usize, hours: f64) -> f64 {
        self.charge_within(level, self.charge_max[slot - self.stay.start], hours)
    }

    /// Most energy in kWh at the plug that `hours` can charge from `level`, at most `most`.
    fn charge_within(&self, level: f64, most: f64, hours: f64) -> f64 {
        let room = (self.ceiling - level).max(0.0) / self.efficiency_in;
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
                level += self.efficiency_in * self.charge_from(level, slot, grid.hours[slot]);
                level
            })
            .collect()
    }

    /// Sets the reachable levels of each goal. The session is `[from, to)` in microseconds;
    /// `power_max` is in kW.
    fn find_reachable(&mut self, grid: &SiteSlots, power_max: f64, (from, to): (i64, i64)) {
        let levels = self.levels_at_full_power(grid);
        let mut goals = std::mem::take(&mut self.goals);
        for goal in &mut goals {
            let slots = goal.slots.clamp(self.stay.start, self.stay.end) - self.stay.start;
            let most = slots.checked_sub(1).map_or(self.start, |last| levels[last]);
            goal.reachable = goal.wanted.min(most.max(self.start));
            // Time without a price before the deadline, added after the priced slots.
            let due = goal.by.map_or(i64::MAX, micros_of).min(to);
            let due = if due == i64::MAX { grid.open_end } else { due };
            let unpriced = grid.unpriced_between(from, due);
            let most = self.level_after(goal.reachable, power_max, unpriced);
            goal.reachable_if_priced = goal.wanted.min(most);
        }
        self.goals = goals;
    }

    /// Level after `hours` at full power from `level`. The hours may come before or after others,
    /// because the power under a taper depends on the level alone. With a taper it is computed in
    /// steps of a quarter of an hour, at most 400.
    fn level_after(&self, level: f64, power_max: f64, hours: f64) -> f64 {
        let steps =
            if self.taper.is_empty() { 1.0 } else { (4.0 * hours).ceil().clamp(1.0, 400.0) };
        let step = hours / steps;
        (0..steps as usize).fold(level, |level, _| {
            level + self.efficiency_in * self.charge_within(level, power_max * step, step)
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

/// Goals of a vehicle that departs at `to` (microseconds), the earliest first. `start` is the
/// stored energy on arrival; energy targets count from there, at the plug.
fn goals(
    vehicle: &Vehicle,
    grid: &SiteSlots,
    to: i64,
    (start, efficiency): (f64, f64),
) -> Vec<Goal> {
    let limit = vehicle
        .battery
        .as_ref()
        .map_or(f64::INFINITY, |battery| battery.charge_limit.of(battery.capacity).as_kwh());
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
        // A vehicle that only charges stays above a target below its level on arrival.
        let least = if vehicle.discharge.is_some() { 0.0 } else { start };
        Goal::new((Some(index), by), slots, level.max(least), limit.max(start))
    };
    let mut goals: Vec<Goal> = energies.chain(socs).enumerate().map(goal).collect();
    goals.sort_by_key(|goal| goal.slots);
    goals
}

/// Lines through neighbouring points of the taper. The first extends below the first point, the
/// last above the last point.
fn taper_lines(vehicle: &Vehicle, capacity: f64) -> Vec<TaperLine> {
    let level = |index: usize| vehicle.taper[index].soc.as_percent() / 100.0 * capacity;
    let power = |index: usize| vehicle.taper[index].power_max.as_kw();
    if vehicle.taper.len() == 1 {
        return vec![TaperLine { at_zero: power(0), fall: 0.0 }];
    }
    let line = |index: usize| {
        let fall = (power(index - 1) - power(index)) / (level(index) - level(index - 1));
        TaperLine { at_zero: power(index) + fall * level(index), fall }
    };
    (1..vehicle.taper.len()).map(line).collect()
}
