//! Planner of a battery: solves a problem and builds the plan with its certificate.
use chrono::{DateTime, TimeDelta, Utc};

use crate::plan::interval::Interval;
#[cfg(feature = "lp")]
use crate::plan::stability::stay_close::Stability;
use crate::plan::storage::baseline::baseline;
use crate::plan::storage::branch_and_bound::{StorageBuffers, solve};
use crate::plan::storage::certificate::{Searched, StorageCertificate, StorageEvidence, certify};
use crate::plan::storage::dynamic_programme::CostAndBound;
use crate::plan::storage::plan::{
    StorageCosts, StorageOutcome, StoragePlan, StorageSlot, unpriced_hours,
};
use crate::plan::storage::price_slots::PriceSlots;
use crate::plan::storage::request::StorageProblem;
use crate::plan::storage::slots::Layout;
#[cfg(feature = "lp")]
use crate::plan::storage::stay_near::stay_near;
use crate::prices::curve::PriceCurve;
use crate::time::instant::instant_at;
use crate::tolerance::{ENERGY_SHARE_MIN, SUM_ROUNDING};
use crate::units::{Energy, Money, Percent, Power, Price};

/// Initial capacity of the list of intervals: more than the plan of a day usually has.
const INTERVALS_EXPECTED: usize = 16;

/// Plans a battery at the least cost among the plans that serve its wishes best.
///
/// Wishes come before cost: the least unserved driving, the least shortfall at each target, and
/// reserve and minimum wherever they can be held. Charging as much as possible serves all of
/// them best, so no wish is traded for another.
///
/// The plan is optimal also at negative prices: no slot charges and discharges. Without `export`
/// nothing is sold, and `discharge_max` is not used. A slot is used at full power from its
/// start. Of two slots with equal price the earlier is used, and energy without gain is not
/// moved.
///
/// With [`StorageRequest::previous`](crate::plan::storage::StorageRequest::previous) the plan is the
/// one nearest to the plan before, of those that serve the wishes as well and cost at most the budget
/// more. Its marginal values are those of the cheapest plan.
///
/// # Example
///
/// Three hours cost 0.10, 0.40 and 0.20 per kWh, to buy and to sell. A battery of 10 kWh, half
/// full, with 4 kW both ways and without losses, has to be half full at the end. It buys 4 kWh
/// for 0.40 and sells 4 kWh for 1.60.
///
/// ```
/// use slackwater_engine::plan::storage::plan_storage;
/// use slackwater_engine::plan::storage::{StorageProblem, StorageRequest};
/// use slackwater_engine::plan::charge::{Battery, SocTarget};
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
    plan_on(&PriceSlots::new(import, export), problem, &mut StorageBuffers::new())
}

/// Plans a battery on prices that are cut already, in memory of the caller; see
/// [`plan_storage`].
#[must_use]
pub fn plan_on(
    grid: &PriceSlots,
    problem: &StorageProblem,
    buffers: &mut StorageBuffers,
) -> StoragePlan {
    let layout = Layout::new(grid, problem);
    let solution = solve(&layout.programme, &layout.import, &layout.export, buffers);
    let plan = assemble_plan(grid, problem, &layout, solution, buffers);
    #[cfg(feature = "lp")]
    if let Some(previous) = &problem.request().previous {
        let near = stay_near(&layout, &buffers.change, previous, problem.request().now);
        if let Some(changes) = near.changes {
            buffers.change = changes;
        }
        let nearest = assemble_plan(grid, problem, &layout, solution, buffers);
        let extra_cost = (nearest.certificate.cost - plan.certificate.cost).max(Money::ZERO);
        let stability = Some(Stability { extra_cost, ..near.stability });
        return StoragePlan { stability, ..nearest };
    }
    plan
}

/// Makes the plan of the changes of stored energy in `buffers`.
fn assemble_plan(
    grid: &PriceSlots,
    problem: &StorageProblem,
    layout: &Layout,
    solution: CostAndBound,
    buffers: &StorageBuffers,
) -> StoragePlan {
    let (slots, intervals) = slots(layout, buffers);
    let request = problem.request();
    let certificate = certify_plan(&slots, solution, problem);
    let costs = costs(&slots, problem);
    let baseline_cost = baseline(layout, &slots);
    let sum = |of: fn(&StorageSlot) -> Energy| slots.iter().fold(Energy::ZERO, |a, s| a + of(s));
    let may_sell = grid.may_sell && request.discharge_max > Power::ZERO;
    // Driving that cannot be served, and levels that cannot be held.
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
        unpriced_hours: unpriced_hours(&slots, may_sell),
        certificate,
        stability: None,
        slots,
    };
    // Outcomes read levels from the plan, so they come after it.
    plan.targets = outcomes(&plan, problem);
    plan.shortfall =
        plan.targets.iter().fold(Energy::ZERO, |most, target| most.max(target.shortfall));
    plan
}

