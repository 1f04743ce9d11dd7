//! Conversion of wall clock times to instants. It is the only place that resolves gaps and folds.
use chrono::{
    DateTime, Days, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeZone, Utc,
};
use chrono_tz::{GapInfo, Tz};

use crate::time::instant::{instant_at, micros_of};

/// Edition of the IANA tables of time zones, such as `2025b`.
///
/// The tables are compiled in. The meaning of a wall clock time changes with this edition, never
/// with the machine.
pub const ZONES_VERSION: &str = chrono_tz::IANA_TZDB_VERSION;

/// Microseconds in a second.
const MICROS_PER_SECOND: i64 = 1_000_000;

/// Distance between probes of a zone's offset. No two changes of any zone in the IANA tables lie
/// closer together than 167 hours.
const OFFSET_PROBE_MICROS: i64 = 48 * 3600 * MICROS_PER_SECOND;

/// Occurrences of a local time on the clocks of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Showing {
    /// Clocks show it once.
    Once(DateTime<Utc>),
    /// Clocks show it twice: the hour is repeated in autumn.
    Twice {
        /// The first occurrence.
        first: DateTime<Utc>,
        /// The second occurrence.
        second: DateTime<Utc>,
    },
    /// Clocks skip it. The instant takes the offset before the jump.
    Never {
        /// The local time read with the offset that held before the jump.
        before_jump: DateTime<Utc>,
    },
}

/// Returns the occurrences of `local` on the clocks of `time_zone`.
#[must_use]
pub fn showing(local: NaiveDateTime, time_zone: Tz) -> Showing {
    match time_zone.from_local_datetime(&local) {
        MappedLocalTime::Single(only) => Showing::Once(only.to_utc()),
        MappedLocalTime::Ambiguous(first, second) => {
            Showing::Twice { first: first.to_utc(), second: second.to_utc() }
        }
        MappedLocalTime::None => {
            // A skipped time lies in a gap, and every gap begins.
            let before = GapInfo::new(&local, &time_zone).and_then(|gap| gap.begin);
            let local = before.map_or(local, |(_, offset)| local - offset.fix());
            Showing::Never { before_jump: local.and_utc() }
        }
    }
}

/// The instant at which clocks in `time_zone` show `local`.
///
/// An ambiguous time is taken as its first occurrence. A time that clocks skip
/// takes the offset before the jump, so it lies as far after the jump as it
/// would have lain in the missing hour.
///
/// # Example: the two surprises of a year in Oslo
///
/// ```
/// use slackwater_engine::time::civil::instant_of;
/// let oslo = "Europe/Oslo".parse().unwrap();
/// let skipped = instant_of("2026-03-29T02:30:00".parse().unwrap(), oslo);
/// let doubled = instant_of("2026-10-25T02:30:00".parse().unwrap(), oslo);
/// assert_eq!(skipped.to_rfc3339(), "2026-03-29T01:30:00+00:00");
/// assert_eq!(doubled.to_rfc3339(), "2026-10-25T00:30:00+00:00");
/// ```
#[must_use]
pub fn instant_of(local: NaiveDateTime, time_zone: Tz) -> DateTime<Utc> {
    match showing(local, time_zone) {
        Showing::Once(at) | Showing::Twice { first: at, .. } => at,
        Showing::Never { before_jump } => before_jump,
    }
}

/// First microsecond at which clocks in `time_zone` show `date` or a later date.
///
/// A midnight that clocks skip is the instant of their jump, an ambiguous one its first
/// occurrence.
pub(crate) fn start_of_date(date: NaiveDate, time_zone: Tz) -> i64 {
    match showing(date.and_time(NaiveTime::MIN), time_zone) {
        Showing::Once(at) | Showing::Twice { first: at, .. } => micros_of(at),
        Showing::Never { before_jump } => {
            let at = micros_of(before_jump);
            // The longest jump is a whole date, at the date line.
            next_offset_change(at - OFFSET_PROBE_MICROS, at, time_zone).unwrap_or(at)
        }
    }
}

/// The wall clock in `time_zone` at an instant.
#[must_use]
pub fn local_of(at: DateTime<Utc>, time_zone: Tz) -> NaiveDateTime {
    at.with_timezone(&time_zone).naive_local()
}

