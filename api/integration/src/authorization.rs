//! Log-in at the manufacturer's own page: OAuth 2.0 with an authorization code and PKCE.
//!
//! An integration says where the page is and as which client the service is known there
//! ([`Authorization`]). The service does the rest: it sends the owner's browser there with a
//! challenge (RFC 7636, `S256`) and a `state` of the browser and the link session, takes the code at
//! the redirect URI of the manufacturer, which is `LINK_URL/link/return/CODE`, exchanges it for
//! tokens (RFC 6749, section 4.1; RFC 9700 has the advice that it follows), and passes the
//! [`AccountTokens`] to [`Vendor::connect_account`](crate::vendor::Vendor::connect_account).
use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// A text that is no address of an authorization server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given:?} is not an address such as https://login.example.org/authorize; \
     http is for this machine only"
)]
#[non_exhaustive]
pub struct EndpointError {
    /// The text as given.
    pub given: String,
}

/// Address of an authorization server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Endpoint(String);

impl Endpoint {
    /// An address with TLS, or without it on this machine, as for a test. It may have a query and no
    /// fragment (RFC 6749, section 3.1).
    ///
    /// # Errors
    /// The text has another form.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_integration::authorization::Endpoint;
    /// assert!(Endpoint::parse("https://login.example.org/authorize?audience=cars").is_ok());
    /// assert!(Endpoint::parse("http://127.0.0.1:8090/authorize").is_ok());
    /// assert!(Endpoint::parse("http://login.example.org/authorize").is_err());
    /// ```
    pub fn parse(given: &str) -> Result<Self, EndpointError> {
        let refused = || EndpointError { given: given.to_owned() };
        let (scheme, rest) = given.split_once("://").ok_or_else(refused)?;
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        let is_digits = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if is_digits(port) => host,
            _ => authority,
        };
        let is_local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
        let is_safe = scheme == "https" || scheme == "http" && is_local;
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
        let is_plain = given.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        if is_safe && is_plain && !host.is_empty() && host.bytes().all(is_host) {
            Ok(Self(given.to_owned()))
        } else {
            Err(refused())
        }
    }

    /// The address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Endpoint {
    type Error = EndpointError;
    fn try_from(text: String) -> Result<Self, EndpointError> {
        Self::parse(&text)
    }
}

impl From<Endpoint> for String {
    fn from(endpoint: Endpoint) -> Self {
        endpoint.0
    }
}

/// Secret of the service at a manufacturer, and its place in a request for tokens. The debug form
/// hides it.
#[derive(Clone, PartialEq, Eq)]
pub enum ClientSecret {
    /// In the header `Authorization` (`client_secret_basic`), which every server understands.
    Basic(String),
    /// In the body (`client_secret_post`), for servers that want it there.
    Post(String),
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Basic(_) => "Basic(..)",
            Self::Post(_) => "Post(..)",
        })
    }
}

/// Log-in at the manufacturer's own page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorization {
    /// Page to which the owner is sent.
    pub authorization_endpoint: Endpoint,
    /// Address that exchanges the code for tokens.
    pub token_endpoint: Endpoint,
    /// Identifier of the service at the manufacturer.
    pub client_id: String,
    /// Its secret; `None` for a public client.
    pub client_secret: Option<ClientSecret>,
    /// Scopes that the owner is asked for.
    pub scopes: Vec<String>,
    /// Further parameters of the page, such as `audience`.
    pub parameters: Vec<(String, String)>,
}

/// Tokens of an account, as the manufacturer issued them. The debug form hides them.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccountTokens {
    /// Token of calls.
    pub access_token: String,
    /// Token by which further access tokens are asked for, if there is one.
    pub refresh_token: Option<String>,
    /// The first instant at which the access token is refused, if that was said.
    pub expires_at: Option<DateTime<Utc>>,
}

impl AccountTokens {
    /// Tokens with an access token only.
    #[must_use]
    pub fn new(access_token: impl Into<String>) -> Self {
        Self { access_token: access_token.into(), refresh_token: None, expires_at: None }
    }
}

/// Tokens as they are kept, in a connection.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptTokens {
    access_token: String,
    refresh_token: Option<String>,
    expires_at: Option<DateTime<Utc>>,
}

impl AccountTokens {
    /// The text that is kept of them.
    pub(crate) fn to_json(&self) -> String {
        let Self { access_token, refresh_token, expires_at } = self.clone();
        let kept = KeptTokens { access_token, refresh_token, expires_at };
        // Texts and a time always have a JSON form.
        serde_json::to_string(&kept).unwrap_or_default()
    }

    /// Tokens of a kept text; `None` if it is another.
    pub(crate) fn from_json(text: &str) -> Option<Self> {
        let KeptTokens { access_token, refresh_token, expires_at } =
            serde_json::from_str(text).ok()?;
        Some(Self { access_token, refresh_token, expires_at })
    }
}

impl fmt::Debug for AccountTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountTokens")
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendor::Connection;

    #[test]
    fn endpoints_have_tls_or_are_on_this_machine() {
        for good in [
            "https://login.example.org",
            "https://login.example.org:8443/a?b=c&d",
            "http://localhost/token",
            "http://[::1]:80/token",
        ] {
            assert_eq!(Endpoint::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "login.example.org",
            "https://",
            "https:///path",
            "https://:443",
            "http://login.example.org",
            "http://localhost.example.org/",
            "http://localhost@example.org/",
            "https://user:secret@example.org/",
            "https://example.org/a#b",
            "https://example.org/a b",
            "https://example.org;script-src/",
            "https://exämple.org/",
            "ftp://example.org/",
        ] {
            let error = Endpoint::parse(bad).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{bad:?} is not an address")), "{error}");
        }
        assert!(serde_json::from_str::<Endpoint>("\"http://example.org\"").is_err());
    }

    #[test]
    fn a_connection_of_tokens_yields_them_and_no_other_does() {
        let full = AccountTokens {
            refresh_token: Some("r \"1\"".to_owned()),
            expires_at: Some("2026-01-05T18:00:00Z".parse().unwrap()),
            ..AccountTokens::new("a")
        };
        for tokens in [full, AccountTokens::new("a")] {
            let connection = Connection::of_tokens(&tokens);
            assert_eq!(Connection::new(connection.secret()).tokens(), Some(tokens));
        }
        for other in ["", "key", "{}", r#"{"access_token": "a", "more": 1}"#] {
            assert_eq!(Connection::new(other).tokens(), None, "{other}");
        }
    }

    #[test]
    fn secrets_are_not_in_debug_forms() {
        let tokens = AccountTokens {
            refresh_token: Some("sesame".to_owned()),
            ..AccountTokens::new("sesame")
        };
        let secrets =
            [ClientSecret::Basic("sesame".to_owned()), ClientSecret::Post("sesame".to_owned())];
        assert!(!format!("{tokens:?} {secrets:?}").contains("sesame"));
    }
}
