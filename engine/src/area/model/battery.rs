//! Batteries of vehicles that also discharge, or that are filled at negative prices, ready for pricing.
//!
//! For energy `x` at the plug the stored energy changes by `e`, and the plan costs in a slot:
//!
//! ```text
//! e = η_c·x   for x > 0,      e = x / η_d   for x < 0
//! cost = price to buy·x - v·e      for x > 0
//! cost = price to sell·x - wear·e - v·e      for x < 0
//! ```
//!
//! | Symbol | Code |
//! |---|---|
//! | `e(x)`, `x(e)` | [`Battery::stored`], [`Battery::at_plug`] |
//! | `η_c`, `η_d` | `efficiency_charge`, `efficiency_discharge` of [`DynamicProgramme`] |
//! | `wear`, `v` | `wear_per_kwh`, `end_value_per_kwh` of [`DynamicProgramme`] |
use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::session::Session;
use crate::area::problem::area_problem::StorageColumns;
use crate::area::problem::micro_wh::{MICRO_WH_PER_KWH, as_kwh, to_micro_wh};
use crate::columns::batteries::{Batteries, BatteryPlanner, BatteryRow};
use crate::columns::fleet::{Fleet, Needs};
use crate::columns::row_error::RowError;
use crate::plan::storage::branch_and_bound::reached;
use crate::plan::storage::dynamic_programme::{DynamicProgramme, ProgrammeSlot};
use crate::plan::storage::slots::stored_by;
use crate::time::horizon::Horizon;
use crate::tolerance::{SHORTFALL_TOLERANCE, SHORTFALL_TOLERANCE_KWH};
use crate::units::Power;

/// Battery of one session, with the values of its pricing problem that no price changes.
#[derive(Debug, Clone)]
pub(crate) struct Battery {
    /// Checked values of the row.
    pub(crate) row: BatteryRow,
    /// Data of the segment method, without slots.
    pub(crate) programme: DynamicProgramme,
    /// First slot at whose end the reserve must be held.
    pub(crate) reserve_from: u32,
}

impl Battery {
    /// Reads and checks the battery of a row. The fleet must give its needs in percent.
    pub(crate) fn new(
        columns: &StorageColumns<'_>,
        fleet: &Fleet<'_>,
        row: usize,
    ) -> Result<Self, RowError> {
        let Needs::Soc { soc_percent, target_percent, capacity_kwh, reserve_percent, efficiency } =
            fleet.needs
        else {
            return Err(RowError::Missing { column: "capacity_kwh" });
        };
        // A vehicle that is filled does not discharge, and the value of what it stores does not
        // count, as where it is not filled.
        let discharges = columns.has(row);
        let of_discharging = |column| if discharges { column } else { None };
        let batteries = Batteries {
            arrival: fleet.arrival,
            departure: fleet.departure,
            capacity_kwh,
            soc_percent,
            target_percent: Some(target_percent),
            reserve_percent,
            charge_limit_percent: columns.charge_limit_percent,
            charge_max_kw: fleet.power_max_kw,
            discharge_max_kw: if discharges {
                columns.discharge_max_kw
            } else {
                fleet.power_max_kw
            },
            efficiency,
            efficiency_discharge: of_discharging(columns.efficiency_discharge),
            end_value_per_kwh: of_discharging(columns.end_value_per_kwh),
            wear_price_per_kwh: of_discharging(columns.wear_price_per_kwh),
            grid: None,
        };
        let mut planner = BatteryPlanner::default();
        let mut battery = planner.read(&batteries, row)?;
        if !discharges {
            battery.discharge_max = Power::ZERO;
        }
        Ok(Self { row: battery, programme: planner.programme, reserve_from: 0 })
    }

    /// Stored energy on arrival, in kWh.
    pub(crate) fn stored_kwh(&self) -> f64 {
        self.programme.stored_kwh
    }

    /// Lowers the target to the level `reach`, in kWh. Returns the stored energy to be gained by
    /// departure, in µWh, and the part of the target beyond it, in kWh (0 up to 1 µWh).
    pub(crate) fn need(&mut self, reach: f64) -> (i64, f64) {
        let stored = self.stored_kwh();
        let wanted = (self.row.target_kwh - stored).max(0.0);
        // Rounded down, so that the target stays within reach.
        let need = (wanted.min((reach - stored).max(0.0)) * MICRO_WH_PER_KWH).floor() as i64;
        let beyond = wanted - as_kwh(need);
        self.set_need(need);
        (need, if beyond * MICRO_WH_PER_KWH > 1.0 { beyond } else { 0.0 })
    }

