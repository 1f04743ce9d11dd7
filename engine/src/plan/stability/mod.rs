//! Plan stability: a new plan that changes the previous one as little as a budget allows.
pub(crate) mod budget;
#[cfg(feature = "lp")]
pub(crate) mod distance;
pub(crate) mod feasible_region;
pub(crate) mod previous_powers;
pub(crate) mod stay_close;

pub use budget::{Budget, BudgetError};
pub use previous_powers::PreviousPowers;
pub use stay_close::{Stability, SteadyPlan, plan_close_to, stay_close};
