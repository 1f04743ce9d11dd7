//! Column generation: pricing rounds, restricted masters, Lagrangian bound and dual smoothing, on
//! one level (`single_level`) or on two (`two_level`).
pub(crate) mod dual_ascent;
pub(crate) mod master;
pub(crate) mod pricing_round;
pub(crate) mod search_state;
pub(crate) mod single_level;
pub(crate) mod smoothing;
pub(crate) mod subtree;
pub(crate) mod subtree_master;
pub(crate) mod two_level;
