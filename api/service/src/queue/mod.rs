//! Queues in memory: devices by due time, and results that are written in groups.
//!
//! | File | Holds |
//! |---|---|
//! | [`due`] | queue of keys by due time |
//! | [`polls`] | polls of devices |
//! | [`orders`] | pursuits of actions, and evaluations of controls |
//! | [`outages`] | manufacturers that do not answer |
//! | [`plans`] | plans of devices, and bells of areas |
//! | `renewals` | accounts whose tokens are renewed, and tokens that are not stored yet |
//! | [`waiting`] | results that wait for a common commit |

pub mod due;
pub mod orders;
pub mod outages;
pub mod plans;
pub mod polls;
pub(crate) mod renewals;
pub mod waiting;
