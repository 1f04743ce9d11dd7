//! Differences in totals between a plan and one that was made for changed arguments.
//!
//! A plan with a gap `g` costs at most `g` more than the cheapest one. Between the cheapest plans
//! of before and after, the difference is therefore within `[Δ - g_after, Δ + g_before]` if `Δ` is
//! that of the plans at hand. Sentences tell the larger gap.
use std::fmt::Write as _;

#[cfg(feature = "lp")]
use crate::plan::capacity::plan::CapacityPlan;
use crate::plan::charge::explain::{format_amount, rounded};
use crate::plan::heat::plan::HeatPlan;
#[cfg(feature = "lp")]
use crate::plan::site::plan::SitePlan;
use crate::plan::storage::plan::StoragePlan;
use crate::plan::switching::plan::SwitchingPlan;
use crate::units::{Energy, Money};

/// Least gap that a sentence tells: half a hundredth of a unit of the currency.
const TOLD_GAP_MIN: f64 = 0.005;

/// Totals of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanTotals {
    /// Cost that was minimised, the value of stored energy included.
    pub cost: Money,
    /// Lower bound on the cost of every plan with as little shortfall.
    pub bound: Money,
    /// Energy drawn.
    pub drawn: Energy,
    /// Energy fed, as a positive number.
    pub fed: Energy,
    /// Energy that targets miss.
    pub shortfall: Energy,
    /// Degree-hours of rooms and tanks outside their bands.
    pub degree_hours: f64,
}

impl PlanTotals {
    /// Cost less bound: the most that another plan can save.
    fn gap(&self) -> Money {
        self.cost - self.bound
    }
}

impl From<&StoragePlan> for PlanTotals {
    fn from(plan: &StoragePlan) -> Self {
        Self {
            cost: plan.certificate.cost,
            bound: plan.certificate.bound,
            drawn: plan.charged,
            fed: plan.discharged,
            shortfall: plan.shortfall,
            degree_hours: 0.0,
        }
    }
}

impl From<&SwitchingPlan> for PlanTotals {
    fn from(plan: &SwitchingPlan) -> Self {
        Self {
            cost: plan.certificate.cost,
            bound: plan.certificate.bound,
            drawn: plan.energy,
            fed: Energy::ZERO,
            shortfall: plan.shortfall,
            degree_hours: 0.0,
        }
    }
}

impl From<&HeatPlan> for PlanTotals {
    fn from(plan: &HeatPlan) -> Self {
        Self {
            cost: plan.certificate.cost,
            bound: plan.certificate.bound,
            drawn: plan.used,
            fed: Energy::ZERO,
            shortfall: Energy::ZERO,
            degree_hours: plan.discomfort.total(),
        }
    }
}

#[cfg(feature = "lp")]
impl From<&CapacityPlan> for PlanTotals {
    fn from(plan: &CapacityPlan) -> Self {
        let sum = |energies: &mut dyn Iterator<Item = Energy>| {
            energies.fold(Energy::ZERO, |sum, energy| sum + energy)
        };
        Self {
            cost: plan.cost.total(),
            bound: plan.certificate.bound,
            drawn: sum(&mut plan.slots.iter().map(|slot| slot.charged)),
            fed: sum(&mut plan.slots.iter().map(|slot| slot.discharged)),
            shortfall: plan.shortfall,
            degree_hours: 0.0,
        }
    }
}

#[cfg(feature = "lp")]
impl From<&SitePlan> for PlanTotals {
    fn from(plan: &SitePlan) -> Self {
        let sum = |energies: &mut dyn Iterator<Item = Energy>| {
            energies.fold(Energy::ZERO, |sum, energy| sum + energy)
        };
        let rooms = plan.devices.iter().filter_map(|device| device.heat.as_ref());
        Self {
            cost: plan.certificate.cost,
            bound: plan.certificate.bound,
            drawn: sum(&mut plan.slots.iter().map(|slot| slot.import)),
            fed: sum(&mut plan.slots.iter().map(|slot| slot.export)),
            shortfall: plan.shortfall,
            degree_hours: rooms.map(|room| room.discomfort.total()).sum(),
        }
    }
}

/// Totals of a second plan less those of a first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TotalsChange {
    /// Cost; negative if the second plan costs less.
    pub cost: Money,
    /// Energy drawn, less energy fed.
    pub energy: Energy,
    /// Shortfall.
    pub shortfall: Energy,
    /// Degree-hours outside the bands.
    pub degree_hours: f64,
    /// Larger gap of both plans.
    pub gap: Money,
}

impl TotalsChange {
    /// Totals of `after` less those of `before`.
    #[must_use]
    pub fn between(before: &PlanTotals, after: &PlanTotals) -> Self {
        Self {
            cost: after.cost - before.cost,
            energy: (after.drawn - after.fed) - (before.drawn - before.fed),
            shortfall: after.shortfall - before.shortfall,
            degree_hours: after.degree_hours - before.degree_hours,
            gap: before.gap().max(after.gap()).max(Money::ZERO),
        }
    }

