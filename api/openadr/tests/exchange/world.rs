//! A VTN and a service on this machine, and a clock that a test sets.
//!
//! The VTN answers from a list in the form of the `OpenAPI` file of `OpenADR` 3.1.0; it is no VTN of
//! another project. The service keeps its orders by the rules of the real one, `GridLimit`.
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;
use serde_json::{Value, json};
use slackwater_control::grid_order::limit::{
    FailSafe, GridLimit, GridMessage, GridOrder, GridReason,
};
use slackwater_engine::units::{Power, kw};
use slackwater_grid_client::http::Https;
use slackwater_grid_client::service::Service;
use slackwater_openadr::follow::Follower;
use slackwater_openadr::vtn::{Credentials, Vtn};
use tokio::net::TcpListener;

pub(crate) const FAIL_SAFE: FailSafe = FailSafe {
    limit: kw(3.0),
    silence_max: TimeDelta::seconds(120),
    hold_min: TimeDelta::seconds(7200),
};

/// State of both servers.
pub(crate) struct Servers {
    pub(crate) now: DateTime<Utc>,
    pub(crate) events: Vec<Value>,
    pub(crate) is_vtn_down: bool,
    pub(crate) is_service_down: bool,
    /// While true, the service answers orders with 422.
    pub(crate) refuses_orders: bool,
    /// Most events that the VTN gives at once.
    pub(crate) page_max: usize,
    /// Number of tokens that were given; only the last one is good.
    pub(crate) tokens: u32,
    pub(crate) heartbeats: u32,
    /// Orders and releases, in order.
    pub(crate) messages: Vec<Option<GridOrder>>,
    limit: GridLimit,
}

type Shared = Arc<Mutex<Servers>>;

/// Both servers with a follower.
pub(crate) struct World {
    servers: Shared,
    follower: Follower,
}

#[derive(Deserialize)]
struct Page {
    #[serde(rename = "programID")]
    program: String,
    skip: usize,
    limit: usize,
}

/// Instant in seconds from noon.
pub(crate) fn second(seconds: i64) -> DateTime<Utc> {
    "2026-01-05T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::seconds(seconds)
}

/// Event with a limit of `limit_kw` for each of some intervals of `length` seconds.
pub(crate) fn event(id: &str, priority: i64, start: i64, length: i64, limits_kw: &[f64]) -> Value {
    let intervals = limits_kw.iter().enumerate().map(|(place, limit)| {
        json!({"id": place, "payloads": [{"type": "IMPORT_CAPACITY_LIMIT", "values": [limit]}]})
    });
    json!({
        "id": id,
        "createdDateTime": "2026-01-05T11:00:00Z",
        "modificationDateTime": "2026-01-05T11:00:00Z",
        "objectType": "EVENT",
        "programID": "p1",
        "eventName": null,
        "priority": priority,
        "targets": [],
        "reportDescriptors": null,
        "payloadDescriptors": null,
        "intervalPeriod": {"start": second(start), "duration": format!("PT{length}S")},
        "intervals": intervals.collect::<Vec<_>>(),
    })
}

impl World {
    /// Starts both servers at noon.
    pub(crate) async fn start() -> Self {
        let servers = Arc::new(Mutex::new(Servers {
            now: second(0),
            events: Vec::new(),
            is_vtn_down: false,
            is_service_down: false,
            refuses_orders: false,
            page_max: 50,
            tokens: 0,
            heartbeats: 0,
            messages: Vec::new(),
            limit: GridLimit::new(Some(FAIL_SAFE), second(0)),
        }));
        let routes = Router::new()
            .route("/openadr3/auth/token", post(give_token))
            .route("/openadr3/events", get(list_events))
            .route("/grid/dso", any(take_message))
            .route("/grid/dso/heartbeat", post(take_message))
            .with_state(servers.clone());
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(socket, routes).await });
        let follower = follow(&format!("{url}/openadr3"), &url);
        Self { servers, follower }
    }

    pub(crate) fn servers(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap()
    }

    /// Heartbeats so far.
    pub(crate) fn heartbeats(&self) -> u32 {
        self.servers().heartbeats
    }

    /// Tokens so far.
    pub(crate) fn tokens(&self) -> u32 {
        self.servers().tokens
    }

    /// One turn at a second; returns the time up to the next one.
    pub(crate) async fn turn(&mut self, at: i64) -> Duration {
        self.servers().now = second(at);
        self.follower.follow_once(|| second(at)).await
    }

    /// Limit in force at the service and its reason.
    pub(crate) fn in_force(&self) -> (Option<f64>, GridReason) {
        let servers = self.servers();
        let found = servers.limit.in_force(servers.now);
        (found.limit.map(Power::as_kw), found.reason)
    }
}

