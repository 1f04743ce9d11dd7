//! Registry of integrations: from the `type` of the settings to a [`Vendor`].
//!
//! ```toml
//! [environments.production.integrations.garage]
//! type = "fjord"
//! base_url = "https://api.fjord.example"
//! ```
//!
//! The program registers each type once, with a function that reads the other settings of the
//! table and opens the integration.
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::profile::VendorCode;
use crate::vendor::Vendor;

/// Settings of one integration: its type, and the settings that the type defines.
///
/// The debug form has the names of the settings and not their values, among which are secrets.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Type under which the integration is registered.
    #[serde(rename = "type")]
    kind: String,
    #[serde(flatten)]
    values: Map<String, Value>,
}

impl Settings {
    /// Settings for an integration of the type `kind`.
    #[must_use]
    pub fn new(kind: impl Into<String>, values: Map<String, Value>) -> Self {
        Self { kind: kind.into(), values }
    }

    /// Type of the integration.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The settings as a struct of the integration. Derive `Deserialize` with
    /// `deny_unknown_fields`, so that a mistyped setting is refused.
    ///
    /// # Errors
    /// A setting is missing, unknown or malformed.
    ///
    /// # Example
    ///
    /// ```
    /// use serde::Deserialize;
    /// use slackwater_integration::registry::Settings;
    ///
    /// #[derive(Deserialize)]
    /// #[serde(deny_unknown_fields)]
    /// struct Fjord {
    ///     timeout_seconds: u32,
    /// }
    ///
    /// let text = r#"{"type": "fjord", "timeout_seconds": "ten"}"#;
    /// let settings: Settings = serde_json::from_str(text)?;
    /// let refused = settings.read::<Fjord>().err().map(|error| error.to_string());
    /// let expected = "timeout_seconds: expected a whole number from 0 to 4294967295";
    /// assert_eq!(refused.as_deref(), Some(expected));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, SettingsError> {
        let values = Value::Object(self.values.clone());
        serde_path_to_error::deserialize(values).map_err(|error| {
            let path = error.path().to_string();
            // The path of the table as a whole is a dot.
            let field = Some(path).filter(|path| path != ".");
            SettingsError { field, reason: without_value(&error.into_inner().to_string()) }
        })
    }
}

/// Message of serde without the value that it refuses, which may be a secret: in
/// `invalid type: integer 42, expected a string` only the expectation stays.
fn without_value(message: &str) -> String {
    let has_value = ["invalid type: ", "invalid value: ", "invalid length ", "unknown variant "];
    match message.split_once(", expected ") {
        Some((value, expected)) if has_value.iter().any(|start| value.starts_with(start)) => {
            // The value itself may contain the word.
            let expected = expected.rsplit_once(", expected ").map_or(expected, |(_, last)| last);
            format!("expected {}", describe_expected(expected))
        }
        _ => message.to_owned(),
    }
}

/// Kind of a value that serde expects, in words for people who do not write Rust.
#[must_use]
pub fn describe_expected(expected: &str) -> String {
    let max = match expected {
        "u8" => u64::from(u8::MAX),
        "u16" => u64::from(u16::MAX),
        "u32" => u64::from(u32::MAX),
        "u64" | "usize" => u64::MAX,
        "f64" => return "a number".to_owned(),
        "a string" | "string" => return "a text".to_owned(),
        other if other.starts_with("struct ") => return "a table".to_owned(),
        other => return other.to_owned(),
    };
    format!("a whole number from 0 to {max}")
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.values.keys().collect();
        f.debug_struct("Settings").field("type", &self.kind).field("names", &names).finish()
    }
}

/// Settings with which an integration cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", .field.as_ref().map(|field| format!("{field}: ")).unwrap_or_default())]
pub struct SettingsError {
    /// Setting that is wrong, if it is one.
    pub field: Option<String>,
    /// Reason, without the value, which may be a secret. An integration that writes the reason
    /// itself keeps to that.
    pub reason: String,
}

impl SettingsError {
    /// Error about one setting.
    #[must_use]
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: Some(field.into()), reason: reason.into() }
    }
}

/// Reason why the integrations of the settings were not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// No integration of that type is part of the program.
    #[error("{name}.type: there is no integration `{kind}`; {}", listed(.known))]
    UnknownType {
        /// Name of the integration in the settings.
        name: String,
        /// Type as given.
        kind: String,
        /// Types that are registered.
        known: Vec<String>,
    },
    /// The integration refused its settings.
    #[error("{name}: {error}")]
    Settings {
        /// Name of the integration in the settings.
        name: String,
        /// Reason.
        error: SettingsError,
    },
    /// Two integrations are of one manufacturer.
    #[error("{name}: the vendor {code} has another integration already")]
    Duplicate {
        /// Name of the second integration in the settings.
        name: String,
        /// Code of the manufacturer.
        code: VendorCode,
    },
}

fn listed(known: &[String]) -> String {
    if known.is_empty() {
        "this program has none".to_owned()
    } else {
        format!("one of {}", known.join(", "))
    }
}

/// Manufacturers by their codes.
pub type Vendors = BTreeMap<VendorCode, Arc<dyn Vendor>>;

