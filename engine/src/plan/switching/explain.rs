//! Reasons for the periods in which a device that switches runs.
//!
//! Each planned slot with energy gets one code, from the plan alone: the first that applies in
//! the order of `reason`. A *runner-up* is the cheapest unused slot, with which the price is
//! compared.
use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::plan::charge::explain::{
    END_OF_PRICES, RunnerUp, format_amount, format_price, format_prices, rounded, wall_clock,
};
use crate::plan::charge::plan::PlannedSlot;
use crate::plan::switching::plan::{Session, SwitchingPlan};
use crate::plan::switching::request::DeviceState;
use crate::units::{Energy, Money, Price};
use crate::words::words;

words! {
    /// Reason code of a period in which the device runs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum SwitchingReasonCode {
        /// No slot that stays unused before the deadline is cheaper.
        Cheapest = "cheapest",
        /// A cheaper slot stays unused, but it comes after this deadline.
        Deadline = "deadline",
        /// The deadline cannot be met in full, so the device runs in every slot that it may use.
        MissedDeadline = "missed_deadline",
        /// A cheaper slot stays unused, because it would need a start of its own
        /// or power below the least.
        AvoidsStart = "avoids_start",
        /// A cheaper slot stays unused, because the session must last for `on_min`.
        OnMin = "on_min",
        /// The device must run in the time before the last deadline (`run_last`).
        RunLast = "run_last",
        /// The top-off: the last slot ends early, when the need is met.
        TopOff = "top_off",
        /// The device runs then to stay near the plan before, within its budget.
        PreviousPlan = "previous_plan",
    }
}

/// Period in which the device runs, with its reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SwitchingReason {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Energy bought.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// Cost of the energy, without starts.
    pub cost: Money,
    /// Highest price paid in the period.
    #[serde(rename = "price_max_per_kwh")]
    pub price_max: Price,
    /// Reason code.
    pub code: SwitchingReasonCode,
    /// Deadline that it serves; `None` is the end of the known prices.
    pub deadline: Option<DateTime<Utc>>,
    /// Cheapest slot in which the device could run and is off.
    pub runner_up: Option<RunnerUp>,
    /// Cost of one start.
    pub start_cost: Money,
}

/// Returns one reason for each period in which the device runs, in time order.
///
/// A period ends where the reason changes or the device stops.
#[must_use]
pub fn explain(plan: &SwitchingPlan) -> Vec<SwitchingReason> {
    let mut reasons: Vec<SwitchingReason> = Vec::new();
    for (index, slot) in plan.slots.iter().enumerate() {
        if slot.energy <= Energy::ZERO {
            continue;
        }
        let next = reason(plan, index, slot);
        match reasons.last_mut() {
            Some(last) if last.end == next.start && is_same(last, &next) => {
                last.end = next.end;
                last.energy = last.energy + next.energy;
                last.cost = last.cost + next.cost;
                last.price_max = last.price_max.max(next.price_max);
            }
            _ => reasons.push(next),
        }
    }
    reasons
}

/// Returns true if two periods have equal code, deadline and runner-up.
fn is_same(a: &SwitchingReason, b: &SwitchingReason) -> bool {
    a.code == b.code && a.deadline == b.deadline && a.runner_up == b.runner_up
}

