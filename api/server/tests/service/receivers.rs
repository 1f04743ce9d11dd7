//! Receivers that are no good, and what the others notice of them.
use std::io::ErrorKind;
use std::net::TcpListener as BlockingListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection};
use serde_json::json;
use slackwater_service::clock::Clock;
use slackwater_service::outbox::subscribing::subscribe;
use slackwater_store::deliveries::{self, DeliveryProgress};
use slackwater_store::events::{self, NewEvent};
use slackwater_store::lease::Lease;
use slackwater_store::subscription::NewSubscription;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{Duration, timeout};

use crate::harness::{On, Stage, six};
use crate::outbox::{Receiver, happens, poster_at, subscription};

/// More than there are places.
const HANGING: usize = 100;

/// Takes connections, never says anything, and counts.
async fn hanging() -> (String, watch::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (count, counted) = watch::channel(0);
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            open.push(stream);
            count.send_replace(open.len());
        }
    });
    (url, counted)
}

#[tokio::test]
async fn many_receivers_that_hang_leave_places_to_those_that_answer() {
    for on in [On::Sqlite, On::Postgres] {
        // Longer than the test may last: whoever hangs keeps its place.
        let stage = Stage::with(on, |config| config.events.timeout_seconds = 600).await;
        let asker = stage.client("a").await;
        let store = stage.app.store();
        let (url, mut hung) = hanging().await;
        let machine = Clock::fixed(six());
        for n in 0..HANGING {
            subscribe(store, &subscription(&format!("dead-{n}"), &asker, &url)).await.unwrap();
        }
        // All of them failed before.
        let lease = Lease::new("test", machine.now(), TimeDelta::zero());
        for row in deliveries::all_subscriptions(store).await.unwrap() {
            let mut change = store.begin().await.unwrap();
            let to = change.connection();
            deliveries::acquire_subscription(to, &row.id, &lease).await.unwrap().unwrap();
            let last_failure = Some("no answer in 600 s".to_owned());
            let due_at = machine.now() - TimeDelta::minutes(1);
            let served = DeliveryProgress { posted_seq: 0, failures: 1, due_at, last_failure };
            let was_held = deliveries::record_and_release(to, &row.id, &served, "test").await;
            assert!(was_held.unwrap());
            change.commit(|| ()).await.unwrap();
        }
        let well = Receiver::default();
        subscribe(store, &subscription("well", &asker, &well.listen().await)).await.unwrap();
        happens(&stage, &asker, "u", 1).await;
        let poster = poster_at(&stage, &machine);
        let turn = poster.clone();
        let first = tokio::spawn(async move { turn.post_due().await });
        timeout(Duration::from_mins(2), hung.wait_for(|count| *count == 8)).await.unwrap().unwrap();
        let got_one = async {
            while well.all("n") != [1] {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_mins(2), got_one).await.expect("those that answer have places");
        // Each look finds them due, and none has more than its one place.
        happens(&stage, &asker, "u", 2).await;
        while well.all("n").len() < 2 {
            timeout(Duration::from_mins(2), poster.post_due()).await.unwrap().unwrap();
            tokio::task::yield_now().await;
        }
        assert_eq!(well.all("n"), [1, 2]);
        assert_eq!(*hung.borrow(), 8);
        first.abort();
    }
}

#[tokio::test]
async fn an_event_of_a_name_that_nobody_knows_is_passed_on_whole() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let receiver = Receiver::default();
    let template = json!({ "event": "{name}", "data": "{data}" }).to_string();
    let new = subscription("r", &asker, &receiver.listen().await);
    let new = NewSubscription { template: Some(template), ..new };
    subscribe(stage.app.store(), &new).await.unwrap();
    let body = json!({ "n": 1, "members": { "of": ["tomorrow"] } });
    let happening = NewEvent {
        client_id: asker.id.clone(),
        user_id: "u".to_owned(),
        target_id: None,
        name: "name:of:tomorrow",
        at: six(),
        body: body.clone(),
    };
    let mut change = stage.app.store().begin().await.unwrap();
    events::record_event(change.connection(), &happening).await.unwrap();
    change.commit(|| ()).await.unwrap();
    poster_at(&stage, &Clock::fixed(six())).post_due().await.unwrap();
    assert_eq!(receiver.all("event"), ["name:of:tomorrow"]);
    assert_eq!(receiver.all("data"), [body]);
}

