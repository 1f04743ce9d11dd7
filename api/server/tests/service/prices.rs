//! Price signals, tariffs and market prices.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use slackwater_control::policy::ask::Cause;
use slackwater_engine::prices::currency::Currency;
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::prices::resolve::ResolvedPrices;
use slackwater_engine::units::per_kwh;
use slackwater_server::admin;
use slackwater_service::config::prices::{PriceFile, ZoneSettings};
use slackwater_service::linking::connect::{NewUser, connect};
use slackwater_service::prices::keep::{keep_files, keep_market};
use slackwater_store::locations::{Location, LocationFacts};
use tokio::task::JoinSet;
use tower::ServiceExt;
use uuid::Uuid;

use crate::harness::{Asker, OLDEST, On, Stage};
use crate::priced::{self, charger_at, stage_with};
use slackwater_http::version::SERVICE_VERSION;

const NORTH: &str = "/flex/price-signals/NO1/areas/north";

fn nok() -> Currency {
    Currency::parse("NOK").unwrap()
}

/// A zone that takes signals, and one that does not.
async fn stage(on: On) -> Stage {
    Stage::with(on, |config| {
        let zone =
            |is_activated| ZoneSettings { currency: nok(), is_activated, prices: None, feed: None };
        config.zones.insert("NO1".to_owned(), zone(true));
        config.zones.insert("NO2".to_owned(), zone(false));
    })
    .await
}

fn at(clock: &str) -> DateTime<Utc> {
    format!("2026-01-05T{clock}:00Z").parse().unwrap()
}

fn signal(to: &str, values: &[(&str, f64)]) -> Value {
    let values: Vec<Value> =
        values.iter().map(|(clock, price)| json!({ "at": at(clock), "price": price })).collect();
    json!({ "currency": "NOK", "to": at(to), "values": values })
}

/// A place of a user in an area of the zone, in Oslo.
async fn place(stage: &Stage, asker: &Asker, area: &str) -> Location {
    let facts = LocationFacts {
        time_zone: Some(chrono_tz::Europe::Oslo),
        position: None,
        zone_id: Some("NO1".to_owned()),
        area_id: Some(area.to_owned()),
    };
    let location =
        Location { id: Uuid::new_v4(), client_id: asker.id.clone(), user_id: "u".into(), facts };
    let locations = vec![location.clone()];
    let user = NewUser { id: "u".to_owned(), accounts: Vec::new(), locations };
    connect(&stage.app, &asker.id, vec![user]).await.unwrap();
    location
}

/// Prices as `clock price source`, a line each.
fn drawn(prices: &ResolvedPrices) -> String {
    let line = |one: slackwater_engine::prices::resolve::ResolvedSlot| {
        let (start, end) = (one.slot.start.format("%H:%M"), one.slot.end.format("%H:%M"));
        format!("{start}-{end} {} {}", one.slot.price.as_per_kwh(), one.source.as_str())
    };
    prices.slots().map(line).collect::<Vec<_>>().join(", ")
}

fn seen(stage: &Stage, location: &Location) -> String {
    drawn(&stage.app.price_lookup().flex_prices(location, at("00:00"), at("12:00")))
}

fn market(hours: &[(&str, &str, f64)]) -> PriceCurve {
    let slot = |(start, end, price): &(&str, &str, f64)| Slot {
        start: at(start),
        end: at(end),
        price: per_kwh(*price),
    };
    PriceCurve::new(&hours.iter().map(slot).collect::<Vec<_>>()).unwrap()
}

pub(crate) async fn pull(
    stage: &Stage,
    method: Method,
    path: &str,
    body: &str,
) -> (StatusCode, Value) {
    let router: Router = admin::routes::router(std::slice::from_ref(&stage.app), None);
    let request = Request::builder().method(method).uri(path);
    let request = request.header("content-type", "application/json");
    let request = request.body(Body::from(body.to_owned())).unwrap();
    let (head, body) = router.oneshot(request).await.unwrap().into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    (head.status, serde_json::from_slice(&bytes).unwrap_or_default())
}

