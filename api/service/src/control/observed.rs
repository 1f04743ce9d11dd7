//! Readings of devices with a pending action or an active override.
use chrono::{DateTime, Utc};
use slackwater_control::device::action::ActionEvent;
use slackwater_control::device::pursuit::{Step, next_step};
use slackwater_store::actions::Action;
use slackwater_store::database::Change;
use slackwater_store::devices::Device;
use slackwater_store::error::StoreError;

use crate::cache::device_change::DeviceChange;
use crate::control::actions::{self, PendingUpdates};
use crate::control::facts::ControlContext;
use crate::state::App;

/// Applies readings to the pending actions and active overrides of their devices, in the change
/// that keeps the readings: a reading that shows the target state confirms the action.
///
/// # Errors
/// The database failed.
pub async fn observed(
    app: &App,
    change: &mut Change,
    effects: &mut PendingUpdates,
    changes: &[DeviceChange],
) -> Result<(), StoreError> {
    let now = app.now();
    for DeviceChange { after: device, .. } in changes {
        let Some(observed) = observe(app, device, now) else { continue };
        if let Some((action, event)) = observed.action {
            actions::end_action(change, effects, action, &event, now).await?;
        }
        if observed.is_overridden {
            let active =
                slackwater_store::overrides::active_override(change.connection(), device.id)
                    .await?;
            if let Some(active) = active {
                let overridden = (active, &**device);
                actions::advance_override(change, effects, overridden, observed.is_charging, now)
                    .await?;
            }
        }
    }
    Ok(())
}

/// Meaning of a reading of a device that is being controlled.
struct Observed {
    action: Option<(Action, ActionEvent)>,
    is_overridden: bool,
    is_charging: Option<bool>,
}

fn observe(app: &App, device: &Device, now: DateTime<Utc>) -> Option<Observed> {
    let persistence = app.config().action.persistence();
    app.cache().read(|tables| {
        let control = tables.control();
        let pending = control.pending(device.id);
        let is_overridden = control.active_override(device.id).is_some();
        if pending.is_none() && !is_overridden {
            return None;
        }
        let scene = ControlContext { device, tables, now };
        let action = pending.and_then(|action| {
            let (command, progress) = (&action.command, &action.progress);
            let reading = scene.reading();
            match next_step(command, progress, action.attempts, &reading, persistence, now) {
                Step::End(event) => Some((Action::clone(action), event)),
                Step::Done | Step::Send | Step::WaitUntil(_) => None,
            }
        });
        let is_charging = scene.is_charging();
        Some(Observed { action, is_overridden, is_charging })
    })
}
