//! Instants as whole microseconds since 1970, for arithmetic.
use chrono::{DateTime, Utc};

/// Microseconds since 1970. A leap second counts as the second after it.
pub(crate) fn micros_of(at: DateTime<Utc>) -> i64 {
    at.timestamp_micros()
}

/// The instant so many microseconds after 1970.
pub(crate) fn instant_at(micros: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(micros)
        .expect("the microseconds lie between two instants that chrono can hold")
}
