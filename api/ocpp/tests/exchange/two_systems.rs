//! A charge point between this system and an upstream one: who answers, whose limit holds, and that
//! texts pass byte for byte.
use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;
use serde_json::{Value, json};
use slackwater_control::device::command::Command;
use slackwater_engine::units::amps;
use slackwater_ocpp::relay::backlog::KEPT_MAX;
use slackwater_ocpp::relay::machine::{Parts, Relay, RelayStep};
use slackwater_ocpp::relay::shared::{GIVEN_ID_MIN, Shared};
use slackwater_ocpp::session::OWN_PREFIX;
use slackwater_ocpp::station::state::{Rules, Station};
use slackwater_ocpp::version::Version;

use crate::rig::{START, rules};

/// Both sides of the relay, and everything that they were sent.
struct Pair {
    relay: Relay,
    station: Station,
    shared: Shared,
    rules: Rules,
    now: DateTime<Utc>,
    /// Texts for the charge point.
    point: Vec<String>,
    /// Texts for the upstream system.
    upstream: Vec<String>,
    resets: usize,
}

impl Pair {
    fn new(version: Version) -> Self {
        let now = START.parse().unwrap();
        let mut station = Station::default();
        station.connect(now);
        Self {
            relay: Relay::new(version, TimeDelta::seconds(30), true),
            station,
            shared: Shared::default(),
            rules: rules(),
            now,
            point: Vec::new(),
            upstream: Vec::new(),
            resets: 0,
        }
    }

    /// A charge point of 1.6 with a connector, known upstream.
    fn connected() -> Self {
        let mut pair = Self::new(Version::V16);
        pair.step(Relay::upstream_connected);
        let boot = r#"[2,"b1","BootNotification",{"chargePointVendor":"Fjord","chargePointModel":"Post"}]"#;
        pair.point_says(boot);
        let now = pair.now.to_rfc3339();
        pair.upstream_answers(&json!({"status": "Accepted", "currentTime": now, "interval": 600}));
        pair.shows(1, "Preparing");
        pair.upstream_answers(&json!({}));
        pair.clear();
        pair
    }

