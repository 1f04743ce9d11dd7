//! Who bears what of the energy that cannot be delivered.
pub(crate) mod fair_shares;
pub(crate) mod measure;
pub(crate) mod mixed_integer;
pub(crate) mod relax_reserves;
