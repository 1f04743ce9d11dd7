//! Secrets of the settings: files that hold them, and settings without them.
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use slackwater_store::keyring::{EncryptionKey, KeyError, Keyring};
use slackwater_store::subscription::shown_url;
use zeroize::Zeroizing;

use crate::config::error::ConfigError;
use crate::config::secret_file::{both, read_secret};
use crate::config::{Config, StoreSettings};

/// Text that stands for a secret.
const HIDDEN: &str = "***";

/// Rights to read of other users than the owner and the group. A group may be that of a
/// deployment, whose member the service is.
const OTHERS_READ: u32 = 0o004;

/// File with a secret that each user of the machine may read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: every user of this machine can read {} (mode {mode:04o}); run chmod 600 on it", file.display())]
pub struct OpenFile {
    /// The setting that names it.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// Its mode.
    pub mode: u32,
}

impl Config {
    /// Reads the secrets that files hold.
    pub(super) fn read_secret_files(&mut self) -> Result<(), ConfigError> {
        self.admin.read_token_file()?;
        if let Some(file) = &self.store.url_file {
            let refused = |error: slackwater_store::url::StoreUrlError| {
                ConfigError::Settings(format!("store.url_file: {error}"))
            };
            self.store.url = read_secret("store.url_file", file)?.parse().map_err(refused)?;
        }
        self.store.keys = self.store.read_keys()?;
        if let Some(home_assistant) = &mut self.home_assistant {
            home_assistant.read_password_file()?;
        }
        if let Some(traces) = &mut self.telemetry.traces {
            traces.read_headers_file()?;
        }
        for (zone_id, zone) in &mut self.zones {
            if let Some(feed) = &mut zone.feed {
                feed.read_token_file(zone_id)?;
            }
        }
        for (index, subscription) in self.events.subscriptions.iter_mut().enumerate() {
            let name = format!("events.subscriptions[{index}].secret");
            let Some(file) = &subscription.secret_file else { continue };
            if subscription.secret.is_some() {
                return Err(both(&name));
            }
            let name = format!("{name}_file");
            let refused = |error: slackwater_store::signing::SecretError| {
                ConfigError::Settings(format!("{name}: {error}"))
            };
            subscription.secret = Some(read_secret(&name, file)?.parse().map_err(refused)?);
        }
        Ok(())
    }

    /// Files with secrets that each user of the machine may read, that of the settings among
    /// them if it holds a secret.
    #[must_use]
    pub fn open_files(&self, settings: Option<&Path>) -> Vec<OpenFile> {
        let of_settings = settings.filter(|_| self.holds_secrets()).map(|file| ("--config", file));
        let named = [
            ("admin.token_file", self.admin.token_file.as_deref()),
            ("store.url_file", self.store.url_file.as_deref()),
            ("store.key_file", self.store.key_file.as_deref()),
            ("admin.tls.key_file", self.admin.tls.as_ref().map(|tls| tls.key_file.as_path())),
            (
                "home_assistant.password_file",
                self.home_assistant.as_ref().and_then(|own| own.password_file.as_deref()),
            ),
            (
                "telemetry.traces.headers_file",
                self.telemetry.traces.as_ref().and_then(|own| own.headers_file.as_deref()),
            ),
        ];
        let named = named.into_iter().filter_map(|(name, file)| Some((name, file?)));
        let old = self.store.old_key_files.iter();
        let named = named.chain(old.map(|file| ("store.old_key_files", file.as_path())));
        let keys = self.grid.values().filter_map(|sender| sender.evidence_key_file.as_deref());
        let named = named.chain(keys.map(|file| ("grid.evidence_key_file", file)));
        let receivers = self.events.subscriptions.iter();
        let receivers = receivers.filter_map(|receiver| receiver.secret_file.as_deref());
        let receivers = receivers.map(|file| ("events.subscriptions.secret_file", file));
        let feeds =
            self.zones.values().filter_map(|zone| zone.feed.as_ref()?.token_file.as_deref());
        let feeds = feeds.map(|file| ("zones.feed.token_file", file));
        let all = of_settings.into_iter().chain(named).chain(receivers).chain(feeds);
        all.filter_map(|(name, file)| {
            let mode = fs::metadata(file).ok()?.mode() & 0o7777;
            let (name, file) = (name.to_owned(), file.to_owned());
            (mode & OTHERS_READ != 0).then_some(OpenFile { name, file, mode })
        })
        .collect()
    }

    /// Returns `true` if the settings themselves, not files that they name, have a secret.
    fn holds_secrets(&self) -> bool {
        let is_own = |secret: bool, file: Option<&PathBuf>| secret && file.is_none();
        let has_password = self.store.url.shown() != self.store.url.as_str();
        is_own(self.admin.token.is_some(), self.admin.token_file.as_ref())
            || is_own(has_password, self.store.url_file.as_ref())
            || self
                .events
                .subscriptions
                .iter()
                .any(|receiver| is_own(receiver.secret.is_some(), receiver.secret_file.as_ref()))
    }

