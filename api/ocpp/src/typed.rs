//! Payloads of ours, held against the types of the protocol before they leave.
use ocpp_types::Action;
use ocpp_types::validate::Validate;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A payload that the schemas of the protocol do not allow: a fault of this program, or a value
/// that is too long for a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}: {reason}")]
pub struct PayloadError {
    /// Name of the type.
    pub message: &'static str,
    /// Reason in words.
    pub reason: String,
}

/// Name of an action, and its fields.
pub type Payload = (&'static str, Value);

/// Payload of a request of the type `T`.
///
/// # Errors
/// The type has no such value.
pub fn request<T: Action + Serialize + DeserializeOwned + Validate>(
    value: Value,
) -> Result<Payload, PayloadError> {
    Ok((T::ACTION, answer::<T>(value)?))
}

/// Payload of an answer of the type `T`.
///
/// # Errors
/// The type has no such value.
pub fn answer<T: Serialize + DeserializeOwned + Validate>(
    value: Value,
) -> Result<Value, PayloadError> {
    let refused = |reason: String| PayloadError { message: std::any::type_name::<T>(), reason };
    let typed: T = serde_json::from_value(value).map_err(|error| refused(error.to_string()))?;
    typed.validate().map_err(|error| refused(error.to_string()))?;
    serde_json::to_value(&typed).map_err(|error| refused(error.to_string()))
}
