//! Every message of a charge point, in both versions, with its answer.
use serde_json::{Value, json};
use slackwater_engine::units::kwh;
use slackwater_ocpp::assumption::Assumption;
use slackwater_ocpp::facts::{Reply, Request, Reset, Trigger};
use slackwater_ocpp::version::Version;

use crate::rig::{Rig, status};

fn error_of(answer: &Value) -> (&str, &str) {
    let text = |index: usize| answer[index].as_str().unwrap();
    (text(2), text(3))
}

#[test]
fn a_boot_is_accepted_with_our_time_and_interval() {
    for (version, payload) in [
        (Version::V16, json!({"chargePointVendor": "Fjord", "chargePointModel": "Post"})),
        (
            Version::V201,
            json!({"reason": "PowerUp", "chargingStation": {"vendorName": "Fjord", "model": "Post"}}),
        ),
    ] {
        let answer = Rig::new(version).says("BootNotification", &payload);
        let expected = json!({
            "status": "Accepted", "currentTime": "2026-01-05T18:00:00Z", "interval": 300,
        });
        assert_eq!(answer, expected);
    }
}

#[test]
fn messages_that_are_answered_and_not_acted_on() {
    for (action, payload, expected) in [
        ("DiagnosticsStatusNotification", json!({"status": "Idle"}), json!({})),
        ("FirmwareStatusNotification", json!({"status": "Installed"}), json!({})),
        ("SecurityEventNotification", json!({"type": "x", "timestamp": "x"}), json!({})),
        ("SignCertificate", json!({"csr": "x"}), json!({"status": "Rejected"})),
        ("DataTransfer", json!({"vendorId": "x"}), json!({"status": "UnknownVendorId"})),
    ] {
        let mut rig = Rig::booted();
        let before = rig.station.clone();
        assert_eq!(rig.says(action, &payload), expected, "{action}");
        assert_eq!(rig.station, before, "{action}");
    }
    for (action, payload, expected) in [
        ("NotifyEvent", json!({"generatedAt": "x", "seqNo": 0, "eventData": []}), json!({})),
        ("NotifyReport", json!({"requestId": 1, "generatedAt": "x", "seqNo": 0}), json!({})),
        ("FirmwareStatusNotification", json!({"status": "Installed"}), json!({})),
        ("SignCertificate", json!({"csr": "x"}), json!({"status": "Rejected"})),
        ("DataTransfer", json!({"vendorId": "x"}), json!({"status": "UnknownVendorId"})),
    ] {
        assert_eq!(Rig::booted_201().says(action, &payload), expected, "{action}");
    }
}

#[test]
fn tokens_are_judged_by_the_list() {
    let mut rig = Rig::booted();
    let judged = |rig: &mut Rig, token: &str| {
        rig.says("Authorize", &json!({"idTag": token}))["idTagInfo"]["status"].clone()
    };
    assert_eq!(judged(&mut rig, "anybody"), "Accepted");
    rig.rules.tokens = Some(["ada".to_owned()].into());
    assert_eq!(judged(&mut rig, "ada"), "Accepted");
    assert_eq!(judged(&mut rig, "anybody"), "Invalid");
    assert_eq!(judged(&mut rig, "slackwater"), "Accepted");
    let mut rig = Rig::booted_201();
    rig.rules.tokens = Some(["ada".to_owned()].into());
    let token = json!({"idToken": {"idToken": "bo", "type": "ISO14443"}});
    assert_eq!(rig.says("Authorize", &token)["idTokenInfo"]["status"], "Invalid");
}