#[tokio::test]
async fn a_signal_replaces_its_window_and_outlives_a_restart() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = stage(on).await;
        let asker = stage.client("a").await;
        let home = place(&stage, &asker, "north").await;
        let day = signal("10:00", &[("01:00", 0.1), ("05:00", -0.2)]);
        let answer = asker.put(NORTH, &day).await;
        assert_eq!((answer.status, &answer.body), (204, &Value::Null));
        let part = signal("07:00", &[("03:00", 0.5)]);
        assert_eq!(asker.put(NORTH, &part).await.status, 204);
        let expected = "01:00-03:00 0.1 price_signal, 03:00-07:00 0.5 price_signal, \
            07:00-10:00 -0.2 price_signal";
        assert_eq!(seen(&stage, &home), expected);
        // FLX-09: `to` is exclusive.
        assert!(
            stage
                .app
                .price_lookup()
                .flex_prices(&home, at("10:00"), at("11:00"))
                .curve()
                .is_empty()
        );
        let stage = stage.restarted().await;
        assert_eq!(seen(&stage, &home), expected);
    }
}

#[tokio::test]
async fn areas_and_clients_are_apart() {
    let stage = stage(On::Sqlite).await;
    let (a, b) = (stage.client("a").await, stage.client("b").await);
    let north = place(&stage, &a, "north").await;
    let south = place(&stage, &a, "sør/1").await;
    let theirs = place(&stage, &b, "north").await;
    a.put(NORTH, &signal("02:00", &[("01:00", 0.1)])).await;
    let path = "/flex/price-signals/NO1/areas/s%C3%B8r%2F1";
    assert_eq!(a.put(path, &signal("02:00", &[("01:00", 0.2)])).await.status, 204);
    assert_eq!(seen(&stage, &north), "01:00-02:00 0.1 price_signal");
    assert_eq!(seen(&stage, &south), "01:00-02:00 0.2 price_signal");
    assert_eq!(seen(&stage, &theirs), "");
}

#[tokio::test]
async fn what_is_no_signal_is_refused() {
    let stage = stage(On::Sqlite).await;
    let asker = stage.client("a").await;
    let home = place(&stage, &asker, "north").await;
    let good = signal("10:00", &[("01:00", 0.1)]);
    let with = |member: &str, value: Value| {
        let mut changed = good.clone();
        changed[member] = value;
        changed
    };
    let value = |at: &str, price: Value| json!([{ "at": at, "price": price }]);
    let refusals = [
        (with("currency", json!("EURO")), "/currency: currency: \"EURO\" is no ISO 4217 currency"),
        (with("values", json!([])), "/values: values is empty"),
        (with("values", json!({})), "/values: expected an array"),
        (with("to", json!("2026-01-05T01:00:00Z")), "/to: to is"),
        (with("to", json!(null)), "/to: expected a date-time"),
        (
            with("values", value("2026-01-05T01:00:00", json!(1))),
            "/values/0/at: expected a date-time",
        ),
        (
            with("values", value("2026-01-05T01:00:00Z", json!("1"))),
            "/values/0/price: expected a number",
        ),
        (with("values", json!([{ "price": 1 }])), "/values/0/at: is required"),
        (signal("10:00", &[("02:00", 0.1), ("02:00", 0.2)]), "/values/1/at: values[1].at is"),
        (signal("10:00", &[("02:00", 0.1), ("10:00", 0.2)]), "/values/1/at: values[1].at is"),
        (json!({}), "/currency: is required"),
    ];
    for (body, issue) in refusals {
        let answer = asker.put(NORTH, &body).await;
        assert_eq!((answer.status, answer.title()), (400, "Bad request"), "{body}");
        let first = answer.body["issues"][0].as_str().unwrap();
        assert!(first.starts_with(issue), "{body}: {first}");
    }
    // FLX-03: the zone's money. FLX-02: an activated zone, and one that is known.
    let euros = asker.put(NORTH, &with("currency", json!("EUR"))).await;
    assert_eq!(euros.body["detail"], "currency is EUR; the prices of the zone are in NOK");
    for zone in ["NO2", "NO9"] {
        let answer = asker.put(&format!("/flex/price-signals/{zone}/areas/x"), &good).await;
        assert_eq!(
            (answer.status, &answer.body["detail"]),
            (400, &json!("the zone is not activated"))
        );
    }
    assert_eq!(seen(&stage, &home), "");
    // AMB-68: another offset is the same instant. Milliseconds are taken.
    let offset = value("2026-01-05T02:00:00.000+01:00", json!(0.3));
    assert_eq!(asker.put(NORTH, &with("values", offset)).await.status, 204);
    assert_eq!(seen(&stage, &home), "01:00-10:00 0.3 price_signal");
    // FLX-38: nothing is read back over HTTP.
    assert_eq!(asker.get(NORTH).await.status, 405);
}

