//! Settings of comfort policies, and their form in JSON Schema.
use std::collections::BTreeMap;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use slackwater_control::policy::comfort::{ComfortPolicy, Construction};
use uuid::Uuid;

/// First fault of the policies, with the name of the setting.
pub(super) fn find_flaw(policies: &BTreeMap<Uuid, ComfortPolicy>) -> Option<String> {
    policies.iter().find_map(|(device, policy)| {
        let error = policy.check().err()?;
        Some(format!("comfort.{device}.{error}"))
    })
}

/// Form of all policies.
pub(super) fn describe_policies(generator: &mut SchemaGenerator) -> Schema {
    let policy = describe_policy(generator);
    json_schema!({
        "type": "object",
        "propertyNames": { "format": "uuid" },
        "additionalProperties": policy,
        "default": {},
        "examples": [{ "0b3c8f52-5b43-4b6e-9b0e-3f3c6f0e6a51": make_example() }],
    })
}

/// Policy as an example.
fn make_example() -> Value {
    json!({
        "comfort": { "min_celsius": 20, "max_celsius": 23 },
        "set_backs": [
            { "from": "22:00", "to": "06:00", "band": { "min_celsius": 17, "max_celsius": 23 } },
        ],
        "building": { "construction": "medium", "floor_area_m2": 90 },
        "loss_kw_per_k": 0.2,
        "power_max_kw": 2.5,
        "cop": [{ "outdoor_celsius": -7, "cop": 2.4 }, { "outdoor_celsius": 7, "cop": 3.6 }],
        "outdoor_celsius": [4],
    })
}

/// Form of an object.
fn describe_object(required: &[&str], properties: &Value) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Form with a description.
fn add_description(mut form: Value, description: &str) -> Value {
    form["description"] = description.into();
    form
}

/// Form of a policy. It is of the rules, which know no schemas.
pub fn describe_policy(_: &mut SchemaGenerator) -> Schema {
    let number = || json!({ "type": "number" });
    let clock = || json!({ "type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$" });
    let band = || {
        describe_object(
            &["min_celsius", "max_celsius"],
            &json!({
                "min_celsius": add_description(number(), "Lowest temperature."),
                "max_celsius": add_description(number(), "Highest temperature."),
            }),
        )
    };
    let above_zero = || json!({ "type": "number", "exclusiveMinimum": 0 });
    let words = Construction::ALL.map(Construction::as_str);
    let building = describe_object(
        &["construction", "floor_area_m2"],
        &json!({
            "construction": add_description(json!({ "type": "string", "enum": words }),
                "Class of the construction, by the mass of its walls and floors."),
            "floor_area_m2": add_description(above_zero(), "Heated floor area."),
        }),
    );
    let set_back = describe_object(
        &["from", "to", "band"],
        &json!({ "from": clock(), "to": clock(), "band": band() }),
    );
    let point = describe_object(
        &["outdoor_celsius", "cop"],
        &json!({ "outdoor_celsius": number(), "cop": above_zero() }),
    );
    let list = |items: Value| json!({ "type": "array", "items": items });
    let half = |mut form: Value| {
        form["default"] = json!(0.5);
        form
    };
    let members = json!({
        "comfort": add_description(band(), "Band of temperatures outside of all set-backs."),
        "set_backs": add_description(
            list(set_back),
            "Periods of every day with bands of their own, on the wall clock of the location; where \
             they overlap, the first one holds.",
        ),
        "mode": add_description(json!({ "type": "string", "enum": ["heat", "cool"], "default": "heat" }),
            "Direction of the unit."),
        "capacity_kwh_per_k": add_description(above_zero(),
            "Heat that warms the room by one degree; `building` in place of it."),
        "building": add_description(building,
            "Building whose heat capacity is taken from ISO 13790, in place of `capacity_kwh_per_k`."),
        "loss_kw_per_k": add_description(json!({ "type": "number", "minimum": 0 }),
            "Heat that the room loses for each degree above the outdoor temperature."),
        "power_max_kw": add_description(above_zero(), "Highest electrical power of the unit."),
        "cop": add_description(list(point),
            "Coefficient of performance by outdoor temperature, in rising order: linear between \
             points, constant beyond them."),
        "outdoor_celsius": add_description(list(number()),
            "Outdoor temperature: one, or one for each hour of the day on the wall clock."),
        "is_modulating": add_description(json!({ "type": "boolean", "default": false }),
            "True if the unit runs at any power up to its highest, false if at that one or not at all."),
        "deadband_celsius": add_description(half(json!({ "type": "number", "minimum": 0, "maximum": 5 })),
            "Degrees on either side of a setpoint within which the thermostat switches."),
        "setpoint_step_celsius": add_description(
            half(json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 5 })),
            "Setpoints are whole multiples of it."),
        "step_back_minutes": add_description(
            json!({ "type": "integer", "minimum": 0, "maximum": 10_080, "default": 240 }),
            "Time for which the unit is left alone after a person or a client has set it."),
    });
    let required = ["comfort", "loss_kw_per_k", "power_max_kw", "cop", "outdoor_celsius"];
    Schema::try_from(describe_object(&required, &members)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_has_the_members_that_are_read() {
        let form = describe_policy(&mut SchemaGenerator::default()).to_value();
        let mut whole = make_example();
        whole["capacity_kwh_per_k"] = json!(5.0);
        let policy: ComfortPolicy = serde_json::from_value(whole).unwrap();
        let names = |value: &Value| -> Vec<String> {
            let mut names: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
            names.sort();
            names
        };
        assert_eq!(names(&form["properties"]), names(&serde_json::to_value(&policy).unwrap()));
        // Defaults of the form are those that are read.
        let usual: ComfortPolicy = serde_json::from_value(make_example()).unwrap();
        let usual = serde_json::to_value(&usual).unwrap();
        for name in ["mode", "is_modulating", "deadband_celsius", "step_back_minutes"] {
            assert_eq!(form["properties"][name]["default"], usual[name], "{name}");
        }
    }

    #[test]
    fn policies_are_refused_by_name_value_and_unit() {
        let device = Uuid::from_u128(7);
        let flaw = |change: &dyn Fn(&mut Value)| {
            let mut policy = make_example();
            change(&mut policy);
            let policy = serde_json::from_value(policy).unwrap();
            find_flaw(&BTreeMap::from([(device, policy)]))
        };
        assert_eq!(flaw(&|_| ()), None);
        let power = flaw(&|policy| policy["power_max_kw"] = json!(-1)).unwrap();
        assert_eq!(
            power,
            format!(
                "comfort.{device}.power_max_kw is -1 kW; it is above 0 kW and at most 1000000 kW"
            )
        );
    }
}
