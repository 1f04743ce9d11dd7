//! Commands and what becomes of them.
use axum::http::Method;
use chrono::TimeDelta;
use serde_json::{Value, json};
use slackwater_control::device::command::{Command, Switch};
use slackwater_control::device::scope::{DeviceKind, Permission};
use slackwater_engine::units::{amps, kw};
use slackwater_http::auth::gate::SERVICE_USER_ID;
use slackwater_http::version::SERVICE_VERSION;
use slackwater_integration::error::VendorError;
use slackwater_integration::reading::Reading;
use slackwater_sandbox::scenario::Latency;
use slackwater_service::config::Config;
use slackwater_service::control::orders::order;
use slackwater_service::jobs::poller::poll_now;
use slackwater_store::actions::Origin;
use uuid::Uuid;

use crate::harness::{Asker, OLDEST, On, Stage, device};
use crate::readings::{charger, hvac, reading};

/// A charger that shows this limit of its current and this state.
pub(crate) fn shows(max_current: f64, state: &str) -> Reading {
    let mut shown = charger();
    let facts = &mut shown["facts"]["charger"];
    facts["max_current_amps"] = max_current.into();
    facts["charging"]["power_state"] = state.into();
    facts["charging"]["is_charging"] = (state == "charging").into();
    reading(&shown)
}

/// A charger at 16 A that does not charge, and where its current is limited.
pub(crate) async fn scene(stage: &Stage) -> (Asker, Uuid, String) {
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", shows(16.0, "stopped")).await;
    (asker, id, format!("/chargers/{id}/max-current"))
}

pub(crate) fn ten() -> Value {
    json!({ "maxCurrent": 10 })
}

pub(crate) async fn action(asker: &Asker, id: &Value) -> Value {
    asker.get(&format!("/chargers/actions/{}", id.as_str().unwrap())).await.body
}

#[tokio::test]
async fn a_command_is_an_action_at_once() {
    let stage = Stage::new().await;
    let (asker, id, door) = scene(&stage).await;
    // ACT-08: nobody waits for a manufacturer that does not answer.
    let _job = stage.work();
    stage.fjord.hang(true);
    let made = asker.post(&door, Some(&ten())).await;
    assert_eq!(made.status, 200);
    let action_id = made.body["id"].clone();
    let expected = json!({
        "id": action_id, "userId": "u", "createdAt": "2026-01-05T18:00:00Z",
        "updatedAt": "2026-01-05T18:00:00Z", "completedAt": null, "state": "PENDING",
        "targetId": id, "targetType": "charger", "targetState": { "maxCurrent": 10.0 },
        "failureReason": null,
    });
    assert_eq!(made.body, expected);
    // CHG-23: it can be read where it was made, and nowhere else.
    assert_eq!(action(&asker, &action_id).await, expected);
    let elsewhere = format!("/batteries/actions/{}", action_id.as_str().unwrap());
    assert_eq!(asker.get(&elsewhere).await.status, 404);
    let door = format!("/chargers/{id}/charge-rate-limit");
    let made = asker.post(&door, Some(&json!({ "chargeRateLimit": 7.4 }))).await;
    assert_eq!((made.status, &made.body["targetState"]), (200, &json!({ "chargeRateLimit": 7.4 })));
    assert!(made.body.get("kind").is_none());
    // CHG-22, LIM-10: that it is asked for twice in a minute is no reason to refuse it.
    assert_eq!(asker.post(&door, Some(&json!({ "chargeRateLimit": 7.5 }))).await.status, 200);
}

