//! Differences between two plans, each with its reason.
//!
//! Plans are compared by time, so their slots may differ. Each period in which they charge
//! different energies gets one reason, the first of these that applies:
//!
//! 1. The period has passed.
//! 2. A price or a power limit changed in the period, and explains the direction of the change.
//! 3. The request changed: deadlines, targets, reserve or bounds.
//! 4. Prices or power limits changed elsewhere.
//! 5. One of the plans was kept close to an older one at some cost.
//! 6. Nothing changed: both plans are equally good.
use std::fmt::Write as _;

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::plan::charge::explain::{rounded, wall_clock};
use crate::plan::charge::plan::{Plan, PlannedSlot};
use crate::plan::charge::request::{ChargeProblem, ChargeRequest};
use crate::plan::stability::stay_close::Stability;
use crate::prices::curve::PriceCurve;
use crate::tolerance::INSTANT_MICROS;
use crate::units::{Energy, Money, Power, Price};
use crate::words::words;

/// Plan with its request, its prices and its stability.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// Request of the plan.
    pub problem: &'a ChargeProblem,
    /// Prices of the plan.
    pub curve: &'a PriceCurve,
    /// The plan.
    pub plan: &'a Plan,
    /// Change against an older plan, if this one was kept close to it.
    pub stability: Option<&'a Stability>,
}

words! {
    /// Reason why two plans differ in a period.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum ChangeCode {
        /// The period lay in the future of the first plan and in the past of the second.
        TimePassed = "time_passed",
        /// A price changed.
        PriceChanged = "price_changed",
        /// A power limit changed.
        PowerLimitChanged = "power_limit_changed",
        /// A deadline or the departure changed.
        DeadlineChanged = "deadline_changed",
        /// More or less energy is wanted.
        TargetChanged = "target_changed",
        /// No more energy is wanted than before, but less was delivered until now than
        /// the first plan would have, as after a late start.
        DeliveredOtherwise = "delivered_otherwise",
        /// The reserve, the bound on the energy, or the rule for a missed deadline changed.
        WishChanged = "wish_changed",
        /// One of the plans was kept close to an older one at some cost.
        Stability = "stability",
        /// Both plans are equally good.
        Tie = "tie",
    }
}

impl ChangeCode {
    /// Clause of a sentence, after "because".
    fn words(self) -> &'static str {
        match self {
            Self::TimePassed => "this time has passed",
            Self::PriceChanged => "prices changed",
            Self::PowerLimitChanged => "power limits changed",
            Self::DeadlineChanged => "a deadline changed",
            Self::TargetChanged => "the requested energy changed",
            Self::DeliveredOtherwise => "less energy was delivered so far than planned",
            Self::WishChanged => "the reserve or a limit of the energy changed",
            Self::Stability => "one plan was kept close to an earlier one",
            Self::Tie => "both plans cost the same",
        }
    }
}

/// Period in which two plans differ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PeriodChange {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Energy that the first plan buys in it.
    #[serde(rename = "before_kwh")]
    pub before: Energy,
    /// Energy that the second plan buys in it.
    #[serde(rename = "after_kwh")]
    pub after: Energy,
    /// Cost of that energy at the prices of the first plan.
    pub cost_before: Money,
    /// Cost of that energy at the prices of the second plan.
    pub cost_after: Money,
    /// Reason for the difference.
    pub code: ChangeCode,
}

impl PeriodChange {
    /// Sentence about the change, with times on the wall clock of `time_zone`.
    #[must_use]
    pub fn sentence(&self, time_zone: Tz) -> String {
        let clock = |at: DateTime<Utc>| wall_clock(at, time_zone);
        let kwh = |energy: Energy| rounded(energy.as_kwh(), 2);
        let mut text = format!("{} to {}: ", clock(self.start), clock(self.end));
        let (before, after) = (kwh(self.before), kwh(self.after));
        let _ = write!(text, "{after} kWh instead of {before} kWh, because {}.", self.code.words());
        text
    }
}

