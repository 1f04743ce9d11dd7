//! The periods that samples are summed up in.
use chrono::{DateTime, Datelike, Months, NaiveDate, NaiveTime, Utc};
use serde::{Deserialize, Serialize};

use crate::time::instant::{instant_at, micros_of};
use crate::words::words;

/// Microseconds in a minute and in a day.
const MINUTE: i64 = 60_000_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// Largest offset, in hours, in either direction.
const OFFSET_MAX: f64 = 14.0;

/// Hours of a hundred years: no label of a bucket leaves the calendar by it.
const ANY_OFFSET_MAX: f64 = 876_600.0;

words! {
    /// Length of a bucket; the finest is the first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Resolution {
        /// 15 minutes.
        QuarterHour = "quarter_hour",
        /// 30 minutes.
        HalfHour = "half_hour",
        /// 60 minutes.
        Hour = "hour",
        /// A day of the calendar.
        Day = "day",
        /// Seven days from Monday on, as ISO 8601 counts weeks.
        Week = "week",
        /// A month of the calendar.
        Month = "month",
        /// A year of the calendar.
        Year = "year",
    }
}

impl Resolution {
    /// The resolution of that name, in small or capital letters.
    ///
    /// # Errors
    /// There is no such resolution.
    pub fn from_name(name: &str) -> Result<Self, BucketError> {
        let known = Self::ALL.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(name));
        known.ok_or_else(|| BucketError::UnknownResolution { name: name.to_owned() })
    }
}

/// Reason why samples cannot be put into the requested buckets.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BucketError {
    /// There is no such resolution.
    #[error(
        "resolution is {name:?}; it is one of quarter_hour, half_hour, hour, day, week, month, year"
    )]
    UnknownResolution {
        /// The name as given.
        name: String,
    },
    /// The offset is no number, or leads out of the calendar.
    #[error("utc_offset_hours is {hours} h; it is a number of at most {ANY_OFFSET_MAX} h")]
    AnyOffset {
        /// The hours as given.
        hours: f64,
    },
    /// The offset is no number of hours from -14 to 14.
    #[error("utc_offset_hours is {hours} h; it lies in -14 h to 14 h")]
    Offset {
        /// The hours as given.
        hours: f64,
    },
}

/// Fixed offset from UTC, in whole minutes. It is not a time zone and has no daylight saving
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub struct UtcOffset {
    minutes: i64,
}

impl UtcOffset {
    /// The offset of so many hours, rounded to the nearest whole minute; half
    /// a minute is rounded away from zero.
    ///
    /// The range holds for the hours as given, before they are rounded.
    ///
    /// # Errors
    /// `hours` is not finite or lies outside -14 to 14.
    ///
    /// # Example: a twelfth of an hour is five minutes
    ///
    /// ```
    /// use slackwater_engine::statistics::resolution::UtcOffset;
    /// assert_eq!(UtcOffset::from_hours(1.0 / 12.0)?.as_minutes(), 5);
    /// assert_eq!(UtcOffset::from_hours(-0.375)?.as_minutes(), -23);
    /// assert!(UtcOffset::from_hours(14.001).is_err());
    /// # Ok::<(), slackwater_engine::statistics::resolution::BucketError>(())
    /// ```
    pub fn from_hours(hours: f64) -> Result<Self, BucketError> {
        if !(-OFFSET_MAX..=OFFSET_MAX).contains(&hours) {
            return Err(BucketError::Offset { hours });
        }
        Ok(Self { minutes: (hours * 60.0).round() as i64 })
    }

    /// The offset of so many hours where no range is stated, which is so in
    /// versions before the latest: any that leads to a date of the calendar.
    ///
    /// # Errors
    /// `hours` is not finite, or more than a hundred years.
    pub fn from_any_hours(hours: f64) -> Result<Self, BucketError> {
        if !(-ANY_OFFSET_MAX..=ANY_OFFSET_MAX).contains(&hours) {
            return Err(BucketError::AnyOffset { hours });
        }
        Ok(Self { minutes: (hours * 60.0).round() as i64 })
    }

    /// The offset in minutes.
    #[must_use]
    pub fn as_minutes(self) -> i64 {
        self.minutes
    }

    fn micros(self) -> i64 {
        self.minutes * MINUTE
    }
}

/// A rule that puts every instant into one bucket.
///
/// Buckets follow the calendar at a fixed offset from UTC. The label of a
/// bucket is the local time of its start, written as if it were UTC: a label
/// to group by, not an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets {
    resolution: Resolution,
    offset: UtcOffset,
}

/// One bucket, in microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// First instant, true UTC.
    pub(crate) start: i64,
    /// First instant after it, true UTC.
    pub(crate) end: i64,
    /// Start on the shifted clock, written as UTC.
    pub(crate) label: i64,
}

