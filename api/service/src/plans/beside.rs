//! Plans in areas with a limit: one beside those of the others.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use slackwater_engine::plan::record::{PlanRecord, PlanSummary};
use slackwater_engine::shared_supply::{
    IncrementalPlan, LoadProfile, OtherLoad, ReplanReason, SharedLimit, hold_current,
    plan_beside_profile as beside, reason_to_replan,
};
use slackwater_engine::units::Power;
use tracing::warn;
use uuid::Uuid;

use crate::cache::tables::{OfUser, Tables};
use crate::plans::facts::reading_facts;
use crate::plans::making::{DeviceRequest, power_held};
use crate::state::App;

/// An area with a limit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Area {
    /// The client whose devices share the limit.
    pub(crate) client: Arc<str>,
    /// The market zone.
    pub(crate) zone: String,
    /// The part of the zone.
    pub(crate) name: String,
}

/// Plans within what other devices leave of a shared limit.
#[derive(Debug, Default)]
pub(crate) struct SharedLimitPlans {
    /// Plans, by position.
    pub(crate) planned: BTreeMap<usize, PlanRecord>,
    /// Areas in which the room that was left did not suffice, and for what.
    pub(crate) wanting: BTreeMap<Area, ReplanReason>,
}

/// The area whose limit counts for a device, and that limit.
pub(crate) fn area_of(app: &App, asked: &DeviceRequest) -> Option<(Area, Arc<SharedLimit>)> {
    if app.limits().is_empty() {
        return None;
    }
    let facts = &asked.ready.counting.location.as_ref()?.facts;
    let (zone, name) = (facts.zone_id.as_deref()?, facts.area_id.as_deref()?);
    let limit = app.area_limit(zone, name)?;
    let client = Arc::clone(&asked.ready.client_id);
    Some((Area { client, zone: zone.to_owned(), name: name.to_owned() }, limit))
}

/// Loads of an area while the devices of a turn are planned one after the other. They are read and
/// added up once, and only if a device needs a plan beside them: a start looks at all devices of an
/// area, most of which ask for nothing yet or go on with the plan that they have.
#[derive(Debug, Default)]
struct AreaLoads {
    /// Loads of devices that were looked at before the others were read; `None` for no load.
    looked_at: BTreeMap<Uuid, Option<OtherLoad>>,
    /// Loads of all devices, and their sum, once they are read.
    read: Option<(BTreeMap<Uuid, OtherLoad>, LoadProfile)>,
}

impl AreaLoads {
    /// Replaces the load of a device.
    fn set(&mut self, id: Uuid, load: Option<OtherLoad>) {
        let Some((loads, profile)) = &mut self.read else {
            self.looked_at.insert(id, load);
            return;
        };
        if let Some(before) = loads.remove(&id) {
            profile.remove(&before.intervals, before.power);
        }
        if let Some(load) = load {
            profile.add(&load.intervals, load.power);
            loads.insert(id, load);
        }
    }

    /// Sum of the loads of all devices but one.
    fn others(&mut self, app: &App, area: &Area, id: Uuid) -> &LoadProfile {
        if self.read.is_none() {
            let loads = app.cache().read(|tables| read_loads(app, tables, area));
            app.planner().count_loads_read(loads.len());
            let mut profile = LoadProfile::default();
            for load in loads.values() {
                profile.add(&load.intervals, load.power);
            }
            self.read = Some((loads, profile));
            for (id, load) in std::mem::take(&mut self.looked_at) {
                self.set(id, load);
            }
        }
        self.set(id, None);
        &self.read.get_or_insert_default().1
    }
}