/// Returns the periods in which two plans differ, in time order.
///
/// Neighbours that change in one direction for one reason are one period.
/// The energy of up to two microseconds of charging is no difference.
#[must_use]
pub fn diff(before: &Recorded<'_>, after: &Recorded<'_>) -> Vec<PeriodChange> {
    let causes = Causes::new(before, after);
    // Between two neighbouring cuts both plans charge at constant power, or not at all.
    let mut cuts: Vec<DateTime<Utc>> = vec![after.problem.request().now];
    for plan in [before.plan, after.plan] {
        let corners = |slot: &PlannedSlot| [slot.start, slot.charged_until(), slot.end];
        cuts.extend(plan.slots.iter().flat_map(corners));
    }
    cuts.sort_unstable();
    cuts.dedup();
    let (mut old, mut new) = (Cursor::new(before.plan), Cursor::new(after.plan));
    let mut changes: Vec<PeriodChange> = Vec::new();
    for pair in cuts.windows(2) {
        let (start, end) = (pair[0], pair[1]);
        let (was, is) = (old.bought(start, end), new.bought(start, end));
        let difference = (is.energy - was.energy).max(was.energy - is.energy);
        if difference <= was.tolerance.max(is.tolerance) {
            continue;
        }
        let code = causes.of(start, end, is.energy > was.energy);
        let next = PeriodChange {
            start,
            end,
            before: was.energy,
            after: is.energy,
            cost_before: was.cost,
            cost_after: is.cost,
            code,
        };
        push(&mut changes, next);
    }
    changes
}

/// Appends a change, or merges it into the last one if it continues that.
fn push(changes: &mut Vec<PeriodChange>, next: PeriodChange) {
    let grows = |change: &PeriodChange| change.after > change.before;
    match changes.last_mut() {
        Some(last)
            if last.end == next.start && last.code == next.code && grows(last) == grows(&next) =>
        {
            last.end = next.end;
            last.before = last.before + next.before;
            last.after = last.after + next.after;
            last.cost_before = last.cost_before + next.cost_before;
            last.cost_after = last.cost_after + next.cost_after;
        }
        _ => changes.push(next),
    }
}

/// Energy that a plan buys in a period, and its cost.
struct Bought {
    energy: Energy,
    cost: Money,
    /// Energy that counts as rounding.
    tolerance: Energy,
}

/// Cursor over the slots of a plan, for periods in time order.
struct Cursor<'a> {
    slots: &'a [PlannedSlot],
}

impl<'a> Cursor<'a> {
    /// A cursor at the first slot.
    fn new(plan: &'a Plan) -> Self {
        Self { slots: &plan.slots }
    }

    /// Energy bought in `[start, end)`, which lies inside one slot or outside all.
    fn bought(&mut self, start: DateTime<Utc>, end: DateTime<Utc>) -> Bought {
        while let Some((first, rest)) = self.slots.split_first()
            && first.end <= start
        {
            self.slots = rest;
        }
        match self.slots.first() {
            Some(slot) if slot.start < end => {
                let energy = slot.energy_by(end) - slot.energy_by(start);
                // Both ends of a period may be rounded to a microsecond.
                let tolerance = slot.power_max.over_micros(2 * INSTANT_MICROS);
                Bought { energy, cost: slot.price.of(energy), tolerance }
            }
            _ => Bought { energy: Energy::ZERO, cost: Money::ZERO, tolerance: Energy::ZERO },
        }
    }
}

/// Differences between the inputs of two plans.
struct Causes<'a> {
    before: &'a Recorded<'a>,
    after: &'a Recorded<'a>,
    /// Reason of periods that have none of their own.
    elsewhere: ChangeCode,
}

impl<'a> Causes<'a> {
    /// Finds the reason that concerns the whole plan.
    fn new(before: &'a Recorded<'a>, after: &'a Recorded<'a>) -> Self {
        Self { before, after, elsewhere: elsewhere(before, after) }
    }

    /// Reason for the change of a period; `is_more` says that the second plan buys more in it.
    fn of(&self, start: DateTime<Utc>, end: DateTime<Utc>, is_more: bool) -> ChangeCode {
        if end <= self.after.problem.request().now {
            return ChangeCode::TimePassed;
        }
        // Causes within the period come before those of the whole plan.
        let price = |recorded: &Recorded<'_>| recorded.curve.price_at(start);
        let (was, is) = (price(self.before), price(self.after));
        if was != is && is_cheaper(is, was) == is_more {
            return ChangeCode::PriceChanged;
        }
        let power = |recorded: &Recorded<'_>| power_at(recorded.problem.request(), start);
        let (was, is) = (power(self.before), power(self.after));
        if was != is && (is > was) == is_more {
            return ChangeCode::PowerLimitChanged;
        }
        self.elsewhere
    }
}

