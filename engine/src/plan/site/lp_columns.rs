//! Columns and rows of what stores energy.
use std::ops::Range;

use crate::plan::site::goal::Goal;
use crate::plan::site::model::{
    Flow, Guard, Miss, MissKind, Pair, Semi, SiteModel, StorageColumns,
};
use crate::plan::site::storage::Storage;
use crate::tolerance::SITE_MIN_KWH;

impl SiteModel {
    /// Adds the columns and rows of a vehicle or battery.
    pub(crate) fn add_storage(&mut self, index: usize) {
        let Some(storage) = self.storages[index].clone() else { return };
        let mut columns = self.add_flows(index, &storage);
        if storage.needs_levels() {
            columns.level = self.add_levels(index, &storage, &columns);
        } else {
            self.add_sums(index, &storage, &columns);
        }
        self.guard_discharges(&storage, &columns);
        self.guard_charges(&storage, &columns);
        columns.spared = self.add_power_wanted(index, &storage, &columns);
        self.add_semis(index, &storage, &columns);
        self.columns[index] = columns;
    }

    /// Adds a guard to each discharge after which the level could be too low for discharging.
    fn guard_discharges(&mut self, storage: &Storage, columns: &StorageColumns) {
        let least = storage.discharge_from;
        let flows = columns.discharge.iter().zip(&columns.level).zip(storage.stay.clone());
        for ((discharge, &level), slot) in flows {
            let lower = storage.bounds_in(slot).floor;
            if let Some(gate) = discharge.filter(|_| least > lower + SITE_MIN_KWH) {
                self.guards.push(Guard { gate, terms: vec![(level, 1.0)], least, lower });
            }
        }
    }

    /// Adds a charge and, if possible, a discharge for each slot of the session.
    fn add_flows(&mut self, device: usize, storage: &Storage) -> StorageColumns {
        let mut columns = StorageColumns::default();
        // Energy stored at the end has a value, whichever slot charged it.
        let worth = storage.end_value * storage.efficiency_in;
        let lost = storage.end_value / storage.efficiency_out;
        for (index, slot) in storage.stay.clone().enumerate() {
            let charge = self.add_column(-worth, 0.0, storage.charge_max[index]);
            self.flows[slot].push(Flow { device, column: charge, weight: 1.0 });
            columns.charge.push(charge);
            let most = storage.discharge_max[index];
            if most <= 0.0 {
                columns.discharge.push(None);
                continue;
            }
            let discharge = self.add_column(storage.wear + lost, 0.0, most);
            self.flows[slot].push(Flow { device, column: discharge, weight: -1.0 });
            columns.discharge.push(Some(discharge));
            let pair = Pair { first: charge, second: discharge, slot, device: Some(device) };
            self.pairs.push(pair);
        }
        let driven = storage.drives[..storage.drives_before(storage.stay.end)].iter();
        let driven: f64 = driven.map(|drive| drive.energy).sum();
        self.constant -= storage.end_value * (storage.start - driven);
        columns
    }

    /// Adds the semicontinuous charges of a storage with a least power.
    fn add_semis(&mut self, device: usize, storage: &Storage, columns: &StorageColumns) {
        if !storage.has_least_power() {
            return;
        }
        for (index, slot) in storage.stay.clone().enumerate() {
            // A vehicle that is away does not charge.
            if storage.charge_min[index] <= 0.0 {
                continue;
            }
            // Over a gap the next slot begins a run of its own.
            let joins = |next: usize| self.grid.starts.get(next) == Some(&self.grid.ends[slot]);
            self.semis.push(Semi {
                column: columns.charge[index],
                least: storage.charge_min[index],
                device,
                slot,
                level: columns.level[index],
                next: columns.charge.get(index + 1).copied().filter(|_| joins(slot + 1)),
            });
        }
    }

    /// Levels (stored kWh) at which a run of the device may end with a top-off.
    pub(crate) fn run_ends(&self, semi: &Semi) -> Vec<f64> {
        self.storages[semi.device]
            .as_ref()
            .map_or_else(Vec::new, |storage| storage.run_ends(semi.slot))
    }

