//! A plan that is kept close to an older one, with all it was made from.
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

/// What is asked of a planner for charging, in the words of whoever asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PlanRequest {
    /// In kWh.
    #[serde(rename = "charge")]
    Charge(ChargeRequest),
    /// In percent of a battery.
    #[serde(rename = "vehicle")]
    Vehicle(VehicleRequest),
    /// In time to be switched on.
    #[serde(rename = "duration")]
    Duration(DurationRequest),
}

impl PlanRequest {
    /// The same in kWh, checked.
    ///
    /// # Errors
    /// The wish makes no sense.
    pub fn problem(&self) -> Result<ChargeProblem, RefusedRequest> {
        let request = match self {
            Self::Charge(request) => request.clone(),
            Self::Vehicle(vehicle) => vehicle.in_energy()?,
            Self::Duration(duration) => duration.in_energy()?,
        };
        Ok(ChargeProblem::new(request)?)
    }

    /// The power that it takes of what others share with it, given the highest and
    /// what was last seen. Who needs time and takes less than it might holds no more;
    /// who needs energy holds what its hours were counted with.
    #[must_use]
    pub fn power_held(&self, power_max: Power, last: Option<Power>) -> Power {
        match self {
            Self::Duration(_) => last.map_or(power_max, |last| last.min(power_max)),
            Self::Charge(_) | Self::Vehicle(_) => power_max,
        }
    }

    /// The first instant that a plan may use.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        match self {
            Self::Charge(request) => request.now,
            Self::Vehicle(vehicle) => vehicle.now,
            Self::Duration(duration) => duration.now,
        }
    }

    /// The battery, where the wish speaks of one.
    #[must_use]
    pub fn vehicle(&self) -> Option<&VehicleRequest> {
        match self {
            Self::Vehicle(vehicle) => Some(vehicle),
            Self::Charge(_) | Self::Duration(_) => None,
        }
    }
}

/// A wish whose plan is to stay close to an older plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteadyRequest {
    /// What is asked.
    pub wish: PlanRequest,
    /// The plan to stay close to.
    pub previous: Arc<Plan>,
    /// Money that staying close may cost, over the whole stay.
    pub budget: Budget,
}

/// A wish that makes sense, with the plan that it is to stay close to.
#[derive(Debug, Clone, PartialEq)]
pub struct SteadyProblem {
    /// What is asked, in kWh.
    pub problem: ChargeProblem,
    /// The plan to stay close to.
    pub previous: Arc<Plan>,
    /// Money that staying close may cost.
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
        // A limit that was lowered since holds.
        assert_eq!(held(&hours, Some(16.0)), kw(11.0));
        assert_eq!(held(&energy, Some(4.0)), kw(11.0));
    }
}
