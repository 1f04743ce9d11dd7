//! Plan of least change: a new plan that stays as close to the previous one as a budget allows.
//!
//! Prices and requests change while a vehicle is plugged in, and the cheapest plan jumps with
//! them, often for less than a cent. This module solves
//!
//! ```text
//! minimise    Σ_t |x_t − v_t|
//! subject to  x in the feasible region of the cheapest plan
//!             Σ_t p_t·x_t ≤ C + B
//! ```
//!
//! | Symbol | Code |
//! |---|---|
//! | `v_t`, energy of the previous plan in slot `t` | `MultiplierSearch::kept` |
//! | `C + B`, least cost plus what is left of the budget | `limit` |
//! | `d = 2/λ`, `λ` the multiplier of the budget | `discount` |
//! | `d/2` | [`Stability::price_of_change`] |
//! | `L(d)` | [`FeasibleRegion::bound`] |
//!
//! # The method
//!
//! Lagrangian relaxation of the budget. Divided by its multiplier `λ`, the relaxed problem is
//!
//! ```text
//! L(d) = min_x  Σ_t p_t·x_t + (d/2)·Σ_t |x_t − v_t|
//! ```
//!
//! Each slot has two segments, of weight `p_t − d/2` up to `v_t` and `p_t + d/2` beyond: the
//! previous energy is `d` cheaper per kWh. The deadlines stay nested, so the greedy is exact. A
//! greater `d` gives less change and more cost, in steps. The search takes the slope of the chord
//! between a plan within the limit and one beyond it as the next `d`, until no plan lies below
//! the chord. Both plans are then optimal at `d`, and so is the convex combination of them that
//! spends the budget exactly. Every `d` gives the bound `Σ |x_t − v_t| ≥ (L(d) − C − B)·2/d`.
//!
//! # The budget is for a whole session
//!
//! A plan above the least cost spends its excess while it runs. The amount that the previous plan
//! has spent until now is its excess when it was made, less the excess of its rest, both at the
//! prices it was made for. Summed from plan to plan these amounts are at most the budget, however
//! often plans are made.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::baseline::unmanaged_cost;
use crate::plan::charge::certificate::certify;
use crate::plan::charge::greedy::{outcomes, plan_charge};
use crate::plan::charge::plan::{Plan, PlannedSlot, Purchase, Purpose, intervals};
use crate::plan::charge::request::ChargeProblem;
use crate::plan::charge::sub_slots::deadlines;
use crate::plan::stability::budget::Budget;
use crate::plan::stability::feasible_region::{FeasibleRegion, Filled, SlotRoom, purchase_min};
use crate::prices::curve::PriceCurve;
use crate::tolerance::{GAP_MAX, INSTANT_MICROS, SUM_ROUNDING, allowed};
use crate::units::{Energy, Money, Price};

/// Least share, 1e-9, of the second plan in a convex combination. Below it the first plan is taken,
/// because a share that is rounding would leave tiny energies in many slots.
const SHARE_MIN: f64 = 1e-9;

/// Most discounts tried. Each one finds a corner of the trade-off curve of
/// change against cost, or ends the search; a day has about ten corners.
const TRIES_MAX: usize = 500;

/// Change of a plan against the previous one, and its cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stability {
    /// Budget of the session, with the amount spent until this plan starts: the
    /// budget to pass to the next plan.
    pub budget: Budget,
    /// Cost of this plan beyond the cheapest, zero or more. It is spent while the plan runs.
    pub extra_cost: Money,
    /// Σ|ΔkWh| against the previous plan, slot by slot.
    #[serde(rename = "change_kwh")]
    pub change: Energy,
    /// Lower bound on Σ|ΔkWh| of every plan within the budget.
    #[serde(rename = "change_bound_kwh")]
    pub change_bound: Energy,
    /// Σ|ΔkWh| of the cheapest plan.
    #[serde(rename = "cheapest_change_kwh")]
    pub cheapest_change: Energy,
    /// Cost of one kWh less of change; `None` if the budget does not bind.
    #[serde(rename = "price_of_change_per_kwh")]
    pub price_of_change: Option<Price>,
}

