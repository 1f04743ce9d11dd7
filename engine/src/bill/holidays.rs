//! Public holidays as data: dates of every year, distances from Easter, single dates.
use chrono::{Datelike, NaiveDate};

use crate::bill::error::TariffFileError;

/// A rule for days that are holidays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HolidayRule {
    /// A date of every year.
    EveryYear {
        /// Month, from 1.
        month: u32,
        /// Day of the month.
        day: u32,
    },
    /// Days after Easter Sunday; before it if negative.
    Easter(i64),
    /// A date of one year.
    Once(NaiveDate),
}

/// Public holidays of a tariff.
///
/// A holiday is written as `05-17` for a date of every year, as `easter-2` or `easter+39` for a
/// distance in days from Easter Sunday of the western churches, and as `2026-07-03` for one date.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holidays(Vec<HolidayRule>);

impl Holidays {
    /// Reads holidays.
    ///
    /// # Errors
    /// A text of another form, or a date that no calendar has.
    pub fn new<T: AsRef<str>>(texts: &[T]) -> Result<Self, TariffFileError> {
        let refused = |index: usize, text: &str| TariffFileError::Value {
            field: format!("holidays[{index}]"),
            value: format!("{text:?}"),
            expected: "a date such as 05-17, easter-2, easter+39 or 2026-07-03",
        };
        let rule = |(index, text): (usize, &T)| {
            let text = text.as_ref();
            parse_rule(text).ok_or_else(|| refused(index, text))
        };
        texts.iter().enumerate().map(rule).collect::<Result<_, _>>().map(Self)
    }

    /// Returns true if a date is a holiday.
    #[must_use]
    pub fn contains(&self, date: NaiveDate) -> bool {
        self.0.iter().any(|rule| match *rule {
            HolidayRule::EveryYear { month, day } => (date.month(), date.day()) == (month, day),
            HolidayRule::Easter(days) => {
                let from_easter = easter(date.year()).map(|easter| (date - easter).num_days());
                from_easter == Some(days)
            }
            HolidayRule::Once(once) => date == once,
        })
    }
}

fn parse_rule(text: &str) -> Option<HolidayRule> {
    if let Some(days) = text.strip_prefix("easter") {
        // A bare number would be read as well: `easter7`.
        let days = if days.is_empty() { "+0" } else { days };
        let signed = days.starts_with(['+', '-']);
        let days: i64 = days.parse().ok()?;
        return (signed && days.abs() <= 100).then_some(HolidayRule::Easter(days));
    }
    if text.len() == 10 {
        return text.parse().ok().map(HolidayRule::Once);
    }
    // The leap year 2024 has every date that recurs.
    let date: NaiveDate = (text.len() == 5).then(|| format!("2024-{text}").parse().ok())??;
    Some(HolidayRule::EveryYear { month: date.month(), day: date.day() })
}

/// Easter Sunday of a year in the Gregorian calendar.
///
/// The formula of J. M. Oudin (1940), as given in C. Tøndering, Frequently Asked Questions about
/// Calendars, section "Is there a simple algorithm for calculating Easter?".
fn easter(year: i32) -> Option<NaiveDate> {
    let golden = year % 19;
    let century = year / 100;
    let epact = (century - century / 4 - (8 * century + 13) / 25 + 19 * golden + 15) % 30;
    let late = epact / 28;
    let moon = epact - late * (1 - late * (29 / (epact + 1)) * ((21 - golden) / 11));
    let weekday = (year + year / 4 + moon + 2 - century + century / 4) % 7;
    let sunday = moon - weekday;
    let month = 3 + (sunday + 40) / 44;
    let day = sunday + 28 - 31 * (month / 4);
    NaiveDate::from_ymd_opt(year, month as u32, day as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn easter_is_the_published_one() {
        for (year, expected) in [
            (1818, "1818-03-22"),
            (1943, "1943-04-25"),
            (1954, "1954-04-18"),
            (1981, "1981-04-19"),
            (2000, "2000-04-23"),
            (2008, "2008-03-23"),
            (2019, "2019-04-21"),
            (2020, "2020-04-12"),
            (2024, "2024-03-31"),
            (2025, "2025-04-20"),
            (2026, "2026-04-05"),
            (2038, "2038-04-25"),
            (2285, "2285-03-22"),
        ] {
            assert_eq!(easter(year).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn holidays_of_norway_in_2024_are_the_published_ones() {
        let rules = [
            "01-01",
            "easter-3",
            "easter-2",
            "easter",
            "easter+1",
            "05-01",
            "05-17",
            "easter+39",
            "easter+49",
            "easter+50",
            "12-25",
            "12-26",
        ];
        let holidays = Holidays::new(&rules).unwrap();
        let year = NaiveDate::from_ymd_opt(2024, 1, 1).unwrap().iter_days().take(366);
        let found: Vec<String> =
            year.filter(|&date| holidays.contains(date)).map(|date| date.to_string()).collect();
        // public-holidays.us/NO_NO_2024_All
        let expected = [
            "2024-01-01",
            "2024-03-28",
            "2024-03-29",
            "2024-03-31",
            "2024-04-01",
            "2024-05-01",
            "2024-05-09",
            "2024-05-17",
            "2024-05-19",
            "2024-05-20",
            "2024-12-25",
            "2024-12-26",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn other_forms_are_refused() {
        for wrong in ["17-05", "02-30", "easter7", "easter+1000", "2026-02-29", "", "christmas"] {
            assert!(Holidays::new(&[wrong]).is_err(), "{wrong}");
        }
        let text = Holidays::new(&["01-01", "17. mai"]).unwrap_err().to_string();
        let expected = "holidays[1] is \"17. mai\"; it is a date such as 05-17, easter-2, \
                        easter+39 or 2026-07-03";
        assert_eq!(text, expected);
        let leap = Holidays::new(&["02-29"]).unwrap();
        assert!(leap.contains("2028-02-29".parse().unwrap()));
    }
}
