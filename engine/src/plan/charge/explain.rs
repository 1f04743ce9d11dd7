//! Explanation of a charging plan: one reason for each period of charging.
use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::plan::charge::plan::{Plan, PlannedSlot, Purpose};
use crate::time::civil::{Showing, local_of, showing};
use crate::units::{Energy, Money, Price};
use crate::words::words;

words! {
    /// Code of the reason for a period of charging.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum ChargeReasonCode {
        /// Charged at once to the reserve, at any price.
        Reserve = "reserve",
        /// Charged without pause: the deadline cannot be met in full.
        MissedDeadline = "missed_deadline",
        /// More expensive than later slots, but needed before this deadline.
        Deadline = "deadline",
        /// Among the cheapest slots before the last deadline.
        BelowMarginalPrice = "below_marginal_price",
        /// Energy beyond the targets, bought because the price is negative.
        NegativePrice = "negative_price",
        /// Energy kept from the previous plan: moving it would save too little.
        Kept = "kept",
    }
}

/// Slot that the next kWh would come from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunnerUp {
    /// First unused instant of the slot.
    pub start: DateTime<Utc>,
    /// Price of the slot.
    #[serde(rename = "price_per_kwh")]
    pub price: Price,
}

/// Period of charging with its reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reason {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Energy bought.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// Cost of the energy.
    pub cost: Money,
    /// Highest price paid in the period.
    #[serde(rename = "price_max_per_kwh")]
    pub price_max: Price,
    /// Code of the reason.
    pub code: ChargeReasonCode,
    /// Deadline that the period serves; `None` for a reserve or a negative price.
    pub deadline: Option<DateTime<Utc>>,
    /// Price of the next kWh before that deadline, or before the last one.
    #[serde(rename = "marginal_price_per_kwh")]
    pub marginal_price: Option<Price>,
    /// Slot that the next kWh would come from; `None` if no energy is free.
    pub runner_up: Option<RunnerUp>,
}

/// Returns one reason for each period of charging, in time order.
///
/// A period ends where the reason changes, so a reserve and the cheap hour
/// after it are two reasons even when charging never pauses.
#[must_use]
pub fn explain(plan: &Plan) -> Vec<Reason> {
    let last_deadline = end_of(plan);
    let mut purchases = plan.purchases.clone();
    // The sort is stable: purchases of one slot keep their order.
    purchases.sort_by_key(|purchase| purchase.slot);
    let mut reasons: Vec<Reason> = Vec::new();
    let mut last_purpose = None;
    // Last slot, and the energy of its purchases so far: the next one of that slot starts there.
    let mut used = (usize::MAX, Energy::ZERO);
    for purchase in purchases {
        let slot = &plan.slots[purchase.slot];
        let before = if used.0 == purchase.slot { used.1 } else { Energy::ZERO };
        used = (purchase.slot, before + purchase.energy);
        let start = if before > Energy::ZERO { until(slot, before) } else { slot.start };
        let end = until(slot, used.1);
        let next =
            reason(plan, last_deadline, slot, purchase.purpose, (start, end), purchase.energy);
        // A purchase that continues the last reason extends it.
        match reasons.last_mut() {
            Some(last)
                if last.end == start
                    && last_purpose == Some(purchase.purpose)
                    && last.code == next.code =>
            {
                last.end = end;
                last.energy = last.energy + next.energy;
                last.cost = last.cost + next.cost;
                last.price_max = last.price_max.max(next.price_max);
            }
            _ => reasons.push(next),
        }
        last_purpose = Some(purchase.purpose);
    }
    reasons
}

/// End of charging in a slot that holds `energy`.
fn until(slot: &PlannedSlot, energy: Energy) -> DateTime<Utc> {
    PlannedSlot { energy, ..*slot }.charged_until()
}

/// Last deadline of a plan; a target without a deadline counts with the end of the slots.
fn end_of(plan: &Plan) -> Option<DateTime<Utc>> {
    let end = plan.slots.last().map(|slot| slot.end);
    plan.targets.iter().map(|target| target.by.or(end)).max().flatten().or(end)
}

