//! Changes and lists of operators: clients, users, locations and devices.
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use slackwater_control::device::scope::DeviceKind;
use slackwater_http::auth_router;
use slackwater_server::admin;
use slackwater_service::auth::secret::matches;
use slackwater_store::clients;
use tower::ServiceExt;

use crate::guard::ask;
use crate::harness::{Asker, On, Stage, add_zone, device};

const JSON: (&str, &str) = ("content-type", "application/json");

fn router(stage: &Stage) -> Router {
    admin::routes::router(std::slice::from_ref(&stage.app), None)
}

async fn change(router: &Router, asker: &Asker, change: Value) -> (u16, Value) {
    let path = format!("/clients/{}", asker.id);
    let (status, headers, body) =
        ask(router, (Method::PATCH, &path), &[JSON], &change.to_string()).await;
    if status == 200 {
        assert_eq!(headers["cache-control"], "no-store");
    }
    (status, body)
}

async fn get(router: &Router, path: &str) -> Value {
    let (status, _, body) = ask(router, (Method::GET, path), &[], "").await;
    assert_eq!(status, 200, "{path}: {body}");
    body
}

/// A page of the console.
async fn open(router: &Router, path: &str) -> Response {
    let request = Request::get(path).body(Body::empty()).unwrap();
    router.clone().oneshot(request).await.unwrap()
}

