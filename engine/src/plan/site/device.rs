//! Devices behind the meter: vehicles, batteries, solar systems, loads and heat units.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::request::{AfterDeadline, Target};
use crate::plan::charge::vehicle::{Battery, SocTarget};
use crate::plan::heat::request::{HeatError, HeatProblem, HeatRequest};
use crate::plan::site::series::Series;
use crate::plan::storage::request::{Consumption, StorageLimit};
use crate::time::instant::micros_of;
use crate::units::{Energy, Percent, Power, Price};
use crate::words::words;

words! {
    /// A conductor of a three-phase connection.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum Phase {
        /// The first conductor.
        L1 = "l1",
        /// The second conductor.
        L2 = "l2",
        /// The third conductor.
        L3 = "l3",
    }
}

/// Power in kW of a current on a number of phases: `amps · volts · phases / 1000`.
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

/// Point of a curve of the highest charging power over the state of charge.
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

/// Discharging of a battery.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discharge {
    /// Highest power at the plug, as a positive number.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// Energy at the plug per stored energy, above 0 and at most 1.
    pub efficiency: f64,
    /// State of charge below which the battery does not discharge.
    #[serde(rename = "soc_min_percent")]
    pub soc_min: Percent,
    /// Wear per discharged kWh, counted at the plug; zero or more.
    #[serde(rename = "wear_per_kwh")]
    pub wear: Price,
    /// False if it discharges only in slots in which the site exports nothing.
    #[serde(default = "is_allowed", skip_serializing_if = "Clone::clone")]
    pub discharge_to_grid: bool,
}

/// Bounds on the state of charge that cost money to leave.
///
/// Each kWh of stored energy outside of them costs `price_per_kwh_hour` an hour, by the level at
/// the end of each slot. The price is weighed against all others, and is a part of the cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoftBound {
    /// First instant at which the bounds hold; `None` is the start of the plan.
    pub start: Option<DateTime<Utc>>,
    /// First instant after it; `None` is the end of the plan.
    pub end: Option<DateTime<Utc>>,
    /// Least state of charge; `None` for none.
    #[serde(rename = "soc_min_percent")]
    pub soc_min: Option<Percent>,
    /// Highest state of charge; `None` for none.
    #[serde(rename = "soc_max_percent")]
    pub soc_max: Option<Percent>,
    /// Price of a stored kWh outside of the bounds for an hour, zero or more.
    pub price_per_kwh_hour: f64,
}

/// Default of what a storage may do with the grid.
fn is_allowed() -> bool {
    true
}

