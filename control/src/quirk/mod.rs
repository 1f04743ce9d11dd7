//! Deviations of charge points from the protocol: known ones as data, and a probe that finds them.
//!
//! | File | Content |
//! |---|---|
//! | [`kind`] | kinds of deviations, and their effect on the restrictions of a charge point |
//! | [`catalogue`] | deviations by maker, model and firmware, read from `models.toml` |
//! | [`probe`] | trials on an unknown charge point while it is idle |
pub mod catalogue;
pub mod kind;
pub mod probe;
