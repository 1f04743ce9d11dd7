//! Statistics of users, from recorded energy.
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use slackwater_control::device::scope::DeviceKind;
use slackwater_engine::statistics::sample::Sample;
use slackwater_engine::units::{kw, per_kwh};
use slackwater_http::auth::gate::SERVICE_USER_ID;
use slackwater_http::version::SERVICE_VERSION;
use slackwater_sandbox::handle::Sandbox;
use slackwater_sandbox::scenario::Scenario;
use slackwater_server::admin;
use slackwater_server::seeding::residents::SandboxSeeder;
use slackwater_server::seeding::samples::Keep;
use slackwater_service::config::{Budget, RateLimitClass};
use slackwater_service::jobs::poller;
use slackwater_store::samples::{Measured, OnConflict, insert_samples};
use tokio::time::{Duration, timeout};
use tower::ServiceExt;
use uuid::Uuid;

use crate::answer::Answer;
use crate::harness::{Asker, LATEST, OLDEST, On, Stage};

/// A home with all kinds of device, and what was recorded of them on 4 January.
const HOME: &str = r#"
zones: [{id: NO1, currency: NOK}]
tariffs: [{id: flat, rates: [{name: all, cost: "0.5"}]}]
users: [{id: ada}, {id: bea}]
vendors: [{code: VOLTBOX, display_name: Voltbox, kinds: [charger, vehicle, hvac, inverter]}]
locations:
  - {id: home, user: ada, time_zone: Europe/Oslo, latitude: 59, longitude: 10, zone: NO1,
     tariff: {tariff: flat, intervals: [{name: all}]}}
  - {id: cabin, user: ada, time_zone: Europe/Oslo, latitude: 61, longitude: 10}
  - {id: other, user: bea, time_zone: UTC, latitude: 50, longitude: 10}
chargers:
  - {id: box, user: ada, vendor: VOLTBOX, location: home}
  - {id: far-box, user: ada, vendor: VOLTBOX, location: cabin}
inverters:
  - {id: roof, user: ada, vendor: VOLTBOX, location: home, peak_kw: 8}
samples:
  - {device: box, start: 2026-01-04T02:00:00Z, step_minutes: 60, power_kw: [8],
     price_per_kwh: [0.1], non_smart_kw: [0]}
  - {device: box, start: 2026-01-04T22:30:00Z, step_minutes: 60, power_kw: [4]}
  - {device: far-box, start: 2026-01-04T10:00:00Z, step_minutes: 30, power_kw: [2, null]}
  - {device: roof, start: 2026-01-04T11:00:00Z, step_minutes: 60, power_kw: [4],
     price_per_kwh: [-0.05]}
"#;

/// A home in the sandbox of a service.
struct Home {
    stage: Stage,
    asker: Asker,
    residents: SandboxSeeder,
}

async fn home(on: On, change: impl FnOnce(&mut slackwater_service::config::Config)) -> Home {
    let stage = Stage::with(on, |config| {
        let query = &mut config.statistics.query;
        query.start = Some("from".to_owned());
        query.entity = Some("device".to_owned());
        query.location = Some("place".to_owned());
        change(config);
    })
    .await;
    let asker = stage.client("a").await;
    let scenario = Scenario::parse(HOME).unwrap();
    let sandbox = Sandbox::new(&scenario, stage.app.clock().clone());
    let (client_id, first_id): (Arc<str>, Arc<str>) =
        (asker.id.as_str().into(), asker.id.as_str().into());
    let residents = SandboxSeeder { app: stage.app.clone(), sandbox, client_id, first_id };
    residents.apply_scenario(&scenario, &asker.id, Keep::New).await.unwrap();
    Home { stage, asker, residents }
}

impl Home {
    fn id(&self, name: &str) -> Uuid {
        self.residents.id(name, &self.asker.id)
    }

    async fn charging(&self, query: &str) -> Answer {
        self.asker.get(&format!("/users/ada/statistics/charging?{query}")).await
    }

    async fn charged(&self, query: &str) -> Vec<(String, f64, f64)> {
        let answer = self.charging(query).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let items = answer.body.as_array().unwrap().clone();
        let item = |item: &Value| {
            let date = item["date"].as_str().unwrap().to_owned();
            (date, item["kwhSum"].as_f64().unwrap(), item["costSum"].as_f64().unwrap())
        };
        items.iter().map(item).collect()
    }

