//! The devices of a scenario.
use std::collections::BTreeMap;

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slackwater_control::device::battery::OperationMode;
use slackwater_control::device::capability::Ability;
use slackwater_control::device::hvac::{Hold, Mode};
use slackwater_control::device::scope::{DeviceKind, Permission};
use slackwater_control::policy::comfort::ComfortPolicy;
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::units::{Current, Energy, Percent, Power, Temperature};

use slackwater_integration::profile::VendorCode;
use slackwater_integration::reading::HvacCategory;
use slackwater_service::config::comfort::describe_policy;

use super::conduct::Conduct;
use super::defaults;
use super::words;

/// Fields that all kinds of device have in a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Common {
    /// Its name in the scenario, and its vendor's identifier of it.
    pub id: String,
    /// Kind of the device.
    pub kind: DeviceKind,
    /// Owner of the device.
    pub user: String,
    /// Vendor of the device; none for one that no vendor connects.
    pub vendor: Option<VendorCode>,
    /// Location at which it stands, or is at home.
    pub location: String,
    /// Name that its owner gave it.
    pub name: String,
    /// Permissions that its owner granted.
    pub scopes: Vec<Permission>,
    /// True if its owner has linked it already.
    pub is_linked: bool,
    /// Behaviour of the device.
    pub conduct: Conduct,
    /// Commands that it takes and does not do.
    pub ignores_commands: u32,
    /// Abilities that it lacks.
    pub incapable: Vec<Ability>,
    /// Advice for a person who could add them.
    pub interventions: BTreeMap<Ability, Vec<String>>,
}

macro_rules! device {
    ($(#[$doc:meta])* $name:ident, $kind:expr, { $($own:tt)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Name of the device, unlike that of any other device.
            pub id: String,
            /// The user whose it is.
            pub user: String,
            /// The vendor that connects it. Without one it is simulated, and
            /// nobody can call it.
            #[serde(default)]
            #[schemars(schema_with = "words::vendor_or_none")]
            pub vendor: Option<VendorCode>,
            /// Location at which it stands, or is at home.
            pub location: String,
            /// Name that its owner gave it; its id if that is left out.
            #[serde(default)]
            pub name: Option<String>,
            /// Permissions that its owner granted; all that exist for its kind if left out.
            #[serde(default)]
            #[schemars(schema_with = "words::permissions")]
            pub scopes: Option<Vec<Permission>>,
            /// True if its owner has linked it already. If not, it is offered to every log-in.
            #[serde(default = "defaults::yes")]
            pub is_linked: bool,
            /// Behaviour when it is called.
            #[serde(default)]
            pub conduct: Conduct,
            /// So many commands are taken and not done.
            #[serde(default)]
            pub ignores_commands: u32,
            /// Abilities that it lacks.
            #[serde(default)]
            #[schemars(schema_with = "words::abilities")]
            pub incapable: Vec<Ability>,
            /// Advice for a person, by the ability that it would add.
            #[serde(default)]
            #[schemars(schema_with = "words::interventions")]
            pub interventions: BTreeMap<Ability, Vec<String>>,
            $($own)*
        }

        impl $name {
            /// Fields that all devices have.
            #[must_use]
            pub fn common(&self) -> Common {
                let granted = || $kind.permissions().to_vec();
                Common {
                    id: self.id.clone(),
                    kind: $kind,
                    user: self.user.clone(),
                    vendor: self.vendor.clone(),
                    location: self.location.clone(),
                    name: self.name.clone().unwrap_or_else(|| self.id.clone()),
                    scopes: self.scopes.clone().unwrap_or_else(granted),
                    is_linked: self.is_linked && self.vendor.is_some(),
                    conduct: self.conduct.clone(),
                    ignores_commands: self.ignores_commands,
                    incapable: self.incapable.clone(),
                    interventions: self.interventions.clone(),
                }
            }
        }
    };
}

