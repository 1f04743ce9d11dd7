//! Time cut where the clocks of a zone pass a time of day, or jump.
use chrono::{NaiveDateTime, Timelike};
use chrono_tz::Tz;

use crate::time::civil::{local_of, next_offset_change};
use crate::time::hour_minute::MINUTES_PER_DAY;
use crate::time::instant::instant_at;

const MICROS_PER_MINUTE: i64 = 60_000_000;

/// A piece of time in which clocks run on without a jump and pass no cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// First microsecond since 1970.
    pub(crate) start: i64,
    /// First microsecond after it.
    pub(crate) end: i64,
    /// Wall clock time at the start.
    pub(crate) local: NaiveDateTime,
}

/// Cuts `[from, to)` at each local midnight, at each of `minutes` of the day on the wall clock
/// (ascending), and at each jump of the clocks.
///
/// Any function of date, weekday and those times of day is constant in each piece. A skipped time
/// gives no cut; a doubled one gives two.
pub(crate) fn stretches(
    time_zone: Tz,
    from: i64,
    to: i64,
    minutes: &[u16],
) -> impl Iterator<Item = Stretch> + '_ {
    let mut start = from;
    std::iter::from_fn(move || {
        if start >= to {
            return None;
        }
        let local = local_of(instant_at(start), time_zone);
        // Clocks are taken to run on; a jump before the cut ends the piece earlier.
        let end = (start + until_next_cut(local, minutes)).min(to);
        let end = next_offset_change(start, end - 1, time_zone).unwrap_or(end);
        let stretch = Stretch { start, end, local };
        start = end;
        Some(stretch)
    })
}

/// Microseconds until clocks that run on show the next cut.
fn until_next_cut(local: NaiveDateTime, minutes: &[u16]) -> i64 {
    let seconds = i64::from(local.num_seconds_from_midnight());
    let shown = seconds * 1_000_000 + i64::from(local.nanosecond() / 1_000);
    let passed = minutes.partition_point(|&minute| i64::from(minute) * MICROS_PER_MINUTE <= shown);
    let next = minutes.get(passed).copied().unwrap_or(MINUTES_PER_DAY);
    i64::from(next) * MICROS_PER_MINUTE - shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::instant::micros_of;
    use chrono::{DateTime, Utc};
    use proptest::prelude::*;

    fn at(text: &str) -> i64 {
        micros_of(text.parse::<DateTime<Utc>>().unwrap())
    }

    /// Starts of the pieces as clocks show them, with the length in minutes.
    fn shown(zone: Tz, from: &str, to: &str, minutes: &[u16]) -> Vec<(String, i64)> {
        stretches(zone, at(from), at(to), minutes)
            .map(|s| (s.local.format("%a %H:%M").to_string(), (s.end - s.start) / 60_000_000))
            .collect()
    }

    fn pieces(expected: &[(&str, i64)]) -> Vec<(String, i64)> {
        expected.iter().map(|&(local, minutes)| (local.into(), minutes)).collect()
    }

    #[test]
    fn a_plain_day_is_cut_at_its_times() {
        let day = shown(Tz::UTC, "2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z", &[360, 1320]);
        assert_eq!(day, pieces(&[("Mon 00:00", 360), ("Mon 06:00", 960), ("Mon 22:00", 120)]));
    }

    #[test]
    fn the_skipped_hour_is_no_piece() {
        // Clocks in Berlin jump from 02:00 to 03:00 on 29 March 2026.
        let zone = chrono_tz::Europe::Berlin;
        let night = shown(zone, "2026-03-28T23:00:00Z", "2026-03-29T02:00:00Z", &[120, 150, 180]);
        assert_eq!(night, pieces(&[("Sun 00:00", 120), ("Sun 03:00", 60)]));
    }

    #[test]
    fn the_doubled_hour_is_cut_twice() {
        let zone = chrono_tz::Europe::Berlin;
        let night = shown(zone, "2026-10-24T22:00:00Z", "2026-10-25T03:00:00Z", &[120, 150, 180]);
        assert_eq!(
            night,
            pieces(&[
                ("Sun 00:00", 120),
                ("Sun 02:00", 30),
                ("Sun 02:30", 30),
                ("Sun 02:00", 30),
                ("Sun 02:30", 30),
                ("Sun 03:00", 60),
            ])
        );
    }

    #[test]
    fn nothing_is_cut_from_no_time() {
        assert_eq!(stretches(Tz::UTC, 5, 5, &[]).count(), 0);
        assert_eq!(stretches(Tz::UTC, 5, 4, &[]).count(), 0);
    }

    proptest! {
        /// In every zone, week after week: the pieces tile the time, and in
        /// each the clock runs on without passing a cut.
        #[test]
        fn pieces_tile_and_hold_no_cut(
            zone in 0..chrono_tz::TZ_VARIANTS.len(),
            week in 0..52 * 80i64,
            mut minutes in prop::collection::vec(1..1440u16, 0..4),
        ) {
            let zone = chrono_tz::TZ_VARIANTS[zone];
            let from = week * 7 * 86_400_000_000;
            let to = from + 7 * 86_400_000_000 + 1;
            minutes.sort_unstable();
            let mut end = from;
            for s in stretches(zone, from, to, &minutes) {
                prop_assert!(s.start == end && s.end > s.start);
                end = s.end;
                let length = chrono::TimeDelta::microseconds(s.end - 1 - s.start);
                let last = local_of(instant_at(s.end - 1), zone);
                prop_assert_eq!(last, s.local + length);
                prop_assert_eq!(last.date(), s.local.date());
                let minute = |local: NaiveDateTime| (local.hour() * 60 + local.minute()) as u16;
                let (first, last) = (minute(s.local), minute(last));
                prop_assert!(minutes.iter().all(|&cut| cut <= first || cut > last));
            }
            prop_assert_eq!(end, to);
        }
    }
}
