//! Settings of Home Assistant, which is reached through a broker of MQTT.
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use http::Uri;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::config::error::ConfigError;
use crate::config::forms;
use crate::config::secret_file::read_secret;
use crate::config::text::as_text;

/// Port of a broker without TLS.
const PORT: u16 = 1883;

/// Port of a broker with TLS.
const TLS_PORT: u16 = 8883;

/// Devices of one user in Home Assistant, by its MQTT discovery. Without this table there is no
/// connection to a broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HomeAssistantSettings {
    /// Address of the broker: `mqtt://HOST`, or `mqtts://HOST` with TLS. The port is 1883, with TLS
    /// 8883, unless one is given.
    #[serde(with = "as_text")]
    #[schemars(with = "String", example = &"mqtt://homeassistant.local:1883")]
    pub broker: BrokerUrl,
    /// Name of the service's account at the broker.
    #[serde(default)]
    #[schemars(example = &"slackwater")]
    pub user_name: Option<String>,
    /// A file with the password of that account.
    #[serde(default)]
    #[schemars(example = &"/run/secrets/mqtt-password")]
    pub password_file: Option<PathBuf>,
    /// Authority that signed the broker's certificate, PEM; those of this machine if there is none.
    #[serde(default)]
    #[schemars(example = &"/etc/slackwater/broker-ca.pem")]
    pub ca_file: Option<PathBuf>,
    /// First level of the topics on which Home Assistant looks for devices, as in its own settings.
    #[serde(default = "default_prefix")]
    pub discovery_prefix: String,
    /// First level of the topics of this service. Two services at one broker need two names.
    #[serde(default = "default_name")]
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]+$"))]
    pub name: String,
    /// The client whose user is meant. It may be left out if there is only one.
    #[serde(default)]
    #[schemars(example = forms::CLIENT)]
    pub client: Option<String>,
    /// The user whose vehicles and chargers are shown.
    #[schemars(example = &"ada")]
    pub user: String,
    /// Password of the file.
    #[serde(skip)]
    pub password: Option<BrokerPassword>,
}

/// Address of a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerUrl {
    host: String,
    port: u16,
    is_encrypted: bool,
}

/// Password at a broker. Its debug form hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokerPassword(Zeroizing<String>);

fn default_prefix() -> String {
    "homeassistant".to_owned()
}

fn default_name() -> String {
    "slackwater".to_owned()
}

impl BrokerUrl {
    /// Host name or address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns `true` if the connection is encrypted by TLS.
    #[must_use]
    pub const fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }
}

impl FromStr for BrokerUrl {
    type Err = ConfigError;

    /// Reads `mqtt://HOST:PORT` or `mqtts://HOST:PORT`. A name and a password in the address are
    /// refused: settings are printed and logged.
    fn from_str(given: &str) -> Result<Self, ConfigError> {
        let refused = || ConfigError::Broker;
        let url: Uri = given.trim().trim_end_matches('/').parse().map_err(|_| refused())?;
        let is_encrypted = match url.scheme_str() {
            Some("mqtt") => false,
            Some("mqtts") => true,
            _ => return Err(refused()),
        };
        let authority = url.authority().ok_or_else(refused)?;
        let has_account = authority.as_str().contains('@');
        let is_bare = matches!(url.path(), "" | "/") && url.query().is_none();
        // An address of IPv6 has another form in a certificate than in a URL.
        let is_supported = !is_encrypted || !authority.host().starts_with('[');
        if authority.host().is_empty() || has_account || !is_bare || !is_supported {
            return Err(refused());
        }
        let port = authority.port_u16().unwrap_or(if is_encrypted { TLS_PORT } else { PORT });
        Ok(Self { host: authority.host().to_owned(), port, is_encrypted })
    }
}

impl fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_encrypted { "mqtts" } else { "mqtt" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

impl BrokerPassword {
    /// The text of the password, for a connection.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for BrokerPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrokerPassword(hidden)")
    }
}