/// Follower of a VTN for the sender `dso`, a turn every 30 s.
pub(crate) fn follow(vtn: &str, admin: &str) -> Follower {
    let credentials = Credentials {
        token_url: format!("{vtn}/auth/token"),
        client_id: "ven".to_owned(),
        client_secret: "secret".to_owned(),
    };
    let https = Https::of_program("slackwater-test").unwrap();
    let vtn = Vtn::new(https.clone(), vtn.to_owned(), "p1".to_owned(), Some(credentials));
    let service = Service::new(https, admin, "dso", Some("operator".to_owned()));
    Follower::new(vtn, service, Vec::new(), Duration::from_secs(30))
}

fn is_authorized(headers: &HeaderMap, expected: &str) -> bool {
    headers.get("authorization").is_some_and(|value| value == expected)
}

async fn give_token(
    State(servers): State<Shared>,
    headers: HeaderMap,
    body: String,
) -> Result<Json<Value>, StatusCode> {
    let mut servers = servers.lock().unwrap();
    // Base64 of `ven:secret`.
    if !is_authorized(&headers, "Basic dmVuOnNlY3JldA==") || body != "grant_type=client_credentials"
    {
        return Err(StatusCode::UNAUTHORIZED);
    }
    servers.tokens += 1;
    let token = format!("token-{}", servers.tokens);
    Ok(Json(json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600})))
}

async fn list_events(
    State(servers): State<Shared>,
    Query(page): Query<Page>,
    headers: HeaderMap,
) -> Result<Json<Value>, StatusCode> {
    let servers = servers.lock().unwrap();
    if servers.is_vtn_down {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    if !is_authorized(&headers, &format!("Bearer token-{}", servers.tokens)) {
        return Err(StatusCode::UNAUTHORIZED);
    }
    assert_eq!(page.program, "p1");
    let events = servers.events.iter().skip(page.skip).take(page.limit.min(servers.page_max));
    Ok(Json(events.cloned().collect()))
}

async fn take_message(
    State(servers): State<Shared>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, StatusCode> {
    let mut servers = servers.lock().unwrap();
    if servers.is_service_down {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    if !is_authorized(&headers, "Bearer operator") {
        return Err(StatusCode::UNAUTHORIZED);
    }
    let message = if uri.path().ends_with("/heartbeat") {
        servers.heartbeats += 1;
        Some(GridMessage::Heartbeat)
    } else if method == Method::POST {
        if servers.refuses_orders {
            return Err(StatusCode::UNPROCESSABLE_ENTITY);
        }
        let order: GridOrder = serde_json::from_slice(&body).unwrap();
        servers.messages.push(Some(order));
        Some(GridMessage::Order(order))
    } else if method == Method::DELETE {
        servers.messages.push(None);
        Some(GridMessage::Release)
    } else {
        None
    };
    let now = servers.now;
    if let Some(message) = message {
        servers.limit = servers.limit.after(message, now);
    }
    let in_force = servers.limit.in_force(now);
    let order = servers.limit.order(now);
    Ok(Json(json!({
        "name": "dso", "order": order, "reason": in_force.reason, "since": now,
        "fail_safe_kw": FAIL_SAFE.limit, "next_change": servers.limit.next_change(now),
    })))
}
