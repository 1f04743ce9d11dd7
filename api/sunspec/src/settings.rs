//! Settings of the integration.
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use chrono::NaiveDate;
use serde::Deserialize;
use slackwater_control::device::scope::DeviceKind;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::registry::SettingsError;

/// Table of an integration of the type `sunspec`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SunSpecSettings {
    /// Owners, by the name with which they log in.
    pub users: BTreeMap<String, UserSettings>,
    /// Devices, by a name of the operator's choice.
    pub devices: BTreeMap<String, DeviceSettings>,
    /// Code of the vendor.
    #[serde(default = "default_code")]
    pub vendor_code: VendorCode,
    /// Name for people.
    #[serde(default = "default_name")]
    pub display_name: String,
    /// Time to connect, and for each answer, s.
    #[serde(default = "default_timeout")]
    pub timeout_seconds: u16,
    /// Time after which a battery returns to its own control without the service, s.
    #[serde(default = "default_revert")]
    pub revert_seconds: u16,
}

/// Table of an owner.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserSettings {
    /// File with the password for linking.
    pub password_file: PathBuf,
}

/// Table of a device.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSettings {
    /// Host and port.
    pub address: String,
    /// Unit identifier of Modbus.
    #[serde(default = "default_unit")]
    pub unit_id: u8,
    /// Owner.
    pub user: String,
    /// Name for its owner; the one of the table if there is none.
    pub name: Option<String>,
    /// Kinds of device that it is: `inverter`, `battery` or both.
    pub kinds: Vec<DeviceKind>,
    /// Day on which an inverter was put up.
    pub installed_on: Option<NaiveDate>,
    /// Serial number, if another device at the address is to be refused.
    pub serial_number: Option<String>,
}

fn default_code() -> VendorCode {
    // A constant; a test parses it.
    VendorCode::parse("SUNSPEC").expect("capitals are a code")
}

fn default_name() -> String {
    "SunSpec".to_owned()
}

const fn default_timeout() -> u16 {
    5
}

const fn default_revert() -> u16 {
    1800
}

const fn default_unit() -> u8 {
    1
}

/// Bounds of the time for an answer, s. A poll has some twenty requests, and a minute.
const TIMEOUT: std::ops::RangeInclusive<u16> = 1..=30;

/// Bounds of the time after which a battery is on its own, s. Polls are nine minutes apart at most
/// and one of two may fail; 65,535 stands for a timer that is not implemented.
const REVERT: std::ops::RangeInclusive<u16> = 1200..=65_534;

/// Kinds that a device may be.
pub const KINDS: [DeviceKind; 2] = [DeviceKind::Inverter, DeviceKind::Battery];

impl SunSpecSettings {
    /// Checks what serde cannot.
    ///
    /// # Errors
    /// A number is out of bounds, a device is incomplete, or a file is not readable.
    pub fn check(&self) -> Result<(), SettingsError> {
        for (field, value, bounds) in [
            ("timeout_seconds", self.timeout_seconds, TIMEOUT),
            ("revert_seconds", self.revert_seconds, REVERT),
        ] {
            if !bounds.contains(&value) {
                let (from, to) = (bounds.start(), bounds.end());
                let reason = format!("{value} s is outside {from} s to {to} s");
                return Err(SettingsError::new(field, reason));
            }
        }
        let mut taken: BTreeMap<(&str, u8), &str> = BTreeMap::new();
        for (name, device) in &self.devices {
            device.check(&format!("devices.{name}"), &self.users)?;
            if let Some(other) = taken.insert((&device.address, device.unit_id), name) {
                let reason = format!("the device {other} has this address and unit_id, too");
                return Err(SettingsError::new(format!("devices.{name}.address"), reason));
            }
        }
        self.read_passwords().map(|_| ())
    }

    /// Passwords of the owners.
    ///
    /// # Errors
    /// A file is not readable, or empty.
    pub fn read_passwords(&self) -> Result<BTreeMap<String, String>, SettingsError> {
        let read = |(user, own): (&String, &UserSettings)| {
            let refuse = |reason| SettingsError::new(format!("users.{user}.password_file"), reason);
            let file = own.password_file.display();
            let text = fs::read_to_string(&own.password_file)
                .map_err(|error| refuse(format!("{file}: {error}")))?;
            let password = text.trim_end_matches(['\r', '\n']);
            if password.is_empty() {
                return Err(refuse(format!("{file} is empty")));
            }
            Ok((user.clone(), password.to_owned()))
        };
        self.users.iter().map(read).collect()
    }
}

