//! Vehicles of an area that also discharge: the fourth way to answer.
//!
//! At given prices such a vehicle is asked by the segment method of
//! [`crate::plan::storage`]. What it would go without is a last slot in which
//! stored energy can be had at what it is worth; so a target that limits
//! leave no room for is shed like the need of any other vehicle.
use crate::area::asked::Asked;
use crate::area::fleet::{Curves, Fleet, Needs, RowError};
use crate::area::grains::{GRAINS_IGNORED, GRAINS_PER_KWH, as_kwh, grains};
use crate::area::settle::Taken;
use crate::area::stays::Stay;
use crate::area::storage::{Batteries, Battery, Desk};
use crate::plan::storage::branch::reached;
use crate::plan::storage::kernel::{self, Kernel, KernelSlot, changes};
use crate::plan::storage::layout::{stored_by, taken_by};

/// Stands for a vehicle that only charges.
pub(crate) const NO_STORE: u32 = u32::MAX;

/// What vehicles that discharge have besides the columns of a fleet, which
/// then gives needs in percent. NaN is a missing number.
#[derive(Debug, Clone, Copy)]
pub struct StorageColumns<'a> {
    /// Highest discharging power, in kW. A vehicle that has none, or 0, only charges.
    pub discharge_max_kw: &'a [f64],
    /// Energy at the plug per stored energy; 1 where missing.
    pub efficiency_discharge: Option<&'a [f64]>,
    /// Where charging ends, in percent; 100 where missing.
    pub charge_limit_percent: Option<&'a [f64]>,
    /// Value of a kWh stored at departure; 0 where missing.
    pub end_value_per_kwh: Option<&'a [f64]>,
    /// Wear per stored kWh that is discharged; 0 where missing.
    pub wear_price_per_kwh: Option<&'a [f64]>,
    /// Prices to sell at, in the same slots and, with curves of their own, in
    /// the same rows as those to buy at. Without them nothing is sold.
    pub export: Option<Curves<'a>>,
}

impl StorageColumns<'_> {
    /// Whether a row is a vehicle that discharges.
    pub(crate) fn has(&self, row: usize) -> bool {
        // A number below zero is one as well: an error in its row.
        let power = self.discharge_max_kw[row];
        !power.is_nan() && power != 0.0
    }

    /// What a kWh at the plug is to be multiplied with at most to be a stored
    /// one that was bought and sold, and the most that wear and the end value add.
    pub(crate) fn dearest(&self, fleet: &Fleet<'_>) -> (f64, f64) {
        let charged = match fleet.needs {
            Needs::Soc { efficiency, .. } => efficiency,
            Needs::Energy { .. } => None,
        };
        let least = |column: Option<&[f64]>| {
            let known = column.into_iter().flatten().filter(|value| **value > 0.0);
            known.fold(1.0, |least: f64, &value| least.min(value))
        };
        let most = |column: Option<&[f64]>| {
            let known = column.into_iter().flatten().filter(|value| value.is_finite());
            known.fold(0.0, |most: f64, &value| most.max(value.abs()))
        };
        let lost = least(charged) * least(self.efficiency_discharge);
        let added = most(self.wear_price_per_kwh) + most(self.end_value_per_kwh);
        // Efficiencies near zero are errors of their rows, or sell nothing.
        (1.0 / lost.max(1e-2), 2.0 * added)
    }

    /// Most energy that those vehicles move, both ways, in kWh.
    pub(crate) fn energy_most_kwh(&self, fleet: &Fleet<'_>, hours: f64) -> f64 {
        let power = |row: usize| fleet.power_max_kw[row].abs() + self.discharge_max_kw[row].abs();
        let powers = (0..fleet.len()).filter(|&row| self.has(row)).map(power);
        powers.filter(|power| power.is_finite()).sum::<f64>() * hours
    }
}

