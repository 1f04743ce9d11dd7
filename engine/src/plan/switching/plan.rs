//! Plan of a device that switches: intervals, sessions, costs, unmet wishes and certificate.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::plan::{Plan, PlannedSlot, TargetOutcome};
use crate::plan::charge::request::ChargeRequest;
use crate::plan::search_status::SearchStatus;
use crate::plan::stability::stay_close::Stability;
use crate::plan::switching::request::SwitchingRequest;
use crate::tolerance::{GAP_MAX, SOLVER_AGREEMENT};
use crate::units::{Energy, Money, Power, Price};
use crate::words::words;

/// Period at one power.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SwitchingInterval {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Power throughout, at least the least power.
    #[serde(rename = "power_kw")]
    pub power: Power,
    /// True for the top-off: the last slot, which ends early at the least power.
    pub is_top_off: bool,
}

/// Session: time without pause in which the device is on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// First instant within the plan.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Energy bought.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// True if it continues a session from before the plan, so that it costs no start.
    pub is_carried: bool,
}

/// Wish that the plan does not keep, with the amount that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "wish", deny_unknown_fields)]
pub enum UnmetWish {
    /// Shortfall at a deadline.
    #[serde(rename = "target")]
    Target {
        /// Position of the target in the request.
        target: usize,
        /// Shortfall.
        #[serde(rename = "missing_kwh")]
        missing: Energy,
    },
    /// Shortfall that is due to the limits on switching.
    #[serde(rename = "switching_limits")]
    SwitchingLimits {
        /// Shortfall above that of a plan without limits on switching.
        #[serde(rename = "missing_kwh")]
        missing: Energy,
    },
    /// A session is shorter than the least time on.
    #[serde(rename = "on_min")]
    OnMin {
        /// End of the session.
        at: DateTime<Utc>,
        /// Time missing, in minutes.
        missing_minutes: f64,
    },
    /// The device does not run throughout the time before the last deadline (`run_last`).
    #[serde(rename = "run_last")]
    RunLast {
        /// Time missing, in minutes.
        missing_minutes: f64,
    },
}

impl UnmetWish {
    /// Name of the wish in serialised data.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Target { .. } => "target",
            Self::SwitchingLimits { .. } => "switching_limits",
            Self::OnMin { .. } => "on_min",
            Self::RunLast { .. } => "run_last",
        }
    }
}

words! {
    /// Method by which a plan was found.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum Method {
        /// Exact path search over all on-off patterns.
        ExactSearch = "exact_search",
        /// Mixed-integer programme on `HiGHS`.
        MixedInteger = "mixed_integer",
    }
}

impl Method {
    /// Tolerance of the gap, as a share of all amounts of money in the plan. It is 1e-6 for a
    /// solver, which has floating point tolerances of its own.
    pub(crate) fn tolerance(self) -> f64 {
        match self {
            Self::ExactSearch => GAP_MAX,
            Self::MixedInteger => SOLVER_AGREEMENT,
        }
    }
}

/// Certificate of a plan: its cost, lower bounds on the cost, and the status of the search.
///
/// Whole slots leave a duality gap, so unlike the certificate of a plan that only charges,
/// `bound` cannot be recomputed from a few numbers. The exact search proves it by covering all
/// plans, and the solver proves it for a mixed-integer programme. `relaxed_bound` is the Lagrangian
/// bound `L(λ)` at the price `λ = relaxed_price`: a shortest path through the on-off patterns. Both
/// bounds are for the energy that the plan buys. After an exact search
/// [`verify`](super::verify::verify) computes both by another method.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SwitchingCertificate {
    /// Method by which the plan was found.
    pub method: Method,
    /// True if the search was complete: its status is `Optimal`.
    pub is_complete: bool,
    /// Status at the end of the search.
    #[serde(default, skip_serializing_if = "SearchStatus::is_optimal")]
    pub status: SearchStatus,
    /// Cost of energy and starts.
    pub cost: Money,
    /// Lower bound on the cost of the plans with as little shortfall. It equals the cost if the
    /// two differ by rounding, relative to all amounts that the plan pays and is paid.
    pub bound: Money,
    /// Lagrangian bound on the cost; `None` after a mixed-integer programme, or if no search
    /// found a plan.
    pub relaxed_bound: Option<Money>,
    /// Price on energy of the Lagrangian bound.
    #[serde(rename = "relaxed_price_per_kwh")]
    pub relaxed_price: Option<Price>,
}

impl SwitchingCertificate {
    /// Cost minus bound: the most that another plan can save.
    #[must_use]
    pub fn gap(&self) -> Money {
        self.cost - self.bound
    }

    /// Returns true if the search was complete and its gap is rounding.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.status == SearchStatus::Optimal
            && self.gap().as_amount().abs() <= GAP_MAX * self.cost.as_amount().abs()
    }
}

