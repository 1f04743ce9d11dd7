//! Prices as step functions of time.
pub mod curve;
pub mod layers;
pub mod table;
