//! Complaints of users about central systems, each as the exchange that caused it.
use chrono::TimeDelta;
use serde_json::json;
use slackwater_control::device::command::Command;
use slackwater_control::device::power_state::PowerState;
use slackwater_engine::units::{Power, amps};
use slackwater_ocpp::assumption::Assumption;
use slackwater_ocpp::facts::{Reply, Request};
use slackwater_ocpp::station::limit_state::Check;
use slackwater_ocpp::version::Version;

use crate::rig::{Rig, meter_values, status};

/// lbbrhzn/ocpp#1000, EVerest/libocpp#495, `open-ocpp#24`: an end with the identifier -1,
/// because the start was made offline and never answered.
#[test]
fn a_transaction_of_a_negative_identifier_is_the_open_one() {
    for wrong in [-1, -17, 0, 4711] {
        let mut rig = Rig::booted();
        rig.starts(1000);
        let timestamp = rig.time();
        let stop = json!({"transactionId": wrong, "meterStop": 3500, "timestamp": timestamp});
        assert_eq!(rig.says("StopTransaction", &stop), json!({}), "{wrong}");
        assert_eq!(rig.last_energy(), Some(2.5));
        assert_eq!(rig.assumed(Assumption::TransactionUnknown), 1);
        assert!(rig.connector().transactions.open.is_none());
    }
}

/// An unknown identifier where two transactions are open: neither is ended on a guess.
#[test]
fn an_unknown_identifier_ends_nothing_where_two_are_open() {
    let mut rig = Rig::booted();
    rig.starts(1000);
    let timestamp = rig.time();
    let start = json!({"connectorId": 2, "idTag": "bo", "meterStart": 5, "timestamp": timestamp});
    rig.says("StartTransaction", &start);
    let stop = json!({"transactionId": -1, "meterStop": 3500, "timestamp": timestamp});
    assert_eq!(rig.says("StopTransaction", &stop), json!({}));
    assert!(rig.connector().transactions.open.is_some());
    assert_eq!(rig.assumed(Assumption::TransactionUnknown), 1);
}

/// citrineos/citrineos-core#166: an end without any identifier.
#[test]
fn a_transaction_without_an_identifier_is_the_open_one() {
    let mut rig = Rig::booted();
    rig.starts(1000);
    let stop = json!({"meterStop": 1500, "timestamp": rig.time()});
    assert_eq!(rig.says("StopTransaction", &stop), json!({}));
    assert_eq!(rig.last_energy(), Some(0.5));
}

/// lbbrhzn/ocpp#1069: without `meterStop` the session was negative.
#[test]
fn a_missing_meter_stop_is_the_last_register_and_never_negative() {
    let mut rig = Rig::booted();
    let id = rig.starts(8000);
    let (at, sampled) = (rig.time(), json!([{"value": "9500", "unit": "Wh"}]));
    rig.says("MeterValues", &meter_values(&at, &sampled));
    rig.says("StopTransaction", &json!({"transactionId": id, "timestamp": at}));
    assert_eq!(rig.last_energy(), Some(1.5));
    assert_eq!(rig.assumed(Assumption::MeterStopMissing), 1);
    // A register at the end that lies before the start: the energy is unknown.
    let id = rig.starts(9500);
    let stop = json!({"transactionId": id, "meterStop": 0, "timestamp": rig.time()});
    rig.says("StopTransaction", &stop);
    assert_eq!(rig.last_energy(), None);
    assert_eq!(rig.assumed(Assumption::MeterFell), 1);
}

/// lbbrhzn/ocpp#466: an empty `sampledValue` took the whole connection down.
#[test]
fn empty_meter_values_are_a_sign_of_life() {
    let mut rig = Rig::booted();
    for payload in [
        meter_values(&rig.time(), &json!([])),
        json!({"connectorId": 1, "meterValue": []}),
        json!({"connectorId": 1}),
        json!({"connectorId": 1, "meterValue": null}),
    ] {
        assert_eq!(rig.says("MeterValues", &payload), json!({}), "{payload}");
    }
    assert_eq!(rig.assumed(Assumption::SamplesMissing), 4);
    assert_eq!(rig.reading().counters, None);
}

