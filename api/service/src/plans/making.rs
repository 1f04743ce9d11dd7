//! Making plans: gathered from memory, priced, planned by the engine, written.
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use slackwater_control::policy::ask::{Cause, DeviceFacts, DevicePolicy, NoRequest};
use slackwater_control::policy::cycle::Cycle;
use slackwater_control::schedule::place::{Place, time_zone_of};
use slackwater_engine::batch::plan_wishes;
use slackwater_engine::plan::record::{PlanRecord, PlanRequest, PlanSummary, PreviousPlan};
use slackwater_engine::prices::resolve::{Sources, resolve};
use slackwater_engine::shared_supply::ReplanReason;
use slackwater_engine::units::Power;
use sqlx::AnyConnection;
use tracing::warn;
use uuid::Uuid;

use crate::cache::price_lookup::Purpose;
use crate::cache::tables::Tables;
use crate::plans::beside::{Area, area_of, plan_beside};
use crate::plans::facts::{DevicePlanContext, plan_context};
use crate::plans::pricing::Pricer;
use crate::queue::plans::Due;
use crate::state::App;
use slackwater_store::database::Change;
use slackwater_store::error::StoreError;
use slackwater_store::jobs;
use slackwater_store::plans::{self, KeptPlan, Outcome, PlanState, PriceSheet};
use slackwater_store::policies::{self, FlexRow};

/// Plans that are not in memory yet.
#[derive(Debug, Default)]
pub struct PlannedDevices {
    /// Plans.
    pub plans: Vec<KeptPlan>,
    /// Flex policies whose vehicle was seen with another charge limit.
    pub flex: Vec<FlexRow>,
    /// True if areas were asked to be planned together.
    pub is_shared: bool,
}

/// A device with all that its plan rests on, prices apart.
#[derive(Debug, Clone)]
pub(crate) struct PlanInputs {
    pub(crate) device_id: Uuid,
    pub(crate) client_id: Arc<str>,
    pub(crate) cause: Cause,
    pub(crate) counting: DevicePlanContext,
    before: Option<Arc<KeptPlan>>,
}

/// Request for a plan of a device, with its prices.
#[derive(Debug)]
pub(crate) struct DeviceRequest {
    pub(crate) ready: PlanInputs,
    pub(crate) cycle: Option<Cycle>,
    pub(crate) sheet: Option<Arc<PriceSheet>>,
    pub(crate) wish: Result<PlanRequest, NoRequest>,
}

/// Plans for devices and keeps the plans, in a change that is under way.
///
/// # Errors
/// The database failed.
pub async fn make(
    app: &App,
    change: &mut Change,
    pricer: &mut Pricer,
    due: &[Due],
) -> Result<PlannedDevices, StoreError> {
    let now = app.now();
    let asked = ask_all(app, pricer, due, now);
    let flex = observe(change.connection(), &asked).await?;
    let old = sheets_before(app, change.connection(), &asked).await?;
    let mut planned = plan_all(app, &asked, &old);
    let beside = plan_beside(app, &asked);
    ask_areas(change.connection(), &beside.wanting, now).await?;
    planned.extend(beside.planned);
    let made = finish(asked, planned, now);
    keep_plans(change.connection(), &made).await?;
    let is_shared = !beside.wanting.is_empty();
    Ok(PlannedDevices { flex, is_shared, plans: made.into_iter().map(|(plan, _)| plan).collect() })
}

/// Writes plans and the sheets that they rest on.
pub(crate) async fn keep_plans(
    to: &mut AnyConnection,
    made: &[(KeptPlan, Option<Arc<PriceSheet>>)],
) -> Result<(), StoreError> {
    let sheets: BTreeMap<&str, &Arc<PriceSheet>> =
        made.iter().filter_map(|(_, sheet)| sheet.as_ref().map(|s| (&*s.id, s))).collect();
    for sheet in sheets.values() {
        plans::insert_sheet(to, sheet).await?;
    }
    let rows: Vec<&KeptPlan> = made.iter().map(|(plan, _)| plan).collect();
    plans::upsert_plans(to, &rows).await
}

/// Requests of all devices that are due and still exist.
pub(crate) fn ask_all(
    app: &App,
    pricer: &mut Pricer,
    due: &[Due],
    now: DateTime<Utc>,
) -> Vec<DeviceRequest> {
    let ready: Vec<PlanInputs> = app.cache().read(|tables| {
        due.iter().filter_map(|&(id, cause)| gather(tables, id, cause, now)).collect()
    });
    ready.into_iter().map(|ready| ask(app, pricer, ready, now)).collect()
}

