//! Time series of energy and money: buckets, sessions, savings that add up.
pub mod charging;
pub mod columns;
pub mod fixed;
pub mod hem;
pub mod measurements;
pub mod range;
pub mod recording;
pub mod resolution;
pub mod sample;
pub mod sample_columns;
pub mod savings;
pub mod sessions;
mod span;
mod tally;
pub mod totals;
pub mod week;
