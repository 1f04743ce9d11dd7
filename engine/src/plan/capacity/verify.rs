//! Verification of a certificate under a price of power, apart from the planner and from `certify`.
//!
//! Energies are followed from slot to slot, powers are ranked anew, and the dual bound of the
//! [`certificate`](super::certificate) is computed as a Lagrangian, term by term. The bound of the
//! search is taken as it is.
use crate::plan::capacity::certificate::{CapacityEvidence, MonthEvidence};
use crate::plan::capacity::planned_slot::CapacitySlot;
use crate::plan::verification::{Check, Stated};
use crate::time::instant::micros_between;
use crate::tolerance::{GAP_MAX, POWER_ROUNDING_KW, allowed};
use crate::units::{MICROS_PER_HOUR, Money, Power, Price};

/// Compares each statement of a certificate with what the slots and its evidence give.
///
/// The checks come in this order: the order of the slots; power, group and stored energy of each
/// slot; the prices of power; then the bound by values, cost, bound, gap and proof.
#[must_use]
pub fn verify(
    slots: &[CapacitySlot],
    evidence: &CapacityEvidence,
    by_values: Option<f64>,
    stated: Stated,
) -> Vec<Check> {
    let disordered = slots.windows(2).filter(|pair| pair[0].end != pair[1].start).count()
        + slots.iter().filter(|slot| slot.start >= slot.end).count();
    let mut checks = vec![Check::rule("order of slots", disordered as f64, 0.0)];
    let mut before = evidence.stored_start.as_kwh();
    for (index, slot) in slots.iter().enumerate() {
        checks.extend(check_slot(index, slot, evidence, before));
        before = slot.stored.as_kwh();
    }
    let charges = charge_months(slots, evidence);
    let (cost, cost_scale) = add_up(energy_costs(slots, evidence).chain(charges));
    let computed = dual_bound(slots, evidence);
    let (bound_by_values, bound_scale) =
        computed.map_or((None, 0.0), |(bound, scale)| (Some(bound), scale));
    let scale = cost_scale.max(bound_scale);
    checks.push(Check::same("has a bound by values", by_values.is_some(), computed.is_some()));
    if let (Some(stated), Some(computed)) = (by_values, bound_by_values) {
        checks.push(Check::equal("bound_by_values", stated, computed, scale));
    }
    let searched = evidence.searched.bound.as_amount();
    let bound = bound_by_values.map_or(searched, |by_values| by_values.max(searched));
    checks.extend(stated.checks(cost, bound, scale));
    checks
}

/// Sum of amounts, and of their sizes.
fn add_up(amounts: impl Iterator<Item = f64>) -> (f64, f64) {
    amounts.fold((0.0, 0.0), |(sum, scale), amount| (sum + amount, scale + amount.abs()))
}

/// Length of a slot in hours.
fn count_hours(slot: &CapacitySlot) -> f64 {
    micros_between(slot.start, slot.end) as f64 / MICROS_PER_HOUR
}

/// Checks of one slot: power, group and stored energy.
fn check_slot(
    index: usize,
    slot: &CapacitySlot,
    evidence: &CapacityEvidence,
    before: f64,
) -> [Check; 4] {
    let line = |name: &str| format!("slots[{index}].{name}");
    let (charged, discharged) = (slot.charged.as_kwh(), slot.discharged.as_kwh());
    let beyond =
        |energy: f64, power: Power| (energy - power.as_kw() * count_hours(slot)).max(-energy);
    let excess = beyond(charged, slot.charge_max)
        .max(beyond(discharged, slot.discharge_max))
        .max(charged.min(discharged));
    let most = slot.charge_max.as_kw().max(slot.discharge_max.as_kw()) * count_hours(slot);
    let after = before + evidence.efficiency * charged
        - discharged / evidence.efficiency_discharge
        - slot.driven.as_kwh();
    let stored = slot.stored.as_kwh();
    let size = slot.stored_max.as_kwh().max(most).max(slot.driven.as_kwh());
    let outside = (slot.stored_min.as_kwh() - stored).max(stored - slot.stored_max.as_kwh());
    // A weight that is no number, or a mean of no powers, would hide the power of the slot.
    let hides_power = slot.group.is_some_and(|group| {
        let own = evidence.groups.get(group);
        let month = own.and_then(|own| evidence.months.get(own.month));
        let is_weighed = slot.weight > 0.0 && slot.weight.is_finite();
        !is_weighed || month.is_none_or(|month| month.highest == 0)
    });
    [
        Check::rule(line("power"), excess, allowed(GAP_MAX, most)),
        Check::rule(line("group"), f64::from(u8::from(hides_power)), 0.0),
        Check::equal(&line("stored_kwh"), stored, after, size),
        Check::rule(line("levels"), outside, allowed(GAP_MAX, size)),
    ]
}

/// Price of a kWh in the direction in which it flows.
fn price_in_direction(slot: &CapacitySlot, metered: f64) -> f64 {
    if metered < 0.0 {
        slot.export_price.as_per_kwh()
    } else {
        slot.import_price.map_or(0.0, Price::as_per_kwh)
    }
}

/// Amounts for energy and wear, and the value of the stored energy.
fn energy_costs<'a>(
    slots: &'a [CapacitySlot],
    evidence: &'a CapacityEvidence,
) -> impl Iterator<Item = f64> + 'a {
    let (value, wear) = (evidence.end_value.as_per_kwh(), evidence.wear_price.as_per_kwh());
    let end = slots.last().map_or(evidence.stored_start, |slot| slot.stored);
    let each = move |slot: &CapacitySlot| {
        let metered = slot.load.as_kwh() + slot.charged.as_kwh() - slot.discharged.as_kwh();
        let worn = slot.discharged.as_kwh() / evidence.efficiency_discharge;
        [price_in_direction(slot, metered) * metered, wear * worn]
    };
    let kept = [value * evidence.stored_start.as_kwh(), -value * end.as_kwh()];
    slots.iter().flat_map(each).chain(kept)
}