/// Offset of clocks in `time_zone` ahead of UTC at an instant, in microseconds.
#[must_use]
pub fn offset_micros(at: i64, time_zone: Tz) -> i64 {
    let utc = instant_at(at).naive_utc();
    i64::from(time_zone.offset_from_utc_datetime(&utc).fix().local_minus_utc()) * MICROS_PER_SECOND
}

/// First instant in `(after, until]` from which clocks in `time_zone` have another offset from
/// UTC, in microseconds.
///
/// The offset is probed every other day, and the stretch with different offsets at its ends is
/// bisected.
#[must_use]
pub fn next_offset_change(after: i64, until: i64, time_zone: Tz) -> Option<i64> {
    let before = offset_micros(after, time_zone);
    let mut low = after;
    while low < until {
        let high = low.saturating_add(OFFSET_PROBE_MICROS).min(until);
        if offset_micros(high, time_zone) != before {
            return Some(halved(low, high, |at| offset_micros(at, time_zone) == before));
        }
        low = high;
    }
    None
}

/// The first microsecond in `(low, high]` at which `holds` no longer does.
fn halved(mut low: i64, mut high: i64, holds: impl Fn(i64) -> bool) -> i64 {
    while high - low > 1 {
        let middle = low.midpoint(high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The instants, strictly after `now`, at which clocks in `time_zone` show
/// `time`, one for each local date.
pub(crate) fn occurrences(
    time: NaiveTime,
    time_zone: Tz,
    now: DateTime<Utc>,
) -> impl Iterator<Item = DateTime<Utc>> {
    let today = local_of(now, time_zone).date();
    // A zone can skip a whole day, and a skipped time may fall on the next one. The search starts
    // a day early to cover this.
    let first = today.checked_sub_days(Days::new(1)).unwrap_or(today);
    first
        .iter_days()
        .map(move |date| instant_of(date.and_time(time), time_zone))
        .filter(move |at| *at > now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn a_doubled_time_names_both_showings() {
        let local = "2023-10-29T02:15:00".parse().unwrap();
        assert_eq!(
            showing(local, chrono_tz::Europe::Brussels),
            Showing::Twice {
                first: at("2023-10-29T00:15:00Z"),
                second: at("2023-10-29T01:15:00Z")
            }
        );
    }

    #[test]
    fn a_skipped_date_still_has_an_instant() {
        // Samoa crossed the date line: 30 December 2011 never happened there.
        let local = "2011-12-30T07:00:00".parse().unwrap();
        let Showing::Never { before_jump } = showing(local, chrono_tz::Pacific::Apia) else {
            panic!("clocks in Apia skipped the day");
        };
        assert_eq!(before_jump, at("2011-12-30T17:00:00Z"));
    }

    #[test]
    fn offset_changes_are_found_to_the_microsecond() {
        let micros = |text: &str| at(text).timestamp_micros();
        let (january, until) = (micros("2026-01-01T00:00:00Z"), micros("2027-01-01T00:00:00Z"));
        let oslo = chrono_tz::Europe::Oslo;
        let spring = micros("2026-03-29T01:00:00Z");
        assert_eq!(next_offset_change(january, until, oslo), Some(spring));
        assert_eq!(next_offset_change(january, spring - 1, oslo), None);
        assert_eq!(next_offset_change(january, spring, oslo), Some(spring));
        let autumn = micros("2026-10-25T01:00:00Z");
        assert_eq!(next_offset_change(spring, until, oslo), Some(autumn));
        assert_eq!(next_offset_change(autumn, until, oslo), None);
        let hours = [spring - 1, spring].map(|at| offset_micros(at, oslo) / 3_600_000_000);
        assert_eq!(hours, [1, 2]);
    }

    #[test]
    fn local_and_back_is_the_identity_off_the_fold() {
        for zone in [chrono_tz::Europe::Oslo, chrono_tz::Australia::Lord_Howe] {
            for hour in 0..24 * 400 {
                let now = at("2026-01-01T00:00:00Z") + TimeDelta::hours(hour);
                let back = instant_of(local_of(now, zone), zone);
                assert!(back == now || now - back <= TimeDelta::hours(1), "{now} in {zone}");
            }
        }
    }
}
