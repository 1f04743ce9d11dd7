//! Facts about a manufacturer that need no call.
use std::fmt;

use serde::{Deserialize, Serialize};
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::policy::flex::ReserveRule;
use slackwater_engine::words;

/// A text that is no code of a manufacturer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a vendor code: capitals, digits and underscores, a capital first")]
#[non_exhaustive]
pub struct VendorCodeError {
    /// The text as given.
    pub given: String,
}

/// The code of a manufacturer, such as `FJORD_MOTORS`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VendorCode(String);

impl VendorCode {
    /// A code: capitals, digits and underscores, a capital first.
    ///
    /// # Errors
    /// The text has another form.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_integration::profile::VendorCode;
    /// assert_eq!(VendorCode::parse("FJORD_MOTORS")?.as_str(), "FJORD_MOTORS");
    /// assert!(VendorCode::parse("Fjord").is_err());
    /// # Ok::<(), slackwater_integration::profile::VendorCodeError>(())
    /// ```
    pub fn parse(given: &str) -> Result<Self, VendorCodeError> {
        let starts = given.starts_with(|c: char| c.is_ascii_uppercase());
        let is_letter = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let is_code = starts && given.chars().all(is_letter);
        is_code
            .then(|| Self(given.to_owned()))
            .ok_or_else(|| VendorCodeError { given: given.to_owned() })
    }

    /// The code as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for VendorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for VendorCode {
    type Error = VendorCodeError;
    fn try_from(text: String) -> Result<Self, VendorCodeError> {
        Self::parse(&text)
    }
}

impl From<VendorCode> for String {
    fn from(code: VendorCode) -> Self {
        code.0
    }
}

/// Facts about a manufacturer that need no call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its code.
    pub code: VendorCode,
    /// Name for people.
    pub display_name: String,
    /// Name of the account that its customers log in to.
    pub portal_name: String,
    /// The kinds of device that it makes.
    pub kinds: Vec<DeviceKind>,
    /// Values that its vehicles allow as reserve of a flex policy.
    pub reserve: ReserveRule,
}

words! {
    /// State of a manufacturer's service.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Health {
        /// As it should.
        Ready = "ready",
        /// Some calls fail; several attempts may be needed.
        ElevatedErrorRate = "elevated_error_rate",
        /// Nothing works.
        Outage = "outage",
    }
}

/// State of both sides of a manufacturer: its devices, and linking new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VendorHealth {
    /// Reading and commanding devices.
    pub devices: Health,
    /// Logging in.
    pub linking: Health,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_capitals() {
        for good in ["A", "FJORD_MOTORS", "V2G"] {
            assert_eq!(VendorCode::parse(good).unwrap().to_string(), good);
        }
        for bad in ["", "a", "Fjord", "2V", "_A", "A-B", "A B", "Å"] {
            let error = VendorCode::parse(bad).unwrap_err().to_string();
            assert!(error.ends_with("a capital first"), "{error}");
        }
        assert!(serde_json::from_str::<VendorCode>("\"fjord\"").is_err());
    }
}
