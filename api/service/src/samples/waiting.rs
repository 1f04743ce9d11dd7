//! What is recorded of each device, and keeping it, many devices at a time.
//!
//! As with what polls find: whoever has the writer's turn keeps all that is
//! waiting, in one commit; the others find their work done.
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use slackwater_engine::statistics::recording::is_settled;
use slackwater_engine::statistics::sample::Sample;
use sqlx::AnyConnection;
use tracing::error;
use uuid::Uuid;

use crate::samples::ledger;
use crate::state::App;
use slackwater_store::database::{Store, StoreError};
use slackwater_store::samples::{self, ChargeSession, Measured, There};

/// How far a device is recorded.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recorder {
    /// Until when; `None` if not at all.
    pub until: Option<DateTime<Utc>>,
    /// Sessions that are not frozen, oldest first.
    pub sessions: Vec<ChargeSession>,
}

/// What is added to the record of a device.
#[derive(Debug)]
pub struct Recorded {
    /// The device.
    pub device_id: Uuid,
    /// Until when it was recorded before.
    pub before: Option<DateTime<Utc>>,
    /// How far it is recorded with it.
    pub recorder: Recorder,
    /// The samples, by session and place.
    pub parts: Vec<(Measured, Option<Uuid>, Vec<Sample>)>,
}

/// All devices that are recorded, and what waits to be kept.
#[derive(Debug, Default)]
pub struct Recorders {
    known: Mutex<HashMap<Uuid, Recorder>>,
    waiting: Mutex<Vec<Recorded>>,
}

impl Recorders {
    /// All that is kept.
    ///
    /// # Errors
    /// The database failed.
    pub async fn load(store: &Store) -> Result<Self, StoreError> {
        let mut known: HashMap<Uuid, Recorder> = HashMap::new();
        for (device_id, until) in samples::all_until(store).await? {
            known.entry(device_id).or_default().until = Some(until);
        }
        for session in samples::open_sessions(store).await? {
            known.entry(session.measured.device_id).or_default().sessions.push(session);
        }
        Ok(Self { known: Mutex::new(known), waiting: Mutex::default() })
    }

    /// How far a device is recorded.
    #[must_use]
    pub fn of(&self, device_id: Uuid) -> Recorder {
        self.known().get(&device_id).cloned().unwrap_or_default()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Uuid, Recorder>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Recorded>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps how far a device is recorded, in place of what was kept of it.
    pub fn replace(&self, device_id: Uuid, recorder: Recorder) {
        if recorder == Recorder::default() {
            self.known().remove(&device_id);
        } else {
            self.known().insert(device_id, recorder);
        }
    }

    /// Forgets devices that are gone.
    pub fn forget(&self, gone: &[Uuid]) {
        let mut known = self.known();
        for id in gone {
            known.remove(id);
        }
    }
}

/// Keeps what was recorded of a device.
pub async fn keep(app: &App, recorded: Recorded) {
    app.recorders().waiting().push(recorded);
    if let Err(failure) = keep_all(app).await {
        error!(%failure, "recorded energy was not kept");
    }
}

async fn keep_all(app: &App) -> Result<(), StoreError> {
    let is_needed = || !app.recorders().waiting().is_empty();
    let Some(mut change) = app.store().begin_if(is_needed).await? else { return Ok(()) };
    let mut waiting = std::mem::take(&mut *app.recorders().waiting());
    // Whoever was deleted meanwhile has no statistics.
    waiting.retain(|recorded| {
        app.cache().read(|tables| tables.any_device(recorded.device_id).is_some())
    });
    let mut kept = Vec::with_capacity(waiting.len());
    for mut recorded in waiting {
        if keep_one(app, change.connection(), &mut recorded).await? {
            kept.push(recorded);
        }
    }
    let app = app.clone();
    change
        .commit(move || {
            let mut known = app.recorders().known();
            for Recorded { device_id, mut recorder, .. } in kept {
                recorder.sessions.retain(|session| !session.is_frozen);
                known.insert(device_id, recorder);
            }
        })
        .await
}

/// Keeps what was recorded of one device. Returns whether it was: not if another
/// replica has recorded the same time, whose energy must not count twice.
async fn keep_one(
    app: &App,
    to: &mut AnyConnection,
    recorded: &mut Recorded,
) -> Result<bool, StoreError> {
    let Recorded { device_id, before, recorder, parts } = recorded;
    // First of all, as it is the one row that goes with the device: another process
    // that records or deletes it waits for this change, or was before it.
    let is_ours = match recorder.until.filter(|until| Some(*until) != *before) {
        Some(until) => samples::keep_until(to, *device_id, *before, until).await?,
        None => samples::is_known(to, *device_id).await?,
    };
    if !is_ours {
        return Ok(false);
    }
    for session in &recorder.sessions {
        samples::keep_session(to, session).await?;
    }
    for (measured, session_id, own) in parts {
        samples::keep(to, measured, *session_id, own, There::Join).await?;
    }
    let Some(until) = recorder.until else { return Ok(true) };
    for session in &mut recorder.sessions {
        if is_settled(session.stay, until) {
            ledger::freeze_session(app, to, session).await?;
        }
    }
    Ok(true)
}
