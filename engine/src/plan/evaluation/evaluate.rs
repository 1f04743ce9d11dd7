//! Evaluation of plans of one device: a vehicle that charges, a battery, a device that switches.
use crate::plan::charge::plan::{Plan, PlannedSlot};
use crate::plan::evaluation::connection::{ConnectionSums, EnergyFlow, sum_up};
use crate::plan::evaluation::facts::{ConnectionFacts, EvaluatedCosts, Evaluation};
use crate::plan::heat::baseline::unplanned;
use crate::plan::heat::plan::HeatPlan;
use crate::plan::heat::planned_slot::HeatSlot;
use crate::plan::storage::plan::StoragePlan;
use crate::plan::storage::request::StorageRequest;
use crate::plan::switching::plan::SwitchingPlan;
use crate::time::instant::micros_of;
use crate::units::{Energy, Money, Power, Price};

/// Evaluates a plan of a vehicle under other facts.
///
/// The plan is executed as it is. With facts about solar power or load, cost and energy are those
/// of the whole connection from the start of the first slot to the end of the last one. The
/// baseline charges the same energy at full power from the first slot on. Time in which a fact is
/// missing is in no cost and is listed.
#[must_use]
pub fn evaluate_charge(plan: &Plan, facts: &ConnectionFacts<'_>) -> Evaluation {
    let flows: Vec<EnergyFlow> = plan.slots.iter().filter_map(charge_flow).collect();
    let unplanned = at_once(&plan.slots, plan.energy);
    evaluate(&flows, (&unplanned, Fixed::default()), Fixed::default(), span(&plan.slots), facts)
}

/// Evaluates a plan of a device that switches under other facts; as [`evaluate_charge`]. Costs of
/// starts are in `other`; the baseline starts once.
#[must_use]
pub fn evaluate_switching(plan: &SwitchingPlan, facts: &ConnectionFacts<'_>) -> Evaluation {
    let flows = switching_flows(plan);
    let unplanned = at_once(&plan.slots, plan.energy);
    let is_new = plan.sessions.first().is_some_and(|session| !session.is_carried);
    let start_cost = if is_new { plan.request.start_cost } else { Money::ZERO };
    let fixed = |other: Money| Fixed { other: other.as_amount(), stored: 0.0 };
    let unplanned = (&unplanned[..], fixed(start_cost));
    evaluate(&flows, unplanned, fixed(plan.start_costs), span(&plan.slots), facts)
}

/// Evaluates a plan of a battery under other facts; as [`evaluate_charge`]. Wear is in `other`.
/// The baseline is that of the plan: it does not discharge, and charges at full power from
/// plug-in what the wishes need, or what the plan gains if that is more.
#[must_use]
pub fn evaluate_storage(
    request: &StorageRequest,
    plan: &StoragePlan,
    facts: &ConnectionFacts<'_>,
) -> Evaluation {
    let flow = |slot: &crate::plan::storage::plan::StorageSlot| {
        let kwh = slot.charged.as_kwh() - slot.discharged.as_kwh();
        // Less than a microsecond of charging is spread over the slot.
        let busy = micros_of(slot.busy_until());
        let end = if busy > micros_of(slot.start) { busy } else { micros_of(slot.end) };
        (kwh != 0.0).then_some(EnergyFlow { start: micros_of(slot.start), end, kwh })
    };
    let flows: Vec<EnergyFlow> = plan.slots.iter().filter_map(flow).collect();
    let (unplanned, level) = unplanned_storage(request, plan);
    let gained = level - plan.stored_start.as_kwh();
    let stored = request.end_value.unwrap_or(Price::ZERO).as_per_kwh() * gained;
    let own = Fixed { other: plan.costs.wear.as_amount(), stored: plan.costs.stored.as_amount() };
    let ends = plan.slots.first().zip(plan.slots.last());
    let span = ends.map_or((0, 0), |(first, last)| (micros_of(first.start), micros_of(last.end)));
    evaluate(&flows, (&unplanned, Fixed { other: 0.0, stored }), own, span, facts)
}

/// Evaluates a plan of a room or tank under other facts; as [`evaluate_charge`]. The baseline is the
/// thermostat of the plan.
#[must_use]
pub fn evaluate_heat(plan: &HeatPlan, facts: &ConnectionFacts<'_>) -> Evaluation {
    let flow = |slot: &HeatSlot, kwh: f64| {
        let (start, end) = (micros_of(slot.start), micros_of(slot.end));
        (kwh > 0.0).then_some(EnergyFlow { start, end, kwh })
    };
    let own = plan.slots.iter().filter_map(|slot| flow(slot, slot.used.as_kwh()));
    let (used, gained) = unplanned(plan);
    let held = plan.slots.iter().zip(&used).filter_map(|(slot, &kwh)| flow(slot, kwh));
    let stored = plan.certificate.evidence.end_value.as_per_kwh() * gained;
    let fixed = |stored: f64| Fixed { other: 0.0, stored };
    let ends = plan.slots.first().zip(plan.slots.last());
    let span = ends.map_or((0, 0), |(first, last)| (micros_of(first.start), micros_of(last.end)));
    let (own, held): (Vec<_>, Vec<_>) = (own.collect(), held.collect());
    evaluate(&own, (&held, fixed(stored)), fixed(plan.stored_value.as_amount()), span, facts)
}

