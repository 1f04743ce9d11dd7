//! Types of a scenario file.
//!
//! A scenario is lists of named things that refer to each other by name. A
//! patch is a scenario too: what it names is added, or put in the place of what
//! had the name; all else stays.
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slackwater_control::device::scope::DeviceKind;
use slackwater_engine::prices::currency::Currency;
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::units::{Energy, Percent, Power, Price};

use slackwater_integration::profile::VendorCode;

use super::conduct::Conduct;
use super::devices::{Battery, Charger, Device, Hvac, Inverter, Meter, Vehicle};
use super::words::{self, TimeZone};

/// A street, a town: everything that a sandbox simulates.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Seed of everything that looks random: same seed, same days.
    /// One if left out.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Time of the clock at first; the time of the machine if left out.
    #[serde(default)]
    pub starts: Option<DateTime<Utc>>,
    /// Market zones.
    #[serde(default)]
    pub zones: Vec<Zone>,
    /// Vendors.
    #[serde(default)]
    pub vendors: Vec<Vendor>,
    /// Tariffs.
    #[serde(default)]
    pub tariffs: Vec<Tariff>,
    /// Locations.
    #[serde(default)]
    pub locations: Vec<Location>,
    /// Users.
    #[serde(default)]
    pub users: Vec<User>,
    /// Chargers.
    #[serde(default)]
    pub chargers: Vec<Charger>,
    /// Vehicles.
    #[serde(default)]
    pub vehicles: Vec<Vehicle>,
    /// Heating and cooling units.
    #[serde(default)]
    pub hvacs: Vec<Hvac>,
    /// Solar inverters.
    #[serde(default)]
    pub inverters: Vec<Inverter>,
    /// Home batteries.
    #[serde(default)]
    pub batteries: Vec<Battery>,
    /// Meters.
    #[serde(default)]
    pub meters: Vec<Meter>,
    /// Flex policies of vehicles.
    #[serde(default)]
    pub flex_policies: Vec<FlexPolicy>,
    /// Smart charging policies of chargers.
    #[serde(default)]
    pub charger_policies: Vec<ChargerPolicy>,
    /// Smart charging policies of vehicles.
    #[serde(default)]
    pub vehicle_policies: Vec<VehiclePolicy>,
    /// Energy that was recorded before the scenario starts.
    #[serde(default)]
    pub samples: Vec<Samples>,
}

/// A market zone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Its name.
    pub id: String,
    /// The currency of its prices.
    #[schemars(schema_with = "words::currency")]
    pub currency: Currency,
    /// True if price signals are taken for it.
    #[serde(default = "yes")]
    pub is_activated: bool,
    /// Parts of it that are known from the start.
    #[serde(default)]
    pub areas: Vec<String>,
}

/// A vendor, and how its service behaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vendor {
    /// Its code: capitals, digits and underscores.
    #[schemars(schema_with = "words::vendor")]
    pub code: VendorCode,
    /// Name for people.
    pub display_name: String,
    /// Name of the account that its customers log in to; its display name if left out.
    #[serde(default)]
    pub portal_name: Option<String>,
    /// The kinds of device that it makes.
    #[schemars(schema_with = "words::kinds")]
    pub kinds: Vec<DeviceKind>,
    /// The only reserve that a flex policy of its vehicles may have; 0 to 20 if
    /// left out.
    #[serde(rename = "reserve_percent", default)]
    #[schemars(schema_with = "words::percent_or_none")]
    pub reserve: Option<Percent>,
    /// Time that a device takes to carry out a command.
    #[serde(default)]
    pub command_seconds: Latency,
    /// Time that the vendor takes to answer a poll or a command.
    #[serde(default = "nothing")]
    #[schemars(range(min = 0))]
    pub answer_seconds: f64,
    /// Time that a log-in takes.
    #[serde(default = "nothing")]
    #[schemars(range(min = 0))]
    pub login_seconds: f64,
    /// The code that it sends, and wants back, when somebody logs in.
    #[serde(default)]
    pub login_code: Option<String>,
    /// Share of polls that fail.
    #[serde(rename = "fails_percent", default)]
    #[schemars(schema_with = "words::percent")]
    pub fails: Percent,
    /// Share of log-ins that fail.
    #[serde(rename = "login_fails_percent", default)]
    #[schemars(schema_with = "words::percent")]
    pub login_fails: Percent,
    /// Share of commands that it rejects.
    #[serde(rename = "rejects_percent", default)]
    #[schemars(schema_with = "words::percent")]
    pub rejects: Percent,
    /// Behaviour when it is called, whatever its devices would do.
    #[serde(default)]
    pub conduct: Conduct,
    /// Times at which its service is down.
    #[serde(default)]
    pub outages: Vec<Outage>,
}

/// A time from the least to the most, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// At least.
    #[schemars(range(min = 0))]
    pub least: f64,
    /// At most.
    #[schemars(range(min = 0))]
    pub most: f64,
}

