//! Verification of a certificate of a battery, apart from the planner and from `certify`.
//!
//! The cost is summed up slot by slot, and the dual bound `D(λ)` of the
//! [`certificate`](super::certificate) is computed as the Lagrangian at the stated marginal values.
//! The bound of a branch and bound rests on its search and is taken as it is.
use crate::plan::storage::certificate::StorageEvidence;
use crate::plan::storage::plan::StorageSlot;
use crate::plan::verification::{Check, Stated};
use crate::time::instant::micros_between;
use crate::tolerance::{GAP_MAX, allowed};
use crate::units::{MICROS_PER_HOUR, Price};

/// Compares each statement of a certificate with what the slots and its evidence give.
///
/// The checks come in this order: the order of the slots; energy, balance and level of each slot;
/// the bound by values, and then cost, bound, gap and proof. After a branch and bound the bound is
/// the larger of the bound by values and that of the search, which is taken as it is.
#[must_use]
pub fn verify(
    slots: &[StorageSlot],
    evidence: &StorageEvidence,
    bound_by_values: f64,
    stated: Stated,
) -> Vec<Check> {
    let disordered = slots.windows(2).filter(|pair| pair[0].end != pair[1].start).count()
        + slots.iter().filter(|slot| slot.start >= slot.end).count();
    let mut checks = vec![Check::rule("order of slots", disordered as f64, 0.0)];
    let mut before = evidence.stored_start.as_kwh();
    let largest = slots.iter().map(size).fold(before, f64::max);
    for (index, slot) in slots.iter().enumerate() {
        checks.extend(check_slot(index, slot, evidence, (before, allowed(GAP_MAX, largest))));
        before = slot.stored.as_kwh();
    }
    let (cost, cost_scale) = cost_of(slots, evidence, before);
    let (by_values, bound_scale) = dual_bound(slots, evidence);
    let scale = cost_scale.max(bound_scale);
    checks.push(Check::equal("bound_by_values", bound_by_values, by_values, scale));
    let searched = evidence.searched.map(|searched| searched.bound.as_amount());
    let bound = searched.map_or(by_values, |bound| bound.max(by_values));
    checks.extend(stated.checks(cost, bound, scale));
    checks
}

/// Largest energy of a slot, which rounding is relative to, in kWh.
fn size(slot: &StorageSlot) -> f64 {
    [slot.charged, slot.discharged, slot.driven, slot.stored_max]
        .map(|energy| energy.as_kwh().abs())
        .into_iter()
        .fold(0.0, f64::max)
}

/// Length of a slot in hours.
fn hours(slot: &StorageSlot) -> f64 {
    micros_between(slot.start, slot.end) as f64 / MICROS_PER_HOUR
}

/// Checks of one slot: signs and power, balance, level and charge limit.
fn check_slot(
    index: usize,
    slot: &StorageSlot,
    evidence: &StorageEvidence,
    (before, slack): (f64, f64),
) -> [Check; 5] {
    let (charged, discharged) = (slot.charged.as_kwh(), slot.discharged.as_kwh());
    let over = |energy: f64, most: f64| (energy - most * hours(slot)).max(-energy);
    let excess =
        over(charged, slot.charge_max.as_kw()).max(over(discharged, slot.discharge_max.as_kw()));
    // Energy that has no price, or that flows against energy of the other sign.
    let unpriced = if slot.import_price.is_none() { charged } else { 0.0 };
    let unsold = if slot.export_price.is_none() { discharged } else { 0.0 };
    let forbidden = charged.min(discharged).max(unpriced).max(unsold);
    let added = charged * evidence.efficiency - discharged / evidence.efficiency_discharge;
    let left = before + added - slot.driven.as_kwh();
    let stored = slot.stored.as_kwh();
    let outside = (slot.stored_min.as_kwh() - stored).max(stored - slot.stored_max.as_kwh());
    let beyond = if charged > 0.0 { stored - slot.charge_limit.as_kwh() } else { 0.0 };
    let line = |name: &str| format!("slots[{index}].{name}");
    [
        Check::rule(line("power"), excess, slack),
        Check::rule(line("price"), forbidden, 0.0),
        Check { line: line("stored_kwh"), stated: stored, computed: left, tolerance: slack },
        Check::rule(line("levels"), outside, slack),
        Check::rule(line("charge_limit_kwh"), beyond, slack),
    ]
}

/// Cost, and the sum of the sizes of its terms.
fn cost_of(slots: &[StorageSlot], evidence: &StorageEvidence, end: f64) -> (f64, f64) {
    let wear = evidence.wear_price.as_per_kwh() / evidence.efficiency_discharge;
    let terms = slots.iter().flat_map(|slot| {
        let price = |price: Option<Price>| price.map_or(0.0, Price::as_per_kwh);
        let bought = price(slot.import_price) * slot.charged.as_kwh();
        let sold = price(slot.export_price) * slot.discharged.as_kwh();
        [bought, -sold, wear * slot.discharged.as_kwh()]
    });
    let gained = end - evidence.stored_start.as_kwh();
    sum(terms.chain([-evidence.end_value.as_per_kwh() * gained]))
}

