//! JSON Schema of the settings, for editors, and for the reference in the documentation.
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::Value;

use crate::config::Config;

/// Tables of which a sandbox gives what is not named, so that no member of theirs is required.
const COMPLETED: &[&str] = &["Listener", "Listeners"];

/// JSON Schema (draft 2020-12) of a file of settings.
#[must_use]
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Config>();
    schema.insert("title".to_owned(), "Settings of slackwater-api".into());
    WithoutRequirements.transform(&mut schema);
    let mut schema = schema.to_value();
    for name in COMPLETED {
        if let Some(table) = schema["$defs"][name].as_object_mut() {
            table.remove("required");
        }
    }
    schema
}

/// The schema as text, as it is published.
#[must_use]
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// Takes numbers of requirements, such as (NS-34), out of descriptions: they are for developers.
#[derive(Debug)]
struct WithoutRequirements;

impl Transform for WithoutRequirements {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::String(text)) = schema.get_mut("description") {
            let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            *text = without_requirements(&one_line);
        }
        transform_subschemas(self, schema);
    }
}

fn without_requirements(text: &str) -> String {
    let is_number = |inner: &str| {
        inner.split_once('-').is_some_and(|(area, rest)| {
            (2..=4).contains(&area.len())
                && area.bytes().all(|byte| byte.is_ascii_uppercase())
                && rest.starts_with(|digit: char| digit.is_ascii_digit())
        })
    };
    let mut parts = text.split(" (");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((inner, rest)) if is_number(inner) => kept += rest,
            _ => kept = kept + " (" + part,
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published schema is the one of the code, to the byte. After a change of the settings
    /// run `UPDATE_EXPECT=1 cargo test -p slackwater-service schema`.
    #[test]
    fn the_published_schema_is_that_of_the_code() {
        expect_test::expect_file!["../../../../deploy/settings.schema.json"]
            .assert_eq(&schema_text());
    }

    /// A setting without a default has an example, so that its form is seen.
    #[test]
    fn every_setting_tells_what_it_is_for_and_looks_like() {
        let schema = schema();
        let tables = schema["$defs"].as_object().unwrap().values().chain([&schema]);
        let mut missing = Vec::new();
        for table in tables {
            for (name, member) in table["properties"].as_object().into_iter().flatten() {
                let has = |key: &str| member.get(key).is_some_and(|value| !value.is_null());
                let is_shown = [
                    "default",
                    "examples",
                    "enum",
                    "$ref",
                    "additionalProperties",
                    "anyOf",
                    "items",
                ]
                .into_iter()
                .any(has);
                if !(has("description") && is_shown) {
                    missing.push(name.clone());
                }
            }
        }
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn descriptions_are_without_numbers_of_requirements() {
        for (text, expected) in [
            ("Limits (NS-29 to NS-31). None.", "Limits. None."),
            ("A time (15 min) and (LNK-27) this.", "A time (15 min) and this."),
            ("An end (AMB-60)", "An end"),
            ("Open (AMB", "Open (AMB"),
        ] {
            assert_eq!(without_requirements(text), expected);
        }
    }
}