/// matth-x/MicroOcpp#354: a clock that was never set.
#[test]
fn times_of_1970_are_the_time_of_arrival() {
    let mut rig = Rig::booted();
    let start = json!({
        "connectorId": 1, "idTag": "ada", "meterStart": 1000, "timestamp": "1970-01-01T00:00:31Z",
    });
    let first = rig.says("StartTransaction", &start);
    let open = rig.connector().transactions.open.clone().expect("it began");
    assert_eq!(open.started_at, rig.now);
    assert!(rig.assumed(Assumption::ClockWrong) > 0);
    // Sent again after a failure of the network, it is the same transaction still.
    rig.reconnects();
    rig.now += TimeDelta::minutes(3);
    assert_eq!(rig.says("StartTransaction", &start), first);
    let sampled = json!([{"value": "1200"}]);
    rig.says("MeterValues", &meter_values("1970-01-01T00:10:00Z", &sampled));
    assert_eq!(rig.connector().imported.last().expect("a count").0, rig.now);
}

/// SAP/ev-dashboard#1817: kWh where the protocol has Wh.
#[test]
fn kilowatt_hours_are_told_from_watt_hours() {
    for (sample, assumed) in [
        (json!({"value": "1235600"}), 0),
        (json!({"value": "1235600", "unit": "Wh"}), 0),
        (json!({"value": "1235.6", "unit": "kWh"}), 0),
        (json!({"value": "1235.6"}), 1),
    ] {
        let mut rig = Rig::booted();
        rig.starts(1_234_500);
        rig.wait(60);
        let at = rig.time();
        rig.says("MeterValues", &meter_values(&at, &json!([sample])));
        let counters = rig.reading().counters.expect("a register");
        assert!((counters.imported.as_kwh() - 1235.6).abs() < 1e-9, "{sample}: {counters:?}");
        assert_eq!(rig.assumed(Assumption::KilowattHours), assumed, "{sample}");
    }
}

/// `OpenEVSE/openevse_esp32_firmware#703`: kWh under the label Wh, of a model that is known for it.
#[test]
fn kilowatt_hours_that_are_labelled_watt_hours_are_told_where_the_model_is_known() {
    for (vendor, imported, assumed) in [("OpenEVSE", 1235.6, 1), ("Fjord", 1.2356, 0)] {
        let mut rig = Rig::new(Version::V16);
        let model = json!({"chargePointVendor": vendor, "chargePointModel": "Post"});
        rig.says("BootNotification", &model);
        rig.says("StatusNotification", &status(1, "Available"));
        rig.starts(1_234_500);
        rig.wait(60);
        let (at, sampled) = (rig.time(), json!([{"value": "1235.6", "unit": "Wh"}]));
        rig.says("MeterValues", &meter_values(&at, &sampled));
        let counters = rig.reading().counters.expect("a register");
        assert!((counters.imported.as_kwh() - imported).abs() < 1e-9, "{vendor}: {counters:?}");
        assert_eq!(rig.assumed(Assumption::KilowattHours), assumed, "{vendor}");
    }
}

/// steve-community/steve#1305: identifiers of messages that repeat.
#[test]
fn repeated_identifiers_of_messages_are_answered_each_time() {
    let mut rig = Rig::booted();
    let start = json!([2, "1", "StartTransaction",
        {"connectorId": 1, "idTag": "ada", "meterStart": 5, "timestamp": rig.time()}]);
    let first = rig.text(&start.to_string());
    assert_eq!(rig.text(&start.to_string()), first);
    assert_eq!(rig.station.last_transaction, 1);
    // A charge point that gives every message the same identifier.
    let heartbeat = rig.text("[2, \"1\", \"Heartbeat\", {}]");
    rig.wait(60);
    assert_ne!(rig.text("[2, \"1\", \"Heartbeat\", {}]"), heartbeat);
}

/// citrineos/citrineos-core#42: slow, then silent, after many meter values.
#[test]
fn many_meter_values_keep_the_state_small() {
    let mut rig = Rig::booted();
    rig.starts(0);
    let mut largest = 0;
    for minute in 0..20_000 {
        rig.now += TimeDelta::seconds(60);
        let (at, sampled) = (rig.time(), json!([{"value": (minute * 100).to_string()}]));
        rig.says("MeterValues", &meter_values(&at, &sampled));
        if minute == 12_000 {
            largest = serde_json::to_string(&rig.station).unwrap().len();
        }
    }
    let last = serde_json::to_string(&rig.station).unwrap().len();
    assert!(last < largest + largest / 10 && last < 200_000, "{largest} then {last} bytes");
}

