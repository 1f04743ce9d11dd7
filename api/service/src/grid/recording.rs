//! Evidence of what a grid operator ordered, of the limits in force, and of the power that followed.
//!
//! | `kind` | Written | Fields beside `at` |
//! |---|---|---|
//! | `order` | when an order is taken | `limit_kw`, `until` |
//! | `release` | when an order is taken back | |
//! | `silence` | when the heartbeat is lost, or first in a log if it is lost already | `heard_at`, the last sign of life |
//! | `limit` | at the beginning of a log, and when the limit in force changes | `limit_kw`, `reason`, `since`, `until` |
//! | `measured` | in each minute in which a limit is in force | `power_kw`, `devices`, `known` |
//!
//! All but measurements are signed at once, and measurements every quarter of an hour. A failure is
//! logged, and the records wait in memory for the next one: a limit acts in any case.
use std::collections::BTreeSet;
use std::sync::PoisonError;

use chrono::{DateTime, Utc};
use metrics::counter;
use serde_json::{Value, json};
use slackwater_control::device::power_state::PowerState;
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::grid_order::limit::{
    GridLimit, GridMessage, GridOrder, GridReason, InForce,
};
use slackwater_engine::units::Power;
use slackwater_integration::reading::Facts;
use slackwater_store::devices::Device;
use slackwater_store::rows::Pair;
use tracing::error;
use uuid::Uuid;

use crate::cache::grid::GridSender;
use crate::config::grid::GridTarget;
use crate::plans::beside::devices;
use crate::state::App;

/// Minutes after which measurements are signed.
const SIGNED_MINUTES: i64 = 15;

/// Power of devices, as it was measured last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measured {
    /// Sum over the devices whose power is known; `None` if it is that of none.
    pub(crate) power: Option<Power>,
    /// Number of devices.
    devices: usize,
    /// Number of these whose power is known.
    known: usize,
}

/// Records a message of a sender that changes what it orders.
pub(crate) async fn record_message(sender: &GridSender, message: GridMessage, now: DateTime<Utc>) {
    let record = match message {
        GridMessage::Order(GridOrder { limit, until }) => {
            json!({ "kind": "order", "at": now, "limit_kw": limit, "until": until })
        }
        GridMessage::Release => json!({ "kind": "release", "at": now }),
        GridMessage::Heartbeat => return,
    };
    add_records(sender, vec![record], Some(now)).await;
}

/// Records the limit in force, and before it the lost heartbeat if that is its reason.
pub(crate) async fn record_limit(
    sender: &GridSender,
    heard: &GridLimit,
    in_force: &InForce,
    now: DateTime<Utc>,
) {
    add_records(sender, limit_records(heard, in_force, now), Some(now)).await;
}

/// Begins a log without records with the limit in force, and before it the lost heartbeat if that is its
/// reason, so that its first measurements and orders can be read. Returns true if the log was begun.
pub(crate) async fn begin_log(
    sender: &GridSender,
    heard: &GridLimit,
    in_force: &InForce,
    now: DateTime<Utc>,
) -> bool {
    let is_empty = sender
        .evidence
        .as_ref()
        .is_some_and(|log| log.lock().unwrap_or_else(PoisonError::into_inner).is_empty());
    if is_empty {
        add_records(sender, limit_records(heard, in_force, now), Some(now)).await;
    }
    is_empty
}

fn limit_records(heard: &GridLimit, in_force: &InForce, now: DateTime<Utc>) -> Vec<Value> {
    let InForce { limit, reason, since, until } = in_force;
    let silence = json!({ "kind": "silence", "at": now, "heard_at": heard.heard_at() });
    let limit = json!({
        "kind": "limit",
        "at": now,
        "limit_kw": limit,
        "reason": reason,
        "since": since,
        "until": until,
    });
    match reason {
        GridReason::FailSafe => vec![silence, limit],
        GridReason::Free | GridReason::Ordered => vec![limit],
    }
}