#[test]
fn faults_are_answered_in_the_words_of_the_version() {
    for (action, payload, code, description) in [
        ("Reset", json!({}), "NotSupported", "the action Reset is not done here"),
        ("Boot", json!({}), "NotImplemented", "the action Boot is not known"),
        (
            "BootNotification",
            json!({}),
            "OccurenceConstraintViolation",
            "chargePointVendor is missing",
        ),
        (
            "Authorize",
            json!({"idTag": 7}),
            "TypeConstraintViolation",
            "idTag is 7; expected a text",
        ),
        (
            "MeterValues",
            json!({"connectorId": "one"}),
            "TypeConstraintViolation",
            "connectorId is \"one\"; expected a whole number from 0 to 100",
        ),
        (
            "StatusNotification",
            status(1, "Happy"),
            "PropertyConstraintViolation",
            "status is Happy; expected a ChargePointStatus such as Available or Charging",
        ),
    ] {
        let answer = Rig::booted().says(action, &payload);
        assert_eq!(error_of(&answer), (code, description), "{action}");
    }
    for (action, payload, code) in [
        ("Get15118EVCertificate", json!({}), "NotSupported"),
        ("StartTransaction", json!({}), "NotImplemented"),
        ("TransactionEvent", json!({}), "OccurrenceConstraintViolation"),
        ("TransactionEvent", json!({"eventType": "Paused"}), "PropertyConstraintViolation"),
    ] {
        let answer = Rig::booted_201().says(action, &payload);
        assert_eq!(error_of(&answer).0, code, "{action}");
    }
}

#[test]
fn malformed_frames_are_answered_where_they_can_be() {
    for (version, code) in
        [(Version::V16, "FormationViolation"), (Version::V201, "FormatViolation")]
    {
        let mut rig = Rig::new(version);
        let answers = rig.text("[2, \"7\", \"Heartbeat\"]");
        assert_eq!(answers[0][1], "7");
        assert_eq!(error_of(&answers[0]).0, code);
        for text in ["", "{}", "[2]", "no JSON", "[3, \"no request of ours\", {}]", "[5, \"1\"]"] {
            assert_eq!(rig.text(text), [Value::Null; 0], "{text}");
        }
    }
}

#[test]
fn orders_of_operators_in_the_words_of_the_version() {
    for (request, of_16, of_201) in [
        (Request::Reset { reset: Reset::Soft }, "Soft", "OnIdle"),
        (Request::Reset { reset: Reset::Hard }, "Hard", "Immediate"),
        (
            Request::Trigger { message: Trigger::Diagnostics, connector: None },
            "DiagnosticsStatusNotification",
            "LogStatusNotification",
        ),
        (
            Request::Trigger { message: Trigger::Firmware, connector: None },
            "FirmwareStatusNotification",
            "FirmwareStatusNotification",
        ),
    ] {
        for (version, expected) in [(Version::V16, of_16), (Version::V201, of_201)] {
            let (action, fields) = version.write_request(&request).unwrap();
            let field = if action == "Reset" { "type" } else { "requestedMessage" };
            assert_eq!(fields, json!({field: expected}));
            // A restart that waits for the end of a transaction is agreed to.
            let reply = version.read_reply(&request, &json!({"status": "Accepted"}));
            assert_eq!(reply, Reply::Accepted);
        }
    }
    let reset = Request::Reset { reset: Reset::Soft };
    let reply = Version::V201.read_reply(&reset, &json!({"status": "Scheduled"}));
    assert_eq!(reply, Reply::Accepted);
    let unlock = Request::Unlock { connector: 2 };
    for (version, expected) in [
        (Version::V16, json!({"connectorId": 2})),
        (Version::V201, json!({"evseId": 2, "connectorId": 1})),
    ] {
        assert_eq!(version.write_request(&unlock).unwrap(), ("UnlockConnector", expected));
        let cleared = version.write_request(&Request::ClearTokens).unwrap();
        assert_eq!(cleared, ("ClearCache", json!({})));
        for (status, expected) in [
            ("Unlocked", Reply::Accepted),
            ("NotSupported", Reply::NotSupported),
            ("UnlockFailed", Reply::Refused { status: "UnlockFailed".to_owned() }),
        ] {
            assert_eq!(version.read_reply(&unlock, &json!({"status": status})), expected);
        }
    }
}

