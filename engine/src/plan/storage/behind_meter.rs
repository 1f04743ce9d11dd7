//! Plan of one battery behind a meter, beside a net load that it does not decide on.
//!
//! # The problem
//!
//! The meter counts the sum of net load and battery, so a battery charges from a surplus at the
//! price to sell, which is then not earned, and covers load at the price to buy. With `n` the energy
//! of the net load in a slot (load less solar), `x` that of the battery at the plug, `p` the price
//! to buy and `q ≤ p` the price to sell, the battery changes the cost of the slot by
//!
//! ```text
//! g(x) = p·max(n + x, 0) − q·max(−n − x, 0) − g_0,    g(0) = 0
//! ```
//!
//! # The method
//!
//! `g` is convex with one kink at `x = −n`. A slot is cut there into at most two parts of the
//! [dynamic programme](super::dynamic_programme), which have one price each way:
//!
//! | Net load | First part charges, discharges | Second part charges, discharges |
//! |---|---|---|
//! | `n > 0` | all at `p`, up to `n` at `p` | nothing, the rest at `q` |
//! | `n < 0` | up to `−n` at `q`, all at `q` | the rest at `p`, nothing |
//!
//! A plan uses the parts in this order because `q ≤ p`. Both are of one period
//! (`DynamicProgramme::joined`): they charge or discharge, never both, also at negative prices.
//! The energy of a slot is spread evenly over it, at one power, so that it meets the net load.
use crate::plan::storage::branch_and_bound::{StorageBuffers, reached, solve};
use crate::plan::storage::dynamic_programme::{CostAndBound, DynamicProgramme, ProgrammeSlot};
use crate::units::MICROS_PER_HOUR;

/// Period of constant prices and constant net load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BehindMeterSlot {
    /// Start, in microseconds.
    pub(crate) start: i64,
    /// End, in microseconds.
    pub(crate) end: i64,
    /// Load less solar power, in kW.
    pub(crate) net_kw: f64,
    /// Price to buy, per kWh.
    pub(crate) import: f64,
    /// Price to sell, per kWh; at most the price to buy.
    pub(crate) export: f64,
}

/// Battery before its first slot. Energies are stored ones, powers are at the plug.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BehindMeterBattery {
    pub(crate) stored_kwh: f64,
    /// Energy that always remains; at most `stored_kwh`.
    pub(crate) least_kwh: f64,
    /// Energy at which charging ends; at least `stored_kwh`.
    pub(crate) most_kwh: f64,
    /// Energy wanted after the last slot.
    pub(crate) target_kwh: f64,
    pub(crate) charge_max_kw: f64,
    pub(crate) discharge_max_kw: f64,
    pub(crate) efficiency_charge: f64,
    pub(crate) efficiency_discharge: f64,
    /// Wear per stored kWh that is discharged.
    pub(crate) wear_per_kwh: f64,
}

/// Memory of the planner, reused from plan to plan.
#[derive(Debug, Default)]
pub(crate) struct MeteredPlanner {
    programme: DynamicProgramme,
    import: Vec<f64>,
    export: Vec<f64>,
    buffers: StorageBuffers,
}

impl MeteredPlanner {
    /// Plans a battery at the least cost and writes its power in each slot, in kW at the plug, to
    /// `powers_kw`; a negative power discharges. Cost and bound are those of `Σ g`.
    ///
    /// The target is reached as far as the battery can. Energy without gain is not moved.
    pub(crate) fn plan(
        &mut self,
        battery: &BehindMeterBattery,
        slots: &[BehindMeterSlot],
        powers_kw: &mut Vec<f64>,
    ) -> CostAndBound {
        self.begin(battery);
        for slot in slots {
            self.push(battery, slot);
        }
        self.set_levels(battery);
        let found = solve(&self.programme, &self.import, &self.export, &mut self.buffers);
        powers_kw.clear();
        let mut part = 0;
        for slot in slots {
            let mut change = self.buffers.change[part];
            part += 1;
            while self.programme.is_joined(part) {
                change += self.buffers.change[part];
                part += 1;
            }
            let hours = (slot.end - slot.start) as f64 / MICROS_PER_HOUR;
            powers_kw.push(self.programme.at_plug(change) / hours);
        }
        found
    }