/// Energy of a finite number of kWh.
fn energy(kwh: f64) -> Energy {
    Energy::from_kwh(kwh).expect("sums of energies of one battery are energies")
}

/// Slots of a plan, and its intervals with neighbours of equal power merged.
fn slots(layout: &Layout, buffers: &StorageBuffers) -> (Vec<StorageSlot>, Vec<Interval>) {
    let programme = &layout.programme;
    let price = |per_kwh: f64| Price::from_per_kwh(per_kwh).ok();
    let mut level = programme.stored_kwh;
    let mut slots = Vec::with_capacity(programme.slots.len());
    let mut intervals = Vec::with_capacity(programme.slots.len().min(INTERVALS_EXPECTED));
    // Slots follow each other, so each instant is computed once from the one before.
    let mut end =
        layout.pieces.first().map_or(DateTime::UNIX_EPOCH, |first| instant_at(first.start));
    for (index, (slot, piece)) in programme.slots.iter().zip(&layout.pieces).enumerate() {
        let change = buffers.change[index];
        let net = programme.at_plug(change);
        // Sums drift by less than a billionth of a watt-hour; `clamp` keeps the level in bounds.
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
            marginal_value: price(buffers.marginal[index]).unwrap_or(Price::ZERO),
        });
        // Interval at full power from the start of the slot, merged with the one before it.
        if change != 0.0 {
            let is_charging = change > 0.0;
            let power = if is_charging { piece.charge_max } else { piece.discharge_max };
            let most = power.over_micros(piece.end - piece.start).as_kwh();
            let is_full = net.abs() >= most * (1.0 - SUM_ROUNDING);
            let end = if is_full { end } else { slots[index].busy_until() };
            let power = if is_charging { power } else { -power };
            Interval { start, end, power }.join(&mut intervals, |a, b| a == b);
        }
    }
    (slots, intervals)
}

/// Certificate of the slots, with the bound of the branch and bound if there was one.
fn certify_plan(
    slots: &[StorageSlot],
    solution: CostAndBound,
    problem: &StorageProblem,
) -> StorageCertificate {
    let request = problem.request();
    // One relaxation is no search: it was exact, and its values prove the plan.
    let searched = (solution.nodes > 1).then(|| Searched {
        bound: Money::from_amount(solution.bound).unwrap_or(Money::ZERO),
        nodes: solution.nodes,
    });
    let evidence = StorageEvidence {
        stored_start: problem.stored(),
        efficiency: request.battery.efficiency,
        efficiency_discharge: request.efficiency_discharge,
        wear_price: request.wear_price,
        end_value: problem.end_value(),
        searched,
    };
    certify(slots, evidence).expect("a plan keeps within its own levels")
}

/// Parts of the cost of a plan.
fn costs(slots: &[StorageSlot], problem: &StorageProblem) -> StorageCosts {
    let request = problem.request();
    let mut costs = StorageCosts::default();
    let mut sold = 0.0;
    for slot in slots {
        costs.import = costs.import + slot.import_price.unwrap_or(Price::ZERO).of(slot.charged);
        costs.export = costs.export + slot.export_price.unwrap_or(Price::ZERO).of(slot.discharged);
        sold += slot.discharged.as_kwh();
    }
    // Wear is paid for stored energy, which is more than the energy sold.
    costs.wear = request.wear_price.of(energy(sold / request.efficiency_discharge));
    if let Some(last) = slots.last() {
        costs.stored = problem.end_value().of(last.stored - problem.stored());
    }
    costs
}