device!(
    /// A vehicle, its battery, and how it is used.
    Vehicle, DeviceKind::Vehicle, {
        /// Vehicle identification number.
        #[serde(default)]
        pub vin: Option<String>,
        /// Make.
        #[serde(default)]
        pub brand: Option<String>,
        /// Model.
        #[serde(default)]
        pub model: Option<String>,
        /// Year of the model.
        #[serde(default)]
        pub year: Option<i32>,
        /// Facts that its vendor does not tell.
        #[serde(default)]
        pub untold: Vec<VehicleFact>,
        /// Usable capacity of the battery, in kWh.
        #[serde(rename = "capacity_kwh")]
        #[schemars(schema_with = "words::amount")]
        pub capacity: Energy,
        /// State of charge at first.
        #[serde(rename = "soc_percent", default = "defaults::half")]
        #[schemars(schema_with = "words::percent")]
        pub soc: Percent,
        /// Percent at which it stops by itself.
        #[serde(rename = "charge_limit_percent", default = "defaults::full")]
        #[schemars(schema_with = "words::percent")]
        pub charge_limit: Percent,
        /// Most that it takes at the plug, in kW.
        #[serde(rename = "power_max_kw", default = "defaults::eleven_kw")]
        #[schemars(schema_with = "words::amount")]
        pub power_max: Power,
        /// Stored of what is taken.
        #[serde(rename = "efficiency_percent", default = "defaults::ninety")]
        #[schemars(schema_with = "words::percent")]
        pub efficiency: Percent,
        /// State of charge from which it takes less.
        #[serde(rename = "taper_from_percent", default = "defaults::ninety")]
        #[schemars(schema_with = "words::percent")]
        pub taper_from: Percent,
        /// Power that it still takes when full, in percent of the most.
        #[serde(rename = "taper_end_percent", default = "defaults::thirty")]
        #[schemars(schema_with = "words::percent")]
        pub taper_end: Percent,
        /// Energy for 100 km, in kWh.
        #[serde(rename = "kwh_per_100_km", default = "defaults::eighteen_kwh")]
        #[schemars(schema_with = "words::amount")]
        pub per_100_km: Energy,
        /// Kilometres driven at first.
        #[serde(default)]
        #[schemars(range(min = 0))]
        pub odometer_km: f64,
        /// The charger that it uses at home; without one a socket.
        #[serde(default)]
        pub charger: Option<String>,
        /// Power of the socket.
        #[serde(default = "defaults::socket")]
        pub socket: Outlet,
        /// When it is away.
        #[serde(default)]
        pub trips: Vec<Trip>,
        /// Minutes by which its people are early or late.
        #[serde(default = "defaults::ten_minutes")]
        pub jitter_minutes: u16,
        /// Probability that it is plugged in when it comes home, in percent.
        #[serde(rename = "plugs_in_percent", default = "defaults::full")]
        #[schemars(schema_with = "words::percent")]
        pub plugs_in: Percent,
        /// Minutes from coming home to the plug.
        #[serde(default = "defaults::two_minutes")]
        pub plug_in_after_minutes: u16,
        /// True if it is plugged in at first.
        #[serde(default = "defaults::yes")]
        pub is_plugged_in: bool,
        /// True if it charges without being told once it is plugged in.
        #[serde(default = "defaults::yes")]
        pub charges_on_plug_in: bool,
        /// Seconds from the plug, or a start, to the first power.
        #[serde(default = "defaults::ten_seconds")]
        pub initializing_seconds: u16,
        /// Minutes without power and wheels until it sleeps; never if left out.
        #[serde(default)]
        pub sleeps_after_minutes: Option<u32>,
        /// True if a command may wake it then.
        #[serde(default = "defaults::yes")]
        pub may_be_woken: bool,
    }
);

device!(
    /// A charger.
    Charger, DeviceKind::Charger, {
        /// Make.
        #[serde(default = "defaults::unnamed")]
        pub brand: String,
        /// Model.
        #[serde(default = "defaults::unnamed")]
        pub model: String,
        /// Year of the model.
        #[serde(default)]
        pub year: Option<i32>,
        /// Serial number.
        #[serde(default)]
        pub serial_number: Option<String>,
        /// Address of a picture.
        #[serde(default)]
        pub image_url: Option<String>,
        /// Power that it gives.
        #[serde(default = "defaults::three_phases")]
        pub outlet: Outlet,
    }
);

