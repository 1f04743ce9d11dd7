//! Planned load of an area, for people.
use std::sync::Arc;

use chrono::{DateTime, Utc};
use slackwater_engine::shared_supply::{PlannedLoad, SharedLimit, planned_load};
use slackwater_engine::units::Power;
use slackwater_store::plans::KeptPlan;
use uuid::Uuid;

use crate::plans::beside::devices;
use crate::plans::facts::reading_facts;
use crate::plans::making::power_held;
use crate::state::App;

/// Devices looked at in one hold of the tables, so that writers wait for a moment only.
const LOOK: usize = 1_000;

/// Load that the plans of an area make together.
#[derive(Debug, Clone, PartialEq)]
pub struct AreaLoad {
    /// The load.
    pub load: PlannedLoad,
    /// Limit of the area, if it has one.
    pub limit: Option<Arc<SharedLimit>>,
    /// Number of devices under a policy.
    pub devices: usize,
    /// Number of these that have a plan.
    pub planned: usize,
}

/// The load that the plans of a client's devices in an area make together in a window.
#[must_use]
pub fn load_of_area(
    app: &App,
    (client_id, zone_id, area_id): (&str, &str, &str),
    window: (DateTime<Utc>, DateTime<Utc>),
) -> AreaLoad {
    let now = app.now();
    let ids = app.cache().read(|tables| devices(tables, client_id, zone_id, Some(area_id)));
    let ids: Vec<Uuid> = ids.into_iter().collect();
    let mut plans = Vec::new();
    for ids in ids.chunks(LOOK) {
        plans.extend(planned_of(app, ids, now));
    }
    let limit = app.area_limit(zone_id, area_id);
    let taken = plans
        .iter()
        .filter_map(|(plan, power)| Some((&plan.planned()?.summary.intervals[..], *power)));
    let load = planned_load(taken, window, limit.as_deref());
    AreaLoad { load, limit, devices: ids.len(), planned: plans.len() }
}

/// Plans of devices, each with the power it takes while it charges.
fn planned_of(app: &App, ids: &[Uuid], now: DateTime<Utc>) -> Vec<(Arc<KeptPlan>, Power)> {
    let assumed = app.config().plans.assume.power_max;
    app.cache().read(|tables| {
        let planned = ids.iter().filter_map(|&id| {
            let plan = tables.plans.plan(id)?;
            let device = tables.any_device(id)?;
            let power = power_held(&plan.planned()?.wish, &reading_facts(device, now), assumed);
            Some((Arc::clone(plan), power))
        });
        planned.collect()
    })
}
