//! Smart overrides: charge now.
use serde_json::{Value, json};
use slackwater_control::device::command::{Command, Switch};
use slackwater_control::device::scope::{DeviceKind, Permission};
use slackwater_integration::reading::Reading;
use slackwater_service::control::orders::order;
use slackwater_service::jobs::poller::poll_now;
use slackwater_store::actions::Origin;
use uuid::Uuid;

use crate::answer::Answer;
use crate::harness::{Asker, On, Stage, device};
use crate::readings::{charger, reading};

const START: Command = Command::Charge(Switch::Start);
const STOP: Command = Command::Charge(Switch::Stop);

fn standing(state: &str) -> Reading {
    let mut shown = charger();
    shown["facts"]["charger"]["charging"]["power_state"] = state.into();
    shown["facts"]["charger"]["charging"]["is_charging"] = (state == "charging").into();
    reading(&shown)
}

async fn scene(stage: &Stage, shows: &str) -> (Asker, Uuid, String) {
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", standing(shows)).await;
    (asker, id, format!("/chargers/{id}/smart-override"))
}

/// Makes a schedule that never wants charging, and returns its path.
async fn never(asker: &Asker, id: Uuid) -> String {
    let body = json!({
        "isEnabled": true, "defaultShouldCharge": false, "rules": [],
        "targetId": id, "targetType": "charger", "locationId": null,
    });
    let made = asker.post("/users/u/schedules", Some(&body)).await.body;
    format!("/schedules/{}", made["id"].as_str().unwrap())
}

async fn action(asker: &Asker, id: &Value) -> Value {
    asker.get(&format!("/chargers/actions/{}", id.as_str().unwrap())).await.body
}

#[tokio::test]
async fn an_override_from_the_beginning_to_the_end() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let (asker, id, door) = scene(&stage, "stopped").await;
        let schedule = never(&asker, id).await;
        let _job = stage.work();
        stage.settle().await;
        stage
            .fjord
            .obeys("u-charger", [Ok(Some(standing("charging"))), Ok(Some(standing("stopped")))]);
        let made = asker.post(&door, None).await;
        let action_id = made.body["vendorActionId"].clone();
        let expected = json!({
            "createdAt": "2026-01-05T18:00:00Z", "endedAt": null, "targetId": id,
            "targetType": "charger", "vendorActionId": action_id, "userId": "u", "vendor": "FJORD",
        });
        assert_eq!((made.status, &made.body), (200, &expected));
        // OVR-04: a start, that can be read.
        assert_eq!(action(&asker, &action_id).await["kind"], "START");
        stage.settle().await;
        stage.step(30).await;
        assert_eq!(action(&asker, &action_id).await["state"], "CONFIRMED");
        // OVR-05: the schedule wants no charging, and leaves it alone.
        stage.step(1800).await;
        poll_now(&stage.app, id).await;
        stage.settle().await;
        assert_eq!(stage.fjord.sent("u-charger"), [START]);
        let status = asker.get(&format!("{schedule}/status")).await.body;
        assert_eq!(status["state"], "INACTIVE:OVERRIDDEN");
        // SCH-37: it shows what suspends it.
        assert_eq!(status["smartOverride"], expected);
        // AMB-22: a second request is answered with the first.
        assert_eq!(asker.post(&door, None).await.body, expected);

        let ended = asker.delete(&door).await;
        assert_eq!((ended.status, &ended.body["endedAt"]), (200, &json!("2026-01-05T18:30:30Z")));
        // OVR-08: the schedule has it back.
        stage.settle().await;
        assert_eq!(stage.fjord.sent("u-charger"), [START, STOP]);
        let again = asker.delete(&door).await;
        assert_eq!((again.status, again.title()), (404, "Entity Not Found"));
        assert_eq!(Answer::keys(&ended.body).len(), 7);
    }
}

#[tokio::test]
async fn overrides_that_are_refused() {
    let stage = Stage::new().await;
    let (asker, _, door) = scene(&stage, "stopped").await;
    assert_eq!(asker.delete(&door).await.status, 404);
    let unknown = format!("/chargers/{}/smart-override", Uuid::new_v4());
    assert_eq!(asker.post(&unknown, None).await.status, 404);
    assert_eq!(asker.delete(&unknown).await.status, 404);
    let other = stage.client("b").await;
    assert_eq!(other.post(&door, None).await.status, 404);
    let mut bare = device("u-charger", DeviceKind::Charger);
    bare.scopes.remove(&Permission::ControlCharging);
    stage.link(&asker, "u", bare).await;
    let refused = asker.post(&door, None).await;
    assert_eq!((refused.status, refused.title()), (403, "Forbidden"));
    assert_eq!(stage.events().await, []);
}

