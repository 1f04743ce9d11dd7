//! Versions of the protocol: names, and the translation between messages and facts.
use serde_json::Value;

use crate::facts::{Answer, Event, Reply, Request};
use crate::fields::Fault;
use crate::typed::{Payload, PayloadError};
use crate::{v16, v201};

/// Version that a charge point speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// OCPP 1.6-J.
    V16,
    /// OCPP 2.0.1.
    V201,
}

impl Version {
    /// Both, the newer first.
    pub const ALL: [Self; 2] = [Self::V201, Self::V16];

    /// Name of the WebSocket subprotocol.
    #[must_use]
    pub const fn subprotocol(self) -> &'static str {
        match self {
            Self::V16 => "ocpp1.6",
            Self::V201 => "ocpp2.0.1",
        }
    }

    /// The first of the names that a charge point offers, in its order, that is known.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_ocpp::version::Version;
    /// assert_eq!(Version::choose("ocpp2.1, ocpp1.6"), Some(Version::V16));
    /// assert_eq!(Version::choose("ocpp1.5"), None);
    /// ```
    #[must_use]
    pub fn choose(offered: &str) -> Option<Self> {
        let known = |name: &str| Self::ALL.into_iter().find(|own| own.subprotocol() == name.trim());
        offered.split(',').find_map(known)
    }

    /// Reads a request of a charge point.
    ///
    /// # Errors
    /// The action is not known or not done here, or a field is missing that the message needs.
    pub fn read_event(self, action: &str, payload: &Value) -> Result<Event, Fault> {
        match self {
            Self::V16 => v16::read::read_event(action, payload),
            Self::V201 => v201::read::read_event(action, payload),
        }
    }

    /// Fields of the answer to `action`.
    ///
    /// # Errors
    /// The protocol has no such answer.
    pub fn write_answer(self, action: &str, answer: &Answer) -> Result<Value, PayloadError> {
        match self {
            Self::V16 => v16::write::write_answer(action, answer),
            Self::V201 => v201::write::write_answer(answer),
        }
    }

    /// Action and fields of a request.
    ///
    /// # Errors
    /// A value is too long for its field.
    pub fn write_request(self, request: &Request) -> Result<Payload, PayloadError> {
        match self {
            Self::V16 => v16::write::write_request(request),
            Self::V201 => v201::write::write_request(request),
        }
    }

    /// Reads the reply to a request.
    #[must_use]
    pub fn read_reply(self, request: &Request, payload: &Value) -> Reply {
        match self {
            Self::V16 => v16::read::read_reply(request, payload),
            Self::V201 => v201::read::read_reply(request, payload),
        }
    }

    /// Code of a fault, in the spelling of the version.
    #[must_use]
    pub const fn code_of(self, fault: &Fault) -> &'static str {
        match self {
            Self::V16 => v16::write::code_of(fault),
            Self::V201 => v201::write::code_of(fault),
        }
    }
}
