//! Limits: a default that is safe without us, and above it a profile that expires.
use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;
use serde_json::{Value, json};
use slackwater_control::device::command::{Command, Switch};
use slackwater_control::policy::need::ChargingNeed;
use slackwater_control::quirk::kind::Quirk;
use slackwater_engine::units::{amps, kw};
use slackwater_ocpp::facts::Reply;
use slackwater_ocpp::station::orders::OrderError;

use crate::rig::{Rig, status};

/// A charger that takes profiles, has answered all questions, and charges.
fn charging() -> Rig {
    let mut rig = Rig::booted();
    rig.wait(10);
    let key = |key: &str, value: &str| json!({"key": key, "value": value, "readonly": true});
    rig.replies(&json!({"configurationKey": [
        key("SupportedFeatureProfiles", "Core,SmartCharging"),
        key("ChargingScheduleAllowedChargingRateUnit", "Current"),
        key("ChargeProfileMaxStackLevel", "8"),
    ]}));
    rig.starts(1000);
    rig.says("StatusNotification", &status(1, "Charging"));
    rig
}

/// Purpose, stack level, limit and end of a profile of 1.6.
fn drawn(payload: &Value) -> (String, i64, f64, Option<DateTime<Utc>>) {
    let profile = &payload["csChargingProfiles"];
    let valid_to = profile["validTo"].as_str().map(|at| at.parse().unwrap());
    let limit = profile["chargingSchedule"]["chargingSchedulePeriod"][0]["limit"].as_f64().unwrap();
    let purpose = profile["chargingProfilePurpose"].as_str().unwrap().to_owned();
    (purpose, profile["stackLevel"].as_i64().unwrap(), limit, valid_to)
}

fn profiles(seen: &[(String, Value)]) -> Vec<(String, i64, f64, Option<DateTime<Utc>>)> {
    let set = seen.iter().filter(|(action, _)| action == "SetChargingProfile");
    set.map(|(_, payload)| drawn(payload)).collect()
}

/// lbbrhzn/ocpp#492, evcc-io/evcc#25013: a high limit stayed in force when the connection was lost,
/// and the main breaker of a house tripped.
#[test]
fn each_limit_expires_into_a_safe_default() {
    let mut rig = charging();
    rig.command(Command::MaxCurrent(amps(16.0)), 1);
    let seen = rig.accepts_all();
    let end = Some(rig.now + TimeDelta::seconds(300));
    let expected =
        [("TxDefaultProfile".to_owned(), 0, 6.0, None), ("TxProfile".to_owned(), 1, 16.0, end)];
    assert_eq!(profiles(&seen), expected);
    assert_eq!(seen[1].1["csChargingProfiles"]["chargingSchedule"]["duration"], 300);
    assert_eq!(rig.done[0], (1, Reply::Accepted));
    assert_eq!(rig.facts().max_current, Some(amps(16.0)));
    // It is written again before its end, and the default is not.
    rig.wait(199);
    assert_eq!(rig.asked, []);
    rig.wait(1);
    let again = profiles(&rig.accepts_all());
    assert_eq!((again.len(), &*again[0].0), (1, "TxProfile"));
    assert_eq!(again[0].3, Some(rig.now + TimeDelta::seconds(300)));
}

/// lbbrhzn/ocpp#221, PR#312: a transaction profile outside of a transaction is refused.
#[test]
fn a_transaction_profile_is_written_in_a_transaction_only() {
    let mut rig = charging();
    let stop = json!({"transactionId": 1, "meterStop": 1000, "timestamp": rig.time()});
    rig.says("StopTransaction", &stop);
    rig.command(Command::MaxCurrent(amps(10.0)), 1);
    let seen = profiles(&rig.accepts_all());
    let purposes: Vec<&str> = seen.iter().map(|one| one.0.as_str()).collect();
    assert_eq!(purposes, ["TxDefaultProfile", "TxDefaultProfile"]);
    assert_eq!((seen[1].1, seen[1].2), (1, 10.0));
    // In the next transaction, the limit is its own.
    rig.wait(1);
    rig.starts(1000);
    rig.wait(1);
    let seen = profiles(&rig.accepts_all());
    assert_eq!((seen.len(), &*seen[0].0, seen[0].2), (1, "TxProfile", 10.0));
}

