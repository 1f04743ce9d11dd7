//! Request in hours: a time to be switched on, converted to energy.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::request::{ChargeRequest, ChargeRequestError, Target};
use crate::time::serde_micros;
use crate::units::{Energy, Power, UnitError};

/// Request of a device that must be switched on for some time at a constant power.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DurationRequest {
    /// First usable instant.
    pub now: DateTime<Utc>,
    /// Total time to be switched on; it may be split.
    #[serde(rename = "duration_microseconds", with = "serde_micros")]
    pub duration: TimeDelta,
    /// The deadline; `None` is the end of the known prices.
    pub by: Option<DateTime<Utc>>,
    /// Power while on.
    #[serde(rename = "power_kw")]
    pub power: Power,
}

/// Reason why a request in hours is invalid.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DurationError {
    /// The power or the duration is negative.
    #[error(transparent)]
    Request(#[from] ChargeRequestError),
    /// Power times duration is above the largest energy.
    #[error("duration: {0}")]
    TooLong(UnitError),
}

impl DurationRequest {
    /// Converts the request to kWh at the plug.
    ///
    /// # Errors
    /// Power times duration is above the largest energy, 1e12 kWh.
    pub fn in_energy(&self) -> Result<ChargeRequest, DurationError> {
        let energy = Energy::from_kwh(self.power.over(self.duration).as_kwh())
            .map_err(DurationError::TooLong)?;
        Ok(ChargeRequest::new(self.now, self.power, Target { by: self.by, energy }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{kw, kwh};

    fn request(duration: TimeDelta) -> DurationRequest {
        let now = "2026-01-05T18:00:00Z".parse().unwrap();
        DurationRequest { now, duration, by: None, power: kw(2.0) }
    }

    #[test]
    fn hours_at_a_power_are_energy() {
        let request = request(TimeDelta::minutes(90));
        assert_eq!(request.in_energy().unwrap().targets[0].energy, kwh(3.0));
        let text = serde_json::to_string(&request).unwrap();
        assert!(text.contains(r#""duration_microseconds":5400000000"#), "{text}");
        assert_eq!(serde_json::from_str::<DurationRequest>(&text).unwrap(), request);
    }

    #[test]
    fn more_than_any_energy_is_refused() {
        let mut request = request(TimeDelta::days(365 * 200_000));
        request.power = kw(1e7);
        let error = request.in_energy().unwrap_err().to_string();
        assert_eq!(error, "duration: 1.752e16 kWh is beyond 1e12");
    }
}