impl Stability {
    /// Returns `true` if the plan changes less than the cheapest one, so that it is another plan.
    #[must_use]
    pub fn is_closer(&self) -> bool {
        self.change < self.cheapest_change
    }

    /// Returns `true` if change and bound are equal but for rounding: no plan within the budget
    /// changes less.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        let gap = (self.change - self.change_bound).as_kwh();
        // Rounding of the cost, converted to change at the price of change.
        let rounding = self.price_of_change.map_or(0.0, |price| {
            let scale = self.budget.total().as_amount() + self.extra_cost.as_amount();
            allowed(GAP_MAX, scale) / price.as_per_kwh().max(f64::MIN_POSITIVE)
        });
        gap.abs() <= allowed(GAP_MAX, self.change.as_kwh()) + rounding
    }
}

/// Plan that stays close to a previous one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SteadyPlan {
    /// The plan. The gap of its certificate is its cost beyond the least.
    pub plan: Plan,
    /// Change against the previous plan.
    pub stability: Stability,
}

/// Returns the plan that changes least against `previous` at a cost within the budget:
/// [`plan_charge`], then [`stay_close`].
#[must_use]
pub fn plan_close_to(
    curve: &PriceCurve,
    problem: &ChargeProblem,
    previous: &Plan,
    budget: Budget,
) -> SteadyPlan {
    stay_close(&plan_charge(curve, problem), problem, previous, budget)
}

/// Returns the plan that meets the requirements of `cheapest` and changes least against `previous`.
///
/// `cheapest` is a cheapest plan of `problem`. The result buys the same energy
/// and misses no more of any target. It costs at most as much as `cheapest` and
/// what is left of the budget together. Of plans with equal change the cheapest
/// is taken; among equal prices the previous energies are kept. If no plan
/// changes less than `cheapest`, the result is `cheapest`.
///
/// The energy of `previous` is compared by time, so its slots may differ from
/// the new ones. Its energy where there is no slot any more counts as change
/// that no plan can avoid.
///
/// # Example
///
/// Two hours cost 0.30 and 0.10, and the plan charges 7 kWh in the second. Then
/// the first becomes half a cent cheaper than the second. A budget of 0.05 keeps
/// the plan, because that costs half a cent per kWh.
///
/// ```
/// use slackwater_engine::plan::stability::Budget;
/// use slackwater_engine::plan::charge::plan_charge;
/// use slackwater_engine::plan::charge::{ChargeProblem, ChargeRequest, Target};
/// use slackwater_engine::plan::stability::plan_close_to;
/// use slackwater_engine::prices::curve::{PriceCurve, Slot};
/// use slackwater_engine::units::{Money, kw, kwh, money, per_kwh};
///
/// let hour = |start: &str, end: &str, price| Slot {
///     start: start.parse().unwrap(),
///     end: end.parse().unwrap(),
///     price: per_kwh(price),
/// };
/// let evening = |first, second| PriceCurve::new(&[
///     hour("2026-01-05T18:00:00Z", "2026-01-05T19:00:00Z", first),
///     hour("2026-01-05T19:00:00Z", "2026-01-05T20:00:00Z", second),
/// ]);
/// let now = "2026-01-05T18:00:00Z".parse().unwrap();
/// let target = Target { by: None, energy: kwh(7.0) };
/// let problem = ChargeProblem::new(ChargeRequest::new(now, kw(7.0), target))?;
/// let before = plan_charge(&evening(0.30, 0.10)?, &problem);
///
/// let budget = Budget::new(money(0.05), Money::ZERO)?;
/// let after = plan_close_to(&evening(0.095, 0.10)?, &problem, &before, budget);
///
/// assert_eq!(after.plan.intervals, before.intervals);
/// assert_eq!(after.stability.change, kwh(0.0));
/// assert!((after.stability.extra_cost - money(0.035)).as_amount().abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn stay_close(
    cheapest: &Plan,
    problem: &ChargeProblem,
    previous: &Plan,
    budget: Budget,
) -> SteadyPlan {
    let now = problem.request().now;
    // Charge the previous plan's part of its excess to the budget.
    let spent = budget.spent() + spent_until(previous, now);
    let budget = budget.with_spent(spent);
    let search = MultiplierSearch::new(cheapest, previous, now, budget.left());
    let cheapest_energies: Vec<Energy> = cheapest.slots.iter().map(|slot| slot.energy).collect();
    let cheapest_change = search.change(&cheapest_energies);
    let optimum = search.run();
    let change = search.change(&optimum.energies);
    // Rebuild the plan only if it changes less than the cheapest by more than rounding.
    let is_closer =
        (cheapest_change - change).as_kwh() > allowed(SUM_ROUNDING, cheapest_change.as_kwh());
    let (plan, change) = if is_closer {
        (rebuild_plan(cheapest, problem, &optimum.energies), change)
    } else {
        (cheapest.clone(), cheapest_change)
    };
    let stability = Stability {
        budget,
        extra_cost: (plan.certificate.cost - cheapest.certificate.cost).max(Money::ZERO),
        change,
        change_bound: optimum.change_bound.min(change),
        cheapest_change,
        price_of_change: optimum.price_of_change,
    };
    SteadyPlan { plan, stability }
}

