//! Columnar input and output: fleets, batteries, rooms and their plans, one row each.
pub(crate) mod batteries;
pub(crate) mod fleet;
pub(crate) mod intervals;
pub(crate) mod load_curve;
pub(crate) mod plan_table;
pub(crate) mod rooms;
pub(crate) mod row_error;

pub use batteries::Batteries;
pub use fleet::{Curves, Fleet, NO_TIME, Needs, TargetLists};
pub use intervals::IntervalColumns;
pub use load_curve::{LoadCurve, LoadCurveError};
pub use plan_table::{ChargeNumbers, HeatNumbers, PlanTable, StorageNumbers};
pub use rooms::{RoomError, Rooms};
pub use row_error::RowError;
