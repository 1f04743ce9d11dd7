//! The filters of a rule: a time of day, a set of weekdays.
use serde::{Deserialize, Serialize};

use slackwater_engine::time::hour_minute::{HourMinute, MINUTES_PER_DAY};

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
    /// Returns true if a minute of the day lies in the window.
    #[must_use]
    pub(crate) fn contains(self, minute: u16) -> bool {
        let (from, to) = (self.from.minutes(), self.to.minutes());
        if from < to { (from..to).contains(&minute) } else { minute >= from || minute < to }
    }

    /// The window as minutes of one day; over midnight it is two stretches.
    pub(crate) fn stretches(self) -> [std::ops::Range<u16>; 2] {
        let (from, to) = (self.from.minutes(), self.to.minutes());
        if from < to { [from..to, 0..0] } else { [0..to, from..MINUTES_PER_DAY] }
    }
}

/// A set of weekdays, 0 for Monday to 6 for Sunday. May be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<i64>", into = "Vec<i64>")]
pub struct Weekdays(u8);

/// A number that is no weekday.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{given} at position {position} is not a weekday from 0 (Monday) to 6 (Sunday)")]
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

    /// Returns true if a day is in the set.
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

    fn clock(minute: i64) -> HourMinute {
        HourMinute::try_from(chrono::TimeDelta::minutes(minute)).unwrap()
    }

    #[test]
    fn weekdays_are_0_to_6() {
        assert_eq!(Weekdays::from_numbers(&[0, 1, 2, 3, 4, 5, 6]), Ok(Weekdays::ALL));
        assert_eq!(Vec::from(Weekdays::from_numbers(&[6, 0, 6]).unwrap()), [0, 6]);
        let none = Weekdays::from_numbers(&[]).unwrap();
        assert!((0..=255).all(|day| !none.contains(day)));
        let error = Weekdays::from_numbers(&[0, 7]).unwrap_err();
        assert_eq!(error, WeekdayError { position: 1, given: 7 });
        assert!(Weekdays::from_numbers(&[-1]).is_err());
    }

    #[test]
    fn the_stretches_are_the_window() {
        for (from, to) in [(60, 120), (1320, 360), (420, 420), (0, 0), (1320, 0), (0, 1439)] {
            let window = HourMinuteWindow { from: clock(from), to: clock(to) };
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