    /// True if a run ends in this slot, at a level at which a run may end.
    pub(crate) fn ends_run(&self, semi: &Semi, values: &[f64]) -> bool {
        let is_end = |end: &f64| (values[semi.level] - end).abs() <= SITE_MIN_KWH;
        let is_last = semi.next.is_none_or(|next| values[next] <= SITE_MIN_KWH);
        is_last && self.run_ends(semi).iter().any(is_end)
    }

    /// True if a charge is zero, at least its least, or a top-off.
    pub(crate) fn keeps_least(&self, semi: &Semi, values: &[f64]) -> bool {
        let value = values[semi.column];
        value <= SITE_MIN_KWH || value >= semi.least - SITE_MIN_KWH || self.ends_run(semi, values)
    }

    /// Adds the column of the shortfall of one goal, in kWh at the plug.
    fn add_miss(&mut self, device: usize, storage: &Storage, goal: usize) -> usize {
        let wish = &storage.goals[goal];
        let floor = storage.bounds(wish.drives).floor;
        let most = (wish.reachable - floor).max(0.0) / storage.efficiency_in;
        let column = self.add_column(0.0, 0.0, most);
        let kind = if wish.target.is_none() { MissKind::Late } else { MissKind::Target };
        self.push_miss(device, storage, (goal, wish.slots), (column, kind));
        column
    }

    fn push_miss(
        &mut self,
        device: usize,
        storage: &Storage,
        (goal, slots): (usize, usize),
        (column, kind): (usize, MissKind),
    ) {
        let (energy, priority) = (1.0, storage.priority);
        self.misses.push(Miss { column, energy, priority, device, goal, slots, kind });
    }

    /// Adds the column of the energy that each drive lacks, in kWh at the plug. Energy from
    /// elsewhere has the value at the end of the session that other energy has.
    fn add_lacks(&mut self, device: usize, storage: &Storage) -> Vec<usize> {
        let counted = storage.drives_before(storage.stay.end);
        let mut columns = Vec::with_capacity(storage.drives.len());
        for (index, drive) in storage.drives.iter().enumerate() {
            let worth = storage.end_value * storage.efficiency_in;
            let cost = if index < counted { -worth } else { 0.0 };
            let most = drive.lack_max / storage.efficiency_in;
            // Up to the first slot no decision changes it.
            let is_known = drive.goal.slots <= storage.stay.start;
            let column = self.add_column(cost, if is_known { most } else { 0.0 }, most);
            let position = (index, drive.goal.slots);
            self.push_miss(device, storage, position, (column, MissKind::Drive));
            columns.push(column);
        }
        columns
    }

    /// Adds a row per drive: the level before it and what it lacks are at least its energy. A drive
    /// lacks no more than that; a storage that can discharge, and could so use up more, gets a
    /// guard.
    fn add_drives(&mut self, storage: &Storage, levels: &[usize], lacks: &[usize]) {
        for (index, drive) in storage.drives.iter().enumerate() {
            let first = storage.drives_before(drive.goal.slots);
            let before = drive.goal.slots.min(storage.stay.end) - storage.stay.start;
            // Up to the first slot the column is fixed.
            let Some(last) = before.checked_sub(1) else { continue };
            let (mut terms, energy) = with_drives(storage, levels[last], first..index + 1, lacks);
            self.add_row(energy, f64::INFINITY, terms.clone());
            if storage.can_discharge() {
                for (_, weight) in &mut terms {
                    *weight = -*weight;
                }
                let most = storage.bounds(first).ceiling;
                let lacked: f64 = storage.drives[first..=index].iter().map(|d| d.lack_max).sum();
                let (gate, lower) = (lacks[index], -most - lacked);
                self.guards.push(Guard { gate, terms, least: -energy, lower });
            }
        }
    }

