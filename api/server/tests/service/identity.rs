//! Clients, their budgets and their environments.
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use slackwater_http::router;
use slackwater_service::auth::secret::{digest, generate, hash};
use slackwater_service::auth::throttle::QUEUE_MAX;
use slackwater_service::config::proxies::Peer;
use slackwater_service::config::{Budget, RateLimitClass};
use slackwater_store::client::{Client, Environment};
use slackwater_store::clients::{self, ClientRow};
use slackwater_store::tokens;
use slackwater_wire::version::dated::ApiVersion;
use sqlx::Row;
use tokio::task::JoinSet;

use crate::answer::{Answer, request, send};
use crate::harness::{On, Stage, six};

const GRANT: &str = "grant_type=client_credentials";

async fn client(stage: &Stage, environment: Environment) -> (String, String) {
    let secret = generate().unwrap();
    let client = Client {
        id: format!("the-client-{}", environment.as_str()),
        environment,
        name: String::new(),
        version: ApiVersion::LATEST,
        created_at: six(),
    };
    let id = client.id.clone();
    let row = ClientRow { client, secret_hash: hash(&secret).unwrap() };
    clients::insert_client(stage.app.store(), &row).await.unwrap();
    (id, secret)
}

fn ask(id: &str, secret: &str, form: &str) -> Request<Body> {
    let basic = format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")));
    Request::builder()
        .method(Method::POST)
        .uri("/oauth2/token")
        .header(header::AUTHORIZATION, basic)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(form.to_owned()))
        .unwrap()
}

async fn token(stage: &Stage, id: &str, secret: &str) -> Answer {
    stage.auth(ask(id, secret, GRANT)).await
}

async fn vehicles_with(stage: &Stage, authorization: &str) -> Answer {
    let mut request = request(Method::GET, "/vehicles", None);
    request.headers_mut().insert(header::AUTHORIZATION, authorization.parse().unwrap());
    send(router(stage.app.clone()), request).await
}

#[tokio::test]
async fn a_token_for_a_secret() {
    let stage = Stage::new().await;
    let (id, secret) = client(&stage, Environment::Sandbox).await;
    let answer = token(&stage, &id, &secret).await;
    assert_eq!(answer.status, 200);
    let keys = ["access_token", "expires_in", "scope", "token_type"];
    assert_eq!(Answer::keys(&answer.body), keys);
    assert_eq!(answer.body["expires_in"], 3600);
    assert_eq!((&answer.body["scope"], &answer.body["token_type"]), (&"".into(), &"bearer".into()));
    assert_eq!(answer.header("cache-control"), "no-store");
    let bearer = format!("Bearer {}", answer.body["access_token"].as_str().unwrap());
    assert_eq!(vehicles_with(&stage, &bearer).await.status, 200);
}

#[tokio::test]
async fn a_wrong_secret_is_refused_in_the_form_of_oauth() {
    let stage = Stage::new().await;
    let (id, secret) = client(&stage, Environment::Sandbox).await;
    for (id, secret) in [(id.as_str(), "wrong"), ("nobody", &secret), ("", "")] {
        let answer = token(&stage, id, secret).await;
        assert_eq!(answer.status, 401);
        assert_eq!(answer.body["error"], "invalid_client");
        assert!(answer.header("www-authenticate").starts_with("Basic "));
        assert_eq!(answer.header("cache-control"), "no-store");
    }
}

#[tokio::test]
async fn other_grants_and_forms_are_refused() {
    let stage = Stage::new().await;
    let (id, secret) = client(&stage, Environment::Sandbox).await;
    let refusals = [
        ("grant_type=password", "unsupported_grant_type"),
        ("", "invalid_request"),
        ("grant_type=client_credentials&grant_type=password", "invalid_request"),
        ("grant_type=client_credentials&scope=all", "invalid_scope"),
    ];
    for (form, error) in refusals {
        let answer = stage.auth(ask(&id, &secret, form)).await;
        assert_eq!((answer.status, &answer.body["error"]), (400, &error.into()), "{form}");
    }
    let mut json = ask(&id, &secret, GRANT);
    json.headers_mut().insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
    assert_eq!(stage.auth(json).await.body["error"], "invalid_request");
    let mut bare = ask(&id, &secret, GRANT);
    bare.headers_mut().remove(header::AUTHORIZATION);
    assert_eq!(stage.auth(bare).await.status, 401);
}