    fn step(&mut self, work: impl FnOnce(&mut Relay, &mut Parts<'_>) -> RelayStep) {
        let Self { relay, station, shared, rules, now, .. } = self;
        let step = work(relay, &mut Parts { station, shared, rules, now: *now });
        self.point.extend(step.own.send);
        self.upstream.extend(step.upstream);
        self.resets += usize::from(step.resets);
    }

    fn clear(&mut self) {
        self.point.clear();
        self.upstream.clear();
    }

    fn point_says(&mut self, text: &str) {
        self.step(|relay, parts| relay.point_said(text, parts));
    }

    fn upstream_says(&mut self, text: &str) {
        self.step(|relay, parts| relay.upstream_said(text, parts));
    }

    fn upstream_leaves(&mut self) {
        self.step(Relay::upstream_lost);
    }

    fn upstream_returns(&mut self) {
        self.step(Relay::upstream_connected);
    }

    fn wait(&mut self, seconds: i64) {
        for _ in 0..seconds {
            self.now += TimeDelta::seconds(1);
            self.step(Relay::tick);
        }
    }

    /// Answers the last request that went upstream.
    fn upstream_answers(&mut self, payload: &Value) {
        let last: Value = serde_json::from_str(self.upstream.last().unwrap()).unwrap();
        self.upstream_says(&json!([3, last[1], payload]).to_string());
    }

    /// Answers the last request that the charge point was sent.
    fn point_answers(&mut self, payload: &Value) {
        let last: Value = serde_json::from_str(self.point.last().unwrap()).unwrap();
        assert_eq!(last[0], 2, "{last}");
        self.point_says(&json!([3, last[1], payload]).to_string());
    }

    fn shows(&mut self, connector: u32, status: &str) {
        let fields = json!({"connectorId": connector, "errorCode": "NoError", "status": status});
        self.point_says(
            &json!([2, format!("s-{status}"), "StatusNotification", fields]).to_string(),
        );
    }

    fn starts(&mut self, id: &str) {
        let at = self.now.to_rfc3339();
        let fields = json!({"connectorId": 1, "idTag": "ada", "meterStart": 1000, "timestamp": at});
        self.point_says(&json!([2, id, "StartTransaction", fields]).to_string());
    }

    /// Starts a transaction that the upstream system numbers.
    fn charges(&mut self, number: i64) {
        self.starts("start");
        let accepted = json!({"status": "Accepted"});
        self.upstream_answers(&json!({"transactionId": number, "idTagInfo": accepted}));
        self.shows(1, "Charging");
        self.upstream_answers(&json!({}));
        self.upstream.clear();
        self.point.retain(|text| text.starts_with("[2"));
    }

    fn measures(&mut self, id: &str, transaction: i64, register: i64) -> String {
        let at = self.now.to_rfc3339();
        let sampled = json!([{"value": register.to_string()}]);
        let values = json!([{"timestamp": at, "sampledValue": sampled}]);
        let fields = json!({"connectorId": 1, "transactionId": transaction, "meterValue": values});
        let text = json!([2, id, "MeterValues", fields]).to_string();
        self.point_says(&text);
        text
    }

    /// Answers requests to the charge point as one that accepts everything, and returns them.
    fn accepts_all(&mut self) -> Vec<Value> {
        let mut seen = Vec::new();
        while let Some(last) = self.point.pop() {
            let last: Value = serde_json::from_str(&last).unwrap();
            if last[0] == 2 {
                self.point_says(&json!([3, last[1], {"status": "Accepted"}]).to_string());
                seen.push(last);
            }
        }
        seen
    }

    /// Limits in amperes that the charge point was sent in the next seconds.
    fn limits(&mut self, seconds: i64) -> Vec<f64> {
        let mut limits = Vec::new();
        for _ in 0..seconds {
            self.wait(1);
            for call in self.accepts_all() {
                if call[2] == "SetChargingProfile" {
                    let profile = &call[3]["csChargingProfiles"]["chargingSchedule"];
                    limits.extend(profile["chargingSchedulePeriod"][0]["limit"].as_f64());
                }
            }
        }
        limits
    }

    fn wants(&mut self, current: f64) {
        let command = Command::MaxCurrent(amps(current));
        let request = self.station.order(1, &command, &self.rules, self.now).unwrap();
        if let Some(request) = request {
            self.step(|relay, parts| relay.order(request, None, parts));
        }
    }

    fn open_id(&self) -> Option<&str> {
        let open = self.station.connectors.get(&1)?.transactions.open.as_ref()?;
        Some(&open.id)
    }

    fn answer(&self) -> Value {
        serde_json::from_str(self.point.last().unwrap()).unwrap()
    }

    fn upstream_actions(&self) -> Vec<String> {
        let read = |text: &String| serde_json::from_str::<Value>(text).unwrap();
        let calls = self.upstream.iter().map(read).filter(|frame| frame[0] == 2);
        calls.map(|frame| frame[2].as_str().unwrap().to_owned()).collect()
    }
}

fn profile(id: i64, limit: f64) -> Value {
    let periods = json!([{"startPeriod": 0, "limit": limit}]);
    json!({
        "chargingProfileId": id, "stackLevel": 0, "chargingProfilePurpose": "TxDefaultProfile",
        "chargingProfileKind": "Absolute",
        "chargingSchedule": {
            "startSchedule": START, "chargingRateUnit": "A", "chargingSchedulePeriod": periods,
        },
    })
}

fn set_profile(id: &str, profile: &Value) -> String {
    let fields = json!({"connectorId": 1, "csChargingProfiles": profile});
    json!([2, id, "SetChargingProfile", fields]).to_string()
}

/// Spaces, order of fields and numbers that no serialiser of ours writes.
#[test]
fn texts_pass_byte_for_byte_in_both_directions() {
    let mut pair = Pair::connected();
    let up = r#"[2, "7" ,"MeterValues",{"meterValue" : [],"connectorId":1, "vendor": 1.50e+2}]"#;
    let back = r#"[3,   "7", { } ]"#;
    pair.point_says(up);
    pair.upstream_says(back);
    assert_eq!(
        (&pair.upstream[..], &pair.point[..]),
        (&[up.to_owned()][..], &[back.to_owned()][..])
    );
    pair.clear();
    let down = r#"[2, "x-9", "GetConfiguration", {"key" : ["A"]} ]"#;
    let reply = r#"[3,"x-9",{"unknownKey":["A"] , "configurationKey":[]}]"#;
    pair.upstream_says(down);
    pair.point_says(reply);
    assert_eq!(
        (&pair.point[..], &pair.upstream[..]),
        (&[down.to_owned()][..], &[reply.to_owned()][..])
    );
    // An action that this system does not know, and an error.
    pair.clear();
    let strange = r#"[2,"8","GetDiagnosticsOfFjord",{"a":1}]"#;
    let error = r#"[4,"8","NotImplemented","",{"why": "so"}]"#;
    pair.point_says(strange);
    pair.upstream_says(error);
    assert_eq!(
        (&pair.upstream[..], &pair.point[..]),
        (&[strange.to_owned()][..], &[error.to_owned()][..])
    );
}

#[test]
fn the_upstream_system_numbers_transactions_and_judges_tokens() {
    let mut pair = Pair::connected();
    pair.starts("1");
    assert!(pair.point.is_empty(), "the charge point waits for the upstream system");
    let answer = r#"[3,"1",{"idTagInfo":{"status":"Blocked"},"transactionId":4711}]"#;
    pair.upstream_says(answer);
    assert_eq!(pair.point, [answer]);
    assert_eq!(pair.open_id(), Some("4711"));
}

#[test]
fn requests_of_both_systems_go_out_one_at_a_time_under_different_names() {
    let mut pair = Pair::connected();
    pair.wait(11);
    let own = pair.answer();
    assert_eq!(
        (&own[2], own[1].as_str().unwrap().starts_with(OWN_PREFIX)),
        (&json!("GetConfiguration"), true)
    );
    // A request under a name of ours waits for its turn, and is renamed.
    let theirs = format!("[2,{},\"Reset\",{{\"type\":\"Soft\"}}]", own[1]);
    pair.upstream_says(&theirs);
    assert_eq!(pair.answer(), own, "one request at a time");
    pair.point_answers(&json!({"configurationKey": []}));
    let reset = pair.answer();
    assert_eq!(reset[2], "Reset");
    assert_ne!(reset[1], own[1]);
    assert!(pair.upstream.is_empty(), "the answer to ours is ours: {:?}", pair.upstream);
    pair.point_answers(&json!({"status": "Accepted"}));
    let answer: Value = serde_json::from_str(pair.upstream.last().unwrap()).unwrap();
    assert_eq!(answer, json!([3, own[1], {"status": "Accepted"}]));
}

#[test]
fn the_lower_limit_wins() {
    let mut pair = Pair::connected();
    pair.charges(7);
    pair.wait(11);
    pair.accepts_all();
    pair.wants(10.0);
    assert_eq!(pair.limits(3), [6.0, 10.0]);
    // Theirs is above ours: nothing to write, and accepted at once.
    pair.upstream_says(&set_profile("p1", &profile(1, 12.0)));
    assert_eq!(pair.upstream.pop().unwrap(), r#"[3,"p1",{"status":"Accepted"}]"#);
    assert_eq!(pair.limits(3), [0.0; 0]);
    // Below ours, and below the default that holds if we fail.
    pair.upstream_says(&set_profile("p2", &profile(1, 5.0)));
    assert!(pair.upstream.is_empty(), "the charge point does not hold it yet");
    assert_eq!(pair.limits(3), [0.0, 0.0], "5 A is below the lowest current of the protocol");
    assert_eq!(pair.upstream.pop().unwrap(), r#"[3,"p2",{"status":"Accepted"}]"#);
    pair.upstream_says(&set_profile("p3", &profile(1, 8.0)));
    assert_eq!(pair.limits(3), [6.0, 8.0]);
    pair.upstream.clear();
    pair.upstream_says(r#"[2,"c","ClearChargingProfile",{"id":1}]"#);
    assert_eq!(pair.upstream, [r#"[3,"c",{"status":"Accepted"}]"#]);
    assert_eq!(pair.limits(3), [10.0]);
    pair.upstream.clear();
    pair.upstream_says(r#"[2,"c","ClearChargingProfile",{"id":1}]"#);
    assert_eq!(pair.upstream, [r#"[3,"c",{"status":"Unknown"}]"#]);
}

#[test]
fn their_limit_holds_also_if_we_have_none() {
    let mut pair = Pair::connected();
    pair.charges(7);
    pair.wait(11);
    pair.accepts_all();
    pair.upstream_says(&set_profile("p", &profile(1, 9.0)));
    assert_eq!(pair.limits(3), [6.0, 9.0]);
    // It changes by its own schedule.
    let mut later = profile(1, 9.0);
    let minutes = (pair.now - START.parse::<DateTime<Utc>>().unwrap()).num_seconds() + 60;
    let periods = json!([{"startPeriod": 0, "limit": 9}, {"startPeriod": minutes, "limit": 7}]);
    later["chargingSchedule"]["chargingSchedulePeriod"] = periods;
    pair.upstream_says(&set_profile("q", &later));
    assert_eq!(pair.limits(70), [7.0]);
}

#[test]
fn a_limit_that_falls_while_another_is_written_is_written_next() {
    let mut pair = Pair::connected();
    pair.charges(7);
    pair.wait(11);
    pair.accepts_all();
    pair.wants(10.0);
    assert_eq!(pair.answer()[2], "SetChargingProfile", "the default");
    pair.point_answers(&json!({"status": "Accepted"}));
    let limit = pair.answer();
    pair.upstream_says(&set_profile("p", &profile(1, 8.0)));
    assert_eq!(pair.answer(), limit, "one request at a time");
    pair.point_answers(&json!({"status": "Accepted"}));
    assert!(pair.upstream.is_empty(), "10 A are not 8 A");
    let schedule = &pair.answer()[3]["csChargingProfiles"]["chargingSchedule"];
    assert_eq!(schedule["chargingSchedulePeriod"][0]["limit"], 8.0);
    pair.point_answers(&json!({"status": "Accepted"}));
    assert_eq!(pair.upstream, [r#"[3,"p",{"status":"Accepted"}]"#]);
}

#[test]
fn a_profile_that_the_charge_point_refuses_is_refused() {
    let mut pair = Pair::connected();
    pair.charges(7);
    pair.wait(11);
    pair.accepts_all();
    pair.clear();
    pair.upstream_says(&set_profile("p", &profile(1, 9.0)));
    for _ in 0..20 {
        while let Some(text) = pair.point.pop() {
            let call: Value = serde_json::from_str(&text).unwrap();
            if call[0] == 2 {
                pair.point_says(&json!([3, call[1], {"status": "Rejected"}]).to_string());
            }
        }
        pair.wait(1);
    }
    assert_eq!(pair.upstream, [r#"[3,"p",{"status":"Rejected"}]"#]);
    assert!(pair.shared.theirs.is_empty());
    // From now on the charge point answers itself.
    pair.clear();
    let text = set_profile("q", &profile(1, 9.0));
    pair.upstream_says(&text);
    assert_eq!(pair.point, [text]);
}

#[test]
fn profiles_that_cannot_be_read_are_errors() {
    let mut pair = Pair::connected();
    for (change, code) in [
        (json!({"chargingProfilePurpose": "TxSomething"}), "PropertyConstraintViolation"),
        (json!({"chargingProfileKind": "Recurring"}), "PropertyConstraintViolation"),
        (json!({"chargingSchedule": {"chargingRateUnit": "A"}}), "PropertyConstraintViolation"),
        (json!({"stackLevel": null}), "OccurenceConstraintViolation"),
    ] {
        let mut wrong = profile(1, 9.0);
        wrong.as_object_mut().unwrap().extend(change.as_object().cloned().unwrap());
        pair.upstream_says(&set_profile("p", &wrong));
        let answer: Value = serde_json::from_str(&pair.upstream.pop().unwrap()).unwrap();
        assert_eq!((&answer[0], &answer[2]), (&json!(4), &json!(code)), "{answer}");
    }
    // One of a transaction needs its transaction.
    let mut of_transaction = profile(1, 9.0);
    of_transaction["chargingProfilePurpose"] = json!("TxProfile");
    pair.upstream_says(&set_profile("p", &of_transaction));
    assert_eq!(pair.upstream.pop().unwrap(), r#"[3,"p",{"status":"Rejected"}]"#);
    assert!(pair.shared.theirs.is_empty());
}

#[test]
fn a_profile_of_a_transaction_ends_with_it() {
    let mut pair = Pair::connected();
    pair.wait(11);
    pair.accepts_all();
    // It comes with the start, which passes without it.
    let mut of_transaction = profile(1, 9.0);
    of_transaction["chargingProfilePurpose"] = json!("TxProfile");
    let fields = json!({"idTag": "ada", "connectorId": 1, "chargingProfile": of_transaction});
    pair.upstream_says(&json!([2, "r", "RemoteStartTransaction", fields]).to_string());
    let start = pair.answer();
    assert_eq!(start[3], json!({"idTag": "ada", "connectorId": 1}));
    pair.point_answers(&json!({"status": "Accepted"}));
    assert_eq!(pair.upstream.pop().unwrap(), r#"[3,"r",{"status":"Accepted"}]"#);
    pair.charges(8);
    assert_eq!(pair.limits(3), [6.0, 9.0]);
    let at = pair.now.to_rfc3339();
    let fields = json!({"transactionId": 8, "meterStop": 2000, "timestamp": at});
    pair.point_says(&json!([2, "e", "StopTransaction", fields]).to_string());
    pair.upstream_answers(&json!({}));
    assert!(pair.shared.theirs.is_empty());
    // A start that is refused leaves nothing behind.
    let fields = json!({"idTag": "ada", "chargingProfile": of_transaction});
    pair.upstream_says(&json!([2, "r2", "RemoteStartTransaction", fields]).to_string());
    assert!(!pair.shared.theirs.is_empty());
    while pair.answer()[2] != "RemoteStartTransaction" {
        pair.point_answers(&json!({"status": "Accepted"}));
    }
    pair.point_answers(&json!({"status": "Rejected"}));
    assert!(pair.shared.theirs.is_empty());
}

#[test]
fn the_stop_of_the_upstream_system_holds() {
    let mut pair = Pair::connected();
    pair.charges(7);
    let stop = r#"[2,"x","RemoteStopTransaction",{"transactionId": 7}]"#;
    pair.upstream_says(stop);
    assert_eq!(pair.point, [stop]);
    pair.point_answers(&json!({"status": "Accepted"}));
    assert!(pair.shared.is_stopped(1));
    let at = pair.now.to_rfc3339();
    let fields = json!({"transactionId": 7, "meterStop": 2000, "timestamp": at});
    pair.point_says(&json!([2, "e", "StopTransaction", fields]).to_string());
    pair.upstream_answers(&json!({}));
    pair.wait(60);
    assert!(pair.shared.is_stopped(1), "as long as the vehicle stays");
    pair.shows(1, "Available");
    pair.upstream_answers(&json!({}));
    assert!(!pair.shared.is_stopped(1));
}

#[test]
fn a_start_of_the_upstream_system_lifts_its_stop() {
    let mut pair = Pair::connected();
    pair.charges(7);
    pair.upstream_says(r#"[2,"x","RemoteStopTransaction",{"transactionId": 7}]"#);
    pair.point_answers(&json!({"status": "Accepted"}));
    assert!(pair.shared.is_stopped(1));
    let start = r#"[2,"y","RemoteStartTransaction",{"idTag": "ada", "connectorId": 1}]"#;
    pair.upstream_says(start);
    assert_eq!(pair.point.last().unwrap(), start);
    assert!(!pair.shared.is_stopped(1));
}

#[test]
fn while_the_upstream_system_is_away_messages_are_answered_and_kept_in_order() {
    let mut pair = Pair::connected();
    pair.upstream_leaves();
    pair.clear();
    pair.starts("1");
    let given = pair.answer()[2]["transactionId"].as_i64().unwrap();
    assert!(given > GIVEN_ID_MIN);
    pair.measures("2", given, 1500);
    pair.point_says(r#"[2,"3","Heartbeat",{}]"#);
    assert!(pair.answer()[2]["currentTime"].is_string());
    let at = pair.now.to_rfc3339();
    let fields = json!({"transactionId": given, "meterStop": 2000, "timestamp": at});
    pair.point_says(&json!([2, "4", "StopTransaction", fields]).to_string());
    pair.shows(1, "Available");
    assert!(pair.upstream.is_empty());
    // It survives a restart of this system.
    let file = serde_json::to_string(&pair.shared).unwrap();
    pair.shared = serde_json::from_str(&file).unwrap();
    pair.upstream_returns();
    assert_eq!(pair.upstream_actions(), ["StartTransaction"]);
    pair.upstream_answers(&json!({"transactionId": 42, "idTagInfo": {"status": "Accepted"}}));
    // A new message about transactions waits behind those that were missed.
    pair.clear();
    pair.measures("5", given, 1600);
    assert_eq!(pair.answer(), json!([3, "5", {}]));
    pair.upstream_says(r#"[3,"2",{}]"#);
    pair.upstream_says(r#"[3,"4",{}]"#);
    pair.upstream_says(r#"[3,"5",{}]"#);
    pair.upstream_answers(&json!({}));
    let seen: Vec<Value> =
        pair.upstream.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let order: Vec<Value> =
        seen.iter().map(|frame| json!([frame[1], frame[3]["transactionId"]])).collect();
    // The number is forgotten with the end of the transaction.
    assert_eq!(order[..2], [json!(["4", 42]), json!(["5", given])]);
    assert_eq!((&seen[2][1], &seen[2][2]), (&json!("s-Available"), &json!("StatusNotification")));
    assert!(pair.shared.backlog.is_empty() && pair.shared.upstream_ids.is_empty());
}

#[test]
fn a_transaction_that_began_alone_has_the_number_of_the_upstream_system_there() {
    let mut pair = Pair::connected();
    pair.upstream_leaves();
    pair.starts("1");
    let given = pair.answer()[2]["transactionId"].as_i64().unwrap();
    pair.upstream_returns();
    pair.upstream_answers(&json!({"transactionId": 42, "idTagInfo": {"status": "Accepted"}}));
    pair.clear();
    pair.measures("2", given, 1500);
    let sent: Value = serde_json::from_str(&pair.upstream[0]).unwrap();
    assert_eq!(sent[3]["transactionId"], 42);
    pair.upstream_says(r#"[3,"2",{}]"#);
    pair.upstream_says(r#"[2,"x","RemoteStopTransaction",{"transactionId":42}]"#);
    assert_eq!(pair.answer()[3]["transactionId"], given);
    assert!(pair.shared.is_stopped(1));
    // Another transaction of theirs that has the number of ours gets a new one at the charge point.
    pair.point_answers(&json!({"status": "Rejected"}));
    pair.starts("9");
    pair.upstream_answers(&json!({"transactionId": given, "idTagInfo": {"status": "Accepted"}}));
    assert_eq!(pair.answer()[2]["transactionId"], given + 1);
    pair.clear();
    pair.measures("10", given + 1, 1700);
    let sent: Value = serde_json::from_str(&pair.upstream[0]).unwrap();
    assert_eq!(sent[3]["transactionId"], given);
}

#[test]
fn a_token_that_is_refused_afterwards_stops_the_transaction() {
    let mut pair = Pair::connected();
    pair.upstream_leaves();
    pair.starts("1");
    let given = pair.answer()[2]["transactionId"].clone();
    pair.upstream_returns();
    pair.clear();
    let last = r#"[3,"1",{"transactionId":42,"idTagInfo":{"status":"Blocked"}}]"#;
    pair.upstream_says(last);
    let stop = pair.answer();
    assert_eq!((&stop[2], &stop[3]["transactionId"]), (&json!("RemoteStopTransaction"), &given));
    assert!(pair.shared.is_stopped(1));
}

#[test]
fn a_boot_that_was_missed_comes_first_and_until_it_is_accepted_nothing_else() {
    let mut pair = Pair::new(Version::V16);
    pair.upstream_leaves();
    pair.point_says(
        r#"[2,"b","BootNotification",{"chargePointVendor":"F","chargePointModel":"P"}]"#,
    );
    assert_eq!(pair.answer()[2]["status"], "Accepted");
    pair.shows(1, "Preparing");
    pair.starts("1");
    pair.upstream_returns();
    assert_eq!(pair.upstream_actions(), ["BootNotification"]);
    pair.upstream_answers(&json!({"status": "Pending", "interval": 20}));
    pair.wait(19);
    assert_eq!(pair.upstream_actions(), ["BootNotification"]);
    pair.wait(2);
    assert_eq!(pair.upstream_actions(), ["BootNotification"; 2]);
    pair.upstream_answers(&json!({"status": "Accepted", "interval": 20}));
    pair.upstream_answers(&json!({"transactionId": 42, "idTagInfo": {"status": "Accepted"}}));
    pair.upstream_answers(&json!({}));
    let rest = pair.upstream_actions().split_off(2);
    assert_eq!(rest, ["StartTransaction", "StatusNotification"]);
}

#[test]
fn an_upstream_system_that_does_not_answer_is_left() {
    let mut pair = Pair::connected();
    pair.point_says(r#"[2,"a","Authorize",{"idTag":"ada"}]"#);
    pair.wait(29);
    assert!(pair.point.iter().all(|text| !text.starts_with("[3")), "{:?}", pair.point);
    pair.wait(1);
    assert_eq!(pair.resets, 1);
    let answer = json!([3, "a", {"idTagInfo": {"status": "Accepted"}}]).to_string();
    assert!(pair.point.contains(&answer), "{:?}", pair.point);
    // The late answer is nobody's.
    pair.clear();
    pair.upstream_says(r#"[3,"a",{"idTagInfo":{"status":"Invalid"}}]"#);
    assert!(pair.point.is_empty());
}

#[test]
fn answers_to_an_upstream_system_that_has_left_are_nobodys() {
    let mut pair = Pair::connected();
    pair.upstream_says(r#"[2,"x","Reset",{"type":"Soft"}]"#);
    pair.upstream_leaves();
    pair.upstream_returns();
    pair.upstream.clear();
    pair.point_says(r#"[3,"x",{"status":"Accepted"}]"#);
    assert!(pair.upstream.is_empty());
}

#[test]
fn a_full_backlog_drops_meter_values_and_then_refuses() {
    let mut pair = Pair::connected();
    pair.upstream_leaves();
    pair.starts("1");
    let given = pair.answer()[2]["transactionId"].as_i64().unwrap();
    for number in 0..i64::try_from(KEPT_MAX).unwrap() + 50 {
        pair.measures(&format!("m{number}"), given, 1000 + number);
    }
    assert_eq!(pair.shared.backlog.len(), KEPT_MAX);
    assert!(pair.shared.backlog.first().unwrap().text.contains("StartTransaction"));
    // Long messages make room, too.
    let long = "x".repeat(200_000);
    for number in 0..8 {
        let fields = json!({"connectorId": 1, "meterValue": [], "vendor": long});
        pair.point_says(&json!([2, format!("l{number}"), "MeterValues", fields]).to_string());
    }
    assert!(serde_json::to_string(&pair.shared).unwrap().len() < 1_200_000);
    // Full of messages that no bill can do without.
    for number in 0..=KEPT_MAX {
        pair.now += TimeDelta::seconds(1);
        pair.starts(&format!("t{number}"));
    }
    let answer = pair.answer();
    assert_eq!((&answer[0], &answer[2]), (&json!(4), &json!("InternalError")), "{answer}");
    assert_eq!(pair.shared.backlog.len(), KEPT_MAX);
}

#[test]
fn messages_of_2_0_1_pass_and_are_kept_as_they_are() {
    let mut pair = Pair::new(Version::V201);
    pair.upstream_leaves();
    let event = r#"[2,"1","TransactionEvent",{"eventType":"Started" ,"timestamp":"2026-01-05T18:00:00Z","triggerReason":"Authorized","seqNo":0,"transactionInfo":{"transactionId":"tx-1"},"evse":{"id":1},"idToken":{"idToken":"ada","type":"Central"}}]"#;
    pair.point_says(event);
    assert_eq!(pair.answer()[2]["idTokenInfo"]["status"], "Accepted");
    assert_eq!(pair.open_id(), Some("tx-1"));
    pair.upstream_returns();
    assert_eq!(pair.upstream, [event]);
    pair.upstream_says(r#"[3,"1",{"idTokenInfo":{"status":"Invalid"}}]"#);
    let stop = pair.answer();
    assert_eq!(
        (&stop[2], &stop[3]),
        (&json!("RequestStopTransaction"), &json!({"transactionId": "tx-1"}))
    );
}

#[derive(Debug, Clone)]
enum Move {
    Point(u8),
    Upstream(u8),
    AnswerPoint,
    AnswerUpstream,
    Leaves,
    Returns,
    Wait(i64),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        4 => (0..4u8).prop_map(Move::Point),
        3 => (0..4u8).prop_map(Move::Upstream),
        4 => Just(Move::AnswerPoint),
        4 => Just(Move::AnswerUpstream),
        1 => Just(Move::Leaves),
        2 => Just(Move::Returns),
        2 => (1..40i64).prop_map(Move::Wait),
    ];
    prop::collection::vec(one, 1..80)
}

/// Requests of either side that a side has to answer, in order.
#[derive(Default)]
struct Open {
    at_point: Vec<Value>,
    at_upstream: Vec<Value>,
    /// Requests of the charge point without an answer.
    of_point: Vec<String>,
}

impl Open {
    fn take(&mut self, pair: &mut Pair) {
        for text in std::mem::take(&mut pair.point) {
            let frame: Value = serde_json::from_str(&text).unwrap();
            if frame[0] == 2 {
                self.at_point.push(frame);
            } else {
                let id = frame[1].as_str().unwrap();
                let found = self.of_point.iter().position(|open| open == id);
                self.of_point.remove(found.expect("each request is answered once"));
            }
        }
        for text in std::mem::take(&mut pair.upstream) {
            let frame: Value = serde_json::from_str(&text).unwrap();
            if frame[0] == 2 {
                self.at_upstream.push(frame);
            }
        }
    }
}

fn play(pair: &mut Pair, open: &mut Open, one: &Move, number: usize) {
    match one {
        Move::Point(kind) => {
            open.of_point.push(format!("p{number}"));
            let id = format!("p{number}");
            match kind {
                0 => pair.starts(&id),
                1 => drop(pair.measures(&id, 7, 1000)),
                2 => pair.point_says(&json!([2, id, "Heartbeat", {}]).to_string()),
                _ => pair.point_says(&json!([2, id, "Strange", {}]).to_string()),
            }
        }
        Move::Upstream(kind) => {
            let id = if *kind == 3 { format!("{OWN_PREFIX}1") } else { format!("u{number}") };
            match kind {
                0 => pair.upstream_says(&set_profile(&id, &profile(1, 9.0))),
                _ => pair.upstream_says(&json!([2, id, "Reset", {"type": "Soft"}]).to_string()),
            }
        }
        Move::AnswerPoint if !open.at_point.is_empty() => {
            let frame = open.at_point.remove(0);
            pair.point_says(&json!([3, frame[1], {"status": "Accepted"}]).to_string());
        }
        Move::AnswerUpstream if !open.at_upstream.is_empty() => {
            let frame = open.at_upstream.remove(0);
            let info = json!({"transactionId": 40 + number, "status": "Accepted"});
            pair.upstream_says(&json!([3, frame[1], info]).to_string());
        }
        Move::Leaves => {
            open.at_upstream.clear();
            pair.upstream_leaves();
        }
        Move::Returns => {
            open.at_upstream.clear();
            pair.upstream_leaves();
            pair.upstream_returns();
        }
        Move::Wait(seconds) => pair.wait(*seconds),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever happens, each request of the charge point is answered once and in the end, and no
    /// message about a transaction is lost: all arrive upstream in order.
    #[test]
    fn nothing_is_lost_and_nothing_is_answered_twice(moves in moves()) {
        let mut pair = Pair::connected();
        let mut open = Open::default();
        for (number, one) in moves.iter().enumerate() {
            play(&mut pair, &mut open, one, number);
            open.take(&mut pair);
        }
        // In the end both sides answer.
        pair.upstream_leaves();
        open.at_upstream.clear();
        pair.upstream_returns();
        for number in 1000..1400 {
            open.take(&mut pair);
            play(&mut pair, &mut open, &Move::AnswerUpstream, number);
            play(&mut pair, &mut open, &Move::AnswerPoint, number);
            pair.wait(1);
        }
        open.take(&mut pair);
        prop_assert_eq!(&open.of_point, &[""; 0]);
        prop_assert!(pair.shared.backlog.is_empty());
    }
}