/// Reason of the slot at `index` of the plan.
fn reason(plan: &SwitchingPlan, index: usize, slot: &PlannedSlot) -> SwitchingReason {
    // A target without a deadline is due at the end of the known prices, hence after all others.
    let last =
        plan.targets.iter().map(|target| target.by).max_by_key(|by| (by.is_none(), *by)).flatten();
    let within = |by: &DateTime<Utc>| slot.end <= *by;
    let first = plan.targets.iter().filter_map(|target| target.by).filter(within).min();
    // Cheapest unused slots before the last deadline, and before the next one.
    let overall = cheapest_unused(plan, last);
    let is_dearer = |other: &RunnerUp| slot.price > other.price;
    let before = first.and_then(|by| cheapest_unused(plan, Some(by)));
    let session = plan.sessions.iter().find(|s| s.start <= slot.start && slot.start < s.end);
    let is_missed = plan.shortfall > Energy::ZERO;
    // The first reason that applies counts: rules of the device come before prices.
    let (code, deadline) = if plan.top_off == Some(index) {
        (SwitchingReasonCode::TopOff, last)
    } else if runs_last(plan, slot, last) {
        (SwitchingReasonCode::RunLast, last)
    } else if is_missed {
        (SwitchingReasonCode::MissedDeadline, first.or(last))
    } else if plan.stability.is_some_and(|near| near.is_closer()) {
        (SwitchingReasonCode::PreviousPlan, last)
    } else if !overall.as_ref().is_some_and(is_dearer) {
        (SwitchingReasonCode::Cheapest, last)
    } else if first != last && !before.as_ref().is_some_and(is_dearer) {
        (SwitchingReasonCode::Deadline, first)
    } else if session.is_some_and(|session| is_within_on_min(plan, session, slot)) {
        (SwitchingReasonCode::OnMin, last)
    } else {
        (SwitchingReasonCode::AvoidsStart, last)
    };
    SwitchingReason {
        start: slot.start,
        end: if plan.top_off == Some(index) { end_of(plan, slot) } else { slot.end },
        energy: slot.energy,
        cost: slot.price.of(slot.energy),
        price_max: slot.price,
        code,
        deadline,
        runner_up: if code == SwitchingReasonCode::Deadline { before } else { overall },
        start_cost: plan.request.start_cost,
    }
}

/// End of the last interval of the plan, or of `slot` if there is none.
fn end_of(plan: &SwitchingPlan, slot: &PlannedSlot) -> DateTime<Utc> {
    plan.intervals.last().map_or(slot.end, |interval| interval.end)
}

/// Cheapest slot before the instant `by` in which the device could run and is off; at equal
/// price the earliest.
fn cheapest_unused(plan: &SwitchingPlan, by: Option<DateTime<Utc>>) -> Option<RunnerUp> {
    let least = plan.request.step_power();
    let unused = plan.slots.iter().filter(|slot| {
        slot.energy <= Energy::ZERO && slot.power_max >= least && by.is_none_or(|by| slot.end <= by)
    });
    let cheapest = unused.min_by(|a, b| a.price.total_cmp(&b.price))?;
    Some(RunnerUp { start: cheapest.start, price: cheapest.price })
}

/// Returns true if a slot lies in the time before the last deadline (`last`) or before `until`
/// in which the device must run.
fn runs_last(plan: &SwitchingPlan, slot: &PlannedSlot, last: Option<DateTime<Utc>>) -> bool {
    let by = match (last, plan.request.until) {
        (Some(last), Some(until)) => Some(last.min(until)),
        (last, until) => last.or(until),
    };
    let end = by.or(plan.slots.last().map(|slot| slot.end));
    // Compare lengths: `run_last` may be longer than the calendar.
    let left = end.map(|end| end - slot.end);
    plan.request.run_last > chrono::TimeDelta::zero()
        && left
            .is_some_and(|left| left >= chrono::TimeDelta::zero() && left < plan.request.run_last)
}

/// Returns true if a slot starts within `on_min` of the start of its session.
fn is_within_on_min(plan: &SwitchingPlan, session: &Session, slot: &PlannedSlot) -> bool {
    let start = match plan.request.state {
        DeviceState::RunningSince(since) if session.is_carried => since,
        _ => session.start,
    };
    slot.start - start < plan.request.on_min
}

