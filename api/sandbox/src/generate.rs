//! Scenarios of any size.
use std::collections::BTreeMap;

use chrono::TimeDelta;
use slackwater_control::device::place::Point;
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::units::{Energy, Percent};
use slackwater_sim::chance::Chance;

use super::scenario::{Location, Scenario};

/// The street whose homes are the models of all others.
const STREET: &str = include_str!("../../../scenarios/street.yaml");

/// A town reaches so far from the street, in kilometres.
const TOWN_KM: f64 = 12.0;

/// The street of twenty homes that comes with the project.
///
/// # Panics
/// Never: a test reads the street.
#[must_use]
pub fn street() -> Scenario {
    Scenario::parse(STREET).expect("the street that comes with the project makes sense")
}

/// A scenario of so many homes.
///
/// Each is like one of the [`street`]: its users, devices and policies under
/// new names, with `-1`, `-2` and so on at their ends, elsewhere in town, with
/// other habits and another state of charge. The same seed gives the same homes,
/// and more homes begin with the same ones.
///
/// # Example
///
/// ```
/// use slackwater_sandbox::generate::generate;
/// let town = generate(50, 7);
/// assert_eq!(town.locations.len(), 50);
/// assert_eq!(generate(20, 7).users, town.users[..20]);
/// ```
#[must_use]
pub fn generate(homes: usize, seed: u64) -> Scenario {
    let street = street();
    let chance = Chance::seeded(seed).of("town");
    let models = models(&street);
    let mut town = Scenario {
        seed: Some(seed),
        zones: street.zones.clone(),
        vendors: street.vendors.clone(),
        tariffs: street.tariffs.clone(),
        ..Scenario::default()
    };
    for number in 1..=homes {
        let chance = chance.at(number as i64);
        let model = &models[chance.of("model").below(models.len())];
        add(&mut town, varied(model, number, chance));
    }
    town
}

/// A scenario as text that [`Scenario::parse`] reads: JSON, one line for each
/// thing in its lists.
#[must_use]
pub fn text_of(scenario: &Scenario) -> String {
    let value = serde_json::to_value(scenario).unwrap_or_default();
    let Some(fields) = value.as_object() else { return String::new() };
    let lines = fields.iter().map(|(name, field)| match field.as_array() {
        Some(items) if !items.is_empty() => {
            let items: Vec<String> = items.iter().map(ToString::to_string).collect();
            format!("\"{name}\": [\n  {}\n]", items.join(",\n  "))
        }
        _ => format!("\"{name}\": {field}"),
    });
    format!("{{\n{}\n}}\n", lines.collect::<Vec<_>>().join(",\n"))
}

/// The homes of a scenario, each as one of its own.
fn models(street: &Scenario) -> Vec<Scenario> {
    let mut homes: BTreeMap<&str, Scenario> = BTreeMap::new();
    for location in &street.locations {
        let home = Scenario { locations: vec![location.clone()], ..Scenario::default() };
        homes.insert(&location.user, home);
    }
    for (&user, home) in &mut homes {
        home.users = street.users.iter().filter(|it| it.id == user).cloned().collect();
        home.chargers = street.chargers.iter().filter(|it| it.user == user).cloned().collect();
        home.vehicles = street.vehicles.iter().filter(|it| it.user == user).cloned().collect();
        home.hvacs = street.hvacs.iter().filter(|it| it.user == user).cloned().collect();
        home.inverters = street.inverters.iter().filter(|it| it.user == user).cloned().collect();
        home.batteries = street.batteries.iter().filter(|it| it.user == user).cloned().collect();
        home.meters = street.meters.iter().filter(|it| it.user == user).cloned().collect();
        let has_vehicle = |id: &String| home.vehicles.iter().any(|it| it.id == *id);
        let has_charger = |id: &String| home.chargers.iter().any(|it| it.id == *id);
        let flex = street.flex_policies.iter().filter(|it| has_vehicle(&it.vehicle));
        home.flex_policies = flex.cloned().collect();
        let vehicles = street.vehicle_policies.iter().filter(|it| has_vehicle(&it.vehicle));
        home.vehicle_policies = vehicles.cloned().collect();
        let chargers = street.charger_policies.iter().filter(|it| has_charger(&it.charger));
        home.charger_policies = chargers.cloned().collect();
    }
    homes.into_values().collect()
}

