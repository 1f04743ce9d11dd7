//! Check of a scenario.
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::policy::flex::{DayRequest, FlexPolicy, FlexRequest, ReserveRule};
use slackwater_control::policy::vehicle::{VehiclePolicy, VehiclePolicyRequest};
use slackwater_engine::prices::tariff::{IntervalRequest, RateRequest, Rates, WeeklyIntervals};
use slackwater_engine::statistics::sample::Sample;
use slackwater_engine::units::Percent;

use crate::build::car;
use crate::devices::{Outlet, Vehicle};
use crate::document::Finding;
use crate::scenario::{FlexPolicy as FlexPolicySpec, Interval, Samples, Scenario, Tariff, Vendor};
use crate::words::TimeZone;

/// All that makes no sense.
pub(crate) fn check(scenario: &Scenario) -> Vec<Finding> {
    let mut checker = Checker { scenario, found: Vec::new() };
    checker.names();
    checker.vendors();
    checker.tariffs();
    checker.locations();
    checker.devices();
    checker.vehicles();
    checker.outlets();
    checker.flex_policies();
    checker.smart_policies();
    checker.samples();
    checker.found
}

struct Checker<'a> {
    scenario: &'a Scenario,
    found: Vec<Finding>,
}

impl Checker<'_> {
    /// Wrong whatever else the scenario holds.
    fn wrong(&mut self, field: String, reason: impl Into<String>) {
        self.found.push(Finding { field, reason: reason.into(), stands_alone: true });
    }

    /// Wrong beside what the scenario holds, or does not.
    fn dangling(&mut self, field: String, reason: impl Into<String>) {
        self.found.push(Finding { field, reason: reason.into(), stands_alone: false });
    }

    /// Nothing has no name, and no two things of a kind have the same.
    fn names(&mut self) {
        let s = self.scenario;
        let ids = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>();
        self.once("zones", "id", &ids(s.zones.iter().map(|zone| &zone.id).collect()));
        let codes: Vec<String> = s.vendors.iter().map(|vendor| vendor.code.to_string()).collect();
        self.once("vendors", "code", &codes);
        self.once("tariffs", "id", &ids(s.tariffs.iter().map(|tariff| &tariff.id).collect()));
        let locations = s.locations.iter().map(|location| &location.id).collect();
        self.once("locations", "id", &ids(locations));
        self.once("users", "id", &ids(s.users.iter().map(|user| &user.id).collect()));
        let policies = s.flex_policies.iter().map(|policy| &policy.id).collect();
        self.once("flex_policies", "id", &ids(policies));
        let mut seen = BTreeMap::new();
        for (field, device) in self.device_fields() {
            if device.is_empty() {
                self.wrong(format!("{field}.id"), "a name has at least one letter");
            } else if let Some(first) = seen.insert(device.clone(), field.clone()) {
                let reason = format!("{device:?} is the name of {first} too");
                self.wrong(format!("{field}.id"), reason);
            }
        }
    }

    fn once(&mut self, list: &str, member: &str, names: &[String]) {
        let mut seen = BTreeMap::new();
        for (index, name) in names.iter().enumerate() {
            if name.is_empty() {
                self.wrong(format!("{list}[{index}].{member}"), "a name has at least one letter");
            } else if let Some(first) = seen.insert(name, index) {
                let reason = format!("{name:?} is the name of {list}[{first}] too");
                self.wrong(format!("{list}[{index}].{member}"), reason);
            }
        }
    }

    /// The field of each device, and its name.
    fn device_fields(&self) -> Vec<(String, String)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let devices = self.scenario.devices().map(|device| device.common());
        let numbered = devices.map(|device| {
            let list = list_of(device.kind);
            let count = counts.entry(list).or_default();
            *count += 1;
            (format!("{list}[{}]", *count - 1), device.id)
        });
        numbered.collect()
    }

    fn vendors(&mut self) {
        for (index, vendor) in self.scenario.vendors.iter().enumerate() {
            for (member, seconds) in seconds_of(vendor) {
                if !(0.0..=86_400.0).contains(&seconds) {
                    let reason = format!("{seconds} s is not between 0 and a day");
                    self.wrong(format!("vendors[{index}].{member}"), reason);
                }
            }
            if vendor.command_seconds.most < vendor.command_seconds.least {
                let field = format!("vendors[{index}].command_seconds.most");
                self.wrong(field, "the most is not below the least");
            }
            for (place, outage) in vendor.outages.iter().enumerate() {
                if outage.to <= outage.from {
                    let field = format!("vendors[{index}].outages[{place}].to");
                    self.wrong(field, "an outage ends after it begins");
                }
            }
        }
    }

    fn tariffs(&mut self) {
        for (index, tariff) in self.scenario.tariffs.iter().enumerate() {
            if let Err(error) = Rates::new(&rates_of(tariff)) {
                self.wrong(format!("tariffs[{index}]"), error.to_string());
            }
        }
    }

    fn locations(&mut self) {
        let s = self.scenario;
        let users: BTreeSet<&str> = s.users.iter().map(|user| user.id.as_str()).collect();
        for (index, location) in s.locations.iter().enumerate() {
            let field = |member: &str| format!("locations[{index}].{member}");
            if !users.contains(location.user.as_str()) {
                self.dangling(field("user"), format!("there is no user {:?}", location.user));
            }
            if !(-90.0..=90.0).contains(&location.latitude) {
                self.wrong(field("latitude"), "a latitude is between -90 and 90");
            }
            if !(-180.0..=180.0).contains(&location.longitude) {
                self.wrong(field("longitude"), "a longitude is between -180 and 180");
            }
            if let Some(zone) = &location.zone
                && !s.zones.iter().any(|known| known.id == *zone)
            {
                self.dangling(field("zone"), format!("there is no zone {zone:?}"));
            }
            if location.area.is_some() && location.zone.is_none() {
                self.wrong(field("area"), "an area is a part of a zone, and there is none");
            }
            let Some(schedule) = &location.tariff else { continue };
            if let Err(error) = WeeklyIntervals::new(intervals_of(&schedule.intervals)) {
                self.wrong(field("tariff"), error.to_string());
            }
            let Some(tariff) = s.tariffs.iter().find(|known| known.id == schedule.tariff) else {
                let reason = format!("there is no tariff {:?}", schedule.tariff);
                self.dangling(field("tariff.tariff"), reason);
                continue;
            };
            for (place, interval) in schedule.intervals.iter().enumerate() {
                if !tariff.rates.iter().any(|rate| rate.name == interval.name) {
                    let reason = format!("tariff {:?} has no rate {:?}", tariff.id, interval.name);
                    self.dangling(field(&format!("tariff.intervals[{place}].name")), reason);
                }
            }
        }
    }

    /// Checks that the owner, the vendor and the location of each device exist.
    fn devices(&mut self) {
        let s = self.scenario;
        let fields = self.device_fields();
        let vendors: BTreeMap<&str, &Vendor> =
            s.vendors.iter().map(|vendor| (vendor.code.as_str(), vendor)).collect();
        let users: BTreeSet<&str> = s.users.iter().map(|user| user.id.as_str()).collect();
        let places: BTreeSet<&str> = s.locations.iter().map(|place| place.id.as_str()).collect();
        for ((field, _), device) in fields.into_iter().zip(s.devices().map(|d| d.common())) {
            if !users.contains(device.user.as_str()) {
                let reason = format!("there is no user {:?}", device.user);
                self.dangling(format!("{field}.user"), reason);
            }
            if !places.contains(device.location.as_str()) {
                let reason = format!("there is no location {:?}", device.location);
                self.dangling(format!("{field}.location"), reason);
            }
            for (place, scope) in device.scopes.iter().enumerate() {
                if !device.kind.permissions().contains(scope) {
                    let reason = format!("a {} has no {}", word(device.kind), scope.as_str());
                    self.wrong(format!("{field}.scopes[{place}]"), reason);
                }
            }
            let Some(code) = &device.vendor else { continue };
            match vendors.get(code.as_str()) {
                None => {
                    self.dangling(format!("{field}.vendor"), format!("there is no vendor {code}"));
                }
                Some(vendor) if !vendor.kinds.contains(&device.kind) => {
                    let reason = format!("{code} makes no {}", word(device.kind));
                    self.dangling(format!("{field}.vendor"), reason);
                }
                Some(_) => (),
            }
        }
    }

    fn vehicles(&mut self) {
        let s = self.scenario;
        let homes: BTreeMap<&str, &str> = s
            .chargers
            .iter()
            .map(|charger| (charger.id.as_str(), charger.location.as_str()))
            .collect();
        for (index, vehicle) in s.vehicles.iter().enumerate() {
            let field = |member: &str| format!("vehicles[{index}].{member}");
            // Bounds are the same wherever its clocks are read.
            for odd in car(vehicle, TimeZone(chrono_tz::UTC)).checked().err().into_iter().flatten()
            {
                self.wrong(field(odd.field()), odd.to_string());
            }
            if let Some(charger) = &vehicle.charger {
                match homes.get(charger.as_str()) {
                    None => {
                        self.dangling(field("charger"), format!("there is no charger {charger:?}"));
                    }
                    Some(&home) if home != vehicle.location => {
                        let reason = format!("{charger:?} is at {home:?}, not at the vehicle's");
                        self.dangling(field("charger"), reason);
                    }
                    Some(_) => (),
                }
            }
            for (place, trip) in vehicle.trips.iter().enumerate() {
                let field = |member: &str| format!("vehicles[{index}].trips[{place}].{member}");
                if !(0.0..=5_000.0).contains(&trip.distance_km) {
                    self.wrong(field("distance_km"), "a distance is between 0 and 5000 km");
                }
                if trip.weekdays.iter().flatten().any(|&weekday| weekday > 6) {
                    self.wrong(field("weekdays"), "0 is Monday and 6 is Sunday");
                }
            }
        }
        for (index, hvac) in s.hvacs.iter().enumerate() {
            let members = [
                ("gain", hvac.gain),
                ("time_constant_hours", hvac.time_constant_hours),
                ("celsius_per_kw", hvac.celsius_per_kw),
            ];
            for (member, number) in members {
                if !(number > 0.0 && number <= 1e4) {
                    self.wrong(format!("hvacs[{index}].{member}"), "the number is above zero");
                }
            }
            if let Some(error) = hvac.comfort.as_ref().and_then(|policy| policy.check().err()) {
                self.wrong(format!("hvacs[{index}].comfort"), error.to_string());
            }
        }
    }

    fn outlets(&mut self) {
        let s = self.scenario;
        let sockets = s.vehicles.iter().map(|vehicle| &vehicle.socket).enumerate();
        let sockets = sockets.map(|(index, outlet)| (format!("vehicles[{index}].socket"), outlet));
        let outlets = s.chargers.iter().map(|charger| &charger.outlet).enumerate();
        let outlets = outlets.map(|(index, outlet)| (format!("chargers[{index}].outlet"), outlet));
        let all: Vec<(String, &Outlet)> = sockets.chain(outlets).collect();
        for (field, outlet) in all {
            if !(1..=3).contains(&outlet.phases) {
                self.wrong(format!("{field}.phases"), "there are one to three phases");
            }
            if !(outlet.volts > 0.0 && outlet.volts <= 1000.0) {
                self.wrong(format!("{field}.volts"), "a voltage is above 0 and at most 1000 V");
            }
        }
    }

    fn flex_policies(&mut self) {
        let s = self.scenario;
        let vehicles = vehicles_of(s);
        let reserves = reserves_of(s);
        let places: BTreeSet<&str> = s.locations.iter().map(|place| place.id.as_str()).collect();
        for (index, policy) in s.flex_policies.iter().enumerate() {
            let field = |member: &str| format!("flex_policies[{index}].{member}");
            let vehicle = vehicles.get(policy.vehicle.as_str());
            if vehicle.is_none() {
                let reason = format!("there is no vehicle {:?}", policy.vehicle);
                self.dangling(field("vehicle"), reason);
            }
            if !places.contains(policy.location.as_str()) {
                let reason = format!("there is no location {:?}", policy.location);
                self.dangling(field("location"), reason);
            }
            let vendor = vehicle.and_then(|vehicle| vehicle.vendor.as_ref());
            let rule = vendor.and_then(|code| reserves.get(code.as_str()));
            let rule = rule.copied().unwrap_or_default();
            if let Err(issues) = FlexPolicy::new(&flex_request(policy), rule) {
                self.dangling(format!("flex_policies[{index}]"), issues.to_string());
            }
        }
    }

    fn smart_policies(&mut self) {
        let s = self.scenario;
        let vehicles = vehicles_of(s);
        let chargers: BTreeSet<&str> = s.chargers.iter().map(|box_| box_.id.as_str()).collect();
        for (index, policy) in s.charger_policies.iter().enumerate() {
            if !chargers.contains(policy.charger.as_str()) {
                let reason = format!("there is no charger {:?}", policy.charger);
                self.dangling(format!("charger_policies[{index}].charger"), reason);
            }
        }
        for (index, policy) in s.vehicle_policies.iter().enumerate() {
            let vehicle = vehicles.get(policy.vehicle.as_str());
            if vehicle.is_none() {
                let reason = format!("there is no vehicle {:?}", policy.vehicle);
                self.dangling(format!("vehicle_policies[{index}].vehicle"), reason);
            }
            let request = VehiclePolicyRequest {
                is_enabled: policy.is_enabled,
                deadline: policy.deadline,
                minimum_charge_limit_percent: policy.minimum_charge_limit_percent,
            };
            let limit = vehicle.map(|vehicle| vehicle.charge_limit);
            if let Err(error) = VehiclePolicy::new(request, limit) {
                self.dangling(format!("vehicle_policies[{index}]"), error.to_string());
            }
        }
    }

    fn samples(&mut self) {
        let devices: BTreeSet<String> =
            self.scenario.devices().map(|device| device.common().id).collect();
        for (index, samples) in self.scenario.samples.iter().enumerate() {
            let field = |member: &str| format!("samples[{index}].{member}");
            if !devices.contains(&samples.device) {
                let reason = format!("there is no device {:?}", samples.device);
                self.dangling(field("device"), reason);
            }
            if !(1..=1440).contains(&samples.step_minutes) {
                self.wrong(field("step_minutes"), "a step is between a minute and a day");
            }
            let steps = samples.power.len();
            if ![0, 1, steps].contains(&samples.price.len()) {
                let reason = format!("one price, or one for each of the {steps} steps");
                self.wrong(field("price_per_kwh"), reason);
            }
            if ![0, steps].contains(&samples.non_smart.len()) {
                let reason = format!("none, or one for each of the {steps} steps");
                self.wrong(field("non_smart_kw"), reason);
            }
        }
    }
}

