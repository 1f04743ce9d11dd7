//! One solution of an area: column generation, then recovery.
pub(crate) mod recover;
pub(crate) mod sampling;
pub(crate) mod solve_subproblem;
pub(crate) mod subproblem;
