//! Plans of several requests within a shared power limit.
//!
//! [`plan_in_residual_capacity`] plans one request in the power that the others leave, without
//! changing their plans, and [`plan_beside_profile`] many, one after the other; [`planned_load`] adds
//! plans up, and [`find_crowding_loads`] names those that leave another one no room. The power is a
//! [`SharedLimit`], which may change in time. `plan_within_capacity` plans
//! all requests together; `wrap_around` is McNaughton's rule, by which vehicles take turns within a slot.
#[cfg(feature = "lp")]
pub(crate) mod capacity;
#[cfg(feature = "lp")]
pub(crate) mod gaps;
pub(crate) mod incremental;
pub(crate) mod limit;
pub(crate) mod limit_users;
pub(crate) mod load_profile;
#[cfg(feature = "lp")]
pub(crate) mod wish;
#[cfg(feature = "lp")]
pub(crate) mod wrap_around;

#[cfg(feature = "lp")]
pub use capacity::plan_within_capacity;
pub use incremental::{
    IncrementalPlan, OtherLoad, PlannedLoad, ReplanReason, hold_current, plan_beside_profile,
    plan_in_residual_capacity, planned_load, reason_to_replan,
};
pub use limit::{LimitStep, SharedLimit, SharedLimitError};
pub use limit_users::{LimitUser, find_crowding_loads, find_limit_users};
pub use load_profile::LoadProfile;
#[cfg(feature = "lp")]
pub use wish::{SharedPower, SharedWish};
