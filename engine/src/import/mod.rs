//! What foreign price lists and driving logs mean.
//!
//! An importer reads columns out of a file and hands them over as they are.
//! What a wall clock, a position or a step count means as an instant, what a
//! unit means as a price per kWh, and what a missing value means, is decided
//! here. Nothing is made up: what a list leaves out is a gap, and what was
//! dropped or resolved is named in a report.
pub mod civil_series;
pub mod driving;
pub mod driving_error;
pub mod driving_report;
pub mod finding;
pub mod period_series;
pub mod price_unit;
pub mod series;
