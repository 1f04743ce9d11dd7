//! Reasons for the periods in which a unit runs.
//!
//! The reason of a slot follows its heat to the first slot `t` with `λ_t > a_{t+1}·λ_{t+1}`: by
//! complementary slackness the temperature is at the edge of the band there, `e_t = L_t`, and that
//! edge is what the heat is for ([symbols](super)).
//!
//! A unit that is on or off has the marginal values of one that modulates. Where its least time on has
//! not passed and `p_t > λ_t·η_t`, one that modulates would not run, so the least time decides.
use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::plan::charge::explain::{
    format_amount, format_kwh_cost, format_prices, rounded, wall_clock,
};
use crate::plan::heat::certificate::least_times;
use crate::plan::heat::plan::HeatPlan;
use crate::plan::heat::planned_slot::HeatSlot;
use crate::plan::heat::request::HeatMode;
use crate::plan::heat::slots::decay;
use crate::tolerance::SUM_DRIFT;
use crate::units::{Energy, Money, Price, Temperature};
use crate::words::words;

words! {
    /// Reason code of a period in which a unit runs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum HeatReasonCode {
        /// Holds the edge of the band.
        Hold = "hold",
        /// Stores heat, or cold, for a later time at which it is dearer or the band is tighter.
        Ahead = "ahead",
        /// Runs because the temperature is, or would be, outside the band.
        Recover = "recover",
        /// Runs because the price is negative.
        NegativePrice = "negative_price",
        /// Stores heat, or cold, because it is worth more at the end.
        EndValue = "end_value",
        /// Runs on because its least time on has not passed.
        OnMin = "on_min",
    }
}

/// Period in which a unit runs, with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HeatReason {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Direction of the unit.
    pub mode: HeatMode,
    /// Electrical energy.
    #[serde(rename = "used_kwh")]
    pub used: Energy,
    /// Heat moved.
    #[serde(rename = "heat_kwh")]
    pub heat: Energy,
    /// Cost of the energy.
    pub cost: Money,
    /// Highest price in the period.
    #[serde(rename = "price_max_per_kwh")]
    pub price_max: Price,
    /// Reason code.
    pub code: HeatReasonCode,
    /// Marginal value of a kWh of heat, or of cold, at the end of the period.
    #[serde(rename = "marginal_value_per_kwh")]
    pub marginal_value: Price,
    /// Temperature at the end of the period.
    #[serde(rename = "temperature_celsius")]
    pub temperature: Temperature,
    /// Instant at which the temperature is at the edge of the band for which the unit runs, or at
    /// which its least time on has passed.
    pub due: Option<DateTime<Utc>>,
}

/// Returns one reason for each period in which the unit runs, in time order. A period ends where
/// its reason changes or the unit stops.
#[must_use]
pub fn explain(plan: &HeatPlan) -> Vec<HeatReason> {
    let binding = binding_slots(plan);
    let on_until = on_until(plan);
    let mut reasons: Vec<HeatReason> = Vec::new();
    for (index, slot) in plan.slots.iter().enumerate() {
        if slot.used <= Energy::ZERO {
            continue;
        }
        let next = reason(plan, index, (binding[index], on_until[index]));
        let extends = |last: &&mut HeatReason| {
            let is_hold = last.code == HeatReasonCode::Hold;
            last.end == next.start && last.code == next.code && (is_hold || last.due == next.due)
        };
        let Some(last) = reasons.last_mut().filter(extends) else {
            reasons.push(next);
            continue;
        };
        *last = HeatReason {
            start: last.start,
            used: last.used + next.used,
            heat: last.heat + next.heat,
            cost: last.cost + next.cost,
            price_max: last.price_max.max(next.price_max),
            ..next
        };
    }
    reasons
}

/// For each slot, the first one from it on after which stored energy is worth less; `None` if it is
/// kept to the end.
fn binding_slots(plan: &HeatPlan) -> Vec<Option<usize>> {
    let store = plan.certificate.evidence.store;
    let per_hour = store.loss.as_kw_per_k() / store.capacity.as_kwh_per_k();
    let mut next = plan.certificate.evidence.end_value.as_per_kwh();
    let mut binding = vec![None; plan.slots.len()];
    let mut first = None;
    for (index, slot) in plan.slots.iter().enumerate().rev() {
        let value = slot.marginal_value.as_per_kwh();
        if value - next > SUM_DRIFT * value.abs().max(next.abs()) {
            first = Some(index);
        }
        binding[index] = first;
        next = value * decay(per_hour, slot.hours()).0;
    }
    binding
}

