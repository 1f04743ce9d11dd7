//! Course of the level of a storage, from the energies at its plug alone.
//!
//! The linear programme plays no part in it. The energy that a drive lacks is therefore no choice
//! of the solver: it is the least with which the level does not fall below zero.
use std::ops::Range;

use crate::plan::site::goal::Goal;
use crate::plan::site::storage::Storage;

/// Levels of a storage in stored kWh.
#[derive(Debug, Clone)]
pub(crate) struct Course {
    /// Level at the start of each slot of the site and after the last one.
    pub(crate) levels: Vec<f64>,
    /// Levels `(before, after)` each drive, in time order.
    drives: Vec<(f64, f64)>,
}

impl Course {
    /// Course over the slots of a site, from the energies drawn and fed in each of them, in kWh at
    /// the plug.
    pub(crate) fn new(storage: &Storage, drawn: &[f64], fed: &[f64]) -> Self {
        let mut drives = Vec::with_capacity(storage.drives.len());
        let mut drive = |which: Range<usize>, level: f64| {
            which.fold(level, |before, index| {
                let after = storage.level_after_drives(index..index + 1, before);
                drives.push((before, after));
                after
            })
        };
        let mut level = storage.start;
        let mut levels = vec![level];
        for (slot, (drawn, fed)) in drawn.iter().zip(fed).enumerate() {
            level = drive(storage.drives_in(slot), level);
            level += drawn * storage.efficiency_in;
            level -= fed / storage.efficiency_out;
            levels.push(level);
        }
        drive(storage.drives_before(drawn.len())..storage.drives.len(), level);
        Self { levels, drives }
    }

    /// Level at the deadline of a goal.
    pub(crate) fn level_at(&self, storage: &Storage, goal: &Goal) -> f64 {
        let in_gap = storage.drives_in_gap(goal);
        if in_gap.is_empty() { self.levels[goal.slots] } else { self.drives[in_gap.end - 1].1 }
    }

    /// Stored energy that the first `count` drives took from the battery.
    pub(crate) fn driven(&self, count: usize) -> f64 {
        self.drives[..count].iter().map(|(before, after)| before - after).sum()
    }

    /// Boundary of slots from which on a goal can reach `wanted`: the first one, or the one after
    /// the last drive that led below it.
    pub(crate) fn begins_at(&self, storage: &Storage, goal: &Goal, wanted: f64) -> usize {
        let drives = storage.drives.iter().zip(&self.drives).take(goal.drives);
        let mut below = drives.filter(|(_, (_, after))| *after < wanted);
        below.next_back().map_or(0, |(drive, _)| drive.goal.slots + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::site::device::{Device, Vehicle};
    use crate::plan::site::price_slots::SiteSlots;
    use crate::plan::site::request::tests::{at, battery_of, discharge, site};
    use crate::plan::storage::request::Consumption;
    use crate::units::{kw, kwh};

    #[test]
    fn a_level_follows_from_what_is_drawn_fed_and_driven() {
        let mut car = Vehicle::new("car", kw(8.0));
        (car.battery, car.discharge) = (Some(battery_of(20.0, 50.0)), Some(discharge(4.0)));
        car.battery.as_mut().unwrap().efficiency = 0.5;
        car.discharge.as_mut().unwrap().efficiency = 0.8;
        let drive = |(from, energy)| {
            let (start, end) = (at(from), at(from + 30));
            Consumption { start, end, energy: kwh(energy), is_plugged_in: false }
        };
        car.consumption = [(60, 14.0), (200, 1.0), (240, 3.0)].map(drive).to_vec();
        let grid = SiteSlots::new(&site(&[10; 3], &[Device::Vehicle(car.clone())]));
        let storage = Storage::of_vehicle(&car, &grid, false);
        // The drive cuts the second hour in two.
        let course = Course::new(&storage, &[4.0, 0.0, 0.0, 8.0], &[0.0, 0.0, 0.0, 1.6]);
        // 10 + 2, less 12 of the 14 that are wanted, and 4 − 2 more.
        assert_eq!(course.levels, [10.0, 12.0, 0.0, 0.0, 2.0]);
        assert_eq!((course.driven(1), course.driven(2), course.driven(3)), (12.0, 13.0, 14.0));
        let before = |drive: usize| course.level_at(&storage, &storage.drives[drive].goal);
        assert_eq!((before(0), before(1), before(2)), (12.0, 2.0, 1.0));
        // What the first drive led below is looked for after it.
        let begins = |wanted: f64| course.begins_at(&storage, &storage.drives[1].goal, wanted);
        assert_eq!((begins(0.0), begins(1.0)), (0, 2));
    }
}
