//! A sandbox behind the service, and its strings.
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, header};
use axum::{Router, http::StatusCode};
use serde_json::{Value, json};
use slackwater_sandbox::generate::street;
use slackwater_sandbox::handle::Sandbox;
use slackwater_sandbox::scenario::Scenario;
use slackwater_sandbox::words::uuid_of;
use slackwater_server::admin;
use slackwater_server::seeding::residents::SandboxSeeder;
use slackwater_server::seeding::samples::Keep;
use slackwater_service::jobs::poller;
use slackwater_service::plans::{area, planner};
use slackwater_service::steering::job;
use tower::ServiceExt;

use crate::harness::{Asker, Stage};

pub(crate) struct Street {
    pub(crate) stage: Stage,
    pub(crate) asker: Asker,
    strings: Router,
    pub(crate) residents: SandboxSeeder,
}

async fn settled() -> Street {
    settled_on(Stage::new().await).await
}

/// The street of twenty homes at a service, when all devices were read once.
pub(crate) async fn settled_on(stage: Stage) -> Street {
    settled_in(stage, &street()).await
}

/// A scenario at a service, when all devices were read once.
pub(crate) async fn settled_in(stage: Stage, scenario: &Scenario) -> Street {
    let asker = stage.client("a").await;
    let sandbox = Sandbox::new(scenario, stage.app.clock().clone());
    let (client_id, first_id) = (asker.id.as_str().into(), asker.id.as_str().into());
    let residents = SandboxSeeder { app: stage.app.clone(), sandbox, client_id, first_id };
    residents.seed().await.unwrap();
    tokio::spawn(poller::run(stage.app.clone()));
    tokio::spawn(job::run(stage.app.clone()));
    tokio::spawn(planner::run(stage.app.clone()));
    tokio::spawn(area::run(stage.app.clone()));
    stage.app.poller().idle(stage.app.now()).await;
    let worlds = [stage.app.clone()];
    let strings = admin::routes::router(&worlds, Some(residents.clone()));
    Street { stage, asker, strings, residents }
}

impl Street {
    pub(crate) async fn pull(&self, method: Method, path: &str, body: &str) -> (StatusCode, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_owned()))
            .unwrap();
        let response = self.strings.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        (head.status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        self.pull(Method::POST, path, &body.to_string()).await
    }

    /// Steps the clock, and waits until all is done that falls due.
    pub(crate) async fn step(&self, seconds: u32) {
        let (_, clock) = self.post("/sandbox/clock", &json!({ "step_seconds": seconds })).await;
        assert_eq!(clock["is_settled"], true);
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.pull(Method::GET, path, "").await.1
    }

    /// Names and identifiers of the devices of the street, by name.
    pub(crate) async fn names(&self) -> Vec<(String, String)> {
        let devices = self.get("/sandbox/devices").await;
        let linked = |device: &Value| {
            let id = device["linked_as"][0].as_str()?;
            Some((device["name"].as_str()?.to_owned(), id.to_owned()))
        };
        let mut names: Vec<_> = devices.as_array().unwrap().iter().filter_map(linked).collect();
        names.sort();
        names
    }

    /// The identifier of a device of the street.
    async fn id(&self, name: &str) -> String {
        let (_, devices) = self.pull(Method::GET, "/sandbox/devices", "").await;
        let device = devices.as_array().unwrap().iter().find(|device| device["name"] == name);
        device.unwrap()["linked_as"][0].as_str().unwrap().to_owned()
    }

    async fn first(&self, list: &str, vendor: &str) -> Value {
        let page = self.asker.get(list).await.body;
        let all = page["data"].as_array().unwrap().clone();
        all.into_iter().find(|device| device["vendor"] == vendor).unwrap()
    }
}

#[tokio::test]
async fn the_street_lives_at_the_service() {
    let street = settled().await;
    // LNK-36: logging in takes a moment, not longer.
    assert!(
        slackwater_sandbox::generate::street()
            .vendors
            .iter()
            .all(|vendor| vendor.login_seconds <= 2.0)
    );
    let chargers = street.asker.get("/chargers?pageSize=100").await;
    assert!(chargers.ids().len() >= 10);
    for list in ["vehicles", "chargers", "hvacs", "inverters", "batteries", "users"] {
        let page = street.asker.get(&format!("/{list}?pageSize=100")).await;
        assert!(!page.ids().is_empty(), "{list}");
    }
    let charger = street.first("/chargers", "VOLTBOX").await;
    assert_eq!(charger["isReachable"], true);
    assert!(charger["location"]["id"].is_string());
}

