//! Storages above the level up to which they charge.
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
use crate::plan::site::model::{Guard, SiteModel, StorageColumns};
use crate::plan::site::storage::Storage;
use crate::tolerance::SITE_MIN_KWH;

impl Storage {
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
    use crate::plan::site::device::{Device, StationaryBattery};
    use crate::plan::site::planner::tests::{planned, powers_of};
    use crate::plan::site::request::tests::{home, house, site};
    use crate::units::{per_kwh, percent};

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
}
