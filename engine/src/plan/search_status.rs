//! Status of a search: the reason why a planner that searches stopped.
use serde::{Deserialize, Serialize};

#[cfg(feature = "lp")]
use crate::lp::{LpError, MipStatus};
use crate::words::words;

words! {
    /// Reason why a search stopped.
    ///
    /// Of two searches in a row the greater status in this order is reported.
    /// [`Self::TimeReached`] is the greatest, because only it says that another
    /// run may give another plan.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum SearchStatus {
        /// The search is complete: no cheaper plan exists, to the tolerance of the
        /// certificate.
        #[default]
        Optimal = "optimal",
        /// A limit on nodes or on work was reached; the gap bounds the possible gain.
        LimitReached = "limit_reached",
        /// The solver stopped without a result, violated a constraint or contradicted
        /// itself. The plan keeps all limits, but a better one may exist.
        SolverFailed = "solver_failed",
        /// The bound lies above the cost of the plan, so one of the two is wrong.
        BoundAboveCost = "bound_above_cost",
        /// The limit on seconds was reached; another run may find another plan.
        TimeReached = "time_reached",
    }
}

impl SearchStatus {
    /// Returns `true` if the search is complete.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        *self == Self::Optimal
    }
}

/// Status of a mixed-integer search that returned a solution.
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

/// Status of a mixed-integer search that returned no solution.
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
            | LpError::BadStart { .. }
            | LpError::Stopped => Self::SolverFailed,
        }
    }
}
