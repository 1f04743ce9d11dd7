//! Storages that may not charge from the grid, or not discharge into it.
//!
//! The site imports `g_t` and exports `e_t` kWh in slot `t`. A storage `i` charges `c_it` and
//! discharges `d_it` kWh. Without leave to use the grid,
//!
//! ```text
//! c_it = 0  or  g_t = 0        Storage::charges_from_grid is false
//! d_it = 0  or  e_t = 0        Storage::discharges_to_grid is false
//! ```
//!
//! Each is a [`Guard`], whose binary enters only if a solution breaks it. The upper bounds of the
//! columns come first: with the fixed energy `fixed_t`, others that feed at most `f` kWh leave at
//! most `f − fixed_t` to charge, and others that draw at most `b` kWh take at most `b + fixed_t`.
use crate::plan::site::model::{Guard, SiteModel};

impl SiteModel {
    /// Lowers the upper bounds of charges and discharges without leave to use the grid to what all
    /// other devices can feed or draw in their slots.
    pub(crate) fn bound_grid_use(&mut self) {
        for (device, index, slot) in self.slots_without_grid() {
            let mut others = vec![1.0; self.storages.len()];
            others[device] = 0.0;
            let fixed = self.fixed_in(slot, None);
            let (least, most) = self.choice(slot, Some(&others));
            let (charge, discharge) = self.guarded(device, index);
            if let Some(charge) = charge {
                self.lower_upper_bound(charge, -(fixed + least));
            }
            if let Some(discharge) = discharge {
                self.lower_upper_bound(discharge, fixed + most);
            }
        }
    }

    fn lower_upper_bound(&mut self, column: usize, most: f64) {
        let column = &mut self.program.columns[column];
        column.upper = column.upper.min(most.max(0.0));
    }

    /// Adds a guard to each charge and discharge without leave to use the grid. It needs the
    /// columns of the meter.
    pub(crate) fn guard_grid_use(&mut self) {
        for (device, index, slot) in self.slots_without_grid() {
            let (charge, discharge) = self.guarded(device, index);
            if let Some(gate) = charge {
                let (terms, known) = self.import_terms(slot);
                self.add_idle_guard(gate, terms, (known, self.most_import(slot)));
            }
            // A slot without a meter cannot export.
            if let (Some(gate), Some(meter)) = (discharge, self.meters[slot]) {
                let most = self.program.columns[meter.export].upper;
                self.add_idle_guard(gate, vec![(meter.export, 1.0)], (0.0, most));
            }
        }
    }

    /// Adds the guard: `gate` is zero, or the sum of `terms` and `known` is at most zero. That sum
    /// is at most `most`. Columns that cannot break it need none.
    fn add_idle_guard(&mut self, gate: usize, terms: Vec<(usize, f64)>, (known, most): (f64, f64)) {
        if self.program.columns[gate].upper <= 0.0 || most <= 0.0 {
            return;
        }
        let terms = terms.into_iter().map(|(column, weight)| (column, -weight)).collect();
        self.guards.push(Guard { gate, terms, least: known, lower: known - most });
    }

    /// Slots of all storages without leave to use the grid, as `(device, index, slot)`: `index`
    /// counts from the first slot of the session.
    fn slots_without_grid(&self) -> Vec<(usize, usize, usize)> {
        let storages = self.storages.iter().enumerate();
        let storages = storages.filter_map(|(device, storage)| Some((device, storage.as_ref()?)));
        storages
            .filter(|(_, storage)| !storage.charges_from_grid || !storage.discharges_to_grid)
            .flat_map(|(device, storage)| {
                let stay = storage.stay.clone().enumerate();
                stay.map(move |(index, slot)| (device, index, slot))
            })
            .collect()
    }