fn gather(tables: &Tables, id: Uuid, cause: Cause, now: DateTime<Utc>) -> Option<PlanInputs> {
    let device = tables.any_device(id)?;
    let counting = plan_context(tables, device, now)?;
    let client_id = Arc::clone(&device.client_id);
    let before = tables.plans.plan(id).cloned();
    Some(PlanInputs { device_id: id, client_id, cause, counting, before })
}

fn ask(app: &App, pricer: &mut Pricer, ready: PlanInputs, now: DateTime<Utc>) -> DeviceRequest {
    let DevicePlanContext { policy, flex_policy_id, location, known } = &ready.counting;
    let place = location.as_ref().map(|place| Place { time_zone: place.facts.time_zone });
    let zone = time_zone_of(place, None);
    let is_same = |before: &Arc<KeptPlan>| before.flex_policy_id == *flex_policy_id;
    let before = ready.before.as_ref().filter(|before| is_same(before));
    let is_new = before.is_none() || ready.cause == Cause::Policy;
    let told = before.and_then(|before| before.planned()).map(|planned| &planned.summary.intervals);
    let told = told.map_or([].as_slice(), Vec::as_slice);
    let cycle = before.and_then(|before| before.state.cycle);
    let cycle = policy.cycle((cycle, told), known, zone, now, is_new);
    let purpose = match policy {
        DevicePolicy::Flex { .. } => Purpose::Flex,
        DevicePolicy::Charger(_) | DevicePolicy::Vehicle(_) => Purpose::SmartCharging,
    };
    let is_priced = policy.is_in_force(known);
    let place = location.as_ref().filter(|_| is_priced);
    let sheet = place.map(|place| pricer.sheet(place, purpose));
    let none = resolve(Sources::default(), now, now);
    let known_prices = sheet.as_ref().map_or(&none, |sheet| &sheet.prices);
    let assumed = &app.config().plans.assume;
    let wish = policy.plan_request(known, cycle.as_ref(), zone, now, known_prices.curve(), assumed);
    DeviceRequest { ready, cycle, sheet, wish }
}

/// Remembers the charge limits with which vehicles were seen where their flex
/// policies hold (FLX-24).
async fn observe(
    to: &mut AnyConnection,
    asked: &[DeviceRequest],
) -> Result<Vec<FlexRow>, StoreError> {
    let mut changed = Vec::new();
    for asked in asked {
        let DevicePlanContext { policy, flex_policy_id, known, .. } = &asked.ready.counting;
        let (DevicePolicy::Flex { policy, location }, Some(id)) = (policy, *flex_policy_id) else {
            continue;
        };
        let seen = policy.observing(&known.flex_facts(location));
        if seen.observed_limit() == policy.observed_limit() {
            continue;
        }
        let row = policies::lock_flex_policy(to, &asked.ready.client_id, id).await?;
        if let Some(mut row) = row {
            row.policy.observed_limit_percent = seen.observed_limit().as_percent();
            policies::upsert_flex_policy(to, &row).await?;
            changed.push(row);
        }
    }
    Ok(changed)
}

/// Asks for new plans of areas.
async fn ask_areas(
    to: &mut AnyConnection,
    areas: &BTreeMap<Area, ReplanReason>,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    for (Area { client, zone, name }, wanting) in areas {
        let area = (&**client, zone.as_str(), name.as_str());
        jobs::request_area_after(to, area, now, wanting.min_interval()).await?;
    }
    Ok(())
}

/// The sheets of the plans before, where plans stay close to those.
async fn sheets_before(
    app: &App,
    from: &mut AnyConnection,
    asked: &[DeviceRequest],
) -> Result<HashMap<Arc<str>, PriceSheet>, StoreError> {
    let mut sheets = HashMap::new();
    if app.config().plans.stability_budget.is_none() {
        return Ok(sheets);
    }
    for id in asked.iter().filter_map(|asked| asked.previous()?.sheet_id.clone()) {
        if !sheets.contains_key(&id)
            && let Some(sheet) = plans::get_sheet(from, &id).await?
        {
            sheets.insert(id, sheet);
        }
    }
    Ok(sheets)
}

