//! Orders of stored plans to devices.
use chrono::{DateTime, Utc};
use slackwater_control::device::command::Switch;
use slackwater_control::policy::need::ChargingNeed;
use slackwater_control::policy::switch::switch_at;
use uuid::Uuid;

use crate::cache::tables::Tables;
use crate::plans::facts::plan_context;
use crate::state::App;
use slackwater_store::devices::Device;
use slackwater_store::plans::Outcome;

/// Order of the plan of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlanOrder {
    /// Switch to set; `None` if no plan orders anything.
    pub switch: Option<Switch>,
    /// When that changes next; `None` if the plan knows no such time.
    pub until: Option<DateTime<Utc>>,
}

/// Order of the stored plan of a device at an instant. Do not call it while looking at the tables:
/// [`wanted_in`] is for that.
#[must_use]
pub fn wanted(app: &App, device: &Device, now: DateTime<Utc>) -> PlanOrder {
    app.cache().read(|tables| wanted_in(tables, device.id, now))
}

/// The same, for who looks at the tables already.
#[must_use]
pub fn wanted_in(tables: &Tables, device_id: Uuid, now: DateTime<Utc>) -> PlanOrder {
    let Some(plan) = tables.plans.plan(device_id) else { return PlanOrder::default() };
    match &plan.state.outcome {
        Outcome::Idle(idle) => {
            let switch = idle.switch(plan.state.cycle.as_ref());
            PlanOrder { switch, until: plan.state.review_at.filter(|_| switch.is_some()) }
        }
        Outcome::Planned(planned) => {
            let (switch, until) = switch_at(&planned.summary.intervals, now);
            PlanOrder { switch: Some(switch), until }
        }
    }
}

/// Charging that the stored plan of a device still wants before its deadline; `None` without a deadline.
/// For callers that look at the tables already.
#[must_use]
pub fn charging_need(tables: &Tables, device_id: Uuid, now: DateTime<Utc>) -> Option<ChargingNeed> {
    let plan = tables.plans.plan(device_id)?;
    let leaves = plan.state.cycle?.promise?.by;
    let Outcome::Planned(planned) = &plan.state.outcome else { return None };
    ChargingNeed::of_plan(&planned.summary.intervals, leaves, now)
}

/// Returns `true` if smart charging would control a device: a policy is on, and the device is where
/// it holds. For callers that look at the tables already.
#[must_use]
pub fn is_in_force(tables: &Tables, device: &Device, now: DateTime<Utc>) -> bool {
    plan_context(tables, device, now)
        .is_some_and(|counting| counting.policy.is_in_force(&counting.known))
}
