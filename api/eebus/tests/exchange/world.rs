//! A service, the program and a control box on this machine, on a clock that runs when they wait.
//!
//! The sockets are real. The clock is that of tokio, paused: it goes on by a step whenever nobody has
//! anything to do. The service keeps its orders by the rules of the real one, `GridLimit`.
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::routing::any;
use axum::{Json, Router};
use chrono::{DateTime, TimeDelta, Utc};
use eebus::cert::{CertParams, key_from_pem, self_signed, self_signed_with};
use eebus::ship::Ski;
use eebus::usecases::limitation::LimitWrite;
use serde_json::{Value, json};
use slackwater_control::grid_order::limit::{
    FailSafe, GridLimit, GridMessage, GridOrder, GridReason,
};
use slackwater_eebus::identity::open_identity;
use slackwater_eebus::system::{LpcSystem, OfferedFailSafe};
use slackwater_eebus::wanted::{WantedState, follow_states};
use slackwater_engine::units::{Power, kw};
use slackwater_grid_client::http::Https;
use slackwater_grid_client::service::Service;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval};

use crate::control_box::{BoxState, ControlBox, SharedBox};

/// Step of the clock in short waits. A packet takes a step.
const SHORT_STEP: Duration = Duration::from_millis(20);

/// Step of the clock in waits of more than 10 s.
const LONG_STEP: Duration = Duration::from_millis(100);

const FAIL_SAFE: FailSafe = FailSafe {
    limit: kw(3.0),
    silence_max: TimeDelta::seconds(120),
    hold_min: TimeDelta::seconds(7200),
};

/// State of the service.
pub(crate) struct Server {
    start: Instant,
    pub(crate) is_down: bool,
    /// Times of heartbeats, in seconds from the start.
    pub(crate) heartbeats: Vec<i64>,
    /// Orders and releases, in order.
    pub(crate) messages: Vec<Option<GridOrder>>,
    limit: GridLimit,
}

impl Server {
    /// Loses all orders, as with another database.
    pub(crate) fn forget(&mut self) {
        self.limit = GridLimit::new(Some(FAIL_SAFE), instant_after(self.start));
    }
}

type Shared = Arc<Mutex<Server>>;

/// Service, program and control box.
pub(crate) struct World {
    server: Shared,
    admin: String,
    folder: TempDir,
    /// Address of the program, once it runs.
    address: SocketAddr,
    system: JoinHandle<()>,
    /// SKI of the program.
    pub(crate) ski: Ski,
    control_box: SharedBox,
    /// Private key of the box.
    box_key: String,
    boxes: Vec<JoinHandle<()>>,
}

/// Instant in seconds from noon.
pub(crate) fn second(seconds: i64) -> DateTime<Utc> {
    "2026-01-05T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::seconds(seconds)
}

/// Instant at a time since the start, which is noon.
fn instant_after(start: Instant) -> DateTime<Utc> {
    second(0) + TimeDelta::from_std(start.elapsed()).unwrap()
}

/// True once a condition holds, false if it does not within some seconds.
pub(crate) async fn holds_within(seconds: u64, condition: impl Fn() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut steps = interval(if seconds > 10 { LONG_STEP } else { SHORT_STEP });
    while !condition() {
        if Instant::now() >= end {
            return false;
        }
        steps.tick().await;
        // The kernel may still have packets between our own sockets.
        std::thread::yield_now();
    }
    true
}

