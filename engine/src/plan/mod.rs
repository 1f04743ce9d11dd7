//! Plans for one vehicle: the cheapest energy before every deadline.
pub mod baseline;
pub mod brief;
pub mod budget;
pub mod certificate;
pub mod charge;
pub mod choice;
pub mod counterfactual;
pub mod departure;
pub mod diff;
pub mod document;
pub mod duration;
pub mod estimates;
pub mod explain;
pub mod flaw;
pub mod gaps;
pub mod kept;
#[expect(clippy::module_inception, reason = "a plan is the central noun of this folder")]
pub mod plan;
pub mod planned;
pub mod problem;
pub mod replay;
pub mod search_status;
#[cfg(feature = "lp")]
pub mod site;
pub mod sources;
pub mod stability;
pub mod storage;
pub mod switching;
pub mod vehicle;

pub(crate) mod chosen;
mod frame;
pub(crate) mod pieces;
pub(crate) mod ranked;
pub(crate) mod sums;
pub(crate) mod threshold;
