//! Verification of a plan of charging against its request and its prices, without the planner.
//!
//! A [certificate](super::certificate) proves its slots, prices and requirements optimal, whatever
//! they are. Here the same numbers follow from request and price curve:
//!
//! | Symbol | Computed from |
//! |---|---|
//! | `p_t`, `u_t` | price and power limit at the start of the slot, which may not change within it |
//! | `r_k` | targets up to the charge limit, at most the capacity of the priced time before the deadline |
//! | `Σ_t f_t` | the reserve, or the energy of the last deadline that the capacity does not suffice for |
//! | `E_max` | the request |
//! | `M_k`, `W` | the certificate: weak duality holds for any of them |
//!
//! [`verify`] then gives cost and bound from these. Slots have to cover all priced time up to the
//! last deadline, because the bound of a plan without a cheap slot would be too high.
//!
//! A deadline counts as missed if less than [`SNAP_MICROS`] of free charging is left before it. Then
//! all time before it is used, and whether that is called charging at once makes no difference.
use std::iter::zip;

use crate::plan::charge::certificate::{ChargeEvidence, Requirement};
use crate::plan::charge::plan::{Plan, PlannedSlot, TargetOutcome, intervals};
use crate::plan::charge::request::{AfterDeadline, ChargeProblem, ChargeRequest, Target};
use crate::plan::charge::verify::{at_once_by_slot, verify};
use crate::plan::verification::{Check, Stated};
use crate::prices::curve::PriceCurve;
use crate::time::instant::{instant_at, micros_of};
use crate::tolerance::{GAP_MAX, INSTANT_MICROS, SNAP_MICROS, SUM_ROUNDING, allowed};
use crate::units::{Energy, MICROS_PER_HOUR, Power, Price};

/// Compares each statement of a plan and of its certificate with what request and prices give.
///
/// The checks come in this order: slots, intervals, energy and cost, targets, the requirements of
/// the certificate, and then those of [`verify`] with the requirements of the request. The first that
/// does not hold is the cause of those after it, as a rule.
///
/// # Example
///
/// A plan for 5 kWh at 0.10 per kWh is not one for 6 kWh:
///
/// ```
/// use slackwater_engine::plan::charge::{ChargeProblem, ChargeRequest, Target};
/// use slackwater_engine::plan::charge::{plan_charge, verify_plan};
/// use slackwater_engine::prices::curve::PriceCurve;
/// use slackwater_engine::time::horizon::Horizon;
/// use slackwater_engine::units::{kw, kwh};
///
/// let six = "2026-01-05T18:00:00Z".parse().unwrap();
/// let hours = Horizon::steps(six, chrono::TimeDelta::hours(1), 2)?;
/// let prices = PriceCurve::from_parts(hours, vec![0.3, 0.1])?;
/// let problem = |energy| {
///     let target = Target { by: None, energy: kwh(energy) };
///     ChargeProblem::new(ChargeRequest::new(six, kw(11.0), target))
/// };
/// let plan = plan_charge(&prices, &problem(5.0)?);
/// assert!(verify_plan(&prices, &problem(5.0)?, &plan).iter().all(|check| check.holds()));
///
/// let checks = verify_plan(&prices, &problem(6.0)?, &plan);
/// let failed = checks.iter().find(|check| !check.holds()).unwrap();
/// assert_eq!((failed.line.as_str(), failed.computed), ("targets[0].wanted_kwh", 6.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn verify_plan(curve: &PriceCurve, problem: &ChargeProblem, plan: &Plan) -> Vec<Check> {
    let facts = Facts::new(curve, problem);
    let certificate = &plan.certificate;
    let evidence = facts.evidence(&certificate.evidence);
    let slots: Vec<PlannedSlot> = plan.slots.iter().map(|slot| facts.slot(slot)).collect();

    let mut checks = facts.check_slots(&plan.slots, &slots);
    checks.extend(check_intervals(plan));
    checks.extend(facts.check_sums(plan, &slots));
    checks.extend(facts.check_targets(plan));
    checks.extend(facts.check_evidence(&certificate.evidence, &evidence, &slots));
    let stated = Stated {
        cost: certificate.cost.as_amount(),
        bound: certificate.bound.as_amount(),
        gap: certificate.gap().as_amount(),
        is_proved: certificate.is_proved(),
    };
    checks.extend(verify(&slots, &evidence, stated));
    checks
}

/// Number of misfits as the excess of a rule.
fn misfits(count: usize) -> f64 {
    count as f64
}

