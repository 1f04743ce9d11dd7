//! Golden files of the service: its schema, its answers and its plans.
//!
//! They do not say what is right, which the other tests do, but show in a review what a change
//! alters. `UPDATE_EXPECT=1` writes them anew.
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use axum::http::Method;
use expect_test::expect_file;
use serde_json::{Map, Value, json};
use slackwater_sandbox::words::uuid_of;
use slackwater_service::jobs::measuring::count_plans;
use slackwater_service::outbox::names::DEVICE_CHANGED;
use slackwater_store::events;
use slackwater_wire::version::dated::ApiVersion;
use sqlx::Row;
use uuid::Uuid;

use crate::answer::Answer;
use crate::harness::{Asker, LATEST, OLDEST, On, Stage, add_zone};
use crate::sandbox::{Street, settled_on};
use slackwater_http::auth::gate::SERVICE_USER_ID;
use slackwater_http::version::SERVICE_VERSION;

const PRICES: &str = "/flex/price-signals/NO1/areas/oslo-east";

/// Text in which identifiers and secrets that are drawn at random have numbers.
#[derive(Default)]
pub(crate) struct Transcript {
    pub(crate) text: String,
    numbers: HashMap<Uuid, usize>,
}

impl Transcript {
    fn add(&mut self, asked: &str, answer: &Answer) {
        let mut body = answer.body.clone();
        mask(&mut body);
        let asked = self.numbered(asked);
        let body = self.numbered(&body.to_string());
        writeln!(self.text, "{asked}\n    {} {body}", answer.status).unwrap();
    }

    /// A text with `#1`, `#2` and so on in place of identifiers that are drawn at random.
    fn numbered(&mut self, text: &str) -> String {
        replaced(text, |id| {
            let next = self.numbers.len() + 1;
            format!("#{}", self.numbers.entry(id).or_insert(next))
        })
    }
}

