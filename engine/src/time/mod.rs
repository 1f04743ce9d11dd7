//! Instants, periods, and the one place where wall clocks become instants.
//!
//! Every period is half open, `[start, end)`. Instants are kept to the
//! microsecond; finer digits are dropped.
pub mod backoff;
pub mod civil;
pub mod deadline;
pub mod horizon;
pub mod hour_minute;
pub mod instant;
pub mod serde_micros;
pub mod serde_zone;
pub(crate) mod wall;
