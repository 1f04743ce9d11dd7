//! Why one row of a table cannot be planned.
use chrono::{DateTime, Utc};

use crate::plan::charge::request::ChargeRequestError;
use crate::plan::charge::vehicle::VehicleError;
use crate::plan::storage::request::StorageError;
use crate::units::UnitError;

/// Why one vehicle cannot be planned. The others are planned all the same.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum RowError {
    /// A column has no value in this row.
    #[error("{column} is missing")]
    Missing {
        /// Name of the column.
        column: &'static str,
    },
    /// A value is not a quantity.
    #[error("{column}: {source}")]
    NotAQuantity {
        /// Name of the column.
        column: &'static str,
        /// What is wrong with the value.
        source: UnitError,
    },
    /// A value below zero.
    #[error("{column} is {value} {unit}; it is 0 {unit} or more")]
    Negative {
        /// Name of the column.
        column: &'static str,
        /// The value as given.
        value: f64,
        /// Its unit.
        unit: &'static str,
    },
    /// A weight that a share of a shortage cannot be divided by.
    #[error("priority is {value}; it is a number from 1e-12 to 1e12")]
    Priority {
        /// The value as given.
        value: f64,
    },
    /// A least power that the vehicle never has.
    #[error("power_min_kw is {power_min_kw} kW, above power_max_kw, which is {power_max_kw} kW")]
    PowerMin {
        /// The least power as given.
        power_min_kw: f64,
        /// The highest power as given.
        power_max_kw: f64,
    },
    /// The vehicle leaves before it comes.
    #[error("departure at {departure} is before arrival at {arrival}")]
    DepartureBeforeArrival {
        /// When the vehicle comes.
        arrival: DateTime<Utc>,
        /// When it leaves.
        departure: DateTime<Utc>,
    },
    /// There is no such price curve.
    #[error("price_id names no price curve")]
    UnknownPrice,
    /// The battery makes no sense.
    #[error(transparent)]
    Vehicle(#[from] VehicleError),
    /// The wishes make no sense.
    #[error(transparent)]
    Request(#[from] ChargeRequestError),
    /// A battery that discharges makes no sense.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The planner panicked on the row.
    #[error("planning this row failed by a fault of slackwater; please report it with the row")]
    Defect,
}

/// Plans one row; a panic is an error of that row, so that it stops no other.
pub(crate) fn catch_defect<T>(plan: impl FnOnce() -> Result<T, RowError>) -> Result<T, RowError> {
    // The caller throws away what the row has touched.
    let planned = std::panic::catch_unwind(std::panic::AssertUnwindSafe(plan));
    planned.unwrap_or(Err(RowError::Defect))
}