impl Buckets {
    /// Buckets of that length, at that offset from UTC.
    #[must_use]
    pub fn new(resolution: Resolution, offset: UtcOffset) -> Self {
        Self { resolution, offset }
    }

    /// The length of the buckets.
    #[must_use]
    pub fn resolution(self) -> Resolution {
        self.resolution
    }

    /// The label of the bucket that holds an instant.
    ///
    /// # Example: a day at two hours ahead of UTC starts at 22:00Z
    ///
    /// ```
    /// use slackwater_engine::statistics::resolution::{Buckets, Resolution, UtcOffset};
    /// let days = Buckets::new(Resolution::Day, UtcOffset::from_hours(2.0)?);
    /// let at = "2024-01-01T22:00:00Z".parse().unwrap();
    /// assert_eq!(days.label(at).to_rfc3339(), "2024-01-02T00:00:00+00:00");
    /// # Ok::<(), slackwater_engine::statistics::resolution::BucketError>(())
    /// ```
    #[must_use]
    pub fn label(self, at: DateTime<Utc>) -> DateTime<Utc> {
        instant_at(self.bucket(micros_of(at)).label)
    }

    /// First instant of the bucket that holds `at`, and first instant after it.
    #[must_use]
    pub fn period(self, at: DateTime<Utc>) -> (DateTime<Utc>, DateTime<Utc>) {
        let bucket = self.bucket(micros_of(at));
        (instant_at(bucket.start), instant_at(bucket.end))
    }

    /// The label of the bucket that starts at an instant.
    pub(crate) fn label_of(self, start: i64) -> i64 {
        start + self.offset.micros()
    }

    pub(crate) fn bucket(self, at: i64) -> Bucket {
        let shift = self.offset.micros();
        let local = at.saturating_add(shift);
        let (label, end) = match self.resolution {
            Resolution::QuarterHour => even(local, 15 * MINUTE),
            Resolution::HalfHour => even(local, 30 * MINUTE),
            Resolution::Hour => even(local, 60 * MINUTE),
            Resolution::Day => even(local, DAY),
            // 1970 began on a Thursday, three days after a Monday.
            Resolution::Week => {
                let (start, end) = even(local + 3 * DAY, 7 * DAY);
                (start - 3 * DAY, end - 3 * DAY)
            }
            Resolution::Month => by_date(local, |date| date.with_day(1), Months::new(1)),
            Resolution::Year => by_date(local, |date| date.with_ordinal(1), Months::new(12)),
        };
        Bucket { start: label - shift, end: end - shift, label }
    }
}

fn even(local: i64, length: i64) -> (i64, i64) {
    let start = local.div_euclid(length) * length;
    (start, start + length)
}

/// A period that starts on a first of something and lasts some months.
fn by_date(
    local: i64,
    first: impl Fn(NaiveDate) -> Option<NaiveDate>,
    months: Months,
) -> (i64, i64) {
    let date = instant_at(local).date_naive();
    // The first of a month or year exists; after it comes one more, except
    // at the very end of the calendar.
    let start = first(date).unwrap_or(date);
    let end = start.checked_add_months(months).unwrap_or(NaiveDate::MAX);
    let midnight = |date: NaiveDate| micros_of(date.and_time(NaiveTime::MIN).and_utc());
    (midnight(start), midnight(end))
}

