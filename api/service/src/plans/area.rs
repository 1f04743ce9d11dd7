//! Plans of an area follow its prices and limits: work with a lease, in many short changes.
//!
//! Whoever takes the lease plans for all devices of the area, so many in one
//! change that others wait for the writer for a moment only. Each change renews
//! the lease, and is not made if somebody else holds it by then: no two
//! processes write plans of one area at a time. A process that dies leaves a
//! lease that runs out, and the work is done again from its beginning, which
//! does no harm.
use std::pin::pin;
use std::time::Duration;

use chrono::TimeDelta;
use metrics::{Gauge, counter, gauge, histogram};
use slackwater_control::policy::ask::Cause;
use tracing::{error, info};

use crate::clock::Clock;
use crate::plans::beside;
use crate::plans::limits;
use crate::plans::making::{PlannedDevices, make};
use crate::plans::planner::{TURN, apply_to_memory, look_at_units};
use crate::plans::pricing::Pricer;
use crate::prices::replicas::catch_up;
use crate::queue::plans::Due;
use crate::state::App;
use slackwater_store::database::Change;
use slackwater_store::error::StoreError;
use slackwater_store::jobs::{self, AreaJob};
use slackwater_store::lease::Lease;
use slackwater_store::plans;

/// Length of a lease since it was last renewed.
pub const LEASE: TimeDelta = TimeDelta::seconds(30);

/// Works on areas that wait until the task is dropped. Looks by itself as
/// often as leases run out: another process may have left work behind.
pub async fn run(app: App) {
    loop {
        let worked = work(&app).await;
        app.planner().areas_ended.notify_waiters();
        match worked {
            Ok(Some(_)) => continue,
            Ok(None) => (),
            Err(failure) => error!(%failure, "plans of an area were not kept"),
        }
        let machine = Clock::system();
        tokio::select! {
            () = app.planner().areas.notified() => {}
            () = machine.until(machine.now() + LEASE) => {}
        }
    }
}

/// Waits until no area waits for new plans.
///
/// # Errors
/// The database failed.
pub async fn idle(app: &App) -> Result<(), StoreError> {
    loop {
        let mut ended = pin!(app.planner().areas_ended.notified());
        // Registered before the look, so that no end is missed.
        ended.as_mut().enable();
        if is_idle(app).await? {
            return Ok(());
        }
        ended.await;
    }
}

/// Returns `true` if no area has unfinished work.
///
/// # Errors
/// The database failed.
pub async fn is_idle(app: &App) -> Result<bool, StoreError> {
    Ok(!jobs::is_any_waiting(app.store(), app.environment()).await?)
}

/// Plans for one area that waits. Returns for how many devices plans were
/// made; `None` if no area waits, or all that do are worked on elsewhere.
///
/// # Errors
/// The database failed. The area waits on until its lease has run out.
pub async fn work(app: &App) -> Result<Option<usize>, StoreError> {
    let machine = Clock::system();
    let mut change = app.store().begin().await?;
    let (environment, owner) = (app.environment(), app.planner().owner());
    let lease = Lease::new(owner, machine.now(), LEASE);
    let job = jobs::acquire_area(change.connection(), environment, &lease).await?;
    change.commit(|| ()).await?;
    let Some(job) = job else { return Ok(None) };
    let started = machine.now();
    // Another replica may have taken the prices, and died over the plans.
    catch_up(app).await?;
    let due = devices(app, &job);
    waiting(app).set(due.len() as f64);
    look_at_units(app, &due);
    let planned = match app.area_limit(&job.zone_id, &job.area_id) {
        None => plan_each(app, &job, &due).await?,
        Some(limit) => limits::plan_within(app, &job, &due, limit).await?,
    };
    // Those that another replica took over wait there.
    waiting(app).set(0.0);
    if planned == due.len() {
        let mut change = app.store().begin().await?;
        jobs::finish_area(change.connection(), &job, owner).await?;
        plans::delete_unused_sheets(change.connection()).await?;
        change.commit(|| ()).await?;
    }
    let took = (machine.now() - started).to_std().unwrap_or(Duration::ZERO);
    histogram!("slackwater_area_plans_seconds").record(took.as_secs_f64());
    let (zone, area) = (&job.zone_id, &job.area_id);
    info!(zone, area, devices = planned, seconds = took.as_secs_f64(), "plans follow prices");
    Ok(Some(planned))
}

/// The devices of an area, and why they are due.
fn devices(app: &App, job: &AreaJob) -> Vec<Due> {
    let area = (!job.area_id.is_empty()).then_some(job.area_id.as_str());
    let ids = app.cache().read(|t| beside::devices(t, &job.client_id, &job.zone_id, area));
    ids.into_iter().map(|id| (id, Cause::Prices)).collect()
}

/// Plans for each device on its own. Returns for how many, fewer than there
/// are if somebody else took over.
async fn plan_each(app: &App, job: &AreaJob, due: &[Due]) -> Result<usize, StoreError> {
    let mut pricer = Pricer::new(app, app.now());
    let mut planned = 0;
    for due in due.chunks(TURN) {
        let Some(mut change) = begin_leased(app, job).await? else { return Ok(planned) };
        let made = make(app, &mut change, &mut pricer, due).await?;
        commit_plans(app, change, made).await?;
        planned += due.len();
        count_planned(app, due.len());
    }
    Ok(planned)
}

/// A change of a process that still holds the lease; `None` if it does not.
pub(crate) async fn begin_leased(app: &App, job: &AreaJob) -> Result<Option<Change>, StoreError> {
    let mut change = app.store().begin().await?;
    let lease = Lease::new(app.planner().owner(), Clock::system().now(), LEASE);
    let is_ours = jobs::renew_lease(change.connection(), job, &lease).await?;
    Ok(is_ours.then_some(change))
}

pub(crate) async fn commit_plans(
    app: &App,
    change: Change,
    made: PlannedDevices,
) -> Result<(), StoreError> {
    let app = app.clone();
    change.commit_unflushed(move || apply_to_memory(&app, made)).await
}

/// Counts devices that were planned for.
pub(crate) fn count_planned(app: &App, devices: usize) {
    let environment = app.environment().as_str();
    counter!("slackwater_area_plans_total", "environment" => environment).increment(devices as u64);
    waiting(app).decrement(devices as f64);
}

/// Each environment works on an area of its own.
fn waiting(app: &App) -> Gauge {
    let environment = app.environment().as_str();
    gauge!("slackwater_area_devices_waiting", "environment" => environment)
}
