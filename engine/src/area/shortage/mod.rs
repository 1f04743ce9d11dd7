//! Shortage: the least energy that limits withhold, and each vehicle's share of it.
pub(crate) mod fair_shares;
pub(crate) mod measure;
pub(crate) mod mixed_integer;
pub(crate) mod relax_reserves;
pub(crate) mod split;