/// Records the power of the devices of a sender, once in each minute in which a limit is in force.
pub(crate) async fn record_measurement(worlds: &[App], app: &App, sender: &GridSender) {
    let now = app.now();
    let minute = now.timestamp().div_euclid(60);
    let is_wanted = sender.evidence.is_some() && sender.in_force(now).limit.is_some();
    if !is_wanted || !sender.begin_minute(minute) {
        return;
    }
    let Measured { power, devices, known } = match &sender.target {
        GridTarget::Area(area) => measure_area(app, area),
        GridTarget::Site(site) => measure_site(worlds, site),
    };
    let record = json!({
        "kind": "measured", "at": now, "power_kw": power, "devices": devices, "known": known,
    });
    let signed_at = (minute % SIGNED_MINUTES == 0).then_some(now);
    add_records(sender, vec![record], signed_at).await;
}

/// Power of the devices under a policy in an area, of all clients.
pub(crate) fn measure_area(app: &App, (zone, area): &Pair) -> Measured {
    app.cache().read(|tables| {
        let next = |after: &str| tables.plans.next_client_in(zone, area, after);
        let clients = std::iter::successors(next(""), |client| next(client));
        let ids = clients.flat_map(|client| devices(tables, &client, zone, Some(area)));
        let ids: BTreeSet<Uuid> = ids.collect();
        let members = ids.iter().filter_map(|id| tables.any_device(*id));
        // A vehicle at a charger that counts, too, would count twice.
        let is_counted_there = |device: &Device| {
            device.kind == DeviceKind::Vehicle
                && tables.other_end(device).is_some_and(|other| ids.contains(&other.id))
        };
        let members = members.filter(|device| !is_counted_there(device));
        let powers: Vec<Option<Power>> = members.map(|device| power_of(device)).collect();
        add_powers(&powers)
    })
}

/// Power of the chargers of a site, which count as one device.
fn measure_site(worlds: &[App], site: &str) -> Measured {
    let vendors = worlds.iter().flat_map(App::vendors);
    let powers: Vec<Option<Power>> =
        vendors.filter_map(|vendor| vendor.site_power(site)).map(Some).collect();
    if powers.is_empty() { add_powers(&[None]) } else { add_powers(&powers) }
}

fn add_powers(powers: &[Option<Power>]) -> Measured {
    let known = || powers.iter().flatten();
    Measured {
        power: known().copied().reduce(|sum, power| sum + power),
        devices: powers.len(),
        known: known().count(),
    }
}

/// Power of a device by its last reading; `None` if it was not reached, or says nothing of it.
fn power_of(device: &Device) -> Option<Power> {
    if device.state.is_reachable != Some(true) {
        return None;
    }
    let charging = match &device.state.reading.as_ref()?.facts {
        Facts::Vehicle(facts) => &facts.charging,
        Facts::Charger(facts) => &facts.charging,
        Facts::Hvac(_) | Facts::Inverter(_) | Facts::Battery(_) | Facts::Meter(_) => return None,
    };
    let is_flowing = matches!(
        charging.power_state,
        PowerState::Unknown | PowerState::Charging | PowerState::Discharging
    );
    charging.charge_rate.or((!is_flowing).then_some(Power::ZERO))
}

/// Adds records to the evidence of a sender, and signs it if a time for that is given.
async fn add_records(sender: &GridSender, records: Vec<Value>, signed_at: Option<DateTime<Utc>>) {
    let Some(log) = sender.evidence.clone() else { return };
    let work = move || {
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.append_records(records)?;
        signed_at.map_or(Ok(()), |now| log.sign_lines(now))
    };
    let failure = match tokio::task::spawn_blocking(work).await {
        Ok(Ok(())) => return,
        Ok(Err(failure)) => failure.to_string(),
        Err(failure) => failure.to_string(),
    };
    counter!("slackwater_evidence_failures_total", "grid" => sender.name.clone()).increment(1);
    error!(grid = sender.name, failure, "evidence was not written, and waits");
}
