//! Columnar input and output: fleets, batteries and their plans, one row per vehicle.
pub(crate) mod batteries;
pub(crate) mod fleet;
pub(crate) mod plan_table;
pub(crate) mod row_error;

pub use batteries::Batteries;
pub use fleet::{Curves, Fleet, NO_TIME, Needs, TargetLists};
pub use plan_table::{Answers, StorageAnswers};
pub use row_error::RowError;