impl HomeAssistantSettings {
    /// Reads the password from its file, if one is named.
    pub(super) fn read_password_file(&mut self) -> Result<(), ConfigError> {
        let Some(file) = &self.password_file else { return Ok(()) };
        let text = Zeroizing::new(read_secret("home_assistant.password_file", file)?);
        self.password = Some(BrokerPassword(text));
        Ok(())
    }

    /// Checks what one value alone does not show, and names that are levels of topics.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let wrong =
            |name: &str, reason: &str| Err(ConfigError::HomeAssistant(format!("{name}: {reason}")));
        if self.password_file.is_some() && self.user_name.is_none() {
            return wrong("password_file", "a password needs user_name, too");
        }
        if self.ca_file.is_some() && !self.broker.is_encrypted {
            return wrong("ca_file", "an address mqtt:// has no use for it; use mqtts://");
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if self.name.is_empty() || !self.name.chars().all(is_plain) {
            let reason = format!("{:?} is not made of A to Z, a to z, 0 to 9, _ and -", self.name);
            return wrong("name", &reason);
        }
        let levels = || self.discovery_prefix.split('/');
        if levels().any(|level| level.is_empty() || !level.chars().all(is_plain)) {
            let reason =
                format!("{:?} is not a topic such as homeassistant", self.discovery_prefix);
            return wrong("discovery_prefix", &reason);
        }
        if levels().next() == Some(self.name.as_str()) {
            return wrong("name", "discovery_prefix begins with it; the two are different");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_brokers_have_a_scheme_and_no_password() {
        for (given, shown) in [
            ("mqtt://broker", "mqtt://broker:1883"),
            (" mqtts://broker.example.org/ ", "mqtts://broker.example.org:8883"),
            ("mqtts://192.0.2.7:18883", "mqtts://192.0.2.7:18883"),
            ("mqtt://[::1]:1884", "mqtt://[::1]:1884"),
        ] {
            assert_eq!(given.parse::<BrokerUrl>().unwrap().to_string(), shown);
        }
        for bad in [
            "",
            "broker",
            "broker:1883",
            "http://broker",
            "mqtt://",
            "mqtt://me:sesame@broker",
            "mqtt://broker/topic",
            "mqtt://broker?x=1",
            "mqtts://[::1]",
        ] {
            let error = bad.parse::<BrokerUrl>().unwrap_err().to_string();
            assert!(error.contains("mqtts://HOST") && !error.contains("sesame"), "{bad}: {error}");
        }
    }

    #[test]
    fn settings_that_do_not_go_together_are_refused_by_name() {
        let check = |more: &str| {
            let text = format!(
                r#"{{"broker": "mqtt://b", "user": "ada"{}{more}}}"#,
                if more.is_empty() { "" } else { ", " }
            );
            let settings: HomeAssistantSettings = serde_json::from_str(&text).unwrap();
            settings.check().map_err(|error| error.to_string())
        };
        assert_eq!(check(""), Ok(()));
        assert_eq!(check(r#""discovery_prefix": "ha/discovery", "name": "garage_2""#), Ok(()));
        for (more, expected) in [
            (r#""password_file": "p""#, "home_assistant.password_file: a password needs user_name"),
            (r#""ca_file": "ca""#, "home_assistant.ca_file: an address mqtt:// has no use for it"),
            (r#""name": "a/b""#, r#"home_assistant.name: "a/b" is not made of A to Z"#),
            (r#""name": """#, r#"home_assistant.name: "" is not made of A to Z"#),
            (
                r##""discovery_prefix": "#""##,
                r##"home_assistant.discovery_prefix: "#" is not a topic"##,
            ),
            (r#""discovery_prefix": "a//b""#, "home_assistant.discovery_prefix: \"a//b\" is no"),
            (r#""name": "homeassistant""#, "home_assistant.name: discovery_prefix begins with it"),
        ] {
            let error = check(more).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
