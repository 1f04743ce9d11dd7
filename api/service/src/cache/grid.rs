//! Senders of grid orders in memory.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use slackwater_control::grid_order::limit::{GridLimit, InForce};
use slackwater_store::database::Store;
use slackwater_store::error::StoreError;
use slackwater_store::evidence::{EvidenceKey, EvidenceLog, EvidenceLogError};
use slackwater_store::grid_orders::{GridState, read_grid_state};

use crate::config::grid::{GridSettings, GridTarget};

/// All senders, by name.
#[derive(Debug, Default)]
pub struct GridSenders(BTreeMap<String, GridSender>);

/// Reason why a sender cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum GridSetupError {
    /// Its state cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its evidence cannot be continued.
    #[error("grid.{name}: {reason}")]
    Evidence {
        /// The sender.
        name: String,
        /// The reason.
        reason: EvidenceLogError,
    },
}

/// Sender of grid orders.
#[derive(Debug)]
pub struct GridSender {
    /// Name in the settings.
    pub name: String,
    /// Its settings.
    pub settings: GridSettings,
    /// Devices that follow.
    pub target: GridTarget,
    /// Evidence of what was ordered, limited and measured.
    pub evidence: Option<Arc<Mutex<EvidenceLog>>>,
    /// Turn of whoever changes its state.
    pub turn: tokio::sync::Mutex<()>,
    memory: Mutex<Memory>,
}

#[derive(Debug)]
struct Memory {
    /// Its state; `None` if nothing is kept of it, and nothing has happened yet.
    state: Option<GridState>,
    /// Fault of the file that was found last, if it has not been mended since.
    fault: Option<String>,
    /// Minute whose measurement is in the evidence.
    measured: i64,
}

impl GridSenders {
    /// Senders of the settings, with what is kept of them. Evidence that ends within a line is mended
    /// at the time `now`.
    ///
    /// # Errors
    /// The database failed, or a file of evidence cannot be continued.
    pub async fn load(
        store: &Store,
        settings: &BTreeMap<String, GridSettings>,
        now: DateTime<Utc>,
    ) -> Result<Self, GridSetupError> {
        let mut senders = BTreeMap::new();
        for (name, settings) in settings {
            let Some(target) = settings.target() else { continue };
            let state = read_grid_state(store, name).await?;
            let failed = |reason| GridSetupError::Evidence { name: name.clone(), reason };
            let sender = GridSender {
                name: name.clone(),
                settings: settings.clone(),
                target,
                evidence: open_evidence(settings, now).map_err(failed)?,
                turn: tokio::sync::Mutex::default(),
                memory: Mutex::new(Memory { state, fault: None, measured: i64::MIN }),
            };
            senders.insert(name.clone(), sender);
        }
        Ok(Self(senders))
    }

    /// A sender.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&GridSender> {
        self.0.get(name)
    }

    /// All senders, in the order of their names.
    pub fn all(&self) -> impl Iterator<Item = &GridSender> {
        self.0.values()
    }
}

fn open_evidence(
    settings: &GridSettings,
    now: DateTime<Utc>,
) -> Result<Option<Arc<Mutex<EvidenceLog>>>, EvidenceLogError> {
    let files = settings.evidence_file.as_deref().zip(settings.evidence_key_file.as_deref());
    let Some((file, key_file)) = files else { return Ok(None) };
    let log = EvidenceLog::open_file(file, Some(EvidenceKey::read_file(key_file)?), now)?;
    Ok(Some(Arc::new(Mutex::new(log))))
}

impl GridSender {
    /// Its state, as it was kept last. One of which nothing is kept begins now.
    #[must_use]
    pub fn state(&self, now: DateTime<Utc>) -> GridState {
        self.memory().state.unwrap_or(GridState::new(now))
    }

    /// Orders and signs of life, with the fail-safe and the least power of the settings.
    #[must_use]
    pub fn limit(&self, now: DateTime<Utc>) -> GridLimit {
        self.with_settings(self.state(now).limit)
    }

    /// Kept orders and signs of life, with the fail-safe and the least power of the settings.
    #[must_use]
    pub fn with_settings(&self, heard: GridLimit) -> GridLimit {
        heard.with_fail_safe(self.settings.fail_safe()).with_least(self.settings.least_power())
    }

    /// The limit in force.
    #[must_use]
    pub fn in_force(&self, now: DateTime<Utc>) -> InForce {
        self.limit(now).in_force(now)
    }

    /// Fault of the file, in words.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        self.memory().fault.clone()
    }

    /// Puts a state in the place of the one before, after the database.
    pub fn replace(&self, state: GridState) {
        self.memory().state = Some(state);
    }

    /// Keeps a fault of the file, or that there is none. Returns `true` if that is new.
    #[must_use]
    pub fn set_fault(&self, fault: Option<String>) -> bool {
        let mut memory = self.memory();
        let is_new = memory.fault != fault;
        memory.fault = fault;
        is_new
    }

    /// Returns `true` at the first call in a minute, whose number since 1970 is given.
    #[must_use]
    pub fn begin_minute(&self, minute: i64) -> bool {
        std::mem::replace(&mut self.memory().measured, minute) != minute
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