device!(
    /// A heating or cooling unit, its room and its thermostat.
    Hvac, DeviceKind::Hvac, {
        /// Make.
        #[serde(default)]
        pub brand: Option<String>,
        /// Model.
        #[serde(default)]
        pub model: Option<String>,
        /// The group of units that it belongs to.
        #[serde(default)]
        pub group_name: Option<String>,
        /// Kind of the unit.
        #[serde(default = "defaults::heat_pump")]
        #[schemars(schema_with = "words::category")]
        pub category: HvacCategory,
        /// Power while it is on, in kW.
        #[serde(rename = "power_kw", default = "defaults::two_kw")]
        #[schemars(schema_with = "words::amount")]
        pub power: Power,
        /// Warmth, or cold, per energy taken.
        #[serde(default = "defaults::three")]
        #[schemars(range(min = 0))]
        pub gain: f64,
        /// Hours in which its room, left alone, comes 63 % closer to the outside.
        #[serde(default = "defaults::fifty")]
        #[schemars(range(min = 0))]
        pub time_constant_hours: f64,
        /// Degrees by which a kilowatt of warmth keeps the room above the outside.
        #[serde(default = "defaults::five")]
        #[schemars(range(min = 0))]
        pub celsius_per_kw: f64,
        /// Temperature of the room at first.
        #[serde(rename = "temperature_celsius", default = "defaults::twenty")]
        #[schemars(with = "f64")]
        pub temperature: Temperature,
        /// Mode of the schedule on the device.
        #[serde(default = "defaults::heating")]
        #[schemars(schema_with = "words::mode")]
        pub mode: Mode,
        /// Heats below this by day.
        #[serde(rename = "day_celsius", default = "defaults::twenty_one")]
        #[schemars(with = "f64")]
        pub by_day: Temperature,
        /// Heats below this by night.
        #[serde(rename = "night_celsius", default = "defaults::eighteen")]
        #[schemars(with = "f64")]
        pub by_night: Temperature,
        /// Cools above this.
        #[serde(rename = "cool_celsius", default = "defaults::twenty_six")]
        #[schemars(with = "f64")]
        pub cool: Temperature,
        /// When its day begins.
        #[serde(default = "defaults::six")]
        #[schemars(schema_with = "words::clock")]
        pub day_starts: HourMinute,
        /// When its night begins.
        #[serde(default = "defaults::ten_at_night")]
        #[schemars(schema_with = "words::clock")]
        pub night_starts: HourMinute,
        /// A hold at first; it follows its schedule if left out.
        #[serde(default)]
        #[schemars(schema_with = "words::hold_or_none")]
        pub held: Option<Hold>,
        /// Modes that it has.
        #[serde(default = "defaults::all_modes")]
        #[schemars(schema_with = "words::modes")]
        pub modes: Vec<Mode>,
        /// Comfort policy by which the service plans it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "describe_policy")]
        pub comfort: Option<Box<ComfortPolicy>>,
        /// True if its vendor reports its consumption.
        #[serde(default)]
        pub tells_consumption: bool,
    }
);

device!(
    /// A solar roof with its inverter.
    Inverter, DeviceKind::Inverter, {
        /// Make.
        #[serde(default = "defaults::unnamed")]
        pub brand: String,
        /// Model.
        #[serde(default = "defaults::unnamed")]
        pub model: String,
        /// When it was put up.
        #[serde(default = "defaults::long_ago")]
        pub installed_on: NaiveDate,
        /// Rating of the panels, in kW.
        #[serde(rename = "peak_kw")]
        #[schemars(schema_with = "words::amount")]
        pub peak: Power,
        /// Most that the inverter gives, in kW; the rating of the panels if left out.
        #[serde(rename = "inverter_max_kw", default)]
        #[schemars(with = "Option<f64>")]
        pub inverter_max: Option<Power>,
        /// Angle of the panels above flat ground.
        #[serde(default = "defaults::thirty_five")]
        #[schemars(range(min = 0, max = 90))]
        pub tilt_degrees: f64,
        /// Direction of the panels: 90 is east, 180 south, 270 west.
        #[serde(default = "defaults::south")]
        #[schemars(range(min = 0, max = 360))]
        pub azimuth_degrees: f64,
    }
);