impl DeviceSettings {
    fn check(
        &self,
        place: &str,
        users: &BTreeMap<String, UserSettings>,
    ) -> Result<(), SettingsError> {
        let refuse = |field: &str, reason: String| {
            Err(SettingsError::new(format!("{place}.{field}"), reason))
        };
        let port = self.address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        if port.is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
            return refuse("address", format!("{:?} is not a host:port", self.address));
        }
        // 0 is for all devices at once.
        if self.unit_id == 0 {
            return refuse("unit_id", "0 is not a device; 1 to 255 are".to_owned());
        }
        if !users.contains_key(&self.user) {
            return refuse("user", format!("there is no user {:?} in users", self.user));
        }
        let is_double = self.kinds.len() == 2 && self.kinds[0] == self.kinds[1];
        let is_known = self.kinds.iter().all(|kind| KINDS.contains(kind));
        if self.kinds.is_empty() || self.kinds.len() > 2 || is_double || !is_known {
            return refuse("kinds", "expected inverter, battery or both".to_owned());
        }
        if self.kinds.contains(&DeviceKind::Inverter) && self.installed_on.is_none() {
            return refuse("installed_on", "an inverter needs it".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use slackwater_integration::registry::Settings;

    use super::*;

    /// Message about settings with one member of the device, or of the table, changed.
    fn refusal(member: &str, value: Value) -> String {
        let folder = tempfile::tempdir().unwrap();
        let password_file = folder.path().join("password");
        fs::write(&password_file, "sesame\n").unwrap();
        let mut table = json!({
            "type": "sunspec",
            "users": {"ada": {"password_file": password_file}},
            "devices": {"roof": {
                "address": "192.0.2.7:502", "user": "ada", "kinds": ["inverter"],
                "installed_on": "2024-05-01",
            }},
        });
        match member.strip_prefix("devices.roof.") {
            Some(own) => table["devices"]["roof"][own] = value,
            None => table[member] = value,
        }
        let settings: Settings = serde_json::from_value(table).unwrap();
        let checked = settings.read::<SunSpecSettings>().and_then(|own| own.check());
        checked.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn usual_settings_can_be_used() {
        assert_eq!(refusal("timeout_seconds", json!(5)), "");
        assert_eq!(refusal("devices.roof.kinds", json!(["battery", "inverter"])), "");
        assert_eq!(refusal("devices.roof.address", json!("[2001:db8::7]:1502")), "");
    }

    #[test]
    fn a_wrong_setting_is_named() {
        let is = |member, value, expected| assert_eq!(refusal(member, value), expected);
        is("timeout_seconds", json!(31), "timeout_seconds: 31 s is outside 1 s to 30 s");
        is("revert_seconds", json!(600), "revert_seconds: 600 s is outside 1200 s to 65534 s");
        let member = "devices.roof.address";
        is(member, json!("roof"), "devices.roof.address: \"roof\" is not a host:port");
        is(member, json!(":502"), "devices.roof.address: \":502\" is not a host:port");
        is(
            "devices.roof.unit_id",
            json!(0),
            "devices.roof.unit_id: 0 is not a device; 1 to 255 are",
        );
        is("devices.roof.user", json!("bo"), "devices.roof.user: there is no user \"bo\" in users");
        for kinds in [json!([]), json!(["meter"]), json!(["battery", "battery"])] {
            is(
                "devices.roof.kinds",
                kinds,
                "devices.roof.kinds: expected inverter, battery or both",
            );
        }
        let member = "devices.roof.installed_on";
        is(member, Value::Null, "devices.roof.installed_on: an inverter needs it");
        let missing = json!({"ada": {"password_file": "/nowhere/password"}});
        let text = refusal("users", missing);
        assert!(text.starts_with("users.ada.password_file: /nowhere/password: "), "{text}");
        let again = json!({
            "a": {"address": "h:502", "user": "ada", "kinds": ["battery"]},
            "b": {"address": "h:502", "user": "ada", "kinds": ["battery"]},
        });
        let text = "devices.b.address: the device a has this address and unit_id, too";
        is("devices", again, text);
    }
}