    /// Sets the target to the level on arrival plus `need` µWh. A target below that level stays.
    pub(crate) fn set_need(&mut self, need: i64) {
        if self.row.target_kwh > self.stored_kwh() {
            self.row.target_kwh = self.stored_kwh() + as_kwh(need);
        }
    }

    /// Change of the stored energy, in kWh, for energy at the plug; both positive if it charges.
    pub(crate) fn stored(&self, plug_kwh: f64) -> f64 {
        if plug_kwh > 0.0 {
            plug_kwh * self.programme.efficiency_charge
        } else {
            plug_kwh / self.programme.efficiency_discharge
        }
    }

    /// Energy at the plug, in µWh, for a change of the stored energy.
    pub(crate) fn at_plug(&self, stored_kwh: f64) -> i64 {
        to_micro_wh(self.programme.at_plug(stored_kwh))
    }

    /// Stored energy at departure less that on arrival, in kWh.
    pub(crate) fn gained_kwh(&self, taken: &EnergyBySlot) -> f64 {
        taken.iter().map(|&(_, energy)| self.stored(as_kwh(energy))).sum()
    }

    /// Stored energy in µWh by which a plan misses the target at departure; 0 if it is at most
    /// [`SHORTFALL_TOLERANCE`].
    pub(crate) fn shortfall(&self, taken: &EnergyBySlot) -> i64 {
        let level = self.stored_kwh() + self.gained_kwh(taken);
        let missing = to_micro_wh(self.row.target_kwh - level);
        if missing > SHORTFALL_TOLERANCE { missing } else { 0 }
    }

    /// Cost of the energy of a slot at the prices to buy and sell at, with wear, less the end value
    /// of what is stored. `plug_kwh` is positive if the battery charges.
    #[inline(always)]
    pub(crate) fn cost(&self, plug_kwh: f64, import: f64, export: f64) -> f64 {
        let stored = self.stored(plug_kwh);
        self.programme.cost_of(stored, import, export) - self.programme.end_value_per_kwh * stored
    }

    /// First slot, not before `reserve_from`, from whose end on a plan keeps the levels `wanted`;
    /// these are in kWh, one for the end of each slot of the session.
    pub(crate) fn reserve_kept_from(
        &self,
        session: &Session,
        taken: &EnergyBySlot,
        wanted: &[f64],
    ) -> u32 {
        let mut level = self.stored_kwh();
        let mut from = self.reserve_from;
        let mut next = taken.iter().peekable();
        for (slot, wanted) in (session.first..session.end).zip(wanted) {
            while let Some(&(_, energy)) = next.next_if(|&&(at, _)| at == slot) {
                level += self.stored(as_kwh(energy));
            }
            if slot >= from && level < wanted - SHORTFALL_TOLERANCE_KWH {
                from = slot + 1;
            }
        }
        from
    }
}

/// Capacity that a vehicle can use in each slot of the horizon, in µWh at the plug.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FreeCapacity<'a> {
    /// Capacity for energy that is bought.
    pub(crate) import: &'a [i64],
    /// Capacity for energy that is sold, as positive numbers.
    pub(crate) export: &'a [i64],
}

/// Highest stored energy that full power reaches by the end of each slot from `first` to before
/// `last`, in kWh. `prices` gives the price to buy at of each slot, NaN in gaps.
pub(crate) fn highest_levels(
    prices: impl Fn(usize) -> f64,
    horizon: &Horizon,
    (first, last): (u32, u32),
    store: &Battery,
) -> Vec<f64> {
    let battery = &store.row;
    let mut reach = store.stored_kwh();
    let level = |slot: u32| {
        let slot = slot as usize;
        let start = horizon.starts()[slot].max(battery.from);
        let micros = horizon.ends()[slot].min(battery.to) - start;
        let eta = store.programme.efficiency_charge;
        // Nothing is charged in a gap of the prices.
        let charge =
            if prices(slot).is_nan() { 0.0 } else { stored_by(battery.charge_max, micros, eta) };
        let limit_kwh = battery.limit_kwh;
        let slot = ProgrammeSlot { charge_kwh: charge, limit_kwh, ..ProgrammeSlot::default() };
        reach = reached(reach, &slot);
        reach
    };
    (first..last).map(level).collect()
}
