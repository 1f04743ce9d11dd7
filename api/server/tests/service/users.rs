//! Users, linking and letting go.
use axum::http::Method;
use chrono::TimeDelta;
use serde_json::{Value, json};
use slackwater_control::device::scope::{DeviceKind, Permission};
use slackwater_http::scope::scope_word;
use slackwater_http::version::SERVICE_VERSION;
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::vendor::Connection;
use slackwater_service::clock::Clock;
use slackwater_service::linking::connect::{NewAccount, NewUser, connect};
use uuid::Uuid;

use crate::answer::Answer;
use crate::harness::{OLDEST, On, Stage, add_zone, device, six};
use crate::readings::{charger, reading, vehicle};

fn scopes(words: &[&str]) -> Value {
    json!({ "scopes": words })
}

#[tokio::test]
async fn a_link_session_makes_its_user() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let asker = stage.client("a").await;
        assert_eq!(asker.get("/users/u").await.status, 404);
        let link = asker.post("/users/u/link", Some(&scopes(&["vehicle:read:data"]))).await;
        assert_eq!(link.status, 200);
        assert_eq!(Answer::keys(&link.body), ["linkToken", "linkUrl"]);
        // ENV-12: under the address of the environment.
        let url = link.body["linkUrl"].as_str().unwrap();
        assert!(url.starts_with("http://link.localhost/link/"), "{url}");
        assert_eq!(asker.get("/users/u").await.body, json!({ "id": "u" }));
        assert_eq!(asker.get("/users").await.ids(), ["u"]);
        let stage = stage.restarted().await;
        assert_eq!(stage.again(&asker).get("/users").await.ids(), ["u"]);
    }
}

/// A second world on the same rows and tables has the clock that went back.
#[tokio::test]
async fn users_come_after_those_before_them_when_the_clock_went_back() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let (app, urls) = (&stage.app, stage.app.urls().clone());
    let yesterday = Clock::fixed(six() - TimeDelta::days(1));
    let back = app.for_environment(app.environment(), yesterday, urls);
    for (app, id) in [(app, "c"), (&back, "b"), (&back, "a"), (app, "d"), (app, "e")] {
        let user = NewUser { id: id.to_owned(), accounts: Vec::new(), locations: Vec::new() };
        connect(app, &asker.id, vec![user]).await.unwrap();
    }
    // The newest first.
    let order = ["e", "d", "a", "b", "c"];
    assert_eq!(asker.get("/users").await.ids(), order);
    let stage = stage.restarted().await;
    assert_eq!(stage.again(&asker).get("/users").await.ids(), order);
}

#[tokio::test]
async fn the_client_chooses_the_identifier() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let body = scopes(&["vehicle:read:data"]);
    let chosen = [("my-user%201", "my-user 1"), ("%C3%A5%2Fb", "å/b"), ("a%25", "a%")];
    for (path, id) in chosen {
        assert_eq!(asker.post(&format!("/users/{path}/link"), Some(&body)).await.status, 200);
        assert_eq!(asker.get(&format!("/users/{path}")).await.body, json!({ "id": id }));
    }
    let answer = asker.post("/users/a%00b/link", Some(&body)).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn older_versions_have_a_link_state() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    for version in ["2023-05-01", "2023-08-01", "2024-01-01"] {
        let body = scopes(&["vehicle:read:data"]);
        let headers = [(SERVICE_VERSION, version)];
        let link = asker.ask(Method::POST, "/users/u/link", Some(&body), &headers).await;
        assert_eq!(Answer::keys(&link.body), ["linkState", "linkToken", "linkUrl"], "{version}");
    }
}

