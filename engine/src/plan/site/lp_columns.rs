//! Columns and rows of what stores energy.
use crate::plan::site::model::{Flow, Guard, Miss, Pair, Semi, SiteModel, StorageColumns};
use crate::plan::site::storage::{Goal, Storage};
use crate::tolerance::SITE_MIN_KWH;

impl SiteModel {
    /// Columns, goals and levels of a vehicle or battery.
    pub(crate) fn add_storage(&mut self, index: usize) {
        let Some(storage) = self.storages[index].clone() else { return };
        let mut columns = self.add_flows(index, &storage);
        if storage.needs_levels() {
            columns.level = self.add_levels(index, &storage, &columns);
        } else {
            self.add_sums(index, &storage, &columns);
        }
        if storage.discharge_from > storage.floor + SITE_MIN_KWH {
            let least = storage.discharge_from;
            let guard = |(discharge, &level): (&Option<usize>, &usize)| {
                discharge.map(|gate| Guard { gate, level, least, relief: None })
            };
            self.guards.extend(columns.discharge.iter().zip(&columns.level).filter_map(guard));
        }
        self.add_semis(index, &storage, &columns);
        self.columns[index] = columns;
    }

    fn add_flows(&mut self, device: usize, storage: &Storage) -> StorageColumns {
        let mut columns = StorageColumns::default();
        // What is stored at the end is worth money, whenever it was charged.
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
        self.constant -= storage.end_value * storage.start;
        columns
    }

    /// Charges of what cannot run below a least power.
    fn add_semis(&mut self, device: usize, storage: &Storage, columns: &StorageColumns) {
        if !storage.has_least_power() {
            return;
        }
        for (index, slot) in storage.stay.clone().enumerate() {
            let joins = |next: usize| self.grid.starts.get(next) == Some(&self.grid.ends[slot]);
            self.semis.push(Semi {
                column: columns.charge[index],
                least: storage.charge_min[index],
                device,
                level: columns.level[index],
                next: columns.charge.get(index + 1).copied().filter(|_| joins(slot + 1)),
            });
        }
    }

    /// Levels at which a run of a device may end with a top-off.
    pub(crate) fn run_ends(&self, semi: &Semi) -> Vec<f64> {
        self.storages[semi.device].as_ref().map_or_else(Vec::new, Storage::run_ends)
    }

    /// Whether a run reaches such a level in a slot, and ends there.
    pub(crate) fn ends_run(&self, semi: &Semi, values: &[f64]) -> bool {
        let is_end = |end: &f64| (values[semi.level] - end).abs() <= SITE_MIN_KWH;
        let is_last = semi.next.is_none_or(|next| values[next] <= SITE_MIN_KWH);
        is_last && self.run_ends(semi).iter().any(is_end)
    }

    /// The column of what a goal misses, in kWh at the plug.
    fn add_miss(&mut self, device: usize, storage: &Storage, goal: usize) -> usize {
        let wish = &storage.goals[goal];
        let most = (wish.reachable - storage.floor).max(0.0) / storage.efficiency_in;
        let column = self.add_column(0.0, 0.0, most);
        self.misses.push(Miss {
            column,
            energy: 1.0,
            priority: storage.priority,
            device,
            goal,
            slots: wish.slots,
            is_late: wish.target.is_none(),
        });
        column
    }

    /// Without discharging, sums of the charging up to each deadline.
    fn add_sums(&mut self, device: usize, storage: &Storage, columns: &StorageColumns) {
        let room = (storage.ceiling - storage.start).max(0.0) / storage.efficiency_in;
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
            // One row is both need and room where the sum is over all slots.
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

    /// Levels slot by slot, with their bounds, taper, reserve and goals.
    fn add_levels(
        &mut self,
        device: usize,
        storage: &Storage,
        columns: &StorageColumns,
    ) -> Vec<usize> {
        let hours: Vec<f64> = storage.stay.clone().map(|slot| self.grid.hours[slot]).collect();
        let full_power = storage.levels_at_full_power(&self.grid);
        let mut levels: Vec<usize> = Vec::with_capacity(hours.len());
        for (index, &charge) in columns.charge.iter().enumerate() {
            let level = self.add_column(0.0, storage.floor, storage.ceiling);
            let mut terms = vec![(level, 1.0), (charge, -storage.efficiency_in)];
            if let Some(discharge) = columns.discharge[index] {
                terms.push((discharge, 1.0 / storage.efficiency_out));
            }
            let start = match levels.last() {
                Some(&before) => {
                    terms.push((before, -1.0));
                    0.0
                }
                None => storage.start,
            };
            self.add_row(start, start, terms);
            for line in storage.taper.clone() {
                let terms = vec![(charge, 1.0), (level, line.fall * hours[index])];
                self.add_row(f64::NEG_INFINITY, line.at_zero * hours[index], terms);
            }
            let reserve = storage.reserve.min(full_power[index]);
            if reserve > storage.floor {
                let missing = self.add_column(0.0, 0.0, reserve - storage.floor);
                self.reserves.push((missing, hours[index]));
                self.add_row(reserve, f64::INFINITY, vec![(level, 1.0), (missing, 1.0)]);
            }
            levels.push(level);
        }
        for (index, goal) in storage.goals.iter().enumerate() {
            let slots = goal.slots.clamp(storage.stay.start, storage.stay.end) - storage.stay.start;
            if slots == 0 || goal.reachable <= storage.floor {
                continue;
            }
            let first = self.misses.len();
            let miss = self.add_miss(device, storage, index);
            let relief = (miss, storage.efficiency_in);
            if goal.target.is_none() && storage.can_discharge() {
                self.add_late(device, storage, (levels[slots - 1], relief), first);
                continue;
            }
            self.add_row(goal.reachable, f64::INFINITY, vec![(levels[slots - 1], 1.0), relief]);
        }
        levels
    }

    /// Level on departure of what can give back: it is held to a target only
    /// where that target was missed, by itself or beside the others.
    fn add_late(
        &mut self,
        device: usize,
        storage: &Storage,
        (level, relief): (usize, (usize, f64)),
        misses: usize,
    ) {
        let ended = |goal: &&Goal| goal.target.is_some() && goal.slots < storage.stay.end;
        let reachable = storage.goals.last().map_or(storage.floor, |goal| goal.reachable);
        let is_unreachable = |goal: &&Goal| goal.wanted - goal.reachable > SITE_MIN_KWH;
        let goals = storage.goals.iter().filter(ended);
        let always = goals.filter(is_unreachable).map(|goal| goal.wanted.min(reachable));
        let always = always.fold(storage.floor, f64::max);
        if always > storage.floor {
            self.add_row(always, f64::INFINITY, vec![(level, 1.0), relief]);
        }
        for miss in self.misses[..misses].iter().filter(|miss| miss.device == device) {
            let goal = &storage.goals[miss.goal];
            let least = goal.wanted.min(reachable);
            if ended(&goal) && !is_unreachable(&goal) && least > always {
                let relief = Some(relief);
                self.guards.push(Guard { gate: miss.column, level, least, relief });
            }
        }
    }
}
