//! Heating and cooling units: reading them.
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Serialize;
use slackwater_control::device::capability::{Ability, Capabilities, within_scopes};
use slackwater_control::device::hvac::{Mode, TemperatureRange, shown_consumption};
use slackwater_control::device::reading::{charger_is_reachable, last_seen};
use slackwater_control::device::scope::DeviceKind;
use slackwater_engine::units::{Power, Temperature};
use slackwater_wire::version::field::Field;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::PageQuery;
use crate::problem::Problem;
use crate::routes::charge_state::{CapabilityBody, MinMax, capability};
use crate::routes::lists::{self, DeviceView, ListParts, UserListParts, ViewContext};
use crate::routes::refresh::{self, HintParts};
use crate::scope;
use slackwater_integration::reading::{Facts, HoldType, HvacCategory, HvacFacts};

/// A heating or cooling unit.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hvac {
    /// Its identifier.
    pub id: Uuid,
    /// The user who linked it.
    pub user_id: String,
    /// Its manufacturer.
    pub vendor: String,
    /// Last live data, or when it was linked.
    pub last_seen: DateTime<Utc>,
    /// True if its data are live.
    pub is_reachable: bool,
    /// Power in kW; 0 while inactive, null where the unit does not tell.
    pub consumption_rate: Option<f64>,
    /// Model.
    pub information: HvacInformation,
    /// Temperature of the room.
    pub temperature_state: TemperatureState,
    /// Setting of the thermostat.
    pub thermostat_state: ThermostatState,
    /// Settings that are possible.
    pub capabilities: HvacCapabilities,
    /// Scopes that its owner granted.
    pub scopes: Vec<String>,
    /// The place that it stands at; from version 2023-08-01 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location_id: Option<Option<Uuid>>,
    /// Location that was set for it, in version 2023-05-01.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charging_location_id: Option<Option<Uuid>>,
    /// Deprecated: as in `thermostatState`.
    #[schema(value_type = Option<String>)]
    pub mode: Option<&'static str>,
    /// Deprecated: as in `thermostatState`.
    pub heat_setpoint: Option<f64>,
    /// Deprecated: as in `thermostatState`.
    pub cool_setpoint: Option<f64>,
    /// Deprecated: as in `thermostatState`.
    #[schema(value_type = Option<String>)]
    pub hold_type: Option<&'static str>,
    /// Deprecated: as in `temperatureState`.
    pub is_active: Option<bool>,
    /// Deprecated: as in `temperatureState`.
    pub current_temperature: Option<f64>,
}

/// Model of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HvacInformation {
    /// Make.
    pub brand: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Name that its owner gave it; null before the first reading.
    pub display_name: Option<String>,
    /// The group of units that it belongs to.
    pub group_name: Option<String>,
    /// One of `HEATING`, `COOLING`, `HEAT_PUMP`, `AGGREGATOR`; null before the first reading.
    #[schema(value_type = Option<String>)]
    pub category: Option<&'static str>,
}

/// Temperature of the room of a unit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemperatureState {
    /// In degrees Celsius.
    pub current_temperature: Option<f64>,
    /// True if it heats or cools now; null before the first reading.
    pub is_active: Option<bool>,
    /// When this was read.
    pub last_updated: Option<DateTime<Utc>>,
}

/// Setting of a thermostat.
#[derive(Debug, Clone, PartialEq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThermostatState {
    /// One of `OFF`, `AUTO`, `COOL`, `HEAT`.
    #[schema(value_type = Option<String>)]
    pub mode: Option<&'static str>,
    /// Heats below this, in degrees Celsius.
    pub heat_setpoint: Option<f64>,
    /// Cools above this, in degrees Celsius.
    pub cool_setpoint: Option<f64>,
    /// `PERMANENT`, or `SCHEDULED` where a schedule on the device decides.
    #[schema(value_type = Option<String>)]
    pub hold_type: Option<&'static str>,
    /// When this was read.
    pub last_updated: Option<DateTime<Utc>>,
}

/// Settings that are possible for a unit.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HvacCapabilities {
    /// Modes that it has; null if it does not tell.
    #[schema(value_type = Option<Vec<String>>)]
    pub capable_modes: Option<Vec<&'static str>>,
    /// Setpoints of cooling, both ends included.
    pub cool_setpoint_range: Option<MinMax>,
    /// Setpoints of heating, both ends included.
    pub heat_setpoint_range: Option<MinMax>,
    /// Distance between the two setpoints in `AUTO`.
    pub setpoint_difference_range: Option<MinMax>,
    /// Follow the schedule on the device.
    pub set_follow_schedule: CapabilityBody,
    /// Hold a setpoint.
    pub set_permanent_hold: CapabilityBody,
    /// Deprecated: the holds that the two capabilities before stand for.
    #[schema(value_type = Vec<String>)]
    pub capable_hold_types: Vec<&'static str>,
}

/// The client's units, newest first.
#[utoipa::path(get, path = "/hvacs", tag = "HVAC units", params(PageQuery),
    responses((status = 200, body = Vec<Hvac>), (status = 404), (status = 424)))]
pub(crate) async fn list_hvacs(asked: ListParts) -> Result<Response, Problem> {
    lists::list_devices::<Hvac>(asked).await
}

/// A user's units.
#[utoipa::path(get, path = "/users/{userId}/hvacs", tag = "HVAC units", params(PageQuery),
    responses((status = 200, body = Vec<Hvac>), (status = 404), (status = 424)))]
