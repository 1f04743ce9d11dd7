//! Scopes on the wire: a kind of device and a permission in one word.
use std::collections::BTreeSet;

use slackwater_control::device::scope::{DeviceKind, Granted, Permission};

/// Scopes of the oldest version. What they grant follows from their names: those
/// that control or charge grant control, all grant reading (SCOPE-16).
const OLD: [(&str, Option<DeviceKind>, &[Permission]); 16] = {
    use DeviceKind::{Charger, Hvac, Vehicle};
    use Permission::{ControlCharging, ControlMode, ReadData, ReadLocation};
    [
        ("offline_access", None, &[]),
        ("all", None, &Permission::ALL),
        ("vehicle:smart_charging_policy", Some(Vehicle), &[ControlCharging]),
        ("vehicle:charge_state", Some(Vehicle), &[ReadData]),
        ("vehicle:location", Some(Vehicle), &[ReadLocation]),
        ("vehicle:odometer", Some(Vehicle), &[ReadData]),
        ("vehicle:information", Some(Vehicle), &[ReadData]),
        ("control:vehicle:charging", Some(Vehicle), &[ControlCharging]),
        ("charger:charge_state", Some(Charger), &[ReadData]),
        ("charger:information", Some(Charger), &[ReadData]),
        ("control:charger:charging", Some(Charger), &[ControlCharging]),
        ("charging_location", None, &[ReadLocation]),
        ("schedule", None, &[ControlCharging]),
        ("hvac:information", Some(Hvac), &[ReadData]),
        ("control:hvac:temperature", Some(Hvac), &[ControlMode]),
        ("hvac:temperature_state", Some(Hvac), &[ReadData]),
    ]
};

/// The word for a permission on a kind of device, such as `vehicle:read:location`.
#[must_use]
pub fn scope_word(kind: DeviceKind, permission: Permission) -> String {
    format!("{}:{}", kind.as_str(), tail(permission))
}

const fn tail(permission: Permission) -> &'static str {
    match permission {
        Permission::ReadData => "read:data",
        Permission::ReadLocation => "read:location",
        Permission::ControlCharging => "control:charging",
        Permission::ControlOperationMode => "control:operation_mode",
        Permission::ControlMode => "control:mode",
        Permission::ControlPowerLimit => "control:power_limit",
    }
}

/// The words for what was granted on a device.
#[must_use]
pub fn scope_words(kind: DeviceKind, granted: &Granted) -> Vec<String> {
    let existing = kind.permissions().iter().filter(|permission| granted.contains(permission));
    existing.map(|permission| scope_word(kind, *permission)).collect()
}

/// The kind and permission of one of the fifteen words (SCOPE-02).
#[must_use]
pub fn parse_scope(given: &str) -> Option<(DeviceKind, Permission)> {
    let all = DeviceKind::ALL.into_iter();
    let mut pairs = all.flat_map(|kind| kind.permissions().iter().map(move |p| (kind, *p)));
    pairs.find(|(kind, permission)| scope_word(*kind, *permission) == given)
}

/// Permissions by kind of device; kinds that are not named have none.
pub type GrantedByKind = Vec<(DeviceKind, Granted)>;

/// Permissions that a list of words grants, in a version with old names or without.
///
/// # Errors
/// The position of a word that means nothing.
pub fn parse_scopes(given: &[String], has_old_names: bool) -> Result<GrantedByKind, usize> {
    let mut pairs = BTreeSet::new();
    for (index, text) in given.iter().enumerate() {
        let old = OLD.iter().find(|(name, ..)| has_old_names && name == text);
        match (parse_scope(text), old) {
            (Some(pair), _) => {
                pairs.insert(pair);
            }
            (None, Some((_, kind, permissions))) => pairs.extend(spread(*kind, permissions)),
            (None, None) => return Err(index),
        }
    }
    let of_kind = |kind| {
        let own = pairs.iter().filter(|(other, _)| *other == kind);
        (kind, own.map(|(_, permission)| *permission).collect::<Granted>())
    };
    Ok(DeviceKind::ALL.map(of_kind).into_iter().filter(|(_, own)| !own.is_empty()).collect())
}

/// An old name's permissions on the kinds that have them. Data can always be read.
fn spread(
    kind: Option<DeviceKind>,
    permissions: &'static [Permission],
) -> impl Iterator<Item = (DeviceKind, Permission)> {
    let kinds =
        DeviceKind::ALL.into_iter().filter(move |other| kind.is_none_or(|kind| kind == *other));
    let pairs = kinds.flat_map(move |kind| {
        let wanted = permissions.iter().chain([&Permission::ReadData]);
        wanted.filter(move |p| kind.permissions().contains(p)).map(move |p| (kind, *p))
    });
    pairs.filter(move |_| !permissions.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [&str; 15] = [
        "battery:control:operation_mode",
        "battery:read:location",
        "battery:read:data",
        "charger:control:charging",
        "charger:read:data",
        "hvac:control:mode",
        "hvac:read:data",
        "inverter:control:power_limit",
        "inverter:read:data",
        "inverter:read:location",
        "meter:read:location",
        "meter:read:data",
        "vehicle:control:charging",
        "vehicle:read:data",
        "vehicle:read:location",
    ];

    #[test]
    fn scopes_have_fifteen_words() {
        let all = DeviceKind::ALL.into_iter();
        let words: Vec<String> = all
            .flat_map(|kind| kind.permissions().iter().map(move |p| scope_word(kind, *p)))
            .collect();
        assert_eq!(words.len(), 15);
        for text in WORDS {
            let (kind, permission) = parse_scope(text).unwrap();
            assert_eq!(scope_word(kind, permission), text);
        }
        for bad in ["charger:read:location", "hvac:read:location", "meter:control:x", "", "all"] {
            assert_eq!(parse_scope(bad), None, "{bad}");
        }
    }

    #[test]
    fn old_names_are_of_the_oldest_version() {
        for (name, ..) in OLD {
            let one = [name.to_owned()];
            assert!(parse_scopes(&one, true).is_ok(), "{name}");
            assert_eq!(parse_scopes(&one, false), Err(0), "{name}");
        }
        let all = parse_scopes(&["all".to_owned()], true).unwrap();
        assert_eq!(all.len(), 6);
        for (kind, granted) in all {
            assert_eq!(granted.len(), kind.permissions().len());
        }
    }

    #[test]
    fn an_unknown_word_is_located() {
        let words = ["vehicle:read:data", "vehicle:fly"].map(str::to_owned);
        assert_eq!(parse_scopes(&words, true), Err(1));
    }
}
