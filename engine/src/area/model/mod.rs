//! Model of an area: sessions and rooms ready for pricing, and limits as penalty functions.
pub(crate) mod battery;
pub(crate) mod deadlines;
pub(crate) mod energy_by_slot;
pub(crate) mod linking;
pub(crate) mod rooms;
pub(crate) mod session;
pub(crate) mod sessions;
