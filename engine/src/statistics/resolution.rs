//! The periods that samples are summed up in.
use chrono::{DateTime, Datelike, Days, Months, NaiveDate, NaiveTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::time::civil::{local_of, next_offset_change, offset_micros, start_of_date};
use crate::time::instant::{instant_at, micros_of};
use crate::words::words;

/// Microseconds in a minute.
const MINUTE: i64 = 60_000_000;

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
/// Buckets follow the calendar on a clock: at a fixed offset from UTC, or of a time zone.
///
/// At a fixed offset, the label of a bucket is the local time of its start, written as if it were
/// UTC: a label to group by, not an instant. On the clock of a zone, the label is the instant of
/// the start itself, because clocks show some local times twice. There a day has 23, 24 or 25
/// hours, the hour that clocks show twice is two buckets, and the one that they skip is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets {
    resolution: Resolution,
    clock: BucketClock,
}

/// The clock that buckets follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BucketClock {
    Fixed(UtcOffset),
    Zone(Tz),
}

/// One bucket, in microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// First instant, true UTC.
    pub(crate) start: i64,
    /// First instant after it, true UTC.
    pub(crate) end: i64,
}

impl Buckets {
    /// Buckets of that length, at that offset from UTC.
    #[must_use]
    pub fn new(resolution: Resolution, offset: UtcOffset) -> Self {
        Self { resolution, clock: BucketClock::Fixed(offset) }
    }

    /// Buckets of that length, on the clocks of a time zone.
    ///
    /// # Example: the Sunday of 23 hours
    ///
    /// ```
    /// use slackwater_engine::statistics::resolution::{Buckets, Resolution};
    /// let days = Buckets::in_zone(Resolution::Day, "Europe/Berlin".parse().unwrap());
    /// let (start, end) = days.period("2026-03-29T12:00:00Z".parse().unwrap());
    /// assert_eq!(start.to_rfc3339(), "2026-03-28T23:00:00+00:00");
    /// assert_eq!((end - start).num_hours(), 23);
    /// ```
    #[must_use]
    pub fn in_zone(resolution: Resolution, time_zone: Tz) -> Self {
        Self { resolution, clock: BucketClock::Zone(time_zone) }
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
        instant_at(self.label_of(self.bucket(micros_of(at)).start))
    }

    /// First instant of the bucket that holds `at`, and first instant after it.
    #[must_use]
    pub fn period(self, at: DateTime<Utc>) -> (DateTime<Utc>, DateTime<Utc>) {
        let bucket = self.bucket(micros_of(at));
        (instant_at(bucket.start), instant_at(bucket.end))
    }

    /// The label of the bucket that starts at an instant.
    pub(crate) fn label_of(self, start: i64) -> i64 {
        match self.clock {
            BucketClock::Fixed(offset) => start + offset.micros(),
            BucketClock::Zone(_) => start,
        }
    }

    pub(crate) fn bucket(self, at: i64) -> Bucket {
        match (self.clock, self.resolution.minutes()) {
            (BucketClock::Fixed(offset), Some(minutes)) => {
                even_bucket(at, minutes, offset.micros())
            }
            (BucketClock::Fixed(offset), None) => {
                let shift = offset.micros();
                let date = instant_at(at.saturating_add(shift)).date_naive();
                let (first, next) = self.resolution.dates(date);
                let start_of =
                    |date: NaiveDate| micros_of(date.and_time(NaiveTime::MIN).and_utc()) - shift;
                Bucket { start: start_of(first), end: start_of(next) }
            }
            (BucketClock::Zone(zone), Some(minutes)) => {
                let bucket = even_bucket(at, minutes, offset_micros(at, zone));
                // A jump inside of the bucket ends it, and begins the next one.
                Bucket {
                    start: next_offset_change(bucket.start, at, zone).unwrap_or(bucket.start),
                    end: next_offset_change(at, bucket.end - 1, zone).unwrap_or(bucket.end),
                }
            }
            (BucketClock::Zone(zone), None) => {
                let (first, next) = self.resolution.dates(local_of(instant_at(at), zone).date());
                let (start, end) = (start_of_date(first, zone), start_of_date(next, zone));
                if at < end {
                    return Bucket { start, end };
                }
                // Clocks went back over midnight: the next date began before they show this one
                // once more.
                let (_, after) = self.resolution.dates(next);
                Bucket { start: end, end: start_of_date(after, zone) }
            }
        }
    }
}

