//! Events of changed devices and accounts.
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use slackwater_control::device::scope::Permission;

use super::names::{DEVICE_CHANGED, USER_CHANGED};
use crate::cache::device_change::DeviceChange;
use slackwater_store::accounts::Account;
use slackwater_store::devices::{Device, DeviceState};
use slackwater_store::events::NewEvent;

/// Facts that say where a device is.
const PLACES: [&str; 2] = ["position", "sighting"];

/// Event of a device whose facts changed; `None` if it was merely read again.
#[must_use]
pub fn of_device(change: &DeviceChange, now: DateTime<Utc>) -> Option<NewEvent> {
    let device = &change.before;
    let (before, after) = (&device.state, &change.after.state);
    let mut changed: Vec<String> = Vec::new();
    if before.is_reachable != after.is_reachable {
        changed.push("is_reachable".to_owned());
    }
    let is_same = match (&before.reading, &after.reading) {
        (Some(before), Some(after)) => before.facts == after.facts,
        (before, after) => before.is_none() && after.is_none(),
    };
    if !is_same {
        let (before, after) = (facts(before), facts(after));
        let names = after.keys().filter(|name| before.get(*name) != after.get(*name));
        changed.extend(names.filter(|name| may_be_told(device, name)).cloned());
    }
    if changed.is_empty() {
        return None;
    }
    Some(NewEvent {
        client_id: device.client_id.to_string(),
        user_id: device.user_id.to_string(),
        target_id: Some(device.id),
        name: DEVICE_CHANGED,
        at: now,
        body: json!({ "kind": device.kind.as_str(), "changed": changed }),
    })
}

/// Event of an account that a manufacturer accepts, or no longer.
#[must_use]
pub fn of_account(account: &Account, now: DateTime<Utc>) -> NewEvent {
    NewEvent {
        client_id: account.client_id.clone(),
        user_id: account.user_id.clone(),
        target_id: None,
        name: USER_CHANGED,
        at: now,
        body: json!({ "vendor": account.vendor, "credentials_valid": account.is_valid }),
    }
}

/// Returns `true` if a member may be named among the changes. `location` is left out unless the
/// client has the scope for it: even that a device moved tells where it no longer is (SCOPE-13).
fn may_be_told(device: &Device, name: &str) -> bool {
    !PLACES.contains(&name) || device.scopes.contains(&Permission::ReadLocation)
}

/// The facts of a reading by name, without the times at which they were read.
fn facts(state: &DeviceState) -> serde_json::Map<String, Value> {
    let facts = state.reading.as_ref().map(|reading| serde_json::to_value(&reading.facts));
    let Some(Ok(Value::Object(by_kind))) = facts else { return serde_json::Map::new() };
    let own = by_kind.into_iter().next().map(|(_, own)| timeless(own));
    match own {
        Some(Value::Object(own)) => own,
        _ => serde_json::Map::new(),
    }
}

fn timeless(value: Value) -> Value {
    let is_time = |name: &str| name == "at" || name == "last_updated" || name.ends_with("_at");
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(name, _)| !is_time(name));
            Value::Object(kept.map(|(name, value)| (name, timeless(value))).collect())
        }
        other => other,
    }
}
