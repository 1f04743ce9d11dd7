//! How long new prices take to reach the plans of a large area.
//!
//! `cargo run --release -p slackwater-api --example area -- [devices]` links so
//! many chargers in one area, changes its prices, and prints the time until
//! the last plan is kept, and how long other writers waited meanwhile.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_api::auth::client::{Client, Environment};
use slackwater_api::clock::Clock;
use slackwater_api::config::Config;
use slackwater_api::linking::{NewAccount, NewDevice, NewUser, connect};
use slackwater_api::plans::area::work;
use slackwater_api::plans::pricing::{PriceBook, Priced, Purpose};
use slackwater_api::state::{App, Urls};
use slackwater_api::store::clients::{self, ClientRow};
use slackwater_api::store::database::{Store, StoreError};
use slackwater_api::store::devices::{self, DeviceState};
use slackwater_api::store::jobs;
use slackwater_api::store::locations::{Location, LocationFacts};
use slackwater_api::store::policies::{self, SmartPolicy};
use slackwater_api::vendor::integration::Connection;
use slackwater_api::vendor::profile::VendorCode;
use slackwater_api::vendor::reading::Reading;
use slackwater_engine::device::scope::DeviceKind;
use slackwater_engine::policy::charger::ChargerPolicy;
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::prices::resolve::{Sources, resolve};
use slackwater_engine::units::per_kwh;
use slackwater_engine::version::dated::ApiVersion;
use uuid::Uuid;

/// Users that are linked in one change.
const CHUNK: usize = 1_000;

/// Two days of quarter hours, which go up and down.
#[derive(Debug)]
struct Waves;

impl PriceBook for Waves {
    fn resolved(
        &self,
        _: &App,
        _: &Location,
        _: Purpose,
        (from, to): (DateTime<Utc>, DateTime<Utc>),
    ) -> Priced {
        let slot = |quarter: i32| Slot {
            start: from + TimeDelta::minutes(15) * quarter,
            end: from + TimeDelta::minutes(15) * (quarter + 1),
            price: per_kwh(f64::from((quarter * 37) % 96) / 100.0),
        };
        let slots: Vec<Slot> = (0..192).map(slot).collect();
        let curve = PriceCurve::new(&slots).expect("quarters follow each other");
        let market = Sources { market: Some(&curve), ..Sources::default() };
        Priced { prices: resolve(market, from, to), currency: "NOK".to_owned() }
    }

