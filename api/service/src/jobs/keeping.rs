//! Keeping what polls found, many at a time.
//!
//! Polls end at their own times. Whoever has the writer's turn keeps all that
//! is waiting, in one commit; the others find their work done.
use tracing::error;
use uuid::Uuid;

use crate::cache::device_change::DeviceChange;
use crate::control::actions::PendingUpdates;
use crate::control::observed::observed;
use crate::outbox::changes;
use crate::plans::planner;
use crate::state::App;
use slackwater_store::devices::{self, DeviceState};
use slackwater_store::error::StoreError;
use slackwater_store::events;

/// Keeps the state of a device. It is on disk and visible when this returns.
///
/// A failure of the database is logged: the next poll finds the same again.
pub async fn keep_state(app: &App, id: Uuid, state: DeviceState) {
    app.poller().waiting().add((id, state));
    if let Err(failure) = commit_waiting(app).await {
        error!(%failure, "what polls found was not kept");
    }
}

async fn commit_waiting(app: &App) -> Result<(), StoreError> {
    let is_needed = || !app.poller().waiting().is_empty();
    let Some(mut change) = app.store().begin_if(is_needed).await? else { return Ok(()) };
    let mut waiting = app.poller().waiting().take();
    // Of two readings of a device the later one stays.
    waiting.sort_by_key(|(id, _)| *id);
    let changed = app.cache().read(|tables| DeviceChange::of_states(tables, waiting));
    // All devices before the first event, as `Change::claim` orders them.
    for DeviceChange { after, .. } in &changed {
        devices::set_state(change.connection(), after.id, &after.state).await?;
    }
    for device_change in &changed {
        if let Some(happening) = changes::of_device(device_change, app.now()) {
            events::record_event(change.connection(), &happening).await?;
        }
    }
    let mut effects = PendingUpdates::default();
    observed(app, &mut change, &mut effects, &changed).await?;
    let ids: Vec<Uuid> = changed.iter().map(|change| change.after.id).collect();
    let app = app.clone();
    change
        .commit(move || {
            app.cache().write(|tables| {
                for change in changed {
                    planner::look_at_change(&app, tables, &change);
                    let DeviceChange { after, .. } = change;
                    tables.change_device(after.id, |device| device.state = after.state.clone());
                }
            });
            effects.apply(&app);
            look_at_all(&app, &ids);
        })
        .await
}

/// Has whoever is in charge look at devices, and at the other ends of their
/// cables: how full a vehicle is decides for its charger, too.
fn look_at_all(app: &App, ids: &[Uuid]) {
    let others: Vec<Uuid> = app.cache().read(|tables| {
        let devices = ids.iter().filter_map(|id| tables.any_device(*id));
        devices.filter_map(|device| tables.other_end(device)).map(|other| other.id).collect()
    });
    ids.iter().chain(&others).for_each(|id| app.control().schedule_evaluation(*id));
}
