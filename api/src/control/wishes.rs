//! What smart charging wants of a device. Without plans, nothing.
use chrono::{DateTime, Utc};
use slackwater_engine::device::command::Switch;
use uuid::Uuid;

use crate::cache::tables::Tables;
use crate::store::devices::Device;

/// What the plan of a device wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Whether it is to charge; `None` if no plan says anything.
    pub switch: Option<Switch>,
    /// When that changes next; `None` if the plan knows no such time.
    pub until: Option<DateTime<Utc>>,
}

/// What the kept plan of a device wants at an instant.
#[must_use]
pub fn wanted_in(_: &Tables, _: Uuid, _: DateTime<Utc>) -> Wanted {
    Wanted::default()
}

/// Whether smart charging is in charge of a device, unless somebody else is.
#[must_use]
pub fn is_in_force(_: &Tables, _: &Device, _: DateTime<Utc>) -> bool {
    false
}
