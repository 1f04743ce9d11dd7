//! Reads, polls and fetches side by side.
use chrono::TimeDelta;
use serde_json::{Value, json};
use slackwater_control::device::scope::DeviceKind;
use slackwater_integration::error::VendorError;
use slackwater_service::jobs::poller::{self, poll_now};
use slackwater_service::outbox::names::DEVICE_CHANGED;
use slackwater_service::state::App;
use slackwater_store::events;
use uuid::Uuid;

use crate::answer::Answer;
use crate::harness::{On, Stage, device, six};
use crate::readings::{battery, charger, hvac, inverter, reading, vehicle};

#[tokio::test]
async fn reads_never_ask_a_manufacturer() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&vehicle())).await;
    let polls = stage.fjord.polls();
    stage.fjord.hang(true);
    for path in ["/vehicles", "/chargers", "/users/u/vehicles", "/hvacs", "/inverters"] {
        let answer = asker.get(&format!("{path}?fields=chargeState")).await;
        assert_eq!(answer.status, 200, "{path}");
    }
    assert_eq!(asker.get(&format!("/vehicles/{id}?fields=chargeState")).await.status, 200);
    assert_eq!(stage.fjord.polls(), polls);
}

#[tokio::test]
async fn an_outage_leaves_old_data_and_says_so() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&vehicle())).await;
    let before = asker.get(&format!("/vehicles/{id}")).await.body;
    stage.fjord.says("u-vehicle", Err(VendorError::Outage));
    stage.app.clock().step(TimeDelta::minutes(30)).unwrap();
    poll_now(&stage.app, id).await;
    let after = asker.get(&format!("/vehicles/{id}")).await.body;
    assert_eq!(after["isReachable"], false);
    assert_eq!(after["lastSeen"], before["lastSeen"]);
    assert_eq!(after["chargeState"], before["chargeState"]);
}

/// Steps the clock until `holds`, or fails after so many minutes of it.
async fn step_until(app: &App, minutes: i64, holds: impl AsyncFn() -> bool) {
    for _ in 0..minutes {
        if holds().await {
            return;
        }
        app.clock().step(TimeDelta::minutes(1)).unwrap();
        app.poller().idle(app.now()).await;
    }
    assert!(holds().await, "not in {minutes} minutes");
}

#[tokio::test]
async fn data_are_at_most_ten_minutes_old() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let mut full = reading(&charger());
    let id = stage.live(&asker, "u", full.clone()).await;
    tokio::spawn(poller::run(stage.app.clone()));
    full.at = six() + TimeDelta::minutes(1);
    stage.fjord.says("u-charger", Ok(full));
    step_until(&stage.app, 10, async || {
        asker.get(&format!("/chargers/{id}")).await.body["lastSeen"] == "2026-01-05T18:01:00Z"
    })
    .await;
}

#[tokio::test]
async fn a_hint_is_taken_at_once_and_jumps_the_queue() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let mut news = reading(&vehicle());
    let id = stage.live(&asker, "u", news.clone()).await;
    tokio::spawn(poller::run(stage.app.clone()));
    // The first poll after linking; then nothing is due for minutes.
    step_until(&stage.app, 1, async || stage.app.poller().due_at(id) > Some(six())).await;
    news.at = six();
    stage.fjord.says("u-vehicle", Ok(news));
    stage.fjord.hang(true);
    let hint = asker.post(&format!("/vehicles/{id}/refresh-hint"), None).await;
    assert_eq!((hint.status, &hint.body), (204, &Value::Null));
    stage.fjord.hang(false);
    let seen = async || {
        asker.get(&format!("/vehicles/{id}")).await.body["lastSeen"] == "2026-01-05T18:00:00Z"
    };
    step_until(&stage.app, 1, seen).await;
    let kinds = [
        ("chargers", charger()),
        ("hvacs", hvac()),
        ("inverters", inverter()),
        ("batteries", battery()),
    ];
    for (path, facts) in kinds {
        let id = stage.live(&asker, "u", reading(&facts)).await;
        assert_eq!(asker.post(&format!("/{path}/{id}/refresh-hint"), None).await.status, 204);
        for unknown in [Uuid::new_v4().to_string(), "abc".to_owned()] {
            let answer = asker.post(&format!("/{path}/{unknown}/refresh-hint"), None).await;
            assert_eq!((answer.status, answer.title()), (404, "Entity Not Found"), "{path}");
        }
    }
}

#[tokio::test]
async fn fields_force_a_fetch_in_the_oldest_version() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let mut news = reading(&vehicle());
    let id = stage.live(&asker, "u", news.clone()).await;
    news.at = six();
    stage.fjord.says("u-vehicle", Ok(news));
    let path = format!("/vehicles/{id}");
    let seen = |answer: Answer| answer.body["lastSeen"].clone();
    let old = json!("2026-01-05T17:55:00Z");
    assert_eq!(seen(asker.get_about("u", &path).await), old);
    let free = asker.get_about("u", &format!("{path}?fields=smartChargingPolicy")).await;
    assert_eq!(seen(free), old);
    assert_eq!(seen(asker.get(&format!("{path}?fields=chargeState")).await), old);
    let fetched = asker.get_about("u", &format!("{path}?fields=odometer,chargeState")).await;
    assert_eq!((fetched.status, seen(fetched)), (200, json!(six())));
    let list = asker.get_about("u", "/vehicles?fields=chargeState").await;
    assert_eq!((list.status, list.ids()), (200, vec![id.to_string().as_str()]));
}

