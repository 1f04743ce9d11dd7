//! Plans of heating and cooling units under a comfort policy.
//!
//! They rest on readings, prices and policies alone, so a restart makes them anew and nothing of them
//! is stored.
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use chrono::{DateTime, Utc};
use slackwater_control::policy::comfort::{ComfortPolicy, RoomFacts};
use slackwater_control::policy::comfort_move::{Deviation, UnitMove};
use slackwater_engine::plan::heat::HeatPlan;
use uuid::Uuid;

use crate::cache::price_lookup::Priced;

/// Plan of a unit, with its inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitPlan {
    /// When it was made.
    pub made_at: DateTime<Utc>,
    /// Policy.
    pub policy: ComfortPolicy,
    /// Temperature and clock.
    pub facts: RoomFacts,
    /// Prices at the location, with their sources.
    pub priced: Priced,
    /// The plan.
    pub plan: HeatPlan,
}

/// Plan of a unit, and what was done about it last.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitState {
    /// The plan.
    pub planned: Arc<UnitPlan>,
    /// Last step; `None` for a unit that does not answer.
    pub step: Option<UnitMove>,
    /// Reason why the last command was not accepted.
    pub refused: Option<String>,
    /// Setting that somebody else chose, and since when.
    pub deviation: Option<Deviation>,
}

/// Plans of units, by device.
#[derive(Debug, Default)]
pub struct UnitPlans {
    states: RwLock<HashMap<Uuid, Arc<UnitState>>>,
}

impl UnitPlans {
    /// State of a unit; `None` without a plan.
    #[must_use]
    pub fn state(&self, device_id: Uuid) -> Option<Arc<UnitState>> {
        self.states.read().unwrap_or_else(PoisonError::into_inner).get(&device_id).cloned()
    }

    /// Keeps the state of a unit.
    pub(crate) fn keep_state(&self, device_id: Uuid, state: UnitState) {
        let mut states = self.states.write().unwrap_or_else(PoisonError::into_inner);
        states.insert(device_id, Arc::new(state));
    }

    /// Forgets the state of a unit.
    pub(crate) fn remove_state(&self, device_id: Uuid) {
        self.states.write().unwrap_or_else(PoisonError::into_inner).remove(&device_id);
    }
}