/// Charge of each month with the plan, and less that without it.
fn charge_months(slots: &[CapacitySlot], evidence: &CapacityEvidence) -> impl Iterator<Item = f64> {
    let mut amounts = Vec::new();
    for (place, month) in evidence.months.iter().enumerate() {
        let groups = evidence.groups.iter().enumerate().filter(|(_, own)| own.month == place);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (group, own) in groups {
            let least = own.power_before.as_kw();
            let members = slots.iter().filter(|slot| slot.group == Some(group));
            let powers = members.map(|slot| {
                let metered = slot.load.as_kwh() + slot.charged.as_kwh() - slot.discharged.as_kwh();
                slot.weight * metered / count_hours(slot)
            });
            before.push(least);
            after.push(powers.fold(least, f64::max));
        }
        amounts.extend([charge_month(month, after), -charge_month(month, before)]);
    }
    amounts.into_iter()
}

/// Charge of a month for the powers of its groups.
fn charge_month(month: &MonthEvidence, mut powers: Vec<f64>) -> f64 {
    powers.extend(month.others.iter().map(|other| other.as_kw()));
    powers.sort_unstable_by(f64::total_cmp);
    let taken = powers.iter().rev().take(month.highest);
    let power = (taken.sum::<f64>() / month.highest as f64).max(month.floor.as_kw());
    let is_within = |most: Option<Power>| {
        most.is_none_or(|most| power <= most.as_kw() + POWER_ROUNDING_KW / 2.0)
    };
    let step = month.steps.iter().find(|step| is_within(step.power_max));
    let of_step = step.map_or(0.0, |step| step.charge.as_amount());
    month.price_per_kw.map_or(of_step, |price| price.as_amount() * power)
}

/// Dual bound, and the sum of the sizes of its terms; none if a month has steps, or if its slots
/// pay more for a kW than it costs.
fn dual_bound(slots: &[CapacitySlot], evidence: &CapacityEvidence) -> Option<(f64, f64)> {
    let mut terms = Vec::new();
    let mut values = slots.iter().map(|slot| slot.marginal_value.as_per_kwh());
    let first = values.next().unwrap_or(evidence.end_value.as_per_kwh());
    let end_value = evidence.end_value.as_per_kwh();
    terms.push((end_value - first) * evidence.stored_start.as_kwh());
    let nexts = values.chain([end_value]);
    for (slot, next) in slots.iter().zip(nexts) {
        let value = slot.marginal_value.as_per_kwh();
        let levels =
            [slot.stored_min, slot.stored_max].map(|level| (value - next) * level.as_kwh());
        terms.extend([value * slot.driven.as_kwh(), levels[0].min(levels[1])]);
        terms.push(least_lagrangian(slot, evidence));
    }
    for (place, month) in evidence.months.iter().enumerate() {
        terms.extend(month_terms(slots, evidence, place, month)?);
    }
    Some(add_up(terms.into_iter()))
}

/// Least Lagrangian of a slot over the energies of the battery at which its slope can change.
fn least_lagrangian(slot: &CapacitySlot, evidence: &CapacityEvidence) -> f64 {
    let (least, most) = (
        -slot.discharge_max.as_kw() * count_hours(slot),
        slot.charge_max.as_kw() * count_hours(slot),
    );
    let (value, load) = (slot.marginal_value.as_per_kwh(), slot.load.as_kwh());
    let paid = slot.power_price_per_kw.as_amount() * slot.weight / count_hours(slot);
    let at = |net: f64| {
        let stored =
            if net < 0.0 { net / evidence.efficiency_discharge } else { net * evidence.efficiency };
        let wear = evidence.wear_price.as_per_kwh() * (-stored).max(0.0);
        (price_in_direction(slot, load + net) + paid) * (load + net) + wear - value * stored
    };
    [least, 0.0, most, (-load).max(least).min(most)].map(at).into_iter().fold(f64::MAX, f64::min)
}

/// Lower bound on the charge of a month less what its slots pay for power, and less the charge
/// before: the best of two mixtures of known powers and the floor.
fn month_terms(
    slots: &[CapacitySlot],
    evidence: &CapacityEvidence,
    place: usize,
    month: &MonthEvidence,
) -> Option<[f64; 2]> {
    let price = month.price_per_kw.map(Money::as_amount)?;
    let count = month.highest as f64;
    let mut known: Vec<(f64, f64)> =
        month.others.iter().map(|other| (other.as_kw(), 0.0)).collect();
    let mut before = Vec::new();
    for (group, own) in evidence.groups.iter().enumerate().filter(|(_, own)| own.month == place) {
        let paying = slots.iter().filter(|slot| slot.group == Some(group));
        let paid: f64 = paying.map(|slot| slot.power_price_per_kw.as_amount()).sum();
        known.push((own.power_before.as_kw(), paid));
        before.push(own.power_before.as_kw());
    }
    known.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let all: f64 = known.iter().map(|(_, paid)| paid).sum();
    let least = known.iter().fold(all, |most, (_, paid)| most.max(count * paid));
    if least > price {
        return None;
    }
    let mixture = |share: f64| {
        let (mut amount, mut rest) = ((price - share) * month.floor.as_kw(), share - all);
        for (power, paid) in &known {
            let part = (share / count - paid).min(rest).max(0.0);
            amount += part * power;
            rest -= part;
        }
        amount
    };
    let charged = charge_month(month, before);
    Some([mixture(least).max(mixture(price)), -charged])
}
