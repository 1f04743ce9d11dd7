//! The whole service over real sockets, with a real HTTP client.
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use axum::body::Body;
use axum::http::{Method, Request, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use slackwater_integration::registry::Registry;
use slackwater_sandbox::generate::street;
use slackwater_sandbox::handle::Sandbox;
use slackwater_server::running::{Service, Stop};
use slackwater_service::auth::secret::{generate, hash};
use slackwater_service::clock::Clock;
use slackwater_service::config::{Config, Listener};
use slackwater_store::client::{Client, Environment};
use slackwater_store::clients::{self, ClientRow};
use slackwater_wire::version::dated::ApiVersion;
use tokio::sync::oneshot;

use crate::harness::six;

/// Sends a request, a form unless it is JSON.
pub(crate) async fn ask(
    method: Method,
    url: String,
    authorization: &str,
    body: &str,
) -> (u16, Value) {
    let is_json = body.starts_with('{');
    let kind = if is_json { "application/json" } else { "application/x-www-form-urlencoded" };
    let client = HttpClient::builder(TokioExecutor::new()).build_http::<Body>();
    let request = Request::builder()
        .method(method)
        .uri(url)
        .header(header::AUTHORIZATION, authorization)
        .header(header::CONTENT_TYPE, kind)
        .body(Body::from(body.to_owned()))
        .unwrap();
    let answer = client.request(request).await.unwrap();
    let status = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

#[tokio::test]
async fn a_client_logs_in_and_reads_the_street() {
    let folder = tempfile::tempdir().unwrap();
    let config = settings(&folder);
    let clock = Clock::fixed(six());
    let mut service = Service::start(config, clock.clone(), &Registry::new()).await.unwrap();
    let app = service.app(Environment::Sandbox).unwrap().clone();
    let secret = generate().unwrap();
    let client = Client {
        id: "e2e".to_owned(),
        environment: Environment::Sandbox,
        name: String::new(),
        version: ApiVersion::LATEST,
        created_at: six(),
    };
    let row = ClientRow { client: client.clone(), secret_hash: hash(&secret).unwrap() };
    clients::insert_client(app.store(), &row).await.unwrap();
    service.populate(Sandbox::new(&street(), clock), &client).await.unwrap();
    let admin = service.admin_url().to_owned();
    let urls = app.urls().clone();
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(service.run(async {
        stopped.await.unwrap();
        Stop::AtOnce
    }));

    let basic = format!("Basic {}", STANDARD.encode(format!("e2e:{secret}")));
    let form = "grant_type=client_credentials";
    let token_url = format!("{}/oauth2/token", urls.auth);
    let (status, token) = ask(Method::POST, token_url, &basic, form).await;
    assert_eq!(status, 200, "{token}");
    let bearer = format!("Bearer {}", token["access_token"].as_str().unwrap());
    app.poller().idle(six()).await;
    let (status, page) = ask(Method::GET, format!("{}/vehicles", urls.base), &bearer, "").await;
    assert_eq!(status, 200);
    assert!(page["data"][0]["chargeState"]["powerDeliveryState"].is_string());
    // The operators' address is another one, and has what users do not.
    for path in ["/metrics", "/docs/", "/console", "/openapi.json", "/sandbox/clock"] {
        assert_eq!(ask(Method::GET, format!("{admin}{path}"), "", "").await.0, 200, "{path}");
        let (status, _) = ask(Method::GET, format!("{}{path}", urls.base), &bearer, "").await;
        assert_eq!(status, 404, "{path}");
    }
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

/// The settings of a service on free ports, with its rows in a folder.
pub(crate) fn settings(folder: &tempfile::TempDir) -> Config {
    let mut config = Config::default();
    let url = format!("sqlite:{}", folder.path().join("kept.db").display());
    config.store.url = url.parse().unwrap();
    let free = || Listener { listen: "127.0.0.1:0".parse().unwrap(), url: None };
    let doors = config.environments.sandbox.as_mut().unwrap();
    (doors.base, doors.auth, doors.link) = (free(), free(), free());
    config.admin.listen = free().listen;
    config
}

#[tokio::test]
async fn a_service_that_drains_says_so_and_answers_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = settings(&folder);
    config.serve.drain_seconds = u32::MAX;
    let service = Service::start(config, Clock::fixed(six()), &Registry::new()).await.unwrap();
    let base = service.app(Environment::Sandbox).unwrap().urls().base.clone();
    let admin = service.admin_url().to_owned();
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(service.run(async {
        stopped.await.unwrap();
        Stop::Drained
    }));
    let get = async |door: &str, path: &str| {
        let client = HttpClient::builder(TokioExecutor::new()).build_http::<Body>();
        let request = Request::builder().uri(format!("{door}{path}")).body(Body::empty()).unwrap();
        client.request(request).await.unwrap()
    };
    assert_eq!(get(&admin, "/health/ready").await.status(), 200);
    stop.send(()).unwrap();
    while get(&admin, "/health/ready").await.status() != 503 {}
    let answer = get(&base, "/vehicles").await;
    assert_eq!(answer.status(), 401);
    assert_eq!(answer.headers()[header::CONNECTION], "close");
    assert!(!running.is_finished());
    running.abort();
}

/// A process of its own that may open only so many files.
struct Limited(Child);

impl Drop for Limited {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[tokio::test]
async fn more_silent_connections_than_file_descriptors_stop_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let serve = "ulimit -n 128; exec \"$0\" serve --listen 127.0.0.1:0 --homes 1";
    let process = Command::new("sh")
        .args(["-c", serve, env!("CARGO_BIN_EXE_slackwater-api")])
        .env("SLACKWATER_STORE__URL", format!("sqlite:{}/kept.db", folder.path().display()))
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut process = Limited(process);
    let (said, log) = (process.0.stdout.take().unwrap(), process.0.stderr.take().unwrap());
    let mut said = BufReader::new(said).lines().map(|line| line.unwrap());
    let word = |line: String| line.split_whitespace().nth(1).unwrap().to_owned();
    let (id, secret) = (word(said.next().unwrap()), word(said.next().unwrap()));
    let mut lines = BufReader::new(log).lines().map(|line| line.unwrap());
    let listening = lines.find(|line| line.contains("\"listening\"")).unwrap();
    // Read on, or the process waits for somebody to take its log.
    std::thread::spawn(move || lines.for_each(drop));
    let listening: Value = serde_json::from_str(&listening).unwrap();
    let url = |door: &str| listening[door].as_str().unwrap().to_owned();

    let mut silent = Vec::new();
    for door in ["base", "auth"] {
        let url = url(door);
        let address = url.strip_prefix("http://").unwrap();
        for _ in 0..150 {
            silent.push(tokio::net::TcpStream::connect(address).await.unwrap());
        }
    }
    let basic = format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")));
    for _ in 0..5 {
        // A token is a row: the log of the database is opened for it.
        let token_url = format!("{}/oauth2/token", url("auth"));
        let form = "grant_type=client_credentials";
        let (status, token) = ask(Method::POST, token_url, &basic, form).await;
        assert_eq!(status, 200, "{token}");
        let bearer = format!("Bearer {}", token["access_token"].as_str().unwrap());
        let vehicles = format!("{}/vehicles", url("base"));
        assert_eq!(ask(Method::GET, vehicles, &bearer, "").await.0, 200);
        assert_eq!(ask(Method::GET, format!("{}/metrics", url("admin")), "", "").await.0, 200);
    }
    drop(silent);
}