#[tokio::test]
async fn what_a_link_session_may_ask_for() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let words = |kind: DeviceKind| kind.permissions().iter().map(move |of| scope_word(kind, *of));
    let all: Vec<String> = DeviceKind::ALL.into_iter().flat_map(words).collect();
    assert_eq!(all.len(), 15);
    let good = [
        json!({ "scopes": all }),
        json!({ "scopes": all, "vendorType": "hvac", "vendor": "FJORD", "unknown": 1 }),
        json!({ "scopes": all, "redirectUri": "https://app.example.org/done?x=1" }),
    ];
    for body in good {
        assert_eq!(asker.post("/users/u/link", Some(&body)).await.status, 200, "{body}");
    }
    let data = json!(["vehicle:read:data"]);
    let bad = [
        (json!({}), "/scopes"),
        (json!({ "scopes": "all" }), "/scopes"),
        (json!({ "scopes": [1] }), "/scopes"),
        (json!({ "scopes": ["charger:read:location"] }), "/scopes"),
        (json!({ "scopes": ["vehicle:control:charging"] }), "/scopes"),
        (json!({ "scopes": ["offline_access"] }), "/scopes"),
        (json!({ "scopes": data, "vendorType": "boat" }), "/vendorType"),
        (json!({ "scopes": data, "vendor": "NOBODY" }), "/vendor"),
        (json!({ "scopes": data, "vendor": null }), "/vendor"),
        (json!({ "scopes": data, "redirectUri": "not a uri" }), "/redirectUri"),
        (json!({ "scopes": data, "redirectUri": "https://good.com@evil.com/" }), "/redirectUri"),
        (json!({ "scopes": data, "redirectUri": "ms-msdt://id/x" }), "/redirectUri"),
        (json!({ "scopes": data, "redirectUri": "view-source://x" }), "/redirectUri"),
        (json!({ "scopes": data, "forceLanguage": "" }), "/forceLanguage"),
    ];
    for (body, path) in bad {
        let answer = asker.post("/users/u/link", Some(&body)).await;
        assert_eq!((answer.status, answer.title()), (400, "Bad request"), "{body}");
        assert!(answer.body["issues"][0].as_str().unwrap().starts_with(path), "{body}");
    }
    let twice = json!({ "scopes": 1, "vendorType": 2 });
    let answer = asker.post("/users/u/link", Some(&twice)).await;
    assert_eq!(answer.body["issues"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_oldest_version_links_with_its_own_scopes() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let old = [
        "offline_access",
        "all",
        "vehicle:smart_charging_policy",
        "vehicle:charge_state",
        "vehicle:location",
        "vehicle:odometer",
        "vehicle:information",
        "control:vehicle:charging",
        "charger:charge_state",
        "charger:information",
        "control:charger:charging",
        "charging_location",
        "schedule",
        "hvac:information",
        "control:hvac:temperature",
        "hvac:temperature_state",
    ];
    for word in old {
        let body = json!({ "scopes": [word], "forceLanguage": "nb-NO" });
        let headers = [(SERVICE_VERSION, OLDEST)];
        let link = asker.ask(Method::POST, "/users/u/link", Some(&body), &headers).await;
        assert_eq!(link.status, 200, "{word}");
        assert_eq!(asker.post("/users/u/link", Some(&body)).await.status, 400, "{word}");
    }
    // All members are optional there, and so is the body.
    let headers = [(SERVICE_VERSION, OLDEST)];
    let link = asker.ask(Method::POST, "/users/bare/link", None, &headers).await;
    assert_eq!((link.status, Answer::keys(&link.body).len()), (200, 3));
    let later = asker.post("/users/bare/link", None).await;
    assert_eq!((later.status, &later.body["issues"][0]), (400, &json!("/scopes: is required")));
}

#[tokio::test]
async fn a_client_whose_redirects_are_listed_may_give_no_other() {
    let page = "https://app.example.org/linked";
    let stage = Stage::with(On::Sqlite, |config| {
        let listed = [page.to_owned()].into();
        config.link.redirect_uris.insert("client-a".to_owned(), listed);
    })
    .await;
    let (listed, other) = (stage.client("a").await, stage.client("b").await);
    for (address, status) in [
        (page.to_owned(), 200),
        (format!("{page}?x=1#y"), 200),
        (format!("{page}/"), 400),
        ("https://app.example.org.evil.example/linked".to_owned(), 400),
        ("http://app.example.org/linked".to_owned(), 400),
    ] {
        let body = json!({ "scopes": ["vehicle:read:data"], "redirectUri": address });
        let answer = listed.post("/users/u/link", Some(&body)).await;
        assert_eq!(answer.status, status, "{address}");
        assert_eq!(other.post("/users/u/link", Some(&body)).await.status, 200, "{address}");
    }
}

#[tokio::test]
async fn identifiers_that_a_client_chooses_are_bounded() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, add_zone).await;
        let asker = stage.client("a").await;
        let rates = json!([{ "name": "low", "cost": "1" }]);
        let signal = json!({
            "currency": "NOK", "to": "2026-01-05T19:00:00Z",
            "values": [{ "at": "2026-01-05T18:00:00Z", "price": 1 }],
        });
        let paths = [
            ("/users/{}/link", Method::POST, scopes(&["vehicle:read:data"]), 200, "/userId: "),
            ("/tariffs/{}", Method::PUT, rates, 204, "/tariffId: "),
            ("/flex/price-signals/NO1/areas/{}", Method::PUT, signal, 204, "/areaId: "),
        ];
        for (path, method, body, good, issue) in paths {
            let ask = async |id: &str| {
                let path = path.replace("{}", id);
                asker.ask(method.clone(), &path, Some(&body), &[]).await
            };
            for id in ["x".repeat(256), "%C3%A5".repeat(128), "a%20b".to_owned()] {
                assert_eq!(ask(&id).await.status, good, "{path}");
            }
            for id in [
                "x".repeat(257),
                "%C3%A5".repeat(129),
                "x".repeat(60_000),
                "%00".to_owned(),
                "a%0Ab".to_owned(),
                "a%C2%85b".to_owned(),
            ] {
                let answer = ask(&id).await;
                assert_eq!((answer.status, answer.title()), (400, "Bad request"), "{path}");
                let first = answer.body["issues"][0].as_str().unwrap();
                assert!(first.starts_with(issue) && first.len() < 200, "{first}");
            }
        }
    }
}

