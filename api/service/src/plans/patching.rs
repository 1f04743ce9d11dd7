//! Every way in which policies change. Plans follow before the caller goes on, and
//! also if the caller does not wait for them.
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use slackwater_control::policy::ask::{Cause, DeviceFacts};
use slackwater_control::policy::charger::{ChargerPatch, ChargerPolicy};
use slackwater_control::policy::comfort::{ComfortError, ComfortPolicy};
use slackwater_control::policy::flex::{FlexPatch, FlexPolicy, FlexRequest, ReserveRule};
use slackwater_control::policy::flex_issue::FlexIssues;
use slackwater_control::policy::flex_status::{FlexState, flex_state};
use slackwater_control::policy::vehicle::{
    VehiclePolicy, VehiclePolicyError, VehiclePolicyRequest,
};
use slackwater_wire::words::flex_state_name;
use uuid::Uuid;

use crate::plans::facts::device_facts;
use crate::plans::flex_body::FlexPolicyBody;
use crate::plans::planner::plan_for;
use crate::state::App;
use slackwater_integration::profile::VendorCode;
use slackwater_store::database::Change;
use slackwater_store::devices::Device;
use slackwater_store::error::StoreError;
use slackwater_store::events::{self, NewEvent};
use slackwater_store::finish::Finish;
use slackwater_store::policies::{self, FlexRow, SmartPolicy};

/// A flex policy was changed.
pub const UPDATED: &str = "Flex Policy Updated";

/// Event after a change: the status of a flex policy was evaluated.
pub const STATUS: &str = "Flex Policy Status";

