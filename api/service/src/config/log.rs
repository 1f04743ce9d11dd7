//! Log filters: a level, or levels per module.
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::config::error::ConfigError;

/// Crates that write to the log: ours, and libraries whose lines help operators.
const CRATES: &[&str] = &[
    "slackwater_engine",
    "slackwater_http",
    "slackwater_integration",
    "slackwater_link",
    "slackwater_sandbox",
    "slackwater_server",
    "slackwater_service",
    "slackwater_store",
    "axum",
    "figment",
    "h2",
    "hyper",
    "hyper_rustls",
    "hyper_util",
    "rustls",
    "sqlx",
    "tokio",
    "tower",
    "tower_http",
];

/// Reads a log filter: a level, or levels per module.
///
/// # Errors
///
/// [`ConfigError::Log`] when the text is empty or not understood, and when a word in it is
/// neither a level nor a module that logs: such a filter would silence everything.
pub fn log_filter(given: &str) -> Result<EnvFilter, ConfigError> {
    let refused = |reason: String| ConfigError::Log { given: given.to_owned(), reason };
    if given.trim().is_empty() {
        return Err(refused("it is empty".to_owned()));
    }
    let filter = EnvFilter::try_new(given).map_err(|error| refused(error.to_string()))?;
    for directive in given.split(',').map(str::trim).filter(|directive| !directive.is_empty()) {
        let target = directive.split(['=', '[']).next().unwrap_or_default();
        let is_bare = target == directive;
        let is_level = is_bare && target.parse::<LevelFilter>().is_ok();
        let name = target.split("::").next().unwrap_or_default();
        // A filter of spans has no target before its bracket.
        if !is_level && !name.is_empty() && !CRATES.contains(&name) {
            let reason = if is_bare {
                format!("`{target}` is no level; one of error, warn, info, debug, trace, off")
            } else {
                format!("no module `{target}` writes to the log")
            };
            return Err(refused(reason));
        }
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_filters_are_understood_or_refused() {
        for good in [
            "info",
            "OFF",
            "warn,slackwater_http=debug",
            "info,sqlx::query=warn",
            "slackwater_http",
        ] {
            assert!(log_filter(good).is_ok(), "{good}");
        }
        for (bad, reason) in [
            ("", "it is empty"),
            ("slackwater_http=loud", "is not a log filter"),
            ("verbose", "`verbose` is no level; one of error, warn"),
            ("info,louder", "`louder` is no level"),
            ("slackwatr_api=debug", "no module `slackwatr_api` writes to the log"),
        ] {
            let error = log_filter(bad).unwrap_err().to_string();
            assert!(error.contains("is not a log filter") && error.contains(reason), "{error}");
        }
    }
}
