//! Failures, and the closed list of what answers.
use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::{Method, Request, header};
use serde_json::json;
use slackwater_http::router;
use slackwater_wire::version::dated::ApiVersion;
use uuid::Uuid;

use crate::answer::{Answer, operations, request, send};
use crate::harness::{OLDEST, Stage};
use crate::readings::{charger, reading};
use slackwater_http::auth::gate::SERVICE_USER_ID;
use slackwater_http::version::SERVICE_VERSION;

/// Paths of the document with something in the place of each parameter.
fn paths() -> BTreeSet<String> {
    let filled = |path: &str| {
        let parts = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
        parts.collect::<Vec<_>>().join("/")
    };
    operations().iter().map(|operation| filled(&operation.path)).collect()
}

#[tokio::test]
async fn every_operation_answers_and_no_other_method_does() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.live(&asker, "u", reading(&charger())).await;
    let oldest = [(SERVICE_VERSION, OLDEST), (SERVICE_USER_ID, "u")];
    let all = operations();
    for path in paths() {
        let operations = all.iter().filter(|operation| matches(&operation.path, &path));
        let is_later = |summary: &str| summary.ends_with("Not in version 2023-05-01.");
        let later = operations.clone().any(|operation| is_later(&operation.summary));
        let headers = if later { &[][..] } else { &oldest[..] };
        let known: Vec<&str> = operations.map(|operation| operation.method.as_str()).collect();
        for method in ["GET", "PUT", "POST", "PATCH", "DELETE"] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let body = json!({});
            let answer = asker.ask(method.clone(), &path, Some(&body), headers).await;
            let is_known = known.contains(&method.as_str());
            let is_route = answer.title() != "Method Not Allowed" && answer.title() != "Not Found";
            assert_eq!(is_route, is_known, "{method} {path}: {}", answer.status);
            if !is_known {
                let allowed = answer.header("allow");
                assert!(known.iter().all(|method| allowed.contains(method)), "{path}: {allowed}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_before_what_cannot_be_read() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    // These make what they name, so that nothing can be missing.
    let makers = ["/users/{userId}/link", "/tariffs/{tariffId}"];
    // Zones are an operator's; one that is unknown is a fault of the request.
    let others = ["/flex/price-signals/{zoneId}/areas/{areaId}"];
    let nobody = Uuid::new_v4().to_string();
    let mut walked = 0;
    for operation in operations().iter().filter(|operation| operation.has_body) {
        let parts = operation.path.split('/');
        let parts = parts.map(|part| if part.starts_with('{') { &*nobody } else { part });
        let path = parts.collect::<Vec<_>>().join("/");
        let mut unread = request(operation.method.clone(), &path, None);
        let bearer = format!("Bearer {}", asker.token).parse().unwrap();
        unread.headers_mut().insert(header::AUTHORIZATION, bearer);
        *unread.body_mut() = Body::from("{");
        let answer = asker.send(unread).await;
        let is_open = makers.contains(&&*operation.path) || others.contains(&&*operation.path);
        let expected = if is_open { 400 } else { 404 };
        assert_eq!(answer.status, expected, "{} {}", operation.method, operation.path);
        walked += usize::from(!is_open);
    }
    assert!(walked >= 7, "{walked}");
}

fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<&str>, Vec<&str>) =
        (pattern.split('/').collect(), path.split('/').collect());
    pattern.len() == path.len()
        && pattern.iter().zip(&path).all(|(a, b)| a == b || (a.starts_with('{') && *b == "x"))
}

#[tokio::test]
async fn bodies_that_are_no_json_are_bad_requests() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&charger())).await;
    let deep = "[".repeat(10_000);
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(3_000_000));
    for body in ["", "{", "[]", "null", "\"x\"", "{\"chargingLocationId\":}", &deep, &long, "\u{0}"]
    {
        let ask = Request::builder()
            .method(Method::PUT)
            .uri(format!("/chargers/{id}"))
            .header(header::AUTHORIZATION, format!("Bearer {}", asker.token))
            .body(Body::from(body.to_owned()))
            .unwrap();
        let answer = asker.send(ask).await;
        let start: String = body.chars().take(20).collect();
        let expected =
            if body.len() > 2_000_000 { (413, "Content Too Large") } else { (400, "Bad request") };
        assert_eq!((answer.status, answer.title()), expected, "{start}");
    }
}

#[tokio::test]
async fn a_body_that_is_too_long_is_a_problem_on_every_route() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&charger())).await;
    let mut walked = 0;
    for operation in operations().iter().filter(|operation| operation.has_body) {
        if operation.path.starts_with("/oauth2") {
            continue;
        }
        let id = id.to_string();
        let parts = operation.path.split('/').map(|part| match part {
            "{chargerId}" => &id,
            "{userId}" => "u",
            part if part.starts_with('{') => "x",
            part => part,
        });
        let path = parts.collect::<Vec<_>>().join("/");
        let mut ask = request(operation.method.clone(), &path, None);
        ask.headers_mut()
            .insert(header::AUTHORIZATION, format!("Bearer {}", asker.token).parse().unwrap());
        *ask.body_mut() = Body::from(" ".repeat(33 << 20));
        let answer = asker.send(ask).await;
        let is_missing = answer.status == 404;
        assert!(
            is_missing || (answer.status, answer.title()) == (413, "Content Too Large"),
            "{path}: {}",
            answer.status
        );
        walked += usize::from(!is_missing);
    }
    assert!(walked >= 7, "{walked}");
}

