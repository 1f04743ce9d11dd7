//! Signatures as Standard Webhooks describes them.
//!
//! Not part of the interface: an operator may agree on a secret with a receiver,
//! who can then tell our requests from those of others.
use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// Prefix of a secret.
const PREFIX: &str = "whsec_";

/// Shortest and longest secret in bytes.
const BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A text that is no secret. What it was is not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a secret is {PREFIX} and 24 to 64 bytes in base64")]
pub struct SecretError;

/// A secret that a receiver knows, too. Its debug form hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SigningSecret {
    text: String,
    bytes: Vec<u8>,
}

impl SigningSecret {
    /// The text to keep.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value of `webhook-signature` for a body that is sent at a time.
    #[must_use]
    pub fn sign(&self, id: &str, timestamp: i64, body: &str) -> String {
        let mut mac = self.mac();
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body.as_bytes());
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl SigningSecret {
    fn mac(&self) -> Hmac<Sha256> {
        Hmac::<Sha256>::new_from_slice(&self.bytes).expect("a key of any length fits")
    }
}

impl FromStr for SigningSecret {
    type Err = SecretError;

    fn from_str(given: &str) -> Result<Self, SecretError> {
        let text = given.trim();
        let encoded = text.strip_prefix(PREFIX).ok_or(SecretError)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| SecretError)?;
        let is_long_enough = BYTES.contains(&bytes.len());
        is_long_enough.then(|| Self { text: text.to_owned(), bytes }).ok_or(SecretError)
    }
}

impl TryFrom<String> for SigningSecret {
    type Error = SecretError;
    fn try_from(text: String) -> Result<Self, SecretError> {
        text.parse()
    }
}

impl From<SigningSecret> for String {
    fn from(secret: SigningSecret) -> Self {
        secret.text
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks specification and its libraries.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn a_signature_is_the_one_that_receivers_compute() {
        let secret: SigningSecret = SECRET.parse().unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signature = secret.sign(id, 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert!(!format!("{secret:?}").contains("MfKQ"));
    }

    #[test]
    fn short_secrets_are_refused_and_not_repeated() {
        for bad in ["", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_?"] {
            let error = bad.parse::<SigningSecret>().unwrap_err().to_string();
            assert_eq!(error, "a secret is whsec_ and 24 to 64 bytes in base64");
        }
    }
}
