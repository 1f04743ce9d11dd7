//! Sets of the cheapest slots for one energy and one deadline.
pub(crate) mod ordered_sum;
pub(crate) mod ranked;
pub(crate) mod slot_selection;
pub(crate) mod threshold;