/// lbbrhzn/ocpp#1036, #466, evcc-io/evcc#30137: chargers that restart when they are asked too much
/// too soon, and are asked again after each restart.
#[test]
fn a_charge_point_is_left_in_peace_and_asked_once() {
    let mut rig = Rig::booted();
    rig.wait(9);
    assert_eq!(rig.asked, []);
    rig.wait(1);
    assert_eq!(rig.asked[0].1, "GetConfiguration");
    rig.replies(&json!({"configurationKey": []}));
    for _ in 0..5 {
        rig.restarts();
        rig.says(
            "BootNotification",
            &json!({"chargePointVendor": "Fjord", "chargePointModel": "Post"}),
        );
        rig.wait(60);
        assert_eq!(rig.asked, [], "nothing is asked again");
    }
    // New firmware may have new abilities.
    let model =
        json!({"chargePointVendor": "Fjord", "chargePointModel": "Post", "firmwareVersion": "2"});
    rig.says("BootNotification", &model);
    rig.wait(10);
    assert_eq!(rig.asked[0].1, "GetConfiguration");
}

/// shiv3/ocpp-cp-simulator#110: no request right after connecting.
#[test]
fn nothing_is_asked_before_the_charge_point_has_settled() {
    let mut rig = Rig::new(slackwater_ocpp::version::Version::V16);
    for _ in 0..9 {
        rig.wait(1);
    }
    assert_eq!(rig.asked, []);
    rig.wait(1);
    assert_eq!(rig.asked[0].2["requestedMessage"], "BootNotification");
}

/// A charge point that answers nothing is asked three times, and then left in peace.
#[test]
fn a_charge_point_that_answers_nothing_is_left_in_peace() {
    let mut rig = Rig::booted();
    rig.wait(10);
    for _ in 0..20 {
        rig.wait(31);
    }
    assert_eq!(rig.asked.len(), 3);
}

/// lbbrhzn/ocpp#1303: a heartbeat interval of 3,600 s that the charger keeps to itself.
#[test]
fn every_message_is_a_sign_of_life() {
    let mut rig = Rig::booted();
    rig.wait(3000);
    rig.says("StatusNotification", &status(1, "Preparing"));
    assert_eq!(rig.reading().at, rig.now);
    rig.wait(3600);
    assert_eq!(rig.says("Heartbeat", &json!({}))["currentTime"], "2026-01-05T19:50:00Z");
    assert_eq!(rig.reading().at, rig.now);
}

/// evcc-io/evcc#29861: `SuspendedEVSE` says that nothing flows, and no more.
#[test]
fn states_of_power_delivery_by_status() {
    for (word, state, is_plugged_in) in [
        ("Available", PowerState::Unplugged, Some(false)),
        ("Preparing", PowerState::Stopped, Some(true)),
        ("Charging", PowerState::Charging, Some(true)),
        ("SuspendedEV", PowerState::Stopped, Some(true)),
        ("SuspendedEVSE", PowerState::Stopped, Some(true)),
        ("Finishing", PowerState::Stopped, Some(true)),
        ("Reserved", PowerState::Unplugged, Some(false)),
        ("Unavailable", PowerState::Unknown, None),
        ("Faulted", PowerState::Fault, None),
        ("Occupied", PowerState::Stopped, Some(true)),
    ] {
        let mut rig = Rig::booted();
        rig.says("StatusNotification", &status(1, word));
        let charging = rig.facts().charging;
        assert_eq!(
            (charging.power_state, charging.is_plugged_in),
            (state, is_plugged_in),
            "{word}"
        );
        assert_eq!(charging.is_charging, Some(word == "Charging"), "{word}");
    }
}

