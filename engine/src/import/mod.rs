//! Import of price lists and driving logs.
//!
//! An importer receives columns as they are in a file. This module converts wall clock times,
//! positions and step counts to instants, units to a price per kWh, and missing values to gaps.
//! It invents no value: missing rows are gaps, and rows that were dropped or resolved are named
//! in a report.
mod calendar_step;
pub mod civil_series;
pub mod driving;
pub mod driving_error;
pub mod driving_report;
pub mod finding;
pub mod period_series;
pub mod price_unit;
pub mod series;
pub mod series_unit;