impl Default for Latency {
    /// 15 to 20 s.
    fn default() -> Self {
        Self { least: 15.0, most: 20.0 }
    }
}

/// A time at which a vendor's service is down.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// First instant.
    pub from: DateTime<Utc>,
    /// First instant after it.
    pub to: DateTime<Utc>,
}

/// Named prices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tariff {
    /// Its name.
    pub id: String,
    /// Its prices, by name.
    pub rates: Vec<Rate>,
}

/// A named price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Name, once in its tariff.
    pub name: String,
    /// Price of a kWh as a decimal, in quotes.
    pub cost: String,
}

/// When which price of a tariff holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Name of the price.
    pub name: String,
    /// Weekdays from 0 (Monday) to 6 (Sunday); the whole week if left out.
    #[serde(default)]
    pub weekdays: Option<Vec<i64>>,
    /// First minute of the day; midnight if left out.
    #[serde(default)]
    #[schemars(schema_with = "words::clock_or_none")]
    pub start: Option<HourMinute>,
    /// First minute after it; the end of the day if left out.
    #[serde(default)]
    #[schemars(schema_with = "words::clock_or_none")]
    pub end: Option<HourMinute>,
}

/// The tariff of a location.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TariffSchedule {
    /// The tariff.
    pub tariff: String,
    /// When which of its prices holds.
    pub intervals: Vec<Interval>,
}

/// A location of users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Location {
    /// Its name. Where the interface wants a UUID, a name that is none has one
    /// of its own.
    pub id: String,
    /// The user whose it is.
    pub user: String,
    /// Time zone of its clocks.
    pub time_zone: TimeZone,
    /// Degrees north.
    #[schemars(range(min = -90, max = 90))]
    pub latitude: f64,
    /// Degrees east.
    #[schemars(range(min = -180, max = 180))]
    pub longitude: f64,
    /// Its market zone.
    #[serde(default)]
    pub zone: Option<String>,
    /// The part of the zone.
    #[serde(default)]
    pub area: Option<String>,
    /// Its tariff.
    #[serde(default)]
    pub tariff: Option<TariffSchedule>,
    /// Energy of its household in a year, apart from the devices, in kWh.
    #[serde(rename = "household_kwh_per_year", default)]
    #[schemars(schema_with = "words::amount")]
    pub household: Energy,
}

/// A user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// Identifier, as the client knows the user, and name at all vendors.
    pub id: String,
    /// Password at all vendors.
    #[serde(default = "password")]
    pub password: String,
}

/// A flex policy of a vehicle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlexPolicy {
    /// Its name. Where the interface wants a UUID, a name that is none has one
    /// of its own.
    pub id: String,
    /// The vehicle.
    pub vehicle: String,
    /// Location at which it holds.
    pub location: String,
    /// State of charge reached at once on arrival.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    pub reserve_percent: f64,
    /// Wishes by weekday, `monday` to `sunday`.
    #[serde(default)]
    pub schedule: BTreeMap<String, FlexDay>,
}

/// The wish for a day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlexDay {
    /// When the target must be reached, on the clocks of the location.
    #[schemars(schema_with = "words::clock")]
    pub deadline: HourMinute,
    /// Least state of charge by then.
    #[schemars(range(min = 0, max = 100))]
    pub target_percent: f64,
}

/// A smart charging policy of a charger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChargerPolicy {
    /// The charger.
    pub charger: String,
    /// True if smart charging controls it.
    #[serde(default = "yes")]
    pub is_enabled: bool,
    /// When charging must be done.
    #[serde(default)]
    #[schemars(schema_with = "words::clock_or_none")]
    pub deadline: Option<HourMinute>,
    /// Time that it is to be on in each cycle.
    #[serde(default)]
    #[schemars(schema_with = "words::clock_or_none")]
    pub charging_duration: Option<HourMinute>,
}

/// A smart charging policy of a vehicle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VehiclePolicy {
    /// The vehicle.
    pub vehicle: String,
    /// True if smart charging controls it.
    #[serde(default = "yes")]
    pub is_enabled: bool,
    /// When it must be ready.
    #[serde(default)]
    #[schemars(schema_with = "words::clock_or_none")]
    pub deadline: Option<HourMinute>,
    /// State of charge reached at once.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    pub minimum_charge_limit_percent: f64,
}

/// Power that a device was recorded with, in steps of one length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// The device.
    pub device: String,
    /// First instant of the first step.
    pub start: DateTime<Utc>,
    /// Length of each step.
    #[serde(default = "quarter")]
    #[schemars(range(min = 1, max = 1440))]
    pub step_minutes: u16,
    /// Power in each step, in kW; `null` where nothing was measured.
    #[serde(rename = "power_kw")]
    #[schemars(with = "Vec<Option<f64>>")]
    pub power: Vec<Option<Power>>,
    /// Price in each step, or one for all.
    #[serde(rename = "price_per_kwh", default)]
    #[schemars(with = "Vec<f64>")]
    pub price: Vec<Price>,
    /// Power in each step had smart charging not been there; none if it was not.
    #[serde(rename = "non_smart_kw", default)]
    #[schemars(with = "Vec<f64>")]
    pub non_smart: Vec<Power>,
}