    /// Adds one row per deadline: the sum of the charges before it and the shortfall. A last row
    /// keeps the sum of all charges below the ceiling, if it can exceed it.
    fn add_sums(&mut self, device: usize, storage: &Storage, columns: &StorageColumns) {
        let room = (storage.first.ceiling - storage.start).max(0.0) / storage.efficiency_in;
        let possible: f64 = storage.charge_max.iter().sum();
        let mut is_bounded = possible <= room;
        for (index, goal) in storage.goals.iter().enumerate() {
            let needed = (goal.reachable - storage.start) / storage.efficiency_in;
            let slots = goal.slots.clamp(storage.stay.start, storage.stay.end) - storage.stay.start;
            if needed <= 0.0 || slots == 0 {
                continue;
            }
            let miss = self.add_miss(device, storage, index);
            let mut terms: Vec<(usize, f64)> =
                columns.charge[..slots].iter().map(|&column| (column, 1.0)).collect();
            terms.push((miss, 1.0));
            // A sum over all slots has the need as its lower and the room as its upper bound.
            let is_last = slots == columns.charge.len();
            let most = if is_last && !is_bounded { room.max(needed) } else { f64::INFINITY };
            is_bounded |= is_last;
            self.add_row(needed, most, terms);
        }
        if !is_bounded {
            let terms = columns.charge.iter().map(|&column| (column, 1.0)).collect();
            self.add_row(f64::NEG_INFINITY, room, terms);
        }
    }

    /// Adds the level after each slot, with rows for balance, taper, reserve and goals.
    fn add_levels(
        &mut self,
        device: usize,
        storage: &Storage,
        columns: &StorageColumns,
    ) -> Vec<usize> {
        let full_power = storage.levels_at_full_power(&self.grid);
        let lacks = self.add_lacks(device, storage);
        let mut levels: Vec<usize> = Vec::with_capacity(full_power.len());
        for (index, slot) in storage.stay.clone().enumerate() {
            let (charge, hours) = (columns.charge[index], self.grid.hours[slot]);
            let bounds = storage.bounds_in(slot);
            let level = self.add_column(0.0, bounds.floor, bounds.ceiling);
            let mut terms = vec![(level, 1.0), (charge, -storage.efficiency_in)];
            // Balance: the level rises by the stored part of the charge and falls by the discharge.
            if let Some(discharge) = columns.discharge[index] {
                terms.push((discharge, 1.0 / storage.efficiency_out));
            }
            let mut start = match levels.last() {
                Some(&before) => {
                    terms.push((before, -1.0));
                    0.0
                }
                None => storage.start,
            };
            // It falls by drives, except for what they lack.
            for drive in storage.drives_in(slot) {
                start -= storage.drives[drive].energy;
                terms.push((lacks[drive], -storage.efficiency_in));
            }
            self.add_row(start, start, terms);
            for line in storage.taper.iter().filter(|_| storage.charge_max[index] > 0.0) {
                let terms = vec![(charge, 1.0), (level, line.fall * hours)];
                self.add_row(f64::NEG_INFINITY, line.at_zero * hours, terms);
            }
            let reserve = storage.reserve.max(storage.level_min[index]).min(full_power[index]);
            // A reserve binds from the first slot on, as far as full power reaches it. A limit
            // binds in its period.
            if reserve > bounds.floor {
                let missing = self.add_column(0.0, 0.0, reserve - bounds.floor);
                self.reserves.push((missing, hours));
                self.add_row(reserve, f64::INFINITY, vec![(level, 1.0), (missing, 1.0)]);
            }
            self.add_soft_bounds(storage, (slot, level));
            levels.push(level);
        }
        self.add_drives(storage, &levels, &lacks);
        self.add_goals(device, storage, &levels, &lacks);
        levels
    }

    /// Adds a row per goal: the level at the deadline and the shortfall.
    fn add_goals(&mut self, device: usize, storage: &Storage, levels: &[usize], lacks: &[usize]) {
        for (index, goal) in storage.goals.iter().enumerate() {
            let slots = goal.slots.clamp(storage.stay.start, storage.stay.end) - storage.stay.start;
            if slots == 0 || goal.reachable <= storage.bounds(goal.drives).floor {
                continue;
            }
            let first = self.misses.len();
            let miss = self.add_miss(device, storage, index);
            let relief = (miss, storage.efficiency_in);
            // The late goal of a storage that can discharge depends on what the earlier goals miss.
            if goal.target.is_none() && storage.can_discharge() {
                self.add_late(device, storage, (levels[slots - 1], relief), first);
                continue;
            }
            let in_gap = storage.drives_in_gap(goal);
            let (mut terms, energy) = with_drives(storage, levels[slots - 1], in_gap, lacks);
            terms.push(relief);
            self.add_row(goal.reachable + energy, f64::INFINITY, terms);
        }
    }

