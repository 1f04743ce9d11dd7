//! Vehicles that are known by an identifier which charge points report.
//!
//! A charge point tells the token of a transaction, or the EVCCID of the vehicle (ISO 15118). The settings say
//! which vehicle of which manufacturer that is, and the service pairs it with the charger if both belong
//! to one user.
use std::collections::BTreeMap;

use slackwater_integration::reading::OtherEnd;
use slackwater_integration::registry::SettingsError;

/// Vehicles by identifier.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Vehicles(BTreeMap<String, OtherEnd>);

impl Vehicles {
    /// Vehicles of the settings.
    ///
    /// # Errors
    /// An identifier has no letter or digit, or is there twice.
    pub fn check(settings: &BTreeMap<String, OtherEnd>) -> Result<Self, SettingsError> {
        let mut known = BTreeMap::new();
        for (identifier, vehicle) in settings {
            let failed = |reason| Err(SettingsError::new(format!("vehicles.{identifier}"), reason));
            let bare = strip_identifier(identifier);
            if bare.is_empty() {
                return failed("an identifier has letters or digits".to_owned());
            }
            if known.insert(bare, vehicle.clone()).is_some() {
                return failed("it is there in another way of writing, too".to_owned());
            }
        }
        Ok(Self(known))
    }

    /// The vehicle of the first identifier that is known.
    #[must_use]
    pub fn find_vehicle<'a>(
        &self,
        mut identifiers: impl Iterator<Item = &'a str>,
    ) -> Option<&OtherEnd> {
        identifiers.find_map(|identifier| self.0.get(&strip_identifier(identifier)))
    }
}

/// An identifier in capitals, without what separates its parts: tokens do not tell letters by their case,
/// and charge points write a contract (eMAID) or the address of a modem with separators or without.
fn strip_identifier(identifier: &str) -> String {
    let is_part = |c: &char| !matches!(c, '-' | ':') && !c.is_whitespace();
    identifier.chars().filter(is_part).map(|c| c.to_ascii_uppercase()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(settings: &Value) -> Result<Vehicles, String> {
        let settings = serde_json::from_value(settings.clone()).unwrap();
        Vehicles::check(&settings).map_err(|error| error.to_string())
    }

    #[test]
    fn an_identifier_is_found_in_any_way_of_writing() {
        let car = json!({"vendor": "FJORD", "device": "car"});
        let van = json!({"vendor": "HEATH", "device": "van"});
        let vehicles =
            check(&json!({"DE-8AA-CA2B3C4D5-L": car, "00:7d:fa:0a:bc:de": van})).unwrap();
        let find = |vehicle: Option<&str>, token: Option<&str>| {
            let found = vehicles.find_vehicle(vehicle.into_iter().chain(token));
            found.map(|end| end.device.clone())
        };
        for (vehicle, token, expected) in [
            (None, Some("DE8AACA2B3C4D5L"), Some("car")),
            (None, Some("de-8aa-ca2b3c4d5-l"), Some("car")),
            (Some("007DFA0ABCDE"), None, Some("van")),
            (Some("007DFA0ABCDE"), Some("DE8AACA2B3C4D5L"), Some("van")),
            (Some("ffffffffffff"), Some("DE8AACA2B3C4D5L"), Some("car")),
            (None, Some("DE8AACA2B3C4D5"), None),
            (None, None, None),
        ] {
            let expected = expected.map(str::to_owned);
            assert_eq!(find(vehicle, token), expected, "{vehicle:?} {token:?}");
        }
    }

    #[test]
    fn identifiers_that_say_nothing_or_twice_are_refused() {
        let car = json!({"vendor": "FJORD", "device": "car"});
        for (settings, expected) in [
            (json!({"-:": car}), "vehicles.-:: an identifier has letters or digits"),
            (
                json!({"04a1-B2": car, "04A1b2": car}),
                "vehicles.04a1-B2: it is there in another way of writing, too",
            ),
        ] {
            assert_eq!(check(&settings).unwrap_err(), expected);
        }
    }
}
