//! Schedules, how they stand, and what they do.
use axum::http::Method;
use chrono::TimeDelta;
use chrono_tz::Tz;
use serde_json::{Value, json};
use slackwater_control::device::command::{Command, Switch};
use slackwater_http::auth::gate::SERVICE_USER_ID;
use slackwater_http::version::SERVICE_VERSION;
use slackwater_integration::reading::{Position, Reading};
use slackwater_service::jobs::poller::{self, poll_now};
use slackwater_service::linking::connect::{NewUser, connect};
use slackwater_store::locations::{Location, LocationFacts};
use uuid::Uuid;

use crate::answer::Answer;
use crate::harness::{Asker, OLDEST, On, Stage, six};
use crate::readings::{charger, reading, vehicle};

const START: Command = Command::Charge(Switch::Start);
const STOP: Command = Command::Charge(Switch::Stop);

fn standing(state: &str) -> Reading {
    let mut shown = charger();
    let charging = &mut shown["facts"]["charger"]["charging"];
    charging["power_state"] = state.into();
    charging["is_charging"] = (state == "charging").into();
    charging["is_plugged_in"] = (state != "unplugged").into();
    reading(&shown)
}

/// A schedule of a charger: charges from half past six to a quarter to seven.
fn evening(target: Uuid) -> Value {
    json!({
        "isEnabled": true, "defaultShouldCharge": false,
        "rules": [{ "shouldCharge": true, "hourMinute": { "from": "18:30", "to": "18:45" } }],
        "targetId": target, "targetType": "charger", "locationId": null,
    })
}

fn with(mut body: Value, name: &str, value: Value) -> Value {
    body[name] = value;
    body
}

async fn scene(stage: &Stage) -> (Asker, Uuid) {
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", standing("stopped")).await;
    (asker, id)
}

async fn make(asker: &Asker, body: &Value) -> String {
    let made = asker.post("/users/u/schedules", Some(body)).await;
    assert_eq!(made.status, 200, "{}", made.body);
    format!("/schedules/{}", made.body["id"].as_str().unwrap())
}

async fn state(asker: &Asker, path: &str) -> String {
    let status = asker.get(&format!("{path}/status")).await;
    assert_eq!(status.status, 200);
    status.body["state"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_schedule_is_kept() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let (asker, id) = scene(&stage).await;
        let mut body = evening(id);
        body["rules"] = json!([
            { "shouldCharge": true, "weekdays": [6, 5, 5], "hourMinute": { "from": "22:00", "to": "06:00" } },
            { "shouldCharge": false, "fromTimestamp": "2026-02-01T01:00:00+01:00",
              "toTimestamp": "2026-03-01T00:00:00Z" },
            { "shouldCharge": true },
        ]);
        let made = asker.post("/users/u/schedules", Some(&body)).await;
        assert_eq!(made.status, 200);
        let path = format!("/schedules/{}", made.body["id"].as_str().unwrap());
        let mut expected = body.clone();
        expected["id"] = made.body["id"].clone();
        expected["rules"][1]["fromTimestamp"] = "2026-02-01T00:00:00Z".into();
        assert_eq!(made.body, expected);
        assert_eq!(asker.get(&path).await.body, expected);
        // SCH-05, AMB-74: what is not named stays.
        let off = asker.put(&path, &json!({ "isEnabled": false })).await;
        assert_eq!(
            (off.status, &off.body),
            (200, &with(expected.clone(), "isEnabled", false.into()))
        );
        assert_eq!(asker.put(&path, &json!({})).await.body, off.body);
        let second = make(&asker, &evening(id)).await;
        let page = asker.get("/users/u/schedules").await;
        assert_eq!(Answer::keys(&page.body), ["data", "pagination"]);
        assert_eq!(
            page.ids(),
            [second.trim_start_matches("/schedules/"), made.body["id"].as_str().unwrap()]
        );

        let stage = stage.restarted().await;
        let asker = stage.again(&asker);
        assert_eq!(asker.get(&path).await.body, off.body);
        assert_eq!(asker.get("/users/u/schedules?pageSize=1").await.ids().len(), 1);
        assert_eq!(asker.delete(&path).await.status, 204);
        assert_eq!(asker.get(&path).await.status, 404);
        assert_eq!(asker.delete(&path).await.status, 404);
        let headers = [(SERVICE_VERSION, OLDEST), (SERVICE_USER_ID, "u")];
        let old = asker.ask(Method::GET, &second, None, &headers).await;
        assert_eq!((old.status, &old.body["targetId"]), (200, &json!(id)));
        // LNK-29: they go with their user.
        assert_eq!(asker.delete("/users/u").await.status, 204);
        assert_eq!(asker.get(&second).await.status, 404);
    }
}