type Open = Box<dyn Fn(&Settings) -> Result<Arc<dyn Vendor>, SettingsError> + Send + Sync>;

/// Types of integration that a program has.
#[derive(Default)]
pub struct Registry {
    types: BTreeMap<String, Open>,
}

impl Registry {
    /// Registry without integrations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a type of integration, in place of one of the same name. `open` reads the settings
    /// and makes no call.
    #[must_use]
    pub fn with(
        mut self,
        kind: impl Into<String>,
        open: impl Fn(&Settings) -> Result<Arc<dyn Vendor>, SettingsError> + Send + Sync + 'static,
    ) -> Self {
        self.types.insert(kind.into(), Box::new(open));
        self
    }

    /// Checks that an integration of the settings is of a type that is registered. It is not
    /// opened: its own settings are not read.
    ///
    /// # Errors
    /// The type is not registered.
    pub fn check_type(&self, name: &str, settings: &Settings) -> Result<(), RegistryError> {
        self.find(name, settings).map(|_| ())
    }

    fn find(&self, name: &str, settings: &Settings) -> Result<&Open, RegistryError> {
        self.types.get(&settings.kind).ok_or_else(|| RegistryError::UnknownType {
            name: name.to_owned(),
            kind: settings.kind.clone(),
            known: self.types.keys().cloned().collect(),
        })
    }

    /// Opens the integrations of the settings, by their names there.
    ///
    /// # Errors
    /// A type is not registered, settings are refused, or two integrations are of one
    /// manufacturer.
    pub fn open(&self, settings: &BTreeMap<String, Settings>) -> Result<Vendors, RegistryError> {
        let mut vendors = Vendors::new();
        for (name, settings) in settings {
            let open = self.find(name, settings)?;
            let refused = |error| RegistryError::Settings { name: name.clone(), error };
            let vendor = open(settings).map_err(refused)?;
            let code = vendor.profile().code.clone();
            if vendors.insert(code.clone(), vendor).is_some() {
                return Err(RegistryError::Duplicate { name: name.clone(), code });
            }
        }
        Ok(vendors)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.types.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tests::Garage;

    fn settings(text: &str) -> BTreeMap<String, Settings> {
        serde_json::from_str(text).unwrap()
    }

    fn registry() -> Registry {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Own {
            code: VendorCode,
        }
        Registry::new().with("garage", |settings| {
            let Own { code } = settings.read()?;
            Ok(Arc::new(Garage::new(code)))
        })
    }

    #[test]
    fn integrations_are_opened_by_type() {
        let all = settings(
            r#"{"a": {"type": "garage", "code": "NORTH"}, "b": {"type": "garage", "code": "SOUTH"}}"#,
        );
        let vendors = registry().open(&all).unwrap();
        let codes: Vec<&str> = vendors.keys().map(VendorCode::as_str).collect();
        assert_eq!(codes, ["NORTH", "SOUTH"]);
    }

    #[test]
    fn settings_that_open_nothing_are_refused_by_name() {
        let known = settings(r#"{"a": {"type": "garage"}}"#);
        assert_eq!(registry().check_type("a", &known["a"]), Ok(()));
        let barn = settings(r#"{"a": {"type": "barn"}}"#);
        assert!(registry().check_type("a", &barn["a"]).is_err());
        for (text, expected) in [
            (
                r#"{"a": {"type": "barn", "code": "NORTH"}}"#,
                "a.type: there is no integration `barn`; one of garage",
            ),
            (r#"{"a": {"type": "garage"}}"#, "a: missing field `code`"),
            (
                r#"{"a": {"type": "garage", "code": "N", "key": "sesame"}}"#,
                "a: key: unknown field `key`, expected `code`",
            ),
            (
                r#"{"a": {"type": "garage", "code": "N"}, "b": {"type": "garage", "code": "N"}}"#,
                "b: the vendor N has another integration already",
            ),
        ] {
            let error = registry().open(&settings(text)).unwrap_err().to_string();
            assert_eq!(error, expected);
        }
        let none = Registry::new().open(&settings(r#"{"a": {"type": "barn"}}"#)).unwrap_err();
        assert!(none.to_string().ends_with("`barn`; this program has none"), "{none}");
    }

    #[test]
    fn values_of_settings_are_not_in_errors() {
        #[derive(Debug, Deserialize)]
        struct Own {
            #[expect(dead_code, reason = "it is never read")]
            password: String,
        }
        for value in ["42", "true", "[\"sesame, expected nothing\"]", "{\"sesame\": 1}"] {
            let text = format!(r#"{{"a": {{"type": "garage", "password": {value}}}}}"#);
            let error = settings(&text)["a"].read::<Own>().unwrap_err().to_string();
            assert_eq!(error, "password: expected a text");
        }
    }

    #[test]
    fn values_of_settings_are_not_in_the_debug_form() {
        let all = settings(r#"{"a": {"type": "garage", "key": "sesame"}}"#);
        assert_eq!(format!("{:?}", all["a"]), r#"Settings { type: "garage", names: ["key"] }"#);
    }
}
