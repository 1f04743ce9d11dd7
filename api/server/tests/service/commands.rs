//! Commands whose paths are not printed: by the library, and by the operators' address.
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request};
use serde_json::{Value, json};
use slackwater_control::device::command::{Command, Refusal, Switch};
use slackwater_control::device::scope::{DeviceKind, Permission};
use slackwater_engine::units::amps;
use slackwater_integration::reading::Reading;
use slackwater_server::admin;
use slackwater_service::control::orders::OrderError;
use slackwater_service::control::orders::order;
use slackwater_service::jobs::poller::poll_now;
use slackwater_store::actions::Origin;
use slackwater_wire::version::dated::ApiVersion;
use tower::ServiceExt;
use uuid::Uuid;

use crate::actions::shows;
use crate::harness::{On, Stage, device};
use crate::readings::{battery, charger, hvac, reading, vehicle};

struct Operator(Router);

impl Operator {
    fn of(stage: &Stage) -> Self {
        Self(admin::routes::router(&[stage.app.clone(), stage.production()], None))
    }

    async fn ask(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let request = Request::builder().method(method).uri(format!("/control/{path}"));
        let request = request.header("content-type", "application/json");
        let request = request.body(Body::from(body.to_string())).unwrap();
        let (head, body) = self.0.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        (head.status.as_u16(), serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn tell(&self, device: &str, command: &Value) -> (u16, Value) {
        self.ask(Method::POST, &format!("devices/{device}/command"), command).await
    }
}

/// A charger in a state, with a vehicle at it that is full or not.
fn standing(state: &str) -> Reading {
    let mut shown = charger();
    shown["facts"]["charger"]["charging"]["power_state"] = state.into();
    shown["facts"]["charger"]["charging"]["is_charging"] = (state == "charging").into();
    reading(&shown)
}

#[tokio::test]
async fn starting_is_an_action_with_a_kind() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", standing("stopped")).await;
    let _job = stage.work();
    stage.fjord.obeys("u-charger", [Ok(Some(standing("charging"))), Ok(Some(standing("stopped")))]);
    let operator = Operator::of(&stage);
    for (switch, kind) in [("start", "START"), ("stop", "STOP")] {
        // By its identifier, and by the name that its manufacturer has for it.
        let name = if switch == "start" { id.to_string() } else { "u-charger".to_owned() };
        let (status, made) = operator.tell(&name, &json!({ "charge": switch })).await;
        assert_eq!((status, &made["kind"], &made["state"]), (200, &json!(kind), &json!("PENDING")));
        assert!(made.get("targetState").is_none());
        stage.settle().await;
        stage.step(30).await;
        // CHG-27: what was made so can be read and cancelled where the specification says.
        let path = format!("/chargers/actions/{}", made["id"].as_str().unwrap());
        assert_eq!(asker.get(&path).await.body["state"], "CONFIRMED");
        assert_eq!(asker.post(&format!("{path}/cancel"), None).await.status, 409);
    }
}

#[tokio::test]
async fn a_schedule_refuses_commands() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", standing("stopped")).await;
    let operator = Operator::of(&stage);
    let nights = json!({
        "isEnabled": true, "defaultShouldCharge": false, "rules": [],
        "targetId": id, "targetType": "charger", "locationId": null,
    });
    let schedule = asker.post("/users/u/schedules", Some(&nights)).await.body;
    let start = json!({ "charge": "start" });
    let (status, problem) = operator.tell(&id.to_string(), &start).await;
    assert_eq!((status, &problem["title"]), (422, &json!("Enode Controlled Entity")));
    assert_eq!(problem["type"], "/problems/enode-controlled-entity");
    // Limits are taken all the same.
    let door = format!("/chargers/{id}/max-current");
    assert_eq!(asker.post(&door, Some(&json!({ "maxCurrent": 8 }))).await.status, 200);
    let path = format!("/schedules/{}", schedule["id"].as_str().unwrap());
    asker.put(&path, &json!({ "isEnabled": false })).await;
    assert_eq!(operator.tell(&id.to_string(), &start).await.0, 200);
    asker.put(&path, &json!({ "isEnabled": true })).await;
    assert_eq!(operator.tell(&id.to_string(), &start).await.0, 422);
    assert_eq!(asker.post(&format!("/chargers/{id}/smart-override"), None).await.status, 200);
    assert_eq!(operator.tell(&id.to_string(), &start).await.0, 200);
}

