//! Plan stability: a new plan that changes the previous one as little as a budget allows.
pub(crate) mod budget;
pub(crate) mod feasible_region;
pub(crate) mod stay_close;

pub use budget::{Budget, BudgetError};
pub use stay_close::{Stability, SteadyPlan, plan_close_to, stay_close};
