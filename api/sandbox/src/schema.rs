//! The JSON Schema of a scenario.
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::scenario::Scenario;

/// The JSON Schema (draft 2020-12) of a scenario file.
#[must_use]
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Scenario>();
    schema.insert("title".to_owned(), "Slackwater sandbox scenario".into());
    schema.to_value()
}

/// JSON Schema of scenarios as text, as it is published.
#[must_use]
pub fn schema_text() -> String {
    let text = serde_json::to_string_pretty(&schema());
    text.map(|text| text + "\n").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published schema is the one of the code, to the byte. After a change
    /// of the scenario's types run `UPDATE_EXPECT=1 cargo test -p slackwater-sandbox schema`.
    #[test]
    fn the_published_schema_is_that_of_the_code() {
        expect_test::expect_file!["../../../scenarios/schema.json"].assert_eq(&schema_text());
    }
}