/// Check of two energies, up to `tolerance`.
fn energy(line: impl Into<String>, stated: Energy, computed: Energy, tolerance: Energy) -> Check {
    let [stated, computed, tolerance] = [stated, computed, tolerance].map(Energy::as_kwh);
    Check { line: line.into(), stated, computed, tolerance }
}

/// Check of two numbers that may be absent. If one of them is, the rule is broken once.
fn optional(line: String, stated: Option<f64>, computed: Option<f64>, tolerance: f64) -> Check {
    match (stated, computed) {
        (Some(stated), Some(computed)) => Check { line, stated, computed, tolerance },
        _ => Check::rule(line, misfits(usize::from(stated != computed)), 0.0),
    }
}

/// Hours of a number of microseconds.
fn hours(micros: i64) -> f64 {
    micros as f64 / MICROS_PER_HOUR
}

/// Checks that the intervals are the energies of the slots at full power from their start.
fn check_intervals(plan: &Plan) -> Vec<Check> {
    let computed = intervals(&plan.slots);
    let count = plan.intervals.len().abs_diff(computed.len());
    let mut checks = vec![Check::rule("intervals", misfits(count), 0.0)];
    for (index, (own, again)) in zip(&plan.intervals, &computed).enumerate() {
        let line = |name: &str| format!("intervals[{index}].{name}");
        let apart = |own, again| hours((micros_of(own) - micros_of(again)).abs());
        let (stated, computed) = (own.power.as_kw(), again.power.as_kw());
        checks.extend([
            Check::rule(line("start"), apart(own.start, again.start), 0.0),
            Check::rule(line("end"), apart(own.end, again.end), 0.0),
            Check { line: line("power_kw"), stated, computed, tolerance: 0.0 },
        ]);
    }
    checks
}

/// Request and prices, with all that a plan has to keep.
struct Facts<'a> {
    curve: &'a PriceCurve,
    problem: &'a ChargeProblem,
    /// Deadlines in microseconds, in time order, each once; `i64::MAX` is the end of the prices.
    deadlines: Vec<i64>,
}

impl<'a> Facts<'a> {
    fn new(curve: &'a PriceCurve, problem: &'a ChargeProblem) -> Self {
        let mut deadlines: Vec<i64> =
            problem.request().targets.iter().map(Target::by_micros).collect();
        deadlines.sort_unstable();
        deadlines.dedup();
        Self { curve, problem, deadlines }
    }

