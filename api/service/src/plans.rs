//! Smart charging: what is to be done with devices, and when they charge for it.
//!
//! A policy says what its user wants. Plans follow from policies, readings and
//! prices, and are made again when one of them changes or when their own time
//! comes: a queue of due times for single devices, rows with leases for areas
//! whose prices changed. Everything that is decided is decided in the engine.

pub mod area;
mod beside;
pub mod facts;
pub mod flex_body;
pub mod follow;
pub mod limits;
pub mod making;
pub mod patching;
pub mod planner;
pub mod pricing;
pub mod show;

pub use crate::plans::follow::{Wanted, is_in_force, wanted, wanted_in};
pub use crate::plans::planner::{look_again, replan};