/// Reason for one purchase in one slot. `last` is the last deadline, `(start, end)` the period.
fn reason(
    plan: &Plan,
    last: Option<DateTime<Utc>>,
    slot: &PlannedSlot,
    purpose: Purpose,
    (start, end): (DateTime<Utc>, DateTime<Utc>),
    energy: Energy,
) -> Reason {
    let deadline = match purpose {
        Purpose::Deadline { target }
        | Purpose::MissedDeadline { target }
        | Purpose::Kept { target } => {
            plan.targets.get(target).and_then(|target| target.by).or(last)
        }
        Purpose::Reserve | Purpose::NegativePrice => None,
    };
    // Energy bought for its negative price has no alternative slot.
    let runner_up = match purpose {
        Purpose::NegativePrice => None,
        _ => runner_up(plan, deadline.or(last)),
    };
    let code = match purpose {
        Purpose::Reserve => ChargeReasonCode::Reserve,
        Purpose::MissedDeadline { .. } => ChargeReasonCode::MissedDeadline,
        Purpose::NegativePrice => ChargeReasonCode::NegativePrice,
        Purpose::Kept { .. } => ChargeReasonCode::Kept,
        // A slot above the price of the next kWh is used only because its deadline is earlier.
        Purpose::Deadline { .. } => match plan.marginal_price {
            Some(marginal) if slot.price <= marginal => ChargeReasonCode::BelowMarginalPrice,
            _ => ChargeReasonCode::Deadline,
        },
    };
    Reason {
        start,
        end,
        energy,
        cost: slot.price.of(energy),
        price_max: slot.price,
        code,
        deadline,
        marginal_price: runner_up.map(|next| next.price),
        runner_up,
    }
}

/// Cheapest slot with free energy before `by`; of equal prices the earliest.
fn runner_up(plan: &Plan, by: Option<DateTime<Utc>>) -> Option<RunnerUp> {
    let before = plan.slots.iter().filter(|slot| by.is_none_or(|by| slot.end <= by));
    // A slot that charges to its end is full, even if rounding leaves some energy.
    let room =
        before.filter(|slot| slot.charged_until() < slot.end && slot.power_max.as_kw() > 0.0);
    let cheapest = room.min_by(|a, b| a.price.total_cmp(&b.price))?;
    let start =
        if cheapest.energy > Energy::ZERO { cheapest.charged_until() } else { cheapest.start };
    Some(RunnerUp { start, price: cheapest.price })
}

impl Reason {
    /// Sentence about the reason, with times on the wall clock of `time_zone` and amounts in
    /// `currency`; empty if it is not known.
    #[must_use]
    pub fn sentence(&self, time_zone: Tz, currency: &str) -> String {
        let clock = |at: DateTime<Utc>| wall_clock(at, time_zone);
        let mut text = format!(
            "{} to {}: charges {} kWh for {} ({})",
            clock(self.start),
            clock(self.end),
            rounded(self.energy.as_kwh(), 2),
            format_amount(self.cost, currency),
            format_prices(self.price_max, (self.energy, self.cost), currency),
        );
        let by = self.deadline.map_or_else(|| END_OF_PRICES.to_owned(), clock);
        let _ = match self.code {
            ChargeReasonCode::Reserve => write!(text, " at once, to reach the reserve"),
            ChargeReasonCode::MissedDeadline => {
                write!(text, " without pause, because the target for {by} cannot be met in full")
            }
            ChargeReasonCode::NegativePrice => write!(text, ", because the price is negative"),
            ChargeReasonCode::Deadline => {
                write!(text, ", because the target for {by} leaves no cheaper time")
            }
            ChargeReasonCode::Kept => write!(text, ", as in the earlier plan"),
            ChargeReasonCode::BelowMarginalPrice => {
                write!(text, " in the cheapest hours before {by}")
            }
        };
        match self.runner_up {
            Some(next) if self.code != ChargeReasonCode::MissedDeadline => {
                let (at, price) = (clock(next.start), format_price(next.price, currency));
                let _ = write!(text, "; the next kWh would be charged at {at} ({price})");
            }
            _ => {}
        }
        text + "."
    }
}

/// End of a plan that has no deadline, in a sentence.
pub(crate) const END_OF_PRICES: &str = "the end of the known prices";

/// Day and time on a wall clock; with the zone's abbreviation where clocks
/// show the time twice.
pub(crate) fn wall_clock(at: DateTime<Utc>, time_zone: Tz) -> String {
    let form = match showing(local_of(at, time_zone), time_zone) {
        Showing::Twice { .. } => "%a %H:%M %Z",
        Showing::Once(_) | Showing::Never { .. } => "%a %H:%M",
    };
    at.with_timezone(&time_zone).format(form).to_string()
}

