//! Golden answers of operations that need more than one call: a command of an operator, recorded
//! energy, or the oldest version. With those of `golden` they are the examples of the OpenAPI
//! document.
use axum::http::{Method, StatusCode};
use expect_test::expect_file;
use serde_json::{Value, json};

use crate::golden::{DATABASES, Transcript, ask, golden, id, schedule, street};
use crate::harness::{LATEST, OLDEST, On};
use crate::sandbox::Street;

/// Energy of an evening: the charger waited for the night of the tariff, which begins at 21:00 UTC.
const RECORDED: &str = "samples:
  - {device: ada-charger, start: 2026-01-04T18:00:00Z, step_minutes: 60,
     power_kw: [0, 0, 0, 7.4, 7.4, 3.7], non_smart_kw: [7.4, 7.4, 3.7, 0, 0, 0]}
  - {device: ada-roof, start: 2026-01-04T10:00:00Z, step_minutes: 60, power_kw: [0.5, 1.5, 1]}
";

/// Queries of statistics of the recorded day.
const STATISTICS: [&str; 3] = [
    "charging?type=charger&resolution=DAY&endDate=2026-01-05T00:00:00Z",
    "charging/sessions?type=charger&endDate=2026-01-05T00:00:00Z",
    "production?type=inverter&resolution=DAY&endDate=2026-01-05T00:00:00Z",
];

#[tokio::test]
async fn answers_after_commands_of_operators_and_of_recorded_energy() {
    for on in DATABASES {
        check_examples(on).await;
    }
}

async fn check_examples(on: On) {
    let street = street(on).await;
    let hold = json!({ "hold": {
        "mode": "heat", "heat_setpoint_celsius": 19.5, "cool_setpoint_celsius": null,
    } });
    command(&street, "ada-heat-pump", &hold).await;
    street.step(600).await;
    let (status, applied) = street.pull(Method::POST, "/sandbox/scenario", RECORDED).await;
    assert_eq!(status, StatusCode::OK, "{applied}");
    let mode = command(&street, "ada-battery", &json!({ "operation_mode": "import_focus" })).await;
    let plan = street.asker.post("/users/bo/schedules", Some(&schedule())).await.body;
    let mut transcript = Transcript::default();
    let changed = json!({ "isEnabled": true, "defaultShouldCharge": true, "rules": [] });
    let latest = (&street.asker, LATEST);
    let path = format!("/schedules/{}", plan["id"].as_str().unwrap());
    ask(&mut transcript, latest, (Method::PUT, &path), Some(&changed)).await;
    let mut requests = vec![
        (Method::GET, format!("/batteries/actions/{mode}")),
        (Method::POST, format!("/batteries/actions/{mode}/cancel")),
        (Method::POST, format!("/hvacs/{}/follow-schedule", id("ada-heat-pump"))),
    ];
    requests.extend(STATISTICS.map(|what| (Method::GET, format!("/users/ada/statistics/{what}"))));
    for (method, path) in requests {
        ask(&mut transcript, latest, (method, &path), None).await;
    }
    let oldest = (&street.asker, OLDEST);
    for what in STATISTICS {
        let path = format!("/statistics/{what}");
        ask(&mut transcript, oldest, (Method::GET, &path), None).await;
    }
    ask(&mut transcript, oldest, (Method::GET, "/me"), None).await;
    ask(&mut transcript, oldest, (Method::DELETE, "/me/vendors/VOLTBOX"), None).await;
    expect_file![golden("examples.txt")].assert_eq(&transcript.text);
}

/// Commands a device as an operator does, and returns the identifier of the action.
async fn command(street: &Street, device: &str, command: &Value) -> String {
    let path = format!("/control/devices/{}/command", id(device));
    let (status, action) = street.post(&path, command).await;
    assert_eq!(status, StatusCode::OK, "{action}");
    action["id"].as_str().unwrap().to_owned()
}