#[tokio::test]
async fn limits_of_the_current_that_are_refused() {
    let stage = Stage::new().await;
    let (asker, id, door) = scene(&stage).await;
    let _job = stage.work();
    let other = format!("/chargers/{id}/charge-rate-limit");
    let bodies = [json!({}), json!({ "maxCurrent": "16" }), json!({ "maxCurrent": null })];
    for body in bodies.iter().chain(&[json!({ "maxCurrent": -1 }), json!({ "maxCurrent": [1] })]) {
        let refused = asker.post(&door, Some(body)).await;
        assert_eq!((refused.status, refused.title()), (400, "Bad request"), "{body}");
        assert!(refused.body["issues"][0].as_str().unwrap().starts_with("/maxCurrent: "));
    }
    for body in [json!({}), json!({ "chargeRateLimit": "7" }), json!({ "chargeRateLimit": 22.1 })] {
        assert_eq!(asker.post(&other, Some(&body)).await.status, 400, "{body}");
    }
    for (current, detail) in [
        (5000, "max_current_amps is 5000 A; no plug of a vehicle carries more than 3000 A"),
        (
            500,
            "max_current_amps is 500 A, 50 kW or more, outside the range that the device takes: \
             1.4 to 11 kW",
        ),
    ] {
        let refused = asker.post(&door, Some(&json!({ "maxCurrent": current }))).await;
        assert_eq!((refused.status, &refused.body["detail"]), (400, &json!(detail)));
    }
    let nobody = format!("/chargers/{}/max-current", Uuid::new_v4());
    assert_eq!(asker.post(&nobody, None).await.status, 404, "there before it is well said");

    let mut unable = charger();
    unable["capabilities"]["set_max_current"]["is_capable"] = false.into();
    unable["capabilities"]["set_charge_rate_limit"]["is_capable"] = false.into();
    stage.fjord.says("u-charger", Ok(reading(&unable)));
    poll_now(&stage.app, id).await;
    assert_eq!(asker.post(&door, Some(&ten())).await.status, 400);
    assert_eq!(asker.post(&other, Some(&json!({ "chargeRateLimit": 7 }))).await.status, 400);

    let mut bare = device("u-charger", DeviceKind::Charger);
    bare.scopes.remove(&Permission::ControlCharging);
    stage.link(&asker, "u", bare).await;
    let refused = asker.post(&door, Some(&ten())).await;
    assert_eq!((refused.status, refused.title()), (403, "Forbidden"));
    assert_eq!(asker.post(&door, Some(&json!({}))).await.status, 400, "well said before allowed");
    stage.settle().await;
    assert_eq!(stage.fjord.sent("u-charger"), []);
    assert_eq!(stage.events().await, [], "nothing was made of any of them");
}

#[tokio::test]
async fn a_command_is_sent_until_it_is_so() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let (asker, _, door) = scene(&stage).await;
        let _job = stage.work();
        // The first two commands are lost.
        stage.fjord.obeys(
            "u-charger",
            [Ok(None), Err(VendorError::Outage), Ok(Some(shows(10.0, "stopped")))],
        );
        let made = asker.post(&door, Some(&ten())).await.body;
        stage.settle().await;
        for sent in 1..=3 {
            assert_eq!(stage.fjord.sent("u-charger").len(), sent);
            assert_eq!(action(&asker, &made["id"]).await["state"], "PENDING");
            stage.step(29).await;
            assert_eq!(stage.fjord.sent("u-charger").len(), sent, "not before the pause is over");
            stage.step(1).await;
        }
        let done = action(&asker, &made["id"]).await;
        assert_eq!(done["state"], "CONFIRMED");
        assert_eq!(done["completedAt"], "2026-01-05T18:01:30Z");
        assert_eq!(
            (&done["updatedAt"], &done["failureReason"]),
            (&done["completedAt"], &Value::Null)
        );
        stage.step(3600).await;
        assert_eq!(stage.fjord.sent("u-charger"), [Command::MaxCurrent(amps(10.0)); 3]);
        let name = "user:vendor-action:updated".to_owned();
        assert_eq!(stage.events().await, [(name.clone(), made), (name, done)]);
    }
}

#[test]
fn commands_take_a_moment_and_are_given_up_after_a_quarter_of_an_hour() {
    let takes = Latency::default();
    assert_eq!((takes.least, takes.most), (15.0, 20.0));
    assert_eq!(Config::default().action.timeout_seconds, 15 * 60);
}

