//! Smart charging: policies of users, and the plans that follow from them.
//!
//! A plan follows from a policy, readings and prices, and is made again when one of them changes or
//! when the plan itself is due: a queue of due times for single devices, rows with leases for areas
//! whose prices changed. The crate `slackwater-control` makes the request, the engine the plan.

pub mod area;
pub mod area_load;
pub(crate) mod beside;
pub mod crowding;
pub mod facts;
pub mod flex_body;
pub mod follow;
pub mod limit_change;
pub mod limits;
pub mod making;
pub mod patching;
pub mod planner;
pub mod pricing;
pub mod show;
pub mod unit;

pub use crate::plans::follow::{PlanOrder, charging_need, is_in_force, wanted, wanted_in};
pub use crate::plans::planner::{replan, schedule_plan};
