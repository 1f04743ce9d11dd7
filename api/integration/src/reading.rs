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
use slackwater_engine::words;

use crate::profile::VendorCode;

/// Report of a manufacturer about a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// When the manufacturer last heard from the device.
    pub at: DateTime<Utc>,
    /// True if the facts are live.
    pub is_reachable: Option<bool>,
    /// Abilities of the device, and advice for a person who could add one.
    pub capabilities: Capabilities,
    /// Counters of the device.
    pub counters: Option<Counters>,
    /// Facts of its kind.
    pub facts: Facts,
}

impl Reading {
    /// Observed power of the device, with this reading.
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
    /// Position of the device.
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
    /// Model of the vehicle.
    pub information: VehicleInformation,
    /// State of charging.
    pub charging: ChargeState,
    /// State of charge of the battery.
    #[serde(rename = "soc_percent")]
    pub soc: Option<Percent>,
    /// Usable capacity.
    #[serde(rename = "capacity_kwh")]
    pub capacity: Option<Energy>,
    /// Percent at which the vehicle stops by itself.
    #[serde(rename = "charge_limit_percent")]
    pub charge_limit: Option<Percent>,
    /// Its limit of the current.
    #[serde(rename = "max_current_amps")]
    pub max_current: Option<Current>,
    /// The charger that it is plugged into.
    pub plugged_into: Option<OtherEnd>,
    /// Distance driven.
    pub odometer_km: Option<f64>,
    /// When that was read.
    pub odometer_at: Option<DateTime<Utc>>,
    /// Last known position.
    pub sighting: Option<Sighting>,
}

/// Model of a vehicle.
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
    /// Model of the charger.
    pub information: ChargerInformation,
    /// State of charging.
    pub charging: ChargeState,
    /// Its limit of the current.
    #[serde(rename = "max_current_amps")]
    pub max_current: Option<Current>,
    /// The vehicle that is plugged in.
    pub plugged_into: Option<OtherEnd>,
}

/// Model of a charger.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargerInformation {
    /// Make.
    pub brand: String,
    /// Model.
    pub model: String,
    /// Name that its owner gave it.
    pub display_name: Option<String>,
    /// Year of the model.
    pub year: Option<i32>,
    /// Serial number.
    pub serial_number: Option<String>,
    /// Address of a picture.
    pub image_url: Option<String>,
}

/// End of a setting that was made by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HoldType {
    /// A setting that stays until somebody changes it.
    #[serde(rename = "permanent")]
    Permanent,
    /// The schedule on the device.
    #[serde(rename = "scheduled")]
    Scheduled,
}

words! {
    /// Kind of a heating or cooling unit.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum HvacCategory {
        /// Heats.
        Heating = "heating",
        /// Cools.
        Cooling = "cooling",
        /// Pumps heat.
        HeatPump = "heat_pump",
        /// Stands for several units.
        Aggregator = "aggregator",
    }
}

/// A heating or cooling unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HvacFacts {
    /// Model of the unit.
    pub information: HvacInformation,
    /// True if it heats or cools now.
    pub is_active: bool,
    /// Temperature where it measures.
    #[serde(rename = "temperature_celsius")]
    pub temperature: Option<Temperature>,
    /// When the temperature and the activity were read.
    pub temperature_at: Option<DateTime<Utc>>,
    /// Power that it takes.
    #[serde(rename = "consumption_kw")]
    pub consumption: Option<Power>,
    /// Mode of its thermostat.
    pub mode: Option<Mode>,
    /// Heats below this.
    #[serde(rename = "heat_setpoint_celsius")]
    pub heat_setpoint: Option<Temperature>,
    /// Cools above this.
    #[serde(rename = "cool_setpoint_celsius")]
    pub cool_setpoint: Option<Temperature>,
    /// End of the present setting.
    pub hold_type: Option<HoldType>,
    /// When the thermostat was read.
    pub thermostat_at: Option<DateTime<Utc>>,
    /// Limits of its settings.
    pub limits: HvacLimits,
}

/// Model of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HvacInformation {
    /// Make.
    pub brand: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Name that its owner gave it.
    pub display_name: String,
    /// The group of units that it belongs to.
    pub group_name: Option<String>,
    /// Kind of the unit.
    pub category: HvacCategory,
}

/// A solar inverter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InverterFacts {
    /// Model of the inverter.
    pub information: InverterInformation,
    /// Power that it gives, as a positive number.
    #[serde(rename = "production_kw")]
    pub production: Power,
    /// True if it gives power.
    pub is_producing: bool,
    /// When that was read.
    pub production_at: DateTime<Utc>,
    /// Position of the inverter.
    pub position: Option<Position>,
}

/// Model of an inverter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InverterInformation {
    /// Make.
    pub brand: String,
    /// Model.
    pub model: String,
    /// Name that its owner gave the site.
    pub site_name: String,
    /// When it was put up.
    pub installed_on: NaiveDate,
}

/// A home battery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatteryFacts {
    /// Operation mode.
    pub mode: Option<OperationMode>,
    /// State of charge.
    #[serde(rename = "soc_percent")]
    pub soc: Option<Percent>,
    /// Usable capacity.
    #[serde(rename = "capacity_kwh")]
    pub capacity: Option<Energy>,
    /// Power now; positive charges.
    #[serde(rename = "power_kw")]
    pub power: Option<Power>,
    /// Position of the battery.
    pub position: Option<Position>,
}

/// A meter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeterFacts {
    /// Power now; positive is taken from the grid.
    #[serde(rename = "power_kw")]
    pub power: Option<Power>,
    /// Position of the meter.
    pub position: Option<Position>,
}
