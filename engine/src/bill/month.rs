//! Months of the calendar.
use std::fmt;

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::time::civil::start_of_date;
use crate::time::instant::instant_at;

/// Text or numbers that are no month of the calendar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no month from 0002-01 to 9998-12, written as 2026-01")]
#[non_exhaustive]
pub struct MonthError {
    /// The month as given.
    pub text: String,
}

/// A month of the calendar, such as January 2026.
///
/// # Example
///
/// ```
/// use slackwater_engine::bill::month::Month;
/// let january = Month::parse("2026-01")?;
/// assert_eq!(january.back(1).to_string(), "2025-12");
/// assert_eq!((january.days(), Month::parse("2024-02")?.days()), (31, 29));
/// assert!(Month::parse("2026-13").is_err());
/// # Ok::<(), slackwater_engine::bill::month::MonthError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Month {
    /// First day of the month.
    first: NaiveDate,
}

impl Month {
    /// Month of a year.
    ///
    /// # Errors
    /// The month does not lie in 1 to 12, or the year not in 2 to 9998.
    pub fn new(year: i32, month: u32) -> Result<Self, MonthError> {
        let refused = || MonthError { text: format!("{year:04}-{month:02}") };
        let first = NaiveDate::from_ymd_opt(year, month, 1).ok_or_else(refused)?;
        if (2..=9998).contains(&year) { Ok(Self { first }) } else { Err(refused()) }
    }

    /// Month that a date lies in.
    pub(crate) fn of(date: NaiveDate) -> Self {
        Self { first: date.with_day(1).unwrap_or(date) }
    }

    /// Start and end on the clocks of a zone.
    #[must_use]
    pub fn period(self, time_zone: Tz) -> (DateTime<Utc>, DateTime<Utc>) {
        let (start, end) = self.span(time_zone);
        (instant_at(start), instant_at(end))
    }

    /// Reads `YYYY-MM`.
    ///
    /// # Errors
    /// The text has another form or names no month.
    pub fn parse(text: &str) -> Result<Self, MonthError> {
        let refused = || MonthError { text: text.into() };
        let digits = |part: &str, length| {
            part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        let (year, month) = text.split_once('-').ok_or_else(refused)?;
        if !digits(year, 4) || !digits(month, 2) {
            return Err(refused());
        }
        let number = |part: &str| part.parse::<u32>().map_err(|_| refused());
        Self::new(number(year)? as i32, number(month)?).map_err(|_| refused())
    }

    /// The month so many months earlier.
    #[must_use]
    pub fn back(self, months: u32) -> Self {
        let earlier = self.first.checked_sub_months(chrono::Months::new(months));
        Self { first: earlier.unwrap_or(self.first) }
    }

    /// The following month.
    #[must_use]
    pub fn next(self) -> Self {
        let later = self.first.checked_add_months(chrono::Months::new(1));
        Self { first: later.unwrap_or(self.first) }
    }

    /// Number of the month in its year, from 1 for January to 12.
    #[must_use]
    pub fn number(self) -> u32 {
        self.first.month()
    }

    /// Days of the month, from 28 to 31.
    #[must_use]
    pub fn days(self) -> u32 {
        self.next().first.signed_duration_since(self.first).num_days() as u32
    }

    /// Days of the year that the month belongs to.
    #[must_use]
    pub fn days_of_year(self) -> u32 {
        if self.first.leap_year() { 366 } else { 365 }
    }

    /// First day of the month.
    #[must_use]
    pub fn first_day(self) -> NaiveDate {
        self.first
    }

    /// Start and end of the month on the clocks of a zone, in microseconds since 1970.
    pub(crate) fn span(self, time_zone: Tz) -> (i64, i64) {
        (start_of_date(self.first, time_zone), start_of_date(self.next().first, time_zone))
    }
}

impl TryFrom<String> for Month {
    type Error = MonthError;
    fn try_from(text: String) -> Result<Self, MonthError> {
        Self::parse(&text)
    }
}

impl From<Month> for String {
    fn from(month: Month) -> Self {
        month.to_string()
    }
}

impl fmt::Display for Month {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:04}-{:02}", self.first.year(), self.first.month())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_have_one_form() {
        for wrong in
            ["2026-1", "26-01", "2026-00", "2026-13", "2026/01", "2026-01-01", "", "+026-01"]
        {
            assert!(Month::parse(wrong).is_err(), "{wrong}");
        }
        let text = Month::parse("2026-13").unwrap_err().to_string();
        assert_eq!(text, "\"2026-13\" is no month from 0002-01 to 9998-12, written as 2026-01");
    }

    #[test]
    fn months_follow_each_other_over_the_year() {
        let december = Month::parse("2025-12").unwrap();
        assert_eq!(december.next().to_string(), "2026-01");
        assert_eq!(december.next().back(13).to_string(), "2024-12");
    }

    #[test]
    fn months_with_a_change_of_clocks_are_an_hour_off() {
        let hours = |text: &str| {
            let (start, end) = Month::parse(text).unwrap().span(chrono_tz::Europe::Oslo);
            (end - start) / 3_600_000_000
        };
        assert_eq!([hours("2026-03"), hours("2026-07"), hours("2026-10")], [743, 744, 745]);
    }
}
