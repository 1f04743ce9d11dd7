//! Calendars of tariffs: months, weekdays, holidays and hours on the clocks of a zone.
use chrono::{Datelike, NaiveDate, NaiveDateTime, Timelike};
use serde::{Deserialize, Serialize};

use crate::bill::error::TariffFileError;
use crate::bill::holidays::Holidays;
use crate::time::hour_minute::{HourMinute, MINUTES_PER_DAY};
use crate::words::words;

/// Length to which all times of a tariff are whole.
pub(crate) const TIME_STEP_MINUTES: u16 = 15;

words! {
    /// Days that a calendar takes by whether they are public holidays.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum HolidayUse {
        /// Public holidays alone.
        Only = "only",
        /// All days but public holidays.
        Never = "never",
    }
}

/// A calendar as a file has it. Every stated field must hold; a field that is absent always does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConditionRequest {
    /// Months from 1 for January to 12.
    pub months: Option<Vec<u32>>,
    /// Weekdays from 0 for Monday to 6 for Sunday.
    pub weekdays: Option<Vec<u32>>,
    /// Public holidays, taken alone or left out.
    pub holidays: Option<HolidayUse>,
    /// Times of day such as `06:00-22:00`, from the first to before the second. `22:00-06:00` is
    /// the end and the start of each day; an end of `00:00` is the end of the day.
    pub times: Option<Vec<String>>,
}

/// Clocks at one instant, as calendars read them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// Date on the clocks.
    pub(crate) date: NaiveDate,
    /// Minute of the day.
    minute: u16,
    is_holiday: bool,
}

impl Clock {
    /// Clocks that show `local`, in a region with those holidays.
    pub(crate) fn at(local: NaiveDateTime, holidays: &Holidays) -> Self {
        let date = local.date();
        let minute = (local.hour() * 60 + local.minute()) as u16;
        Self { date, minute, is_holiday: holidays.contains(date) }
    }

    /// Clocks in a minute of a day of which is known whether it is a holiday.
    pub(crate) fn of(date: NaiveDate, minute: u16, is_holiday: bool) -> Self {
        Self { date, minute, is_holiday }
    }
}

/// A calendar, ready to be asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Condition {
    months: Option<[bool; 12]>,
    weekdays: Option<[bool; 7]>,
    holidays: Option<HolidayUse>,
    /// Minutes of the day, half open; none runs over midnight.
    times: Option<Vec<(u16, u16)>>,
}

impl Condition {
    /// Reads a calendar. `field` is its path in the file.
    pub(crate) fn new(request: &ConditionRequest, field: &str) -> Result<Self, TariffFileError> {
        let months = request.months.as_deref().map(|months| {
            flags::<12>(months, 1, &format!("{field}.months"), "a month from 1 to 12")
        });
        let weekdays = request
            .weekdays
            .as_deref()
            .map(|days| flags::<7>(days, 0, &format!("{field}.weekdays"), "a weekday from 0 to 6"));
        let times = request.times.as_deref().map(|times| parse_times(times, field));
        Ok(Self {
            months: months.transpose()?,
            weekdays: weekdays.transpose()?,
            holidays: request.holidays,
            times: times.transpose()?,
        })
    }

    /// Returns true if nothing is asked for, so that the calendar always holds.
    pub(crate) fn is_always(&self) -> bool {
        *self == Self::default()
    }

    /// Minutes of the day at which the calendar can begin or cease to hold.
    pub(crate) fn edges(&self) -> impl Iterator<Item = u16> {
        self.times.iter().flatten().flat_map(|&(from, to)| [from, to])
    }

    /// Returns true if the calendar depends on holidays.
    pub(crate) fn reads_holidays(&self) -> bool {
        self.holidays.is_some()
    }

    /// Returns true if the calendar holds on those clocks.
    pub(crate) fn holds(&self, clock: Clock) -> bool {
        let weekday = clock.date.weekday().num_days_from_monday() as usize;
        let holiday_fits = match self.holidays {
            None => true,
            Some(HolidayUse::Only) => clock.is_holiday,
            Some(HolidayUse::Never) => !clock.is_holiday,
        };
        let in_times = |times: &Vec<(u16, u16)>| {
            times.iter().any(|&(from, to)| (from..to).contains(&clock.minute))
        };
        holiday_fits
            && self.months.is_none_or(|months| months[clock.date.month0() as usize])
            && self.weekdays.is_none_or(|days| days[weekday])
            && self.times.as_ref().is_none_or(in_times)
    }
}

/// A list of numbers as flags; the first possible number is `first`.
fn flags<const N: usize>(
    numbers: &[u32],
    first: u32,
    field: &str,
    expected: &'static str,
) -> Result<[bool; N], TariffFileError> {
    if numbers.is_empty() {
        return Err(never_holds(field));
    }
    let mut flags = [false; N];
    for (index, &number) in numbers.iter().enumerate() {
        let place = number.checked_sub(first).and_then(|place| flags.get_mut(place as usize));
        let refused = || TariffFileError::Value {
            field: format!("{field}[{index}]"),
            value: number.to_string(),
            expected,
        };
        *place.ok_or_else(refused)? = true;
    }
    Ok(flags)
}

