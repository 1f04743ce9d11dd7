//! One turn of one pending action, and what a reading means for it.
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use metrics::counter;
use slackwater_control::device::action::ActionEvent;
use slackwater_control::device::pursuit::{Attempts, Step, next_step};
use tracing::{Instrument, Span, debug, error, info, info_span};
use uuid::Uuid;

use crate::control::actions::{self, PendingUpdates};
use crate::control::facts::ControlContext;
use crate::device_calls::call_device;
use crate::jobs::reading::refresh;
use crate::state::App;
use slackwater_integration::error::VendorError;
use slackwater_integration::vendor::Vendor;
use slackwater_store::actions as rows;
use slackwater_store::actions::Action;
use slackwater_store::devices::Device;
use slackwater_store::error::StoreError;
use slackwater_store::trace::{TRACES, continue_trace};

/// When a turn that the database cut short is taken again.
const COMMAND_RETRY: TimeDelta = TimeDelta::seconds(5);

/// Takes one turn of a device's pending action: reads the device, and then ends
/// the action, sends the command, or waits. Returns when the next turn is; `None`
/// if there is nothing more to do.
pub(crate) async fn pursue_action(app: &App, device_id: Uuid) -> Option<DateTime<Utc>> {
    let action = app.cache().read(|tables| tables.control().pending(device_id).cloned());
    let span = span_of(app, action.as_deref()).await;
    match try_pursue(app, device_id).instrument(span).await {
        Ok(next) => next,
        Err(failure) => {
            error!(%failure, device = %device_id, "an action was not pursued");
            app.now().checked_add_signed(COMMAND_RETRY)
        }
    }
}

/// Span of a turn, in the trace of the request that made the action; disabled without an action.
async fn span_of(app: &App, action: Option<&Action>) -> Span {
    let Some(action) = action else { return Span::none() };
    let span = info_span!(
        target: TRACES, parent: None, "pursue action", otel.kind = "consumer",
        action.id = %action.id, device.id = %action.target_id, attempts = i64::from(action.attempts.count)
    );
    if span.is_disabled() {
        return span;
    }
    match rows::traceparent_of_action(app.store(), action.id).await {
        Ok(traceparent) => continue_trace(&span, traceparent.as_deref()),
        Err(failure) => debug!(%failure, "a turn is not part of the trace of its request"),
    }
    span
}

async fn try_pursue(app: &App, device_id: Uuid) -> Result<Option<DateTime<Utc>>, StoreError> {
    let Some((device, before)) = pending_with_device(app, device_id) else { return Ok(None) };
    // Read first: what is known may be older than the command (AMB-04), and what
    // was sent may have been done. A reading that ends the action ends it here.
    let read = refresh(app, &device).await;
    let Some((device, action)) = pending_with_device(app, device_id) else { return Ok(None) };
    if action.id != before.id {
        return Ok(Some(app.now()));
    }
    if let Some(event) = read.err().and_then(|error| hopeless(&error)) {
        return end_action(app, action, &event).await.map(|()| None);
    }
    match step_of(app, &device, &action) {
        Step::Done => Ok(None),
        Step::End(event) => end_action(app, action, &event).await.map(|()| None),
        Step::WaitUntil(at) => Ok(Some(at)),
        Step::Send => send_command(app, &device, action).await,
    }
}

/// Sends a command once more. That it is sent is kept before it is: no crash
/// makes one of several attempts be forgotten.
async fn send_command(
    app: &App,
    device: &Device,
    action: Action,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    let now = app.now();
    let Some(action) = begin_attempt(app, action, now).await? else { return Ok(Some(now)) };
    let command = &action.command;
    let call =
        |vendor: Arc<dyn Vendor>, linked| async move { vendor.send(&linked, command, now).await };
    let sent = call_device(app, (device, "send"), call).await;
    count_command(app, device, &sent);
    if let Some(event) = sent.as_ref().err().and_then(hopeless) {
        log_failure(device, &action, &sent, None);
        return end_action(app, action, &event).await.map(|()| None);
    }
    let asked = match &sent {
        Err(VendorError::RateLimited { retry_after_seconds: Some(seconds) }) => {
            now.checked_add_signed(TimeDelta::seconds((*seconds).into()))
        }
        _ => None,
    };
    let next = match step_of(app, device, &action) {
        Step::WaitUntil(at) => at,
        _ => now,
    };
    let next = asked.map_or(next, |asked| asked.max(next));
    log_failure(device, &action, &sent, Some(next));
    Ok(Some(next))
}

