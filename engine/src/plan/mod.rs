//! Plans of single vehicles, batteries, switching devices and sites.
//!
//! `charge`, `storage`, `heat`, `switching` and `site` are planners, and `evcc` is that of a
//! contract; `capacity` plans a battery where the measured power has a price, `policy` decides
//! slot by slot while prices are uncertain, and `rolling_intrinsic` trades a battery against an
//! order book. `stability` keeps a new plan close to the previous one, `questions` compares and
//! explains plans, `evaluation` prices them under other facts, `record` stores them and plans them
//! again.
#[cfg(feature = "lp")]
pub mod capacity;
pub mod charge;
pub mod evaluation;
#[cfg(feature = "lp")]
pub mod evcc;
pub mod heat;
pub(crate) mod interval;
pub mod policy;
pub mod questions;
pub mod record;
pub mod rolling_intrinsic;
pub(crate) mod search_status;
#[cfg(feature = "lp")]
pub mod site;
pub mod stability;
pub mod storage;
pub mod switching;
pub(crate) mod verification;

pub use interval::{Interval, emissions_of};
pub use search_status::SearchStatus;
pub use verification::{Check, Stated};