/// True for the default of a field, which data leave out.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Vehicle with targets by deadlines, at the plug from arrival to departure except while it drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vehicle {
    /// Name, unique among the devices and groups of the site.
    pub name: String,
    /// Group whose limit it shares; `None` is the site itself.
    pub group: Option<String>,
    /// Highest charging power.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// Least power while charging; zero for none. The mean power of a slot is zero or at least
    /// this, except in a top-off: the last slot of a run may take less if the run ends at a
    /// target, at the reserve or at a full battery. The vehicle then charges for a part of it.
    #[serde(rename = "power_min_kw")]
    pub power_min: Power,
    /// Phases that it loads, in equal parts.
    pub phases: Vec<Phase>,
    /// Time of plug-in; `None` is now.
    pub arrival: Option<DateTime<Utc>>,
    /// Time of departure; `None` is the end of the prices.
    pub departure: Option<DateTime<Utc>>,
    /// Battery; required by states of charge, a reserve, discharging, a taper and
    /// `fill_when_worth`.
    pub battery: Option<Battery>,
    /// Targets of energy at the plug, counted from arrival.
    pub targets: Vec<Target>,
    /// Targets of state of charge.
    pub soc_targets: Vec<SocTarget>,
    /// State of charge that is reached as soon as possible, at any price.
    #[serde(rename = "reserve_percent")]
    pub reserve: Percent,
    /// Weight of a kWh that is missing at a deadline, relative to other devices.
    pub priority: f64,
    /// True if the vehicle may charge beyond its targets, up to its charge limit, where that pays.
    pub fill_when_worth: bool,
    /// False if the vehicle charges only in slots in which the site imports nothing: from solar
    /// power and other storages. Energy that its targets miss for that has
    /// [`crate::plan::site::Cause::NoSurplus`].
    #[serde(default = "is_allowed", skip_serializing_if = "Clone::clone")]
    pub charge_from_grid: bool,
    /// Discharging; `None` for a vehicle that only charges.
    pub discharge: Option<Discharge>,
    /// Value of a stored kWh at departure, or at the end of the prices.
    #[serde(rename = "end_value_per_kwh")]
    pub end_value: Price,
    /// Highest charging power over the state of charge, a concave curve; empty for none.
    pub taper: Vec<TaperPoint>,
    /// Drives between arrival and departure, in any order: periods in which the vehicle is away,
    /// with the stored energy that it uses, counted at the start of each. They come before the
    /// reserve and all targets. Energy that the battery lacks at a start is charged elsewhere, on
    /// the way, and is a shortfall. Of a drive that is under way now, the part counts that is left
    /// of its time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consumption: Vec<Consumption>,
    /// Bounds on the state of charge with a price, from arrival to departure, drives included.
    /// The vehicle may charge beyond its targets to keep them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub soft_bounds: Vec<SoftBound>,
    /// Periods with limits of their own, in any order. Where they overlap, the tightest limit
    /// applies. A state of charge that is wanted in a period comes before targets, as the reserve
    /// does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<StorageLimit>,
    /// Power that the vehicle is to take over time, at any price, until it is at its charge limit,
    /// and as far as the taper leaves it; `None` for none. It needs the battery. What other limits
    /// leave of it is a shortfall. It comes after drives and the reserve, and before targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_wanted: Option<Series>,
    /// Rule for a target that is missed: what is missing is wanted by departure, or no more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub after_deadline: AfterDeadline,
}

impl Vehicle {
    /// Vehicle on all three phases, without targets.
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
            charge_from_grid: true,
            discharge: None,
            end_value: Price::ZERO,
            taper: Vec::new(),
            consumption: Vec::new(),
            soft_bounds: Vec::new(),
            limits: Vec::new(),
            power_wanted: None,
            after_deadline: AfterDeadline::Continue,
        }
    }

    /// True if charging may be of use after the last target and drive.
    pub(crate) fn may_go_on(&self) -> bool {
        let wants = self.limits.iter().any(|limit| limit.soc_min.is_some());
        self.may_fill() || wants || self.power_wanted.is_some() || !self.soft_bounds.is_empty()
    }

    /// True if the vehicle may charge beyond its targets or discharge.
    pub(crate) fn may_fill(&self) -> bool {
        self.fill_when_worth
            || self.discharge.is_some()
            || self.end_value.as_per_kwh() > 0.0 && self.battery.is_some()
    }

    /// Last deadline or start of a drive, or the departure of a vehicle that may charge after
    /// these, in microseconds; `i64::MAX` is the end of the prices.
    pub(crate) fn last_deadline(&self) -> i64 {
        let departure = self.departure.map_or(i64::MAX, micros_of);
        let energies = self.targets.iter().map(|target| target.by);
        let deadlines = energies.chain(self.soc_targets.iter().map(|target| target.by));
        let deadlines = deadlines.chain(self.consumption.iter().map(|drive| Some(drive.start)));
        match deadlines.map(|by| by.map_or(i64::MAX, micros_of)).max() {
            Some(last) if !self.may_go_on() => last.min(departure),
            _ => departure,
        }
    }
}

/// Stationary battery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationaryBattery {
    /// Name, unique among the devices and groups of the site.
    pub name: String,
    /// Group whose limit it shares; `None` is the site itself.
    pub group: Option<String>,
    /// Phases that it loads, in equal parts.
    pub phases: Vec<Phase>,
    /// Highest charging power.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// False if the battery charges only in slots in which the site imports nothing.
    #[serde(default = "is_allowed", skip_serializing_if = "Clone::clone")]
    pub charge_from_grid: bool,
    /// Capacity, state of charge and highest state of charge.
    pub battery: Battery,
    /// Discharging.
    pub discharge: Discharge,
    /// Target of state of charge at the end of the plan; `None` for none.
    #[serde(rename = "soc_end_percent")]
    pub soc_end: Option<Percent>,
    /// Value of a stored kWh at the end of the plan.
    #[serde(rename = "end_value_per_kwh")]
    pub end_value: Price,
    /// Bounds on the state of charge with a price.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub soft_bounds: Vec<SoftBound>,
    /// Periods with limits of their own, in any order. Where they overlap, the tightest limit
    /// applies. A state of charge that is wanted in a period comes before money.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<StorageLimit>,
    /// Power that the battery is to take over time, at any price, until it is at its charge limit;
    /// `None` for none. What other limits leave of it is a shortfall.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_wanted: Option<Series>,
}

