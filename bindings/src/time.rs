//! Times on their way from and to Python.
use std::ops::RangeInclusive;

use chrono::{DateTime, Datelike, NaiveTime, TimeDelta, Utc};
use chrono_tz::Tz;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyDateTime, PyList, PyString, PyTime, PyTuple, PyTzInfo, PyTzInfoAccess,
};
use slackwater_engine::time::civil;
use slackwater_engine::time::deadline;
use slackwater_engine::time::hour_minute::{HourMinute, HourMinuteError};

use crate::error::{InputError, Named, Refused};

/// An aware `datetime` of any zone. `PyO3`'s own `DateTime<Utc>` takes
/// `timezone.utc` only, so other zones go through `astimezone`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instant(pub(crate) DateTime<Utc>);

impl<'py> FromPyObject<'_, 'py> for Instant {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let time = value.cast::<PyDateTime>().map_err(|_| {
            let given =
                value.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
            PyTypeError::new_err(format!("expected a datetime with a time zone, not {given}"))
        })?;
        let utc = PyTzInfo::utc(value.py())?;
        let zone = time.get_tzinfo();
        if zone.as_ref().is_some_and(|zone| zone.is(utc)) {
            return in_calendar(time.extract()?).map(Self);
        }
        if zone.is_none() || time.call_method0("utcoffset")?.is_none() {
            let text = format!("{} has no time zone; give an aware datetime", time.str()?);
            return Err(PyTypeError::new_err(text));
        }
        let in_utc = time.call_method1("astimezone", (utc,)).map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(value.py()) {
                outside_of_years(&time.to_string())
            } else {
                error
            }
        })?;
        in_calendar(in_utc.extract()?).map(Self)
    }
}

/// Years in which a time may lie. Python knows the years 1 to 9999; what is
/// made of a time, four years of statistics at most, must lie in them as well.
const YEARS: RangeInclusive<i32> = 10..=9_990;

fn outside_of_years(time: &str) -> PyErr {
    let (first, last) = (YEARS.start(), YEARS.end());
    InputError::new_err(format!("{time} lies outside the years {first} to {last}"))
}

/// Refuses a time near the ends of the calendar.
pub(crate) fn in_calendar(time: DateTime<Utc>) -> PyResult<DateTime<Utc>> {
    if YEARS.contains(&time.year()) { Ok(time) } else { Err(outside_of_years(&time.to_string())) }
}

/// A time of day: a `datetime.time` or a text `HH:MM`, which the engine reads.
#[derive(Debug, Clone)]
pub(crate) enum ClockTime {
    /// As people write it.
    Text(String),
    /// As Python has it.
    Time(NaiveTime),
}

impl<'py> FromPyObject<'_, 'py> for ClockTime {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Self::Text(text.extract()?));
        }
        let time = value.cast::<PyTime>().map_err(|_| {
            PyTypeError::new_err("expected a time of day: a datetime.time or \"HH:MM\"")
        })?;
        if time.get_tzinfo().is_some() {
            let text = "a time of day has no time zone of its own; give one without tzinfo";
            return Err(PyTypeError::new_err(text));
        }
        Ok(Self::Time(time.extract()?))
    }
}

impl ClockTime {
    /// The hour and the minute, or a refusal that names the argument.
    pub(crate) fn hour_minute(self, name: &str) -> Result<HourMinute, Refused> {
        match self {
            Self::Text(text) => HourMinute::parse(&text),
            Self::Time(time) => HourMinute::try_from(time),
        }
        .named(name)
    }

    /// The text for the engine to read.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Time(time) => {
                HourMinute::try_from(time).map_or_else(|_| time.to_string(), String::from)
            }
        }
    }
}

/// Two times of day, `(from, to)` as a tuple or a list.
#[derive(Debug, Clone)]
pub(crate) struct ClockWindow(pub(crate) ClockTime, pub(crate) ClockTime);

impl<'py> FromPyObject<'_, 'py> for ClockWindow {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if !value.is_instance_of::<PyTuple>() && !value.is_instance_of::<PyList>() {
            let text = "hour_minute: expected a pair of times of day, from and to";
            return Err(PyTypeError::new_err(text));
        }
        let times: Vec<ClockTime> = value.extract()?;
        let [from, to] = <[ClockTime; 2]>::try_from(times).map_err(|times| {
            let text = format!("hour_minute has {} times of day; it has two", times.len());
            InputError::new_err(text)
        })?;
        Ok(Self(from, to))
    }
}

/// A length below a day: a `timedelta` or a text `HH:MM`.
#[derive(Debug, Clone)]
pub(crate) struct ClockLength(Result<HourMinute, HourMinuteError>);

impl<'py> FromPyObject<'_, 'py> for ClockLength {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Self(HourMinute::parse(&text.extract::<String>()?)));
        }
        let length = value
            .extract::<TimeDelta>()
            .map_err(|_| PyTypeError::new_err("expected a duration: a timedelta or \"HH:MM\""))?;
        Ok(Self(HourMinute::try_from(length)))
    }
}

impl ClockLength {
    /// The length, or a refusal that names the argument.
    pub(crate) fn hour_minute(self, name: &str) -> Result<HourMinute, Refused> {
        self.0.named(name)
    }
}

/// A whole number, and no `bool`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole(pub(crate) i64);

impl<'py> FromPyObject<'_, 'py> for Whole {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err("expected a whole number, not a bool"));
        }
        value.extract().map(Self)
    }
}

/// Whether Python can hold an instant: its calendar ends with the year 9999.
pub(crate) fn is_in_python(at: DateTime<Utc>) -> bool {
    at.timestamp() < 253_402_300_800
}

/// A time zone by its IANA name.
pub(crate) fn time_zone(name: &str) -> Result<Tz, Refused> {
    name.parse().map_err(|_| {
        Refused::Input(format!("time_zone: {name:?} is no IANA time zone such as Europe/Oslo"))
    })
}

/// See `slackwater.TIME_ZONE_VERSION`.
#[pyfunction]
pub(crate) fn time_zone_version() -> &'static str {
    civil::ZONES_VERSION
}

/// See `slackwater.next_deadline`.
#[pyfunction]
#[pyo3(signature = (time, *, time_zone, now))]
pub(crate) fn next_deadline(
    time: ClockTime,
    time_zone: &str,
    now: Instant,
) -> Result<DateTime<Utc>, Refused> {
    let time = match time {
        ClockTime::Text(text) => HourMinute::parse(&text).named("time")?.time(),
        ClockTime::Time(time) => time,
    };
    Ok(deadline::next_deadline(time, self::time_zone(time_zone)?, now.0))
}
