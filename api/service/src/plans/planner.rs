//! Planner: takes due devices from the queue, plans for them, and keeps the plans.

use slackwater_control::policy::ask::{Cause, managing_policy};
use tracing::error;
use uuid::Uuid;

use crate::cache::device_change::DeviceChange;
use crate::cache::tables::Tables;
use crate::plans::facts::device_facts;
use crate::plans::making::{PlannedDevices, make};
use crate::plans::pricing::Pricer;
use crate::plans::unit::is_unit;
use crate::queue::plans::Due;
use crate::state::App;
use crate::supervise::{OnPanic, RESTART_DELAY};
use slackwater_store::error::StoreError;

/// Devices that are planned for in one change, which bounds the wait of others for the writer.
pub(crate) const TURN: usize = 256;

/// After a failure of the database nothing is planned for so long.
const PAUSE_SECONDS: i64 = 5;

/// Plans for a device as soon as may be.
pub fn schedule_plan(app: &App, device_id: Uuid, cause: Cause) {
    app.planner().schedule_now(device_id, cause);
}

/// Plans again for a device if the change touched an input of its plan.
pub fn look_at_change(app: &App, tables: &Tables, change: &DeviceChange) {
    if let Some(cause) = replan_cause(app, tables, change) {
        schedule_plan(app, change.after.id, cause);
    }
}

/// Input of a plan that a change of its device touched; `None` if the device has no policy, or
/// nothing that its plan rests on changed.
#[must_use]
pub fn replan_cause(app: &App, tables: &Tables, change: &DeviceChange) -> Option<Cause> {
    let DeviceChange { before, after } = change;
    if !tables.plans.has_policy(after.id) {
        return None;
    }
    let now = app.now();
    managing_policy(&device_facts(tables, before, now), &device_facts(tables, after, now))
}

/// Plans for devices now. Readers see the plans when this returns.
///
/// # Errors
/// The database failed, and all plans are as they were.
pub async fn plan_now(app: &App, due: &[Due]) -> Result<(), StoreError> {
    for due in due.chunks(TURN) {
        let mut change = app.store().begin().await?;
        // Under the writer's turn, so that what is read stays as it is.
        let mut pricer = Pricer::new(app, app.now());
        let made = make(app, &mut change, &mut pricer, due).await?;
        let shown = app.clone();
        change.commit(move || apply_to_memory(&shown, made)).await?;
        look_at_units(app, due);
    }
    Ok(())
}

/// Looks at the heating and cooling units among devices. Their plans are made when they are steered.
pub(crate) fn look_at_units(app: &App, due: &[Due]) {
    let is_unit = |id: &Uuid| app.cache().read(|tables| is_unit(tables, *id));
    for id in due.iter().map(|(id, _)| *id).filter(is_unit) {
        app.control().schedule_evaluation(id);
    }
}

/// Shows what was planned, and looks at it again in its time.
pub(crate) fn apply_to_memory(app: &App, made: PlannedDevices) {
    let reviews: Vec<_> =
        made.plans.iter().map(|plan| (plan.device_id, plan.state.review_at)).collect();
    app.cache().write(|tables| {
        made.flex.into_iter().for_each(|row| tables.plans.keep_flex(row));
        made.plans.into_iter().for_each(|plan| tables.plans.keep_plan(plan));
    });
    for (id, at) in reviews {
        app.planner().schedule_review(id, at);
        app.control().schedule_evaluation(id);
    }
    if made.is_shared {
        app.planner().areas.notify_one();
    }
}

/// Plans for a device whose policy changed. A failure is logged, and tried again.
pub async fn plan_for(app: &App, device_id: Uuid, cause: Cause) {
    if let Err(failure) = plan_now(app, &[(device_id, cause)]).await {
        error!(%failure, "a plan was not kept");
        schedule_plan(app, device_id, cause);
    }
}

/// Plans anew for a device that stands at another place now, if it is under a
/// policy: its prices and the clock of its deadlines may be others.
pub async fn replan(app: &App, device_id: Uuid) {
    if app.cache().read(|tables| tables.plans.has_policy(device_id)) {
        plan_for(app, device_id, Cause::Policy).await;
    }
}

/// Looks at the plans of all devices with a policy of the clients of this
/// environment: a start is the one time at which nobody knows what was missed.
pub fn watch_all(app: &App, is_ours: impl Fn(&str) -> bool) {
    let ids: Vec<Uuid> = app.cache().read(|tables| {
        let own = |id: &Uuid| tables.any_device(*id).is_some_and(|d| is_ours(&d.client_id));
        tables.plans.with_policy().filter(own).collect()
    });
    for id in ids {
        app.planner().schedule_review(id, Some(app.now()));
    }
}

/// Plans what is due until the task is dropped.
pub async fn run(app: App) {
    let queue = app.planner();
    loop {
        let due = queue.next(app.clock(), TURN).await;
        let taken = OnPanic(|| put_back(&app, &due));
        let done = plan_now(&app, &due).await;
        drop(taken);
        if let Err(failure) = &done {
            error!(%failure, "plans were not kept");
            for &(id, cause) in &due {
                queue.schedule_now(id, cause);
            }
        }
        queue.done(due.len());
        if done.is_err() {
            let pause = chrono::TimeDelta::seconds(PAUSE_SECONDS);
            app.clock().until(app.now() + pause).await;
        }
    }
}

/// Gives back what was taken, for a while later: the planner failed over it.
fn put_back(app: &App, due: &[Due]) {
    let queue = app.planner();
    if let Some(at) = app.now().checked_add_signed(RESTART_DELAY) {
        for &(id, cause) in due {
            queue.retry_at(id, at, cause);
        }
    }
    queue.done(due.len());
}
