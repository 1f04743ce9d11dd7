//! Queue of polls.
//!
//! A refresh hint puts a device at the front. News of a device are read at once, and no more often than
//! `poll_after_news` allows. A device is read by one poll at a time.
//!
//! Devices of vendors that another process reads (`jobs/readers.rs`) are left to it, apart from
//! polls that this process has a reason of its own for: a hint, news, or an action that ended.
use std::collections::hash_map::Entry::Vacant;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use chrono::{DateTime, Utc};
use slackwater_control::device::polling::poll_after_news;
use slackwater_integration::profile::VendorCode;
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
    queue: DueQueue<Uuid, Registered>,
    waiting: Waiting<(Uuid, DeviceState)>,
    permits: Arc<Semaphore>,
    /// Ends of the leases of vendors that other processes read.
    read_by_others: RwLock<HashMap<VendorCode, DateTime<Utc>>>,
}

/// Devices that are polled again and again.
#[derive(Debug, Default)]
struct Registered {
    devices: HashMap<Uuid, Polled>,
    /// Number of those that another process reads.
    left: usize,
}

/// Device that is polled again and again.
#[derive(Debug, Clone, Copy, Default)]
struct Polled {
    /// Instant from which on a poll is wanted that only this process knows of.
    wanted_at: Option<DateTime<Utc>>,
    /// Instant at which its last poll began.
    begun_at: Option<DateTime<Utc>>,
    /// True if the last poll was left to another process.
    is_left: bool,
    /// Consecutive failures.
    failures: u32,
}

type Polls = Entries<Uuid, Registered>;

/// Device whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PollTurn {
    pub(crate) id: Uuid,
    /// True if this process has a reason of its own for the poll.
    pub(crate) is_wanted: bool,
}

/// End of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnEnd {
    /// The device was polled.
    Answered,
    /// The poll failed.
    Failed,
    /// Another process reads the device.
    Left,
}

