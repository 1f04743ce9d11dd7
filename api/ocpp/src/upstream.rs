//! Settings of the upstream system: a central system to which this one is the charge point.
use std::path::PathBuf;

use serde::Deserialize;
use slackwater_integration::registry::SettingsError;
use tokio_tungstenite::tungstenite::http::Uri;

/// Settings of an upstream system.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamSettings {
    /// Address: `ws://` or `wss://`, to which the identity is appended.
    pub address: String,
    /// Identity there, if it is not the charge point's own.
    pub identity: Option<String>,
    /// File with the password, for Basic authentication. In the names of files `{identity}` is the
    /// identity of the charge point, as in the names of the files of this system.
    pub password_file: Option<PathBuf>,
    /// Certificate of the charge point and those above it, PEM.
    pub certificate_file: Option<PathBuf>,
    /// Its key, PEM.
    pub key_file: Option<PathBuf>,
    /// Authority of the upstream system, PEM; those of this machine if there is none.
    pub ca_file: Option<PathBuf>,
    /// Token (RFID card) with which this system starts transactions, as the upstream system knows it.
    pub token: Option<String>,
}

impl UpstreamSettings {
    /// Checks what serde cannot, with `field` as the name of the table.
    ///
    /// # Errors
    /// The address is none, or files are given that do not go with it.
    pub fn check(&self, field: &str) -> Result<(), SettingsError> {
        let wrong =
            |name: &str, reason: String| Err(SettingsError::new(format!("{field}.{name}"), reason));
        let uri = self.address.parse::<Uri>().ok().filter(|uri| uri.host().is_some());
        let is_encrypted = match uri.as_ref().and_then(Uri::scheme_str) {
            Some("ws") => false,
            Some("wss") => true,
            _ => {
                let reason =
                    format!("{:?} is not an address ws://HOST or wss://HOST", self.address);
                return wrong("address", reason);
            }
        };
        if uri.is_some_and(|uri| uri.query().is_some()) {
            return wrong("address", "the identity cannot be appended to a query".to_owned());
        }
        let files = [
            ("certificate_file", &self.certificate_file),
            ("key_file", &self.key_file),
            ("ca_file", &self.ca_file),
        ];
        if let Some((name, _)) = files.iter().find(|(_, file)| file.is_some() && !is_encrypted) {
            return wrong(name, "an address ws:// has no use for it; use wss://".to_owned());
        }
        match (&self.certificate_file, &self.key_file) {
            (Some(_), None) => wrong("key_file", "a certificate needs it".to_owned()),
            (None, Some(_)) => wrong("certificate_file", "a key needs it".to_owned()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn settings(changes: &Value) -> UpstreamSettings {
        let mut all = json!({"address": "wss://billing.example/ocpp/"});
        for (name, value) in changes.as_object().cloned().unwrap_or_default() {
            all[name] = value;
        }
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn each_wrong_setting_is_named() {
        for (changes, expected) in [
            (
                json!({"address": "billing.example"}),
                "upstream.address: \"billing.example\" is not an address ws://HOST or wss://HOST",
            ),
            (
                json!({"address": "wss://billing.example/?id="}),
                "upstream.address: the identity cannot be appended to a query",
            ),
            (
                json!({"address": "ws://billing.example", "ca_file": "ca"}),
                "upstream.ca_file: an address ws:// has no use for it; use wss://",
            ),
            (json!({"certificate_file": "c"}), "upstream.key_file: a certificate needs it"),
            (json!({"key_file": "k"}), "upstream.certificate_file: a key needs it"),
        ] {
            let error = settings(&changes).check("upstream").unwrap_err().to_string();
            assert_eq!(error, expected);
        }
        assert!(settings(&json!({})).check("upstream").is_ok());
    }
}