#[tokio::test]
async fn writes_at_once_lose_nothing() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = stage(on).await;
        let asker = stage.client("a").await;
        let home = place(&stage, &asker, "north").await;
        let mut puts = JoinSet::new();
        for quarter in 0..48_u32 {
            let asker = asker.clone();
            puts.spawn(async move {
                let start = at("00:00") + TimeDelta::minutes(15) * quarter as i32;
                let values = json!([{ "at": start, "price": f64::from(quarter) }]);
                let to = start + TimeDelta::minutes(15);
                let body = json!({ "currency": "NOK", "to": to, "values": values });
                asker.put(NORTH, &body).await.status
            });
        }
        assert!(puts.join_all().await.iter().all(|status| *status == 204));
        let check = |stage: &Stage| {
            let prices = stage.app.price_lookup().flex_prices(&home, at("00:00"), at("12:00"));
            let all: Vec<f64> = prices.curve().prices().to_vec();
            assert_eq!(all, (0..48).map(f64::from).collect::<Vec<_>>(), "{on:?}");
        };
        check(&stage);
        check(&stage.restarted().await);
    }
}

/// Two replicas on one database: what is in memory is not what counts.
#[tokio::test]
async fn what_another_replica_wrote_is_not_lost() {
    let stage = stage(On::Postgres).await;
    let asker = stage.client("a").await;
    let home = place(&stage, &asker, "north").await;
    asker.put(NORTH, &signal("04:00", &[("00:00", 0.1)])).await;
    let other = stage.replica().await;
    let there = other.again(&asker);
    assert_eq!(there.put(NORTH, &signal("02:00", &[("01:00", 0.2)])).await.status, 204);
    assert_eq!(asker.put(NORTH, &signal("03:30", &[("03:00", 0.3)])).await.status, 204);
    let expected = "00:00-01:00 0.1 price_signal, 01:00-02:00 0.2 price_signal, \
        02:00-03:00 0.1 price_signal, 03:00-03:30 0.3 price_signal, 03:30-04:00 0.1 price_signal";
    assert_eq!(seen(&stage, &home), expected);
    assert_eq!(seen(&stage.restarted().await, &home), expected);
}

#[tokio::test]
async fn a_year_of_quarters_is_taken() {
    let stage = stage(On::Sqlite).await;
    let asker = stage.client("a").await;
    let home = place(&stage, &asker, "north").await;
    let at = |quarter: i32| at("00:00") + TimeDelta::minutes(15) * quarter;
    let values: Vec<Value> = (0..35_040)
        .map(|quarter| json!({ "at": at(quarter), "price": f64::from(quarter % 97) / 100.0 }))
        .collect();
    let body = json!({ "currency": "NOK", "to": at(35_040), "values": values });
    let before = std::time::Instant::now();
    assert_eq!(asker.put(NORTH, &body).await.status, 204);
    println!("a year of quarters: {} ms", before.elapsed().as_millis());
    let prices = stage.app.price_lookup().flex_prices(&home, at(0), at(35_040));
    assert_eq!(prices.curve().len(), 35_040);
    let stage = stage.restarted().await;
    assert_eq!(stage.app.price_lookup().flex_prices(&home, at(0), at(35_040)), prices);
}

