//! Readings of devices in these tests.
use std::collections::BTreeMap;

use serde_json::{Value, json};
use slackwater_integration::reading::Reading;

pub(crate) fn reading(value: &Value) -> Reading {
    serde_json::from_value(value.clone()).unwrap()
}

fn abilities(names: &[&str]) -> Value {
    let one = |name: &&str| {
        let range =
            (*name == "set_charge_rate_limit").then(|| json!({ "min_kw": 1.4, "max_kw": 11.0 }));
        let capability =
            json!({ "is_capable": true, "intervention_ids": ["check"], "allowed_range": range });
        ((*name).to_owned(), capability)
    };
    json!(names.iter().map(one).collect::<BTreeMap<String, Value>>())
}

/// A car that charges at 7.4 kW, 80 m from home.
pub(crate) fn vehicle() -> Value {
    json!({
        "at": "2026-01-05T17:55:00Z",
        "is_reachable": true,
        "capabilities": abilities(&[
            "information", "charge_state", "location", "odometer", "set_max_current",
            "start_charging", "stop_charging", "smart_charging", "refresh_state",
            "set_charge_rate_limit",
        ]),
        "counters": null,
        "facts": { "vehicle": {
            "information": { "vin": "1FJ", "brand": "Fjord", "model": "Two", "year": 2024 },
            "charging": {
                "power_state": "charging",
                "is_plugged_in": true,
                "is_charging": true,
                "is_fully_charged": false,
                "charge_rate_kw": 7.4,
                "charge_time_remaining_minutes": 90.0,
                "charge_rate_limit_kw": 11.0,
                "last_updated": "2026-01-05T17:54:00Z",
            },
            "soc_percent": 55.0,
            "capacity_kwh": 75.0,
            "charge_limit_percent": 80.0,
            "max_current_amps": 16.0,
            "plugged_into": null,
            "odometer_km": 12345.6,
            "odometer_at": "2026-01-05T17:50:00Z",
            "sighting": {
                "position": { "latitude": 59.9110, "longitude": 10.7500 },
                "at": "2026-01-05T17:50:00Z",
            },
        } },
    })
}

/// A charger in which a car is plugged that does not charge.
pub(crate) fn charger() -> Value {
    json!({
        "at": "2026-01-05T17:58:00Z",
        "is_reachable": true,
        "capabilities": abilities(&[
            "information", "charge_state", "set_max_current", "start_charging", "stop_charging",
            "set_charge_rate_limit",
        ]),
        "counters": null,
        "facts": { "charger": {
            "information": {
                "brand": "Heath", "model": "Wall", "display_name": "Garage", "year": 2023,
                "serial_number": null, "image_url": "https://cdn.example.org/wall.png",
            },
            "charging": {
                "power_state": "stopped",
                "is_plugged_in": true,
                "is_charging": false,
                "is_fully_charged": null,
                "charge_rate_kw": 3.0,
                "charge_time_remaining_minutes": null,
                "charge_rate_limit_kw": 11.0,
                "last_updated": "2026-01-05T17:57:00Z",
            },
            "max_current_amps": 16.0,
            "plugged_into": null,
        } },
    })
}

pub(crate) fn hvac() -> Value {
    json!({
        "at": "2026-01-05T17:59:00Z",
        "is_reachable": true,
        "capabilities": abilities(&["set_follow_schedule", "set_permanent_hold"]),
        "counters": null,
        "facts": { "hvac": {
            "information": {
                "brand": "Heath", "model": "Pump", "display_name": "Living room",
                "group_name": null, "category": "heat_pump",
            },
            "is_active": false,
            "temperature_celsius": 20.5,
            "temperature_at": "2026-01-05T17:58:00Z",
            "consumption_kw": 1.5,
            "mode": "heat",
            "heat_setpoint_celsius": 21.0,
            "cool_setpoint_celsius": null,
            "hold_type": "permanent",
            "thermostat_at": "2026-01-05T17:57:00Z",
            "limits": {
                "capable_modes": ["off", "heat"],
                "heat_setpoints": { "min_celsius": 5.0, "max_celsius": 30.0 },
                "cool_setpoints": null,
                "setpoint_differences": null,
            },
        } },
    })
}

pub(crate) fn inverter() -> Value {
    json!({
        "at": "2026-01-05T17:59:00Z",
        "is_reachable": true,
        "capabilities": {},
        "counters": { "imported_kwh": 0.0, "exported_kwh": 812.5 },
        "facts": { "inverter": {
            "information": {
                "brand": "Heath", "model": "Roof", "site_name": "Barn",
                "installed_on": "2021-06-30",
            },
            "production_kw": 4.2,
            "is_producing": true,
            "production_at": "2026-01-05T17:59:00Z",
            "position": { "latitude": 59.9117, "longitude": 10.7500 },
        } },
    })
}

pub(crate) fn battery() -> Value {
    json!({
        "at": "2026-01-05T17:59:00Z",
        "is_reachable": true,
        "capabilities": {},
        "counters": null,
        "facts": { "battery": {
            "mode": "self_reliance", "soc_percent": 40.0, "capacity_kwh": 10.0, "power_kw": -1.0,
            "position": null,
        } },
    })
}
