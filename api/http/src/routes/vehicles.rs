//! Vehicles: reading them.
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Serialize;
use slackwater_control::device::capability::{Ability, Capabilities, merged, within_scopes};
use slackwater_control::device::charge_state::Reporter;
use slackwater_control::device::power_state::PowerState;
use slackwater_control::device::reading::{Whereabouts, last_seen};
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::policy::vehicle::VehiclePolicyRequest;
use slackwater_engine::units::{Energy, Percent, Power};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::PageQuery;
use crate::problem::Problem;
use crate::routes::charge_state::{
    CapabilityBody, RangedCapabilityBody, amps, capability, power_word, ranged_capability,
};
use crate::routes::lists::{self, DeviceParts, DeviceView, ListParts, UserListParts, ViewContext};
use crate::routes::refresh::{self, HintParts};
use crate::scope;
use slackwater_integration::reading::{Facts, Sighting, VehicleFacts};

/// A vehicle.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Vehicle {
    /// Its identifier.
    pub id: Uuid,
    /// The user who linked it.
    pub user_id: String,
    /// Its manufacturer.
    pub vendor: String,
    /// Last live data, or when it was linked.
    pub last_seen: DateTime<Utc>,
    /// True if its data are live; null if that is not known yet.
    pub is_reachable: Option<bool>,
    /// Model.
    pub information: VehicleInformation,
    /// State of charging.
    pub charge_state: VehicleChargeState,
    /// Policy of smart charging.
    pub smart_charging_policy: SmartChargingPolicy,
    /// Distance driven.
    pub odometer: Odometer,
    /// Position.
    pub location: VehicleLocation,
    /// Abilities.
    pub capabilities: VehicleCapabilities,
    /// Scopes that its owner granted.
    pub scopes: Vec<String>,
}

/// Model of a vehicle.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, ToSchema)]
pub struct VehicleInformation {
    /// Vehicle identification number.
    pub vin: Option<String>,
    /// Make.
    pub brand: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Year of the model.
    pub year: Option<i32>,
}

/// State of charging of a vehicle.
#[derive(Debug, Clone, PartialEq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VehicleChargeState {
    /// State of charge in percent.
    pub battery_level: Option<f64>,
    /// True if a plug is in.
    pub is_plugged_in: Option<bool>,
    /// True if it charges.
    pub is_charging: Option<bool>,
    /// True if it is full; null while the delivery of power is unknown.
    pub is_fully_charged: Option<bool>,
    /// Usable capacity in kWh.
    pub battery_capacity: Option<f64>,
    /// Percent of the capacity at which it stops by itself; null means 100.
    pub charge_limit: Option<f64>,
    /// Power now in kW; null while it does not charge.
    pub charge_rate: Option<f64>,
    /// Minutes until the charge limit; null while it does not charge.
    pub charge_time_remaining: Option<f64>,
    /// When this was read.
    pub last_updated: Option<DateTime<Utc>>,
    /// Limit of the current in A. Deprecated: use `chargeRateLimit`.
    pub max_current: Option<f64>,
    /// One of nine words; `UNKNOWN` also when the reading is over seven days old.
    #[schema(value_type = String)]
    pub power_delivery_state: &'static str,
    /// The user's charger that it is plugged into, if both are linked and detected together.
    pub plugged_in_charger_id: Option<Uuid>,
    /// Limit of the power in kW; null if not plugged in or not known. For early adopters.
    pub charge_rate_limit: Option<f64>,
}

/// Smart charging policy of a vehicle.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SmartChargingPolicy {
    /// True if smart charging controls the vehicle.
    pub is_enabled: bool,
    /// When the vehicle is to be ready, on the clocks of its location, else UTC.
    pub deadline: Option<String>,
    /// Percent that are charged at once, at any price.
    pub minimum_charge_limit: f64,
}

/// Distance that a vehicle has been driven.
#[derive(Debug, Clone, PartialEq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Odometer {
    /// In km.
    pub distance: Option<f64>,
    /// When that was read.
    pub last_updated: Option<DateTime<Utc>>,
}

