//! What an operator can set. Every value is checked before anything starts.

use std::net::SocketAddr;

use tracing_subscriber::EnvFilter;

/// Why a setting cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not an address with a port.
    #[error("`{given}` is not an address and a port, such as 127.0.0.1:8080 or [::1]:8080")]
    Listen {
        /// The text that was given.
        given: String,
    },
    /// Not a log filter.
    #[error("`{given}` is not a log filter, such as info or slackwater_api=debug: {reason}")]
    Log {
        /// The text that was given.
        given: String,
        /// What the filter's parser said.
        reason: String,
    },
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
/// use slackwater_api::config::listen_address;
///
/// assert_eq!(listen_address("[::1]:8080")?.port(), 8080);
/// assert!(listen_address("localhost:8080").is_err());
/// # Ok::<(), slackwater_api::config::ConfigError>(())
/// ```
pub fn listen_address(given: &str) -> Result<SocketAddr, ConfigError> {
    given.trim().parse().map_err(|_| ConfigError::Listen { given: given.to_owned() })
}

/// Reads a log filter: a level, or levels per module.
///
/// # Errors
///
/// [`ConfigError::Log`] when the text is empty or not understood.
pub fn log_filter(given: &str) -> Result<EnvFilter, ConfigError> {
    let refused = |reason: String| ConfigError::Log { given: given.to_owned(), reason };
    if given.trim().is_empty() {
        return Err(refused("it is empty".to_owned()));
    }
    EnvFilter::try_new(given).map_err(|error| refused(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_port() {
        for good in ["127.0.0.1:8080", " 0.0.0.0:0 ", "[::]:65535"] {
            assert!(listen_address(good).is_ok(), "{good}");
        }
        for bad in
            ["", "8080", ":8080", "127.0.0.1", "127.0.0.1:65536", "localhost:8080", "::1:8080x"]
        {
            let error = listen_address(bad).unwrap_err();
            assert!(
                error.to_string().starts_with(&format!("`{bad}` is not an address")),
                "{error}"
            );
        }
    }

    #[test]
    fn log_filters_are_understood_or_refused() {
        for good in ["info", "warn,slackwater_api=debug"] {
            assert!(log_filter(good).is_ok(), "{good}");
        }
        for bad in ["", "slackwater_api=loud"] {
            let error = log_filter(bad).unwrap_err();
            assert!(error.to_string().contains("is not a log filter"), "{error}");
        }
    }
}
