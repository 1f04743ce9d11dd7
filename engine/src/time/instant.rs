//! Instants as whole microseconds since 1970, for arithmetic.
use std::ops::Range;

use chrono::{DateTime, Timelike, Utc};

/// Instants of the years 1 to 9999, in microseconds since 1970.
pub(crate) const YEARS: Range<i64> = -62_135_596_800_000_000..253_402_300_800_000_000;

/// Microseconds since 1970. A leap second counts as the second after it.
#[must_use]
pub fn micros_of(at: DateTime<Utc>) -> i64 {
    at.timestamp_micros()
}

/// The instant so many microseconds after 1970.
///
/// # Panics
///
/// The instant lies outside the years that chrono can hold (262,000 before and after today).
#[must_use]
pub fn instant_at(micros: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(micros)
        .expect("the microseconds lie between two instants that chrono can hold")
}

/// Whole microseconds from one instant to another.
///
/// Within a day by the times of the day alone: counting days takes longer
/// than all else in a slot's proof.
#[inline(always)]
pub(crate) fn micros_between(start: DateTime<Utc>, end: DateTime<Utc>) -> i64 {
    let (from, to) = (start.naive_utc(), end.naive_utc());
    if from.date() == to.date() {
        let nanos = |time: chrono::NaiveTime| {
            i64::from(time.num_seconds_from_midnight()) * 1_000_000_000
                + i64::from(time.nanosecond())
        };
        return (nanos(to.time()) - nanos(from.time())) / 1_000;
    }
    micros_of(end) - micros_of(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_the_same_within_a_day_and_across_midnight() {
        let length =
            |start: &str, end: &str| micros_between(start.parse().unwrap(), end.parse().unwrap());
        assert_eq!(length("2026-01-05T10:00:00Z", "2026-01-05T10:15:00Z"), 900_000_000);
        assert_eq!(length("2026-01-05T23:45:00Z", "2026-01-06T00:00:00Z"), 900_000_000);
        assert_eq!(length("2026-01-05T10:00:00.5Z", "2026-01-05T10:00:01Z"), 500_000);
        assert_eq!(length("2026-01-05T10:15:00Z", "2026-01-05T10:00:00Z"), -900_000_000);
    }
}
