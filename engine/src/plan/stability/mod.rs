//! A new plan that stays close to the one before, within a budget.
pub(crate) mod budget;
pub(crate) mod feasible_region;
pub(crate) mod stay_close;

pub use budget::{Budget, BudgetError};
pub use stay_close::{Stability, SteadyPlan, plan_close_to, stay_close};
