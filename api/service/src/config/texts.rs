//! Texts of the Link pages: their names, their gaps, and the file of a language.
//!
//! Each language is a file `languages/CODE.toml`, part of the program, and operators have files of
//! their own for more languages or other words (`link.languages`). English is the measure: every
//! other file has the same texts with the same gaps, such as `{vendor}`.
//!
//! Names begin with the page they are on, or with the kind of device.
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::value::{Error as ValueError, MapDeserializer};
use slackwater_control::device::scope::{DeviceKind, Permission};

/// Texts by their names, as a file has them.
pub(super) type Table = BTreeMap<String, String>;

/// Makes the struct of all texts.
macro_rules! texts {
    ($($name:ident),* $(,)?) => {
        /// The texts of one language.
        #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(missing_docs, reason = "the name of a text says what it is")]
        pub struct Texts { $(pub $name: String,)* }
    };
}

texts! {
        app, step, error_prefix, sandbox_note, cancel, choose_title, choose_lead,
        brands, search_label, search, search_none, all_brands, support, privacy,
        imprint, trial_log_in, trial_code, not_now, nothing_title, nothing_lead,
        login_title, login_lead, redirect_lead, continue_at, relink_lead, user_name,
        password, show_password, hide_password, log_in, patience, other_brand, code_title, code_lead, code, go_on,
        log_in_again, consent_title, consent_lead, devices, permissions, allow, deny,
        none_title, none_lead, vehicle, charger, hvac, inverter, battery, meter,
        vehicle_data, vehicle_location, vehicle_charging, charger_data,
        charger_charging, hvac_data, hvac_mode, inverter_data, inverter_location,
        inverter_power, battery_data, battery_location, battery_mode, meter_data,
        meter_location, no_user_name, no_password, no_code, no_device, wrong_login,
        wrong_code, codes_spent, slow, outage, busy, refused, declined, not_completed,
        other_account, limit, ours, foreign_form, return_title, return_foreign,
        return_used, done_title, done_lead, left_title, left_lead, spent_lead,
        expired_title, expired_lead, used_title, used_lead, unknown_title, unknown_lead,
        back_to,
}

/// File of a language.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LanguageFile {
    /// Code of the language for browsers and screen readers.
    pub(super) lang: String,
    /// Further codes for which the language is taken.
    #[serde(default)]
    pub(super) also: Vec<String>,
    /// Texts by their names.
    pub(super) texts: Table,
}

impl LanguageFile {
    /// Reads a file. The reason of a refusal names the line.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            format!("{line}{}", error.message())
        })
    }
}

impl Texts {
    /// The texts of a table that has no [`flaws`].
    pub(super) fn read(table: &Table) -> Result<Self, ValueError> {
        let pairs = table.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        Self::deserialize(MapDeserializer::new(pairs))
    }

    /// Name of a kind of device.
    #[must_use]
    pub fn kind(&self, kind: DeviceKind) -> &str {
        match kind {
            DeviceKind::Battery => &self.battery,
            DeviceKind::Charger => &self.charger,
            DeviceKind::Hvac => &self.hvac,
            DeviceKind::Inverter => &self.inverter,
            DeviceKind::Meter => &self.meter,
            DeviceKind::Vehicle => &self.vehicle,
        }
    }

    /// Meaning of a scope for the owner of the device; empty for pairs that are no scope.
    #[must_use]
    pub fn scope(&self, kind: DeviceKind, permission: Permission) -> Option<&str> {
        use DeviceKind::{Battery, Charger, Hvac, Inverter, Meter, Vehicle};
        use Permission::{
            ControlCharging, ControlMode, ControlOperationMode, ControlPowerLimit, ReadData,
            ReadLocation,
        };
        Some(match (kind, permission) {
            (Vehicle, ReadData) => &self.vehicle_data,
            (Vehicle, ReadLocation) => &self.vehicle_location,
            (Vehicle, ControlCharging) => &self.vehicle_charging,
            (Charger, ReadData) => &self.charger_data,
            (Charger, ControlCharging) => &self.charger_charging,
            (Hvac, ReadData) => &self.hvac_data,
            (Hvac, ControlMode) => &self.hvac_mode,
            (Inverter, ReadData) => &self.inverter_data,
            (Inverter, ReadLocation) => &self.inverter_location,
            (Inverter, ControlPowerLimit) => &self.inverter_power,
            (Battery, ReadData) => &self.battery_data,
            (Battery, ReadLocation) => &self.battery_location,
            (Battery, ControlOperationMode) => &self.battery_mode,
            (Meter, ReadData) => &self.meter_data,
            (Meter, ReadLocation) => &self.meter_location,
            _ => return None,
        })
    }
}

