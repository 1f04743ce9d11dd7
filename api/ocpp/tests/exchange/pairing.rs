//! Vehicles that a charge point tells by a token of their user, or by their own identifier.
use serde_json::{Value, json};
use slackwater_ocpp::vehicles::Vehicles;
use slackwater_ocpp::version::Version;

use crate::rig::{Rig, status};

/// Tokens of a car and a van, and the identifier of the van's modem.
fn with_vehicles(mut rig: Rig) -> Rig {
    let settings = json!({
        "04A1B2C3": {"vendor": "FJORD", "device": "car"},
        "DE8AACA2B3C4D5L": {"vendor": "HEATH", "device": "van"},
        "007DFA0ABCDE": {"vendor": "HEATH", "device": "van"},
    });
    rig.vehicles = Vehicles::check(&serde_json::from_value(settings).unwrap()).unwrap();
    rig
}

/// Manufacturer's identifier of the vehicle that the connector names.
fn find_paired(rig: &Rig) -> Option<String> {
    rig.facts().plugged_into.map(|end| end.device)
}

fn start_with_token(rig: &mut Rig, token: &str) {
    let timestamp = rig.time();
    let start = json!({"connectorId": 1, "idTag": token, "meterStart": 0, "timestamp": timestamp});
    rig.says("StartTransaction", &start);
}

fn stop_transaction(rig: &mut Rig) {
    let timestamp = rig.time();
    rig.says(
        "StopTransaction",
        &json!({"transactionId": 1, "meterStop": 100, "timestamp": timestamp}),
    );
}

#[test]
fn the_token_of_a_transaction_names_the_vehicle_until_it_leaves() {
    let mut rig = with_vehicles(Rig::booted());
    assert_eq!(find_paired(&rig), None);
    start_with_token(&mut rig, "04a1b2c3");
    rig.says("StatusNotification", &status(1, "Charging"));
    assert_eq!(find_paired(&rig).as_deref(), Some("car"));
    // It stays plugged in after its transaction, through a start of the service, and when that starts
    // the next transaction.
    stop_transaction(&mut rig);
    rig.says("StatusNotification", &status(1, "Finishing"));
    rig.restarts();
    assert_eq!(find_paired(&rig).as_deref(), Some("car"));
    start_with_token(&mut rig, "slackwater");
    assert_eq!(find_paired(&rig).as_deref(), Some("car"));
    rig.says("StatusNotification", &status(1, "Available"));
    assert_eq!(find_paired(&rig), None);
    start_with_token(&mut rig, "slackwater");
    assert_eq!(find_paired(&rig), None, "nobody has told who came");
    start_with_token(&mut rig, "ffff");
    assert_eq!(find_paired(&rig), None, "no vehicle has this card");
}

/// Event of a transaction of 2.0.1 at EVSE 1.
fn write_event(rig: &Rig, kind: &str, more: &Value) -> Value {
    let mut event = json!({
        "eventType": kind, "timestamp": rig.time(), "triggerReason": "CablePluggedIn", "seqNo": 0,
        "transactionInfo": {"transactionId": "T1", "chargingState": "EVConnected"},
        "evse": {"id": 1},
    });
    for (name, value) in more.as_object().unwrap() {
        event[name] = value.clone();
    }
    event
}

#[test]
fn a_token_that_comes_after_the_start_names_the_vehicle() {
    let mut rig = with_vehicles(Rig::booted_201());
    let started = write_event(&rig, "Started", &json!({}));
    rig.says("TransactionEvent", &started);
    assert_eq!(find_paired(&rig), None);
    let token = json!({"idToken": {"idToken": "DE-8AA-CA2B3C4D5-L", "type": "eMAID"}});
    let updated = write_event(&rig, "Updated", &token);
    rig.says("TransactionEvent", &updated);
    assert_eq!(find_paired(&rig).as_deref(), Some("van"));
    let left = json!({"transactionInfo": {"transactionId": "T1", "chargingState": "Idle"}});
    let left = write_event(&rig, "Updated", &left);
    rig.says("TransactionEvent", &left);
    assert_eq!(find_paired(&rig), None);
}

#[test]
fn the_identifier_of_the_vehicle_counts_before_the_card() {
    let mut rig = with_vehicles(Rig::booted_201());
    let token = json!({"idToken": {"idToken": "04A1B2C3", "type": "ISO14443"}});
    let started = write_event(&rig, "Started", &token);
    rig.says("TransactionEvent", &started);
    assert_eq!(find_paired(&rig).as_deref(), Some("car"));
    let told = |component: &str, variable: &str| {
        json!({"generatedAt": "2026-01-05T18:00:00Z", "seqNo": 0, "eventData": [{
            "eventId": 1, "timestamp": "2026-01-05T18:00:00Z", "trigger": "Delta",
            "eventNotificationType": "HardWiredNotification", "actualValue": "00:7D:FA:0A:BC:DE",
            "component": {"name": component, "evse": {"id": 1}}, "variable": {"name": variable},
        }]})
    };
    assert_eq!(rig.says("NotifyEvent", &told("ConnectedEV", "ProtocolAgreed")), json!({}));
    assert_eq!(find_paired(&rig).as_deref(), Some("car"));
    assert_eq!(rig.says("NotifyEvent", &told("ConnectedEV", "VehicleId")), json!({}));
    assert_eq!(find_paired(&rig).as_deref(), Some("van"), "a card may be lent");
}

/// An address of the vehicle's modem in the place of a token, as chargers with Autocharge send it.
#[test]
fn a_modem_that_is_the_token_names_the_vehicle_in_both_versions() {
    let mut rig = with_vehicles(Rig::booted());
    start_with_token(&mut rig, "007DFA0ABCDE");
    assert_eq!(find_paired(&rig).as_deref(), Some("van"));
    let mut rig = with_vehicles(Rig::new(Version::V201));
    let token = json!({"idToken": {"idToken": "00:7D:FA:0A:BC:DE", "type": "MacAddress"}});
    let started = write_event(&rig, "Started", &token);
    rig.says("TransactionEvent", &started);
    assert_eq!(find_paired(&rig).as_deref(), Some("van"));
}