/// EVerest/libocpp#495: a transaction that began and ended offline is delivered later, in the order
/// in which it happened, and its energy lies where it flowed.
#[test]
fn a_transaction_made_offline_is_recorded_at_its_time() {
    let mut rig = Rig::booted();
    let at = |minutes: i64| (rig.now - TimeDelta::minutes(minutes)).to_rfc3339();
    let (start, middle, end) = (at(60), at(45), at(30));
    // Live first: the charger is free again.
    rig.says("MeterValues", &meter_values(&rig.time(), &json!([{"value": "7000"}])));
    let started = rig.says(
        "StartTransaction",
        &json!({"connectorId": 1, "idTag": "ada", "meterStart": 1000, "timestamp": start}),
    );
    rig.says("MeterValues", &meter_values(&middle, &json!([{"value": "4000"}])));
    let id = &started["transactionId"];
    let stop = json!({"transactionId": id, "meterStop": 7000, "timestamp": end});
    rig.says("StopTransaction", &stop);
    assert_eq!(rig.last_energy(), Some(6.0));
    let hour = (rig.now - TimeDelta::hours(1), rig.now);
    let metered = rig.station.metered(1, hour.0, hour.1).expect("a connector");
    let energies: Vec<f64> = metered.iter().map(|one| one.imported.as_kwh()).collect();
    assert_eq!(energies, [3.0, 3.0, 0.0, 0.0]);
    // Sent again, for want of an answer: it ended once.
    rig.says("StopTransaction", &stop);
    assert_eq!(rig.connector().transactions.ended.len(), 1);
}

/// lbbrhzn/ocpp#1036: the service or the charger restarts in the middle of a transaction.
#[test]
fn an_open_transaction_survives_a_restart() {
    let mut rig = Rig::booted();
    let id = rig.starts(1000);
    rig.restarts();
    let stop = json!({"transactionId": id, "meterStop": 2000, "timestamp": rig.time()});
    rig.says("StopTransaction", &stop);
    assert_eq!(rig.last_energy(), Some(1.0));
    rig.wait(60);
    assert_eq!(rig.starts(2000), id + 1);
}

/// A transaction whose end was lost ends where the next begins.
#[test]
fn a_lost_end_is_where_the_next_transaction_begins() {
    let mut rig = Rig::booted();
    rig.starts(1000);
    rig.says("MeterValues", &meter_values(&rig.time(), &json!([{"value": "1800"}])));
    rig.wait(60);
    rig.starts(2000);
    assert_eq!(rig.last_energy(), Some(0.8));
    assert_eq!(rig.assumed(Assumption::TransactionReplaced), 1);
}

/// Numbers as texts, fields that no version knows, blanks where there should be nothing.
#[test]
fn sloppy_messages_are_understood() {
    let mut rig = Rig::booted();
    let start = json!({
        "connectorId": "1", "idTag": " ada ", "meterStart": "1000", "timestamp": rig.time(), "more": 1,
    });
    let id = rig.says("StartTransaction", &start)["transactionId"].clone();
    let stop = json!({"transactionId": id.to_string(), "meterStop": 1500.0, "idTag": ""});
    assert_eq!(rig.says("StopTransaction", &stop), json!({}));
    assert_eq!(rig.last_energy(), Some(0.5));
    assert!(rig.assumed(Assumption::TimeMissing) > 0);
}

/// A reply that comes after its time changes nothing, and requests go out one at a time.
#[test]
fn one_request_at_a_time_and_late_replies_are_dropped() {
    let mut rig = Rig::booted();
    rig.wait(10);
    rig.replies(&json!({}));
    let start = |number| Request::Start { connector: 1, token: "slackwater".to_owned(), number };
    rig.order(start(1), 1);
    rig.order(start(2), 2);
    assert_eq!(rig.asked.len(), 1);
    rig.wait(30);
    assert_eq!(rig.done, [(1, Reply::TimedOut)]);
    assert_eq!(rig.asked.len(), 2);
    let late = rig.asked.remove(0).0;
    rig.text(&json!([3, late, {"status": "Accepted"}]).to_string());
    assert_eq!(rig.done.len(), 1);
    rig.replies(&json!({"status": "Rejected"}));
    assert_eq!(rig.done[1], (2, Reply::Refused { status: "Rejected".to_owned() }));
    rig.order(start(3), 3);
    rig.fails("NotSupported");
    assert_eq!(rig.done[2], (3, Reply::NotSupported));
    rig.order(start(4), 4);
    rig.reconnects();
    assert_eq!(rig.done[3], (4, Reply::Lost));
}