/// A start with the same scenario undoes nothing that clients were answered.
#[tokio::test]
async fn the_street_stays_as_clients_left_it() {
    let Street { stage, asker, residents, .. } = settled().await;
    let id = |name: &str| uuid_of(name).to_string();
    let flex = format!("/flex/vehicle-policies/{}", id("ada-car-flex"));
    let smart = format!("/chargers/{}/smart-charging-policy", id("gus-charger"));
    let patch =
        json!({ "schedule": { "monday": { "deadline": "05:44", "minimumChargeTarget": 70 } } });
    assert_eq!(asker.ask(Method::PATCH, &flex, Some(&patch), &[]).await.status, 200);
    assert_eq!(asker.put(&smart, &json!({ "deadline": "05:55" })).await.status, 200);
    let user = "/users/ola";
    assert_eq!(asker.delete(user).await.status, 204);

    let policies = async || {
        let (flex, smart) = (asker.get(&flex).await.body, asker.get(&smart).await.body);
        (flex["schedule"]["monday"]["deadline"].clone(), smart["deadline"].clone())
    };
    residents.seed().await.unwrap();
    assert_eq!(policies().await, (json!("05:44"), json!("05:55")));
    assert_eq!(asker.get(user).await.status, 404);
    // A start after one that ended half way, or with another scenario: only what is missing.
    residents.apply_scenario(&street(), &asker.id, Keep::New).await.unwrap();
    assert_eq!(policies().await, (json!("05:44"), json!("05:55")));
    assert_eq!(asker.get(user).await.status, 200);
    assert!(stage.app.cache().read(|tables| tables.plans.flex(uuid_of("ola-car-flex")).is_some()));
}

#[tokio::test]
async fn an_outage_is_seen_when_the_order_returns() {
    let street = settled().await;
    let id = street.first("/chargers", "VOLTBOX").await["id"].as_str().unwrap().to_owned();
    let order = json!({ "vendor": "VOLTBOX", "conduct": "outage" });
    let (status, _) = street.post("/sandbox/conduct", &order).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let path = format!("/chargers/{id}");
    assert_eq!(street.asker.get(&path).await.body["isReachable"], false);
    let health = street.asker.get("/health/chargers").await.body;
    let mut vendors = health.as_array().unwrap().iter();
    let vendor = vendors.find(|vendor| vendor["vendor"] == "VOLTBOX").unwrap();
    assert_eq!(vendor["status"], "OUTAGE");
    street.post("/sandbox/conduct", &json!({ "vendor": "VOLTBOX", "conduct": "answer" })).await;
    assert_eq!(street.asker.get(&path).await.body["isReachable"], true);
}

