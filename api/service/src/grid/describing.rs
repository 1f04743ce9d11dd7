//! Senders of grid orders as operators see them.
use serde_json::{Value, json};
use slackwater_control::grid_order::limit::InForce;

use crate::config::grid::GridTarget;
use crate::grid::orders::main_world;
use crate::state::App;

/// A sender with its order, the limit in force and the number of users at home in its area; `None` if
/// there is none of that name.
#[must_use]
pub fn describe_sender(worlds: &[App], name: &str) -> Option<Value> {
    let app = main_world(worlds)?;
    let sender = app.grid().get(name)?;
    let now = app.now();
    let limit = sender.limit(now);
    let InForce { limit: power, reason, since, until } = limit.in_force(now);
    let (zone, area, site) = match &sender.target {
        GridTarget::Area((zone, area)) => (Some(zone), Some(area), None),
        GridTarget::Site(site) => (None, None, Some(site)),
    };
    let homes = zone.zip(area).map(|(zone, area)| count_homes(app, zone, area));
    Some(json!({
        "name": name,
        "zone": zone,
        "area": area,
        "site": site,
        "homes": homes,
        "file": sender.settings.file,
        "limit_kw": power,
        "reason": reason,
        "since": since,
        "until": until,
        "order": limit.order(now),
        "heard_at": limit.heard_at(),
        "next_change": limit.next_change(now),
        "fail_safe_kw": sender.settings.fail_safe,
        "least_kw": sender.settings.controllable_devices.map(|_| limit.least()),
        "fault": sender.fault(),
    }))
}

/// Number of users with a location in an area. A limit of an area without one bounds nothing.
#[must_use]
pub fn count_homes(app: &App, zone: &str, area: &str) -> usize {
    app.cache().read(|tables| tables.plans.residents(zone, Some(area)).count())
}

/// All senders, in the order of their names.
#[must_use]
pub fn describe_senders(worlds: &[App]) -> Vec<Value> {
    let Some(app) = main_world(worlds) else { return Vec::new() };
    let names = app.grid().all().map(|sender| sender.name.as_str());
    names.filter_map(|name| describe_sender(worlds, name)).collect()
}
