//! Numbers that no request changes: measured again and again, for operators.
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use metrics::gauge;
use slackwater_control::policy::ask::NoRequest;
use slackwater_engine::units::Power;

use crate::clock::Clock;
use crate::grid::recording::measure_area;
use crate::state::App;
use slackwater_store::plans::Outcome;
use slackwater_store::prices::SeriesName;
use slackwater_store::rows::Pair;

/// Interval of the measurements.
const INTERVAL: TimeDelta = TimeDelta::seconds(15);

/// State of a plan that has all energy by its deadlines, and of one that has not.
const PLANNED: &str = "planned";
const SHORT: &str = "short";

/// Devices by manufacturer, and by whether the last read reached them.
type DeviceCounts = BTreeMap<(String, &'static str), usize>;

/// Measures until the task is dropped.
pub async fn run(worlds: Vec<App>) {
    let machine = Clock::system();
    let (mut known, mut areas) = (DeviceCounts::new(), BTreeSet::new());
    loop {
        for app in &worlds {
            measure_prices(app);
            measure_ages(app);
            measure_plans(app);
        }
        if let Some(app) = worlds.first() {
            // All environments share the tables.
            for count in known.values_mut() {
                *count = 0;
            }
            known.extend(count_devices(app));
            show_devices(&known);
            measure_actions(app);
            measure_areas(app, &mut areas);
        }
        machine.until(machine.now() + INTERVAL).await;
    }
}

/// Time until the last known market price of each zone ends.
fn measure_prices(app: &App) {
    let (env, now) = (app.environment().as_str(), app.now());
    let ends: Vec<(String, DateTime<Utc>)> = app.prices().read(|book| {
        book.all_series()
            .filter_map(|(name, series)| match name {
                SeriesName::Market { zone_id } => {
                    Some((zone_id.clone(), series.curve.slots().last()?.end))
                }
                SeriesName::Area { .. } => None,
            })
            .collect()
    });
    for (zone, end) in ends {
        gauge!("slackwater_market_prices_ahead_seconds", "environment" => env, "zone" => zone)
            .set((end - now).as_seconds_f64());
    }
}

fn count_devices(app: &App) -> DeviceCounts {
    app.cache().read(|tables| {
        let mut counts = DeviceCounts::new();
        for device in tables.devices() {
            let state = match device.state.is_reachable {
                Some(true) => "reached",
                Some(false) => "not_reached",
                None => "not_read",
            };
            *counts.entry((device.vendor.as_str().to_owned(), state)).or_default() += 1;
        }
        counts
    })
}

fn show_devices(counts: &DeviceCounts) {
    for ((vendor, state), count) in counts {
        gauge!("slackwater_devices", "vendor" => vendor.clone(), "state" => *state)
            .set(*count as f64);
    }
}

/// Ages of the oldest last reading and of the oldest pending action of an environment; 0 without one.
fn measure_ages(app: &App) {
    let (environment, now) = (app.environment().as_str(), app.now());
    let age_of = |at: Option<DateTime<Utc>>| at.map_or(0.0, |at| (now - at).as_seconds_f64());
    let ids = app.poller().ids();
    let (read_at, acted_at) = app.cache().read(|tables| {
        let devices = ids.iter().filter_map(|id| tables.any_device(*id));
        let actions = tables.control().all_pending();
        let own = actions.filter(|action| ids.contains(&action.target_id));
        // A device that was never heard of has been silent since it was linked.
        (
            devices.map(|device| device.state.heard_at.unwrap_or(device.linked_at)).min(),
            own.map(|action| action.progress.created_at).min(),
        )
    });
    gauge!("slackwater_reading_oldest_seconds", "environment" => environment).set(age_of(read_at));
    gauge!("slackwater_action_oldest_seconds", "environment" => environment).set(age_of(acted_at));
}

/// Devices of an environment by the state of their last plan.
fn measure_plans(app: &App) {
    let environment = app.environment().as_str();
    for (state, count) in count_plans(app) {
        gauge!("slackwater_plans", "environment" => environment, "state" => state)
            .set(count as f64);
    }
}

/// Number of devices for each state of a plan, 0 among them: `planned`, `short` if energy is missing
/// at a deadline, or the reason why there is no plan.
#[must_use]
pub fn count_plans(app: &App) -> BTreeMap<&'static str, usize> {
    let idle = NoRequest::ALL.map(NoRequest::as_str);
    let states = [PLANNED, SHORT].into_iter().chain(idle);
    let mut counts: BTreeMap<&str, usize> = states.map(|state| (state, 0)).collect();
    let ids = app.poller().ids();
    app.cache().read(|tables| {
        for plan in ids.iter().filter_map(|id| tables.plans.plan(*id)) {
            *counts.entry(plan_state(&plan.state.outcome)).or_default() += 1;
        }
    });
    counts
}

fn plan_state(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Planned(made) if made.summary.shortfall.is_zero() => PLANNED,
        Outcome::Planned(_) => SHORT,
        Outcome::Idle(reason) => reason.as_str(),
    }
}

/// Limits of areas in force, and the power that is known of their devices. An area without a limit has
/// an infinite one, if it had one before.
fn measure_areas(app: &App, known: &mut BTreeSet<Pair>) {
    known.extend(app.limits().areas());
    for area in &*known {
        let limit = app.area_limit(&area.0, &area.1).and_then(|limit| limit.at(app.now()));
        let load = measure_area(app, area).power.unwrap_or(Power::ZERO);
        let (zone, area) = area.clone();
        gauge!("slackwater_area_limit_kw", "zone" => zone.clone(), "area" => area.clone())
            .set(limit.map_or(f64::INFINITY, Power::as_kw));
        gauge!("slackwater_area_load_kw", "zone" => zone, "area" => area).set(load.as_kw());
    }
}

/// Number of pending actions.
fn measure_actions(app: &App) {
    let count = app.cache().read(|tables| tables.control().all_pending().count());
    gauge!("slackwater_actions_pending").set(count as f64);
}
