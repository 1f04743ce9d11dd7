//! Plans for charging, whichever way they were asked for.
use std::sync::Arc;

use chrono::{DateTime, Utc};
use slackwater_engine::plan::charge as engine;
use slackwater_engine::plan::charge::{ChargeRequest, DurationRequest, VehicleRequest};
use slackwater_engine::plan::record::{PlanRequest, Recorded, SavedRun, SteadyRequest};
use slackwater_engine::prices::curve::PriceCurve;

/// A plan for charging, with the request of any kind that it answers.
#[derive(Debug)]
pub(crate) enum Charged {
    Charge(SavedRun<ChargeRequest>),
    Vehicle(SavedRun<VehicleRequest>),
    Duration(SavedRun<DurationRequest>),
    Kept(SavedRun<SteadyRequest>),
}

impl Charged {
    /// Plan of the engine.
    pub(crate) fn plan(&self) -> &engine::Plan {
        match self {
            Self::Charge(run) => run.plan(),
            Self::Vehicle(run) => run.plan(),
            Self::Duration(run) => run.plan(),
            Self::Kept(run) => &run.plan().plan,
        }
    }

    /// The prices it was planned for.
    pub(crate) fn prices(&self) -> &Arc<PriceCurve> {
        match self {
            Self::Charge(run) => run.prices(),
            Self::Vehicle(run) => run.prices(),
            Self::Duration(run) => run.prices(),
            Self::Kept(run) => run.prices(),
        }
    }

    /// The first instant that the plan may use.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        match self {
            Self::Charge(run) => run.request().now,
            Self::Vehicle(run) => run.request().now,
            Self::Duration(run) => run.request().now,
            Self::Kept(run) => run.request().wish.now(),
        }
    }

    /// Request of the plan.
    pub(crate) fn wish(&self) -> PlanRequest {
        match self {
            Self::Charge(run) => PlanRequest::Charge(run.request().clone()),
            Self::Vehicle(run) => PlanRequest::Vehicle(run.request().clone()),
            Self::Duration(run) => PlanRequest::Duration(*run.request()),
            Self::Kept(run) => run.request().wish.clone(),
        }
    }

    /// The battery and its wishes, where the plan was made for one.
    pub(crate) fn vehicle(&self) -> Option<&VehicleRequest> {
        match self {
            Self::Vehicle(run) => Some(run.request()),
            Self::Kept(run) => run.request().wish.vehicle(),
            Self::Charge(_) | Self::Duration(_) => None,
        }
    }

    /// The plan as it is saved.
    pub(crate) fn recorded(&self) -> Recorded {
        match self {
            Self::Charge(run) => run.clone().into(),
            Self::Vehicle(run) => run.clone().into(),
            Self::Duration(run) => run.clone().into(),
            Self::Kept(run) => run.clone().into(),
        }
    }
}