/// Differences of a language from English, each in words: texts that only one of them has, gaps that
/// only one of them has, and empty texts.
pub(super) fn flaws(table: &Table, english: &Table) -> Vec<String> {
    let missing = english.keys().filter(|name| !table.contains_key(*name));
    let missing = missing.map(|name| format!("the text `{name}` is missing"));
    let wrong = table.iter().filter_map(|(name, text)| {
        let Some(model) = english.get(name) else {
            return Some(format!("`{name}` is not a text of the pages"));
        };
        if text.trim().is_empty() {
            return Some(format!("the text `{name}` is empty"));
        }
        let (own, wanted) = (gaps(text), gaps(model));
        (own != wanted).then(|| {
            let [own, wanted] = [own, wanted].map(|gaps| match gaps.len() {
                0 => "no gaps".to_owned(),
                _ => gaps.iter().map(|gap| format!("{{{gap}}}")).collect::<Vec<_>>().join(", "),
            });
            format!("the text `{name}` has {own}, and in English it has {wanted}")
        })
    });
    missing.chain(wrong).collect()
}

/// Names of the gaps of a text.
fn gaps(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|part| part.split('}').next()).collect()
}

/// A text with its gaps filled.
#[must_use]
pub fn fill(text: &str, gaps: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        let value = gaps.iter().find(|(gap, _)| *gap == name);
        filled.push_str(value.map_or("", |(_, value)| value));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::language::{BUILT_IN, Languages};

    fn tables() -> Vec<(&'static str, Table)> {
        let read = |(code, text): (&'static str, &str)| {
            (code, LanguageFile::read(text).unwrap_or_else(|flaw| panic!("{code}: {flaw}")).texts)
        };
        BUILT_IN.map(read).to_vec()
    }

    #[test]
    fn every_text_is_there_in_every_language() {
        let all = tables();
        let (first, english) = &all[0];
        assert_eq!(*first, "en");
        let known =
            ["app", "vendor", "portal", "place", "n", "of", "detail", "name", "password", "code"];
        for (name, text) in english {
            for gap in gaps(text) {
                assert!(known.contains(&gap), "{name}: {{{gap}}}");
            }
        }
        for (code, table) in &all {
            assert_eq!(flaws(table, english), [""; 0], "{code}");
            assert!(Texts::read(table).is_ok(), "{code}");
            for (name, text) in table {
                // A sentence in one language is a sentence in all.
                assert_eq!(english[name].ends_with('.'), text.ends_with('.'), "{code}: {name}");
            }
        }
    }

    /// Texts that are the same are one text, unless they are words of different things.
    #[test]
    fn no_sentence_is_written_twice() {
        for (code, table) in tables() {
            let mut seen = BTreeSet::new();
            for (name, text) in table.iter().filter(|(_, text)| text.ends_with('.')) {
                assert!(seen.insert(text), "{code}: {name}");
            }
        }
    }

    #[test]
    fn differences_from_english_are_named() {
        let table = |pairs: &[(&str, &str)]| -> Table {
            pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
        };
        let english = table(&[("a", "{n} of {of}"), ("b", "B"), ("c", "C"), ("d", "D")]);
        let other = table(&[("a", "{n} von {m}"), ("b", " "), ("c", "{x}"), ("e", "E")]);
        let expected = [
            "the text `d` is missing",
            "the text `a` has {m}, {n}, and in English it has {n}, {of}",
            "the text `b` is empty",
            "the text `c` has {x}, and in English it has no gaps",
            "`e` is not a text of the pages",
        ];
        assert_eq!(flaws(&other, &english), expected);
    }

    #[test]
    fn every_scope_has_words_for_its_owner() {
        for language in Languages::default().all() {
            let texts = &language.texts;
            for kind in DeviceKind::ALL {
                assert!(!texts.kind(kind).is_empty());
                for permission in Permission::ALL {
                    let exists = kind.permissions().contains(&permission);
                    assert_eq!(texts.scope(kind, permission).is_some(), exists, "{kind:?}");
                }
            }
        }
    }

    #[test]
    fn gaps_are_filled_once() {
        let text = fill("{app} and {vendor}, {app}.", &[("app", "{vendor}"), ("vendor", "B")]);
        assert_eq!(text, "{vendor} and B, {vendor}.");
        assert_eq!(fill("{other} {", &[]), " ");
    }
}