/// A battery that is asked many times.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    pub(crate) battery: Battery,
    /// The kernel of the battery, but for its slots.
    kernel: Kernel,
    /// First slot after which the reserve holds.
    pub(crate) reserve_from: u32,
}

impl Store {
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
        let mut desk = Desk::default();
        let battery = desk.read(&batteries, row).map_err(|error| match error {
            // The fleet has one name for the power of both kinds of vehicles.
            RowError::Missing { column: "charge_max_kw" } => {
                RowError::Missing { column: "power_max_kw" }
            }
            error => error,
        })?;
        Ok(Self { battery, kernel: desk.kernel, reserve_from: 0 })
    }

    /// Stored energy on arrival.
    pub(crate) fn stored_kwh(&self) -> f64 {
        self.kernel.stored_kwh
    }

    /// Stored energy of a row to be had by departure, within what `reach` allows,
    /// and what is beyond that.
    pub(crate) fn need(&mut self, reach: f64) -> (i64, f64) {
        let stored = self.stored_kwh();
        let wanted = (self.battery.target_kwh - stored).max(0.0);
        let need = (wanted.min((reach - stored).max(0.0)) * GRAINS_PER_KWH).floor() as i64;
        let beyond = wanted - as_kwh(need);
        self.set_need(need);
        (need, if beyond * GRAINS_PER_KWH > 1.0 { beyond } else { 0.0 })
    }

    /// Wishes for just so much stored energy; a target below the level on
    /// arrival stays.
    pub(crate) fn set_need(&mut self, need: i64) {
        if self.battery.target_kwh > self.stored_kwh() {
            self.battery.target_kwh = self.stored_kwh() + as_kwh(need);
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
    pub(crate) fn plug(&self, stored_kwh: f64) -> i64 {
        grains(self.kernel.at_plug(stored_kwh))
    }

    /// Stored energy at departure beyond that on arrival.
    pub(crate) fn gained_kwh(&self, taken: &Taken) -> f64 {
        taken.iter().map(|&(_, energy)| self.stored(as_kwh(energy))).sum()
    }

    /// Stored energy that a plan leaves missing at departure.
    pub(crate) fn missing(&self, taken: &Taken) -> i64 {
        let level = self.stored_kwh() + self.gained_kwh(taken);
        let missing = grains(self.battery.target_kwh - level);
        if missing > GRAINS_IGNORED { missing } else { 0 }
    }

    /// What energy of a slot costs, wear and the value of what is stored included.
    #[inline(always)]
    pub(crate) fn cost(&self, plug_kwh: f64, import: f64, export: f64) -> f64 {
        let stored = self.stored(plug_kwh);
        self.kernel.cost_of(stored, import, export) - self.kernel.end_value_per_kwh * stored
    }

    /// Levels at the end of each slot of the stay, and the first slot from
    /// which on the reserve holds, if `wanted` levels are what it should reach.
    pub(crate) fn reserve_kept_from(&self, stay: &Stay, taken: &Taken, wanted: &[f64]) -> u32 {
        let mut level = self.stored_kwh();
        let mut from = self.reserve_from;
        let mut next = taken.iter().peekable();
        for (slot, wanted) in (stay.first..stay.last).zip(wanted) {
            while let Some(&(_, energy)) = next.next_if(|&&(at, _)| at == slot) {
                level += self.stored(as_kwh(energy));
            }
            if slot >= from && level < wanted - as_kwh(GRAINS_IGNORED) {
                from = slot + 1;
            }
        }
        from
    }
}

impl Store {
    /// Whether a plan keeps powers and levels, and sells only at a price.
    pub(crate) fn allows(&self, asked: &Asked<'_>, stay: &Stay, taken: &Taken) -> bool {
        let (horizon, battery) = (asked.horizon(), &self.battery);
        let tolerance = as_kwh(GRAINS_IGNORED);
        let wanted = {
            let prices = |slot| asked.prices_of(stay, slot).0;
            reaches(prices, horizon, (stay.first, stay.last), self)
        };
        let mut level = self.stored_kwh();
        let most = battery.limit_kwh.max(level) + tolerance;
        let mut next = taken.iter().peekable();
        for (slot, reach) in (stay.first..stay.last).zip(wanted) {
            if let Some(&(at, energy)) = next.next_if(|&&(at, _)| at == slot) {
                let slot = at as usize;
                let start = horizon.starts()[slot].max(battery.from);
                let micros = horizon.ends()[slot].min(battery.to) - start;
                let (import, export) = asked.prices_of(stay, slot);
                let (power, price) = if energy > 0 {
                    (battery.charge_max, import)
                } else {
                    (battery.discharge_max, export)
                };
                let full = power.over_micros(micros).as_kwh() + tolerance;
                if price.is_nan() || as_kwh(energy).abs() > full {
                    return false;
                }
                level += self.stored(as_kwh(energy));
            }
            let is_kept = slot >= self.reserve_from;
            let least = if is_kept { battery.reserve_kwh.min(reach) } else { 0.0 };
            if level < least - tolerance || level > most {
                return false;
            }
        }
        true
    }
}

/// Room of a vehicle in each slot, in grains at the plug.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Free<'a> {
    /// For energy that is bought.
    pub(crate) up: &'a [i64],
    /// For energy that is sold.
    pub(crate) down: &'a [i64],
}

