//! Requests of our own accord: what is asked, once, and what follows from the replies.
use serde_json::{Value, json};
use slackwater_control::charging_profile::charge_point::RateUnits;
use slackwater_control::device::capability::Ability;
use slackwater_ocpp::facts::Variable;
use slackwater_ocpp::station::setup::Probe;

use crate::rig::Rig;

fn configured(keys: &[(&str, &str)]) -> Rig {
    let mut rig = Rig::booted();
    rig.wait(10);
    assert_eq!(rig.asked[0].1, "GetConfiguration");
    let key = |(key, value): &(&str, &str)| json!({"key": key, "value": value, "readonly": false});
    let all: Vec<Value> = keys.iter().map(key).collect();
    rig.replies(&json!({"configurationKey": all}));
    rig
}

#[test]
fn abilities_by_what_the_charge_point_supports() {
    for (profiles, is_capable) in [
        (Some("Core,SmartCharging,RemoteTrigger"), true),
        (Some("Core, FirmwareManagement"), false),
        (Some("Core,NoSmartCharging"), false),
        (None, true),
    ] {
        let keys: Vec<_> =
            profiles.map(|value| ("SupportedFeatureProfiles", value)).into_iter().collect();
        let capabilities = configured(&keys).reading().capabilities;
        for ability in [Ability::SetMaxCurrent, Ability::SetChargeRateLimit] {
            assert_eq!(capabilities[&ability].is_capable, is_capable, "{profiles:?}");
        }
        assert!(capabilities[&Ability::StartCharging].is_capable);
    }
}

/// Some firmware leaves the key empty, or has the units of another key in it: amperes are tried.
#[test]
fn rate_units_that_cannot_be_read_are_amperes() {
    for (given, expected) in [
        ("Current", RateUnits::Amps),
        ("Power", RateUnits::Watts),
        ("Current,Power", RateUnits::Both),
        ("", RateUnits::Amps),
        (",", RateUnits::Amps),
        ("Ampere", RateUnits::Amps),
        ("Volts;Current", RateUnits::Amps),
    ] {
        let rig = configured(&[("ChargingScheduleAllowedChargingRateUnit", given)]);
        assert_eq!(rig.station.charge_point(&rig.rules).units, expected, "{given}");
    }
}

#[test]
fn variables_are_kept_under_names_without_a_version() {
    let rig = configured(&[
        ("ChargingScheduleAllowedChargingRateUnit", "Current,Power"),
        ("ChargeProfileMaxStackLevel", "8"),
        ("NumberOfConnectors", "2"),
        ("Colour", "blue"),
    ]);
    let variables = &rig.station.variables;
    assert_eq!(variables[&Variable::RateUnits], "A,W");
    assert_eq!(variables[&Variable::StackLevelMax], "8");
    assert_eq!(variables.len(), 3);
    let mut rig = Rig::booted_201();
    rig.says("StatusNotification", &json!({"connectorStatus": "Available", "evseId": 1}));
    rig.wait(10);
    let (_, action, payload) = rig.asked[0].clone();
    assert_eq!(
        (action.as_str(), payload["getVariableData"].as_array().unwrap().len()),
        ("GetVariables", 8)
    );
    rig.replies(&json!({"getVariableResult": [
        {"attributeStatus": "Accepted", "attributeValue": "false",
         "component": {"name": "SmartChargingCtrlr"}, "variable": {"name": "Enabled"}},
        {"attributeStatus": "UnknownVariable",
         "component": {"name": "SmartChargingCtrlr"}, "variable": {"name": "RateUnit"}},
    ]}));
    assert_eq!(rig.station.is_smart(), Some(false));
    assert_eq!(rig.station.variables.len(), 1);
}

/// Quantities that a meter reports have to be found one by one where the list is refused.
#[test]
fn measurands_are_probed_one_by_one() {
    let mut rig = configured(&[
        ("MeterValuesSampledData", "Energy.Active.Import.Register"),
        ("MeterValueSampleInterval", "0"),
    ]);
    let asked = |rig: &Rig| {
        let payload = &rig.asked.last().expect("a request").2;
        (payload["key"].as_str().unwrap().to_owned(), payload["value"].as_str().unwrap().to_owned())
    };
    assert_eq!(asked(&rig), ("MeterValueSampleInterval".to_owned(), "60".to_owned()));
    rig.replies(&json!({"status": "Accepted"}));
    let mut seen = Vec::new();
    for status in ["Rejected", "Accepted", "Accepted", "Rejected", "Rejected", "Accepted"] {
        seen.push(asked(&rig).1);
        rig.replies(&json!({"status": status}));
    }
    let both = "Energy.Active.Import.Register,Power.Active.Import";
    assert_eq!(
        seen,
        [
            &format!("{both},Current.Import,Current.Offered"),
            "Energy.Active.Import.Register",
            "Power.Active.Import",
            "Current.Import",
            "Current.Offered",
            both,
        ]
    );
    assert_eq!(rig.asked, []);
    assert_eq!(
        (&rig.station.probe, &*rig.station.variables[&Variable::Measurands]),
        (&Probe::Done, both)
    );
    rig.restarts();
    rig.wait(60);
    assert_eq!(rig.asked, [], "the search is not repeated");
}

#[test]
fn a_meter_that_reports_enough_is_left_alone() {
    let rig = configured(&[
        ("MeterValuesSampledData", "SoC, Power.Active.Import ,Energy.Active.Import.Register"),
        ("MeterValueSampleInterval", "30"),
    ]);
    assert_eq!(rig.asked, []);
}

#[test]
fn a_charge_point_that_takes_no_question_is_not_asked_again() {
    let mut rig = Rig::booted();
    rig.wait(10);
    rig.fails("NotSupported");
    rig.wait(60);
    assert_eq!(rig.asked, []);
    assert_eq!(rig.station.is_smart(), None);
}
