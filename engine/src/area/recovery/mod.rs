//! From weights of columns to one plan for every vehicle, within every limit.
pub(crate) mod plans;
pub(crate) mod repair;
pub(crate) mod residual;
pub(crate) mod totals;
