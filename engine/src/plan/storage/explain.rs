//! Reasons for the periods in which a battery charges and discharges.
//!
//! The reason of a slot follows its stored energy to the first slot `t` with `λ_t > λ_{t+1}`: by
//! complementary slackness the level is at its least there, `e_t = L_t`, and the wish behind
//! `L_t` is what the energy is for ([symbols](super)). A purchase or sale before that slot is
//! the *counterpart*.
use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::plan::charge::explain::{
    format_amount, format_kwh_cost, format_price, format_prices, rounded, wall_clock,
};
use crate::plan::storage::plan::{StoragePlan, StorageSlot, Wish};
use crate::units::{Energy, Money, Price};
use crate::words::words;

words! {
    /// Reason code of a period of charging or discharging.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum StorageReasonCode {
        /// Charged for the reserve, or for the lowest state of charge of a period.
        Reserve = "reserve",
        /// Charged for a target.
        Target = "target",
        /// Charged for driving.
        Driving = "driving",
        /// Charged because the price is negative.
        NegativePrice = "negative_price",
        /// Charged to be sold at a higher price.
        SellLater = "sell_later",
        /// Charged because a stored kWh is worth more at the end.
        EndValue = "end_value",
        /// Sold at a high price, and bought back cheaper.
        BuyBack = "buy_back",
        /// Sold because the revenue is above the value of a stored kWh.
        AboveValue = "above_value",
        /// Sold at a loss, to charge again at a negative price.
        MakeRoom = "make_room",
        /// Charged or sold to stay near the plan before, within its budget.
        PreviousPlan = "previous_plan",
    }
}

/// Counterpart of a period: the slot in which its energy is sold, or bought back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counterpart {
    /// Start of that slot.
    pub start: DateTime<Utc>,
    /// Price of that slot.
    #[serde(rename = "price_per_kwh")]
    pub price: Price,
}

/// Period of charging or discharging, with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StorageReason {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Energy at the plug; negative is sold.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// Cost of the energy, without wear; negative is revenue.
    pub cost: Money,
    /// Least price in the period.
    #[serde(rename = "price_min_per_kwh")]
    pub price_min: Price,
    /// Highest price in the period.
    #[serde(rename = "price_max_per_kwh")]
    pub price_max: Price,
    /// Reason code.
    pub code: StorageReasonCode,
    /// Marginal value of a stored kWh in the period.
    #[serde(rename = "marginal_value_per_kwh")]
    pub marginal_value: Price,
    /// Deadline or instant by which the energy is wanted, if there is one.
    pub due: Option<DateTime<Utc>>,
    /// Slot in which the energy is sold or bought back, if there is one.
    pub counterpart: Option<Counterpart>,
}

/// Returns one reason for each period of charging or discharging, in time order.
///
/// A period ends where its direction or its reason changes. The reason follows the stored energy
/// from the slot to the next slot whose level is bound from below (by a target, the reserve,
/// driving or empty), or to the end of the plan. Of several sales before that slot the dearest
/// is the counterpart, and of several purchases the cheapest.
#[must_use]
pub fn explain(plan: &StoragePlan) -> Vec<StorageReason> {
    let mut reasons: Vec<StorageReason> = Vec::new();
    for (index, slot) in plan.slots.iter().enumerate() {
        let end = slot.busy_until();
        let charges = slot.charged > Energy::ZERO;
        // Power for less than a microsecond has no period to explain.
        if end <= slot.start || !charges && slot.discharged <= Energy::ZERO {
            continue;
        }
        // Of the plan nearest to the one before, prices alone do not decide.
        let next = if plan.stability.is_some_and(|near| near.is_closer()) {
            reason(slot, StorageReasonCode::PreviousPlan)
        } else if charges {
            explain_purchase(plan, index)
        } else {
            explain_sale(plan, index)
        };
        match reasons.last_mut() {
            Some(last)
                if last.end == next.start
                    && last.code == next.code
                    && (last.energy > Energy::ZERO) == charges
                    && last.due == next.due
                    && last.counterpart == next.counterpart =>
            {
                last.end = next.end;
                last.energy = last.energy + next.energy;
                last.cost = last.cost + next.cost;
                last.price_min = last.price_min.min(next.price_min);
                last.price_max = last.price_max.max(next.price_max);
                last.marginal_value = next.marginal_value;
            }
            _ => reasons.push(next),
        }
    }
    reasons
}

/// First slot from `index` on whose level is bound from below: after it a stored kWh is worth
/// less. `None` if there is none.
fn find_binding_slot(plan: &StoragePlan, index: usize) -> Option<usize> {
    let worth = |slot: usize| plan.slots[slot].marginal_value;
    let end_value = plan.certificate.evidence.end_value;
    let next = |slot: usize| {
        if slot + 1 < plan.slots.len() { worth(slot + 1) } else { end_value }
    };
    (index..plan.slots.len()).find(|&slot| worth(slot) > next(slot))
}

