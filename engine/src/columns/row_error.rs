//! Errors of single rows, and the boundary that turns a panic into one.
use chrono::{DateTime, Utc};

use crate::plan::charge::request::ChargeRequestError;
use crate::plan::charge::vehicle::VehicleError;
use crate::plan::storage::request::StorageError;
use crate::units::UnitError;

/// Error of one row, which cannot be planned. The other rows are planned.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// A column has no value in this row.
    #[error("{column} is missing")]
    Missing {
        /// Name of the column.
        column: &'static str,
    },
    /// A value cannot be converted to its quantity.
    #[error("{column}: {source}")]
    NotAQuantity {
        /// Name of the column.
        column: &'static str,
        /// Error of the conversion.
        source: UnitError,
    },
    /// A value is below zero.
    #[error("{column} is {value} {unit}; it is 0 {unit} or more")]
    Negative {
        /// Name of the column.
        column: &'static str,
        /// The value as given.
        value: f64,
        /// Its unit.
        unit: &'static str,
    },
    /// The priority is out of range, so that a share of a shortage cannot be divided by it.
    #[error("priority is {value}; it is a number from 1e-12 to 1e12")]
    Priority {
        /// The value as given.
        value: f64,
    },
    /// The least power is above the highest power.
    #[error("power_min_kw is {power_min_kw} kW, above power_max_kw, which is {power_max_kw} kW")]
    PowerMin {
        /// The least power as given.
        power_min_kw: f64,
        /// The highest power as given.
        power_max_kw: f64,
    },
    /// A need that only vehicles without discharge may have.
    #[error(
        "{column} is not planned for a vehicle that discharges; its needs are reserve_percent and \
         target_percent"
    )]
    Discharging {
        /// Name of the column.
        column: &'static str,
    },
    /// The departure is before the arrival.
    #[error("departure at {departure} is before arrival at {arrival}")]
    DepartureBeforeArrival {
        /// Time of arrival.
        arrival: DateTime<Utc>,
        /// Time of departure.
        departure: DateTime<Utc>,
    },
    /// The price curve of the row does not exist.
    #[error("price_id names no price curve")]
    UnknownPrice,
    /// The battery is invalid.
    #[error(transparent)]
    Vehicle(#[from] VehicleError),
    /// The charge request is invalid.
    #[error(transparent)]
    Request(#[from] ChargeRequestError),
    /// The battery that discharges is invalid.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The planner panicked on this row.
    #[error("internal error of slackwater in this row; please report it with the row")]
    Defect,
}

/// Runs the plan of one row, and returns a panic as [`RowError::Defect`], so that it affects no
/// other row.
pub(crate) fn catch_defect<T>(plan: impl FnOnce() -> Result<T, RowError>) -> Result<T, RowError> {
    // `AssertUnwindSafe`: the caller discards everything that the row has written.
    let planned = std::panic::catch_unwind(std::panic::AssertUnwindSafe(plan));
    planned.unwrap_or(Err(RowError::Defect))
}