/// Plans for devices in areas with a limit: a plan goes on if it still does what
/// is asked, and is else made in the room that the other plans leave.
pub(crate) fn plan_beside(app: &App, asked: &[DeviceRequest]) -> SharedLimitPlans {
    let mut made = SharedLimitPlans::default();
    let mut takers: BTreeMap<Area, AreaLoads> = BTreeMap::new();
    for (position, asked) in asked.iter().enumerate() {
        let Some((area, limit)) = area_of(app, asked) else { continue };
        let loads = takers.entry(area.clone()).or_default();
        let id = asked.device_id();
        let planned = asked.power(app).and_then(|power| {
            let others = (&mut *loads, app, &area);
            Some((power, plan_one(asked, power, others, &limit)?))
        });
        let Some((power, (planned, reason))) = planned else {
            loads.set(id, None);
            continue;
        };
        if let Some(reason) = reason {
            made.wanting.entry(area).and_modify(|most| *most = reason.max(*most)).or_insert(reason);
        }
        let intervals = planned.summary.intervals.clone();
        loads.set(id, Some(OtherLoad { intervals, power }));
        made.planned.insert(position, planned);
    }
    made
}

/// The plan of one device, and what it leaves to be wished for.
fn plan_one(
    asked: &DeviceRequest,
    power: Power,
    (loads, app, area): (&mut AreaLoads, &App, &Area),
    limit: &SharedLimit,
) -> Option<(PlanRecord, Option<ReplanReason>)> {
    let (wish, sheet) = (asked.wish.as_ref().ok()?, asked.sheet.as_ref()?);
    let curve = sheet.prices.curve();
    let refused = |error: &dyn std::error::Error| {
        warn!(device = %asked.device_id(), %error, "a policy asks for what makes no sense");
    };
    let problem = wish.problem().inspect_err(|error| refused(error)).ok()?;
    let before = before(asked);
    let is_look = asked.ready.cause.is_look();
    let kept = before.filter(|_| is_look).and_then(|before| hold_current(curve, &problem, before));
    let fitted = match kept {
        Some(brief) => IncrementalPlan::with_room(brief),
        None => beside(curve, &problem, power, (loads.others(app, area, asked.device_id()), limit))
            .inspect_err(|error| refused(error))
            .ok()?,
    };
    let reason = reason_to_replan(&fitted, before);
    Some((
        PlanRecord { is_shared: true, ..PlanRecord::cheapest(wish.clone(), fitted.summary) },
        reason,
    ))
}

/// The plan before, if it was made for the same promise.
fn before(asked: &DeviceRequest) -> Option<&PlanSummary> {
    let before = asked.previous()?;
    let promise = asked.cycle.and_then(|cycle| cycle.promise);
    let is_same = before.state.cycle.and_then(|cycle| cycle.promise) == promise;
    before.planned().filter(|_| is_same).map(|planned| &planned.summary)
}

/// All devices of an area that have a plan, and when they charge.
pub(crate) fn read_loads(app: &App, tables: &Tables, area: &Area) -> BTreeMap<Uuid, OtherLoad> {
    let (now, assumed) = (app.now(), app.config().plans.assume.power_max);
    let taker = |id: Uuid| {
        let planned = tables.plans.plan(id)?.planned()?;
        let device = tables.any_device(id)?;
        let power = power_held(&planned.wish, &reading_facts(device, now), assumed);
        Some((id, OtherLoad { intervals: planned.summary.intervals.clone(), power }))
    };
    devices(tables, &area.client, &area.zone, Some(&area.name))
        .into_iter()
        .filter_map(taker)
        .collect()
}

/// The devices that an area's prices matter to: those under a policy of users
/// who have a place there. In order, and each once: a user may have several places.
pub(crate) fn devices(
    tables: &Tables,
    client_id: &str,
    zone_id: &str,
    area_id: Option<&str>,
) -> BTreeSet<Uuid> {
    let residents = tables.plans.residents(zone_id, area_id);
    let own = residents.filter(|(client, _)| **client == *client_id);
    let users = own.filter_map(|(client, user)| tables.user(client, user));
    let ids = users.flat_map(OfUser::device_ids);
    ids.filter(|id| tables.plans.has_policy(*id)).collect()
}
