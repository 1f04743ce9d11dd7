//! Greedy planner for a vehicle that only charges, with nested deadlines.
//!
//! For each deadline, from the earliest, it buys the cheapest free energy before the deadline
//! until the energy wanted by then is reached. Energy that is charged at once (the reserve, or
//! all that a missed deadline wants) is bought first, in time order and at any price. The
//! [parent module](super) states the problem and why the rule is optimal.
//!
//! One target at constant power is planned by the searches of [`selection`](super::selection)
//! instead, which need no cutting and no sorting. So are several targets of which the earliest
//! wants most: a plan that meets this one meets all.
use crate::plan::charge::baseline::unmanaged_cost;
use crate::plan::charge::certificate::{ChargeEvidence, Requirement, certify_own};
use crate::plan::charge::plan::{Plan, PlannedSlot, Purchase, Purpose, TargetOutcome, intervals};
use crate::plan::charge::request::{AfterDeadline, ChargeProblem, Target};
use crate::plan::charge::single_target::{choose, from_choice};
use crate::plan::charge::sub_slots::{
    Deadline, SubSlot, deadlines, nest, sub_slots, unpriced_hours,
};
use crate::prices::curve::PriceCurve;
use crate::time::instant::instant_at;
use crate::tolerance::{INSTANT_MICROS, SNAP_MICROS, SUM_ROUNDING};
use crate::units::{Energy, MICROS_PER_HOUR, Price};

/// Returns the cheapest plan of a vehicle that only charges.
///
/// Targets are met by their deadlines at least cost. A target that cannot be
/// met is charged without pause, up to the charge limit, and its shortfall is
/// reported. Of two slots with one price the earlier is used, and a partly used
/// slot from its start. Time without a price is never used. A negative price
/// buys more than the targets want only up to `energy_max`.
///
/// Linear in the slots for one target on a short curve, else O(n log n + n·K)
/// for n slots and K deadlines.
///
/// # Example
///
/// Three hours cost 0.30, 0.10 and 0.20 per kWh. A 7 kW charger covers a need
/// of 10 kWh with all of the second hour and 3 kWh of the third.
///
/// ```
/// use slackwater_engine::plan::charge::plan_charge;
/// use slackwater_engine::plan::charge::{ChargeProblem, ChargeRequest, Target};
/// use slackwater_engine::prices::curve::{PriceCurve, Slot};
/// use slackwater_engine::units::{kw, kwh, money, per_kwh};
///
/// let hour = |start: &str, end: &str, price| Slot {
///     start: start.parse().unwrap(),
///     end: end.parse().unwrap(),
///     price: per_kwh(price),
/// };
/// let evening = PriceCurve::new(&[
///     hour("2026-01-05T18:00:00Z", "2026-01-05T19:00:00Z", 0.30),
///     hour("2026-01-05T19:00:00Z", "2026-01-05T20:00:00Z", 0.10),
///     hour("2026-01-05T20:00:00Z", "2026-01-05T21:00:00Z", 0.20),
/// ])?;
/// let now = "2026-01-05T18:00:00Z".parse().unwrap();
/// let request = ChargeRequest::new(now, kw(7.0), Target { by: None, energy: kwh(10.0) });
///
/// let plan = plan_charge(&evening, &ChargeProblem::new(request)?);
///
/// let cost = 7.0 * 0.10 + 3.0 * 0.20;
/// assert!((plan.cost - money(cost)).as_amount().abs() < 1e-12);
/// assert_eq!(plan.shortfall, kwh(0.0));
/// assert!(plan.certificate.is_proved());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn plan_charge(curve: &PriceCurve, problem: &ChargeProblem) -> Plan {
    let mut plan = match choose(curve, problem) {
        Some(chosen) => add_single_outcome(from_choice(curve, problem, &chosen), problem),
        None => Greedy::new(curve, problem).plan(curve, problem),
    };
    if plan.targets.is_empty() {
        plan.targets = outcomes(&plan, problem);
    }
    plan.shortfall = plan.targets.iter().fold(Energy::ZERO, |most, t| most.max(t.shortfall));
    plan
}

/// Adds the outcome of the target to the plan of a slot selection, if the request has exactly
/// one. The shortfall is the one of the selection, not a difference of rounded sums.
fn add_single_outcome(plan: Plan, problem: &ChargeProblem) -> Plan {
    let [target] = problem.request().targets[..] else { return plan };
    let derived = outcome(&plan, problem, target);
    let delivered = problem.request().within_limit(&target) - plan.shortfall;
    let shortfall = plan.shortfall + derived.above_limit;
    Plan { targets: vec![TargetOutcome { delivered, shortfall, ..derived }], ..plan }
}

