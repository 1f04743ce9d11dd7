//! Permissions that a user granted to a client for a device.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use slackwater_engine::words;

words! {
    /// Something that a device's owner grants or does not.
    ///
    /// One list serves all kinds of device; [`DeviceKind::permissions`] has the fifteen pairs
    /// of kind and permission that exist (SCOPE-02 to SCOPE-09).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Permission {
        /// Reading its data; always required.
        ReadData = "read_data",
        /// Reading its coordinates.
        ReadLocation = "read_location",
        /// Starting, stopping and limiting its charging.
        ControlCharging = "control_charging",
        /// Setting a battery's operation mode.
        ControlOperationMode = "control_operation_mode",
        /// Setting a hold, or following the schedule on the device.
        ControlMode = "control_mode",
        /// Limiting an inverter.
        ControlPowerLimit = "control_power_limit",
    }
}

/// A word that is no permission.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a permission; one of {}", Permission::ALL.map(Permission::as_str).join(", "))]
pub struct PermissionError {
    /// The word as given.
    pub given: String,
}

impl Permission {
    /// The permission that a word stands for.
    ///
    /// # Errors
    /// None does.
    pub fn parse(word: &str) -> Result<Self, PermissionError> {
        let found = Self::ALL.into_iter().find(|permission| permission.as_str() == word);
        found.ok_or_else(|| PermissionError { given: word.to_string() })
    }
}

words! {
    /// A kind of device.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum DeviceKind {
        /// A home battery.
        Battery = "battery",
        /// A charger.
        Charger = "charger",
        /// A heating or cooling unit.
        Hvac = "hvac",
        /// A solar inverter.
        Inverter = "inverter",
        /// A meter.
        Meter = "meter",
        /// A vehicle.
        Vehicle = "vehicle",
    }
}

/// A word that is no kind of device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a kind of device; one of {}", DeviceKind::ALL.map(DeviceKind::as_str).join(", "))]
pub struct DeviceKindError {
    /// The word as given.
    pub given: String,
}

impl DeviceKind {
    /// The kind that a word stands for.
    ///
    /// # Errors
    /// None does.
    pub fn parse(word: &str) -> Result<Self, DeviceKindError> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        found.ok_or_else(|| DeviceKindError { given: word.to_string() })
    }

    /// The permissions that exist for this kind (SCOPE-04 to SCOPE-09).
    #[must_use]
    pub const fn permissions(self) -> &'static [Permission] {
        use Permission::{
            ControlCharging, ControlMode, ControlOperationMode, ControlPowerLimit, ReadData,
            ReadLocation,
        };
        match self {
            Self::Battery => &[ControlOperationMode, ReadLocation, ReadData],
            Self::Charger => &[ControlCharging, ReadData],
            Self::Hvac => &[ControlMode, ReadData],
            Self::Inverter => &[ControlPowerLimit, ReadData, ReadLocation],
            Self::Meter => &[ReadLocation, ReadData],
            Self::Vehicle => &[ControlCharging, ReadData, ReadLocation],
        }
    }
}

/// The permissions granted for one device.
pub type Granted = BTreeSet<Permission>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_words_of_their_data() {
        for kind in DeviceKind::ALL {
            assert_eq!(DeviceKind::parse(kind.as_str()), Ok(kind));
            let data = serde_json::to_string(&kind).unwrap();
            assert_eq!(data, format!("{:?}", kind.as_str()));
        }
        let error = DeviceKind::parse("boat").unwrap_err().to_string();
        assert!(error.starts_with("\"boat\" is not a kind of device; one of battery, "), "{error}");
    }

    #[test]
    fn fifteen_scopes_and_data_for_every_kind() {
        let kinds = [
            DeviceKind::Battery,
            DeviceKind::Charger,
            DeviceKind::Hvac,
            DeviceKind::Inverter,
            DeviceKind::Meter,
            DeviceKind::Vehicle,
        ];
        assert_eq!(kinds.iter().map(|kind| kind.permissions().len()).sum::<usize>(), 15);
        assert!(kinds.iter().all(|kind| kind.permissions().contains(&Permission::ReadData)));
        assert!(!DeviceKind::Charger.permissions().contains(&Permission::ReadLocation));
        assert!(!DeviceKind::Hvac.permissions().contains(&Permission::ReadLocation));
    }

    #[test]
    fn words_and_back() {
        for permission in Permission::ALL {
            assert_eq!(Permission::parse(permission.as_str()), Ok(permission));
        }
        assert!(Permission::parse("all").is_err());
    }
}