/// Plan of a device that switches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SwitchingPlan {
    /// Request of the plan.
    pub request: SwitchingRequest,
    /// Periods at one power, in time order; neighbours of one power are merged.
    pub intervals: Vec<SwitchingInterval>,
    /// Sessions in time order.
    pub sessions: Vec<Session>,
    /// All slots that the device could use, used or not, in time order.
    pub slots: Vec<PlannedSlot>,
    /// Position of the top-off in `slots`, if there is one.
    pub top_off: Option<usize>,
    /// Energy bought.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// Cost of the energy.
    pub energy_cost: Money,
    /// Cost of the starts.
    pub start_costs: Money,
    /// Cost of energy and starts.
    pub cost: Money,
    /// Largest shortfall of any target. Zero if all targets are met.
    #[serde(rename = "shortfall_kwh")]
    pub shortfall: Energy,
    /// One outcome per target, in the order of the request.
    pub targets: Vec<TargetOutcome>,
    /// Wishes that the plan does not keep.
    pub unmet: Vec<UnmetWish>,
    /// Request for the energy that the plan delivers by each deadline.
    pub free_request: ChargeRequest,
    /// Cheapest plan for `free_request`, without limits on switching.
    pub free_plan: Plan,
    /// Cost, lower bound and status of the search. The gap of a plan that stays near the one before
    /// is its cost beyond the least.
    pub certificate: SwitchingCertificate,
    /// Distance from the plan before; `None` if the request has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<Stability>,
}

impl SwitchingPlan {
    /// Energy cost above that of the plan without limits on switching; starts are not included.
    #[must_use]
    pub fn smoothness_cost(&self) -> Money {
        self.energy_cost - self.free_plan.cost
    }

    /// Returns true if every run gives this plan, because no clock ended the search.
    #[must_use]
    pub fn is_reproducible(&self) -> bool {
        self.certificate.status != SearchStatus::TimeReached
    }

    /// Number of sessions of the plan without limits on switching.
    #[must_use]
    pub fn free_sessions(&self) -> usize {
        let intervals = &self.free_plan.intervals;
        let pauses = intervals.windows(2).filter(|pair| pair[0].end < pair[1].start).count();
        pauses + usize::from(!intervals.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::switching::planner::plan_switching;
    use crate::plan::switching::problem::SwitchingProblem;
    use crate::plan::switching::timeline::tests::{minute, request_of};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kwh, money};

    #[test]
    fn a_word_is_the_same_in_data() {
        let missing = kwh(1.0);
        let wishes = [
            UnmetWish::Target { target: 0, missing },
            UnmetWish::SwitchingLimits { missing },
            UnmetWish::OnMin { at: minute(0), missing_minutes: 1.0 },
            UnmetWish::RunLast { missing_minutes: 1.0 },
        ];
        for wish in wishes {
            assert_eq!(serde_json::to_value(wish).unwrap()["wish"], wish.as_str());
        }
        for method in [Method::ExactSearch, Method::MixedInteger] {
            assert_eq!(serde_json::to_value(method).unwrap(), method.as_str());
        }
    }

    fn certificate(cost: f64, bound: f64, status: SearchStatus) -> SwitchingCertificate {
        SwitchingCertificate {
            method: Method::MixedInteger,
            is_complete: status.is_optimal(),
            status,
            cost: money(cost),
            bound: money(bound),
            relaxed_bound: None,
            relaxed_price: None,
        }
    }

    #[test]
    fn a_plan_is_proved_if_the_search_was_complete_and_leaves_no_gap() {
        let optimal = SearchStatus::Optimal;
        assert!(certificate(4.3, 4.3, optimal).is_proved());
        assert!(certificate(-4.3, -4.3, optimal).is_proved());
        assert!(!certificate(4.3, 4.0, optimal).is_proved());
        assert!(!certificate(4.3, 4.3, SearchStatus::LimitReached).is_proved());
        assert!((certificate(4.3, 4.0, optimal).gap() - money(0.3)).as_amount().abs() < 1e-12);
    }

    #[test]
    fn smoothness_costs_what_the_dear_hour_between_two_cheap_ones_adds() {
        let mut request = request_of(20.0);
        request.start_cost = money(1.5);
        let curve = curve_of(60, &[10, 30, 10, 20]);
        let mut plan = plan_switching(&SwitchingProblem::new(request, &curve).unwrap());
        // Free choice takes both hours at 10 cents, for 2.00; one session costs 2.80.
        assert!((plan.smoothness_cost() - money(0.8)).as_amount().abs() < 1e-9);
        assert_eq!((plan.free_sessions(), plan.sessions.len()), (2, 1));
        assert!(plan.is_reproducible());
        plan.certificate.status = SearchStatus::TimeReached;
        assert!(!plan.is_reproducible());
    }
}
