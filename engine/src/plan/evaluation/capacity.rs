//! Evaluation of plans of a battery under a price of power.
//!
//! The connection is that of the plan: the battery beside the rest of the load. The price of power
//! is that of the tariff, as the certificate of the plan holds it, at the powers that the facts
//! give. With `h` the hours of a window, `f` its weight and `E` the energy imported in it,
//!
//! ```text
//! power of a group = max(power before, max over its windows of  f·E / h)
//! ```
use chrono::{DateTime, Utc};

use crate::plan::capacity::certificate::CapacityEvidence;
use crate::plan::capacity::groups::PowerCharges;
use crate::plan::capacity::plan::CapacityPlan;
use crate::plan::capacity::planned_slot::CapacitySlot;
use crate::plan::evaluation::connection::{ConnectionSums, EnergyFlow, sum_up_pieces};
use crate::plan::evaluation::evaluate::{energy, money};
use crate::plan::evaluation::facts::{
    ConnectionFacts, EvaluatedCosts, Evaluation, EvaluationError, MeasuredPower,
};
use crate::time::instant::{micros_between, micros_of};
use crate::units::{Energy, MICROS_PER_HOUR, Power};

/// Evaluates a plan of a battery under a price of power under other facts.
///
/// Measured solar power or load takes the place of all of the load beside the battery that was
/// planned with; without both that load stays. `alone` is the plan that is cheapest in energy
/// ([`plan_energy_alone`](crate::plan::capacity::plan::plan_energy_alone)), the baseline. A demand
/// charge among the facts is left out: the tariff of the plan prices the power.
///
/// # Errors
/// The slots of the plan are out of order.
pub fn evaluate_capacity(
    plan: &CapacityPlan,
    alone: &[CapacitySlot],
    facts: &ConnectionFacts<'_>,
) -> Result<Evaluation, EvaluationError> {
    let part = |is_feeding: bool| MeasuredPower::new(list_rest(&plan.slots, is_feeding));
    let (load, solar) = (part(false)?, part(true)?);
    let is_measured = facts.solar.is_some() || facts.load.is_some();
    let facts = if is_measured {
        ConnectionFacts { demand: None, ..*facts }
    } else {
        ConnectionFacts { solar: Some(&solar), load: Some(&load), demand: None, ..*facts }
    };
    let evidence = &plan.certificate.evidence;
    let groups = PowerCharges::of_evidence(evidence);
    let own = price_slots(&plan.slots, evidence, &groups, &facts);
    let baseline = price_slots(alone, evidence, &groups, &facts);
    Ok(Evaluation {
        costs: own.costs,
        baseline: baseline.costs,
        import: energy(own.sums.import_kwh),
        export: energy(own.sums.export_kwh),
        from_solar: energy(own.sums.from_solar_kwh),
        from_grid: energy(own.sums.from_grid_kwh),
        peak: own.powers.into_iter().reduce(f64::max).and_then(|kw| Power::from_kw(kw).ok()),
        on_estimates: energy(own.sums.on_estimates_kwh),
        missing: own.sums.missing,
        baseline_missing: baseline.sums.missing_energy(),
    })
}

/// Planned load beside the battery as powers of zero or more: that which feeds, or that which draws.
fn list_rest(
    slots: &[CapacitySlot],
    is_feeding: bool,
) -> impl Iterator<Item = (DateTime<Utc>, DateTime<Utc>, Power)> {
    slots.iter().map(move |slot| {
        let load = slot.load.as_kwh();
        let kw = if is_feeding { -load } else { load }.max(0.0) / hours_of(slot);
        (slot.start, slot.end, Power::from_kw(kw).unwrap_or(Power::ZERO))
    })
}

/// Length of a slot in hours.
fn hours_of(slot: &CapacitySlot) -> f64 {
    micros_between(slot.start, slot.end) as f64 / MICROS_PER_HOUR
}

/// Sums, powers of the groups in kW, and costs of one course of the battery.
struct PricedSlots {
    sums: ConnectionSums,
    powers: Vec<f64>,
    costs: EvaluatedCosts,
}

