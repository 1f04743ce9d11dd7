//! Verification of a certificate of charging, apart from the planner and from `certify`.
//!
//! The cost is summed up, and the dual bound of the [`certificate`](super::certificate) is computed
//! as the Lagrangian at the stated marginal prices:
//!
//! ```text
//! Σ_k (M_k − M_{k+1})·max(r_k − F_k, 0)  +  W·(E_max − F)  +  Σ_t p_t·f_t
//!     +  Σ_t min over z in {0, u_t − f_t} of (p_t − M_{k(t)})·z
//! ```
//!
//! `F_k` is the part of the energy at once that lies before deadline `k`. The symbols are those of
//! the certificate.
use chrono::{DateTime, Utc};

use crate::plan::charge::certificate::{ChargeEvidence, Requirement};
use crate::plan::charge::plan::PlannedSlot;
use crate::plan::verification::{Check, Stated};
use crate::tolerance::{GAP_MAX, INSTANT_MICROS, allowed};
use crate::units::{Energy, MICROS_PER_HOUR};

/// Compares each statement of a certificate with what the slots and its evidence give.
///
/// The checks come in this order: the order of slots and of deadlines, the energy of each slot, each
/// requirement, the total, the signs of the marginal prices, and then cost, bound, gap and proof. A
/// number that the bound does not rest on, such as the price of a slot that is dearer than all
/// others, is free to change.
#[must_use]
pub fn verify(slots: &[PlannedSlot], evidence: &ChargeEvidence, stated: Stated) -> Vec<Check> {
    let at_once = at_once_by_slot(slots, evidence.at_once.as_kwh());
    let mut checks = check_rules(slots, evidence, &at_once);
    let (cost, bound, scale) = cost_and_bound(slots, evidence, &at_once);
    checks.extend(stated.checks(cost, bound, scale));
    checks
}

/// Energy of one microsecond of charging at full power, the resolution of instants, in kWh.
fn instant_kwh(slots: &[PlannedSlot]) -> f64 {
    let most = slots.iter().map(|slot| slot.power_max.as_kw()).fold(0.0, f64::max);
    most * INSTANT_MICROS as f64 / MICROS_PER_HOUR
}

/// Energy that charging at once buys in each slot: slots in full, in time order, until it is there.
pub(crate) fn at_once_by_slot(slots: &[PlannedSlot], at_once: f64) -> Vec<f64> {
    let mut before = 0.0;
    let taken = |slot: &PlannedSlot| {
        let capacity = slot.capacity().as_kwh();
        let taken = (at_once - before).clamp(0.0, capacity.max(0.0));
        before += capacity;
        taken
    };
    slots.iter().map(taken).collect()
}

/// True if a slot ends by the deadline of a requirement.
fn is_by(slot: &PlannedSlot, requirement: &Requirement) -> bool {
    requirement.by.is_none_or(|by| slot.end <= by)
}

/// Sum over the slots that end by the deadline of a requirement.
fn sum_by(slots: &[PlannedSlot], kwh: impl Fn(usize) -> f64, requirement: &Requirement) -> f64 {
    let early = slots.iter().enumerate().filter(|(_, slot)| is_by(slot, requirement));
    early.map(|(index, _)| kwh(index)).sum()
}