/// Millions of faults are told in a hundred, and none of them is kept.
#[tokio::test]
async fn a_body_full_of_faults_has_a_short_answer() {
    let stage = stage(On::Sqlite).await;
    let asker = stage.client("a").await;
    let many = |item: &str, bytes: usize| vec![item; bytes / (item.len() + 1)].join(",");
    let signal = |values: &str| {
        format!(r#"{{"currency":"NOK","to":"2026-01-05T19:00:00Z","values":[{values}]}}"#)
    };
    let bodies = [
        (NORTH, signal(&many("{}", 30 << 20))),
        (NORTH, signal(&many("0", 30 << 20))),
        (NORTH, signal(&many(r#"{"at":1,"price":[]}"#, 30 << 20))),
        ("/tariffs/t", format!("[{}]", many("{}", 1 << 20))),
        ("/tariffs/t", format!("[{}]", many("[]", 1 << 20))),
    ];
    for (path, body) in bodies {
        let mut ask = crate::answer::request(Method::PUT, path, None);
        let bearer = format!("Bearer {}", asker.token).parse().unwrap();
        ask.headers_mut().insert(axum::http::header::AUTHORIZATION, bearer);
        let start: String = body.chars().take(90).collect();
        *ask.body_mut() = axum::body::Body::from(body);
        let answer = asker.send(ask).await;
        assert_eq!(answer.status, 400, "{start}");
        let issues = answer.body["issues"].as_array().unwrap();
        assert_eq!(issues.len(), 101, "{start}");
        assert_eq!(issues[100], ": and more", "{start}");
        assert_eq!(answer.body["detail"], "more than 100 fields are not valid; see `issues`");
        assert!(answer.body.to_string().len() < 16_384, "{start}");
    }
}

#[tokio::test]
async fn a_put_makes_and_replaces_a_tariff() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = stage(on).await;
        let asker = stage.client("a").await;
        let home = place(&stage, &asker, "north").await;
        let rates = |names: &[&str]| {
            let rate =
                |name: &&str| json!({ "name": name, "cost": "0.1234567890123456789012345678" });
            Value::Array(names.iter().map(rate).collect())
        };
        let answer = asker.put("/tariffs/basic", &rates(&["low", "high"])).await;
        assert_eq!((answer.status, &answer.body), (204, &Value::Null));
        let oldest = [(SERVICE_VERSION, OLDEST)];
        let put = asker.ask(Method::PUT, "/tariffs/old", Some(&rates(&["x"])), &oldest).await;
        assert_eq!(put.status, 204);
        // TAR-13, TAR-14: the schedule has no path; the later one holds.
        let path = format!("/tariffs/schedule?client={}&location={}", asker.id, home.id);
        assert_eq!(asker.put("/tariffs/basic/schedule", &json!({})).await.status, 404);
        let schedule = |name: &str, start: &str| {
            json!({ "tariff_id": "basic", "intervals": [
                { "name": name, "start": start, "end": "06:00" },
            ] })
        };
        for start in ["03:00", "04:00"] {
            let (status, body) =
                pull(&stage, Method::PUT, &path, &schedule("high", start).to_string()).await;
            assert_eq!(status, StatusCode::OK, "{body}");
        }
        // Oslo is an hour ahead: from 04:00 to 06:00 there.
        let expected = "03:00-05:00 0.12345678901234568 tariff";
        assert_eq!(
            drawn(&stage.app.price_lookup().paid_prices(&home, at("00:00"), at("12:00"))),
            expected
        );
        let stage = stage.restarted().await;
        assert_eq!(seen(&stage, &home), expected);
        // TAR-05: only what was put last is there. What named a rate that is gone is a gap.
        let asker = stage.again(&asker);
        assert_eq!(asker.put("/tariffs/basic", &rates(&["low"])).await.status, 204);
        assert_eq!(seen(&stage, &home), "");
        let (status, _) =
            pull(&stage, Method::PUT, &path, &schedule("high", "01:00").to_string()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        let nobody = path.replace("tariffs/schedule?client=client-a", "tariffs/schedule?client=x");
        let (status, _) = pull(&stage, Method::PUT, &nobody, "null").await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        let (status, _) = pull(&stage, Method::PUT, &path, "null").await;
        assert_eq!(status, StatusCode::OK);
    }
}

/// Devices of users with a place of that tariff are planned for again, no others.
#[tokio::test]
async fn plans_follow_a_tariff() {
    let (stage, _, asker) = stage_with(On::Sqlite, &[]).await;
    let mut boxes = Vec::new();
    for user in ["u", "v"] {
        let place = priced::place(&stage, &asker, user, "north").await;
        let id = charger_at(&stage, &asker, user, place).await;
        let path = format!("/chargers/{id}/smart-charging-policy");
        assert_eq!(asker.put(&path, &json!({ "isEnabled": true })).await.status, 200);
        boxes.push((place, id));
    }
    let taken = || stage.app.planner().take(stage.app.now(), 9).unwrap_or_default();
    taken();
    let rates = json!([{ "name": "all", "cost": "0.2" }]);
    assert_eq!(asker.put("/tariffs/t", &rates).await.status, 204);
    assert_eq!(taken(), [], "no place has it");
    let [(home, own), _] = boxes[..] else { panic!("two") };
    let path = format!("/tariffs/schedule?client={}&location={home}", asker.id);
    let all = r#"{"tariff_id": "t", "intervals": [{"name": "all"}]}"#;
    assert_eq!(pull(&stage, Method::PUT, &path, all).await.0, StatusCode::OK);
    assert_eq!(taken(), [(own, Cause::Prices)]);
    assert_eq!(asker.put("/tariffs/t", &rates).await.status, 204);
    assert_eq!(taken(), [(own, Cause::Prices)]);
}

#[tokio::test]
async fn what_is_no_tariff_is_refused() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let refusals = [
        (json!({ "rates": [] }), ": expected an array"),
        (json!(["low"]), "/0: expected an object"),
        (json!([{ "name": "low" }]), "/0/cost: is required"),
        (json!([{ "name": 1, "cost": "1" }]), "/0/name: expected a string"),
        (json!([{ "name": "low", "cost": 0.10 }]), "/0/cost: expected a string"),
        (json!([{ "name": "low", "cost": "0,10" }]), "/0/cost: \"0,10\" is not a decimal"),
        (json!([{ "name": "low", "cost": "abc" }]), "/0/cost: \"abc\" is not a decimal"),
        (json!([{ "name": "low", "cost": "1e3" }]), "/0/cost: \"1e3\" is not a decimal"),
        (
            json!([{ "name": "low", "cost": "1" }, { "name": "low", "cost": "2" }]),
            "/1/name: \"low\" is the name of item 0, too",
        ),
    ];
    for (body, issue) in refusals {
        let answer = asker.put("/tariffs/t", &body).await;
        assert_eq!((answer.status, answer.title()), (400, "Bad request"), "{body}");
        let first = answer.body["issues"][0].as_str().unwrap();
        assert!(first.starts_with(issue), "{body}: {first}");
    }
    for cost in ["-1", "0", "0.25"] {
        let body = json!([{ "name": "low", "cost": cost }]);
        assert_eq!(asker.put("/tariffs/t", &body).await.status, 204, "{cost}");
    }
    assert_eq!(asker.put("/tariffs/t", &json!([])).await.status, 204);
}

#[tokio::test]
async fn signal_then_tariff_then_market_then_nothing() {
    let stage = stage(On::Sqlite).await;
    let asker = stage.client("a").await;
    let home = place(&stage, &asker, "north").await;
    let hours = market(&[("01:00", "05:00", 0.3), ("06:00", "07:00", 0.4)]);
    keep_market(&stage.app, "NO1", nok(), &hours).await.unwrap();
    asker.put("/tariffs/t", &json!([{ "name": "all", "cost": "0.2" }])).await;
    let path = format!("/tariffs/schedule?client={}&location={}", asker.id, home.id);
    let schedule =
        r#"{"tariff_id": "t", "intervals": [{"name": "all", "start": "03:00", "end": "05:00"}]}"#;
    assert_eq!(pull(&stage, Method::PUT, &path, schedule).await.0, StatusCode::OK);
    asker.put(NORTH, &signal("03:30", &[("02:30", 0.1)])).await;
    // AMB-35: the signal is for Flex only.
    let expected = "01:00-02:00 0.3 market, 02:00-04:00 0.2 tariff, 04:00-05:00 0.3 market, \
        06:00-07:00 0.4 market";
    assert_eq!(
        drawn(&stage.app.price_lookup().paid_prices(&home, at("00:00"), at("12:00"))),
        expected
    );
    let expected = "01:00-02:00 0.3 market, 02:00-02:30 0.2 tariff, 02:30-03:30 0.1 price_signal, \
        03:30-04:00 0.2 tariff, 04:00-05:00 0.3 market, 06:00-07:00 0.4 market";
    assert_eq!(seen(&stage, &home), expected);

    let place = format!("client={}&location={}", asker.id, home.id);
    let price = async |query: &str| {
        let path = format!("/prices/{query}&{place}");
        pull(&stage, Method::GET, &path, "").await
    };
    let (_, body) = price("at?at=2026-01-05T02:45:00Z&flex=true").await;
    assert_eq!(body, json!({ "price_per_kwh": 0.1, "currency": "NOK", "source": "price_signal" }));
    let (_, body) = price("at?at=2026-01-05T02:45:00Z").await;
    assert_eq!(body, json!({ "price_per_kwh": 0.2, "currency": "NOK", "source": "tariff" }));
    assert_eq!(price("at?at=2026-01-05T05:30:00Z").await, (StatusCode::OK, Value::Null));
    let (_, body) = price("window?from=2026-01-05T00:00:00Z&to=2026-01-05T03:00:00Z").await;
    assert_eq!((body[0]["source"].as_str(), body.as_array().unwrap().len()), (Some("market"), 2));
    let signal = format!("/prices/signal?client={}&zone=NO1&area=north", asker.id);
    let window = "from=2026-01-05T03:00:00Z&to=2026-01-06T00:00:00Z";
    let (_, body) = pull(&stage, Method::GET, &format!("{signal}&{window}"), "").await;
    let slot = json!({ "start": at("03:00"), "end": at("03:30"), "price_per_kwh": 0.1 });
    assert_eq!(body, json!([slot]));
    let (status, _) = pull(&stage, Method::GET, &signal.replace("north", "x"), "").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn market_prices_come_from_lists() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = stage(on).await;
        let asker = stage.client("a").await;
        let home = place(&stage, &asker, "north").await;
        let list = "start,price_nok_per_mwh\n2026-01-05T01:00Z,100\n2026-01-05T02:00Z,\n\
            2026-01-05T03:00Z,300\n";
        let (status, body) = pull(&stage, Method::POST, "/prices/market?zone=NO1", list).await;
        assert_eq!((status, &body["slots"]), (StatusCode::OK, &json!(2)), "{body}");
        assert!(body["notes"][0].as_str().unwrap().contains("has no price"));
        // A later list: what it leaves out stays.
        let later = "start,end,price_nok_per_kwh\n2026-01-05T03:00Z,2026-01-05T03:30Z,0.9\n";
        let (status, _) = pull(&stage, Method::POST, "/prices/market?zone=NO1", later).await;
        assert_eq!(status, StatusCode::OK);
        let expected = "01:00-02:00 0.1 market, 03:00-03:30 0.9 market, 03:30-04:00 0.3 market";
        assert_eq!(seen(&stage, &home), expected);
        let refusals = [
            ("/prices/market", "/zone: is required"),
            ("/prices/market?zone=NO7", "/currency: is required"),
            ("/prices/market?zone=NO1&currency=EUR", "/currency: is EUR; the zone's is NOK"),
            ("/prices/market?zone=NO1&time_zone=Moon", "/time_zone: "),
        ];
        for (path, issue) in refusals {
            let (status, body) = pull(&stage, Method::POST, path, list).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{path}");
            assert!(body["issues"][0].as_str().unwrap().starts_with(issue), "{body}");
        }
        assert_eq!(seen(&stage.restarted().await, &home), expected);
    }
}

#[tokio::test]
async fn lists_of_prices_are_read_from_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prices.csv");
    let stage = Stage::with(On::Sqlite, |config| {
        let prices = PriceFile { file: file.clone(), unit: None, time_zone: None };
        let zone =
            ZoneSettings { currency: nok(), is_activated: true, prices: Some(prices), feed: None };
        config.zones.insert("NO1".to_owned(), zone);
    })
    .await;
    let missing = keep_files(&stage.app).await.unwrap_err().to_string();
    assert!(missing.contains("prices.csv"), "{missing}");
    std::fs::write(&file, "start,price_nok_per_kwh\n2026-01-05T01:00Z,1\n").unwrap();
    let single = keep_files(&stage.app).await.unwrap_err().to_string();
    assert!(single.contains("is the only one"), "{single}");
    std::fs::write(&file, "start,price_nok_per_kwh\n2026-01-05T01:00Z,1\n2026-01-05T02:00Z,2\n")
        .unwrap();
    keep_files(&stage.app).await.unwrap();
    let asker = stage.client("a").await;
    let home = place(&stage, &asker, "north").await;
    assert_eq!(seen(&stage, &home), "01:00-02:00 1 market, 02:00-03:00 2 market");
}