/// Costs that do not depend on the facts.
#[derive(Debug, Clone, Copy, Default)]
struct Fixed {
    other: f64,
    stored: f64,
}

/// Evaluation of flows and of those of the baseline.
fn evaluate(
    flows: &[EnergyFlow],
    (unplanned, unplanned_fixed): (&[EnergyFlow], Fixed),
    fixed: Fixed,
    span: (i64, i64),
    facts: &ConnectionFacts<'_>,
) -> Evaluation {
    let sums = sum_up(flows, facts, span);
    let held = sum_up(unplanned, facts, span);
    let peak = facts.demand.map(|demand| demand.cost(sums.window_kwh_max).0);
    Evaluation {
        costs: costs(&sums, fixed, facts),
        baseline: costs(&held, unplanned_fixed, facts),
        import: energy(sums.import_kwh),
        export: energy(sums.export_kwh),
        from_solar: energy(sums.from_solar_kwh),
        from_grid: energy(sums.from_grid_kwh),
        peak: peak.and_then(|peak| Power::from_kw(peak).ok()),
        on_estimates: energy(sums.on_estimates_kwh),
        missing: sums.missing,
        baseline_missing: held.missing_energy(),
    }
}

fn costs(sums: &ConnectionSums, fixed: Fixed, facts: &ConnectionFacts<'_>) -> EvaluatedCosts {
    let demand = facts.demand.map_or(0.0, |demand| demand.cost(sums.window_kwh_max).1);
    EvaluatedCosts {
        import: money(sums.import_cost),
        export: money(sums.export_revenue),
        demand: money(demand),
        other: money(fixed.other + sums.emission_cost),
        stored: money(fixed.stored),
    }
}

/// Energy of a sum; zero if the sum is not finite.
pub(crate) fn energy(kwh: f64) -> Energy {
    Energy::from_kwh(kwh).unwrap_or(Energy::ZERO)
}

/// Money of a sum; zero if the sum is not finite.
pub(crate) fn money(amount: f64) -> Money {
    Money::from_amount(amount).unwrap_or(Money::ZERO)
}

/// First and last microsecond of slots.
fn span(slots: &[PlannedSlot]) -> (i64, i64) {
    let ends = slots.first().zip(slots.last());
    ends.map_or((0, 0), |(first, last)| (micros_of(first.start), micros_of(last.end)))
}

/// Flow of a slot: full power from its start.
fn charge_flow(slot: &PlannedSlot) -> Option<EnergyFlow> {
    let start = micros_of(slot.start);
    let busy = micros_of(slot.charged_until());
    let end = if busy > start { busy } else { micros_of(slot.end) };
    let kwh = slot.energy.as_kwh();
    (kwh > 0.0).then_some(EnergyFlow { start, end, kwh })
}

/// Flows of an energy at full power from the first slot on.
fn at_once(slots: &[PlannedSlot], energy: Energy) -> Vec<EnergyFlow> {
    let mut missing = energy;
    let flow = |slot: &PlannedSlot| {
        let taken = slot.capacity().min(missing).max(Energy::ZERO);
        missing = missing - taken;
        charge_flow(&PlannedSlot { energy: taken, ..*slot })
    };
    slots.iter().filter_map(flow).collect()
}

/// Flows of a plan that switches: each slot's energy in the time in which the device is on.
fn switching_flows(plan: &SwitchingPlan) -> Vec<EnergyFlow> {
    let flow = |slot: &PlannedSlot| {
        let on = plan.intervals.iter().find(|on| on.start < slot.end && on.end > slot.start);
        let (start, end) = on
            .map_or((slot.start, slot.end), |on| (on.start.max(slot.start), on.end.min(slot.end)));
        let kwh = slot.energy.as_kwh();
        (kwh > 0.0).then_some(EnergyFlow { start: micros_of(start), end: micros_of(end), kwh })
    };
    plan.slots.iter().filter_map(flow).collect()
}

/// Flows of the baseline of a battery, and its level at the end in kWh.
fn unplanned_storage(request: &StorageRequest, plan: &StoragePlan) -> (Vec<EnergyFlow>, f64) {
    let start_kwh = plan.stored_start.as_kwh();
    let (mut driven, mut needed): (f64, f64) = (0.0, 0.0);
    for slot in &plan.slots {
        driven += slot.driven.as_kwh();
        needed = needed.max(slot.stored_min.as_kwh() + driven - start_kwh);
    }
    let end_kwh = plan.slots.last().map_or(start_kwh, |slot| slot.stored.as_kwh());
    let (mut missing, mut level) = (needed.max(end_kwh + driven - start_kwh), start_kwh);
    let mut flows = Vec::new();
    for slot in &plan.slots {
        let driving = slot.driven.as_kwh();
        let room = (slot.charge_limit.as_kwh() + driving - level).max(0.0);
        let most =
            slot.charge_max.over(slot.end - slot.start).as_kwh() * request.battery.efficiency;
        let taken = most.min(room).min(missing.max(0.0));
        if taken > 0.0 {
            let energy = energy(taken / request.battery.efficiency);
            let price = slot.import_price.unwrap_or_default();
            let (start, end, power_max) = (slot.start, slot.end, slot.charge_max);
            flows.extend(charge_flow(&PlannedSlot { start, end, price, power_max, energy }));
            missing -= taken;
        }
        level += taken - driving;
    }
    (flows, level)
}
