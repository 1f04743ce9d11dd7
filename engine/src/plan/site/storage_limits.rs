//! Limits of storages that vary in time, and storages above the level up to which they charge.
//!
//! In the slots of a limit, the power is at most that of the limit, and so is the level up to which
//! the storage charges. The level that a limit wants holds at all boundaries of its period, the
//! first and the last one included, as far as full power from the start reaches it; what is missing
//! counts as energy below the reserve does:
//!
//! ```text
//! c_t ≤ h_t·charge_max,   d_t ≤ h_t·discharge_max,   L_t + missing_t ≥ level_min_t
//! ```
//!
//! A storage may arrive above its charge limit. It keeps its level then, or discharges, and charges
//! again only where it is at the limit or below it after the slot:
//!
//! ```text
//! c_t = 0  or  L_t ≤ U_t          U_t: Storage::charge_until
//! ```
//!
//! Each is a [`Guard`], whose binary enters only if a solution breaks it. A storage that never
//! discharges cannot fall to its limit, and needs no guard: it does not charge at all.
use std::ops::Range;

use crate::plan::site::model::{Guard, SiteModel, StorageColumns};
use crate::plan::site::price_slots::SiteSlots;
use crate::plan::site::storage::Storage;
use crate::plan::storage::request::StorageLimit;
use crate::time::instant::micros_of;
use crate::tolerance::SITE_MIN_KWH;
use crate::units::{Percent, Power};

impl Storage {
    /// Applies limits that vary in time. A slot whose power is below the least power is not used.
    pub(crate) fn apply_limits(&mut self, limits: &[StorageLimit], grid: &SiteSlots) {
        let capacity = self.capacity.unwrap_or(0.0);
        let level = |soc: Percent| soc.as_percent() / 100.0 * capacity;
        let stay = self.stay.clone();
        let inside = |slot: &usize| stay.contains(slot);
        for limit in limits {
            let (start, end) = (micros_of(limit.start), micros_of(limit.end));
            for slot in grid.between(start, end).filter(inside) {
                let (index, hours) = (slot - stay.start, grid.hours[slot]);
                let lower = |energy: &mut f64, power: Option<Power>| {
                    *energy = power.map_or(*energy, |power| energy.min(power.as_kw() * hours));
                };
                lower(&mut self.charge_max[index], limit.charge_max);
                lower(&mut self.discharge_max[index], limit.discharge_max);
                if self.charge_max[index] < self.charge_min[index] {
                    self.charge_max[index] = 0.0;
                    self.charge_min[index] = 0.0;
                }
                let until = &mut self.charge_until[index];
                *until = limit.soc_max.map_or(*until, |soc| until.min(level(soc)));
            }
            for slot in stay.clone().filter(|&slot| is_boundary(grid, &stay, slot, (start, end))) {
                let least = &mut self.level_min[slot - stay.start];
                *least = limit.soc_min.map_or(*least, |soc| least.max(level(soc)));
            }
        }
        // A storage is not wanted above the level up to which it charges.
        for (least, until) in self.level_min.iter_mut().zip(&self.charge_until) {
            *least = least.min(*until);
        }
        self.levels_of_limits = self.level_min.iter().copied().filter(|&kwh| kwh > 0.0).collect();
        self.levels_of_limits.sort_by(f64::total_cmp);
        self.levels_of_limits.dedup();
    }

    /// Highest level that limits want after so many drives.
    pub(crate) fn most_wanted_in(&self, drives: usize) -> f64 {
        let slots = self.stay.clone().filter(|&slot| self.drives_before(slot + 1) == drives);
        slots.map(|slot| self.level_min[slot - self.stay.start]).fold(0.0, f64::max)
    }

    /// Forbids charging in the slots in which the level of a storage that only charges cannot be
    /// below the level up to which it charges.
    pub(crate) fn forbid_full_charges(&mut self) {
        if self.can_discharge() {
            return;
        }
        for (index, slot) in self.stay.clone().enumerate() {
            if self.bounds_in(slot).uncharged >= self.charge_until[index] {
                self.charge_max[index] = 0.0;
                self.charge_min[index] = 0.0;
            }
        }
    }

    /// True if the level may lie above the one up to which the storage charges in a slot.
    pub(crate) fn may_pass_limit(&self) -> bool {
        self.stay.clone().enumerate().any(|(index, slot)| self.may_pass_limit_in(index, slot))
    }