    /// Adds the late goal of a storage that can discharge: `level` and `relief` (the late shortfall
    /// and its stored kWh per unit) reach a target on departure only if that target was missed. A
    /// target that the storage cannot reach alone is missed in any case: its row is a plain one.
    /// The others get a [`Guard`] on their shortfall. `misses` counts the misses before the late
    /// one.
    fn add_late(
        &mut self,
        device: usize,
        storage: &Storage,
        (level, relief): (usize, (usize, f64)),
        misses: usize,
    ) {
        // Goals of the last stay whose deadline lies before the end of the session.
        let ended = |goal: &&Goal| {
            let is_last_stay = goal.drives == storage.drives.len();
            goal.target.is_some() && goal.slots < storage.stay.end && is_last_stay
        };
        let floor = storage.bounds(storage.drives.len()).floor;
        let reachable = storage.goals.last().map_or(floor, |goal| goal.reachable);
        let is_unreachable = |goal: &&Goal| goal.wanted - goal.reachable > SITE_MIN_KWH;
        let goals = storage.goals.iter().filter(ended);
        let always = goals.filter(is_unreachable).map(|goal| goal.wanted.min(reachable));
        let always = always.fold(floor, f64::max);
        // Those that cannot be reached in time are wanted by departure in any case.
        if always > floor {
            self.add_row(always, f64::INFINITY, vec![(level, 1.0), relief]);
        }
        // Any other one is wanted by departure only if it was missed.
        let own = |miss: &&Miss| miss.device == device && miss.kind == MissKind::Target;
        for miss in self.misses[..misses].iter().filter(own) {
            let goal = &storage.goals[miss.goal];
            let least = goal.wanted.min(reachable);
            if ended(&goal) && !is_unreachable(&goal) && least > always {
                let terms = vec![(level, 1.0), relief];
                self.guards.push(Guard { gate: miss.column, terms, least, lower: floor });
            }
        }
    }
}

