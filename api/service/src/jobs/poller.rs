//! Polls every device in its time.
//!
//! A queue of due times, not a scan: the work grows with what is due. A refresh
//! hint puts a device at its front. A device is read by one poll at a time.
use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use metrics::{counter, gauge};
use tokio::sync::{Notify, Semaphore};
use uuid::Uuid;

use crate::config::PollingSettings;
use crate::jobs::keeping::Waiting;
use crate::jobs::reading::{pause, refresh};
use crate::samples::record::record;
use crate::state::App;
use crate::supervise::{AGAIN, OnPanic, tell};

/// Over this time the first polls of known devices are spread after a start.
const SPREAD: TimeDelta = TimeDelta::minutes(5);

/// When devices are polled next.
#[derive(Debug)]
pub struct Poller {
    queue: Mutex<Queue>,
    wake: Notify,
    ended: Notify,
    waiting: Waiting,
    permits: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Queue {
    due: BTreeSet<(DateTime<Utc>, Uuid)>,
    devices: HashMap<Uuid, Turn>,
    /// Devices that are polled at this moment.
    running: usize,
}

/// Where a device stands in the queue.
#[derive(Debug, Clone, Copy)]
struct Turn {
    /// When it is due; `None` while it is polled.
    at: Option<DateTime<Utc>>,
    /// Whether a hint came while it was polled.
    is_hinted: bool,
    /// Failures on end.
    failures: u32,
}

impl Queue {
    fn put(&mut self, id: Uuid, at: DateTime<Utc>) {
        let turn =
            self.devices.entry(id).or_insert(Turn { at: None, is_hinted: false, failures: 0 });
        if let Some(old) = turn.at.replace(at) {
            self.due.remove(&(old, id));
        }
        self.due.insert((at, id));
    }
}

impl Poller {
    /// An empty queue.
    #[must_use]
    pub fn new(settings: PollingSettings) -> Self {
        Self {
            queue: Mutex::default(),
            wake: Notify::new(),
            ended: Notify::new(),
            waiting: Waiting::default(),
            permits: Arc::new(Semaphore::new(settings.concurrency as usize)),
        }
    }

    /// What was found and is not kept yet.
    #[must_use]
    pub const fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Polls a device from now on, at `at` first. One that is watched stays as it is.
    pub fn watch(&self, id: Uuid, at: DateTime<Utc>) {
        let mut queue = self.queue();
        if !queue.devices.contains_key(&id) {
            queue.put(id, at);
        }
        drop(queue);
        self.wake.notify_one();
    }

    /// Polls a device before all others that are not hinted at, whatever its rhythm.
    pub fn hint(&self, id: Uuid) {
        let mut queue = self.queue();
        match queue.devices.get_mut(&id) {
            Some(turn) if turn.at.is_none() => turn.is_hinted = true,
            _ => queue.put(id, DateTime::<Utc>::MIN_UTC),
        }
        drop(queue);
        self.wake.notify_one();
    }

    /// Polls a device that is watched at `at`, if it would be polled later.
    pub fn look_by(&self, id: Uuid, at: DateTime<Utc>) {
        let mut queue = self.queue();
        if queue.devices.get(&id).and_then(|turn| turn.at).is_some_and(|due| at < due) {
            queue.put(id, at);
        }
        drop(queue);
        self.wake.notify_one();
    }

