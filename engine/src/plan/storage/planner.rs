//! From a problem to a plan with its proof.
use chrono::{DateTime, TimeDelta, Utc};

use crate::plan::plan::Interval;
use crate::plan::storage::baseline::baseline;
use crate::plan::storage::certificate::{Evidence, Searched, StorageCertificate, certify};
use crate::plan::storage::grid::Grid;
use crate::plan::storage::kernel::{Answer, Scratch, changes};
use crate::plan::storage::layout::Layout;
use crate::plan::storage::plan::{
    StorageCosts, StorageOutcome, StoragePlan, StorageSlot, join, unpriced_hours,
};
use crate::plan::storage::problem::StorageProblem;
use crate::prices::curve::PriceCurve;
use crate::time::instant::instant_at;
use crate::units::{Energy, Money, Percent, Price};

/// Part of a slot's energy from which only rounding is missing.
const FULL: f64 = 1.0 - 1e-12;

/// More periods than a plan of a day has as a rule.
const INTERVALS_EXPECTED: usize = 16;

/// Plans a battery at the least cost that its wishes leave.
///
/// Wishes come first: the least driving unserved, the least shortfall at each
/// target, earliest first, and reserve and minimum wherever they can be held.
/// All of them are served best by charging as much as possible, so none is
/// traded for another; the cost decides among the plans that serve them so.
///
/// Exact, also where prices are negative: no slot charges and discharges at
/// once. Without `export` nothing is sold; `discharge_max` is not used then.
/// A slot is used at full power from its start. Of two slots with one price
/// the earlier is used, and what brings no gain is not done.
///
/// # Example
///
/// Three hours at 0.10, 0.40 and 0.20 to buy and to sell. A battery of 10 kWh,
/// half full, 4 kW both ways and without losses, is to be half full at the
/// end: it buys 4 kWh for 0.40, sells 4 for 1.60 and is where it was.
///
/// ```
/// use slackwater_engine::plan::storage::planner::plan_storage;
/// use slackwater_engine::plan::storage::problem::{StorageProblem, StorageRequest};
/// use slackwater_engine::plan::vehicle::{Battery, SocTarget};
/// use slackwater_engine::prices::curve::{PriceCurve, Slot};
/// use slackwater_engine::units::{kw, kwh, money, per_kwh, percent};
///
/// let at = |text: &str| text.parse().unwrap();
/// let slot = |start, end, price| Slot { start: at(start), end: at(end), price: per_kwh(price) };
/// let prices = PriceCurve::new(&[
///     slot("2026-01-05T18:00:00Z", "2026-01-05T19:00:00Z", 0.10),
///     slot("2026-01-05T19:00:00Z", "2026-01-05T20:00:00Z", 0.40),
///     slot("2026-01-05T20:00:00Z", "2026-01-05T21:00:00Z", 0.20),
/// ])?;
/// let battery = Battery {
///     capacity: kwh(10.0),
///     soc: Some(percent(50.0)),
///     soc_fallback: None,
///     charge_limit: percent(100.0),
///     efficiency: 1.0,
/// };
/// let mut request = StorageRequest::new(at("2026-01-05T18:00:00Z"), battery, kw(4.0));
/// request.targets.push(SocTarget { by: None, soc: Some(percent(50.0)) });
/// let problem = StorageProblem::new(request).unwrap();
///
/// let plan = plan_storage(&prices, Some(&prices), &problem);
///
/// assert_eq!(plan.intervals.len(), 2);
/// assert!((plan.cost.as_amount() - (0.40 - 1.60)).abs() < 1e-12);
/// assert!(plan.certificate.is_proved());
/// # Ok::<(), slackwater_engine::prices::curve::CurveError>(())
/// ```
#[must_use]
pub fn plan_storage(
    import: &PriceCurve,
    export: Option<&PriceCurve>,
    problem: &StorageProblem,
) -> StoragePlan {
    plan_on(&Grid::new(import, export), problem, &mut Scratch::new())
}

/// The same on prices that have been cut before, in memory of the caller.
#[must_use]
pub fn plan_on(grid: &Grid, problem: &StorageProblem, scratch: &mut Scratch) -> StoragePlan {
    let layout = Layout::new(grid, problem);
    let answer = changes(&layout.kernel, &layout.import, &layout.export, scratch);
    let (slots, intervals) = slots(&layout, scratch);
    let request = problem.request();
    let certificate = proof(&slots, answer, problem);
    let costs = costs(&slots, problem);
    let baseline_cost = baseline(&layout, &slots);
    let sum = |of: fn(&StorageSlot) -> Energy| slots.iter().fold(Energy::ZERO, |a, s| a + of(s));
    let pieces = layout.pieces.iter();
    let unserved = pieces.clone().map(|piece| piece.unserved_kwh).sum();
    let below_floor = pieces.map(|piece| piece.below_floor_kwh).fold(0.0, f64::max);
    let mut plan = StoragePlan {
        intervals,
        capacity: request.battery.capacity,
        stored_start: problem.stored(),
        charged: sum(|slot| slot.charged),
        discharged: sum(|slot| slot.discharged),
        cost: costs.total(),
        costs,
        shortfall: Energy::ZERO,
        floor_shortfall: energy(below_floor),
        unserved: energy(unserved),
        targets: Vec::new(),
        baseline_cost: Money::from_amount(baseline_cost).unwrap_or(Money::ZERO),
        unpriced_hours: unpriced_hours(&slots),
        certificate,
        slots,
    };
    plan.targets = outcomes(&plan, problem);
    plan.shortfall =
        plan.targets.iter().fold(Energy::ZERO, |most, target| most.max(target.shortfall));
    plan
}