fn check_rules(slots: &[PlannedSlot], evidence: &ChargeEvidence, at_once: &[f64]) -> Vec<Check> {
    let (requirements, instant) = (&evidence.requirements, instant_kwh(slots));
    let rounding = |kwh: f64| allowed(GAP_MAX, kwh).max(instant);
    let count = |broken: usize| broken as f64;
    let overlaps = slots.windows(2).filter(|pair| pair[0].end > pair[1].start).count();
    let empty = slots.iter().filter(|slot| slot.start >= slot.end).count();
    let by = |requirement: &Requirement| requirement.by.unwrap_or(DateTime::<Utc>::MAX_UTC);
    let disordered = requirements.windows(2).filter(|pair| by(&pair[0]) >= by(&pair[1])).count();
    let mut checks = vec![
        Check::rule("order of slots", count(overlaps + empty), 0.0),
        Check::rule("order of requirements", count(disordered), 0.0),
    ];
    for (index, (slot, &forced)) in slots.iter().zip(at_once).enumerate() {
        let (energy, capacity) = (slot.energy.as_kwh(), slot.capacity().as_kwh());
        let excess = (energy - capacity).max(forced - energy).max(-energy);
        checks.push(Check::rule(format!("slots[{index}].energy_kwh"), excess, rounding(capacity)));
    }
    let energy = |index: usize| slots[index].energy.as_kwh();
    for (index, requirement) in requirements.iter().enumerate() {
        let wanted = requirement.energy.as_kwh();
        let missing = wanted - sum_by(slots, energy, requirement);
        checks.push(Check::rule(
            format!("requirements[{index}].energy_kwh"),
            missing,
            rounding(wanted),
        ));
    }
    let wanted = requirements.last().map_or(0.0, |last| last.energy.as_kwh());
    let needed = wanted.max(evidence.at_once.as_kwh());
    let most = evidence.energy_max.map_or(needed, Energy::as_kwh);
    let total: f64 = slots.iter().map(|slot| slot.energy.as_kwh()).sum();
    let name = if evidence.energy_max.is_some() { "energy_max_kwh" } else { "total energy" };
    checks.push(Check::rule(name, total - most, rounding(most)));
    checks.extend(check_signs(evidence));
    checks
}

/// Dual feasibility: `M_1 ≥ … ≥ M_K ≥ W`, and `W ≤ 0`. Without an `energy_max`, `W` is zero.
fn check_signs(evidence: &ChargeEvidence) -> Vec<Check> {
    let surplus = evidence.surplus_price.as_per_kwh();
    let price = |requirement: &Requirement| requirement.marginal_price.as_per_kwh();
    let prices: Vec<f64> = evidence.requirements.iter().map(price).collect();
    let mut checks: Vec<Check> = (1..prices.len())
        .map(|k| {
            let line = format!("requirements[{}].marginal_price_per_kwh", k - 1);
            Check::rule(line, prices[k] - prices[k - 1], 0.0)
        })
        .collect();
    let last = prices.last().map_or(0.0, |last| surplus - last);
    let excess = if evidence.energy_max.is_some() { surplus.max(last) } else { 0.0 };
    checks.push(Check::rule("surplus_price_per_kwh", excess, 0.0));
    checks
}

