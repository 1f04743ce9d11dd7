//! Paths of the contract.
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// Requests that may wait for a plan or for their bodies. More would fill the memory with bodies.
const WAITING_MAX: u32 = 16;

/// Longest refusal in the log, in characters. It repeats parts of the request.
const LOGGED_MAX: usize = 500;

/// Help for whoever asks for something else.
const PATHS: &str = "there are POST /optimize/charge-schedule and GET /optimize/health";

/// Settings of the routes.
#[derive(Debug, Clone)]
pub struct Planner {
    seconds_max: Option<f64>,
    /// One permit per plan that is made at a time.
    permits: Arc<Semaphore>,
    /// One permit per request that is not answered yet.
    places: Arc<Semaphore>,
}

impl Planner {
    /// Planner of `plans_max` plans at a time, whose searches end after `seconds_max`.
    #[must_use]
    pub fn new(plans_max: usize, seconds_max: Option<f64>) -> Self {
        let plans_max = plans_max.max(1);
        Self {
            seconds_max,
            permits: Arc::new(Semaphore::new(plans_max)),
            places: Arc::new(Semaphore::new(plans_max.saturating_add(WAITING_MAX as usize))),
        }
    }
}

/// Routes of the contract.
pub fn routes(planner: Planner) -> Router {
    Router::new()
        .route("/optimize/charge-schedule", post(make_schedule))
        .route("/optimize/health", get(report_health))
        .method_not_allowed_fallback(refuse_method)
        .fallback(refuse_path)
        .with_state(planner)
}

async fn report_health() -> Response {
    let body = r#"{"status":"healthy","message":"slackwater answers the contract"}"#;
    write_response(Answer { status: 200, body: body.as_bytes().to_vec(), reasons: Vec::new() })
}

async fn refuse_path() -> Response {
    write_response(refuse(404, PATHS))
}

async fn refuse_method() -> Response {
    write_response(refuse(405, PATHS))
}

async fn make_schedule(State(planner): State<Planner>, request: Request) -> Response {
    let Ok(_place) = planner.places.clone().try_acquire_owned() else {
        return write_response(refuse(503, "too many requests wait; try again later"));
    };
    let body = match timeout(BODY_TIME, to_bytes(request.into_body(), BODY_MAX)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            return write_response(refuse(413, "the body has more than 8 MiB, or was cut off"));
        }
        Err(_) => return write_response(refuse(408, "the body did not arrive within 10 s")),
    };
    let Ok(permit) = planner.permits.clone().acquire_owned().await else {
        return write_response(refuse(503, "the service stops"));
    };
    let task = tokio::task::spawn_blocking(move || {
        let began = Instant::now();
        let left = planner.seconds_max.map(|most| move || most - began.elapsed().as_secs_f64());
        let answer = answer(&body, left.as_ref().map(|left| left as &dyn Fn() -> f64));
        drop(permit);
        answer
    });
    match task.await {
        Ok(mut answer) => {
            let reasons = mem::take(&mut answer.reasons);
            log_refusal(&answer);
            // A week has a thousand lines, each a call of the system: the client does not wait for them.
            drop(tokio::task::spawn_blocking(move || log_reasons(&reasons)));
            write_response(answer)
        }
        Err(_) => write_response(refuse(500, "the plan could not be made")),
    }
}

fn log_reasons(reasons: &[String]) {
    for reason in reasons {
        info!("{reason}");
    }
}

fn log_refusal(answer: &Answer) {
    if answer.status != 200 {
        let told: String = String::from_utf8_lossy(&answer.body).chars().take(LOGGED_MAX).collect();
        warn!(status = answer.status, "refused: {told}");
    }
}

fn write_response(answer: Answer) -> Response {
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
        let (status, body) = call("GET", "/optimize/charge-schedule", "").await;
        assert_eq!((status, &body["message"]), (405, &Value::from(PATHS)));
        assert_eq!(call("POST", "/optimize/charge-schedule", "{").await.0, 400);
    }

    #[tokio::test]
    async fn beyond_those_that_may_wait_a_request_is_refused() {
        let planner = Planner::new(1, None);
        let waiting = planner.places.clone().try_acquire_many_owned(1 + WAITING_MAX);
        let ask = || {
            let request = Request::post("/optimize/charge-schedule").body(Body::from("{"));
            routes(planner.clone()).oneshot(request.unwrap())
        };
        assert_eq!(ask().await.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
        drop(waiting.unwrap());
        // A place is free again once its request is answered.
        for _ in 0..=WAITING_MAX + 1 {
            assert_eq!(ask().await.unwrap().status(), StatusCode::BAD_REQUEST);
        }
    }
}
