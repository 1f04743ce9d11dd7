//! The service while it acts: new prices, the plans that follow, statistics.
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use serde_json::{Value, json};
use slackwater_control::device::scope::DeviceKind;
use slackwater_engine::prices::currency::Currency;
use slackwater_engine::statistics::sample::Sample;
use slackwater_engine::units::{kw, per_kwh};
use slackwater_http::router;
use slackwater_service::config::Config;
use slackwater_service::config::prices::ZoneSettings;
use slackwater_service::plans::area::work;
use slackwater_service::state::App;
use slackwater_store::samples::{Measured, OnConflict, insert_samples};
use tokio::time::{MissedTickBehavior, interval};
use uuid::Uuid;

use crate::Failure;
use crate::client::{Asker, Run, get, listen, send};
use crate::fill::{self, CLIENT};

/// Values of a price signal: a year of quarter hours, of which plans take a week;
/// and the two days that are known of most markets.
const YEAR: i32 = 35_040;
const TWO_DAYS: i32 = 192;
const ROUNDS: usize = 3;

/// Measures on vehicles of an area; prints, and returns the same as a value.
pub(crate) async fn act(mut config: Config) -> Result<Value, Failure> {
    let (currency, is_activated) = (Currency::parse("NOK")?, true);
    config.zones.insert(
        "NO1".to_owned(),
        ZoneSettings { currency, is_activated, prices: None, feed: None },
    );
    let (token, ids) = fill::vehicles(&config).await?;
    let app = fill::load(&config).await?;
    let address = listen(router(app.clone())).await?;
    let samples = record(&app, ids[0]).await?;
    let is_done = Arc::new(AtomicBool::new(false));
    let path = format!("/vehicles/{}", ids[ids.len() / 2]);
    let read = beside(address, get(&path, &token), Arc::clone(&is_done));
    let rates = json!([{ "name": "all", "cost": "0.5" }]);
    let write = send("PUT", "/tariffs/other", &token, &rates);
    let write = beside(address, write, Arc::clone(&is_done));
    let (read, write) = (tokio::spawn(read), tokio::spawn(write));
    let start = Instant::now();

    let mut asker = Asker::connect(address).await?;
    let (mut puts, mut plans, mut statistics) = (Vec::new(), Vec::new(), Vec::new());
    let mut of_a_year = Vec::new();
    for round in 0..ROUNDS {
        asker.ask(&signal(&token, (round, TWO_DAYS))).await?;
        plans.push(follow(&app, ids.len()).await?);
    }
    for round in 0..ROUNDS {
        puts.push(asker.ask(&signal(&token, (round, YEAR))).await?);
        of_a_year.push(follow(&app, ids.len()).await?);
        let path = "/users/user-0/statistics/charging?type=vehicle&resolution=QUARTER_HOUR";
        statistics.push(asker.ask(&get(path, &token)).await?);
    }
    is_done.store(true, Ordering::Relaxed);
    let (read, write) = (read.await??, write.await??);
    let span = start.elapsed();
    println!("\n| beside all of this | requests/s | median | p99 |\n| --- | --- | --- | --- |");
    let (read, write) = (Run::new(read, span), Run::new(write, span));
    let beside = [read.tell("one client reads a vehicle"), write.tell("one puts a tariff")];
    let [signal_s, plans_s, week_s, statistics_s] =
        [puts, plans, of_a_year, statistics].map(median);
    println!("\nA price signal of {YEAR} values: {signal_s:.3} s.");
    println!("From the 204 of two days to the last of {} plans kept: {plans_s:.2} s.", ids.len());
    println!("The same with prices for a week ahead: {week_s:.2} s.");
    println!("Four years, {samples} quarter hours, of one vehicle: {statistics_s:.3} s.");
    Ok(json!({
        "values": YEAR, "signal_s": signal_s, "planned": ids.len(), "plans_s": plans_s,
        "plans_of_a_week_s": week_s,
        "samples": samples, "statistics_s": statistics_s, "beside": beside,
    }))
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

/// Makes the plans that follow a price signal, of all devices. Returns how long it took.
async fn follow(app: &App, devices: usize) -> Result<Duration, Failure> {
    let answered = Instant::now();
    let mut planned = 0;
    while let Some(more) = work(app).await? {
        planned += more;
    }
    if planned == devices {
        Ok(answered.elapsed())
    } else {
        Err(format!("{planned} of {devices} were planned for").into())
    }
}

/// A price signal of so many values from now on, another in each round.
fn signal(token: &str, (round, count): (usize, i32)) -> String {
    let now = Utc::now();
    let at = |quarter: i32| now + TimeDelta::minutes(15) * quarter;
    let value = |quarter: i32| {
        let cents = (quarter * 37 + 11 * round as i32) % 96;
        json!({ "at": at(quarter), "price": f64::from(cents) / 100.0 })
    };
    let values: Vec<Value> = (0..count).map(value).collect();
    let body = json!({ "currency": "NOK", "to": at(count), "values": values });
    send("PUT", "/flex/price-signals/NO1/areas/north", token, &body)
}

/// Keeps four years of what a vehicle charged. Returns how many quarter hours that are.
async fn record(app: &App, device_id: Uuid) -> Result<usize, Failure> {
    let measured = Measured {
        device_id,
        client_id: CLIENT.to_owned(),
        user_id: "user-0".to_owned(),
        kind: DeviceKind::Vehicle,
        location_id: None,
    };
    let (now, quarter) = (app.now(), TimeDelta::minutes(15));
    let sample = |index: i32| Sample {
        start: now - quarter * (index + 1),
        end: now - quarter * index,
        power: Some(kw(f64::from(index % 50) / 7.0)),
        price: Some(per_kwh(f64::from(index % 24) / 100.0)),
        non_smart: Some(kw(0.0)),
    };
    let samples: Vec<Sample> = (0..4 * 365 * 96).rev().map(sample).collect();
    let mut change = app.store().begin().await?;
    insert_samples(change.connection(), &measured, None, &samples, OnConflict::Join).await?;
    change.commit(|| ()).await?;
    Ok(samples.len())
}

/// One more client, which asks the same until all is done.
async fn beside(
    address: SocketAddr,
    request: String,
    is_done: Arc<AtomicBool>,
) -> Result<Vec<Duration>, Failure> {
    let mut asker = Asker::connect(address).await?;
    let mut times = Vec::new();
    // A client that thinks, so that the processors are not its alone.
    let mut pace = interval(Duration::from_millis(5));
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !is_done.load(Ordering::Relaxed) {
        pace.tick().await;
        times.push(asker.ask(&request).await?);
    }
    Ok(times)
}