/// Returns `true` if `price` is lower than `other`; `None` is higher than any price.
fn is_cheaper(price: Option<Price>, other: Option<Price>) -> bool {
    match (price, other) {
        (Some(price), Some(other)) => price < other,
        (price, _) => price.is_some(),
    }
}

/// Power limit of a request at an instant.
fn power_at(request: &ChargeRequest, at: DateTime<Utc>) -> Power {
    let mut limits = request.power_limits.iter();
    let limit = limits.find(|limit| limit.start <= at && at < limit.end);
    limit.map_or(request.power_max, |limit| limit.power_max.min(request.power_max))
}

/// Reason that concerns the whole plan: request, prices, power limits, stability or a tie.
fn elsewhere(before: &Recorded<'_>, after: &Recorded<'_>) -> ChangeCode {
    let (old, new) = (before.problem.request(), after.problem.request());
    if let Some(code) = changed_wish(before.plan, old, new) {
        return code;
    }
    let same_prices = before.curve == after.curve || {
        // Only prices from now to the end of both plans can have changed them.
        let end = before.plan.slots.iter().chain(&after.plan.slots).map(|slot| slot.end).max();
        let end = end.unwrap_or(new.now);
        let ahead = |curve: &PriceCurve| curve.between(new.now, end);
        ahead(before.curve) == ahead(after.curve)
    };
    // A plan that was kept without extra cost is a tie.
    let is_steady = |recorded: &Recorded<'_>| {
        recorded.stability.is_some() && !recorded.plan.certificate.is_proved()
    };
    if !same_prices {
        ChangeCode::PriceChanged
    } else if (old.power_max, &old.power_limits) != (new.power_max, &new.power_limits) {
        ChangeCode::PowerLimitChanged
    } else if is_steady(before) || is_steady(after) {
        ChangeCode::Stability
    } else {
        ChangeCode::Tie
    }
}