/// Solar system with a forecast of its power.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Solar {
    /// Name, unique among the devices and groups of the site.
    pub name: String,
    /// Group whose limit it shares; `None` is the site itself.
    pub group: Option<String>,
    /// Phases that it feeds, in equal parts.
    pub phases: Vec<Phase>,
    /// Power that it can feed, as a positive number.
    pub forecast: Series,
    /// True if its power can be reduced below the forecast.
    pub is_curtailable: bool,
}

/// Inflexible load with a forecast of its power.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Name, unique among the devices and groups of the site.
    pub name: String,
    /// Group whose limit it shares; `None` is the site itself.
    pub group: Option<String>,
    /// Phases that it loads, in equal parts.
    pub phases: Vec<Phase>,
    /// Power that it draws, zero or more.
    pub forecast: Series,
}

/// Load that runs once, without a pause, at a time that the planner chooses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShiftableLoad {
    /// Name, unique among the devices and groups of the site.
    pub name: String,
    /// Group whose limit it shares; `None` is the site itself.
    pub group: Option<String>,
    /// Phases that it loads, in equal parts.
    pub phases: Vec<Phase>,
    /// Power while it runs.
    #[serde(rename = "power_kw")]
    pub power: Power,
    /// Duration of the run in minutes.
    pub duration_minutes: f64,
    /// Earliest start; `None` is now.
    pub earliest: Option<DateTime<Utc>>,
    /// Deadline of the end of the run; `None` is the end of the prices.
    pub latest: Option<DateTime<Utc>>,
    /// Weight of a kWh that does not run, relative to the shortfall of other devices.
    pub priority: f64,
}

impl ShiftableLoad {
    /// Duration of the run.
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

/// Heat pump, heater or air conditioner with the room or tank that it heats or cools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeatUnit {
    /// Name, unique among the devices and groups of the site.
    pub name: String,
    /// Group whose limit it shares; `None` is the site itself.
    pub group: Option<String>,
    /// Phases that it loads, in equal parts.
    pub phases: Vec<Phase>,
    /// Weight of a degree-hour outside the band, relative to other heat units.
    pub priority: f64,
    /// Room or tank, comfort band and unit. Its `now` is that of the site. The unit is planned to its
    /// `until`, or to the end of the plan of the site if that is earlier. It modulates.
    pub heat: HeatRequest,
}

impl HeatUnit {
    /// Heat unit on all three phases.
    #[must_use]
    pub fn new(name: impl Into<String>, heat: HeatRequest) -> Self {
        let phases = Phase::ALL.to_vec();
        Self { name: name.into(), group: None, phases, priority: 1.0, heat }
    }

    /// Checked request of the unit on a site whose plan ends at `end`.
    pub(crate) fn problem(&self, end: DateTime<Utc>) -> Result<HeatProblem, HeatError> {
        let until = self.heat.until.map_or(end, |own| own.min(end)).max(self.heat.now);
        HeatProblem::new(HeatRequest { until: Some(until), ..self.heat.clone() })
    }
}