#[tokio::test]
async fn a_fetch_that_finds_news_is_an_event_and_one_that_does_not_is_none() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&vehicle())).await;
    let changes = async || {
        let all = events::events_after(stage.app.store(), 0, 100).await.unwrap();
        all.iter().filter(|event| event.name == DEVICE_CHANGED).count()
    };
    let path = format!("/vehicles/{id}?fields=chargeState");
    assert_eq!(asker.get_about("u", &path).await.status, 200);
    assert_eq!(changes().await, 1, "the first reading");
    let mut news = vehicle();
    news["facts"]["vehicle"]["soc_percent"] = json!(56.0);
    stage.fjord.says("u-vehicle", Ok(reading(&news)));
    // Later versions look at what is known, and so find nothing.
    assert_eq!(asker.get(&path).await.status, 200);
    assert_eq!(changes().await, 1);
    assert_eq!(asker.get_about("u", &path).await.body["chargeState"]["batteryLevel"], 56.0);
    assert_eq!(changes().await, 2);
}

#[tokio::test]
async fn what_manufacturers_fail_with() {
    let stage = Stage::with(On::Sqlite, |config| config.polling.timeout_seconds = 1).await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&vehicle())).await;
    let fresh = stage.link(&asker, "u", device("fresh", DeviceKind::Vehicle)).await;
    let fetch =
        async |id: Uuid| asker.get_about("u", &format!("/vehicles/{id}?fields=chargeState")).await;
    let refused = VendorError::Refused { detail: "too many commands".to_owned() };
    let limited = |retry_after_seconds| VendorError::RateLimited { retry_after_seconds };
    let cases = [
        (VendorError::Outage, 405, "Vendor Unavailable", ""),
        (VendorError::Unreachable, 405, "Vendor Unavailable", ""),
        (VendorError::Asleep { may_be_woken: true }, 405, "Vendor Unavailable", ""),
        (VendorError::Asleep { may_be_woken: false }, 409, "Should Not Disturb", ""),
        (VendorError::TimedOut, 408, "Timeout", ""),
        (refused, 409, "Vendor Rejected", ""),
        (limited(Some(30)), 429, "Vendor Rate Limited", "30"),
        (limited(None), 429, "Vendor Rate Limited", ""),
        (VendorError::Unauthorised, 424, "Permanently Invalid Credentials", ""),
    ];
    for (error, status, title, retry) in cases {
        stage.fjord.says("u-vehicle", Err(error.clone()));
        let answer = fetch(id).await;
        assert_eq!((answer.status, answer.title()), (status, title), "{error}");
        assert_eq!(answer.header("retry-after"), retry, "{error}");
    }
    stage.fjord.says("fresh", Err(VendorError::Outage));
    let answer = fetch(fresh).await;
    assert_eq!((answer.status, answer.title()), (424, "Vendor Not Yet Reached"));
    stage.fjord.hang(true);
    assert_eq!(fetch(id).await.title(), "Timeout");
}

#[tokio::test]
async fn a_list_waits_for_the_slowest() {
    let stage = Stage::new().await;
    assert!(stage.app.config().polling.timeout_seconds >= 60);
    let asker = stage.client("a").await;
    stage.live(&asker, "u", reading(&vehicle())).await;
    stage.heath.says("h", Ok(reading(&vehicle())));
    stage.link_with(&asker, "u", "HEATH", device("h", DeviceKind::Vehicle)).await;
    stage.heath.hang(true);
    let asking = tokio::spawn({
        let asker = asker.clone();
        async move { asker.get_about("u", "/vehicles?fields=chargeState").await }
    });
    while stage.heath.polls() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(!asking.is_finished());
    stage.heath.hang(false);
    let answer = asking.await.unwrap();
    assert_eq!((answer.status, answer.ids().len()), (200, 2));
}

#[tokio::test]
async fn more_requests_than_the_service_takes_at_once_are_told_to_come_again() {
    let stage = Stage::with(On::Sqlite, |config| config.serve.requests_max = 1).await;
    let asker = stage.client("a").await;
    stage.live(&asker, "u", reading(&vehicle())).await;
    let polls = stage.fjord.polls();
    stage.fjord.hang(true);
    let asking = tokio::spawn({
        let asker = asker.clone();
        async move { asker.get_about("u", "/vehicles?fields=chargeState").await }
    });
    while stage.fjord.polls() == polls {
        tokio::task::yield_now().await;
    }
    let refused = asker.get("/users").await;
    assert_eq!((refused.status, refused.title()), (503, "Service Unavailable"));
    assert_eq!(refused.header("retry-after"), "1");
    stage.fjord.hang(false);
    assert_eq!(asking.await.unwrap().status, 200);
    assert_eq!(asker.get("/users").await.status, 200);
}

#[tokio::test]
async fn a_list_with_a_failed_fetch_is_424() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.live(&asker, "u", reading(&vehicle())).await;
    stage.heath.says("h", Err(VendorError::Outage));
    stage.link_with(&asker, "u", "HEATH", device("h", DeviceKind::Vehicle)).await;
    let answer = asker.get_about("u", "/vehicles?fields=chargeState").await;
    assert_eq!((answer.status, answer.title()), (424, "Failed Dependency"));
    assert_eq!(answer.body["detail"], "1 of 2 reads from manufacturers failed");
    assert_eq!(asker.get_about("u", "/vehicles").await.ids().len(), 2);
    stage.heath.says("h", Err(VendorError::Asleep { may_be_woken: true }));
    assert_eq!(asker.get_about("u", "/vehicles?fields=chargeState").await.status, 200);
}