/// Position of a vehicle. All null without the scope `vehicle:read:location`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VehicleLocation {
    /// Degrees east.
    pub longitude: Option<f64>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// When that was read.
    pub last_updated: Option<DateTime<Utc>>,
    /// The place of its user that it is at.
    pub id: Option<Uuid>,
}

/// Abilities of a vehicle. At a linked charger, advice is that for both.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VehicleCapabilities {
    /// Describe itself.
    pub information: CapabilityBody,
    /// Tell how its charging stands.
    pub charge_state: CapabilityBody,
    /// Tell where it is.
    pub location: CapabilityBody,
    /// Tell how far it has been driven.
    pub odometer: CapabilityBody,
    /// Limit its current.
    pub set_max_current: CapabilityBody,
    /// Start charging.
    pub start_charging: CapabilityBody,
    /// Stop charging.
    pub stop_charging: CapabilityBody,
    /// Follow a plan.
    pub smart_charging: CapabilityBody,
    /// Be read afresh.
    pub refresh_state: CapabilityBody,
    /// Limit its power.
    pub set_charge_rate_limit: RangedCapabilityBody,
}

/// The client's vehicles, newest first.
#[utoipa::path(get, path = "/vehicles", tag = "Vehicles", params(PageQuery),
    responses((status = 200, body = Vec<Vehicle>), (status = 404), (status = 424)))]
pub(crate) async fn list_vehicles(asked: ListParts) -> Result<Response, Problem> {
    lists::list_devices::<Vehicle>(asked).await
}

/// A user's vehicles.
#[utoipa::path(get, path = "/users/{userId}/vehicles", tag = "Vehicles", params(PageQuery),
    responses((status = 200, body = Vec<Vehicle>), (status = 404), (status = 424)))]
pub(crate) async fn list_vehicles_of_user(asked: UserListParts) -> Result<Response, Problem> {
    lists::list_devices_of_user::<Vehicle>(asked).await
}

/// One vehicle.
#[utoipa::path(get, path = "/vehicles/{vehicleId}", tag = "Vehicles",
    responses((status = 200, body = Vehicle), (status = 404), (status = 405), (status = 408),
        (status = 409), (status = 424)))]
pub(crate) async fn get_vehicle(asked: DeviceParts) -> Result<Response, Problem> {
    lists::get_device::<Vehicle>(asked).await
}

/// Asks for an early refresh. Takes no body and does not wait.
#[utoipa::path(post, path = "/vehicles/{vehicleId}/refresh-hint", tag = "Vehicles",
    responses((status = 204), (status = 404)))]
pub(crate) async fn refresh_vehicle(asked: HintParts) -> Result<StatusCode, Problem> {
    refresh::refresh_device::<Vehicle>(asked)
}

impl DeviceView for Vehicle {
    const KIND: DeviceKind = DeviceKind::Vehicle;
    const LIST: &'static str = "vehicles";
    const WORD: &'static str = "vehicle";

    fn from_context(seen: &ViewContext<'_>) -> Self {
        let device = seen.device;
        let facts = device.state.reading.as_deref().and_then(|reading| match &reading.facts {
            Facts::Vehicle(facts) => Some(&**facts),
            _ => None,
        });
        let charger = seen.tables.other_end(device);
        Self {
            id: device.id,
            user_id: device.user_id.to_string(),
            vendor: device.vendor.to_string(),
            last_seen: last_seen(device.state.heard_at, device.linked_at),
            is_reachable: device.state.is_reachable,
            information: VehicleInformation::from_facts(facts),
            charge_state: facts.map_or_else(VehicleChargeState::unknown, |facts| {
                VehicleChargeState::from_facts(facts, seen.now, charger.map(|charger| charger.id))
            }),
            smart_charging_policy: seen.tables.plans.of_vehicle(device.id).into(),
            odometer: Odometer {
                distance: facts.and_then(|facts| facts.odometer_km),
                last_updated: facts.and_then(|facts| facts.odometer_at),
            },
            location: VehicleLocation::from_sighting(facts.and_then(|facts| facts.sighting), seen),
            capabilities: VehicleCapabilities::from_abilities(&capabilities(seen)),
            scopes: scope::scope_words(device.kind, &device.scopes),
        }
    }
}

