//! Beginnings and ends of actions, with all that follows from them, in a change.
use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use metrics::counter;
use slackwater_control::device::action::{ActionEvent, ActionState, Progress};
use slackwater_control::device::command::{Command, Switch};
use slackwater_control::device::override_::{
    self, Override as Life, OverrideEffect, OverrideEvent,
};
use slackwater_control::device::polling::OBEYED_WITHIN;
use slackwater_control::device::pursuit::Attempts;
use uuid::Uuid;

use crate::control::body::ActionBody;
use crate::queue::orders::Task;
use crate::state::App;
use slackwater_store::actions::{self, Action, Origin};
use slackwater_store::change::lock_device;
use slackwater_store::database::Change;
use slackwater_store::devices::Device;
use slackwater_store::error::StoreError;
use slackwater_store::events::{self, NewEvent};
use slackwater_store::overrides::{self, Override};

/// The event of each state that an action enters (EVT-03).
pub const ACTION_UPDATED: &str = "user:vendor-action:updated";

/// Updates of memory and queues that a change brings, for after its commit.
#[derive(Debug, Default)]
pub struct PendingUpdates {
    began: Vec<Action>,
    ended: Vec<Action>,
    overrides: Vec<Override>,
    looks: BTreeSet<Uuid>,
}

impl PendingUpdates {
    /// Returns `true` if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.began.is_empty() && self.ended.is_empty() && self.overrides.is_empty()
    }

    /// Has a device looked at afterwards.
    pub fn look_at(&mut self, id: Uuid) {
        self.looks.insert(id);
    }

    /// Shows what was done. Call it where the change is committed.
    pub fn apply(self, app: &App) {
        let Self { began, ended, overrides, mut looks } = self;
        for action in &ended {
            counter!("slackwater_actions_total", "state" => action.progress.state.as_str())
                .increment(1);
            if action.attempts.count > 0 && action.progress.state != ActionState::Confirmed {
                let at = action.progress.updated_at + OBEYED_WITHIN;
                app.poller().reschedule_earlier(action.target_id, at);
            }
        }
        looks.extend(began.iter().chain(&ended).map(|action| action.target_id));
        looks.extend(overrides.iter().map(|override_| override_.target_id));
        let pursued: Vec<Uuid> = began.iter().map(|action| action.target_id).collect();
        app.cache().write(|tables| {
            let control = tables.control_mut();
            for action in &ended {
                control.remove_pending(action.target_id, action.id);
            }
            for action in began {
                control.keep_pending(action);
            }
            for override_ in overrides {
                control.keep_override(override_);
            }
        });
        for id in pursued {
            app.control().put(Task::Pursue(id), DateTime::<Utc>::MIN_UTC);
        }
        for id in looks {
            app.control().schedule_evaluation(id);
        }
    }

    /// Shows what was done, as a change does it that is committed.
    pub fn shown_in(self, app: &App) -> impl FnOnce() + Send + use<> {
        let app = app.clone();
        move || self.apply(&app)
    }

    pub(crate) fn keep_override(&mut self, override_: Override) {
        self.overrides.push(override_);
    }
}

/// Begins an action. The device's pending one, if there is one, ends first with
/// a conflict (ACT-13). Whether the device may still obey an earlier command is
/// kept with the new action.
///
/// # Errors
/// The database failed, or somebody else began one for the same device at the
/// same time ([`StoreError::is_conflict`]).
pub async fn begin_action(
    change: &mut Change,
    effects: &mut PendingUpdates,
    device: &Device,
    (command, origin): (Command, Origin),
    now: DateTime<Utc>,
) -> Result<Action, StoreError> {
    // Of two replicas, the second sees what the first has begun.
    lock_device(change.connection(), device.id).await?;
    if let Some(pending) = actions::pending_action(change.connection(), device.id).await? {
        end_action(change, effects, pending, &ActionEvent::Superseded, now).await?;
    }
    let rival = actions::last_sent_action(change.connection(), device.id).await?;
    let rival_created_at = rival.map(|rival| rival.progress.created_at);
    let action = Action {
        id: Uuid::now_v7(),
        client_id: Arc::clone(&device.client_id),
        user_id: Arc::clone(&device.user_id),
        target_id: device.id,
        kind: device.kind,
        command,
        origin,
        progress: Progress::created(now),
        attempts: Attempts { rival_created_at, ..Attempts::default() },
    };
    actions::insert_action(change.connection(), &action).await?;
    record_action_event(change, &action).await?;
    effects.began.push(action.clone());
    Ok(action)
}