/// Terms `(column, weight)` of the level after the drives `which`, which begin at `level`, and the
/// energy of the drives in stored kWh, which is to be subtracted.
fn with_drives(
    storage: &Storage,
    level: usize,
    which: Range<usize>,
    lacks: &[usize],
) -> (Vec<(usize, f64)>, f64) {
    let mut terms = vec![(level, 1.0)];
    terms.extend(lacks[which.clone()].iter().map(|&lack| (lack, storage.efficiency_in)));
    (terms, storage.drives[which].iter().map(|drive| drive.energy).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lp::Row;
    use crate::plan::charge::request::Target;
    use crate::plan::charge::vehicle::SocTarget;
    use crate::plan::site::device::{Device, TaperPoint, Vehicle};
    use crate::plan::site::request::tests::{at, battery_of, discharge, home, site, van};
    use crate::prices::curve::PriceCurve;
    use crate::time::horizon::Horizon;
    use crate::units::{kw, kwh, percent};

    /// A vehicle alone on three hours of one price.
    fn model(vehicle: &Vehicle, goes_on: bool) -> SiteModel {
        SiteModel::new(&site(&[10, 10, 10], &[Device::Vehicle(vehicle.clone())]), goes_on)
    }

    /// 4 kW and a battery of 20 kWh, half full, that can give back.
    fn car() -> Vehicle {
        let mut car = Vehicle::new("car", kw(4.0));
        (car.battery, car.discharge) = (Some(battery_of(20.0, 50.0)), Some(discharge(4.0)));
        car
    }

    fn soc_by(minutes: i64, soc: f64) -> SocTarget {
        SocTarget { by: Some(at(minutes)), soc: Some(percent(soc)) }
    }

    #[test]
    fn without_levels_each_deadline_is_a_sum() {
        let mut van = van("van", 5.0, 8.0);
        van.targets.push(Target { by: Some(at(60)), energy: kwh(4.0) });
        let model = model(&van, false);
        let (charge, misses) = (&model.columns[0].charge, &model.misses);
        let by_hour = vec![(charge[0], 1.0), (misses[0].column, 1.0)];
        let by_end = charge.iter().map(|&c| (c, 1.0)).chain([(misses[1].column, 1.0)]).collect();
        // 8 kWh is also all that it has room for.
        let rows = [
            Row { lower: 4.0, upper: f64::INFINITY, terms: by_hour },
            Row { lower: 8.0, upper: 8.0, terms: by_end },
        ];
        assert_eq!(model.program.rows, rows);
        assert_eq!((misses[0].slots, misses[1].slots), (1, 3));
        let most: Vec<f64> = misses.iter().map(|m| model.program.columns[m.column].upper).collect();
        assert_eq!(most, [4.0, 8.0]);
    }

    #[test]
    fn what_fills_up_is_bounded_by_its_room() {
        let mut car = car();
        (car.discharge, car.fill_when_worth, car.power_max) = (None, true, kw(5.0));
        car.battery.as_mut().unwrap().efficiency = 0.8;
        car.soc_targets.push(soc_by(60, 60.0));
        let rows = model(&car, false).program.rows;
        // 2 kWh to the target and 10 to a full battery, at 0.8 stored per kWh.
        let bounds: Vec<_> =
            rows.iter().map(|row| (row.lower, row.upper, row.terms.len())).collect();
        assert_eq!(bounds, [(2.5, f64::INFINITY, 2), (f64::NEG_INFINITY, 12.5, 3)]);
    }

    #[test]
    fn a_level_is_the_one_before_and_what_is_stored_and_given_back() {
        let mut car = car();
        car.battery.as_mut().unwrap().efficiency = 0.5;
        car.discharge.as_mut().unwrap().efficiency = 0.8;
        let model = model(&car, false);
        let columns = &model.columns[0];
        let terms = |slot: usize| {
            let gives = columns.discharge[slot].unwrap();
            vec![(columns.level[slot], 1.0), (columns.charge[slot], -0.5), (gives, 1.25)]
        };
        let rows = &model.program.rows;
        assert_eq!(rows[0], Row { lower: 10.0, upper: 10.0, terms: terms(0) });
        let mut later = terms(1);
        later.push((columns.level[0], -1.0));
        assert_eq!(rows[1], Row { lower: 0.0, upper: 0.0, terms: later });
        let level = model.program.columns[columns.level[2]];
        assert_eq!((level.lower, level.upper), (0.0, 20.0));
    }

    #[test]
    fn a_taper_bounds_the_energy_by_the_level_after_it() {
        let mut car = car();
        let point = |(soc, power)| TaperPoint { soc: percent(soc), power_max: kw(power) };
        car.taper = [(50.0, 10.0), (100.0, 0.0)].map(point).to_vec();
        let mut request = site(&[10], &[Device::Vehicle(car)]);
        request.until = Some(at(30));
        let model = SiteModel::new(&request, false);
        let (charge, level) = (model.columns[0].charge[0], model.columns[0].level[0]);
        // 20 kW − 1 kW per kWh, for half an hour.
        let row =
            Row { lower: f64::NEG_INFINITY, upper: 10.0, terms: vec![(charge, 1.0), (level, 0.5)] };
        assert!(model.program.rows.contains(&row), "{:?}", model.program.rows);
    }

    #[test]
    fn a_reserve_is_wanted_as_far_as_full_power_leads() {
        let mut car = car();
        (car.discharge, car.reserve) = (None, percent(80.0));
        let model = model(&car, false);
        // From 10 kWh at 4 kW: 14 after an hour, and then the 16 that are wanted.
        let upper = |&(column, hours): &(usize, f64)| (model.program.columns[column].upper, hours);
        let missing: Vec<_> = model.reserves.iter().map(upper).collect();
        assert_eq!(missing, [(4.0, 1.0), (6.0, 1.0), (6.0, 1.0)]);
        let wanted = |&(column, _): &(usize, f64)| {
            let mut rows = model.program.rows.iter();
            rows.find(|row| row.terms.contains(&(column, 1.0))).map(|row| row.lower)
        };
        assert_eq!(
            model.reserves.iter().filter_map(wanted).collect::<Vec<_>>(),
            [14.0, 16.0, 16.0]
        );
    }

    #[test]
    fn what_arrives_too_low_gives_back_only_from_a_level_on() {
        let mut home = home(5.0, 10.0, 20.0);
        let guards = |home: &crate::plan::site::device::StationaryBattery| {
            SiteModel::new(&site(&[10, 20], &[Device::Battery(home.clone())]), false).guards
        };
        assert!(guards(&home).is_empty());
        home.discharge.soc_min = percent(50.0);
        let guards = guards(&home);
        let kept = guards.iter().map(|guard| (guard.least, guard.terms.len()));
        assert_eq!(kept.collect::<Vec<_>>(), [(5.0, 1); 2]);
    }

    #[test]
    fn a_run_is_interrupted_by_a_gap_and_ends_at_its_target() {
        let mut van = van("van", 4.0, 6.0);
        van.power_min = kw(2.0);
        let mut request = site(&[10, 10, 10], &[Device::Vehicle(van)]);
        let periods = [(at(0), at(60)), (at(60), at(120)), (at(150), at(210))];
        let periods = Horizon::new(periods).unwrap();
        request.import_prices = PriceCurve::from_parts(periods, vec![0.1; 3]).unwrap();
        let model = SiteModel::new(&request, false);
        let charge = &model.columns[0].charge;
        assert_eq!(
            model.semis.iter().map(|semi| semi.next).collect::<Vec<_>>(),
            [Some(charge[1]), None, None]
        );
        assert_eq!(model.semis.iter().map(|semi| semi.least).collect::<Vec<_>>(), [2.0; 3]);
        let mut values = vec![0.0; model.program.columns.len()];
        let semi = model.semis[0];
        values[semi.level] = 6.0;
        assert_eq!((model.run_ends(&semi), model.ends_run(&semi, &values)), (vec![6.0], true));
        values[charge[1]] = 0.5;
        assert!(!model.ends_run(&semi, &values));
        (values[charge[1]], values[semi.level]) = (0.0, 5.9);
        assert!(!model.ends_run(&semi, &values));
    }

    #[test]
    fn a_missed_deadline_is_wanted_on_departure() {
        let mut car = car();
        // 18 kWh after an hour at 4 kW are out of reach, 12 are not.
        car.soc_targets = vec![soc_by(60, 90.0)];
        let far = model(&car, true);
        let late = far.misses[1];
        assert!(
            late.kind == MissKind::Late
                && far.misses[0].kind == MissKind::Target
                && far.guards.is_empty()
        );
        let level = far.columns[0].level[2];
        let mut rows = far.program.rows.iter();
        let row = rows.find(|row| row.terms.contains(&(late.column, 1.0))).unwrap();
        assert_eq!((row.lower, &row.terms), (18.0, &vec![(level, 1.0), (late.column, 1.0)]));
        car.soc_targets = vec![soc_by(60, 60.0)];
        let near = model(&car, true);
        let guard = &near.guards[0];
        assert_eq!((guard.gate, guard.least), (near.misses[0].column, 12.0));
        assert_eq!(guard.terms, [(near.columns[0].level[2], 1.0), (near.misses[1].column, 1.0)]);
        // Without discharging the level stays, and a row costs nothing.
        car.discharge = None;
        let charging = model(&car, true);
        assert!(charging.guards.is_empty() && charging.misses[1].kind == MissKind::Late);
    }

    #[test]
    fn the_worth_of_what_is_left_is_a_cost_with_a_sign() {
        let mut home = home(5.0, 10.0, 40.0);
        (home.battery.efficiency, home.discharge.efficiency) = (0.5, 0.8);
        home.discharge.wear = crate::units::per_kwh(0.25);
        home.end_value = crate::units::per_kwh(2.0);
        let model = SiteModel::new(&site(&[0], &[Device::Battery(home)]), false);
        let cost = |column: usize| model.program.columns[column].cost * model.unit;
        let columns = &model.columns[0];
        // A kWh in is worth 2·0.5, and one out costs 0.25 and 2/0.8; 4 kWh are there.
        assert_eq!((cost(columns.charge[0]), cost(columns.discharge[0].unwrap())), (-1.0, 2.75));
        assert!((model.constant + 8.0).abs() < 1e-12);
        assert_eq!(model.pairs[0].device, Some(0));
    }
}