impl World {
    /// Starts the service and the program; the box, which has a limit to write, connects later.
    pub(crate) async fn start(limit: Option<LimitWrite>) -> Self {
        let start = Instant::now();
        let server = Arc::new(Mutex::new(Server {
            start,
            is_down: false,
            heartbeats: Vec::new(),
            messages: Vec::new(),
            limit: GridLimit::new(Some(FAIL_SAFE), second(0)),
        }));
        let routes = Router::new()
            .route("/grid/dso", any(take_message))
            .route("/grid/dso/heartbeat", any(take_message))
            .with_state(server.clone());
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let admin = format!("http://{}", socket.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(socket, routes).await });
        let state = BoxState { limit, ..BoxState::default() };
        let mut world = Self {
            server,
            admin,
            folder: tempfile::tempdir().unwrap(),
            address: "127.0.0.1:0".parse().unwrap(),
            system: tokio::spawn(async {}),
            ski: Ski::from_bytes([0; 20]),
            control_box: Arc::new(Mutex::new(state)),
            box_key: self_signed(CertParams::new("box")).unwrap().key_pem(),
            boxes: Vec::new(),
        };
        world.start_program().await;
        world
    }

    fn key_file(&self) -> PathBuf {
        self.folder.path().join("eebus.key")
    }

    /// Ends the program and starts it again with its key, on its port.
    pub(crate) async fn start_program(&mut self) {
        self.system.abort();
        // Its connections are closed once the task is gone.
        (&mut self.system).await.unwrap_or_default();
        let identity = open_identity(&self.key_file()).unwrap();
        self.ski = identity.ski;
        let https = Https::of_program("slackwater-test").unwrap();
        let service = Service::new(https, &self.admin, "dso", Some("operator".to_owned()));
        let (wanted, states) = watch::channel(WantedState::default());
        let (taken, numbers) = watch::channel(0);
        tokio::spawn(follow_states(service, states, taken));
        let start = self.server().start;
        let fail_safe = OfferedFailSafe { limit: FAIL_SAFE.limit, hold: Duration::from_hours(2) };
        let trusted =
            self_signed_with(CertParams::new("box"), key_from_pem(&self.box_key).unwrap());
        let clock = move || instant_after(start);
        let trusted = trusted.unwrap().ski;
        let made = LpcSystem::new(identity, trusted, fail_safe, clock, (wanted, numbers));
        let mut system = made.unwrap();
        self.address = system.listen(self.address).await.unwrap();
        self.system = tokio::spawn(async move { while system.handle_next().await.is_ok() {} });
    }

    /// Connects the box, in place of the one before.
    pub(crate) fn connect_box(&mut self) {
        let key = key_from_pem(&self.box_key).unwrap();
        let identity = self_signed_with(CertParams::new("box"), key).unwrap();
        self.boxes.drain(..).for_each(|task| task.abort());
        self.box_mut().is_silent = false;
        let control_box =
            ControlBox::connect(identity, self.ski, self.address, self.control_box.clone());
        self.boxes.push(tokio::spawn(control_box.run_forever()));
    }

    /// Connects a box that the program does not know.
    pub(crate) fn connect_stranger(&mut self) {
        let identity = self_signed(CertParams::new("stranger")).unwrap();
        let control_box =
            ControlBox::connect(identity, self.ski, self.address, self.control_box.clone());
        self.boxes.push(tokio::spawn(control_box.run_forever()));
    }

    pub(crate) fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap()
    }

    /// Number of orders and releases so far.
    pub(crate) fn message_count(&self) -> usize {
        self.server().messages.len()
    }

    /// Number of heartbeats so far.
    pub(crate) fn heartbeat_count(&self) -> usize {
        self.server().heartbeats.len()
    }

    /// Wishes of the box, and the answers to them.
    pub(crate) fn box_mut(&self) -> MutexGuard<'_, BoxState> {
        self.control_box.lock().unwrap()
    }

    /// Limits that were answered, in watts, and true for those that were acknowledged.
    pub(crate) fn answers(&self) -> Vec<(f64, bool)> {
        let answers = &self.box_mut().answers;
        answers.iter().map(|(limit, is_taken)| (limit.watts, *is_taken)).collect()
    }

    /// Seconds since the start.
    pub(crate) fn elapsed(&self) -> i64 {
        self.server().start.elapsed().as_secs().cast_signed()
    }

    /// Lets some seconds pass.
    pub(crate) async fn pass_time(&self, seconds: u64) {
        assert!(!holds_within(seconds, || false).await);
    }

    /// Waits until a limit is in force at the service for a reason.
    #[track_caller]
    pub(crate) fn until_in_force(
        &self,
        seconds: u64,
        expected: (Option<f64>, GridReason),
    ) -> impl Future<Output = ()> {
        let place = std::panic::Location::caller();
        async move {
            let holds = holds_within(seconds, || self.in_force() == expected).await;
            let answers = self.answers();
            assert!(holds, "{place}: {:?} at {} s; {answers:?}", self.in_force(), self.elapsed());
        }
    }

    /// Limit in force at the service and its reason.
    pub(crate) fn in_force(&self) -> (Option<f64>, GridReason) {
        let server = self.server();
        let found = server.limit.in_force(instant_after(server.start));
        (found.limit.map(Power::as_kw), found.reason)
    }
}

async fn take_message(
    State(server): State<Shared>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, StatusCode> {
    let mut server = server.lock().unwrap();
    if server.is_down {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    if headers.get("authorization").is_none_or(|token| token != "Bearer operator") {
        return Err(StatusCode::UNAUTHORIZED);
    }
    let elapsed = server.start.elapsed().as_secs().cast_signed();
    let message = match (uri.path(), method) {
        ("/grid/dso/heartbeat", Method::POST) => {
            server.heartbeats.push(elapsed);
            Some(GridMessage::Heartbeat)
        }
        ("/grid/dso", Method::POST) => {
            let order: GridOrder = serde_json::from_slice(&body).unwrap();
            server.messages.push(Some(order));
            Some(GridMessage::Order(order))
        }
        ("/grid/dso", Method::DELETE) => {
            server.messages.push(None);
            Some(GridMessage::Release)
        }
        ("/grid/dso", Method::GET) => None,
        _ => return Err(StatusCode::NOT_FOUND),
    };
    let now = instant_after(server.start);
    if let Some(message) = message {
        server.limit = server.limit.after(message, now);
    }
    let in_force = server.limit.in_force(now);
    Ok(Json(json!({
        "name": "dso", "order": server.limit.order(now), "reason": in_force.reason,
        "since": in_force.since, "fail_safe_kw": FAIL_SAFE.limit,
        "next_change": server.limit.next_change(now),
    })))
}