/// Refuses a list of which an entry before the last always holds: those below it never count.
pub(crate) fn check_reached(
    always_hold: impl ExactSizeIterator<Item = bool>,
    field: &str,
) -> Result<(), TariffFileError> {
    let last = always_hold.len().saturating_sub(1);
    let Some(index) = always_hold.take(last).position(|holds| holds) else { return Ok(()) };
    Err(TariffFileError::Missing {
        field: format!("{field}[{index}].when"),
        reason: "the first that holds counts, so only the last of the list may always hold",
    })
}

/// An empty list holds at no time; a field that is absent holds at all times.
fn never_holds(field: &str) -> TariffFileError {
    let (value, expected) = ("an empty list".to_owned(), "a list of at least one, or absent");
    TariffFileError::Value { field: field.to_owned(), value, expected }
}

/// Minute of the day of a time in whole quarter-hours.
pub(crate) fn parse_quarter(text: &str) -> Option<u16> {
    let minutes = HourMinute::parse(text).ok()?.minutes();
    (minutes % TIME_STEP_MINUTES == 0).then_some(minutes)
}

fn parse_times(times: &[String], field: &str) -> Result<Vec<(u16, u16)>, TariffFileError> {
    if times.is_empty() {
        return Err(never_holds(&format!("{field}.times")));
    }
    let mut spans = Vec::new();
    for (index, text) in times.iter().enumerate() {
        let refused = || TariffFileError::Value {
            field: format!("{field}.times[{index}]"),
            value: format!("{text:?}"),
            expected: "two different times in whole quarter-hours, such as 06:00-22:00",
        };
        let (from, to) = text.split_once('-').ok_or_else(refused)?;
        let minutes = |text: &str| parse_quarter(text).ok_or_else(refused);
        let (from, to) = (minutes(from)?, minutes(to)?);
        let to = if to == 0 { MINUTES_PER_DAY } else { to };
        match from.cmp(&to) {
            std::cmp::Ordering::Less => spans.push((from, to)),
            std::cmp::Ordering::Equal => return Err(refused()),
            std::cmp::Ordering::Greater => spans.extend([(0, to), (from, MINUTES_PER_DAY)]),
        }
    }
    Ok(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(json: &str) -> Result<Condition, TariffFileError> {
        Condition::new(&serde_json::from_str(json).unwrap(), "when")
    }

    #[track_caller]
    fn check(json: &str, holding: &[&str], not: &[&str]) {
        let condition = condition(json).unwrap();
        let holidays = Holidays::new(&["05-17", "easter-2"]).unwrap();
        let holds = |text: &str| condition.holds(Clock::at(text.parse().unwrap(), &holidays));
        assert!(holding.iter().all(|text| holds(text)), "{json}");
        assert!(!not.iter().any(|text| holds(text)), "{json}");
    }

    #[test]
    fn every_stated_field_must_hold() {
        check("{}", &["2026-01-01T00:00:00", "2026-05-17T23:59:59"], &[]);
        check(
            r#"{"weekdays": [0, 1, 2, 3, 4], "holidays": "never", "times": ["06:00-22:00"]}"#,
            &["2026-05-18T06:00:00", "2026-05-18T21:59:59"],
            // A Sunday, Good Friday, before six, at ten in the evening.
            &["2026-05-10T12:00:00", "2026-04-03T12:00:00", "2026-05-18T05:59:59"],
        );
        check(r#"{"holidays": "only"}"#, &["2026-05-17T00:00:00"], &["2026-05-18T00:00:00"]);
        check(r#"{"months": [1, 12]}"#, &["2026-12-31T23:00:00"], &["2026-11-30T23:00:00"]);
    }

    #[test]
    fn times_may_pass_midnight() {
        check(
            r#"{"times": ["23:00-05:00", "12:00-12:15"]}"#,
            &["2026-01-01T23:00:00", "2026-01-01T04:59:59", "2026-01-01T12:14:59"],
            &["2026-01-01T05:00:00", "2026-01-01T22:59:59", "2026-01-01T12:15:00"],
        );
        check(r#"{"times": ["21:00-00:00"]}"#, &["2026-01-01T23:59:59"], &["2026-01-01T00:00:00"]);
    }

    #[test]
    fn a_wrong_value_is_named_with_its_field() {
        let text = |json: &str| condition(json).unwrap_err().to_string();
        assert_eq!(
            text(r#"{"months": [1, 13]}"#),
            "when.months[1] is 13; it is a month from 1 to 12"
        );
        assert_eq!(
            text(r#"{"weekdays": [7]}"#),
            "when.weekdays[0] is 7; it is a weekday from 0 to 6"
        );
        for wrong in ["06:00", "06:10-22:00", "06:00-06:00", "6:00-22:00", "06:00-24:00"] {
            let text = text(&format!(r#"{{"times": ["{wrong}"]}}"#));
            let expected = format!(
                "when.times[0] is \"{wrong}\"; it is two different times in whole quarter-hours, \
                 such as 06:00-22:00"
            );
            assert_eq!(text, expected);
        }
        for field in ["months", "weekdays", "times"] {
            let text = text(&format!(r#"{{"{field}": []}}"#));
            let expected =
                format!("when.{field} is an empty list; it is a list of at least one, or absent");
            assert_eq!(text, expected);
        }
        let unknown = serde_json::from_str::<ConditionRequest>(r#"{"month": [1]}"#).unwrap_err();
        assert!(unknown.to_string().starts_with("unknown field `month`"), "{unknown}");
    }
}
