//! Settings of the senders of grid orders.
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slackwater_control::grid_order::dimming::{SIMULTANEITY_FACTORS, least_power};
use slackwater_control::grid_order::limit::{FailSafe, is_fail_safe_kept};
use slackwater_engine::units::Power;
use slackwater_store::rows::Pair;

/// Longest of the times, s: a day.
const SECONDS_MAX: u32 = 86_400;

/// Largest number of controllable devices behind one grid connection.
const DEVICES_MAX: u32 = 10_000;

/// Sender of orders of a grid operator, for an area or for a site of chargers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GridSettings {
    /// Market zone of the area whose plans follow the orders.
    #[serde(default)]
    #[schemars(example = &"NO1")]
    pub zone: Option<String>,
    /// The area, a part of the zone.
    #[serde(default)]
    #[schemars(example = &"north")]
    pub area: Option<String>,
    /// Site of an integration of production whose chargers follow the orders, in place of an area.
    #[serde(default)]
    #[schemars(example = &"garage")]
    pub site: Option<String>,
    /// File with the order and the last sign of life, which another program writes. Without one
    /// orders come from the operators' address, and from `slackwater-api grid`.
    #[serde(default)]
    #[schemars(example = &"/run/slackwater/grid.json")]
    pub file: Option<PathBuf>,
    /// Limit while nothing is heard of the sender. Without one there is no fail-safe, and an order
    /// holds until its end.
    #[serde(default, rename = "fail_safe_kw")]
    #[schemars(with = "Option<f64>", range(min = 0), example = 4.2)]
    pub fail_safe: Option<Power>,
    /// Time without a heartbeat after which the fail-safe holds.
    #[serde(default = "default_silence")]
    #[schemars(range(min = 1, max = 86_400))]
    pub silence_max_seconds: u32,
    /// Least time for which the fail-safe holds, if no heartbeat returns.
    #[serde(default = "default_hold")]
    #[schemars(range(min = 1, max = 86_400))]
    pub hold_min_seconds: u32,
    /// Number of devices that follow and are controllable by section 14a of the German energy act, where
    /// the area or site is one grid connection. Together they keep their least power: a lower limit counts
    /// as that one, and the chargers of a site have it whatever other load draws. Without a number an
    /// order may be as low as 0 kW.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000), example = 3)]
    pub controllable_devices: Option<u32>,
    /// Simultaneity factors of the least power for two controllable devices, three, and so on; the last
    /// holds for more. Above 0 and at most 1.
    #[serde(default = "default_factors")]
    pub simultaneity_factors: Vec<f64>,
    /// File to which orders, limits in force and measured powers are added as evidence. Each process
    /// has its own.
    #[serde(default)]
    #[schemars(example = &"/var/lib/slackwater/grid.log")]
    pub evidence_file: Option<PathBuf>,
    /// File with the key that signs the evidence, made by `slackwater-api evidence key`.
    #[serde(default)]
    #[schemars(example = &"/etc/slackwater/evidence.key")]
    pub evidence_key_file: Option<PathBuf>,
}

/// Devices that follow the orders of a sender.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GridTarget {
    /// An area of a market zone.
    Area(Pair),
    /// A site of an integration.
    Site(String),
}

const fn default_silence() -> u32 {
    120
}

const fn default_hold() -> u32 {
    7200
}

fn default_factors() -> Vec<f64> {
    SIMULTANEITY_FACTORS.to_vec()
}

impl GridSettings {
    /// Devices that follow; `None` if the settings name none, or two.
    #[must_use]
    pub fn target(&self) -> Option<GridTarget> {
        match (&self.zone, &self.area, &self.site) {
            (Some(zone), Some(area), None) => Some(GridTarget::Area((zone.clone(), area.clone()))),
            (None, None, Some(site)) => Some(GridTarget::Site(site.clone())),
            _ => None,
        }
    }

    /// Behaviour while nothing is heard of the sender.
    #[must_use]
    pub fn fail_safe(&self) -> Option<FailSafe> {
        let seconds = |seconds: u32| TimeDelta::seconds(seconds.into());
        self.fail_safe.map(|limit| FailSafe {
            limit,
            silence_max: seconds(self.silence_max_seconds),
            hold_min: seconds(self.hold_min_seconds),
        })
    }

    /// Power that the devices keep under any limit; zero without a number of controllable devices, or
    /// with settings that were refused.
    #[must_use]
    pub fn least_power(&self) -> Power {
        let devices = self.controllable_devices.unwrap_or(0);
        least_power(devices, &self.simultaneity_factors).unwrap_or(Power::ZERO)
    }

    /// Fault of the settings of the least power.
    fn find_flaw_of_least_power(&self) -> Option<String> {
        let devices = self.controllable_devices.unwrap_or(0);
        if self.controllable_devices.is_some() && !(1..=DEVICES_MAX).contains(&devices) {
            return Some(format!(
                "controllable_devices: {devices} devices are outside 1 to {DEVICES_MAX}"
            ));
        }
        let least = match least_power(devices, &self.simultaneity_factors) {
            Ok(least) => least,
            Err(error) => return Some(format!("simultaneity_factors: {error}")),
        };
        let too_low = self.fail_safe.filter(|own| !is_fail_safe_kept(least, *own))?;
        Some(format!(
            "fail_safe_kw: {} kW is below the {:.3} kW that {devices} controllable devices keep",
            too_low.as_kw(),
            least.as_kw(),
        ))
    }

