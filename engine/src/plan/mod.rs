//! Planners of one vehicle, battery, switching device or site, and what is made of their plans.
//!
//! `charge`, `storage`, `switching` and `site` are planners. `stability` keeps a new plan close
//! to an old one, `questions` compares and explains plans, `record` stores and repeats them.
pub mod charge;
pub mod questions;
pub mod record;
pub(crate) mod search_status;
#[cfg(feature = "lp")]
pub mod site;
pub mod stability;
pub mod storage;
pub mod switching;

pub use search_status::SearchStatus;
