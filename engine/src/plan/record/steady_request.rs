//! Request of a plan that stays close to a previous one.
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::duration::DurationRequest;
use crate::plan::charge::plan::Plan;
use crate::plan::charge::request::{ChargeProblem, ChargeRequest};
use crate::plan::charge::vehicle::VehicleRequest;
use crate::plan::record::refused_request::RefusedRequest;
use crate::plan::stability::budget::Budget;
use crate::units::Power;

/// Request of the charging planner, in the unit of the caller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PlanRequest {
    /// A request in kWh.
    #[serde(rename = "charge")]
    Charge(ChargeRequest),
    /// A request in percent of a battery.
    #[serde(rename = "vehicle")]
    Vehicle(VehicleRequest),
    /// A request in hours to be switched on.
    #[serde(rename = "duration")]
    Duration(DurationRequest),
}

impl PlanRequest {
    /// Converts the request to kWh and checks it.
    ///
    /// # Errors
    /// The request is invalid.
    pub fn problem(&self) -> Result<ChargeProblem, RefusedRequest> {
        let request = match self {
            Self::Charge(request) => request.clone(),
            Self::Vehicle(vehicle) => vehicle.in_energy()?,
            Self::Duration(duration) => duration.in_energy()?,
        };
        Ok(ChargeProblem::new(request)?)
    }

    /// Share of a common power limit that this request occupies. `power_max` is its
    /// highest power, `last` the power that the device was last seen to draw. A
    /// request in hours occupies `last`, at most `power_max`; a request in energy
    /// occupies `power_max`, with which its hours of charging were planned.
    #[must_use]
    pub fn power_held(&self, power_max: Power, last: Option<Power>) -> Power {
        match self {
            Self::Duration(_) => last.map_or(power_max, |last| last.min(power_max)),
            Self::Charge(_) | Self::Vehicle(_) => power_max,
        }
    }

    /// First instant that a plan may use.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        match self {
            Self::Charge(request) => request.now,
            Self::Vehicle(vehicle) => vehicle.now,
            Self::Duration(duration) => duration.now,
        }
    }

    /// The request in percent, which has a battery; `None` for the others.
    #[must_use]
    pub fn vehicle(&self) -> Option<&VehicleRequest> {
        match self {
            Self::Vehicle(vehicle) => Some(vehicle),
            Self::Charge(_) | Self::Duration(_) => None,
        }
    }
}

/// Request of a plan that stays close to a previous plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteadyRequest {
    /// Request of the plan.
    pub wish: PlanRequest,
    /// The plan to stay close to.
    pub previous: Arc<Plan>,
    /// Budget of staying close, for the whole session.
    pub budget: Budget,
}

/// Checked request of a plan that stays close to a previous plan.
#[derive(Debug, Clone, PartialEq)]
pub struct SteadyProblem {
    /// The checked request in kWh.
    pub problem: ChargeProblem,
    /// The plan to stay close to.
    pub previous: Arc<Plan>,
    /// Budget of staying close.
    pub budget: Budget,
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::plan::charge::request::Target;
    use crate::units::{kw, kwh};

    #[test]
    fn who_needs_hours_holds_what_it_takes() {
        let now = "2026-01-05T18:00:00Z".parse().unwrap();
        let hours =
            DurationRequest { now, duration: TimeDelta::hours(2), by: None, power: kw(1.0) };
        let energy = ChargeRequest::new(now, kw(11.0), Target { by: None, energy: kwh(22.0) });
        let held = |wish: &PlanRequest, last: Option<f64>| wish.power_held(kw(11.0), last.map(kw));
        let (hours, energy) = (PlanRequest::Duration(hours), PlanRequest::Charge(energy));
        assert_eq!(held(&hours, None), kw(11.0));
        assert_eq!(held(&hours, Some(4.0)), kw(4.0));
        // A power limit that was lowered since then bounds it.
        assert_eq!(held(&hours, Some(16.0)), kw(11.0));
        assert_eq!(held(&energy, Some(4.0)), kw(11.0));
    }
}
