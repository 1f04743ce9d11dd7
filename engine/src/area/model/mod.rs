//! Vehicles and limits of an area, made ready for the solver.
pub(crate) mod battery;
pub(crate) mod deadlines;
pub(crate) mod energy_by_slot;
pub(crate) mod linking;
pub(crate) mod session;
pub(crate) mod sessions;