#[tokio::test]
async fn what_cannot_be_started() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", standing("stopped")).await;
    let operator = Operator::of(&stage);
    for (state, switch) in
        [("no_power", "start"), ("unplugged", "start"), ("charging", "start"), ("stopped", "stop")]
    {
        stage.fjord.says("u-charger", Ok(standing(state)));
        poll_now(&stage.app, id).await;
        let (status, problem) = operator.tell(&id.to_string(), &json!({ "charge": switch })).await;
        assert_eq!((status, &problem["title"]), (400, &json!("Bad request")), "{state}");
    }
    // CHG-32: the vehicle at it is full.
    let mut car = vehicle();
    car["facts"]["vehicle"]["charging"]["power_state"] = "complete".into();
    car["facts"]["vehicle"]["charging"]["is_charging"] = false.into();
    car["facts"]["vehicle"]["plugged_into"] = json!({ "vendor": "FJORD", "device": "u-charger" });
    stage.live(&asker, "u", reading(&car)).await;
    stage.fjord.says("u-charger", Ok(standing("stopped")));
    poll_now(&stage.app, id).await;
    let start = Command::Charge(Switch::Start);
    let refused = order(&stage.app, id, start, Origin::Client).await.unwrap_err();
    assert!(matches!(refused, OrderError::Refused(Refusal::FullyCharged)), "{refused}");
    assert_eq!(stage.events().await, []);
}

/// A slow wallbox: it obeys what it is told only later, when a test lets it.
#[tokio::test]
async fn the_opposite_command_takes_over_in_every_direction() {
    for on in [On::Sqlite, On::Postgres] {
        for (first, second, before) in [("start", "stop", "stopped"), ("stop", "start", "charging")]
        {
            let stage = Stage::with(on, |_| ()).await;
            let asker = stage.client("a").await;
            let id = stage.live(&asker, "u", standing(before)).await;
            let _job = stage.work();
            let operator = Operator::of(&stage);
            let (_, superseded) = operator.tell(&id.to_string(), &json!({ "charge": first })).await;
            stage.settle().await;
            stage.step(5).await;
            // The box still reads as before: the first command is on its way to it.
            let (status, made) = operator.tell(&id.to_string(), &json!({ "charge": second })).await;
            assert_eq!((status, &made["state"]), (200, &json!("PENDING")), "{made}");
            let path = |made: &Value| format!("/chargers/actions/{}", made["id"].as_str().unwrap());
            let ended = asker.get(&path(&superseded)).await.body;
            assert_eq!(ended["state"], "CANCELLED");
            assert_eq!(ended["failureReason"]["type"], "CONFLICT");
            stage.settle().await;
            let sent = |switch: &str| serde_json::from_value(json!({ "charge": switch })).unwrap();
            let expected: [Command; 2] = [sent(first), sent(second)];
            assert_eq!(stage.fjord.sent("u-charger"), expected, "both were sent, in order");
            // A reading from before either was obeyed does not end the action.
            poll_now(&stage.app, id).await;
            assert_eq!(asker.get(&path(&made)).await.body["state"], "PENDING");
            stage.step(30).await;
            assert_eq!(asker.get(&path(&made)).await.body["state"], "CONFIRMED");
            // After that the device is settled.
            let (status, _) = operator.tell(&id.to_string(), &json!({ "charge": second })).await;
            assert_eq!(status, 400);
        }
    }
}

