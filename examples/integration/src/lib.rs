//! Integration of devices that are described by files.
//!
//! A bridge of your own writes the latest reading of each device to `DEVICE.json`, in the form of
//! [`Reading`], and carries out the commands that are appended to `DEVICE.commands`, one JSON
//! document per line.
//!
//! ```toml
//! [environments.production.integrations.cellar]
//! type = "folder"
//! folder = "/var/lib/bridge"
//! user_name = "ada"
//! password = "a secret"
//! ```
use std::fmt;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use slackwater_control::device::command::Command;
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::policy::flex::ReserveRule;
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::{Health, Profile, VendorCode, VendorHealth};
use slackwater_integration::reading::Reading;
use slackwater_integration::registry::{Settings, SettingsError};
use slackwater_integration::vendor::{Connection, Linked, LogIn, Login, Metered, Offer, Vendor};

/// Settings of the integration.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FolderSettings {
    folder: PathBuf,
    user_name: String,
    password: String,
}

/// Devices in a folder, all of one owner.
struct Folder {
    profile: Arc<Profile>,
    settings: FolderSettings,
}

/// Opens the integration with its settings.
///
/// # Errors
/// A setting is missing or unknown, or the folder does not exist.
pub fn open(settings: &Settings) -> Result<Arc<dyn Vendor>, SettingsError> {
    let settings: FolderSettings = settings.read()?;
    if !settings.folder.is_dir() {
        let reason = format!("{} is not a folder", settings.folder.display());
        return Err(SettingsError::new("folder", reason));
    }
    let code = VendorCode::parse("FOLDER")
        .map_err(|error| SettingsError { field: None, reason: error.to_string() })?;
    let profile = Profile {
        code,
        display_name: "Folder".to_owned(),
        portal_name: "Folder".to_owned(),
        kinds: DeviceKind::ALL.to_vec(),
        reserve: ReserveRule::default(),
    };
    Ok(Arc::new(Folder { profile: Arc::new(profile), settings }))
}

impl Folder {
    fn check(&self, connection: &Connection) -> Result<(), VendorError> {
        if *connection == self.connection() { Ok(()) } else { Err(VendorError::Unauthorised) }
    }

    /// The log-in of a real manufacturer yields a token, which calls carry. Files need none.
    fn connection(&self) -> Connection {
        Connection::new(format!("owner {}", self.settings.user_name))
    }

    fn reading(&self, device: &str) -> Result<Reading, VendorError> {
        // An identifier is a name of a file, and leads nowhere else.
        if device.contains(['/', '\\', '.']) {
            return Err(VendorError::NoSuchDevice);
        }
        match fs::read_to_string(self.file(device, "json")) {
            // A bridge in the middle of writing: the next poll reads the whole.
            Ok(text) => serde_json::from_str(&text).map_err(|_| VendorError::Unreachable),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(VendorError::NoSuchDevice),
            Err(_) => Err(VendorError::Outage),
        }
    }

    fn file(&self, device: &str, ending: &str) -> PathBuf {
        self.settings.folder.join(format!("{device}.{ending}"))
    }

    fn offers(&self) -> Result<Vec<Offer>, VendorError> {
        let entries = fs::read_dir(&self.settings.folder).map_err(|_| VendorError::Outage)?;
        let files = entries.flatten().map(|entry| entry.path());
        let mut devices: Vec<String> = files.filter_map(|file| device_of(&file)).collect();
        devices.sort();
        let offer = |device: String| {
            let kind = self.reading(&device).ok()?.facts.kind();
            Some(Offer { name: device.clone(), device, kind })
        };
        Ok(devices.into_iter().filter_map(offer).collect())
    }
}

fn device_of(file: &Path) -> Option<String> {
    let is_reading = file.extension().is_some_and(|ending| ending == "json");
    Some(file.file_stem()?.to_str()?.to_owned()).filter(|_| is_reading)
}

#[async_trait]
impl Vendor for Folder {
    fn profile(&self) -> Arc<Profile> {
        Arc::clone(&self.profile)
    }

    fn health(&self, _now: DateTime<Utc>) -> VendorHealth {
        let is_there = self.settings.folder.is_dir();
        let devices = if is_there { Health::Ready } else { Health::Outage };
        VendorHealth { devices, linking: devices }
    }

    async fn log_in(&self, login: &Login, _now: DateTime<Utc>) -> Result<LogIn, VendorError> {
        let FolderSettings { user_name, password, .. } = &self.settings;
        if (&login.user_name, &login.password) != (user_name, password) {
            return Err(VendorError::Unauthorised);
        }
        Ok(LogIn::Connected { connection: self.connection(), offers: self.offers()? })
    }

    async fn poll(&self, device: &Linked, _now: DateTime<Utc>) -> Result<Reading, VendorError> {
        self.check(&device.connection)?;
        self.reading(&device.device)
    }

    async fn send(
        &self,
        device: &Linked,
        command: &Command,
        _now: DateTime<Utc>,
    ) -> Result<(), VendorError> {
        self.check(&device.connection)?;
        self.reading(&device.device)?;
        let line = serde_json::to_string(command).map_err(|_| VendorError::Outage)? + "\n";
        let file = self.file(&device.device, "commands");
        let mut file = fs::OpenOptions::new().append(true).create(true).open(file);
        let written = file.as_mut().map(|file| file.write_all(line.as_bytes()));
        written.is_ok_and(|written| written.is_ok()).then_some(()).ok_or(VendorError::Outage)
    }

    async fn metered(
        &self,
        device: &Linked,
        _from: DateTime<Utc>,
        _to: DateTime<Utc>,
        _now: DateTime<Utc>,
    ) -> Result<Vec<Metered>, VendorError> {
        self.check(&device.connection)?;
        // The service computes energy from the counters of two readings.
        Ok(Vec::new())
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folder").field("folder", &self.settings.folder).finish_non_exhaustive()
    }
}
