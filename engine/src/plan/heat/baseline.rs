//! Baseline of a heat plan: a [thermostat](super::thermostat) that holds the edge of the band. It knows
//! nothing of prices and of later slots.
use crate::plan::heat::certificate::{least_times, programme};
use crate::plan::heat::on_off::LeastTimes;
use crate::plan::heat::plan::{HeatBaseline, HeatPlan};
use crate::plan::heat::planned_slot::DegreeHours;
use crate::plan::heat::slots::ThermalProgramme;
use crate::plan::heat::thermostat::Thermostat;
use crate::plan::interval::emissions_of;
use crate::prices::curve::PriceCurve;
use crate::units::{Energy, Money, Power};

/// Baseline of a room or tank. `cools` says that its lower edge is that of the stored cold.
pub(crate) fn baseline(
    programme: &ThermalProgramme,
    least_times: Option<&LeastTimes>,
    cools: bool,
) -> HeatBaseline {
    let mut thermostat = Thermostat::new(least_times);
    let (mut cost, mut used) = (0.0, 0.0);
    let mut level = programme.stored_kwh;
    let (mut short, mut excess) = (0.0, 0.0);
    for (slot, step) in programme.steps.iter().enumerate() {
        let taken = thermostat.next_kwh(slot, step, level);
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
    let programme = programme(&plan.slots, evidence);
    let least_times = least_times(&plan.slots, evidence);
    let mut thermostat = Thermostat::new(least_times.as_ref());
    let mut level = programme.stored_kwh;
    let steps = programme.steps.iter().enumerate();
    let used = steps.map(|(slot, step)| {
        let taken = thermostat.next_kwh(slot, step, level);
        level = step.after(level, taken);
        taken
    });
    let used = used.collect();
    (used, level - programme.stored_kwh)
}
