//! One reader of a vendor: of several processes on one database, one polls its devices.
//!
//! Each process looks at the leases of vendors every [`LOOK_AGAIN`]: it acquires those of its vendors
//! that are free, and renews its own. Devices of a vendor that another process reads are left to it;
//! what it finds is in the memory of all within a second. Of a process that died, the leases expire
//! after [`LEASE`], and another takes over; one that stops gives them back.
//!
//! A process polls a device unless it knows of another that does. While the database is down each of
//! them so polls for itself: too many calls of a vendor are better than none.
use std::time::Duration;

use chrono::TimeDelta;
use tokio::time::{Instant, sleep_until};
use tracing::{error, info};

use crate::jobs::poller::take_over_polls;
use crate::state::App;
use slackwater_integration::profile::VendorCode;
use slackwater_store::error::StoreError;
use slackwater_store::lease::Lease;
use slackwater_store::vendor_readers::{
    VendorReader, acquire_or_renew_vendor, release_vendors, vendors_read_by_others,
};

/// Length of a lease since it was last renewed.
pub const LEASE: TimeDelta = TimeDelta::seconds(30);

/// Pause between two looks at the leases.
pub const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Looks at the leases until the task is dropped. Ends at once on a file, which one process has for
/// itself.
pub(crate) async fn run(app: &App) {
    while app.store().is_shared() {
        if let Err(failure) = look_who_reads(app).await {
            error!(%failure, "leases of readers were not renewed");
        }
        sleep_until(Instant::now() + LOOK_AGAIN).await;
    }
}

/// Acquires and renews leases of the vendors of this process, and learns which vendors other
/// processes read.
///
/// # Errors
/// The database failed. What was known of other processes stays until their leases expire.
pub async fn look_who_reads(app: &App) -> Result<(), StoreError> {
    if !app.store().is_shared() {
        return Ok(());
    }
    let (environment, now) = (app.environment(), app.clock().machine().now());
    let lease = Lease::new(app.planner().owner(), now, LEASE);
    let mut own: Vec<VendorCode> =
        app.vendors().iter().map(|vendor| vendor.profile().code.clone()).collect();
    own.retain(|vendor| !app.poller().is_read_by_other(vendor, now));
    // In one order in all processes, so that none waits for another that waits for it.
    own.sort_unstable();
    let mut change = app.store().begin().await?;
    for vendor in &own {
        acquire_or_renew_vendor(change.connection(), (environment, vendor), &lease).await?;
    }
    let others = vendors_read_by_others(change.connection(), environment, &lease).await?;
    let app = app.clone();
    change.commit(move || learn_of_others(&app, others)).await
}

/// Replaces what is known of other processes, and polls devices that nobody else reads any more.
fn learn_of_others(app: &App, others: Vec<VendorReader>) {
    let others = others.into_iter().map(|reader| (reader.vendor, reader.until)).collect();
    let before = app.poller().set_read_by_others(others);
    let now = app.clock().machine().now();
    let own = app.vendors().into_iter().map(|vendor| vendor.profile().code.clone());
    for vendor in own {
        let (was_left, is_left) =
            (before.contains_key(&vendor), app.poller().is_read_by_other(&vendor, now));
        if is_left && !was_left {
            info!(%vendor, "another process reads the devices of a manufacturer");
        }
        if was_left && !is_left {
            info!(%vendor, "the devices of a manufacturer are read after another process");
            take_over_polls(app, &vendor);
        }
    }
}

/// Gives the leases of this process back. Call it when its polls have ended.
///
/// # Errors
/// The database failed. The leases expire.
pub async fn hand_over(app: &App) -> Result<(), StoreError> {
    if !app.store().is_shared() {
        return Ok(());
    }
    let mut change = app.store().begin().await?;
    release_vendors(change.connection(), app.environment(), app.planner().owner()).await?;
    change.commit(|| ()).await
}