/// Outcome of each target, in the order of the request.
pub(crate) fn outcomes(plan: &Plan, problem: &ChargeProblem) -> Vec<TargetOutcome> {
    let targets = problem.request().targets.iter();
    targets.map(|&target| outcome(plan, problem, target)).collect()
}

/// Outcome of one target. Less than a microsecond of charging, or than `energy_tolerance`, is not
/// missing.
fn outcome(plan: &Plan, problem: &ChargeProblem, target: Target) -> TargetOutcome {
    let wanted = target.energy;
    let most = problem.request().within_limit(&target);
    let above_limit = wanted - most;
    let delivered = target.by.map_or(plan.energy, |by| plan.energy_by(by)).min(most);
    let missing = most - delivered;
    let is_met = missing
        <= problem.request().power_max.over_micros(INSTANT_MICROS).max(energy_tolerance(wanted));
    let reached_at = if wanted <= Energy::ZERO {
        Some(problem.request().now)
    } else {
        plan.reached_at(wanted - energy_tolerance(wanted))
    };
    TargetOutcome {
        by: target.by,
        wanted,
        delivered: if is_met { most } else { delivered },
        shortfall: above_limit + if is_met { Energy::ZERO } else { missing },
        above_limit,
        reached_at,
    }
}

/// Energy that counts as rounding next to `energy`: [`SUM_ROUNDING`] of it.
fn energy_tolerance(energy: Energy) -> Energy {
    Energy::from_kwh(energy.as_kwh().abs() * SUM_ROUNDING).unwrap_or(Energy::ZERO)
}

/// State of the greedy: sub-slots with their purchases, and the deadlines.
struct Greedy {
    /// Sub-slots in time order; `bought` grows.
    sub_slots: Vec<SubSlot>,
    /// Deadlines in time order, with nondecreasing energies.
    deadlines: Vec<Deadline>,
    /// Purchases in the order in which they were made.
    purchases: Vec<Purchase>,
    /// Energy that can be bought by each deadline; the last entry is the total.
    possible: Vec<Energy>,
    /// The last deadline that cannot be met in full.
    missed: Option<usize>,
    /// Energy bought at once, at any price.
    at_once: Energy,
    /// Price of the last kWh bought for each deadline; `None` if nothing was bought for it.
    last_price: Vec<Option<Price>>,
    /// `W`: price of the last kWh bought up to `energy_max`; zero if the bound is not reached.
    surplus_price: Price,
}

impl Greedy {
    /// Cuts the curve and makes the energies of the deadlines nondecreasing. Nothing is bought.
    fn new(curve: &PriceCurve, problem: &ChargeProblem) -> Self {
        let deadlines = deadlines(problem);
        let mut walk = Self {
            sub_slots: sub_slots(curve, problem, &deadlines),
            possible: Vec::new(),
            missed: None,
            purchases: Vec::new(),
            at_once: Energy::ZERO,
            last_price: vec![None; deadlines.len()],
            surplus_price: Price::ZERO,
            deadlines,
        };
        walk.possible = walk.sums(SubSlot::capacity);
        // Deadlines that cannot be met: either they stay as they are and all is charged at once up
        // to the last of them, or they are reduced to what is possible.
        match problem.request().after_deadline {
            AfterDeadline::Continue => {
                nest(&mut walk.deadlines);
                walk.missed = walk.last_missed(problem);
            }
            AfterDeadline::Stop => {
                walk.missed = walk.last_missed(problem);
                // Energy that one deadline misses is not wanted from the next one.
                for (deadline, possible) in walk.deadlines.iter_mut().zip(&walk.possible) {
                    deadline.energy = deadline.energy.min(*possible);
                }
                nest(&mut walk.deadlines);
            }
        }
        walk
    }

    /// Buys for the reserve, for each deadline and for negative prices, in this order.
    fn plan(mut self, curve: &PriceCurve, problem: &ChargeProblem) -> Plan {
        self.buy_at_once(problem);
        let order = self.cheapest_first();
        for k in 0..self.deadlines.len() {
            self.buy_for(k, &order);
        }
        if let Some(energy_max) = problem.request().energy_max {
            self.buy_surplus(energy_max, &order);
        }
        self.drop_unused_end(problem);
        self.finish(curve, problem)
    }

