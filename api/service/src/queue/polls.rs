//! Queue of polls.
//!
//! A refresh hint puts a device at the front. A device is read by one poll at a time.
use std::collections::HashMap;
use std::collections::hash_map::Entry::Vacant;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use slackwater_store::devices::DeviceState;
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::clock::Clock;
use crate::config::PollingSettings;
use crate::queue::due::{DueQueue, Entries};
use crate::queue::waiting::Waiting;

/// Due times of the next polls. A device that is registered and has no due time is being polled.
#[derive(Debug)]
pub struct PollQueue {
    queue: DueQueue<Uuid, HashMap<Uuid, Polled>>,
    waiting: Waiting<(Uuid, DeviceState)>,
    permits: Arc<Semaphore>,
}

/// Device that is polled again and again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Polled {
    /// True if a hint came while it was being polled.
    is_hinted: bool,
    /// Consecutive failures.
    failures: u32,
}

type Polls = Entries<Uuid, HashMap<Uuid, Polled>>;

impl PollQueue {
    /// Empty queue.
    #[must_use]
    pub fn new(settings: PollingSettings) -> Self {
        Self {
            queue: DueQueue::default(),
            waiting: Waiting::default(),
            permits: Arc::new(Semaphore::new(settings.concurrency as usize)),
        }
    }

    /// States that polls found and that are not written yet.
    #[must_use]
    pub const fn waiting(&self) -> &Waiting<(Uuid, DeviceState)> {
        &self.waiting
    }

    /// Permits of polls that run at once.
    pub(crate) fn permits(&self) -> Arc<Semaphore> {
        Arc::clone(&self.permits)
    }

    /// Polls a device from now on, at `at` first. One that is registered stays as it is.
    pub fn register(&self, id: Uuid, at: DateTime<Utc>) {
        self.queue.change(|polls| {
            if let Vacant(entry) = polls.state.entry(id) {
                entry.insert(Polled::default());
                polls.put(id, at);
            }
        });
    }

    /// Polls a device before all others that are not hinted at, whatever its interval.
    pub fn expedite(&self, id: Uuid) {
        self.queue.change(|polls| {
            let is_running = polls.state.contains_key(&id) && polls.due_at(id).is_none();
            let polled = polls.state.entry(id).or_default();
            if is_running {
                polled.is_hinted = true;
            } else {
                polls.put(id, DateTime::<Utc>::MIN_UTC);
            }
        });
    }

    /// Polls a registered device at `at`, if it would be polled later.
    pub fn reschedule_earlier(&self, id: Uuid, at: DateTime<Utc>) {
        self.queue.change(|polls| {
            if polls.due_at(id).is_some_and(|due| at < due) {
                polls.put(id, at);
            }
        });
    }

    /// Instant of the next poll of a device; `None` if there is none, or while it is being polled.
    #[must_use]
    pub fn due_at(&self, id: Uuid) -> Option<DateTime<Utc>> {
        self.queue.read(|polls| polls.due_at(id))
    }

    /// Number of registered devices.
    #[must_use]
    pub fn count(&self) -> usize {
        self.queue.read(|polls| polls.state.len())
    }

    /// Waits for the next device that is due by the clock, and takes it.
    pub(crate) async fn next(&self, clock: &Clock) -> Uuid {
        self.queue.next(clock, Polls::pop).await
    }

    /// Ends a poll: the device is due again at `next`, which gets its consecutive failures, or is
    /// forgotten.
    pub(crate) fn put_back(
        &self,
        id: Uuid,
        failed: bool,
        next: impl FnOnce(u32) -> Option<DateTime<Utc>>,
    ) {
        self.queue.finish(1, |polls| {
            let Some(polled) = polls.state.get_mut(&id) else { return };
            polled.failures = if failed { polled.failures.saturating_add(1) } else { 0 };
            let is_hinted = std::mem::take(&mut polled.is_hinted);
            match next(polled.failures) {
                Some(_) if is_hinted => polls.put(id, DateTime::<Utc>::MIN_UTC),
                Some(at) => polls.put(id, at),
                None => {
                    polls.state.remove(&id);
                }
            }
        });
    }

    /// Waits until everything that was due at `now` has been polled.
    pub async fn idle(&self, now: DateTime<Utc>) {
        self.queue.idle(now).await;
    }

    /// Returns `true` if everything that was due at `now` has been polled.
    #[must_use]
    pub fn is_idle(&self, now: DateTime<Utc>) -> bool {
        self.queue.is_idle(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: u32) -> DateTime<Utc> {
        format!("2026-01-05T18:{minute:02}:00Z").parse().unwrap()
    }

    fn take(polls: &PollQueue, now: DateTime<Utc>) -> Result<Uuid, Option<DateTime<Utc>>> {
        polls.queue.take(|entries| entries.pop(now))
    }

    fn polls() -> PollQueue {
        PollQueue::new(PollingSettings { concurrency: 1, timeout_seconds: 1 })
    }

    #[test]
    fn a_hint_jumps_the_queue() {
        let polls = polls();
        let [soon, late, hinted] = [1, 2, 3].map(Uuid::from_u128);
        polls.register(soon, at(1));
        polls.register(late, at(2));
        polls.register(hinted, at(59));
        assert_eq!(take(&polls, at(0)), Err(Some(at(1))));
        polls.expedite(hinted);
        assert_eq!(take(&polls, at(5)), Ok(hinted));
        assert_eq!(take(&polls, at(5)), Ok(soon));
        assert_eq!(take(&polls, at(5)), Ok(late));
        assert_eq!(take(&polls, at(5)), Err(None));
    }

    #[test]
    fn a_hint_during_a_poll_is_not_lost() {
        let polls = polls();
        let id = Uuid::from_u128(1);
        polls.register(id, at(0));
        assert_eq!(take(&polls, at(0)), Ok(id));
        polls.expedite(id);
        assert_eq!(take(&polls, at(0)), Err(None));
        polls.put_back(id, false, |_| Some(at(30)));
        assert_eq!(take(&polls, at(0)), Ok(id));
        polls.put_back(id, false, |_| Some(at(30)));
        assert_eq!(polls.due_at(id), Some(at(30)));
    }

    #[test]
    fn a_look_is_brought_forward_and_never_put_off() {
        let polls = polls();
        let id = Uuid::from_u128(1);
        polls.reschedule_earlier(id, at(1));
        assert_eq!(polls.due_at(id), None, "it is not watched");
        polls.register(id, at(7));
        for (by, expected) in [(3, 3), (5, 3), (1, 1)] {
            polls.reschedule_earlier(id, at(by));
            assert_eq!(polls.due_at(id), Some(at(expected)));
        }
        assert_eq!(take(&polls, at(1)), Ok(id));
        polls.reschedule_earlier(id, at(1));
        assert_eq!((polls.due_at(id), take(&polls, at(9))), (None, Err(None)), "it is polled now");
    }

    #[test]
    fn failures_are_counted_on_end_and_the_deleted_are_forgotten() {
        let polls = polls();
        let id = Uuid::from_u128(1);
        polls.register(id, at(0));
        for expected in [1, 2] {
            take(&polls, at(59)).unwrap();
            polls.put_back(id, true, |failures| {
                assert_eq!(failures, expected);
                Some(at(0))
            });
        }
        take(&polls, at(59)).unwrap();
        polls.put_back(id, false, |failures| {
            assert_eq!(failures, 0);
            None
        });
        assert_eq!(take(&polls, at(59)), Err(None));
        assert_eq!(polls.due_at(id), None);
    }
}