    fn alike(&self, _: &App, location: &Location) -> Option<String> {
        location.facts.area_id.clone()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args().nth(1).map_or(Ok(100_000), |text| text.parse())?;
    let folder = std::env::temp_dir().join(format!("slackwater-area-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut config = Config::default();
    config.store.url = format!("sqlite:{}", folder.join("area.db").display()).parse()?;
    let store = Store::open(&config.store.url).await?;
    let urls = Urls { base: String::new(), auth: String::new(), link: String::new() };
    let clock = Clock::fixed("2026-01-05T18:20:00Z".parse()?);
    let app = App::load(config, store, (Environment::Sandbox, clock, urls)).await?;
    app.planner().set_prices(Arc::new(Waves));
    let started = Instant::now();
    populate(&app, count).await?;
    println!("{count} chargers linked in {:.1} s", started.elapsed().as_secs_f64());
    for round in 1..=3 {
        follow(&app, round).await?;
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Asks for new plans, as new prices do, and waits until all are kept.
async fn follow(app: &App, round: u32) -> Result<(), StoreError> {
    let is_done = Arc::new(AtomicBool::new(false));
    let others = tokio::spawn(others(app.clone(), Arc::clone(&is_done)));
    let started = Instant::now();
    let mut change = app.store().begin().await?;
    jobs::ask(change.connection(), ("area", "NO1", "north"), app.now()).await?;
    change.commit(|| ()).await?;
    let planned = work(app).await?.unwrap_or_default();
    let took = started.elapsed();
    is_done.store(true, Ordering::Relaxed);
    let mut waits = others.await.unwrap_or_default();
    waits.sort_by(f64::total_cmp);
    let p99 = waits.get(waits.len() * 99 / 100).copied().unwrap_or_default();
    println!(
        "round {round}: {planned} plans in {:.2} s; {} other writes, p99 {:.0} ms",
        took.as_secs_f64(),
        waits.len(),
        p99 * 1e3,
    );
    Ok(())
}

/// Another client that writes, one write after the other. How long each took.
async fn others(app: App, is_done: Arc<AtomicBool>) -> Vec<f64> {
    let mut waits = Vec::new();
    let id = Uuid::from_u128(1);
    while !is_done.load(Ordering::Relaxed) {
        let started = Instant::now();
        let written = async {
            let mut change = app.store().begin().await?;
            devices::keep_state(change.connection(), id, &DeviceState::default()).await?;
            change.commit(|| ()).await
        };
        if written.await.is_ok() {
            waits.push(started.elapsed().as_secs_f64());
        }
    }
    waits
}

/// A client with so many users, each with a place in the area and a charger
/// under smart charging into which a car is plugged.
async fn populate(app: &App, count: usize) -> Result<(), Box<dyn std::error::Error>> {
    let client = Client {
        id: "area".to_owned(),
        environment: Environment::Sandbox,
        name: "area".to_owned(),
        version: ApiVersion::LATEST,
        created_at: app.now(),
    };
    clients::insert(app.store(), &ClientRow { client, secret_hash: String::new() }).await?;
    let reading: Arc<Reading> = Arc::new(serde_json::from_str(READING)?);
    let state = DeviceState { heard_at: None, is_reachable: Some(true), reading: Some(reading) };
    for first in (0..count).step_by(CHUNK) {
        let numbers = first..(first + CHUNK).min(count);
        let users = numbers.clone().map(user).collect::<Result<Vec<NewUser>, _>>()?;
        let ids = connect(app, "area", users).await?;
        let mut change = app.store().begin().await?;
        let mut kept = Vec::with_capacity(ids.len());
        for (number, id) in numbers.zip(ids) {
            let policy = SmartPolicy::Charger(policy(number)?);
            policies::keep_smart(change.connection(), id, &policy).await?;
            kept.push((id, policy));
        }
        let show = || {
            app.cache().write(|tables| {
                for (id, policy) in kept {
                    tables.change_device(id, |device| device.state = state.clone());
                    tables.plans.keep_smart(id, policy);
                }
            });
        };
        change.commit(show).await?;
    }
    Ok(())
}

fn user(number: usize) -> Result<NewUser, Box<dyn std::error::Error>> {
    let user_id = format!("user-{number}");
    let place = Uuid::new_v4();
    let facts = LocationFacts {
        time_zone: Some(chrono_tz::Europe::Oslo),
        position: None,
        zone_id: Some("NO1".to_owned()),
        area_id: Some("north".to_owned()),
    };
    let device = NewDevice {
        id: None,
        vendor_device: format!("charger-{number}"),
        kind: DeviceKind::Charger,
        scopes: DeviceKind::Charger.permissions().iter().copied().collect(),
        location: Some(place),
    };
    let account = NewAccount {
        vendor: VendorCode::parse("FJORD")?,
        connection: Connection::new("secret"),
        devices: vec![device],
    };
    let location =
        Location { id: place, client_id: "area".to_owned(), user_id: user_id.clone(), facts };
    Ok(NewUser { id: user_id, accounts: vec![account], locations: vec![location] })
}

/// Hours and deadlines that differ.
fn policy(number: usize) -> Result<ChargerPolicy, serde_json::Error> {
    let (hours, deadline) = (1 + number % 5, 4 + number % 6);
    let text = format!(
        r#"{{"is_enabled": true, "deadline": "{deadline:02}:30", "charging_duration": "{hours:02}:15"}}"#
    );
    serde_json::from_str(&text)
}

const READING: &str = r#"{
    "at": "2026-01-05T17:58:00Z", "is_reachable": true, "capabilities": {}, "counters": null,
    "facts": { "charger": {
        "information": { "brand": "Heath", "model": "Wall", "display_name": null, "year": null,
            "serial_number": null, "image_url": null },
        "charging": { "power_state": "stopped", "is_plugged_in": true, "is_charging": false,
            "is_fully_charged": null, "charge_rate_kw": null,
            "charge_time_remaining_minutes": null, "charge_rate_limit_kw": 11.0,
            "last_updated": "2026-01-05T17:57:00Z" },
        "max_current_amps": 16.0, "plugged_into": null
    } }
}"#;