device!(
    /// A home battery.
    Battery, DeviceKind::Battery, {
        /// Usable capacity, in kWh.
        #[serde(rename = "capacity_kwh")]
        #[schemars(schema_with = "words::amount")]
        pub capacity: Energy,
        /// Most that it takes or gives, in kW.
        #[serde(rename = "power_max_kw", default = "defaults::five_kw")]
        #[schemars(schema_with = "words::amount")]
        pub power_max: Power,
        /// Left of energy that was put in and taken out again.
        #[serde(rename = "round_trip_percent", default = "defaults::ninety")]
        #[schemars(schema_with = "words::percent")]
        pub round_trip: Percent,
        /// State of charge at first.
        #[serde(rename = "soc_percent", default = "defaults::half")]
        #[schemars(schema_with = "words::percent")]
        pub soc: Percent,
        /// Operation mode at first.
        #[serde(default = "defaults::self_reliance")]
        #[schemars(schema_with = "words::operation_mode")]
        pub mode: OperationMode,
        /// When the cheap hours of its own rate schedule begin.
        #[serde(default)]
        #[schemars(schema_with = "words::clock")]
        pub cheap_from: HourMinute,
        /// When they end.
        #[serde(default = "defaults::six")]
        #[schemars(schema_with = "words::clock")]
        pub cheap_to: HourMinute,
    }
);

device!(
    /// The meter of a location.
    Meter, DeviceKind::Meter, {}
);

/// A device of a scenario, of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Device {
    /// A charger.
    Charger(Charger),
    /// A vehicle.
    Vehicle(Vehicle),
    /// A heating or cooling unit.
    Hvac(Hvac),
    /// A solar inverter.
    Inverter(Inverter),
    /// A home battery.
    Battery(Battery),
    /// A meter.
    Meter(Meter),
}

impl Device {
    /// Fields that all devices have.
    #[must_use]
    pub fn common(&self) -> Common {
        match self {
            Self::Charger(device) => device.common(),
            Self::Vehicle(device) => device.common(),
            Self::Hvac(device) => device.common(),
            Self::Inverter(device) => device.common(),
            Self::Battery(device) => device.common(),
            Self::Meter(device) => device.common(),
        }
    }
}

/// A fact that the vendor of a vehicle may keep to itself.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum VehicleFact {
    /// Vehicle identification number.
    Vin,
    /// Distance driven.
    Odometer,
    /// Position.
    Location,
    /// State of charge.
    Soc,
    /// Usable capacity.
    Capacity,
    /// Percent at which it stops by itself.
    ChargeLimit,
    /// Reachability.
    IsReachable,
}

/// Power of an outlet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outlet {
    /// One to three.
    #[schemars(range(min = 1, max = 3))]
    pub phases: u8,
    /// Voltage between a phase and neutral.
    #[serde(default = "defaults::european")]
    #[schemars(range(min = 0))]
    pub volts: f64,
    /// Highest current per phase, in amperes.
    #[serde(rename = "amps")]
    #[schemars(schema_with = "words::amount")]
    pub current_max: Current,
}

/// A trip that is made every week.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trip {
    /// Weekdays from 0 (Monday) to 6 (Sunday); every day if left out.
    #[serde(default)]
    pub weekdays: Option<Vec<u8>>,
    /// When it leaves, on the clocks at home.
    #[schemars(schema_with = "words::clock")]
    pub leave: HourMinute,
    /// When it is back; not after `leave` it is back the next day.
    #[schemars(schema_with = "words::clock")]
    pub back: HourMinute,
    /// There and back.
    #[schemars(range(min = 0))]
    pub distance_km: f64,
}
