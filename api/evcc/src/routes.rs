//! Paths of the contract.
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::{info, warn};

use crate::answer::{Answer, answer, refuse};

/// Largest body of a request in bytes: 50 batteries over four weeks of quarter-hours.
const BODY_MAX: usize = 8 << 20;

/// Time in which a body must have arrived.
const BODY_TIME: Duration = Duration::from_secs(10);

/// Settings of the routes.
#[derive(Debug, Clone)]
pub struct Planner {
    seconds_max: Option<f64>,
    /// One permit per plan that is made at a time.
    permits: Arc<Semaphore>,
}

impl Planner {
    /// Planner of `plans_max` plans at a time, each of at most `seconds_max` per search.
    #[must_use]
    pub fn new(plans_max: usize, seconds_max: Option<f64>) -> Self {
        Self { seconds_max, permits: Arc::new(Semaphore::new(plans_max.max(1))) }
    }
}

/// Routes of the contract.
pub fn routes(planner: Planner) -> Router {
    Router::new()
        .route("/optimize/charge-schedule", post(optimise))
        .route("/optimize/health", get(health))
        .fallback(missing)
        .with_state(planner)
}

async fn health() -> Response {
    let body = r#"{"status":"healthy","message":"slackwater answers the contract"}"#;
    respond(Answer { status: 200, body: body.as_bytes().to_vec(), reasons: Vec::new() })
}

async fn missing() -> Response {
    respond(refuse(404, "there are POST /optimize/charge-schedule and GET /optimize/health"))
}

async fn optimise(State(planner): State<Planner>, request: Request) -> Response {
    let body = match timeout(BODY_TIME, to_bytes(request.into_body(), BODY_MAX)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return respond(refuse(413, "the body has more than 8 MiB, or was cut off")),
        Err(_) => return respond(refuse(408, "the body did not arrive within 10 s")),
    };
    let Ok(permit) = planner.permits.clone().acquire_owned().await else {
        return respond(refuse(503, "the service stops"));
    };
    let task = tokio::task::spawn_blocking(move || {
        let answer = answer(&body, planner.seconds_max);
        drop(permit);
        answer
    });
    match task.await {
        Ok(answer) => {
            log(&answer);
            respond(answer)
        }
        Err(_) => respond(refuse(500, "the plan could not be made")),
    }
}

fn log(answer: &Answer) {
    if answer.status == 200 {
        for reason in &answer.reasons {
            info!("{reason}");
        }
    } else {
        warn!(status = answer.status, "refused: {}", String::from_utf8_lossy(&answer.body));
    }
}

fn respond(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let json = [(header::CONTENT_TYPE, "application/json")];
    (status, json, Body::from(Bytes::from(answer.body))).into_response()
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use serde_json::Value;
    use tower::ServiceExt;

    use super::*;

    async fn call(method: &str, path: &str, body: &'static str) -> (u16, Value) {
        let request = Request::builder().method(method).uri(path).body(Body::from(body)).unwrap();
        let response = routes(Planner::new(1, None)).oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn the_paths_of_the_contract_answer() {
        let (status, body) = call("GET", "/optimize/health", "").await;
        assert_eq!((status, &body["status"]), (200, &Value::from("healthy")));
        let request = r#"{
            "batteries": [{
                "charge_from_grid": true, "s_min": 0, "s_max": 2000, "s_initial": 0, "c_min": 0,
                "c_max": 2000, "d_max": 2000, "p_a": 0
            }],
            "time_series": {
                "dt": [3600, 3600], "gt": [0, 1000], "ft": [0, 0], "p_N": [0.0001, 0.0003],
                "p_E": [0, 0]
            },
            "eta_c": 1, "eta_d": 1
        }"#;
        let (status, body) = call("POST", "/optimize/charge-schedule", request).await;
        assert_eq!(status, 200);
        assert_eq!(body["batteries"][0]["charging_power"], serde_json::json!([1000.0, 0.0]));
    }

    #[tokio::test]
    async fn other_paths_and_bodies_are_refused() {
        let (status, body) = call("GET", "/optimize", "").await;
        assert_eq!(status, 404);
        assert!(body["message"].as_str().unwrap().contains("/optimize/charge-schedule"));
        assert_eq!(call("POST", "/optimize/charge-schedule", "{").await.0, 400);
    }
}
