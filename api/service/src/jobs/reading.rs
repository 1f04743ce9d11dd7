//! One read of one device.
use std::sync::Arc;

use chrono::TimeDelta;
use slackwater_control::device::polling::{Found, wait};
use slackwater_control::device::power_state::PowerState;

use crate::device_calls::call_device;
use crate::jobs::keeping;
use crate::linking::connect::refuse_account_of;
use crate::state::App;
use slackwater_integration::error::VendorError;
use slackwater_integration::reading::{Facts, Reading};
use slackwater_integration::vendor::Vendor;
use slackwater_store::devices::{Device, DeviceState};

/// Reads a device from its manufacturer and keeps what it found. Readers see it
/// when this returns.
///
/// # Errors
/// There is nothing new. That the device was not reached is kept all the same.
pub async fn refresh(app: &App, device: &Device) -> Result<(), VendorError> {
    let now = app.now();
    let call = |vendor: Arc<dyn Vendor>, linked| async move { vendor.poll(&linked, now).await };
    let read = call_device(app, (device, "poll"), call).await.map(Arc::new);
    if matches!(read, Err(VendorError::Unauthorised)) {
        refuse_account_of(app, device).await;
    }
    let state = after(&device.state, &read);
    keeping::keep_state(app, device.id, state).await;
    read.map(|_| ())
}

/// State of a device after a read (ENV-15).
fn after(before: &DeviceState, read: &Result<Arc<Reading>, VendorError>) -> DeviceState {
    match read {
        Ok(reading) => DeviceState {
            heard_at: Some(reading.at),
            is_reachable: reading.is_reachable,
            reading: Some(Arc::clone(reading)),
            may_be_woken: before.may_be_woken,
            uptake: reading.uptake_after(before.uptake),
        },
        Err(VendorError::Asleep { may_be_woken }) => DeviceState {
            is_reachable: Some(false),
            may_be_woken: Some(*may_be_woken),
            ..before.clone()
        },
        Err(_) => DeviceState { is_reachable: Some(false), ..before.clone() },
    }
}

/// Pause after a read, the `failures`-th failure in a row.
#[must_use]
pub fn pause(device: &Device, read: &Result<(), VendorError>, failures: u32) -> TimeDelta {
    match read {
        Ok(()) => wait(Found::Live(power_state(device))),
        Err(VendorError::Unreachable | VendorError::Asleep { .. }) => wait(Found::Silent),
        Err(VendorError::RateLimited { retry_after_seconds }) => {
            let asked = TimeDelta::seconds(retry_after_seconds.unwrap_or_default().into());
            wait(Found::Failed(failures)).max(asked)
        }
        Err(_) => wait(Found::Failed(failures)),
    }
}

fn power_state(device: &Device) -> Option<PowerState> {
    match &device.state.reading.as_ref()?.facts {
        Facts::Vehicle(facts) => Some(facts.charging.power_state),
        Facts::Charger(facts) => Some(facts.charging.power_state),
        _ => None,
    }
}