#[tokio::test]
async fn a_patch_is_seen_when_it_returns() {
    let street = settled().await;
    let patch = "users: [{id: zoe}]\n\
        locations: [{id: zoe-home, user: zoe, time_zone: Europe/Oslo, latitude: 59, longitude: 10}]\n\
        chargers: [{id: zoe-charger, user: zoe, vendor: VOLTBOX, location: zoe-home}]\n";
    let (status, applied) = street.pull(Method::POST, "/sandbox/scenario", patch).await;
    assert_eq!((status, &applied["devices"]), (StatusCode::OK, &json!(["zoe-charger"])));
    let mine = street.asker.get("/users/zoe/chargers").await.body["data"][0].clone();
    assert_eq!(
        (&mine["id"], &mine["isReachable"]),
        (&json!(street.id("zoe-charger").await), &json!(true))
    );

    let scopes = patch.replace("location: zoe-home}", "location: zoe-home, scopes: [read_data]}");
    street.pull(Method::POST, "/sandbox/scenario", &scopes).await;
    let less = street.asker.get("/users/zoe/chargers").await.body["data"][0].clone();
    assert_eq!((&less["id"], &less["scopes"]), (&mine["id"], &json!(["charger:read:data"])));

    let other = street.stage.client("b").await;
    let door = format!("/sandbox/scenario?client={}", other.id);
    assert_eq!(street.pull(Method::POST, &door, patch).await.0, StatusCode::OK);
    let theirs = other.get("/chargers").await;
    assert_ne!(theirs.ids(), [mine["id"].as_str().unwrap()]);
    assert_eq!(theirs.ids().len(), 1);
    let nobody = street.pull(Method::POST, "/sandbox/scenario?client=nobody", patch).await;
    assert_eq!(nobody.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn policies_of_a_scenario_are_those_of_its_devices() {
    let street = settled().await;
    let path = format!("/chargers/{}/smart-charging-policy", street.id("gus-charger").await);
    let policy = street.asker.get(&path).await.body;
    let expected = json!({ "isEnabled": true, "deadline": "06:30", "chargingDuration": "03:00" });
    assert_eq!(policy, expected);
    let car = street.asker.get(&format!("/vehicles/{}", street.id("chen-car").await)).await.body;
    let smart = json!({ "isEnabled": true, "deadline": "07:00", "minimumChargeLimit": 30.0 });
    assert_eq!(car["smartChargingPolicy"], smart);
    let flex = format!("/flex/vehicle-policies/{}", uuid_of("ada-car-flex"));
    let flex = street.asker.get(&flex).await.body;
    assert_eq!(flex["vehicleId"], json!(street.id("ada-car").await));
    assert_eq!(flex["schedule"]["monday"]["minimumChargeTarget"], 80.0);
    let earlier = "charger_policies: [{charger: gus-charger, deadline: \"05:00\"}]\n";
    let (status, _) = street.pull(Method::POST, "/sandbox/scenario", earlier).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(street.asker.get(&path).await.body["deadline"], "05:00");
}

#[tokio::test]
async fn a_patch_that_makes_no_sense_says_where() {
    let street = settled().await;
    let patch = "users:\n  - {id: ada}\n  - {id: ada}\n";
    let (status, problem) = street.pull(Method::POST, "/sandbox/scenario", patch).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let issue = problem["issues"][0].as_str().unwrap();
    assert!(issue.starts_with("/users/1/id: line 3: "), "{issue}");
}

#[tokio::test]
async fn orders_for_nothing_are_refused() {
    let street = settled().await;
    let orders = [
        ("/sandbox/conduct", json!({ "device": "none", "conduct": "outage" }), 404),
        ("/sandbox/conduct", json!({ "device": "none" }), 400),
        ("/sandbox/hand", json!({ "device": "none", "hand": "unplug" }), 404),
        ("/sandbox/devices/none/reach", json!({}), 404),
        ("/sandbox/devices/none/send", json!({ "charge": "start" }), 404),
        ("/sandbox/clock", json!({ "step_seconds": -1 }), 400),
        ("/sandbox/clock", json!({ "speed": "fast" }), 400),
    ];
    for (path, order, expected) in orders {
        assert_eq!(street.post(path, &order).await.0, expected, "{path} {order}");
    }
    let (_, problem) = street.post("/sandbox/conduct", &json!({ "device": "ada-car" })).await;
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.starts_with("expected a `device` or a `vendor`, and its `conduct`"), "{detail}");
    assert_eq!(street.pull(Method::GET, "/sandbox/nothing", "").await.0, 404);
}

#[tokio::test]
async fn what_is_due_in_a_step_is_seen_when_it_returns() {
    let street = settled().await;
    let id = street.first("/chargers", "VOLTBOX").await["id"].as_str().unwrap().to_owned();
    let path = format!("/chargers/{id}");
    let before = street.asker.get(&path).await.body["lastSeen"].clone();
    let (status, clock) = street.post("/sandbox/clock", &json!({ "step_seconds": 600 })).await;
    assert_eq!((status, &clock["now"]), (StatusCode::OK, &json!("2026-01-05T18:10:00Z")));
    assert_ne!(street.asker.get(&path).await.body["lastSeen"], before);
}

#[tokio::test]
async fn a_step_is_settled_when_plans_follow_what_was_read() {
    let street = settled().await;
    let id = uuid_of("bo-car");
    street.post("/sandbox/clock", &json!({ "step_seconds": 600 })).await;
    street.post("/sandbox/hand", &json!({ "device": "bo-car", "hand": "unplug" })).await;
    let mut order = json!({ "step_seconds": 600 });
    // A machine that is busy with other things is asked again; no step is taken then.
    for _ in 0..100 {
        let (_, clock) = street.post("/sandbox/clock", &order).await;
        assert_eq!(clock["now"], "2026-01-05T18:20:00Z");
        if clock["is_settled"] == true {
            break;
        }
        order = json!({});
    }
    assert!(area::is_idle(&street.stage.app).await.unwrap());
    assert!(street.stage.app.planner().is_idle(street.stage.app.now()));
    let (_, plan) = street.pull(Method::GET, &format!("/plans/{id}"), "").await;
    assert_eq!(plan["idle"], "not_plugged_in", "{plan}");
    assert_eq!(plan["cause"], "unplugged");
}

#[tokio::test]
async fn all_meters_are_read_at_once() {
    let street = settled().await;
    street.post("/sandbox/clock", &json!({ "step_seconds": 2700 })).await;
    let window = "from=2026-01-05T18:00:00Z&to=2026-01-05T19:00:00Z";
    let path = format!("/sandbox/metered?{window}");
    let (status, all) = street.pull(Method::GET, &path, "").await;
    assert_eq!(status, StatusCode::OK);
    let (_, one) = street.pull(Method::GET, &format!("{path}&device=bo-car"), "").await;
    assert_eq!(one[0]["start"], "2026-01-05T18:00:00Z");
    assert_eq!(one[0]["imported_kwh"].as_array().unwrap().len(), 3, "the last is not over");
    let rows = all.as_array().unwrap();
    assert!(rows.iter().any(|row| *row == one[0]), "{one}");
    assert!(rows.len() > 70, "{}", rows.len());
    let (_, truth) = street.pull(Method::GET, "/sandbox/truth?kind=vehicle", "").await;
    let kinds: Vec<&Value> = truth.as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert!(kinds.len() > 15 && kinds.iter().all(|kind| **kind == "vehicle"), "{kinds:?}");
    let counted = |row: &Value| {
        row["imported_kwh"].as_array().unwrap().iter().filter_map(Value::as_f64).sum::<f64>()
    };
    let car = truth.as_array().unwrap().iter().find(|one| one["device"] == "bo-car").unwrap();
    let imported = car["reading"]["counters"]["imported_kwh"].as_f64().unwrap();
    assert!((counted(&one[0]) - imported).abs() < 1e-9, "{imported} {one}");
    for query in ["", "?from=2026-01-05T18:00:00Z", "?from=now&to=2026-01-05T19:00:00Z"] {
        let (status, _) = street.pull(Method::GET, &format!("/sandbox/metered{query}"), "").await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{query}");
    }
}

#[tokio::test]
async fn commands_are_listed() {
    let street = settled().await;
    let id = street.first("/chargers", "VOLTBOX").await["id"].as_str().unwrap().to_owned();
    let path = format!("/sandbox/devices/{id}/send");
    let (status, _) = street.post(&path, &json!({ "charge": "stop" })).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let (_, all) = street.pull(Method::GET, &format!("/sandbox/commands?device={id}"), "").await;
    assert_eq!(all[0]["command"], json!({ "charge": "stop" }));
    let (_, truth) = street.pull(Method::GET, &format!("/sandbox/devices/{id}"), "").await;
    assert!(truth["facts"]["charger"].is_object());
}

#[tokio::test]
async fn a_session_is_answered_without_a_browser() {
    let street = settled().await;
    let wanted = json!({
        "scopes": ["vehicle:read:data", "charger:read:data"],
        "redirectUri": "https://app.example.org/",
    });
    let session = async || {
        let made = street.asker.post("/users/new/link", Some(&wanted)).await.body;
        (made["linkUrl"].clone(), made["linkToken"].as_str().unwrap().to_owned())
    };
    let (url, token) = session().await;
    let order = |change: Value| {
        let mut order = json!({
            "link_url": url, "vendor": "BOREAL", "user_name": "bo", "password": "sandbox",
            "code": "246810",
        });
        order.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        order
    };
    let accept = "/sandbox/link/accept";
    for (change, status, title) in [
        (json!({ "code": "000000" }), 401, "Failed Auth Challenge"),
        (json!({ "password": "wrong" }), 424, "Permanently Invalid Credentials"),
        (json!({ "code": null }), 400, "Bad request"),
        (json!({ "vendor": null }), 400, "Bad request"),
        (json!({ "vendor": "NORDVARME" }), 400, "Bad request"),
        (json!({ "devices": ["ada-car"] }), 404, "Entity Not Found"),
        (json!({ "link_url": "http://link.localhost/link/x" }), 404, "Entity Not Found"),
        (json!({ "user_name": "ada" }), 400, "Bad request"),
    ] {
        let (got, problem) = street.post(accept, &order(change.clone())).await;
        assert_eq!((got.as_u16(), problem["title"].as_str().unwrap()), (status, title), "{change}");
    }
    let (status, done) = street.post(accept, &order(json!({}))).await;
    assert_eq!(status, StatusCode::OK, "{done}");
    assert_eq!(done["redirect"], format!("https://app.example.org/?state={token}"));
    let vehicles = street.asker.get("/users/new/vehicles").await;
    assert_eq!(vehicles.ids(), [done["devices"][0]["id"].as_str().unwrap()]);
    assert_eq!(street.post(accept, &order(json!({}))).await.0, StatusCode::BAD_REQUEST);
    let (url, token) = session().await;
    let (status, done) = street.post("/sandbox/link/deny", &json!({ "link_url": url })).await;
    assert_eq!(status, StatusCode::OK);
    let end = format!("https://app.example.org/?state={token}&error=access_denied&");
    assert!(done["redirect"].as_str().unwrap().starts_with(&end));
    let (status, _) = street.post("/sandbox/link/deny", &json!({ "link_url": url })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}
