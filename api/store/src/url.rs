//! Address of a database.
use std::fmt;
use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

/// A text that is no address of a database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreUrlError {
    /// Neither a file nor a server.
    #[error("`{given}` is not a database; one of sqlite:FILE and postgres://USER@HOST/NAME")]
    Scheme {
        /// The text as given, without its password.
        given: String,
    },
    /// A port or an option that the driver refuses.
    #[error("`{given}` is not the address of a database: {reason}")]
    Options {
        /// The text as given, without its password.
        given: String,
        /// Reason of the driver.
        reason: String,
    },
}

/// Address of the database: `sqlite:slackwater.db` or `postgres://…`.
///
/// Its debug form has no password.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(String);

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(given: &str) -> Result<Self, StoreUrlError> {
        let schemes = ["sqlite:", "postgres://", "postgresql://"];
        let named = schemes.iter().any(|scheme| {
            given.strip_prefix(scheme).is_some_and(|rest| !rest.trim_start_matches('/').is_empty())
        });
        if !named {
            return Err(StoreUrlError::Scheme { given: without_password(given) });
        }
        let read = if given.starts_with("sqlite:") {
            given.parse::<SqliteConnectOptions>().map(|_| ())
        } else {
            given.parse::<PgConnectOptions>().map(|_| ())
        };
        let refused = |error| {
            let reason = match error {
                sqlx::Error::Configuration(source) => source.to_string(),
                other => other.to_string(),
            };
            StoreUrlError::Options { given: without_password(given), reason }
        };
        read.map(|()| Self(given.to_owned())).map_err(refused)
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

    /// The text as given, with stars for its password.
    #[must_use]
    pub fn shown(&self) -> String {
        without_password(&self.0)
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

    /// Returns `true` if it names a file.
    #[must_use]
    pub fn is_sqlite(&self) -> bool {
        self.0.starts_with("sqlite:")
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
    fn what_the_driver_would_refuse_is_refused_without_a_database() {
        for (url, reason) in [
            ("postgres://me:sesame@db:foo/d", "invalid port number"),
            ("postgres://me:sesame@db/d?sslmode=tight", "tight"),
            ("sqlite:kept.db?mode=none", "none"),
        ] {
            let error = url.parse::<StoreUrl>().unwrap_err().to_string();
            assert!(error.contains("is not the address of a database: "), "{error}");
            assert!(error.contains(reason) && !error.contains("sesame"), "{error}");
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
