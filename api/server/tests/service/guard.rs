//! The operators' address: what it refuses, and what operators make there.
use std::collections::BTreeSet;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request};
use serde_json::{Value, json};
use slackwater_control::device::scope::DeviceKind;
use slackwater_sandbox::generate::street;
use slackwater_sandbox::handle::Sandbox;
use slackwater_sandbox::scenario::Scenario;
use slackwater_server::admin;
use slackwater_server::seeding::residents::SandboxSeeder;
use slackwater_service::config::admin::{NamedToken, Role, TokenHash};
use slackwater_store::audit::{Act, record_act};
use slackwater_store::clients;
use tower::ServiceExt;
use uuid::Uuid;

use crate::harness::{On, Stage, device};
use crate::readings::{charger, reading};

const TOKEN: &str = "0123456789abcdefghij";

/// Sends a request with these headers, and says what came back.
pub(crate) async fn ask(
    router: &Router,
    (method, path): (Method, &str),
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, HeaderMap, Value) {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(body.to_owned())).unwrap();
    let (head, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    (head.status.as_u16(), head.headers, serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn inhabited() -> (Stage, SandboxSeeder, Router) {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let sandbox = Sandbox::new(&street(), stage.app.clock().clone());
    let (client_id, first_id) = (asker.id.as_str().into(), asker.id.as_str().into());
    let residents = SandboxSeeder { app: stage.app.clone(), sandbox, client_id, first_id };
    residents.seed().await.unwrap();
    let router = admin::routes::router(std::slice::from_ref(&stage.app), Some(residents.clone()));
    (stage, residents, router)
}

#[tokio::test]
async fn pages_of_other_origins_and_foreign_hosts_change_and_read_nothing() {
    let (stage, residents, router) = inhabited().await;
    let simple = [
        ("host", "127.0.0.1:8083"),
        ("content-type", "text/plain"),
        ("origin", "https://evil.example"),
        ("sec-fetch-site", "cross-site"),
    ];
    let (before, scenario) = (stage.app.now(), residents.sandbox.scenario());
    for (path, body) in [
        ("/sandbox/clock", r#"{"step_seconds": 86400}"#),
        ("/control/devices/bo-charger/override", ""),
        ("/control/devices/bo-charger/command", r#"{"charge": "start"}"#),
        ("/sandbox/scenario", "users: [{id: mallory}]"),
        ("/prices/market?zone=NO1&currency=NOK&unit=NOK/kWh", "start,price\n"),
    ] {
        let (status, headers, body) = ask(&router, (Method::POST, path), &simple, body).await;
        assert_eq!((status, &body["title"]), (403, &json!("Forbidden")), "{path}");
        assert_eq!(headers["content-type"], "application/problem+json");
    }
    let rebound = [("host", "evil.example:8083"), ("content-type", "application/json")];
    for (method, path) in [
        (Method::GET, "/events"),
        (Method::GET, "/sandbox/truth"),
        (Method::GET, "/metrics"),
        (Method::PUT, "/policies/devices/ada-car"),
    ] {
        let (status, _, _) = ask(&router, (method, path), &rebound, "").await;
        assert_eq!(status, 403, "{path}");
    }
    assert_eq!(stage.app.now(), before);
    assert_eq!(residents.sandbox.scenario(), scenario);
}

#[tokio::test]
async fn each_rule_of_the_guard_refuses_alone() {
    let (_stage, _, router) = inhabited().await;
    let clock = (Method::POST, "/sandbox/clock");
    let order = "{}";
    let json_type = ("content-type", "application/json");
    let here = ("host", "localhost:8083");
    for (headers, expected) in [
        (&[here, json_type][..], 200),
        (&[json_type], 200),
        (&[here, json_type, ("origin", "http://localhost:8083")], 200),
        (&[here, ("content-type", "application/json; charset=utf-8")], 200),
        (&[here, json_type, ("origin", "http://localhost:3000")], 403),
        (&[here, json_type, ("origin", "null")], 403),
        (&[here, json_type, ("sec-fetch-site", "same-site")], 403),
        (&[("host", "10.0.0.1:8083"), json_type], 403),
        (&[here, ("content-type", "text/plain")], 415),
        (&[here, ("content-type", "application/x-www-form-urlencoded")], 415),
        (&[here], 415),
    ] {
        let (status, _, body) = ask(&router, clock.clone(), headers, order).await;
        assert_eq!(status, expected, "{headers:?}: {body}");
    }
    let open = [("host", "evil.example")];
    for path in ["/docs/", "/openapi.json", "/health/ready"] {
        assert_eq!(ask(&router, (Method::GET, path), &open, "").await.0, 200, "{path}");
    }
}

#[tokio::test]
async fn a_token_is_demanded_wherever_one_is_set() {
    let with_token = |config: &mut slackwater_service::config::Config| {
        config.admin.token = Some(TOKEN.parse().unwrap());
    };
    let stage = Stage::with(On::Sqlite, with_token).await;
    let router = admin::routes::router(std::slice::from_ref(&stage.app), None);
    let bearer = format!("Bearer {TOKEN}");
    for path in ["/metrics", "/events", "/clients"] {
        for refused in ["", "Bearer", "Bearer 0123456789abcdefghiJ", "Basic 0123456789abcdefghij"] {
            let headers = [("authorization", refused), ("host", "localhost")];
            let (status, headers, _) = ask(&router, (Method::GET, path), &headers, "").await;
            let challenges = headers.get_all("www-authenticate").iter();
            let challenges: Vec<&str> = challenges.map(|value| value.to_str().unwrap()).collect();
            assert_eq!(status, 401);
            assert!(matches!(challenges[..], ["Bearer", basic] if basic.starts_with("Basic ")));
        }
        for given in [&*bearer, "Basic YW55Ym9keTowMTIzNDU2Nzg5YWJjZGVmZ2hpag=="] {
            let headers = [("authorization", given), ("host", "slackwater.internal:8083")];
            assert_eq!(ask(&router, (Method::GET, path), &headers, "").await.0, 200, "{path}");
        }
    }
    assert_eq!(ask(&router, (Method::GET, "/health/ready"), &[], "").await.0, 200);
    assert!(!format!("{:?}", stage.app.config()).contains(TOKEN));
}

#[tokio::test]
async fn each_answer_has_the_identifier_of_its_request() {
    let stage = Stage::new().await;
    let router = admin::routes::router(std::slice::from_ref(&stage.app), None);
    let json_type = [("content-type", "application/json")];
    let mut seen = BTreeSet::new();
    for (method, path, headers, expected) in [
        (Method::GET, "/metrics", &json_type[..], 200),
        (Method::GET, "/health/ready", &[], 200),
        (Method::GET, "/nothing", &[], 404),
        (Method::DELETE, "/metrics", &[], 405),
        (Method::POST, "/clients", &[("content-type", "text/plain")], 415),
        (Method::POST, "/clients", &json_type, 400),
    ] {
        let (status, headers, _) = ask(&router, (method, path), headers, "{}").await;
        assert_eq!(status, expected, "{path}");
        let id = headers["x-request-id"].to_str().unwrap();
        assert!(seen.insert(id.parse::<Uuid>().unwrap()), "{path}: {id}");
    }
}

#[tokio::test]
async fn a_client_is_made_with_a_secret_that_is_shown_once() {
    let stage = Stage::new().await;
    let router = admin::routes::router(std::slice::from_ref(&stage.app), None);
    let json_type = [("content-type", "application/json")];
    let wish = json!({ "environment": "sandbox", "name": "mine" }).to_string();
    let (status, headers, made) = ask(&router, (Method::POST, "/clients"), &json_type, &wish).await;
    assert_eq!((status, &headers["cache-control"]), (200, &"no-store".parse().unwrap()));
    let id = made["client_id"].as_str().unwrap();
    let kept = clients::get_client(stage.app.store(), id).await.unwrap().unwrap();
    let secret = made["client_secret"].as_str().unwrap();
    assert!(slackwater_service::auth::secret::matches(secret, &kept.secret_hash));
    let (_, _, all) = ask(&router, (Method::GET, "/clients"), &[], "").await;
    assert_eq!(all[0]["client_id"], id);
    assert!(!all.to_string().contains(secret));
    for bad in [r#"{"environment": "staging"}"#, r#"{"environment": "sandbox", "version": "1"}"#] {
        let refused = ask(&router, (Method::POST, "/clients"), &json_type, bad).await;
        assert_eq!(refused.0, 400, "{bad}");
    }
}

#[tokio::test]
async fn liveness_needs_no_database_and_no_token() {
    let stage = Stage::with(On::Sqlite, |config| {
        config.admin.token = Some("0123456789abcdefghij".parse().unwrap());
    })
    .await;
    let router = admin::routes::router(std::slice::from_ref(&stage.app), None);
    stage.app.store().close().await;
    let (status, _, body) = ask(&router, (Method::GET, "/health/live"), &[], "").await;
    assert_eq!((status, body), (200, json!({ "is_alive": true })));
    assert_eq!(ask(&router, (Method::GET, "/health/ready"), &[], "").await.0, 503);
}

#[tokio::test]
async fn a_name_that_two_devices_have_is_answered_with_both() {
    let stage = Stage::new().await;
    let router = admin::routes::router(std::slice::from_ref(&stage.app), None);
    let mut ids = Vec::new();
    for name in ["a", "b"] {
        let asker = stage.client(name).await;
        ids.push(stage.link(&asker, name, device("the-box", DeviceKind::Charger)).await);
    }
    let (status, _, problem) = ask(&router, (Method::GET, "/plans/the-box"), &[], "").await;
    let detail = problem["detail"].as_str().unwrap();
    assert_eq!(status, 400);
    assert!(detail.starts_with("2 devices are named the-box; say which: "), "{detail}");
    for (id, client) in ids.iter().zip(["client-a", "client-b"]) {
        assert!(detail.contains(&format!("{id} (client {client}, user ")), "{detail}");
    }
}

#[tokio::test]
async fn an_impossible_limit_is_no_command_and_not_shown() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let mut shown = charger();
    shown["facts"]["charger"]["charging"]["charge_rate_limit_kw"] = json!(-0.69);
    let id = stage.live(&asker, "u", reading(&shown)).await;
    let read = asker.get(&format!("/chargers/{id}")).await.body;
    assert_eq!(read["chargeState"]["chargeRateLimit"], Value::Null);
    let router = admin::routes::router(std::slice::from_ref(&stage.app), None);
    let json_type = [("content-type", "application/json")];
    let path = format!("/control/devices/{id}/command");
    for (order, name) in [
        (r#"{"max_current_amps": -1}"#, "max_current_amps is -1"),
        (r#"{"charge_rate_limit_kw": -0.1}"#, "charge_rate_limit_kw is -0.1"),
        (r#"{"max_current_amps": 5000}"#, "max_current_amps is 5000 A; no plug of a vehicle"),
        (
            r#"{"max_current_amps": 500}"#,
            "max_current_amps is 500 A, 50 kW or more, outside the range that the device takes: 1.4 to",
        ),
    ] {
        let (status, _, problem) = ask(&router, (Method::POST, &path), &json_type, order).await;
        assert_eq!(status, 400, "{order}");
        assert!(problem["detail"].as_str().unwrap().starts_with(name), "{problem}");
    }
    assert_eq!(stage.events().await, []);
}

/// The simulated world begins anew at a start, with the devices that patches added.
#[tokio::test]
async fn patches_and_the_clock_of_the_sandbox_outlive_a_restart() {
    let (stage, residents, router) = inhabited().await;
    let patch = "chargers: [{id: ada-second-box, user: ada, vendor: VOLTBOX, location: ada-home}]";
    let yaml = [("content-type", "application/yaml")];
    let (status, _, applied) =
        ask(&router, (Method::POST, "/sandbox/scenario"), &yaml, patch).await;
    assert_eq!((status, &applied["devices"]), (200, &json!(["ada-second-box"])));
    stage.app.clock().step(chrono::TimeDelta::hours(3)).unwrap();
    slackwater_server::seeding::kept::keep_clock(&stage.app).await.unwrap();
    let before = stage.app.now();

    let fresh = slackwater_service::clock::Clock::fixed(crate::harness::six());
    let sandbox = Sandbox::new(&street(), fresh);
    let again = SandboxSeeder { sandbox, ..residents };
    again.seed().await.unwrap();
    let devices = again.sandbox.devices();
    assert!(devices.iter().any(|device| device.common().id == "ada-second-box"));
    assert!(again.sandbox.actual_reading("ada-second-box").is_some());

    let stage = Stage::restarted(stage).await;
    let earlier = stage.replica_at(crate::harness::six()).await;
    slackwater_server::seeding::kept::resume_clock(&earlier, true).await.unwrap();
    assert_eq!(earlier.now(), before);
}

#[test]
fn a_short_scenario_that_aliases_make_long_is_refused() {
    let home = "vendors: [{code: V, display_name: V, kinds: [charger]}]\nlocations: [{id: home, \
        user: ada, time_zone: Europe/Oslo, latitude: 59.9, longitude: 10.8}]\nchargers:\n";
    let long = "x".repeat(50_000);
    let boxes = |name: &str| -> String {
        let one =
            |n| format!("  - {{id: b{n}, user: ada, vendor: V, location: home, name: {name}}}\n");
        (0..400).map(one).collect()
    };
    let bomb = format!("users: [{{id: ada}}, {{id: &a {long}}}]\n{home}{}", boxes("*a"));
    let error = Scenario::parse(&bomb).unwrap_err().to_string();
    assert!(error.starts_with("line ") && error.len() < 300, "{}", error.len());
    // Aliases that repeat little are as good as the text they stand for.
    let many = format!("users: [{{id: &a ada}}]\n{home}{}", boxes("*a"));
    assert_eq!(Scenario::parse(&many).unwrap().devices().count(), 400);
    // Long names around many items take no more memory than the text.
    let deep = format!("{long}: [{}]\n", "0,".repeat(20_000));
    assert!(Scenario::parse(&deep).is_err());
}

#[tokio::test]
async fn a_token_that_reads_changes_nothing_and_acts_are_listed() {
    let tokens: Vec<NamedToken> = [("grafana", Role::Read), ("eva", Role::Operate)]
        .map(|(name, role)| NamedToken {
            name: name.to_owned(),
            role,
            sha256: TokenHash::of(&format!("token of {name}")),
        })
        .into();
    let with_tokens = |config: &mut slackwater_service::config::Config| {
        config.admin.tokens.clone_from(&tokens);
    };
    let stage = Stage::with(On::Sqlite, with_tokens).await;
    let router = admin::routes::router(std::slice::from_ref(&stage.app), None);
    let wish = r#"{"environment": "sandbox", "name": "secret-name"}"#;
    let as_operator = async |name: &str, method: Method, path: &str, body: &str| {
        let bearer = format!("Bearer token of {name}");
        let headers = [("authorization", &*bearer), ("content-type", "application/json")];
        ask(&router, (method, path), &headers, body).await
    };
    let (status, _, problem) = as_operator("grafana", Method::POST, "/clients", wish).await;
    assert_eq!(status, 403);
    assert!(problem["detail"].as_str().unwrap().contains("role operate"), "{problem}");
    assert_eq!(as_operator("grafana", Method::GET, "/clients", "").await.2, json!([]));
    assert_eq!(as_operator("eva", Method::POST, "/clients?a=b", wish).await.0, 200);
    assert_eq!(as_operator("mallory", Method::POST, "/clients", wish).await.0, 401);
    assert_eq!(as_operator("eva", Method::DELETE, "/events/subscriptions/x", "").await.0, 404);
    let (_, _, listed) = as_operator("grafana", Method::GET, "/audit", "").await;
    let acts = listed["acts"].as_array().unwrap();
    let told = |act: &Value| {
        let words = ["operator", "role", "method", "path"].map(|key| act[key].as_str().unwrap());
        format!("{} {} {}", words.join(" "), act["status"], act["peer"].as_str().unwrap())
    };
    assert_eq!(
        acts.iter().map(told).collect::<Vec<_>>(),
        [
            "grafana read POST /clients 403 127.0.0.1",
            "eva operate POST /clients?a=b 200 127.0.0.1",
            "eva operate DELETE /events/subscriptions/x 404 127.0.0.1",
        ]
    );
    assert!(!listed.to_string().contains("secret-name"));
    let (_, _, rest) = as_operator("eva", Method::GET, "/audit?after=1&limit=1", "").await;
    assert_eq!((&rest["acts"][0]["seq"], &rest["last"]), (&json!(2), &json!(2)));
}

#[tokio::test]
async fn acts_without_a_token_are_those_of_this_machine_and_end_with_their_time() {
    let stage = Stage::with(On::Sqlite, |config| config.admin.audit_days = 1).await;
    let router = admin::routes::router(std::slice::from_ref(&stage.app), None);
    let old = Act {
        at: chrono::DateTime::UNIX_EPOCH,
        operator: "eva".to_owned(),
        role: "operate".to_owned(),
        peer: "192.0.2.1".to_owned(),
        method: "POST".to_owned(),
        path: "/clients".to_owned(),
        status: 200,
    };
    record_act(stage.app.store(), &old, old.at).await.unwrap();
    let json_type = [("content-type", "application/json")];
    ask(&router, (Method::POST, "/clients"), &json_type, "{}").await;
    let (_, _, listed) = ask(&router, (Method::GET, "/audit"), &[], "").await;
    let acts = listed["acts"].as_array().unwrap();
    assert_eq!(acts.len(), 1, "{listed}");
    assert_eq!((&acts[0]["operator"], &acts[0]["status"]), (&json!("local"), &json!(400)));
}
