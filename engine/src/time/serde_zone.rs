//! Time zones as IANA names in serialised data, for `#[serde(with = "serde_zone")]`.
use chrono_tz::Tz;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// Serialises a time zone as its IANA name.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(zone: &Tz, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(zone.name())
}

/// Deserialises a time zone from its IANA name.
///
/// # Errors
/// Those of the deserializer, or there is no zone of that name.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tz, D::Error> {
    let name = String::deserialize(deserializer)?;
    name.parse().map_err(|_| D::Error::custom(format!("{name:?} is not a time zone of the IANA")))
}
