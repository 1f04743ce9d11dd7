//! Schedules: made, changed, deleted, and how they stand.
use std::sync::Arc;

use chrono::{DateTime, Utc};
use slackwater_control::device::action::ActionEvent;
use slackwater_control::schedule::status::Snapshot;
use uuid::Uuid;

use crate::control::actions::{self, PendingUpdates};
use crate::control::facts::ControlContext;
use crate::state::App;
use crate::steering::evaluate::evaluate_device;
use slackwater_store::actions::{Action, Origin};
use slackwater_store::error::StoreError;
use slackwater_store::overrides::Override;
use slackwater_store::schedules::{self, Schedule, ScheduleRequest};

/// Status of a schedule, since when, and the override of it.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The schedule.
    pub schedule: Arc<Schedule>,
    /// Status.
    pub snapshot: Snapshot,
    /// When any value of that last changed.
    pub changed_at: DateTime<Utc>,
    /// The active override of its device.
    pub active_override: Option<Arc<Override>>,
}

/// Makes a schedule. Its device is looked at at once.
///
/// # Errors
/// The database failed, and there is none.
pub async fn create(
    app: &App,
    client_id: &str,
    user_id: &str,
    wish: ScheduleRequest,
) -> Result<Schedule, StoreError> {
    let mut change = app.store().begin().await?;
    let schedule = Schedule {
        id: Uuid::now_v7(),
        client_id: client_id.into(),
        user_id: user_id.into(),
        created_at: app.now(),
        wish,
        seen: None,
    };
    schedules::upsert_schedule(change.connection(), &schedule).await?;
    let mut effects = PendingUpdates::default();
    effects.look_at(schedule.wish.target_id);
    let (app, kept) = (app.clone(), schedule.clone());
    change
        .commit(move || {
            app.cache().write(|tables| tables.control_mut().keep_schedule(kept));
            effects.apply(&app);
        })
        .await?;
    Ok(schedule)
}

/// Changes a schedule by what `merge` makes of its wish. An action that it has
/// under way is called off if it may not send it any more. `None` if there is
/// no such schedule.
///
/// # Errors
/// What `merge` says, or the database failed; then nothing changed.
pub async fn change<E: From<StoreError>>(
    app: &App,
    client_id: &str,
    id: Uuid,
    merge: impl FnOnce(&Schedule) -> Result<ScheduleRequest, E>,
) -> Result<Option<Schedule>, E> {
    // Merged within the writer's turn: of two who change different members at
    // once, neither loses theirs.
    let mut change = app.store().begin().await?;
    let found = app.cache().read(|tables| tables.control().schedule(client_id, id).cloned());
    let Some(before) = found else { return Ok(None) };
    let wish = merge(&before)?;
    let after = Schedule { wish, ..Schedule::clone(&before) };
    change.claim([before.wish.target_id]).await?;
    schedules::upsert_schedule(change.connection(), &after).await?;
    let mut effects = PendingUpdates::default();
    let is_released = !after.wish.is_enabled || after.wish.target_id != before.wish.target_id;
    if is_released {
        call_off(app, &mut change, &mut effects, &before).await?;
    }
    effects.look_at(before.wish.target_id);
    effects.look_at(after.wish.target_id);
    let (app, kept) = (app.clone(), after.clone());
    change
        .commit(move || {
            app.cache().write(|tables| tables.control_mut().keep_schedule(kept));
            effects.apply(&app);
        })
        .await?;
    Ok(Some(after))
}

/// Deletes a schedule, and calls its action off. Returns `true` if there was one.
///
/// # Errors
/// The database failed, and it stays.
pub async fn delete(app: &App, client_id: &str, id: Uuid) -> Result<bool, StoreError> {
    let mut change = app.store().begin().await?;
    let found = app.cache().read(|tables| tables.control().schedule(client_id, id).cloned());
    let Some(schedule) = found else { return Ok(false) };
    change.claim([schedule.wish.target_id]).await?;
    schedules::delete_schedule(change.connection(), id).await?;
    let mut effects = PendingUpdates::default();
    call_off(app, &mut change, &mut effects, &schedule).await?;
    effects.look_at(schedule.wish.target_id);
    let app = app.clone();
    change
        .commit(move || {
            app.cache().write(|tables| tables.control_mut().remove_schedule(id));
            effects.apply(&app);
        })
        .await?;
    Ok(true)
}

async fn call_off(
    app: &App,
    change: &mut slackwater_store::database::Change,
    effects: &mut PendingUpdates,
    schedule: &Schedule,
) -> Result<(), StoreError> {
    let is_its = |action: &Action| action.origin == Origin::Schedule(schedule.id);
    let event = (&ActionEvent::OwnerCancelled, app.now());
    actions::end_pending(change, effects, schedule.wish.target_id, is_its, event).await?;
    Ok(())
}

/// Status of a schedule now; `None` if there is none, or its device is gone.
///
/// Where it stands otherwise than was last seen, this is the look that sees it:
/// what is due is done, and the change keeps its time (SCH-31).
///
/// # Errors
/// The database failed.
pub async fn standing(
    app: &App,
    client_id: &str,
    id: Uuid,
) -> Result<Option<Standing>, StoreError> {
    let now = app.now();
    let found = app.cache().read(|tables| {
        let schedule = tables.control().schedule(client_id, id)?;
        Some((schedule.wish.target_id, stands(app, tables, schedule, now)?))
    });
    match found {
        None => Ok(None),
        Some((_, standing)) if standing.is_seen() => Ok(Some(standing)),
        Some((target_id, _)) => {
            evaluate_device(app, &[target_id]).await?;
            Ok(app
                .cache()
                .read(|tables| stands(app, tables, tables.control().schedule(client_id, id)?, now)))
        }
    }
}

fn stands(
    app: &App,
    tables: &crate::cache::tables::Tables,
    schedule: &Arc<Schedule>,
    asked_at: DateTime<Utc>,
) -> Option<Standing> {
    let device = tables.any_device(schedule.wish.target_id)?;
    let scene = ControlContext { device, tables, now: app.now() };
    let control = tables.control();
    let pending = control.pending(device.id).map(|action| &**action);
    let snapshot = scene.snapshot(schedule, pending);
    let before = schedule.seen.as_deref().map(|(kept, at)| (kept, *at));
    Some(Standing {
        changed_at: snapshot.changed_at(before, asked_at),
        snapshot,
        active_override: control.active_override(device.id).cloned(),
        schedule: Arc::clone(schedule),
    })
}

impl Standing {
    /// Returns `true` if it is the status that was last seen.
    fn is_seen(&self) -> bool {
        self.schedule.seen.as_deref().is_some_and(|(kept, _)| *kept == self.snapshot)
    }
}
