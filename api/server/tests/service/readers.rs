//! Several processes on one database, of which one reads the devices of a manufacturer.
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use slackwater_integration::registry::Vendors;
use slackwater_integration::vendor::Vendor;
use slackwater_service::jobs::poller;
use slackwater_service::jobs::readers::{LEASE, hand_over, look_who_reads};
use slackwater_service::state::App;
use tokio::task::AbortHandle;
use uuid::Uuid;

use crate::harness::{Asker, On, Stage};
use crate::readings::{reading, vehicle};
use crate::vendor::Scripted;

/// Pause between two polls of the vehicle, which charges, in minutes.
const INTERVAL: i64 = 2;

/// Two processes with one clock, of which the first reads a vehicle.
struct TwoProcesses {
    one: Stage,
    other: Stage,
    asker: Asker,
    id: Uuid,
    jobs: [AbortHandle; 2],
}

impl TwoProcesses {
    async fn new() -> Self {
        let one = Stage::with(On::Postgres, |_| ()).await;
        let asker = one.client("a").await;
        let id = one.live(&asker, "u", reading(&vehicle())).await;
        let other = one.replica().await;
        let jobs = [start(&one.app).await, start(&other.app).await];
        Self { one, other, asker, id, jobs }
    }

    /// Lets minutes pass, and returns how many reads there were.
    async fn pass(&self, minutes: i64) -> usize {
        let before = self.reads();
        for _ in 0..minutes {
            self.one.app.clock().step(TimeDelta::minutes(1)).unwrap();
            self.settle().await;
        }
        self.reads() - before
    }

    /// Number of reads so far, by both.
    fn reads(&self) -> usize {
        self.one.fjord.polls()
    }

    async fn settle(&self) {
        for (stage, job) in [&self.one, &self.other].into_iter().zip(&self.jobs) {
            if !job.is_finished() {
                stage.app.poller().idle(stage.app.now()).await;
            }
        }
    }

    /// kill -9 of the first process.
    async fn kill_first(&self) {
        self.jobs[0].abort();
        while !self.jobs[0].is_finished() {
            tokio::task::yield_now().await;
        }
    }
}

/// Polls as a process does after its start.
async fn start(app: &App) -> AbortHandle {
    look_who_reads(app).await.unwrap();
    poller::watch_all(app, |_| true);
    let job = tokio::spawn(poller::run(app.clone())).abort_handle();
    app.poller().idle(app.now()).await;
    job
}

#[tokio::test]
async fn of_two_processes_one_reads_a_device_until_it_dies() {
    let pair = TwoProcesses::new().await;
    let (first, second) = (&pair.one.app, &pair.other.app);
    assert_eq!(pair.pass(INTERVAL).await, 1);
    assert_eq!(pair.pass(6 * INTERVAL).await, 6);
    assert_eq!([first, second].map(|app| app.poller().count()), [1, 0]);

    pair.kill_first().await;
    let length = LEASE.to_std().unwrap();
    let machine = second.clock().machine();
    machine.pass(length.saturating_sub(Duration::from_micros(1))).unwrap();
    look_who_reads(second).await.unwrap();
    assert_eq!(pair.pass(2 * INTERVAL).await, 0, "the lease holds");
    let before = pair.reads();
    machine.pass(Duration::from_micros(1)).unwrap();
    look_who_reads(second).await.unwrap();
    pair.settle().await;
    assert_eq!(pair.reads() - before, 1, "it is overdue");
    assert_eq!(pair.pass(6 * INTERVAL).await, 6);
    assert_eq!(second.poller().count(), 1);

    // Who comes back finds the other at work.
    look_who_reads(first).await.unwrap();
    let fjord = pair.one.fjord.profile();
    assert!(first.poller().is_read_by_other(&fjord.code, machine.now()));
}