impl SwitchingReason {
    /// Formats the reason as a sentence, with times on the wall clock of `time_zone` and amounts in
    /// `currency`; empty if it is not known.
    #[must_use]
    pub fn sentence(&self, time_zone: Tz, currency: &str) -> String {
        let clock = |at: DateTime<Utc>| wall_clock(at, time_zone);
        let mut text = format!(
            "{} to {}: uses {} kWh for {} ({})",
            clock(self.start),
            clock(self.end),
            rounded(self.energy.as_kwh(), 2),
            format_amount(self.cost, currency),
            format_prices(self.price_max, (self.energy, self.cost), currency),
        );
        let by = self.deadline.map_or_else(|| END_OF_PRICES.to_owned(), clock);
        let cost_at = |next: RunnerUp| {
            format!("{} would cost {}", clock(next.start), format_price(next.price, currency))
        };
        let other = self.runner_up.map(cost_at);
        let other = other.unwrap_or_else(|| "no other time is left".to_owned());
        let _ = match self.code {
            SwitchingReasonCode::Cheapest => match self.runner_up {
                Some(_) => write!(text, " in the cheapest hours before {by}; {other}"),
                None => write!(text, ", because the target for {by} needs all the available time"),
            },
            SwitchingReasonCode::Deadline => {
                write!(text, ", because the target for {by} leaves no cheaper time")
            }
            SwitchingReasonCode::MissedDeadline => {
                write!(text, ", because the target for {by} cannot be met in full")
            }
            SwitchingReasonCode::AvoidsStart => write!(
                text,
                ", although {other}, because its minimum power or a start (at {}) would cost more",
                format_amount(self.start_cost, currency)
            ),
            SwitchingReasonCode::OnMin => {
                write!(text, ", although {other}, because of the minimum time on")
            }
            SwitchingReasonCode::PreviousPlan => {
                write!(text, ", to stay near the plan before within its budget")
            }
            SwitchingReasonCode::RunLast => {
                write!(text, ", because the device must run until {by}")
            }
            SwitchingReasonCode::TopOff => {
                write!(text, ", the remainder, at minimum power for a part of the slot")
            }
        };
        text + "."
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use expect_test::{Expect, expect};

    use super::*;
    use crate::plan::charge::request::Target;
    use crate::plan::switching::planner::plan_switching;
    use crate::plan::switching::problem::SwitchingProblem;
    use crate::plan::switching::request::SwitchingRequest;
    use crate::prices::curve::PriceCurve;
    use crate::prices::curve::tests::curve_of;
    use crate::time::horizon::Horizon;
    use crate::units::{kw, kwh, money};

    /// Checks the reasons of a device of 4 to 10 kW on hours from 18:00Z at prices in `cents`,
    /// and that the plan survives a round trip through JSON.
    #[track_caller]
    fn check(
        cents: &[i32],
        energy: f64,
        change: impl FnOnce(&mut SwitchingRequest),
        expected: &Expect,
    ) {
        let now: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        let target = Target { by: None, energy: kwh(energy) };
        let mut request = SwitchingRequest::new(now, kw(10.0), target);
        request.power_min = kw(4.0);
        change(&mut request);
        let curve = curve_of(60, cents);
        let plan = plan_switching(&SwitchingProblem::new(request, &curve).unwrap());
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<SwitchingPlan>(&json).unwrap(), plan);
        let mut text = String::new();
        for reason in explain(&plan) {
            let _ = writeln!(text, "{}: {}", reason.code.as_str(), reason.sentence(Tz::UTC, "EUR"));
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn running_on_avoids_a_start() {
        check(
            &[10, 30, 10, 20],
            20.0,
            |request| request.start_cost = money(1.5),
            &expect![[r#"
                cheapest: Mon 18:00 to Mon 19:00: uses 10 kWh for 1.00 EUR (0.10 EUR/kWh) in the cheapest hours before the end of the known prices; Mon 21:00 would cost 0.20 EUR/kWh.
                avoids_start: Mon 19:00 to Mon 20:00: uses 4 kWh for 1.20 EUR (0.30 EUR/kWh), although Mon 21:00 would cost 0.20 EUR/kWh, because its minimum power or a start (at 1.50 EUR) would cost more.
                cheapest: Mon 20:00 to Mon 21:00: uses 6 kWh for 0.60 EUR (0.10 EUR/kWh) in the cheapest hours before the end of the known prices; Mon 21:00 would cost 0.20 EUR/kWh.
            "#]],
        );
    }

    #[test]
    fn a_session_lasts_its_least_time() {
        check(
            &[10, 50, 40, 20],
            9.0,
            |request| request.on_min = TimeDelta::hours(2),
            &expect![[r#"
                cheapest: Mon 18:00 to Mon 19:00: uses 5 kWh for 0.50 EUR (0.10 EUR/kWh) in the cheapest hours before the end of the known prices; Mon 21:00 would cost 0.20 EUR/kWh.
                on_min: Mon 19:00 to Mon 20:00: uses 4 kWh for 2.00 EUR (0.50 EUR/kWh), although Mon 21:00 would cost 0.20 EUR/kWh, because of the minimum time on.
            "#]],
        );
    }

    #[test]
    fn the_last_minutes_and_the_rest() {
        check(
            &[10, 20, 90],
            10.0,
            |request| request.run_last = TimeDelta::minutes(30),
            &expect![[r#"
                cheapest: Mon 18:00 to Mon 19:00: uses 6 kWh for 0.60 EUR (0.10 EUR/kWh) in the cheapest hours before the end of the known prices; Mon 19:00 would cost 0.20 EUR/kWh.
                run_last: Mon 20:00 to Mon 21:00: uses 4 kWh for 3.60 EUR (0.90 EUR/kWh), because the device must run until the end of the known prices.
            "#]],
        );
        check(
            &[10, 20],
            11.0,
            |_| {},
            &expect![[r#"
                cheapest: Mon 18:00 to Mon 19:00: uses 10 kWh for 1.00 EUR (0.10 EUR/kWh), because the target for the end of the known prices needs all the available time.
                top_off: Mon 19:00 to Mon 19:15: uses 1 kWh for 0.20 EUR (0.20 EUR/kWh), the remainder, at minimum power for a part of the slot.
            "#]],
        );
    }

    /// The reasons for three hours priced in cents, on the wall clock of Oslo.
    #[track_caller]
    fn check_in_oslo(start: &str, expected: &Expect) {
        let now: DateTime<Utc> = start.parse().unwrap();
        let hour = |hour: i32| now + TimeDelta::hours(1) * hour;
        let hours = Horizon::new((0..3).map(|at| (hour(at), hour(at + 1)))).unwrap();
        let curve = PriceCurve::from_parts(hours, vec![0.2, 0.1, 0.3]).unwrap();
        let target = Target { by: None, energy: kwh(16.0) };
        let request =
            SwitchingRequest { power_min: kw(4.0), ..SwitchingRequest::new(now, kw(10.0), target) };
        let plan = plan_switching(&SwitchingProblem::new(request, &curve).unwrap());
        let sentences =
            explain(&plan).into_iter().map(|reason| reason.sentence(Tz::Europe__Oslo, "EUR"));
        expected.assert_eq(&sentences.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn an_hour_that_comes_twice_is_named_with_its_offset() {
        check_in_oslo(
            "2026-10-25T00:00:00Z",
            &expect![
                "Sun 02:00 CEST to Sun 03:00: uses 16 kWh for 2.20 EUR (up to 0.20 EUR/kWh) in the cheapest hours before the end of the known prices; Sun 03:00 would cost 0.30 EUR/kWh."
            ],
        );
    }

    #[test]
    fn an_hour_that_is_skipped_is_not_named() {
        check_in_oslo(
            "2026-03-29T00:00:00Z",
            &expect![
                "Sun 01:00 to Sun 04:00: uses 16 kWh for 2.20 EUR (up to 0.20 EUR/kWh) in the cheapest hours before the end of the known prices; Sun 04:00 would cost 0.30 EUR/kWh."
            ],
        );
    }

    #[cfg(feature = "lp")]
    #[test]
    fn an_early_target_leaves_no_cheaper_time() {
        check(
            &[40, 10, 20],
            9.0,
            |request| {
                let by = Some(request.now + TimeDelta::hours(1));
                request.targets.push(Target { by, energy: kwh(4.0) });
            },
            &expect![[r#"
                deadline: Mon 18:00 to Mon 19:00: uses 4 kWh for 1.60 EUR (0.40 EUR/kWh), because the target for Mon 19:00 leaves no cheaper time.
                cheapest: Mon 19:00 to Mon 20:00: uses 5 kWh for 0.50 EUR (0.10 EUR/kWh) in the cheapest hours before the end of the known prices; Mon 20:00 would cost 0.20 EUR/kWh.
            "#]],
        );
        check(
            &[40, 10, 20],
            12.0,
            |request| {
                let by = Some(request.now + TimeDelta::hours(1));
                request.targets.push(Target { by, energy: kwh(12.0) });
            },
            &expect![[r#"
                missed_deadline: Mon 18:00 to Mon 19:00: uses 10 kWh for 4.00 EUR (0.40 EUR/kWh), because the target for Mon 19:00 cannot be met in full.
                top_off: Mon 19:00 to Mon 19:30: uses 2 kWh for 0.20 EUR (0.10 EUR/kWh), the remainder, at minimum power for a part of the slot.
            "#]],
        );
    }

    #[test]
    fn a_code_is_the_word_of_its_data() {
        let codes = [
            SwitchingReasonCode::Cheapest,
            SwitchingReasonCode::Deadline,
            SwitchingReasonCode::MissedDeadline,
            SwitchingReasonCode::AvoidsStart,
            SwitchingReasonCode::OnMin,
            SwitchingReasonCode::RunLast,
            SwitchingReasonCode::TopOff,
        ];
        for code in codes {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }
}
