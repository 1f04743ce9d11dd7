//! Worker of the queue of orders.
use std::sync::Arc;

use chrono::{DateTime, Utc};
use tracing::warn;

use crate::plans::unit::is_unit;
use crate::queue::orders::{Due, Task};
use crate::state::App;
use crate::steering::{evaluate, pursuit, unit};
use crate::supervise::{OnPanic, RESTART_DELAY, log_panic};

/// Puts into the queue what a restart interrupted: the pending actions of the
/// clients of this environment, and a look at all devices that have schedules or
/// policies.
pub fn resume(app: &App, is_ours: impl Fn(&str) -> bool) {
    let first = DateTime::<Utc>::MIN_UTC;
    app.cache().read(|tables| {
        let control = tables.control();
        for action in control.all_pending().filter(|action| is_ours(&action.client_id)) {
            app.control().put(Task::Pursue(action.target_id), first);
        }
        let is_watched = |id: &uuid::Uuid| {
            tables.any_device(*id).is_some_and(|device| is_ours(&device.client_id))
        };
        for id in app.config().comfort.keys().filter(|id| is_watched(id)) {
            if !is_unit(tables, *id) {
                warn!(device = %id, "comfort: the device is no heating or cooling unit");
            }
        }
        for id in control.scheduled().chain(tables.plans.with_policy()).filter(is_watched) {
            app.control().put(Task::Look(id), first);
        }
    });
}

/// Works until the task is dropped.
pub async fn run(app: App) {
    let permits = app.control().permits();
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let due = app.control().next(app.clock()).await;
        let app = app.clone();
        tokio::spawn(async move {
            work(&app, due).await;
            drop(permit);
        });
    }
}

async fn work(app: &App, due: Due) {
    let tasks = due.tasks();
    let _taken = OnPanic(|| {
        log_panic("control", &format!("{} devices", tasks.len()));
        let again = app.now().checked_add_signed(RESTART_DELAY);
        for task in &tasks {
            app.control().done(*task, again);
        }
    });
    match due {
        Due::Pursue(id) => {
            let next = pursuit::pursue_action(app, id).await;
            app.control().done(Task::Pursue(id), next);
        }
        Due::Look(ids) => {
            for (id, next) in evaluate::evaluate_devices(app, &ids).await {
                let of_unit = unit::steer_unit(app, id).await;
                let next = [next, of_unit].into_iter().flatten().min();
                app.control().done(Task::Look(id), next);
            }
        }
    }
}