/// Reason why a policy was not changed.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// There is no such policy.
    #[error("there is no such policy")]
    NoPolicy,
    /// There is no such device, place or plan.
    #[error("there is no such {0}")]
    Missing(&'static str),
    /// Members of a flex policy make no sense.
    #[error(transparent)]
    Flex(#[from] FlexIssues),
    /// A smart charging policy of a vehicle makes no sense.
    #[error(transparent)]
    Vehicle(#[from] VehiclePolicyError),
    /// A comfort policy of a heating or cooling unit makes no sense.
    #[error(transparent)]
    Comfort(#[from] ComfortError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Changes parts of the smart charging policy of a charger.
///
/// # Errors
/// The database failed, and nothing changed.
pub async fn patch_charger(
    app: &App,
    device_id: Uuid,
    patch: ChargerPatch,
) -> Result<ChargerPolicy, StoreError> {
    let app = app.clone();
    Finish::new(async move {
        let mut change = app.store().begin().await?;
        let before = match policies::lock_smart_policy(change.connection(), device_id).await? {
            Some(SmartPolicy::Charger(policy)) => policy,
            _ => ChargerPolicy::default(),
        };
        let policy = before.patched(patch);
        keep_smart(&app, change, device_id, SmartPolicy::Charger(policy)).await?;
        plan_for(&app, device_id, Cause::Policy).await;
        Ok(policy)
    })
    .await
}

/// Sets the smart charging policy of a vehicle.
///
/// # Errors
/// The floor is above the charge limit of the vehicle, or the database failed.
pub async fn set_vehicle(
    app: &App,
    device: &Device,
    request: VehiclePolicyRequest,
) -> Result<(), PolicyError> {
    let limit = app.cache().read(|tables| device_facts(tables, device, app.now()).charge_limit);
    VehiclePolicy::new(request, limit)?;
    let (app, id) = (app.clone(), device.id);
    Finish::new(async move {
        let change = app.store().begin().await?;
        keep_smart(&app, change, id, SmartPolicy::Vehicle(request)).await?;
        plan_for(&app, id, Cause::Policy).await;
        Ok(())
    })
    .await
}

/// Sets the comfort policy of a heating or cooling unit; `None` goes back to that of the settings,
/// and leaves the unit at its last setting if these have none.
///
/// # Errors
/// The policy makes no sense, or the database failed.
pub async fn set_comfort(
    app: &App,
    device_id: Uuid,
    policy: Option<ComfortPolicy>,
) -> Result<(), PolicyError> {
    policy.as_ref().map_or(Ok(()), ComfortPolicy::check)?;
    let app = app.clone();
    Finish::new(async move {
        let mut change = app.store().begin().await?;
        if let Some(policy) = policy {
            keep_smart(&app, change, device_id, SmartPolicy::Comfort(policy.into())).await?;
        } else {
            policies::delete_smart_policy(change.connection(), device_id).await?;
            let shown = app.clone();
            let show = move || {
                shown.cache().write(|tables| tables.plans.remove_smart(device_id));
            };
            change.commit(show).await?;
        }
        plan_for(&app, device_id, Cause::Policy).await;
        // Also for a unit that has no policy any more.
        app.control().schedule_evaluation(device_id);
        Ok(())
    })
    .await
}

async fn keep_smart(
    app: &App,
    mut change: Change,
    device_id: Uuid,
    policy: SmartPolicy,
) -> Result<(), StoreError> {
    policies::upsert_smart_policy(change.connection(), device_id, &policy).await?;
    let app = app.clone();
    let show = move || app.cache().write(|tables| tables.plans.keep_smart(device_id, policy));
    change.commit(show).await
}

/// Makes a flex policy, or puts it in the place of the one of its identifier.
/// What was observed of the charge limit stays.
///
/// # Errors
/// The vehicle or the place are not the client's, or not of one user; the
/// policy makes no sense; the database failed.
pub async fn keep_flex(
    app: &App,
    client_id: &str,
    id: Uuid,
    about: (Uuid, Uuid),
    request: FlexRequest,
) -> Result<FlexPolicyBody, PolicyError> {
    let (app, client_id) = (app.clone(), client_id.to_owned());
    Finish::new(async move { try_keep_flex(&app, &client_id, id, about, request).await }).await
}

async fn try_keep_flex(
    app: &App,
    client_id: &str,
    id: Uuid,
    (vehicle_id, location_id): (Uuid, Uuid),
    mut request: FlexRequest,
) -> Result<FlexPolicyBody, PolicyError> {
    let vehicle = app.cache().read(|tables| tables.device(client_id, vehicle_id).cloned());
    let vehicle = vehicle.ok_or(PolicyError::Missing("vehicle"))?;
    let is_place = app.cache().read(|tables| {
        let user = tables.user(client_id, &vehicle.user_id);
        user.is_some_and(|user| user.location(location_id).is_some())
    });
    if !is_place {
        return Err(PolicyError::Missing("location of the vehicle's user"));
    }
    let mut change = app.store().begin().await?;
    let before = policies::lock_flex_policy(change.connection(), client_id, id).await?;
    if let Some(before) = &before {
        request.observed_limit_percent = before.policy.observed_limit_percent;
    }
    FlexPolicy::new(&request, rule_of(app, &vehicle.vendor))?;
    let created_at = before.map_or_else(|| app.now(), |before| before.created_at);
    let client_id = Arc::clone(&vehicle.client_id);
    let row = FlexRow { id, client_id, vehicle_id, location_id, policy: request, created_at };
    policies::upsert_flex_policy(change.connection(), &row).await?;
    let shown = FlexPolicyBody::from_row(&row);
    show_flex(app, change, row).await?;
    plan_for(app, vehicle_id, Cause::Policy).await;
    Ok(shown)
}

/// Changes parts of a flex policy, all or none. Both events are kept in the
/// same change, the update first (FLX-35).
///
/// # Errors
/// There is no such policy, the result makes no sense, or the database failed.
pub async fn patch_flex(
    app: &App,
    client_id: &str,
    id: Uuid,
    patch: &FlexPatch,
) -> Result<FlexPolicyBody, PolicyError> {
    let (app, client_id, patch) = (app.clone(), client_id.to_owned(), patch.clone());
    Finish::new(async move { try_patch_flex(&app, &client_id, id, &patch).await }).await
}

async fn try_patch_flex(
    app: &App,
    client_id: &str,
    id: Uuid,
    patch: &FlexPatch,
) -> Result<FlexPolicyBody, PolicyError> {
    let mut change = app.store().begin().await?;
    let row = policies::lock_flex_policy(change.connection(), client_id, id).await?;
    let mut row = row.ok_or(PolicyError::NoPolicy)?;
    let vehicle = app.cache().read(|tables| tables.device(client_id, row.vehicle_id).cloned());
    let vehicle = vehicle.ok_or(PolicyError::NoPolicy)?;
    let policy = row.policy.patched(patch, rule_of(app, &vehicle.vendor))?;
    row.policy = policy.request();
    policies::upsert_flex_policy(change.connection(), &row).await?;
    let now = app.now();
    let known = app.cache().read(|tables| device_facts(tables, &vehicle, now));
    let shown = FlexPolicyBody::from_row(&row);
    let bodies = [(UPDATED, json!(shown)), (STATUS, status(&row, &policy, &known))];
    for (name, body) in bodies {
        let happening = happening(&vehicle, id, name, now, body);
        events::record_event(change.connection(), &happening).await?;
    }
    let vehicle_id = row.vehicle_id;
    show_flex(app, change, row).await?;
    plan_for(app, vehicle_id, Cause::Policy).await;
    Ok(shown)
}

async fn show_flex(app: &App, change: Change, row: FlexRow) -> Result<(), StoreError> {
    let app = app.clone();
    change.commit(move || app.cache().write(|tables| tables.plans.keep_flex(row))).await
}

fn happening(
    vehicle: &Device,
    policy_id: Uuid,
    name: &'static str,
    at: DateTime<Utc>,
    body: Value,
) -> NewEvent {
    NewEvent {
        client_id: vehicle.client_id.to_string(),
        user_id: vehicle.user_id.to_string(),
        target_id: Some(policy_id),
        name,
        at,
        body,
    }
}

/// Status of a flex policy, with the members that the specification names and no other: a state
/// without a printed name is not shown (NS-08, AMB-33).
fn status(row: &FlexRow, policy: &FlexPolicy, known: &DeviceFacts) -> Value {
    let facts = known.flex_facts(&row.location_id.to_string());
    let state: FlexState = flex_state(policy.reserve(), &facts);
    let mut status = json!({
        "settings": { "regularSchedule": FlexPolicyBody::from_row(row).schedule },
    });
    if let Some(name) = flex_state_name(state) {
        status["state"] = name.into();
    }
    status
}

/// Rule of a manufacturer for the reserve.
fn rule_of(app: &App, vendor: &VendorCode) -> ReserveRule {
    app.vendor(vendor).map_or(ReserveRule::Range, |vendor| vendor.profile().reserve)
}
