//! Settings of the operators' address.
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::config::error::{ConfigError, TOKEN_LENGTH_MIN, TokenError, TokenHashError};
use crate::config::secret_file::{both, read_secret};
use crate::config::text::{Listen, as_text};

/// Bearer token of the operators' address. Its debug form hides it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct AdminToken(String);

/// The operators' address: never the same as one for users.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdminSettings {
    /// Address and port of metrics, documentation and sandbox control.
    #[serde(with = "as_text")]
    #[schemars(with = "String")]
    pub listen: Listen,
    /// The token that requests carry. Without one the address answers on this machine only.
    #[serde(skip_serializing)]
    #[schemars(with = "Option<String>", length(min = 20), example = &"openssl-rand-base64-24")]
    pub token: Option<AdminToken>,
    /// A file with the token.
    #[schemars(example = &"/run/secrets/admin-token")]
    pub token_file: Option<PathBuf>,
    /// Tokens of single operators and programs, made by `slackwater-api admin token create`.
    pub tokens: Vec<NamedToken>,
    /// TLS of the address. Without it the address speaks HTTP.
    pub tls: Option<AdminTls>,
    /// Days for which acts stay in the audit log.
    #[schemars(range(min = 1))]
    pub audit_days: u32,
}

/// TLS of the operators' address, by files in PEM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminTls {
    /// Certificate of the address, and those between it and its authority.
    #[schemars(example = &"/etc/slackwater/admin.pem")]
    pub certificate_file: PathBuf,
    /// Key of the certificate.
    #[schemars(example = &"/etc/slackwater/admin.key")]
    pub key_file: PathBuf,
    /// Authority of operators' certificates. With it nobody connects without a certificate of that
    /// authority (mutual TLS); where no token is set, the certificate stands for one that may do
    /// everything.
    #[serde(default)]
    #[schemars(example = &"/etc/slackwater/operators-ca.pem")]
    pub client_ca_file: Option<PathBuf>,
}

/// Common name of the certificate of a connection, which an authority of the settings has signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate(pub Arc<str>);

/// Rights of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads everything and changes nothing.
    Read,
    /// Reads and changes everything.
    Operate,
}

/// Token with a name of its own. Only its hash is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedToken {
    /// Name in the audit log.
    #[schemars(example = &"grafana")]
    pub name: String,
    /// Rights of the token.
    pub role: Role,
    /// SHA-256 of the token.
    #[schemars(with = "String", length(equal = 64), example = &HASH)]
    pub sha256: TokenHash,
}

/// SHA-256 of a token, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TokenHash(String);

/// Sender of a request to the operators' address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// Name of the token; [`Operator::SETTINGS`] and [`Operator::LOCAL`] stand for none.
    pub name: String,
    /// Rights.
    pub role: Role,
}

/// Hash of no token, as an example.
const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

impl Default for AdminSettings {
    /// This machine only, at port 8083.
    fn default() -> Self {
        let listen = Listen(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8083));
        Self {
            listen,
            token: None,
            token_file: None,
            tokens: Vec::new(),
            tls: None,
            audit_days: 400,
        }
    }
}

impl AdminToken {
    /// The text of the token, for a request that carries it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Compares a text with the token, in a time that does not depend on where the two differ.
    #[must_use]
    pub fn is(&self, given: &str) -> bool {
        TokenHash::of(&self.0).is_of(given)
    }
}

impl TokenHash {
    /// Hash of a token. A token is random: it needs neither salt nor a slow hash.
    #[must_use]
    pub fn of(token: &str) -> Self {
        let digits = Sha256::digest(token).iter().fold(String::new(), |mut digits, byte| {
            // Writing to a text cannot fail.
            let _: fmt::Result = write!(digits, "{byte:02x}");
            digits
        });
        Self(digits)
    }

    /// Compares the hash of a text with this one. All digits are compared, wherever the first
    /// difference is.
    #[must_use]
    pub fn is_of(&self, given: &str) -> bool {
        let given = Self::of(given);
        self.0.bytes().zip(given.0.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

impl TryFrom<String> for TokenHash {
    type Error = TokenHashError;

    fn try_from(given: String) -> Result<Self, TokenHashError> {
        let is_hash = given.len() == 64 && given.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_hash.then(|| Self(given.to_ascii_lowercase())).ok_or(TokenHashError)
    }
}

impl From<TokenHash> for String {
    fn from(TokenHash(digits): TokenHash) -> Self {
        digits
    }
}

impl Role {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
        }
    }
}

impl Operator {
    /// Name of a request with the token of the settings.
    pub const SETTINGS: &'static str = "admin.token";

