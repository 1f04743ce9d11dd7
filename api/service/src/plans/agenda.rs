//! When which device is planned for next: a queue of due times, not a scan.
use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use slackwater_control::policy::ask::Cause;
use tokio::sync::Notify;
use uuid::Uuid;

/// A device that is due, and why.
pub type Due = (Uuid, Cause);

/// The queue.
#[derive(Debug, Default)]
pub struct Agenda {
    queue: Mutex<Queue>,
    wake: Notify,
    ended: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    due: BTreeSet<(DateTime<Utc>, Uuid)>,
    devices: HashMap<Uuid, (DateTime<Utc>, Cause)>,
    /// Devices that were taken and are not done.
    running: usize,
}

impl Queue {
    fn put(&mut self, id: Uuid, at: DateTime<Utc>, cause: Cause) {
        if let Some((old, _)) = self.devices.insert(id, (at, cause)) {
            self.due.remove(&(old, id));
        }
        self.due.insert((at, id));
    }
}

impl Agenda {
    /// Plans for a device as soon as may be. That it was looked at does not make
    /// another cause be forgotten, for which it has not been planned yet.
    pub fn soon(&self, id: Uuid, cause: Cause) {
        let mut queue = self.queue();
        let before = queue.devices.get(&id).map(|(_, before)| *before);
        let before = before.filter(|before| cause.is_look() && !before.is_look());
        queue.put(id, DateTime::<Utc>::MIN_UTC, before.unwrap_or(cause));
        drop(queue);
        self.wake.notify_one();
    }

    /// Plans later for a device for which it could not be planned, unless it is
    /// due for another reason by now.
    pub fn again(&self, id: Uuid, at: DateTime<Utc>, cause: Cause) {
        let mut queue = self.queue();
        if !queue.devices.contains_key(&id) {
            queue.put(id, at, cause);
        }
        drop(queue);
        self.wake.notify_one();
    }

    /// Looks at a plan again at its own time, in place of the time that was
    /// set before. A device that is due sooner for another reason stays so.
    pub fn review(&self, id: Uuid, at: Option<DateTime<Utc>>) {
        let mut queue = self.queue();
        let is_soon = queue.devices.get(&id).is_some_and(|(_, cause)| *cause != Cause::Review);
        if is_soon {
            return;
        }
        match at {
            Some(at) => queue.put(id, at, Cause::Review),
            None => {
                if let Some((old, _)) = queue.devices.remove(&id) {
                    queue.due.remove(&(old, id));
                }
            }
        }
        drop(queue);
        self.wake.notify_one();
    }

    /// When a device is due; `None` if it is not.
    #[must_use]
    pub fn due_at(&self, id: Uuid) -> Option<DateTime<Utc>> {
        self.queue().devices.get(&id).map(|(at, _)| *at)
    }

    /// Takes devices whose time has come, so many at most. Says when the next
    /// one is due if there is none.
    ///
    /// # Errors
    /// None is due now.
    pub fn take(&self, now: DateTime<Utc>, most: usize) -> Result<Vec<Due>, Option<DateTime<Utc>>> {
        let mut queue = self.queue();
        let mut taken = Vec::new();
        while let Some(&(at, id)) = queue.due.first() {
            if taken.len() == most || at > now {
                break;
            }
            queue.due.remove(&(at, id));
            let cause = queue.devices.remove(&id).map_or(Cause::Review, |(_, cause)| cause);
            taken.push((id, cause));
        }
        queue.running += taken.len();
        let next = queue.due.first().map(|(at, _)| *at);
        if taken.is_empty() { Err(next) } else { Ok(taken) }
    }

    /// Says that so many of the devices that were taken are done.
    pub fn done(&self, count: usize) {
        let mut queue = self.queue();
        queue.running = queue.running.saturating_sub(count);
        drop(queue);
        self.ended.notify_waiters();
    }

    /// Waits until something is put into the queue.
    pub async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Waits until all that was due at `now` has been planned.
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

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: u32) -> DateTime<Utc> {
        format!("2026-01-05T18:{minute:02}:00Z").parse().unwrap()
    }

    #[test]
    fn a_review_moves_and_gives_way_to_what_is_sooner() {
        let agenda = Agenda::default();
        let [one, two] = [1, 2].map(Uuid::from_u128);
        agenda.review(one, Some(at(5)));
        agenda.review(two, Some(at(7)));
        agenda.review(one, Some(at(9)));
        assert_eq!(agenda.take(at(6), 9), Err(Some(at(7))));
        agenda.soon(one, Cause::PluggedIn);
        agenda.review(one, Some(at(30)));
        assert_eq!(agenda.take(at(8), 1), Ok(vec![(one, Cause::PluggedIn)]));
        assert_eq!(agenda.take(at(8), 9), Ok(vec![(two, Cause::Review)]));
        agenda.soon(one, Cause::Prices);
        agenda.soon(one, Cause::Reading);
        assert_eq!(agenda.take(at(8), 9), Ok(vec![(one, Cause::Prices)]));
        agenda.review(two, Some(at(9)));
        agenda.review(two, None);
        assert_eq!(agenda.take(at(59), 9), Err(None));
        assert_eq!(agenda.due_at(two), None);
    }

    #[tokio::test]
    async fn idle_is_when_nothing_is_due_or_under_way() {
        let agenda = Agenda::default();
        agenda.soon(Uuid::from_u128(1), Cause::Prices);
        let work = async {
            let taken = agenda.take(at(0), 9).unwrap();
            tokio::task::yield_now().await;
            agenda.done(taken.len());
        };
        tokio::join!(agenda.idle(at(0)), work);
        agenda.idle(at(59)).await;
    }
}