fn seconds_of(vendor: &Vendor) -> [(&'static str, f64); 4] {
    [
        ("command_seconds.least", vendor.command_seconds.least),
        ("command_seconds.most", vendor.command_seconds.most),
        ("answer_seconds", vendor.answer_seconds),
        ("login_seconds", vendor.login_seconds),
    ]
}

fn list_of(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Battery => "batteries",
        DeviceKind::Charger => "chargers",
        DeviceKind::Hvac => "hvacs",
        DeviceKind::Inverter => "inverters",
        DeviceKind::Meter => "meters",
        DeviceKind::Vehicle => "vehicles",
    }
}

/// The word of a kind of device.
pub(crate) fn word(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Battery => "battery",
        DeviceKind::Charger => "charger",
        DeviceKind::Hvac => "hvac unit",
        DeviceKind::Inverter => "inverter",
        DeviceKind::Meter => "meter",
        DeviceKind::Vehicle => "vehicle",
    }
}

fn vehicles_of(scenario: &Scenario) -> BTreeMap<&str, &Vehicle> {
    scenario.vehicles.iter().map(|vehicle| (vehicle.id.as_str(), vehicle)).collect()
}

/// Reserve that vehicles of each vendor allow.
fn reserves_of(scenario: &Scenario) -> BTreeMap<&str, ReserveRule> {
    let vendors = scenario.vendors.iter();
    vendors.map(|vendor| (vendor.code.as_str(), reserve_of(vendor))).collect()
}