#[tokio::test]
async fn an_action_that_nobody_obeys_fails() {
    let stage = Stage::new().await;
    let (asker, _, door) = scene(&stage).await;
    let _job = stage.work();
    let made = asker.post(&door, Some(&ten())).await.body;
    stage.settle().await;
    for _ in 0..30 {
        stage.step(30).await;
    }
    let failed = action(&asker, &made["id"]).await;
    assert_eq!(
        (&failed["state"], &failed["failureReason"]["type"]),
        (&json!("FAILED"), &json!("NO_RESPONSE"))
    );
    assert!(!failed["failureReason"]["detail"].as_str().unwrap().is_empty());
    assert_eq!(failed["completedAt"], "2026-01-05T18:15:00Z");
    let sent = stage.fjord.sent("u-charger").len();
    assert_eq!(sent, 30);
    stage.step(3600).await;
    assert_eq!(stage.fjord.sent("u-charger").len(), sent);
}

#[tokio::test]
async fn a_lost_precondition_ends_an_action() {
    let stage = Stage::new().await;
    let (asker, id, door) = scene(&stage).await;
    let _job = stage.work();
    let lost = VendorError::PreconditionLost { detail: "The cable is out.".to_owned() };
    stage.fjord.obeys("u-charger", [Err(lost), Err(VendorError::Unauthorised)]);
    for words in [
        "The cable is out.",
        "The manufacturer does not accept the account; it must be linked again.",
    ] {
        let made = asker.post(&door, Some(&ten())).await.body;
        stage.settle().await;
        let ended = action(&asker, &made["id"]).await;
        assert_eq!(ended["state"], "CANCELLED");
        assert_eq!(
            ended["failureReason"],
            json!({ "type": "FAILED_PRECONDITION", "detail": words })
        );
    }
    // A fault that comes while the action is pending is seen by the reading that shows it.
    let start = Command::Charge(Switch::Start);
    let made = order(&stage.app, id, start, Origin::Client).await.unwrap();
    stage.settle().await;
    stage.fjord.says("u-charger", Ok(shows(16.0, "fault")));
    poll_now(&stage.app, id).await;
    let ended = action(&asker, &json!(made.id)).await;
    assert_eq!(ended["failureReason"]["type"], "FAILED_PRECONDITION");
}

#[tokio::test]
async fn what_was_so_before_it_was_told_is_unnecessary() {
    let stage = Stage::new().await;
    let (asker, _, door) = scene(&stage).await;
    // Somebody set it by hand; the service has not seen it yet.
    stage.fjord.says("u-charger", Ok(shows(10.0, "stopped")));
    let made = asker.post(&door, Some(&ten())).await.body;
    let _job = stage.work();
    stage.settle().await;
    let ended = action(&asker, &made["id"]).await;
    assert_eq!(
        (&ended["state"], &ended["failureReason"]["type"]),
        (&json!("CANCELLED"), &json!("UNNECESSARY"))
    );
    assert_eq!(stage.fjord.sent("u-charger"), []);
}

#[tokio::test]
async fn devices_do_not_affect_each_other() {
    let stage = Stage::new().await;
    let (asker, _, door) = scene(&stage).await;
    let _job = stage.work();
    let second = stage.live(&asker, "v", shows(16.0, "stopped")).await;
    let first = asker.post(&door, Some(&ten())).await.body;
    let other = asker.post(&format!("/chargers/{second}/max-current"), Some(&ten())).await.body;
    stage.settle().await;
    stage.fjord.says("v-charger", Ok(shows(10.0, "stopped")));
    stage.step(30).await;
    assert_eq!(action(&asker, &other["id"]).await["state"], "CONFIRMED");
    assert_eq!(action(&asker, &first["id"]).await["state"], "PENDING");
    // What has ended stays so, whatever comes after it.
    stage.fjord.says("v-charger", Ok(shows(32.0, "stopped")));
    stage.step(1800).await;
    assert_eq!(action(&asker, &other["id"]).await["state"], "CONFIRMED");
}

#[tokio::test]
async fn a_cancelled_command_may_still_be_carried_out() {
    let stage = Stage::new().await;
    let (asker, id, door) = scene(&stage).await;
    let _job = stage.work();
    let made = asker.post(&door, Some(&ten())).await.body;
    stage.settle().await;
    let path = format!("/chargers/actions/{}/cancel", made["id"].as_str().unwrap());
    assert_eq!(asker.post(&path, None).await.status, 200);
    stage.fjord.says("u-charger", Ok(shows(10.0, "stopped")));
    poll_now(&stage.app, id).await;
    stage.step(1800).await;
    assert_eq!(action(&asker, &made["id"]).await["state"], "CANCELLED");
    assert_eq!(stage.fjord.sent("u-charger").len(), 1, "it is not sent any more");
    let shown = asker.get(&format!("/chargers/{id}")).await.body;
    assert_eq!(shown["chargeState"]["maxCurrent"], 10.0);
}