#[tokio::test]
async fn a_command_that_was_called_off_may_still_be_obeyed() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", standing("stopped")).await.to_string();
    let _job = stage.work();
    let operator = Operator::of(&stage);
    let (_, made) = operator.tell(&id, &json!({ "charge": "start" })).await;
    stage.settle().await;
    let path = format!("/chargers/actions/{}/cancel", made["id"].as_str().unwrap());
    assert_eq!(asker.post(&path, None).await.status, 200);
    let stop = json!({ "charge": "stop" });
    let (status, made) = operator.tell(&id, &stop).await;
    assert_eq!((status, &made["state"]), (200, &json!("PENDING")));
    stage.settle().await;
    assert_eq!(stage.fjord.sent("u-charger").len(), 2);
    let path = format!("/chargers/actions/{}/cancel", made["id"].as_str().unwrap());
    assert_eq!(asker.post(&path, None).await.status, 200);
    // The window of both is over: what is read is what holds.
    stage.step(901).await;
    assert_eq!(operator.tell(&id, &stop).await.0, 400);
}

#[tokio::test]
async fn a_limit_that_takes_the_place_of_another_is_sent() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", shows(16.0, "stopped")).await;
    let _job = stage.work();
    let door = format!("/chargers/{id}/max-current");
    for amps in [10, 16] {
        assert_eq!(asker.post(&door, Some(&json!({ "maxCurrent": amps }))).await.status, 200);
        stage.settle().await;
    }
    let expected = [10.0, 16.0].map(|limit| Command::MaxCurrent(amps(limit)));
    assert_eq!(stage.fjord.sent("u-charger"), expected, "the box shows 16 A, and was told 10 A");
}

#[tokio::test]
async fn what_is_hopeless_by_what_is_known_is_refused() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", shows(16.0, "stopped")).await;
    let refused = async |path: &str, body: &Value, words: &str| {
        let answer = asker.post(&format!("/chargers/{id}/{path}"), Some(body)).await;
        assert_eq!((answer.status, answer.title()), (400, "Bad request"), "{}", answer.body);
        let detail = answer.body["detail"].as_str().unwrap();
        assert!(detail.contains(words), "{detail}");
    };
    // It is so already.
    refused("max-current", &json!({ "maxCurrent": 16 }), "desired state already").await;
    let limit = json!({ "chargeRateLimit": 11 });
    refused("charge-rate-limit", &limit, "desired state already").await;
    // Nothing is obeyed before a person has seen to it.
    let ten = json!({ "maxCurrent": 10 });
    stage.fjord.says("u-charger", Ok(shows(16.0, "fault")));
    poll_now(&stage.app, id).await;
    refused("max-current", &ten, "its state is fault").await;
    refused("charge-rate-limit", &json!({ "chargeRateLimit": 7 }), "its state is fault").await;
    // Nobody can be called.
    stage.fjord.says("u-charger", Ok(shows(16.0, "stopped")));
    poll_now(&stage.app, id).await;
    assert_eq!(asker.delete("/users/u/authorization").await.status, 204);
    refused("max-current", &ten, "linked again").await;
    refused("smart-override", &Value::Null, "linked again").await;
    let (status, _) =
        Operator::of(&stage).tell(&id.to_string(), &json!({ "charge": "start" })).await;
    assert_eq!(status, 400);
    assert_eq!(stage.events().await, []);
    assert_eq!(stage.fjord.sent("u-charger"), []);
    // Units and batteries that are so already.
    let warm = stage.live(&asker, "v", reading(&hvac())).await;
    let mut follows = hvac();
    follows["facts"]["hvac"]["hold_type"] = "scheduled".into();
    stage.fjord.says("v-hvac", Ok(reading(&follows)));
    poll_now(&stage.app, warm).await;
    assert_eq!(asker.post(&format!("/hvacs/{warm}/follow-schedule"), None).await.status, 400);
}

