//! Values that are written as text and checked when they are read.
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use http::Uri;

use crate::config::error::ConfigError;

/// An address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen(pub SocketAddr);

/// Scheme and host, such as `https://api.example.org`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl(String);

impl FromStr for Listen {
    type Err = ConfigError;

    fn from_str(given: &str) -> Result<Self, ConfigError> {
        listen_address(given).map(Self)
    }
}

impl FromStr for PublicUrl {
    type Err = ConfigError;

    fn from_str(given: &str) -> Result<Self, ConfigError> {
        let refused = || ConfigError::Url { given: given.to_owned() };
        let url: Uri = given.trim_end_matches('/').parse().map_err(|_| refused())?;
        let is_web = matches!(url.scheme_str(), Some("http" | "https"));
        let is_bare = url.path() == "/" && url.query().is_none();
        if is_web && is_bare && url.host().is_some_and(|host| !host.is_empty()) {
            Ok(Self(given.trim_end_matches('/').to_owned()))
        } else {
            Err(refused())
        }
    }
}

/// Reads an address to listen on, such as `127.0.0.1:8080`. Port 0 takes a free one.
///
/// A host name is refused: it may stand for several addresses, public ones among them.
///
/// # Errors
///
/// [`ConfigError::Listen`] when the text is not an IP address with a port.
///
/// # Example
///
/// ```
/// use slackwater_service::config::text::listen_address;
///
/// assert_eq!(listen_address("[::1]:8080")?.port(), 8080);
/// assert!(listen_address("localhost:8080").is_err());
/// # Ok::<(), slackwater_service::config::error::ConfigError>(())
/// ```
pub fn listen_address(given: &str) -> Result<SocketAddr, ConfigError> {
    given.trim().parse().map_err(|_| ConfigError::Listen { given: given.to_owned() })
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PublicUrl {
    /// The host, with the port if one is named.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.split_once("://").map_or(self.0.as_str(), |(_, host)| host)
    }
}

/// Values that are written as text and checked when they are read.
pub(crate) mod as_text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<T: ToString, S: Serializer>(
        value: &T,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(&value.to_string())
    }

    pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
        D: Deserializer<'de>,
    {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// Text form of a value that may be missing.
pub(crate) mod as_optional_text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde calls it with the field")]
    pub(crate) fn serialize<T, S>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error>
    where
        T: ToString,
        S: Serializer,
    {
        value.as_ref().map(ToString::to_string).serialize(to)
    }

    pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
        D: Deserializer<'de>,
    {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}