#[tokio::test]
async fn who_deletes_a_device_ends_its_action() {
    for on in [On::Sqlite, On::Postgres] {
        for path in ["/users/u", "/users/u/vendor/FJORD"] {
            let stage = Stage::with(on, |_| ()).await;
            let (asker, _, door) = scene(&stage).await;
            let made = asker.post(&door, Some(&ten())).await.body;
            assert_eq!(asker.delete(path).await.status, 204);
            let ended = action(&asker, &made["id"]).await;
            assert_eq!(
                (&ended["state"], &ended["failureReason"]["type"]),
                (&json!("CANCELLED"), &json!("NOT_FOUND"))
            );
            assert_eq!(stage.events().await.len(), 2);
            let _job = stage.work();
            stage.step(60).await;
            assert_eq!(stage.fjord.sent("u-charger"), []);
        }
    }
    // The manufacturer does not know it any more.
    let stage = Stage::new().await;
    let (asker, _, door) = scene(&stage).await;
    let _job = stage.work();
    stage.fjord.obeys("u-charger", [Err(VendorError::NoSuchDevice)]);
    let made = asker.post(&door, Some(&ten())).await.body;
    stage.settle().await;
    assert_eq!(action(&asker, &made["id"]).await["failureReason"]["type"], "NOT_FOUND");
}

#[tokio::test]
async fn of_a_deauthorised_user_nothing_is_told() {
    let stage = Stage::new().await;
    let (asker, _, door) = scene(&stage).await;
    let made = asker.post(&door, Some(&ten())).await.body;
    asker.delete("/users/u/authorization").await;
    let _job = stage.work();
    stage.settle().await;
    let ended = action(&asker, &made["id"]).await;
    assert_eq!(ended["failureReason"]["type"], "FAILED_PRECONDITION");
    assert_eq!(stage.events().await.len(), 1, "the one from before");
    assert_eq!(stage.fjord.sent("u-charger"), []);
}

#[tokio::test]
async fn a_link_session_that_nobody_used_brings_no_events_back() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let (asker, charger_id, door) = scene(&stage).await;
        asker.delete("/users/u/authorization").await;
        let scopes = json!({ "scopes": ["charger:read:data"] });
        assert_eq!(asker.post("/users/u/link", Some(&scopes)).await.status, 200);
        assert_eq!(asker.post(&format!("/assets/{charger_id}/relink"), None).await.status, 200);
        // A place says nothing of accounts.
        stage.place(&asker, "u", None).await;
        assert_eq!(asker.post(&door, Some(&ten())).await.status, 400);
        assert_eq!(stage.events().await, []);
        // Devices that are connected do.
        stage.link(&asker, "u", device("u-charger", DeviceKind::Charger)).await;
        assert_eq!(asker.post(&door, Some(&ten())).await.status, 200);
        assert_eq!(stage.events().await.len(), 1);
    }
}

#[tokio::test]
async fn an_action_of_somebody_else_is_none() {
    let stage = Stage::new().await;
    let (asker, _, door) = scene(&stage).await;
    let other = stage.client("b").await;
    let made = asker.post(&door, Some(&ten())).await.body;
    let path = format!("/chargers/actions/{}", made["id"].as_str().unwrap());
    assert_eq!(other.get(&path).await.status, 404);
    assert_eq!(other.post(&format!("{path}/cancel"), None).await.status, 404);
    assert_eq!(action(&asker, &made["id"]).await["state"], "PENDING");
    // AUTH-08: in the oldest version it is one of the user in the header.
    stage.live(&asker, "v", shows(16.0, "stopped")).await;
    for (user, status) in [("u", 200), ("v", 404)] {
        let headers = [(SERVICE_VERSION, OLDEST), (SERVICE_USER_ID, user)];
        assert_eq!(asker.ask(Method::GET, &path, None, &headers).await.status, status);
    }
}

