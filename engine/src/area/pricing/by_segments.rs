//! Pricing problem of a vehicle that also discharges.
//!
//! At given prices the segment method of [`crate::plan::storage`] is exact. Shortfall is a last slot
//! in which stored energy can be had at its penalty; so a target for which limits
//! leave no capacity is reduced like the need of any other vehicle.
use crate::area::model::battery::{Free, Store, reaches};
use crate::area::model::energy_by_slot::Taken;
use crate::area::model::session::Stay;
use crate::area::pricing::context::Asked;
use crate::area::problem::micro_wh::{GRAINS_IGNORED, GRAINS_PER_KWH, as_kwh, grains};
use crate::plan::storage::branch::reached;
use crate::plan::storage::kernel::{self, Kernel, KernelSlot, changes};
use crate::plan::storage::layout::{stored_by, taken_by};

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