/// A home like a model, under names of its own.
fn varied(model: &Scenario, number: usize, chance: Chance) -> Scenario {
    let mut home = model.clone();
    let rename = |name: &mut String| *name = format!("{name}-{number}");
    for user in &mut home.users {
        rename(&mut user.id);
    }
    for location in &mut home.locations {
        rename(&mut location.id);
        rename(&mut location.user);
        move_house(location, chance);
    }
    macro_rules! rename_devices {
        ($($list:ident),*) => {
            $(for device in &mut home.$list {
                rename(&mut device.id);
                rename(&mut device.user);
                rename(&mut device.location);
            })*
        };
    }
    rename_devices!(chargers, vehicles, hvacs, inverters, batteries, meters);
    for vehicle in &mut home.vehicles {
        let chance = chance.of(&vehicle.id);
        vehicle.charger.iter_mut().for_each(rename);
        vehicle.soc = percent(chance.of("soc").between(15.0, 85.0));
        vehicle.odometer_km = chance.of("odometer").between(500.0, 120_000.0).floor();
        vehicle.vin = vehicle.vin.take().map(|vin| numbered(&vin, number));
        for trip in &mut vehicle.trips {
            trip.leave = shifted(trip.leave, chance.of("leave"));
            trip.back = shifted(trip.back, chance.of("back"));
            trip.distance_km = (trip.distance_km * chance.of("way").between(0.5, 1.6)).round();
        }
    }
    for charger in &mut home.chargers {
        let serial = charger.serial_number.take();
        charger.serial_number = serial.map(|serial| format!("{serial}-{number}"));
    }
    for policy in &mut home.flex_policies {
        rename(&mut policy.id);
        rename(&mut policy.vehicle);
        rename(&mut policy.location);
    }
    home.vehicle_policies.iter_mut().for_each(|policy| rename(&mut policy.vehicle));
    home.charger_policies.iter_mut().for_each(|policy| rename(&mut policy.charger));
    home
}

/// Elsewhere in town, with other people in the house.
fn move_house(location: &mut Location, chance: Chance) {
    let here = Point { latitude: location.latitude, longitude: location.longitude };
    let direction = chance.of("direction").between(0.0, 360.0);
    let there = here.towards(direction, chance.of("distance").between(0.3, TOWN_KM));
    (location.latitude, location.longitude) = (there.latitude, there.longitude);
    let usual = location.household.as_kwh();
    let household = Energy::from_kwh(chance.of("household").between(usual * 0.6, usual * 1.5));
    location.household = household.unwrap_or(location.household);
}

/// Up to half an hour earlier or later, within the day.
fn shifted(time: HourMinute, chance: Chance) -> HourMinute {
    let minutes = TimeDelta::minutes(chance.between(-30.0, 31.0).floor() as i64);
    HourMinute::try_from(time.length() + minutes).unwrap_or(time)
}

/// A vehicle identification number with another number at its end.
fn numbered(vin: &str, number: usize) -> String {
    let kept = vin.get(..10).unwrap_or(vin);
    format!("{kept}{:07}", number % 10_000_000)
}

fn percent(number: f64) -> Percent {
    Percent::from_percent(number.round()).unwrap_or(Percent::FULL)
}

fn add(town: &mut Scenario, home: Scenario) {
    town.locations.extend(home.locations);
    town.users.extend(home.users);
    town.chargers.extend(home.chargers);
    town.vehicles.extend(home.vehicles);
    town.hvacs.extend(home.hvacs);
    town.inverters.extend(home.inverters);
    town.batteries.extend(home.batteries);
    town.meters.extend(home.meters);
    town.flex_policies.extend(home.flex_policies);
    town.vehicle_policies.extend(home.vehicle_policies);
    town.charger_policies.extend(home.charger_policies);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::check::check;

    #[test]
    fn the_street_has_twenty_homes_in_two_time_zones() {
        let street = street();
        assert_eq!((street.locations.len(), street.users.len()), (20, 20));
        let mut zones: Vec<String> =
            street.locations.iter().map(|it| it.time_zone.into()).collect();
        zones.sort_unstable();
        zones.dedup();
        assert_eq!(zones, ["Europe/London", "Europe/Oslo"]);
        assert!(street.devices().count() > 70, "{}", street.devices().count());
    }

    #[test]
    fn towns_make_sense_and_grow() {
        let town = generate(500, 3);
        assert_eq!(check(&town), []);
        assert_eq!(town, generate(500, 3));
        let larger = generate(600, 3);
        assert_eq!(larger.locations[..500], town.locations);
        assert_ne!(generate(500, 4).locations, town.locations);
        assert_eq!(generate(0, 1).devices().count(), 0);
    }

    #[test]
    fn the_text_of_a_town_is_the_town() {
        let town = generate(30, 5);
        assert_eq!(Scenario::parse(&text_of(&town)).unwrap(), town);
    }
}