#[tokio::test]
async fn a_restart_in_the_middle_of_an_action_sends_nothing_anew() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let (asker, _, door) = scene(&stage).await;
        let job = stage.work();
        let made = asker.post(&door, Some(&ten())).await.body;
        stage.settle().await;
        stage.step(30).await;
        job.abort();
        let stage = stage.restarted().await;
        let asker = stage.again(&asker);
        slackwater_service::steering::job::resume(&stage.app, |_| true);
        let _job = stage.work();
        stage.settle().await;
        assert_eq!(stage.fjord.sent("u-charger").len(), 2, "not sent anew because of a restart");
        stage.fjord.obeys("u-charger", [Ok(Some(shows(10.0, "stopped")))]);
        stage.step(30).await;
        assert_eq!(stage.fjord.sent("u-charger").len(), 3);
        stage.step(30).await;
        assert_eq!(action(&asker, &made["id"]).await["state"], "CONFIRMED");
        // One that ran out of time meanwhile has failed.
        let late = asker.post(&door, Some(&json!({ "maxCurrent": 8 }))).await.body;
        stage.app.clock().step(TimeDelta::minutes(20)).unwrap();
        stage.settle().await;
        assert_eq!(action(&asker, &late["id"]).await["state"], "FAILED");
    }
}

#[tokio::test]
async fn a_unit_follows_its_schedule() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&hvac())).await;
    let _job = stage.work();
    let mut follows = hvac();
    follows["facts"]["hvac"]["hold_type"] = "scheduled".into();
    stage.fjord.obeys("u-hvac", [Ok(Some(reading(&follows)))]);
    let door = format!("/hvacs/{id}/follow-schedule");
    let made = asker.post(&door, None).await;
    assert_eq!((made.status, &made.body["state"]), (200, &json!("PENDING")));
    assert_eq!((&made.body["targetType"], &made.body["targetState"]), (&json!("hvac"), &json!({})));
    assert!(made.body.get("kind").is_none());
    stage.settle().await;
    stage.step(30).await;
    let told = stage.events().await;
    assert_eq!(told.last().unwrap().1["state"], "CONFIRMED");
    // HVAC-08, HVAC-17: the hold is gone.
    let shown = asker.get("/hvacs").await.body["data"][0].clone();
    assert_eq!(shown["thermostatState"]["holdType"], "SCHEDULED");

    let mut unable = hvac();
    unable["capabilities"]["set_follow_schedule"]["is_capable"] = false.into();
    stage.fjord.says("u-hvac", Ok(reading(&unable)));
    poll_now(&stage.app, id).await;
    assert_eq!(asker.post(&door, None).await.status, 400);
    let mut bare = device("u-hvac", DeviceKind::Hvac);
    bare.scopes.remove(&Permission::ControlMode);
    stage.link(&asker, "u", bare).await;
    assert_eq!(asker.post(&door, None).await.status, 403);
    assert_eq!(stage.events().await.len(), 2);
    assert_eq!(
        asker.post(&format!("/hvacs/{}/follow-schedule", Uuid::new_v4()), None).await.status,
        404
    );
    // HVAC-19, CHG-34, BAT-10: paths that are not printed are not there.
    for path in [
        format!("/hvacs/{id}/permanent-hold"),
        format!("/chargers/{id}/charging"),
        format!("/batteries/{id}/operation-mode"),
    ] {
        assert_eq!(asker.post(&path, None).await.title(), "Not Found");
    }
}

#[tokio::test]
async fn commands_are_the_same_in_all_versions() {
    let stage = Stage::new().await;
    let (asker, id, door) = scene(&stage).await;
    for version in ["2023-08-01", "2024-01-01", "2024-10-01"] {
        let headers = [(SERVICE_VERSION, version)];
        let made = asker.ask(Method::POST, &door, Some(&ten()), &headers).await;
        assert_eq!((made.status, made.header("service-version")), (200, version));
    }
    let headers = [(SERVICE_VERSION, OLDEST), (SERVICE_USER_ID, "u")];
    assert_eq!(asker.ask(Method::POST, &door, Some(&ten()), &headers).await.status, 200);
    let limit = Command::ChargeRateLimit(kw(7.4));
    assert!(order(&stage.app, id, limit, Origin::Plan).await.is_ok());
}
