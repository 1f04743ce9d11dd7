//! Rate limits: requests of a client in a period.
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::config::{Budget, RateLimitClass};

/// A budget of requests that is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the limit `{}` of {} requests in {} s is reached",
    .limited.as_str(), .budget.requests, .budget.seconds
)]
pub struct BudgetSpent {
    /// Requests that share the budget.
    pub limited: RateLimitClass,
    /// The budget.
    pub budget: Budget,
    /// Time until it is renewed.
    pub wait: Duration,
}

/// Requests of a client since a time.
#[derive(Debug, Clone, Copy)]
struct Spent {
    since: Duration,
    requests: u32,
}

/// Rest of each budget. Times are measured from the start of the process.
#[derive(Debug, Default)]
pub struct Budgets {
    spent: Mutex<HashMap<(String, RateLimitClass), Spent>>,
}

impl Budgets {
    /// Takes one request from a budget. It is renewed as a whole, its span after
    /// the first request that was taken from it.
    ///
    /// # Errors
    /// The budget is spent.
    pub fn take(
        &self,
        client_id: &str,
        limited: RateLimitClass,
        budget: Budget,
        now: Duration,
    ) -> Result<(), BudgetSpent> {
        let span = Duration::from_secs(u64::from(budget.seconds));
        let mut all = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (client_id.to_owned(), limited);
        let spent = all.entry(key).or_insert(Spent { since: now, requests: 0 });
        let over = spent.since.saturating_add(span);
        if now >= over {
            *spent = Spent { since: now, requests: 0 };
        }
        if spent.requests >= budget.requests {
            let wait = spent.since.saturating_add(span).saturating_sub(now);
            return Err(BudgetSpent { limited, budget, wait });
        }
        spent.requests += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_renewed_after_its_span() {
        let budgets = Budgets::default();
        let budget = Budget { requests: 2, seconds: 60 };
        let at = |seconds| {
            let now = Duration::from_secs(seconds);
            budgets
                .take("a", RateLimitClass::Link, budget, now)
                .map_err(|spent| spent.wait.as_secs())
        };
        assert_eq!([at(10), at(11), at(12)], [Ok(()), Ok(()), Err(58)]);
        assert_eq!([at(69), at(70), at(70), at(70)], [Err(1), Ok(()), Ok(()), Err(60)]);
        let now = Duration::from_secs(12);
        assert_eq!(budgets.take("b", RateLimitClass::Link, budget, now), Ok(()));
        assert_eq!(budgets.take("a", RateLimitClass::Requests, budget, now), Ok(()));
    }

    #[test]
    fn a_budget_of_nothing_answers_nothing() {
        let budget = Budget { requests: 0, seconds: 1 };
        let taken = Budgets::default().take("a", RateLimitClass::Link, budget, Duration::ZERO);
        assert_eq!(taken.map_err(|spent| spent.wait), Err(Duration::from_secs(1)));
    }
}