#[tokio::test]
async fn a_form_that_is_too_long_is_refused_in_the_form_of_oauth() {
    let stage = Stage::new().await;
    let (id, secret) = client(&stage, Environment::Sandbox).await;
    let long = format!("{GRANT}&x={}", "x".repeat(3_000_000));
    let answer = stage.auth(ask(&id, &secret, &long)).await;
    assert_eq!(
        (answer.status, &answer.body["error"]),
        (413, &serde_json::json!("invalid_request"))
    );
    assert!(answer.body["error_description"].is_string());
    assert_eq!(answer.header("cache-control"), "no-store");
}

#[tokio::test]
async fn tokens_expire_after_an_hour() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let machine = stage.app.clock().machine();
    machine.pass(Duration::from_secs(3_599)).unwrap();
    assert_eq!(asker.get("/vehicles").await.status, 200);
    machine.pass(Duration::from_secs(2)).unwrap();
    let answer = asker.get("/vehicles").await;
    assert_eq!((answer.status, answer.title()), (401, "Unauthorized"));
}

#[tokio::test]
async fn a_token_lasts_for_its_hour_however_fast_the_sandbox_runs() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    stage.app.clock().step(TimeDelta::days(400)).unwrap();
    assert_eq!(asker.get("/vehicles").await.status, 200);
    stage.app.clock().machine().pass(Duration::from_secs(3_601)).unwrap();
    assert_eq!(asker.get("/vehicles").await.status, 401);
}

#[tokio::test]
async fn a_token_that_was_refused_stays_so_when_the_clock_is_put_back() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let machine = stage.app.clock().machine().clone();
    machine.pass(Duration::from_mins(61)).unwrap();
    assert_eq!(asker.get("/vehicles").await.status, 401);
    machine.set_wall(six() - TimeDelta::days(1)).unwrap();
    assert_eq!(asker.get("/vehicles").await.status, 401);
    // Nor is it found again by a process that never saw it.
    let stage = stage.restarted().await;
    assert_eq!(stage.again(&asker).get("/vehicles").await.status, 401);
}

#[tokio::test]
async fn a_clock_that_was_put_back_gives_no_token_more_than_its_hour() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let machine = stage.app.clock().machine().clone();
    machine.set_wall(six() - TimeDelta::hours(23)).unwrap();
    machine.pass(Duration::from_secs(3_599)).unwrap();
    assert_eq!(asker.get("/vehicles").await.status, 200);
    machine.pass(Duration::from_secs(1)).unwrap();
    assert_eq!(asker.get("/vehicles").await.status, 401);
    // Found in the database, it is good for an hour from then at most.
    let other = stage.client("b").await;
    machine.set_wall(six() - TimeDelta::days(9)).unwrap();
    let stage = stage.restarted().await;
    let other = stage.again(&other);
    assert_eq!(other.get("/vehicles").await.status, 200);
    stage.app.clock().machine().pass(Duration::from_hours(1)).unwrap();
    assert_eq!(other.get("/vehicles").await.status, 401);
}

