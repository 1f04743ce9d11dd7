//! Settings of the operators' address.
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::config::error::{ConfigError, TOKEN_LENGTH_MIN, TokenError};
use crate::config::text::{Listen, as_text};

/// Bearer token of the operators' address. Its debug form hides it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct AdminToken(String);

/// The operators' address: never the same as one for users.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminSettings {
    /// Address and port of metrics, documentation and sandbox control.
    #[serde(with = "as_text")]
    pub listen: Listen,
    /// The token that requests carry. Without one the address answers on this machine only.
    #[serde(default, skip_serializing)]
    pub token: Option<AdminToken>,
    /// A file with the token.
    #[serde(default)]
    pub token_file: Option<PathBuf>,
}

impl AdminToken {
    /// The text of the token, for a request that carries it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Compares a text with the token. The time that this takes does not depend on where the two
    /// differ: their digests are compared to the last byte.
    #[must_use]
    pub fn is(&self, given: &str) -> bool {
        let (own, given) = (Sha256::digest(&self.0), Sha256::digest(given));
        own.iter().zip(&given).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

impl FromStr for AdminToken {
    type Err = TokenError;

    fn from_str(given: &str) -> Result<Self, TokenError> {
        let text = given.trim();
        let is_token =
            text.len() >= TOKEN_LENGTH_MIN && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_token.then(|| Self(text.to_owned())).ok_or(TokenError)
    }
}

impl TryFrom<String> for AdminToken {
    type Error = TokenError;

    fn try_from(text: String) -> Result<Self, TokenError> {
        text.parse()
    }
}

impl fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdminToken(hidden)")
    }
}

impl AdminSettings {
    /// Reads the token from its file, if one is named.
    pub(super) fn read_token_file(&mut self) -> Result<(), ConfigError> {
        let Some(file) = &self.token_file else { return Ok(()) };
        if self.token.is_some() {
            return Err(ConfigError::Both { one: "admin.token", other: "admin.token_file" });
        }
        let failed = |reason: std::io::Error| ConfigError::TokenFile {
            file: file.clone(),
            reason: reason.to_string(),
        };
        self.token = Some(fs::read_to_string(file).map_err(failed)?.parse()?);
        Ok(())
    }

    /// Checks that other machines reach the address only with a token.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let Listen(listen) = self.listen;
        if self.token.is_none() && !listen.ip().is_loopback() {
            return Err(ConfigError::OpenAdmin { listen });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_and_hidden() {
        let token: AdminToken = " 0123456789abcdefghij\n".parse().unwrap();
        assert!(token.is("0123456789abcdefghij"));
        for other in ["", "0123456789abcdefghiJ", "0123456789abcdefghij0"] {
            assert!(!token.is(other), "{other}");
        }
        assert!(!format!("{token:?}").contains("0123"));
        for bad in ["", "short", "0123456789 abcdefghij", "0123456789abcdefghijé"] {
            assert_eq!(bad.parse::<AdminToken>(), Err(TokenError), "{bad}");
        }
    }
}
