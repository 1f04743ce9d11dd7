//! Pricing problems: the plan of each vehicle of least cost at given duals.
pub(crate) mod block_loads;
pub(crate) mod buffers;
pub(crate) mod by_deadline;
pub(crate) mod by_segments;
pub(crate) mod context;
pub(crate) mod effective_prices;
pub(crate) mod price_room;
pub(crate) mod pricing_problem;
