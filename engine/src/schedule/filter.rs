//! The filters of a rule: a time of day, a set of weekdays.
use serde::{Deserialize, Serialize};

/// Minutes in a day on the wall.
pub(crate) const MINUTES_PER_DAY: u16 = 24 * 60;

/// A time of day to the minute, from 00:00 to 23:59.
///
/// # Example
///
/// ```
/// use slackwater_engine::schedule::filter::HourMinute;
/// assert_eq!(HourMinute::parse("07:30").unwrap().minute_of_day(), 450);
/// assert!(HourMinute::parse("7:30").is_err());
/// assert!(HourMinute::parse("24:00").is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HourMinute(u16);

/// Why a text is no time of day.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is no time of day from \"00:00\" to \"23:59\"")]
pub struct HourMinuteError {
    /// The text as given.
    pub given: String,
}

impl HourMinute {
    /// Reads `HH:MM`: two digits, a colon, two digits.
    ///
    /// `24:00` is refused; the end of a day is `00:00` (AMB-11).
    ///
    /// # Errors
    /// The text has another form, or names no minute of a day.
    pub fn parse(text: &str) -> Result<Self, HourMinuteError> {
        let digit = |byte: u8| byte.is_ascii_digit().then(|| u16::from(byte - b'0'));
        let minute = || {
            let [h1, h2, b':', m1, m2] = *text.as_bytes() else { return None };
            let (hours, minutes) = (digit(h1)? * 10 + digit(h2)?, digit(m1)? * 10 + digit(m2)?);
            (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
        };
        minute().map(Self).ok_or_else(|| HourMinuteError { given: text.to_string() })
    }

    /// Minutes since 00:00 on the wall.
    #[must_use]
    pub const fn minute_of_day(self) -> u16 {
        self.0
    }
}

impl TryFrom<String> for HourMinute {
    type Error = HourMinuteError;
    fn try_from(text: String) -> Result<Self, HourMinuteError> {
        Self::parse(&text)
    }
}

impl From<HourMinute> for String {
    fn from(time: HourMinute) -> String {
        format!("{:02}:{:02}", time.0 / 60, time.0 % 60)
    }
}

/// A part of each day on the wall, `[from, to)`.
///
/// `to` at or before `from` lies on the next day, so that two equal times are
/// the whole day (SCH-13, AMB-11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HourMinuteWindow {
    /// First minute.
    pub from: HourMinute,
    /// First minute after it.
    pub to: HourMinute,
}

impl HourMinuteWindow {
    /// Whether a minute of the day lies in the window.
    #[must_use]
    pub(crate) fn contains(self, minute: u16) -> bool {
        let (from, to) = (self.from.0, self.to.0);
        if from < to { (from..to).contains(&minute) } else { minute >= from || minute < to }
    }

    /// The window as minutes of one day; over midnight it is two stretches.
    pub(crate) fn stretches(self) -> [std::ops::Range<u16>; 2] {
        let (from, to) = (self.from.0, self.to.0);
        if from < to { [from..to, 0..0] } else { [0..to, from..MINUTES_PER_DAY] }
    }
}

/// A set of weekdays, 0 for Monday to 6 for Sunday. May be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<i64>", into = "Vec<i64>")]
pub struct Weekdays(u8);

/// A number that is no weekday.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{given} at position {position} is no weekday from 0 (Monday) to 6 (Sunday)")]
pub struct WeekdayError {
    /// Position in the input.
    pub position: usize,
    /// The number as given.
    pub given: i64,
}

impl Weekdays {
    /// All seven.
    pub const ALL: Self = Self(0b111_1111);

    /// A set from numbers, in any order. Repeating one is harmless (AMB-21);
    /// none at all is the empty set, which no day is in.
    ///
    /// # Errors
    /// A number below 0 or above 6 (SCH-15, AMB-09).
    pub fn from_numbers(numbers: &[i64]) -> Result<Self, WeekdayError> {
        let mut set = 0;
        for (position, &given) in numbers.iter().enumerate() {
            if !(0..=6).contains(&given) {
                return Err(WeekdayError { position, given });
            }
            set |= 1 << given;
        }
        Ok(Self(set))
    }

    /// Whether a day is in the set.
    #[must_use]
    pub const fn contains(self, weekday: u8) -> bool {
        weekday < 7 && self.0 >> weekday & 1 == 1
    }
}

impl TryFrom<Vec<i64>> for Weekdays {
    type Error = WeekdayError;
    fn try_from(numbers: Vec<i64>) -> Result<Self, WeekdayError> {
        Self::from_numbers(&numbers)
    }
}

impl From<Weekdays> for Vec<i64> {
    fn from(days: Weekdays) -> Vec<i64> {
        (0..7).filter(|&day| days.contains(day)).map(i64::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sch_12_every_minute_of_a_day_and_nothing_else() {
        for minute in 0..MINUTES_PER_DAY {
            let text = String::from(HourMinute(minute));
            assert_eq!(HourMinute::parse(&text), Ok(HourMinute(minute)));
        }
        for text in
            ["", "7:00", "24:00", "12:60", "12:5", "12:050", "-1:00", "+1:00", "１２:00", "12.00"]
        {
            assert!(HourMinute::parse(text).is_err(), "{text}");
        }
        let error = HourMinute::parse("24:00").unwrap_err();
        assert_eq!(error.to_string(), r#""24:00" is no time of day from "00:00" to "23:59""#);
    }

    #[test]
    fn sch_15_weekdays_are_0_to_6() {
        assert_eq!(Weekdays::from_numbers(&[0, 1, 2, 3, 4, 5, 6]), Ok(Weekdays::ALL));
        assert_eq!(Vec::from(Weekdays::from_numbers(&[6, 0, 6]).unwrap()), [0, 6]);
        let none = Weekdays::from_numbers(&[]).unwrap();
        assert!((0..=255).all(|day| !none.contains(day)));
        let error = Weekdays::from_numbers(&[0, 7]).unwrap_err();
        assert_eq!(error, WeekdayError { position: 1, given: 7 });
        assert!(Weekdays::from_numbers(&[-1]).is_err());
    }

    #[test]
    fn sch_13_the_stretches_are_the_window() {
        for (from, to) in [(60, 120), (1320, 360), (420, 420), (0, 0), (1320, 0), (0, 1439)] {
            let window = HourMinuteWindow { from: HourMinute(from), to: HourMinute(to) };
            for minute in 0..MINUTES_PER_DAY {
                let painted = window.stretches().iter().any(|s| s.contains(&minute));
                assert_eq!(window.contains(minute), painted, "{from} {to} {minute}");
            }
        }
    }

    #[test]
    fn data_take_the_same_door_as_code() {
        let window: HourMinuteWindow =
            serde_json::from_str(r#"{"from": "22:00", "to": "06:00"}"#).unwrap();
        assert_eq!(serde_json::to_string(&window).unwrap(), r#"{"from":"22:00","to":"06:00"}"#);
        assert!(serde_json::from_str::<HourMinute>(r#""25:00""#).is_err());
        assert!(serde_json::from_str::<Weekdays>("[7]").is_err());
        assert_eq!(serde_json::from_str::<Weekdays>("[5,6]").unwrap(), Weekdays(0b110_0000));
    }
}
