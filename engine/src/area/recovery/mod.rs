//! Recovery: one plan for every vehicle from the weights of the columns, within every limit.
pub(crate) mod plans;
pub(crate) mod repair;
pub(crate) mod residual;
pub(crate) mod room_plans;
pub(crate) mod totals;