/// First change of the request, compared from `new.now` on. Targets and bounds of `old` are reduced
/// by the energy that its plan delivers until then.
fn changed_wish(plan: &Plan, old: &ChargeRequest, new: &ChargeRequest) -> Option<ChangeCode> {
    // Targets that are still ahead: a deadline that has passed is no change.
    let ahead = |request: &ChargeRequest| {
        let mut due: Vec<(Option<DateTime<Utc>>, Energy)> = request
            .targets
            .iter()
            .filter(|target| target.by.is_none_or(|by| by > new.now))
            .map(|target| (target.by, target.energy))
            .collect();
        due.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        due
    };
    let (was, is) = (ahead(old), ahead(new));
    let times = |due: &[(Option<DateTime<Utc>>, Energy)]| -> Vec<_> {
        due.iter().map(|(by, _)| *by).collect()
    };
    if times(&was) != times(&is) || old.until != new.until {
        return Some(ChangeCode::DeadlineChanged);
    }
    // Energies count from the start of a plan, so the planned delivery until now is subtracted.
    let is_later = new.now - old.now > TimeDelta::zero();
    let done = if is_later { plan.energy_by(new.now) } else { Energy::ZERO };
    let tolerance = new.power_max.max(old.power_max).over_micros(2 * INSTANT_MICROS);
    for ((_, was), (_, is)) in was.iter().zip(&is) {
        let expected = (*was - done).max(Energy::ZERO);
        if *is > expected + tolerance && done > tolerance && *is <= *was + tolerance {
            return Some(ChangeCode::DeliveredOtherwise);
        }
        if (*is - expected).max(expected - *is) > tolerance {
            return Some(ChangeCode::TargetChanged);
        }
    }
    // Reserve, bounds on the energy and rule for a missed deadline.
    let rest = |energy: Energy| (energy - done).max(Energy::ZERO);
    let near = |a: Energy, b: Energy| (a - b).max(b - a) <= tolerance;
    let same_bound = |old: Option<Energy>, new: Option<Energy>| match (old, new) {
        (Some(old), Some(new)) => near(rest(old), new),
        (old, new) => old == new,
    };
    let same = near(rest(old.reserve), new.reserve)
        && same_bound(old.energy_max, new.energy_max)
        && same_bound(old.charge_limit, new.charge_limit)
        && old.after_deadline == new.after_deadline;
    (!same).then_some(ChangeCode::WishChanged)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::request::{PowerLimit, Target};
    use crate::plan::stability::budget::Budget;
    use crate::plan::stability::stay_close::plan_close_to;
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, money};

    fn minute(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    /// Plan with its problem and its prices.
    #[derive(Clone)]
    struct Made {
        problem: ChargeProblem,
        curve: PriceCurve,
        plan: Plan,
        stability: Option<Stability>,
    }

    impl Made {
        fn new(cents: &[i32], request: ChargeRequest) -> Self {
            let (curve, problem) = (curve_of(60, cents), ChargeProblem::new(request).unwrap());
            let plan = plan_charge(&curve, &problem);
            Self { problem, curve, plan, stability: None }
        }

        fn recorded(&self) -> Recorded<'_> {
            let Self { problem, curve, plan, stability } = self;
            Recorded { problem, curve, plan, stability: stability.as_ref() }
        }
    }

    fn request(now: i64, energy: f64) -> ChargeRequest {
        let target = Target { by: Some(minute(240)), energy: kwh(energy) };
        ChargeRequest::new(minute(now), kw(10.0), target)
    }

    #[track_caller]
    fn check(before: &Made, after: &Made, expected: &Expect) {
        let changes = diff(&before.recorded(), &after.recorded());
        let lines = changes.iter().map(|change| change.sentence(chrono_tz::UTC) + "\n");
        expected.assert_eq(&lines.collect::<String>());
    }

    const CENTS: [i32; 4] = [30, 20, 10, 40];

    #[test]
    fn a_plan_does_not_differ_from_itself() {
        let made = Made::new(&CENTS, request(0, 15.0));
        check(&made, &made, &expect![[""]]);
    }

    #[test]
    fn prices_explain_what_they_explain() {
        let before = Made::new(&CENTS, request(0, 15.0));
        check(
            &before,
            &Made::new(&[5, 20, 10, 40], request(0, 15.0)),
            &expect![[r#"
            Mon 18:00 to Mon 19:00: 10 kWh instead of 0 kWh, because prices changed.
            Mon 19:00 to Mon 19:30: 0 kWh instead of 5 kWh, because prices changed.
            Mon 20:30 to Mon 21:00: 0 kWh instead of 5 kWh, because prices changed.
        "#]],
        );
    }

    #[test]
    fn wishes_explain_the_rest() {
        let before = Made::new(&CENTS, request(0, 15.0));
        check(
            &before,
            &Made::new(&CENTS, request(0, 25.0)),
            &expect![[r#"
            Mon 18:00 to Mon 18:30: 5 kWh instead of 0 kWh, because the requested energy changed.
            Mon 19:30 to Mon 20:00: 5 kWh instead of 0 kWh, because the requested energy changed.
        "#]],
        );
        let mut early = request(0, 15.0);
        early.targets[0].by = Some(minute(120));
        check(
            &before,
            &Made::new(&CENTS, early),
            &expect![[r#"
            Mon 18:00 to Mon 18:30: 5 kWh instead of 0 kWh, because a deadline changed.
            Mon 19:30 to Mon 20:00: 5 kWh instead of 0 kWh, because a deadline changed.
            Mon 20:00 to Mon 21:00: 0 kWh instead of 10 kWh, because a deadline changed.
        "#]],
        );
        let mut reserve = request(0, 15.0);
        reserve.reserve = kwh(5.0);
        check(
            &before,
            &Made::new(&CENTS, reserve),
            &expect![[r#"
            Mon 18:00 to Mon 18:30: 5 kWh instead of 0 kWh, because the reserve or a limit of the energy changed.
            Mon 19:00 to Mon 19:30: 0 kWh instead of 5 kWh, because the reserve or a limit of the energy changed.
        "#]],
        );
        let mut full_earlier = request(0, 15.0);
        full_earlier.charge_limit = Some(kwh(12.0));
        check(
            &before,
            &Made::new(&CENTS, full_earlier),
            &expect![[r#"
            Mon 19:12 to Mon 19:30: 0 kWh instead of 3 kWh, because the reserve or a limit of the energy changed.
        "#]],
        );
        let mut limited = request(0, 15.0);
        limited.power_limits =
            vec![PowerLimit { start: minute(120), end: minute(180), power_max: kw(6.0) }];
        check(
            &before,
            &Made::new(&CENTS, limited),
            &expect![[r#"
            Mon 19:30 to Mon 19:54: 4 kWh instead of 0 kWh, because power limits changed.
            Mon 20:00 to Mon 21:00: 6 kWh instead of 10 kWh, because power limits changed.
        "#]],
        );
    }

    #[test]
    fn energy_delivered_is_no_change_of_the_charge_limit() {
        let limited = |now: i64, energy: f64, limit: f64| {
            let mut request = request(now, energy);
            request.charge_limit = Some(kwh(limit));
            Made::new(&CENTS, request)
        };
        let before = limited(0, 15.0, 20.0);
        // 5 kWh were bought by then.
        let changed = |after: &Made| {
            changed_wish(&before.plan, before.problem.request(), after.problem.request())
        };
        assert_eq!(changed(&limited(100, 10.0, 15.0)), None);
        assert_eq!(changed(&limited(100, 10.0, 14.0)), Some(ChangeCode::WishChanged));
    }

    #[test]
    fn time_that_passed_is_told_from_energy_that_did_not_come() {
        let before = Made::new(&[10, 20, 30, 40], request(0, 15.0));
        // At 19:00 the car has 10 kWh, and 5 kWh are left: nothing else changes.
        check(
            &before,
            &Made::new(&[10, 20, 30, 40], request(60, 5.0)),
            &expect![[r#"
            Mon 18:00 to Mon 19:00: 0 kWh instead of 10 kWh, because this time has passed.
        "#]],
        );
        // The car arrived at 19:00.
        check(
            &before,
            &Made::new(&[10, 20, 30, 40], request(60, 15.0)),
            &expect![[r#"
            Mon 18:00 to Mon 19:00: 0 kWh instead of 10 kWh, because this time has passed.
            Mon 19:30 to Mon 20:30: 10 kWh instead of 0 kWh, because less energy was delivered so far than planned.
        "#]],
        );
    }

    #[test]
    fn stability_and_ties_are_reasons_too() {
        let before = Made::new(&[30, 10, 40, 40], request(0, 10.0));
        let cheapest = Made::new(&[10, 10, 40, 40], request(0, 10.0));
        let budget = |total| Budget::new(money(total), Money::ZERO).unwrap();
        let steady = |made: &Made, total| {
            let steady = plan_close_to(&made.curve, &made.problem, &before.plan, budget(total));
            Made { plan: steady.plan, stability: Some(steady.stability), ..made.clone() }
        };
        check(
            &cheapest,
            &steady(&cheapest, 0.0),
            &expect![[r#"
            Mon 18:00 to Mon 19:00: 0 kWh instead of 10 kWh, because both plans cost the same.
            Mon 19:00 to Mon 20:00: 10 kWh instead of 0 kWh, because both plans cost the same.
        "#]],
        );
        let dearer = Made::new(&[9, 10, 40, 40], request(0, 10.0));
        check(
            &dearer,
            &steady(&dearer, 1.0),
            &expect![[r#"
            Mon 18:00 to Mon 19:00: 0 kWh instead of 10 kWh, because one plan was kept close to an earlier one.
            Mon 19:00 to Mon 20:00: 10 kWh instead of 0 kWh, because one plan was kept close to an earlier one.
        "#]],
        );
    }

    proptest! {
        /// The differences add up to the difference of the totals, and no periods overlap.
        #[test]
        fn differences_add_up(
            old in prop::collection::vec(0..40i32, 1..30), new in prop::collection::vec(0..40i32, 1..30),
            need in (0.0..90.0f64, 0.0..90.0f64), now in 0..200i64,
        ) {
            let before = Made::new(&old, request(0, need.0));
            let after = Made::new(&new, request(now, need.1));
            let changes = diff(&before.recorded(), &after.recorded());
            for pair in changes.windows(2) {
                prop_assert!(pair[0].end <= pair[1].start);
            }
            let sum: f64 = changes.iter().map(|c| c.after.as_kwh() - c.before.as_kwh()).sum();
            let total = (after.plan.energy - before.plan.energy).as_kwh();
            prop_assert!((sum - total).abs() < 1e-5, "{sum} of {total}");
            for change in changes.iter().filter(|change| change.end <= minute(now)) {
                prop_assert_eq!(change.code, ChangeCode::TimePassed);
            }
        }
    }
}
