//! Settings from a file and from variables of the environment.
//!
//! Errors name the setting as an operator writes it, and the file or variable that it
//! came from. They do not repeat a text of the wrong type: it may be a secret.
use std::env;
use std::path::Path;

use figment::error::{Actual, Kind};
use figment::providers::{Env, Format, Serialized, Toml};
use figment::value::Value;
use figment::{Error, Figment, Source};

use crate::config::Config;
use crate::config::error::ConfigError;
use crate::config::secret_file::both;
use slackwater_integration::registry::describe_expected;

/// Prefix of variables that are settings or arguments.
const PREFIX: &str = "SLACKWATER_";

/// Separator between a section and a setting in the name of a variable.
const SEPARATOR: &str = "__";

/// Variables without a section that are arguments, not settings of the file.
const ARGUMENTS: &[&str] = &["admin_token", "admin_url", "config", "listen", "log"];

/// The settings of a file and of the environment, over the defaults.
pub(super) fn read(file: Option<&Path>) -> Result<Config, ConfigError> {
    let mut given = Figment::new();
    if let Some(file) = file {
        given = given.merge(Toml::file_exact(file));
    }
    let sections = sections();
    let variables = Env::prefixed(PREFIX)
        .filter(move |name| is_setting(name.as_str(), &sections))
        .split(SEPARATOR);
    let given = given.merge(variables);
    let is_set = |name: &str| given.find_value(name).is_ok();
    if is_set("store.url") && is_set("store.url_file") {
        return Err(both("store.url"));
    }
    let settings = Figment::from(Serialized::defaults(defaults(&given))).merge(given);
    let refused =
        |error| ConfigError::Settings(lines_of(error, settings.find_value("").ok().as_ref()));
    settings.extract().map_err(refused)
}

/// Variables with our prefix that say nothing to this service. Kubernetes sets such
/// variables for each of its services, `SLACKWATER_API_PORT` among them.
#[must_use]
pub fn ignored_variables() -> Vec<String> {
    let sections = sections();
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unknown = |name: &str| {
        name.strip_prefix(PREFIX).is_some_and(|rest| {
            !is_setting(rest, &sections)
                && !ARGUMENTS.iter().any(|known| known.eq_ignore_ascii_case(rest))
        })
    };
    names.filter(|name| unknown(name)).collect()
}