/// Dual bound at the marginal values, and the sum of the sizes of its terms.
fn dual_bound(slots: &[StorageSlot], evidence: &StorageEvidence) -> (f64, f64) {
    let (start, end_value) = (evidence.stored_start.as_kwh(), evidence.end_value.as_per_kwh());
    let value =
        |index: usize| slots.get(index).map_or(end_value, |slot| slot.marginal_value.as_per_kwh());
    let terms = slots.iter().enumerate().flat_map(|(index, slot)| {
        let (now, next) = (value(index), value(index + 1));
        let (least, most) = (slot.stored_min.as_kwh(), slot.stored_max.as_kwh());
        let level = ((now - next) * least).min((now - next) * most);
        let charge = slot.import_price.map_or(0.0, |price| {
            (price.as_per_kwh() - now * evidence.efficiency) * slot.charge_max.as_kw()
        });
        let discharge = slot.export_price.map_or(0.0, |price| {
            let stored = (now + evidence.wear_price.as_per_kwh()) / evidence.efficiency_discharge;
            (stored - price.as_per_kwh()) * slot.discharge_max.as_kw()
        });
        [level, now * slot.driven.as_kwh(), charge.min(discharge).min(0.0) * hours(slot)]
    });
    sum(terms.chain([(end_value - value(0)) * start]))
}

/// Sum of terms, and the sum of their sizes.
fn sum(terms: impl Iterator<Item = f64>) -> (f64, f64) {
    terms.fold((0.0, 0.0), |(sum, scale), term| (sum + term, scale + term.abs()))
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::vehicle::{Battery, SocTarget};
    use crate::plan::storage::plan::StoragePlan;
    use crate::plan::storage::planner::plan_storage;
    use crate::plan::storage::request::{StorageProblem, StorageRequest};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, per_kwh, percent};

    /// Battery of 10 kWh, half full now and at the end, at hourly prices.
    fn plan(cents: &[i32]) -> StoragePlan {
        let now: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        let battery = Battery {
            capacity: kwh(10.0),
            soc: Some(percent(50.0)),
            soc_fallback: None,
            charge_limit: percent(100.0),
            efficiency: 0.9,
        };
        let mut request = StorageRequest::new(now, battery, kw(4.0));
        (request.discharge_max, request.efficiency_discharge) = (kw(4.0), 0.95);
        (request.wear_price, request.end_value) = (per_kwh(0.01), Some(per_kwh(0.05)));
        request.targets.push(SocTarget { by: None, soc: Some(percent(50.0)) });
        let curve = curve_of(60, cents);
        plan_storage(&curve, Some(&curve), &StorageProblem::new(request).unwrap())
    }

    fn stated(plan: &StoragePlan) -> Stated {
        let certificate = &plan.certificate;
        Stated {
            cost: certificate.cost.as_amount(),
            bound: certificate.bound.as_amount(),
            gap: certificate.gap().as_amount(),
            is_proved: certificate.is_proved(),
        }
    }

    /// Lines that fail.
    fn failing_lines(plan: &StoragePlan, stated: Stated) -> Vec<String> {
        let certificate = &plan.certificate;
        let by_values = certificate.bound_by_values.as_amount();
        let checks = verify(&plan.slots, &certificate.evidence, by_values, stated);
        checks.into_iter().filter(|check| !check.holds()).map(|check| check.line).collect()
    }

    /// Lines that fail once a plan that buys, sells and buys back is changed.
    fn failing(change: impl FnOnce(&mut StoragePlan, &mut Stated)) -> Vec<String> {
        let mut plan = plan(&[10, 40, 20]);
        let mut stated = stated(&plan);
        change(&mut plan, &mut stated);
        failing_lines(&plan, stated)
    }

    #[test]
    fn a_changed_statement_is_named() {
        assert_eq!(failing(|_, _| ()), [""; 0]);
        assert_eq!(failing(|_, stated| stated.cost += 0.01), ["cost", "gap", "is_proved"]);
        assert_eq!(failing(|_, stated| stated.bound -= 0.01), ["bound", "gap", "is_proved"]);
        let by_values = failing(|plan, _| {
            plan.certificate.bound_by_values = crate::units::money(-9.0);
        });
        assert_eq!(by_values, ["bound_by_values"]);
    }

    #[test]
    fn changed_evidence_is_named() {
        let evidence = |change: fn(&mut StorageEvidence)| {
            failing(|plan, _| change(&mut plan.certificate.evidence))
        };
        let start = evidence(|e| e.stored_start = kwh(6.0));
        assert_eq!(start[0], "slots[0].stored_kwh");
        assert!(evidence(|e| e.efficiency = 0.8).contains(&"bound".to_owned()));
        assert!(evidence(|e| e.efficiency_discharge = 0.9).contains(&"cost".to_owned()));
        assert!(evidence(|e| e.wear_price = per_kwh(0.02)).contains(&"cost".to_owned()));
        assert!(!evidence(|e| e.end_value = per_kwh(0.5)).is_empty());
    }

    #[test]
    fn changed_slots_are_named() {
        let first = |change: fn(&mut StorageSlot)| failing(|plan, _| change(&mut plan.slots[0]));
        assert_eq!(first(|slot| slot.charged = kwh(9.0))[0], "slots[0].power");
        assert_eq!(first(|slot| slot.import_price = None)[0], "slots[0].price");
        assert_eq!(first(|slot| slot.stored = kwh(1.0))[0], "slots[0].stored_kwh");
        assert_eq!(first(|slot| slot.driven = kwh(1.0))[0], "slots[0].stored_kwh");
        assert_eq!(first(|slot| slot.stored_max = kwh(6.0))[0], "slots[0].levels");
        assert_eq!(first(|slot| slot.charge_limit = kwh(6.0)), ["slots[0].charge_limit_kwh"]);
        assert_eq!(failing(|plan, _| plan.slots.swap(0, 1))[0], "order of slots");
    }
    proptest! {
        /// Every plan of the engine passes, also those that need a branch and bound.
        #[test]
        fn honest_certificates_hold(cents in prop::collection::vec(-30..60_i32, 1..16)) {
            let plan = plan(&cents);
            prop_assert_eq!(failing_lines(&plan, stated(&plan)), [""; 0]);
        }
    }
}