/// Date `years` years earlier; 28 February in place of a 29th that does not exist.
#[must_use]
pub(crate) fn years_before(at: DateTime<Utc>, years: u32) -> DateTime<Utc> {
    at.checked_sub_months(Months::new(12 * years)).unwrap_or(DateTime::<Utc>::MIN_UTC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    #[track_caller]
    fn check(resolution: Resolution, hours: f64, at: &[&str], expected: &Expect) {
        let buckets = Buckets::new(resolution, UtcOffset::from_hours(hours).unwrap());
        let labels: Vec<String> = at
            .iter()
            .map(|at| format!("{at} {}\n", buckets.label(at.parse().unwrap()).format("%FT%TZ")))
            .collect();
        expected.assert_eq(&labels.concat());
    }

    #[test]
    fn calendar_buckets_follow_the_offset_and_are_labels() {
        check(
            Resolution::Day,
            2.0,
            &["2024-02-29T21:59:59Z", "2024-02-29T22:00:00Z"],
            &expect![[r#"
                2024-02-29T21:59:59Z 2024-02-29T00:00:00Z
                2024-02-29T22:00:00Z 2024-03-01T00:00:00Z
            "#]],
        );
        check(
            Resolution::Year,
            -1.0,
            &["2024-01-01T00:59:59Z", "2024-01-01T01:00:00Z"],
            &expect![[r#"
                2024-01-01T00:59:59Z 2023-01-01T00:00:00Z
                2024-01-01T01:00:00Z 2024-01-01T00:00:00Z
            "#]],
        );
        check(
            Resolution::Month,
            14.0,
            &["2024-02-29T09:59:59Z", "2024-02-29T10:00:00Z"],
            &expect![[r#"
                2024-02-29T09:59:59Z 2024-02-01T00:00:00Z
                2024-02-29T10:00:00Z 2024-03-01T00:00:00Z
            "#]],
        );
    }

    #[test]
    fn weeks_start_on_monday_across_the_year() {
        check(
            Resolution::Week,
            0.0,
            &["2024-12-29T23:59:59Z", "2024-12-30T00:00:00Z", "2025-01-01T12:00:00Z"],
            &expect![[r#"
                2024-12-29T23:59:59Z 2024-12-23T00:00:00Z
                2024-12-30T00:00:00Z 2024-12-30T00:00:00Z
                2025-01-01T12:00:00Z 2024-12-30T00:00:00Z
            "#]],
        );
    }

    #[test]
    fn shorter_buckets_are_shifted_and_not_shifted_back() {
        check(
            Resolution::HalfHour,
            5.75,
            &["2024-01-01T10:00:00Z", "2024-01-01T10:15:00Z"],
            &expect![[r#"
                2024-01-01T10:00:00Z 2024-01-01T15:30:00Z
                2024-01-01T10:15:00Z 2024-01-01T16:00:00Z
            "#]],
        );
    }

    #[test]
    fn a_range_is_for_the_latest_version_only() {
        assert!(UtcOffset::from_hours(14.5).is_err());
        assert_eq!(UtcOffset::from_any_hours(14.5).map(UtcOffset::as_minutes), Ok(870));
        assert_eq!(UtcOffset::from_any_hours(-0.375).map(UtcOffset::as_minutes), Ok(-23));
        for hours in [f64::NAN, f64::INFINITY, -1e300, 876_600.5] {
            assert!(UtcOffset::from_any_hours(hours).is_err(), "{hours}");
        }
    }

    #[test]
    fn offsets_are_rounded_to_the_nearest_minute() {
        let minutes = |hours: f64| UtcOffset::from_hours(hours).map(UtcOffset::as_minutes).ok();
        let given = [0.008, 0.01, 0.375, -0.375, 5.75, 14.0, -14.0, 1.0 / 3.0];
        let rounded = given.map(minutes);
        let expected = [0, 1, 23, -23, 345, 840, -840, 20];
        assert_eq!(rounded, expected.map(Some));
        for outside in [14.001, -14.5, f64::NAN, f64::INFINITY] {
            assert_eq!(minutes(outside), None, "{outside}");
        }
        let text = UtcOffset::from_hours(15.0).unwrap_err().to_string();
        assert_eq!(text, "utc_offset_hours is 15 h; it lies in -14 h to 14 h");
    }

    #[test]
    fn a_resolution_goes_by_its_name() {
        for known in Resolution::ALL {
            let shouted = known.as_str().to_uppercase();
            assert_eq!(Resolution::from_name(&shouted), Ok(known));
        }
        let text = Resolution::from_name("MINUTE").unwrap_err().to_string();
        assert!(text.starts_with("resolution is \"MINUTE\"; it is one of quarter_hour"), "{text}");
    }

    proptest! {
        /// Buckets tile time: an instant lies in its bucket, and the next
        /// bucket starts where this one ends.
        #[test]
        fn buckets_tile_time(
            at in -4_000_000_000_000_000..8_000_000_000_000_000_i64,
            resolution in prop::sample::select(Resolution::ALL.to_vec()),
            minutes in -840..=840_i64,
        ) {
            let buckets = Buckets::new(resolution, UtcOffset { minutes });
            let bucket = buckets.bucket(at);
            prop_assert!(bucket.start <= at && at < bucket.end);
            prop_assert_eq!(bucket.label, bucket.start + minutes * MINUTE);
            prop_assert_eq!(buckets.bucket(bucket.start), bucket);
            prop_assert_eq!(buckets.bucket(bucket.end - 1), bucket);
            prop_assert_eq!(buckets.bucket(bucket.end).start, bucket.end);
        }

        /// EP-23: an offset is the same as moving the instant.
        #[test]
        fn an_offset_moves_the_instant(
            at in 0..4_000_000_000_000_000_i64,
            resolution in prop::sample::select(Resolution::ALL.to_vec()),
            minutes in -840..=840_i64,
        ) {
            let shifted = Buckets::new(resolution, UtcOffset { minutes }).bucket(at).label;
            let moved = Buckets::new(resolution, UtcOffset::default()).bucket(at + minutes * MINUTE);
            prop_assert_eq!(shifted, moved.label);
        }
    }
}
