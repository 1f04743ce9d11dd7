//! Solution of an area with given needs and penalties: duals from samples, column generation,
//! primal recovery.
pub(crate) mod area_instance;
pub(crate) mod recover;
pub(crate) mod sampled_plans;
pub(crate) mod sampling;
pub(crate) mod search;
