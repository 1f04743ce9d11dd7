//! Rooms of the sandbox under comfort policies: heated by plan, left to people, shown to operators.
use std::sync::Arc;

use axum::http::{Method, StatusCode};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use slackwater_integration::reading::Facts;
use slackwater_sandbox::scenario::Scenario;
use slackwater_sandbox::words::uuid_of;

use crate::harness::{On, Stage, six};
use crate::priced::Book;
use crate::sandbox::{Street, settled_in};

const UNIT: &str = "pump";

/// Steps of a test, in seconds.
const STEP: u32 = 450;

/// Room of 10 kWh/K and 0.2 kW/K with a heat pump of 3 kW and COP 3, whose own thermostat holds
/// 20.4 °C.
const ROOM: &str = "
vendors: [{code: WARM, display_name: Warm, kinds: [hvac]}]
users: [{id: ada}]
locations: [{id: home, user: ada, time_zone: Europe/Amsterdam, latitude: 52.4, longitude: 4.9}]
hvacs:
  - {id: pump, user: ada, vendor: WARM, location: home, name: pump, power_kw: 3, gain: 3,
     time_constant_hours: 50, celsius_per_kw: 5, temperature_celsius: 20.8, day_celsius: 20.4,
     night_celsius: 20.4}
";

fn policy() -> Value {
    json!({
        "comfort": { "min_celsius": 20, "max_celsius": 23 },
        "capacity_kwh_per_k": 10,
        "loss_kw_per_k": 0.2,
        "power_max_kw": 3,
        "cop": [{ "outdoor_celsius": 0, "cop": 3 }],
        "outdoor_celsius": [0],
        "deadband_celsius": 0.4,
        "setpoint_step_celsius": 0.1,
    })
}

/// Prices of four days in cents: dear mornings and evenings, cheap nights and noons.
fn cents() -> Vec<i32> {
    let of_hour = |hour: usize| match hour % 24 {
        7..=9 => 38,
        17..=20 => 45,
        11..=14 => 14,
        22..=23 | 0..=5 => 10,
        _ => 24,
    };
    // The first hour is six in the evening in UTC, seven on the clock.
    (0..96).map(|hour| of_hour(hour + 19)).collect()
}

/// The room at a service, with prices.
async fn settled(with_policy: bool) -> Street {
    let stage = Stage::with(On::Sqlite, |config| {
        if with_policy {
            let policy = serde_json::from_value(policy()).unwrap();
            config.comfort.insert(uuid_of(UNIT), policy);
        }
        config.check().unwrap();
    })
    .await;
    let book = Arc::new(Book::default());
    book.set("", &cents());
    stage.app.set_price_book(book);
    settled_in(stage, &Scenario::parse(ROOM).unwrap()).await
}

/// Temperature of the room as it is.
fn temperature(room: &Street) -> f64 {
    let reading = room.residents.sandbox.actual_reading(UNIT).unwrap();
    let Facts::Hvac(facts) = reading.facts else { panic!("{UNIT} is not a heating unit") };
    facts.temperature.unwrap().as_celsius()
}

/// Cost and degree-hours below 20 °C or above 23 °C of two days, and the last temperature.
async fn live(room: &Street) -> (f64, f64, f64) {
    let hours = f64::from(STEP) / 3600.0;
    let mut outside = 0.0;
    for _ in 0..2 * 24 * 3600 / STEP {
        room.step(STEP).await;
        let now = temperature(room);
        outside += ((20.0 - now).max(0.0) + (now - 23.0).max(0.0)) * hours;
    }
    let now = room.stage.app.now();
    let quarters = room.residents.sandbox.metered(UNIT, six(), now);
    let cents = cents();
    let price = |at: DateTime<Utc>| f64::from(cents[(at - six()).num_hours() as usize]) / 100.0;
    let cost = quarters.iter().map(|quarter| price(quarter.start) * quarter.imported.as_kwh());
    (cost.sum(), outside, temperature(room))
}

/// Commands that the manufacturer was sent, as the instant and the heating setpoint.
async fn commands(room: &Street) -> Vec<(DateTime<Utc>, Option<f64>)> {
    let received = room.get(&format!("/sandbox/commands?device={UNIT}")).await;
    let read = |one: &Value| {
        let at = one["at"].as_str().unwrap().parse().unwrap();
        (at, one["command"]["hold"]["heat_setpoint_celsius"].as_f64())
    };
    received.as_array().unwrap().iter().map(read).collect()
}

