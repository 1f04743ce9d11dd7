//! What stands behind the meter: vehicles, batteries, sunshine and loads.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::request::Target;
use crate::plan::charge::vehicle::{Battery, SocTarget};
use crate::plan::site::series::Series;
use crate::time::instant::micros_of;
use crate::units::{Energy, Percent, Power, Price};
use crate::words::words;

words! {
    /// A conductor of a three-phase connection.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Phase {
        /// The first conductor.
        L1 = "l1",
        /// The second conductor.
        L2 = "l2",
        /// The third conductor.
        L3 = "l3",
    }
}

/// The power of a current on so many phases: A times V times phases.
///
/// # Example
///
/// 16 A on one phase of 230 V are 3.68 kW, on three phases 11.04 kW.
///
/// ```
/// use slackwater_engine::plan::site::power_of;
/// assert_eq!(power_of(16.0, 230.0, 1), 3.68);
/// assert_eq!(power_of(16.0, 230.0, 3), 11.04);
/// ```
#[must_use]
pub fn power_of(amps: f64, volts: f64, phases: usize) -> f64 {
    amps * volts * phases as f64 / 1000.0
}

/// A point of a curve of the highest charging power over the state of charge.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaperPoint {
    /// State of charge.
    #[serde(rename = "soc_percent")]
    pub soc: Percent,
    /// Highest charging power there.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
}

/// What a battery may give back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discharge {
    /// Highest power at the plug, as a positive number.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// Energy at the plug per stored energy, above 0 and at most 1.
    pub efficiency: f64,
    /// State of charge below which nothing is given back.
    #[serde(rename = "soc_min_percent")]
    pub soc_min: Percent,
    /// What a kWh given back costs in wear, zero or more.
    #[serde(rename = "wear_per_kwh")]
    pub wear: Price,
}

/// A vehicle: wishes by deadlines, at the plug from arrival to departure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vehicle {
    /// Name, unlike all others of the site.
    pub name: String,
    /// Group whose limit it shares; `None` is the site itself.
    pub group: Option<String>,
    /// Highest charging power.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// Least charging power while charging; zero for none. The mean power of a
    /// slot is zero or at least this, but for a top-off: the last slot of a run
    /// may take less where the run ends at a target, at the reserve or at a
    /// full battery. The vehicle then runs for a part of that slot.
    #[serde(rename = "power_min_kw")]
    pub power_min: Power,
    /// Phases that it loads, in equal parts.
    pub phases: Vec<Phase>,
    /// When it is plugged in; `None` is now.
    pub arrival: Option<DateTime<Utc>>,
    /// When it leaves; `None` is the end of the prices.
    pub departure: Option<DateTime<Utc>>,
    /// The battery, needed for percentages, discharging and taper.
    pub battery: Option<Battery>,
    /// Energy at the plug by deadlines, counted from arrival.
    pub targets: Vec<Target>,
    /// States of charge by deadlines.
    pub soc_targets: Vec<SocTarget>,
    /// State of charge reached as soon as can be, at any price.
    #[serde(rename = "reserve_percent")]
    pub reserve: Percent,
    /// What a kWh missing at a deadline weighs against those of others.
    pub priority: f64,
    /// Whether it may charge beyond its targets, up to its charge limit,
    /// where that pays.
    pub fill_when_worth: bool,
    /// What it may give back; `None` never discharges.
    pub discharge: Option<Discharge>,
    /// What a stored kWh is worth when it leaves, or when prices end.
    #[serde(rename = "end_value_per_kwh")]
    pub end_value: Price,
    /// Highest charging power over the state of charge, concave; empty for none.
    pub taper: Vec<TaperPoint>,
}

impl Vehicle {
    /// A vehicle that takes part with all phases and without a wish.
    #[must_use]
    pub fn new(name: impl Into<String>, power_max: Power) -> Self {
        Self {
            name: name.into(),
            group: None,
            power_max,
            power_min: Power::ZERO,
            phases: Phase::ALL.to_vec(),
            arrival: None,
            departure: None,
            battery: None,
            targets: Vec::new(),
            soc_targets: Vec::new(),
            reserve: Percent::ZERO,
            priority: 1.0,
            fill_when_worth: false,
            discharge: None,
            end_value: Price::ZERO,
            taper: Vec::new(),
        }
    }

    /// Whether it may charge beyond its targets, or give back.
    pub(crate) fn may_fill(&self) -> bool {
        self.fill_when_worth
            || self.discharge.is_some()
            || self.end_value.as_per_kwh() > 0.0 && self.battery.is_some()
    }

