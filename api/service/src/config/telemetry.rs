//! Settings of traces.
use std::collections::BTreeMap;
use std::path::PathBuf;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::error::ConfigError;
use crate::config::forms;
use crate::config::secret_file::read_secret;

/// Telemetry beyond log and metrics.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TelemetrySettings {
    /// Traces, sent to a collector of OpenTelemetry. Off without this table.
    pub traces: Option<TraceSettings>,
}

/// Traces from requests to devices, sent by OTLP (HTTP, protobuf). Without this table there are
/// none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceSettings {
    /// Address to which spans are posted, with its path.
    #[schemars(example = &"http://127.0.0.1:4318/v1/traces")]
    pub endpoint: String,
    /// A file with headers of these requests, each on a line as `Name: value`, for collectors that
    /// want a token.
    #[serde(default)]
    #[schemars(example = &"/run/secrets/otlp-headers")]
    pub headers_file: Option<PathBuf>,
    /// Share of the traces that begin here and are sent, from 0 to 1. A trace that a trusted proxy
    /// began is sent if the proxy sends its part.
    #[serde(default = "whole")]
    #[schemars(range(min = 0, max = 1), example = 0.1)]
    pub sample_ratio: f64,
    /// Attributes of the service on all its spans, beside `service.name` and `service.version`.
    #[serde(default)]
    #[schemars(example = forms::trace_attributes())]
    pub attributes: BTreeMap<String, String>,
    /// Longest time that a request to the collector may take.
    #[serde(default = "usual_timeout")]
    #[schemars(range(min = 1))]
    pub timeout_seconds: u32,
    /// Headers of the file. Their debug form hides the values.
    #[serde(skip)]
    pub headers: HeaderMap,
}

const fn whole() -> f64 {
    1.0
}

const fn usual_timeout() -> u32 {
    10
}

impl TraceSettings {
    /// Checks what one value alone does not show.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let refused = |reason: String| Err(ConfigError::Traces(reason));
        if !is_address(&self.endpoint) {
            // Not repeated: it may hold a password.
            return refused(
                "endpoint: expected http://HOST:4318/v1/traces or the same with https, without a \
                 user name or password; secrets belong into headers_file"
                    .to_owned(),
            );
        }
        if !(0.0..=1.0).contains(&self.sample_ratio) {
            return refused(format!("sample_ratio is {}; it is from 0 to 1", self.sample_ratio));
        }
        if self.attributes.keys().any(|name| name.trim().is_empty()) {
            return refused("attributes has an empty name".to_owned());
        }
        Ok(())
    }

    /// Reads the headers of the file.
    pub(super) fn read_headers_file(&mut self) -> Result<(), ConfigError> {
        const NAME: &str = "telemetry.traces.headers_file";
        let Some(file) = &self.headers_file else { return Ok(()) };
        let text = read_secret(NAME, file)?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        for (index, line) in lines {
            let (name, value) = header_of(line).ok_or_else(|| {
                // The line is not repeated: it is a secret.
                let line = index + 1;
                ConfigError::Traces(format!(
                    "headers_file: line {line} is not a header such as Authorization: Bearer TOKEN"
                ))
            })?;
            self.headers.insert(name, value);
        }
        Ok(())
    }
}

/// Returns `true` for an address of the web that has a host and no account.
fn is_address(given: &str) -> bool {
    given.parse::<Uri>().is_ok_and(|url| {
        let is_web = matches!(url.scheme_str(), Some("http" | "https"));
        let authority = url.authority();
        is_web && authority.is_some_and(|it| !it.host().is_empty() && !it.as_str().contains('@'))
    })
}

/// Header of a line; `None` for a text that is none, and for a header that belongs to the request.
fn header_of(line: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.split_once(':')?;
    let name: HeaderName = name.trim().parse().ok()?;
    let mut value: HeaderValue = value.trim().parse().ok()?;
    value.set_sensitive(true);
    let is_free = ![CONTENT_LENGTH, CONTENT_TYPE, HOST].contains(&name);
    is_free.then_some((name, value))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::config::Config;

    fn read(traces: &str, headers: &str) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("headers"), headers).unwrap();
        let traces = traces.replace("HERE", &folder.path().display().to_string());
        fs::write(path("settings.toml"), format!("[telemetry.traces]\n{traces}")).unwrap();
        Config::load(Some(&path("settings.toml"))).map_err(|error| error.to_string())
    }

    const ENDPOINT: &str = "endpoint = \"https://collector.example.org/v1/traces\"\n";

    #[test]
    fn traces_are_off_by_default() {
        assert_eq!(Config::default().telemetry.traces, None);
        let traces = read(ENDPOINT, "").unwrap().telemetry.traces.unwrap();
        assert_eq!((traces.sample_ratio, traces.timeout_seconds), (1.0, 10));
        assert!(traces.headers.is_empty());
    }

    #[test]
    fn headers_are_read_from_a_file_and_not_shown() {
        let text = format!("{ENDPOINT}headers_file = \"HERE/headers\"");
        let config = read(&text, "Authorization: Bearer sesame\n\nX-Scope: a:b\n").unwrap();
        let headers = &config.telemetry.traces.as_ref().unwrap().headers;
        assert_eq!(headers["authorization"], "Bearer sesame");
        assert_eq!(headers["x-scope"], "a:b");
        assert!(!format!("{config:?}").contains("sesame"));
        assert!(!config.shown().to_string().contains("sesame"));
        for bad in ["sesame", "two words: sesame", "Host: sesame", "X: \u{1}"] {
            let error = read(&text, &format!("X-Scope: a\n{bad}")).unwrap_err();
            let expected = "telemetry.traces.headers_file: line 2 is not a header such as ";
            assert!(error.starts_with(expected) && !error.contains("sesame"), "{error}");
        }
    }

    #[test]
    fn values_are_refused_with_their_names() {
        for bad in ["collector:4318", "ftp://c/v1", "http://u:sesame@c/v1/traces", "/v1/traces"] {
            let error = read(&format!("endpoint = \"{bad}\""), "").unwrap_err();
            assert!(error.starts_with("telemetry.traces.endpoint: expected http://"), "{error}");
            assert!(!error.contains("sesame"), "{error}");
        }
        for (line, expected) in [
            ("sample_ratio = 1.5", "telemetry.traces.sample_ratio is 1.5; it is from 0 to 1"),
            ("sample_ratio = nan", "telemetry.traces.sample_ratio is NaN"),
            ("timeout_seconds = 0", "telemetry.traces.timeout_seconds is 0"),
            ("attributes = { \"\" = \"x\" }", "telemetry.traces.attributes has an empty name"),
        ] {
            let error = read(&format!("{ENDPOINT}{line}"), "").unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
