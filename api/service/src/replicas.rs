//! Replication: changes by other processes, read into memory.
//!
//! Tables in memory answer reads, and the process that makes a change updates its own after the
//! commit. The other processes receive a notification of PostgreSQL ([`slackwater_store::notes`]),
//! read the rows again that it names, many at once, and replace their copies. They do so in the
//! writer's turn, so that no older row replaces a newer one of this process, and without an event:
//! events were written with the change.
//!
//! | File | Holds |
//! |---|---|
//! | [`following`] | receipt of notifications, and comparison of all rows after a lost connection |
//! | [`rows`] | rows of the keys in notifications |
//! | [`learning`] | replacement of rows in memory |
//! | [`telling`] | notification of the jobs of this process |

pub mod following;
pub mod learning;
pub mod rows;
pub mod telling;

pub use following::{Replicas, run};
