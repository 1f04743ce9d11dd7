//! Settings of a site.
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use slackwater_engine::units::{Current, Voltage, volts};

/// Number of phases.
const PHASES: usize = 3;

/// Table of a site.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteSettings {
    /// Fuse on each phase, less the margin of the operator.
    pub fuse_amps: PhaseCurrents,
    /// Other load on each phase as it counts without a measured one: the highest to be expected.
    pub base_amps: PhaseCurrents,
    /// Meter of the other load.
    pub base_meter: Option<MeterSettings>,
    /// File with the other load, written by another program.
    pub base_file: Option<PathBuf>,
    /// Age beyond which a measured load does not count, s.
    #[serde(default = "default_base_age")]
    pub base_age_seconds: u32,
    /// Charge points by identity.
    pub chargers: BTreeMap<String, SiteChargerSettings>,
    /// Largest error of the clock of a charge point, s.
    #[serde(default = "default_clock_error")]
    pub clock_error_seconds: u32,
    /// Length of a turn where not all vehicles can have their lowest current, s.
    #[serde(default = "default_turn")]
    pub turn_seconds: u32,
    /// True if a model that is not known is tried out while it is idle, and counts with all of its
    /// current until then.
    #[serde(default = "default_probe")]
    pub probe: bool,
    /// Voltage from phase to neutral at which the power of a grid order becomes a current. Where the
    /// grid has more, the chargers draw more power.
    #[serde(default = "default_grid_voltage")]
    pub grid_volts: Voltage,
}

/// Currents of the three phases: one number for all, or a list.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum PhaseCurrents {
    /// One number for all phases.
    Same(Current),
    /// Numbers of phases 1 to 3.
    Each([Current; PHASES]),
}

impl PhaseCurrents {
    /// Current of each phase.
    #[must_use]
    pub const fn each(self) -> [Current; PHASES] {
        match self {
            Self::Same(current) => [current; PHASES],
            Self::Each(each) => each,
        }
    }
}

/// Meter of the other load, at a charge point of this integration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeterSettings {
    /// Identity of the charge point.
    pub charger: String,
    /// Number of the connector; zero is the charge point as a whole.
    #[serde(default)]
    pub connector: u32,
}

/// Charge point of a site.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteChargerSettings {
    /// Phases of the site that it is connected to, 1 to 3. A charge point of three phases has all.
    pub phases: Option<Vec<u8>>,
    /// Number of connectors that may charge at a time.
    #[serde(default = "default_connectors")]
    pub connectors: u32,
    /// Rank: higher ranks are served first.
    #[serde(default)]
    pub priority: i32,
}

const fn default_base_age() -> u32 {
    120
}

const fn default_clock_error() -> u32 {
    20
}

const fn default_turn() -> u32 {
    900
}

const fn default_grid_voltage() -> Voltage {
    volts(230.0)
}

const fn default_probe() -> bool {
    true
}

const fn default_connectors() -> u32 {
    1
}
