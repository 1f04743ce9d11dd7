//! Messages of the senders of grid orders, and the limit in force as time passes.
//!
//! A message is written to the evidence, kept in the database together with the wish for new plans,
//! and only then acknowledged. [`follow_senders`] looks once a second whether time has changed a
//! limit, whether a file has a new order, and whether another process has kept one.
use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};
use metrics::{counter, gauge};
use slackwater_control::grid_order::limit::{GridMessage, GridOrder, GridReason, InForce};
use slackwater_engine::units::Power;
use slackwater_store::client::Environment;
use slackwater_store::error::StoreError;
use slackwater_store::grid_orders::{
    GridState, lock_grid_state, read_grid_state, update_grid_state,
};
use tokio::time::{MissedTickBehavior, interval};
use tracing::{error, info, warn};

use crate::cache::grid::GridSender;
use crate::cache::limits::GridCap;
use crate::config::grid::GridTarget;
use crate::grid::describing::count_homes;
use crate::grid::order_file::{OrderFile, read_order_file, take_order};
use crate::grid::recording::{begin_log, record_limit, record_measurement, record_message};
use crate::plans::limit_change::request_area;
use crate::state::App;

/// Interval at which limits in force are looked at, on the machine's steady clock: a wall clock that
/// is set back delays no fail-safe.
const TICK: Duration = Duration::from_secs(1);

/// Reason why a message of a sender is not taken.
#[derive(Debug, thiserror::Error)]
pub enum GridOrderError {
    /// No sender has the name.
    #[error("the settings have no [grid.{name}]")]
    NoSender {
        /// The name.
        name: String,
    },
    /// The sender writes a file.
    #[error("grid.{name} takes its orders from a file (grid.{name}.file)")]
    FromFile {
        /// The name.
        name: String,
    },
    /// A limit below zero.
    #[error("{given_kw} kW is below 0 kW")]
    Negative {
        /// The limit.
        given_kw: f64,
    },
    /// An order that has ended.
    #[error("{until} is past; it is {now}")]
    Past {
        /// End of the order.
        until: DateTime<Utc>,
        /// The time.
        now: DateTime<Utc>,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Site of a sender that is not the site of exactly one integration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("grid.{name}.site: {count} integrations of production have a site {site:?}; it needs one")]
pub struct GridSiteError {
    /// The sender.
    pub name: String,
    /// The site.
    pub site: String,
    /// Number of integrations that have it.
    pub count: usize,
}

/// Cause of a new state of a sender.
#[derive(Debug, Clone, Copy)]
enum Input {
    /// Time alone.
    Time,
    /// A message.
    Message(GridMessage),
    /// A file that was read.
    File(OrderFile),
}

/// Takes a message of a sender without a file. The limit in force from it is kept when this returns.
///
/// # Errors
/// There is no such sender, it writes a file, the order makes no sense, or the database failed.
/// Nothing is changed then.
pub async fn take_message(
    worlds: &[App],
    name: &str,
    message: GridMessage,
) -> Result<(), GridOrderError> {
    let no_sender = || GridOrderError::NoSender { name: name.to_owned() };
    let app = main_world(worlds).ok_or_else(no_sender)?;
    let sender = app.grid().get(name).ok_or_else(no_sender)?;
    if sender.settings.file.is_some() {
        return Err(GridOrderError::FromFile { name: name.to_owned() });
    }
    if let GridMessage::Order(GridOrder { limit, until }) = message {
        let now = app.now();
        if limit < Power::ZERO {
            return Err(GridOrderError::Negative { given_kw: limit.as_kw() });
        }
        if let Some(until) = until.filter(|until| *until <= now) {
            return Err(GridOrderError::Past { until, now });
        }
    }
    advance(worlds, app, sender, Input::Message(message)).await?;
    Ok(())
}

/// Puts the limits in force that were kept before a start.
///
/// # Errors
/// The site of a sender is not that of exactly one integration.
pub fn resume_limits(worlds: &[App]) -> Result<(), GridSiteError> {
    let Some(app) = main_world(worlds) else { return Ok(()) };
    let now = app.now();
    for sender in app.grid().all() {
        let count = show(worlds, sender, sender.state(now), now);
        if let (GridTarget::Site(site), true) = (&sender.target, count != 1) {
            return Err(GridSiteError { name: sender.name.clone(), site: site.clone(), count });
        }
    }
    Ok(())
}

/// Logs senders whose area has no homes: their orders bound nothing, and the name of the area may be
/// mistyped.
pub fn warn_of_areas_without_homes(worlds: &[App]) {
    let Some(app) = main_world(worlds) else { return };
    for sender in app.grid().all() {
        if let GridTarget::Area((zone, area)) = &sender.target
            && count_homes(app, zone, area) == 0
        {
            let grid = &sender.name;
            warn!(
                grid,
                zone, area, "no home is in the area of a grid operator: orders bound nothing"
            );
        }
    }
}

/// Follows all senders until the task is dropped.
pub async fn run(worlds: Vec<App>) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        follow_senders(&worlds).await;
    }
}

/// Puts the limits in force that hold now: after the passing of time, from files, and from what other
/// processes have kept.
pub async fn follow_senders(worlds: &[App]) {
    let Some(app) = main_world(worlds) else { return };
    for sender in app.grid().all() {
        let input = match &sender.settings.file {
            Some(file) => read_file(app, sender, file.clone()).await,
            None => Input::Time,
        };
        if let Err(failure) = advance(worlds, app, sender, input).await {
            error!(grid = sender.name, %failure, "the limit of a grid operator was not kept");
            // What is in memory acts in any case, and time passes for it, too.
            let now = app.now();
            show(worlds, sender, sender.state(now), now);
        }
        record_measurement(worlds, app, sender).await;
    }
}

