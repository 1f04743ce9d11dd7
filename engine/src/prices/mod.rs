//! Prices as step functions, and which of several prices counts.
pub mod combine;
pub mod cost;
pub mod currency;
pub mod curve;
pub mod layers;
pub mod overlay;
pub(crate) mod ranking;
pub mod resolve;
pub mod signal;
pub mod table;
pub mod tariff;
