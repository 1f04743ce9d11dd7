//! Behaviour of a simulated device or vendor that is called.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slackwater_control::device::power_state::PowerState;
use utoipa::ToSchema;

use slackwater_integration::error::VendorError;

use super::words;

/// Behaviour of a device, or of all devices of a vendor, towards callers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Conduct {
    /// Answers and obeys.
    #[default]
    Answer,
    /// Shows what it showed last, and does nothing that it is told.
    Freeze,
    /// Sleeps: shows nothing. A command may wake it, or not.
    Sleep {
        /// True if a command wakes it. If not, calling would do it harm.
        may_be_woken: bool,
    },
    /// The vendor does not reach the device.
    Unreachable,
    /// The vendor takes no command.
    Refuse {
        /// In the vendor's words.
        detail: String,
    },
    /// The vendor has had too many calls.
    RateLimit {
        /// When it wants to be asked again; `null` says nothing about it.
        retry_after_seconds: Option<u32>,
    },
    /// The device comes into a state in which it cannot obey.
    LosePrecondition {
        /// `fault` or `no_power`, which only a person can mend, or `unplugged`.
        #[schemars(schema_with = "words::power_state")]
        #[schema(value_type = String)]
        state: PowerState,
    },
    /// The vendor's service is down.
    Outage,
    /// No answer ever comes.
    Hang,
    /// The vendor has revoked what the owner granted.
    Revoke,
}

impl Conduct {
    /// Error of a poll, if it does not return a reading.
    #[must_use]
    pub fn poll_error(&self) -> Option<VendorError> {
        match self {
            Self::Answer | Self::Freeze | Self::Refuse { .. } | Self::LosePrecondition { .. } => {
                None
            }
            Self::Sleep { may_be_woken } => {
                Some(VendorError::Asleep { may_be_woken: *may_be_woken })
            }
            Self::Unreachable => Some(VendorError::Unreachable),
            Self::RateLimit { retry_after_seconds } => {
                Some(VendorError::RateLimited { retry_after_seconds: *retry_after_seconds })
            }
            Self::Outage => Some(VendorError::Outage),
            Self::Hang => Some(VendorError::TimedOut),
            Self::Revoke => Some(VendorError::Unauthorised),
        }
    }

    /// Error of a command that is not taken. One that may wake the device is taken.
    #[must_use]
    pub fn send_error(&self) -> Option<VendorError> {
        match self {
            Self::Refuse { detail } => Some(VendorError::Refused { detail: detail.clone() }),
            Self::LosePrecondition { state } => {
                let detail = format!("its state is {}", state.as_str());
                Some(VendorError::PreconditionLost { detail })
            }
            Self::Sleep { may_be_woken: true } => None,
            other => other.poll_error(),
        }
    }
}