#[tokio::test]
async fn a_process_that_stops_hands_over_at_once() {
    let pair = TwoProcesses::new().await;
    pair.kill_first().await;
    let before = pair.reads();
    hand_over(&pair.one.app).await.unwrap();
    look_who_reads(&pair.other.app).await.unwrap();
    pair.settle().await;
    assert_eq!(pair.reads() - before, 1, "it is overdue");
    assert_eq!(pair.pass(3 * INTERVAL).await, 3);
}

#[tokio::test]
async fn a_hint_is_followed_by_the_process_that_was_asked() {
    let pair = TwoProcesses::new().await;
    let before = pair.reads();
    let theirs = pair.other.again(&pair.asker);
    let hint = theirs.post(&format!("/vehicles/{}/refresh-hint", pair.id), None).await;
    assert_eq!(hint.status, 204);
    pair.settle().await;
    assert_eq!(pair.reads() - before, 1);
    // Once.
    assert_eq!(pair.pass(3 * INTERVAL).await, 3);
    // One that does not run the manufacturer finds nothing out.
    let is_reachable = || {
        let cache = pair.other.app.cache();
        cache.read(|tables| tables.any_device(pair.id).unwrap().state.is_reachable)
    };
    let known = is_reachable();
    pair.other.app.set_vendors(Vendors::new());
    let hint = theirs.post(&format!("/vehicles/{}/refresh-hint", pair.id), None).await;
    assert_eq!(hint.status, 204);
    pair.settle().await;
    assert_eq!((is_reachable(), known), (Some(true), Some(true)));
}

/// A charger has a connection to one process only.
#[tokio::test]
async fn news_are_read_by_the_process_that_was_told() {
    let pair = TwoProcesses::new().await;
    let told = Scripted::new("FJORD");
    let vendor = Arc::clone(&told) as Arc<dyn Vendor>;
    pair.other.app.set_vendors(Vendors::from([(vendor.profile().code.clone(), vendor)]));
    assert_eq!((pair.pass(INTERVAL).await, told.polls()), (1, 0));
    pair.one.app.clock().step(TimeDelta::minutes(1)).unwrap();
    told.tells("u-vehicle", Ok(reading(&vehicle())));
    while !told.news().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let before = pair.reads();
    // It may have looked at the device a moment before.
    pair.one.app.clock().step(TimeDelta::seconds(10)).unwrap();
    pair.settle().await;
    assert_eq!((pair.reads() - before, told.polls()), (0, 1));
    // Once.
    assert_eq!((pair.pass(3 * INTERVAL).await, told.polls()), (3, 1));
}

#[tokio::test]
async fn who_does_not_run_a_manufacturer_leaves_it_to_one_that_does() {
    let one = Stage::with(On::Postgres, |_| ()).await;
    let asker = one.client("a").await;
    one.live(&asker, "u", reading(&vehicle())).await;
    let other = one.replica().await;
    let heath = Arc::clone(&other.heath) as Arc<dyn Vendor>;
    let heath: Vendors = [(heath.profile().code.clone(), heath)].into_iter().collect();
    other.app.set_vendors(heath);
    // It comes first, and takes what it runs.
    look_who_reads(&other.app).await.unwrap();
    look_who_reads(&one.app).await.unwrap();
    look_who_reads(&other.app).await.unwrap();
    let now = one.app.clock().machine().now();
    let codes = [&one.fjord, &one.heath].map(|vendor| vendor.profile().code.clone());
    let read_by_other =
        |app: &App| codes.each_ref().map(|code| app.poller().is_read_by_other(code, now));
    assert_eq!(read_by_other(&one.app), [false, true]);
    assert_eq!(read_by_other(&other.app), [true, false]);
}

#[tokio::test]
async fn a_file_has_one_process_which_reads_all() {
    let stage = Stage::new().await;
    look_who_reads(&stage.app).await.unwrap();
    hand_over(&stage.app).await.unwrap();
    let now = stage.app.clock().machine().now();
    assert!(!stage.app.poller().is_read_by_other(&stage.fjord.profile().code, now));
}
