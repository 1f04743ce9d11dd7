//! Plan from a slot selection: one deciding target at constant power.
//!
//! The searches of [`selection`](super::selection) find the slots up to the deadline of the
//! deciding target ([`ChargeRequest::deciding`](super::request::ChargeRequest::deciding)). Slots
//! after it, up to the last deadline, stay unused: they only count for the time without a price
//! and for the price of the next kWh.
use crate::plan::charge::certificate::{ChargeEvidence, Requirement, certify_own};
use crate::plan::charge::plan::{Plan, PlannedSlot, Purchase, Purpose, intervals};
use crate::plan::charge::request::{AfterDeadline, ChargeProblem};
use crate::plan::charge::selection::slot_selection::{Need, SlotSelection, Window};
use crate::plan::charge::selection::threshold;
use crate::plan::charge::sub_slots::{Deadline, SubSlot, deadlines, sub_slots, unpriced_hours};
use crate::prices::curve::PriceCurve;
use crate::prices::ranking::SLOTS_MAX;
use crate::time::instant::instant_at;
use crate::units::{Energy, Money, Power, Price};

/// Slot selection for the deciding target, with its window and its position in the request.
pub(crate) struct Chosen {
    target: usize,
    window: Window,
    choice: SlotSelection,
}

/// Selects slots for the deciding target. `None` if there is no such target, if the request has
/// power limits, a reserve or an `energy_max`, if the window is too long, or if energy is charged
/// after the deadline as well.
pub(crate) fn choose(curve: &PriceCurve, problem: &ChargeProblem) -> Option<Chosen> {
    let request = problem.request();
    let target = request.deciding()?;
    // These cut slots or buy in several passes, which a selection cannot.
    if !request.power_limits.is_empty()
        || request.reserve > Energy::ZERO
        || request.energy_max.is_some()
    {
        return None;
    }
    let energy = request.within_limit(&request.targets[target]);
    let by = request.targets[target].by_micros();
    let window = Window::new(curve.horizon(), problem.from(), problem.to().min(by));
    let need = Need { energy_kwh: energy.as_kwh(), power_kw: request.power_max.as_kw() };
    let choice = choose_in(curve, window, need)?;
    // A selection ends with its window, so nothing may be charged after it.
    let is_all = is_all(problem, by, choice.shortfall_kwh);
    is_all.then_some(Chosen { target, window, choice })
}

/// Returns `true` if nothing is charged after `by`, the deadline of the deciding target: it is
/// met, or it is the only target and charging stops there.
pub(crate) fn is_all(problem: &ChargeProblem, by: i64, shortfall_kwh: f64) -> bool {
    let request = problem.request();
    let goes_on = request.after_deadline == AfterDeadline::Continue && by < problem.to();
    shortfall_kwh <= 0.0 || (request.targets.len() == 1 && !goes_on)
}

/// Lowest price from `to` (the end of the window, in microseconds) to the last deadline; `None`
/// if there is no such time or no power.
pub(crate) fn price_after(curve: &PriceCurve, problem: &ChargeProblem, to: i64) -> Option<Price> {
    let last = problem.request().last_by()?.min(problem.to());
    if last <= to || problem.request().power_max <= Power::ZERO {
        return None;
    }
    let slots = curve.horizon().overlapping(to.max(problem.from()), last);
    let cheapest = curve.prices()[slots].iter().copied().reduce(f64::min)?;
    Price::from_per_kwh(cheapest).ok()
}

/// The lower of two prices; `None` counts as higher than any.
pub(crate) fn cheaper(one: Option<Price>, other: Option<Price>) -> Option<Price> {
    [one, other].into_iter().flatten().min_by(Price::total_cmp)
}

/// Selects the cheapest slots for one need in one window; `None` if the curve has no ranking and
/// the window has more than [`SLOTS_MAX`] slots.
pub(crate) fn choose_in(curve: &PriceCurve, window: Window, need: Need) -> Option<SlotSelection> {
    if window.len() == 0 || need.power_kw <= 0.0 {
        return Some(SlotSelection::nothing(need, f64::NAN));
    }
    // A ranking needs no pass over the slots of the window.
    if let Some(ranked) = curve.ranked() {
        return Some(ranked.choose(window.from, window.to, need).1);
    }
    (window.len() <= SLOTS_MAX)
        .then(|| threshold::choose_one(curve.horizon(), curve.prices(), window, need))
}