impl Samples {
    /// Key that is unique in the scenario: the device and the start.
    fn name(&self) -> String {
        format!("{} from {}", self.device, self.start)
    }
}

impl Scenario {
    /// All devices: chargers, vehicles, heating and cooling units, inverters,
    /// batteries, meters, each in the order of their list.
    pub fn devices(&self) -> impl Iterator<Item = Device> + '_ {
        let chargers = self.chargers.iter().cloned().map(Device::Charger);
        let vehicles = self.vehicles.iter().cloned().map(Device::Vehicle);
        let hvacs = self.hvacs.iter().cloned().map(Device::Hvac);
        let inverters = self.inverters.iter().cloned().map(Device::Inverter);
        let batteries = self.batteries.iter().cloned().map(Device::Battery);
        let meters = self.meters.iter().cloned().map(Device::Meter);
        let devices = chargers.chain(vehicles).chain(hvacs);
        devices.chain(inverters).chain(batteries).chain(meters)
    }

    /// The names in a list of the scenario, in order.
    pub(crate) fn names_in(&self, list: &str) -> Vec<String> {
        match list {
            "zones" => self.zones.iter().map(|zone| zone.id.clone()).collect(),
            "vendors" => self.vendors.iter().map(|vendor| vendor.code.to_string()).collect(),
            "tariffs" => self.tariffs.iter().map(|tariff| tariff.id.clone()).collect(),
            "locations" => self.locations.iter().map(|location| location.id.clone()).collect(),
            "users" => self.users.iter().map(|user| user.id.clone()).collect(),
            "chargers" => self.chargers.iter().map(|charger| charger.id.clone()).collect(),
            "vehicles" => self.vehicles.iter().map(|vehicle| vehicle.id.clone()).collect(),
            "hvacs" => self.hvacs.iter().map(|hvac| hvac.id.clone()).collect(),
            "inverters" => self.inverters.iter().map(|inverter| inverter.id.clone()).collect(),
            "batteries" => self.batteries.iter().map(|battery| battery.id.clone()).collect(),
            "meters" => self.meters.iter().map(|meter| meter.id.clone()).collect(),
            "flex_policies" => self.flex_policies.iter().map(|it| it.id.clone()).collect(),
            "charger_policies" => {
                self.charger_policies.iter().map(|it| it.charger.clone()).collect()
            }
            "vehicle_policies" => {
                self.vehicle_policies.iter().map(|it| it.vehicle.clone()).collect()
            }
            "samples" => self.samples.iter().map(Samples::name).collect(),
            _ => Vec::new(),
        }
    }

    /// The seed, which is one if none is given.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Adds what a patch names, or puts it in the place of what had the name.
    ///
    /// The seed and the start of a running scenario stay.
    pub fn patch(&mut self, patch: Self) {
        merge(&mut self.zones, patch.zones, |zone| zone.id.clone());
        merge(&mut self.vendors, patch.vendors, |vendor| vendor.code.to_string());
        merge(&mut self.tariffs, patch.tariffs, |tariff| tariff.id.clone());
        merge(&mut self.locations, patch.locations, |location| location.id.clone());
        merge(&mut self.users, patch.users, |user| user.id.clone());
        merge(&mut self.chargers, patch.chargers, |charger| charger.id.clone());
        merge(&mut self.vehicles, patch.vehicles, |vehicle| vehicle.id.clone());
        merge(&mut self.hvacs, patch.hvacs, |hvac| hvac.id.clone());
        merge(&mut self.inverters, patch.inverters, |inverter| inverter.id.clone());
        merge(&mut self.batteries, patch.batteries, |battery| battery.id.clone());
        merge(&mut self.meters, patch.meters, |meter| meter.id.clone());
        merge(&mut self.flex_policies, patch.flex_policies, |policy| policy.id.clone());
        merge(&mut self.charger_policies, patch.charger_policies, |policy| policy.charger.clone());
        merge(&mut self.vehicle_policies, patch.vehicle_policies, |policy| policy.vehicle.clone());
        merge(&mut self.samples, patch.samples, Samples::name);
    }
}

fn merge<T>(kept: &mut Vec<T>, patch: Vec<T>, name: impl Fn(&T) -> String) {
    let mut places: BTreeMap<String, usize> =
        kept.iter().enumerate().map(|(place, item)| (name(item), place)).collect();
    for item in patch {
        let name = name(&item);
        if let Some(&place) = places.get(&name) {
            kept[place] = item;
        } else {
            places.insert(name, kept.len());
            kept.push(item);
        }
    }
}

fn yes() -> bool {
    true
}

fn nothing() -> f64 {
    0.0
}

fn password() -> String {
    "sandbox".to_owned()
}

fn quarter() -> u16 {
    15
}
