//! "Charge now", and its end.
use std::sync::Arc;

use slackwater_control::device::action::ActionEvent;
use slackwater_control::device::command::{Command, Refusal, Switch};
use slackwater_control::device::override_::{OverrideEvent, after};
use slackwater_control::device::pursuit::window_end;
use uuid::Uuid;

use crate::control::actions::{self, PendingUpdates};
use crate::control::facts::ControlContext;
use crate::control::orders::OrderError;
use crate::state::App;
use slackwater_store::actions::{self as rows, Action, Origin};
use slackwater_store::devices::Device;
use slackwater_store::error::StoreError;
use slackwater_store::overrides::{self, Override};

const STOP: Command = Command::Charge(Switch::Stop);

/// Has a device charge now, whatever schedules and plans want (OVR-01). The
/// active override, if there is one, is the answer (AMB-22).
///
/// A device that cannot start as it stands is told all the same: the action,
/// and the override with it, ends with the reason.
///
/// # Errors
/// There is no such device, its owner has not granted it, or it cannot be
/// started at all.
pub async fn create(app: &App, device_id: Uuid) -> Result<Override, OrderError> {
    match try_create(app, device_id).await {
        // Another replica was faster: what it made is active now.
        Err(OrderError::Store(error)) if error.is_conflict() => try_create(app, device_id).await,
        done => done,
    }
}

async fn try_create(app: &App, device_id: Uuid) -> Result<Override, OrderError> {
    let mut change = app.store().begin().await?;
    let now = app.now();
    let device = app.cache().read(|tables| tables.any_device(device_id).cloned());
    let device = device.ok_or(OrderError::NoSuchDevice)?;
    let is_charging = check(app, &device)?;
    change.claim([device_id]).await?;
    let active = overrides::active_override(change.connection(), device_id).await?;
    let told = rows::last_sent_action(change.connection(), device_id).await?;
    let event = request(app, is_charging, told.as_ref());
    let outcome = after(active.as_ref().map(|active| &active.life), event, now);
    let life = match (outcome.latest, active) {
        (_, Some(active)) => return Ok(active),
        (Some(life), None) => life,
        (None, None) => return Err(OrderError::NoSuchDevice),
    };
    let mut effects = PendingUpdates::default();
    let id = Uuid::now_v7();
    // OVR-10: what a schedule or plan has under way is called off by name, and a
    // stop whoever asked for it.
    let is_against = |action: &Action| {
        matches!(action.origin, Origin::Schedule(_) | Origin::Plan) || action.command == STOP
    };
    let end = (&ActionEvent::OwnerCancelled, now);
    actions::end_pending(&mut change, &mut effects, device_id, is_against, end).await?;
    let action = if life.has_start_action {
        let start = (Command::Charge(Switch::Start), Origin::Override(id));
        Some(actions::begin_action(&mut change, &mut effects, &device, start, now).await?)
    } else {
        None
    };
    let new = Override {
        id,
        client_id: Arc::clone(&device.client_id),
        user_id: Arc::clone(&device.user_id),
        target_id: device.id,
        kind: device.kind,
        vendor: device.vendor.clone(),
        action_id: action.map(|action| action.id),
        life,
    };
    overrides::insert_override(change.connection(), &new).await?;
    effects.keep_override(new.clone());
    change.commit(effects.shown_in(app)).await?;
    Ok(new)
}

/// Event that asks for an override of a device which was told this last. A stop
/// that it may still obey counts, whether its action is pending or was called off.
fn request(app: &App, is_charging: Option<bool>, told: Option<&Action>) -> OverrideEvent {
    let window = app.config().action.persistence();
    let stop = told.filter(|action| action.command == STOP);
    match stop.map(|stop| window_end(&stop.progress, window)).filter(|until| app.now() < *until) {
        Some(until) => OverrideEvent::RequestedAfterStop(is_charging, until),
        None => OverrideEvent::Requested(is_charging),
    }
}

/// Checks that a device can be overridden. Returns `true` if it charges.
fn check(app: &App, device: &Device) -> Result<Option<bool>, Refusal> {
    let now = app.now();
    let start = Command::Charge(Switch::Start);
    app.cache().read(|tables| {
        let scene = ControlContext { device, tables, now };
        let facts = scene.of_command(&start, Origin::Override(Uuid::nil()));
        match start.check(&facts) {
            Err(
                refusal @ (Refusal::NotPermitted { .. }
                | Refusal::Incapable { .. }
                | Refusal::Unauthorised),
            ) => Err(refusal),
            _ => Ok(scene.is_charging()),
        }
    })
}

/// Ends the active override of a device; `None` if it has none (OVR-06, OVR-07).
///
/// # Errors
/// The database failed, and it stays.
pub async fn end(app: &App, device_id: Uuid) -> Result<Option<Override>, StoreError> {
    let mut change = app.store().begin().await?;
    let now = app.now();
    change.claim([device_id]).await?;
    let active = overrides::active_override(change.connection(), device_id).await?;
    let Some(active) = active else { return Ok(None) };
    let Some(life) = after(Some(&active.life), OverrideEvent::EndRequested, now).latest else {
        return Ok(None);
    };
    let ended = Override { life, ..active };
    if !overrides::update_override(change.connection(), &ended).await? {
        return Ok(None);
    }
    let mut effects = PendingUpdates::default();
    // Its start, if that is still under way, goes with it.
    let is_its = |action: &Action| action.origin == Origin::Override(ended.id);
    let event = (&ActionEvent::OwnerCancelled, now);
    actions::end_pending(&mut change, &mut effects, device_id, is_its, event).await?;
    effects.keep_override(ended.clone());
    change.commit(effects.shown_in(app)).await?;
    Ok(Some(ended))
}
