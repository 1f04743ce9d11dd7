//! Orders of grid operators: taken, kept, followed by areas and sites, and recorded as evidence.
use std::path::Path;
use std::sync::Arc;

use axum::http::Method;
use chrono::TimeDelta;
use serde_json::{Value, json};
use slackwater_engine::units::{Power, kw};
use slackwater_server::admin;
use slackwater_service::config::Config;
use slackwater_service::config::admin::{NamedToken, Role, TokenHash};
use slackwater_service::config::grid::GridSettings;
use slackwater_service::grid::describing::describe_sender;
use slackwater_service::grid::orders::{follow_senders, resume_limits};
use slackwater_service::plans::area::work;
use slackwater_service::state::App;
use slackwater_store::evidence::{EvidenceKey, check_log};
use uuid::Uuid;

use crate::guard::ask;
use crate::harness::{Asker, On, Stage, add_zone, six};
use crate::plans::CENTS;
use crate::priced::{Book, charger_at, place};

const JSON: (&str, &str) = ("content-type", "application/json");

/// Settings with one sender, `dso`.
fn add_sender(config: &mut Config, sender: Value) {
    add_zone(config);
    let settings: GridSettings = serde_json::from_value(sender).unwrap();
    config.grid.insert("dso".to_owned(), settings);
    config.check().unwrap();
}

/// A sender for the north of NO1 with a fail-safe of 5 kW after 120 s.
fn north() -> Value {
    json!({ "zone": "NO1", "area": "north", "fail_safe_kw": 5.0 })
}

/// Passes a request to the operators' address.
async fn operate(app: &App, (method, path): (Method, &str), body: Value) -> (u16, Value) {
    let router = admin::routes::router(std::slice::from_ref(app), None);
    let (status, _, answer) = ask(&router, (method, path), &[JSON], &body.to_string()).await;
    (status, answer)
}

async fn follow(app: &App) {
    follow_senders(std::slice::from_ref(app)).await;
}

/// Limit of the north now, in kW.
fn limit_of(app: &App) -> Option<f64> {
    let limit = app.area_limit("NO1", "north")?;
    limit.at(app.now()).map(Power::as_kw)
}

fn step(app: &App, seconds: i64) {
    app.clock().step(TimeDelta::seconds(seconds)).unwrap();
}

/// Two chargers of 11 kW in the north that want an hour each.
async fn two_chargers(stage: &Stage, asker: &Asker) -> Vec<Uuid> {
    let policy = json!({ "isEnabled": true, "deadline": "23:00", "chargingDuration": "01:00" });
    let mut ids = Vec::new();
    for user in ["u", "v"] {
        let home = place(stage, asker, user, "north").await;
        let id = charger_at(stage, asker, user, home).await;
        asker.put(&format!("/chargers/{id}/smart-charging-policy"), &policy).await;
        ids.push(id);
    }
    ids
}

/// Hours at which plans begin, from six on, the earliest first.
fn hours(app: &App, ids: &[Uuid]) -> Vec<Option<i64>> {
    let hour = |id: &Uuid| {
        let plan = app.cache().read(|tables| tables.plans.plan(*id).cloned()).unwrap();
        let first = plan.planned()?.summary.intervals.first().map(|on| on.start);
        first.map(|start| (start - six()).num_hours())
    };
    let mut all: Vec<Option<i64>> = ids.iter().map(hour).collect();
    all.sort_unstable();
    all
}

async fn stage_with_prices(on: On, sender: Value) -> (Stage, Arc<Book>) {
    let stage = Stage::with(on, |config| add_sender(config, sender)).await;
    let book = Arc::new(Book::default());
    book.set("north", &CENTS);
    stage.app.set_price_book(Arc::clone(&book) as _);
    follow(&stage.app).await;
    (stage, book)
}