/// Abilities of a vehicle, with the advice of the charger that it stands at, within the scopes that
/// its owner granted.
fn capabilities(seen: &ViewContext<'_>) -> Capabilities {
    let Some(own) = &seen.device.state.reading else { return Capabilities::new() };
    let charger = seen.tables.other_end(seen.device);
    match charger.and_then(|charger| charger.state.reading.as_ref()) {
        Some(charger) => {
            let both = merged(&own.capabilities, &charger.capabilities);
            within_scopes(&both, &seen.device.scopes)
        }
        None => within_scopes(&own.capabilities, &seen.device.scopes),
    }
}

impl VehicleInformation {
    fn from_facts(facts: Option<&VehicleFacts>) -> Self {
        let Some(information) = facts.map(|facts| facts.information.clone()) else {
            return Self::default();
        };
        Self {
            vin: information.vin,
            brand: information.brand,
            model: information.model,
            year: information.year,
        }
    }
}

impl VehicleChargeState {
    fn unknown() -> Self {
        Self { power_delivery_state: power_word(PowerState::Unknown), ..Self::default() }
    }

    fn from_facts(facts: &VehicleFacts, now: DateTime<Utc>, charger: Option<Uuid>) -> Self {
        let shown = facts.charging.shown(Reporter::Vehicle, now);
        Self {
            battery_level: facts.soc.map(Percent::as_percent),
            is_plugged_in: shown.is_plugged_in,
            is_charging: shown.is_charging,
            is_fully_charged: shown.is_fully_charged,
            battery_capacity: facts.capacity.map(Energy::as_kwh),
            charge_limit: facts.charge_limit.map(Percent::as_percent),
            charge_rate: shown.charge_rate.map(Power::as_kw),
            charge_time_remaining: shown.charge_time_remaining_minutes,
            last_updated: shown.last_updated,
            max_current: amps(facts.max_current),
            power_delivery_state: power_word(shown.power_state),
            plugged_in_charger_id: charger,
            charge_rate_limit: shown.charge_rate_limit.map(Power::as_kw),
        }
    }
}

impl From<VehiclePolicyRequest> for SmartChargingPolicy {
    fn from(policy: VehiclePolicyRequest) -> Self {
        Self {
            is_enabled: policy.is_enabled,
            deadline: policy.deadline.map(|deadline| deadline.to_string()),
            minimum_charge_limit: policy.minimum_charge_limit_percent,
        }
    }
}

impl VehicleLocation {
    fn from_sighting(sighting: Option<Sighting>, seen: &ViewContext<'_>) -> Self {
        let Some(Sighting { position, at }) = sighting else { return Self::default() };
        let place = seen.tables.whereabouts(seen.device);
        let whereabouts = Whereabouts {
            longitude: Some(position.longitude),
            latitude: Some(position.latitude),
            last_updated: Some(at),
            location_id: place.map(|place| place.id.to_string()),
        };
        let shown = whereabouts.shown(&seen.device.scopes);
        Self {
            longitude: shown.longitude,
            latitude: shown.latitude,
            last_updated: shown.last_updated,
            id: shown.location_id.and_then(|id| Uuid::parse_str(&id).ok()),
        }
    }
}

impl VehicleCapabilities {
    fn from_abilities(can: &Capabilities) -> Self {
        Self {
            information: capability(can, Ability::Information),
            charge_state: capability(can, Ability::ChargeState),
            location: capability(can, Ability::Location),
            odometer: capability(can, Ability::Odometer),
            set_max_current: capability(can, Ability::SetMaxCurrent),
            start_charging: capability(can, Ability::StartCharging),
            stop_charging: capability(can, Ability::StopCharging),
            smart_charging: capability(can, Ability::SmartCharging),
            refresh_state: capability(can, Ability::RefreshState),
            set_charge_rate_limit: ranged_capability(can, Ability::SetChargeRateLimit),
        }
    }
}