/// Amount that a plan has spent beyond the least cost after it has run until `now`.
///
/// It is the excess of the plan when it was made, less the excess of its rest, at
/// its own prices: between zero and the whole excess.
fn spent_until(plan: &Plan, now: DateTime<Utc>) -> Money {
    if plan.certificate.is_proved() {
        return Money::ZERO;
    }
    // Excess of the whole plan, then the least cost and the cost of its rest.
    let excess = plan.certificate.gap().max(Money::ZERO);
    let region = FeasibleRegion::new(plan).after(now);
    let least = region.cost(&region.fill(&region.cheapest_first()).energies);
    let rest = plan.slots.iter().map(|slot| slot.energy - slot.energy_by(now));
    let left = (region.cost(&rest.collect::<Vec<_>>()) - least).max(Money::ZERO);
    (excess - left).max(Money::ZERO)
}

/// Result of the search: energies, bound on the change, and price of change.
struct Multiplier {
    energies: Vec<Energy>,
    change_bound: Energy,
    price_of_change: Option<Price>,
}

/// Energies at one discount, with their marginal weights, cost (money) and change (kWh).
#[derive(Clone)]
struct Tried {
    energies: Vec<Energy>,
    marginal: Vec<f64>,
    cost: f64,
    change: f64,
}

/// Search for the discount at which the cost reaches the limit.
struct MultiplierSearch<'a> {
    frame: FeasibleRegion<'a>,
    /// Energy `v_t` of the previous plan in each slot, up to the capacity.
    kept: Vec<Energy>,
    /// Energy of the previous plan that fits into no slot.
    lost: Energy,
    /// Segments up to the kept energies, by price; of one price the earlier first.
    below: Vec<SlotRoom>,
    /// Segments beyond the kept energies, in the same order.
    above: Vec<SlotRoom>,
    /// Rest of the budget.
    left: f64,
}

impl<'a> MultiplierSearch<'a> {
    /// Splits each usable slot of `cheapest` at the energy of `previous`.
    fn new(cheapest: &'a Plan, previous: &Plan, now: DateTime<Utc>, left: Money) -> Self {
        let frame = FeasibleRegion::new(cheapest);
        // The previous energy of each slot, and what of it no slot can hold.
        let planned = planned_in(previous, &cheapest.slots);
        let fits = |(index, &energy): (usize, &Energy)| energy.min(frame.capacity(index));
        let kept: Vec<Energy> = planned.iter().enumerate().map(fits).collect();
        let due = previous.slots.iter().map(|slot| slot.energy - slot.energy_by(now));
        let due = due.fold(Energy::ZERO, |sum, energy| sum + energy);
        let lost = kept.iter().fold(due, |rest, &energy| rest - energy);
        let lost = if lost.as_kwh() > SUM_ROUNDING * due.as_kwh() { lost } else { Energy::ZERO };
        // Two segments per slot, below and above the kept energy, without energy bought at once.
        let order = frame.cheapest_first();
        let level = |slot: usize| kept[slot].max(frame.forced[slot]);
        let below = order.iter().map(|s| SlotRoom { level: level(s.slot), ..*s });
        let below = below.filter(|s| s.level > frame.forced[s.slot]).collect();
        let above = order.iter().filter(|s| s.level > level(s.slot)).copied().collect();
        Self { frame, kept, lost, below, above, left: left.as_amount() }
    }

