//! Pages of all lists.
use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use slackwater_control::device::scope::DeviceKind;

use crate::harness::{On, Stage, device, six};

/// PAG-13: every list, with what fills it.
const LISTS: [(&str, Option<DeviceKind>); 11] = [
    ("/vehicles", Some(DeviceKind::Vehicle)),
    ("/chargers", Some(DeviceKind::Charger)),
    ("/hvacs", Some(DeviceKind::Hvac)),
    ("/inverters", Some(DeviceKind::Inverter)),
    ("/batteries", Some(DeviceKind::Battery)),
    ("/users", None),
    ("/users/u/vehicles", Some(DeviceKind::Vehicle)),
    ("/users/u/chargers", Some(DeviceKind::Charger)),
    ("/users/u/hvacs", Some(DeviceKind::Hvac)),
    ("/users/u/inverters", Some(DeviceKind::Inverter)),
    ("/users/u/schedules", None),
];

/// Seven of each kind, of one user, with seven schedules, and six more users.
async fn full_stage(on: On) -> (Stage, crate::harness::Asker) {
    let stage = Stage::with(on, |_| ()).await;
    let asker = stage.client("a").await;
    for kind in DeviceKind::ALL {
        for number in 0..7 {
            let name = format!("{}-{number}", kind.as_str());
            // Some of them at the same instant.
            let step = chrono::TimeDelta::microseconds(number % 3);
            stage.app.clock().step(step).unwrap();
            stage.link(&asker, "u", device(&name, kind)).await;
        }
    }
    for number in 0..6 {
        stage.link(&asker, &format!("u{number}"), device("d", DeviceKind::Meter)).await;
    }
    let chargers = asker.get("/chargers").await;
    for target in chargers.ids() {
        let schedule = json!({
            "isEnabled": true, "defaultShouldCharge": true, "rules": [],
            "targetId": target, "targetType": "charger", "locationId": null,
        });
        assert_eq!(asker.post("/users/u/schedules", Some(&schedule)).await.status, 200);
    }
    (stage, asker)
}

#[tokio::test]
async fn every_list_can_be_walked_both_ways() {
    for on in [On::Sqlite, On::Postgres] {
        let (_stage, asker) = full_stage(on).await;
        for (path, _) in LISTS {
            let all = asker.get(path).await;
            let expected: Vec<&str> = all.ids();
            assert_eq!(expected.len(), 7, "{path}");
            assert!(all.body["pagination"]["before"].is_null());
            assert!(all.body["pagination"]["after"].is_null());

            let mut seen = Vec::new();
            let mut next = format!("{path}?pageSize=3");
            let mut last = None;
            loop {
                let page = asker.get(&next).await;
                seen.extend(page.ids().iter().map(ToString::to_string));
                let pagination = page.body["pagination"].clone();
                last = pagination["before"].as_str().map(ToOwned::to_owned).or(last);
                let Some(after) = pagination["after"].as_str() else { break };
                next = format!("{path}?pageSize=3&after={after}");
            }
            assert_eq!(seen, expected, "{path}");
            let back = asker.get(&format!("{path}?pageSize=3&before={}", last.unwrap())).await;
            assert_eq!(back.ids(), expected[3..6], "{path}");
        }
    }
}

#[tokio::test]
async fn items_that_come_and_go_hide_nothing() {
    let (stage, asker) = full_stage(On::Sqlite).await;
    let first = asker.get("/vehicles?pageSize=3").await;
    let all: Vec<String> =
        asker.get("/vehicles").await.ids().into_iter().map(ToOwned::to_owned).collect();
    stage.link(&asker, "u", device("new", DeviceKind::Vehicle)).await;
    let after = first.body["pagination"]["after"].as_str().unwrap();
    let second = asker.get(&format!("/vehicles?pageSize=3&after={after}")).await;
    assert_eq!(second.ids(), all[3..6]);
}

#[tokio::test]
async fn bad_pages_are_refused() {
    let (_stage, asker) = full_stage(On::Sqlite).await;
    let cursor = asker.get("/vehicles?pageSize=2").await.body["pagination"]["after"].clone();
    let cursor = cursor.as_str().unwrap();
    let mut queries = vec![format!("after={cursor}&before={cursor}"), "after=x".to_owned()];
    queries.extend(["0", "-1", "1.5", "x", ""].map(|size| format!("pageSize={size}")));
    for query in queries {
        let answer = asker.get(&format!("/vehicles?{query}")).await;
        assert_eq!((answer.status, answer.title()), (400, "Bad request"), "{query}");
    }
    assert_eq!(asker.get("/vehicles?pageSize=1000").await.status, 200);
}

/// Sees what is inside a cursor whoever can undo its letters.
#[tokio::test]
async fn a_cursor_tells_nothing_of_what_is_in_it() {
    let (_stage, asker) = full_stage(On::Sqlite).await;
    for (path, _) in LISTS {
        let page = asker.get(&format!("{path}?pageSize=2")).await;
        let cursor = page.body["pagination"]["after"].as_str().unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(cursor).unwrap();
        let last = page.ids()[1].as_bytes();
        assert!(!bytes.windows(last.len()).any(|part| part == last), "{path}");
        let time = six().timestamp_micros().to_be_bytes();
        assert!(!bytes.windows(4).any(|part| part == &time[..4]), "{path}");
    }
}

#[tokio::test]
async fn cursors_are_of_one_list_and_one_client() {
    let (stage, asker) = full_stage(On::Sqlite).await;
    let other = stage.client("b").await;
    stage.link(&other, "u", device("d", DeviceKind::Vehicle)).await;
    let mut refused = BTreeSet::new();
    for (from, _) in LISTS {
        let page = asker.get(&format!("{from}?pageSize=2")).await;
        let cursor = page.body["pagination"]["after"].as_str().unwrap();
        for (to, _) in LISTS {
            let status = asker.get(&format!("{to}?after={cursor}")).await.status;
            assert_eq!(status, if from == to { 200 } else { 400 }, "{from} {to}");
        }
        refused.insert(other.get(&format!("{from}?after={cursor}")).await.status);
    }
    assert_eq!(refused, BTreeSet::from([400]));
}

#[tokio::test]
async fn fifty_items_unless_said_otherwise() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    for number in 0..51 {
        stage.link(&asker, "u", device(&number.to_string(), DeviceKind::Meter)).await;
        stage.link(&asker, &format!("v{number}"), device("b", DeviceKind::Battery)).await;
    }
    assert_eq!(asker.get("/batteries").await.ids().len(), 50);
    assert_eq!(asker.get("/batteries?pageSize=51").await.ids().len(), 51);
    let stage = Stage::with(On::Sqlite, |config| config.limits.page_size_max = Some(2)).await;
    let asker = stage.client("a").await;
    for number in 0..3 {
        stage.link(&asker, "u", device(&number.to_string(), DeviceKind::Charger)).await;
    }
    assert_eq!(asker.get("/chargers?pageSize=1000").await.ids().len(), 2);
}