/// Reason of a slot with a code, without `due` and counterpart.
fn reason(slot: &StorageSlot, code: StorageReasonCode) -> StorageReason {
    let charges = slot.charged > Energy::ZERO;
    let price = if charges { slot.import_price } else { slot.export_price };
    let price = price.unwrap_or(Price::ZERO);
    let energy = if charges { slot.charged } else { -slot.discharged };
    StorageReason {
        start: slot.start,
        end: slot.busy_until(),
        energy,
        cost: price.of(energy),
        price_min: price,
        price_max: price,
        code,
        marginal_value: slot.marginal_value,
        due: None,
        counterpart: None,
    }
}

/// Reason of a slot that charges.
fn explain_purchase(plan: &StoragePlan, index: usize) -> StorageReason {
    let slot = &plan.slots[index];
    // Slot whose least level this energy serves; without one it is kept to the end.
    let bound = find_binding_slot(plan, index);
    let last = bound.unwrap_or(plan.slots.len() - 1);
    let sales = plan.slots[index..=last].iter().filter(|slot| slot.discharged > Energy::ZERO);
    // Dearest sale before that slot; of equal prices the first.
    let dearest = sales.rev().max_by(|a, b| {
        let price = |slot: &StorageSlot| slot.export_price.unwrap_or(Price::ZERO);
        price(a).total_cmp(&price(b))
    });
    let wish = bound.map(|bound| plan.slots[bound].wish);
    let (code, due) = match (wish, bound.map(|bound| plan.slots[bound].end)) {
        // A negative price is a reason by itself, whatever the energy is for.
        _ if slot.import_price.is_some_and(|price| price < Price::ZERO) => {
            (StorageReasonCode::NegativePrice, None)
        }
        (_, _) if dearest.is_some() => (StorageReasonCode::SellLater, None),
        (Some(Wish::Reserve | Wish::Minimum), due) => (StorageReasonCode::Reserve, due),
        (Some(Wish::Target { .. }), due) => (StorageReasonCode::Target, due),
        (Some(Wish::Driving), due) => (StorageReasonCode::Driving, due),
        (Some(Wish::Empty) | None, _) => (StorageReasonCode::EndValue, None),
    };
    let counterpart = dearest.filter(|_| code == StorageReasonCode::SellLater).map(|sale| {
        Counterpart { start: sale.start, price: sale.export_price.unwrap_or(Price::ZERO) }
    });
    StorageReason { due, counterpart, ..reason(slot, code) }
}

/// Reason of a slot that discharges.
fn explain_sale(plan: &StoragePlan, index: usize) -> StorageReason {
    let slot = &plan.slots[index];
    let last = find_binding_slot(plan, index).unwrap_or(plan.slots.len() - 1);
    let buys = plan.slots[index..=last].iter().filter(|slot| slot.charged > Energy::ZERO);
    let cheapest = buys.min_by(|a, b| {
        let price = |slot: &StorageSlot| slot.import_price.unwrap_or(Price::ZERO);
        price(a).total_cmp(&price(b))
    });
    let counterpart = cheapest.map(|buy| Counterpart {
        start: buy.start,
        price: buy.import_price.unwrap_or(Price::ZERO),
    });
    // A sale at a negative price costs money, and is made for a cheaper purchase later.
    let is_loss = slot.export_price.is_some_and(|price| price < Price::ZERO);
    let code = match counterpart {
        Some(_) if is_loss => StorageReasonCode::MakeRoom,
        Some(_) => StorageReasonCode::BuyBack,
        None => StorageReasonCode::AboveValue,
    };
    StorageReason { counterpart, ..reason(slot, code) }
}

