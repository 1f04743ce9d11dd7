//! Polls every device in its time.
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use metrics::{counter, gauge};
use uuid::Uuid;

use crate::cache::device_change::DeviceChange;
use crate::jobs::reading::{pause, refresh};
use crate::samples::record::record;
use crate::state::App;
use crate::supervise::{OnPanic, RESTART_DELAY, log_panic};

/// Over this time the first polls of known devices are spread after a start.
const SPREAD: TimeDelta = TimeDelta::minutes(5);

/// Puts all devices of the clients of this environment into the queue: those
/// whose data are old soon, the others in their time.
pub fn watch_all(app: &App, is_ours: impl Fn(&str) -> bool) {
    let now = app.now();
    app.cache().read(|tables| {
        for device in tables.devices().filter(|device| is_ours(&device.client_id)) {
            watch_from(app, device.id, now);
        }
    });
}

/// Puts a device into the queue that others may poll already: in its time.
pub fn watch_from(app: &App, id: Uuid, now: DateTime<Utc>) {
    // Spread by identifier: random, but the same at each start.
    let share = i32::from(id.as_bytes()[0]);
    app.poller().register(id, now + SPREAD / 256 * share);
}

/// Polls until the task is dropped.
pub async fn run(app: App) {
    let permits = app.poller().permits();
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let id = app.poller().next(app.clock()).await;
        let app = app.clone();
        tokio::spawn(async move {
            poll(&app, id).await;
            drop(permit);
        });
    }
}

async fn poll(app: &App, id: Uuid) {
    let _taken = OnPanic(|| {
        log_panic("poller", &format!("device {id}"));
        app.poller().put_back(id, true, |_| app.now().checked_add_signed(RESTART_DELAY));
    });
    let device = app.cache().read(|tables| tables.any_device(id).cloned());
    let Some(device) = device else {
        app.poller().put_back(id, false, |_| None);
        return;
    };
    let read = refresh(app, &device).await;
    let outcome = if read.is_ok() { "answered" } else { "failed" };
    counter!("slackwater_polls_total", "outcome" => outcome).increment(1);
    if read.is_ok()
        && let Some(after) = app.cache().read(|tables| tables.any_device(id).cloned())
    {
        record(app, &DeviceChange { before: device, after }).await;
    }
    let device = app.cache().read(|tables| tables.any_device(id).cloned());
    app.poller().put_back(id, read.is_err(), |failures| {
        device.map(|device| app.now() + pause(&device, &read, failures))
    });
    gauge!("slackwater_polled_devices", "environment" => app.environment().as_str())
        .set(app.poller().count() as f64);
}

/// Polls a device now and waits until readers see what was found.
pub async fn poll_now(app: &App, id: Uuid) {
    let device = app.cache().read(|tables| tables.any_device(id).cloned());
    if let Some(device) = device {
        // What went wrong is kept with the device.
        let _: Result<(), _> = refresh(app, &device).await;
    }
}