#[tokio::test]
async fn schedules_with_missing_or_wrong_members_are_refused() {
    let stage = Stage::new().await;
    let (asker, id) = scene(&stage).await;
    let door = "/users/u/schedules";
    for name in
        ["isEnabled", "defaultShouldCharge", "rules", "targetId", "targetType", "locationId"]
    {
        let mut body = evening(id);
        body.as_object_mut().unwrap().remove(name);
        let refused = asker.post(door, Some(&body)).await;
        assert_eq!(refused.status, 400, "{name}");
        assert_eq!(refused.body["issues"], json!([format!("/{name}: is required")]));
    }
    let path = make(&asker, &with(evening(id), "rules", json!([]))).await;
    let rule = |filter: Value| json!([{ "shouldCharge": true }, filter]);
    let window = |from: &str, to: &str| {
        rule(json!({ "shouldCharge": true, "hourMinute": { "from": from, "to": to } }))
    };
    let days = |days: Value| rule(json!({ "shouldCharge": true, "weekdays": days }));
    let wrong = [
        ("rules", rule(json!({})), "/rules/1/shouldCharge: is required"),
        (
            "rules",
            rule(json!({ "shouldCharge": "yes" })),
            "/rules/1/shouldCharge: expected true or false",
        ),
        ("rules", rule(json!(1)), "/rules/1: expected an object"),
        ("rules", json!({}), "/rules: expected an array"),
        ("rules", window("7:00", "08:00"), "/rules/1/hourMinute/from: "),
        ("rules", window("07:00", "24:00"), "/rules/1/hourMinute/to: "),
        ("rules", window("12:60", "13:00"), "/rules/1/hourMinute/from: "),
        (
            "rules",
            rule(json!({ "shouldCharge": true, "hourMinute": { "from": "07:00" } })),
            "/rules/1/hourMinute/to: is required",
        ),
        ("rules", days(json!([7])), "/rules/1/weekdays: "),
        ("rules", days(json!([-1])), "/rules/1/weekdays: "),
        ("rules", days(json!(["1"])), "/rules/1/weekdays: "),
        ("rules", days(json!([1.5])), "/rules/1/weekdays: "),
        (
            "rules",
            rule(json!({ "shouldCharge": true, "fromTimestamp": "2026-01-05T18:00:00" })),
            "/rules/1/fromTimestamp: ",
        ),
        ("targetType", json!("hvac"), "/targetType: "),
        ("targetId", json!(1), "/targetId: "),
        ("isEnabled", json!(null), "/isEnabled: "),
        ("locationId", json!("home"), "/locationId: expected a UUID or null"),
        ("locationId", json!(Uuid::new_v4()), "/locationId: is no location of the user"),
    ];
    for (name, value, reason) in wrong {
        for refused in [
            asker.post(door, Some(&with(evening(id), name, value.clone()))).await,
            asker.put(&path, &json!({ name: value })).await,
        ] {
            assert_eq!((refused.status, refused.title()), (400, "Bad request"), "{reason}");
            let issue = refused.body["issues"][0].as_str().unwrap();
            assert!(issue.starts_with(reason), "{issue}");
        }
    }
    // ERR-03: all that is wrong is said.
    let body = with(with(evening(id), "isEnabled", json!(1)), "rules", window("7:00", "24:00"));
    assert_eq!(asker.post(door, Some(&body)).await.body["issues"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_schedule_is_for_a_device_of_its_user() {
    let stage = Stage::new().await;
    let (asker, id) = scene(&stage).await;
    let door = "/users/u/schedules";
    let path = make(&asker, &evening(id)).await;
    let other = stage.live(&asker, "v", standing("stopped")).await;
    for target in [json!(other), json!(Uuid::new_v4()), json!("u-charger")] {
        let refused = asker.post(door, Some(&with(evening(id), "targetId", target.clone()))).await;
        assert_eq!((refused.status, refused.title()), (404, "Entity Not Found"), "{target}");
        assert_eq!(asker.put(&path, &json!({ "targetId": target })).await.status, 404);
    }
    assert_eq!(asker.put(&path, &json!({ "targetType": "vehicle" })).await.status, 404);
    assert_eq!(asker.post("/users/nobody/schedules", None).await.status, 404);
    assert_eq!(asker.get("/schedules/x/status").await.status, 404);
}

#[tokio::test]
async fn a_schedule_steers_a_charger_through_an_evening() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let (asker, id) = scene(&stage).await;
        let _job = stage.work();
        let path = make(&asker, &evening(id)).await;
        stage.settle().await;
        let first = asker.get(&format!("{path}/status")).await.body;
        let expected = json!({
            "scheduleId": path.trim_start_matches("/schedules/"), "scheduleType": "CHARGE",
            "changedAt": "2026-01-05T18:00:00Z", "state": "ALIGNED", "isCharging": false,
            "isChargingExpected": false,
            "isChargingExpectedParts": { "needsCharge": true, "isPluggedIn": true, "shouldCharge": false },
            "upcomingTransitions": [
                { "at": "2026-01-05T18:30:00Z", "shouldCharge": true },
                { "at": "2026-01-05T18:45:00Z", "shouldCharge": false },
            ],
            "smartOverride": null,
        });
        assert_eq!(first, expected);
        // SCH-31: nothing changed since.
        stage.step(900).await;
        assert_eq!(asker.get(&format!("{path}/status")).await.body, expected);
        assert_eq!(stage.fjord.sent("u-charger"), []);

        // Half past six.
        stage
            .fjord
            .obeys("u-charger", [Ok(Some(standing("charging"))), Ok(Some(standing("stopped")))]);
        stage.step(900).await;
        assert_eq!(stage.fjord.sent("u-charger"), [START]);
        let pending = asker.get(&format!("{path}/status")).await.body;
        assert_eq!(
            (&pending["state"], &pending["changedAt"]),
            (&json!("PENDING"), &json!("2026-01-05T18:30:00Z"))
        );
        stage.step(30).await;
        let aligned = asker.get(&format!("{path}/status")).await.body;
        assert_eq!((&aligned["state"], &aligned["isCharging"]), (&json!("ALIGNED"), &json!(true)));
        assert_eq!(aligned["changedAt"], "2026-01-05T18:30:30Z");
        // A quarter to seven.
        stage.step(870).await;
        stage.step(30).await;
        assert_eq!(stage.fjord.sent("u-charger"), [START, STOP]);
        assert_eq!(state(&asker, &path).await, "ALIGNED");
        stage.step(600).await;
        assert_eq!(stage.fjord.sent("u-charger"), [START, STOP], "once each");
        let told: Vec<Value> = stage.events().await.into_iter().map(|(_, body)| body).collect();
        let told: Vec<(&str, &str)> = told
            .iter()
            .map(|body| (body["kind"].as_str().unwrap(), body["state"].as_str().unwrap()))
            .collect();
        let [pending, confirmed] = ["PENDING", "CONFIRMED"];
        assert_eq!(
            told,
            [("START", pending), ("START", confirmed), ("STOP", pending), ("STOP", confirmed)]
        );
    }
}

#[tokio::test]
async fn a_schedule_that_is_off_does_nothing() {
    let stage = Stage::new().await;
    let (asker, id) = scene(&stage).await;
    let _job = stage.work();
    let path = make(&asker, &with(evening(id), "isEnabled", false.into())).await;
    stage.step(2000).await;
    assert_eq!(state(&asker, &path).await, "INACTIVE:DISABLED");
    assert_eq!(stage.fjord.sent("u-charger"), []);
}

#[tokio::test]
async fn a_start_of_a_schedule_that_is_switched_off_or_deleted_is_called_off() {
    for how in ["off", "deleted", "later"] {
        let stage = Stage::new().await;
        let (asker, id) = scene(&stage).await;
        let polls = tokio::spawn(poller::run(stage.app.clone()));
        stage.app.poller().idle(stage.app.now()).await;
        polls.abort();
        let soon = stage.app.now() + TimeDelta::minutes(1);
        let due_at = || stage.app.poller().due_at(id).unwrap();
        assert!(due_at() > soon, "it is at rest");
        let _job = stage.work();
        let path = make(&asker, &with(evening(id), "defaultShouldCharge", true.into())).await;
        stage.settle().await;
        assert_eq!(stage.fjord.sent("u-charger"), [START]);
        match how {
            "off" => asker.put(&path, &json!({ "isEnabled": false })).await,
            "deleted" => asker.delete(&path).await,
            _ => asker.put(&path, &json!({ "defaultShouldCharge": false })).await,
        };
        stage.settle().await;
        let ended = stage.events().await.last().unwrap().1.clone();
        assert_eq!(ended["failureReason"]["type"], "REQUESTED_CANCELLATION", "{how}");
        // It was sent, and may be obeyed all the same.
        assert!(due_at() <= soon, "{how}");
        stage.step(60).await;
        assert_eq!(stage.fjord.sent("u-charger"), [START], "{how}");
    }
}

#[tokio::test]
async fn a_device_that_does_not_obey_is_not_told_in_a_tight_loop() {
    let stage = Stage::new().await;
    let (asker, id) = scene(&stage).await;
    let _job = stage.work();
    let path = make(&asker, &with(evening(id), "defaultShouldCharge", true.into())).await;
    stage.settle().await;
    for _ in 0..31 {
        stage.step(30).await;
    }
    // The action has failed; nothing is in flight for five minutes.
    assert_eq!(state(&asker, &path).await, "MISALIGNED");
    let sent = stage.fjord.sent("u-charger").len();
    assert_eq!(sent, 30);
    for _ in 0..8 {
        poll_now(&stage.app, id).await;
        stage.step(30).await;
    }
    assert_eq!(stage.fjord.sent("u-charger").len(), sent);
    stage.step(30).await;
    assert_eq!(stage.fjord.sent("u-charger").len(), sent + 1);
    assert_eq!(state(&asker, &path).await, "PENDING");
}

#[tokio::test]
async fn schedules_of_targets_that_are_away_or_incapable() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let home = Position { latitude: 59.9117, longitude: 10.7500 };
    let place = stage.place(&asker, "u", Some(home)).await;
    let car = stage.live(&asker, "u", reading(&vehicle())).await;
    let of_car = with(
        with(evening(car), "targetType", "vehicle".into()),
        "defaultShouldCharge",
        true.into(),
    );
    let anywhere = make(&asker, &of_car).await;
    let at_home = make(&asker, &with(of_car.clone(), "locationId", json!(place))).await;
    assert_eq!(state(&asker, &anywhere).await, "ALIGNED");
    assert_eq!(state(&asker, &at_home).await, "ALIGNED");
    let mut away = vehicle();
    away["facts"]["vehicle"]["sighting"]["position"]["latitude"] = 58.0.into();
    stage.fjord.says("u-vehicle", Ok(reading(&away)));
    poll_now(&stage.app, car).await;
    // SCH-23: at a foreign charger nobody stops it.
    assert_eq!(state(&asker, &anywhere).await, "INACTIVE:AWAY");
    assert_eq!(state(&asker, &at_home).await, "INACTIVE:AWAY");

    // SCH-22: a charger's schedule without a place holds wherever it is.
    let post = stage.live(&asker, "u", standing("stopped")).await;
    let path = make(&asker, &evening(post)).await;
    assert_eq!(state(&asker, &path).await, "ALIGNED");
    asker.put(&path, &json!({ "locationId": place })).await;
    assert_eq!(state(&asker, &path).await, "INACTIVE:AWAY");
    asker.put(&format!("/chargers/{post}"), &json!({ "chargingLocationId": place })).await;
    assert_eq!(state(&asker, &path).await, "ALIGNED");
    let mut unable = charger();
    unable["capabilities"]["stop_charging"]["is_capable"] = false.into();
    stage.fjord.says("u-charger", Ok(reading(&unable)));
    poll_now(&stage.app, post).await;
    assert_eq!(state(&asker, &path).await, "INACTIVE:INCAPABLE");
    assert_eq!(asker.post(&format!("/chargers/{post}/smart-override"), None).await.status, 200);
    assert_eq!(state(&asker, &path).await, "INACTIVE:OVERRIDDEN");
    asker.put(&path, &json!({ "isEnabled": false })).await;
    assert_eq!(state(&asker, &path).await, "INACTIVE:DISABLED");
    // SCH-33: no plug, no charging.
    stage.fjord.says("u-charger", Ok(standing("unplugged")));
    poll_now(&stage.app, post).await;
    asker.put(&path, &json!({ "defaultShouldCharge": true })).await;
    let status = asker.get(&format!("{path}/status")).await.body;
    assert_eq!(status["isChargingExpected"], false);
    let parts = json!({ "needsCharge": true, "isPluggedIn": false, "shouldCharge": true });
    assert_eq!(status["isChargingExpectedParts"], parts);
}

