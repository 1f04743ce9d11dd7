//! How fast the service reads: a hundred thousand devices, 64 connections.
//!
//! The tool that asks and the service that answers share the processors, and a
//! handler that answers the same bytes without looking anything up runs beside
//! it, so that what the framework costs is seen. Prints a table; `load FILE`
//! writes the figures to a file as well.
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use chrono::{DateTime, Utc};
use mimalloc::MiMalloc;
use serde_json::json;
use slackwater_api::auth::client::{Client, Environment};
use slackwater_api::clock::Clock;
use slackwater_api::config::Config;
use slackwater_api::linking::{NewAccount, NewDevice, NewUser, connect};
use slackwater_api::router;
use slackwater_api::state::{App, Urls};
use slackwater_api::store::clients::{self, ClientRow};
use slackwater_api::store::database::Store;
use slackwater_api::store::devices::{self, DeviceState};
use slackwater_api::vendor::integration::Connection;
use slackwater_api::vendor::profile::VendorCode;
use slackwater_api::vendor::reading::Reading;
use slackwater_engine::device::scope::DeviceKind;
use slackwater_engine::version::dated::ApiVersion;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use uuid::Uuid;

const USERS: usize = 10_000;
const DEVICES_EACH: usize = 10;
const CONNECTIONS: usize = 64;
const SPAN: Duration = Duration::from_secs(5);

/// That of the service as a process.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// A failure of the set-up, in words.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What a run of requests took.
struct Run {
    requests_per_second: f64,
    p50: Duration,
    p99: Duration,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let mut config = Config::default();
    config.store.url = format!("sqlite:{}", folder.path().join("load.db").display()).parse()?;
    let (token, ids) = fill(&config).await?;

    let start = Instant::now();
    let app = load(&config).await?;
    let loaded = start.elapsed();
    let service = listen(router(app)).await?;
    let bare = listen(Router::new().route("/", get(async || "x".repeat(1_300)))).await?;

    let one: Vec<String> =
        ids.iter().map(|id| request(&format!("/chargers/{id}"), &token)).collect();
    let page = [request("/chargers?pageSize=50", &token)];
    println!("| what | requests/s | median | p99 |\n| --- | --- | --- | --- |");
    let mut figures = Vec::new();
    for (name, address, requests) in [
        ("bare handler", bare, &[request("/", "")][..]),
        ("GET one charger", service, &one),
        ("a page of 50", service, &page),
    ] {
        let run = measure(address, requests).await?;
        let [p50, p99] = [run.p50, run.p99].map(|time| time.as_secs_f64());
        let per_second = run.requests_per_second;
        println!("| {name} | {per_second:.0} | {:.2} ms | {:.2} ms |", p50 * 1e3, p99 * 1e3);
        figures.push(json!({
            "what": name, "requests_per_s": per_second, "median_s": p50, "p99_s": p99,
        }));
    }
    let (devices, start_s) = (USERS * DEVICES_EACH, loaded.as_secs_f64());
    println!("\nStart with {devices} devices: {start_s:.2} s. {}", memory());
    if let Some(file) = std::env::args().nth(1) {
        let all = json!({ "requests": figures, "devices": devices, "start_s": start_s });
        std::fs::write(file, serde_json::to_string_pretty(&all)?)?;
    }
    Ok(())
}

/// Memory of this process, as the system counts it.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.map(|line| format!("Memory: {}.", line.trim())).unwrap_or_default()
}

async fn load(config: &Config) -> Result<App, Failure> {
    let store = Store::open(&config.store.url).await?;
    let [base, auth, link] = ["base", "auth", "link"].map(ToOwned::to_owned);
    let world = (Environment::Sandbox, Clock::system(), Urls { base, auth, link });
    Ok(App::load(config.clone(), store, world).await?)
}

/// Keeps the devices, each with a reading. Returns a token and their identifiers.
async fn fill(config: &Config) -> Result<(String, Vec<Uuid>), Failure> {
    let app = load(config).await?;
    let client = Client {
        id: "load".to_owned(),
        environment: Environment::Sandbox,
        name: String::new(),
        version: ApiVersion::LATEST,
        created_at: app.now(),
    };
    let row = ClientRow { client: client.clone(), secret_hash: String::new() };
    clients::insert(app.store(), &row).await?;
    let users = (0..USERS).map(user).collect::<Result<Vec<_>, _>>()?;
    let ids = connect(&app, &client.id, users).await?;
    let reading = Arc::new(reading(app.now())?);
    let mut change = app.store().begin().await?;
    for id in &ids {
        let state = DeviceState {
            heard_at: Some(app.now()),
            is_reachable: Some(true),
            reading: Some(Arc::clone(&reading)),
        };
        devices::keep_state(change.connection(), *id, &state).await?;
    }
    change.commit(|| ()).await?;
    let token = app.tokens().issue(app.store(), &Arc::new(client), app.now()).await;
    let token = token.map_err(|problem| format!("{problem:?}"))?;
    app.store().close().await;
    Ok((token, ids))
}

