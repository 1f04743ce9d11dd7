//! What a device that switches is to do, with all that a caller asks of it.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::certificate::GAP_MAX;
use crate::plan::charge::plan::{Plan, PlannedSlot, TargetOutcome};
use crate::plan::charge::request::ChargeRequest;
use crate::plan::search_status::SearchStatus;
use crate::plan::switching::request::SwitchingRequest;
use crate::units::{Energy, Money, Power, Price};

/// A period at one power.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchingInterval {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Power throughout, the least or more.
    #[serde(rename = "power_kw")]
    pub power: Power,
    /// Whether this is the last slot, which ends early at the least power.
    pub is_top_off: bool,
}

/// Time without pause in which the device is on.
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
    /// Whether it goes on from before, so that it costs no start.
    pub is_carried: bool,
}

/// A wish that could not be kept, by name and by how much.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "wish", deny_unknown_fields)]
pub enum UnmetWish {
    /// Energy is missing at a deadline.
    #[serde(rename = "target")]
    Target {
        /// Position in the request.
        target: usize,
        /// Energy missing.
        #[serde(rename = "missing_kwh")]
        missing: Energy,
    },
    /// Energy is missing that would not be without limits on switching.
    #[serde(rename = "switching_limits")]
    SwitchingLimits {
        /// Energy that power and time alone would have allowed.
        #[serde(rename = "missing_kwh")]
        missing: Energy,
    },
    /// A session is shorter than the least time to be on.
    #[serde(rename = "on_min")]
    OnMin {
        /// End of the session.
        at: DateTime<Utc>,
        /// Time missing, in minutes.
        missing_minutes: f64,
    },
    /// The device does not run throughout the last minutes.
    #[serde(rename = "run_last")]
    RunLast {
        /// Time missing, in minutes.
        missing_minutes: f64,
    },
}

impl UnmetWish {
    /// The wish as a word, the same as in serialised data.
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

/// How a plan was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// A complete search: no way to switch was left out.
    #[serde(rename = "exact_search")]
    ExactSearch,
    /// A mixed-integer programme on `HiGHS`.
    #[serde(rename = "mixed_integer")]
    MixedInteger,
}

impl Method {
    /// The method as a word, the same as in serialised data.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ExactSearch => "exact_search",
            Self::MixedInteger => "mixed_integer",
        }
    }

    /// Part of what is at stake that is rounding: a solver works with floating
    /// point tolerances of its own.
    pub(crate) fn tolerance(self) -> f64 {
        match self {
            Self::ExactSearch => GAP_MAX,
            Self::MixedInteger => 1e-6,
        }
    }
}

/// Cost of a plan, the bound that no plan can undercut, and who says so.
///
/// Whole slots leave a gap that prices cannot close, so unlike the proof of a
/// plan that only charges, `bound` is not rebuilt from a few numbers: for an
/// exact search it is the word of the search, which leaves no plan out, and
/// for a mixed-integer programme that of the solver. What anybody can check
/// is `relaxed_bound`: with a kWh worth `relaxed_price`, no path of switching
/// is shorter. Both are about the energy that the plan buys.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchingCertificate {
    /// How the plan was found.
    pub method: Method,
    /// Whether the search was complete: its status is `Optimal`.
    pub is_complete: bool,
    /// How the search ended.
    #[serde(default, skip_serializing_if = "SearchStatus::is_optimal")]
    pub status: SearchStatus,
    /// Cost of energy and starts.
    pub cost: Money,
    /// Cost that no plan with as little energy missing can undercut. It is the cost
    /// where the two differ by rounding beside all that the plan pays and is paid.
    pub bound: Money,
    /// Bound from a price on energy alone.
    pub relaxed_bound: Option<Money>,
    /// That price.
    #[serde(rename = "relaxed_price_per_kwh")]
    pub relaxed_price: Option<Price>,
}

impl SwitchingCertificate {
    /// Cost minus bound: most that could be left on the table.
    #[must_use]
    pub fn gap(&self) -> Money {
        self.cost - self.bound
    }

    /// Whether the search was complete and its gap is nothing but rounding.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.status == SearchStatus::Optimal
            && self.gap().as_amount().abs() <= GAP_MAX * self.cost.as_amount().abs()
    }
}

/// The cheapest way to switch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchingPlan {
    /// What was asked.
    pub request: SwitchingRequest,
    /// Periods at one power, in time order; neighbours of one power are merged.
    pub intervals: Vec<SwitchingInterval>,
    /// Time without pause in which the device is on, in time order.
    pub sessions: Vec<Session>,
    /// All slots the device could use, used or not, in time order.
    pub slots: Vec<PlannedSlot>,
    /// Position of the slot that is run in part, if there is one.
    pub top_off: Option<usize>,
    /// Energy bought.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// What the energy costs.
    pub energy_cost: Money,
    /// What the starts cost.
    pub start_costs: Money,
    /// Both together.
    pub cost: Money,
    /// Most energy missing at any deadline. Zero when all targets are met.
    #[serde(rename = "shortfall_kwh")]
    pub shortfall: Energy,
    /// One outcome per target, in the order of the request.
    pub targets: Vec<TargetOutcome>,
    /// Wishes that could not be kept.
    pub unmet: Vec<UnmetWish>,
    /// What the plan delivers by each deadline, as a request.
    pub free_request: ChargeRequest,
    /// The cheapest plan for it without limits on switching.
    pub free_plan: Plan,
    /// How good the plan is, and who says so.
    pub certificate: SwitchingCertificate,
}

impl SwitchingPlan {
    /// What the energy costs more than it would without limits on switching.
    /// Starts are not in it.
    #[must_use]
    pub fn smoothness_cost(&self) -> Money {
        self.energy_cost - self.free_plan.cost
    }

    /// Whether every run gives this plan: no clock ended the search.
    #[must_use]
    pub fn is_reproducible(&self) -> bool {
        self.certificate.status != SearchStatus::TimeReached
    }

    /// Sessions of the plan without limits on switching.
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
