//! Settings of the integration.
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;

use chrono::TimeDelta;
use serde::Deserialize;
use slackwater_control::charging_profile::supply::Supply;
use slackwater_engine::units::{Current, Voltage, amps, volts};
use slackwater_integration::profile::VendorCode;
use slackwater_integration::reading::OtherEnd;
use slackwater_integration::registry::SettingsError;

use crate::site::plan::Site;
use crate::site::settings::SiteSettings;
use crate::station::state::{Balancing, Rules};
use crate::upstream::UpstreamSettings;
use crate::vehicles::Vehicles;

/// Table of an integration of the type `ocpp`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OcppSettings {
    /// Address for charge points.
    pub listen: SocketAddr,
    /// Security profile, 0 to 3.
    pub security_profile: u8,
    /// Folder with the files of the charge points.
    pub state_folder: PathBuf,
    /// Certificate of this system and those above it, PEM.
    pub certificate_file: Option<PathBuf>,
    /// Its key, PEM.
    pub key_file: Option<PathBuf>,
    /// Authority that signs the certificates of charge points, PEM.
    pub client_ca_file: Option<PathBuf>,
    /// Code of the vendor.
    #[serde(default = "default_code")]
    pub vendor_code: VendorCode,
    /// Name for people.
    #[serde(default = "default_name")]
    pub display_name: String,
    /// Tokens that may charge; all if there is no list.
    pub tokens: Option<BTreeSet<String>>,
    /// Vehicles by an identifier that charge points report: a token, or an EVCCID.
    #[serde(default)]
    pub vehicles: BTreeMap<String, OtherEnd>,
    /// Interval of heartbeats, s.
    #[serde(default = "default_heartbeat")]
    pub heartbeat_seconds: u32,
    /// Interval of meter values during a transaction, s.
    #[serde(default = "default_meter_interval")]
    pub meter_interval_seconds: u32,
    /// Time for the reply to a request, s.
    #[serde(default = "default_call_timeout")]
    pub call_timeout_seconds: u32,
    /// Supply and limits of all charge points that have none of their own.
    #[serde(default)]
    pub charger: ChargerSettings,
    /// Supply and limits of single charge points, by identity.
    #[serde(default)]
    pub chargers: BTreeMap<String, ChargerSettings>,
    /// Central system to which this one is the charge point, for all charge points.
    pub upstream: Option<UpstreamSettings>,
    /// Upstream systems of single charge points, by identity.
    #[serde(default)]
    pub upstreams: BTreeMap<String, UpstreamSettings>,
    /// Time from the writing of a limit to its expiry, s.
    #[serde(default = "default_limit")]
    pub limit_seconds: u32,
    /// Sites, in which limits are decided together, by name.
    #[serde(default)]
    pub sites: BTreeMap<String, SiteSettings>,
    /// Interval of pings, s. After three without a sign of life the connection is closed.
    #[serde(default = "default_ping")]
    pub ping_seconds: u32,
}

/// Supply of a charge point, and its limits.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChargerSettings {
    /// Number of phases.
    pub phases: u8,
    /// Voltage from phase to neutral.
    pub voltage_volts: Voltage,
    /// Highest current of charge point and cable.
    pub current_max_amps: Current,
    /// Limit that is safe without us, on each phase.
    pub safe_current_amps: Current,
}

impl Default for ChargerSettings {
    fn default() -> Self {
        Self {
            phases: 3,
            voltage_volts: volts(230.0),
            current_max_amps: amps(16.0),
            safe_current_amps: amps(6.0),
        }
    }
}

impl ChargerSettings {
    fn check(&self, field: &str) -> Result<Supply, SettingsError> {
        let (safe, most) = (self.safe_current_amps, self.current_max_amps);
        if safe < Current::ZERO || safe > most {
            let reason = format!("{} A is outside 0 A to {} A", safe.as_amps(), most.as_amps());
            return Err(SettingsError::new(format!("{field}.safe_current_amps"), reason));
        }
        Supply::new(self.voltage_volts, self.phases)
            .map_err(|error| SettingsError::new(field, error.to_string()))
    }
}

fn default_code() -> VendorCode {
    VendorCode::parse("OCPP").expect("capitals")
}

fn default_name() -> String {
    "OCPP chargers".to_owned()
}

const fn default_heartbeat() -> u32 {
    300
}

const fn default_meter_interval() -> u32 {
    60
}

const fn default_call_timeout() -> u32 {
    30
}

const fn default_limit() -> u32 {
    300
}

const fn default_ping() -> u32 {
    60
}

/// Bounds of the settings in seconds.
const SECONDS: std::ops::RangeInclusive<u32> = 1..=86_400;