    fn begin(&mut self, battery: &BehindMeterBattery) {
        let programme = &mut self.programme;
        programme.stored_kwh = battery.stored_kwh;
        programme.efficiency_charge = battery.efficiency_charge;
        programme.efficiency_discharge = battery.efficiency_discharge;
        programme.wear_per_kwh = battery.wear_per_kwh;
        programme.capacity_kwh = battery.most_kwh;
        programme.slots.clear();
        programme.joined.clear();
        self.import.clear();
        self.export.clear();
    }

    /// Adds the parts of a slot.
    fn push(&mut self, battery: &BehindMeterBattery, slot: &BehindMeterSlot) {
        let hours = (slot.end - slot.start) as f64 / MICROS_PER_HOUR;
        let fill = battery.charge_max_kw * hours * battery.efficiency_charge;
        let room = battery.discharge_max_kw * hours / battery.efficiency_discharge;
        let (import, export) = (slot.import, slot.export);
        // Stored energy for which the meter shows the other direction.
        let load = slot.net_kw.max(0.0) * hours / battery.efficiency_discharge;
        let surplus = (-slot.net_kw).max(0.0) * hours * battery.efficiency_charge;
        let has_kink = import > export;
        if has_kink && load > 0.0 {
            let covers = load.min(room);
            self.push_part(battery, (fill, covers), (import, import), false);
            if room > covers {
                self.push_part(battery, (0.0, room - covers), (import, export), true);
            }
        } else if has_kink && surplus > 0.0 {
            let takes = surplus.min(fill);
            self.push_part(battery, (takes, room), (export, export), false);
            if fill > takes {
                self.push_part(battery, (fill - takes, 0.0), (import, export), true);
            }
        } else {
            self.push_part(battery, (fill, room), (import, export), false);
        }
    }

    fn push_part(
        &mut self,
        battery: &BehindMeterBattery,
        (charge_kwh, discharge_kwh): (f64, f64),
        (import, export): (f64, f64),
        is_joined: bool,
    ) {
        self.programme.slots.push(ProgrammeSlot {
            charge_kwh,
            discharge_kwh,
            limit_kwh: battery.most_kwh,
            ..ProgrammeSlot::default()
        });
        self.programme.joined.push(is_joined);
        self.import.push(import);
        self.export.push(export);
    }