/// Device behind the meter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
#[non_exhaustive]
pub enum Device {
    /// A vehicle.
    #[serde(rename = "vehicle")]
    Vehicle(Vehicle),
    /// A stationary battery.
    #[serde(rename = "battery")]
    Battery(StationaryBattery),
    /// A solar system.
    #[serde(rename = "solar")]
    Solar(Solar),
    /// An inflexible load.
    #[serde(rename = "load")]
    Load(Load),
    /// A load that runs once, at a time that the planner chooses.
    #[serde(rename = "shiftable_load")]
    Shiftable(ShiftableLoad),
    /// A unit that heats or cools a room or tank.
    #[serde(rename = "heat_unit")]
    Heat(HeatUnit),
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
            Self::Heat(device) => &device.name,
        }
    }

    /// Kind of the device, as in serialised data.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Vehicle(_) => "vehicle",
            Self::Battery(_) => "battery",
            Self::Solar(_) => "solar",
            Self::Load(_) => "load",
            Self::Shiftable(_) => "shiftable_load",
            Self::Heat(_) => "heat_unit",
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
            Self::Heat(device) => device.group.as_deref(),
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
            Self::Heat(device) => &device.phases,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::site::request::tests::{at, battery_of, discharge, home, house, sun};
    use crate::plan::site::request::tests::{pump, van, washer};
    use crate::units::{kwh, per_kwh};

    #[test]
    fn words_are_those_of_serialised_data() {
        for phase in Phase::ALL {
            let text = serde_json::to_string(&phase).unwrap();
            assert_eq!(text.trim_matches('"'), phase.as_str());
        }
        let devices = [
            Device::Vehicle(van("van", 11.0, 5.0)),
            Device::Battery(home(5.0, 10.0, 50.0)),
            sun(&[1.0], true),
            house(&[1.0]),
            Device::Shiftable(washer(2.0, 90.0)),
            Device::Heat(pump(3.0)),
        ];
        for device in &devices {
            let value = serde_json::to_value(device).unwrap();
            assert_eq!(value["kind"], device.kind());
            assert_eq!(value["name"], device.name());
            assert_eq!(serde_json::from_value::<Device>(value).unwrap(), *device);
        }
    }

    #[test]
    fn group_and_phases_are_those_of_the_device() {
        let mut van = van("van", 11.0, 5.0);
        (van.group, van.phases) = (Some("garage".to_owned()), vec![Phase::L2]);
        let device = Device::Vehicle(van);
        assert_eq!((device.group(), device.phases()), (Some("garage"), &[Phase::L2][..]));
        let mut battery = home(5.0, 10.0, 50.0);
        battery.phases = vec![Phase::L3];
        assert_eq!(Device::Battery(battery).phases(), [Phase::L3]);
        assert_eq!(house(&[1.0]).group(), None);
    }

    #[test]
    fn a_run_takes_its_power_for_its_minutes() {
        let load = washer(2.0, 90.0);
        assert_eq!(load.duration(), TimeDelta::minutes(90));
        assert!((load.energy().as_kwh() - 3.0).abs() < 1e-12);
        assert_eq!(washer(2.0, 0.0125).duration(), TimeDelta::milliseconds(750));
    }

    #[test]
    fn a_worth_counts_only_where_the_battery_is_known() {
        let mut van = van("van", 11.0, 5.0);
        van.end_value = per_kwh(0.2);
        assert!(!van.may_fill());
        van.battery = Some(battery_of(50.0, 10.0));
        assert!(van.may_fill());
        van.end_value = per_kwh(-0.2);
        assert!(!van.may_fill());
        van.discharge = Some(discharge(5.0));
        assert!(van.may_fill());
    }

    #[test]
    fn nothing_is_wanted_after_the_last_deadline_but_by_who_may_fill() {
        let mut van = van("van", 11.0, 5.0);
        van.departure = Some(at(300));
        // Its one target has no deadline, so the departure is the last one.
        assert_eq!(van.last_deadline(), micros_of(at(300)));
        van.targets[0].by = Some(at(60));
        van.targets.push(Target { by: Some(at(120)), energy: kwh(9.0) });
        assert_eq!(van.last_deadline(), micros_of(at(120)));
        van.targets[1].by = Some(at(999));
        assert_eq!(van.last_deadline(), micros_of(at(300)));
        van.targets.pop();
        (van.battery, van.fill_when_worth) = (Some(battery_of(50.0, 10.0)), true);
        assert_eq!(van.last_deadline(), micros_of(at(300)));
        (van.departure, van.targets) = (None, Vec::new());
        assert_eq!(van.last_deadline(), i64::MAX);
    }
}