#[tokio::test]
async fn modes_of_batteries_are_set_read_and_cancelled() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&battery())).await;
    let operator = Operator::of(&stage);
    let aim = |word: &str| json!({ "operation_mode": word });
    let (status, made) = operator.tell(&id.to_string(), &aim("import_focus")).await;
    assert_eq!((status, &made["targetType"]), (200, &json!("battery")));
    assert_eq!(made["targetState"], json!({ "operationMode": "IMPORT_FOCUS" }));
    assert!(made.get("kind").is_none());
    let path = format!("/batteries/actions/{}", made["id"].as_str().unwrap());
    assert_eq!(asker.get(&path).await.body, made);
    assert_eq!(asker.get(&path.replace("batteries", "chargers")).await.status, 404);
    assert_eq!(asker.post(&format!("{path}/cancel"), None).await.status, 200);
    assert_eq!(asker.post(&format!("{path}/cancel"), None).await.status, 409);
    let unknown = format!("/batteries/actions/{}", Uuid::new_v4());
    assert_eq!(asker.get(&unknown).await.status, 404);
    assert_eq!(asker.post(&format!("{unknown}/cancel"), None).await.status, 404);

    // BAT-11: it does not say what it aims at, so nobody can tell it.
    let mut mute = battery();
    mute["facts"]["battery"]["mode"] = Value::Null;
    stage.fjord.says("u-battery", Ok(reading(&mute)));
    poll_now(&stage.app, id).await;
    assert_eq!(operator.tell(&id.to_string(), &aim("time_of_use")).await.0, 400);

    let app = stage.app.clone();
    let old = stage.client_in(&app, "old", ApiVersion::V2024_01_01).await;
    let theirs = stage.live(&old, "v", reading(&battery())).await;
    assert_eq!(operator.tell(&theirs.to_string(), &aim("idle")).await.0, 400);
    assert_eq!(operator.tell(&theirs.to_string(), &aim("export_focus")).await.0, 200);
}

#[tokio::test]
async fn holds_are_checked_against_what_a_unit_takes() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&hvac())).await.to_string();
    let operator = Operator::of(&stage);
    let hold = |mode: &str, heat: f64| json!({ "hold": { "mode": mode, "heat_setpoint_celsius": heat, "cool_setpoint_celsius": null } });
    for (mode, heat, expected) in [("heat", 30.0, 200), ("heat", 30.1, 400), ("cool", 20.0, 400)] {
        assert_eq!(operator.tell(&id, &hold(mode, heat)).await.0, expected, "{mode} {heat}");
    }
    let (_, made) = operator.tell(&id, &hold("heat", 5.0)).await;
    let path = format!("actions/{}", made["id"].as_str().unwrap());
    // HVAC actions have no path of their own; operators follow them here (NS-43).
    assert_eq!(operator.ask(Method::GET, &path, &Value::Null).await, (200, made));
    assert_eq!(operator.ask(Method::POST, &format!("{path}/cancel"), &Value::Null).await.0, 200);
    assert_eq!(operator.ask(Method::POST, &format!("{path}/cancel"), &Value::Null).await.0, 409);
}

#[tokio::test]
async fn commands_to_vehicles_and_to_nobody() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&vehicle())).await;
    let operator = Operator::of(&stage);
    let stop = json!({ "charge": "stop" });
    let (status, made) = operator.tell(&id.to_string(), &stop).await;
    assert_eq!((status, &made["targetType"]), (200, &json!("vehicle")));
    for (device, command, expected) in [
        ("nobody", &stop, 404),
        (&Uuid::new_v4().to_string(), &stop, 404),
        (&id.to_string(), &json!({ "fly": "high" }), 400),
        (&id.to_string(), &json!("follow_schedule"), 403),
    ] {
        assert_eq!(operator.tell(device, command).await.0, expected, "{device} {command}");
    }
    let mut bare = device("u-vehicle", DeviceKind::Vehicle);
    bare.scopes.remove(&Permission::ControlCharging);
    stage.link(&asker, "u", bare).await;
    assert_eq!(operator.tell(&id.to_string(), &stop).await.0, 403);
    assert_eq!(operator.ask(Method::GET, "actions/x", &Value::Null).await.0, 404);
}

#[tokio::test]
async fn a_vehicle_is_overridden_by_operators() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&vehicle())).await;
    let operator = Operator::of(&stage);
    let door = format!("devices/{id}/override");
    let (status, made) = operator.ask(Method::POST, &door, &Value::Null).await;
    assert_eq!((status, &made["targetType"]), (200, &json!("vehicle")));
    assert_eq!(made["vendorActionId"], Value::Null, "it charges already");
    let (status, ended) = operator.ask(Method::DELETE, &door, &Value::Null).await;
    assert_eq!((status, &ended["endedAt"]), (200, &json!("2026-01-05T18:00:00Z")));
    assert_eq!(operator.ask(Method::DELETE, &door, &Value::Null).await.0, 404);
}