/// For each slot in which a unit that is on may not yet stop, the end of its least time on.
fn on_until(plan: &HeatPlan) -> Vec<Option<DateTime<Utc>>> {
    let schedule: Vec<bool> = plan.slots.iter().map(|slot| slot.used > Energy::ZERO).collect();
    let Some(times) = least_times(&plan.slots, &plan.certificate.evidence) else {
        return vec![None; schedule.len()];
    };
    let until = |until: Option<usize>| until.map(|until| plan.slots[until - 1].end);
    times.forced_until(&schedule).into_iter().map(until).collect()
}

/// Returns true if a unit that modulates would not run in a slot: its heat is worth less than it costs.
fn is_unwanted(plan: &HeatPlan, slot: &HeatSlot) -> bool {
    let store = plan.certificate.evidence.store;
    let per_hour = store.loss.as_kw_per_k() / store.capacity.as_kwh_per_k();
    let stored = slot.cop * decay(per_hour, slot.hours()).1;
    let price = slot.price.map_or(0.0, Price::as_per_kwh);
    let worth = slot.marginal_value.as_per_kwh() * stored;
    price - worth > SUM_DRIFT * price.abs().max(worth.abs())
}

/// Reason of a slot in which the unit runs. `binding` is the slot for whose band it runs, and
/// `on_until` the end of a least time on that has not passed.
fn reason(
    plan: &HeatPlan,
    index: usize,
    (binding, on_until): (Option<usize>, Option<DateTime<Utc>>),
) -> HeatReason {
    let slot: &HeatSlot = &plan.slots[index];
    let price = slot.price.unwrap_or(Price::ZERO);
    let due = binding.map(|binding| plan.slots[binding].end);
    let (code, due) = match binding {
        _ if slot.marginal_degree_hours > 0.0 => {
            // Degree-hours of the last slot that is still outside the band.
            let outside = |slot: &HeatSlot| slot.below_celsius() + slot.above_celsius() > 0.0;
            let last = plan.slots[index..].iter().take_while(|slot| outside(slot)).last();
            (HeatReasonCode::Recover, last.map(|slot| slot.end))
        }
        _ if on_until.is_some() && is_unwanted(plan, slot) => (HeatReasonCode::OnMin, on_until),
        _ if price < Price::ZERO => (HeatReasonCode::NegativePrice, None),
        None => (HeatReasonCode::EndValue, None),
        Some(binding) if binding == index => (HeatReasonCode::Hold, due),
        Some(_) => (HeatReasonCode::Ahead, due),
    };
    HeatReason {
        start: slot.start,
        end: slot.end,
        mode: plan.mode,
        used: slot.used,
        heat: slot.heat(),
        cost: price.of(slot.used),
        price_max: price,
        code,
        marginal_value: slot.marginal_value,
        temperature: slot.temperature,
        due,
    }
}