    /// Σ|ΔkWh| of `energies` against the previous plan, with the lost energy.
    fn change(&self, energies: &[Energy]) -> Energy {
        let change = |(&a, &b): (&Energy, &Energy)| (a - b).max(b - a);
        energies.iter().zip(&self.kept).map(change).fold(self.lost, |sum, part| sum + part)
    }

    /// All segments by weight, if kept energy is `discount` cheaper per kWh than other energy; of
    /// one weight kept energy comes first.
    ///
    /// Weights are prices, or with an infinite discount −1 and +1: kWh of change per kWh.
    fn order(&self, discount: f64) -> Vec<SlotRoom> {
        let weigh = |segment: &SlotRoom, sign: f64| {
            let price = segment.weight;
            let weight = if discount.is_finite() { price + sign * discount / 2.0 } else { sign };
            SlotRoom { weight, ..*segment }
        };
        let mut order = Vec::with_capacity(self.below.len() + self.above.len());
        let mut above = self.above.iter().peekable();
        for below in &self.below {
            while let Some(first) = above.next_if(|first| below.weight - first.weight > discount) {
                order.push(weigh(first, 1.0));
            }
            order.push(weigh(below, -1.0));
        }
        order.extend(above.map(|last| weigh(last, 1.0)));
        order
    }

    /// Energies of least weight at one discount.
    fn try_discount(&self, discount: f64) -> Tried {
        let Filled { energies, marginal } = self.frame.fill(&self.order(discount));
        let cost = self.frame.cost(&energies).as_amount();
        let change = self.change(&energies).as_kwh();
        Tried { energies, marginal, cost, change }
    }

    /// Returns the energies of least change within the limit: those of an infinite discount if
    /// they cost no more, else those of the search.
    fn run(&self) -> Multiplier {
        let cheap = self.try_discount(0.0);
        let limit = cheap.cost + self.left;
        let kept = self.try_discount(f64::INFINITY);
        if is_within(kept.cost, limit) {
            let change_bound = self.least_change(&kept, f64::INFINITY, limit);
            return Multiplier { energies: kept.energies, change_bound, price_of_change: None };
        }
        self.mix(cheap, kept, limit)
    }

    /// Finds the discount at which the cost reaches the limit.
    ///
    /// At the slope of the chord, the plan within the limit and the one beyond it have one weight.
    /// Either no plan has a smaller weight there and the search ends, or a corner below the chord
    /// is found and replaces one of the two.
    fn mix(&self, mut within: Tried, mut beyond: Tried, limit: f64) -> Multiplier {
        let unbounded = self.least_change(&beyond, f64::INFINITY, limit);
        let mut price_and_bound = (None, unbounded);
        for _ in 0..TRIES_MAX {
            let less_change = within.change - beyond.change;
            if less_change <= 0.0 {
                break;
            }
            let discount = 2.0 * (beyond.cost - within.cost) / less_change;
            let corner = self.try_discount(discount);
            let weight = |plan: &Tried| plan.cost + plan.change * discount / 2.0;
            let bound = self.least_change(&corner, discount, limit);
            price_and_bound = (Price::from_per_kwh(discount / 2.0).ok(), bound);
            // Both ends of the chord have one weight but for rounding.
            let chord = weight(&within).min(weight(&beyond));
            if weight(&corner) >= chord - SUM_ROUNDING * chord.abs().max(beyond.cost - within.cost)
            {
                break;
            }
            if is_within(corner.cost, limit) {
                within = corner;
            } else {
                beyond = corner;
            }
        }
        // The convex combination of both plans that costs exactly the limit.
        let share = ((limit - within.cost) / (beyond.cost - within.cost)).clamp(0.0, 1.0);
        Multiplier {
            energies: blend(&within.energies, &beyond.energies, share),
            change_bound: price_and_bound.1,
            price_of_change: price_and_bound.0,
        }
    }

