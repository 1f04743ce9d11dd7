//! Progress of the recording of each device, in memory.
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use slackwater_engine::statistics::sample::Sample;
use slackwater_engine::units::Energy;
use slackwater_store::database::Store;
use slackwater_store::error::StoreError;
use slackwater_store::samples::{self, ChargeSession, Measured};
use uuid::Uuid;

use crate::queue::waiting::Waiting;

/// Readings of one counter that are kept until its energy is recorded. Further ones replace the
/// latest: the total has all energy, whose time is then less exact.
const COUNTED_MAX: usize = 500;

/// Reading of a counter: its total at an instant.
pub type Counted = (DateTime<Utc>, Energy);

/// Progress of the recording of a device.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recorder {
    /// Until when; `None` if not at all.
    pub until: Option<DateTime<Utc>>,
    /// Sessions that are not frozen, oldest first.
    pub sessions: Vec<ChargeSession>,
}

/// Addition to the record of a device.
#[derive(Debug)]
pub struct Recorded {
    /// The device.
    pub device_id: Uuid,
    /// Until when it was recorded before.
    pub before: Option<DateTime<Utc>>,
    /// Progress with the addition.
    pub recorder: Recorder,
    /// The samples, by session and place.
    pub parts: Vec<(Measured, Option<Uuid>, Vec<Sample>)>,
}

/// All devices that are recorded, and what waits to be kept.
#[derive(Debug, Default)]
pub struct Recorders {
    known: Mutex<HashMap<Uuid, Recorder>>,
    /// Readings of the counter of a device from the instant on until which it is recorded.
    counted: Mutex<HashMap<Uuid, Vec<Counted>>>,
    waiting: Waiting<Recorded>,
}

impl Recorders {
    /// All that is kept.
    ///
    /// # Errors
    /// The database failed.
    pub async fn load(store: &Store) -> Result<Self, StoreError> {
        let mut known: HashMap<Uuid, Recorder> = HashMap::new();
        for (device_id, until) in samples::all_recordings(store).await? {
            known.entry(device_id).or_default().until = Some(until);
        }
        for session in samples::open_sessions(store).await? {
            known.entry(session.measured.device_id).or_default().sessions.push(session);
        }
        Ok(Self { known: Mutex::new(known), ..Self::default() })
    }

    /// Progress of the recording of a device.
    #[must_use]
    pub fn progress_of(&self, device_id: Uuid) -> Recorder {
        self.known().get(&device_id).cloned().unwrap_or_default()
    }

    /// Adds a reading of a device's counter, and returns all since `until`, oldest first. `last` is
    /// the previous reading, with which they begin after a start.
    pub fn add_counted(
        &self,
        device_id: Uuid,
        (last, reading): (Option<Counted>, Counted),
        until: Option<DateTime<Utc>>,
    ) -> Vec<Counted> {
        let mut all = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = all.entry(device_id).or_default();
        if counted.is_empty() {
            counted.extend(last);
        }
        counted.retain(|(at, _)| until.is_none_or(|until| *at >= until));
        if counted.last().is_none_or(|(at, _)| *at < reading.0) {
            counted.truncate(COUNTED_MAX - 1);
            counted.push(reading);
        }
        counted.clone()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Uuid, Recorder>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Recorded energy that is not written yet.
    #[must_use]
    pub const fn waiting(&self) -> &Waiting<Recorded> {
        &self.waiting
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
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        for id in gone {
            known.remove(id);
            counted.remove(id);
        }
    }
}