    /// Sums of `of` over the sub-slots that count for each deadline; the last sum is the total.
    fn sums(&self, of: impl Fn(&SubSlot) -> Energy) -> Vec<Energy> {
        let mut sums = vec![Energy::ZERO; self.deadlines.len() + 1];
        for sub_slot in &self.sub_slots {
            sums[sub_slot.deadline] = sums[sub_slot.deadline] + of(sub_slot);
        }
        for k in 1..sums.len() {
            sums[k] = sums[k] + sums[k - 1];
        }
        sums
    }

    /// The last deadline that cannot be met in full. Less than `SNAP_MICROS` of charging, or than
    /// `energy_tolerance`, is not missing.
    fn last_missed(&self, problem: &ChargeProblem) -> Option<usize> {
        let rounding = problem.request().power_max.as_kw() * SNAP_MICROS / MICROS_PER_HOUR;
        self.deadlines.iter().zip(&self.possible).rposition(|(deadline, &possible)| {
            (deadline.energy - possible).as_kwh()
                > rounding.max(energy_tolerance(deadline.energy).as_kwh())
        })
    }

    /// Buys in time order: up to the reserve, then up to the energy of the last missed deadline.
    fn buy_at_once(&mut self, problem: &ChargeProblem) {
        let reserve = problem.request().reserve;
        let overdue = self.missed.map_or(Energy::ZERO, |k| self.deadlines[k].energy);
        let target = self.missed.map_or(0, |k| self.deadlines[k].target);
        for slot in 0..self.sub_slots.len() {
            let wanted = (reserve - self.at_once).max(Energy::ZERO);
            self.at_once = self.at_once + self.buy(slot, wanted, Purpose::Reserve);
            // The reserve counts towards the missed deadline.
            let wanted = (overdue - self.at_once).max(Energy::ZERO);
            let purpose = Purpose::MissedDeadline { target };
            self.at_once = self.at_once + self.buy(slot, wanted, purpose);
        }
    }