#[tokio::test]
async fn clocks_are_those_of_the_place() {
    let stage = Stage::new().await;
    let (asker, id) = scene(&stage).await;
    let place = Uuid::new_v4();
    let time_zone: Tz = "Europe/Oslo".parse().unwrap();
    let facts =
        LocationFacts { time_zone: Some(time_zone), position: None, zone_id: None, area_id: None };
    let location =
        Location { id: place, client_id: asker.id.clone(), user_id: "u".to_owned(), facts };
    let user = NewUser { id: "u".to_owned(), accounts: Vec::new(), locations: vec![location] };
    connect(&stage.app, &asker.id, vec![user]).await.unwrap();
    let path = make(&asker, &evening(id)).await;
    let rule = json!({ "shouldCharge": true, "hourMinute": { "from": "19:00", "to": "20:00" } });
    let first = async || {
        let status = asker.get(&format!("{path}/status")).await.body;
        let all = status["upcomingTransitions"].as_array().unwrap().clone();
        assert_eq!(all.len(), 2);
        all[0]["at"].as_str().unwrap().to_owned()
    };
    asker.put(&path, &json!({ "rules": [rule] })).await;
    assert_eq!(first().await, "2026-01-05T19:00:00Z");
    // At six in the evening UTC it is seven in Oslo: the window is open.
    asker.put(&format!("/chargers/{id}"), &json!({ "chargingLocationId": place })).await;
    assert_eq!(first().await, "2026-01-05T19:00:00Z");
    let status = asker.get(&format!("{path}/status")).await.body;
    assert_eq!(status["isChargingExpectedParts"]["shouldCharge"], true);
    assert_eq!(six().to_rfc3339(), "2026-01-05T18:00:00+00:00");
}

