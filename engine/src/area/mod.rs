//! Many vehicles at once.
pub mod answers;
pub mod batch;
pub mod beside;
pub mod fleet;
pub mod requests;
pub mod storage;

mod room;

#[cfg(feature = "lp")]
pub mod coordinate;
#[cfg(feature = "lp")]
pub mod limits;
#[cfg(feature = "lp")]
pub mod outcome;
#[cfg(feature = "lp")]
pub mod parts;
#[cfg(feature = "lp")]
pub mod problem;
#[cfg(feature = "lp")]
pub mod rows;
#[cfg(feature = "lp")]
pub mod shared;
#[cfg(feature = "lp")]
pub mod stability;
#[cfg(feature = "lp")]
pub mod store;
#[cfg(feature = "lp")]
pub mod sums;
#[cfg(feature = "lp")]
pub mod watch;

#[cfg(feature = "lp")]
mod answer;
#[cfg(feature = "lp")]
mod asked;
#[cfg(feature = "lp")]
mod branch;
#[cfg(feature = "lp")]
mod exact;
#[cfg(feature = "lp")]
mod fill;
#[cfg(feature = "lp")]
mod grains;
#[cfg(feature = "lp")]
mod hear;
#[cfg(feature = "lp")]
mod lack;
#[cfg(feature = "lp")]
mod lanes;
#[cfg(feature = "lp")]
mod left;
#[cfg(feature = "lp")]
mod master;
#[cfg(feature = "lp")]
mod nested;
#[cfg(feature = "lp")]
mod repair;
#[cfg(feature = "lp")]
mod rounds;
#[cfg(feature = "lp")]
mod settle;
#[cfg(feature = "lp")]
mod share;
#[cfg(feature = "lp")]
mod signal;
#[cfg(feature = "lp")]
mod staff;
#[cfg(feature = "lp")]
mod stages;
#[cfg(feature = "lp")]
mod stays;
#[cfg(feature = "lp")]
mod terms;
#[cfg(feature = "lp")]
mod tree;
#[cfg(feature = "lp")]
mod wishes;
