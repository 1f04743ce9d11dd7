//! Events on their way to receivers: real ones, on sockets of their own.
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::routing::post;
use chrono::TimeDelta;
use serde_json::{Value, json};
use slackwater_engine::time::backoff;
use slackwater_integration::error::VendorError;
use slackwater_server::admin;
use slackwater_service::clock::Clock;
use slackwater_service::config::EventSettings;
use slackwater_service::jobs::poller::poll_now;
use slackwater_service::outbox::dispatcher::Dispatcher;
use slackwater_service::outbox::subscribing::{configure, subscribe};
use slackwater_store::client::Environment;
use slackwater_store::deliveries;
use slackwater_store::events::{self, NewEvent};
use slackwater_store::lease::Lease;
use slackwater_store::signing::SigningSecret;
use slackwater_store::subscription::NewSubscription;
use slackwater_wire::version::dated::ApiVersion;
use tokio::net::TcpListener;
use tower::ServiceExt;
use uuid::Uuid;

use crate::harness::{Asker, On, Stage, six};
use crate::readings::{reading, vehicle};

const ACTION: &str = "user:vendor-action:updated";

/// A receiver that notes what it gets, and answers what it is told to.
#[derive(Clone, Default)]
pub(crate) struct Receiver {
    got: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
    answers: Arc<Mutex<VecDeque<StatusCode>>>,
    usual: Arc<Mutex<Option<StatusCode>>>,
}

impl Receiver {
    /// Listens, and says where.
    pub(crate) async fn listen(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/events", listener.local_addr().unwrap());
        let router = Router::new().route("/events", post(take)).with_state(self.clone());
        tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        url
    }

    fn answers(&self, statuses: &[u16]) {
        let statuses = statuses.iter().map(|status| StatusCode::from_u16(*status).unwrap());
        self.answers.lock().unwrap().extend(statuses);
    }

    fn always(&self, status: u16) {
        *self.usual.lock().unwrap() = Some(StatusCode::from_u16(status).unwrap());
    }

    fn bodies(&self) -> Vec<Value> {
        self.got.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }

    /// One member of each body.
    pub(crate) fn all(&self, name: &str) -> Vec<Value> {
        self.bodies().into_iter().map(|body| body[name].clone()).collect()
    }
}

async fn take(State(receiver): State<Receiver>, request: Request) -> StatusCode {
    let (head, body) = request.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    let body = serde_json::from_slice(&bytes).unwrap();
    receiver.got.lock().unwrap().push((head.headers, body));
    let next = receiver.answers.lock().unwrap().pop_front();
    next.or(*receiver.usual.lock().unwrap()).unwrap_or(StatusCode::NO_CONTENT)
}

pub(crate) fn subscription(name: &str, asker: &Asker, url: &str) -> NewSubscription {
    let template = json!({
        "id": "{id}", "event": "{name}", "version": "{version}", "user": "{user}",
        "target": "{target}", "n": "{data.n}",
    });
    NewSubscription {
        name: name.to_owned(),
        client: asker.id.clone(),
        url: url.to_owned(),
        version: None,
        events: Vec::new(),
        template: Some(template.to_string()),
        secret: None,
        secret_file: None,
    }
}

pub(crate) async fn happens(stage: &Stage, asker: &Asker, user: &str, n: usize) {
    let happening = NewEvent {
        client_id: asker.id.clone(),
        user_id: user.to_owned(),
        target_id: Some(Uuid::from_u128(9)),
        name: ACTION,
        at: stage.app.now(),
        body: json!({ "n": n }),
    };
    let mut change = stage.app.store().begin().await.unwrap();
    events::record_event(change.connection(), &happening).await.unwrap();
    change.commit(|| ()).await.unwrap();
}

fn poster(stage: &Stage) -> Dispatcher {
    poster_at(stage, &Clock::fixed(six()))
}

pub(crate) fn poster_at(stage: &Stage, machine: &Clock) -> Dispatcher {
    Dispatcher::new(stage.app.clone(), machine.clone()).unwrap()
}

/// Puts the machine's clock to when a receiver that failed is tried again.
fn wait_for(machine: &Clock, failures: u32) {
    machine.step(backoff::wait(failures, u16::MAX)).unwrap();
}