    async fn pull(&self, path: &str, body: &str) -> u16 {
        let worlds = [self.stage.app.clone()];
        let router = admin::routes::router(&worlds, Some(self.residents.clone()));
        let request = Request::builder().method(Method::POST).uri(path);
        let request = request.header("content-type", "application/json");
        let answer = router.oneshot(request.body(Body::from(body.to_owned())).unwrap()).await;
        let (head, body) = answer.unwrap().into_parts();
        to_bytes(body, usize::MAX).await.unwrap();
        head.status.as_u16()
    }
}

fn spread(min: f64, max: f64, mean: f64) -> Value {
    json!({ "min": min, "max": max, "mean": mean })
}

#[tokio::test]
async fn a_bucket_says_what_was_charged() {
    for on in [On::Sqlite, On::Postgres] {
        let home = home(on, |_| ()).await;
        let path = format!("type=charger&resolution=HOUR&device={}", home.id("box"));
        let all = home.charging(&path).await.body;
        let first = json!({
            "kw": spread(8.0, 8.0, 8.0), "kwhSum": 8.0, "price": spread(0.1, 0.1, 0.1),
            "nonSmartPrice": null, "costSum": 0.8, "estimatedSavings": -0.8,
            "date": "2026-01-04T02:00:00Z",
        });
        assert_eq!(all[0], first);
        // TAR-10: the tariff of the location, all week; in half an hour of each of two hours.
        let second = json!({
            "kw": spread(4.0, 4.0, 4.0), "kwhSum": 2.0, "price": spread(0.5, 0.5, 0.5),
            "nonSmartPrice": null, "costSum": 1.0, "estimatedSavings": null,
            "date": "2026-01-04T22:00:00Z",
        });
        assert_eq!(all[1], second);
        assert_eq!(all.as_array().unwrap().len(), 3);
        let home = Home { stage: home.stage.restarted().await, ..home };
        let asker = home.stage.again(&home.asker);
        let path = format!("/users/ada/statistics/charging?{path}");
        assert_eq!(asker.get(&path).await.body, all);
    }
}

#[tokio::test]
async fn the_oldest_version_has_its_own_paths() {
    let home = home(On::Sqlite, |_| ()).await;
    let old = async |path: &str| home.asker.get_about("ada", path).await;
    let series = old("/statistics/charging?type=charger&resolution=DAY").await;
    assert_eq!(series.status, 200, "{}", series.body);
    let expected = ["costSum", "date", "kw", "kwhSum", "nonSmartCostSum", "nonSmartPrice", "price"];
    assert_eq!(Answer::keys(&series.body[0]), expected);
    let session = old("/statistics/charging/sessions?type=charger").await;
    let expected = [
        "chargingLocationId",
        "costSum",
        "from",
        "id",
        "kw",
        "kwhSum",
        "price",
        "smartSession",
        "smartStats",
        "targetId",
        "to",
    ];
    assert_eq!(Answer::keys(&session.body[0]), expected);
    let solar = old("/statistics/production?type=inverter&resolution=DAY").await;
    assert_eq!((solar.status, solar.body.as_array().unwrap().len()), (200, 1));
    for version in ["2023-08-01", "2024-01-01", LATEST] {
        let path = "/statistics/charging?type=charger&resolution=DAY";
        let gone = home.asker.get_in(version, path).await;
        assert_eq!((gone.status, gone.title()), (404, "Not Found"), "{version}");
        let series = home.asker.get_in(version, &format!("/users/ada{path}")).await;
        let expected =
            ["costSum", "date", "estimatedSavings", "kw", "kwhSum", "nonSmartPrice", "price"];
        assert_eq!(Answer::keys(&series.body[0]), expected, "{version}");
    }
    let early = old("/users/ada/statistics/charging?type=charger&resolution=DAY").await;
    assert_eq!((early.status, early.title()), (404, "Not Found"));
    let headers = [(SERVICE_VERSION, OLDEST)];
    let nobody = home.asker.ask(Method::GET, "/statistics/charging", None, &headers).await;
    assert_eq!(nobody.status, 400);
}

