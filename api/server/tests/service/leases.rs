//! Leases of areas and of subscriptions, on both databases.
use chrono::{DateTime, TimeDelta, Utc};
use slackwater_service::outbox::subscribing::subscribe;
use slackwater_service::plans::area::LEASE;
use slackwater_store::database::Store;
use slackwater_store::deliveries::{self, DeliveryProgress};
use slackwater_store::jobs::{self, AreaJob};
use slackwater_store::lease::Lease;
use tokio::task::JoinSet;

use crate::harness::{Asker, On, Stage, six};
use crate::outbox::subscription;

/// Row with a lease. Both kinds must behave alike.
#[derive(Debug, Clone)]
enum Leased {
    Area(AreaJob),
    Subscription(String),
}

/// One row of each kind.
async fn rows(stage: &Stage, asker: &Asker) -> [Leased; 2] {
    let store = stage.app.store();
    let mut change = store.begin().await.unwrap();
    let area = (asker.id.as_str(), "NO1", "north");
    jobs::request_area(change.connection(), area, six()).await.unwrap();
    change.commit(|| ()).await.unwrap();
    subscribe(store, &subscription("r", asker, "http://127.0.0.1:9/")).await.unwrap();
    let subscription = deliveries::all_subscriptions(store).await.unwrap()[0].id.clone();
    let area = AreaJob {
        client_id: asker.id.clone(),
        zone_id: "NO1".to_owned(),
        area_id: "north".to_owned(),
        asked: 1,
        asked_at: six(),
    };
    [Leased::Area(area), Leased::Subscription(subscription)]
}

fn served() -> DeliveryProgress {
    DeliveryProgress { posted_seq: 0, failures: 0, due_at: six(), last_failure: None }
}

impl Leased {
    async fn acquire(&self, stage: &Stage, holder: &str, now: DateTime<Utc>) -> bool {
        self.acquire_in(stage.app.store(), &Lease::new(holder, now, LEASE)).await
    }

    async fn acquire_in(&self, store: &Store, lease: &Lease<'_>) -> bool {
        use slackwater_store::client::Environment::Sandbox;
        let mut change = store.begin().await.unwrap();
        let to = change.connection();
        let is_ours = match self {
            Self::Area(area) => {
                let acquired = jobs::acquire_area(to, Sandbox, lease).await.unwrap();
                assert!(acquired.as_ref().is_none_or(|acquired| acquired == area));
                acquired.is_some()
            }
            Self::Subscription(id) => {
                deliveries::acquire_subscription(to, id, lease).await.unwrap().is_some()
            }
        };
        change.commit(|| ()).await.unwrap();
        is_ours
    }

    async fn renew(&self, stage: &Stage, holder: &str, now: DateTime<Utc>) -> bool {
        let lease = Lease::new(holder, now, LEASE);
        let mut change = stage.app.store().begin().await.unwrap();
        let to = change.connection();
        let is_held = match self {
            Self::Area(area) => jobs::renew_lease(to, area, &lease).await.unwrap(),
            Self::Subscription(id) => {
                deliveries::record_and_renew(to, id, &served(), &lease).await.unwrap()
            }
        };
        change.commit(|| ()).await.unwrap();
        is_held
    }

    /// Gives the lease back. The area has unfinished work afterwards.
    async fn release(&self, store: &Store, holder: &str) {
        let mut change = store.begin().await.unwrap();
        let to = change.connection();
        match self {
            Self::Area(area) => {
                let unfinished = AreaJob { asked: 0, ..area.clone() };
                jobs::finish_area(to, &unfinished, holder).await.unwrap();
            }
            Self::Subscription(id) => {
                deliveries::record_and_release(to, id, &served(), holder).await.unwrap();
            }
        }
        change.commit(|| ()).await.unwrap();
    }
}

#[tokio::test]
async fn a_lease_is_held_by_one_until_it_expires_or_is_given_back() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let asker = stage.client("a").await;
        for row in rows(&stage, &asker).await {
            assert!(row.acquire(&stage, "one", six()).await, "{on:?} {row:?}");
            assert!(!row.acquire(&stage, "two", six()).await);
            assert!(!row.acquire(&stage, "one", six()).await, "nor twice by one process");
            // The first dies. The lease is free at the instant at which it expires, not before.
            let expiry = six() + LEASE;
            assert!(!row.acquire(&stage, "two", expiry - TimeDelta::microseconds(1)).await);
            assert!(row.renew(&stage, "one", expiry).await, "late, but nobody took it");
            assert!(!row.acquire(&stage, "two", expiry).await);
            let expiry = expiry + LEASE;
            assert!(row.acquire(&stage, "two", expiry).await);
            assert!(!row.renew(&stage, "one", expiry).await, "who comes back writes nothing");
            row.release(stage.app.store(), "one").await;
            assert!(!row.acquire(&stage, "one", expiry).await, "nor gives back another's lease");
            row.release(stage.app.store(), "two").await;
            assert!(!row.renew(&stage, "two", expiry).await, "what was given back is not held");
            assert!(row.acquire(&stage, "one", six()).await, "free at any time");
        }
    }
}

/// The clock of a machine is set, or the clocks of two replicas differ: a lease is never held by
/// two by one clock, and a holder brings the stored time back to its clock when it renews.
#[tokio::test]
async fn a_clock_that_is_set_moves_the_expiry_with_the_next_renewal() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let asker = stage.client("a").await;
        for row in rows(&stage, &asker).await {
            let (day, back) = (TimeDelta::days(1), six() - TimeDelta::days(1));
            assert!(row.acquire(&stage, "one", six()).await, "{on:?} {row:?}");
            // Set back by a day: the lease lasts until the stored time.
            assert!(!row.acquire(&stage, "two", back).await);
            assert!(!row.acquire(&stage, "two", back + LEASE).await);
            // The holder lives and renews by the clock as it is now: after a crash others wait
            // for the length of a lease, not for a day.
            assert!(row.renew(&stage, "one", back).await);
            assert!(!row.acquire(&stage, "two", back).await);
            assert!(row.acquire(&stage, "two", back + LEASE).await);
            assert!(!row.renew(&stage, "one", back + LEASE).await);
            // Set forward by a day: the lease has expired, and its holder learns so.
            assert!(row.acquire(&stage, "three", back + day).await);
            assert!(!row.renew(&stage, "two", back + day).await);
            row.release(stage.app.store(), "three").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_replicas_that_race_for_a_lease_one_gets_it() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = Stage::with(on, |_| ()).await;
        let asker = stage.client("a").await;
        let replica = stage.replica().await;
        let rows = rows(&stage, &asker).await;
        for round in 0..20 {
            for row in &rows {
                let mut racing = JoinSet::new();
                for (replica, holder) in [(&stage, "one"), (&replica, "two")] {
                    let (row, store) = (row.clone(), replica.app.store().clone());
                    racing.spawn(async move {
                        let lease = Lease::new(holder, six(), LEASE);
                        (holder, row.acquire_in(&store, &lease).await)
                    });
                }
                let mut holders = racing.join_all().await;
                holders.retain(|(_, is_ours)| *is_ours);
                assert_eq!(holders.len(), 1, "{on:?} round {round} {row:?}");
                row.release(stage.app.store(), holders[0].0).await;
            }
        }
    }
}
