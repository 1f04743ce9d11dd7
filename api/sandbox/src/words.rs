//! Words of the engine as a scenario writes them, and their JSON Schemas.
use chrono_tz::Tz;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use slackwater_control::device::battery;
use slackwater_control::device::capability;
use slackwater_control::device::hvac;
use slackwater_control::device::power_state;
use slackwater_control::device::scope;
use slackwater_engine::prices::currency::Currency;
use uuid::Uuid;

/// The namespace of identifiers that are made from names.
const NAMES: Uuid = Uuid::from_u128(0x5b0f_6a54_7f0c_4b5e_9d3c_51ac_8a7e_0001);

/// The UUID that stands for a name of a scenario where the interface wants one.
///
/// A name that is a UUID is that UUID; any other has one of its own, the same
/// on every machine.
#[must_use]
pub fn uuid_of(name: &str) -> Uuid {
    Uuid::parse_str(name).unwrap_or_else(|_| Uuid::new_v5(&NAMES, name.as_bytes()))
}

/// A text that is no time zone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not an IANA time zone such as Europe/Oslo")]
pub struct ZoneError {
    given: String,
}

/// A time zone by its IANA name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeZone(pub Tz);

impl TryFrom<String> for TimeZone {
    type Error = ZoneError;
    fn try_from(given: String) -> Result<Self, ZoneError> {
        given.parse().map(Self).map_err(|_| ZoneError { given })
    }
}

impl From<TimeZone> for String {
    fn from(zone: TimeZone) -> Self {
        zone.0.name().to_owned()
    }
}

impl JsonSchema for TimeZone {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TimeZone".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "An IANA time zone such as Europe/Oslo." })
    }
}

fn word(words: &[&str]) -> Schema {
    json_schema!({ "type": "string", "enum": words })
}

pub(crate) fn mode(_: &mut SchemaGenerator) -> Schema {
    word(&hvac::Mode::ALL.map(hvac::Mode::as_str))
}

pub(crate) fn modes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": word(&hvac::Mode::ALL.map(hvac::Mode::as_str)) })
}

pub(crate) fn operation_mode(_: &mut SchemaGenerator) -> Schema {
    word(&battery::OperationMode::ALL.map(battery::OperationMode::as_str))
}

pub(crate) fn power_state(_: &mut SchemaGenerator) -> Schema {
    word(&power_state::PowerState::ALL.map(power_state::PowerState::as_str))
}

pub(crate) fn permissions(_: &mut SchemaGenerator) -> Schema {
    let words = scope::Permission::ALL.map(scope::Permission::as_str);
    json_schema!({ "type": ["array", "null"], "items": word(&words) })
}

pub(crate) fn abilities(_: &mut SchemaGenerator) -> Schema {
    let words = capability::Ability::ALL.map(capability::Ability::as_str);
    json_schema!({ "type": "array", "items": word(&words) })
}

pub(crate) fn interventions(_: &mut SchemaGenerator) -> Schema {
    let words = capability::Ability::ALL.map(capability::Ability::as_str);
    json_schema!({
        "type": "object",
        "propertyNames": { "enum": words },
        "additionalProperties": { "type": "array", "items": { "type": "string" } },
    })
}

pub(crate) fn kinds(_: &mut SchemaGenerator) -> Schema {
    let words = ["battery", "charger", "hvac", "inverter", "meter", "vehicle"];
    json_schema!({ "type": "array", "items": word(&words) })
}

pub(crate) fn category(_: &mut SchemaGenerator) -> Schema {
    word(&["heating", "cooling", "heat_pump", "aggregator"])
}

pub(crate) fn currency(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": "^[A-Z]{3}$",
        "description": "An ISO 4217 code.",
        "examples": [Currency::parse("EUR").map_or("", Currency::code)],
    })
}

pub(crate) fn vendor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Z][A-Z0-9_]*$" })
}

pub(crate) fn vendor_or_none(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "pattern": "^[A-Z][A-Z0-9_]*$" })
}

/// A time of day to the minute.
pub(crate) fn clock(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$" })
}

pub(crate) fn clock_or_none(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$" })
}

/// A percentage.
pub(crate) fn percent(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "number", "minimum": 0, "maximum": 100 })
}

pub(crate) fn percent_or_none(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["number", "null"], "minimum": 0, "maximum": 100 })
}

/// A quantity that is not negative.
pub(crate) fn amount(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "number", "minimum": 0 })
}

pub(crate) fn hold_or_none(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["object", "null"],
        "properties": {
            "mode": mode(generator),
            "heat_setpoint_celsius": { "type": ["number", "null"] },
            "cool_setpoint_celsius": { "type": ["number", "null"] },
        },
        "required": ["mode", "heat_setpoint_celsius", "cool_setpoint_celsius"],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_uuid_and_uuids_are_themselves() {
        assert_eq!(uuid_of("elm-1"), uuid_of("elm-1"));
        assert_ne!(uuid_of("elm-1"), uuid_of("elm-2"));
        let given = "0c9d2b1e-8f5d-4f2a-9f0b-0a6f1e2d3c4b";
        assert_eq!(uuid_of(given).to_string(), given);
    }

    #[test]
    fn time_zones_go_through_their_names() {
        let zone: TimeZone = serde_json::from_str("\"Europe/Oslo\"").unwrap();
        assert_eq!(serde_json::to_string(&zone).unwrap(), "\"Europe/Oslo\"");
        let error = serde_json::from_str::<TimeZone>("\"Oslo\"").unwrap_err().to_string();
        assert!(error.contains("\"Oslo\" is not an IANA time zone such as Europe/Oslo"), "{error}");
    }
}
