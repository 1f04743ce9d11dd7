//! Baseline of a heat plan: a thermostat that holds the edge of the band.
//!
//! ```text
//! x_t = min( X_t, max( 0, (L_t − a_t·e_{t−1} − g_t)/η_t ) )
//! ```
//!
//! In each slot it uses the least power with which the band is reached at the end of the slot, as far
//! as its power allows ([symbols](super)). It knows nothing of prices and of later slots.
use crate::plan::heat::certificate::balances;
use crate::plan::heat::plan::{HeatBaseline, HeatPlan};
use crate::plan::heat::planned_slot::DegreeHours;
use crate::plan::heat::slots::{ThermalProgramme, ThermalStep, sign};
use crate::plan::interval::emissions_of;
use crate::prices::curve::PriceCurve;
use crate::units::{Energy, Money, Power};

/// Energy with which a thermostat holds the edge of the band in a slot, in kWh.
pub(crate) fn held_kwh(step: &ThermalStep, before_kwh: f64) -> f64 {
    let missing = step.low_kwh - step.after(before_kwh, 0.0);
    if missing <= 0.0 || step.power_kwh <= 0.0 {
        return 0.0;
    }
    (missing / step.stored_per_kwh).min(step.power_kwh)
}

/// Baseline of a room or tank. `cools` says that its lower edge is that of the stored cold.
pub(crate) fn baseline(programme: &ThermalProgramme, cools: bool) -> HeatBaseline {
    let (mut cost, mut used) = (0.0, 0.0);
    let mut level = programme.stored_kwh;
    let (mut short, mut excess) = (0.0, 0.0);
    for step in &programme.steps {
        let taken = held_kwh(step, level);
        cost += step.price * taken;
        used += taken;
        level = step.after(level, taken);
        let rounding = f64::EPSILON * 8.0 * level.abs();
        let degree_hours = |kwh: f64| {
            if kwh <= rounding { 0.0 } else { kwh / programme.kwh_per_k * step.hours }
        };
        short += degree_hours(step.low_kwh - level);
        excess += degree_hours(level - step.high_kwh);
    }
    let cost = cost - programme.end_value * (level - programme.stored_kwh);
    let (below, above) = if cools { (excess, short) } else { (short, excess) };
    HeatBaseline {
        cost: Money::from_amount(cost).unwrap_or(Money::ZERO),
        used: Energy::from_kwh(used).unwrap_or(Energy::ZERO),
        discomfort: DegreeHours { below, above },
    }
}

/// Emissions in kg of a plan and of its baseline, at a carbon intensity in kg per kWh.
///
/// Time without an intensity counts for nothing. Prices that hold the price of emissions
/// ([`PriceCurve::plus_emissions`]) have an intensity throughout.
#[must_use]
pub fn emissions(plan: &HeatPlan, intensity: &PriceCurve) -> (f64, f64) {
    let (used, _) = unplanned(plan);
    let held = plan.slots.iter().zip(used).map(|(slot, kwh)| {
        (slot.start, slot.end, Power::from_kw(kwh / slot.hours()).unwrap_or(Power::ZERO))
    });
    (emissions_of(&plan.intervals, intensity), intensity.weigh(held))
}

/// Electrical energy of the baseline in each slot of a plan, and the energy that it has stored more at
/// the end than at the start, both in kWh.
pub(crate) fn unplanned(plan: &HeatPlan) -> (Vec<f64>, f64) {
    let evidence = &plan.certificate.evidence;
    let signed = sign(plan.mode) * evidence.store.capacity.as_kwh_per_k();
    let start = signed * plan.temperature_start.as_celsius();
    let mut level = start;
    let balances = balances(&plan.slots, evidence);
    let used = plan.slots.iter().zip(&balances).map(|(slot, balance)| {
        let step = ThermalStep {
            decay: balance.remains,
            stored_per_kwh: balance.heated,
            power_kwh: balance.most,
            drift_kwh: balance.drift,
            price: slot.price.map_or(0.0, crate::units::Price::as_per_kwh),
            hours: balance.hours,
            low_kwh: balance.band.0,
            high_kwh: balance.band.1,
        };
        let taken = held_kwh(&step, level);
        level = step.after(level, taken);
        taken
    });
    let used = used.collect();
    (used, level - start)
}