#[tokio::test]
async fn events_are_posted_in_order_as_the_template_says() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let asker = stage.client_in(&stage.app, "a", ApiVersion::V2023_08_01).await;
        let other = stage.client("b").await;
        let [all, chosen, silent] = [(); 3].map(|()| Receiver::default());
        happens(&stage, &asker, "before", 0).await;
        let store = stage.app.store();
        let new = subscription("all", &asker, &all.listen().await);
        subscribe(store, &new).await.unwrap();
        let new = NewSubscription {
            version: Some(ApiVersion::LATEST),
            events: vec!["Flex Policy Updated".to_owned()],
            ..subscription("chosen", &asker, &chosen.listen().await)
        };
        subscribe(store, &new).await.unwrap();
        let new = NewSubscription {
            template: None,
            ..subscription("silent", &asker, &silent.listen().await)
        };
        subscribe(store, &new).await.unwrap();
        for n in 1..=150 {
            happens(&stage, &asker, "u", n).await;
        }
        happens(&stage, &other, "u", 999).await;
        poster(&stage).post_due().await.unwrap();
        assert_eq!(all.all("n"), (1..=150).map(Value::from).collect::<Vec<_>>());
        let first = &all.bodies()[0];
        assert_eq!(first["event"], ACTION);
        assert_eq!(first["version"], "2023-08-01");
        assert_eq!(first["target"], Uuid::from_u128(9).to_string());
        // Nothing that was not asked for, nothing without a template, nothing twice.
        assert!(chosen.bodies().is_empty() && silent.bodies().is_empty());
        poster(&stage).post_due().await.unwrap();
        assert_eq!(all.bodies().len(), 150);
        let happening = NewEvent {
            client_id: asker.id.clone(),
            user_id: "u".to_owned(),
            target_id: None,
            name: "Flex Policy Updated",
            at: six(),
            body: Value::Null,
        };
        let mut change = stage.app.store().begin().await.unwrap();
        events::record_event(change.connection(), &happening).await.unwrap();
        change.commit(|| ()).await.unwrap();
        poster(&stage).post_due().await.unwrap();
        assert_eq!(chosen.all("version"), ["2024-10-01"]);
        assert_eq!(chosen.all("target"), [Value::Null]);
    }
}

#[tokio::test]
async fn a_receiver_that_fails_is_tried_again_later_with_the_same_id() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let receiver = Receiver::default();
    let new = subscription("r", &asker, &receiver.listen().await);
    subscribe(stage.app.store(), &new).await.unwrap();
    for n in 1..=3 {
        happens(&stage, &asker, "u", n).await;
    }
    receiver.answers(&[200, 500, 302, 404, 201]);
    let machine = Clock::fixed(six());
    let poster = poster_at(&stage, &machine);
    poster.post_due().await.unwrap();
    assert_eq!(receiver.all("n"), [1, 2]);
    let row = &deliveries::all_subscriptions(stage.app.store()).await.unwrap()[0];
    assert_eq!(
        (row.failures, row.last_failure.as_deref()),
        (1, Some("answered 500 Internal Server Error"))
    );
    // Too early, nothing happens; then the wait grows with each failure.
    poster.post_due().await.unwrap();
    assert_eq!(receiver.bodies().len(), 2);
    for failures in 1..=3 {
        machine.step(backoff::wait(failures, 0) - TimeDelta::microseconds(1)).unwrap();
        poster.post_due().await.unwrap();
        assert_eq!(receiver.bodies().len(), failures as usize + 1, "too early");
        wait_for(&machine, failures);
        poster.post_due().await.unwrap();
    }
    assert_eq!(receiver.all("n"), [1, 2, 2, 2, 2, 3]);
    let ids = receiver.all("id");
    assert!(ids[1..5].iter().all(|id| *id == ids[1]) && ids[0] != ids[1]);
    let row = &deliveries::all_subscriptions(stage.app.store()).await.unwrap()[0];
    assert_eq!((row.failures, row.last_failure.clone()), (0, None));
}

#[tokio::test]
async fn a_sandbox_that_stands_still_or_hurries_changes_no_wait() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let receiver = Receiver::default();
    let new = subscription("r", &asker, &receiver.listen().await);
    subscribe(stage.app.store(), &new).await.unwrap();
    happens(&stage, &asker, "u", 1).await;
    receiver.answers(&[503, 503]);
    let machine = Clock::fixed(six());
    let poster = poster_at(&stage, &machine);
    poster.post_due().await.unwrap();
    // A day in the sandbox is a moment to a receiver that is busy.
    stage.app.clock().step(TimeDelta::days(1)).unwrap();
    poster.post_due().await.unwrap();
    assert_eq!(receiver.all("n"), [1]);
    // And in a sandbox in which it is always the same time, receivers recover all the same.
    for failures in 1..=2 {
        wait_for(&machine, failures);
        poster.post_due().await.unwrap();
    }
    assert_eq!(receiver.all("n"), [1, 1, 1]);
    assert_eq!(
        deliveries::count_waiting_events(stage.app.store(), Environment::Sandbox).await.unwrap(),
        0
    );
}