#[tokio::test]
async fn who_waits_for_a_token_stands_in_a_bounded_queue_and_known_secrets_do_not_wait() {
    let stage = Stage::new().await;
    let (id, secret) = client(&stage, Environment::Sandbox).await;
    assert_eq!(token(&stage, &id, &secret).await.status, 200);
    let _held = [stage.app.throttle().turn(false).await, stage.app.throttle().turn(false).await];
    let mut queue = JoinSet::new();
    for _ in 0..QUEUE_MAX {
        let app = stage.app.clone();
        queue.spawn(async move { app.throttle().turn(false).await.is_some() });
    }
    // A yield lets some of them into the queue, several let all in.
    for _ in 0..QUEUE_MAX {
        tokio::task::yield_now().await;
    }
    let answer = token(&stage, &id, "guess").await;
    assert_eq!((answer.status, &answer.body["error"]), (503, &"temporarily_unavailable".into()));
    assert_eq!(answer.header("retry-after"), "2");
    assert_eq!(token(&stage, &id, &secret).await.status, 200);
}

#[tokio::test]
async fn guesses_count_against_the_client_behind_the_proxy() {
    let stage = Stage::new().await;
    let (id, secret) = client(&stage, Environment::Sandbox).await;
    let from = async |last: u8, secret: &str| {
        let mut request = ask(&id, secret, GRANT);
        request.extensions_mut().insert(Peer([192, 0, 2, last].into()));
        stage.auth(request).await.status
    };
    for _ in 0..10 {
        assert_eq!(from(1, "guess").await, 401);
    }
    assert_eq!([from(1, "guess").await, from(2, "guess").await], [429, 401]);
    assert_eq!(from(1, &secret).await, 200);
}

#[tokio::test]
async fn requests_without_a_valid_token_are_unauthorized() {
    let stage = Stage::new().await;
    let without = send(router(stage.app.clone()), request(Method::GET, "/vehicles", None)).await;
    assert_eq!((without.status, without.title()), (401, "Unauthorized"));
    assert_eq!(without.header("www-authenticate"), "Bearer");
    for wrong in ["Bearer abc", "Bearer ", "Bearer", "Basic YTpi", "", "abc def ghi"] {
        let answer = vehicles_with(&stage, wrong).await;
        assert_eq!((answer.status, answer.title()), (401, "Unauthorized"), "{wrong}");
    }
}

#[tokio::test]
async fn tokens_are_valid_side_by_side_and_after_a_restart() {
    let stage = Stage::new().await;
    let (id, secret) = client(&stage, Environment::Sandbox).await;
    let mut bearers = Vec::new();
    for _ in 0..2 {
        let answer = token(&stage, &id, &secret).await;
        bearers.push(format!("Bearer {}", answer.body["access_token"].as_str().unwrap()));
    }
    assert_ne!(bearers[0], bearers[1]);
    let stage = stage.restarted().await;
    for bearer in &bearers {
        assert_eq!(vehicles_with(&stage, bearer).await.status, 200);
    }
}

#[tokio::test]
async fn neither_secrets_nor_tokens_are_kept() {
    let stage = Stage::new().await;
    let (id, secret) = client(&stage, Environment::Sandbox).await;
    let answer = token(&stage, &id, &secret).await;
    let token = answer.body["access_token"].as_str().unwrap();
    let kept = tokens::get_token(stage.app.store(), &digest(token)).await.unwrap();
    assert_eq!(kept.unwrap().client_id, id);
    stage.app.store().close().await;
    let folder = stage.folder().path();
    for file in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for text in [secret.as_bytes(), token.as_bytes()] {
            assert!(!bytes.windows(text.len()).any(|window| window == text));
        }
    }
}

#[tokio::test]
async fn guessing_is_slowed_and_the_owner_still_gets_in() {
    let stage = Stage::new().await;
    let (id, secret) = client(&stage, Environment::Sandbox).await;
    let mut statuses = Vec::new();
    for _ in 0..12 {
        statuses.push(token(&stage, &id, "guess").await.status);
    }
    assert_eq!(statuses[..10], [401; 10]);
    assert_eq!(statuses[10..], [429; 2]);
    let slowed = token(&stage, &id, "guess").await;
    assert_eq!(slowed.body["error"], "invalid_client");
    assert!(slowed.header("retry-after").parse::<u32>().unwrap() >= 1);
    assert_eq!(token(&stage, &id, &secret).await.status, 200);
}

