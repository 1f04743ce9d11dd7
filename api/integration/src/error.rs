//! Failures of a call to a manufacturer.
use serde::{Deserialize, Serialize};

/// Failure of a call to a manufacturer.
///
/// Facts only: what a client is told about them is decided in
/// the HTTP interface. Texts come from the manufacturer where a variant
/// has one, and may be shown to the owner of the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum VendorError {
    /// The manufacturer answers, its device does not. Try again later.
    #[serde(rename = "unreachable")]
    #[error("the manufacturer cannot reach the device")]
    Unreachable,
    /// The device sleeps and was not woken to answer.
    #[serde(rename = "asleep")]
    #[error("the device is asleep")]
    Asleep {
        /// True if a command may wake the device. If not, calling would do it harm.
        may_be_woken: bool,
    },
    /// The manufacturer does not pass the command on.
    #[serde(rename = "refused")]
    #[error("the manufacturer refused: {detail}")]
    Refused {
        /// In the manufacturer's words.
        detail: String,
    },
    /// The manufacturer has had too many calls.
    #[serde(rename = "rate_limited")]
    #[error("the manufacturer wants fewer calls")]
    RateLimited {
        /// When it wants to be asked again, if it said so.
        retry_after_seconds: Option<u32>,
    },
    /// The device is no longer in a state in which it can obey.
    #[serde(rename = "precondition_lost")]
    #[error("the device cannot obey: {detail}")]
    PreconditionLost {
        /// In the manufacturer's words.
        detail: String,
    },
    /// The manufacturer's service is down.
    #[serde(rename = "outage")]
    #[error("the manufacturer's service is down")]
    Outage,
    /// No answer came in time.
    #[serde(rename = "timed_out")]
    #[error("the manufacturer did not answer in time")]
    TimedOut,
    /// The credentials are wrong, or no longer valid: the owner must link again.
    #[serde(rename = "unauthorised")]
    #[error("the manufacturer does not accept the credentials")]
    Unauthorised,
    /// The code of a second step was wrong.
    #[serde(rename = "challenge_failed")]
    #[error("the code is wrong")]
    ChallengeFailed,
    /// The account has no such device any more.
    #[serde(rename = "no_such_device")]
    #[error("the account has no such device")]
    NoSuchDevice,
}

impl VendorError {
    /// The word that stands for the failure in stored and sent data, without its details.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Asleep { .. } => "asleep",
            Self::Refused { .. } => "refused",
            Self::RateLimited { .. } => "rate_limited",
            Self::PreconditionLost { .. } => "precondition_lost",
            Self::Outage => "outage",
            Self::TimedOut => "timed_out",
            Self::Unauthorised => "unauthorised",
            Self::ChallengeFailed => "challenge_failed",
            Self::NoSuchDevice => "no_such_device",
        }
    }

    /// Returns `true` if the device was not reached: its last reading stays, and it shows as not
    /// reachable.
    #[must_use]
    pub const fn is_silence(&self) -> bool {
        matches!(
            self,
            Self::Unreachable
                | Self::Asleep { .. }
                | Self::Outage
                | Self::TimedOut
                | Self::RateLimited { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_word_of_a_failure_is_that_of_its_json() {
        let detail = String::new;
        for failure in [
            VendorError::Unreachable,
            VendorError::Asleep { may_be_woken: true },
            VendorError::Refused { detail: detail() },
            VendorError::RateLimited { retry_after_seconds: None },
            VendorError::PreconditionLost { detail: detail() },
            VendorError::Outage,
            VendorError::TimedOut,
            VendorError::Unauthorised,
            VendorError::ChallengeFailed,
            VendorError::NoSuchDevice,
        ] {
            let word = match serde_json::to_value(&failure).unwrap() {
                Value::String(word) => word,
                other => other.as_object().unwrap().keys().next().unwrap().clone(),
            };
            assert_eq!(failure.as_str(), word);
        }
    }
}
