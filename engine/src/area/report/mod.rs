//! Report of an area: plans, shadow prices, unmet need, and the change from previous plans.
pub(crate) mod causes;
pub(crate) mod close_to;
pub(crate) mod forgone;
pub(crate) mod heat_units;
pub(crate) mod outcome;
pub(crate) mod table;