/// Prices the energy at the connection, and the power by its groups of windows.
fn price_slots(
    slots: &[CapacitySlot],
    evidence: &CapacityEvidence,
    groups: &PowerCharges,
    facts: &ConnectionFacts<'_>,
) -> PricedSlots {
    // Slots without energy are flows as well, so that no piece of time lies in two slots.
    let flow = |slot: &CapacitySlot| EnergyFlow {
        start: micros_of(slot.start),
        end: micros_of(slot.end),
        kwh: (slot.charged - slot.discharged).as_kwh(),
    };
    let flows: Vec<EnergyFlow> = slots.iter().map(flow).collect();
    let ends = flows.first().zip(flows.last());
    let span = ends.map_or((0, 0), |(first, last)| (first.start, last.end));
    let (mut imported, mut at) = (vec![0.0; slots.len()], 0);
    let sums = sum_up_pieces(&flows, facts, span, |start, kwh| {
        while flows.get(at).is_some_and(|flow| flow.end <= start) {
            at += 1;
        }
        if let Some(sum) = imported.get_mut(at) {
            *sum += kwh;
        }
    });
    let before = groups.carried();
    let mut powers = before.clone();
    for (slot, kwh) in slots.iter().zip(&imported) {
        if let Some(group) = slot.group {
            powers[group] = powers[group].max(slot.weight * kwh / hours_of(slot));
        }
    }
    let discharged = slots.iter().fold(Energy::ZERO, |sum, slot| sum + slot.discharged);
    let worn = discharged.as_kwh() / evidence.efficiency_discharge;
    let end = slots.last().map_or(evidence.stored_start, |slot| slot.stored);
    let gained = (end - evidence.stored_start).as_kwh();
    let costs = EvaluatedCosts {
        import: money(sums.import_cost),
        export: money(sums.export_revenue),
        demand: money(groups.charge(&powers) - groups.charge(&before)),
        other: money(evidence.wear_price.as_per_kwh() * worn + sums.emission_cost),
        stored: money(evidence.end_value.as_per_kwh() * gained),
    };
    PricedSlots { sums, powers, costs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::capacity::plan::{plan_capacity, plan_energy_alone};
    use crate::plan::capacity::request::CapacityProblem;
    use crate::plan::capacity::tests::{curve, hour, monthly, request};
    use crate::prices::curve::PriceCurve;
    use crate::units::{kw, per_kwh};

    /// Plan beside loads, one of which feeds, and the plan that is cheapest in energy.
    fn planned(prices: &PriceCurve) -> (CapacityPlan, Vec<CapacitySlot>) {
        let mut wish = request(monthly("10"), &[1.0, -2.0, 6.0, 4.0, 1.0, 0.5]);
        wish.storage.wear_price = per_kwh(0.02);
        wish.storage.end_value = Some(per_kwh(0.1));
        let problem = CapacityProblem::new(wish).unwrap();
        let plan = plan_capacity(prices, Some(prices), &problem).unwrap();
        (plan, plan_energy_alone(prices, Some(prices), &problem).unwrap())
    }

    fn facts(prices: &PriceCurve) -> ConnectionFacts<'_> {
        ConnectionFacts { export: Some(prices), ..ConnectionFacts::new(prices) }
    }

    #[test]
    fn under_its_own_facts_a_plan_costs_and_saves_what_it_said() {
        let prices = curve(&[0.3, 0.1, 0.4, 0.2, 0.2, 0.3]);
        let (plan, alone) = planned(&prices);
        let found = evaluate_capacity(&plan, &alone, &facts(&prices)).unwrap();
        let same = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        same(found.cost().as_amount(), plan.cost.total().as_amount());
        same(found.costs.demand.as_amount(), plan.cost.power.as_amount());
        same(found.savings().unwrap().as_amount(), plan.savings().as_amount());
        same(found.peak.unwrap().as_kw(), plan.cost.months[0].power.as_kw());
        assert!(plan.savings().as_amount() > 0.0);
    }

    #[test]
    fn a_measured_peak_is_charged() {
        let prices = curve(&[0.3, 0.1, 0.4, 0.2, 0.2, 0.3]);
        let (plan, alone) = planned(&prices);
        let power = |at: i64| kw(if at == 5 { 9.0 } else { 0.0 });
        let periods = (0..6).map(|at| (hour(at), hour(at + 1), power(at)));
        let load = MeasuredPower::new(periods).unwrap();
        let measured = ConnectionFacts { load: Some(&load), ..facts(&prices) };
        let found = evaluate_capacity(&plan, &alone, &measured).unwrap();
        let at_battery = plan.slots[5].charged - plan.slots[5].discharged;
        let peak = 9.0 + at_battery.as_kwh();
        assert!((found.peak.unwrap().as_kw() - peak).abs() < 1e-9);
        assert!((found.costs.demand.as_amount() - 10.0 * peak).abs() < 1e-9);
    }
}
