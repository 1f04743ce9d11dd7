//! Deadlines: conversion of a time of day to the next instant that it denotes.
use chrono::{DateTime, NaiveTime, Utc};
use chrono_tz::Tz;

use crate::time::civil::occurrences;

/// Next instant, strictly after `now`, at which clocks in `time_zone` show `time`.
///
/// A time of day equal to the wall clock at `now` means the next day. A time that clocks skip
/// takes the offset before the jump; an ambiguous time is taken as its first occurrence. For an
/// unknown zone pass `Tz::UTC`.
///
/// # Example
///
/// On a winter evening in Oslo (one hour ahead of UTC) seven in the morning
/// is ten hours away.
///
/// ```
/// # use slackwater_engine::time::deadline::next_deadline;
/// let oslo = "Europe/Oslo".parse().unwrap();
/// let seven = "07:00:00".parse().unwrap();
/// let deadline = next_deadline(seven, oslo, "2026-01-15T20:00:00Z".parse().unwrap());
/// assert_eq!(deadline.to_rfc3339(), "2026-01-16T06:00:00+00:00");
/// ```
///
/// # Example: the hour that clocks show twice
///
/// Clocks in Oslo go back from 03:00 to 02:00 on 25 October 2026. "Ready by
/// 02:30" is the first occurrence; once that has passed, the answer is tomorrow.
///
/// ```
/// # use slackwater_engine::time::deadline::next_deadline;
/// # let oslo = "Europe/Oslo".parse().unwrap();
/// let half_past_two = "02:30:00".parse().unwrap();
/// let before = "2026-10-24T22:00:00Z".parse().unwrap();
/// assert_eq!(next_deadline(half_past_two, oslo, before).to_rfc3339(), "2026-10-25T00:30:00+00:00");
/// let between = "2026-10-25T01:00:00Z".parse().unwrap();
/// assert_eq!(next_deadline(half_past_two, oslo, between).to_rfc3339(), "2026-10-26T01:30:00+00:00");
/// ```
#[must_use]
pub fn next_deadline(time: NaiveTime, time_zone: Tz, now: DateTime<Utc>) -> DateTime<Utc> {
    occurrences(time, time_zone, now).next().unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::civil::{Showing, local_of, showing};
    use chrono::TimeDelta;
    use proptest::prelude::*;

    #[track_caller]
    fn check(zone: &str, time: &str, now: &str, expected: &str) {
        let answer =
            next_deadline(time.parse().unwrap(), zone.parse().unwrap(), now.parse().unwrap());
        assert_eq!(answer, expected.parse::<DateTime<Utc>>().unwrap());
    }

    #[test]
    fn strictly_after_now() {
        check("UTC", "07:00:00", "2026-01-15T07:00:00Z", "2026-01-16T07:00:00Z");
        check("UTC", "07:00:00", "2026-01-15T06:59:59Z", "2026-01-15T07:00:00Z");
    }

    #[test]
    fn a_skipped_time_takes_the_offset_before_the_jump() {
        check("Europe/Berlin", "02:30:00", "2026-03-28T20:00:00Z", "2026-03-29T01:30:00Z");
        // Half an hour is skipped on Lord Howe Island.
        check("Australia/Lord_Howe", "02:15:00", "2026-10-03T12:00:00Z", "2026-10-03T15:45:00Z");
    }

    #[test]
    fn after_the_jump_the_skipped_time_is_still_ahead_today() {
        // 01:10Z is 03:10 summer time; "02:30" was read as 01:30Z.
        check("Europe/Berlin", "02:30:00", "2026-03-29T01:10:00Z", "2026-03-29T01:30:00Z");
    }

    #[test]
    fn a_day_that_never_happened_costs_nothing() {
        check("Pacific/Apia", "07:00:00", "2011-12-29T18:00:00Z", "2011-12-30T17:00:00Z");
    }

    proptest! {
        /// In every zone, around every kind of clock change: strictly after
        /// now, within two days, and the wall clock shows the time wanted
        /// unless the clock skips it.
        #[test]
        fn next_deadline_is_near_and_right(
            zone in 0..chrono_tz::TZ_VARIANTS.len(),
            minute in 0..1440u32,
            hours in 0..24 * 366 * 12i64,
            seconds in 0..3600i64,
        ) {
            let zone = chrono_tz::TZ_VARIANTS[zone];
            let time = NaiveTime::from_hms_opt(minute / 60, minute % 60, 0).unwrap();
            let start: DateTime<Utc> = "2020-01-01T00:00:00Z".parse().unwrap();
            let now = start + TimeDelta::hours(hours) + TimeDelta::seconds(seconds);
            let deadline = next_deadline(time, zone, now);
            prop_assert!(deadline > now && deadline <= now + TimeDelta::hours(49));
            let shown = local_of(deadline, zone);
            let skipped_on = |date: chrono::NaiveDate| {
                matches!(showing(date.and_time(time), zone), Showing::Never { .. })
            };
            let date = shown.date();
            prop_assert!(
                shown.time() == time || skipped_on(date) || skipped_on(date.pred_opt().unwrap())
            );
        }
    }
}
