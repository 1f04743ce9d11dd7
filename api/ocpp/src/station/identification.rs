//! Identifiers by which a charge point tells which vehicle is plugged into a connector.
use serde::{Deserialize, Serialize};

/// Identifiers of the present stay at a plug.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identification {
    /// Identifier of the vehicle's own, which ISO 15118 calls EVCCID.
    pub vehicle: Option<Box<str>>,
    /// Last token of a transaction, other than ours: a card, a contract (eMAID), or the address of the
    /// vehicle's modem (Autocharge).
    pub token: Option<Box<str>>,
}

impl Identification {
    /// Returns true if nothing is known.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.vehicle.is_none() && self.token.is_none()
    }

    /// Takes over the token of a transaction; none says nothing about the vehicle.
    pub fn note_token(&mut self, token: Option<&str>) {
        if let Some(token) = token {
            self.token = Some(token.into());
        }
    }

    /// The identifiers, that of the vehicle first: a card may be lent.
    pub fn identifiers(&self) -> impl Iterator<Item = &str> {
        self.vehicle.iter().chain(&self.token).map(AsRef::as_ref)
    }
}