#[tokio::test]
async fn an_override_ends_when_charging_does() {
    let stage = Stage::new().await;
    let (asker, id, door) = scene(&stage, "charging").await;
    let schedule = never(&asker, id).await;
    let made = asker.post(&door, None).await.body;
    assert_eq!(made["vendorActionId"], Value::Null, "it charges already");
    poll_now(&stage.app, id).await;
    let status = format!("{schedule}/status");
    assert_eq!(asker.get(&status).await.body["state"], "INACTIVE:OVERRIDDEN");
    // A reading of which nobody knows ends nothing.
    let mut unknown = charger();
    unknown["facts"]["charger"]["charging"]["power_state"] = "unknown".into();
    unknown["facts"]["charger"]["charging"]["is_charging"] = Value::Null;
    stage.fjord.says("u-charger", Ok(reading(&unknown)));
    poll_now(&stage.app, id).await;
    assert_eq!(asker.get(&status).await.body["state"], "INACTIVE:OVERRIDDEN");
    stage.fjord.says("u-charger", Ok(standing("stopped")));
    poll_now(&stage.app, id).await;
    assert_eq!(asker.get(&status).await.body["state"], "ALIGNED");
    assert_eq!(asker.get(&status).await.body["smartOverride"], Value::Null);
    assert_eq!(asker.delete(&door).await.status, 404);
    // Another one may follow.
    assert_eq!(asker.post(&door, None).await.status, 200);
}

#[tokio::test]
async fn a_stop_of_the_schedule_is_called_off() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let (asker, id, door) = scene(&stage, "charging").await;
        let _job = stage.work();
        never(&asker, id).await;
        stage.settle().await;
        assert_eq!(stage.fjord.sent("u-charger"), [STOP]);
        assert_eq!(asker.post(&door, None).await.status, 200);
        let stop = stage.events().await.last().unwrap().1.clone();
        assert_eq!((&stop["kind"], &stop["state"]), (&json!("STOP"), &json!("CANCELLED")));
        assert_eq!(stop["failureReason"]["type"], "REQUESTED_CANCELLATION");
    }
}

#[tokio::test]
async fn an_override_ends_with_a_start_that_comes_to_nothing() {
    let stage = Stage::new().await;
    let (asker, id, door) = scene(&stage, "stopped").await;
    let _job = stage.work();
    // A target that never charged has not stopped.
    let made = asker.post(&door, None).await.body;
    stage.settle().await;
    poll_now(&stage.app, id).await;
    assert_eq!(asker.post(&door, None).await.body, made);
    for _ in 0..30 {
        stage.step(30).await;
    }
    assert_eq!(action(&asker, &made["vendorActionId"]).await["state"], "FAILED");
    assert_eq!(asker.delete(&door).await.status, 404);

    // Ended by hand while the start is under way: the start goes with it.
    let made = asker.post(&door, None).await.body;
    stage.settle().await;
    assert_eq!(asker.delete(&door).await.status, 200);
    let start = action(&asker, &made["vendorActionId"]).await;
    assert_eq!(start["failureReason"]["type"], "REQUESTED_CANCELLATION");

    // Called off by hand: the override goes with it.
    let made = asker.post(&door, None).await.body;
    let path = format!("/chargers/actions/{}/cancel", made["vendorActionId"].as_str().unwrap());
    assert_eq!(asker.post(&path, None).await.status, 200);
    assert_eq!(asker.delete(&door).await.status, 404);

    // Unplugged: it can be asked for, and ends with the reason.
    stage.fjord.says("u-charger", Ok(standing("unplugged")));
    poll_now(&stage.app, id).await;
    let made = asker.post(&door, None).await.body;
    stage.settle().await;
    let start = action(&asker, &made["vendorActionId"]).await;
    assert_eq!(start["failureReason"]["type"], "FAILED_PRECONDITION");
    assert_eq!(asker.delete(&door).await.status, 404);
}

