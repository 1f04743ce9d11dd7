//! Speed of the service with a hundred thousand devices.
//!
//! The tool that asks and the service that answers share the processors, and a
//! handler that answers the same bytes without looking anything up runs beside
//! it, so that what the framework costs is seen. Prints tables; `load FILE`
//! writes the figures to a file as well.
mod acting;
mod client;
mod fill;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get as getting;
use mimalloc::MiMalloc;
use serde_json::json;
use slackwater_http::router;
use slackwater_service::config::Config;
use tokio::time::interval;

use crate::acting::act;
use crate::client::{get, listen, measure, send};
use crate::fill::{DEVICES_EACH, USERS, chargers, load};

const READERS: usize = 64;
const WRITERS: usize = 32;
const SPAN: Duration = Duration::from_secs(5);
/// After so many of these a service is idle: what its start needed is given back.
const IDLE_SPANS: usize = 3;

/// That of the service as a process.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// A failure, in words.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let mut config = Config::default();
    config.store.url = format!("sqlite:{}", folder.path().join("load.db").display()).parse()?;
    let (token, ids) = chargers(&config).await?;

    let start = Instant::now();
    let app = load(&config).await?;
    let start_s = start.elapsed().as_secs_f64();
    let service = listen(router(app)).await?;
    let bare = listen(Router::new().route("/", getting(async || "x".repeat(1_300)))).await?;

    let one: Vec<String> = ids.iter().map(|id| get(&format!("/chargers/{id}"), &token)).collect();
    let page = [get("/chargers?pageSize=50", &token)];
    let amps = json!({ "maxCurrent": 10 });
    let limit = |id| send("POST", &format!("/chargers/{id}/max-current"), &token, &amps);
    let limits: Vec<String> = ids.iter().map(limit).collect();
    println!("| what | requests/s | median | p99 |\n| --- | --- | --- | --- |");
    let mut requests = Vec::new();
    for (name, address, wanted, connections) in [
        ("bare handler", bare, &[get("/", "")][..], READERS),
        ("GET one charger", service, &one, READERS),
        ("a page of 50", service, &page, READERS),
        ("POST max-current", service, &limits, WRITERS),
    ] {
        let run = measure(address, wanted, (connections, SPAN)).await?;
        requests.push(run.tell(name));
    }
    let devices = USERS * DEVICES_EACH;
    println!("\nStart with {devices} devices: {start_s:.2} s.");
    let idle_mb = idle_mb(folder.path()).await?;
    println!("Memory of an idle service with twenty homes: {idle_mb:.1} MB.");
    config.store.url = format!("sqlite:{}", folder.path().join("act.db").display()).parse()?;
    let acting = act(config).await?;
    if let Some(file) = std::env::args().nth(1) {
        let all = json!({
            "requests": requests, "devices": devices, "start_s": start_s, "idle_mb": idle_mb,
            "acting": acting,
        });
        std::fs::write(file, serde_json::to_string_pretty(&all)?)?;
    }
    Ok(())
}

/// Memory of a process that serves the street and that nobody asks, as the system
/// counts it some seconds after its start, in MB.
async fn idle_mb(folder: &Path) -> Result<f64, Failure> {
    let here = std::env::current_exe()?;
    let built = here.parent().and_then(Path::parent).ok_or("this program has no folder")?;
    let store = format!("sqlite:{}", folder.join("idle.db").display());
    let mut service = Command::new(built.join("slackwater-api"))
        .args(["serve", "--listen", "127.0.0.1:0", "--scenario", "street", "--log", "warn"])
        .env("SLACKWATER_STORE__URL", store)
        .spawn()?;
    let mut spans = interval(SPAN);
    for _ in 0..=IDLE_SPANS {
        spans.tick().await;
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", service.id()));
    service.kill()?;
    service.wait()?;
    let status = status?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes * 1024.0 / 1e6)
}
