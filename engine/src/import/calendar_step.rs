//! Calendar steps: rows that are whole days or months apart on the clocks of a zone.
//!
//! A day has 23, 24 or 25 hours and a month 28 to 31 days, so that no length in hours fits all slots.
use chrono::{DateTime, Datelike, Days, Months, NaiveDateTime, NaiveTime, Utc};
use chrono_tz::Tz;

use crate::time::civil::{instant_of, local_of};

/// Last day that each month has.
const COMMON_DAYS: u32 = 28;

/// Distance from one row to the next on a calendar.
#[derive(Debug, Clone, Copy)]
enum CalendarStep {
    Months(u32),
    Days(u64),
}

/// Length of each row's slot in microseconds, by the calendar of `time_zone`; `None` if the rows do
/// not begin at one time of day, or are no regular number of days or months apart.
pub(super) fn calendar_lengths(starts: &[DateTime<Utc>], time_zone: Tz) -> Option<Vec<i64>> {
    let local: Vec<NaiveDateTime> = starts.iter().map(|&at| local_of(at, time_zone)).collect();
    let first = *local.first()?;
    if local.iter().any(|at| at.time() != first.time()) {
        return None;
    }
    let step = step_in_months(&local).or_else(|| step_in_days(&local))?;
    let length = |(&start, &local): (&DateTime<Utc>, &NaiveDateTime)| {
        let end = match step {
            CalendarStep::Months(months) => local.checked_add_months(Months::new(months)),
            CalendarStep::Days(days) => local.checked_add_days(Days::new(days)),
        };
        (instant_of(end?, time_zone) - start).num_microseconds()
    };
    starts.iter().zip(&local).map(length).collect()
}

/// True if each row is at midnight of the last day of a month, on different days of the month.
pub(super) fn are_month_ends(starts: &[DateTime<Utc>], time_zone: Tz) -> bool {
    let mut days = starts.iter().map(|&at| {
        let local = local_of(at, time_zone);
        let is_last = local.date().succ_opt().is_some_and(|next| next.day() == 1);
        (is_last && local.time() == NaiveTime::MIN).then_some(local.day())
    });
    let first = days.next().flatten();
    let mut differs = false;
    let all_last = first.is_some()
        && days.all(|day| {
            differs |= day != first;
            day.is_some()
        });
    all_last && differs
}

/// Months from row to row, if all rows are on one day of the month.
fn step_in_months(local: &[NaiveDateTime]) -> Option<CalendarStep> {
    let day = local.first()?.day();
    if day > COMMON_DAYS || local.iter().any(|at| at.day() != day) {
        return None;
    }
    let month = |at: &NaiveDateTime| i64::from(at.year()) * 12 + i64::from(at.month0());
    let distances = local.windows(2).map(|pair| month(&pair[1]) - month(&pair[0]));
    let months = regular_step(distances.collect())?;
    u32::try_from(months).ok().map(CalendarStep::Months)
}

/// Days from row to row.
fn step_in_days(local: &[NaiveDateTime]) -> Option<CalendarStep> {
    let distances = local.windows(2).map(|pair| (pair[1].date() - pair[0].date()).num_days());
    let days = regular_step(distances.collect())?;
    u64::try_from(days).ok().map(CalendarStep::Days)
}

/// Most frequent distance, of several the smallest; `None` if it is not that of most rows and the
/// smallest one does not divide all of them.
pub(super) fn regular_step(mut distances: Vec<i64>) -> Option<i64> {
    distances.sort_unstable();
    let least = *distances.first().filter(|&&least| least > 0)?;
    let runs = distances.chunk_by(|one, other| one == other);
    // `max_by_key` keeps the last of equals: from the largest distance down.
    let usual = runs.rev().max_by_key(|run| run.len())?;
    let is_regular =
        2 * usual.len() > distances.len() || distances.iter().all(|each| each % least == 0);
    is_regular.then(|| usual[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths in hours of the slots of some local times in Berlin.
    fn berlin_hours(local: &[&str]) -> Option<Vec<i64>> {
        let instant = |text: &&str| instant_of(text.parse().unwrap(), Tz::Europe__Berlin);
        let starts: Vec<DateTime<Utc>> = local.iter().map(instant).collect();
        let lengths = calendar_lengths(&starts, Tz::Europe__Berlin)?;
        Some(lengths.into_iter().map(|micros| micros / 3_600_000_000).collect())
    }

    #[test]
    fn months_have_their_days_and_clock_changes() {
        let months = ["2026-02-01T00:00", "2026-03-01T00:00", "2026-04-01T00:00"];
        let months = months.map(|month| format!("{month}:00"));
        let months: Vec<&str> = months.iter().map(String::as_str).collect();
        assert_eq!(berlin_hours(&months), Some(vec![28 * 24, 31 * 24 - 1, 30 * 24]));
        // The last of two quarters has its own length, and a missing one is no longer slot.
        let quarters = ["2026-01-01T00:00:00", "2026-04-01T00:00:00", "2026-10-01T00:00:00"];
        assert_eq!(berlin_hours(&quarters), Some(vec![90 * 24 - 1, 91 * 24, 92 * 24 + 1]));
    }

    #[test]
    fn days_have_the_hours_of_their_clocks() {
        let days = ["2026-10-24T00:00:00", "2026-10-25T00:00:00", "2026-10-26T00:00:00"];
        assert_eq!(berlin_hours(&days), Some(vec![24, 25, 24]));
        let weeks = ["2026-03-23T06:00:00", "2026-03-30T06:00:00", "2026-04-06T06:00:00"];
        assert_eq!(berlin_hours(&weeks), Some(vec![167, 168, 168]));
    }

    #[test]
    fn hours_and_odd_days_are_no_calendar_steps() {
        assert_eq!(berlin_hours(&["2026-01-05T00:00:00", "2026-01-05T01:00:00"]), None);
        let odd = ["2026-01-05T00:00:00", "2026-01-08T00:00:00", "2026-01-10T00:00:00"];
        assert_eq!(berlin_hours(&odd), None);
        assert_eq!(berlin_hours(&["2026-01-05T00:00:00"]), None);
    }

    #[test]
    fn last_days_of_months_are_told_from_other_days() {
        let is_end = |dates: &[&str]| {
            let start = |date: &&str| format!("{date}T00:00:00Z").parse().unwrap();
            are_month_ends(&dates.iter().map(start).collect::<Vec<_>>(), Tz::UTC)
        };
        assert!(is_end(&["2026-01-31", "2026-02-28", "2026-03-31"]));
        assert!(!is_end(&["2026-01-31", "2026-03-31"]));
        assert!(!is_end(&["2026-01-30", "2026-02-28"]));
        assert!(!is_end(&["2026-02-28"]));
    }
}
