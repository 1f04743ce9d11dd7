//! How the search for a plan ended, told by every planner that searches.
use serde::{Deserialize, Serialize};

#[cfg(feature = "lp")]
use crate::lp::{LpError, MipStatus};

/// How a search ended. Of two searches in a row the later one in this order
/// is told: [`Self::TimeReached`] is the last, because only it says that
/// another run may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum SearchStatus {
    /// No plan was left out: nothing cheaper exists, to the tolerance of the
    /// certificate.
    #[default]
    #[serde(rename = "optimal")]
    Optimal,
    /// A limit on nodes or on work was reached; the gap says what may be left.
    #[serde(rename = "limit_reached")]
    LimitReached,
    /// The solver gave up, broke a constraint, or contradicts itself. The plan
    /// keeps all limits, but a better one may exist.
    #[serde(rename = "solver_failed")]
    SolverFailed,
    /// The bound is above the cost of the plan, so one of the two is wrong.
    #[serde(rename = "bound_above_cost")]
    BoundAboveCost,
    /// The limit on seconds was reached; another run may find another plan.
    #[serde(rename = "time_reached")]
    TimeReached,
}

impl SearchStatus {
    /// Whether no plan was left out.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        *self == Self::Optimal
    }

    /// The status as a word, the same as in serialised data.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Optimal => "optimal",
            Self::LimitReached => "limit_reached",
            Self::SolverFailed => "solver_failed",
            Self::BoundAboveCost => "bound_above_cost",
            Self::TimeReached => "time_reached",
        }
    }
}

/// A search that gave an answer.
#[cfg(feature = "lp")]
impl From<MipStatus> for SearchStatus {
    fn from(ended: MipStatus) -> Self {
        match ended {
            MipStatus::Optimal => Self::Optimal,
            MipStatus::NodeLimit | MipStatus::IterationLimit => Self::LimitReached,
            MipStatus::TimeLimit => Self::TimeReached,
            MipStatus::Disputed => Self::SolverFailed,
        }
    }
}

/// A search that gave no answer.
#[cfg(feature = "lp")]
impl From<LpError> for SearchStatus {
    fn from(error: LpError) -> Self {
        match error {
            LpError::TimeLimit => Self::TimeReached,
            LpError::NodeLimit | LpError::IterationLimit => Self::LimitReached,
            LpError::Infeasible
            | LpError::Unbounded
            | LpError::BadColumn { .. }
            | LpError::BadRow { .. }
            | LpError::BadInteger
            | LpError::Stopped => Self::SolverFailed,
        }
    }
}
