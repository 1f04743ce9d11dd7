//! Commands and cancels at the same time, on both databases.
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use axum::http::Method;
use chrono::TimeDelta;
use serde_json::{Value, json};
use slackwater_control::device::scope::DeviceKind;
use slackwater_service::prices::replicas::catch_up;
use slackwater_store::policies;
use slackwater_store::prices::{self, SeriesName};
use tokio::task::{JoinSet, yield_now};
use uuid::Uuid;

use crate::actions::{action, scene, ten};
use crate::answer::Answer;
use crate::harness::{Asker, On, Stage, add_zone, device, six};
use crate::plans::{CENTS, flexible};
use crate::priced::stage_with;

/// Rounds of each race; more of them on request.
fn rounds() -> usize {
    let asked = std::env::var("SLACKWATER_RACE_ROUNDS").ok();
    asked.and_then(|rounds| rounds.parse().ok()).unwrap_or(20)
}

/// Posts all of these at the same time.
async fn at_once(asks: impl Iterator<Item = (Asker, String, Option<Value>)>) -> Vec<Answer> {
    send_at_once(Method::POST, asks).await
}

async fn send_at_once(
    method: Method,
    asks: impl Iterator<Item = (Asker, String, Option<Value>)>,
) -> Vec<Answer> {
    let mut all = JoinSet::new();
    for (asker, path, body) in asks {
        let method = method.clone();
        all.spawn(async move { asker.ask(method, &path, body.as_ref(), &[]).await });
    }
    all.join_all().await
}

/// A stage, and its client at two doors: those of two replicas, if there can be two.
async fn doors(stage: &Stage, asker: &Asker, on: On) -> (Stage, [Asker; 2]) {
    let other = stage.replica().await;
    let door = if on == On::Postgres { other.again(asker) } else { asker.clone() };
    (other, [asker.clone(), door])
}

