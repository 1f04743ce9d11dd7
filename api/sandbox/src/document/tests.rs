use expect_test::{Expect, expect};

use super::*;
use crate::generate::street;

/// The one place where these tests touch the reader.
#[track_caller]
fn check(text: &str, expected: &Expect) {
    let said = match Scenario::parse(text) {
        Ok(_) => "fine".to_owned(),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&said);
}

const HOME: &str = r#"
zones: [{id: NO1, currency: NOK}]
vendors: [{code: FJORD, display_name: Fjord, kinds: [vehicle, charger]}]
users: [{id: ada}]
locations:
  - {id: home, user: ada, time_zone: Europe/Oslo, latitude: 59.9, longitude: 10.8, zone: NO1}
chargers:
  - {id: box, user: ada, vendor: FJORD, location: home}
vehicles:
  - id: car
    user: ada
    vendor: FJORD
    location: home
    charger: box
    capacity_kwh: 60
"#;

#[test]
fn a_home_is_read_from_yaml_and_from_json() {
    let scenario = Scenario::parse(HOME).unwrap();
    assert_eq!((scenario.devices().count(), scenario.seed()), (2, 1));
    let json = serde_json::to_string(&scenario).unwrap();
    assert_eq!(Scenario::parse(&json).unwrap(), scenario);
    assert_eq!(Scenario::parse("").unwrap(), Scenario::default());
    assert_eq!(Scenario::parse("# nothing yet\n").unwrap(), Scenario::default());
}

#[test]
fn text_that_is_no_scenario_is_located() {
    check("users:\n  - {id: ada\nzones: []\n", &expect!["line 2: unclosed bracket '{'"]);
    check("users: ada\n", &expect!["line 1: users: expected sequence start"]);
    check("- ada\n", &expect!["line 1: expected mapping start"]);
    check(
        "users:\n  - {id: ada}\nusers:\n  - {id: bo}\n",
        &expect!["line 3: duplicate mapping key: users"],
    );
    check("starts: yesterday\n", &expect!["line 1: starts: input contains invalid characters"]);
}