#[tokio::test]
async fn plans_of_an_area_follow_an_order_that_outlives_a_restart() {
    for on in [On::Sqlite, On::Postgres] {
        let (stage, book) = stage_with_prices(on, north()).await;
        let asker = stage.client("a").await;
        let ids = two_chargers(&stage, &asker).await;
        assert_eq!(hours(&stage.app, &ids), [Some(4), Some(4)], "the cheapest hour for both");
        // One charger fits at a time.
        let order = json!({ "limit_kw": 15.0 });
        let (status, shown) = operate(&stage.app, (Method::POST, "/grid/dso"), order).await;
        assert_eq!(
            (status, &shown["limit_kw"], &shown["reason"]),
            (200, &json!(15.0), &json!("ordered"))
        );
        assert_eq!(limit_of(&stage.app), Some(15.0));
        assert_eq!(work(&stage.app).await.unwrap(), Some(2));
        assert_eq!(hours(&stage.app, &ids), [Some(2), Some(4)]);
        // Nothing new changes nothing, and asks for no plans.
        follow(&stage.app).await;
        assert_eq!(work(&stage.app).await.unwrap(), None);
        let stage = stage.restarted().await;
        stage.app.set_price_book(Arc::clone(&book) as _);
        assert_eq!(limit_of(&stage.app), None, "nothing follows before the start is done");
        resume_limits(std::slice::from_ref(&stage.app)).unwrap();
        assert_eq!(limit_of(&stage.app), Some(15.0));
        follow(&stage.app).await;
        assert_eq!(work(&stage.app).await.unwrap(), None, "plans follow already");
        // Another process sees the order, and this one its release.
        let replica = stage.replica().await.app;
        follow(&replica).await;
        assert_eq!(limit_of(&replica), Some(15.0));
        let (status, shown) = operate(&replica, (Method::DELETE, "/grid/dso"), json!({})).await;
        assert_eq!(
            (status, &shown["limit_kw"], &shown["reason"]),
            (200, &json!(null), &json!("free"))
        );
        follow(&stage.app).await;
        assert_eq!(limit_of(&stage.app), None);
        assert_eq!(work(&stage.app).await.unwrap(), Some(2));
        assert_eq!(hours(&stage.app, &ids), [Some(4), Some(4)]);
    }
}

#[tokio::test]
async fn a_lost_heartbeat_is_the_fail_safe_limit_after_120_seconds() {
    for on in [On::Sqlite, On::Postgres] {
        let (stage, _) = stage_with_prices(on, north()).await;
        let asker = stage.client("a").await;
        let ids = two_chargers(&stage, &asker).await;
        let app = &stage.app;
        let post = async |path: &str, body: Value| operate(app, (Method::POST, path), body).await;
        assert_eq!(post("/grid/dso", json!({ "limit_kw": 15.0 })).await.0, 200);
        step(app, 60);
        assert_eq!(post("/grid/dso/heartbeat", json!({})).await.0, 200);
        step(app, 119);
        follow(app).await;
        assert_eq!(limit_of(app), Some(15.0));
        work(app).await.unwrap();
        step(app, 1);
        follow(app).await;
        assert_eq!(limit_of(app), Some(5.0));
        let shown = describe_sender(std::slice::from_ref(app), "dso").unwrap();
        assert_eq!(
            (&shown["reason"], &shown["order"]["limit_kw"]),
            (&json!("fail_safe"), &json!(15.0))
        );
        assert_eq!(work(app).await.unwrap(), Some(2));
        assert_eq!(hours(app, &ids), [None, None], "11 kW are more than 5 kW");
        // An order alone does not end it: nobody could take that back.
        let (_, shown) = post("/grid/dso", json!({ "limit_kw": 12.0 })).await;
        assert_eq!(shown["reason"], "fail_safe");
        assert_eq!(post("/grid/dso/heartbeat", json!({})).await.0, 200);
        let until = app.now() + TimeDelta::seconds(60);
        let (_, shown) = post("/grid/dso", json!({ "limit_kw": 12.0, "until": until })).await;
        assert_eq!((&shown["reason"], &shown["limit_kw"]), (&json!("ordered"), &json!(12.0)));
        step(app, 60);
        follow(app).await;
        assert_eq!(limit_of(app), None, "the order is over");
        assert_eq!(work(app).await.unwrap(), Some(2));
        assert_eq!(hours(app, &ids), [Some(4), Some(4)]);
    }
}

/// Writes the file of a sender, as another program does.
fn write_order(file: &Path, order: &Value) {
    std::fs::write(file, order.to_string()).unwrap();
}