    fn flaw(&self) -> Option<String> {
        let wrong = |text: &str| Some(text.to_owned());
        let Some(target) = self.target() else {
            return wrong("zone: name zone and area, or site in place of both");
        };
        if matches!(target, GridTarget::Area(_)) && !cfg!(feature = "lp") {
            return wrong("area: limits need a service that was built with the feature `lp`");
        }
        if self.file.is_some() && self.fail_safe.is_none() {
            return wrong("fail_safe_kw: a file may stay away, so its orders need a fail-safe");
        }
        if let Some(power) = self.fail_safe.filter(|power| *power < Power::ZERO) {
            return Some(format!("fail_safe_kw: {} kW is below 0 kW", power.as_kw()));
        }
        if let Some(flaw) = self.find_flaw_of_least_power() {
            return Some(flaw);
        }
        for (name, value) in [
            ("silence_max_seconds", self.silence_max_seconds),
            ("hold_min_seconds", self.hold_min_seconds),
        ] {
            if !(1..=SECONDS_MAX).contains(&value) {
                return Some(format!("{name}: {value} s is outside 1 s to {SECONDS_MAX} s"));
            }
        }
        match (&self.evidence_file, &self.evidence_key_file) {
            (Some(_), None) => wrong("evidence_key_file: evidence_file needs it"),
            (None, Some(_)) => wrong("evidence_file: evidence_key_file needs it"),
            _ => None,
        }
    }
}

/// First fault of the settings of all senders, with the name of the setting.
pub(super) fn find_flaw(senders: &BTreeMap<String, GridSettings>) -> Option<String> {
    let (mut targets, mut files) = (BTreeSet::new(), BTreeSet::new());
    for (name, settings) in senders {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || !name.chars().all(is_plain) {
            return Some(format!("grid: {name:?} is not made of A to Z, a to z, 0 to 9, _ and -"));
        }
        if let Some(flaw) = settings.flaw() {
            return Some(format!("grid.{name}.{flaw}"));
        }
        if !targets.insert(settings.target()) {
            return Some(format!("grid.{name}: another sender has the same area or site"));
        }
        if settings.evidence_file.as_ref().is_some_and(|file| !files.insert(file)) {
            return Some(format!("grid.{name}.evidence_file: another sender has the same file"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(text: &str) -> Option<String> {
        find_flaw(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn senders_are_refused_by_name() {
        let flaw_of = |more: &str| flaw(&format!(r#"{{"box": {{"site": "garage"{more}}}}}"#));
        assert_eq!(flaw_of(""), None);
        assert_eq!(flaw_of(r#", "file": "f", "fail_safe_kw": 4.2"#), None);
        // 4.2 kW · (1 + 0.8), which has no exact number.
        assert_eq!(flaw_of(r#", "controllable_devices": 2, "fail_safe_kw": 7.56"#), None);
        for (more, expected) in [
            (r#", "zone": "NO1", "area": "north""#, "grid.box.zone: name zone and area, or site"),
            (r#", "file": "f""#, "grid.box.fail_safe_kw: a file may stay away"),
            (r#", "fail_safe_kw": -1"#, "grid.box.fail_safe_kw: -1 kW is below 0 kW"),
            (r#", "silence_max_seconds": 0"#, "grid.box.silence_max_seconds: 0 s is outside 1 s"),
            (
                r#", "controllable_devices": 0"#,
                "grid.box.controllable_devices: 0 devices are outside",
            ),
            (
                r#", "controllable_devices": 3, "fail_safe_kw": 4.2"#,
                "grid.box.fail_safe_kw: 4.2 kW is below the 10.500 kW that 3 controllable devices",
            ),
            (
                r#", "simultaneity_factors": [0.8, 75]"#,
                "grid.box.simultaneity_factors: 75 is not above 0 and at most 1",
            ),
            (
                r#", "simultaneity_factors": []"#,
                "grid.box.simultaneity_factors: there is no factor",
            ),
            (r#", "hold_min_seconds": 86401"#, "grid.box.hold_min_seconds: 86401 s is outside"),
            (r#", "evidence_key_file": "k""#, "grid.box.evidence_file: evidence_key_file needs"),
            (r#", "evidence_file": "e""#, "grid.box.evidence_key_file: evidence_file needs it"),
        ] {
            let found = flaw_of(more).unwrap();
            assert!(found.starts_with(expected), "{found}");
        }
        let evidence = r#""evidence_file": "e", "evidence_key_file": "k""#;
        let site = format!(r#"{{"site": "garage", {evidence}}}"#);
        let twice = flaw(&format!(r#"{{"a": {site}, "b": {site}}}"#)).unwrap();
        assert_eq!(twice, "grid.b: another sender has the same area or site");
        let other = format!(r#"{{"site": "yard", {evidence}}}"#);
        let file = flaw(&format!(r#"{{"a": {site}, "b": {other}}}"#)).unwrap();
        assert_eq!(file, "grid.b.evidence_file: another sender has the same file");
        let name = flaw(r#"{"a/b": {"site": "garage"}}"#).unwrap();
        assert!(name.starts_with("grid: \"a/b\" is not made of"), "{name}");
        let area = flaw(r#"{"a": {"zone": "NO1", "area": "north"}}"#);
        assert_eq!(area.is_none(), cfg!(feature = "lp"), "{area:?}");
    }
}