    /// Sets the levels of all parts from the fullest path, as [`super::slots`] does.
    fn set_levels(&mut self, battery: &BehindMeterBattery) {
        let (mut reach, mut most) = (battery.stored_kwh, battery.stored_kwh);
        for slot in &mut self.programme.slots {
            slot.drop_useless_power(reach, most);
            reach = reached(reach, slot).max(0.0);
            slot.most_kwh = slot.limit_kwh.max(reach);
            most = slot.most_kwh;
            slot.least_kwh = battery.least_kwh.min(reach);
        }
        if let Some(last) = self.programme.slots.last_mut() {
            last.least_kwh = last.least_kwh.max(battery.target_kwh.min(reach));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: i64 = 3_600_000_000;

    fn battery() -> BehindMeterBattery {
        BehindMeterBattery {
            stored_kwh: 2.0,
            least_kwh: 0.0,
            most_kwh: 4.0,
            target_kwh: 2.0,
            charge_max_kw: 2.0,
            discharge_max_kw: 2.0,
            efficiency_charge: 0.9,
            efficiency_discharge: 0.9,
            wear_per_kwh: 0.0,
        }
    }

    /// Hours of (net kW, price to buy, price to sell).
    fn hours(slots: &[(f64, f64, f64)]) -> Vec<BehindMeterSlot> {
        let slot =
            |(index, &(net_kw, import, export)): (usize, &(f64, f64, f64))| BehindMeterSlot {
                start: index as i64 * HOUR,
                end: (index as i64 + 1) * HOUR,
                net_kw,
                import,
                export,
            };
        slots.iter().enumerate().map(slot).collect()
    }

    /// Cost of hours with a battery, less that without it.
    fn cost(slots: &[BehindMeterSlot], powers_kw: &[f64], battery: &BehindMeterBattery) -> f64 {
        let bill = |slot: &BehindMeterSlot, net: f64| {
            if net > 0.0 { slot.import * net } else { slot.export * net }
        };
        let cost = |(slot, &power): (&BehindMeterSlot, &f64)| {
            let wear = (-power).max(0.0) / battery.efficiency_discharge * battery.wear_per_kwh;
            bill(slot, slot.net_kw + power) - bill(slot, slot.net_kw) + wear
        };
        slots.iter().zip(powers_kw).map(cost).sum()
    }

    /// Least cost over all paths on a grid of stored energies, by trying all: a second method.
    fn least_cost(battery: &BehindMeterBattery, slots: &[BehindMeterSlot], levels: usize) -> f64 {
        let level = |index: usize| battery.most_kwh * index as f64 / (levels - 1) as f64;
        let is_start = |level: f64| (level - battery.stored_kwh).abs() < 1e-9;
        let mut costs: Vec<f64> =
            (0..levels).map(|at| if is_start(level(at)) { 0.0 } else { f64::INFINITY }).collect();
        for slot in slots {
            let step = |to: usize| {
                let from = |from: usize| {
                    let change = level(to) - level(from);
                    let power = if change > 0.0 {
                        change / battery.efficiency_charge
                    } else {
                        change * battery.efficiency_discharge
                    };
                    let is_possible = power <= battery.charge_max_kw + 1e-9
                        && power >= -battery.discharge_max_kw - 1e-9;
                    let own = cost(std::slice::from_ref(slot), &[power], battery);
                    if is_possible { costs[from] + own } else { f64::INFINITY }
                };
                (0..levels).map(from).fold(f64::INFINITY, f64::min)
            };
            costs = (0..levels).map(step).collect();
        }
        let is_enough = |&at: &usize| level(at) >= battery.target_kwh - 1e-9;
        (0..levels).filter(is_enough).map(|at| costs[at]).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn a_surplus_is_kept_for_the_evening() {
        // 1 kW is left over at noon, which would earn 0.05; in the evening 2 kW cost 0.40.
        let slots = hours(&[(-1.0, 0.35, 0.05), (2.0, 0.40, 0.05)]);
        let mut powers = Vec::new();
        let found = MeteredPlanner::default().plan(&battery(), &slots, &mut powers);
        // 0.9 of the kWh are stored, of which 0.81 kWh come back.
        assert!((powers[0] - 1.0).abs() < 1e-9 && (powers[1] + 0.81).abs() < 1e-9, "{powers:?}");
        assert!((found.cost - (0.05 - 0.81 * 0.40)).abs() < 1e-9, "{found:?}");
        assert!((found.bound - found.cost).abs() < 1e-9);
    }

    proptest! {
        /// Plans are as cheap as the cheapest path on a fine grid, also at negative prices, where
        /// the two parts of a slot must not move energy in opposite directions.
        #[test]
        fn no_path_on_a_grid_is_cheaper(
            data in prop::collection::vec((-30..30i32, -40..40i32, 0..30i32), 1..7),
            wear in prop::sample::select(vec![0.0, 0.03]), stored in 0..5u32,
            efficiency in prop::sample::select(vec![1.0, 0.8]),
        ) {
            let hour = |&(net, import, spread): &(i32, i32, i32)| {
                (f64::from(net) / 10.0, f64::from(import) / 100.0, f64::from(import - spread) / 100.0)
            };
            let slots = hours(&data.iter().map(hour).collect::<Vec<_>>());
            let battery = BehindMeterBattery {
                stored_kwh: f64::from(stored),
                efficiency_charge: efficiency,
                efficiency_discharge: efficiency,
                wear_per_kwh: wear,
                ..battery()
            };
            let mut powers = Vec::new();
            let found = MeteredPlanner::default().plan(&battery, &slots, &mut powers);
            let paid = cost(&slots, &powers, &battery);
            prop_assert!((found.cost - paid).abs() < 1e-9, "{found:?} {paid}");
            prop_assert!((found.cost - found.bound).abs() < 1e-8, "{found:?}");
            let mut level = battery.stored_kwh;
            for &power in &powers {
                level += if power > 0.0 { power * efficiency } else { power / efficiency };
                prop_assert!((-1e-9..=battery.most_kwh + 1e-9).contains(&level), "{level}");
            }
            // Levels of a grid are not those of the optimum, so its cost can only be higher.
            let least = least_cost(&battery, &slots, 41);
            prop_assert!(paid <= least + 1e-9, "{paid} {least}");
            prop_assert!(least.is_infinite() || paid >= least - 0.2, "{paid} {least}");
        }
    }
}
