//! Vehicles of an area that also discharge, made ready for pricing.
use crate::area::model::energy_by_slot::EnergyBySlot;
use crate::area::model::session::Session;
use crate::area::problem::area_problem::StorageColumns;
use crate::area::problem::micro_wh::{MICRO_WH_PER_KWH, SHORTFALL_TOLERANCE, as_kwh, to_micro_wh};
use crate::columns::batteries::{Batteries, BatteryPlanner, BatteryRow};
use crate::columns::fleet::{Fleet, Needs};
use crate::columns::row_error::RowError;
use crate::plan::storage::branch_and_bound::reached;
use crate::plan::storage::dynamic_programme::{DynamicProgramme, ProgrammeSlot};
use crate::plan::storage::slots::stored_by;

/// A battery that is asked many times.
#[derive(Debug, Clone)]
pub(crate) struct Battery {
    pub(crate) row: BatteryRow,
    /// The kernel of the battery, but for its slots.
    pub(crate) kernel: DynamicProgramme,
    /// First slot after which the reserve holds.
    pub(crate) reserve_from: u32,
}

impl Battery {
    /// The battery of a row, and the stored energy that its stay is too short for.
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
        let batteries = Batteries {
            arrival: fleet.arrival,
            departure: fleet.departure,
            capacity_kwh,
            soc_percent,
            target_percent: Some(target_percent),
            reserve_percent,
            charge_limit_percent: columns.charge_limit_percent,
            charge_max_kw: fleet.power_max_kw,
            discharge_max_kw: columns.discharge_max_kw,
            efficiency,
            efficiency_discharge: columns.efficiency_discharge,
            end_value_per_kwh: columns.end_value_per_kwh,
            wear_price_per_kwh: columns.wear_price_per_kwh,
            grid: None,
        };
        let mut desk = BatteryPlanner::default();
        let battery = desk.read(&batteries, row).map_err(|error| match error {
            // The fleet has one name for the power of both kinds of vehicles.
            RowError::Missing { column: "charge_max_kw" } => {
                RowError::Missing { column: "power_max_kw" }
            }
            error => error,
        })?;
        Ok(Self { row: battery, kernel: desk.kernel, reserve_from: 0 })
    }

    /// Stored energy on arrival.
    pub(crate) fn stored_kwh(&self) -> f64 {
        self.kernel.stored_kwh
    }

    /// Stored energy of a row to be had by departure, within what `reach` allows,
    /// and what is beyond that.
    pub(crate) fn need(&mut self, reach: f64) -> (i64, f64) {
        let stored = self.stored_kwh();
        let wanted = (self.row.target_kwh - stored).max(0.0);
        let need = (wanted.min((reach - stored).max(0.0)) * MICRO_WH_PER_KWH).floor() as i64;
        let beyond = wanted - as_kwh(need);
        self.set_need(need);
        (need, if beyond * MICRO_WH_PER_KWH > 1.0 { beyond } else { 0.0 })
    }

    /// Wishes for just so much stored energy; a target below the level on
    /// arrival stays.
    pub(crate) fn set_need(&mut self, need: i64) {
        if self.row.target_kwh > self.stored_kwh() {
            self.row.target_kwh = self.stored_kwh() + as_kwh(need);
        }
    }

    /// Stored energy for energy at the plug.
    pub(crate) fn stored(&self, plug_kwh: f64) -> f64 {
        if plug_kwh > 0.0 {
            plug_kwh * self.kernel.efficiency_charge
        } else {
            plug_kwh / self.kernel.efficiency_discharge
        }
    }

    /// Energy at the plug for a change of what is stored.
    pub(crate) fn at_plug(&self, stored_kwh: f64) -> i64 {
        to_micro_wh(self.kernel.at_plug(stored_kwh))
    }

    /// Stored energy at departure beyond that on arrival.
    pub(crate) fn gained_kwh(&self, taken: &EnergyBySlot) -> f64 {
        taken.iter().map(|&(_, energy)| self.stored(as_kwh(energy))).sum()
    }

    /// Stored energy that a plan leaves missing at departure.
    pub(crate) fn shortfall(&self, taken: &EnergyBySlot) -> i64 {
        let level = self.stored_kwh() + self.gained_kwh(taken);
        let missing = to_micro_wh(self.row.target_kwh - level);
        if missing > SHORTFALL_TOLERANCE { missing } else { 0 }
    }

    /// What energy of a slot costs, wear and the value of what is stored included.
    #[inline(always)]
    pub(crate) fn cost(&self, plug_kwh: f64, import: f64, export: f64) -> f64 {
        let stored = self.stored(plug_kwh);
        self.kernel.cost_of(stored, import, export) - self.kernel.end_value_per_kwh * stored
    }

    /// Levels at the end of each slot of the stay, and the first slot from
    /// which on the reserve holds, if `wanted` levels are what it should reach.
    pub(crate) fn reserve_kept_from(
        &self,
        session: &Session,
        taken: &EnergyBySlot,
        wanted: &[f64],
    ) -> u32 {
        let mut level = self.stored_kwh();
        let mut from = self.reserve_from;
        let mut next = taken.iter().peekable();
        for (slot, wanted) in (session.first..session.last).zip(wanted) {
            while let Some(&(_, energy)) = next.next_if(|&&(at, _)| at == slot) {
                level += self.stored(as_kwh(energy));
            }
            if slot >= from && level < wanted - as_kwh(SHORTFALL_TOLERANCE) {
                from = slot + 1;
            }
        }
        from
    }
}

/// Room of a vehicle in each slot, in grains at the plug.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FreeCapacity<'a> {
    /// For energy that is bought.
    pub(crate) import: &'a [i64],
    /// For energy that is sold.
    pub(crate) export: &'a [i64],
}

/// Most stored energy at the end of each slot, and at departure.
pub(crate) fn highest_levels(
    prices: impl Fn(usize) -> f64,
    horizon: &crate::time::horizon::Horizon,
    (first, last): (u32, u32),
    store: &Battery,
) -> Vec<f64> {
    let battery = &store.row;
    let mut reach = store.stored_kwh();
    let level = |slot: u32| {
        let slot = slot as usize;
        let start = horizon.starts()[slot].max(battery.from);
        let micros = horizon.ends()[slot].min(battery.to) - start;
        let eta = store.kernel.efficiency_charge;
        let charge =
            if prices(slot).is_nan() { 0.0 } else { stored_by(battery.charge_max, micros, eta) };
        let limit_kwh = battery.limit_kwh;
        let slot = ProgrammeSlot { charge_kwh: charge, limit_kwh, ..ProgrammeSlot::default() };
        reach = reached(reach, &slot);
        reach
    };
    (first..last).map(level).collect()
}