    /// Columns `(charge, discharge)` of a storage that may not use the grid.
    fn guarded(&self, device: usize, index: usize) -> (Option<usize>, Option<usize>) {
        let Some(storage) = &self.storages[device] else { return (None, None) };
        let columns = &self.columns[device];
        let charge = (!storage.charges_from_grid).then(|| columns.charge[index]);
        let discharge = columns.discharge[index].filter(|_| !storage.discharges_to_grid);
        (charge, discharge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::site::device::Device;
    use crate::plan::site::plan::{Cause, SitePlan};
    use crate::plan::site::planner::plan_site;
    use crate::plan::site::problem::SiteProblem;
    use crate::plan::site::request::SiteRequest;
    use crate::plan::site::request::tests::{home, house, site, sun, van};
    use crate::prices::curve::tests::curve_of;

    fn planned(request: SiteRequest) -> SitePlan {
        let plan = plan_site(&SiteProblem::new(request).unwrap());
        assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
        plan
    }

    fn powers(plan: &SitePlan, device: usize) -> Vec<f64> {
        plan.devices[device].power.iter().map(|power| (power.as_kw() * 1e6).round() / 1e6).collect()
    }

    fn shy(mut vehicle: crate::plan::site::device::Vehicle) -> Device {
        vehicle.charge_from_grid = false;
        Device::Vehicle(vehicle)
    }

    #[test]
    fn what_may_not_charge_from_the_grid_takes_the_surplus() {
        let devices = [shy(van("van", 5.0, 6.0)), sun(&[0.0, 3.0, 2.0], false), house(&[1.0; 3])];
        let plan = planned(site(&[1, 30, 10], &devices));
        // 2 and 1 kWh are left by the house; the cheap hour has no sun.
        assert_eq!(powers(&plan, 0), [0.0, 2.0, 1.0]);
        let wish = &plan.devices[0].wishes[0];
        assert!((wish.shortfall.as_kwh() - 3.0).abs() < 1e-6);
        assert_eq!(wish.causes, [Cause::NoSurplus]);
    }

    #[test]
    fn one_that_charges_from_the_grid_moves_out_of_the_way() {
        // Both want 3 kWh. The sun gives 3 kWh in the first hour, which is the cheaper one for b.
        let free = Device::Vehicle(van("b", 3.0, 3.0));
        let devices = [shy(van("a", 3.0, 3.0)), free, sun(&[3.0, 0.0], false)];
        let plan = planned(site(&[10, 20], &devices));
        assert_eq!((powers(&plan, 0), powers(&plan, 1)), (vec![3.0, 0.0], vec![0.0, 3.0]));
        assert!((plan.cost.as_amount() - 0.6).abs() < 1e-6);
    }

    #[test]
    fn what_may_not_discharge_into_the_grid_feeds_the_house_alone() {
        let mut battery = home(5.0, 10.0, 100.0);
        battery.discharge.discharge_to_grid = false;
        let devices = [Device::Battery(battery), house(&[1.0, 2.0])];
        let mut request = site(&[30, 30], &devices);
        request.export_prices = Some(curve_of(60, &[25, 25]));
        assert_eq!(powers(&planned(request), 0), [-1.0, -2.0]);
    }

    #[test]
    fn a_battery_does_not_pass_solar_power_on_to_the_grid() {
        // 2 kW of the sun are sold in the first hour, so that the battery may not discharge in it.
        let mut battery = home(5.0, 10.0, 100.0);
        battery.discharge.discharge_to_grid = false;
        let devices = [Device::Battery(battery), sun(&[3.0, 0.0], false), house(&[1.0, 1.0])];
        let mut request = site(&[30, 30], &devices);
        request.export_prices = Some(curve_of(60, &[25, 25]));
        let plan = planned(request);
        assert_eq!(powers(&plan, 0), [0.0, -1.0]);
        assert!((plan.slots[0].export.as_kwh() - 2.0).abs() < 1e-6);
    }

    #[test]
    fn bounds_come_from_what_the_others_can_do() {
        let devices = [shy(van("van", 5.0, 6.0)), sun(&[3.0, 0.5], true), house(&[1.0; 2])];
        let model = SiteModel::new(&site(&[10, 10], &devices), false);
        let upper = |index: usize| model.program.columns[model.columns[0].charge[index]].upper;
        assert_eq!((upper(0), upper(1)), (2.0, 0.0));
        // The second hour cannot charge at all, and needs no guard.
        assert_eq!(model.guards.len(), 1);
    }
}
