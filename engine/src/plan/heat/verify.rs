//! Verification of a certificate of a room or tank, apart from the planner and from `certify`.
//!
//! Temperatures are computed as the approach to the temperature at which gains and losses are equal,
//! and the dual bounds of the [`certificate`](super::certificate) as Lagrangians at the stated
//! marginal values, term by term. The least times of a unit that is on or off are compared with its
//! runs and pauses as lengths between instants. The bound on its schedules is a search, which is made
//! again ([`on_off_bound`](super::on_off_bound)).
use chrono::TimeDelta;

use crate::plan::heat::certificate::{HeatEvidence, on_off_bounds};
use crate::plan::heat::planned_slot::HeatSlot;
use crate::plan::heat::request::HeatMode;
use crate::plan::switching::request::DeviceState;
use crate::plan::verification::{Check, Stated};
use crate::time::instant::micros_between;
use crate::tolerance::{GAP_MAX, allowed};
use crate::units::{Energy, MICROS_PER_HOUR, Power, Price};

/// Degree-hours that a certificate states, and their bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StatedDegreeHours {
    /// Degree-hours of the plan.
    pub degree_hours: f64,
    /// Lower bound on the degree-hours of every plan.
    pub bound: f64,
}

/// Compares each statement of a certificate with what the slots and its evidence give.
///
/// The checks come in this order: the order of the slots; power, price and temperature of each slot;
/// power, runs and pauses of a unit that is on or off; degree-hours and their bound, and then cost,
/// bound, gap and proof. The proof covers cost and
/// degree-hours, with all degree-hours at the price of the evidence.
#[must_use]
pub fn verify(
    slots: &[HeatSlot],
    evidence: &HeatEvidence,
    degree_hours: StatedDegreeHours,
    stated: Stated,
) -> Vec<Check> {
    let disordered = slots.windows(2).filter(|pair| pair[0].end != pair[1].start).count()
        + slots.iter().filter(|slot| slot.start >= slot.end).count();
    let mut checks = vec![Check::rule("order of slots", disordered as f64, 0.0)];
    let mut before = evidence.temperature_start.as_celsius();
    for (index, slot) in slots.iter().enumerate() {
        checks.extend(check_slot(index, slot, evidence, before));
        before = slot.temperature.as_celsius();
    }
    checks.extend(check_runs(slots, evidence));
    let (outside, _) =
        sum(slots.iter().map(|slot| hours(slot) * outside(slot, slot.temperature.as_celsius())));
    let (mut outside_bound, outside_scale) = dual_bound(slots, evidence, 0.0, 1.0);
    let price = evidence.degree_hour_price;
    let (cost, cost_scale) = cost_of(slots, evidence, before);
    let (mut weighted, weighted_scale) = dual_bound(slots, evidence, 1.0, price);
    if let Some(on_off) = evidence.on_off.filter(|_| disordered == 0) {
        let searched = on_off_bounds(slots, evidence, on_off.cells);
        (outside_bound, weighted) = (outside_bound.max(searched[0]), weighted.max(searched[1]));
    }
    let bound = weighted - price * outside;
    let scale = cost_scale.max(weighted_scale);
    checks.push(Check::equal("degree_hours", degree_hours.degree_hours, outside, outside_scale));
    checks.push(Check::equal(
        "degree_hours_bound",
        degree_hours.bound,
        outside_bound,
        outside_scale,
    ));
    let [cost, bound, gap, _] = stated.checks(cost, bound, scale);
    let gaps = [
        (stated.cost - stated.bound).abs()
            / allowed(GAP_MAX, stated.cost.abs().max(price * outside)),
        (degree_hours.degree_hours - degree_hours.bound).abs()
            / allowed(GAP_MAX, degree_hours.degree_hours),
    ];
    let is_proved = gaps.iter().all(|&gap| gap <= 1.0);
    checks.extend([cost, bound, gap, Check::same("is_proved", stated.is_proved, is_proved)]);
    checks
}

/// Length of a slot in hours.
fn hours(slot: &HeatSlot) -> f64 {
    micros_between(slot.start, slot.end) as f64 / MICROS_PER_HOUR
}

/// Degrees of a temperature outside the band at the end of a slot.
fn outside(slot: &HeatSlot, celsius: f64) -> f64 {
    let (least, most) = (slot.temperature_min.as_celsius(), slot.temperature_max.as_celsius());
    (least - celsius).max(celsius - most).max(0.0)
}

/// Temperature after a slot from the one before it and the mean electrical power.
fn after(slot: &HeatSlot, evidence: &HeatEvidence, before: f64, kw: f64) -> f64 {
    let (capacity, loss) =
        (evidence.store.capacity.as_kwh_per_k(), evidence.store.loss.as_kw_per_k());
    let moved = if evidence.mode == HeatMode::Cool { -kw } else { kw } * slot.cop;
    let heat = moved + slot.gain.as_kw();
    if loss <= 0.0 {
        return before + heat * hours(slot) / capacity;
    }
    let limit = slot.outdoor.as_celsius() + heat / loss;
    limit + (before - limit) * (-hours(slot) * loss / capacity).exp()
}

/// Checks of one slot: power, price and temperature.
fn check_slot(index: usize, slot: &HeatSlot, evidence: &HeatEvidence, before: f64) -> [Check; 3] {
    let used = slot.used.as_kwh();
    let most = slot.power_max.as_kw() * hours(slot);
    let unpriced = if slot.price.is_none() { used } else { 0.0 };
    let celsius = after(slot, evidence, before, used / hours(slot));
    let size = before.abs().max(celsius.abs()).max(slot.outdoor.as_celsius().abs());
    let line = |name: &str| format!("slots[{index}].{name}");
    [
        Check::rule(line("power"), (used - most).max(-used), allowed(GAP_MAX, most)),
        Check::rule(line("price"), unpriced, 0.0),
        Check::equal(&line("temperature_celsius"), slot.temperature.as_celsius(), celsius, size),
    ]
}

