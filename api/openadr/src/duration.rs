//! Durations of ISO 8601, such as `PT15M`, `P1DT12H` or `P9999Y`.
//!
//! Years and months count on the calendar of UTC, since an event of `OpenADR` has instants and no time
//! zone: a day is 24 hours, also where clocks change.
use chrono::{DateTime, Months, TimeDelta, Utc};

/// Duration from which on `OpenADR` means "without end", in months: 9999 years.
const ENDLESS_MONTHS: u32 = 9999 * 12;

/// Duration in months of the calendar and a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalendarDuration {
    months: u32,
    time: TimeDelta,
}

impl CalendarDuration {
    /// Reads a duration; `None` if it is none, or negative.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('P')?;
        let (date, time) = match text.split_once('T') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None if text.is_empty() => return None,
            None => (text, ""),
        };
        let [years, months, weeks, days] = read_fields(date, ['Y', 'M', 'W', 'D'])?;
        let [hours, minutes, seconds] = read_fields(time, ['H', 'M', 'S'])?;
        // Only seconds may have a fraction.
        if [years, months, weeks, days, hours, minutes].iter().any(|field| field.fract() != 0.0) {
            return None;
        }
        let all_months = years * 12.0 + months;
        let all_seconds = ((weeks * 7.0 + days) * 24.0 + hours) * 3600.0 + minutes * 60.0 + seconds;
        if all_months > f64::from(u32::MAX) || all_seconds > 1e15 {
            return None;
        }
        let time = TimeDelta::try_milliseconds((all_seconds * 1e3).round() as i64)?;
        Some(Self { months: all_months as u32, time })
    }

    /// Returns true for no time at all.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.months == 0 && self.time.is_zero()
    }

    /// End of an interval that begins at an instant; `None` if it has no end.
    ///
    /// No duration may mean an instant or no end, by the type of the payload (`OpenADR` 3.0.1,
    /// Definition, `intervalPeriod`). A limit that holds for no time would be none, so there is no
    /// end here.
    #[must_use]
    pub fn end_from(self, start: DateTime<Utc>) -> Option<DateTime<Utc>> {
        if self.is_zero() || self.months >= ENDLESS_MONTHS {
            return None;
        }
        start.checked_add_months(Months::new(self.months))?.checked_add_signed(self.time)
    }
}

/// Numbers before the letters of a part of a duration, each letter at most once and in order.
fn read_fields<const N: usize>(text: &str, letters: [char; N]) -> Option<[f64; N]> {
    let mut fields = [0.0; N];
    let mut rest = text;
    for (field, letter) in fields.iter_mut().zip(letters) {
        let Some((number, after)) = rest.split_once(letter) else { continue };
        let is_digit = |byte: u8| byte.is_ascii_digit() || byte == b'.';
        if number.is_empty() || !number.bytes().all(is_digit) {
            return None;
        }
        *field = number.parse().ok()?;
        rest = after;
    }
    rest.is_empty().then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str, start: &str) -> Option<String> {
        let start = start.parse::<DateTime<Utc>>().unwrap();
        let duration = CalendarDuration::parse(text).unwrap();
        duration.end_from(start).map(|end| end.to_rfc3339())
    }

    #[test]
    fn durations_end_on_the_calendar_of_utc() {
        for (text, expected) in [
            ("PT15M", "2026-01-31T12:15:00+00:00"),
            ("PT1.5S", "2026-01-31T12:00:01.500+00:00"),
            ("P1DT2H3M4S", "2026-02-01T14:03:04+00:00"),
            ("P0Y1M2DT3H4M5S", "2026-03-02T15:04:05+00:00"),
            ("P2W", "2026-02-14T12:00:00+00:00"),
            ("P1M", "2026-02-28T12:00:00+00:00"),
            ("P1Y", "2027-01-31T12:00:00+00:00"),
        ] {
            let found = end(text, "2026-01-31T12:00:00Z");
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_day_has_24_hours_also_where_clocks_change() {
        // 29 March 2026 has 23 hours in Europe/Berlin; the event starts at its midnight.
        let expected = Some("2026-03-29T23:00:00+00:00".to_owned());
        assert_eq!(end("P1D", "2026-03-29T00:00:00+01:00"), expected);
        assert_eq!(end("PT24H", "2026-03-29T00:00:00+01:00"), expected);
    }

    #[test]
    fn no_duration_and_9999_years_are_without_end() {
        for text in ["PT0S", "P0D", "P9999Y", "P9999Y0M0DT0H0M0S", "P300000M"] {
            assert_eq!(end(text, "2026-01-31T12:00:00Z"), None, "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_durations() {
        for text in
            ["", "P", "PT", "P1", "1H", "PT1D", "P1H", "PT1M1H", "-PT1H", "PT-1H", "PT.5.H", "PTH"]
        {
            assert_eq!(CalendarDuration::parse(text), None, "{text}");
        }
        for text in ["PT0.5H", "P1.5D", "PT1e3S", "PT1H ", "P99999999999999Y", "PT1HT1M"] {
            assert_eq!(CalendarDuration::parse(text), None, "{text}");
        }
    }
}