#[tokio::test]
async fn sessions_in_each_version() {
    let home = home(On::Postgres, |_| ()).await;
    let path = "/statistics/charging/sessions?type=charger";
    let all = home.asker.get(&format!("/users/ada{path}")).await.body;
    assert_eq!(all.as_array().unwrap().len(), 3);
    let smart = &all[0];
    assert_eq!(smart["targetId"], json!(home.id("box")));
    assert_eq!(smart["chargingLocationId"], json!(home.id("home")));
    assert_eq!(
        (&smart["from"], &smart["to"]),
        (&json!("2026-01-04T02:00:00Z"), &json!("2026-01-04T03:00:00Z"))
    );
    assert_eq!((&smart["kwhSum"], &smart["estimatedSavings"]), (&json!(8.0), &json!(-0.8)));
    assert!(smart.get("smartSession").is_none());
    // A vehicle without smart charging; nothing was measured in its second half hour.
    let plain = &all[1];
    assert_eq!((&plain["to"], &plain["price"]), (&json!("2026-01-04T10:30:00Z"), &Value::Null));
    assert_eq!((&plain["estimatedSavings"], &plain["nonSmartPrice"]), (&Value::Null, &Value::Null));
    let old = home.asker.get_about("ada", path).await.body;
    let nothing =
        json!({ "nonSmartPrice": null, "nonSmartCostSum": null, "estimatedSavings": null });
    assert_eq!((&old[1]["smartSession"], &old[1]["smartStats"]), (&json!(false), &nothing));
    assert_eq!(old[0]["smartSession"], json!(true));
    assert_eq!(old[0]["smartStats"]["nonSmartCostSum"], json!(0.0));
    // STA-12: a range, an entity and a location; no resolution.
    let count = async |query: &str| {
        let path = format!("/users/ada{path}&{query}");
        home.asker.get(&path).await.body.as_array().unwrap().len()
    };
    assert_eq!(count("endDate=2026-01-04T10:00:00Z").await, 1);
    assert_eq!(count("from=2026-01-04T10:00:00Z").await, 2);
    assert_eq!(count(&format!("device={}", home.id("far-box"))).await, 1);
    assert_eq!(count(&format!("place={}", home.id("home"))).await, 2);
}

#[tokio::test]
async fn filters_ranges_and_kinds() {
    let home = home(On::Sqlite, |_| ()).await;
    let day = async |query: &str| {
        let all = home.charged(&format!("type=charger&resolution=DAY&{query}")).await;
        all.into_iter().map(|(date, kwh, _)| (date[..10].to_owned(), kwh)).collect::<Vec<_>>()
    };
    let days = |days: &[(&str, f64)]| -> Vec<(String, f64)> {
        days.iter().map(|(day, kwh)| ((*day).to_owned(), *kwh)).collect()
    };
    assert_eq!(day("").await, days(&[("2026-01-04", 13.0)]));
    assert_eq!(day(&format!("device={}", home.id("far-box"))).await, days(&[("2026-01-04", 1.0)]));
    assert_eq!(day(&format!("place={}", home.id("cabin"))).await, days(&[("2026-01-04", 1.0)]));
    assert_eq!(day(&format!("device={}", Uuid::new_v4())).await, []);
    // Half open, cut in proportion to time.
    assert_eq!(
        day("from=2026-01-04T02:15:00Z&endDate=2026-01-04T02:45:00Z").await,
        days(&[("2026-01-04", 4.0)])
    );
    assert_eq!(day("from=2026-01-05&endDate=2026-01-06").await, []);
    assert_eq!(
        day("from=2026-01-04&endDate=2026-01-04T23:00:00Z").await,
        days(&[("2026-01-04", 11.0)])
    );
    assert_eq!(day("from=2026-01-05&endDate=2026-01-05").await, []);
    for word in ["QUARTER_HOUR", "HALF_HOUR", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"] {
        let all = home.charged(&format!("type=charger&resolution={word}")).await;
        // STA-39: energy is conserved.
        let sum: f64 = all.iter().map(|(_, kwh, _)| kwh).sum();
        assert!((sum - 13.0).abs() < 1e-9, "{word}: {sum}");
    }
    let week = home.charged("type=charger&resolution=WEEK").await;
    assert_eq!(week.iter().map(|(date, ..)| &date[..10]).collect::<Vec<_>>(), ["2025-12-29"]);
    let solar = "/users/ada/statistics/production?type=inverter&resolution=HOUR";
    let expected = json!([{
        "kw": spread(4.0, 4.0, 4.0), "kwhSum": 4.0, "price": spread(-0.05, -0.05, -0.05),
        "earningsSum": -0.2, "date": "2026-01-04T11:00:00Z",
    }]);
    // STA-26: production has a shape of its own.
    assert_eq!(home.asker.get(solar).await.body, expected);
}