/// Makes a plan of a slot selection. Outcomes of targets are not set.
pub(crate) fn from_choice(curve: &PriceCurve, problem: &ChargeProblem, chosen: &Chosen) -> Plan {
    let Chosen { target: position, window, choice } = chosen;
    let mut slots = slots_of_choice(curve, problem, *window, choice);
    let purchases = purchases_of_choice(&slots, choice, *position);
    let after = price_after(curve, problem, window.to);
    let evidence = evidence_of_choice(problem, chosen, &slots, after);
    // The evidence is about the window, so the slots after it are added only now.
    slots.extend(slots_after(curve, problem, window.to));
    let marginal_price = Price::from_per_kwh(choice.marginal_price).ok();
    Plan {
        intervals: intervals(&slots),
        purchases,
        energy: finite_kwh(choice.energy_kwh),
        cost: finite_money(choice.cost),
        shortfall: finite_kwh(choice.shortfall_kwh),
        targets: Vec::new(),
        marginal_price: cheaper(marginal_price, after),
        baseline_cost: finite_money(choice.baseline_cost),
        unpriced_hours: unpriced_hours(curve, problem),
        certificate: certify_own(&slots, evidence),
        slots,
    }
}

/// Evidence for the certificate of a slot selection. Every deadline requires the energy bought:
/// that of the deciding target at the price of the next kWh, later ones at the lowest price.
/// `after` is the lowest price after the window.
fn evidence_of_choice(
    problem: &ChargeProblem,
    Chosen { target, choice, .. }: &Chosen,
    slots: &[PlannedSlot],
    after: Option<Price>,
) -> ChargeEvidence {
    let targets = &problem.request().targets;
    let prices = || slots.iter().map(|slot| slot.price);
    // Later deadlines buy nothing, so their dual price is the lowest price up to the last one.
    let floor = match targets.len() {
        1 => None,
        _ => cheaper(prices().min_by(Price::total_cmp), after),
    };
    let floor = floor.unwrap_or(Price::ZERO);
    let next = Price::from_per_kwh(choice.marginal_price).ok();
    // Without a next slot the whole window is used, up to its highest price.
    let dearest = next.or_else(|| prices().max_by(Price::total_cmp)).unwrap_or(floor);
    let by = targets[*target].by_micros();
    let requirement = |deadline: Deadline| Requirement {
        by: targets[deadline.target].by,
        energy: finite_kwh(choice.energy_kwh),
        marginal_price: if deadline.by == by { dearest } else { floor },
    };
    ChargeEvidence {
        at_once: Energy::ZERO,
        requirements: deadlines(problem).into_iter().map(requirement).collect(),
        energy_max: None,
        surplus_price: Price::ZERO,
    }
}

/// Unused slots between `to` (the end of the window) and the last deadline; none for a single
/// target.
fn slots_after(curve: &PriceCurve, problem: &ChargeProblem, to: i64) -> Vec<PlannedSlot> {
    if problem.request().targets.len() == 1 {
        return Vec::new();
    }
    let deadlines = deadlines(problem);
    let sub_slots = sub_slots(curve, problem, &deadlines);
    let is_between = |piece: &&SubSlot| piece.start >= to && piece.deadline < deadlines.len();
    sub_slots.iter().filter(is_between).map(SubSlot::planned).collect()
}

/// Slots of a window with the energies of its selection.
fn slots_of_choice(
    curve: &PriceCurve,
    problem: &ChargeProblem,
    window: Window,
    choice: &SlotSelection,
) -> Vec<PlannedSlot> {
    let horizon = curve.horizon();
    let planned = |slot: usize| {
        let mut planned = PlannedSlot {
            start: instant_at(horizon.starts()[slot].max(window.from)),
            end: instant_at(horizon.ends()[slot].min(window.to)),
            price: Price::from_per_kwh(curve.prices()[slot]).expect("prices of a curve are finite"),
            power_max: problem.request().power_max,
            energy: Energy::ZERO,
        };
        // A full slot holds its capacity itself, not a share of a sum.
        if choice.is_full(slot) {
            planned.energy = planned.capacity();
        } else if choice.partial == Some(slot as u32) {
            planned.energy = finite_kwh(choice.partial_kwh);
        }
        planned
    };
    (window.first..window.last).map(planned).collect()
}

/// One purchase for each used slot, in time order; `target` is the position of the target.
fn purchases_of_choice(
    slots: &[PlannedSlot],
    choice: &SlotSelection,
    target: usize,
) -> Vec<Purchase> {
    let purpose = if choice.shortfall_kwh > 0.0 {
        Purpose::MissedDeadline { target }
    } else {
        Purpose::Deadline { target }
    };
    let used = slots.iter().enumerate().filter(|(_, planned)| planned.energy > Energy::ZERO);
    used.map(|(slot, planned)| Purchase { slot, energy: planned.energy, purpose }).collect()
}

/// Energy of a slot selection.
fn finite_kwh(kwh: f64) -> Energy {
    Energy::from_kwh(kwh).expect("energy of a choice is finite")
}

/// Amount of money of a slot selection.
fn finite_money(amount: f64) -> Money {
    Money::from_amount(amount).expect("a product of two quantities is finite")
}
