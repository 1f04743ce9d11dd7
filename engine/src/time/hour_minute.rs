//! Times of day to the minute, as people write them: `07:30`.
use std::fmt;

use chrono::{NaiveTime, TimeDelta, Timelike};
use serde::{Deserialize, Serialize};

/// Text or time that is not an hour and a minute.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HourMinuteError {
    /// Text that is not two digits, a colon and two digits, or is beyond 23:59.
    #[error("{text:?} is not HH:MM from 00:00 to 23:59")]
    NotHourMinute {
        /// The text as given.
        text: String,
    },
    /// A length that is not written as hours and minutes of one day.
    #[error("{} min is not a whole number of minutes below 24 hours", length.as_seconds_f64() / 60.0)]
    NotALength {
        /// The length as given.
        length: TimeDelta,
    },
    /// A time between two minutes.
    #[error("{time} is not a whole minute")]
    NotWhole {
        /// The time as given.
        time: NaiveTime,
    },
}

/// A time of day to the minute, from 00:00 to 23:59.
///
/// There is no 24:00: the end of a day is the 00:00 of the next.
///
/// # Example
///
/// ```
/// use slackwater_engine::time::hour_minute::HourMinute;
/// assert_eq!(HourMinute::parse("07:30")?.minutes(), 450);
/// for wrong in ["7:30", "24:00", "07:60", "07:30:00", "0730", "+7:30", ""] {
///     assert!(HourMinute::parse(wrong).is_err());
/// }
/// # Ok::<(), slackwater_engine::time::hour_minute::HourMinuteError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HourMinute(u16);

/// Minutes in a day of 24 hours.
pub const MINUTES_PER_DAY: u16 = 24 * 60;

impl HourMinute {
    /// The start of a day.
    pub const MIDNIGHT: Self = Self(0);

    /// Parses `HH:MM`: exactly two digits, a colon and two digits.
    ///
    /// # Errors
    /// The text has another form, an hour above 23 or a minute above 59.
    pub fn parse(text: &str) -> Result<Self, HourMinuteError> {
        let refused = || HourMinuteError::NotHourMinute { text: text.into() };
        let &[h1, h2, b':', m1, m2] = text.as_bytes() else { return Err(refused()) };
        let digits = [h1, h2, m1, m2];
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(refused());
        }
        let [h1, h2, m1, m2] = digits.map(|digit| u16::from(digit - b'0'));
        let (hour, minute) = (h1 * 10 + h2, m1 * 10 + m2);
        if hour > 23 || minute > 59 { Err(refused()) } else { Ok(Self(hour * 60 + minute)) }
    }

    /// Minutes since midnight on a day without a clock change.
    #[must_use]
    pub const fn minutes(self) -> u16 {
        self.0
    }

    /// Time of day.
    #[must_use]
    pub fn time(self) -> NaiveTime {
        NaiveTime::MIN + self.length()
    }

    /// Length of time: `02:30` is two and a half hours.
    #[must_use]
    pub fn length(self) -> TimeDelta {
        TimeDelta::minutes(i64::from(self.0))
    }
}

impl TryFrom<TimeDelta> for HourMinute {
    type Error = HourMinuteError;
    fn try_from(length: TimeDelta) -> Result<Self, HourMinuteError> {
        let minutes = u16::try_from(length.num_minutes()).ok();
        let whole = minutes.filter(|&minutes| minutes < MINUTES_PER_DAY).map(Self);
        let exact = whole.filter(|whole| whole.length() == length);
        exact.ok_or(HourMinuteError::NotALength { length })
    }
}

impl TryFrom<NaiveTime> for HourMinute {
    type Error = HourMinuteError;
    fn try_from(time: NaiveTime) -> Result<Self, HourMinuteError> {
        if time.second() != 0 || time.nanosecond() != 0 {
            return Err(HourMinuteError::NotWhole { time });
        }
        Ok(Self((time.hour() * 60 + time.minute()) as u16))
    }
}

impl TryFrom<String> for HourMinute {
    type Error = HourMinuteError;
    fn try_from(text: String) -> Result<Self, HourMinuteError> {
        Self::parse(&text)
    }
}

impl From<HourMinute> for String {
    fn from(time: HourMinute) -> Self {
        time.to_string()
    }
}

impl fmt::Display for HourMinute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_minutes_of_a_day_survive_their_text() {
        for minute in 0..MINUTES_PER_DAY {
            let time = HourMinute(minute);
            assert_eq!(HourMinute::parse(&time.to_string()), Ok(time));
            assert_eq!(HourMinute::try_from(time.time()), Ok(time));
            assert_eq!(HourMinute::try_from(time.length()), Ok(time));
        }
    }

    #[test]
    fn other_forms_are_named() {
        let text = HourMinute::parse("25:00").unwrap_err().to_string();
        assert_eq!(text, "\"25:00\" is not HH:MM from 00:00 to 23:59");
        for wrong in ["24:00", "٠٧:٣٠", "07-30", " 7:30", "07:3a", "-1:00", "07:30 "] {
            assert!(HourMinute::parse(wrong).is_err(), "{wrong}");
        }
        let seconds = NaiveTime::from_hms_opt(7, 0, 30).unwrap();
        let text = HourMinute::try_from(seconds).unwrap_err().to_string();
        assert_eq!(text, "07:00:30 is not a whole minute");
        assert!(serde_json::from_str::<HourMinute>("\"7:00\"").is_err());
        for seconds in [-60, 30, 86_400] {
            let error = HourMinute::try_from(TimeDelta::seconds(seconds)).unwrap_err();
            let minutes = seconds as f64 / 60.0;
            let text = format!("{minutes} min is not a whole number of minutes below 24 hours");
            assert_eq!(error.to_string(), text);
        }
    }
}