#[tokio::test]
async fn connections_are_limited_when_configured() {
    let stage = Stage::with(On::Sqlite, |config| config.limits.connections_max = Some(1)).await;
    let asker = stage.client("a").await;
    let body = scopes(&["vehicle:read:data"]);
    assert_eq!(asker.post("/users/u/link", Some(&body)).await.status, 200);
    let refused = asker.post("/users/v/link", Some(&body)).await;
    assert_eq!((refused.status, refused.title()), (403, "Forbidden"));
    assert_eq!(asker.get("/users/v").await.status, 404);
    // Another client has a limit of its own, and linking anew takes no connection.
    let other = stage.client("b").await;
    let id = stage.link(&other, "u", device("d", DeviceKind::Vehicle)).await;
    assert_eq!(other.post("/users/u/link", Some(&body)).await.status, 403);
    assert_eq!(other.post(&format!("/assets/{id}/relink"), None).await.status, 200);
}

#[tokio::test]
async fn linking_again_keeps_the_device() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&vehicle())).await;
    let session = asker.post(&format!("/assets/{id}/relink"), None).await;
    assert_eq!(Answer::keys(&session.body), ["linkToken", "linkUrl"]);
    for unknown in [Uuid::new_v4().to_string(), "x".to_owned()] {
        let answer = asker.post(&format!("/assets/{unknown}/relink"), None).await;
        assert_eq!((answer.status, answer.title()), (404, "Entity Not Found"));
    }
    let mut again = device("u-vehicle", DeviceKind::Vehicle);
    again.scopes.remove(&Permission::ReadLocation);
    assert_eq!(stage.link(&asker, "u", again).await, id);
    let shown = asker.get(&format!("/vehicles/{id}")).await.body;
    assert_eq!(shown["scopes"], json!(["vehicle:control:charging", "vehicle:read:data"]));
    assert_eq!(shown["information"]["vin"], "1FJ");
}

#[tokio::test]
async fn deleting_a_user_leaves_nothing() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let asker = stage.client("a").await;
        let id = stage.live(&asker, "u", reading(&vehicle())).await;
        let kept = stage.live(&asker, "v", reading(&vehicle())).await;
        assert_eq!(asker.delete("/users/u").await.status, 204);
        let stage = stage.restarted().await;
        let asker = stage.again(&asker);
        for path in [
            "/users/u".to_owned(),
            format!("/vehicles/{id}"),
            "/users/u/vehicles".to_owned(),
            "/users/u/vendor/FJORD".to_owned(),
        ] {
            assert_eq!(asker.get(&path).await.status, 404, "{path}");
        }
        assert_eq!(asker.delete("/users/u").await.status, 404);
        assert_eq!(asker.get("/vehicles").await.ids(), [kept.to_string()]);
        assert_eq!(asker.get("/users").await.ids(), ["v"]);
    }
}