/// A text in which `name` replaces identifiers of version 4 and 7. The others follow from names in
/// the scenario.
fn replaced(text: &str, mut name: impl FnMut(Uuid) -> String) -> String {
    const LENGTH: usize = 36;
    let (mut out, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let id = rest.get(..LENGTH).and_then(|word| Uuid::try_parse(word).ok());
        if let Some(id) = id.filter(|id| matches!(id.get_version_num(), 4 | 7)) {
            out.push_str(&name(id));
            rest = &rest[LENGTH..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// Hides what is made with a random key.
fn mask(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Object(members) => {
            for (name, value) in members {
                let is_random = ["after", "before", "linkUrl", "linkToken"].contains(&&**name);
                if is_random && value.is_string() {
                    *value = json!("(random)");
                }
                mask(value);
            }
        }
        _ => {}
    }
}

/// A request in words: method, path and body, and the version if it is not the latest.
pub(crate) async fn ask(
    transcript: &mut Transcript,
    (asker, version): (&Asker, &str),
    (method, path): (Method, &str),
    body: Option<&Value>,
) -> Answer {
    let user = [(SERVICE_VERSION, version), (SERVICE_USER_ID, "ada")];
    let headers = if version == OLDEST { &user[..] } else { &user[..1] };
    let answer = asker.ask(method.clone(), path, body, headers).await;
    let shown = body.map(|body| format!(" {body}")).unwrap_or_default();
    let version = if version == LATEST { String::new() } else { format!(" ({version})") };
    transcript.add(&format!("{method} {path}{version}{shown}"), &answer);
    answer
}

pub(crate) fn id(name: &str) -> Uuid {
    uuid_of(name)
}

fn signal() -> Value {
    json!({ "currency": "NOK", "to": "2026-01-05T22:00:00Z", "values": [
        { "at": "2026-01-05T18:00:00Z", "price": 1.5 },
        { "at": "2026-01-05T20:00:00Z", "price": 0.5 },
    ] })
}

pub(crate) fn schedule() -> Value {
    json!({
        "isEnabled": true, "defaultShouldCharge": false, "targetId": id("bo-charger"),
        "targetType": "charger", "locationId": null,
        "rules": [
            { "shouldCharge": true, "weekdays": [0, 1],
              "hourMinute": { "from": "19:00", "to": "21:30" } },
            { "shouldCharge": false, "fromTimestamp": "2026-01-05T20:00:00Z",
              "toTimestamp": "2026-01-05T20:30:00Z" },
        ],
    })
}

/// Requests with bodies that are taken.
fn bodies() -> Vec<(Method, String, Value)> {
    let [bo, gus] = ["bo-charger", "gus-charger"].map(id);
    let rates = json!([{ "name": "low", "cost": "0.08" }, { "name": "peak", "cost": "0.36" }]);
    let day = json!({ "deadline": "06:45", "minimumChargeTarget": 70 });
    vec![
        (Method::PUT, PRICES.to_owned(), signal()),
        (Method::PUT, "/tariffs/two-rates".to_owned(), rates),
        (Method::PUT, format!("/chargers/{bo}"), json!({ "chargingLocationId": id("bo-home") })),
        (
            Method::PUT,
            format!("/chargers/{gus}/smart-charging-policy"),
            json!({ "isEnabled": true, "deadline": "06:00", "chargingDuration": "02:30" }),
        ),
        (
            Method::PATCH,
            format!("/flex/vehicle-policies/{}", id("ada-car-flex")),
            json!({ "batteryReserve": 15, "schedule": { "monday": day, "sunday": day } }),
        ),
        (
            Method::POST,
            "/users/ada/link".to_owned(),
            json!({
                "vendor": "VOLTBOX", "vendorType": "charger", "scopes": ["charger:read:data"],
                "forceLanguage": "en", "redirectUri": "https://app.example.org/",
                "colorScheme": "dark",
            }),
        ),
        (Method::POST, "/users/bo/schedules".to_owned(), schedule()),
        (Method::POST, format!("/chargers/{bo}/max-current"), json!({ "maxCurrent": 10 })),
        (
            Method::POST,
            format!("/chargers/{bo}/charge-rate-limit"),
            json!({ "chargeRateLimit": 7.4 }),
        ),
    ]
}

/// The body with one member, at any depth, replaced or left out, and all such bodies.
fn spoilt(body: &Value) -> Vec<Value> {
    let wrong = [json!(null), json!(-1), json!(1e9), json!("x"), json!([]), json!({}), json!(true)];
    let mut all = wrong.to_vec();
    match body {
        Value::Object(members) => {
            for (name, value) in members {
                let mut less = members.clone();
                less.remove(name);
                all.push(Value::Object(less));
                let with = |value: Value| {
                    let mut changed: Map<String, Value> = members.clone();
                    changed.insert(name.clone(), value);
                    Value::Object(changed)
                };
                all.extend(spoilt(value).into_iter().map(with));
            }
            // All at once, so that the order of the issues shows.
            let each = members.keys().map(|name| (name.clone(), json!("x")));
            all.push(Value::Object(each.collect()));
            let mut more = members.clone();
            more.insert("unknown".to_owned(), json!(1));
            all.push(Value::Object(more));
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let with = |value: Value| {
                    let mut changed = items.clone();
                    changed[at] = value;
                    Value::Array(changed)
                };
                all.extend(spoilt(item).into_iter().map(with));
            }
        }
        _ => {}
    }
    all
}

/// Paths that are read, for a user and the devices of the street.
fn read_paths() -> Vec<String> {
    let mut paths: Vec<String> =
        ["vehicles", "chargers", "hvacs", "inverters", "batteries", "users"]
            .iter()
            .flat_map(|list| [format!("/{list}?pageSize=3"), format!("/{list}?pageSize=0")])
            .collect();
    for list in ["vehicles", "chargers", "hvacs", "inverters", "schedules"] {
        paths.push(format!("/users/ada/{list}"));
        paths.push(format!("/users/nobody/{list}"));
    }
    for (path, name) in [
        ("/vehicles/{}", "ada-car"),
        ("/vehicles/{}?fields[]=chargeState", "ada-car"),
        ("/vehicles/{}", "bo-car"),
        ("/chargers/{}", "ada-charger"),
        ("/chargers/{}", "ada-car"),
        ("/chargers/{}/smart-charging-policy", "gus-charger"),
        ("/chargers/{}/smart-charging-status", "gus-charger"),
        ("/inverters/{}", "ada-roof"),
        ("/flex/vehicle-policies/{}", "ada-car-flex"),
        ("/schedules/{}", "ada-car"),
        ("/schedules/{}/status", "ada-car"),
        ("/chargers/actions/{}", "ada-car"),
        ("/batteries/actions/{}", "ada-car"),
    ] {
        paths.push(path.replace("{}", &id(name).to_string()));
    }
    let statistics = ["charging", "charging/sessions", "production"];
    for kind in statistics {
        let range = "startDate=2026-01-05T00:00:00Z&endDate=2026-01-06T00:00:00Z";
        for query in ["", "?resolution=DAY", &format!("?{range}&resolution=HOUR&type=charger")] {
            paths.push(format!("/statistics/{kind}{query}"));
            paths.push(format!("/users/ada/statistics/{kind}{query}"));
        }
    }
    let others = [
        "/users/ada",
        "/users/nobody",
        "/users/ada/vendor/VOLTBOX",
        "/users/ada/vendor/KESTREL",
        "/users/ada/vendor/x",
        "/me",
        "/health/ready",
        "/health/chargers",
        "/nowhere",
        "/tariffs",
    ];
    paths.extend(others.map(str::to_owned));
    paths
}

/// The databases, which do not change an answer.
pub(crate) const DATABASES: [On; 2] = [On::Sqlite, On::Postgres];

pub(crate) async fn street(on: On) -> Street {
    let street = settled_on(Stage::with(on, add_zone).await).await;
    // Also plans are made, and what follows from them is done.
    street.step(0).await;
    street
}

#[tokio::test]
async fn answers_to_reads_in_every_version() {
    for on in DATABASES {
        check_reads(on).await;
    }
}

async fn check_reads(on: On) {
    let street = street(on).await;
    street.step(600).await;
    let mut transcript = Transcript::default();
    for version in ApiVersion::ALL {
        for path in read_paths() {
            let what = (Method::GET, &*path);
            ask(&mut transcript, (&street.asker, version.as_str()), what, None).await;
        }
    }
    expect_file![golden("reads.txt")].assert_eq(&transcript.text);
}

#[tokio::test]
async fn answers_to_changes_and_events_of_them() {
    for on in DATABASES {
        check_changes(on).await;
    }
}

async fn check_changes(on: On) {
    let street = street(on).await;
    street.step(600).await;
    let (mut transcript, asker) = (Transcript::default(), (&street.asker, LATEST));
    let mut made: Vec<String> = Vec::new();
    for (method, path, body) in bodies() {
        let answer = ask(&mut transcript, asker, (method.clone(), &path), Some(&body)).await;
        assert!(matches!(answer.status, 200 | 204), "{path}: {}", answer.body);
        if method == Method::POST
            && let Some(id) = answer.body["id"].as_str()
        {
            made.push(id.to_owned());
        }
    }
    let [plan, current, rate] = &made[..] else { panic!("{made:?}") };
    let bo = id("bo-charger");
    let mut requests: Vec<(Method, String)> = vec![
        (Method::GET, format!("/schedules/{plan}")),
        (Method::GET, format!("/schedules/{plan}/status")),
        (Method::GET, "/users/bo/schedules".to_owned()),
        (Method::GET, format!("/chargers/actions/{current}")),
        (Method::POST, format!("/chargers/actions/{rate}/cancel")),
        (Method::POST, format!("/chargers/actions/{rate}/cancel")),
        (Method::POST, format!("/chargers/{bo}/smart-override")),
        (Method::DELETE, format!("/chargers/{bo}/smart-override")),
        (Method::DELETE, format!("/chargers/{bo}/smart-override")),
        (Method::POST, format!("/hvacs/{}/follow-schedule", id("ada-heat-pump"))),
        (Method::POST, format!("/hvacs/{}/follow-schedule", id("gus-heat-pump"))),
        (Method::POST, format!("/assets/{}/relink", id("ada-car"))),
        (Method::GET, "/me".to_owned()),
    ];
    for (list, name) in [
        ("vehicles", "ada-car"),
        ("chargers", "ada-charger"),
        ("hvacs", "ada-heat-pump"),
        ("inverters", "ada-roof"),
        ("batteries", "ada-battery"),
        ("vehicles", "ada-roof"),
    ] {
        requests.push((Method::POST, format!("/{list}/{}/refresh-hint", id(name))));
    }
    requests.extend([
        (Method::DELETE, format!("/schedules/{plan}")),
        (Method::DELETE, format!("/schedules/{plan}")),
        (Method::DELETE, "/users/ada/vendor/VOLTBOX".to_owned()),
        (Method::DELETE, "/users/bo/authorization".to_owned()),
        (Method::DELETE, "/users/gus".to_owned()),
        (Method::DELETE, "/users/gus".to_owned()),
        (Method::PATCH, "/users/ada".to_owned()),
    ]);
    for (method, path) in requests {
        ask(&mut transcript, asker, (method, &path), None).await;
    }
    street.step(600).await;
    transcript.text.push_str("\nevents\n");
    let told = events_of(&street.stage).await;
    let told: Vec<String> = told.iter().map(|line| transcript.numbered(line)).collect();
    transcript.text.push_str(&told.join("\n"));
    transcript.text.push('\n');
    expect_file![golden("changes.txt")].assert_eq(&transcript.text);
}

#[tokio::test]
async fn answers_to_bodies_with_faults() {
    for on in DATABASES {
        check_faults(on).await;
    }
}

async fn check_faults(on: On) {
    let street = street(on).await;
    let mut transcript = Transcript::default();
    for (method, path, body) in bodies() {
        for body in spoilt(&body) {
            let what = (method.clone(), &*path);
            ask(&mut transcript, (&street.asker, LATEST), what, Some(&body)).await;
        }
    }
    // Bodies that are taken after all change what follows: only the refusals are kept.
    expect_file![golden("faults.txt")].assert_eq(&transcript.text);
}

/// All events in the order in which they are kept, those of one instant by text.
async fn events_of(stage: &Stage) -> Vec<String> {
    let mut all = Vec::new();
    let mut last = 0;
    loop {
        let next = events::events_after(stage.app.store(), last, 1_000).await.unwrap();
        let Some(end) = next.last() else { break };
        last = end.seq;
        // That a reading changed something depends on when it was polled, also by a command.
        let told = next.into_iter().filter(|event| event.name != DEVICE_CHANGED);
        all.extend(told.map(|event| {
            let mut body = event.body;
            mask(&mut body);
            format!("{} {} {} {body}", event.at.to_rfc3339(), event.name, event.user_id)
        }));
    }
    all.sort_by_cached_key(|line| replaced(line, |_| String::new()));
    all
}

/// Plans of the street at six in the evening: inputs, slots, reasons and certificates.
///
/// Nothing is stepped. Which of a poll and an order comes first at one instant of a step is open;
/// `scripts/night.py` judges whole nights.
#[tokio::test]
async fn plans_of_twenty_homes() {
    for on in DATABASES {
        check_plans(on).await;
    }
}

async fn check_plans(on: On) {
    let street = street(on).await;
    let mut transcript = Transcript::default();
    let (mut lines, mut states) = (Vec::new(), BTreeMap::<String, usize>::new());
    for (name, id) in street.names().await {
        let plan = street.get(&format!("/plans/{id}")).await;
        let missing = plan["plan"]["shortfall_kwh"].as_f64();
        let planned = missing.map(|missing| if missing > 0.0 { "short" } else { "planned" });
        if let Some(state) = planned.or_else(|| plan["idle"].as_str()) {
            *states.entry(state.to_owned()).or_default() += 1;
        }
        lines.push(transcript.numbered(&format!("{name} {plan}")));
    }
    expect_file![golden("plans.txt")].assert_eq(&(lines.join("\n") + "\n"));
    assert!(lines.len() > 40, "{}", lines.len());
    let counted = count_plans(&street.stage.app).into_iter().filter(|(_, count)| *count > 0);
    assert_eq!(
        counted.map(|(state, count)| (state.to_owned(), count)).collect::<BTreeMap<_, _>>(),
        states
    );
}

/// Path of a golden file.
pub(crate) fn golden(name: &str) -> String {
    format!("{}/../../tests/golden/service/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Tables, columns, indexes and triggers after all migrations.
#[tokio::test]
async fn schema_of_both_databases() {
    let lite = Stage::with(On::Sqlite, |_| ()).await;
    let rows = sqlx::query("select sql from sqlite_master where sql is not null order by name");
    let rows = rows.fetch_all(lite.app.store().reader()).await.unwrap();
    let sql: Vec<String> = rows.iter().map(|row| row.get("sql")).collect();
    expect_file![golden("schema-sqlite.sql")].assert_eq(&(sql.join(";\n") + ";\n"));

    let server = Stage::with(On::Postgres, |_| ()).await;
    let mut lines: Vec<String> = Vec::new();
    for query in [
        "select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' \
         || coalesce(column_default, '') as line from information_schema.columns \
         where table_schema = 'public' order by table_name, ordinal_position",
        "select indexdef as line from pg_indexes where schemaname = 'public' order by indexname",
        "select conrelid::regclass::text || ' ' || pg_get_constraintdef(oid) as line \
         from pg_constraint where connamespace = 'public'::regnamespace order by 1",
        "select pg_get_triggerdef(oid) as line from pg_trigger where not tgisinternal order by 1",
        "select prosrc as line from pg_proc where pronamespace = 'public'::regnamespace order by 1",
    ] {
        let rows = sqlx::query(query).fetch_all(server.app.store().reader()).await.unwrap();
        lines.extend(rows.iter().map(|row| row.get::<String, _>("line")));
    }
    expect_file![golden("schema-postgres.txt")].assert_eq(&(lines.join("\n") + "\n"));
}
