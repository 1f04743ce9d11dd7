//! All facts that a device may report.
//!
//! `None` always means that the manufacturer does not say. Readings are data:
//! the service keeps the last one of each device as it came.
use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};
use slackwater_control::device::battery::OperationMode;
use slackwater_control::device::capability::Capabilities;
use slackwater_control::device::charge_state::ChargeState;
use slackwater_control::device::hvac::{HvacLimits, Mode};
pub use slackwater_control::device::place::Point as Position;
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::device::uptake::{Look, Uptake};
use slackwater_engine::units::{Current, Energy, Percent, Power, Temperature};

use crate::profile::VendorCode;

/// What a manufacturer says about a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// When the manufacturer last heard from the device.
    pub at: DateTime<Utc>,
    /// Whether what it says is live.
    pub is_reachable: Option<bool>,
    /// What the device can do, and what a person could do about it.
    pub capabilities: Capabilities,
    /// What the device's own counters show.
    pub counters: Option<Counters>,
    /// What it is and how it stands.
    pub facts: Facts,
}

impl Reading {
    /// What is known of the power that the device takes, with this reading.
    #[must_use]
    pub fn uptake_after(&self, before: Option<Uptake>) -> Option<Uptake> {
        let (charging, soc, sighting) = match &self.facts {
            Facts::Vehicle(facts) => (&facts.charging, facts.soc, facts.sighting),
            Facts::Charger(facts) => (&facts.charging, None, None),
            _ => return None,
        };
        let position = sighting.map(|sighting| sighting.position);
        Uptake::after(before, Look { charging, soc, position, at: self.at })
    }
}

/// Counters of energy that never fall.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// Energy taken since the device was made.
    #[serde(rename = "imported_kwh")]
    pub imported: Energy,
    /// Energy given since then.
    #[serde(rename = "exported_kwh")]
    pub exported: Energy,
}

/// Facts by kind of device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Facts {
    /// Of a vehicle.
    #[serde(rename = "vehicle")]
    Vehicle(Box<VehicleFacts>),
    /// Of a charger.
    #[serde(rename = "charger")]
    Charger(Box<ChargerFacts>),
    /// Of a heating or cooling unit.
    #[serde(rename = "hvac")]
    Hvac(Box<HvacFacts>),
    /// Of an inverter.
    #[serde(rename = "inverter")]
    Inverter(Box<InverterFacts>),
    /// Of a battery.
    #[serde(rename = "battery")]
    Battery(Box<BatteryFacts>),
    /// Of a meter.
    #[serde(rename = "meter")]
    Meter(MeterFacts),
}

impl Facts {
    /// The kind of device that they are of.
    #[must_use]
    pub const fn kind(&self) -> DeviceKind {
        match self {
            Self::Vehicle(_) => DeviceKind::Vehicle,
            Self::Charger(_) => DeviceKind::Charger,
            Self::Hvac(_) => DeviceKind::Hvac,
            Self::Inverter(_) => DeviceKind::Inverter,
            Self::Battery(_) => DeviceKind::Battery,
            Self::Meter(_) => DeviceKind::Meter,
        }
    }
}

/// A position, and when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sighting {
    /// Where the device was.
    pub position: Position,
    /// When.
    pub at: DateTime<Utc>,
}

/// The device at the other end of a cable, where a manufacturer can tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherEnd {
    /// Its manufacturer.
    pub vendor: VendorCode,
    /// Its manufacturer's identifier of it.
    pub device: String,
}

/// A vehicle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VehicleFacts {
    /// What it is.
    pub information: VehicleInformation,
    /// How its charging stands.
    pub charging: ChargeState,
    /// How full its battery is.
    #[serde(rename = "soc_percent")]
    pub soc: Option<Percent>,
    /// Usable capacity.
    #[serde(rename = "capacity_kwh")]
    pub capacity: Option<Energy>,
    /// Where it stops by itself.
    #[serde(rename = "charge_limit_percent")]
    pub charge_limit: Option<Percent>,
    /// Its limit of the current.
    #[serde(rename = "max_current_amps")]
    pub max_current: Option<Current>,
    /// The charger that it is plugged into.
    pub plugged_into: Option<OtherEnd>,
    /// How far it has been driven.
    pub odometer_km: Option<f64>,
    /// When that was read.
    pub odometer_at: Option<DateTime<Utc>>,
    /// Where it is.
    pub sighting: Option<Sighting>,
}