/// evcc-io/evcc#12861: a pause is a limit of zero, since many vehicles need to be plugged in anew
/// after a remote stop.
#[test]
fn a_stop_is_a_limit_of_zero_where_that_works() {
    let mut rig = charging();
    rig.command(Command::Charge(Switch::Stop), 1);
    let seen = profiles(&rig.accepts_all());
    assert_eq!((&*seen[1].0, seen[1].2), ("TxProfile", 0.0));
    rig.says("StatusNotification", &status(1, "SuspendedEVSE"));
    assert_eq!(rig.facts().charging.is_charging, Some(false));
    // The pause is renewed until it is lifted.
    rig.wait(200);
    let seen = profiles(&rig.accepts_all());
    assert_eq!((&*seen[0].0, seen[0].2), ("TxProfile", 0.0));
    rig.command(Command::Charge(Switch::Start), 2);
    let seen = profiles(&rig.accepts_all());
    assert_eq!((&*seen[0].0, seen[0].2), ("TxProfile", 16.0));
    assert!(rig.connector().transactions.open.is_some(), "the transaction went on");
    assert_eq!(rig.done[1], (2, Reply::Accepted));
}

/// lbbrhzn/ocpp#1062, #1245: a charger without profiles is stopped by the end of its transaction.
#[test]
fn a_stop_is_a_remote_stop_where_profiles_are_not_taken() {
    let mut rig = Rig::booted();
    rig.wait(10);
    let profiles = json!([{"key": "SupportedFeatureProfiles", "value": "Core", "readonly": true}]);
    rig.replies(&json!({"configurationKey": profiles}));
    let id = rig.starts(0);
    rig.command(Command::Charge(Switch::Stop), 1);
    assert_eq!(
        rig.accepts_all(),
        [("RemoteStopTransaction".to_owned(), json!({"transactionId": id}))]
    );
    let refused = rig.station.order(1, &Command::MaxCurrent(amps(8.0)), &rig.rules, rig.now);
    assert!(matches!(refused, Err(OrderError::NoLimit { .. })), "{refused:?}");
}

/// goecharger/go-eCharger-API-v2#249, #105: a limit that is accepted and ignored shows in the
/// composite schedule.
#[test]
fn a_limit_that_is_ignored_is_not_shown_as_reached() {
    let mut rig = charging();
    rig.command(Command::MaxCurrent(amps(10.0)), 1);
    rig.replies(&json!({"status": "Accepted"}));
    rig.replies(&json!({"status": "Accepted"}));
    assert_eq!(rig.asked.last().unwrap().1, "GetCompositeSchedule");
    let schedule = |limit: f64| {
        json!({"status": "Accepted", "connectorId": 1, "scheduleStart": "2026-01-05T18:00:10Z",
            "chargingSchedule": {"chargingRateUnit": "A", "duration": 60,
                "chargingSchedulePeriod": [{"startPeriod": 0, "limit": limit}]}})
    };
    rig.replies(&schedule(16.0));
    assert_eq!(rig.facts().max_current, Some(amps(16.0)));
    rig.wait(200);
    rig.replies(&json!({"status": "Accepted"}));
    rig.replies(&schedule(10.0));
    assert_eq!(rig.facts().max_current, Some(amps(10.0)));
}

/// lbbrhzn/ocpp#1635, evcc-io/evcc#9838, #15493: other forms of a profile are tried where one is
/// refused, and the one that was taken is kept.
#[test]
fn refused_profiles_are_tried_in_other_forms() {
    let mut rig = charging();
    rig.command(Command::ChargeRateLimit(kw(6.9)), 1);
    let mut seen = Vec::new();
    // A charger that takes watts only.
    while let Some((_, action, payload)) = rig.asked.last().cloned() {
        let unit = &payload["csChargingProfiles"]["chargingSchedule"]["chargingRateUnit"];
        let is_taken = action != "SetChargingProfile" || unit == "W";
        seen.push((action, payload));
        rig.replies(&json!({"status": if is_taken { "Accepted" } else { "Rejected" }}));
        assert!(seen.len() < 20, "it comes to an end");
    }
    assert_eq!(rig.done, [(1, Reply::Refused { status: "Rejected".to_owned() })]);
    assert_eq!(rig.station.learned.quirks, [Quirk::WattsOnly].into());
    let last = profiles(&seen);
    let (_, level, limit, _) = last.last().unwrap();
    assert_eq!((*level, *limit), (1, 6900.0));
    assert_eq!(rig.facts().charging.charge_rate_limit, Some(kw(6.9)));
    rig.restarts();
    rig.wait(10);
    rig.now += TimeDelta::minutes(10);
    rig.wait(1);
    let unit = &rig.asked[0].2["csChargingProfiles"]["chargingSchedule"]["chargingRateUnit"];
    assert_eq!(unit, "W");
}