/// Report about a transaction of 2.0.1.
fn event(rig: &Rig, kind: &str, id: &str, state: &str, register: Option<f64>) -> Value {
    let mut event = json!({
        "eventType": kind, "timestamp": rig.time(), "triggerReason": "ChargingStateChanged",
        "seqNo": 0, "transactionInfo": {"transactionId": id, "chargingState": state},
        "evse": {"id": 1, "connectorId": 1},
    });
    if let Some(value) = register {
        let sample = json!({"value": value, "unitOfMeasure": {"unit": "Wh"}});
        event["meterValue"] = json!([{"timestamp": rig.time(), "sampledValue": [sample]}]);
    }
    event
}

#[test]
fn a_transaction_of_the_newer_version_from_start_to_end() {
    let mut rig = Rig::booted_201();
    let occupied = json!({
        "timestamp": rig.time(), "connectorStatus": "Occupied", "evseId": 1, "connectorId": 1,
    });
    rig.says("StatusNotification", &occupied);
    let mut start = event(&rig, "Started", "tx-a", "EVConnected", Some(1000.0));
    start["idToken"] = json!({"idToken": "ada", "type": "ISO14443"});
    let answer = rig.says("TransactionEvent", &start);
    assert_eq!(answer, json!({"idTokenInfo": {"status": "Accepted"}}));
    rig.says("TransactionEvent", &event(&rig, "Updated", "tx-a", "Charging", Some(1500.0)));
    assert_eq!(rig.facts().charging.is_charging, Some(true));
    // An occupied connector goes on charging.
    rig.says("StatusNotification", &occupied);
    assert_eq!(rig.facts().charging.is_charging, Some(true));
    let end = event(&rig, "Ended", "tx-a", "Idle", Some(4000.0));
    assert_eq!(rig.says("TransactionEvent", &end), json!({}));
    rig.says("TransactionEvent", &end);
    assert_eq!((rig.last_energy(), rig.connector().transactions.ended.len()), (Some(3.0), 1));
    assert_eq!(rig.facts().charging.is_plugged_in, Some(false));
}

#[test]
fn a_transaction_that_began_while_nobody_listened() {
    let mut rig = Rig::booted_201();
    let mut update = event(&rig, "Updated", "tx-b", "Charging", Some(2000.0));
    update.as_object_mut().unwrap().remove("evse");
    assert_eq!(rig.says("TransactionEvent", &update), json!({}));
    assert_eq!(rig.assumed(Assumption::TransactionUnknown), 1);
    assert_eq!(rig.assumed(Assumption::ConnectorMissing), 1);
    rig.says("TransactionEvent", &event(&rig, "Ended", "tx-b", "Idle", Some(5000.0)));
    // Its register at the start is unknown, and so is its energy.
    assert_eq!(rig.last_energy(), None);
}

/// Events that overtake the start of their transaction: its register is not lost.
#[test]
fn a_start_that_comes_after_an_update_completes_the_transaction() {
    let mut rig = Rig::booted_201();
    let began = rig.now;
    let start = event(&rig, "Started", "tx-a", "Charging", Some(1000.0));
    rig.wait(600);
    rig.says("TransactionEvent", &event(&rig, "Updated", "tx-a", "Charging", Some(1500.0)));
    for _ in 0..2 {
        rig.says("TransactionEvent", &start);
    }
    let open = rig.connector().transactions.open.clone().expect("it is open");
    assert_eq!((open.started_at, open.meter_start), (began, Some(kwh(1.0))));
    assert_eq!(rig.connector().register(), Some(kwh(1.5)));
    rig.wait(300);
    rig.says("TransactionEvent", &event(&rig, "Ended", "tx-a", "Idle", Some(2500.0)));
    assert_eq!(rig.last_energy(), Some(1.5));
    let metered = rig.station.metered(1, began, rig.now).expect("a connector");
    assert_eq!(metered.iter().map(|one| one.imported).collect::<Vec<_>>(), [kwh(1.5)]);
}
