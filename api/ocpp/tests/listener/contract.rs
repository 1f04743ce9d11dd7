//! The contract of integrations, and what the service sees of a charge point.
use chrono::TimeDelta;
use serde_json::json;
use slackwater_control::device::command::{Command, Switch};
use slackwater_control::device::power_state::PowerState;
use slackwater_control::grid_order::limit::{FailSafe, GridLimit, GridMessage, GridOrder};
use slackwater_engine::units::kw;
use slackwater_integration::error::VendorError;
use slackwater_integration::reading::{ChargerFacts, Facts};
use slackwater_integration::testing::check_vendor;
use slackwater_integration::vendor::{Linked, LogIn, Login, Offer, Vendor};
use tokio::net::TcpStream;

use crate::point::{House, IDENTITY, Point};

async fn link(house: &House) -> (Linked, Vec<Offer>) {
    let login = Login::new(IDENTITY, &house.secrets.code);
    match house.vendor.log_in(&login, house.hands.now()).await.unwrap() {
        LogIn::Connected { connection, offers } => {
            (Linked::new(connection, &offers[0].device), offers)
        }
        LogIn::CodeNeeded { .. } => panic!("no second code"),
    }
}

async fn facts(house: &House, device: &Linked) -> (ChargerFacts, Option<bool>) {
    let reading = house.vendor.poll(device, house.hands.now()).await.unwrap();
    match reading.facts {
        Facts::Charger(facts) => (*facts, reading.is_reachable),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_contract_is_kept() {
    let house = House::new(&json!({}));
    let login = Login::new(IDENTITY, &house.secrets.code);
    // Before the first connection there is nothing to read.
    let breaches = check_vendor(&house.vendor, &login, house.hands.now()).await;
    assert!(breaches.is_empty(), "{breaches:#?}");
    let mut point = house.connect().await.unwrap();
    point.boots().await;
    for minute in 0..40 {
        let register = json!([{"value": (1000 + minute * 100).to_string(), "unit": "Wh"}]);
        let at = house.hands.now().to_rfc3339();
        let values = json!([{"timestamp": at, "sampledValue": register}]);
        point.says("MeterValues", json!({"connectorId": 1, "meterValue": values})).await;
        house.hands.advance(TimeDelta::minutes(1));
    }
    let breaches = check_vendor(&house.vendor, &login, house.hands.now()).await;
    assert!(breaches.is_empty(), "{breaches:#?}");
    let (device, _) = link(&house).await;
    let (from, to) = (house.hands.now() - TimeDelta::hours(2), house.hands.now());
    let metered = house.vendor.metered(&device, from, to, to).await.unwrap();
    let energies: Vec<f64> = metered.iter().map(|one| one.imported.as_kwh()).collect();
    assert_eq!(energies.len(), 2);
    assert!(energies.iter().all(|energy| (energy - 1.5).abs() < 1e-9), "{energies:?}");
}

/// Devices that the service is told of; waits for the first if there are none.
async fn told(house: &House) -> Vec<String> {
    house.vendor.hub().news().wait_for_news().await;
    told_so_far(house)
}

fn told_so_far(house: &House) -> Vec<String> {
    let mut told = Vec::new();
    house.vendor.hub().news().take_each(|device| told.push(device.to_owned()));
    told
}

#[tokio::test]
async fn a_linked_charger_is_news_when_it_connects_changes_and_leaves() {
    let house = House::new(&json!({}));
    let mut point = house.connect().await.unwrap();
    point.boots().await;
    assert!(told_so_far(&house).is_empty(), "nobody has linked it");
    link(&house).await;
    // The service reads what is linked by itself; signs of life and measured values can wait.
    point.says("Heartbeat", json!({})).await;
    tell_time(&mut point, &house).await;
    point.shows("Preparing").await;
    assert!(told_so_far(&house).is_empty());
    let start = json!({
        "connectorId": 1, "idTag": "ada", "meterStart": 1000,
        "timestamp": house.hands.now().to_rfc3339(),
    });
    let transaction = point.says("StartTransaction", start).await["transactionId"].clone();
    assert_eq!(told_so_far(&house), ["CP-1/1"]);
    point.shows("Charging").await;
    assert_eq!(told_so_far(&house), ["CP-1/1"]);
    point.shows("Charging").await;
    assert!(told_so_far(&house).is_empty());
    let stop = json!({
        "transactionId": transaction, "meterStop": 2000,
        "timestamp": house.hands.now().to_rfc3339(),
    });
    point.says("StopTransaction", stop).await;
    point.shows("Available").await;
    assert_eq!(told_so_far(&house), ["CP-1/1"], "once, for both");
    point.leaves().await;
    assert_eq!(told(&house).await, ["CP-1/1"]);
    let _back = house.connect().await.unwrap();
    assert_eq!(told(&house).await, ["CP-1/1"]);
}

#[tokio::test]
async fn a_quarter_that_was_not_read_to_its_end_is_asked_for_again() {
    let house = House::new(&json!({}));
    let (device, _) = link(&house).await;
    let mut point = house.connect().await.unwrap();
    point.boots().await;
    let from = house.hands.now();
    let to = from + TimeDelta::minutes(15);
    let metered = async || house.vendor.metered(&device, from, to, house.hands.now()).await;
    assert_eq!(metered().await, Ok(Vec::new()), "there is no meter");
    let mut counts = async |register: &str| {
        let sampled = json!([{"value": register, "unit": "Wh"}]);
        let values =
            json!([{"timestamp": house.hands.now().to_rfc3339(), "sampledValue": sampled}]);
        point.says("MeterValues", json!({"connectorId": 1, "meterValue": values})).await;
    };
    counts("1000").await;
    house.hands.advance(TimeDelta::minutes(16));
    assert_eq!(metered().await, Err(VendorError::Unreachable));
    counts("2600").await;
    let energies: Vec<f64> =
        metered().await.unwrap().iter().map(|one| one.imported.as_kwh()).collect();
    assert!(energies.len() == 1 && (energies[0] - 1.5).abs() < 1e-9, "{energies:?}");
}

#[tokio::test]
async fn a_charger_is_linked_read_started_and_left() {
    let house = House::new(&json!({}));
    let unlinked = house.vendor.log_in(&Login::new("CP-2", "x"), house.hands.now()).await;
    assert_eq!(unlinked, Err(VendorError::Unauthorised));
    let (device, offers) = link(&house).await;
    assert_eq!((&*offers[0].device, &*offers[0].name), ("CP-1/1", "CP-1"));
    let now = house.hands.now();
    let start = Command::Charge(Switch::Start);
    assert_eq!(house.vendor.poll(&device, now).await, Err(VendorError::Unreachable));
    assert_eq!(house.vendor.send(&device, &start, now).await, Err(VendorError::Unreachable));
    let mut point = house.connect().await.unwrap();
    point.boots().await;
    let (_, offers) = link(&house).await;
    assert_eq!(offers[0].name, "Fjord Post CP-1");
    let charger = async {
        let request = point.next().await.unwrap();
        assert_eq!(request[2], "RemoteStartTransaction");
        point.replies(&request, json!({"status": "Accepted"})).await;
    };
    let (sent, ()) = tokio::join!(house.vendor.send(&device, &start, now), charger);
    assert_eq!(sent, Ok(()));
    point.shows("Charging").await;
    let (read, is_reachable) = facts(&house, &device).await;
    assert_eq!((read.charging.power_state, is_reachable), (PowerState::Charging, Some(true)));
    point.leaves().await;
    let (_, is_reachable) = facts(&house, &device).await;
    assert_eq!(is_reachable, Some(false));
    // Its meter values may come later: the range is asked for again.
    let metered = house.vendor.metered(&device, now - TimeDelta::hours(1), now, now).await;
    assert_eq!(metered, Err(VendorError::Unreachable));
}

#[tokio::test]
async fn a_refusal_is_in_the_words_of_the_charger() {
    let house = House::new(&json!({}));
    let (device, _) = link(&house).await;
    let mut point = house.connect().await.unwrap();
    point.boots().await;
    let start = Command::Charge(Switch::Start);
    let charger = async {
        let request = point.next().await.unwrap();
        point.replies(&request, json!({"status": "Rejected"})).await;
    };
    let now = house.hands.now();
    let (sent, ()) = tokio::join!(house.vendor.send(&device, &start, now), charger);
    assert_eq!(sent, Err(VendorError::Refused { detail: "Rejected".to_owned() }));
}

#[tokio::test]
async fn links_and_transactions_survive_a_restart() {
    let mut house = House::new(&json!({}));
    let (device, _) = link(&house).await;
    let mut point = house.connect().await.unwrap();
    point.boots().await;
    let start = json!({
        "connectorId": 1, "idTag": "ada", "meterStart": 0, "timestamp": house.hands.now().to_rfc3339(),
    });
    let id = point.says("StartTransaction", start.clone()).await["transactionId"].clone();
    house.restart();
    let (read, is_reachable) = facts(&house, &device).await;
    assert_eq!((read.information.model.as_str(), is_reachable), ("Post", Some(false)));
    let mut point = house.connect().await.unwrap();
    assert_eq!(point.says("StartTransaction", start).await["transactionId"], id);
}

#[tokio::test]
async fn a_silent_charger_is_not_reachable() {
    let house = House::new(&json!({"ping_seconds": 10}));
    let (device, _) = link(&house).await;
    let mut point = house.connect().await.unwrap();
    point.boots().await;
    house.hands.advance(TimeDelta::seconds(31));
    // The connection is closed from here, so that the charger connects anew.
    assert_eq!(point.next().await, None);
    let (_, is_reachable) = facts(&house, &device).await;
    assert_eq!(is_reachable, Some(false));
}

/// Has a charger show that its clock is right, without which it gets no limit above its default.
async fn tell_time(point: &mut Point<TcpStream>, house: &House) {
    let sampled = json!([{"value": "1000", "unit": "Wh"}]);
    let value = json!({"timestamp": house.hands.now().to_rfc3339(), "sampledValue": sampled});
    point.says("MeterValues", json!({"connectorId": 1, "meterValue": [value]})).await;
}

#[tokio::test]
async fn a_site_limits_its_charger_to_what_the_other_load_leaves() {
    let files = tempfile::tempdir().unwrap();
    let load = files.path().join("load.json");
    let house = House::new(&json!({"sites": {"garage": {
        "fuse_amps": 20, "base_amps": 14, "base_file": load, "probe": false,
        "chargers": {"CP-1": {}}}}}));
    // Limits of an earlier service have ended by then.
    house.hands.advance(TimeDelta::seconds(400));
    let at = house.hands.now() + TimeDelta::seconds(5);
    std::fs::write(&load, json!({"at": at, "amps": [8.0, 2.0, -3.0]}).to_string()).unwrap();
    let mut point = house.connect().await.unwrap();
    point.boots().await;
    tell_time(&mut point, &house).await;
    house.hands.advance(TimeDelta::seconds(10));
    let mut limits = Vec::new();
    while limits.len() < 2 {
        let request = point.next().await.unwrap();
        if request[2] == "SetChargingProfile" {
            let profile = &request[3]["csChargingProfiles"];
            let period = &profile["chargingSchedule"]["chargingSchedulePeriod"][0];
            limits.push((profile["validTo"].is_string(), period["limit"].as_f64()));
        }
        point.replies(&request, json!({"status": "Accepted"})).await;
    }
    assert_eq!(limits, [(false, Some(6.0)), (true, Some(12.0))]);
    let kept = std::fs::read_to_string(house.folder.path().join("CP-1.state.json")).unwrap();
    assert!(kept.contains("last_expiry"), "{kept}");
}

/// Next limit with an end that the charger is sent; it accepts everything.
async fn next_limit(point: &mut Point<TcpStream>) -> Option<f64> {
    loop {
        let request = point.next().await.unwrap();
        point.replies(&request, json!({"status": "Accepted"})).await;
        let profile = &request[3]["csChargingProfiles"];
        if request[2] == "SetChargingProfile" && profile["validTo"].is_string() {
            let period = &profile["chargingSchedule"]["chargingSchedulePeriod"][0];
            return period["limit"].as_f64();
        }
    }
}

#[tokio::test]
async fn a_site_follows_a_grid_order_and_its_fail_safe_by_the_clock() {
    let house = House::new(&json!({"sites": {"garage": {
        "fuse_amps": 20, "base_amps": 0, "probe": false, "chargers": {"CP-1": {}}}}}));
    // Limits of an earlier service have ended by then.
    house.hands.advance(TimeDelta::seconds(400));
    let mut point = house.connect().await.unwrap();
    point.boots().await;
    tell_time(&mut point, &house).await;
    house.hands.advance(TimeDelta::seconds(10));
    assert_eq!(next_limit(&mut point).await, Some(16.0));
    let fail_safe = FailSafe {
        limit: kw(4.2),
        silence_max: TimeDelta::seconds(120),
        hold_min: TimeDelta::hours(2),
    };
    let now = house.hands.now();
    let order = GridOrder { limit: kw(6.9), until: None };
    let limit = GridLimit::new(Some(fail_safe), now).after(GridMessage::Order(order), now);
    assert!(!house.vendor.follow_grid_limit("yard", limit));
    assert!(house.vendor.follow_grid_limit("garage", limit));
    // 30 A on three phases; then nothing is heard, also not from the service: 18.3 A.
    assert_eq!(next_limit(&mut point).await, Some(10.0));
    house.hands.advance(TimeDelta::seconds(120));
    assert_eq!(next_limit(&mut point).await, Some(6.0));
    assert_eq!(house.vendor.site_power("yard"), None);
    let measured = json!({"measurand": "Power.Active.Import", "unit": "W", "value": "4100"});
    let value = json!({"timestamp": house.hands.now().to_rfc3339(), "sampledValue": [measured]});
    point.says("MeterValues", json!({"connectorId": 1, "meterValue": [value]})).await;
    assert_eq!(house.vendor.site_power("garage"), Some(kw(4.1)));
    point.leaves().await;
    assert_eq!(house.vendor.site_power("garage"), None, "nobody knows what it draws");
}