    /// The last instant at which it wants something, in microseconds;
    /// `i64::MAX` is the end of the prices.
    pub(crate) fn last_deadline(&self) -> i64 {
        let departure = self.departure.map_or(i64::MAX, micros_of);
        let energies = self.targets.iter().map(|target| target.by);
        let deadlines = energies.chain(self.soc_targets.iter().map(|target| target.by));
        match deadlines.map(|by| by.map_or(i64::MAX, micros_of)).max() {
            Some(last) if !self.may_fill() => last.min(departure),
            _ => departure,
        }
    }
}

/// A battery that stays where it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationaryBattery {
    /// Name, unlike all others of the site.
    pub name: String,
    /// Group whose limit it shares; `None` is the site itself.
    pub group: Option<String>,
    /// Phases that it loads, in equal parts.
    pub phases: Vec<Phase>,
    /// Highest charging power.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// Capacity, state of charge and highest state of charge.
    pub battery: Battery,
    /// What it may give back.
    pub discharge: Discharge,
    /// State of charge wanted when prices end; `None` for no wish.
    #[serde(rename = "soc_end_percent")]
    pub soc_end: Option<Percent>,
    /// What a stored kWh is worth when prices end.
    #[serde(rename = "end_value_per_kwh")]
    pub end_value: Price,
}

/// Sunshine as forecast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Solar {
    /// Name, unlike all others of the site.
    pub name: String,
    /// Group whose limit it shares; `None` is the site itself.
    pub group: Option<String>,
    /// Phases that it feeds, in equal parts.
    pub phases: Vec<Phase>,
    /// Power that it yields, zero or more.
    pub forecast: Series,
    /// Whether it can be turned down.
    pub is_curtailable: bool,
}

/// A load that nobody can move, as forecast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Name, unlike all others of the site.
    pub name: String,
    /// Group whose limit it shares; `None` is the site itself.
    pub group: Option<String>,
    /// Phases that it loads, in equal parts.
    pub phases: Vec<Phase>,
    /// Power that it draws, zero or more.
    pub forecast: Series,
}

/// A load that runs once, without pause, at a time of our choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShiftableLoad {
    /// Name, unlike all others of the site.
    pub name: String,
    /// Group whose limit it shares; `None` is the site itself.
    pub group: Option<String>,
    /// Phases that it loads, in equal parts.
    pub phases: Vec<Phase>,
    /// Power while it runs.
    #[serde(rename = "power_kw")]
    pub power: Power,
    /// How long it runs, in minutes.
    pub duration_minutes: f64,
    /// First instant at which it may start; `None` is now.
    pub earliest: Option<DateTime<Utc>>,
    /// Instant by which it must have ended; `None` is the end of the prices.
    pub latest: Option<DateTime<Utc>>,
    /// What a kWh not run weighs against what others miss.
    pub priority: f64,
}

impl ShiftableLoad {
    /// How long it runs.
    #[must_use]
    pub fn duration(&self) -> TimeDelta {
        TimeDelta::microseconds((self.duration_minutes * 6e7).round() as i64)
    }

    /// Energy of one run.
    #[must_use]
    pub fn energy(&self) -> Energy {
        self.power.over(self.duration())
    }
}

/// Anything behind the meter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum Device {
    /// A vehicle.
    #[serde(rename = "vehicle")]
    Vehicle(Vehicle),
    /// A battery that stays.
    #[serde(rename = "battery")]
    Battery(StationaryBattery),
    /// Sunshine.
    #[serde(rename = "solar")]
    Solar(Solar),
    /// A load that nobody can move.
    #[serde(rename = "load")]
    Load(Load),
    /// A load that runs once.
    #[serde(rename = "shiftable_load")]
    Shiftable(ShiftableLoad),
}

impl Device {
    /// Name of the device.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Vehicle(device) => &device.name,
            Self::Battery(device) => &device.name,
            Self::Solar(device) => &device.name,
            Self::Load(device) => &device.name,
            Self::Shiftable(device) => &device.name,
        }
    }

    /// Kind of the device as a word, the same as in serialised data.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Vehicle(_) => "vehicle",
            Self::Battery(_) => "battery",
            Self::Solar(_) => "solar",
            Self::Load(_) => "load",
            Self::Shiftable(_) => "shiftable_load",
        }
    }

    /// Group whose limit the device shares.
    #[must_use]
    pub fn group(&self) -> Option<&str> {
        match self {
            Self::Vehicle(device) => device.group.as_deref(),
            Self::Battery(device) => device.group.as_deref(),
            Self::Solar(device) => device.group.as_deref(),
            Self::Load(device) => device.group.as_deref(),
            Self::Shiftable(device) => device.group.as_deref(),
        }
    }

    /// Phases of the device.
    #[must_use]
    pub fn phases(&self) -> &[Phase] {
        match self {
            Self::Vehicle(device) => &device.phases,
            Self::Battery(device) => &device.phases,
            Self::Solar(device) => &device.phases,
            Self::Load(device) => &device.phases,
            Self::Shiftable(device) => &device.phases,
        }
    }
}