/// Counts a command that was sent, by environment, manufacturer and outcome.
fn count_command(app: &App, device: &Device, sent: &Result<(), VendorError>) {
    let outcome = sent.as_ref().map_or_else(VendorError::as_str, |()| "passed_on");
    let (environment, vendor) = (app.environment().as_str(), device.vendor.as_str().to_owned());
    counter!(
        "slackwater_commands_total",
        "environment" => environment, "vendor" => vendor, "outcome" => outcome
    )
    .increment(1);
}

/// Tells of a command that the manufacturer did not take, and when it is looked at again.
fn log_failure(
    device: &Device,
    action: &Action,
    sent: &Result<(), VendorError>,
    next: Option<DateTime<Utc>>,
) {
    let Err(failure) = sent else { return };
    let Device { id, client_id, user_id, vendor, .. } = device;
    let next_try = next.map(|at| at.to_rfc3339()).unwrap_or_default();
    info!(
        %failure, action = %action.id, attempt = action.attempts.count, next_try, device = %id,
        %vendor, client = &**client_id, user = &**user_id, "a command was not passed on"
    );
}

/// Keeps that a command is about to be sent. `None` if it must not be: the action
/// ended meanwhile, or another replica is about to send the same.
async fn begin_attempt(
    app: &App,
    action: Action,
    now: DateTime<Utc>,
) -> Result<Option<Action>, StoreError> {
    let mut change = app.store().begin().await?;
    let connection = change.connection();
    let is_mine = rows::count_attempt(connection, action.id, action.attempts, now).await?;
    let kept = if is_mine {
        let count = action.attempts.count.saturating_add(1);
        let attempts = Attempts { count, last_at: Some(now), ..action.attempts };
        Some(Action { attempts, ..action.clone() })
    } else {
        let row = rows::get_action_in(connection, action.id, None).await?;
        row.filter(|row| row.progress.completed_at.is_none())
    };
    let (app, shown) = (app.clone(), kept.clone());
    change
        .commit(move || {
            app.cache().write(|tables| {
                let control = tables.control_mut();
                let is_current = control.pending(action.target_id);
                let is_current = is_current.is_some_and(|current| current.id == action.id);
                match shown {
                    Some(shown) if is_current => control.keep_pending(shown),
                    Some(_) => {}
                    None => control.remove_pending(action.target_id, action.id),
                }
            });
        })
        .await?;
    Ok(kept.filter(|_| is_mine))
}

/// End of an action after a failure that further attempts would not help. After all other failures
/// the command is sent again: the window bounds it.
fn hopeless(error: &VendorError) -> Option<ActionEvent> {
    // No wildcard arm: a new failure must be judged before this compiles.
    match error {
        VendorError::PreconditionLost { detail } => {
            Some(ActionEvent::PreconditionUnmet(Some(detail.clone())))
        }
        VendorError::Unauthorised => {
            let words = "The manufacturer does not accept the account; it must be linked again.";
            Some(ActionEvent::PreconditionUnmet(Some(words.to_owned())))
        }
        VendorError::NoSuchDevice => Some(ActionEvent::TargetDeleted),
        VendorError::Unreachable
        | VendorError::Asleep { .. }
        | VendorError::Refused { .. }
        | VendorError::RateLimited { .. }
        | VendorError::Outage
        | VendorError::TimedOut
        | VendorError::ChallengeFailed => None,
    }
}

async fn end_action(app: &App, action: Action, event: &ActionEvent) -> Result<(), StoreError> {
    let mut change = app.store().begin().await?;
    let mut effects = PendingUpdates::default();
    let (target_id, id) = (action.target_id, action.id);
    change.claim([target_id]).await?;
    let ended = actions::end_action(&mut change, &mut effects, action, event, app.now()).await?;
    let app = app.clone();
    change
        .commit(move || {
            if ended.is_none() {
                // Another replica ended it.
                app.cache().write(|tables| tables.control_mut().remove_pending(target_id, id));
            }
            effects.apply(&app);
        })
        .await
}

/// A device and its pending action, if it has one.
fn pending_with_device(app: &App, device_id: Uuid) -> Option<(Device, Action)> {
    app.cache().read(|tables| {
        let action = tables.control().pending(device_id)?;
        let device = tables.any_device(device_id)?;
        Some((Device::clone(device), Action::clone(action)))
    })
}

fn step_of(app: &App, device: &Device, action: &Action) -> Step {
    let now = app.now();
    let persistence = app.config().action.persistence();
    app.cache().read(|tables| {
        let reading = ControlContext { device, tables, now }.reading();
        next_step(&action.command, &action.progress, action.attempts, &reading, persistence, now)
    })
}