#[tokio::test]
async fn a_dead_receiver_delays_nobody_else() {
    let stage = Stage::with(On::Sqlite, |config| {
        config.events.attempts_max = Some(3);
        config.events.timeout_seconds = 1;
    })
    .await;
    let asker = stage.client("a").await;
    let (well, broken) = (Receiver::default(), Receiver::default());
    broken.always(503);
    // One that takes connections and never says anything, one that is not there.
    let hanging = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hanging_url = format!("http://{}/", hanging.local_addr().unwrap());
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let store = stage.app.store();
    for (name, url) in [
        ("hanging", hanging_url),
        ("gone", format!("https://{gone}/")),
        ("broken", broken.listen().await),
        ("well", well.listen().await),
    ] {
        subscribe(store, &subscription(name, &asker, &url)).await.unwrap();
    }
    happens(&stage, &asker, "u", 1).await;
    happens(&stage, &asker, "u", 2).await;
    let machine = Clock::fixed(six());
    let poster = poster_at(&stage, &machine);
    poster.post_due().await.unwrap();
    assert_eq!(well.all("n"), [1, 2]);
    let failures = |rows: &[deliveries::Subscription]| {
        rows.iter().map(|row| (row.name.clone(), row.failures)).collect::<Vec<_>>()
    };
    let rows = deliveries::all_subscriptions(store).await.unwrap();
    let expected = [("broken", 1), ("gone", 1), ("hanging", 1), ("well", 0)];
    assert_eq!(failures(&rows), expected.map(|(name, count)| (name.to_owned(), count)));
    assert_eq!(rows[2].last_failure.as_deref(), Some("no answer in 1 s"));
    let refused = "not reached: the connection is refused, so nothing listens there";
    assert_eq!(rows[1].last_failure.as_deref(), Some(refused));
    // After the last attempt that the operator allows, an event is given up.
    for count in 1..=2 {
        wait_for(&machine, count);
        poster.post_due().await.unwrap();
    }
    assert_eq!(broken.all("n"), [1, 1, 1]);
    broken.always(204);
    wait_for(&machine, 3);
    poster.post_due().await.unwrap();
    assert_eq!(broken.all("n"), [1, 1, 1, 2]);
}

#[tokio::test]
async fn one_of_several_replicas_posts_and_after_a_crash_another() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let asker = stage.client("a").await;
        let receiver = Receiver::default();
        let new = subscription("r", &asker, &receiver.listen().await);
        subscribe(stage.app.store(), &new).await.unwrap();
        for n in 1..=20 {
            happens(&stage, &asker, "u", n).await;
        }
        let machine = Clock::fixed(six());
        let poster = || poster_at(&stage, &machine);
        let replicas = [poster(), poster(), poster()];
        let [a, b, c] = replicas.each_ref().map(Dispatcher::post_due);
        let (a, b, c) = tokio::join!(a, b, c);
        a.and(b).and(c).unwrap();
        assert_eq!(receiver.all("n"), (1..=20).map(Value::from).collect::<Vec<_>>());
        // A process that took the lease and died.
        happens(&stage, &asker, "u", 21).await;
        let id = deliveries::all_subscriptions(stage.app.store()).await.unwrap()[0].id.clone();
        let dead = Lease::new("dead", machine.now(), TimeDelta::seconds(40));
        let mut change = stage.app.store().begin().await.unwrap();
        let leased = deliveries::acquire_subscription(change.connection(), &id, &dead).await;
        assert!(leased.unwrap().is_some());
        change.commit(|| ()).await.unwrap();
        poster().post_due().await.unwrap();
        assert_eq!(receiver.bodies().len(), 20);
        machine.step(TimeDelta::seconds(40)).unwrap();
        poster().post_due().await.unwrap();
        assert_eq!(receiver.all("n").last(), Some(&json!(21)));
        // What the dead one kept late does not count.
        let mut change = stage.app.store().begin().await.unwrap();
        let late = deliveries::DeliveryProgress {
            posted_seq: 0,
            failures: 0,
            due_at: six(),
            last_failure: None,
        };
        let kept = deliveries::record_and_release(change.connection(), &id, &late, "dead").await;
        assert!(!kept.unwrap());
    }
}