#[test]
fn a_field_that_is_wrong_is_named_with_its_line() {
    let with = |line: &str| format!("{HOME}    {line}\n");
    check(&with("colour: red"), &expect!["line 16: vehicles[0].colour: unknown field `colour`"]);
    check(
        &with("soc_percent: 120"),
        &expect!["line 16: vehicles[0].soc_percent: 120 % is outside 0 to 100 %"],
    );
    check(
        &with("soc_percent: half"),
        &expect!["line 16: vehicles[0].soc_percent: invalid floating point"],
    );
    check(
        &with("power_max_kw: .inf"),
        &expect!["line 16: vehicles[0].power_max_kw: inf kW is not a finite number"],
    );
    check(
        &with("scopes: [drive]"),
        &expect![
            "line 16: vehicles[0].scopes[0]: unknown variant `drive`, expected one of read_data, read_location, control_charging, control_operation_mode, control_mode, control_power_limit"
        ],
    );
    check(
        &with("trips: [{leave: \"7:30\", back: \"17:00\", distance_km: 4}]"),
        &expect![[
            r#"line 16: vehicles[0].trips[0].leave: "7:30" is not HH:MM from 00:00 to 23:59"#
        ]],
    );
    check(
        &with("conduct: {sleep: {}}"),
        &expect!["line 16: vehicles[0].conduct.sleep: missing field `may_be_woken`"],
    );
    check(
        &HOME.replace("code: FJORD", "code: Fjord"),
        &expect![[
            r#"line 3: vendors[0].code: "Fjord" is not a vendor code: capitals, digits and underscores, a capital first"#
        ]],
    );
    check(
        &HOME.replace("Europe/Oslo", "Oslo"),
        &expect![[
            r#"line 6: locations[0].time_zone: "Oslo" is not an IANA time zone such as Europe/Oslo"#
        ]],
    );
    check(
        &HOME.replace("NOK", "NOKS"),
        &expect![[r#"line 2: zones[0].currency: "NOKS" is no ISO 4217 currency such as EUR"#]],
    );
    check(
        &HOME.replace("    capacity_kwh: 60\n", ""),
        &expect!["line 14: vehicles[0]: missing field `capacity_kwh`"],
    );
}

#[test]
fn everything_that_makes_no_sense_is_said_at_once() {
    let text = HOME
        .replace("charger: box", "charger: socket")
        .replace("[{id: ada}]", "[{id: ada}, {id: ada}]")
        .replace("latitude: 59.9", "latitude: 95")
        .replace("zone: NO1}", "zone: NO2}")
        .replace("kinds: [vehicle, charger]", "kinds: [vehicle]")
        .replace("capacity_kwh: 60", "capacity_kwh: 0\n    scopes: [control_mode]");
    check(
        &text,
        &expect![[r#"
        line 4: users[1].id: "ada" is the name of users[0] too
        line 6: locations[0].latitude: a latitude is between -90 and 90
        line 6: locations[0].zone: there is no zone "NO2"
        line 8: chargers[0].vendor: FJORD makes no charger
        line 14: vehicles[0].charger: there is no charger "socket"
        line 15: vehicles[0].capacity_kwh: a capacity is above 0 and at most 10000 kWh
        line 16: vehicles[0].scopes[0]: a vehicle has no control_mode"#]],
    );
}

#[test]
fn tariffs_policies_and_samples_are_checked() {
    let text = format!(
        r#"{HOME}
tariffs:
  - {{id: t, rates: [{{name: low, cost: "0.1"}}, {{name: low, cost: "0,2"}}]}}
flex_policies:
  - {{id: p, vehicle: car, location: home, reserve_percent: 50}}
  - {{id: q, vehicle: cat, location: home, schedule: {{someday: {{deadline: "07:00", target_percent: 80}}}}}}
charger_policies:
  - {{charger: car}}
vehicle_policies:
  - {{vehicle: car, minimum_charge_limit_percent: 101}}
samples:
  - {{device: bike, start: "2026-01-05T00:00:00Z", power_kw: [1, 2], price_per_kwh: [1, 2, 3]}}
"#
    );
    check(
        &text,
        &expect![[r#"
        line 18: tariffs[0]: rates[1].cost: "0,2" is not a decimal number such as 0.25 or -1
        line 20: flex_policies[0]: reserve_percent is 50 %, outside 0 to 20 %
        line 21: flex_policies[1].vehicle: there is no vehicle "cat"
        line 21: flex_policies[1]: schedule["someday"] is not a day; days are monday to sunday
        line 23: charger_policies[0].charger: there is no charger "car"
        line 25: vehicle_policies[0]: minimum_charge_limit_percent: 101 % is outside 0 to 100 %
        line 27: samples[0].device: there is no device "bike"
        line 27: samples[0].price_per_kwh: one price, or one for each of the 2 steps"#]],
    );
}

#[test]
fn comfort_policies_are_checked() {
    let unit = r#"
hvacs:
  - id: pump
    user: ada
    location: home
    comfort:
      comfort: {min_celsius: 20, max_celsius: 20.5}
      capacity_kwh_per_k: 5
      loss_kw_per_k: 0.2
      power_max_kw: 2
      cop: [{outdoor_celsius: 5, cop: 3}]
      outdoor_celsius: [5]
"#;
    check(
        &format!("{HOME}{unit}"),
        &expect![[r#"
        line 21: hvacs[0].comfort: comfort is 20 to 20.5 °C; with deadband_celsius of 0.5 °C on both sides it is 1 °C wide or more"#]],
    );
    let wider = unit.replace("20.5", "21");
    check(&format!("{HOME}{wider}"), &expect!["fine"]);
}

#[test]
fn a_patch_is_checked_with_what_there_is() {
    let home = Scenario::parse(HOME).unwrap();
    let patched = home.parse_patch("users: [{id: bo}]\n").unwrap();
    assert_eq!((patched.whole.users.len(), patched.patch.users.len()), (2, 1));
    let said = |text: &str| home.parse_patch(text).unwrap_err().to_string();
    expect![[r#"line 1: meters[0].user: there is no user "bo""#]]
        .assert_eq(&said("meters: [{id: m, user: bo, location: home}]\n"));
    expect!["line 3: locations[0].latitude: a latitude is between -90 and 90"].assert_eq(&said(
        "locations:\n  - {id: x, user: ada, time_zone: UTC,\n     latitude: -91, longitude: 0}\n",
    ));
    expect!["chargers[0].vendor: FJORD makes no charger"]
        .assert_eq(&said("vendors: [{code: FJORD, display_name: F, kinds: [vehicle]}]\n"));
}

#[test]
fn a_change_replaces_what_had_the_name() {
    let mut home = Scenario::parse(HOME).unwrap();
    let patch = Scenario::parse("users: [{id: ada, password: secret}, {id: bo}]").unwrap();
    home.patch(patch.clone());
    home.patch(patch);
    let users: Vec<(&str, &str)> =
        home.users.iter().map(|user| (user.id.as_str(), user.password.as_str())).collect();
    assert_eq!(users, [("ada", "secret"), ("bo", "sandbox")]);
}

#[test]
fn the_street_survives_its_json() {
    let street = street();
    let json = serde_json::to_string(&street).unwrap();
    assert_eq!(Scenario::parse(&json).unwrap(), street);
}