    /// Name of a request from this machine, where no token is set.
    pub const LOCAL: &'static str = "local";

    fn settings() -> Self {
        Self { name: Self::SETTINGS.to_owned(), role: Role::Operate }
    }

    /// Whoever sends requests from this machine, where no token is set.
    #[must_use]
    pub fn local() -> Self {
        Self { name: Self::LOCAL.to_owned(), role: Role::Operate }
    }

    /// Whoever has a certificate, where no token is set. The name cannot be that of a token.
    #[must_use]
    pub fn certified(certificate: &ClientCertificate) -> Self {
        Self { name: format!("certificate:{}", certificate.0), role: Role::Operate }
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
            return Err(both("admin.token"));
        }
        self.token = Some(read_secret("admin.token_file", file)?.parse()?);
        Ok(())
    }

    /// Returns `true` if nobody connects without a certificate.
    #[must_use]
    pub fn needs_certificate(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.client_ca_file.is_some())
    }

    /// Returns `true` if requests need a token.
    #[must_use]
    pub fn needs_token(&self) -> bool {
        self.token.is_some() || !self.tokens.is_empty()
    }

    /// The operator whose token a text is. It is compared with all, so that the time does not
    /// tell how many there are before the right one.
    #[must_use]
    pub fn find_operator(&self, given: &str) -> Option<Operator> {
        let named = self.tokens.iter().fold(None, |found, token| {
            let is_own = token.sha256.is_of(given);
            let own = || Operator { name: token.name.clone(), role: token.role };
            if is_own { Some(own()) } else { found }
        });
        let is_shared = self.token.as_ref().is_some_and(|token| token.is(given));
        if is_shared { Some(Operator::settings()) } else { named }
    }

    /// Checks that other machines reach the address only with a token, and that names in the
    /// audit log stand for one token each.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let Listen(listen) = self.listen;
        let is_guarded = self.needs_token() || self.needs_certificate();
        if !is_guarded && !listen.ip().is_loopback() {
            return Err(ConfigError::OpenAdmin { listen });
        }
        let mut names = BTreeSet::from([Operator::SETTINGS, Operator::LOCAL, ""]);
        let is_taken = |name: &str| name.starts_with("certificate:");
        let mut tokens = self.tokens.iter();
        match tokens.find(|token| !names.insert(&token.name) || is_taken(&token.name)) {
            Some(token) => Err(ConfigError::TokenName { name: token.name.clone() }),
            None => Ok(()),
        }
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
    #[test]
    fn each_token_is_known_by_its_hash() {
        let named = |name: &str, role: &str, token: &str| {
            let sha256: String = TokenHash::of(token).into();
            format!(r#"{{"name": "{name}", "role": "{role}", "sha256": "{sha256}"}}"#)
        };
        let tokens = [named("grafana", "read", "a-token"), named("eva", "operate", "b-token")];
        let text =
            format!(r#"{{"token": "0123456789abcdefghij", "tokens": [{}]}}"#, tokens.join(", "));
        let admin: AdminSettings = serde_json::from_str(&text).unwrap();
        let known = |token: &str| {
            let operator = admin.find_operator(token)?;
            Some((operator.name, operator.role))
        };
        assert_eq!(known("a-token"), Some(("grafana".to_owned(), Role::Read)));
        assert_eq!(known("b-token"), Some(("eva".to_owned(), Role::Operate)));
        let shared = Some((Operator::SETTINGS.to_owned(), Role::Operate));
        assert_eq!(known("0123456789abcdefghij"), shared);
        let hash: String = TokenHash::of("a-token").into();
        for other in ["", "a-toke", "a-token ", &hash] {
            assert_eq!(known(other), None, "{other}");
        }
        assert!(admin.needs_token() && admin.check().is_ok());
        for (name, role, hash) in [("eva", "read", "a"), ("local", "read", "a"), ("", "read", "a")]
        {
            let mut twice = admin.clone();
            twice.tokens.push(serde_json::from_str(&named(name, role, hash)).unwrap());
            let error = twice.check().unwrap_err().to_string();
            assert!(error.starts_with(&format!("admin.tokens: {name:?} is")), "{error}");
        }
        let short = r#"{"name": "a", "role": "read", "sha256": "12"}"#;
        let error = serde_json::from_str::<NamedToken>(short).unwrap_err().to_string();
        assert!(error.contains("64 hexadecimal digits"), "{error}");
    }
}