#[tokio::test]
async fn environments_do_not_know_each_other() {
    let stage = Stage::new().await;
    let production = stage.production();
    // What is simulated is not there for production, nor the other way round.
    assert!(production.vendors().is_empty() && !stage.app.vendors().is_empty());
    let (id, secret) = client(&stage, Environment::Production).await;
    assert_eq!(token(&stage, &id, &secret).await.status, 401);
    let answer = send(slackwater_http::auth_router(production.clone()), ask(&id, &secret, GRANT));
    let answer = answer.await;
    assert_eq!(answer.status, 200);
    let bearer = format!("Bearer {}", answer.body["access_token"].as_str().unwrap());
    assert_eq!(vehicles_with(&stage, &bearer).await.status, 401);
    let sandbox = stage.client("s").await;
    let mut other = request(Method::GET, "/vehicles", None);
    let bearer = format!("Bearer {}", sandbox.token);
    other.headers_mut().insert(header::AUTHORIZATION, bearer.parse().unwrap());
    assert_eq!(send(router(production), other).await.status, 401);
}

#[tokio::test]
async fn tokens_are_issued_at_their_address_only() {
    let stage = Stage::new().await;
    let (id, secret) = client(&stage, Environment::Sandbox).await;
    let answer = send(router(stage.app.clone()), ask(&id, &secret, GRANT)).await;
    assert_eq!(answer.status, 401);
    let asker = stage.client("a").await;
    let token = asker.post("/oauth2/token", None).await;
    assert_eq!((token.status, token.title()), (404, "Not Found"));
    let get = stage.auth(request(Method::GET, "/oauth2/token", None)).await;
    assert_eq!((get.status, get.header("allow")), (405, "POST"));
    // AUTH-16: the parameters of the other endpoint are not shown, so it is not there.
    assert_eq!(stage.auth(request(Method::GET, "/oauth2/auth", None)).await.status, 404);
}

#[tokio::test]
async fn budgets_are_per_client() {
    let stage = Stage::with(On::Sqlite, |config| {
        let budget = Budget { requests: 2, seconds: 60 };
        config.limits.budgets.insert(RateLimitClass::Requests, budget);
        let own = [(RateLimitClass::Requests, Budget { requests: 3, seconds: 60 })];
        config.limits.clients.insert("client-b".to_owned(), own.into_iter().collect());
    })
    .await;
    let (a, b) = (stage.client("a").await, stage.client("b").await);
    let mut statuses = Vec::new();
    for asker in [&a, &a, &a, &b, &b, &b, &b] {
        statuses.push(asker.get("/users").await.status);
    }
    assert_eq!(statuses, [200, 200, 429, 200, 200, 200, 429]);
    let limited = a.get("/users").await;
    assert_eq!(limited.title(), "Rate Limited");
    assert!(limited.body["detail"].as_str().unwrap().contains("`requests`"));
    let wait: u32 = limited.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait));
}

#[tokio::test]
async fn a_token_of_nobody_is_refused_at_client_wide_resources() {
    let stage = Stage::new().await;
    let mut ask = request(Method::GET, "/health/chargers", None);
    ask.headers_mut().insert(header::AUTHORIZATION, "Bearer of-a-user".parse().unwrap());
    assert_eq!(send(router(stage.app.clone()), ask).await.status, 401);
}

#[tokio::test]
async fn clients_and_tokens_are_rows_of_their_own() {
    let stage = Stage::with(On::Postgres, |_| ()).await;
    let (id, secret) = client(&stage, Environment::Sandbox).await;
    assert_eq!(token(&stage, &id, &secret).await.status, 200);
    let row = sqlx::query("select count(*) as tokens from tokens")
        .fetch_one(stage.app.store().reader())
        .await
        .unwrap();
    assert_eq!(row.get::<i64, _>("tokens"), 1);
    assert!(stage.url.starts_with("postgres://"));
}
