//! Forms of settings in their JSON Schema, where a type does not tell its own; and examples.
use std::collections::{BTreeMap, BTreeSet};

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use slackwater_control::policy::assumptions::Assumptions;

use crate::config::language::{BROWSER, Languages};

/// Identifier of a client, in examples.
pub(super) const CLIENT: &str = "0b3c8f52-5b43-4b6e-9b0e-3f3c6f0e6a51";

/// Settings of integrations: a type that the program has, and what that type wants.
pub(super) fn integrations(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": { "type": {
                "type": "string",
                "description": "Type of the integration; the other settings are those of the type.",
                "examples": ["ocpp", "sunspec"],
            } },
            "required": ["type"],
        },
    })
}

/// Languages of pages: those of the program as examples, since a folder may have more.
pub(super) fn languages(_: &mut SchemaGenerator) -> Schema {
    let languages = Languages::default();
    let words: Vec<&str> = [BROWSER].into_iter().chain(languages.codes()).collect();
    json_schema!({ "type": "string", "examples": words })
}

/// Releases of versions, as an example.
pub(super) fn releases() -> Value {
    json!([["2024-01-01", "2024-01-01T00:00:00Z"], ["2024-10-01", "2024-10-01T00:00:00Z"]])
}

/// Addresses to which users may be sent back, as an example.
pub(super) fn redirects() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    BTreeMap::from([(CLIENT, BTreeSet::from(["https://app.example.org/linked"]))])
}

/// Attributes of the service on its spans, as an example.
pub(super) fn trace_attributes() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([("deployment.environment.name", "production")])
}

/// Assumptions about vehicles. They are of the rules, which know no schemas.
pub(super) fn assumptions(_: &mut SchemaGenerator) -> Schema {
    let usual = serde_json::to_value(Assumptions::default()).unwrap_or_default();
    let member = |name: &str, description: &str, mut form: Value| {
        form["description"] = description.into();
        form["default"] = usual[name].clone();
        (name.to_owned(), form)
    };
    let amount = || json!({ "type": ["number", "null"], "exclusiveMinimum": 0 });
    let members = BTreeMap::from([
        member(
            "power_max_kw",
            "Power of a vehicle whose limit is unknown.",
            json!({ "type": "number", "minimum": 0 }),
        ),
        member(
            "capacity_kwh",
            "Capacity of a vehicle that does not tell its own; without it such a vehicle is not \
             planned for.",
            amount(),
        ),
        member(
            "efficiency",
            "Stored energy per energy at the plug.",
            json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 }),
        ),
        member(
            "soc_percent",
            "State of charge where it is not known; without it such a vehicle is not planned for.",
            json!({ "type": ["number", "null"], "minimum": 0, "maximum": 100 }),
        ),
        member(
            "fill_when_negative",
            "True if negative prices may charge vehicles under a flex policy beyond their targets.",
            json!({ "type": "boolean" }),
        ),
    ]);
    json_schema!({ "type": "object", "properties": members, "additionalProperties": false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumptions_have_the_members_that_are_read() {
        let form = assumptions(&mut SchemaGenerator::default()).to_value();
        let names = |value: &Value| -> Vec<String> {
            let mut names: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
            names.sort();
            names
        };
        let read = serde_json::to_value(Assumptions::default()).unwrap();
        assert_eq!(names(&form["properties"]), names(&read));
    }
}