#[tokio::test]
async fn operators_see_readiness_without_a_token() {
    let stage = Stage::new().await;
    let admin = slackwater_server::admin::routes::router(std::slice::from_ref(&stage.app), None);
    let ask = request(Method::GET, "/health/ready", None);
    let answer = tower::ServiceExt::oneshot(admin, ask).await.unwrap();
    assert_eq!(answer.status(), 200);
}

/// Answers to strangers do not depend on what exists.
#[tokio::test]
async fn who_asks_is_looked_at_before_what_is_there() {
    let stage = Stage::new().await;
    let app = stage.app.clone();
    let asker = stage.client_in(&app, "old", ApiVersion::V2023_08_01).await;
    for (method, path, status) in [
        (Method::GET, "/", 404),
        (Method::GET, "/nowhere", 404),
        (Method::GET, "/users/u/nothing", 404),
        (Method::DELETE, "/users", 405),
        (Method::PATCH, "/tariffs/t", 405),
        (Method::GET, "/health/ready", 200),
    ] {
        let stranger = send(router(app.clone()), request(method.clone(), path, None)).await;
        assert_eq!((stranger.status, stranger.title()), (401, "Unauthorized"), "{method} {path}");
        let answer = asker.ask(method.clone(), path, None, &[]).await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.header("service-version"), "2023-08-01", "{method} {path}");
        let unknown = [(SERVICE_VERSION, "1999-01-01")];
        let refused = asker.ask(method.clone(), path, None, &unknown).await;
        assert_eq!((refused.status, refused.title()), (400, "Bad request"), "{method} {path}");
        assert_eq!(refused.header("service-version"), "2023-08-01");
    }
    // The oldest version wants a user in a header, but not for what is not there.
    let oldest = stage.client_in(&app, "oldest", ApiVersion::V2023_05_01).await;
    for (method, status) in [(Method::GET, 400), (Method::DELETE, 405), (Method::TRACE, 405)] {
        let answer = oldest.ask(method.clone(), "/vehicles", None, &[]).await;
        assert_eq!(answer.status, status, "{method}");
    }
}

#[tokio::test]
async fn unknown_ids_are_not_found() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let ids =
        [Uuid::new_v4().to_string(), "abc".to_owned(), "%F0%9F%9A%97".to_owned(), "..".to_owned()];
    for id in ids {
        for path in
            [format!("/vehicles/{id}"), format!("/chargers/{id}"), format!("/inverters/{id}")]
        {
            let answer = asker.get(&path).await;
            assert_eq!((answer.status, answer.title()), (404, "Entity Not Found"), "{path}");
        }
    }
    assert_eq!(asker.get("/vehicles/%FF").await.status, 404);
}

#[tokio::test]
async fn a_device_of_another_kind_is_not_found() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&charger())).await;
    assert_eq!(asker.get(&format!("/vehicles/{id}")).await.status, 404);
    // CHG-10: the manufacturer's identifier is none of ours.
    assert_eq!(asker.get("/chargers/u-charger").await.status, 404);
}

#[tokio::test]
async fn a_panic_says_nothing() {
    let stage = Stage::new().await;
    let broken = axum::Router::new()
        .route("/", axum::routing::get(async || -> &'static str { panic!("the secret is 42") }));
    let broken = slackwater_http::with_shared_layers(broken, stage.app.clone());
    let answer = send(broken, request(Method::GET, "/", None)).await;
    assert_eq!((answer.status, answer.title()), (500, "Server Error"));
    assert!(!answer.body.to_string().contains("42"));
}

#[tokio::test]
async fn without_a_database_there_is_no_service() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let ready = async || asker.get("/health/ready").await;
    let answer = ready().await;
    assert_eq!((answer.status, &answer.body), (200, &json!({})));
    stage.app.store().close().await;
    let answer = ready().await;
    assert_eq!((answer.status, answer.title()), (503, "Service Unavailable"));
    let body = json!({ "scopes": ["vehicle:read:data"] });
    let answer = asker.post("/users/u/link", Some(&body)).await;
    assert_eq!((answer.status, answer.title()), (503, "Service Unavailable"));
    // ENV-13: what is known is still read.
    assert_eq!(asker.get("/vehicles").await.status, 200);
}

#[tokio::test]
async fn a_stopping_service_is_not_ready() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.app.stop();
    let answer = asker.get("/health/ready").await;
    assert_eq!((answer.status, answer.title()), (503, "Service Unavailable"));
}

#[tokio::test]
async fn a_broken_row_is_withheld() {
    let stage = Stage::new().await;
    sqlx::query("insert into clients values ('x', 'moon', '', '', '2024-10-01', 0)")
        .execute(stage.app.store().reader())
        .await
        .unwrap();
    let error = slackwater_store::clients::get_client(stage.app.store(), "x").await.unwrap_err();
    let problem = serde_json::to_value(slackwater_http::problem::Problem::from(error)).unwrap();
    assert_eq!(problem["title"], "Validation Error");
    assert!(!problem.to_string().contains("moon"));
}

#[tokio::test]
async fn paths_that_lead_nowhere_are_problems_too() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    for path in ["/", "/health", "/health/ready/", "/vehicles/"] {
        let answer = asker.get(path).await;
        assert_eq!((answer.status, answer.title()), (404, "Not Found"), "{path}");
        assert_eq!(answer.body["detail"], format!("no route GET {path}"));
    }
    let link =
        send(slackwater_link::router(stage.app.clone()), request(Method::GET, "/", None)).await;
    assert_eq!(link.status, 404);
    assert_eq!(Answer::keys(&link.body), ["detail", "title", "type"]);
}