/// Sixteen change one window of prices, each all of it, and sixteen a quarter of
/// an hour of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_prices_for_one_window_all_or_none_are_there() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, add_zone).await;
        let asker = stage.client("a").await;
        let (other, doors) = doors(&stage, &asker, on).await;
        let path = "/flex/price-signals/NO1/areas/north";
        let step = |quarter: i32, price: usize| json!({ "at": six() + TimeDelta::minutes(15) * quarter, "price": price });
        let body = |from: i32, to: i32, price: usize| {
            let values: Vec<Value> =
                (from..to).map(|quarter| step(quarter, price + quarter as usize)).collect();
            json!({ "currency": "NOK", "to": six() + TimeDelta::minutes(15) * to, "values": values })
        };
        for round in 0..rounds() {
            let asks = (0..32_usize).map(|n| {
                // Another hundred for each, so that who wrote what can be told.
                let price = (round * 32 + n) * 100;
                let own = 16 + n as i32;
                let body = if n < 16 { body(0, 16, price) } else { body(own, own + 1, price) };
                (doors[n % 2].clone(), path.to_owned(), Some(body))
            });
            for answer in send_at_once(Method::PUT, asks).await {
                assert_eq!(answer.status, 204, "{}", answer.body);
            }
            let name = SeriesName::Area {
                client_id: asker.id.clone(),
                zone_id: "NO1".to_owned(),
                area_id: "north".to_owned(),
            };
            let mut change = stage.app.store().begin().await.unwrap();
            let kept = prices::get_series(change.connection(), &name).await.unwrap().unwrap();
            drop(change);
            let (window, own) = kept.curve.prices().split_at(16);
            let first = window[0];
            let whole: Vec<f64> = (0..16).map(|quarter| first + f64::from(quarter)).collect();
            assert_eq!(window, whole, "{on:?} round {round}");
            let each = |n: usize| ((round * 32 + n) * 100 + 16 + n) as f64;
            assert_eq!(own, (16..32).map(each).collect::<Vec<_>>(), "{on:?} round {round}");
            for stage in [&stage, &other] {
                catch_up(&stage.app).await.unwrap();
                let seen = stage.app.prices().read(|book| book.series(&name).cloned());
                assert_eq!(*seen.unwrap(), kept, "{on:?} round {round}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_of_different_days_at_once_lose_nothing() {
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    for on in [On::Sqlite, On::Postgres] {
        let (stage, _, asker) = stage_with(on, &CENTS).await;
        let (_, id) = flexible(&stage, &asker, 10.0).await;
        let (_other, doors) = doors(&stage, &asker, on).await;
        let path = format!("/flex/vehicle-policies/{id}");
        for round in 0..rounds() {
            let deadline = |n: usize| format!("{:02}:{:02}", round % 24, (round / 24 * 7 + n) % 60);
            let asks = days.iter().enumerate().map(|(n, day)| {
                let day_of = json!({ "deadline": deadline(n), "minimumChargeTarget": 50 + n });
                let change = json!({ "schedule": { *day: day_of } });
                (doors[n % 2].clone(), path.clone(), Some(change))
            });
            for answer in send_at_once(Method::PATCH, asks).await {
                assert_eq!(answer.status, 200, "{}", answer.body);
            }
            let all = policies::all_flex_policies(stage.app.store()).await.unwrap();
            for (n, day) in days.iter().enumerate() {
                let kept = all[0].policy.schedule[*day].deadline.clone();
                assert_eq!(kept, Some(deadline(n)), "{on:?} round {round} {day}");
            }
        }
        // Each change has told of itself, and how the policy stands, once.
        assert_eq!(stage.events().await.len(), 14 * rounds());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_actions_at_once_one_is_pending() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let (asker, _, door) = scene(&stage).await;
        for round in 0..rounds() {
            let bodies = (0..32).map(|n| json!({ "maxCurrent": 6 + n % 10 }));
            let asks = bodies.map(|body| (asker.clone(), door.clone(), Some(body)));
            let made = at_once(asks).await;
            let mut states = BTreeMap::new();
            for answer in &made {
                assert_eq!(answer.status, 200);
                let now = action(&asker, &answer.body["id"]).await;
                let reason = now["failureReason"]["type"].as_str().unwrap_or("-").to_owned();
                *states.entry((now["state"].as_str().unwrap().to_owned(), reason)).or_insert(0) +=
                    1;
            }
            let expected = [(("CANCELLED", "CONFLICT"), 31), (("PENDING", "-"), 1)];
            let expected =
                expected.map(|((state, reason), n)| ((state.to_owned(), reason.to_owned()), n));
            assert_eq!(states, BTreeMap::from(expected), "{on:?} round {round}");
            // The next round begins with none.
            for answer in &made {
                let id = answer.body["id"].as_str().unwrap();
                asker.post(&format!("/chargers/actions/{id}/cancel"), None).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_replicas_make_one_pending_action() {
    let stage = Stage::with(On::Postgres, |_| ()).await;
    let (asker, _, door) = scene(&stage).await;
    let replica = stage.replica().await;
    let there = replica.again(&asker);
    for _ in 0..rounds() {
        let askers = (0..16).map(|n| if n % 2 == 0 { asker.clone() } else { there.clone() });
        let made = at_once(askers.map(|asker| (asker, door.clone(), Some(ten())))).await;
        let mut pending = 0;
        for answer in &made {
            assert_eq!(answer.status, 200, "{}", answer.body);
            let now = action(&asker, &answer.body["id"]).await;
            pending += usize::from(now["state"] == "PENDING");
        }
        assert_eq!(pending, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_cancels_one_is_the_first() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let (asker, _, door) = scene(&stage).await;
        for _ in 0..rounds() {
            let made = asker.post(&door, Some(&ten())).await.body;
            let path = format!("/chargers/actions/{}/cancel", made["id"].as_str().unwrap());
            let answers = at_once((0..16).map(|_| (asker.clone(), path.clone(), None))).await;
            let (done, late): (Vec<&Answer>, Vec<&Answer>) =
                answers.iter().partition(|answer| answer.status == 200);
            assert_eq!((done.len(), late.len()), (1, 15));
            assert_eq!(done[0].body["state"], "CANCELLED");
            assert_eq!(done[0].body["failureReason"]["type"], "REQUESTED_CANCELLATION");
            for answer in late {
                assert_eq!((answer.status, answer.title()), (409, "Conflict"));
                let members = ["id", "state", "targetId", "completedAt", "failureReason"];
                assert!(members.iter().all(|name| answer.body[name] == done[0].body[name]));
            }
        }
        let unknown = format!("/chargers/actions/{}/cancel", Uuid::new_v4());
        assert_eq!(asker.post(&unknown, None).await.status, 404);
        assert_eq!(asker.get("/chargers/actions/x").await.status, 404);
    }
}

/// Number of these answers that have a status.
fn count(answers: &[Answer], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_deletions_at_once_one_finds_something() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let asker = stage.client("a").await;
        for round in 0..rounds() {
            for path in ["/users/u/vendor/FJORD", "/users/u"] {
                stage.link(&asker, "u", device("u-vehicle", DeviceKind::Vehicle)).await;
                let (_other, doors) = doors(&stage, &asker, on).await;
                let asks = (0..16).map(|n| (doors[n % 2].clone(), path.to_owned(), None));
                let answers = send_at_once(Method::DELETE, asks).await;
                let found = (count(&answers, 204), count(&answers, 404));
                assert_eq!(found, (1, 15), "{on:?} round {round} {path}");
            }
        }
    }
}

/// Lets a request run until it waits for the writer's turn.
async fn queue<T>(ask: &mut Pin<Box<impl Future<Output = T>>>) {
    let once = poll_fn(|context| Poll::Ready(ask.as_mut().poll(context).is_pending()));
    assert!(once.await, "it waits for its turn");
    for _ in 0..20 {
        yield_now().await;
    }
}

#[tokio::test]
async fn who_deletes_late_deletes_nothing_that_was_made_anew() {
    for on in [On::Sqlite, On::Postgres] {
        for path in ["/users/u/vendor/FJORD", "/users/u"] {
            let stage = Stage::with(on, |_| ()).await;
            let asker = stage.client("a").await;
            let made = || stage.link(&asker, "u", device("u-vehicle", DeviceKind::Vehicle));
            made().await;
            assert_eq!(asker.get(path).await.status, 200);
            let turn = stage.app.store().begin().await.unwrap();
            let mut first = Box::pin(asker.delete(path));
            queue(&mut first).await;
            stage.app.clock().step(TimeDelta::seconds(1)).unwrap();
            let mut anew = Box::pin(made());
            queue(&mut anew).await;
            let mut late = Box::pin(asker.delete(path));
            queue(&mut late).await;
            drop(turn);
            let (first, id, late) = tokio::join!(first, anew, late);
            assert_eq!((first.status, late.status), (204, 404), "{on:?} {path}");
            let vehicles = asker.get("/users/u/vehicles").await;
            assert_eq!(vehicles.ids(), [id.to_string()], "{on:?} {path}");
        }
    }
}
