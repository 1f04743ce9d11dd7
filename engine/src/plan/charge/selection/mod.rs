//! Selection of the cheapest slots for one energy, one deadline and one power.
//!
//! `ranked` searches bit sets of the price order of a shared curve, `threshold` the prices
//! themselves. `slot_selection` prices the slots found, with the sums of `ordered_sum`, so that
//! both searches give the same bits.
pub(crate) mod ordered_sum;
pub(crate) mod ranked;
pub(crate) mod slot_selection;
pub(crate) mod threshold;