#[tokio::test]
async fn a_room_by_plan_costs_less_than_its_thermostat_and_is_as_warm() {
    let (cost, outside, end) = live(&settled(true).await).await;
    let (usual, usual_outside, usual_end) = live(&settled(false).await).await;
    // A room that ends colder owes the heat at the dearest price.
    let owed = (usual_end - end).max(0.0) * 10.0 / 3.0 * 0.45;
    let said =
        format!("{cost:.2} + {owed:.2} against {usual:.2}; {outside:.3}, {usual_outside:.3} °C·h");
    println!("{said}");
    assert!(cost + owed < 0.85 * usual, "{said}");
    assert!(outside <= usual_outside + 1e-6, "{said}");
}

#[tokio::test]
async fn a_client_is_left_alone_for_four_hours() {
    let room = settled(true).await;
    for _ in 0..6 {
        room.step(STEP).await;
    }
    assert!(!commands(&room).await.is_empty());
    let id = uuid_of(UNIT);
    let hold = json!({ "hold": {
        "mode": "heat", "heat_setpoint_celsius": 15.0, "cool_setpoint_celsius": null
    } });
    let path = format!("/control/devices/{id}/command");
    let (status, _) = room.post(&path, &hold).await;
    assert_eq!(status, StatusCode::OK);
    for _ in 0..6 {
        room.step(STEP).await;
    }
    let told = commands(&room).await;
    let (by_hand, setpoint) = *told.last().unwrap();
    assert_eq!(setpoint, Some(15.0));
    let shown = room.get(&format!("/plans/{id}")).await;
    assert!(shown["step"]["step_back_until"].is_string(), "{shown}");
    for _ in 0..48 {
        room.step(STEP).await;
    }
    let told = commands(&room).await;
    let next = told.iter().find(|(at, _)| *at > by_hand).unwrap();
    assert!(next.0 - by_hand >= TimeDelta::hours(4), "{told:?}");
    assert!(next.1.unwrap() >= 20.4 - 1e-9, "{told:?}");
}

#[tokio::test]
async fn operators_set_and_see_a_policy_and_are_told_what_is_wrong() {
    let room = settled(false).await;
    let id = uuid_of(UNIT);
    let path = format!("/policies/devices/{id}");
    assert_eq!(room.get(&path).await, json!({ "comfort": null }));
    let put = async |body: &Value| room.pull(Method::PUT, &path, &body.to_string()).await;
    let mut wrong = policy();
    wrong["deadband_celsius"] = json!(-1);
    let (status, problem) = put(&wrong).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let text = problem.to_string();
    assert!(text.contains("deadband_celsius is -1 °C; it is 0 °C or more"), "{text}");
    assert_eq!(room.get(&format!("/plans/{id}")).await["step"], Value::Null);

    let (status, kept) = put(&policy()).await;
    assert_eq!((status, &kept["comfort"]["power_max_kw"]), (StatusCode::OK, &json!(3.0)));
    room.stage.settle().await;
    let plan = room.get(&format!("/plans/{id}")).await;
    assert_eq!(plan["currency"], "NOK");
    assert!(plan["plan"]["used_kwh"].as_f64().unwrap() > 10.0, "{plan}");
    assert!(!plan["sentences"].as_array().unwrap().is_empty());
    // Nothing of it is at the public address but the setting that the unit shows.
    for path in [format!("/hvacs/{id}/comfort"), format!("/hvacs/{id}/smart-charging-policy")] {
        assert_eq!(room.asker.get(&path).await.status, 404);
    }
    let (status, gone) = put(&Value::Null).await;
    assert_eq!((status, gone), (StatusCode::OK, json!({ "comfort": null })));
    room.stage.settle().await;
    assert!(room.stage.app.units().state(id).is_none());
}

/// A policy of a scenario is kept as if an operator had set it, and survives a restart.
#[tokio::test]
async fn a_policy_of_a_scenario_survives_a_restart() {
    let text = ROOM.replace("night_celsius", &format!("comfort: {}, night_celsius", policy()));
    let scenario = Scenario::parse(&text).unwrap();
    let room = settled_in(Stage::new().await, &scenario).await;
    room.stage.settle().await;
    let id = uuid_of(UNIT);
    assert!(room.stage.app.units().state(id).is_some());
    let stage = room.stage.restarted().await;
    assert!(stage.app.units().state(id).is_none());
    slackwater_service::steering::job::resume(&stage.app, |_| true);
    let _working = stage.work();
    stage.settle().await;
    // No prices are known, so the thermostat keeps the band.
    let unit = stage.app.units().state(id).unwrap();
    assert!(unit.planned.plan.used.is_zero());
}