/// Security profile of the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Security {
    /// Profile 0: none. For networks that nobody else is in.
    None,
    /// Profile 1: a password.
    Password,
    /// Profile 2: a password, by TLS.
    PasswordByTls(TlsFiles),
    /// Profile 3: a certificate, by TLS.
    Certificate(TlsFiles),
}

/// Files for TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificate of this system.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Authority of the charge points, for profile 3.
    pub client_authority: Option<PathBuf>,
}

impl OcppSettings {
    /// Checks what serde cannot.
    ///
    /// # Errors
    /// A number is out of bounds, or the folder does not exist.
    pub fn check(&self) -> Result<(), SettingsError> {
        for (field, value) in [
            ("heartbeat_seconds", self.heartbeat_seconds),
            ("meter_interval_seconds", self.meter_interval_seconds),
            ("call_timeout_seconds", self.call_timeout_seconds),
            ("limit_seconds", self.limit_seconds),
            ("ping_seconds", self.ping_seconds),
        ] {
            if !SECONDS.contains(&value) {
                let (from, to) = (SECONDS.start(), SECONDS.end());
                let reason = format!("{value} s is outside {from} s to {to} s");
                return Err(SettingsError::new(field, reason));
            }
        }
        self.charger.check("charger")?;
        for (identity, charger) in &self.chargers {
            charger.check(&format!("chargers.{identity}"))?;
        }
        if let Some(upstream) = &self.upstream {
            upstream.check("upstream")?;
        }
        for (identity, upstream) in &self.upstreams {
            upstream.check(&format!("upstreams.{identity}"))?;
        }
        self.sites()?;
        Vehicles::check(&self.vehicles)?;
        if !self.state_folder.is_dir() {
            let reason = format!("{} is not a folder", self.state_folder.display());
            return Err(SettingsError::new("state_folder", reason));
        }
        Ok(())
    }

    /// Security profile with its files.
    ///
    /// # Errors
    /// There is no such profile, a file is missing, or one is given that the profile ignores.
    pub fn security(&self) -> Result<Security, SettingsError> {
        let profile = self.security_profile;
        if profile > 3 {
            return Err(SettingsError::new(
                "security_profile",
                format!("{profile} is none of 0 to 3"),
            ));
        }
        let files = [
            ("certificate_file", &self.certificate_file, profile >= 2),
            ("key_file", &self.key_file, profile >= 2),
            ("client_ca_file", &self.client_ca_file, profile == 3),
        ];
        for (field, file, is_needed) in files {
            if is_needed != file.is_some() {
                let verb = if is_needed { "needs" } else { "has no use for" };
                let reason = format!("security profile {profile} {verb} it");
                return Err(SettingsError::new(field, reason));
            }
        }
        let tls = || TlsFiles {
            certificate: self.certificate_file.clone().unwrap_or_default(),
            key: self.key_file.clone().unwrap_or_default(),
            client_authority: self.client_ca_file.clone(),
        };
        Ok(match profile {
            0 => Security::None,
            1 => Security::Password,
            2 => Security::PasswordByTls(tls()),
            _ => Security::Certificate(tls()),
        })
    }

    /// Upstream system of a charge point, if it has one.
    #[must_use]
    pub fn upstream_of(&self, identity: &str) -> Option<&UpstreamSettings> {
        self.upstreams.get(identity).or(self.upstream.as_ref())
    }