/// Cost, bound, and the sum of the sizes of all their terms.
fn cost_and_bound(
    slots: &[PlannedSlot],
    evidence: &ChargeEvidence,
    at_once: &[f64],
) -> (f64, f64, f64) {
    let requirements = &evidence.requirements;
    let surplus = evidence.energy_max.map_or(0.0, |_| evidence.surplus_price.as_per_kwh());
    let (mut cost, mut bound, mut scale) = (0.0, 0.0, 0.0);
    let mut add = |to: &mut f64, term: f64| {
        *to += term;
        scale += term.abs();
    };
    for (k, requirement) in requirements.iter().enumerate() {
        let next = requirements.get(k + 1).map_or(surplus, |next| next.marginal_price.as_per_kwh());
        let rest = requirement.energy.as_kwh() - sum_by(slots, |t| at_once[t], requirement);
        add(&mut bound, (requirement.marginal_price.as_per_kwh() - next) * rest.max(0.0));
    }
    if let Some(most) = evidence.energy_max {
        add(&mut bound, surplus * (most.as_kwh() - at_once.iter().sum::<f64>()));
    }
    for (slot, &forced) in slots.iter().zip(at_once) {
        let price = slot.price.as_per_kwh();
        add(&mut cost, price * slot.energy.as_kwh());
        add(&mut bound, price * forced);
        // A slot after the last deadline serves no requirement: nothing beyond `f` is bought there,
        // unless there is an `energy_max`.
        let first = requirements.iter().find(|requirement| is_by(slot, requirement));
        let value = match first {
            Some(requirement) => requirement.marginal_price.as_per_kwh(),
            None if evidence.energy_max.is_some() => surplus,
            None => continue,
        };
        add(&mut bound, (price - value).min(0.0) * (slot.capacity().as_kwh() - forced));
    }
    (cost, bound, scale)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::plan::Plan;
    use crate::plan::charge::request::{ChargeProblem, ChargeRequest, Target};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, per_kwh};

    /// Plan at 10 kW: 3 kWh at once, 8 kWh in two hours, 25 kWh in four, and up to 42 kWh of hours
    /// that are paid for.
    fn plan(cents: &[i32]) -> Plan {
        let now: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        let target = |hours, energy| Target {
            by: Some(now + chrono::TimeDelta::hours(hours)),
            energy: kwh(energy),
        };
        let mut wish = ChargeRequest::new(now, kw(10.0), target(2, 8.0));
        wish.targets.push(target(4, 25.0));
        wish.reserve = kwh(3.0);
        wish.energy_max = Some(kwh(42.0));
        plan_charge(&curve_of(60, cents), &ChargeProblem::new(wish).unwrap())
    }

    fn stated(plan: &Plan) -> Stated {
        let certificate = &plan.certificate;
        Stated {
            cost: certificate.cost.as_amount(),
            bound: certificate.bound.as_amount(),
            gap: certificate.gap().as_amount(),
            is_proved: certificate.is_proved(),
        }
    }

    /// Lines that fail once a plan and its statements are changed.
    fn failing(change: impl FnOnce(&mut Plan, &mut Stated)) -> Vec<String> {
        let mut plan = plan(&[50, 30, 20, 25, -5, -7, -9]);
        let mut stated = stated(&plan);
        change(&mut plan, &mut stated);
        let checks = verify(&plan.slots, &plan.certificate.evidence, stated);
        checks.into_iter().filter(|check| !check.holds()).map(|check| check.line).collect()
    }

    #[test]
    fn a_changed_statement_is_named() {
        assert_eq!(failing(|_, _| ()), [""; 0]);
        assert_eq!(failing(|_, stated| stated.cost += 0.01), ["cost", "gap", "is_proved"]);
        assert_eq!(failing(|_, stated| stated.bound -= 0.01), ["bound", "gap", "is_proved"]);
        assert_eq!(failing(|_, stated| stated.gap = 0.01), ["gap"]);
        assert_eq!(failing(|_, stated| stated.is_proved = false), ["is_proved"]);
    }

    #[test]
    fn changed_evidence_is_named() {
        let evidence = |change: fn(&mut ChargeEvidence)| {
            failing(|plan, _| change(&mut plan.certificate.evidence))
        };
        assert_eq!(evidence(|e| e.at_once = kwh(2.0)), ["bound"]);
        assert_eq!(evidence(|e| e.energy_max = Some(kwh(50.0))), ["bound"]);
        assert_eq!(evidence(|e| e.energy_max = None), ["total energy", "bound"]);
        assert_eq!(evidence(|e| e.surplus_price = per_kwh(-0.06)), ["bound"]);
        assert_eq!(
            evidence(|e| e.surplus_price = per_kwh(0.01)),
            ["surplus_price_per_kwh", "bound"]
        );
        let missed = evidence(|e| e.requirements[0].energy = kwh(14.0));
        assert_eq!(missed, ["requirements[0].energy_kwh", "bound"]);
        assert_eq!(evidence(|e| e.requirements[1].energy = kwh(24.0)), ["bound"]);
        let rising = evidence(|e| e.requirements[1].marginal_price = per_kwh(0.35));
        assert_eq!(rising, ["requirements[0].marginal_price_per_kwh", "bound"]);
        assert_eq!(evidence(|e| e.requirements.swap(0, 1))[0], "order of requirements");
    }

    #[test]
    fn changed_slots_are_named() {
        let moved = failing(|plan, _| plan.slots[1].energy = kwh(11.0));
        assert_eq!(moved, ["slots[1].energy_kwh", "energy_max_kwh", "cost"]);
        assert_eq!(failing(|plan, _| plan.slots[1].price = per_kwh(0.29)), ["cost", "bound"]);
        assert_eq!(failing(|plan, _| plan.slots.swap(2, 3))[0], "order of slots");
        assert!(failing(|plan, _| plan.slots[2].power_max = kw(9.0)).contains(&"bound".to_owned()));
    }

    proptest! {
        /// Every plan of the engine passes, whatever its prices.
        #[test]
        fn honest_certificates_hold(cents in prop::collection::vec(-60..60i32, 4..12)) {
            let plan = plan(&cents);
            for check in verify(&plan.slots, &plan.certificate.evidence, stated(&plan)) {
                prop_assert!(check.holds(), "{check:?}");
            }
        }
    }
}
