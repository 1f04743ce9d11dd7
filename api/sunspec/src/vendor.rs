//! The integration: inverters and batteries as the service knows them.
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, Utc};
use sha2::{Digest, Sha256};
use slackwater_control::device::capability::Capabilities;
use slackwater_control::device::command::Command;
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::policy::flex::ReserveRule;
use slackwater_engine::units::{Energy, kw};
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::{Health, Profile, VendorHealth};
use slackwater_integration::reading::{
    BatteryFacts, Counters, Facts, InverterFacts, InverterInformation, Reading,
};
use slackwater_integration::registry::{Settings, SettingsError};
use slackwater_integration::vendor::{Connection, Linked, LogIn, Login, Metered, Offer, Vendor};
use subtle::ConstantTimeEq;

use crate::edge::line::Line;
use crate::map::facts::DeviceFacts;
use crate::settings::{DeviceSettings, KINDS, SunSpecSettings};

/// Start of the connection of an owner.
const CONNECTION: &str = "owner ";

/// Devices at addresses of the settings.
pub struct SunSpec {
    profile: Arc<Profile>,
    /// SHA-256 of the passwords, by owner.
    passwords: BTreeMap<String, [u8; 32]>,
    /// Ways to the devices, by name.
    lines: BTreeMap<String, Line>,
}

/// Opens the integration with its settings. No device is called.
///
/// # Errors
/// A setting is missing or wrong, or a file is not readable.
pub fn open(settings: &Settings) -> Result<Arc<dyn Vendor>, SettingsError> {
    Ok(Arc::new(SunSpec::open(&settings.read()?)?))
}

fn digest(password: &str) -> [u8; 32] {
    Sha256::digest(password.as_bytes()).into()
}

impl SunSpec {
    /// Opens the integration.
    ///
    /// # Errors
    /// A setting is wrong, or a file is not readable.
    pub fn open(settings: &SunSpecSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        let profile = Profile {
            code: settings.vendor_code.clone(),
            display_name: settings.display_name.clone(),
            portal_name: settings.display_name.clone(),
            kinds: KINDS.to_vec(),
            reserve: ReserveRule::default(),
        };
        let passwords = settings.read_passwords()?.into_iter();
        let patience = Duration::from_secs(settings.timeout_seconds.into());
        let line = |(name, device): (&String, &DeviceSettings)| {
            (name.clone(), Line::new(device.clone(), patience, settings.revert_seconds))
        };
        Ok(Self {
            profile: Arc::new(profile),
            passwords: passwords.map(|(user, password)| (user, digest(&password))).collect(),
            lines: settings.devices.iter().map(line).collect(),
        })
    }

    /// Owner of a connection.
    fn find_user<'a>(&self, connection: &'a Connection) -> Result<&'a str, VendorError> {
        let user = connection.secret().strip_prefix(CONNECTION);
        let user = user.filter(|user| self.passwords.contains_key(*user));
        user.ok_or(VendorError::Unauthorised)
    }

    /// Name of a device and the way to it, and the kind that it is linked as.
    fn find_device(&self, linked: &Linked) -> Result<(&str, &Line, DeviceKind), VendorError> {
        let user = self.find_user(&linked.connection)?;
        let found = linked.device.rsplit_once('/').and_then(|(name, kind)| {
            let (name, line) = self.lines.get_key_value(name)?;
            let kind = DeviceKind::parse(kind).ok()?;
            let is_own = line.device().user == user && line.device().kinds.contains(&kind);
            is_own.then_some((name.as_str(), line, kind))
        });
        found.ok_or(VendorError::NoSuchDevice)
    }
}

fn list_offers<'a>(name: &'a str, device: &'a DeviceSettings) -> impl Iterator<Item = Offer> + 'a {
    device.kinds.iter().map(move |kind| Offer {
        device: format!("{name}/{}", kind.as_str()),
        kind: *kind,
        name: device.name.as_deref().unwrap_or(name).to_owned(),
    })
}

