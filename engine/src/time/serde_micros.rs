//! Durations as whole microseconds in serialised data, for `#[serde(with = "serde_micros")]`.
use chrono::TimeDelta;
use serde::{Deserialize, Deserializer, Serializer};

/// Serialises a duration as whole microseconds.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(duration: &TimeDelta, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(duration.num_microseconds().unwrap_or(i64::MAX))
}

/// Deserialises a duration from whole microseconds.
///
/// # Errors
/// Those of the deserializer.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TimeDelta, D::Error> {
    i64::deserialize(deserializer).map(TimeDelta::microseconds)
}
