//! Meaning of what a control box writes.
use std::time::Duration;

use chrono::{DateTime, Datelike, SubsecRound, TimeDelta, Utc};
use eebus::model::{CmdData, ScaledNumber};
use eebus::usecases::limitation::{FAILSAFE_LIMIT_KEY, LimitWrite};
use slackwater_control::grid_order::limit::{GridMessage, GridOrder};
use slackwater_engine::units::{Power, UnitError};

/// Last year of an end: RFC 3339 has four digits.
const YEAR_MAX: i32 = 9999;

/// Limit that cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum LimitError {
    /// A value below zero.
    #[error("the limit of {watts} W is below 0 W")]
    Negative {
        /// As given.
        watts: f64,
    },
    /// A value that is no power.
    #[error("the limit: {0}")]
    NoPower(UnitError),
    /// An end after the year 9999.
    #[error("the limit holds for {} s, which ends after the year {YEAR_MAX}", .0.as_secs())]
    Endless(Duration),
}

/// Message that a limit of the box is. One that is not active, or holds for no time, is a release.
///
/// The duration counts from the arrival of the limit, and the end is a whole millisecond.
///
/// # Errors
/// The limit is active and below 0 W or no power, or its end is after the year 9999.
pub fn read_message(write: &LimitWrite, arrived: DateTime<Utc>) -> Result<GridMessage, LimitError> {
    if !write.is_active || write.duration == Some(Duration::ZERO) {
        return Ok(GridMessage::Release);
    }
    if write.watts < 0.0 {
        return Err(LimitError::Negative { watts: write.watts });
    }
    let limit = Power::from_kw(write.watts / 1000.0).map_err(LimitError::NoPower)?;
    let until = write.duration.map(|length| {
        let end = TimeDelta::from_std(length).ok();
        let end = end.and_then(|length| arrived.checked_add_signed(length));
        end.filter(|end| end.year() <= YEAR_MAX).ok_or(LimitError::Endless(length))
    });
    let until = until.transpose()?.map(|end| end.trunc_subsecs(3));
    Ok(GridMessage::Order(GridOrder { limit, until }))
}

/// Power in watts that a write makes the fail-safe limit; `None` if it writes other values only.
///
/// `data` has the values that are written, and `resolved` has all values as they would be then. A value that
/// cannot be read is `None`, too: the state machine refuses it.
#[must_use]
pub fn written_fail_safe(data: &CmdData, resolved: &CmdData) -> Option<f64> {
    let find = |data: &CmdData| {
        let CmdData::DeviceConfigurationKeyValueListData(list) = data else { return None };
        let mut entries = list.device_configuration_key_value_data.iter().flatten();
        entries.find(|entry| entry.key_id == Some(FAILSAFE_LIMIT_KEY)).cloned()
    };
    find(data)?;
    find(resolved)?.value?.scaled_number.as_ref().and_then(ScaledNumber::to_f64)
}

#[cfg(test)]
mod tests {
    use slackwater_engine::units::kw;

    use super::*;

    fn at_second(seconds: i64) -> DateTime<Utc> {
        "2026-01-05T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::seconds(seconds)
    }

    fn order_until(limit_kw: f64, until: Option<i64>) -> GridMessage {
        GridMessage::Order(GridOrder { limit: kw(limit_kw), until: until.map(at_second) })
    }

    #[test]
    fn an_active_limit_is_an_order_up_to_the_end_of_its_duration() {
        let read = |write| read_message(&write, at_second(0));
        assert_eq!(read(LimitWrite::active(4200.0)), Ok(order_until(4.2, None)));
        assert_eq!(read(LimitWrite::active(0.0)), Ok(order_until(0.0, None)));
        let quarter = LimitWrite::active_for(4200.0, Duration::from_mins(15));
        assert_eq!(read(quarter), Ok(order_until(4.2, Some(900))));
    }

    #[test]
    fn a_limit_that_is_not_active_or_holds_for_no_time_is_a_release() {
        for write in [
            LimitWrite::deactivated(),
            LimitWrite { is_active: false, ..LimitWrite::active(4200.0) },
            LimitWrite { is_active: false, ..LimitWrite::active(-4200.0) },
            LimitWrite::active_for(4200.0, Duration::ZERO),
        ] {
            assert_eq!(read_message(&write, at_second(0)), Ok(GridMessage::Release), "{write:?}");
        }
    }

    #[test]
    fn an_absurd_limit_is_an_error_with_its_value() {
        let endless = Duration::from_secs(1 << 40);
        for (write, expected) in [
            (LimitWrite::active(-1.0), "the limit of -1 W is below 0 W"),
            (LimitWrite::active(1e12), "the limit: 1e9 kW is beyond 1e7"),
            (LimitWrite::active(f64::NAN), "the limit: NaN"),
            (LimitWrite::active_for(1.0, endless), "the limit holds for 1099511627776 s"),
            (LimitWrite::active_for(1.0, Duration::MAX), "the limit holds for"),
        ] {
            let found = read_message(&write, at_second(0)).unwrap_err().to_string();
            assert!(found.starts_with(expected), "{found}");
        }
    }
}