#[tokio::test]
async fn prices_in_other_money_are_not_the_zone_s() {
    let stage = stage(On::Sqlite).await;
    let asker = stage.client("a").await;
    let home = place(&stage, &asker, "north").await;
    let euros = Currency::parse("EUR").unwrap();
    let one = market(&[("01:00", "02:00", 0.3)]);
    keep_market(&stage.app, "NO1", euros, &one).await.unwrap();
    assert_eq!(seen(&stage, &home), "");
    let two = market(&[("03:00", "04:00", 0.4)]);
    keep_market(&stage.app, "NO1", nok(), &two).await.unwrap();
    assert_eq!(seen(&stage, &home), "03:00-04:00 0.4 market");
    assert_eq!(seen(&stage.restarted().await, &home), "03:00-04:00 0.4 market");
}

#[tokio::test]
async fn a_window_may_be_longer_than_the_calendar() {
    let stage = stage(On::Sqlite).await;
    let asker = stage.client("a").await;
    let home = place(&stage, &asker, "north").await;
    asker.put(NORTH, &signal("04:00", &[("00:00", 0.1)])).await;
    let once = stage.app.price_lookup().flex_prices(&home, at("00:00"), at("12:00"));
    // A hundred years at most, and no panic beyond the calendar.
    let all = stage.app.price_lookup().flex_prices(
        &home,
        DateTime::<Utc>::MIN_UTC,
        DateTime::<Utc>::MAX_UTC,
    );
    assert!(all.curve().is_empty());
    let from = at("00:00") - TimeDelta::days(1);
    let long = stage.app.price_lookup().flex_prices(&home, from, DateTime::<Utc>::MAX_UTC);
    assert_eq!(long.curve(), once.curve());
}