    /// Lower bound on the change of every plan within the limit, by duality: `(L(d) − limit)·2/d`
    /// at a finite discount. It uses the marginal weights of `tried`, not its energies.
    fn least_change(&self, tried: &Tried, discount: f64, limit: f64) -> Energy {
        let order = self.order(discount);
        // Segments start at the energy bought at once, whose weight is added here.
        let forced = &self.frame.forced;
        let (change, cost) = (self.change(forced).as_kwh(), self.frame.cost(forced).as_amount());
        let bound = if discount.is_finite() {
            let start = cost + change * discount / 2.0;
            (self.frame.bound(&order, &tried.marginal, start) - limit) * 2.0 / discount
        } else {
            self.frame.bound(&order, &tried.marginal, change)
        };
        Energy::from_kwh(bound.max(0.0)).unwrap_or(Energy::ZERO)
    }
}

/// Returns `true` if a cost is at most a limit, but for rounding.
fn is_within(cost: f64, limit: f64) -> bool {
    cost <= limit + allowed(SUM_ROUNDING, limit)
}

/// Convex combination of two plans: `within` plus `share` of the way to `beyond`. Energies that are
/// equal in both keep every bit.
fn blend(within: &[Energy], beyond: &[Energy], share: f64) -> Vec<Energy> {
    if share < SHARE_MIN {
        return within.to_vec();
    }
    let combine = |(&a, &b): (&Energy, &Energy)| {
        let between = a.as_kwh() + (b.as_kwh() - a.as_kwh()) * share;
        Energy::from_kwh(between).unwrap_or(a)
    };
    within.iter().zip(beyond).map(combine).collect()
}

/// Energy that a plan buys in the period of each of other slots; both lists are in time order.
pub(crate) fn planned_in(plan: &Plan, slots: &[PlannedSlot]) -> Vec<Energy> {
    let mut first = 0;
    let planned = |slot: &PlannedSlot| {
        while plan.slots.get(first).is_some_and(|old| old.end <= slot.start) {
            first += 1;
        }
        let overlapping = plan.slots[first..].iter().take_while(|old| old.start < slot.end);
        overlapping.fold(Energy::ZERO, |sum, old| {
            sum + (old.energy_by(slot.end) - old.energy_by(slot.start))
        })
    };
    slots.iter().map(planned).collect()
}

/// Plan with the slots of `cheapest` and other energies in them.
fn rebuild_plan(cheapest: &Plan, problem: &ChargeProblem, energies: &[Energy]) -> Plan {
    let slot = |(slot, &energy): (&PlannedSlot, &Energy)| PlannedSlot { energy, ..*slot };
    let slots: Vec<PlannedSlot> = cheapest.slots.iter().zip(energies).map(slot).collect();
    // The evidence of the cheapest plan bounds this one too, but the cost is its own.
    let certificate = certify(&slots, cheapest.certificate.evidence.clone())
        .expect("energies that fill a frame meet its requirements");
    let energy = energies.iter().fold(Energy::ZERO, |sum, &energy| sum + energy);
    let region = FeasibleRegion::new(cheapest);
    // Slots that can take more energy; the cheapest of them sets the marginal price.
    let room = slots.iter().enumerate().filter(|(index, slot)| {
        region.counts(*index)
            && slot.capacity() - slot.energy > slot.power_max.over_micros(INSTANT_MICROS)
    });
    let mut plan = Plan {
        intervals: intervals(&slots),
        purchases: purchases(cheapest, problem, &region, energies),
        energy,
        cost: certificate.cost,
        shortfall: Energy::ZERO,
        targets: Vec::new(),
        marginal_price: room.map(|(_, slot)| slot.price).min_by(Price::total_cmp),
        baseline_cost: unmanaged_cost(&slots, energy),
        unpriced_hours: cheapest.unpriced_hours,
        certificate,
        slots,
    };
    plan.targets = outcomes(&plan, problem);
    plan.shortfall = plan.targets.iter().fold(Energy::ZERO, |most, t| most.max(t.shortfall));
    plan
}

