//! Two central systems on one charge point: this one, and an *upstream* one to which this system is the
//! charge point.
//!
//! Requests of the charge point go upstream, and the answers come back, text by text as they are.
//! Limits of the upstream system are kept here and combined with ours: the lower wins. While the
//! upstream system is away, this one answers, and keeps messages about transactions for it.

pub mod backlog;
pub mod calls;
pub mod machine;
pub mod shared;
pub mod theirs;