impl HeatReason {
    /// Formats the reason as a sentence, with times on the wall clock of `time_zone` and amounts in
    /// `currency`; empty if it is not known.
    #[must_use]
    pub fn sentence(&self, time_zone: Tz, currency: &str) -> String {
        let clock = |at: DateTime<Utc>| wall_clock(at, time_zone);
        let (verb, edge) = match self.mode {
            HeatMode::Heat => ("heats", "lowest"),
            HeatMode::Cool => ("cools", "highest"),
        };
        let mut text = format!(
            "{} to {}: {verb} with {} kWh for {} ({}) to {} °C, ",
            clock(self.start),
            clock(self.end),
            rounded(self.used.as_kwh(), 2),
            format_amount(self.cost, currency),
            format_prices(self.price_max, (self.used, self.cost), currency),
            rounded(self.temperature.as_celsius(), 1),
        );
        let due = self.due.map(clock);
        let _ = match (self.code, due) {
            (HeatReasonCode::Hold, _) => {
                write!(text, "to hold the {edge} temperature of the band")
            }
            (HeatReasonCode::Ahead, Some(due)) => {
                write!(text, "ahead of {due}, until when this is the cheapest time")
            }
            (HeatReasonCode::Recover, Some(due)) => {
                write!(text, "because it is outside the band until {due}")
            }
            (HeatReasonCode::Recover, None) => {
                write!(text, "because it would be outside the band later")
            }
            (HeatReasonCode::OnMin, Some(due)) => {
                write!(text, "because its least time on lasts until {due}")
            }
            (HeatReasonCode::OnMin, None) => write!(text, "because its least time on lasts"),
            (HeatReasonCode::NegativePrice, _) => write!(text, "because the price is negative"),
            (HeatReasonCode::Ahead | HeatReasonCode::EndValue, _) => {
                let value = format_kwh_cost(self.marginal_value, currency);
                write!(text, "kept to the end of the plan; one more kWh stored is worth {value}")
            }
        };
        text + "."
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::plan::heat::on_off::OnOff;
    use crate::plan::heat::planner::plan_heat;
    use crate::plan::heat::request::tests::room;
    use crate::plan::heat::request::{HeatProblem, HeatRequest};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{celsius, per_kwh};

    #[track_caller]
    fn check(cents: &[i32], change: impl FnOnce(&mut HeatRequest), expected: &Expect) {
        let mut request = room(cents.len() as i64);
        change(&mut request);
        let plan = plan_heat(&curve_of(60, cents), &HeatProblem::new(request).unwrap());
        let reasons = explain(&plan);
        let used = reasons.iter().fold(Energy::ZERO, |sum, reason| sum + reason.used);
        assert!((used - plan.used).as_kwh().abs() < 1e-9, "all is explained");
        let mut text = String::new();
        for reason in reasons {
            let _ = writeln!(text, "{}: {}", reason.code.as_str(), reason.sentence(Tz::UTC, "EUR"));
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn holding_and_storing_are_told_apart() {
        check(
            &[20, 10, 40, 40, 10],
            |_| (),
            &expect![[r#"
            ahead: Mon 18:00 to Mon 20:00: heats with 4.13 kWh for 0.53 EUR (up to 0.20 EUR/kWh) to 21.2 °C, ahead of Mon 22:00, until when this is the cheapest time.
            hold: Mon 22:00 to Mon 23:00: heats with 1 kWh for 0.10 EUR (0.10 EUR/kWh) to 20 °C, to hold the lowest temperature of the band.
        "#]],
        );
    }

    #[test]
    fn a_cold_room_and_its_end_are_named() {
        check(
            &[20, 20, 20],
            |request| request.temperature = celsius(18.0),
            &expect![[r#"
            recover: Mon 18:00 to Mon 19:00: heats with 3 kWh for 0.60 EUR (0.20 EUR/kWh) to 19.3 °C, because it is outside the band until Mon 19:00.
            hold: Mon 19:00 to Mon 21:00: heats with 3.22 kWh for 0.64 EUR (0.20 EUR/kWh) to 20 °C, to hold the lowest temperature of the band.
        "#]],
        );
        check(
            &[20, 20],
            |request| request.end_value = per_kwh(0.3),
            &expect![[r#"
            end_value: Mon 18:00 to Mon 20:00: heats with 6 kWh for 1.20 EUR (0.20 EUR/kWh) to 22.3 °C, kept to the end of the plan; one more kWh stored is worth 0.30 EUR.
        "#]],
        );
        // At the upper edge of the band there is room for no more heat, whatever it would be worth.
        check(
            &[5, 20],
            |request| {
                request.end_value = per_kwh(0.2);
                request.comfort.max = celsius(21.5);
            },
            &expect![[r#"
            end_value: Mon 18:00 to Mon 20:00: heats with 4.63 kWh for 0.48 EUR (up to 0.20 EUR/kWh) to 21.5 °C, kept to the end of the plan; one more kWh stored is worth 0.068 EUR.
        "#]],
        );
        check(
            &[20, -5],
            |_| (),
            &expect![[r#"
            hold: Mon 18:00 to Mon 19:00: heats with 1 kWh for 0.20 EUR (0.20 EUR/kWh) to 20 °C, to hold the lowest temperature of the band.
            negative_price: Mon 19:00 to Mon 20:00: heats with 3 kWh for -0.15 EUR (-0.05 EUR/kWh) to 21.2 °C, because the price is negative.
        "#]],
        );
    }
    #[test]
    fn a_least_time_that_decides_is_named() {
        check(
            &[10, 40, 10, 10],
            |request| {
                let on_min = chrono::TimeDelta::hours(2);
                request.on_off = Some(OnOff { on_min, ..OnOff::default() });
            },
            &expect![[r#"
            ahead: Mon 18:00 to Mon 19:00: heats with 3 kWh for 0.30 EUR (0.10 EUR/kWh) to 21.2 °C, ahead of Mon 20:00, until when this is the cheapest time.
            on_min: Mon 19:00 to Mon 20:00: heats with 3 kWh for 1.20 EUR (0.40 EUR/kWh) to 22.3 °C, because its least time on lasts until Mon 20:00.
        "#]],
        );
    }
}