    /// True for one slot, at position `index` of the session.
    fn may_pass_limit_in(&self, index: usize, slot: usize) -> bool {
        let above = self.bounds_in(slot).ceiling - self.charge_until[index];
        self.charge_max[index] > 0.0 && above > SITE_MIN_KWH
    }
}

/// True if the end of a slot is a boundary of the period `[start, end]`: it lies in it, or it is the
/// last one before a start in time without a price.
fn is_boundary(
    grid: &SiteSlots,
    stay: &Range<usize>,
    slot: usize,
    (start, end): (i64, i64),
) -> bool {
    let at = grid.ends[slot];
    let is_last_before = at <= start && slot + 1 < stay.end && start < grid.starts[slot + 1];
    (start <= at && at <= end) || is_last_before
}

impl SiteModel {
    /// Adds a guard to each charge after which the level could be too high for charging.
    pub(crate) fn guard_charges(&mut self, storage: &Storage, columns: &StorageColumns) {
        for (index, slot) in storage.stay.clone().enumerate() {
            let Some(&level) = columns.level.get(index) else { return };
            if storage.may_pass_limit_in(index, slot) {
                self.guards.push(Guard {
                    gate: columns.charge[index],
                    terms: vec![(level, -1.0)],
                    least: -storage.charge_until[index],
                    lower: -storage.bounds_in(slot).ceiling,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::charge::vehicle::SocTarget;
    use crate::plan::site::device::{Device, StationaryBattery};
    use crate::plan::site::explain::explain;
    use crate::plan::site::planner::tests::{planned, powers_of};
    use crate::plan::site::problem::SiteProblem;
    use crate::plan::site::request::SiteRequest;
    use crate::plan::site::request::tests::{at, battery_of, van};
    use crate::plan::site::request::tests::{home, house, site};
    use crate::plan::site::verify::verify;
    use crate::units::{kw, per_kwh, percent};

    /// A battery of 10 kWh that starts at 9.5 kWh, above its limit of 8 kWh.
    fn above_limit() -> StationaryBattery {
        let mut battery = home(5.0, 10.0, 95.0);
        battery.battery.charge_limit = percent(80.0);
        battery
    }

    #[test]
    fn a_battery_above_its_charge_limit_is_not_charged_to_where_it_was() {
        let devices = [Device::Battery(above_limit()), house(&[5.0; 4])];
        let plan = planned(&site(&[40, 10, 40, 20], &devices));
        // From 4.5 kWh it charges to 8 kWh and no further.
        assert_eq!(powers_of(&plan, "home"), [-5.0, 3.5, -5.0, -3.0]);
        assert!((plan.cost.as_amount() - 1.25).abs() < 1e-9, "{:?}", plan.cost);
    }

    #[test]
    fn a_battery_above_its_charge_limit_keeps_what_is_worth_more_later() {
        let mut battery = above_limit();
        battery.end_value = per_kwh(0.5);
        let plan = planned(&site(&[40, 45], &[Device::Battery(battery), house(&[5.0; 2])]));
        assert_eq!(powers_of(&plan, "home"), [0.0, 0.0]);
    }

    #[test]
    fn only_charges_that_could_pass_the_limit_have_a_guard() {
        let model = |battery| SiteModel::new(&site(&[40, 10], &[Device::Battery(battery)]), false);
        let guarded = model(above_limit());
        assert_eq!(guarded.guards.len(), 2);
        let Guard { least, lower, .. } = guarded.guards[0];
        assert_eq!((least, lower), (-8.0, -9.5));
        assert!(model(home(5.0, 10.0, 95.0)).guards.is_empty());
    }

    /// A limit from one minute to another that limits nothing yet.
    fn limit(from: i64, to: i64) -> StorageLimit {
        StorageLimit {
            start: at(from),
            end: at(to),
            charge_max: None,
            discharge_max: None,
            soc_min: None,
            soc_max: None,
        }
    }

    /// Powers of a device, of a plan whose certificate and verification hold.
    fn verified(request: &SiteRequest, name: &str) -> Vec<f64> {
        let plan = planned(request);
        assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
        let checks = verify(&SiteProblem::new(request.clone()).unwrap(), &plan);
        assert!(checks.iter().all(crate::plan::verification::Check::holds), "{checks:?}");
        powers_of(&plan, name)
    }

    #[test]
    fn powers_are_limited_in_their_period_and_the_tightest_limit_applies() {
        let mut van = van("van", 5.0, 6.0);
        let lower =
            |from, to, power| StorageLimit { charge_max: Some(kw(power)), ..limit(from, to) };
        van.limits = vec![lower(0, 120, 2.0), lower(60, 180, 1.0)];
        let request = site(&[10, 20, 30, 40], &[Device::Vehicle(van.clone())]);
        assert_eq!(verified(&request, "van"), [2.0, 1.0, 1.0, 2.0]);
        // A limit below the least power leaves nothing.
        van.power_min = kw(1.5);
        let request = site(&[10, 20, 30, 40], &[Device::Vehicle(van)]);
        assert_eq!(verified(&request, "van"), [2.0, 0.0, 0.0, 4.0]);
        let mut battery = home(5.0, 10.0, 100.0);
        battery.limits = vec![StorageLimit { discharge_max: Some(kw(1.0)), ..limit(0, 60) }];
        let request = site(&[30, 10], &[Device::Battery(battery), house(&[4.0, 4.0])]);
        assert_eq!(verified(&request, "home"), [-1.0, -4.0]);
    }

    #[test]
    fn a_slot_is_cut_where_a_limit_begins() {
        let mut van = van("van", 4.0, 4.0);
        van.limits = vec![StorageLimit { charge_max: Some(kw(0.0)), ..limit(0, 30) }];
        let request = site(&[10, 20], &[Device::Vehicle(van)]);
        assert_eq!(verified(&request, "van"), [0.0, 4.0, 2.0]);
    }

    #[test]
    fn a_highest_level_ends_charging_and_forces_nobody_down() {
        let mut battery = home(5.0, 10.0, 80.0);
        battery.end_value = per_kwh(0.2);
        battery.limits = vec![StorageLimit { soc_max: Some(percent(50.0)), ..limit(0, 120) }];
        // Cheap energy is left in the first two hours, and the 8 kWh are kept.
        let devices = [Device::Battery(battery.clone())];
        assert_eq!(verified(&site(&[10, 10, 15], &devices), "home"), [0.0, 0.0, 2.0]);
        // After discharging for the house, it charges up to 5 kWh and no more.
        let devices = [Device::Battery(battery), house(&[5.0, 0.0, 0.0])];
        assert_eq!(verified(&site(&[50, 10, 30], &devices), "home"), [-5.0, 2.0, 0.0]);
    }

    #[test]
    fn a_vehicle_that_only_charges_stops_at_the_highest_level_of_the_hour() {
        let mut van = van("van", 5.0, 0.0);
        (van.battery, van.targets) = (Some(battery_of(10.0, 20.0)), Vec::new());
        van.soc_targets = vec![SocTarget { by: None, soc: Some(percent(90.0)) }];
        van.limits = vec![StorageLimit { soc_max: Some(percent(40.0)), ..limit(0, 60) }];
        let request = site(&[10, 30], &[Device::Vehicle(van.clone())]);
        assert_eq!(verified(&request, "van"), [2.0, 5.0]);
        van.soc_targets[0].soc = Some(percent(100.0));
        let plan = planned(&site(&[10, 30], &[Device::Vehicle(van)]));
        // 4 kWh and an hour at 5 kW lead to 9 kWh.
        assert!((plan.devices[0].shortfall.as_kwh() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_least_level_is_there_from_the_start_of_its_period_to_its_end() {
        let mut battery = home(5.0, 10.0, 0.0);
        battery.limits = vec![StorageLimit { soc_min: Some(percent(60.0)), ..limit(120, 180) }];
        let request = site(&[10, 20, 50, 30], &[Device::Battery(battery), house(&[5.0; 4])]);
        // Six kWh by the third hour, which keeps them; the last hour takes five of them.
        assert_eq!(verified(&request, "home"), [5.0, 5.0, -4.0, -5.0]);
        let plan = planned(&request);
        let reasons = explain(&request, &plan);
        let sentence = reasons[0].sentence(chrono_tz::UTC, "EUR");
        assert!(sentence.contains("before Mon 20:00"), "{sentence}");
    }

    #[test]
    fn a_least_level_out_of_reach_is_neared_as_fast_as_can_be() {
        let mut battery = home(2.0, 10.0, 0.0);
        battery.limits = vec![StorageLimit { soc_min: Some(percent(50.0)), ..limit(60, 180) }];
        let request = site(&[90, 80, 10], &[Device::Battery(battery)]);
        assert_eq!(verified(&request, "home"), [2.0, 2.0, 1.0]);
        let reasons = explain(&request, &planned(&request));
        assert_eq!(reasons.last().unwrap().code.as_str(), "reserve");
    }
}