/// Room for the slots of one battery.
#[derive(Debug, Default)]
pub(crate) struct StoreScratch {
    kernel: Kernel,
    import: Vec<f64>,
    export: Vec<f64>,
    memory: kernel::Scratch,
}

/// What a battery does beyond its loads.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Served {
    /// Need that it goes without.
    pub(crate) missing: i64,
    /// Most by which its answer costs more than the best.
    pub(crate) slack: f64,
}

/// What one battery does when limits add to its prices. `buy` is called with
/// each slot and its energy, negative where it discharges.
pub(crate) fn by_segments(
    asked: &Asked<'_>,
    stay: &Stay,
    added: &[f64],
    free: Option<Free<'_>>,
    scratch: &mut StoreScratch,
    mut buy: impl FnMut(usize, i64),
) -> Served {
    let store = &asked.stays.stores[stay.store as usize];
    scratch.lay_out(asked, stay, store, free);
    scratch.put_prices(asked, stay, store, added);
    let StoreScratch { kernel, import, export, memory } = scratch;
    let answer = changes(kernel, import, export, memory);
    let count = (stay.last - stay.first) as usize;
    let mut served = Served { missing: 0, slack: (answer.cost - answer.bound).max(0.0) };
    for (at, &change) in memory.change.iter().enumerate() {
        if at >= count {
            served.missing += grains(change);
            continue;
        }
        let slot = stay.first as usize + at;
        let mut energy = grains(kernel.at_plug(change));
        if let Some(free) = free {
            energy = energy.clamp(-free.down[slot], free.up[slot]);
        }
        if energy != 0 {
            let price = if energy > 0 { import[at] } else { export[at] };
            served.slack += price.abs() / GRAINS_PER_KWH;
            buy(slot, energy);
        }
    }
    served
}

