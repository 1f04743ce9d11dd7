//! Queues in memory: devices by due time, and results that are written in groups.
//!
//! | File | Holds |
//! |---|---|
//! | [`due`] | queue of keys by due time |
//! | [`polls`] | polls of devices |
//! | [`orders`] | pursuits of actions, and evaluations of controls |
//! | [`plans`] | plans of devices, and bells of areas |
//! | [`waiting`] | results that wait for a common commit |

pub mod due;
pub mod orders;
pub mod plans;
pub mod polls;
pub mod waiting;