#[tokio::test]
async fn a_file_is_followed_and_is_silence_when_nobody_writes_it() {
    for on in [On::Sqlite, On::Postgres] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("grid.json");
        let mut sender = north();
        sender["file"] = json!(file);
        let stage = Stage::with(on, |config| add_sender(config, sender)).await;
        let app = &stage.app;
        follow(app).await;
        let fault = || {
            let shown = describe_sender(std::slice::from_ref(app), "dso").unwrap();
            shown["fault"].as_str().map(str::to_owned)
        };
        assert!(fault().unwrap().contains("No such file"), "{:?}", fault());
        assert_eq!(limit_of(app), None);
        write_order(
            &file,
            &json!({ "limit_kw": 9.0, "heartbeat": app.now() + TimeDelta::seconds(1) }),
        );
        step(app, 1);
        follow(app).await;
        assert_eq!((limit_of(app), fault()), (Some(9.0), None));
        std::fs::write(&file, r#"{"limit_kw": 9.0, "hear"#).unwrap();
        step(app, 119);
        follow(app).await;
        assert_eq!(limit_of(app), Some(9.0), "half a file changes nothing");
        assert!(fault().unwrap().contains("EOF"), "{:?}", fault());
        step(app, 1);
        follow(app).await;
        assert_eq!(limit_of(app), Some(5.0));
        write_order(&file, &json!({ "limit_kw": null, "heartbeat": app.now() }));
        step(app, 1);
        follow(app).await;
        assert_eq!(limit_of(app), None, "a heartbeat with a release ends it");
        let (status, problem) =
            operate(app, (Method::POST, "/grid/dso"), json!({ "limit_kw": 1.0 })).await;
        assert_eq!(status, 400);
        assert!(problem["detail"].as_str().unwrap().contains("grid.dso.file"), "{problem}");
    }
}

#[tokio::test]
async fn orders_that_make_no_sense_are_refused_and_change_nothing() {
    let stage = Stage::with(On::Sqlite, |config| add_sender(config, north())).await;
    let app = &stage.app;
    follow(app).await;
    for (path, order, status, reason) in [
        (
            "/grid/other",
            json!({ "limit_kw": 1.0 }),
            404,
            "sender of grid orders \\\"other\\\" not found",
        ),
        ("/grid/dso", json!({ "limit_kw": -1.0 }), 400, "/limit_kw: -1 kW is below 0 kW"),
        ("/grid/dso", json!({ "limit_kw": "4" }), 400, "/limit_kw: expected a number, found"),
        ("/grid/dso", json!({ "limit_kw": 1.0, "until": six() }), 400, "/until: 2026-01-05 18:00"),
        (
            "/grid/dso",
            json!({ "limit": 1.0 }),
            400,
            "`limit` is not a member; expected `limit_kw` or `until`",
        ),
        ("/grid/dso", json!({}), 400, "`limit_kw` is required"),
    ] {
        let (found, problem) = operate(app, (Method::POST, path), order).await;
        assert_eq!(found, status, "{problem}");
        assert!(problem.to_string().contains(reason), "{problem}");
    }
    assert_eq!(limit_of(app), None);
    let (_, all) = operate(app, (Method::GET, "/grid"), json!({})).await;
    assert_eq!((&all[0]["name"], &all[0]["order"]), (&json!("dso"), &Value::Null));
}