    /// When a device is polled next; `None` if it is not, or at this moment.
    #[must_use]
    pub fn due_at(&self, id: Uuid) -> Option<DateTime<Utc>> {
        self.queue().devices.get(&id)?.at
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the device that is due first, if its time has come.
    fn take(&self, now: DateTime<Utc>) -> Result<Uuid, Option<DateTime<Utc>>> {
        let mut queue = self.queue();
        let first = queue.due.first().copied();
        let (at, id) = first.ok_or(None)?;
        if at > now {
            return Err(Some(at));
        }
        queue.due.remove(&(at, id));
        queue.running += 1;
        if let Some(turn) = queue.devices.get_mut(&id) {
            turn.at = None;
        }
        Ok(id)
    }

    /// Ends a poll: the device is due again after a pause, or is forgotten.
    fn put_back(&self, id: Uuid, failed: bool, next: impl FnOnce(u32) -> Option<DateTime<Utc>>) {
        let mut queue = self.queue();
        queue.running = queue.running.saturating_sub(1);
        let Some(turn) = queue.devices.get_mut(&id) else { return };
        turn.failures = if failed { turn.failures.saturating_add(1) } else { 0 };
        let is_hinted = std::mem::take(&mut turn.is_hinted);
        match next(turn.failures) {
            Some(_) if is_hinted => queue.put(id, DateTime::<Utc>::MIN_UTC),
            Some(at) => queue.put(id, at),
            None => {
                queue.devices.remove(&id);
            }
        }
        drop(queue);
        self.wake.notify_one();
        self.ended.notify_waiters();
    }

    /// Waits until all that was due at `now` has been polled.
    pub async fn idle(&self, now: DateTime<Utc>) {
        loop {
            let mut ended = pin!(self.ended.notified());
            // Registered before the look, so that no end is missed.
            ended.as_mut().enable();
            if self.is_idle(now) {
                return;
            }
            ended.await;
        }
    }

    /// Whether all that was due at `now` is done.
    #[must_use]
    pub fn is_idle(&self, now: DateTime<Utc>) -> bool {
        let queue = self.queue();
        queue.running == 0 && queue.due.first().is_none_or(|(at, _)| *at > now)
    }
}

/// Puts all devices of the clients of this environment into the queue: those
/// whose data are old soon, the others in their time.
pub fn watch_all(app: &App, is_ours: impl Fn(&str) -> bool) {
    let now = app.now();
    app.cache().read(|tables| {
        for device in tables.devices().filter(|device| is_ours(&device.client_id)) {
            watch_from(app, device.id, now);
        }
    });
}

/// Puts a device into the queue that others may poll already: in its time.
pub fn watch_from(app: &App, id: Uuid, now: DateTime<Utc>) {
    // Spread by identifier: random, but the same at each start.
    let share = i32::from(id.as_bytes()[0]);
    app.poller().watch(id, now + SPREAD / 256 * share);
}

/// Polls until the task is dropped.
pub async fn run(app: App) {
    loop {
        let Ok(permit) = Arc::clone(&app.poller().permits).acquire_owned().await else { return };
        let id = next(&app).await;
        let app = app.clone();
        tokio::spawn(async move {
            poll(&app, id).await;
            drop(permit);
        });
    }
}

/// The device whose turn it is, when its time has come.
async fn next(app: &App) -> Uuid {
    loop {
        match app.poller().take(app.now()) {
            Ok(id) => return id,
            Err(None) => app.poller().wake.notified().await,
            Err(Some(at)) => tokio::select! {
                () = app.clock().until(at) => {}
                () = app.poller().wake.notified() => {}
            },
        }
    }
}

async fn poll(app: &App, id: Uuid) {
    let _taken = OnPanic(|| {
        tell("poller", &format!("device {id}"));
        app.poller().put_back(id, true, |_| app.now().checked_add_signed(AGAIN));
    });
    let device = app.cache().read(|tables| tables.any_device(id).cloned());
    let Some(device) = device else {
        app.poller().put_back(id, false, |_| None);
        return;
    };
    let read = refresh(app, &device).await;
    let outcome = if read.is_ok() { "answered" } else { "failed" };
    counter!("slackwater_polls_total", "outcome" => outcome).increment(1);
    if read.is_ok() {
        record(app, &device).await;
    }
    let device = app.cache().read(|tables| tables.any_device(id).cloned());
    app.poller().put_back(id, read.is_err(), |failures| {
        device.map(|device| app.now() + pause(&device, &read, failures))
    });
    gauge!("slackwater_polled_devices", "environment" => app.environment().as_str())
        .set(app.poller().queue().devices.len() as f64);
}

/// Polls a device now and waits until readers see what was found.
pub async fn poll_now(app: &App, id: Uuid) {
    let device = app.cache().read(|tables| tables.any_device(id).cloned());
    if let Some(device) = device {
        // What went wrong is kept with the device.
        let _: Result<(), _> = refresh(app, &device).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: u32) -> DateTime<Utc> {
        format!("2026-01-05T18:{minute:02}:00Z").parse().unwrap()
    }

    fn poller() -> Poller {
        Poller::new(PollingSettings { concurrency: 1, timeout_seconds: 1 })
    }

    #[test]
    fn tim_03_a_hint_jumps_the_queue() {
        let poller = poller();
        let [soon, late, hinted] = [1, 2, 3].map(Uuid::from_u128);
        poller.watch(soon, at(1));
        poller.watch(late, at(2));
        poller.watch(hinted, at(59));
        assert_eq!(poller.take(at(0)), Err(Some(at(1))));
        poller.hint(hinted);
        assert_eq!(poller.take(at(5)), Ok(hinted));
        assert_eq!(poller.take(at(5)), Ok(soon));
        assert_eq!(poller.take(at(5)), Ok(late));
        assert_eq!(poller.take(at(5)), Err(None));
    }

    #[test]
    fn tim_02_a_hint_during_a_poll_is_not_lost() {
        let poller = poller();
        let id = Uuid::from_u128(1);
        poller.watch(id, at(0));
        assert_eq!(poller.take(at(0)), Ok(id));
        poller.hint(id);
        assert_eq!(poller.take(at(0)), Err(None));
        poller.put_back(id, false, |_| Some(at(30)));
        assert_eq!(poller.take(at(0)), Ok(id));
        poller.put_back(id, false, |_| Some(at(30)));
        assert_eq!(poller.due_at(id), Some(at(30)));
    }

    #[test]
    fn a_look_is_brought_forward_and_never_put_off() {
        let poller = poller();
        let id = Uuid::from_u128(1);
        poller.look_by(id, at(1));
        assert_eq!(poller.due_at(id), None, "it is not watched");
        poller.watch(id, at(7));
        for (by, expected) in [(3, 3), (5, 3), (1, 1)] {
            poller.look_by(id, at(by));
            assert_eq!(poller.due_at(id), Some(at(expected)));
        }
        assert_eq!(poller.take(at(1)), Ok(id));
        poller.look_by(id, at(1));
        assert_eq!((poller.due_at(id), poller.take(at(9))), (None, Err(None)), "it is polled now");
    }

    #[test]
    fn failures_are_counted_on_end_and_the_deleted_are_forgotten() {
        let poller = poller();
        let id = Uuid::from_u128(1);
        poller.watch(id, at(0));
        for expected in [1, 2] {
            poller.take(at(59)).unwrap();
            poller.put_back(id, true, |failures| {
                assert_eq!(failures, expected);
                Some(at(0))
            });
        }
        poller.take(at(59)).unwrap();
        poller.put_back(id, false, |failures| {
            assert_eq!(failures, 0);
            None
        });
        assert_eq!(poller.take(at(59)), Err(None));
        assert_eq!(poller.due_at(id), None);
    }

    #[tokio::test]
    async fn idle_is_when_nothing_is_due_or_under_way() {
        let poller = poller();
        let id = Uuid::from_u128(1);
        poller.watch(id, at(0));
        let poll = async {
            assert_eq!(poller.take(at(0)), Ok(id));
            tokio::task::yield_now().await;
            poller.put_back(id, false, |_| Some(at(7)));
            at(7)
        };
        let wait = async {
            poller.idle(at(0)).await;
            poller.due_at(id)
        };
        let (waited, next) = tokio::join!(wait, poll);
        assert_eq!(waited, Some(next));
        poller.idle(at(6)).await;
    }
}