pub(crate) async fn list_hvacs_of_user(asked: UserListParts) -> Result<Response, Problem> {
    lists::list_devices_of_user::<Hvac>(asked).await
}

/// Asks for an early refresh. Takes no body and does not wait.
#[utoipa::path(post, path = "/hvacs/{hvacId}/refresh-hint", tag = "HVAC units",
    responses((status = 204), (status = 404)))]
pub(crate) async fn refresh_hvac(asked: HintParts) -> Result<StatusCode, Problem> {
    refresh::refresh_device::<Hvac>(asked)
}

impl DeviceView for Hvac {
    const KIND: DeviceKind = DeviceKind::Hvac;
    const LIST: &'static str = "hvacs";
    const WORD: &'static str = "hvac";

    fn from_context(seen: &ViewContext<'_>) -> Self {
        let device = seen.device;
        let reading = device.state.reading.as_deref();
        let facts = reading.and_then(|reading| match &reading.facts {
            Facts::Hvac(facts) => Some(&**facts),
            _ => None,
        });
        let can = reading.map(|reading| within_scopes(&reading.capabilities, &device.scopes));
        let thermostat = facts.map(ThermostatState::from_facts).unwrap_or_default();
        let temperature = facts.map(TemperatureState::from_facts).unwrap_or_default();
        let stands = || device.location.and_then(|location| location.id);
        let consumption = facts.and_then(|f| shown_consumption(f.consumption, f.is_active));
        Self {
            id: device.id,
            user_id: device.user_id.to_string(),
            vendor: device.vendor.to_string(),
            last_seen: last_seen(device.state.heard_at, device.linked_at),
            is_reachable: charger_is_reachable(device.state.is_reachable),
            consumption_rate: consumption.map(Power::as_kw),
            information: facts.map(HvacInformation::from_facts).unwrap_or_default(),
            capabilities: HvacCapabilities::from_facts(facts, &can.unwrap_or_default()),
            scopes: scope::scope_words(device.kind, &device.scopes),
            location_id: seen.version.shows(Field::HvacLocationId, stands),
            charging_location_id: seen.version.shows(Field::HvacChargingLocationId, stands),
            mode: thermostat.mode,
            heat_setpoint: thermostat.heat_setpoint,
            cool_setpoint: thermostat.cool_setpoint,
            hold_type: thermostat.hold_type,
            is_active: temperature.is_active,
            current_temperature: temperature.current_temperature,
            temperature_state: temperature,
            thermostat_state: thermostat,
        }
    }
}

impl HvacInformation {
    fn from_facts(facts: &HvacFacts) -> Self {
        let information = facts.information.clone();
        Self {
            brand: information.brand,
            model: information.model,
            display_name: Some(information.display_name),
            group_name: information.group_name,
            category: Some(category_word(information.category)),
        }
    }
}

impl TemperatureState {
    fn from_facts(facts: &HvacFacts) -> Self {
        Self {
            current_temperature: facts.temperature.map(Temperature::as_celsius),
            is_active: Some(facts.is_active),
            last_updated: facts.temperature_at,
        }
    }
}

impl ThermostatState {
    fn from_facts(facts: &HvacFacts) -> Self {
        Self {
            mode: facts.mode.map(mode_word),
            heat_setpoint: facts.heat_setpoint.map(Temperature::as_celsius),
            cool_setpoint: facts.cool_setpoint.map(Temperature::as_celsius),
            hold_type: facts.hold_type.map(hold_word),
            last_updated: facts.thermostat_at,
        }
    }
}

impl HvacCapabilities {
    fn from_facts(facts: Option<&HvacFacts>, can: &Capabilities) -> Self {
        let limits = facts.map(|facts| facts.limits.clone()).unwrap_or_default();
        let follow = capability(can, Ability::SetFollowSchedule);
        let hold = capability(can, Ability::SetPermanentHold);
        let holds = [(&hold, HoldType::Permanent), (&follow, HoldType::Scheduled)];
        let capable = holds.into_iter().filter(|(capability, _)| capability.is_capable);
        Self {
            capable_modes: limits.capable_modes.map(|m| m.into_iter().map(mode_word).collect()),
            cool_setpoint_range: limits.cool_setpoints.map(range),
            heat_setpoint_range: limits.heat_setpoints.map(range),
            setpoint_difference_range: limits.setpoint_differences.map(range),
            capable_hold_types: capable.map(|(_, hold)| hold_word(hold)).collect(),
            set_follow_schedule: follow,
            set_permanent_hold: hold,
        }
    }
}

fn range(range: TemperatureRange) -> MinMax {
    MinMax { min: Some(range.min.as_celsius()), max: Some(range.max.as_celsius()) }
}

pub(crate) const fn category_word(category: HvacCategory) -> &'static str {
    match category {
        HvacCategory::Heating => "HEATING",
        HvacCategory::Cooling => "COOLING",
        HvacCategory::HeatPump => "HEAT_PUMP",
        HvacCategory::Aggregator => "AGGREGATOR",
    }
}

pub(crate) const fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Off => "OFF",
        Mode::Auto => "AUTO",
        Mode::Cool => "COOL",
        Mode::Heat => "HEAT",
    }
}

const fn hold_word(hold: HoldType) -> &'static str {
    match hold {
        HoldType::Permanent => "PERMANENT",
        HoldType::Scheduled => "SCHEDULED",
    }
}
