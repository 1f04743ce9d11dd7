//! Tables in memory that answer reads: users, devices, locations, plans and prices.
//!
//! The store is written first and these tables after it, by the same writer, so that they never
//! show a change that a crash would take back. Reads use no other source.

pub mod control;
pub mod device_change;
pub mod grid;
pub mod index;
pub mod limits;
pub mod plans;
pub mod price_book;
pub mod price_lookup;
pub mod recorders;
pub mod tables;
pub mod unit_plans;
pub mod vendor_index;