impl StorageReason {
    /// Formats the reason as a sentence, with times on the wall clock of `time_zone` and amounts in
    /// `currency`; empty if it is not known.
    #[must_use]
    pub fn sentence(&self, time_zone: Tz, currency: &str) -> String {
        let clock = |at: DateTime<Utc>| wall_clock(at, time_zone);
        let charges = self.energy > Energy::ZERO;
        let (verb, cost) =
            if charges { ("buys", self.cost) } else { ("sells", Money::ZERO - self.cost) };
        let price = if charges {
            format_prices(self.price_max, (self.energy, self.cost), currency)
        } else {
            let least = format_price(self.price_min, currency);
            least + if self.is_one_price() { "" } else { " or more" }
        };
        let mut text = format!(
            "{} to {}: {verb} {} kWh for {} ({price}), ",
            clock(self.start),
            clock(self.end),
            rounded(self.energy.as_kwh().abs(), 2),
            format_amount(cost, currency),
        );
        let due = self.due.map_or_else(|| "the end of the plan".to_owned(), clock);
        let value = format_kwh_cost(self.marginal_value, currency);
        let (deal, at) = self.counterpart.map_or((String::new(), String::new()), |deal| {
            (format_price(deal.price, currency), clock(deal.start))
        });
        let _ = match self.code {
            StorageReasonCode::Reserve => write!(text, "to hold the reserve at {due}"),
            StorageReasonCode::Target => {
                write!(text, "for the target at {due}, in the cheapest hours before it")
            }
            StorageReasonCode::Driving => {
                write!(text, "for driving until {due}, in the cheapest hours before it")
            }
            StorageReasonCode::NegativePrice => write!(text, "because the price is negative"),
            StorageReasonCode::SellLater => write!(text, "to sell at {at} ({deal})"),
            StorageReasonCode::EndValue => {
                write!(text, "kept to the end of the plan; one more stored kWh is worth {value}")
            }
            StorageReasonCode::BuyBack => write!(text, "and buys back at {at} ({deal})"),
            StorageReasonCode::AboveValue => {
                write!(text, "while one more stored kWh is worth {value}")
            }
            StorageReasonCode::PreviousPlan => {
                write!(text, "to stay near the plan before within its budget")
            }
            StorageReasonCode::MakeRoom => {
                write!(text, "to have room at {at}, when the price is negative ({deal})")
            }
        };
        text + "."
    }

    /// Returns true if the price is constant over the period.
    fn is_one_price(&self) -> bool {
        self.price_min.total_cmp(&self.price_max).is_eq()
    }
}

/// Stored energy of the start that a plan sells, in the time of the plan.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct StockUsed {
    /// Start of the plan.
    pub start: DateTime<Utc>,
    /// End of the plan.
    pub end: DateTime<Utc>,
    /// The energy; see [`StoragePlan::stock_used`].
    pub energy: Energy,
    /// Value of a kWh of it in the savings.
    pub value: Price,
}

/// Returns the stock that a plan uses up; `None` if it ends with what it began with.
#[must_use]
pub fn explain_stock(plan: &StoragePlan) -> Option<StockUsed> {
    let energy = plan.stock_used();
    let (first, last) = (plan.slots.first()?, plan.slots.last()?);
    let value = plan.certificate.evidence.end_value;
    (energy > Energy::ZERO).then_some(StockUsed {
        start: first.start,
        end: last.end,
        energy,
        value,
    })
}

impl StockUsed {
    /// Sentence about the stock, with times on the wall clock of `time_zone` and amounts in
    /// `currency`; empty if it is not known.
    #[must_use]
    pub fn sentence(&self, time_zone: Tz, currency: &str) -> String {
        let clock = |at: DateTime<Utc>| wall_clock(at, time_zone);
        format!(
            "{} to {}: uses up {} kWh of what was stored at the start, which the savings count with \
             {}; a target for the end keeps it.",
            clock(self.start),
            clock(self.end),
            rounded(self.energy.as_kwh(), 2),
            format_price(self.value, currency),
        )
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use expect_test::{Expect, expect};

    use super::*;
    use crate::plan::charge::vehicle::{Battery, SocTarget};
    use crate::plan::storage::planner::plan_storage;
    use crate::plan::storage::request::{Consumption, StorageProblem, StorageRequest};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, per_kwh, percent};

    /// Checks the reasons of a battery of 10 kWh at 50 % and 4 kW, on hours from 18:00Z at prices
    /// in `cents` to buy and to sell.
    #[track_caller]
    fn check(cents: &[i32], change: impl FnOnce(&mut StorageRequest), expected: &Expect) {
        let battery = Battery {
            capacity: kwh(10.0),
            soc: Some(percent(50.0)),
            soc_fallback: None,
            charge_limit: percent(100.0),
            efficiency: 0.9,
        };
        let now = "2026-01-05T18:00:00Z".parse().unwrap();
        let mut request = StorageRequest::new(now, battery, kw(4.0));
        request.efficiency_discharge = 0.9;
        change(&mut request);
        let curve = curve_of(60, cents);
        let plan = plan_storage(&curve, Some(&curve), &StorageProblem::new(request).unwrap());
        assert!(plan.certificate.is_proved());
        let reasons = explain(&plan);
        let net = reasons.iter().fold(Energy::ZERO, |sum, reason| sum + reason.energy);
        assert!((net - plan.charged + plan.discharged).as_kwh().abs() < 1e-9, "all is explained");
        let mut text = String::new();
        for reason in reasons {
            let _ = writeln!(text, "{}: {}", reason.code.as_str(), reason.sentence(Tz::UTC, "EUR"));
        }
        expected.assert_eq(&text);
    }