/// A charge point without a clock, whose meter begins anew with each transaction: each start is like
/// the one before, and a transaction of its own.
#[test]
fn transactions_of_a_charge_point_without_a_clock_are_told_apart() {
    for timestamp in ["1970-01-01T00:00:00Z", "05.01.2026 18:00"] {
        let mut rig = Rig::booted();
        let start =
            json!({"connectorId": 1, "idTag": "ada", "meterStart": 0, "timestamp": timestamp});
        let ids = [1, 2].map(|_| {
            let id = rig.says("StartTransaction", &start)["transactionId"].clone();
            assert_eq!(rig.says("StartTransaction", &start)["transactionId"], id, "sent again");
            let stop = json!({"transactionId": id, "meterStop": 4000, "timestamp": timestamp});
            rig.says("StopTransaction", &stop);
            rig.wait(600);
            id
        });
        assert_eq!(ids, [1, 2], "{timestamp}");
        assert_eq!(rig.last_energy(), Some(4.0), "{timestamp}");
    }
}

/// A charge point that was with another central system delivers an end of that time.
#[test]
fn an_unknown_end_of_an_earlier_time_does_not_end_the_open_transaction() {
    let mut rig = Rig::booted();
    let id = rig.starts(1000);
    let before = (rig.now - TimeDelta::days(2)).to_rfc3339();
    rig.says(
        "StopTransaction",
        &json!({"transactionId": 4711, "meterStop": 500, "timestamp": before}),
    );
    let open = rig.connector().transactions.open.as_ref().map(|open| open.id.clone());
    assert_eq!(open, Some(id.to_string()));
}

/// Transactions that were made offline come after the one that runs.
#[test]
fn a_transaction_that_comes_late_does_not_replace_the_open_one() {
    let mut rig = Rig::booted();
    let at = |minutes: i64| (rig.now - TimeDelta::minutes(minutes)).to_rfc3339();
    let (before, end) = (at(60), at(30));
    let open = rig.starts(7000);
    let start = json!({"connectorId": 1, "idTag": "bo", "meterStart": 1000, "timestamp": before});
    let late = rig.says("StartTransaction", &start)["transactionId"].clone();
    assert_ne!(late, open);
    rig.says(
        "StopTransaction",
        &json!({"transactionId": late, "meterStop": 7000, "timestamp": end}),
    );
    let stop = json!({"transactionId": open, "meterStop": 9000, "timestamp": rig.time()});
    assert!(rig.connector().transactions.open.is_some());
    rig.says("StopTransaction", &stop);
    assert_eq!(rig.last_energy(), Some(2.0));
}

/// A number of seconds beyond the calendar took the connection down.
#[test]
fn a_composite_schedule_beyond_the_calendar_is_read_as_far_as_it_goes() {
    let mut rig = Rig::booted();
    rig.starts(1000);
    rig.command(Command::MaxCurrent(amps(10.0)), 1);
    rig.wait(10);
    rig.replies(&json!({"status": "Accepted"}));
    rig.replies(&json!({"status": "Accepted"}));
    let asked = rig.asked.last().map(|one| one.1.clone());
    assert_eq!(asked.as_deref(), Some("GetCompositeSchedule"));
    let periods = json!([{"startPeriod": 9_000_000_000_000_i64, "limit": 6}]);
    rig.replies(&json!({"status": "Accepted", "scheduleStart": rig.time(),
        "chargingSchedule": {"chargingRateUnit": "A", "chargingSchedulePeriod": periods}}));
    assert_eq!(rig.connector().limits.check, Check::Unknown);
}

/// Meter values that were kept without a connection say nothing about the power of now.
#[test]
fn a_power_that_comes_late_is_not_that_of_now() {
    let power =
        |watts: &str| json!([{"value": watts, "measurand": "Power.Active.Import", "unit": "W"}]);
    let mut rig = Rig::booted();
    let before = (rig.now - TimeDelta::hours(3)).to_rfc3339();
    let rate = |rig: &Rig| rig.facts().charging.charge_rate.map(Power::as_kw);
    rig.says("MeterValues", &meter_values(&before, &power("11000")));
    assert_eq!(rate(&rig), None, "the connector is free");
    rig.says("StatusNotification", &status(1, "Charging"));
    rig.says("MeterValues", &meter_values(&rig.time(), &power("2000")));
    rig.says("MeterValues", &meter_values(&before, &power("11000")));
    assert_eq!(rate(&rig), Some(2.0));
    // By a clock that is late, all come late.
    rig.wait(600);
    let late = (rig.now - TimeDelta::hours(1)).to_rfc3339();
    rig.says("MeterValues", &meter_values(&late, &power("3000")));
    assert_eq!(rate(&rig), Some(3.0));
}
