//! A plan that is kept close to an older one, with all it was made from.
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::budget::Budget;
use crate::plan::duration::DurationRequest;
use crate::plan::plan::Plan;
use crate::plan::problem::{ChargeProblem, Request};
use crate::plan::replay::RefusedRequest;
use crate::plan::vehicle::VehicleRequest;

/// What is asked of a planner for charging, in the words of whoever asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Wish {
    /// In kWh.
    #[serde(rename = "charge")]
    Charge(Request),
    /// In percent of a battery.
    #[serde(rename = "vehicle")]
    Vehicle(VehicleRequest),
    /// In time to be switched on.
    #[serde(rename = "duration")]
    Duration(DurationRequest),
}

impl Wish {
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
pub struct KeptRequest {
    /// What is asked.
    pub wish: Wish,
    /// The plan to stay close to.
    pub previous: Arc<Plan>,
    /// Money that staying close may cost, over the whole stay.
    pub budget: Budget,
}

/// A wish that makes sense, with the plan that it is to stay close to.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptProblem {
    /// What is asked, in kWh.
    pub problem: ChargeProblem,
    /// The plan to stay close to.
    pub previous: Arc<Plan>,
    /// Money that staying close may cost.
    pub budget: Budget,
}