/// Reading of a device as an inverter, which has to tell its power.
fn read_inverter(
    read: DeviceFacts,
    name: &str,
    installed_on: NaiveDate,
    now: DateTime<Utc>,
) -> Result<(Facts, Option<Counters>), VendorError> {
    let detail = || "its models tell no power".to_owned();
    let power = read.given_power.ok_or_else(|| VendorError::Refused { detail: detail() })?;
    let counters =
        read.given.map(|exported| Counters { imported: read.taken.unwrap_or_default(), exported });
    let facts = InverterFacts {
        information: InverterInformation {
            brand: read.make.unwrap_or_default(),
            model: read.model.unwrap_or_default(),
            site_name: name.to_owned(),
            installed_on,
        },
        // Many take a few watts at night, which is no production.
        production: power.max(kw(0.0)),
        is_producing: power > kw(0.0),
        production_at: now,
        position: None,
    };
    Ok((Facts::Inverter(Box::new(facts)), counters))
}

/// Reading of a device as a battery. The power at its AC side is that of the battery only where the
/// device is no inverter of solar panels, too.
fn read_battery(read: &DeviceFacts, is_alone: bool) -> (Facts, Option<Counters>) {
    let own = |energy: Option<Energy>| energy.filter(|_| is_alone);
    let counters = own(read.taken).zip(own(read.given));
    let facts = BatteryFacts {
        mode: read.operation_mode(),
        soc: read.soc,
        capacity: read.capacity,
        power: read.given_power.filter(|_| is_alone).map(|given| -given),
        position: None,
    };
    let counters = counters.map(|(imported, exported)| Counters { imported, exported });
    (Facts::Battery(Box::new(facts)), counters)
}

#[async_trait]
impl Vendor for SunSpec {
    fn profile(&self) -> Arc<Profile> {
        Arc::clone(&self.profile)
    }

    fn health(&self, _now: DateTime<Utc>) -> VendorHealth {
        // There is nothing between the service and the devices.
        VendorHealth { devices: Health::Ready, linking: Health::Ready }
    }

    async fn log_in(&self, login: &Login, _now: DateTime<Utc>) -> Result<LogIn, VendorError> {
        let user = login.user_name.trim();
        let given = digest(&login.password);
        // An unknown owner takes as long as a wrong password.
        let kept = self.passwords.get(user);
        let is_right: bool = given.ct_eq(kept.unwrap_or(&[0; 32])).into();
        if !is_right || kept.is_none() {
            return Err(VendorError::Unauthorised);
        }
        let own = self.lines.iter().filter(|(_, line)| line.device().user == user);
        let offers = own.flat_map(|(name, line)| list_offers(name, line.device())).collect();
        let connection = Connection::new(format!("{CONNECTION}{user}"));
        Ok(LogIn::Connected { connection, offers })
    }

    async fn poll(&self, device: &Linked, now: DateTime<Utc>) -> Result<Reading, VendorError> {
        let (name, line, kind) = self.find_device(device)?;
        let read = line.read(kind == DeviceKind::Battery, now).await?;
        let own = line.device();
        let (facts, counters) = match (kind, own.installed_on) {
            (DeviceKind::Inverter, Some(installed_on)) => {
                let name = own.name.as_deref().unwrap_or(name);
                read_inverter(read, name, installed_on, now)?
            }
            _ => read_battery(&read, own.kinds == [DeviceKind::Battery]),
        };
        let capabilities = Capabilities::new();
        Ok(Reading { at: now, is_reachable: Some(true), capabilities, counters, facts })
    }

    async fn send(
        &self,
        device: &Linked,
        command: &Command,
        now: DateTime<Utc>,
    ) -> Result<(), VendorError> {
        let (_, line, kind) = self.find_device(device)?;
        if let (DeviceKind::Battery, Command::OperationMode(mode)) = (kind, command) {
            return line.order(*mode, now).await;
        }
        let detail = "the device has no such command".to_owned();
        Err(VendorError::PreconditionLost { detail })
    }

    async fn metered(
        &self,
        device: &Linked,
        _from: DateTime<Utc>,
        _to: DateTime<Utc>,
        _now: DateTime<Utc>,
    ) -> Result<Vec<Metered>, VendorError> {
        self.find_device(device)?;
        // The service computes energy from the counters of two readings.
        Ok(Vec::new())
    }
}

impl fmt::Debug for SunSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let devices: Vec<&String> = self.lines.keys().collect();
        f.debug_struct("SunSpec").field("devices", &devices).finish_non_exhaustive()
    }
}