#[tokio::test]
async fn only_operators_pass_orders_and_each_is_in_the_audit_log() {
    let tokens: Vec<NamedToken> = [("grafana", Role::Read), ("eva", Role::Operate)]
        .map(|(name, role)| NamedToken {
            name: name.to_owned(),
            role,
            sha256: TokenHash::of(&format!("token of {name}")),
        })
        .into();
    let with_tokens = |config: &mut Config| {
        config.admin.tokens.clone_from(&tokens);
        add_sender(config, north());
    };
    let stage = Stage::with(On::Sqlite, with_tokens).await;
    let router = admin::routes::router(std::slice::from_ref(&stage.app), None);
    let act = async |name: &str, method: Method| {
        let bearer = format!("Bearer token of {name}");
        let headers = [("authorization", &*bearer), JSON];
        ask(&router, (method, "/grid/dso"), &headers, r#"{"limit_kw": 15.0}"#).await
    };
    assert_eq!(act("grafana", Method::POST).await.0, 403);
    assert_eq!(act("grafana", Method::GET).await.2["order"], Value::Null);
    assert_eq!(act("eva", Method::POST).await.0, 200);
    assert_eq!(act("grafana", Method::GET).await.2["order"]["limit_kw"], 15.0);
    let headers = [("authorization", "Bearer token of eva")];
    let (_, _, audit) = ask(&router, (Method::GET, "/audit"), &headers, "").await;
    let told = |act: &Value| format!("{} {} {}", act["operator"], act["path"], act["status"]);
    let acts: Vec<String> = audit["acts"].as_array().unwrap().iter().map(told).collect();
    assert_eq!(acts, [r#""grafana" "/grid/dso" 403"#, r#""eva" "/grid/dso" 200"#]);
}

#[tokio::test]
async fn an_integration_follows_the_limit_of_its_site_and_knows_the_fail_safe() {
    for on in [On::Sqlite, On::Postgres] {
        let sender = json!({ "site": "garage", "fail_safe_kw": 5.0 });
        let stage = Stage::with(on, |config| add_sender(config, sender)).await;
        let worlds = std::slice::from_ref(&stage.app);
        let error = resume_limits(worlds).unwrap_err().to_string();
        assert_eq!(
            error,
            "grid.dso.site: 0 integrations of production have a site \"garage\"; it needs one"
        );
        stage.fjord.has_site("garage", Some(kw(3.0)));
        resume_limits(worlds).unwrap();
        assert_eq!(
            operate(&stage.app, (Method::POST, "/grid/dso"), json!({ "limit_kw": 15.0 })).await.0,
            200
        );
        let limit = |stage: &Stage, seconds: i64| {
            let followed = stage.fjord.followed("garage").unwrap();
            followed.in_force(six() + TimeDelta::seconds(seconds)).limit.map(Power::as_kw)
        };
        assert_eq!((limit(&stage, 119), limit(&stage, 120)), (Some(15.0), Some(5.0)));
        assert!(stage.app.limits().is_empty());
        // A start tells it the order that was kept, before anything else runs.
        stage.fjord.has_site("garage", Some(kw(3.0)));
        let stage = stage.restarted().await;
        assert!(stage.fjord.followed("garage").is_none());
        resume_limits(std::slice::from_ref(&stage.app)).unwrap();
        assert_eq!(limit(&stage, 119), Some(15.0));
        stage.heath.has_site("garage", None);
        let error = resume_limits(std::slice::from_ref(&stage.app)).unwrap_err().to_string();
        assert!(error.starts_with("grid.dso.site: 2 integrations"), "{error}");
    }
}

/// Two devices keep 4.2 kW · (1 + 0.8) by section 14a `EnWG`, whatever is ordered.
#[tokio::test]
async fn no_order_takes_the_least_power_of_controllable_devices() {
    for on in [On::Sqlite, On::Postgres] {
        let sender = json!({ "site": "garage", "controllable_devices": 2 });
        let stage = Stage::with(on, |config| add_sender(config, sender)).await;
        stage.fjord.has_site("garage", Some(kw(3.0)));
        let order = async |limit_kw: f64| {
            let body = json!({ "limit_kw": limit_kw });
            let (status, shown) = operate(&stage.app, (Method::POST, "/grid/dso"), body).await;
            assert_eq!(status, 200, "{shown}");
            let followed = stage.fjord.followed("garage").unwrap();
            let in_force = followed.in_force(stage.app.now()).limit;
            assert_eq!(shown["limit_kw"].as_f64(), in_force.map(Power::as_kw));
            assert_eq!(shown["least_kw"].as_f64(), Some(followed.least().as_kw()));
            (shown["order"]["limit_kw"].clone(), in_force.unwrap().as_kw())
        };
        let (kept, in_force_kw) = order(4.2).await;
        assert_eq!(kept, json!(4.2));
        assert!((in_force_kw - 7.56).abs() < 1e-9, "{in_force_kw} kW");
        assert_eq!(order(9.0).await, (json!(9.0), 9.0));
        // What is kept of it is what was ordered: nothing changes by itself, also after a start.
        follow(&stage.app).await;
        stage.fjord.has_site("garage", Some(kw(3.0)));
        let stage = stage.restarted().await;
        resume_limits(std::slice::from_ref(&stage.app)).unwrap();
        let followed = stage.fjord.followed("garage").unwrap();
        assert_eq!(followed.in_force(stage.app.now()).limit, Some(kw(9.0)));
    }
}

#[tokio::test]
async fn plans_of_an_area_keep_the_least_power_of_their_devices() {
    let mut sender = north();
    sender["controllable_devices"] = json!(2);
    sender["fail_safe_kw"] = json!(8.0);
    let stage = Stage::with(On::Sqlite, |config| add_sender(config, sender)).await;
    operate(&stage.app, (Method::POST, "/grid/dso"), json!({ "limit_kw": 1.0 })).await;
    let limit_kw = limit_of(&stage.app).unwrap();
    assert!((limit_kw - 7.56).abs() < 1e-9, "{limit_kw} kW");
    step(&stage.app, 120);
    follow(&stage.app).await;
    assert_eq!(limit_of(&stage.app), Some(8.0));
}

/// Records of a log: their kinds, and limits or powers.
fn records(log: &Path) -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(log).unwrap();
    let record = |line: &str| {
        let (_, record) = line.split_once(' ').unwrap();
        let record: Value = serde_json::from_str(record).unwrap();
        let value = [&record["limit_kw"], &record["power_kw"]];
        let value = value.into_iter().find(|value| !value.is_null()).cloned();
        (record["kind"].as_str().unwrap().to_owned(), value.unwrap_or_default())
    };
    let all = text.lines().map(record);
    all.filter(|(kind, _)| kind != "signature").collect()
}

#[tokio::test]
async fn orders_silence_limits_and_powers_are_evidence_that_is_signed() {
    let folder = tempfile::tempdir().unwrap();
    let (log, key) = (folder.path().join("grid.log"), folder.path().join("key"));
    let public_key = EvidenceKey::create_file(&key).unwrap().public_key();
    let sender = json!({
        "site": "garage", "fail_safe_kw": 5.0, "evidence_file": log, "evidence_key_file": key,
    });
    let stage = Stage::with(On::Sqlite, |config| add_sender(config, sender)).await;
    stage.fjord.has_site("garage", Some(kw(3.0)));
    let app = &stage.app;
    follow(app).await;
    operate(app, (Method::POST, "/grid/dso"), json!({ "limit_kw": 15.0 })).await;
    for seconds in [0, 30, 30] {
        step(app, seconds);
        follow(app).await;
    }
    step(app, 60);
    stage.fjord.has_site("garage", None);
    follow(app).await;
    operate(app, (Method::POST, "/grid/dso/heartbeat"), json!({})).await;
    operate(app, (Method::DELETE, "/grid/dso"), json!({})).await;
    step(app, 60);
    follow(app).await;
    let expected = [
        ("limit", Value::Null),
        ("order", json!(15.0)),
        ("limit", json!(15.0)),
        ("measured", json!(3.0)),
        ("measured", json!(3.0)),
        ("silence", Value::Null),
        ("limit", json!(5.0)),
        ("measured", Value::Null),
        ("release", Value::Null),
        ("limit", Value::Null),
    ];
    let expected = expected.map(|(kind, value)| (kind.to_owned(), value));
    assert_eq!(records(&log), expected);
    let checked = check_log(&log, &public_key).unwrap();
    assert_eq!((checked.signed_to_line, checked.is_cut), (checked.lines, false));
    assert!(checked.signatures >= 5, "{checked:?}");
    // A number that is changed later is found.
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replacen("15.0", "95.0", 1)).unwrap();
    let error = check_log(&log, &public_key).unwrap_err().to_string();
    assert!(error.contains("line 3 does not follow from the lines before it"), "{error}");
}

/// A log that replaces one that was moved away, for a sender whose order is older.
#[tokio::test]
async fn a_new_log_begins_with_the_limit_in_force() {
    let folder = tempfile::tempdir().unwrap();
    let (log, key) = (folder.path().join("grid.log"), folder.path().join("key"));
    EvidenceKey::create_file(&key).unwrap();
    let sender = json!({
        "site": "garage", "fail_safe_kw": 5.0, "evidence_file": log, "evidence_key_file": key,
    });
    let stage = Stage::with(On::Sqlite, |config| add_sender(config, sender)).await;
    stage.fjord.has_site("garage", Some(kw(3.0)));
    follow(&stage.app).await;
    let ordered =
        operate(&stage.app, (Method::POST, "/grid/dso"), json!({ "limit_kw": 15.0 })).await;
    assert_eq!(ordered.0, 200, "{}", ordered.1);
    std::fs::rename(&log, folder.path().join("old.log")).unwrap();
    let stage = stage.restarted().await;
    follow(&stage.app).await;
    operate(&stage.app, (Method::POST, "/grid/dso"), json!({ "limit_kw": 9.0 })).await;
    let expected = [
        ("limit", json!(15.0)),
        ("measured", json!(3.0)),
        ("order", json!(9.0)),
        ("limit", json!(9.0)),
    ];
    assert_eq!(records(&log), expected.map(|(kind, value)| (kind.to_owned(), value)));
}

/// A log that replaces one that was moved away while nothing was heard of the sender.
#[tokio::test]
async fn a_new_log_of_the_fail_safe_begins_with_the_silence() {
    let folder = tempfile::tempdir().unwrap();
    let (log, key) = (folder.path().join("grid.log"), folder.path().join("key"));
    EvidenceKey::create_file(&key).unwrap();
    let sender = json!({
        "site": "garage", "fail_safe_kw": 5.0, "evidence_file": log, "evidence_key_file": key,
    });
    let stage = Stage::with(On::Sqlite, |config| add_sender(config, sender)).await;
    stage.fjord.has_site("garage", Some(kw(3.0)));
    let heard_at = stage.app.now();
    follow(&stage.app).await;
    step(&stage.app, 120);
    follow(&stage.app).await;
    std::fs::rename(&log, folder.path().join("old.log")).unwrap();
    let stage = stage.restarted().await;
    follow(&stage.app).await;
    let expected = [("silence", Value::Null), ("limit", json!(5.0)), ("measured", json!(3.0))];
    assert_eq!(records(&log), expected.map(|(kind, value)| (kind.to_owned(), value)));
    let text = std::fs::read_to_string(&log).unwrap();
    let silence = text.lines().next().unwrap().split_once(' ').unwrap().1;
    let silence: Value = serde_json::from_str(silence).unwrap();
    assert_eq!(silence["heard_at"], json!(heard_at));
}

#[tokio::test]
async fn the_power_of_an_area_is_that_of_its_reachable_chargers() {
    let folder = tempfile::tempdir().unwrap();
    let (log, key) = (folder.path().join("grid.log"), folder.path().join("key"));
    EvidenceKey::create_file(&key).unwrap();
    let mut sender = north();
    (sender["evidence_file"], sender["evidence_key_file"]) = (json!(log), json!(key));
    let (stage, _) = stage_with_prices(On::Sqlite, sender).await;
    let asker = stage.client("a").await;
    two_chargers(&stage, &asker).await;
    operate(&stage.app, (Method::POST, "/grid/dso"), json!({ "limit_kw": 15.0 })).await;
    follow(&stage.app).await;
    let text = std::fs::read_to_string(&log).unwrap();
    let measured = text.lines().rfind(|line| line.contains("measured")).unwrap();
    let measured: Value = serde_json::from_str(measured.split_once(' ').unwrap().1).unwrap();
    assert_eq!((&measured["devices"], &measured["known"]), (&json!(2), &json!(2)), "{measured}");
    assert!(measured["power_kw"].is_number(), "{measured}");
}

#[tokio::test]
async fn an_order_whose_commit_fails_is_neither_in_force_nor_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let (log, key) = (folder.path().join("grid.log"), folder.path().join("key"));
    EvidenceKey::create_file(&key).unwrap();
    let sender = json!({
        "site": "garage", "fail_safe_kw": 5.0, "evidence_file": log, "evidence_key_file": key,
    });
    let stage = Stage::with(On::Sqlite, |config| add_sender(config, sender)).await;
    stage.fjord.has_site("garage", Some(kw(3.0)));
    let app = &stage.app;
    follow(app).await;
    let run = async |statement: &'static str| {
        sqlx::query(statement).execute(app.store().reader()).await.unwrap();
    };
    // A reference to a row that is missing is refused at the commit, after all statements.
    run("create table rows_of_none (id integer primary key)").await;
    run("create table orphans (id integer references rows_of_none (id) deferrable initially deferred)")
        .await;
    run("create trigger spoil after update on grid_orders begin insert into orphans values (1); end")
        .await;
    let order = json!({ "limit_kw": 15.0 });
    let (status, answer) = operate(app, (Method::POST, "/grid/dso"), order.clone()).await;
    assert!(status >= 500, "{answer}");
    let kinds = |log: &Path| records(log).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
    assert_eq!(kinds(&log), ["limit"]);
    let (_, shown) = operate(app, (Method::GET, "/grid/dso"), json!({})).await;
    assert_eq!((&shown["limit_kw"], &shown["order"]), (&Value::Null, &Value::Null), "{shown}");
    run("drop trigger spoil").await;
    assert_eq!(operate(app, (Method::POST, "/grid/dso"), order).await.0, 200);
    assert_eq!(kinds(&log), ["limit", "order", "limit"]);
}