/// Purchases that explain the energies in the slots: those at once, then for each deadline the
/// cheapest energies before it, then those at negative prices. Energy is `Kept` if a cheaper slot
/// before the deadline has free energy.
fn purchases(
    cheapest: &Plan,
    problem: &ChargeProblem,
    region: &FeasibleRegion<'_>,
    energies: &[Energy],
) -> Vec<Purchase> {
    let at_once =
        |p: &&Purchase| matches!(p.purpose, Purpose::Reserve | Purpose::MissedDeadline { .. });
    let mut purchases: Vec<Purchase> = cheapest.purchases.iter().filter(at_once).copied().collect();
    let mut bought = region.forced.clone();
    let order = region.cheapest_first();
    for (k, deadline) in deadlines(problem).iter().enumerate() {
        let target = deadline.target;
        let counts = |slot: usize| region.layer[slot] <= k;
        let before = (0..bought.len()).filter(|&slot| counts(slot));
        let mut missing = before.fold(region.wanted(k), |missing, slot| missing - bought[slot]);
        // Price of the cheapest free energy before the deadline.
        let is_free = |s: &&SlotRoom| {
            counts(s.slot) && s.level - energies[s.slot] > purchase_min(&region.slots[s.slot])
        };
        let free = order.iter().find(is_free).map(|segment| segment.weight);
        for segment in order.iter().filter(|segment| counts(segment.slot)) {
            let slot = segment.slot;
            let energy = (energies[slot] - bought[slot]).min(missing);
            if energy <= purchase_min(&region.slots[slot]) {
                continue;
            }
            let is_dearer = free.is_some_and(|free| segment.weight > free);
            let purpose =
                if is_dearer { Purpose::Kept { target } } else { Purpose::Deadline { target } };
            purchases.push(Purchase { slot, energy, purpose });
            bought[slot] = bought[slot] + energy;
            missing = missing - energy;
        }
    }
    // Energy beyond the last deadline's is there for its negative price.
    for (slot, &energy) in energies.iter().enumerate() {
        let energy = energy - bought[slot];
        if energy > purchase_min(&region.slots[slot]) {
            purchases.push(Purchase { slot, energy, purpose: Purpose::NegativePrice });
        }
    }
    purchases
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use chrono::TimeDelta;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::request::{ChargeRequest, Target};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, money};

    fn minute(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    /// Problem at 10 kW with targets of (minutes, kWh).
    fn problem(now: i64, targets: &[(i64, f64)]) -> ChargeProblem {
        let target = |&(by, energy)| Target { by: Some(minute(by)), energy: kwh(energy) };
        let mut request = ChargeRequest::new(minute(now), kw(10.0), target(&(0, 0.0)));
        request.targets = targets.iter().map(target).collect();
        ChargeProblem::new(request).unwrap()
    }

    fn budget(total: f64) -> Budget {
        Budget::new(money(total), Money::ZERO).unwrap()
    }

    /// Plans at old prices, then close to that at new ones, and compares the text of both.
    #[track_caller]
    fn check(old: &[i32], new: &[i32], problem: &ChargeProblem, cents: f64, expected: &Expect) {
        let before = plan_charge(&curve_of(60, old), problem);
        let curve = curve_of(60, new);
        let cheapest = plan_charge(&curve, problem);
        let steady = stay_close(&cheapest, problem, &before, budget(cents / 100.0));
        let mut text = String::from("cent  before cheapest  steady\n");
        for (slot, plan) in steady.plan.slots.iter().zip(&cheapest.slots) {
            let old = planned_in(&before, &[*slot])[0];
            let _ = writeln!(
                text,
                "{:>4.0} {:>7.2} {:>8.2} {:>7.2}",
                slot.price.as_per_kwh() * 100.0,
                old.as_kwh(),
                plan.energy.as_kwh(),
                slot.energy.as_kwh()
            );
        }
        let Stability { extra_cost, change, cheapest_change, .. } = steady.stability;
        let _ = writeln!(
            text,
            "change {:.2} of {:.2} for {:.2} cents",
            change.as_kwh(),
            cheapest_change.as_kwh(),
            extra_cost.as_amount() * 100.0
        );
        assert!(steady.stability.is_proved(), "{:?}", steady.stability);
        expected.assert_eq(&text);
    }

    #[test]
    fn nothing_spent_nothing_kept() {
        check(
            &[30, 10, 20],
            &[9, 10, 20],
            &problem(0, &[(180, 10.0)]),
            0.0,
            &expect![[r#"
                cent  before cheapest  steady
                   9    0.00    10.00   10.00
                  10   10.00     0.00    0.00
                  20    0.00     0.00    0.00
                change 20.00 of 20.00 for 0.00 cents
            "#]],
        );
    }

    #[test]
    fn a_tie_keeps_what_was_planned() {
        check(
            &[30, 10, 20],
            &[10, 10, 20],
            &problem(0, &[(180, 10.0)]),
            0.0,
            &expect![[r#"
                cent  before cheapest  steady
                  10    0.00    10.00    0.00
                  10   10.00     0.00   10.00
                  20    0.00     0.00    0.00
                change 0.00 of 20.00 for 0.00 cents
            "#]],
        );
    }

    #[test]
    fn a_budget_is_spent_where_it_keeps_most() {
        // The old plan costs 220 cents at the new prices and the cheapest costs 170,
        // so 15 cents must be saved. A kWh moved from 12 to 8 saves most, 4 cents.
        check(
            &[90, 10, 90, 10],
            &[9, 12, 8, 10],
            &problem(0, &[(240, 20.0)]),
            35.0,
            &expect![[r#"
                cent  before cheapest  steady
                   9    0.00    10.00    0.00
                  12   10.00     0.00    6.25
                   8    0.00    10.00    3.75
                  10   10.00     0.00   10.00
                change 7.50 of 40.00 for 35.00 cents
            "#]],
        );
    }

    #[test]
    fn an_earlier_deadline_still_holds() {
        check(
            &[30, 20, 10],
            &[30, 20, 10],
            &problem(0, &[(60, 5.0), (180, 10.0)]),
            100.0,
            &expect![[r#"
                cent  before cheapest  steady
                  30    5.00     5.00    5.00
                  20    0.00     0.00    0.00
                  10    5.00     5.00    5.00
                change 0.00 of 0.00 for 0.00 cents
            "#]],
        );
    }

    #[test]
    fn what_is_kept_says_so() {
        let wish = problem(0, &[(120, 10.0)]);
        let before = plan_charge(&curve_of(60, &[30, 10]), &wish);
        let steady = plan_close_to(&curve_of(60, &[9, 10]), &wish, &before, budget(1.0));
        let [reason] = &crate::plan::charge::explain::explain(&steady.plan)[..] else { panic!() };
        let sentence = reason.sentence(chrono_tz::UTC, "EUR");
        let expected = "Mon 19:00 to Mon 20:00: charges 10 kWh for 1.00 EUR (0.10 EUR/kWh), \
                        as in the earlier plan; the next kWh would be charged at Mon 18:00 \
                        (0.09 EUR/kWh).";
        assert_eq!(sentence, expected);
    }

    prop_compose! {
        fn wishes()(
            targets in prop::collection::vec((-60..1200i64, 0.0..90.0f64), 0..4),
            reserve in prop_oneof![3 => Just(0.0), 1 => 0.0..20.0f64],
            extra in prop::option::of(0.0..50.0f64),
            stop in any::<bool>(), now in -60..500i64,
        ) -> ChargeProblem {
            let mut wish = problem(now, &targets).request().clone();
            wish.reserve = kwh(reserve);
            let most = targets.iter().fold(reserve, |most, target| most.max(target.1));
            wish.energy_max = extra.map(|extra| kwh(most + extra));
            if stop {
                wish.after_deadline = crate::plan::charge::request::AfterDeadline::Stop;
            }
            ChargeProblem::new(wish).unwrap()
        }
    }

    fn cents() -> impl Strategy<Value = Vec<i32>> {
        prop_oneof![prop::collection::vec(-20..60i32, 1..90), prop::collection::vec(0..4i32, 1..90),]
    }

    proptest! {
        /// A steady plan is within the budget, closer than the cheapest, misses no
        /// more and is proved. Planned once more, it keeps every bit.
        #[test]
        fn a_steady_plan_is_what_it_promises(
            old in cents(), new in cents(), before in wishes(), wish in wishes(),
            total in prop_oneof![Just(0.0), 0.0..3.0f64],
        ) {
            let before = plan_charge(&curve_of(15, &old), &before);
            let curve = curve_of(15, &new);
            let cheapest = plan_charge(&curve, &wish);
            let steady = stay_close(&cheapest, &wish, &before, budget(total));
            let Stability { change, cheapest_change, extra_cost, .. } = steady.stability;
            prop_assert!(extra_cost <= money(total + 1e-9), "{extra_cost:?} of {total}");
            prop_assert!(change <= cheapest_change);
            prop_assert!(steady.stability.is_proved(), "{:?}", steady.stability);
            let near = |a: Energy, b: Energy| (a - b).as_kwh().abs() < 1e-9;
            prop_assert!(near(steady.plan.energy, cheapest.energy));
            for (a, b) in steady.plan.targets.iter().zip(&cheapest.targets) {
                prop_assert!(near(a.shortfall, b.shortfall));
            }
            let bought = steady.plan.purchases.iter().fold(Energy::ZERO, |sum, p| sum + p.energy);
            prop_assert!(near(bought, steady.plan.energy));
            let again = stay_close(&cheapest, &wish, &steady.plan, budget(total));
            prop_assert_eq!(&again.plan, &steady.plan);
            prop_assert!(again.stability.change < kwh(1e-9));
        }

        /// However often plans are made while prices change, their costs beyond the
        /// cheapest at the prices of the time add up to the amount counted as spent,
        /// which is at most the budget.
        #[test]
        fn planning_again_never_ratchets(
            days in prop::collection::vec(prop::collection::vec(1..60i32, 48), 7),
            need in 5.0..80.0f64, total in 0.0..1.0f64, step in 20..110i64,
        ) {
            let mut wish = problem(0, &[(720, need)]);
            let mut plan = plan_charge(&curve_of(15, &days[0]), &wish);
            let (mut lost, mut carried, mut now) = (0.0, budget(total), 0);
            for day in &days[1..] {
                let curve = curve_of(15, day);
                let cheapest = plan_charge(&curve, &wish);
                let steady = stay_close(&cheapest, &wish, &plan, carried);
                carried = steady.stability.budget;
                prop_assert!((carried.spent().as_amount() - lost).abs() < 1e-7, "{carried:?}, {lost}");
                prop_assert!(lost <= total + 1e-7, "{lost} of {total}");
                plan = steady.plan;
                now += step;
                let paid = plan.slots.iter().fold(0.0, |sum, slot| {
                    sum + slot.price.of(slot.energy_by(minute(now))).as_amount()
                });
                let left = wish.request().targets[0].energy - plan.energy_by(minute(now));
                wish = problem(now, &[(720, left.max(Energy::ZERO).as_kwh())]);
                let rest = plan_charge(&curve, &wish).cost;
                lost += paid + rest.as_amount() - cheapest.cost.as_amount();
            }
            prop_assert!(lost <= total + 1e-7, "{lost} of {total}");
        }
    }
}