    fn request(&self) -> &'a ChargeRequest {
        self.problem.request()
    }

    /// Energy of one microsecond at full power.
    fn instant(&self) -> Energy {
        self.request().power_max.over_micros(INSTANT_MICROS)
    }

    /// Difference of two sums of energies that counts as rounding.
    fn rounding(&self, kwh: Energy) -> Energy {
        let share = Energy::from_kwh(allowed(GAP_MAX, kwh.as_kwh())).unwrap_or(Energy::ZERO);
        share.max(self.instant())
    }

    /// Highest power at an instant.
    fn power_at(&self, at: i64) -> Power {
        let power_max = self.request().power_max;
        let mut limits = self.problem.limits().overlapping(at, at + 1);
        limits
            .next()
            .map_or(power_max, |limit| power_max.min(self.request().power_limits[limit].power_max))
    }

    /// First instant after `start` at which price, power or first deadline changes, or the stay
    /// ends; `start` itself if it has no price.
    fn constant_until(&self, start: i64) -> i64 {
        let (horizon, limits) = (self.curve.horizon(), self.problem.limits());
        let Some(period) = horizon.overlapping(start, start + 1).next() else { return start };
        let cuts = limits.starts().iter().chain(limits.ends()).chain(&self.deadlines);
        let last = horizon.ends()[period].min(self.problem.to());
        cuts.filter(|&&cut| cut > start).fold(last, |first, &cut| first.min(cut))
    }

    /// Slot of a plan with the price and the power of its start.
    fn slot(&self, slot: &PlannedSlot) -> PlannedSlot {
        let price = self.curve.price_at(slot.start).unwrap_or(Price::ZERO);
        PlannedSlot { price, power_max: self.power_at(micros_of(slot.start)), ..*slot }
    }

    /// Energy that the priced time of the stay before an instant can hold.
    fn capacity_by(&self, by: i64) -> Energy {
        let (horizon, limits) = (self.curve.horizon(), self.problem.limits());
        let (from, to) = (self.problem.from(), self.problem.to().min(by));
        let power_max = self.request().power_max;
        let mut capacity = Energy::ZERO;
        for period in horizon.overlapping(from, to) {
            let (start, end) = (horizon.starts()[period].max(from), horizon.ends()[period].min(to));
            capacity = capacity + power_max.over_micros(end - start);
            for limit in limits.overlapping(start, end) {
                let length = limits.ends()[limit].min(end) - limits.starts()[limit].max(start);
                let power = power_max.min(self.request().power_limits[limit].power_max);
                capacity = capacity - (power_max - power).over_micros(length);
            }
        }
        capacity
    }

    /// Requirements of the request, at the dual prices of a certificate.
    fn evidence(&self, stated: &ChargeEvidence) -> ChargeEvidence {
        let possible: Vec<Energy> = self.deadlines.iter().map(|&by| self.capacity_by(by)).collect();
        let wanted = |by: i64| {
            let due = self.request().targets.iter().filter(|target| target.by_micros() == by);
            due.fold(Energy::ZERO, |most, target| most.max(self.request().within_limit(target)))
        };
        let mut wanted: Vec<Energy> = self.deadlines.iter().map(|&by| wanted(by)).collect();
        // Targets are levels: a later deadline wants at least as much as an earlier one.
        let nest = |wanted: &mut Vec<Energy>| {
            for k in 1..wanted.len() {
                wanted[k] = wanted[k].max(wanted[k - 1]);
            }
        };
        let missed = match self.request().after_deadline {
            AfterDeadline::Continue => {
                nest(&mut wanted);
                self.last_missed(&wanted, &possible)
            }
            AfterDeadline::Stop => {
                let missed = self.last_missed(&wanted, &possible);
                zip(&mut wanted, &possible).for_each(|(most, fits)| *most = most.min(*fits));
                nest(&mut wanted);
                missed
            }
        };
        let overdue = missed.map_or(Energy::ZERO, |k| wanted[k]);
        let requirement = |(k, &by): (usize, &i64)| Requirement {
            by: (by < i64::MAX).then(|| instant_at(by)),
            energy: wanted[k].min(possible[k]),
            marginal_price: stated.requirements.get(k).map_or(Price::ZERO, |r| r.marginal_price),
        };
        ChargeEvidence {
            at_once: overdue.max(self.request().reserve).min(self.capacity_by(i64::MAX)),
            requirements: self.deadlines.iter().enumerate().map(requirement).collect(),
            energy_max: self.request().energy_max,
            surplus_price: stated.surplus_price,
        }
    }

    /// The last deadline before which no time is left free.
    fn last_missed(&self, wanted: &[Energy], possible: &[Energy]) -> Option<usize> {
        let snap = self.request().power_max.as_kw() * SNAP_MICROS / MICROS_PER_HOUR;
        zip(wanted, possible).rposition(|(wanted, &possible)| {
            let free = (possible - *wanted).as_kwh();
            free <= snap.max(SUM_ROUNDING * wanted.as_kwh())
        })
    }

    /// End of the time that the slots have to cover, in microseconds. There are none left out before
    /// the last of them either: energy is charged at once in the first slots.
    fn end_of_slots(&self, slots: &[PlannedSlot]) -> i64 {
        let end = slots.iter().map(|slot| micros_of(slot.end)).max().unwrap_or(i64::MIN);
        let last = if self.request().energy_max.is_some() {
            i64::MAX
        } else {
            self.deadlines.last().copied().unwrap_or(i64::MIN)
        };
        last.max(end).min(self.problem.to()).max(self.problem.from())
    }

    /// Checks that slots lie in the stay, have the prices and powers of the request, and cover all
    /// priced time that the bound rests on. `computed` are the slots with these prices and powers.
    fn check_slots(&self, stated: &[PlannedSlot], computed: &[PlannedSlot]) -> Vec<Check> {
        let (from, to) = (self.problem.from(), self.end_of_slots(stated));
        let within = |slot: &PlannedSlot| {
            (micros_of(slot.end).min(to) - micros_of(slot.start).max(from)).max(0)
        };
        let covered: i64 = stated.iter().map(within).sum();
        let missing = self.curve.horizon().covered(from, to) - covered;
        let mut checks = vec![Check::rule("hours without slots", hours(missing), 0.0)];
        for (index, (own, again)) in zip(stated, computed).enumerate() {
            let line = |name: &str| format!("slots[{index}].{name}");
            let (start, end) = (micros_of(own.start), micros_of(own.end));
            let equal = |name: &str, stated: f64, computed: f64| Check {
                line: line(name),
                stated,
                computed,
                tolerance: 0.0,
            };
            checks.extend([
                Check::rule(line("start"), hours(from - start), 0.0),
                Check::rule(line("end"), hours(end - self.constant_until(start)), 0.0),
                equal("price_per_kwh", own.price.as_per_kwh(), again.price.as_per_kwh()),
                equal("power_max_kw", own.power_max.as_kw(), again.power_max.as_kw()),
            ]);
        }
        checks
    }

    /// Checks of energy, costs, the price of the next kWh, and the hours without a price.
    fn check_sums(&self, plan: &Plan, slots: &[PlannedSlot]) -> Vec<Check> {
        let total = slots.iter().fold(Energy::ZERO, |sum, slot| sum + slot.energy);
        let mut checks = vec![energy("energy_kwh", plan.energy, total, self.rounding(total))];
        let mut bought = vec![Energy::ZERO; slots.len()];
        for purchase in &plan.purchases {
            if let Some(bought) = bought.get_mut(purchase.slot) {
                *bought = *bought + purchase.energy;
            }
        }
        for (index, (slot, bought)) in zip(slots, bought).enumerate() {
            let line = format!("purchases in slots[{index}]");
            checks.push(energy(line, bought, slot.energy, self.rounding(slot.energy)));
        }
        // Each end of an interval is rounded to a microsecond.
        let prices = slots.iter().map(|slot| slot.price.as_per_kwh().abs());
        let dearest = prices.fold(0.0, f64::max);
        let ends = self.instant().as_kwh() * slots.len() as f64;
        let amount = |line: &str, stated: f64, computed: f64| Check {
            line: line.to_owned(),
            stated,
            computed,
            tolerance: allowed(GAP_MAX, dearest * total.as_kwh()) + dearest * ends,
        };
        let paid = plan.intervals.iter().map(|own| (own.start, own.end, own.power));
        let unmanaged = zip(slots, at_once_by_slot(slots, total.as_kwh()));
        let unmanaged = unmanaged.map(|(slot, kwh)| slot.price.as_per_kwh() * kwh).sum();
        let from = self.problem.from();
        let end = match self.deadlines.last() {
            None => from,
            Some(&i64::MAX) if self.request().until.is_none() => {
                self.curve.horizon().end().map_or(from, micros_of)
            }
            Some(&last) => last.min(self.problem.to()),
        };
        let unpriced = hours((end - from).max(0) - self.curve.horizon().covered(from, end));
        checks.extend([
            amount("cost of intervals", plan.cost.as_amount(), self.curve.weigh(paid)),
            amount("baseline_cost", plan.baseline_cost.as_amount(), unmanaged),
            self.check_marginal_price(plan.marginal_price, slots),
            Check::equal("unpriced_hours", plan.unpriced_hours, unpriced, unpriced),
        ]);
        checks
    }

    /// Checks the price of the cheapest free energy before the last deadline. Energy of up to two
    /// microseconds may count as free.
    fn check_marginal_price(&self, stated: Option<Price>, slots: &[PlannedSlot]) -> Check {
        let last = self.deadlines.last().copied().unwrap_or(i64::MIN);
        let due = || slots.iter().filter(|slot| micros_of(slot.end) <= last);
        let cheapest = |micros: i64| {
            let free = due()
                .filter(|slot| slot.capacity() - slot.energy > slot.power_max.over_micros(micros));
            free.map(|slot| slot.price.as_per_kwh()).reduce(f64::min)
        };
        let stated = stated.map(Price::as_per_kwh);
        let computed = [2 * INSTANT_MICROS, 0].map(cheapest);
        let computed = if computed[1] == stated { computed[1] } else { computed[0] };
        optional("marginal_price_per_kwh".to_owned(), stated, computed, 0.0)
    }

    /// Checks of the outcome of each target, and of the highest shortfall.
    fn check_targets(&self, plan: &Plan) -> Vec<Check> {
        let targets = &self.request().targets;
        let count = plan.targets.len().abs_diff(targets.len());
        let mut checks = vec![Check::rule("targets", misfits(count), 0.0)];
        for (index, (own, target)) in zip(&plan.targets, targets).enumerate() {
            checks.extend(self.check_target(index, own, target, &plan.slots));
        }
        let most = plan.targets.iter().fold(Energy::ZERO, |most, own| most.max(own.shortfall));
        checks.push(energy("shortfall_kwh", plan.shortfall, most, Energy::ZERO));
        checks
    }

    fn check_target(
        &self,
        index: usize,
        own: &TargetOutcome,
        target: &Target,
        slots: &[PlannedSlot],
    ) -> [Check; 6] {
        let line = |name: &str| format!("targets[{index}].{name}");
        let rounding = self.rounding(target.energy);
        let most = self.request().within_limit(target);
        let before = slots.iter().filter(|slot| micros_of(slot.end) <= target.by_micros());
        let delivered = before.fold(Energy::ZERO, |sum, slot| sum + slot.energy).min(most);
        let above = target.energy - most;
        let since = |micros: i64| hours(micros - self.problem.from());
        let reached = own.reached_at.map(|at| since(micros_of(at)));
        [
            Check::rule(line("by"), misfits(usize::from(own.by != target.by)), 0.0),
            energy(line("wanted_kwh"), own.wanted, target.energy, Energy::ZERO),
            energy(line("delivered_kwh"), own.delivered, delivered, rounding),
            energy(line("shortfall_kwh"), own.shortfall, above + (most - delivered), rounding),
            energy(line("above_limit_kwh"), own.above_limit, above, rounding),
            optional(
                line("reached_at"),
                reached,
                self.reached(target.energy, slots).map(since),
                hours(2 * INSTANT_MICROS),
            ),
        ]
    }

    /// Instant at which slots at full power hold an energy, but for that of a microsecond.
    fn reached(&self, wanted: Energy, slots: &[PlannedSlot]) -> Option<i64> {
        if wanted <= Energy::ZERO {
            return Some(self.problem.from());
        }
        let mut missing = wanted.as_kwh() * (1.0 - SUM_ROUNDING);
        for slot in slots {
            let instant = slot.power_max.over_micros(INSTANT_MICROS).as_kwh();
            if slot.energy > Energy::ZERO && slot.energy.as_kwh() + instant >= missing {
                let micros = slot.power_max.micros_for_kwh(missing).round() as i64;
                return Some((micros_of(slot.start) + micros).min(micros_of(slot.end)));
            }
            missing -= slot.energy.as_kwh();
        }
        None
    }

    /// Checks that a certificate rests on the requirements of the request.
    fn check_evidence(
        &self,
        stated: &ChargeEvidence,
        computed: &ChargeEvidence,
        slots: &[PlannedSlot],
    ) -> Vec<Check> {
        let (own, again) = (&stated.requirements, &computed.requirements);
        let by = |of: &Requirement| of.by.map(micros_of);
        let others = zip(own, again).filter(|(own, again)| by(own) != by(again)).count();
        let count = own.len().abs_diff(again.len()) + others;
        let mut checks = vec![Check::rule("evidence.requirements", misfits(count), 0.0)];
        for (index, (own, again)) in zip(own, again).enumerate() {
            let line = format!("evidence.requirements[{index}].energy_kwh");
            checks.push(energy(line, own.energy, again.energy, self.rounding(again.energy)));
        }
        // Less at once than the request wants makes the bound lower, and so never wrong.
        let excess = (stated.at_once - computed.at_once).as_kwh();
        let forced = at_once_by_slot(slots, computed.at_once.as_kwh()).iter().sum::<f64>();
        let unheld = computed.at_once.as_kwh() - forced;
        let rounding = self.rounding(computed.at_once).as_kwh();
        let energy_max = [stated, computed].map(|evidence| evidence.energy_max.map(Energy::as_kwh));
        checks.extend([
            Check::rule("evidence.at_once_kwh", excess, rounding),
            Check::rule("energy at once without slots", unheld, rounding),
            optional("evidence.energy_max_kwh".to_owned(), energy_max[0], energy_max[1], 0.0),
        ]);
        checks
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::certificate::certify;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::request::PowerLimit;
    use crate::plan::stability::budget::Budget;
    use crate::plan::stability::stay_close::plan_close_to;
    use crate::prices::curve::Slot;
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, money, per_kwh};

    const CENTS: [i32; 7] = [50, 30, 20, 25, -5, 12, -9];

    fn minute(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    /// Request at 10 kW: 3 kWh at once, 8 kWh in two hours, 25 kWh in four and a half, with 4 kW for
    /// half an hour.
    fn request() -> ChargeRequest {
        let target = |minutes, energy| Target { by: Some(minute(minutes)), energy: kwh(energy) };
        let mut request = ChargeRequest::new(minute(0), kw(10.0), target(120, 8.0));
        request.targets.push(target(270, 25.0));
        request.reserve = kwh(3.0);
        let (start, end) = (minute(60), minute(90));
        request.power_limits = vec![PowerLimit { start, end, power_max: kw(4.0) }];
        request
    }

    fn problem(change: impl FnOnce(&mut ChargeRequest)) -> ChargeProblem {
        let mut request = request();
        change(&mut request);
        ChargeProblem::new(request).unwrap()
    }

    fn failing(curve: &PriceCurve, problem: &ChargeProblem, plan: &Plan) -> Vec<String> {
        let checks = verify_plan(curve, problem, plan);
        checks.into_iter().filter(|check| !check.holds()).map(|check| check.line).collect()
    }

    /// First line that fails once a plan is changed.
    #[track_caller]
    fn refused(change: impl FnOnce(&mut Plan), line: &str) {
        let (curve, problem) = (curve_of(60, &CENTS), problem(|_| ()));
        let mut plan = plan_charge(&curve, &problem);
        change(&mut plan);
        let failed = failing(&curve, &problem, &plan);
        assert_eq!(failed.first().map(String::as_str), Some(line), "{failed:?}");
    }

    /// First line that fails for a sound plan of other prices or another request.
    #[track_caller]
    fn refused_other(cents: &[i32], change: impl FnOnce(&mut ChargeRequest), line: &str) {
        let other = plan_charge(&curve_of(60, cents), &problem(change));
        // In itself its certificate is sound.
        assert!(certify(&other.slots, other.certificate.evidence.clone()).is_ok());
        refused(|plan| *plan = other, line);
    }

    #[test]
    fn the_plan_of_the_request_holds() {
        let (curve, problem) = (curve_of(60, &CENTS), problem(|_| ()));
        let plan = plan_charge(&curve, &problem);
        assert_eq!(failing(&curve, &problem, &plan), [""; 0]);
        assert!(plan.targets.iter().all(|target| target.shortfall == Energy::ZERO));
    }

    #[test]
    fn changed_intervals_are_refused() {
        refused(|plan| plan.intervals[0].start = minute(-30), "intervals[0].start");
        refused(|plan| plan.intervals[0].end = minute(30), "intervals[0].end");
        refused(|plan| plan.intervals[0].power = kw(22.0), "intervals[0].power_kw");
        refused(|plan| plan.intervals.truncate(1), "intervals");
        refused(|plan| plan.intervals.clear(), "intervals");
    }

    #[test]
    fn changed_slots_are_refused() {
        refused(|plan| plan.slots[0].start = minute(-30), "slots[0].start");
        refused(|plan| plan.slots[1].price = per_kwh(0.1), "slots[1].price_per_kwh");
        refused(|plan| plan.slots[1].power_max = kw(10.0), "slots[1].power_max_kw");
        refused(|plan| plan.slots[2].energy = kwh(2.0), "intervals[2].end");
        refused(|plan| plan.slots.truncate(5), "hours without slots");
    }

    #[test]
    fn changed_sums_are_refused() {
        refused(|plan| plan.energy = kwh(24.0), "energy_kwh");
        refused(|plan| plan.cost = money(1.0), "cost of intervals");
        refused(|plan| plan.baseline_cost = money(99.0), "baseline_cost");
        refused(|plan| plan.marginal_price = Some(per_kwh(0.01)), "marginal_price_per_kwh");
        refused(|plan| plan.marginal_price = None, "marginal_price_per_kwh");
        refused(|plan| plan.unpriced_hours = 1.0, "unpriced_hours");
        refused(|plan| plan.purchases[0].energy = kwh(1.0), "purchases in slots[0]");
        refused(|plan| plan.shortfall = kwh(5.0), "shortfall_kwh");
    }

    #[test]
    fn changed_targets_are_refused() {
        refused(|plan| plan.targets.truncate(1), "targets");
        refused(|plan| plan.targets[0].by = Some(minute(180)), "targets[0].by");
        refused(|plan| plan.targets[1].wanted = kwh(20.0), "targets[1].wanted_kwh");
        refused(|plan| plan.targets[1].delivered = kwh(20.0), "targets[1].delivered_kwh");
        refused(|plan| plan.targets[1].shortfall = kwh(2.0), "targets[1].shortfall_kwh");
        refused(|plan| plan.targets[1].above_limit = kwh(2.0), "targets[1].above_limit_kwh");
        refused(|plan| plan.targets[1].reached_at = None, "targets[1].reached_at");
        refused(|plan| plan.targets[1].reached_at = Some(minute(61)), "targets[1].reached_at");
    }

    #[test]
    fn changed_certificates_are_refused() {
        let evidence = |change: fn(&mut ChargeEvidence), line: &str| {
            refused(|plan| change(&mut plan.certificate.evidence), line);
        };
        evidence(|e| e.requirements.truncate(1), "evidence.requirements");
        evidence(|e| e.requirements[1].energy = kwh(20.0), "evidence.requirements[1].energy_kwh");
        evidence(|e| e.requirements[0].marginal_price = per_kwh(0.4), "bound");
        evidence(|e| e.at_once = kwh(9.0), "evidence.at_once_kwh");
        evidence(|e| e.energy_max = Some(kwh(40.0)), "evidence.energy_max_kwh");
        refused(|plan| plan.certificate.cost = money(1.0), "cost");
        refused(|plan| plan.certificate.bound = money(99.0), "bound");
    }

    /// Plans that are sound in themselves, with a certificate that proves them.
    #[test]
    fn plans_of_another_request_are_refused() {
        refused_other(&CENTS, |r| r.targets[1].energy = kwh(20.0), "targets[1].wanted_kwh");
        refused_other(&CENTS, |r| r.reserve = kwh(0.0), "slots[0].energy_kwh");
        refused_other(&CENTS, |r| r.now = minute(-60), "unpriced_hours");
        refused_other(&CENTS, |r| r.now = minute(30), "hours without slots");
        refused_other(&CENTS, |r| r.power_max = kw(11.0), "slots[0].power_max_kw");
        refused_other(&CENTS, |r| r.power_limits.clear(), "slots[1].end");
        refused_other(&CENTS, |r| r.energy_max = Some(kwh(40.0)), "evidence.energy_max_kwh");
        refused_other(&CENTS, |r| r.targets[0].by = Some(minute(60)), "targets[0].by");
        refused_other(&CENTS, |r| r.targets.truncate(1), "hours without slots");
        // Sold as missed: what is left out would have been bought.
        refused_other(&CENTS, |r| r.until = Some(minute(120)), "hours without slots");
    }

    #[test]
    fn plans_of_other_prices_are_refused() {
        refused_other(&[50, 30, 20, 26, -5, 12, -9], |_| (), "slots[4].price_per_kwh");
        refused_other(&[50, 30, 20, 25], |_| (), "hours without slots");
    }

    /// Charging at once starts with the stay, also where no target asks for the time before.
    #[test]
    fn a_reserve_that_is_charged_later_is_refused() {
        let curve = curve_of(60, &CENTS);
        let reserve = |now| {
            problem(|request| {
                request.now = now;
                request.targets.clear();
            })
        };
        let later = plan_charge(&curve, &reserve(minute(60)));
        assert_eq!(failing(&curve, &reserve(minute(0)), &later)[0], "hours without slots");
    }

    #[test]
    fn a_plan_without_the_cheapest_hour_is_refused() {
        let mut slots: Vec<Slot> = curve_of(60, &CENTS).slots().collect();
        slots.remove(2);
        let problem = problem(|_| ());
        let other = plan_charge(&PriceCurve::new(&slots).unwrap(), &problem);
        assert!(other.certificate.is_proved());
        refused(|plan| *plan = other, "hours without slots");
    }

    /// A slot over a deadline would count for the later one alone, whose price is lower.
    #[test]
    fn a_slot_over_a_deadline_is_refused() {
        let curve = curve_of(120, &[30, 10]);
        let target = |minutes, energy| Target { by: Some(minute(minutes)), energy: kwh(energy) };
        let mut request = ChargeRequest::new(minute(0), kw(10.0), target(60, 4.0));
        request.targets.push(target(240, 8.0));
        let problem = ChargeProblem::new(request).unwrap();
        let mut plan = plan_charge(&curve, &problem);
        plan.slots[0].end = minute(120);
        plan.slots.remove(1);
        for purchase in &mut plan.purchases {
            purchase.slot = purchase.slot.saturating_sub(1);
        }
        assert_eq!(failing(&curve, &problem, &plan)[0], "slots[0].end");
    }

    fn prices_with_gaps() -> impl Strategy<Value = PriceCurve> {
        let slots =
            prop::collection::vec((-40..60_i32, 1..5_i64, prop::bool::weighted(0.9)), 0..40);
        slots.prop_map(|slots| {
            let mut at = 0;
            let mut known = Vec::new();
            for (cent, quarters, is_known) in slots {
                let (start, end) = (minute(at), minute(at + 15 * quarters));
                at += 15 * quarters;
                if is_known {
                    known.push(Slot { start, end, price: per_kwh(f64::from(cent) / 100.0) });
                }
            }
            PriceCurve::new(&known).unwrap()
        })
    }

    prop_compose! {
        fn requests()(
            targets in prop::collection::vec(
                (prop::option::weighted(0.8, -60..1200_i64), prop::sample::select(vec![0.0, 2.5, 5.0, 7.3, 20.0, 44.4, 110.0])),
                0..4,
            ),
            reserve in prop::sample::select(vec![0.0, 0.0, 4.0, 30.0]),
            extra in prop::option::weighted(0.3, 0.0..50.0_f64),
            charge_limit in prop::option::weighted(0.3, 0.0..60.0_f64),
            limits in prop::collection::vec((0..12_i64, 0.0..14.0_f64), 0..4),
            stop in any::<bool>(), until in prop::option::of(0..1000_i64), now in -60..600_i64,
            power in prop::sample::select(vec![0.0, 3.7, 10.0, 10.0, 22.0]),
        ) -> ChargeProblem {
            let mut request = request();
            request.now = minute(now);
            request.until = until.map(minute);
            request.power_max = kw(power);
            request.reserve = kwh(reserve);
            request.charge_limit = charge_limit.map(kwh);
            request.targets = targets
                .iter()
                .map(|&(by, energy)| Target { by: by.map(minute), energy: kwh(energy) })
                .collect();
            let most = targets.iter().fold(reserve, |most, target| most.max(target.1));
            request.energy_max = extra.map(|extra| kwh(most + extra));
            if stop {
                request.after_deadline = AfterDeadline::Stop;
            }
            request.power_limits.clear();
            let mut at = 0;
            for (gap, power) in limits {
                let start = at + gap * 7;
                at = start + 25;
                let (start, end) = (minute(start), minute(at));
                request.power_limits.push(PowerLimit { start, end, power_max: kw(power) });
            }
            ChargeProblem::new(request).unwrap()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Every plan of the engine holds, whatever its request and its prices.
        #[test]
        fn honest_plans_hold(curve in prices_with_gaps(), problem in requests()) {
            let plan = plan_charge(&curve, &problem);
            for check in verify_plan(&curve, &problem, &plan) {
                prop_assert!(check.holds(), "{check:?} of {plan:?}");
            }
        }

        /// So does every plan that was kept close to one of other prices, which has a gap.
        #[test]
        fn kept_plans_hold(
            before in prices_with_gaps(), curve in prices_with_gaps(), problem in requests(),
            total in 0.0..3.0_f64,
        ) {
            let budget = Budget::new(money(total), money(0.0)).unwrap();
            let steady = plan_close_to(&curve, &problem, &plan_charge(&before, &problem), budget);
            for check in verify_plan(&curve, &problem, &steady.plan) {
                prop_assert!(check.holds(), "{check:?} of {steady:?}");
            }
        }

        /// Prices that hold a price of emissions are prices as all others.
        #[test]
        fn plans_with_emissions_hold(
            cents in prop::collection::vec(-20..60_i32, 12), grams in prop::collection::vec(0..900_i32, 24),
            problem in requests(), per_kg in 0.0..0.3_f64,
        ) {
            let intensity = curve_of(30, &grams).times(0.01).unwrap();
            let curve = curve_of(60, &cents).plus_emissions(&intensity, per_kg).unwrap();
            let plan = plan_charge(&curve, &problem);
            prop_assert_eq!(failing(&curve, &problem, &plan), [""; 0]);
        }

        /// A plan holds for another request only if it is as good a plan for that one.
        #[test]
        fn plans_of_others_hold_only_where_they_cost_as_much(
            curve in prices_with_gaps(), problem in requests(), other in requests(),
        ) {
            let plan = plan_charge(&curve, &other);
            if failing(&curve, &problem, &plan).is_empty() {
                let own = plan_charge(&curve, &problem);
                let apart = (own.cost - plan.cost).as_amount().abs();
                prop_assert!(apart < 1e-6, "{own:?} and {plan:?}");
            }
        }
    }
}