    /// Sub-slots by price; of equal prices the earlier first.
    fn cheapest_first(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.sub_slots.len()).collect();
        order.sort_by(|&a, &b| self.sub_slots[a].price.total_cmp(&self.sub_slots[b].price));
        order
    }

    /// Buys the cheapest free energy before deadline `k` until its energy is reached.
    fn buy_for(&mut self, k: usize, order: &[usize]) {
        let wanted = self.deadlines[k].energy.min(self.possible[k]);
        // Energy bought for earlier deadlines, or at once, counts for this one.
        let before = self.sub_slots.iter().filter(|sub_slot| sub_slot.deadline <= k);
        let mut missing = before.fold(wanted, |missing, sub_slot| missing - sub_slot.bought);
        let purpose = Purpose::Deadline { target: self.deadlines[k].target };
        for &slot in order {
            if missing <= energy_tolerance(wanted) {
                return;
            }
            if self.sub_slots[slot].deadline <= k {
                let taken = self.buy(slot, missing, purpose);
                if taken > Energy::ZERO {
                    self.last_price[k] = Some(self.sub_slots[slot].price);
                }
                missing = missing - taken;
            }
        }
    }

    /// Buys at negative prices, cheapest first, up to `energy_max`.
    fn buy_surplus(&mut self, energy_max: Energy, order: &[usize]) {
        let mut missing =
            self.sub_slots.iter().fold(energy_max, |rest, sub_slot| rest - sub_slot.bought);
        let mut last_price = self.cheapest_price().min(Price::ZERO);
        for &slot in order {
            if self.sub_slots[slot].price >= Price::ZERO {
                break;
            }
            if missing <= energy_tolerance(energy_max) {
                break;
            }
            missing = missing - self.buy(slot, missing, Purpose::NegativePrice);
            last_price = self.sub_slots[slot].price;
        }
        // Below the bound another kWh is allowed, so the dual price of the bound is zero.
        if missing <= energy_tolerance(energy_max) {
            self.surplus_price = last_price;
        }
    }

    /// Buys up to `wanted` in the free energy of a sub-slot, and returns the energy bought.
    /// Less than `SNAP_MICROS` of charging is not bought.
    fn buy(&mut self, slot: usize, wanted: Energy, purpose: Purpose) -> Energy {
        let sub_slot = &mut self.sub_slots[slot];
        let room = sub_slot.capacity() - sub_slot.bought;
        let purchase_min = sub_slot.power.as_kw() * SNAP_MICROS / MICROS_PER_HOUR;
        if wanted.as_kwh() <= purchase_min || room.as_kwh() <= purchase_min {
            return Energy::ZERO;
        }
        // A sub-slot that is used up holds its capacity itself, not a sum with rounding.
        let energy = if room <= wanted { room } else { wanted };
        sub_slot.bought =
            if room <= wanted { sub_slot.capacity() } else { sub_slot.bought + energy };
        self.purchases.push(Purchase { slot, energy, purpose });
        energy
    }

    /// Drops the unused sub-slots at the end that lie after the last deadline.
    fn drop_unused_end(&mut self, problem: &ChargeProblem) {
        if problem.request().energy_max.is_some() {
            return;
        }
        let last = self.deadlines.len();
        let keep =
            self.sub_slots.iter().rposition(|p| p.deadline < last || p.bought > Energy::ZERO);
        self.sub_slots.truncate(keep.map_or(0, |keep| keep + 1));
    }

    /// Makes the plan and its certificate. Outcomes of targets and shortfall are not set.
    fn finish(self, curve: &PriceCurve, problem: &ChargeProblem) -> Plan {
        let slots: Vec<PlannedSlot> = self.sub_slots.iter().map(SubSlot::planned).collect();
        let energy = slots.iter().fold(Energy::ZERO, |sum, slot| sum + slot.energy);
        let certificate = certify_own(&slots, self.evidence(problem));
        Plan {
            intervals: intervals(&slots),
            energy,
            cost: certificate.cost,
            shortfall: Energy::ZERO,
            targets: Vec::new(),
            marginal_price: self.marginal_price(),
            baseline_cost: unmanaged_cost(&slots, energy),
            unpriced_hours: unpriced_hours(curve, problem),
            certificate,
            purchases: self.purchases,
            slots,
        }
    }

    /// Price of the cheapest free energy before the last deadline; `None` if nothing is free.
    fn marginal_price(&self) -> Option<Price> {
        let before =
            self.sub_slots.iter().filter(|sub_slot| sub_slot.deadline < self.deadlines.len());
        let room = before.filter(|p| p.capacity() - p.bought > p.power.over_micros(INSTANT_MICROS));
        room.map(|sub_slot| sub_slot.price).min_by(Price::total_cmp)
    }

    /// Lowest price of any sub-slot; zero if there is none.
    fn cheapest_price(&self) -> Price {
        let prices = self.sub_slots.iter().map(|sub_slot| sub_slot.price);
        prices.min_by(Price::total_cmp).unwrap_or(Price::ZERO)
    }

    /// Evidence of the certificate. `M_k` is the greatest price among the last purchases for
    /// deadline `k` and those after it, so that it falls from deadline to deadline.
    fn evidence(&self, problem: &ChargeProblem) -> ChargeEvidence {
        let energy_max = problem.request().energy_max;
        let surplus_price = self.surplus_price;
        // Where nothing was bought, the lowest price is a dual price: every slot costs as much.
        let floor = self.cheapest_price();
        let mut price = if energy_max.is_some() { surplus_price } else { floor };
        let mut requirements: Vec<Requirement> = Vec::with_capacity(self.deadlines.len());
        // Backwards, so that each deadline takes the maximum with the later ones.
        for k in (0..self.deadlines.len()).rev() {
            price = self.last_price[k].map_or(price, |last| last.max(price));
            let deadline = self.deadlines[k];
            requirements.push(Requirement {
                by: (deadline.by < i64::MAX).then(|| instant_at(deadline.by)),
                energy: deadline.energy.min(self.possible[k]),
                marginal_price: price,
            });
        }
        requirements.reverse();
        ChargeEvidence { at_once: self.at_once, requirements, energy_max, surplus_price }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use chrono::{DateTime, TimeDelta, Utc};
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::request::{ChargeRequest, PowerLimit};
    use crate::prices::curve::tests::curve_of;
    use crate::time::instant::micros_of;
    use crate::units::{kw, kwh};

    /// Instant `minutes` after 5 January 2026, 18:00Z.
    fn minute(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    /// A request at 10 kW for targets of (minutes, kWh).
    fn request(targets: &[(i64, f64)]) -> ChargeRequest {
        let target = |&(by, energy)| Target { by: Some(minute(by)), energy: kwh(energy) };
        let mut request = ChargeRequest::new(minute(0), kw(10.0), target(&(0, 0.0)));
        request.targets = targets.iter().map(target).collect();
        request
    }

    /// Plans a request and compares its text: each slot with price in cents and
    /// energy, then the targets and the sums of the plan.
    #[track_caller]
    fn check(minutes: i64, cents: &[i32], request: ChargeRequest, expected: &Expect) {
        let plan = plan_charge(&curve_of(minutes, cents), &ChargeProblem::new(request).unwrap());
        assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
        let mut text = String::from("from  cent   kWh\n");
        for slot in &plan.slots {
            let _ = writeln!(
                text,
                "{} {:>5.0} {:>5.1}",
                slot.start.format("%H:%M"),
                slot.price.as_per_kwh() * 100.0,
                slot.energy.as_kwh()
            );
        }
        for target in &plan.targets {
            let reached = target.reached_at.map(|at| at.format("%H:%M:%S").to_string());
            let _ = writeln!(
                text,
                "wanted {:.1} short {:.1} reached {}",
                target.wanted.as_kwh(),
                target.shortfall.as_kwh(),
                reached.as_deref().unwrap_or("never")
            );
        }
        let next = plan.marginal_price.map(|price| format!("{:.0}", price.as_per_kwh() * 100.0));
        let _ = writeln!(
            text,
            "cost {:.2} baseline {:.2} next {}",
            plan.cost.as_amount(),
            plan.baseline_cost.as_amount(),
            next.as_deref().unwrap_or("none")
        );
        expected.assert_eq(&text);
    }

    #[test]
    fn cheapest_slots_first_and_the_partial_one_from_its_start() {
        check(
            60,
            &[30, 10, 20],
            request(&[(180, 14.0)]),
            &expect![[r#"
            from  cent   kWh
            18:00    30   0.0
            19:00    10  10.0
            20:00    20   4.0
            wanted 14.0 short 0.0 reached 20:24:00
            cost 1.80 baseline 3.40 next 20
        "#]],
        );
    }

    #[test]
    fn ties_go_to_the_earlier_slot() {
        check(
            60,
            &[20, 20, 20],
            request(&[(180, 14.0)]),
            &expect![[r#"
            from  cent   kWh
            18:00    20  10.0
            19:00    20   4.0
            20:00    20   0.0
            wanted 14.0 short 0.0 reached 19:24:00
            cost 2.80 baseline 2.80 next 20
        "#]],
        );
    }

    #[test]
    fn nested_deadlines_buy_dear_energy_only_for_the_early_one() {
        check(
            60,
            &[1, 5, 10, 2],
            request(&[(120, 15.0), (240, 30.0)]),
            &expect![[r#"
            from  cent   kWh
            18:00     1  10.0
            19:00     5  10.0
            20:00    10   0.0
            21:00     2  10.0
            wanted 15.0 short 0.0 reached 19:30:00
            wanted 30.0 short 0.0 reached 22:00:00
            cost 0.80 baseline 1.60 next 10
        "#]],
        );
    }

    #[test]
    fn a_reserve_is_charged_at_once_at_any_price() {
        let mut wish = request(&[(240, 20.0)]);
        wish.reserve = kwh(4.0);
        check(
            60,
            &[50, 30, 10, 20],
            wish,
            &expect![[r#"
            from  cent   kWh
            18:00    50   4.0
            19:00    30   0.0
            20:00    10  10.0
            21:00    20   6.0
            wanted 20.0 short 0.0 reached 21:36:00
            cost 4.20 baseline 8.00 next 20
        "#]],
        );
    }

    #[test]
    fn a_reserve_above_the_target_is_all_there_is() {
        let mut wish = request(&[(240, 5.0)]);
        wish.reserve = kwh(12.0);
        check(
            60,
            &[50, 30, 10, 20],
            wish,
            &expect![[r#"
            from  cent   kWh
            18:00    50  10.0
            19:00    30   2.0
            20:00    10   0.0
            21:00    20   0.0
            wanted 5.0 short 0.0 reached 18:30:00
            cost 5.60 baseline 5.60 next 10
        "#]],
        );
    }

    #[test]
    fn an_unmet_need_charges_without_pause_and_goes_on() {
        check(
            60,
            &[30, 10, 20, 1, 90],
            request(&[(120, 25.0)]),
            &expect![[r#"
            from  cent   kWh
            18:00    30  10.0
            19:00    10  10.0
            20:00    20   5.0
            wanted 25.0 short 5.0 reached 20:30:00
            cost 5.00 baseline 5.00 next none
        "#]],
        );
    }

    #[test]
    fn after_the_deadline_it_may_stop() {
        let mut wish = request(&[(120, 25.0)]);
        wish.after_deadline = AfterDeadline::Stop;
        check(
            60,
            &[30, 10, 20, 1, 90],
            wish,
            &expect![[r#"
            from  cent   kWh
            18:00    30  10.0
            19:00    10  10.0
            wanted 25.0 short 5.0 reached never
            cost 4.00 baseline 4.00 next none
        "#]],
        );
    }

    #[test]
    fn a_missed_early_deadline_does_not_spoil_the_late_one() {
        check(
            60,
            &[30, 10, 20, 5],
            request(&[(60, 15.0), (240, 25.0)]),
            &expect![[r#"
            from  cent   kWh
            18:00    30  10.0
            19:00    10   5.0
            20:00    20   0.0
            21:00     5  10.0
            wanted 15.0 short 5.0 reached 19:30:00
            wanted 25.0 short 0.0 reached 22:00:00
            cost 4.00 baseline 5.00 next 10
        "#]],
        );
    }

    #[test]
    fn a_deadline_in_the_past_or_now_is_missed() {
        check(
            60,
            &[30, 10],
            request(&[(-60, 5.0), (0, 8.0)]),
            &expect![[r#"
            from  cent   kWh
            18:00    30   8.0
            wanted 5.0 short 5.0 reached 18:30:00
            wanted 8.0 short 8.0 reached 18:48:00
            cost 2.40 baseline 2.40 next none
        "#]],
        );
    }

    #[test]
    fn a_deadline_after_the_last_price_uses_what_is_known() {
        check(
            60,
            &[30, 10],
            request(&[(600, 8.0)]),
            &expect![[r#"
            from  cent   kWh
            18:00    30   0.0
            19:00    10   8.0
            wanted 8.0 short 0.0 reached 19:48:00
            cost 0.80 baseline 2.40 next 10
        "#]],
        );
    }

    #[test]
    fn arrival_and_deadline_inside_slots() {
        let mut wish = request(&[(150, 12.0)]);
        wish.now = minute(20);
        check(
            60,
            &[10, 30, 5],
            wish,
            &expect![[r#"
            from  cent   kWh
            18:20    10   6.7
            19:00    30   0.3
            20:00     5   5.0
            wanted 12.0 short 0.0 reached 20:30:00
            cost 1.02 baseline 2.27 next 30
        "#]],
        );
    }

    #[test]
    fn negative_prices_fill_up_to_the_maximum_only_if_allowed() {
        check(
            60,
            &[10, -5, -20],
            request(&[(180, 5.0)]),
            &expect![[r#"
            from  cent   kWh
            18:00    10   0.0
            19:00    -5   0.0
            20:00   -20   5.0
            wanted 5.0 short 0.0 reached 20:30:00
            cost -1.00 baseline 0.50 next -20
        "#]],
        );
        let mut wish = request(&[(180, 5.0)]);
        wish.energy_max = Some(kwh(17.0));
        check(
            60,
            &[10, -5, -20],
            wish,
            &expect![[r#"
            from  cent   kWh
            18:00    10   0.0
            19:00    -5   7.0
            20:00   -20  10.0
            wanted 5.0 short 0.0 reached 19:30:00
            cost -2.35 baseline 0.65 next -5
        "#]],
        );
    }

    #[test]
    fn power_limits_cut_slots() {
        let mut wish = request(&[(180, 14.0)]);
        let limit = |from, to, power| PowerLimit {
            start: minute(from),
            end: minute(to),
            power_max: kw(power),
        };
        wish.power_limits = vec![limit(30, 90, 4.0), limit(90, 120, 0.0)];
        check(
            60,
            &[10, 5, 20],
            wish,
            &expect![[r#"
            from  cent   kWh
            18:00    10   5.0
            18:30    10   2.0
            19:00     5   2.0
            19:30     5   0.0
            20:00    20   5.0
            wanted 14.0 short 0.0 reached 20:30:00
            cost 1.80 baseline 1.80 next 20
        "#]],
        );
    }

    #[test]
    fn nothing_wanted_nothing_bought() {
        check(
            60,
            &[-10, 5],
            request(&[(120, 0.0)]),
            &expect![[r#"
            from  cent   kWh
            18:00   -10   0.0
            19:00     5   0.0
            wanted 0.0 short 0.0 reached 18:00:00
            cost 0.00 baseline 0.00 next -10
        "#]],
        );
        check(
            60,
            &[],
            request(&[(120, 3.0)]),
            &expect![[r#"
            from  cent   kWh
            wanted 3.0 short 3.0 reached never
            cost 0.00 baseline 0.00 next none
        "#]],
        );
        check(
            60,
            &[10, 5],
            request(&[]),
            &expect![[r#"
            from  cent   kWh
            cost 0.00 baseline 0.00 next none
        "#]],
        );
        let mut idle = request(&[(120, 3.0)]);
        idle.power_max = kw(0.0);
        check(
            60,
            &[10, 5],
            idle,
            &expect![[r#"
            from  cent   kWh
            18:00    10   0.0
            19:00     5   0.0
            wanted 3.0 short 3.0 reached never
            cost 0.00 baseline 0.00 next none
        "#]],
        );
    }

    #[test]
    fn rounding_does_not_switch_a_charger_on() {
        // Three tenths of an hour at 10 kW is 3 kWh, but 0.1 + 0.2 > 0.3 in binary.
        let mut wish = request(&[(36, (0.1 + 0.2) * 10.0)]);
        wish.reserve = kwh(1.0);
        check(
            6,
            &[10, 20, 30, 40, 50, 60],
            wish,
            &expect![[r#"
            from  cent   kWh
            18:00    10   1.0
            18:06    20   1.0
            18:12    30   1.0
            18:18    40   0.0
            18:24    50   0.0
            18:30    60   0.0
            wanted 3.0 short 0.0 reached 18:18:00
            cost 0.60 baseline 0.60 next 40
        "#]],
        );
    }

    /// Hours before the last deadline that no slot of a plan covers.
    fn unpriced_of_slots(plan: &Plan, curve: &PriceCurve, problem: &ChargeProblem) -> f64 {
        let known = curve.horizon().end().map_or(problem.from(), micros_of);
        let last = problem.request().last_by().filter(|&last| last < i64::MAX);
        let until = problem.request().until.map(micros_of);
        let end = last.or(until).unwrap_or(known).min(problem.to());
        let priced =
            |slot: &PlannedSlot| (micros_of(slot.end).min(end) - micros_of(slot.start)).max(0);
        let priced: i64 = plan.slots.iter().map(priced).sum();
        ((end - problem.from()).max(0) - priced) as f64 / MICROS_PER_HOUR
    }

    proptest! {
        /// Slot selection and greedy give one plan for a single target.
        #[test]
        fn both_ways_give_one_plan(
            cents in prop::collection::vec(-20..60i32, 1..100),
            now in -40..600i64, by in -40..2000i64, kwh_wanted in 0.0..260.0f64,
            power in prop::sample::select(vec![0.0, 3.7, 7.4, 11.0, 22.0]),
        ) {
            let curve = curve_of(15, &cents);
            let mut wish = request(&[(by, kwh_wanted)]);
            wish.now = minute(now);
            wish.power_max = kw(power);
            wish.after_deadline = AfterDeadline::Stop;
            let problem = ChargeProblem::new(wish).unwrap();
            prop_assert!(choose(&curve, &problem).is_some());
            let fast = plan_charge(&curve, &problem);
            let slow = Greedy::new(&curve, &problem).plan(&curve, &problem);
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
            prop_assert!(near(fast.energy.as_kwh(), slow.energy.as_kwh()));
            prop_assert!(near(fast.cost.as_amount(), slow.cost.as_amount()));
            prop_assert!(near(fast.baseline_cost.as_amount(), slow.baseline_cost.as_amount()));
            prop_assert_eq!(&fast.intervals, &slow.intervals);
            prop_assert!(near(fast.unpriced_hours, unpriced_of_slots(&slow, &curve, &problem)));
            prop_assert!(fast.certificate.is_proved() && slow.certificate.is_proved());
        }

        /// Slot selection and greedy give one plan where the earliest target wants most.
        #[test]
        fn both_ways_give_one_plan_for_the_target_that_decides(
            cents in prop::collection::vec(-20..60i32, 1..100), step in prop::sample::select(vec![15, 60]),
            now in -40..600i64, kwh_wanted in prop::sample::select(vec![0.0, 4.0, 10.0, 17.0, 44.4]), stop in any::<bool>(),
            targets in prop::collection::vec((0..3000i64, 0.0..1.0f64), 1..6),
            until in prop::option::of(0..1000i64), is_open in any::<bool>(), power in prop::sample::select(vec![0.0, 10.0, 10.0]),
        ) {
            let curve = curve_of(step, &cents);
            let most = |(by, share): (i64, f64)| (by, if share > 0.5 { kwh_wanted } else { kwh_wanted * share });
            let mut targets: Vec<(i64, f64)> = targets.into_iter().map(most).collect();
            let first = targets.iter().map(|&(by, _)| by).min().unwrap();
            targets.push((first, kwh_wanted));
            let mut wish = request(&targets);
            wish.now = minute(now);
            wish.until = until.map(minute);
            wish.power_max = kw(power);
            if is_open {
                wish.targets.push(Target { by: None, energy: kwh(kwh_wanted) });
            }
            if stop {
                wish.after_deadline = AfterDeadline::Stop;
            }
            let problem = ChargeProblem::new(wish).unwrap();
            let slow = Greedy::new(&curve, &problem).plan(&curve, &problem);
            prop_assert_eq!(slow.intervals.is_empty(), slow.energy == Energy::ZERO);
            if choose(&curve, &problem).is_none() {
                return Ok(());
            }
            let fast = plan_charge(&curve, &problem);
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
            prop_assert!(near(fast.energy.as_kwh(), slow.energy.as_kwh()));
            prop_assert!(near(fast.cost.as_amount(), slow.cost.as_amount()));
            prop_assert!(near(fast.baseline_cost.as_amount(), slow.baseline_cost.as_amount()));
            prop_assert_eq!(&fast.intervals, &slow.intervals);
            prop_assert_eq!(fast.slots.len(), slow.slots.len());
            prop_assert_eq!(fast.marginal_price, slow.marginal_price);
            prop_assert_eq!(fast.unpriced_hours.to_bits(), unpriced_of_slots(&slow, &curve, &problem).to_bits());
            prop_assert_eq!(fast.shortfall, Energy::ZERO);
            prop_assert!(fast.targets.iter().all(|target| target.shortfall == Energy::ZERO));
            prop_assert!(fast.certificate.is_proved() && slow.certificate.is_proved());
        }

        /// Every request gives a proved plan that keeps its limits.
        #[test]
        fn every_plan_is_proved(
            cents in prop::collection::vec(-20..60i32, 0..60),
            targets in prop::collection::vec((-60..1200i64, 0.0..120.0f64), 0..5),
            reserve in 0.0..30.0f64, extra in prop::option::of(0.0..50.0f64),
            limits in prop::collection::vec((0..12i64, 0.0..12.0f64), 0..4),
            stop in any::<bool>(), until in prop::option::of(0..1000i64), now in -60..600i64,
        ) {
            let mut wish = request(&targets);
            wish.now = minute(now);
            wish.reserve = kwh(reserve);
            wish.until = until.map(minute);
            if stop {
                wish.after_deadline = AfterDeadline::Stop;
            }
            let mut at = 0;
            for (gap, power) in limits {
                let start = at + gap * 7;
                at = start + 25;
                let (start, end) = (minute(start), minute(at));
                wish.power_limits.push(PowerLimit { start, end, power_max: kw(power) });
            }
            wish.energy_max = extra.map(|extra| {
                kwh(targets.iter().fold(reserve, |most, target| most.max(target.1)) + extra)
            });
            let plan = plan_charge(&curve_of(15, &cents), &ChargeProblem::new(wish).unwrap());
            prop_assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
            for pair in plan.intervals.windows(2) {
                prop_assert!(pair[0].end <= pair[1].start);
            }
            let charged: f64 = plan.intervals.iter().map(|i| i.power.over(i.end - i.start).as_kwh()).sum();
            prop_assert!((charged - plan.energy.as_kwh()).abs() < 1e-6);
            for target in &plan.targets {
                let late = target.shortfall > Energy::ZERO;
                let reached = target.reached_at.zip(target.by);
                prop_assert!(reached.is_none_or(|(at, by)| (at > by) == late || target.wanted == Energy::ZERO));
            }
        }
    }
}
