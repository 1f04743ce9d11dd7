//! Plans for one vehicle: the cheapest energy before every deadline.
pub mod charge;
pub(crate) mod interval;
pub mod questions;
pub mod record;
pub(crate) mod search_status;
#[cfg(feature = "lp")]
pub mod site;
pub mod stability;
pub mod storage;
pub mod switching;

pub use interval::Interval;
pub use search_status::SearchStatus;