/// evcc-io/evcc#15493, lbbrhzn/ocpp#1737: profiles of stack level zero only.
#[test]
fn a_charger_with_one_stack_level_has_limits_in_transactions() {
    let mut rig = charging();
    rig.command(Command::MaxCurrent(amps(10.0)), 1);
    let mut seen = Vec::new();
    while let Some((_, action, payload)) = rig.asked.last().cloned() {
        let is_taken = payload["csChargingProfiles"]["stackLevel"] != 1;
        seen.push((action, payload));
        rig.replies(&json!({"status": if is_taken { "Accepted" } else { "Rejected" }}));
        assert!(seen.len() < 30, "it comes to an end");
    }
    assert_eq!(rig.station.learned.quirks, [Quirk::LevelZeroOnly].into());
    let (purpose, level, limit, _) = profiles(&seen).pop().unwrap();
    assert_eq!((&*purpose, level, limit), ("TxProfile", 0, 10.0));
    assert_eq!(rig.facts().max_current, Some(amps(10.0)));
}

/// evcc-io/evcc#9838: an error in place of a refusal.
#[test]
fn an_error_is_a_refusal_of_the_form() {
    let mut rig = charging();
    rig.command(Command::MaxCurrent(amps(10.0)), 1);
    rig.fails("PropertyConstraintViolation");
    let unit = &rig.asked[0].2["csChargingProfiles"]["chargingSchedule"]["chargingRateUnit"];
    assert_eq!(unit, "W");
}

/// lbbrhzn/ocpp#1062: a known charger that cannot leave a limit of zero is stopped by the end of its
/// transaction, and not asked every second.
#[test]
fn a_limit_of_zero_ends_the_transaction_where_it_would_lock_the_charger() {
    let mut rig = charging();
    rig.station.learned.quirks = [Quirk::ZeroLimitLocks].into();
    rig.command(Command::MaxCurrent(amps(10.0)), 1);
    rig.accepts_all();
    rig.command(Command::MaxCurrent(amps(2.0)), 2);
    assert_eq!(rig.asked[0].1, "RemoteStopTransaction");
    rig.replies(&json!({"status": "Rejected"}));
    rig.wait(29);
    assert_eq!(rig.asked, []);
    rig.wait(1);
    assert_eq!(rig.asked[0].1, "RemoteStopTransaction");
}

/// A charger that refuses every form is not asked for ever.
#[test]
fn a_charger_that_refuses_everything_is_given_up() {
    let mut rig = charging();
    rig.command(Command::MaxCurrent(amps(10.0)), 1);
    let mut count = 0;
    while !rig.asked.is_empty() {
        rig.replies(&json!({"status": "Rejected"}));
        count += 1;
        assert!(count < 20, "it comes to an end");
    }
    rig.wait(3600);
    assert_eq!(rig.asked, []);
    assert!(!rig.station.takes_limits());
    assert_eq!(rig.facts().max_current, None);
}

/// Dozens of chargers lose their profiles when they restart.
#[test]
fn limits_are_written_again_after_a_restart_of_the_charger() {
    let mut rig = charging();
    rig.command(Command::MaxCurrent(amps(10.0)), 1);
    rig.accepts_all();
    rig.restarts();
    rig.says(
        "BootNotification",
        &json!({"chargePointVendor": "Fjord", "chargePointModel": "Post"}),
    );
    rig.wait(10);
    assert_eq!(profiles(&rig.accepts_all()).len(), 2);
}

/// A charge point keeps the safe default over its restart. One that may charge freely stayed at it.
#[test]
fn a_charger_without_a_limit_is_freed_again_after_its_restart() {
    let mut rig = charging();
    rig.command(Command::Charge(Switch::Stop), 1);
    rig.accepts_all();
    rig.command(Command::Charge(Switch::Start), 2);
    let free = profiles(&rig.accepts_all());
    assert_eq!((free.len(), free[0].2), (1, 16.0));
    rig.restarts();
    rig.says(
        "BootNotification",
        &json!({"chargePointVendor": "Fjord", "chargePointModel": "Post"}),
    );
    rig.wait(10);
    let again = profiles(&rig.accepts_all());
    let drawn: Vec<(&str, f64)> = again.iter().map(|one| (one.0.as_str(), one.2)).collect();
    assert_eq!(drawn, [("TxDefaultProfile", 6.0), ("TxProfile", 16.0)]);
}