    /// The settings in force as JSON, without secrets: stars stand for them. Of integrations
    /// only the type is shown, since nobody but them knows which of their settings is a secret.
    #[must_use]
    pub fn shown(&self) -> Value {
        let mut shown = serde_json::to_value(self).unwrap_or_default();
        if self.admin.token.is_some() {
            shown["admin"]["token"] = HIDDEN.into();
        }
        shown["store"]["url"] = self.store.url.shown().into();
        let receivers = shown["events"]["subscriptions"].as_array_mut();
        for receiver in receivers.into_iter().flatten().filter_map(Value::as_object_mut) {
            hide(receiver, |name| name == "secret");
            if let Some(url) = receiver.get_mut("url")
                && let Some(given) = url.as_str()
            {
                *url = shown_url(given).into();
            }
        }
        for (_, zone) in shown["zones"].as_object_mut().into_iter().flatten() {
            if let Some(url) = zone.pointer_mut("/feed/url")
                && let Some(given) = url.as_str()
            {
                *url = shown_url(given).into();
            }
        }
        for environment in shown["environments"].as_object_mut().into_iter().flatten() {
            let integrations = environment.1.get_mut("integrations").and_then(Value::as_object_mut);
            for (_, settings) in integrations.into_iter().flatten() {
                if let Some(settings) = settings.as_object_mut() {
                    hide(settings, |name| name != "type");
                }
            }
        }
        without_null(shown)
    }
}

impl StoreSettings {
    /// Reads the keys of the database.
    fn read_keys(&self) -> Result<Keyring, ConfigError> {
        let read = |name: String, file: &Path| {
            let text = Zeroizing::new(read_secret(&name, file)?);
            let refused = |error: KeyError| ConfigError::Settings(format!("{name}: {error}"));
            text.parse::<EncryptionKey>().map_err(refused)
        };
        if self.key_file.is_none() && !self.old_key_files.is_empty() {
            return Err(ConfigError::Settings(
                "store.old_key_files is set, and store.key_file is not; name the present key, too"
                    .to_owned(),
            ));
        }
        let current = self.key_file.as_ref().map(|file| read("store.key_file".to_owned(), file));
        let old = self.old_key_files.iter().enumerate();
        let old = old.map(|(index, file)| read(format!("store.old_key_files[{index}]"), file));
        Ok(Keyring::new(current.transpose()?, old.collect::<Result<Vec<_>, ConfigError>>()?))
    }
}

fn hide(table: &mut Map<String, Value>, is_secret: impl Fn(&str) -> bool) {
    let secrets = table.iter_mut().filter(|(name, value)| is_secret(name) && !value.is_null());
    secrets.for_each(|(_, value)| *value = HIDDEN.into());
}