    /// Sites with their charge points.
    ///
    /// # Errors
    /// A site is wrong, or a charge point is in two of them.
    pub fn sites(&self) -> Result<Vec<Site>, SettingsError> {
        let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, site) in &self.sites {
            for identity in site.chargers.keys() {
                if let Some(other) = taken.insert(identity, name) {
                    let reason = format!("{identity} is in the site {other}, too");
                    return Err(SettingsError::new(format!("sites.{name}.chargers"), reason));
                }
            }
        }
        let check = |(name, site): (&String, &SiteSettings)| {
            let rules = site.chargers.keys().map(|identity| self.rules(identity));
            Site::check(name, site, &rules.collect::<Result<Vec<_>, _>>()?)
        };
        self.sites.iter().map(check).collect()
    }

    /// Rules for a charge point.
    ///
    /// # Errors
    /// Its supply is impossible.
    pub fn rules(&self, identity: &str) -> Result<Rules, SettingsError> {
        let charger = self.chargers.get(identity).unwrap_or(&self.charger);
        let seconds = |seconds: u32| TimeDelta::seconds(i64::from(seconds));
        let balancing = self.sites.values().find_map(|site| {
            site.chargers.get(identity).map(|charger| Balancing {
                connectors: charger.connectors,
                clock_error_max: seconds(site.clock_error_seconds),
                probes: site.probe,
            })
        });
        Ok(Rules {
            heartbeat_seconds: self.heartbeat_seconds,
            meter_interval_seconds: self.meter_interval_seconds,
            tokens: self.tokens.clone(),
            supply: charger.check("charger")?,
            current_max: charger.current_max_amps,
            safe_current: charger.safe_current_amps,
            limit_lifetime: seconds(self.limit_seconds),
            balancing,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value, json};
    use slackwater_integration::registry::Settings;

    fn read(changes: &Value) -> Result<Security, String> {
        let mut all = json!({"listen": "127.0.0.1:0", "security_profile": 1, "state_folder": "."});
        for (name, value) in changes.as_object().cloned().unwrap_or_default() {
            all[name] = value;
        }
        let values: Map<String, Value> = all.as_object().cloned().unwrap();
        let settings: OcppSettings =
            Settings::new("ocpp", values).read().map_err(|error| error.to_string())?;
        settings.check().map_err(|error| error.to_string())?;
        settings.security().map_err(|error| error.to_string())
    }

    #[test]
    fn each_wrong_setting_is_named() {
        for (changes, expected) in [
            (json!({"listen": "here"}), "listen: invalid socket address syntax"),
            (json!({"security_profile": 4}), "security_profile: 4 is none of 0 to 3"),
            (json!({"security_profile": 2}), "certificate_file: security profile 2 needs it"),
            (json!({"key_file": "k"}), "key_file: security profile 1 has no use for it"),
            (json!({"heartbeat_seconds": 0}), "heartbeat_seconds: 0 s is outside 1 s to 86400 s"),
            (
                json!({"charger": {"safe_current_amps": 20}}),
                "charger.safe_current_amps: 20 A is outside 0 A to 16 A",
            ),
            (
                json!({"chargers": {"CP-1": {"phases": 4}}}),
                "chargers.CP-1: 4 phases: a charge point has 1, 2 or 3",
            ),
            (
                json!({"sites": {"garage": {"fuse_amps": 25, "base_amps": [8, 14, 8], "chargers": {
                    "north": {}, "south": {}}}}}),
                "sites.garage.fuse_amps: 25 A on phase 2, but the base load of 14 A and the defaults \
                 (north 6 A, south 6 A) are 26 A",
            ),
            (
                json!({"sites": {"garage": {"fuse_amps": 25, "base_amps": 0, "chargers": {
                    "north": {"connectors": 5}}}}}),
                "sites.garage.fuse_amps: 25 A on phase 1, but the base load of 0 A and the defaults \
                 (north 5 × 6 A) are 30 A",
            ),
            (
                json!({"sites": {"garage": {"fuse_amps": 25, "base_amps": 0, "chargers": {
                    "north": {"phases": [1]}}}}}),
                "sites.garage.chargers.north: 1 phase is listed, and the charger has 3",
            ),
            (
                json!({"charger": {"phases": 1}, "sites": {"garage": {"fuse_amps": 25,
                    "base_amps": 0, "chargers": {"north": {}}}}}),
                "sites.garage.chargers.north: a charger of 1 phases needs its phases, such as [1]",
            ),
            (
                json!({"sites": {
                    "a": {"fuse_amps": 25, "base_amps": 0, "chargers": {"north": {}}},
                    "b": {"fuse_amps": 25, "base_amps": 0, "chargers": {"north": {}}}}}),
                "sites.b.chargers: north is in the site a, too",
            ),
            (
                json!({"sites": {"garage": {"fuse_amps": 25, "base_amps": 0, "chargers": {}}}}),
                "sites.garage.chargers: a site has at least one",
            ),
            (
                json!({"vehicles": {"04A1B2": {"vendor": "Fjord", "device": "car"}}}),
                "vehicles.04A1B2.vendor: \"Fjord\" is not a vendor code",
            ),
            (
                json!({"vehicles": {"04A1B2": {"vendor": "FJORD"}}}),
                "vehicles.04A1B2: missing field `device`",
            ),
            (
                json!({"vehicles": {" ": {"vendor": "FJORD", "device": "car"}}}),
                "vehicles. : an identifier has letters or digits",
            ),
            (json!({"state_folder": "/none"}), "state_folder: /none is not a folder"),
            (json!({"certificate": "c"}), "certificate: unknown field `certificate`"),
        ] {
            let error = read(&changes).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        assert_eq!(read(&json!({})), Ok(Security::Password));
        assert_eq!(read(&json!({"security_profile": 0})), Ok(Security::None));
    }
}