    fn target(hours: i64, wanted: f64) -> impl FnOnce(&mut StorageRequest) {
        move |request| {
            let by = Some(request.now + TimeDelta::hours(hours));
            request.targets.push(SocTarget { by, soc: Some(percent(wanted)) });
        }
    }

    #[test]
    fn cheap_hours_are_sold_in_dear_ones() {
        check(
            &[10, 40, 20],
            target(3, 50.0),
            &expect![[r#"
            sell_later: Mon 18:00 to Mon 19:00: buys 4 kWh for 0.40 EUR (0.10 EUR/kWh), to sell at Mon 19:00 (0.40 EUR/kWh).
            buy_back: Mon 19:00 to Mon 20:00: sells 4 kWh for 1.60 EUR (0.40 EUR/kWh), and buys back at Mon 20:00 (0.20 EUR/kWh).
            target: Mon 20:00 to Mon 20:14: buys 0.94 kWh for 0.19 EUR (0.20 EUR/kWh), for the target at Mon 21:00, in the cheapest hours before it.
        "#]],
        );
        check(
            &[40, 10, 20],
            target(3, 50.0),
            &expect![[r#"
            buy_back: Mon 18:00 to Mon 19:00: sells 4 kWh for 1.60 EUR (0.40 EUR/kWh), and buys back at Mon 19:00 (0.10 EUR/kWh).
            target: Mon 19:00 to Mon 20:14: buys 4.94 kWh for 0.59 EUR (up to 0.20 EUR/kWh), for the target at Mon 21:00, in the cheapest hours before it.
        "#]],
        );
    }

    #[test]
    fn wishes_are_named() {
        check(
            &[30, 20, 40],
            target(3, 80.0),
            &expect![[r#"
            sell_later: Mon 18:00 to Mon 18:23: buys 1.56 kWh for 0.47 EUR (0.30 EUR/kWh), to sell at Mon 20:00 (0.40 EUR/kWh).
            sell_later: Mon 19:00 to Mon 20:00: buys 4 kWh for 0.80 EUR (0.20 EUR/kWh), to sell at Mon 20:00 (0.40 EUR/kWh).
            above_value: Mon 20:00 to Mon 20:27: sells 1.8 kWh for 0.72 EUR (0.40 EUR/kWh), while one more stored kWh is worth 0.36 EUR.
        "#]],
        );
        check(
            &[30, 20, 40],
            |request| {
                request.reserve = percent(70.0);
                request.end_value = Some(per_kwh(0.3));
            },
            &expect![[r#"
                reserve: Mon 18:00 to Mon 18:33: buys 2.22 kWh for 0.67 EUR (0.30 EUR/kWh), to hold the reserve at Mon 19:00.
                sell_later: Mon 19:00 to Mon 19:50: buys 3.33 kWh for 0.67 EUR (0.20 EUR/kWh), to sell at Mon 20:00 (0.40 EUR/kWh).
                above_value: Mon 20:00 to Mon 20:40: sells 2.7 kWh for 1.08 EUR (0.40 EUR/kWh), while one more stored kWh is worth 0.36 EUR.
            "#]],
        );
        check(
            &[30, 20, 40, 40],
            |request| {
                let start = request.now + TimeDelta::hours(3);
                let end = start + TimeDelta::hours(1);
                let energy = kwh(8.0);
                request.consumption.push(Consumption { start, end, energy, is_plugged_in: false });
            },
            &expect![[r#"
                sell_later: Mon 18:00 to Mon 18:23: buys 1.56 kWh for 0.47 EUR (0.30 EUR/kWh), to sell at Mon 20:00 (0.40 EUR/kWh).
                sell_later: Mon 19:00 to Mon 20:00: buys 4 kWh for 0.80 EUR (0.20 EUR/kWh), to sell at Mon 20:00 (0.40 EUR/kWh).
                above_value: Mon 20:00 to Mon 20:27: sells 1.8 kWh for 0.72 EUR (0.40 EUR/kWh), while one more stored kWh is worth 0.36 EUR.
            "#]],
        );
    }

    #[test]
    fn paid_hours_are_used_twice() {
        check(
            &[-1, -20, 5],
            target(3, 50.0),
            &expect![[r#"
            negative_price: Mon 18:00 to Mon 18:23: buys 1.56 kWh for -0.02 EUR (-0.01 EUR/kWh), because the price is negative.
            negative_price: Mon 19:00 to Mon 20:00: buys 4 kWh for -0.80 EUR (-0.20 EUR/kWh), because the price is negative.
            above_value: Mon 20:00 to Mon 21:00: sells 4 kWh for 0.20 EUR (0.05 EUR/kWh), while one more stored kWh is worth 0.00 EUR.
        "#]],
        );
    }
}