#[tokio::test]
async fn offsets_shift_labels() {
    let home = home(On::Sqlite, |_| ()).await;
    let labels = async |version: &str, query: &str| {
        let path = format!("/users/ada/statistics/charging?type=charger&{query}");
        let answer = home.asker.get_in(version, &path).await;
        let items = answer.body.as_array().cloned().unwrap_or_default();
        let dates = items.iter().map(|item| item["date"].as_str().unwrap().to_owned());
        (answer.status, dates.collect::<Vec<_>>())
    };
    let day = |day: &str| format!("{day}T00:00:00Z");
    let device = format!("device={}&resolution=DAY", home.id("box"));
    // 22:30 to 23:30 is on two days, an hour ahead.
    let (_, shifted) = labels(LATEST, &format!("{device}&utcOffset=1")).await;
    assert_eq!(shifted, [day("2026-01-04"), day("2026-01-05")]);
    let (_, shifted) = labels(LATEST, &format!("{device}&utcOffset=-3")).await;
    assert_eq!(shifted, [day("2026-01-03"), day("2026-01-04")]);
    let hour = format!("device={}&resolution=HOUR&utcOffset=-3.5", home.id("far-box"));
    assert_eq!(labels(LATEST, &hour).await.1, ["2026-01-04T06:00:00Z"]);
    for offset in ["14.5", "-14.001", "abc", "NaN", "1e999", "inf", ""] {
        let refused = labels(LATEST, &format!("resolution=DAY&utcOffset={offset}")).await;
        assert_eq!(refused.0, 400, "{offset}");
    }
    // STA-28, LIM-08: the range is one of the latest version.
    assert_eq!(labels("2024-01-01", "resolution=DAY&utcOffset=14.5").await.0, 200);
    // STA-41: a number is needed in all.
    assert_eq!(labels("2023-08-01", "resolution=DAY&utcOffset=NaN").await.0, 400);
}

#[tokio::test]
async fn what_makes_no_sense_is_named() {
    let home = home(On::Sqlite, |_| ()).await;
    let refusals = [
        ("charging?resolution=DAY", "/type: is required"),
        (
            "charging?type=charger",
            "/resolution: is required; one of QUARTER_HOUR, HALF_HOUR, HOUR, DAY, WEEK, MONTH, YEAR",
        ),
        (
            "charging?type=charger&resolution=MINUTE",
            "/resolution: expected QUARTER_HOUR, HALF_HOUR",
        ),
        // AMB-87: as printed.
        ("charging?type=charger&resolution=day", "/resolution: expected QUARTER_HOUR, HALF_HOUR"),
        ("charging?type=charger&resolution=Day", "/resolution: expected QUARTER_HOUR, HALF_HOUR"),
        ("charging?type=inverter&resolution=DAY", "/type: expected vehicle, charger, hvac"),
        ("production?type=vehicle&resolution=DAY", "/type: expected inverter"),
        ("charging?type=charger&resolution=DAY&endDate=soon", "/endDate: expected a date"),
        (
            "charging?type=charger&resolution=DAY&from=2026-01-05&endDate=2026-01-04",
            "/from: start is",
        ),
        ("charging?type=charger&resolution=DAY&device=box", "/device: expected a UUID"),
        ("charging/sessions?type=meter", "/type: expected vehicle, charger, hvac"),
    ];
    for (path, issue) in refusals {
        let answer = home.asker.get(&format!("/users/ada/statistics/{path}")).await;
        assert_eq!((answer.status, answer.title()), (400, "Bad request"), "{path}");
        let first = answer.body["issues"][0].as_str().unwrap();
        assert!(first.starts_with(issue), "{path}: {first}");
    }
    // Names that the operator has not given mean nothing.
    let plain = Stage::new().await;
    let asker = plain.client("p").await;
    plain.place(&asker, "u", None).await;
    let path = "/users/u/statistics/charging?type=charger&resolution=DAY&from=x&startDate=x";
    assert_eq!(asker.get(path).await.body, json!([]));
}