#[test]
fn limits_of_the_newer_version() {
    let mut rig = Rig::booted_201();
    rig.says("StatusNotification", &json!({"connectorStatus": "Available", "evseId": 1}));
    rig.wait(10);
    rig.replies(&json!({"getVariableResult": []}));
    let start = json!({
        "eventType": "Started", "timestamp": rig.time(), "triggerReason": "CablePluggedIn", "seqNo": 0,
        "transactionInfo": {"transactionId": "tx-1", "chargingState": "Charging"}, "evse": {"id": 1},
    });
    rig.says("TransactionEvent", &start);
    rig.command(Command::MaxCurrent(amps(10.0)), 1);
    rig.replies(&json!({"status": "Accepted"}));
    let payload = rig.asked.last().unwrap().2.clone();
    let profile = &payload["chargingProfile"];
    assert_eq!(payload["evseId"], 1);
    assert_eq!(profile["transactionId"], "tx-1");
    assert_eq!(profile["chargingSchedule"][0]["chargingSchedulePeriod"][0]["limit"], 10.0);
    rig.replies(&json!({"status": "Accepted"}));
    rig.replies(&json!({"status": "Accepted", "schedule": {
        "evseId": 1, "duration": 60, "scheduleStart": rig.time(), "chargingRateUnit": "W",
        "chargingSchedulePeriod": [{"startPeriod": 0, "limit": 6900.0}]}}));
    assert_eq!(rig.facts().max_current, Some(amps(10.0)));
}

/// Profiles that the charge point has accepted last: its default, and the limit above it with its end.
#[derive(Default)]
struct Held {
    default: Option<f64>,
    limit: Option<(f64, DateTime<Utc>)>,
}

impl Held {
    fn take(&mut self, seen: &[(String, Value)]) {
        for (_, _, limit, end) in profiles(seen) {
            match end {
                None => self.default = Some(limit),
                Some(end) => self.limit = Some((limit, end)),
            }
        }
    }

    fn at(&self, at: DateTime<Utc>) -> Option<f64> {
        self.limit.filter(|(_, end)| at < *end).map(|(limit, _)| limit).or(self.default)
    }
}

/// Purposes and limits of profiles.
fn purposes(seen: &[(String, Value)]) -> Vec<(String, f64)> {
    profiles(seen).into_iter().map(|one| (one.0, one.2)).collect()
}

/// A charger whose plan charges at once had no profile at all, and a lost connection left it its full
/// current for ever.
#[test]
fn a_charger_with_a_plan_has_its_default_before_anything_limits_it() {
    let mut rig = charging();
    rig.wait(1);
    assert_eq!(rig.asked, [], "no plan has decided about it");
    let leaves = rig.now + TimeDelta::hours(9);
    rig.station.note_need(1, Some(ChargingNeed { charging: TimeDelta::hours(1), leaves }));
    rig.wait(1);
    let mut held = Held::default();
    let seen = rig.accepts_all();
    // The limit comes first, so that the vehicle never falls to the default in between.
    let expected = [("TxProfile".to_owned(), 16.0), ("TxDefaultProfile".to_owned(), 6.0)];
    assert_eq!(purposes(&seen), expected);
    held.take(&seen);
    assert_eq!(held.at(rig.now), Some(16.0));
    assert_eq!(held.at(rig.now + TimeDelta::seconds(300)), Some(6.0));
    assert_eq!(rig.facts().max_current, None, "nobody has ordered a limit");
    rig.wait(200);
    assert_eq!(purposes(&rig.accepts_all()), [("TxProfile".to_owned(), 16.0)]);
}

/// goecharger/go-eCharger-API-v2#155: the first limit after a pause is accepted and ignored.
#[test]
fn a_limit_after_a_pause_is_written_again_where_the_first_is_ignored() {
    let mut rig = charging();
    rig.station.learned.quirks = [Quirk::FirstLimitIgnored].into();
    rig.command(Command::Charge(Switch::Stop), 1);
    rig.accepts_all();
    rig.command(Command::Charge(Switch::Start), 2);
    let resumed = [("TxProfile".to_owned(), 16.0)];
    assert_eq!(purposes(&rig.accepts_all()), resumed);
    rig.wait(29);
    assert_eq!(rig.asked, []);
    rig.wait(1);
    assert_eq!(purposes(&rig.accepts_all()), resumed);
    rig.wait(199);
    assert_eq!(rig.asked, [], "from then on it is renewed as any other");
}