#[tokio::test]
async fn an_override_survives_a_restart() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let (asker, _, door) = scene(&stage, "charging").await;
        let made = asker.post(&door, None).await.body;
        let stage = stage.restarted().await;
        let asker = stage.again(&asker);
        assert_eq!(asker.post(&door, None).await.body, made);
        assert_eq!(asker.delete(&door).await.body["createdAt"], made["createdAt"]);
    }
}

/// A stop was sent, and the device takes its time: it still charges, and stops
/// in a moment. That is no end of what the owner wants.
#[tokio::test]
async fn a_stop_that_was_sent_before_is_undone() {
    for on in [On::Sqlite, On::Postgres] {
        for is_by_hand in [false, true] {
            let stage = Stage::with(on, |_| ()).await;
            let (asker, id, door) = scene(&stage, "charging").await;
            let _job = stage.work();
            if is_by_hand {
                order(&stage.app, id, STOP, Origin::Client).await.unwrap();
            } else {
                never(&asker, id).await;
            }
            stage.settle().await;
            assert_eq!(stage.fjord.sent("u-charger"), [STOP]);
            let made = asker.post(&door, None).await;
            assert_eq!((made.status, &made.body["vendorActionId"]), (200, &Value::Null));
            let stop = stage.events().await.last().unwrap().1.clone();
            assert_eq!((&stop["kind"], &stop["state"]), (&json!("STOP"), &json!("CANCELLED")));
            // It obeys. What becomes of that outlives a restart.
            let stage = stage.restarted().await;
            let asker = stage.again(&asker);
            let _job = stage.work();
            stage.fjord.obeys("u-charger", [Ok(Some(standing("charging")))]);
            stage.step(18).await;
            stage.fjord.says("u-charger", Ok(standing("stopped")));
            poll_now(&stage.app, id).await;
            stage.settle().await;
            assert_eq!(stage.fjord.sent("u-charger"), [STOP, START]);
            let now = asker.post(&door, None).await.body;
            assert_eq!(now["createdAt"], made.body["createdAt"]);
            assert_eq!(action(&asker, &now["vendorActionId"]).await["kind"], "START");
            stage.step(30).await;
            assert_eq!(action(&asker, &now["vendorActionId"]).await["state"], "CONFIRMED");
            // From now on a target that stops has stopped of itself (OVR-09).
            stage.fjord.says("u-charger", Ok(standing("stopped")));
            poll_now(&stage.app, id).await;
            assert_eq!(asker.delete(&door).await.status, 404);
        }
    }
}

#[tokio::test]
async fn a_target_that_stops_after_the_time_of_that_stop_has_stopped() {
    let stage = Stage::new().await;
    let (asker, id, door) = scene(&stage, "charging").await;
    let _job = stage.work();
    never(&asker, id).await;
    stage.settle().await;
    assert_eq!(asker.post(&door, None).await.status, 200);
    stage.step(15 * 60).await;
    stage.fjord.says("u-charger", Ok(standing("stopped")));
    poll_now(&stage.app, id).await;
    stage.settle().await;
    assert_eq!(stage.fjord.sent("u-charger"), [STOP]);
    assert_eq!(asker.delete(&door).await.status, 404);
}

/// Known state that is older than the start: the device charges already.
#[tokio::test]
async fn a_start_that_is_not_needed_ends_no_override() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let (asker, id, door) = scene(&stage, "stopped").await;
        let _job = stage.work();
        let schedule = never(&asker, id).await;
        stage.settle().await;
        stage.fjord.says("u-charger", Ok(standing("charging")));
        let made = asker.post(&door, None).await.body;
        stage.settle().await;
        let start = action(&asker, &made["vendorActionId"]).await;
        assert_eq!(start["failureReason"]["type"], "UNNECESSARY");
        let status = asker.get(&format!("{schedule}/status")).await.body;
        assert_eq!(status["state"], "INACTIVE:OVERRIDDEN");
        assert_eq!(stage.fjord.sent("u-charger"), []);
        // It has charged: when it stops, that is the end.
        stage.fjord.says("u-charger", Ok(standing("stopped")));
        poll_now(&stage.app, id).await;
        assert_eq!(asker.delete(&door).await.status, 404);
    }
}