#[tokio::test]
async fn signatures_come_with_a_secret_only() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let (plain, signed) = (Receiver::default(), Receiver::default());
    let secret: SigningSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
    let store = stage.app.store();
    subscribe(store, &subscription("plain", &asker, &plain.listen().await)).await.unwrap();
    let new = subscription("signed", &asker, &signed.listen().await);
    subscribe(store, &NewSubscription { secret: Some(secret.clone()), ..new }).await.unwrap();
    happens(&stage, &asker, "u", 1).await;
    poster(&stage).post_due().await.unwrap();
    let (headers, _) = plain.got.lock().unwrap()[0].clone();
    assert!(headers.keys().all(|name| !name.as_str().starts_with("webhook-")));
    assert_eq!(headers["content-type"], "application/json");
    let (headers, body) = signed.got.lock().unwrap()[0].clone();
    let text = |name: &str| headers[name].to_str().unwrap().to_owned();
    assert_eq!(text("webhook-id"), body["id"].as_str().unwrap());
    let timestamp: i64 = text("webhook-timestamp").parse().unwrap();
    assert_eq!(timestamp, six().timestamp());
    let expected = secret.sign(&text("webhook-id"), timestamp, &body.to_string());
    assert_eq!(text("webhook-signature"), expected);
    // Nobody is told the secret again.
    let rows = deliveries::all_subscriptions(store).await.unwrap();
    assert!(!format!("{rows:?}").contains("MfKQ"));
    let router = admin::routes::router(std::slice::from_ref(&stage.app), None);
    let shown = asked(&router, "/events/subscriptions").await.to_string();
    assert!(shown.contains("\"is_signed\":true") && !shown.contains("MfKQ"));
}

#[tokio::test]
async fn subscriptions_of_the_settings_follow_the_settings() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let store = stage.app.store();
    let [old, new] = ["old", "new"].map(|name| subscription(name, &asker, "http://127.0.0.1:9/"));
    let by_hand = subscription("by-hand", &asker, "http://127.0.0.1:9/");
    let with = |all: &[NewSubscription]| EventSettings {
        subscriptions: all.to_vec(),
        ..EventSettings::default()
    };
    subscribe(store, &by_hand).await.unwrap();
    configure(store, &with(std::slice::from_ref(&old))).await.unwrap();
    happens(&stage, &asker, "u", 1).await;
    let moved = NewSubscription { url: "https://example.org/".to_owned(), ..old.clone() };
    configure(store, &with(&[moved, new])).await.unwrap();
    let names = async || {
        let rows = deliveries::all_subscriptions(store).await.unwrap();
        rows.into_iter().map(|row| (row.name, row.posted_seq, row.url)).collect::<Vec<_>>()
    };
    let here = "http://127.0.0.1:9/".to_owned();
    let expected = [
        ("by-hand".to_owned(), 0, here.clone()),
        ("new".to_owned(), 1, here.clone()),
        ("old".to_owned(), 0, "https://example.org/".to_owned()),
    ];
    assert_eq!(names().await, expected);
    configure(store, &with(&[])).await.unwrap();
    assert_eq!(names().await, [("by-hand".to_owned(), 0, here)]);
    // A name is taken once; a client must be there.
    let taken = subscribe(store, &by_hand).await.unwrap_err().to_string();
    assert_eq!(taken, "name: subscription `by-hand` is there already");
    assert!(configure(store, &with(std::slice::from_ref(&by_hand))).await.is_err());
    let mistyped = NewSubscription {
        events: vec!["nope".to_owned()],
        ..subscription("m", &asker, "http://h/")
    };
    let mistyped = configure(store, &with(&[mistyped])).await.unwrap_err().to_string();
    assert!(
        mistyped.starts_with("events.subscriptions[0].events: receivers see no event \"nope\""),
        "{mistyped}"
    );
    let unknown =
        NewSubscription { client: "x".to_owned(), ..subscription("y", &asker, "http://h/") };
    let unknown = subscribe(store, &unknown).await.unwrap_err().to_string();
    assert_eq!(unknown, "client: there is no client x");
}

