//! What is reported about an area: plans, prices of limits, unmet need, changes.
pub(crate) mod close_to;
pub(crate) mod outcome;
pub(crate) mod table;