/// An unlocked cable ends the transaction, and with it the pause ended: the vehicle charged in the next
/// transaction while its plan said wait.
#[test]
fn a_pause_holds_in_the_next_transaction_of_the_vehicle() {
    let mut rig = charging();
    rig.command(Command::Charge(Switch::Stop), 1);
    rig.accepts_all();
    let stop = json!({"transactionId": 1, "meterStop": 1000, "timestamp": rig.time()});
    rig.says("StopTransaction", &stop);
    rig.says("StatusNotification", &status(1, "Finishing"));
    rig.wait(1);
    assert_eq!(purposes(&rig.accepts_all()), [("TxDefaultProfile".to_owned(), 0.0)]);
    rig.starts(1000);
    rig.wait(1);
    assert_eq!(purposes(&rig.accepts_all()), [("TxProfile".to_owned(), 0.0)]);
    // It is a pause of this vehicle: once it has left, the charger is free for the next one.
    let stop = json!({"transactionId": 2, "meterStop": 1000, "timestamp": rig.time()});
    rig.says("StopTransaction", &stop);
    assert_eq!(purposes(&rig.accepts_all()), [("TxDefaultProfile".to_owned(), 0.0)]);
    rig.says("StatusNotification", &status(1, "Available"));
    rig.wait(1);
    assert_eq!(purposes(&rig.accepts_all()), [("TxDefaultProfile".to_owned(), 16.0)]);
}

/// Some chargers refuse profiles of stack level zero: the default goes to level 1, and the limit above.
#[test]
fn a_charger_that_refuses_level_zero_has_its_default_on_level_one() {
    let mut rig = charging();
    rig.command(Command::MaxCurrent(amps(10.0)), 1);
    let mut seen = Vec::new();
    while let Some((_, action, payload)) = rig.asked.last().cloned() {
        let level = &payload["csChargingProfiles"]["stackLevel"];
        let is_taken = action != "SetChargingProfile" || *level != 0;
        seen.push((action, payload));
        rig.replies(&json!({"status": if is_taken { "Accepted" } else { "Rejected" }}));
        assert!(seen.len() < 30, "it comes to an end");
    }
    assert_eq!(rig.station.learned.quirks, [Quirk::LevelZeroRefused].into());
    let taken: Vec<(i64, f64)> =
        profiles(&seen).into_iter().filter(|one| one.1 > 0).map(|one| (one.1, one.2)).collect();
    assert_eq!(taken, [(1, 6.0), (2, 10.0)]);
    assert_eq!(rig.facts().max_current, Some(amps(10.0)));
}

proptest! {
    /// Whatever is ordered, and whenever the connection is lost for good: while it lasts no limit
    /// is above the order, and five minutes after its end the safe limit holds.
    #[test]
    fn a_lost_connection_leaves_the_safe_limit(
        orders in prop::collection::vec((0.0..20.0_f64, 1..900_i64), 1..12),
    ) {
        let mut rig = charging();
        let mut held = Held::default();
        for (order, pause) in orders {
            rig.command(Command::MaxCurrent(amps(order)), 1);
            held.take(&rig.accepts_all());
            for _ in 0..pause / 20 {
                rig.wait(20);
                held.take(&rig.accepts_all());
                let limit = held.at(rig.now).expect("a limit holds");
                prop_assert!(limit <= order.max(6.0), "{limit} A at {}, ordered {order} A", rig.now);
            }
        }
        prop_assert_eq!(held.at(rig.now + TimeDelta::seconds(300)), Some(6.0));
    }
}

/// A charger that is out of order refuses everything for a while. It is asked again after its next start.
#[test]
fn a_charger_that_refused_every_form_is_asked_again_after_a_restart() {
    let mut rig = charging();
    rig.command(Command::MaxCurrent(amps(10.0)), 1);
    while !rig.asked.is_empty() {
        rig.replies(&json!({"status": "Rejected"}));
    }
    assert!(!rig.station.takes_limits());
    rig.wait(3600);
    assert_eq!(rig.asked, []);
    let model = json!({"chargePointVendor": "Fjord", "chargePointModel": "Post"});
    rig.says("BootNotification", &model);
    rig.wait(10);
    let limits: Vec<f64> = profiles(&rig.accepts_all()).iter().map(|one| one.2).collect();
    assert_eq!(limits, [6.0, 10.0]);
}
