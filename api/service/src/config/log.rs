//! Log filters: a level, or levels per module.
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{Directive, LevelFilter};

use crate::config::error::ConfigError;
use slackwater_store::trace::TRACES;

/// Crates of the service that write to the log, and libraries whose lines help operators.
const CRATES: &[&str] = &[
    "slackwater_engine",
    "slackwater_home_assistant",
    "slackwater_http",
    "slackwater_https",
    "slackwater_integration",
    "slackwater_link",
    "slackwater_ocpp",
    "slackwater_sandbox",
    "slackwater_server",
    "slackwater_service",
    "slackwater_store",
    "slackwater_sunspec",
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
/// Crates of integrations are not known here. They may be named beside a level or a crate of the
/// service; [`unknown_crates`] lists them.
///
/// # Errors
///
/// [`ConfigError::Log`] when the text is empty or not understood, when a word in it is neither a
/// level nor a crate, and when it would silence the service because it names no crate of it.
pub fn log_filter(given: &str) -> Result<EnvFilter, ConfigError> {
    let refused = |reason: String| ConfigError::Log { given: given.to_owned(), reason };
    if given.trim().is_empty() {
        return Err(refused("it is empty".to_owned()));
    }
    let filter = EnvFilter::try_new(given).map_err(|error| refused(error.to_string()))?;
    // Spans of traces are not for the log, whose lines have the identifier of the request.
    let no_traces = format!("{TRACES}=off").parse::<Directive>();
    let filter = filter.add_directive(no_traces.map_err(|error| refused(error.to_string()))?);
    let is_unknown = |directive: &&str| crate_of(directive).is_some_and(|name| !is_known(name));
    if let Some(word) = directives(given).filter(is_unknown).find(|word| !word.contains('=')) {
        let levels = "one of error, warn, info, debug, trace, off";
        return Err(refused(format!("`{word}` is not a level; {levels}")));
    }
    if directives(given).all(|directive| is_unknown(&directive)) {
        let reason = "it names no crate of the service, whose lines would be lost";
        return Err(refused(format!("{reason}; add a level, as in info,{}", given.trim())));
    }
    Ok(filter)
}

/// Crates in a log filter that are not of the service: those of integrations, or misspelt.
#[must_use]
pub fn unknown_crates(given: &str) -> Vec<&str> {
    directives(given).filter_map(crate_of).filter(|name| !is_known(name)).collect()
}

fn is_known(name: &str) -> bool {
    CRATES.contains(&name)
}

fn directives(given: &str) -> impl Iterator<Item = &str> {
    given.split(',').map(str::trim).filter(|directive| !directive.is_empty())
}

/// Crate whose level a directive sets; `None` for a general level and for a filter of spans.
fn crate_of(directive: &str) -> Option<&str> {
    let target = directive.split(['=', '[']).next().unwrap_or_default();
    let is_level = target == directive && target.parse::<LevelFilter>().is_ok();
    let name = target.split("::").next().unwrap_or_default();
    (!is_level && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn log_filters_are_understood_or_refused() {
        for good in [
            "info",
            "OFF",
            "warn,slackwater_http=debug",
            "info,sqlx::query=warn",
            "slackwater_http",
            "info,fjord_integration=debug",
            "slackwater_http=info,fjord_integration::calls=debug",
        ] {
            assert!(log_filter(good).is_ok(), "{good}");
        }
        for (bad, reason) in [
            ("", "it is empty"),
            ("slackwater_http=loud", "is not a log filter"),
            ("verbose", "`verbose` is not a level; one of error, warn"),
            ("info,louder", "`louder` is not a level"),
            ("slackwatr_api=debug", "add a level, as in info,slackwatr_api=debug"),
        ] {
            let error = log_filter(bad).unwrap_err().to_string();
            assert!(error.contains("is not a log filter") && error.contains(reason), "{error}");
        }
    }

    #[test]
    fn spans_of_traces_are_not_in_the_log() {
        for given in ["trace", "info,slackwater_service=trace"] {
            let lines = tracing_subscriber::fmt().with_env_filter(log_filter(given).unwrap());
            tracing::subscriber::with_default(lines.with_writer(std::io::sink).finish(), || {
                assert!(tracing::info_span!(target: TRACES, "request").is_disabled());
                assert!(!tracing::info_span!("request").is_disabled());
            });
        }
    }

    #[test]
    fn the_crate_of_an_integration_logs_at_its_level() {
        let given = "warn,fjord_integration=debug";
        assert_eq!(unknown_crates(given), ["fjord_integration"]);
        assert_eq!(unknown_crates("info,sqlx::query=warn,[span]=debug"), [""; 0]);
        let lines = tracing_subscriber::fmt().with_env_filter(log_filter(given).unwrap());
        tracing::subscriber::with_default(lines.with_writer(std::io::sink).finish(), || {
            assert!(tracing::enabled!(target: "fjord_integration::calls", Level::DEBUG));
            assert!(!tracing::enabled!(target: "fjord_integration::calls", Level::TRACE));
            assert!(!tracing::enabled!(target: "other_integration", Level::INFO));
            assert!(tracing::enabled!(target: "other_integration", Level::WARN));
        });
    }
}