async fn text_of(page: Response) -> String {
    String::from_utf8(to_bytes(page.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn a_secret_is_replaced_and_tokens_end_if_that_is_wanted() {
    let stage = Stage::new().await;
    let (router, asker) = (router(&stage), stage.client("a").await);
    let (status, changed) =
        change(&router, &asker, json!({"rotate": {"ends_tokens": false}})).await;
    assert_eq!(status, 200, "{changed}");
    let secret = changed["client_secret"].as_str().unwrap();
    let kept = clients::get_client(stage.app.store(), &asker.id).await.unwrap().unwrap();
    assert!(matches(secret, &kept.secret_hash));
    assert_eq!(asker.get("/vehicles").await.status, 200);
    let (_, again) = change(&router, &asker, json!({"rotate": {"ends_tokens": true}})).await;
    assert_ne!(again["client_secret"], changed["client_secret"]);
    assert_eq!(asker.get("/vehicles").await.status, 401);
}

#[tokio::test]
async fn a_client_that_is_revoked_gets_no_token_until_it_has_a_new_secret() {
    let stage = Stage::new().await;
    let (router, asker, other) = (router(&stage), stage.client("a").await, stage.client("b").await);
    let token_with = async |secret: &str| {
        let basic = format!("Basic {}", STANDARD.encode(format!("{}:{secret}", asker.id)));
        let headers =
            [("authorization", &*basic), ("content-type", "application/x-www-form-urlencoded")];
        let body = "grant_type=client_credentials";
        ask(&auth_router(stage.app.clone()), (Method::POST, "/oauth2/token"), &headers, body)
            .await
            .0
    };
    let (_, rotated) = change(&router, &asker, json!({"rotate": {"ends_tokens": false}})).await;
    let secret = rotated["client_secret"].as_str().unwrap().to_owned();
    assert_eq!(token_with(&secret).await, 200);
    let (status, revoked) = change(&router, &asker, json!("revoke")).await;
    assert_eq!((status, &revoked["is_revoked"]), (200, &json!(true)));
    assert_eq!(asker.get("/vehicles").await.status, 401);
    for secret in [&*secret, ""] {
        assert!([400, 401].contains(&token_with(secret).await), "{secret}");
    }
    assert_eq!(other.get("/vehicles").await.status, 200);
    let (_, back) = change(&router, &asker, json!({"rotate": {"ends_tokens": false}})).await;
    assert_eq!(back["is_revoked"], false);
    assert_eq!(token_with(back["client_secret"].as_str().unwrap()).await, 200);
}

#[tokio::test]
async fn a_pinned_version_counts_at_once_and_names_change() {
    let stage = Stage::new().await;
    let (router, asker) = (router(&stage), stage.client("a").await);
    let version = async || {
        let answer = asker.get("/vehicles").await;
        answer.header("service-version").to_owned()
    };
    assert_eq!(version().await, "2024-10-01");
    let (_, pinned) = change(&router, &asker, json!({"pin": "2024-01-01"})).await;
    assert_eq!((&pinned["version"], &*version().await), (&json!("2024-01-01"), "2024-01-01"));
    let (_, renamed) = change(&router, &asker, json!({"rename": "other"})).await;
    assert_eq!((&renamed["name"], &renamed["version"]), (&json!("other"), &json!("2024-01-01")));
    assert!(renamed.get("client_secret").is_none());
    for (wrong, part) in [
        (json!({"pin": "2022-01-01"}), "2022-01-01"),
        (json!({"promote": true}), "promote"),
        (json!("retire"), "retire"),
    ] {
        let (status, problem) = change(&router, &asker, wrong).await;
        assert!(status == 400 && problem["detail"].to_string().contains(part), "{problem}");
    }
    let nobody = ask(&router, (Method::PATCH, "/clients/nobody"), &[JSON], r#""revoke""#).await;
    assert_eq!(nobody.0, 404);
}

#[tokio::test]
async fn locations_are_made_and_everything_is_listed() {
    let stage = Stage::with(On::Sqlite, add_zone).await;
    let (router, asker) = (router(&stage), stage.client("a").await);
    let charger = stage.link(&asker, "ada", device("the-box", DeviceKind::Charger)).await;
    let place = async |order: Value| {
        let (status, _, body) =
            ask(&router, (Method::POST, "/locations"), &[JSON], &order.to_string()).await;
        (status, body)
    };
    let order = json!({
        "client": asker.id, "user": "ada", "time_zone": "Europe/Oslo", "zone": "NO1",
        "area": "north", "position": {"latitude": 59.9, "longitude": 10.7},
    });
    let (status, made) = place(order.clone()).await;
    assert_eq!(status, 200, "{made}");
    let all = get(&router, "/locations?zone=NO1&area=north").await;
    assert_eq!(all, json!([made]));
    assert_eq!(get(&router, "/locations?area=south").await, json!([]));
    // The location is one that the interface knows: a charger may be put there.
    let put = asker
        .put(&format!("/chargers/{charger}"), &json!({"chargingLocationId": made["id"]}))
        .await;
    assert_eq!(put.status, 200, "{}", put.body);
    let devices = get(&router, "/devices?kind=charger").await;
    assert_eq!(
        (&devices[0]["vendor_device"], &devices[0]["location"]),
        (&json!("the-box"), &made["id"])
    );
    assert_eq!(get(&router, "/devices?kind=vehicle").await, json!([]));
    let shown = get(&router, &format!("/locations/{}", made["id"].as_str().unwrap())).await;
    assert_eq!(
        (&shown["area"], &shown["devices"][0]["id"], &shown["tariff"]),
        (&json!("north"), &json!(charger), &Value::Null)
    );
    let shown = get(&router, "/devices/the-box").await;
    assert_eq!((&shown["id"], &shown["user"]), (&json!(charger), &json!("ada")));
    let user = get(&router, &format!("/users/{}/ada", asker.id)).await;
    assert_eq!((&user["locations"][0], &user["devices"][0]["id"]), (&made, &json!(charger)));
    // Changed under its identifier, and only by whom it belongs to.
    let mut changed = order.clone();
    changed["id"] = made["id"].clone();
    changed["area"] = Value::Null;
    assert_eq!(place(changed.clone()).await.1["area"], Value::Null);
    changed["user"] = json!("bo");
    let wrong = [
        (changed, "/id: is a location of another user"),
        (json!({"client": asker.id, "user": " "}), "/user: is empty"),
        (
            json!({
                "client": asker.id, "user": "u", "position": {"latitude": 400, "longitude": 10.7},
            }),
            "/position/latitude: is 400°; it lies between -90 and 90°",
        ),
        (json!({"client": asker.id, "user": "u", "zone": "NO9"}), "\"NO9\" is not in [zones]"),
        (json!({"client": asker.id, "user": "u", "area": "a"}), "give zone, too"),
        (json!({"client": asker.id, "user": "u", "time_zone": "Oslo"}), "Oslo"),
    ];
    for (order, part) in wrong {
        let (status, problem) = place(order).await;
        assert!(status == 400 && problem.to_string().replace('\\', "").contains(part), "{problem}");
    }
    assert_eq!(place(json!({"client": "nobody", "user": "u"})).await.0, 404);
    let users = get(&router, "/users").await;
    assert_eq!(users.as_array().unwrap().len(), 1, "a location that is refused makes no user");
}

#[tokio::test]
async fn a_client_is_shown_with_the_number_of_its_users_and_devices() {
    let stage = Stage::new().await;
    let (router, asker) = (router(&stage), stage.client("a").await);
    stage.client("b").await;
    stage.link(&asker, "ada", device("the-box", DeviceKind::Charger)).await;
    let shown = get(&router, &format!("/clients/{}", asker.id)).await;
    assert_eq!((&shown["users"], &shown["devices"]), (&json!(1), &json!(1)));
    assert_eq!(shown["is_revoked"], false);
    assert_eq!(ask(&router, (Method::GET, "/clients/nobody"), &[], "").await.0, 404);
}

#[tokio::test]
async fn what_does_not_exist_is_refused_and_not_an_empty_list() {
    let stage = Stage::new().await;
    let router = router(&stage);
    for (path, status, part) in [
        ("/users?client=nobody", 404, "client \"nobody\" not found"),
        ("/locations?client=nobody", 404, "client \"nobody\" not found"),
        ("/devices?client=nobody", 404, "client \"nobody\" not found"),
        ("/events?client=nobody", 404, "client \"nobody\" not found"),
        ("/users/nobody/ada", 404, "user \"ada\" of the client \"nobody\" not found"),
        ("/locations/home", 404, "location \"home\" not found"),
        ("/devices/the-box", 404, "device \"the-box\" not found"),
        ("/clients/nobody", 404, "client \"nobody\" not found"),
        ("/control/actions/7", 404, "action \"7\" not found"),
        ("/devices?kind=car", 400, "is not a kind of device; one of battery, charger"),
        ("/devices?vendr=A", 400, "/vendr: is not a condition; one of client, user, kind, vendor"),
    ] {
        let (found, _, problem) = ask(&router, (Method::GET, path), &[], "").await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(found == status && detail.contains(part), "{path}: {problem}");
    }
    let new = json!({ "environment": "production", "name": "p" }).to_string();
    let (status, _, problem) = ask(&router, (Method::POST, "/clients"), &[JSON], &new).await;
    assert_eq!(status, 400);
    assert!(problem.to_string().contains("[environments.production]"), "{problem}");
}

#[tokio::test]
async fn receivers_are_shown_without_tokens_and_see_events_that_there_are() {
    let stage = Stage::new().await;
    let (router, asker) = (router(&stage), stage.client("a").await);
    let subscribe = async |changes: Value| {
        let mut new = json!({ "name": "r", "client": asker.id, "url": "http://h/?token=5e7am" });
        new.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let path = (Method::POST, "/events/subscriptions");
        let (status, _, body) = ask(&router, path, &[JSON], &new.to_string()).await;
        (status, body)
    };
    for (changes, part) in [
        (json!({ "name": "" }), "the name of a subscription is empty"),
        (json!({ "url": "http://me:5e7am@h/" }), "has a user name"),
        (json!({ "events": ["nope"] }), "they see user:vendor-action:updated"),
    ] {
        let (status, problem) = subscribe(changes).await;
        let problem = problem.to_string();
        assert!(status == 400 && problem.contains(part), "{problem}");
        assert!(!problem.contains("5e7am"), "{problem}");
    }
    let (status, made) = subscribe(json!({ "events": ["user:vendor-action:updated"] })).await;
    assert_eq!((status, &made["url"]), (200, &json!("http://h/?***")));
    let listed = get(&router, "/events/subscriptions").await;
    let page = text_of(open(&router, "/console/receivers").await).await;
    for shown in [listed.to_string(), page] {
        assert!(shown.contains("http://h/?***") && !shown.contains("5e7am"), "{shown}");
    }
}

#[tokio::test]
async fn the_console_marks_revoked_clients_and_finds_devices_by_their_vendors_name() {
    let stage = Stage::new().await;
    let (router, asker) = (router(&stage), stage.client("a").await);
    let charger = stage.link(&asker, "ada", device("the-box", DeviceKind::Charger)).await;
    assert!(!text_of(open(&router, "/console").await).await.contains(">revoked<"));
    change(&router, &asker, json!("revoke")).await;
    assert!(text_of(open(&router, "/console").await).await.contains(">revoked<"));
    let found = open(&router, "/console/find?q=the-box").await;
    assert_eq!(found.status(), 303);
    assert_eq!(found.headers()["location"], format!("/console/devices/{charger}"));
    assert_eq!(open(&router, "/console/find?q=the-bo").await.status(), 404);
}