fn user(number: usize) -> Result<NewUser, Failure> {
    let device = |index: usize| NewDevice {
        id: None,
        vendor_device: format!("charger-{number}-{index}"),
        kind: DeviceKind::Charger,
        scopes: DeviceKind::Charger.permissions().iter().copied().collect(),
        location: None,
    };
    let account = NewAccount {
        vendor: VendorCode::parse("FJORD")?,
        connection: Connection::new("load"),
        devices: (0..DEVICES_EACH).map(device).collect(),
    };
    Ok(NewUser { id: format!("user-{number}"), accounts: vec![account], locations: Vec::new() })
}

fn reading(now: DateTime<Utc>) -> Result<Reading, Failure> {
    let able = json!({ "is_capable": true, "intervention_ids": [], "allowed_range": null });
    let reading = json!({
        "at": now, "is_reachable": true, "counters": null,
        "capabilities": {
            "information": able, "charge_state": able, "start_charging": able,
            "stop_charging": able, "set_max_current": able, "set_charge_rate_limit": able,
        },
        "facts": { "charger": {
            "information": {
                "brand": "Fjord", "model": "Wall", "display_name": "Garage", "year": 2024,
                "serial_number": "12345", "image_url": null,
            },
            "charging": {
                "power_state": "charging", "is_plugged_in": true, "is_charging": true,
                "is_fully_charged": null, "charge_rate_kw": 7.4,
                "charge_time_remaining_minutes": null, "charge_rate_limit_kw": 11.0,
                "last_updated": now,
            },
            "max_current_amps": 16.0, "plugged_into": null,
        } },
    });
    Ok(serde_json::from_value(reading)?)
}

async fn listen(router: Router) -> Result<std::net::SocketAddr, io::Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

fn request(path: &str, token: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer {token}\r\n\r\n")
}

/// Asks over all connections at once, each as soon as it has its answer.
async fn measure(address: std::net::SocketAddr, requests: &[String]) -> Result<Run, Failure> {
    let requests: Arc<[String]> = requests.into();
    let mut askers = JoinSet::new();
    let start = Instant::now();
    for connection in 0..CONNECTIONS {
        let requests = Arc::clone(&requests);
        askers.spawn(async move { ask(address, &requests, connection, start + SPAN).await });
    }
    let mut times = Vec::new();
    while let Some(asked) = askers.join_next().await {
        times.extend(asked??);
    }
    let seconds = start.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    Ok(Run { requests_per_second: times.len() as f64 / seconds, p50: at(50), p99: at(99) })
}

async fn ask(
    address: std::net::SocketAddr,
    requests: &[String],
    connection: usize,
    until: Instant,
) -> Result<Vec<Duration>, Failure> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut times = Vec::new();
    let mut buffer = vec![0; 256 * 1024];
    // A fixed walk over the requests, another for each connection.
    let mut next = connection.wrapping_mul(7_919);
    while Instant::now() < until {
        next = next.wrapping_mul(25_214_903_917).wrapping_add(11);
        let request = &requests[(next >> 16) % requests.len()];
        let start = Instant::now();
        stream.write_all(request.as_bytes()).await?;
        answer(&mut stream, &mut buffer).await?;
        times.push(start.elapsed());
    }
    Ok(times)
}

/// Reads one answer and checks that it is a good one.
async fn answer(stream: &mut TcpStream, buffer: &mut [u8]) -> Result<(), Failure> {
    let mut length = 0;
    loop {
        let read = stream.read(&mut buffer[length..]).await?;
        if read == 0 {
            return Err("the service hung up".into());
        }
        length += read;
        let Some(head) = buffer[..length].windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let text = std::str::from_utf8(&buffer[..head])?;
        if !text.starts_with("HTTP/1.1 200") {
            return Err(text.to_owned().into());
        }
        let named = text.lines().find_map(|line| line.strip_prefix("content-length: "));
        let body: usize = named.ok_or("an answer without a length")?.parse()?;
        if length >= head + 4 + body {
            return Ok(());
        }
    }
}