/// Of a receiver that nobody trusts: it signed its own certificate. Good for this
/// test and nothing else.
const KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgmVtWvj0elxJP2Fy2xu76JSEzuP6nG1edBD/+\
    2ZPSqLihRANCAATIK0aLfkOMFy8nNIxumLwferkWkRGgJ6Fu0rhRp193KHpW/7zWaCg91PYkBphpAQqTr2Ba\
    4kIq5CvmUWkX+KlO";
const CERTIFICATE: &str = "MIIBXjCCAQSgAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA1yZWNlaXZlci50ZXN0MCAXDTIwMDEw\
    MTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAYMRYwFAYDVQQDDA1yZWNlaXZlci50ZXN0MFkwEwYHKoZIzj0C\
    AQYIKoZIzj0DAQcDQgAEyCtGi35DjBcvJzSMbpi8H3q5FpERoCehbtK4Uadfdyh6Vv+81mgoPdT2JAaYaQEK\
    k69gWuJCKuQr5lFpF/ipTqM9MDswCQYDVR0TBAIwADAPBgNVHREECDAGhwR/AAABMB0GA1UdDgQWBBTvXlXW\
    nztP2dHMXN0YFkn34dnHWTAKBggqhkjOPQQDAgNIADBFAiBb+Q5UFiKKKDvgM1snC8zrej7yQtcerjJDr6dt\
    54h74gIhAPHN/6KE8kZmfF0rHKNrEUXv0EXCcUUujR7qzbmQyLDS";

/// Shakes hands with whoever comes until `count` have, and counts the requests.
fn self_signed(count: usize) -> (String, Arc<AtomicUsize>, JoinHandle<()>) {
    let certificate = STANDARD.decode(CERTIFICATE).unwrap().into();
    let key = PrivatePkcs8KeyDer::from(STANDARD.decode(KEY).unwrap()).into();
    let config =
        ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
    let config = Arc::new(config);
    let listener = BlockingListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/events", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let shaking = thread::spawn(move || {
        for _ in 0..count {
            let (mut stream, _) = listener.accept().unwrap();
            let mut tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            let shaken = tls.complete_io(&mut stream);
            // It is told why it is not believed.
            let reason = shaken.map_err(|error| (error.kind(), error.to_string()));
            match reason {
                Ok(_) => {
                    counted.fetch_add(1, Ordering::SeqCst);
                }
                Err((ErrorKind::InvalidData, text)) => {
                    assert!(text.contains("UnknownCA"), "{text}");
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    });
    (url, requests, shaking)
}

#[tokio::test]
async fn a_receiver_with_an_unknown_certificate_gets_nothing_and_the_reason_is_kept() {
    let stage = Stage::new().await;
    let asker = stage.client("a").await;
    let (url, requests, shaking) = self_signed(1);
    subscribe(stage.app.store(), &subscription("r", &asker, &url)).await.unwrap();
    happens(&stage, &asker, "u", 1).await;
    poster_at(&stage, &Clock::fixed(six())).post_due().await.unwrap();
    tokio::task::spawn_blocking(|| shaking.join().unwrap()).await.unwrap();
    assert_eq!(requests.load(Ordering::SeqCst), 0, "no event leaves");
    let row = &deliveries::all_subscriptions(stage.app.store()).await.unwrap()[0];
    let reason = row.last_failure.clone().unwrap();
    let expected = "not reached: the certificate is not from an authority that this machine trusts";
    assert_eq!(reason, expected);
    assert_eq!((row.failures, row.posted_seq), (1, 0));
}
