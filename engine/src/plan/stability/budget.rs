//! Budget of plan stability: money that a session may cost beyond the cheapest plans.
use serde::{Deserialize, Serialize};

use crate::units::Money;

/// Money that a whole session may cost beyond the cheapest plans, so that plans change little.
/// Amounts are in units of the currency, zero or more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawBudget", into = "RawBudget")]
pub struct Budget {
    total: Money,
    spent: Money,
}

/// Budget that is not checked yet.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBudget {
    total: Money,
    spent: Money,
}

/// Reason why amounts are not a budget.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// The budget is below zero.
    #[error("budget is {} units of currency; a budget is 0 or more", total.as_amount())]
    NegativeTotal {
        /// The budget as given.
        total: Money,
    },
    /// The amount spent is below zero.
    #[error("spent is {} units of currency; it is 0 or more", spent.as_amount())]
    NegativeSpent {
        /// The amount as given.
        spent: Money,
    },
}

impl Budget {
    /// A budget of `total` for a session, of which earlier plans have spent `spent`.
    ///
    /// A total of zero keeps the previous plan only where that costs nothing.
    /// `spent` may exceed `total` after the budget was cut: then nothing is left.
    ///
    /// # Errors
    /// An amount is negative.
    pub fn new(total: Money, spent: Money) -> Result<Self, BudgetError> {
        if total < Money::ZERO {
            Err(BudgetError::NegativeTotal { total })
        } else if spent < Money::ZERO {
            Err(BudgetError::NegativeSpent { spent })
        } else {
            Ok(Self { total, spent })
        }
    }

    /// The budget of the whole session.
    #[must_use]
    pub fn total(self) -> Money {
        self.total
    }

    /// Amount that earlier plans of the session have spent.
    #[must_use]
    pub fn spent(self) -> Money {
        self.spent
    }

    /// This budget with `spent` in place of the amount spent; below zero counts as zero.
    pub(crate) fn with_spent(self, spent: Money) -> Self {
        Self { spent: spent.max(Money::ZERO), ..self }
    }

    /// Budget less the amount spent; zero or more.
    #[must_use]
    pub fn left(self) -> Money {
        (self.total - self.spent).max(Money::ZERO)
    }
}

impl TryFrom<RawBudget> for Budget {
    type Error = BudgetError;
    fn try_from(raw: RawBudget) -> Result<Self, BudgetError> {
        Self::new(raw.total, raw.spent)
    }
}

impl From<Budget> for RawBudget {
    fn from(Budget { total, spent }: Budget) -> Self {
        Self { total, spent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::money;

    #[test]
    fn amounts_below_zero_are_no_budget() {
        let text = |total, spent| Budget::new(money(total), money(spent)).unwrap_err().to_string();
        assert_eq!(text(-1.0, 0.0), "budget is -1 units of currency; a budget is 0 or more");
        assert_eq!(text(1.0, -0.5), "spent is -0.5 units of currency; it is 0 or more");
        let overspent = Budget::new(money(1.0), money(2.0)).unwrap();
        assert_eq!(overspent.left(), Money::ZERO);
        assert!(serde_json::from_str::<Budget>(r#"{"total":-1.0,"spent":0.0}"#).is_err());
        let text = serde_json::to_string(&overspent).unwrap();
        assert_eq!(serde_json::from_str::<Budget>(&text).unwrap(), overspent);
    }
}