/// Names of the sections of a settings file.
fn sections() -> Vec<String> {
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    defaults.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

/// Returns `true` if a variable, without its prefix, is a setting or a whole section.
fn is_setting(name: &str, sections: &[String]) -> bool {
    name.contains(SEPARATOR) || sections.iter().any(|section| section.eq_ignore_ascii_case(name))
}

/// The defaults below what is given: settings that name environments open no other one.
fn defaults(given: &Figment) -> Config {
    let mut defaults = Config::default();
    if let Ok(Value::Dict(_, named)) = given.find_value("environments")
        && !named.contains_key("sandbox")
    {
        defaults.environments.sandbox = None;
    }
    defaults
}

/// All errors in settings, each on a line of its own.
fn lines_of(error: Error, settings: Option<&Value>) -> String {
    let line = |error| line_of(&error, settings);
    error.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Name of a setting, such as `admin.tokens[0].sha256`: places in lists are in brackets. In the
/// `settings` a number may also be the name of one.
fn name_of_setting(path: &[String], settings: Option<&Value>) -> String {
    let (mut name, mut value) = (String::new(), settings);
    for part in path {
        match (value, part.parse::<usize>()) {
            (Some(Value::Array(_, items)), Ok(index)) => {
                name = format!("{name}[{index}]");
                value = items.get(index);
            }
            (within, _) => {
                let dot = if name.is_empty() { "" } else { "." };
                name = format!("{name}{dot}{part}");
                value = within.and_then(Value::as_dict).and_then(|table| table.get(part));
            }
        }
    }
    name
}

fn line_of(error: &Error, settings: Option<&Value>) -> String {
    let is_variable = error
        .metadata
        .as_ref()
        .is_some_and(|origin| origin.source.is_none() && origin.name.contains(PREFIX));
    let setting = if is_variable && !error.path.is_empty() {
        format!("{PREFIX}{}", error.path.join(SEPARATOR).to_uppercase())
    } else {
        name_of_setting(&error.path, settings)
    };
    let file = error.metadata.as_ref().and_then(|origin| match &origin.source {
        Some(Source::File(file)) => Some(format!("{}: ", file.display())),
        _ => None,
    });
    let colon = if setting.is_empty() { "" } else { ": " };
    format!("{}{setting}{colon}{}", file.unwrap_or_default(), reason(&error.kind))
}

fn reason(kind: &Kind) -> String {
    match kind {
        Kind::InvalidType(found, expected) => {
            format!("expected {}, found {}", describe_expected(expected), type_of(found))
        }
        Kind::InvalidValue(found, expected) => {
            format!("expected {}, found {}", describe_expected(expected), value_of(found))
        }
        Kind::UnknownField(_, known) => format!("no such setting; one of {}", known.join(", ")),
        Kind::UnknownVariant(given, known) => {
            format!("`{given}` is none of {}", known.join(", "))
        }
        Kind::ISizeOutOfRange(given) => format!("{given} is out of range"),
        Kind::USizeOutOfRange(given) => format!("{given} is out of range"),
        Kind::Message(text) => in_own_words(text.trim_end()),
        other => other.to_string(),
    }
}

/// Message of a library whose words do not say which value would do.
fn in_own_words(text: &str) -> String {
    match text.strip_prefix("failed to parse timezone: ") {
        Some(given) => {
            format!("`{}` is not a time zone, such as Europe/Oslo", given.trim_matches('\''))
        }
        None => text.to_owned(),
    }
}

/// The type of a value, without the value.
fn type_of(found: &Actual) -> String {
    let word = match found {
        Actual::Bool(_) => "true or false",
        Actual::Unsigned(_) | Actual::Signed(_) => "a whole number",
        Actual::Float(_) => "a number",
        Actual::Char(_) | Actual::Str(_) | Actual::Bytes(_) => "a text",
        Actual::Seq => "a list",
        Actual::Map => "a table",
        other => return other.to_string(),
    };
    word.to_owned()
}

/// A number as it is, and the type of anything else.
fn value_of(found: &Actual) -> String {
    match found {
        Actual::Unsigned(given) => given.to_string(),
        Actual::Signed(given) => given.to_string(),
        Actual::Float(given) => given.to_string(),
        other => type_of(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_without_a_section_are_settings_only_if_they_are_sections() {
        let sections = sections();
        for name in ["STORE__URL", "limits", "ENVIRONMENTS__SANDBOX__BASE__LISTEN"] {
            assert!(is_setting(name, &sections), "{name}");
        }
        for name in ["API_PORT", "API_SERVICE_HOST", "PORT_8080_TCP", "LISTEN", "LINK_PORT"] {
            assert!(!is_setting(name, &sections), "{name}");
        }
    }

    #[test]
    fn faults_name_the_file_the_setting_and_what_would_do() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.toml");
        let fault = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let told = read(Some(&file)).unwrap_err().to_string();
            let place = format!("{}: ", file.display());
            told.strip_prefix(&place).unwrap_or_else(|| panic!("{told}")).to_owned()
        };
        let section = fault("[stor]\nurl = \"sqlite:a.db\"\n");
        assert!(section.starts_with("stor: no such setting; one of environments, "), "{section}");
        let role = "[[admin.tokens]]\nname = \"a\"\nrole = \"write\"\n";
        assert_eq!(fault(role), "admin.tokens[0].role: `write` is none of read, operate");
        let limit = "[[plans.limits]]\nzone = \"NO1\"\npower_max_kw = 1\n";
        assert_eq!(fault(limit), "plans.limits[0]: missing field `area`");
        let budget = "[limits.clients.0.link]\nrequests = true\nseconds = 1\n";
        let told = fault(budget);
        assert!(told.starts_with("limits.clients.0.link.requests: expected"), "{told}");
        let zone = "[zones.NO1]\ncurrency = \"NOK\"\n\
                    prices = { file = \"a.csv\", time_zone = \"Europe/Osloo\" }\n";
        let told =
            "zones.NO1.prices.time_zone: `Europe/Osloo` is not a time zone, such as Europe/Oslo";
        assert_eq!(fault(zone), told);
        let absent = folder.path().join("absent.toml");
        let told = read(Some(&absent)).unwrap_err().to_string();
        let expected = format!("{}: No such file or directory (os error 2)", absent.display());
        assert_eq!(told, expected);
    }
}
