//! Commands and cancels at the same time, on both databases.
use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::actions::{action, scene, ten};
use crate::answer::Answer;
use crate::harness::{Asker, On, Stage};

/// Rounds of each race; more of them on request.
fn rounds() -> usize {
    let asked = std::env::var("SLACKWATER_RACE_ROUNDS").ok();
    asked.and_then(|rounds| rounds.parse().ok()).unwrap_or(20)
}

/// Posts all of these at the same time.
async fn at_once(asks: impl Iterator<Item = (Asker, String, Option<Value>)>) -> Vec<Answer> {
    let mut all = JoinSet::new();
    for (asker, path, body) in asks {
        all.spawn(async move { asker.post(&path, body.as_ref()).await });
    }
    all.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn act_13_act_14_lim_05_of_many_at_once_one_is_pending() {
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
async fn act_13_act_14_two_replicas_make_one_pending_action() {
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
async fn chg_24_chg_25_act_16_act_18_amb_03_of_many_cancels_one_is_the_first() {
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