/// Lets something happen to an action. Returns what it is then; `None` if it had
/// ended before.
///
/// An override whose start comes to nothing ends with it (AMB-22); one whose
/// start was not needed goes on.
///
/// # Errors
/// The database failed.
pub async fn end_action(
    change: &mut Change,
    effects: &mut PendingUpdates,
    action: Action,
    event: &ActionEvent,
    now: DateTime<Utc>,
) -> Result<Option<Action>, StoreError> {
    let Some(progress) = action.progress.after(event, now) else { return Ok(None) };
    if !actions::end_action(change.connection(), action.id, &progress).await? {
        return Ok(None);
    }
    let action = Action { progress, ..action };
    record_action_event(change, &action).await?;
    effects.began.retain(|begun| begun.id != action.id);
    effects.ended.push(action.clone());
    if let (Origin::Override(id), Some(_)) = (action.origin, event.failure()) {
        let active = overrides::active_override(change.connection(), action.target_id).await?;
        if let Some(active) = active.filter(|active| active.id == id) {
            let what = match event {
                ActionEvent::Unnecessary => OverrideEvent::StartUnnecessary,
                _ => OverrideEvent::StartFailed,
            };
            let outcome = override_::after(Some(&active.life), what, now);
            keep_life(change, effects, active, outcome.latest).await?;
        }
    }
    Ok(Some(action))
}

/// Lets a device with an active override be read: whether it charges, if that is
/// known. One that obeyed a stop from before the override is started.
///
/// # Errors
/// The database failed.
pub async fn advance_override(
    change: &mut Change,
    effects: &mut PendingUpdates,
    (active, device): (Override, &Device),
    is_charging: Option<bool>,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let event = OverrideEvent::Observed(is_charging);
    let outcome = override_::after(Some(&active.life), event, now);
    let mut active = active;
    if outcome.effects.contains(&OverrideEffect::StartCharging) {
        let start = (Command::Charge(Switch::Start), Origin::Override(active.id));
        active.action_id = Some(begin_action(change, effects, device, start, now).await?.id);
    }
    keep_life(change, effects, active, outcome.latest).await
}

/// Keeps what became of an override that is active.
async fn keep_life(
    change: &mut Change,
    effects: &mut PendingUpdates,
    active: Override,
    life: Option<Life>,
) -> Result<(), StoreError> {
    let Some(life) = life.filter(|life| *life != active.life) else { return Ok(()) };
    let changed = Override { life, ..active };
    if overrides::update_override(change.connection(), &changed).await? {
        effects.keep_override(changed);
    }
    Ok(())
}

/// Ends the pending action of a device, if it is one of those. Returns `true` if there was one.
///
/// # Errors
/// The database failed.
pub async fn end_pending(
    change: &mut Change,
    effects: &mut PendingUpdates,
    target_id: Uuid,
    is_meant: impl FnOnce(&Action) -> bool,
    (event, now): (&ActionEvent, DateTime<Utc>),
) -> Result<bool, StoreError> {
    let pending = actions::pending_action(change.connection(), target_id).await?;
    let Some(action) = pending.filter(is_meant) else { return Ok(false) };
    Ok(end_action(change, effects, action, event, now).await?.is_some())
}

/// Keeps what happened to an action beside it, for whoever wants to be told (ACT-22).
async fn record_action_event(change: &mut Change, action: &Action) -> Result<(), StoreError> {
    let happening = NewEvent {
        client_id: action.client_id.to_string(),
        user_id: action.user_id.to_string(),
        target_id: Some(action.target_id),
        name: ACTION_UPDATED,
        at: action.progress.updated_at,
        body: ActionBody::from_action(action).to_value(),
    };
    events::record_event(change.connection(), &happening).await
}