#[tokio::test]
async fn others_users_are_unknown_and_budgets_are_kept() {
    let home = home(On::Sqlite, |config| {
        let budget = |requests| Budget { requests, seconds: 60 };
        config.limits.budgets.insert(RateLimitClass::Statistics, budget(3));
        config.limits.budgets.insert(RateLimitClass::StatisticsOfUser, budget(2));
    })
    .await;
    let other = home.stage.client("b").await;
    let path = "/users/ada/statistics/charging?type=charger&resolution=DAY";
    let foreign = other.get(path).await;
    let unknown = other.get(&path.replace("ada", "nobody")).await;
    assert_eq!((foreign.status, &foreign.body), (404, &unknown.body));
    let mut statuses = Vec::new();
    for user in ["ada", "ada", "ada", "bea", "bea"] {
        statuses.push(home.asker.get(&path.replace("ada", user)).await.status);
    }
    assert_eq!(statuses, [200, 200, 429, 429, 429]);
    let limited = home.asker.get(path).await;
    assert_eq!(limited.title(), "Rate Limited");
    let wait: u32 = limited.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait));
    let header = [(SERVICE_USER_ID, "ada")];
    assert_eq!(home.asker.ask(Method::GET, path, None, &header).await.status, 400);
}

#[tokio::test]
async fn statistics_reach_back_four_years_and_no_more() {
    let home = home(On::Sqlite, |_| ()).await;
    let now = home.stage.app.now();
    let measured = Measured {
        device_id: home.id("box"),
        client_id: home.asker.id.clone(),
        user_id: "ada".to_owned(),
        kind: DeviceKind::Vehicle,
        location_id: None,
    };
    let quarter = TimeDelta::minutes(15);
    let quarters = 4 * 366 * 96;
    let sample = |index: i32| Sample {
        start: now - quarter * (index + 1),
        end: now - quarter * index,
        power: Some(kw(f64::from(index % 50) / 7.0)),
        price: Some(per_kwh(f64::from(index % 24) / 100.0)),
        non_smart: Some(kw(0.0)),
    };
    let samples: Vec<Sample> = (0..quarters).rev().map(sample).collect();
    let mut change = home.stage.app.store().begin().await.unwrap();
    insert_samples(change.connection(), &measured, None, &samples, OnConflict::Join).await.unwrap();
    change.commit(|| ()).await.unwrap();
    let before = std::time::Instant::now();
    let answer = home.charging("type=vehicle&resolution=QUARTER_HOUR").await;
    println!("four years of quarters: {} ms", before.elapsed().as_millis());
    let items = answer.body.as_array().unwrap();
    let first: DateTime<Utc> = items[0]["date"].as_str().unwrap().parse().unwrap();
    assert_eq!(first.to_rfc3339(), "2022-01-05T18:00:00+00:00");
    let days = (now - first).num_days();
    assert_eq!(items.len() as i64, days * 96);
}

#[tokio::test]
async fn samples_of_a_patch_take_the_place_of_what_was_there() {
    let home = home(On::Sqlite, |_| ()).await;
    let box_ = format!("type=charger&resolution=YEAR&device={}", home.id("box"));
    assert_eq!(home.charged(&box_).await[0].1.to_string(), "12");
    let patch = "samples:\n  - {device: box, start: 2026-01-04T02:00:00Z, step_minutes: 60, \
        power_kw: [1], price_per_kwh: [2]}\n";
    assert_eq!(home.pull("/sandbox/scenario", patch).await, 200);
    let all = home.charged(&box_).await;
    assert_eq!((all[0].1, all[0].2), (5.0, 4.0));
    // What a client has put since is not undone by a start with the same scenario.
    let rates = json!([{ "name": "all", "cost": "9" }]);
    assert_eq!(home.asker.put("/tariffs/flat", &rates).await.status, 204);
    home.residents
        .apply_scenario(&Scenario::parse(HOME).unwrap(), &home.asker.id, Keep::New)
        .await
        .unwrap();
    let cost = |app: &slackwater_service::state::App| {
        app.prices().read(|book| book.tariff(&home.asker.id, "flat").unwrap().rates[0].cost.clone())
    };
    assert_eq!(cost(&home.stage.app), "9");
    assert_eq!(home.charged(&box_).await, all);
    let patch = "tariffs: [{id: flat, rates: [{name: all, cost: \"7\"}]}]\n";
    assert_eq!(home.pull("/sandbox/scenario", patch).await, 200);
    assert_eq!(cost(&home.stage.app), "7");
}

/// Smart charging policy for the small hours.
fn night_policy() -> Value {
    json!({ "isEnabled": true, "deadline": "07:00", "chargingDuration": "02:00" })
}