/// World whose clock counts for orders: production, or the sandbox where there is none.
pub(crate) fn main_world(worlds: &[App]) -> Option<&App> {
    let production = worlds.iter().find(|app| app.environment() == Environment::Production);
    production.or(worlds.first())
}

/// Content of a sender's file; time alone where there is none, which is silence.
async fn read_file(app: &App, sender: &GridSender, file: PathBuf) -> Input {
    let now = app.now();
    let read = tokio::task::spawn_blocking(move || read_order_file(&file, now)).await;
    let read = read.unwrap_or_else(|error| Err(error.to_string()));
    let fault = read.as_ref().err().cloned();
    if sender.set_fault(fault.clone())
        && let Some(fault) = fault
    {
        counter!("slackwater_grid_file_faults_total", "grid" => sender.name.clone()).increment(1);
        warn!(grid = sender.name, fault, "the file with grid orders counts as silence");
    }
    read.map_or(Input::Time, Input::File)
}

/// State of a sender from now on, kept and put in force.
async fn advance(
    worlds: &[App],
    app: &App,
    sender: &GridSender,
    input: Input,
) -> Result<(), StoreError> {
    let _turn = sender.turn.lock().await;
    let now = app.now();
    let known = read_grid_state(app.store(), &sender.name).await?;
    let before = known.unwrap_or_else(|| sender.state(now));
    let (timed, _) = next_state(sender, &before, Input::Time, now);
    let mut begun = None;
    if let Some(in_force) = timed.in_force
        && begin_log(sender, &timed.limit, &in_force, now).await
    {
        begun = Some(in_force);
    }
    let (next, message) = next_state(sender, &before, input, now);
    if known == Some(next) && message.is_none() {
        show(worlds, sender, next, now);
        return Ok(());
    }
    let mut change = app.store().begin().await?;
    // Another process may have changed it meanwhile.
    let before = lock_grid_state(change.connection(), &sender.name, &before).await?;
    let (next, _) = next_state(sender, &before, input, now);
    update_grid_state(change.connection(), &sender.name, &next).await?;
    let is_changed = next.in_force != before.in_force;
    if let (true, GridTarget::Area(area)) = (is_changed, &sender.target) {
        request_area(app, &mut change, (area, now)).await?;
    }
    let (all, name) = (worlds.to_vec(), sender.name.clone());
    let show_next = move || {
        if let Some(sender) = all.first().and_then(|app| app.grid().get(&name)) {
            show(&all, sender, next, now);
        }
        for app in &all {
            app.planner().areas.notify_one();
        }
    };
    change.commit(show_next).await?;
    // What was not kept is no order, and a log that cannot be written delays none.
    if let Some(message) = message {
        record_message(sender, message, now).await;
    }
    if let (true, Some(in_force)) = (is_changed, next.in_force) {
        log_change(sender, &in_force);
        if begun != Some(in_force) {
            record_limit(sender, &next.limit, &in_force, now).await;
        }
    }
    Ok(())
}

/// State after an input, and the message in it that is evidence.
fn next_state(
    sender: &GridSender,
    kept: &GridState,
    input: Input,
    now: DateTime<Utc>,
) -> (GridState, Option<GridMessage>) {
    let limit = sender.with_settings(kept.limit).set_back_to(now);
    let (limit, message) = match input {
        Input::Time => (limit, None),
        Input::Message(message) => (limit.after(message, now), Some(message)),
        Input::File(file) => take_order(limit, &file, now),
    };
    let in_force = Some(limit.in_force(now));
    let limit = limit.with_fail_safe(None).with_least(Power::ZERO);
    (GridState { limit, in_force }, message.filter(|one| *one != GridMessage::Heartbeat))
}

/// Puts the limit of a sender in force: for plans of its area, or in the integration of its site.
/// Returns the number of areas or sites that follow.
fn show(worlds: &[App], sender: &GridSender, state: GridState, now: DateTime<Utc>) -> usize {
    sender.replace(state);
    let limit = sender.limit(now);
    let InForce { limit: power, since, until, .. } = limit.in_force(now);
    let shown = power.map_or(f64::INFINITY, Power::as_kw);
    gauge!("slackwater_grid_limit_kw", "grid" => sender.name.clone()).set(shown);
    match &sender.target {
        GridTarget::Area(area) => {
            let cap = power.map(|power| GridCap { power, since, until });
            if let Some(app) = worlds.first() {
                app.limits().replace_cap(area, cap);
            }
            1
        }
        GridTarget::Site(site) => {
            let vendors = worlds.iter().flat_map(App::vendors);
            vendors.filter(|vendor| vendor.follow_grid_limit(site, limit)).count()
        }
    }
}

fn log_change(sender: &GridSender, in_force: &InForce) {
    let limit_kw = in_force.limit.map(Power::as_kw);
    let (grid, reason) = (&sender.name, in_force.reason.as_str());
    if in_force.reason == GridReason::FailSafe {
        warn!(grid, limit_kw, reason, "nothing is heard of a grid operator: the fail-safe holds");
    } else {
        info!(grid, limit_kw, reason, "the limit of a grid operator changed");
    }
}