impl Resolution {
    /// Length in minutes, if it is below a day.
    fn minutes(self) -> Option<i64> {
        match self {
            Self::QuarterHour => Some(15),
            Self::HalfHour => Some(30),
            Self::Hour => Some(60),
            Self::Day | Self::Week | Self::Month | Self::Year => None,
        }
    }

    /// First date of the period that holds `date`, and first date after it; a date alone for a
    /// resolution below a day.
    fn dates(self, date: NaiveDate) -> (NaiveDate, NaiveDate) {
        // The first of a month or year exists; after it comes one more, except at the very end of
        // the calendar.
        let first = match self {
            Self::Month => date.with_day(1),
            Self::Year => date.with_ordinal(1),
            Self::Week => {
                date.checked_sub_days(Days::new(date.weekday().num_days_from_monday().into()))
            }
            Self::QuarterHour | Self::HalfHour | Self::Hour | Self::Day => Some(date),
        };
        let first = first.unwrap_or(date);
        let next = match self {
            Self::Month => first.checked_add_months(Months::new(1)),
            Self::Year => first.checked_add_months(Months::new(12)),
            Self::Week => first.checked_add_days(Days::new(7)),
            Self::QuarterHour | Self::HalfHour | Self::Hour | Self::Day => first.succ_opt(),
        };
        (first, next.unwrap_or(NaiveDate::MAX))
    }
}

/// The period of whole minutes that holds an instant, on a clock that is `shift` ahead of UTC.
fn even_bucket(at: i64, minutes: i64, shift: i64) -> Bucket {
    let length = minutes * MINUTE;
    let start = at.saturating_add(shift).div_euclid(length) * length - shift;
    Bucket { start, end: start + length }
}