/// Reserve that vehicles of a vendor allow.
pub(crate) fn reserve_of(vendor: &Vendor) -> ReserveRule {
    vendor.reserve.map_or(ReserveRule::Range, ReserveRule::Fixed)
}

/// The rates of a tariff as the engine takes them.
#[must_use]
pub fn rates_of(tariff: &Tariff) -> Vec<RateRequest> {
    let rate = |rate: &crate::scenario::Rate| RateRequest {
        name: rate.name.clone(),
        cost: rate.cost.clone(),
    };
    tariff.rates.iter().map(rate).collect()
}

/// Weekly intervals as the engine takes them.
#[must_use]
pub fn intervals_of(intervals: &[Interval]) -> Vec<IntervalRequest> {
    let interval = |interval: &Interval| IntervalRequest {
        name: interval.name.clone(),
        weekdays: interval.weekdays.clone(),
        start: interval.start,
        end: interval.end,
    };
    intervals.iter().map(interval).collect()
}

/// A flex policy as the engine takes it, before any charge limit was observed.
#[must_use]
pub fn flex_request(policy: &FlexPolicySpec) -> FlexRequest {
    let day = |day: &crate::scenario::FlexDay| DayRequest {
        deadline: Some(day.deadline.to_string()),
        target_percent: Some(day.target_percent),
    };
    let schedule = policy.schedule.iter().map(|(name, wish)| (name.clone(), day(wish)));
    FlexRequest {
        reserve_percent: policy.reserve_percent,
        schedule: schedule.collect(),
        observed_limit_percent: Percent::FULL.as_percent(),
    }
}

/// Recorded energy as the engine takes it.
#[must_use]
pub fn samples_of(samples: &Samples) -> Vec<Sample> {
    let step = TimeDelta::minutes(samples.step_minutes.into());
    let mut start: DateTime<Utc> = samples.start;
    let mut made = Vec::with_capacity(samples.power.len());
    for (index, &power) in samples.power.iter().enumerate() {
        let end = start.checked_add_signed(step).unwrap_or(DateTime::<Utc>::MAX_UTC);
        let price = samples
            .price
            .get(index)
            .or_else(|| samples.price.first().filter(|_| samples.price.len() == 1));
        let non_smart = samples.non_smart.get(index).copied();
        made.push(Sample { start, end, power, price: price.copied(), non_smart });
        start = end;
    }
    made
}
