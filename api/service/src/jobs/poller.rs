//! Polls every device in its time.
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use metrics::{counter, gauge};
use tracing::{info, warn};
use uuid::Uuid;

use crate::cache::device_change::DeviceChange;
use crate::jobs::news::follow_news;
use crate::jobs::readers;
use crate::jobs::reading::{pause, refresh};
use crate::queue::outages::OutageChange;
use crate::queue::polls::{PollTurn, TurnEnd};
use crate::samples::record::record;
use crate::state::App;
use crate::supervise::{OnPanic, RESTART_DELAY, log_panic};
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::VendorCode;
use slackwater_store::devices::Device;

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
    app.poller().register(id, now + spread_by(id));
}

/// Polls the devices of a vendor that another process has read until now: when that one would have
/// done so, as far as is known, and not later than after a start.
pub(crate) fn take_over_polls(app: &App, vendor: &VendorCode) {
    let now = app.now();
    let next_at = |device: &Device| {
        let latest = now + spread_by(device.id);
        let heard_at = device.state.heard_at.unwrap_or(latest);
        (heard_at + pause(device, &Ok(()), 0)).min(latest).max(now)
    };
    app.cache().read(|tables| {
        for device in tables.devices().filter(|device| device.vendor == *vendor) {
            app.poller().reschedule_earlier(device.id, next_at(device));
        }
    });
}

/// Time after which a device is polled first. Random, but the same at each start.
fn spread_by(id: Uuid) -> TimeDelta {
    SPREAD / 256 * i32::from(id.as_bytes()[0])
}

/// Polls until the task is dropped, and looks meanwhile which devices have news, and which other
/// processes poll.
pub async fn run(app: App) {
    tokio::join!(readers::run(&app), follow_news(&app), poll_due(&app));
}

async fn poll_due(app: &App) {
    let permits = app.poller().permits();
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let turn = app.poller().next(app.clock()).await;
        let app = app.clone();
        tokio::spawn(async move {
            poll(&app, turn).await;
            drop(permit);
        });
    }
}

async fn poll(app: &App, PollTurn { id, is_wanted }: PollTurn) {
    let _taken = OnPanic(|| {
        log_panic("poller", &format!("device {id}"));
        let then = |_| app.now().checked_add_signed(RESTART_DELAY);
        app.poller().put_back(id, TurnEnd::Failed, then);
    });
    let device = app.cache().read(|tables| tables.any_device(id).cloned());
    let Some(device) = device else {
        app.poller().put_back(id, TurnEnd::Answered, |_| None);
        return;
    };
    let machine = app.clock().machine();
    let is_read_here = is_wanted && app.vendor(&device.vendor).is_some();
    if !is_read_here && app.poller().is_read_by_other(&device.vendor, machine.now()) {
        let then = |failures| Some(app.now() + pause(&device, &Ok(()), failures));
        app.poller().put_back(id, TurnEnd::Left, then);
        count_polled(app);
        return;
    }
    let read = refresh(app, &device).await;
    count_poll(app, &device, read.as_ref().err());
    if read.is_ok()
        && let Some(after) = app.cache().read(|tables| tables.any_device(id).cloned())
    {
        record(app, &DeviceChange { before: device, after }).await;
    }
    let device = app.cache().read(|tables| tables.any_device(id).cloned());
    let end = if read.is_ok() { TurnEnd::Answered } else { TurnEnd::Failed };
    app.poller().put_back(id, end, |failures| {
        device.map(|device| app.now() + pause(&device, &read, failures))
    });
    count_polled(app);
}

/// Counts a read by environment, manufacturer and outcome, and tells of a manufacturer that has ceased
/// to answer, or answers again.
fn count_poll(app: &App, device: &Device, failure: Option<&VendorError>) {
    let (environment, vendor) = (app.environment().as_str(), device.vendor.as_str().to_owned());
    let outcome = failure.map_or("answered", VendorError::as_str);
    counter!(
        "slackwater_polls_total",
        "environment" => environment, "vendor" => vendor.clone(), "outcome" => outcome
    )
    .increment(1);
    let now = app.clock().machine().now();
    match app.outages().note_read(&device.vendor, failure, now) {
        Some(OutageChange::Began) => {
            warn!(vendor, environment, failure = outcome, "a manufacturer does not answer");
        }
        Some(OutageChange::Ended { since, reads }) => {
            let seconds = (now - since).num_seconds();
            info!(vendor, environment, seconds, reads, "a manufacturer answers again");
        }
        None => {}
    }
}

/// Shows how many devices this process polls.
fn count_polled(app: &App) {
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