#[tokio::test]
async fn deauthorising_keeps_data_and_ends_access() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |config| {
            config.names.credentials_valid = Some("isValid".to_owned());
        })
        .await;
        let asker = stage.client("a").await;
        let id = stage.live(&asker, "u", reading(&vehicle())).await;
        let valid = async |asker: &crate::harness::Asker| {
            asker.get("/users/u/vendor/FJORD").await.body["isValid"].clone()
        };
        assert_eq!(valid(&asker).await, true);
        assert_eq!(asker.delete("/users/u/authorization").await.status, 204);
        let stage = stage.restarted().await;
        let asker = stage.again(&asker);
        assert_eq!(asker.get("/users/u/vehicles").await.ids(), [id.to_string()]);
        assert_eq!(valid(&asker).await, false);
        let polls = stage.fjord.polls();
        let fetch = asker.get_about("u", &format!("/vehicles/{id}?fields=chargeState")).await;
        assert_eq!(fetch.title(), "Permanently Invalid Credentials");
        assert_eq!(stage.fjord.polls(), polls, "nobody is called without credentials");
        stage.link(&asker, "u", device("u-vehicle", DeviceKind::Vehicle)).await;
        assert_eq!(valid(&asker).await, true);
    }
}

#[tokio::test]
async fn the_account_of_a_user_shows_what_the_operator_names() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.live(&asker, "u", reading(&vehicle())).await;
    assert_eq!(asker.get("/users/u/vendor/FJORD").await.body, json!({}));
    for path in ["/users/u/vendor/HEATH", "/users/u/vendor/x", "/users/v/vendor/FJORD"] {
        assert_eq!(asker.get(path).await.status, 404, "{path}");
        assert_eq!(asker.delete(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn refused_credentials_are_remembered() {
    let stage = Stage::with(On::Sqlite, |config| {
        config.names.credentials_valid = Some("valid".to_owned());
    })
    .await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&vehicle())).await;
    stage.fjord.says("u-vehicle", Err(VendorError::Unauthorised));
    let answer = asker.get_about("u", &format!("/vehicles/{id}?fields=location")).await;
    assert_eq!((answer.status, answer.title()), (424, "Permanently Invalid Credentials"));
    assert_eq!(asker.get("/users/u/vendor/FJORD").await.body, json!({ "valid": false }));
}

#[tokio::test]
async fn a_manufacturer_is_taken_away() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let asker = stage.client("a").await;
        stage.live(&asker, "u", reading(&vehicle())).await;
        stage.live(&asker, "u", reading(&charger())).await;
        let kept = stage.link_with(&asker, "u", "HEATH", device("h", DeviceKind::Vehicle)).await;
        assert_eq!(asker.delete("/users/u/vendor/FJORD").await.status, 204);
        let stage = stage.restarted().await;
        let asker = stage.again(&asker);
        assert_eq!(asker.get("/vehicles").await.ids(), [kept.to_string()]);
        assert_eq!(asker.get("/chargers").await.ids(), [""; 0]);
        assert_eq!(asker.delete("/users/u/vendor/FJORD").await.status, 404);
        assert_eq!(asker.get("/users/u").await.status, 200);
        assert_eq!(asker.delete("/me/vendors/HEATH").await.status, 404);
        let about =
            [(SERVICE_VERSION, OLDEST), (slackwater_http::auth::gate::SERVICE_USER_ID, "u")];
        let gone = asker.ask(Method::DELETE, "/me/vendors/HEATH", None, &about).await;
        assert_eq!(gone.status, 204);
        assert_eq!(asker.get("/vehicles").await.ids(), [""; 0]);
    }
}

#[tokio::test]
async fn lists_of_a_user_hold_that_users_devices() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let mine = stage.live(&asker, "u", reading(&vehicle())).await;
    stage.live(&asker, "v", reading(&vehicle())).await;
    assert_eq!(asker.get("/users/u/vehicles").await.ids(), [mine.to_string()]);
    for list in ["vehicles", "chargers", "hvacs", "inverters"] {
        assert_eq!(asker.get(&format!("/users/u/{list}")).await.status, 200);
        let unknown = asker.get(&format!("/users/nobody/{list}")).await;
        assert_eq!((unknown.status, unknown.title()), (404, "Entity Not Found"));
    }
}

#[tokio::test]
async fn many_users_are_kept_in_one_piece_or_not_at_all() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let same = device("d", DeviceKind::Vehicle);
    let account = NewAccount {
        vendor: VendorCode::parse("FJORD").unwrap(),
        connection: Connection::new("s"),
        // Twice the same device of the manufacturer: the second cannot be kept.
        devices: vec![same.clone(), same],
    };
    let user = NewUser { id: "u".to_owned(), accounts: vec![account], locations: Vec::new() };
    assert!(connect(&stage.app, &asker.id, vec![user]).await.is_err());
    assert_eq!(asker.get("/users").await.ids(), [""; 0]);
    let stage = stage.restarted().await;
    assert_eq!(stage.again(&asker).get("/users").await.ids(), [""; 0]);
}