/// Date `years` years earlier; 28 February in place of a 29th that does not exist.
#[must_use]
pub(crate) fn years_before(at: DateTime<Utc>, years: u32) -> DateTime<Utc> {
    at.checked_sub_months(Months::new(12 * years)).unwrap_or(DateTime::<Utc>::MIN_UTC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::Timelike;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    const DAY_MICROS: i64 = 24 * 60 * MINUTE;

    /// Starts of consecutive buckets on the clocks of a zone, and their lengths in minutes.
    fn shown(resolution: Resolution, zone: Tz, from: &str, count: usize) -> Vec<(String, i64)> {
        let buckets = Buckets::in_zone(resolution, zone);
        let mut at: DateTime<Utc> = from.parse().unwrap();
        let next = |_| {
            let (start, end) = buckets.period(at);
            at = end;
            let text = start.with_timezone(&zone).format("%a %F %H:%M %z").to_string();
            (text, (end - start).num_minutes())
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn local_buckets_follow_clocks_through_their_changes() {
        let check = |resolution, zone, from, expected: &[(&str, i64)]| {
            let expected: Vec<(String, i64)> =
                expected.iter().map(|&(text, minutes)| (text.to_owned(), minutes)).collect();
            assert_eq!(shown(resolution, zone, from, expected.len()), expected);
        };
        let berlin = chrono_tz::Europe::Berlin;
        let spring = [("Sun 2026-03-29 01:00 +0100", 60), ("Sun 2026-03-29 03:00 +0200", 60)];
        check(Resolution::Hour, berlin, "2026-03-29T00:00:00Z", &spring);
        let autumn = [("Sun 2026-10-25 02:00 +0200", 60), ("Sun 2026-10-25 02:00 +0100", 60)];
        check(Resolution::Hour, berlin, "2026-10-25T00:00:00Z", &autumn);
        let days = [("Sun 2026-10-25 00:00 +0200", 1500), ("Mon 2026-10-26 00:00 +0100", 1440)];
        check(Resolution::Day, berlin, "2026-10-25T12:00:00Z", &days);
        let weeks = [("Mon 2026-03-23 00:00 +0100", 7 * 1440 - 60)];
        check(Resolution::Week, berlin, "2026-03-29T21:00:00Z", &weeks);
        let months = [("Thu 2026-10-01 00:00 +0200", 31 * 1440 + 60)];
        check(Resolution::Month, berlin, "2026-10-31T22:59:00Z", &months);
        check(
            Resolution::Year,
            berlin,
            "2025-12-31T23:00:00Z",
            &[("Thu 2026-01-01 00:00 +0100", 525_600)],
        );
        // Half an hour of Lord Howe is shown twice: the jump cuts the hour.
        let lord_howe = [
            ("Sun 2026-04-05 01:00 +1100", 60),
            ("Sun 2026-04-05 01:30 +1030", 30),
            ("Sun 2026-04-05 02:00 +1030", 60),
        ];
        check(
            Resolution::Hour,
            chrono_tz::Australia::Lord_Howe,
            "2026-04-04T14:00:00Z",
            &lord_howe,
        );
        // Clocks of Beirut skip midnight, those of St. John's showed one twice.
        let beirut = [("Sun 2026-03-29 01:00 +0300", 1380)];
        check(Resolution::Day, chrono_tz::Asia::Beirut, "2026-03-29T01:00:00Z", &beirut);
        let st_johns = [("Sun 2010-11-07 00:00 -0230", 1500)];
        check(Resolution::Day, chrono_tz::America::St_Johns, "2010-11-07T02:45:00Z", &st_johns);
        // 30 December 2011 never came in Apia.
        let apia = [("Thu 2011-12-29 00:00 -1000", 1440), ("Sat 2011-12-31 00:00 +1400", 1440)];
        check(Resolution::Day, chrono_tz::Pacific::Apia, "2011-12-29T12:00:00Z", &apia);
    }

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
    fn every_offset_of_whole_minutes_is_kept_and_quarters_go_to_the_nearest() {
        for minutes in -840..=840_i64 {
            let hours = minutes as f64 / 60.0;
            assert_eq!(UtcOffset::from_hours(hours).map(UtcOffset::as_minutes), Ok(minutes));
        }
        for quarters in -3_360..=3_360_i64 {
            let minutes = UtcOffset::from_hours(quarters as f64 / 240.0).unwrap().as_minutes();
            assert!((4 * minutes - quarters).abs() <= 2, "{quarters} quarters of a minute");
        }
    }

    /// The instants around which calendars go wrong: 1970, a leap day, ends of a year, 2100.
    #[test]
    fn buckets_of_every_offset_tile_the_ends_of_the_calendar() {
        let days = ["1970-01-01", "2000-02-29", "2023-12-31", "2024-03-01", "2100-03-01"];
        for day in days {
            let midnight = micros_of(format!("{day}T00:00:00Z").parse().unwrap());
            for (resolution, minutes) in
                Resolution::ALL.into_iter().flat_map(|r| (-840..=840).map(move |m| (r, m)))
            {
                let buckets = Buckets::new(resolution, UtcOffset { minutes });
                for at in [midnight - 1, midnight, midnight - minutes * MINUTE] {
                    let bucket = buckets.bucket(at);
                    assert!(
                        bucket.start <= at && at < bucket.end,
                        "{day} {resolution:?} {minutes}"
                    );
                    assert_eq!(buckets.bucket(bucket.end - 1), bucket);
                    assert_eq!(buckets.bucket(bucket.end).start, bucket.end);
                }
            }
        }
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
            prop_assert_eq!(buckets.label_of(bucket.start), bucket.start + minutes * MINUTE);
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
            let shifted = Buckets::new(resolution, UtcOffset { minutes });
            let moved = Buckets::new(resolution, UtcOffset::default());
            let at_offset = instant_at(at + minutes * MINUTE);
            prop_assert_eq!(shifted.label(instant_at(at)), moved.label(at_offset));
        }

        /// Buckets of a zone tile time, in every zone, around every change of its clocks; each
        /// begins on a time that its clocks show as a beginning, or with a jump.
        #[test]
        fn buckets_of_a_zone_tile_time(
            zone in 0..chrono_tz::TZ_VARIANTS.len(),
            day in 0..365 * 80_i64,
            shift in 0..DAY_MICROS,
            resolution in prop::sample::select(Resolution::ALL.to_vec()),
        ) {
            let zone = chrono_tz::TZ_VARIANTS[zone];
            let buckets = Buckets::in_zone(resolution, zone);
            let from = day * DAY_MICROS;
            // An instant of the day, and the change of clocks that comes next.
            let change = next_offset_change(from, from + 250 * DAY_MICROS, zone).unwrap_or(from);
            for at in [from + shift, change - 1, change, change + shift / 24] {
                let bucket = buckets.bucket(at);
                prop_assert!(bucket.start <= at && at < bucket.end, "{at} {bucket:?} {zone}");
                prop_assert_eq!(buckets.bucket(bucket.start), bucket);
                prop_assert_eq!(buckets.bucket(bucket.end - 1), bucket);
                prop_assert_eq!(buckets.bucket(bucket.end).start, bucket.end);
                let is_jump = next_offset_change(bucket.start - 1, bucket.start, zone).is_some();
                let local = local_of(instant_at(bucket.start), zone);
                let minutes = i64::from(local.num_seconds_from_midnight()) / 60;
                prop_assert!(is_jump || minutes % resolution.minutes().unwrap_or(24 * 60) == 0);
            }
        }
    }
}
