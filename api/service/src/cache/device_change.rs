//! Difference that a reading, another replica or a new link makes to a device.
use std::sync::Arc;

use slackwater_store::devices::{Device, DeviceState};
use uuid::Uuid;

use crate::cache::tables::Tables;

/// A device before and after it changed, computed once for all who act on the difference: events,
/// pending actions, plans and statistics.
#[derive(Debug, Clone)]
pub struct DeviceChange {
    /// The device as it was.
    pub before: Arc<Device>,
    /// The device as it is now.
    pub after: Arc<Device>,
}

impl DeviceChange {
    /// Changes of known devices to new states, in order. Devices that were deleted are left out.
    /// Two states of one device that follow each other are two changes, one after the other.
    #[must_use]
    pub fn of_states(tables: &Tables, states: Vec<(Uuid, DeviceState)>) -> Vec<Self> {
        let mut changes: Vec<Self> = Vec::with_capacity(states.len());
        for (id, state) in states {
            let last = changes.last().map(|change| &change.after);
            let last = last.filter(|device| device.id == id);
            let Some(before) = last.or_else(|| tables.any_device(id)).cloned() else { continue };
            let after = Arc::new(Device { state, ..Device::clone(&before) });
            changes.push(Self { before, after });
        }
        changes
    }
}