/// What a vehicle is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VehicleInformation {
    /// Vehicle identification number.
    pub vin: Option<String>,
    /// Make.
    pub brand: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Year of the model.
    pub year: Option<i32>,
}

/// A charger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargerFacts {
    /// What it is.
    pub information: ChargerInformation,
    /// How its charging stands.
    pub charging: ChargeState,
    /// Its limit of the current.
    #[serde(rename = "max_current_amps")]
    pub max_current: Option<Current>,
    /// The vehicle that is plugged in.
    pub plugged_into: Option<OtherEnd>,
}

/// What a charger is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargerInformation {
    /// Make.
    pub brand: String,
    /// Model.
    pub model: String,
    /// What its owner calls it.
    pub display_name: Option<String>,
    /// Year of the model.
    pub year: Option<i32>,
    /// Serial number.
    pub serial_number: Option<String>,
    /// Address of a picture.
    pub image_url: Option<String>,
}

/// Who decides what a unit is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HoldType {
    /// A setting that stays until somebody changes it.
    #[serde(rename = "permanent")]
    Permanent,
    /// The schedule on the device.
    #[serde(rename = "scheduled")]
    Scheduled,
}

/// What kind of unit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HvacCategory {
    /// Heats.
    #[serde(rename = "heating")]
    Heating,
    /// Cools.
    #[serde(rename = "cooling")]
    Cooling,
    /// Pumps heat.
    #[serde(rename = "heat_pump")]
    HeatPump,
    /// Stands for several units.
    #[serde(rename = "aggregator")]
    Aggregator,
}

/// A heating or cooling unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HvacFacts {
    /// What it is.
    pub information: HvacInformation,
    /// Whether it heats or cools now.
    pub is_active: bool,
    /// Temperature where it measures.
    #[serde(rename = "temperature_celsius")]
    pub temperature: Option<Temperature>,
    /// When the temperature and the activity were read.
    pub temperature_at: Option<DateTime<Utc>>,
    /// What it takes.
    #[serde(rename = "consumption_kw")]
    pub consumption: Option<Power>,
    /// What its thermostat does.
    pub mode: Option<Mode>,
    /// Heats below this.
    #[serde(rename = "heat_setpoint_celsius")]
    pub heat_setpoint: Option<Temperature>,
    /// Cools above this.
    #[serde(rename = "cool_setpoint_celsius")]
    pub cool_setpoint: Option<Temperature>,
    /// Who decides that.
    pub hold_type: Option<HoldType>,
    /// When the thermostat was read.
    pub thermostat_at: Option<DateTime<Utc>>,
    /// What it may be set to.
    pub limits: HvacLimits,
}

/// What a unit is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HvacInformation {
    /// Make.
    pub brand: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// What its owner calls it.
    pub display_name: String,
    /// The group of units that it belongs to.
    pub group_name: Option<String>,
    /// What kind it is.
    pub category: HvacCategory,
}

/// A solar inverter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InverterFacts {
    /// What it is.
    pub information: InverterInformation,
    /// Power that it gives, as a positive number.
    #[serde(rename = "production_kw")]
    pub production: Power,
    /// Whether it gives any.
    pub is_producing: bool,
    /// When that was read.
    pub production_at: DateTime<Utc>,
    /// Where it is.
    pub position: Option<Position>,
}

/// What an inverter is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InverterInformation {
    /// Make.
    pub brand: String,
    /// Model.
    pub model: String,
    /// What its owner calls the site.
    pub site_name: String,
    /// When it was put up.
    pub installed_on: NaiveDate,
}

/// A home battery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatteryFacts {
    /// What it aims at.
    pub mode: Option<OperationMode>,
    /// How full it is.
    #[serde(rename = "soc_percent")]
    pub soc: Option<Percent>,
    /// Usable capacity.
    #[serde(rename = "capacity_kwh")]
    pub capacity: Option<Energy>,
    /// Power now; positive charges.
    #[serde(rename = "power_kw")]
    pub power: Option<Power>,
    /// Where it is.
    pub position: Option<Position>,
}

/// A meter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeterFacts {
    /// Power now; positive is taken from the grid.
    #[serde(rename = "power_kw")]
    pub power: Option<Power>,
    /// Where it is.
    pub position: Option<Position>,
}
