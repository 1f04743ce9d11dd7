//! Inputs of plans, from readings and policies as they are stored.
use chrono::{DateTime, Utc};
use slackwater_control::device::charge_state::{ChargeState, Reporter};
use slackwater_control::device::reading::charger_is_reachable;
use slackwater_control::device::uptake::Uptake;
use slackwater_control::policy::ask::{DeviceFacts, DevicePolicy, first_in_force};
use slackwater_control::policy::flex::FlexPolicy;
use slackwater_control::policy::vehicle::VehiclePolicy;
use uuid::Uuid;

use crate::cache::tables::Tables;
use slackwater_integration::reading::Facts;
use slackwater_store::devices::Device;
use slackwater_store::locations::Location;
use slackwater_store::policies::{FlexRow, SmartPolicy};

/// The policy of a device that counts now.
#[derive(Debug, Clone, PartialEq)]
pub struct DevicePlanContext {
    /// Policy in force.
    pub policy: DevicePolicy,
    /// The flex policy, if it is one.
    pub flex_policy_id: Option<Uuid>,
    /// Location whose time zone and prices count: that of a flex policy, else the one that the
    /// device is at.
    pub location: Option<Location>,
    /// Facts about the device.
    pub known: DeviceFacts,
}

/// The policy of a device that counts now; `None` if nobody ever set one.
#[must_use]
pub fn plan_context(
    tables: &Tables,
    device: &Device,
    now: DateTime<Utc>,
) -> Option<DevicePlanContext> {
    if !tables.plans.has_policy(device.id) {
        return None;
    }
    let known = device_facts(tables, device, now);
    let rows: Vec<&FlexRow> = tables.plans.flex_of(device.id).map(|row| &**row).collect();
    let mut policies: Vec<(DevicePolicy, Option<&FlexRow>)> =
        rows.into_iter().filter_map(|row| Some((flex_policy(row)?, Some(row)))).collect();
    let smart = tables.plans.smart(device.id).and_then(smart_policy);
    policies.extend(smart.map(|policy| (policy, None)));
    let first = first_in_force(policies.iter().map(|(policy, _)| policy), &known)?;
    let (policy, row) = policies.swap_remove(first);
    let location = match row {
        Some(row) => location(tables, device, row.location_id),
        None => tables.whereabouts(device),
    };
    let location = location.cloned();
    Some(DevicePlanContext { policy, flex_policy_id: row.map(|row| row.id), location, known })
}

/// A flex policy as plans take it; `None` for one that no version has written.
#[must_use]
pub fn flex_policy(row: &FlexRow) -> Option<DevicePolicy> {
    let policy = FlexPolicy::stored(&row.policy).ok()?;
    Some(DevicePolicy::Flex { policy, location: row.location_id.to_string() })
}

/// A smart charging policy as plans take it. A floor above the charge limit of
/// today was below it when it was set.
fn smart_policy(policy: &SmartPolicy) -> Option<DevicePolicy> {
    match policy {
        SmartPolicy::Charger(policy) => Some(DevicePolicy::Charger(*policy)),
        SmartPolicy::Vehicle(request) => {
            VehiclePolicy::new(*request, None).ok().map(DevicePolicy::Vehicle)
        }
        // Units have plans of their own kind.
        SmartPolicy::Comfort(_) => None,
    }
}

/// Facts about a device for its plan.
#[must_use]
pub fn device_facts(tables: &Tables, device: &Device, now: DateTime<Utc>) -> DeviceFacts {
    let location = tables.whereabouts(device).map(|location| location.id.to_string());
    DeviceFacts { location, ..reading_facts(device, now) }
}

/// Facts about a device for its plan, but for its location, which is dear to find.
pub(crate) fn reading_facts(device: &Device, now: DateTime<Utc>) -> DeviceFacts {
    let unread = DeviceFacts::default();
    let Some(reading) = device.state.reading.as_deref() else { return unread };
    match &reading.facts {
        Facts::Vehicle(facts) => DeviceFacts {
            is_reachable: device.state.is_reachable,
            soc: facts.soc,
            charge_limit: facts.charge_limit,
            capacity: facts.capacity,
            may_be_woken: device.state.may_be_woken,
            ..charging(unread, device, &facts.charging, Reporter::Vehicle, now)
        },
        Facts::Charger(facts) => DeviceFacts {
            is_reachable: Some(charger_is_reachable(device.state.is_reachable)),
            ..charging(unread, device, &facts.charging, Reporter::Charger, now)
        },
        _ => unread,
    }
}

fn charging(
    known: DeviceFacts,
    device: &Device,
    state: &ChargeState,
    reporter: Reporter,
    now: DateTime<Utc>,
) -> DeviceFacts {
    let shown = state.shown(reporter, now);
    DeviceFacts {
        is_plugged_in: state.is_plugged(),
        is_charging: Some(state.is_on()),
        is_fully_charged: shown.is_fully_charged,
        power_max: Uptake::power_max(device.state.uptake, shown.charge_rate_limit),
        power_last: Uptake::power_last(device.state.uptake),
        ..known
    }
}

/// A place of a device's user.
fn location<'a>(tables: &'a Tables, device: &Device, id: Uuid) -> Option<&'a Location> {
    tables.user(&device.client_id, &device.user_id)?.location(id)
}
