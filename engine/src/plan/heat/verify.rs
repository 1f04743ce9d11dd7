//! Verification of a certificate of a room or tank, apart from the planner and from `certify`.
//!
//! Temperatures are computed as the approach to the temperature at which gains and losses are equal,
//! and the dual bounds of the [`certificate`](super::certificate) as Lagrangians at the stated
//! marginal values, term by term. The bound of a search is taken as it is.
use crate::plan::heat::certificate::HeatEvidence;
use crate::plan::heat::planned_slot::HeatSlot;
use crate::plan::heat::request::HeatMode;
use crate::plan::verification::{Check, Stated};
use crate::time::instant::micros_between;
use crate::tolerance::{GAP_MAX, allowed};
use crate::units::{MICROS_PER_HOUR, Price};

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
/// degree-hours and their bound, and then cost, bound, gap and proof. The proof covers cost and
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
    let (outside, _) =
        sum(slots.iter().map(|slot| hours(slot) * outside(slot, slot.temperature.as_celsius())));
    let (outside_bound, outside_scale) = dual_bound(slots, evidence, 0.0, 1.0);
    let price = evidence.degree_hour_price;
    let (cost, cost_scale) = cost_of(slots, evidence, before);
    let (weighted, weighted_scale) = dual_bound(slots, evidence, 1.0, price);
    let searched = evidence.searched.map(|searched| searched.bound.as_amount());
    let by_values = weighted - price * outside;
    let bound = searched.map_or(by_values, |searched| searched.max(by_values));
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