#[tokio::test]
async fn a_schedule_of_somebody_else_is_none() {
    let stage = Stage::new().await;
    let (asker, id) = scene(&stage).await;
    let path = make(&asker, &evening(id)).await;
    let other = stage.client("b").await;
    for (method, path) in [
        (Method::GET, path.clone()),
        (Method::PUT, path.clone()),
        (Method::DELETE, path.clone()),
        (Method::GET, format!("{path}/status")),
    ] {
        assert_eq!(other.ask(method, &path, Some(&json!({})), &[]).await.status, 404);
    }
    assert_eq!(asker.get(&path).await.status, 200);
}

#[tokio::test]
async fn schedules_are_read_from_memory() {
    let stage = Stage::new().await;
    let (asker, id) = scene(&stage).await;
    let path = make(&asker, &evening(id)).await;
    assert_eq!(state(&asker, &path).await, "ALIGNED");
    stage.app.store().close().await;
    for path in [path.clone(), format!("{path}/status"), "/users/u/schedules".to_owned()] {
        assert_eq!(asker.get(&path).await.status, 200, "{path}");
    }
    assert_eq!(asker.put(&path, &json!({ "isEnabled": false })).await.status, 503);
}

#[tokio::test]
async fn a_restart_forgets_no_schedule() {
    let stage = Stage::new().await;
    let (asker, id) = scene(&stage).await;
    make(&asker, &evening(id)).await;
    let stage = stage.restarted().await;
    slackwater_service::steering::job::resume(&stage.app, |_| true);
    let _job = stage.work();
    stage.step(1800).await;
    assert_eq!(stage.fjord.sent("u-charger"), [START]);
}

#[tokio::test]
async fn changes_at_once_lose_nothing() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let (asker, id) = scene(&stage).await;
        let path = make(&asker, &evening(id)).await;
        let changes = [
            json!({ "isEnabled": false }),
            json!({ "defaultShouldCharge": true }),
            json!({ "rules": [] }),
        ];
        let mut all = tokio::task::JoinSet::new();
        for change in changes {
            let (asker, path) = (asker.clone(), path.clone());
            all.spawn(async move { asker.put(&path, &change).await.status });
        }
        assert_eq!(all.join_all().await, [200, 200, 200]);
        let kept = asker.get(&path).await.body;
        let members = ["isEnabled", "defaultShouldCharge", "rules"].map(|name| kept[name].clone());
        assert_eq!(members, [json!(false), json!(true), json!([])]);
    }
}
