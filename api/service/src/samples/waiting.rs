//! Group commit of recordings: many devices in one commit.
//!
//! As with what polls find: whoever has the writer's turn keeps all that is
//! waiting, in one commit; the others find their work done.
use slackwater_engine::statistics::recording::is_settled;
use sqlx::AnyConnection;
use tracing::error;

use crate::cache::recorders::Recorded;
use crate::samples::ledger;
use crate::state::App;
use slackwater_store::error::StoreError;
use slackwater_store::samples::{self, OnConflict};

/// Keeps what was recorded of a device.
pub async fn keep_recording(app: &App, recorded: Recorded) {
    app.recorders().waiting().add(recorded);
    if let Err(failure) = commit_waiting(app).await {
        error!(%failure, "recorded energy was not kept");
    }
}

async fn commit_waiting(app: &App) -> Result<(), StoreError> {
    let is_needed = || !app.recorders().waiting().is_empty();
    let Some(mut change) = app.store().begin_if(is_needed).await? else { return Ok(()) };
    let mut waiting = app.recorders().waiting().take();
    // Whoever was deleted meanwhile has no statistics.
    waiting.retain(|recorded| {
        app.cache().read(|tables| tables.any_device(recorded.device_id).is_some())
    });
    let mut kept = Vec::with_capacity(waiting.len());
    for mut recorded in waiting {
        if write_recording(app, change.connection(), &mut recorded).await? {
            kept.push(recorded);
        }
    }
    let app = app.clone();
    change
        .commit(move || {
            for Recorded { device_id, mut recorder, .. } in kept {
                recorder.sessions.retain(|session| !session.is_frozen);
                app.recorders().replace(device_id, recorder);
            }
        })
        .await
}

/// Keeps what was recorded of one device. Returns `true` if it was: not if another replica has
/// recorded the same time, whose energy must not count twice.
async fn write_recording(
    app: &App,
    to: &mut AnyConnection,
    recorded: &mut Recorded,
) -> Result<bool, StoreError> {
    let Recorded { device_id, before, recorder, parts } = recorded;
    // The row of the device first: another replica that records or deletes the device waits for
    // its lock, or had it before.
    let is_ours = match recorder.until.filter(|until| Some(*until) != *before) {
        Some(until) => samples::advance_recording(to, *device_id, *before, until).await?,
        None => samples::is_device_known(to, *device_id).await?,
    };
    if !is_ours {
        return Ok(false);
    }
    for session in &recorder.sessions {
        samples::upsert_session(to, session).await?;
    }
    for (measured, session_id, own) in parts {
        samples::insert_samples(to, measured, *session_id, own, OnConflict::Join).await?;
    }
    let Some(until) = recorder.until else { return Ok(true) };
    for session in &mut recorder.sessions {
        if is_settled(session.stay, until) {
            ledger::freeze_session(app, to, session).await?;
        }
    }
    Ok(true)
}