/// A number with at most `digits` decimals and no trailing zeros.
pub(crate) fn rounded(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// An amount of money with two decimals and its currency, such as `2.31 EUR`; without a currency
/// the number alone.
pub(crate) fn format_amount(amount: Money, currency: &str) -> String {
    let text = format!("{:.2}", amount.as_amount());
    with_currency(if text == "-0.00" { "0.00".to_owned() } else { text }, currency)
}

/// A price with its unit, such as `0.25 EUR/kWh`; without a currency `0.25 per kWh`.
pub(crate) fn format_price(price: Price, currency: &str) -> String {
    let number = format_price_number(price);
    if currency.is_empty() { number + " per kWh" } else { format!("{number} {currency}/kWh") }
}

/// Money for one kWh, such as `0.25 EUR`, with the digits of a price.
pub(crate) fn format_kwh_cost(price: Price, currency: &str) -> String {
    with_currency(format_price_number(price), currency)
}

fn with_currency(number: String, currency: &str) -> String {
    if currency.is_empty() { number } else { format!("{number} {currency}") }
}

/// A price with three significant digits and at least two decimals, without its unit.
fn format_price_number(price: Price) -> String {
    let value = price.as_per_kwh();
    let (mut decimals, mut least) = (2, 1.0);
    // One decimal more for each leading zero, so that three significant digits remain.
    while value.abs() < least && decimals < 8 {
        (decimals, least) = (decimals + 1, least / 10.0);
    }
    let mut text = format!("{value:.decimals$}");
    while decimals > 2 && text.ends_with('0') {
        text.pop();
        decimals -= 1;
    }
    if text == "-0.00" { "0.00".to_owned() } else { text }
}

/// The price of a period in which energy was bought at a cost, or the highest of several.
pub(crate) fn format_prices(
    highest: Price,
    (energy, cost): (Energy, Money),
    currency: &str,
) -> String {
    let is_one_price = (highest.of(energy) - cost).as_amount().abs() < 1e-6;
    let price = format_price(highest, currency);
    if is_one_price { price } else { format!("up to {price}") }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use expect_test::{Expect, expect};

    use super::*;
    use crate::plan::charge::greedy::plan_charge;
    use crate::plan::charge::request::{ChargeProblem, ChargeRequest, Target};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh};

    /// Reasons of a plan at 10 kW, with prices in cents for hours from 18:00Z on and targets of
    /// (hours, kWh).
    #[track_caller]
    fn check(
        cents: &[i32],
        targets: &[(i64, f64)],
        change: impl FnOnce(&mut ChargeRequest),
        expected: &Expect,
    ) {
        let now: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        let target = |&(hours, energy)| Target {
            by: Some(now + TimeDelta::hours(hours)),
            energy: kwh(energy),
        };
        let mut wish = ChargeRequest::new(now, kw(10.0), target(&(0, 0.0)));
        wish.targets = targets.iter().map(target).collect();
        change(&mut wish);
        let plan = plan_charge(&curve_of(60, cents), &ChargeProblem::new(wish).unwrap());
        let reasons = explain(&plan);
        let bought = reasons.iter().fold(Energy::ZERO, |sum, reason| sum + reason.energy);
        assert!((bought - plan.energy).as_kwh().abs() < 1e-9, "every kWh has a reason");
        let mut text = String::new();
        for reason in reasons {
            let _ = writeln!(text, "{}: {}", reason.code.as_str(), reason.sentence(Tz::UTC, "EUR"));
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn the_next_kwh_is_named() {
        check(
            &[30, 10, 20, 25],
            &[(4, 20.0)],
            |_| {},
            &expect![[r#"
            below_marginal_price: Mon 19:00 to Mon 21:00: charges 20 kWh for 3.00 EUR (up to 0.20 EUR/kWh) in the cheapest hours before Mon 22:00; the next kWh would be charged at Mon 21:00 (0.25 EUR/kWh).
        "#]],
        );
    }

    #[test]
    fn a_reserve_and_the_cheap_rest_are_two_reasons() {
        check(
            &[30, 10, 20],
            &[(3, 16.0)],
            |wish| wish.reserve = kwh(4.0),
            &expect![[r#"
            reserve: Mon 18:00 to Mon 18:24: charges 4 kWh for 1.20 EUR (0.30 EUR/kWh) at once, to reach the reserve; the next kWh would be charged at Mon 20:12 (0.20 EUR/kWh).
            below_marginal_price: Mon 19:00 to Mon 20:12: charges 12 kWh for 1.40 EUR (up to 0.20 EUR/kWh) in the cheapest hours before Mon 21:00; the next kWh would be charged at Mon 20:12 (0.20 EUR/kWh).
        "#]],
        );
        check(
            &[10, 20, 30],
            &[(3, 16.0)],
            |wish| wish.reserve = kwh(4.0),
            &expect![[r#"
            reserve: Mon 18:00 to Mon 18:24: charges 4 kWh for 0.40 EUR (0.10 EUR/kWh) at once, to reach the reserve; the next kWh would be charged at Mon 19:36 (0.20 EUR/kWh).
            below_marginal_price: Mon 18:24 to Mon 19:36: charges 12 kWh for 1.80 EUR (up to 0.20 EUR/kWh) in the cheapest hours before Mon 21:00; the next kWh would be charged at Mon 19:36 (0.20 EUR/kWh).
        "#]],
        );
    }

    #[test]
    fn an_early_deadline_pays_for_dear_hours() {
        check(
            &[30, 40, 10, 5],
            &[(1, 6.0), (4, 12.0)],
            |_| {},
            &expect![[r#"
            deadline: Mon 18:00 to Mon 18:36: charges 6 kWh for 1.80 EUR (0.30 EUR/kWh), because the target for Mon 19:00 leaves no cheaper time; the next kWh would be charged at Mon 18:36 (0.30 EUR/kWh).
            below_marginal_price: Mon 21:00 to Mon 21:36: charges 6 kWh for 0.30 EUR (0.05 EUR/kWh) in the cheapest hours before Mon 22:00; the next kWh would be charged at Mon 21:36 (0.05 EUR/kWh).
        "#]],
        );
    }

    #[test]
    fn a_missed_deadline_and_a_paid_hour() {
        check(
            &[30, 40, 10],
            &[(1, 16.0)],
            |_| {},
            &expect![[r#"
            missed_deadline: Mon 18:00 to Mon 19:36: charges 16 kWh for 5.40 EUR (up to 0.40 EUR/kWh) without pause, because the target for Mon 19:00 cannot be met in full.
        "#]],
        );
        check(
            &[30, -4, 10],
            &[(1, 2.0)],
            |wish| wish.energy_max = Some(kwh(9.0)),
            &expect![[r#"
                below_marginal_price: Mon 18:00 to Mon 18:12: charges 2 kWh for 0.60 EUR (0.30 EUR/kWh) in the cheapest hours before Mon 19:00; the next kWh would be charged at Mon 18:12 (0.30 EUR/kWh).
                negative_price: Mon 19:00 to Mon 19:42: charges 7 kWh for -0.28 EUR (-0.04 EUR/kWh), because the price is negative.
            "#]],
        );
    }

    #[test]
    fn prices_have_three_significant_digits_and_amounts_two_decimals() {
        let price = |value: f64| format_price(crate::units::per_kwh(value), "");
        assert_eq!(price(0.2), "0.20 per kWh");
        assert_eq!(price(0.20244), "0.202 per kWh");
        assert_eq!(price(-0.06443), "-0.0644 per kWh");
        assert_eq!(price(12.345), "12.35 per kWh");
        assert_eq!(price(0.0), "0.00 per kWh");
        assert_eq!(price(-1e-12), "0.00 per kWh");
        let amount = |value: f64| format_amount(crate::units::money(value), "");
        assert_eq!([amount(3.0), amount(1.4667), amount(-0.001)], ["3.00", "1.47", "0.00"]);
    }

    #[test]
    fn a_known_currency_follows_each_number() {
        let price = crate::units::per_kwh(0.20244);
        assert_eq!(format_price(price, "NOK"), "0.202 NOK/kWh");
        assert_eq!(format_kwh_cost(price, "NOK"), "0.202 NOK");
        assert_eq!(format_kwh_cost(price, ""), "0.202");
        assert_eq!(format_amount(crate::units::money(-2.314), "NOK"), "-2.31 NOK");
    }

    #[test]
    fn an_hour_that_clocks_show_twice_is_named() {
        let oslo: Tz = "Europe/Oslo".parse().unwrap();
        let at = |text: &str| wall_clock(text.parse().unwrap(), oslo);
        assert_eq!(at("2026-10-25T00:30:00Z"), "Sun 02:30 CEST");
        assert_eq!(at("2026-10-25T01:30:00Z"), "Sun 02:30 CET");
        assert_eq!(at("2026-10-25T02:30:00Z"), "Sun 03:30");
    }

    #[test]
    fn a_plan_without_room_has_no_next_kwh() {
        check(
            &[30, 10],
            &[(2, 20.0)],
            |_| {},
            &expect![[r#"
            deadline: Mon 18:00 to Mon 20:00: charges 20 kWh for 4.00 EUR (up to 0.30 EUR/kWh), because the target for Mon 20:00 leaves no cheaper time.
        "#]],
        );
    }
}