/// An amount that arithmetic on quantities has led to.
fn energy(kwh: f64) -> Energy {
    Energy::from_kwh(kwh).expect("sums of energies of one battery are energies")
}

/// The slots of a plan, and what it does in them as few periods as possible.
fn slots(layout: &Layout, scratch: &Scratch) -> (Vec<StorageSlot>, Vec<Interval>) {
    let kernel = &layout.kernel;
    let price = |per_kwh: f64| Price::from_per_kwh(per_kwh).ok();
    let mut level = kernel.stored_kwh;
    let mut slots = Vec::with_capacity(kernel.slots.len());
    let mut intervals = Vec::with_capacity(kernel.slots.len().min(INTERVALS_EXPECTED));
    // Slots follow each other: each instant is made once, by a step from the one before.
    let mut end =
        layout.pieces.first().map_or(DateTime::UNIX_EPOCH, |first| instant_at(first.start));
    for (index, (slot, piece)) in kernel.slots.iter().zip(&layout.pieces).enumerate() {
        let change = scratch.change[index];
        let net = kernel.at_plug(change);
        // Sums drift by less than a billionth of a watt-hour; levels do not leave their bounds.
        level = (level + change - slot.driving_kwh).clamp(slot.least_kwh, slot.most_kwh);
        let start = end;
        end = start + TimeDelta::microseconds(piece.end - piece.start);
        slots.push(StorageSlot {
            start,
            end,
            import_price: price(layout.import[index]),
            export_price: price(layout.export[index]),
            charge_max: piece.charge_max,
            discharge_max: piece.discharge_max,
            charged: energy(net.max(0.0)),
            discharged: energy((-net).max(0.0)),
            driven: energy(slot.driving_kwh),
            stored: energy(level),
            stored_min: energy(slot.least_kwh),
            stored_max: energy(slot.most_kwh),
            charge_limit: energy(slot.limit_kwh),
            wish: piece.wish,
            marginal_value: price(scratch.marginal[index]).unwrap_or(Price::ZERO),
        });
        if change != 0.0 {
            let is_charging = change > 0.0;
            let most = if is_charging { slot.charge_kwh } else { slot.discharge_kwh };
            let is_full = change.abs() >= most * FULL;
            join(
                &mut intervals,
                Interval {
                    start,
                    end: if is_full { end } else { slots[index].busy_until() },
                    power: if is_charging { piece.charge_max } else { -piece.discharge_max },
                },
            );
        }
    }
    (slots, intervals)
}

fn proof(slots: &[StorageSlot], answer: Answer, problem: &StorageProblem) -> StorageCertificate {
    let request = problem.request();
    let searched = (answer.nodes > 1).then(|| Searched {
        bound: Money::from_amount(answer.bound).unwrap_or(Money::ZERO),
        nodes: answer.nodes,
    });
    let evidence = Evidence {
        stored_start: problem.stored(),
        efficiency: request.battery.efficiency,
        efficiency_discharge: request.efficiency_discharge,
        wear_price: request.wear_price,
        end_value: request.end_value,
        searched,
    };
    certify(slots, evidence).expect("a plan keeps within its own levels")
}

fn costs(slots: &[StorageSlot], problem: &StorageProblem) -> StorageCosts {
    let request = problem.request();
    let mut costs = StorageCosts::default();
    let mut sold = 0.0;
    for slot in slots {
        costs.import = costs.import + slot.import_price.unwrap_or(Price::ZERO).of(slot.charged);
        costs.export = costs.export + slot.export_price.unwrap_or(Price::ZERO).of(slot.discharged);
        sold += slot.discharged.as_kwh();
    }
    costs.wear = request.wear_price.of(energy(sold / request.efficiency_discharge));
    if let Some(last) = slots.last() {
        costs.stored = request.end_value.of(last.stored - problem.stored());
    }
    costs
}

fn outcomes(plan: &StoragePlan, problem: &StorageProblem) -> Vec<StorageOutcome> {
    let request = problem.request();
    let (capacity, limit) = (request.battery.capacity, request.battery.charge_limit);
    let end = plan.slots.last().map_or(request.now, |slot| slot.end);
    let outcome = |target: &crate::plan::vehicle::SocTarget| {
        let by = target.by.unwrap_or(end).min(end);
        let wanted = target.soc.unwrap_or(limit);
        let stored = plan.stored_at(by);
        let missing = wanted.of(capacity).min(limit_at(plan, limit, by)) - stored;
        // Less than a billionth of the battery is rounding.
        let is_missed = missing.as_kwh() > 1e-9 * capacity.as_kwh();
        StorageOutcome {
            by: target.by,
            wanted,
            soc: Percent::filled(stored, capacity),
            shortfall: if is_missed { missing } else { Energy::ZERO },
            reached_at: plan.reached_at(wanted.of(capacity)),
        }
    };
    request.targets.iter().map(outcome).collect()
}

/// Stored energy at the charge limit that holds just before an instant.
fn limit_at(plan: &StoragePlan, limit: Percent, by: DateTime<Utc>) -> Energy {
    let last = plan.slots.iter().take_while(|slot| slot.start < by).last();
    last.map_or(limit.of(plan.capacity), |slot| slot.charge_limit)
}
