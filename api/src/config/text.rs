//! Values that are written as text and checked when they are read.
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use axum::http::Uri;
use sqlx::postgres::PgConnectOptions;

use crate::config::{ConfigError, listen_address};

/// An address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen(pub SocketAddr);

/// Scheme and host, such as `https://api.example.org`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl(String);

/// Where rows are kept: `sqlite:slackwater.db` or `postgres://…`.
///
/// Its debug form has no password.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(String);

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

impl FromStr for StoreUrl {
    type Err = ConfigError;

    fn from_str(given: &str) -> Result<Self, ConfigError> {
        let schemes = ["sqlite:", "postgres://", "postgresql://"];
        let named = schemes.iter().any(|scheme| {
            given.strip_prefix(scheme).is_some_and(|rest| !rest.trim_start_matches('/').is_empty())
        });
        if named {
            Ok(Self(given.to_owned()))
        } else {
            Err(ConfigError::Store { given: without_password(given) })
        }
    }
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

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({})", without_password(&self.0))
    }
}

/// A URL, perhaps a mistyped one, in which stars stand for the password.
fn without_password(url: &str) -> String {
    let scheme = url.find("://").map_or(0, |at| at + 3);
    let mut shown = match url.rfind('@').filter(|&at| at >= scheme) {
        None => url.to_owned(),
        Some(end) => match url[scheme..end].find(':') {
            None => url.to_owned(),
            Some(at) => format!("{}:***{}", &url[..scheme + at], &url[end..]),
        },
    };
    if let Some(at) = shown.find("password=").map(|at| at + "password=".len()) {
        let end = shown[at..].find('&').map_or(shown.len(), |length| at + length);
        shown.replace_range(at..end, "***");
    }
    shown
}

impl StoreUrl {
    /// A file in this folder.
    #[must_use]
    pub fn here() -> Self {
        Self("sqlite:slackwater.db".to_owned())
    }

    /// The text as given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The server with its port, or the file: what an operator looks at when it
    /// cannot be opened. No user and no password.
    #[must_use]
    pub fn place(&self) -> String {
        if let Some(file) = self.0.strip_prefix("sqlite:") {
            return file.trim_start_matches("//").to_owned();
        }
        match self.0.parse::<PgConnectOptions>() {
            Ok(server) => match server.get_socket() {
                Some(socket) => format!("PostgreSQL at {}", socket.display()),
                None => format!("PostgreSQL at {}:{}", server.get_host(), server.get_port()),
            },
            Err(_) => "PostgreSQL".to_owned(),
        }
    }

    /// Whether it names a file.
    #[must_use]
    pub fn is_sqlite(&self) -> bool {
        self.0.starts_with("sqlite:")
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
pub(in crate::config) mod as_text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::config) fn serialize<T: ToString, S: Serializer>(
        value: &T,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(&value.to_string())
    }

    pub(in crate::config) fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
        D: Deserializer<'de>,
    {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// The same for values that may be missing.
pub(in crate::config) mod as_optional_text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde calls it with the field")]
    pub(in crate::config) fn serialize<T, S>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error>
    where
        T: ToString,
        S: Serializer,
    {
        value.as_ref().map(ToString::to_string).serialize(to)
    }

    pub(in crate::config) fn deserialize<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
        D: Deserializer<'de>,
    {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_their_passwords() {
        for (url, shown) in [
            ("sqlite:slackwater.db", "sqlite:slackwater.db"),
            ("postgres://me@db/d", "postgres://me@db/d"),
            ("postgres://me:a:b@c/d@db:5432/d", "postgres://me:***@db:5432/d"),
            ("postgre:me:sesame@db", "postgre:***@db"),
            ("pg://db/d?user=me&password=sesame&x=1", "pg://db/d?user=me&password=***&x=1"),
            ("pg://db/d?password=sesame", "pg://db/d?password=***"),
        ] {
            assert_eq!(without_password(url), shown);
            assert!(!format!("{:?}", StoreUrl(url.to_owned())).contains("sesame"));
        }
    }

    #[test]
    fn a_database_is_found_by_its_host_and_port_or_its_file() {
        for (url, place) in [
            ("sqlite:slackwater.db", "slackwater.db"),
            ("sqlite:///var/lib/slackwater.db", "/var/lib/slackwater.db"),
            ("postgres://me:sesame@db/d", "PostgreSQL at db:5432"),
            ("postgres://me@[::1]:5433/d", "PostgreSQL at [::1]:5433"),
        ] {
            assert_eq!(url.parse::<StoreUrl>().unwrap().place(), place);
        }
    }
}