/// Hours at a charger under a policy, and whatever else a test has it under:
/// what polls find is what the simulated meter counted, with the tariff's price.
/// Returns the session.
async fn polled(on: On, policy: &Value, also: impl AsyncFnOnce(&Home)) -> Value {
    let mut home = home(on, |_| ()).await;
    let app = home.stage.app.clone();
    let change = "vehicles: [{id: car, user: ada, vendor: VOLTBOX, location: home, charger: box, \
        capacity_kwh: 60, soc_percent: 20, is_plugged_in: true, charges_on_plug_in: true}]\n";
    assert_eq!(home.pull("/sandbox/scenario", change).await, 200);
    let polls = tokio::spawn(poller::run(app.clone()));
    let start = app.now();
    let step = async |minutes: i64| {
        app.clock().step(TimeDelta::minutes(minutes)).unwrap();
        timeout(Duration::from_mins(1), app.poller().idle(app.now())).await.unwrap();
    };
    step(0).await;
    let path = format!("/chargers/{}/smart-charging-policy", home.id("box"));
    assert_eq!(home.asker.put(&path, policy).await.status, 200);
    also(&home).await;
    for _ in 0..12 {
        step(15).await;
    }
    let until = start + TimeDelta::minutes(15 * 11);
    home.asker = home.stage.renewed(&home.asker).await;
    let metered = home.residents.sandbox.metered("box", start, until);
    let truth: f64 = metered.iter().map(|metered| metered.imported.as_kwh()).sum();
    assert!(truth > 1.0, "{truth}");
    let (from, end) = (start.to_rfc3339(), until.to_rfc3339());
    let query =
        format!("from={from}&endDate={end}&type=charger&resolution=DAY").replace('+', "%2B");
    let query = format!("{query}&device={}", home.id("box"));
    let all = home.charged(&query).await;
    assert!((all[0].1 - truth).abs() < 1e-6, "{all:?} {truth}");
    assert!((all[0].2 - truth * 0.5).abs() < 1e-6, "{all:?}");
    let path = format!("/users/ada/statistics/charging/sessions?{query}");
    assert_eq!(home.asker.get(&path).await.body, json!([]), "it has not ended");

    let order = json!({ "device": "car", "hand": "unplug" }).to_string();
    assert_eq!(home.pull("/sandbox/hand", &order).await, 200);
    for _ in 0..3 {
        step(15).await;
    }
    let sessions = home.asker.get(&path).await.body;
    assert_eq!(sessions.as_array().unwrap().len(), 1, "{sessions}");
    let session = sessions[0].clone();
    assert_eq!(session["chargingLocationId"], json!(home.id("home")));
    assert!(session["kwhSum"].as_f64().unwrap() >= truth - 1e-6);
    polls.abort();
    session
}

#[tokio::test]
async fn a_polled_day_is_recorded() {
    for on in [On::Sqlite, On::Postgres] {
        let session = polled(on, &night_policy(), async |_: &Home| ()).await;
        // One price all day: smart charging had a part in it, and saved nothing.
        let savings = session["estimatedSavings"].as_f64().unwrap();
        assert!(savings.abs() < 1e-6, "{savings}");
    }
}

/// A policy that is on has no part in a session if it plans nothing, or if
/// somebody else is in charge.
#[tokio::test]
async fn no_savings_where_smart_charging_did_not_control() {
    let is_null = |session: &Value| {
        assert_eq!(session["estimatedSavings"], Value::Null, "{session}");
        assert_eq!(session["nonSmartPrice"], Value::Null, "{session}");
    };
    is_null(&polled(On::Sqlite, &json!({ "isEnabled": true }), async |_: &Home| ()).await);
    let scheduled = async |home: &Home| {
        let body = json!({
            "isEnabled": true, "defaultShouldCharge": true, "rules": [],
            "targetId": home.id("box"), "targetType": "charger", "locationId": null,
        });
        assert_eq!(home.asker.post("/users/ada/schedules", Some(&body)).await.status, 200);
    };
    is_null(&polled(On::Sqlite, &night_policy(), scheduled).await);
    let overridden = async |home: &Home| {
        let path = format!("/chargers/{}/smart-override", home.id("box"));
        assert_eq!(home.asker.post(&path, None).await.status, 200);
    };
    is_null(&polled(On::Sqlite, &night_policy(), overridden).await);
}