    /// Sentence about the difference. `changes` name what was changed, such as `limit_kw=20`, and
    /// amounts are in `currency`.
    ///
    /// # Example
    ///
    /// A higher limit saves 0.80, and 3 kWh less are missing.
    ///
    /// ```
    /// use slackwater_engine::plan::questions::{PlanTotals, TotalsChange};
    /// use slackwater_engine::units::{kwh, money};
    ///
    /// let totals = |cost, shortfall| PlanTotals {
    ///     cost: money(cost),
    ///     bound: money(cost),
    ///     drawn: kwh(30.0 - shortfall),
    ///     fed: kwh(0.0),
    ///     shortfall: kwh(shortfall),
    ///     degree_hours: 0.0,
    /// };
    /// let change = TotalsChange::between(&totals(4.0, 3.0), &totals(3.2, 0.0));
    /// assert_eq!(
    ///     change.sentence(&["limit_kw=20"], "EUR"),
    ///     "With limit_kw=20, the plan would cost 0.80 EUR less, take 3 kWh more and miss 3 kWh less.",
    /// );
    /// ```
    #[must_use]
    pub fn sentence(&self, changes: &[impl AsRef<str>], currency: &str) -> String {
        if changes.is_empty() {
            return NOTHING_CHANGED.to_owned();
        }
        let names: Vec<&str> = changes.iter().map(AsRef::as_ref).collect();
        format!("With {}, {}.", names.join(" and "), self.tell(currency, true))
    }

    /// Clause `the plan would cost ...`. The energy is left out if the change names it already.
    pub(crate) fn tell(&self, currency: &str, tells_energy: bool) -> String {
        let energy = if tells_energy { self.energy } else { Energy::ZERO };
        let amounts = [("take", energy), ("miss", self.shortfall)];
        let told = amounts.into_iter().filter_map(|(verb, change)| {
            let amount = rounded(change.as_kwh().abs(), 2);
            let word = if change > Energy::ZERO { "more" } else { "less" };
            (amount != "0").then(|| format!("{verb} {amount} kWh {word}"))
        });
        let mut told: Vec<String> = told.collect();
        let outside = rounded(self.degree_hours.abs(), 2);
        if outside != "0" {
            let word = if self.degree_hours > 0.0 { "more" } else { "less" };
            told.push(format!("be outside the band by {outside} °C·h {word}"));
        }
        let cost = self.tell_cost(currency);
        match (told.pop(), told.is_empty()) {
            (None, _) => format!("the plan would {cost}"),
            (Some(last), true) => format!("the plan would {cost} and {last}"),
            (Some(last), false) => format!("the plan would {cost}, {} and {last}", told.join(", ")),
        }
    }

    /// Clause `cost 0.80 EUR less`, with the gap if it matters.
    fn tell_cost(&self, currency: &str) -> String {
        let difference = self.cost.max(Money::ZERO - self.cost);
        let word = if self.cost > Money::ZERO { "more" } else { "less" };
        let gap = self.gap.as_amount();
        let mut text = if difference.as_amount() < 5e-5 {
            "cost the same".to_owned()
        } else if difference.as_amount() < TOLD_GAP_MIN {
            format!("cost less than 0.01 {currency} {word}")
        } else {
            format!("cost {} {word}", format_amount(difference, currency))
        };
        if gap >= TOLD_GAP_MIN {
            let _ = write!(text, " (give or take {})", format_amount(self.gap, currency));
        }
        text
    }
}

/// Sentence about a plan for which nothing was changed.
pub(crate) const NOTHING_CHANGED: &str = "Nothing was changed; the cost is the same.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{kwh, money};

    #[track_caller]
    fn check(cost: f64, energy: f64, missing: f64, gap: f64, expected: &str) {
        let totals = |cost, energy, shortfall, gap: f64| PlanTotals {
            cost: money(cost),
            bound: money(cost - gap),
            drawn: kwh(energy + 1.0),
            fed: kwh(1.0),
            shortfall: kwh(shortfall),
            degree_hours: 0.0,
        };
        let before = totals(1.0, 10.0, 5.0, 0.0);
        let after = totals(1.0 + cost, 10.0 + energy, 5.0 + missing, gap);
        let change = TotalsChange::between(&before, &after);
        assert_eq!(change.sentence(&["a=1", "changed prices"], "EUR"), expected);
    }

    #[test]
    fn sentences_tell_what_differs_and_nothing_else() {
        let with = "With a=1 and changed prices, the plan would ";
        check(0.0, 0.0, 0.0, 0.0, &format!("{with}cost the same."));
        check(-0.5, 0.0, 0.0, 0.0, &format!("{with}cost 0.50 EUR less."));
        check(0.003, 0.0, 0.0, 0.0, &format!("{with}cost less than 0.01 EUR more."));
        check(0.5, 2.0, 0.0, 0.0, &format!("{with}cost 0.50 EUR more and take 2 kWh more."));
        check(
            -0.5,
            -2.5,
            2.5,
            0.02,
            &format!(
                "{with}cost 0.50 EUR less (give or take 0.02 EUR), take 2.5 kWh less and miss \
                 2.5 kWh more."
            ),
        );
    }

    #[test]
    fn comfort_is_told_beside_the_cost() {
        let totals = |cost, degree_hours| PlanTotals {
            cost: money(cost),
            bound: money(cost),
            drawn: kwh(3.0),
            fed: kwh(0.0),
            shortfall: kwh(0.0),
            degree_hours,
        };
        let change = TotalsChange::between(&totals(2.0, 0.0), &totals(1.0, 4.5));
        assert_eq!(
            change.sentence(&["power_max_kw=1"], "EUR"),
            "With power_max_kw=1, the plan would cost 1.00 EUR less and be outside the band by \
             4.5 °C·h more."
        );
    }

    #[test]
    fn nothing_changed_is_told() {
        let nothing = kwh(0.0);
        let (cost, bound) = (money(1.0), money(1.0));
        let totals = PlanTotals {
            cost,
            bound,
            drawn: kwh(1.0),
            fed: nothing,
            shortfall: nothing,
            degree_hours: 0.0,
        };
        let change = TotalsChange::between(&totals, &totals);
        assert_eq!(change.sentence(&[""; 0], "EUR"), NOTHING_CHANGED);
    }
}