impl PollQueue {
    /// Empty queue.
    #[must_use]
    pub fn new(settings: PollingSettings) -> Self {
        Self {
            queue: DueQueue::default(),
            waiting: Waiting::default(),
            permits: Arc::new(Semaphore::new(settings.concurrency as usize)),
            read_by_others: RwLock::default(),
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

    /// Replaces what is known of other processes: the vendors that they read, each until an instant
    /// of the machine. Returns those known before.
    pub(crate) fn set_read_by_others(
        &self,
        readers: HashMap<VendorCode, DateTime<Utc>>,
    ) -> HashMap<VendorCode, DateTime<Utc>> {
        let mut known = self.read_by_others.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *known, readers)
    }

    /// Returns `true` if another process reads the devices of a vendor at an instant of the machine.
    #[must_use]
    pub fn is_read_by_other(&self, vendor: &VendorCode, now: DateTime<Utc>) -> bool {
        let known = self.read_by_others.read().unwrap_or_else(PoisonError::into_inner);
        known.get(vendor).is_some_and(|until| now < *until)
    }

    /// Polls a device from now on, at `at` first. One that is registered stays as it is.
    pub fn register(&self, id: Uuid, at: DateTime<Utc>) {
        self.queue.change(|polls| {
            if let Vacant(entry) = polls.state.devices.entry(id) {
                entry.insert(Polled::default());
                polls.put(id, at);
            }
        });
    }

    /// Polls a device before all others that are not hinted at, whatever its interval.
    pub fn expedite(&self, id: Uuid) {
        self.queue.change(|polls| {
            let is_running = polls.state.devices.contains_key(&id) && polls.due_at(id).is_none();
            let polled = polls.state.devices.entry(id).or_default();
            polled.wanted_at = Some(DateTime::<Utc>::MIN_UTC);
            if !is_running {
                polls.put(id, DateTime::<Utc>::MIN_UTC);
            }
        });
    }

    /// Polls a registered device that has news at `now`: at once, or a while after its last poll began.
    pub(crate) fn note_news(&self, id: Uuid, now: DateTime<Utc>) {
        self.queue.change(|polls| {
            let due = polls.due_at(id);
            let Some(polled) = polls.state.devices.get_mut(&id) else { return };
            let at = poll_after_news(polled.begun_at, now);
            polled.wanted_at = Some(polled.wanted_at.map_or(at, |wanted| wanted.min(at)));
            // One that is being polled may have been read before the news: it is polled once more.
            if due.is_some_and(|due| at < due) {
                polls.put(id, at);
            }
        });
    }

    /// Polls a registered device at `at`, and not only then if it is due earlier.
    pub fn reschedule_earlier(&self, id: Uuid, at: DateTime<Utc>) {
        self.queue.change(|polls| {
            let Some(due) = polls.due_at(id) else { return };
            if at < due {
                polls.put(id, at);
            }
            if let Some(polled) = polls.state.devices.get_mut(&id) {
                polled.wanted_at = Some(polled.wanted_at.map_or(at, |wanted| wanted.min(at)));
            }
        });
    }

    /// Instant of the next poll of a device; `None` if there is none, or while it is being polled.
    #[must_use]
    pub fn due_at(&self, id: Uuid) -> Option<DateTime<Utc>> {
        self.queue.read(|polls| polls.due_at(id))
    }

    /// Number of registered devices that are not left to another process.
    #[must_use]
    pub fn count(&self) -> usize {
        self.queue.read(|polls| polls.state.devices.len().saturating_sub(polls.state.left))
    }

    /// All registered devices, also those that are left to another process.
    pub(crate) fn ids(&self) -> HashSet<Uuid> {
        self.queue.read(|polls| polls.state.devices.keys().copied().collect())
    }

    /// Waits for the next device that is due by the clock, and takes it.
    pub(crate) async fn next(&self, clock: &Clock) -> PollTurn {
        self.queue.next(clock, take_turn).await
    }

    /// Ends a turn: the device is due again at `next`, which gets its consecutive failures, or is
    /// forgotten.
    pub(crate) fn put_back(
        &self,
        id: Uuid,
        end: TurnEnd,
        next: impl FnOnce(u32) -> Option<DateTime<Utc>>,
    ) {
        self.queue.finish(1, |polls| {
            let Registered { devices, left } = &mut polls.state;
            let Some(polled) = devices.get_mut(&id) else { return };
            polled.failures = match end {
                TurnEnd::Failed => polled.failures.saturating_add(1),
                TurnEnd::Answered | TurnEnd::Left => 0,
            };
            let was_left = std::mem::replace(&mut polled.is_left, end == TurnEnd::Left);
            *left = *left + usize::from(polled.is_left) - usize::from(was_left);
            let wanted_at = polled.wanted_at;
            if let Some(at) = next(polled.failures) {
                polls.put(id, wanted_at.map_or(at, |wanted| wanted.min(at)));
            } else {
                *left -= usize::from(polled.is_left);
                devices.remove(&id);
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

/// Takes the device that is due first, if its time has come.
fn take_turn(polls: &mut Polls, now: DateTime<Utc>) -> Option<PollTurn> {
    let id = polls.pop(now)?;
    let wanted = polls.state.devices.get_mut(&id).and_then(|polled| {
        polled.begun_at = Some(now);
        polled.wanted_at.take_if(|at| *at <= now)
    });
    Some(PollTurn { id, is_wanted: wanted.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: u32) -> DateTime<Utc> {
        format!("2026-01-05T18:{minute:02}:00Z").parse().unwrap()
    }

    fn take(polls: &PollQueue, now: DateTime<Utc>) -> Result<Uuid, Option<DateTime<Utc>>> {
        polls.queue.take(|entries| take_turn(entries, now)).map(|turn| turn.id)
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
        polls.put_back(id, TurnEnd::Answered, |_| Some(at(30)));
        assert_eq!(take(&polls, at(0)), Ok(id));
        polls.put_back(id, TurnEnd::Answered, |_| Some(at(30)));
        assert_eq!(polls.due_at(id), Some(at(30)));
    }

    #[test]
    fn news_are_read_at_once_and_a_chattering_device_no_more_often_than_its_floor() {
        let polls = polls();
        let id = Uuid::from_u128(1);
        let after = |seconds| at(0) + chrono::TimeDelta::seconds(seconds);
        polls.note_news(id, at(0));
        assert_eq!(polls.due_at(id), None, "it is not watched");
        polls.register(id, at(7));
        polls.note_news(id, at(0));
        let mut turns = Vec::new();
        for second in 0..35 {
            let turn = polls.queue.take(|entries| take_turn(entries, after(second)));
            if let Ok(PollTurn { is_wanted, .. }) = turn {
                assert!(is_wanted, "also where another process reads the manufacturer");
                turns.push(second);
                // What it tells during the poll is read by the next one.
                polls.note_news(id, after(second));
                polls.put_back(id, TurnEnd::Answered, |_| Some(at(7)));
            }
            polls.note_news(id, after(second));
        }
        assert_eq!(turns, [0, 10, 20, 30]);
        // The last news, and then its interval.
        assert_eq!(polls.due_at(id), Some(after(40)));
        assert_eq!(take(&polls, after(40)), Ok(id));
        polls.put_back(id, TurnEnd::Answered, |_| Some(at(7)));
        assert_eq!(polls.due_at(id), Some(at(7)));
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
            polls.put_back(id, TurnEnd::Failed, |failures| {
                assert_eq!(failures, expected);
                Some(at(0))
            });
        }
        take(&polls, at(59)).unwrap();
        polls.put_back(id, TurnEnd::Answered, |failures| {
            assert_eq!(failures, 0);
            None
        });
        assert_eq!(take(&polls, at(59)), Err(None));
        assert_eq!(polls.due_at(id), None);
    }
}