/// A value without what is not set, which TOML cannot write.
fn without_null(value: Value) -> Value {
    match value {
        Value::Object(all) => {
            let set = all.into_iter().filter(|(_, inner)| !inner.is_null());
            set.map(|(name, inner)| (name, without_null(inner))).collect()
        }
        Value::Array(all) => all.into_iter().map(without_null).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const TOKEN: &str = "0123456789abcdefghij";
    const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn read(text: &str) -> Result<(Config, Vec<OpenFile>), String> {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str, mode: u32| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        file("token", &format!("{TOKEN}\n"), 0o640);
        file("url", "postgres://me:sesame@db/d\n", 0o600);
        file("signed", &format!("{SECRET}\n"), 0o644);
        file("key", &format!("{KEY}\n"), 0o600);
        file("old", &format!("{}\n", KEY.replacen('A', "B", 1)), 0o604);
        let text = text.replace("HERE", &folder.path().display().to_string());
        let settings = file("settings.toml", &text, 0o644);
        let config = Config::load(Some(&settings)).map_err(|error| error.to_string())?;
        let open = config.open_files(Some(&settings));
        Ok((config, open))
    }

    const RECEIVER: &str =
        "[[events.subscriptions]]\nname = \"a\"\nclient = \"c\"\nurl = \"http://h/?token=5e7am\"\n";

    #[test]
    fn secrets_are_read_from_files_and_shown_as_stars() {
        let text = format!(
            "[admin]\ntoken_file = \"HERE/token\"\n[store]\nurl_file = \"HERE/url\"\n{RECEIVER}\
             secret_file = \"HERE/signed\"\n[environments.production]\n\
             base = {{ listen = \"127.0.0.1:1\" }}\nauth = {{ listen = \"127.0.0.1:2\" }}\n\
             link = {{ listen = \"127.0.0.1:3\" }}\n\
             integrations.garage = {{ type = \"ocpp\", pin = 7391, key = \"k3y\" }}\n"
        );
        let (config, open) = read(&text).unwrap();
        assert!(config.admin.token.as_ref().unwrap().is(TOKEN));
        assert_eq!(config.store.url.as_str(), "postgres://me:sesame@db/d");
        assert_eq!(config.events.subscriptions[0].secret.as_ref().unwrap().text(), SECRET);
        let shown = config.shown();
        assert_eq!(shown["admin"]["token"], "***");
        assert_eq!(shown["store"]["url"], "postgres://me:***@db/d");
        assert_eq!(shown["events"]["subscriptions"][0]["secret"], "***");
        let garage = &shown["environments"]["production"]["integrations"]["garage"];
        assert_eq!(garage.to_string(), r#"{"key":"***","pin":"***","type":"ocpp"}"#);
        assert_eq!(shown["events"]["subscriptions"][0]["url"], "http://h/?***");
        for secret in [TOKEN, "sesame", SECRET, "7391", "k3y", "5e7am", "null"] {
            assert!(!shown.to_string().contains(secret), "{secret}");
        }
        let open: Vec<String> = open.iter().map(ToString::to_string).collect();
        assert_eq!(open.len(), 1, "{open:?}");
        assert!(open[0].starts_with("events.subscriptions.secret_file: every user"), "{open:?}");
        assert!(open[0].contains("signed (mode 0644); run chmod 600"), "{open:?}");
    }

    #[test]
    fn keys_of_the_database_are_read_and_not_shown() {
        let text = "[store]\nkey_file = \"HERE/key\"\nold_key_files = [\"HERE/old\"]";
        let (config, open) = read(text).unwrap();
        let names: Vec<&str> = open.iter().map(|open| open.name.as_str()).collect();
        assert_eq!(names, ["store.old_key_files"]);
        assert!(config.store.keys.current().is_some());
        assert!(!config.shown().to_string().contains("AAAA"));
        assert!(!format!("{config:?}").contains("AAAA"));
    }

    #[test]
    fn the_password_of_the_broker_is_read_and_not_shown() {
        let text = "[home_assistant]\nbroker = \"mqtt://b\"\nuser = \"ada\"\n\
                    user_name = \"me\"\npassword_file = \"HERE/signed\"";
        let (config, open) = read(text).unwrap();
        let names: Vec<&str> = open.iter().map(|open| open.name.as_str()).collect();
        assert_eq!(names, ["home_assistant.password_file"]);
        let settings = config.home_assistant.as_ref().unwrap();
        assert_eq!(settings.password.as_ref().unwrap().text(), SECRET);
        assert!(!config.shown().to_string().contains(SECRET));
        assert!(!format!("{config:?}").contains(SECRET));
        let missing = read(&text.replace("signed", "none")).unwrap_err();
        assert!(missing.starts_with("home_assistant.password_file: cannot read "), "{missing}");
    }

    #[test]
    fn settings_that_hold_a_secret_are_a_file_with_a_secret() {
        let names = |text: &str| -> Vec<String> {
            read(text).unwrap().1.into_iter().map(|open| open.name).collect()
        };
        assert_eq!(names(""), [""; 0]);
        assert_eq!(names("[store]\nurl = \"postgres://me@db/d\""), [""; 0]);
        assert_eq!(names("[store]\nurl = \"postgres://me:sesame@db/d\""), ["--config"]);
        assert_eq!(names(&format!("[admin]\ntoken = \"{TOKEN}\"")), ["--config"]);
        assert_eq!(names(&format!("{RECEIVER}secret = \"{SECRET}\"")), ["--config"]);
    }

    #[test]
    fn files_that_hold_no_secret_are_refused_by_the_name_of_the_setting() {
        for (text, expected) in [
            ("[store]\nurl_file = \"HERE/none\"", "store.url_file: cannot read "),
            ("[store]\nurl_file = \"HERE/token\"", "store.url_file: `01234"),
            (
                "[store]\nurl = \"sqlite:a.db\"\nurl_file = \"HERE/url\"",
                "store.url and store.url_file are both set",
            ),
            ("[store]\nkey_file = \"HERE/token\"", "store.key_file: a key is 32 bytes in base64"),
            (
                "[store]\nold_key_files = [\"HERE/key\"]",
                "store.old_key_files is set, and store.key_file is not",
            ),
            (
                "[store]\nkey_file = \"HERE/key\"\nold_key_files = [\"HERE/token\"]",
                "store.old_key_files[0]: a key is",
            ),
            (
                &format!("{RECEIVER}secret_file = \"HERE/token\""),
                "events.subscriptions[0].secret_file: a secret is whsec_",
            ),
            (
                &format!("{RECEIVER}secret = \"{SECRET}\"\nsecret_file = \"HERE/signed\""),
                "events.subscriptions[0].secret and events.subscriptions[0].secret_file are both",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
