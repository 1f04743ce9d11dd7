//! Cost of the baseline: charging at full power from plug-in, without discharging.
//!
//! ```text
//! needed = max( max_t (L_t + W_t), e_T + W_T ) − e_0,    W_t = Σ_{s ≤ t} w_s
//! ```
//!
//! The baseline charges at full power, within the charge limit, until `needed` is stored
//! ([symbols](super)).
use chrono::TimeDelta;

use crate::plan::interval::{Interval, emissions_of};
use crate::plan::storage::dynamic_programme::DynamicProgramme;
use crate::plan::storage::plan::{StoragePlan, StorageSlot};
use crate::plan::storage::price_slots::PriceSlots;
use crate::plan::storage::request::StorageProblem;
use crate::plan::storage::slots::Layout;
use crate::prices::curve::PriceCurve;
use crate::units::Energy;

/// Cost of the baseline of a plan.
///
/// The baseline charges what targets, reserve and driving need, or what the plan charges and
/// does not sell, if that is more. Both then meet the request. Energy stored at the end has the
/// end value in both. The baseline is itself a plan for the same wishes, so an optimal plan
/// never costs more. If a limit stopped the search, savings may be negative and are not clipped.
pub(crate) fn baseline(layout: &Layout, slots: &[StorageSlot]) -> f64 {
    let end_kwh = slots.last().map_or(layout.programme.stored_kwh, |slot| slot.stored.as_kwh());
    baseline_of(&layout.programme, &layout.import, end_kwh)
}

/// Cost of the baseline from a battery, its prices to buy, and the level at the end of the plan.
pub(crate) fn baseline_of(programme: &DynamicProgramme, import: &[f64], end_kwh: f64) -> f64 {
    let mut cost = 0.0;
    let charge = |slot: usize, taken: f64| cost += programme.charge_price(import[slot]) * taken;
    let level = charge_at_once(programme, end_kwh, charge);
    cost - programme.end_value_per_kwh * (level - programme.stored_kwh)
}

/// Emissions in kg of a plan, and of its baseline, at a carbon intensity in kg per kWh.
///
/// Charging has emissions, discharging has none. `import` are the prices to buy at that the plan
/// was made for.
#[must_use]
pub fn emissions(
    plan: &StoragePlan,
    problem: &StorageProblem,
    (import, export): (&PriceCurve, Option<&PriceCurve>),
    intensity: &PriceCurve,
) -> (f64, f64) {
    let layout = Layout::new(&PriceSlots::new(import, export), problem);
    let programme = &layout.programme;
    let end_kwh = plan.slots.last().map_or(programme.stored_kwh, |slot| slot.stored.as_kwh());
    let mut unmanaged = Vec::new();
    charge_at_once(programme, end_kwh, |slot, stored| {
        let StorageSlot { start, end, charge_max: power, .. } = plan.slots[slot];
        let taken = Energy::from_kwh(programme.at_plug(stored)).unwrap_or(Energy::ZERO);
        let micros = power.micros_for(taken).min((end - start).as_seconds_f64() * 1e6);
        let end = start + TimeDelta::microseconds(micros.round() as i64);
        unmanaged.push(Interval { start, end, power });
    });
    (emissions_of(&plan.intervals, intensity), emissions_of(&unmanaged, intensity))
}

/// Charges all that a battery needs at full power from the first slot on, and tells the level at
/// the end. `charge` gets the position of each slot and the energy stored in it.
fn charge_at_once(
    programme: &DynamicProgramme,
    end_kwh: f64,
    mut charge: impl FnMut(usize, f64),
) -> f64 {
    // Stored energy to charge for every least level, and for the level at the end.
    let mut driven = 0.0;
    let mut needed: f64 = 0.0;
    for slot in &programme.slots {
        driven += slot.driving_kwh;
        needed = needed.max(slot.least_kwh + driven - programme.stored_kwh);
    }
    needed = needed.max(end_kwh + driven - programme.stored_kwh);

    // Charge it at full power from the first slot.
    let mut missing = needed;
    let mut level = programme.stored_kwh;
    for (index, slot) in programme.slots.iter().enumerate() {
        if missing <= 0.0 {
            level -= slot.driving_kwh;
            continue;
        }
        let room = (slot.limit_kwh + slot.driving_kwh - level).max(0.0);
        let taken = slot.charge_kwh.min(room).min(missing);
        if taken > 0.0 {
            charge(index, taken);
            missing -= taken;
        }
        level += taken - slot.driving_kwh;
    }
    level
}
