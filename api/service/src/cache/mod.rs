//! What reads are answered from: users, devices and places, in memory.
//!
//! The store is written first and these tables after it, by the same writer, so
//! that they never show what a crash would take back. Reads ask nobody else.

pub mod control;
pub mod index;
pub mod plans;
pub mod price_book;
pub mod price_lookup;
pub mod recorders;
pub mod tables;
