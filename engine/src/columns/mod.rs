//! Columnar input and output: fleets, batteries and their plans, one row per vehicle.
pub(crate) mod batteries;
pub(crate) mod fleet;
pub(crate) mod intervals;
pub(crate) mod load_curve;
pub(crate) mod plan_table;
pub(crate) mod row_error;

pub use batteries::Batteries;
pub use fleet::{Curves, Fleet, NO_TIME, Needs, TargetLists};
pub use intervals::IntervalColumns;
pub use load_curve::{LoadCurve, LoadCurveError};
pub use plan_table::{ChargeNumbers, PlanTable, StorageNumbers};
pub use row_error::RowError;