impl DeviceRequest {
    /// The plan before, if it belongs to the same stay.
    pub(crate) fn previous(&self) -> Option<&KeptPlan> {
        let before = self.ready.before.as_deref()?;
        let since = |cycle: Option<Cycle>| cycle.map(|cycle| cycle.since);
        let is_same = since(before.state.cycle) == since(self.cycle)
            && before.flex_policy_id == self.ready.counting.flex_policy_id;
        (is_same && before.planned().is_some()).then_some(before)
    }
}

/// Plans all wishes without a limit, those of one sheet together. Answers by position.
fn plan_all(
    app: &App,
    asked: &[DeviceRequest],
    old: &HashMap<Arc<str>, PriceSheet>,
) -> BTreeMap<usize, PlanRecord> {
    let mut groups: BTreeMap<&str, (&Arc<PriceSheet>, Vec<usize>)> = BTreeMap::new();
    for (position, asked) in asked.iter().enumerate() {
        if let (Ok(_), Some(sheet), None) = (&asked.wish, &asked.sheet, area_of(app, asked)) {
            groups.entry(&*sheet.id).or_insert((sheet, Vec::new())).1.push(position);
        }
    }
    let mut planned = BTreeMap::new();
    for (sheet, positions) in groups.into_values() {
        let wish = |&position: &usize| {
            let asked = &asked[position];
            let before = asked.previous().and_then(|before| {
                let curve = old.get(before.sheet_id.as_ref()?)?.prices.curve();
                Some(PreviousPlan { planned: before.planned()?, curve })
            });
            Some((asked.wish.clone().ok()?, before))
        };
        let wishes: Vec<_> = positions.iter().filter_map(wish).collect();
        let budget = app.config().plans.stability_budget;
        let made = plan_wishes(sheet.prices.curve(), wishes, budget);
        for (position, made) in positions.into_iter().zip(made) {
            match made {
                Ok(made) => {
                    planned.insert(position, made);
                }
                Err(error) => {
                    warn!(device = %asked[position].ready.device_id, %error, "a policy asks for what makes no sense");
                }
            }
        }
    }
    planned
}

/// Plans, or why there are none, as they are kept.
pub(crate) fn finish(
    asked: Vec<DeviceRequest>,
    mut planned: BTreeMap<usize, PlanRecord>,
    now: DateTime<Utc>,
) -> Vec<(KeptPlan, Option<Arc<PriceSheet>>)> {
    let finish = |(position, asked): (usize, DeviceRequest)| {
        let DeviceRequest { ready, cycle, sheet, wish } = asked;
        let made = planned.remove(&position);
        let brief: Option<&PlanSummary> = made.as_ref().map(|planned| &planned.summary);
        let review_at = ready.counting.policy.review_at(cycle.as_ref(), brief, now);
        let idle = || Outcome::Idle(wish.err().unwrap_or(NoRequest::NothingAsked));
        let outcome = made.map_or_else(idle, |planned| Outcome::Planned(Box::new(planned)));
        let is_planned = matches!(outcome, Outcome::Planned(_));
        let sheet = sheet.filter(|_| is_planned);
        let plan = KeptPlan {
            device_id: ready.device_id,
            flex_policy_id: ready.counting.flex_policy_id,
            made_at: now,
            sheet_id: sheet.as_ref().map(|sheet| Arc::clone(&sheet.id)),
            state: PlanState { cause: ready.cause, cycle, review_at, outcome },
        };
        (plan, sheet)
    };
    asked.into_iter().enumerate().map(finish).collect()
}

impl DeviceRequest {
    /// The device.
    pub(crate) const fn device_id(&self) -> Uuid {
        self.ready.device_id
    }

    /// The device as something to plan for.
    #[cfg(feature = "lp")]
    pub(crate) const fn due(&self) -> Due {
        (self.ready.device_id, self.ready.cause)
    }

    /// The power that the device takes of a limit while it charges, if anything is
    /// asked for it.
    pub(crate) fn power(&self, app: &App) -> Option<Power> {
        let assumed = app.config().plans.assume.power_max;
        Some(power_held(self.wish.as_ref().ok()?, &self.ready.counting.known, assumed))
    }
}

/// The power that a device takes of a limit, by what is asked for it and what is known.
pub(crate) fn power_held(wish: &PlanRequest, known: &DeviceFacts, assumed: Power) -> Power {
    wish.power_held(known.power_max.unwrap_or(assumed), known.power_last)
}