impl StoreScratch {
    /// The slots of a battery, and behind them those of going without.
    fn lay_out(&mut self, asked: &Asked<'_>, stay: &Stay, store: &Store, free: Option<Free<'_>>) {
        let (battery, horizon) = (&store.battery, asked.horizon());
        let kernel = &mut self.kernel;
        let slots = std::mem::take(&mut kernel.slots);
        *kernel = store.kernel.clone();
        kernel.slots = slots;
        kernel.slots.clear();
        let mut reach = kernel.stored_kwh;
        let mut most = reach;
        for at in stay.first..stay.last {
            let slot = at as usize;
            let start = horizon.starts()[slot].max(battery.from);
            let micros = horizon.ends()[slot].min(battery.to) - start;
            let (import, export) = asked.prices_of(stay, slot);
            let (eta, eta_down) = (kernel.efficiency_charge, kernel.efficiency_discharge);
            let mut made = KernelSlot { limit_kwh: battery.limit_kwh, ..KernelSlot::default() };
            if !import.is_nan() {
                made.charge_kwh = stored_by(battery.charge_max, micros, eta);
                if !export.is_nan() {
                    made.discharge_kwh = taken_by(battery.discharge_max, micros, eta_down);
                }
            }
            if let Some(free) = free {
                let fits = |most: f64, room: f64| {
                    if stay.whole && room < most { 0.0 } else { most.min(room) }
                };
                made.charge_kwh = fits(made.charge_kwh, as_kwh(free.up[slot]) * eta);
                made.discharge_kwh = fits(made.discharge_kwh, as_kwh(free.down[slot]) / eta_down);
            }
            made.drop_useless_power(reach, most);
            reach = reached(reach, &made);
            most = battery.limit_kwh.max(reach);
            made.most_kwh = most;
            let is_kept = at >= store.reserve_from;
            made.least_kwh = if is_kept { battery.reserve_kwh.min(reach) } else { 0.0 };
            kernel.slots.push(made);
        }
        let target = battery.target_kwh;
        // Whoever is never there while prices are known keeps the level of its arrival.
        let nowhere = KernelSlot {
            limit_kwh: battery.limit_kwh,
            most_kwh: battery.limit_kwh.max(reach),
            ..KernelSlot::default()
        };
        let last = kernel.slots.last().copied().unwrap_or(nowhere);
        for tier in 0..asked.worth.tiers {
            let missing = as_kwh(asked.worth.part(stay.need, tier));
            kernel.slots.push(KernelSlot { charge_kwh: missing, discharge_kwh: 0.0, ..last });
            reach = (reach + missing).min(last.limit_kwh.max(reach));
        }
        if let Some(last) = kernel.slots.last_mut() {
            last.least_kwh = last.least_kwh.max(target.min(reach));
        }
    }

    /// The prices of those slots.
    fn put_prices(&mut self, asked: &Asked<'_>, stay: &Stay, store: &Store, added: &[f64]) {
        self.import.clear();
        self.export.clear();
        let of_stay = &added[stay.first as usize..stay.last as usize];
        for (slot, added) in (stay.first as usize..).zip(of_stay) {
            let (import, export) = asked.prices_of(stay, slot);
            self.import.push(import + added);
            self.export.push(export + added);
        }
        if asked.is_free {
            (self.kernel.wear_per_kwh, self.kernel.end_value_per_kwh) = (0.0, 0.0);
        }
        for tier in 0..asked.worth.tiers {
            // What is shed is not stored, so it has no value at the end.
            let worth = asked.worth.of(tier, stay.priority) + self.kernel.end_value_per_kwh;
            self.import.push(worth * store.kernel.efficiency_charge);
            self.export.push(f64::NAN);
        }
    }
}

/// Most stored energy at the end of each slot, and at departure.
pub(crate) fn reaches(
    prices: impl Fn(usize) -> f64,
    horizon: &crate::time::horizon::Horizon,
    (first, last): (u32, u32),
    store: &Store,
) -> Vec<f64> {
    let battery = &store.battery;
    let mut reach = store.stored_kwh();
    let level = |slot: u32| {
        let slot = slot as usize;
        let start = horizon.starts()[slot].max(battery.from);
        let micros = horizon.ends()[slot].min(battery.to) - start;
        let eta = store.kernel.efficiency_charge;
        let charge =
            if prices(slot).is_nan() { 0.0 } else { stored_by(battery.charge_max, micros, eta) };
        let limit_kwh = battery.limit_kwh;
        let slot = KernelSlot { charge_kwh: charge, limit_kwh, ..KernelSlot::default() };
        reach = reached(reach, &slot);
        reach
    };
    (first..last).map(level).collect()
}
