//! Numbers that no request changes: measured again and again, for operators.
use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use metrics::gauge;

use crate::clock::Clock;
use crate::state::App;
use slackwater_store::prices::SeriesName;

/// Interval of the measurements.
const INTERVAL: TimeDelta = TimeDelta::seconds(15);

/// Devices by manufacturer, and by whether the last read reached them.
type DeviceCounts = BTreeMap<(String, &'static str), usize>;

/// Measures until the task is dropped.
pub async fn run(worlds: Vec<App>) {
    let machine = Clock::system();
    let mut known = DeviceCounts::new();
    loop {
        for app in &worlds {
            measure_prices(app);
        }
        if let Some(app) = worlds.first() {
            // All environments share the tables.
            for count in known.values_mut() {
                *count = 0;
            }
            known.extend(count_devices(app));
            show_devices(&known);
            measure_actions(app);
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

/// Number of pending actions.
fn measure_actions(app: &App) {
    let count = app.cache().read(|tables| tables.control().all_pending().count());
    gauge!("slackwater_actions_pending").set(count as f64);
}