/// Outcome of each target, in the order of the request.
fn outcomes(plan: &StoragePlan, problem: &StorageProblem) -> Vec<StorageOutcome> {
    let request = problem.request();
    let (capacity, limit) = (request.battery.capacity, request.battery.charge_limit);
    let end = plan.slots.last().map_or(request.now, |slot| slot.end);
    let outcome = |target: &crate::plan::charge::vehicle::SocTarget| {
        // A target after the end of the plan is judged at the end.
        let by = target.by.unwrap_or(end).min(end);
        let wanted = target.soc.unwrap_or(limit);
        let stored = plan.stored_at(by);
        let missing = wanted.of(capacity) - stored;
        let is_missed = missing.as_kwh() > ENERGY_SHARE_MIN * capacity.as_kwh();
        let shortfall = if is_missed { missing } else { Energy::ZERO };
        let above = (wanted.of(capacity) - limit_at(plan, limit, by)).max(Energy::ZERO);
        StorageOutcome {
            by: target.by,
            wanted,
            soc: Percent::filled(stored, capacity),
            shortfall,
            above_limit: shortfall.min(above),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::vehicle::{Battery, SocTarget};
    use crate::plan::storage::explain::explain;
    use crate::plan::storage::request::{Consumption, StorageLimit, StorageRequest};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{per_kwh, percent};

    /// Numbers of every order of magnitude from `10^least` to `10^most`.
    fn magnitudes(least: i32, most: i32) -> impl Strategy<Value = f64> {
        (f64::from(least)..=f64::from(most)).prop_map(|power| 10_f64.powf(power))
    }

    fn power() -> impl Strategy<Value = f64> {
        prop_oneof![4 => magnitudes(-12, 7), 1 => Just(0.0)]
    }

    /// Consumption: its first hour after the first price, hours, energy in kWh, and plugged in.
    fn drive() -> impl Strategy<Value = (i64, i64, f64, bool)> {
        (0..20_i64, 1..8_i64, power(), any::<bool>())
    }

    prop_compose! {
        /// Problem with powers, capacity and driving of very different orders of magnitude.
        fn problem()(
            capacity in magnitudes(-6, 6),
            socs in prop::array::uniform4(0.0..=100.0_f64),
            powers in prop::array::uniform3(power()),
            efficiencies in prop::array::uniform2(0.01..=1.0_f64),
            (wear, end_value) in (0.0..0.3_f64, 0.0..0.5_f64),
            by in prop::collection::vec((prop::option::of(0..30_i64), 0.0..=100.0_f64), 0..3),
            drive in prop::option::of(drive()),
            continues in any::<bool>(),
        ) -> StorageProblem {
            let start = curve_of(60, &[0]).horizon().starts()[0];
            let hour = |hours: i64| instant_at(start) + TimeDelta::hours(hours);
            let kw = |value: f64| crate::units::Power::from_kw(value).unwrap();
            let battery = Battery {
                capacity: energy(capacity),
                soc: Some(percent(socs[0])),
                soc_fallback: None,
                charge_limit: percent(socs[1]),
                efficiency: efficiencies[0],
            };
            let mut request = StorageRequest::new(hour(0), battery, kw(powers[0]));
            request.discharge_max = kw(powers[1]);
            request.efficiency_discharge = efficiencies[1];
            request.reserve = percent(socs[2] / 2.0);
            (request.wear_price, request.end_value) = (per_kwh(wear), Some(per_kwh(end_value)));
            request.targets = by
                .iter()
                .map(|&(by, soc)| SocTarget { by: by.map(hour), soc: Some(percent(soc)) })
                .collect();
            if let Some((from, hours, energy_kwh, is_plugged_in)) = drive {
                let (start, end) = (hour(from), hour(from + hours));
                let energy = energy(energy_kwh);
                request.consumption.push(Consumption { start, end, energy, is_plugged_in });
            }
            request.limits.push(StorageLimit {
                start: hour(3),
                end: hour(9),
                charge_max: Some(kw(powers[2])),
                discharge_max: None,
                soc_min: None,
                soc_max: Some(percent(socs[3])),
            });
            if !continues {
                request.after_deadline = crate::plan::charge::request::AfterDeadline::Stop;
            }
            StorageProblem::new(request).unwrap()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Powers and capacities of any magnitude give a finite plan whose levels hold.
        #[test]
        fn any_powers_and_capacities_are_planned(
            problem in problem(),
            cents in prop::collection::vec(-30..60_i32, 1..24),
            minutes in prop::sample::select(vec![15_i64, 60]),
            sells in any::<bool>(),
        ) {
            let curve = curve_of(minutes, &cents);
            let plan = plan_storage(&curve, sells.then_some(&curve), &problem);
            prop_assert!(plan.cost.as_amount().is_finite());
            let capacity_kwh = problem.request().battery.capacity.as_kwh();
            let moved_kwh = (plan.charged + plan.discharged).as_kwh();
            let scale = plan.cost.as_amount().abs().max(1.0).max(capacity_kwh).max(moved_kwh);
            prop_assert!(plan.certificate.gap().as_amount() >= -1e-9 * scale);
            for slot in &plan.slots {
                prop_assert!(slot.stored_min <= slot.stored && slot.stored <= slot.stored_max);
            }
            prop_assert!(explain(&plan).len() <= plan.slots.len());
        }
    }
}
