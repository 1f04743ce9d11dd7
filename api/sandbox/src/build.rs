//! From the devices of a scenario to the parts of a home.
use std::collections::BTreeMap;

use slackwater_control::device::hvac::Hold;
use slackwater_engine::units::Energy;
use slackwater_sim::car::CarSpec;
use slackwater_sim::chance::Chance;
use slackwater_sim::home::HomeSpec;
use slackwater_sim::load::HouseholdSpec;
use slackwater_sim::part::{PartSpec, Plug};
use slackwater_sim::room::RoomSpec;
use slackwater_sim::storage::StorageSpec;
use slackwater_sim::sun::SolarSpec;
use slackwater_sim::supply::Supply;
use slackwater_sim::taper::Taper;
use slackwater_sim::trips::{Habits, Trip};

use super::devices::{Battery, Hvac, Inverter, Outlet, Vehicle};
use super::scenario::{Location, Scenario};
use super::words::TimeZone;

/// A device as a part of a home.
#[derive(Debug, Clone)]
pub(crate) enum Built {
    /// A vehicle, and the charger that it uses at home.
    Vehicle(CarSpec, Option<String>, Supply),
    /// Anything else.
    Other(PartSpec),
}

/// All devices of a scenario as parts, by name.
pub(crate) fn parts(scenario: &Scenario) -> BTreeMap<String, Built> {
    let zones: BTreeMap<&str, TimeZone> = scenario
        .locations
        .iter()
        .map(|location| (location.id.as_str(), location.time_zone))
        .collect();
    let zone = |location: &str| zones.get(location).copied().unwrap_or(TimeZone(chrono_tz::UTC));
    let mut parts = BTreeMap::new();
    let mut other = |id: &str, spec: PartSpec| parts.insert(id.to_owned(), Built::Other(spec));
    for charger in &scenario.chargers {
        other(&charger.id, PartSpec::Charger(supply(charger.outlet)));
    }
    for hvac in &scenario.hvacs {
        other(&hvac.id, PartSpec::Room(room(hvac, zone(&hvac.location))));
    }
    for inverter in &scenario.inverters {
        other(&inverter.id, PartSpec::Solar(solar(inverter)));
    }
    for battery in &scenario.batteries {
        other(&battery.id, PartSpec::Storage(storage(battery, zone(&battery.location))));
    }
    for meter in &scenario.meters {
        other(&meter.id, PartSpec::Meter);
    }
    for vehicle in &scenario.vehicles {
        let spec = car(vehicle, zone(&vehicle.location));
        let built = Built::Vehicle(spec, vehicle.charger.clone(), supply(vehicle.socket));
        parts.insert(vehicle.id.clone(), built);
    }
    parts
}

impl Built {
    /// The part, once the number of its charger is known.
    pub(crate) fn part(&self, number_of: impl Fn(&str) -> Option<usize>) -> PartSpec {
        match self {
            Self::Other(part) => part.clone(),
            Self::Vehicle(spec, charger, socket) => {
                let charger = charger.as_deref().and_then(number_of);
                PartSpec::Car(spec.clone(), Plug { charger, socket: *socket })
            }
        }
    }
}

/// A location as a home.
pub(crate) fn home(location: &Location, seed: u64) -> HomeSpec {
    let household = (location.household > Energy::ZERO)
        .then_some(HouseholdSpec { yearly: location.household, time_zone: location.time_zone.0 });
    HomeSpec {
        chance: Chance::seeded(seed).of(&location.id),
        latitude: location.latitude,
        longitude: location.longitude,
        household,
    }
}

fn supply(outlet: Outlet) -> Supply {
    Supply { phases: outlet.phases, volts: outlet.volts, current_max: outlet.current_max }
}

/// A vehicle as the engine's car.
pub(crate) fn car(vehicle: &Vehicle, zone: TimeZone) -> CarSpec {
    let trip = |trip: &super::devices::Trip| Trip {
        weekdays: trip.weekdays.clone(),
        leave: trip.leave,
        back: trip.back,
        distance_km: trip.distance_km,
    };
    CarSpec {
        battery: Taper {
            capacity: vehicle.capacity,
            power_max: vehicle.power_max,
            efficiency: vehicle.efficiency,
            from: vehicle.taper_from,
            end: vehicle.taper_end,
        },
        soc: vehicle.soc,
        charge_limit: vehicle.charge_limit,
        driving_per_100_km: vehicle.per_100_km,
        odometer_km: vehicle.odometer_km,
        habits: Habits {
            trips: vehicle.trips.iter().map(trip).collect(),
            jitter_minutes: vehicle.jitter_minutes,
            time_zone: zone.0,
        },
        plugs_in: vehicle.plugs_in,
        plug_in_after_minutes: vehicle.plug_in_after_minutes,
        is_plugged_in: vehicle.is_plugged_in,
        charges_on_plug_in: vehicle.charges_on_plug_in,
        initializing_seconds: vehicle.initializing_seconds,
        sleeps_after_minutes: vehicle.sleeps_after_minutes,
    }
}

fn room(hvac: &Hvac, zone: TimeZone) -> RoomSpec {
    let setting =
        |heat| Hold { mode: hvac.mode, heat_setpoint: Some(heat), cool_setpoint: Some(hvac.cool) };
    RoomSpec {
        time_constant_hours: hvac.time_constant_hours,
        celsius_per_kw: hvac.celsius_per_kw,
        power: hvac.power,
        gain: hvac.gain,
        temperature: hvac.temperature,
        by_day: setting(hvac.by_day),
        by_night: setting(hvac.by_night),
        day_starts: hvac.day_starts,
        night_starts: hvac.night_starts,
        time_zone: zone.0,
        held: hvac.held,
    }
}

fn solar(inverter: &Inverter) -> SolarSpec {
    SolarSpec {
        peak: inverter.peak,
        inverter_max: inverter.inverter_max.unwrap_or(inverter.peak),
        tilt_degrees: inverter.tilt_degrees,
        azimuth_degrees: inverter.azimuth_degrees,
    }
}

fn storage(battery: &Battery, zone: TimeZone) -> StorageSpec {
    StorageSpec {
        capacity: battery.capacity,
        power_max: battery.power_max,
        round_trip: battery.round_trip,
        soc: battery.soc,
        mode: battery.mode,
        cheap_from: battery.cheap_from,
        cheap_to: battery.cheap_to,
        time_zone: zone.0,
    }
}