#[tokio::test]
async fn what_a_poll_changes_is_told_once() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let id = stage.live(&asker, "u", reading(&vehicle())).await;
    let device_events = async || {
        let all = events::events_after(stage.app.store(), 0, 100).await.unwrap();
        all.into_iter().filter(|e| e.name == "device:changed").map(|e| e.body).collect::<Vec<_>>()
    };
    assert_eq!(device_events().await.len(), 1, "the first reading is a change");
    // The same again, read later, is none.
    let mut later = vehicle();
    later["at"] = json!("2026-01-05T18:10:00Z");
    later["facts"]["vehicle"]["charging"]["last_updated"] = json!("2026-01-05T18:10:00Z");
    later["facts"]["vehicle"]["odometer_at"] = json!("2026-01-05T18:10:00Z");
    stage.fjord.says("u-vehicle", Ok(reading(&later)));
    poll_now(&stage.app, id).await;
    assert_eq!(device_events().await.len(), 1);
    later["facts"]["vehicle"]["soc_percent"] = json!(56.0);
    stage.fjord.says("u-vehicle", Ok(reading(&later)));
    poll_now(&stage.app, id).await;
    let expected = json!({ "kind": "vehicle", "changed": ["soc_percent"] });
    assert_eq!(device_events().await[1..], [expected]);
    stage.fjord.says("u-vehicle", Err(VendorError::Outage));
    poll_now(&stage.app, id).await;
    let expected = json!({ "kind": "vehicle", "changed": ["is_reachable"] });
    assert_eq!(device_events().await[2..], [expected]);
    // Refused credentials are a change of the user.
    stage.fjord.says("u-vehicle", Err(VendorError::Unauthorised));
    poll_now(&stage.app, id).await;
    poll_now(&stage.app, id).await;
    let all = events::events_after(stage.app.store(), 0, 100).await.unwrap();
    let of_user: Vec<&Value> =
        all.iter().filter(|event| event.name == "user:changed").map(|event| &event.body).collect();
    assert_eq!(of_user, [&json!({ "vendor": "FJORD", "credentials_valid": false })]);
    // Of a user who was let go there is nothing more to tell.
    assert_eq!(asker.delete("/users/u/authorization").await.status, 204);
    stage.fjord.says("u-vehicle", Ok(reading(&vehicle())));
    poll_now(&stage.app, id).await;
    assert_eq!(events::events_after(stage.app.store(), 0, 100).await.unwrap().len(), all.len());
}

#[tokio::test]
async fn internal_names_are_for_operators() {
    let stage = Stage::with(On::Sqlite, |config| {
        config.events.device_changed = Some("vehicle news".to_owned());
    })
    .await;
    let asker = stage.client("a").await;
    let receiver = Receiver::default();
    let new = subscription("r", &asker, &receiver.listen().await);
    subscribe(stage.app.store(), &new).await.unwrap();
    let id = stage.live(&asker, "u", reading(&vehicle())).await;
    stage.fjord.says("u-vehicle", Err(VendorError::Unauthorised));
    poll_now(&stage.app, id).await;
    poster(&stage).post_due().await.unwrap();
    // The reading, and that the device cannot be reached; not the account, which has no name.
    assert_eq!(receiver.all("event"), ["vehicle news", "vehicle news"]);
    let router = admin::routes::router(std::slice::from_ref(&stage.app), None);
    let shown = asked(&router, "/events").await;
    let names: Vec<&Value> =
        shown["events"].as_array().unwrap().iter().map(|event| &event["name"]).collect();
    assert_eq!(names, ["device:changed", "user:changed", "device:changed"]);
    let rest = asked(&router, "/events?after=1&limit=1&client=client-a").await;
    assert_eq!((rest["events"].as_array().unwrap().len(), &rest["last"]), (1, &json!(2)));
    assert_eq!(asked(&router, "/events?after=x").await["title"], "Bad request");
    // Old events are forgotten, not the new.
    stage.app.clock().step(TimeDelta::days(29)).unwrap();
    happens(&stage, &asker, "u", 1).await;
    stage.app.clock().step(TimeDelta::days(2)).unwrap();
    poster(&stage).sweep().await.unwrap();
    let kept = events::events_after(stage.app.store(), 0, 100).await.unwrap();
    assert_eq!(kept.iter().map(|event| event.seq).collect::<Vec<_>>(), [4]);
}

async fn asked(router: &Router, path: &str) -> Value {
    let request = Request::builder().method(Method::GET).uri(path).body(Body::empty()).unwrap();
    let answer = router.clone().oneshot(request).await.unwrap();
    let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    serde_json::from_slice(&bytes).unwrap()
}
