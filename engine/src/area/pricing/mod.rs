//! Pricing problems: the best answer of vehicles to given prices.
pub(crate) mod block_loads;
pub(crate) mod buffers;
pub(crate) mod by_deadline;
pub(crate) mod by_segments;
pub(crate) mod context;
pub(crate) mod effective_prices;
pub(crate) mod oracle;