/// Checks of a unit that is on or off: its power in each slot, and the length of each run and pause.
/// Runs and pauses may go on after the plan.
fn check_runs(slots: &[HeatSlot], evidence: &HeatEvidence) -> Vec<Check> {
    let Some(on_off) = evidence.on_off else { return Vec::new() };
    let unit = on_off.unit;
    let mut checks = Vec::new();
    for (index, slot) in slots.iter().enumerate() {
        let (used, most) = (slot.used.as_kwh(), slot.power_max.as_kw() * hours(slot));
        let parted = if used > 0.0 { most - used } else { 0.0 };
        checks.push(Check::rule(format!("slots[{index}].on_off"), parted, allowed(GAP_MAX, most)));
    }
    let is_on = |slot: &HeatSlot| slot.used > Energy::ZERO;
    let mut is_started = false;
    // The start of a state that has lasted for longer than any least time is not known.
    let (mut was_on, mut since) = match unit.state {
        DeviceState::Off => (false, None),
        DeviceState::RunningSince(at) => (true, Some(at)),
        DeviceState::StoppedSince(at) => (false, Some(at)),
    };
    for (index, slot) in slots.iter().enumerate() {
        if is_on(slot) == was_on {
            continue;
        }
        let least = if was_on { unit.on_min } else { unit.off_min };
        let missing = since.map_or(TimeDelta::zero(), |since| least - (slot.start - since));
        // A run from before the plan ends where the unit may not run.
        let is_ended = was_on && slot.power_max <= Power::ZERO && !is_started;
        let minutes = if is_ended { 0.0 } else { missing.as_seconds_f64() / 60.0 };
        let rule = if was_on { "on_min" } else { "off_min" };
        checks.push(Check::rule(format!("slots[{index}].{rule}_minutes"), minutes, 0.0));
        (was_on, since, is_started) = (is_on(slot), Some(slot.start), true);
    }
    checks
}

/// Stored energy at a temperature, in kWh.
fn stored(evidence: &HeatEvidence, celsius: f64) -> f64 {
    let capacity = evidence.store.capacity.as_kwh_per_k();
    if evidence.mode == HeatMode::Cool { -capacity * celsius } else { capacity * celsius }
}

/// Cost, and the sum of the sizes of its terms.
fn cost_of(slots: &[HeatSlot], evidence: &HeatEvidence, end: f64) -> (f64, f64) {
    let bought =
        slots.iter().map(|slot| slot.price.map_or(0.0, Price::as_per_kwh) * slot.used.as_kwh());
    let gained = stored(evidence, end) - stored(evidence, evidence.temperature_start.as_celsius());
    sum(bought.chain([-evidence.end_value.as_per_kwh() * gained]))
}

/// Dual bound with prices times `prices`, and the sum of the sizes of its terms. The value of a kWh
/// is that in money times `prices` plus that in degree-hours times `degree_hour_price`.
fn dual_bound(
    slots: &[HeatSlot],
    evidence: &HeatEvidence,
    prices: f64,
    degree_hour_price: f64,
) -> (f64, f64) {
    let end_value = evidence.end_value.as_per_kwh() * prices;
    let value = |slot: &HeatSlot| {
        slot.marginal_value.as_per_kwh() * prices + slot.marginal_degree_hours * degree_hour_price
    };
    let capacity = evidence.store.capacity.as_kwh_per_k();
    let remains =
        |slot: &HeatSlot| (-hours(slot) * evidence.store.loss.as_kw_per_k() / capacity).exp();
    // Value of a kWh at the start of a slot.
    let at_start =
        |index: usize| slots.get(index).map_or(end_value, |slot| remains(slot) * value(slot));
    let start = evidence.temperature_start.as_celsius();
    let mut terms = vec![(end_value - at_start(0)) * stored(evidence, start)];
    let (mut coolest, mut warmest) = (start, start);
    for (index, slot) in slots.iter().enumerate() {
        let now = value(slot);
        // Energy of a store at 0 °C after the slot, without power and at full power.
        let idle = stored(evidence, after(slot, evidence, 0.0, 0.0));
        let full = stored(evidence, after(slot, evidence, 0.0, slot.power_max.as_kw()));
        let price = slot.price.map_or(0.0, Price::as_per_kwh) * prices;
        let bought = price * slot.power_max.as_kw() * hours(slot);
        terms.push(-now * idle);
        terms.push((bought - now * (full - idle)).min(0.0));
        coolest = after(slot, evidence, coolest, 0.0);
        warmest = after(slot, evidence, warmest, slot.power_max.as_kw());
        let (low, high) = (coolest.min(warmest), coolest.max(warmest));
        let at = |celsius: f64| {
            let celsius = celsius.clamp(low, high);
            let weighted = degree_hour_price * hours(slot) * outside(slot, celsius);
            (now - at_start(index + 1)) * stored(evidence, celsius) + weighted
        };
        let edges = [slot.temperature_min.as_celsius(), slot.temperature_max.as_celsius()];
        let ends = [low, high, edges[0], edges[1]];
        terms.push(ends.iter().map(|&celsius| at(celsius)).fold(f64::INFINITY, f64::min));
    }
    sum(terms.into_iter())
}

/// Sum of terms, and the sum of their sizes.
fn sum(terms: impl Iterator<Item = f64>) -> (f64, f64) {
    terms.fold((0.0, 0.0), |(sum, scale), term| (sum + term, scale + term.abs()))
}
