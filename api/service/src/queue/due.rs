//! Queue of due times.
//!
//! Work grows with what is due, not with what there is: each key has one due time, and workers
//! sleep until the first of them.
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use tokio::sync::Notify;

use crate::clock::Clock;

/// Queue of keys by due time, with a state of its user's own under the same lock.
#[derive(Debug)]
pub struct DueQueue<K, S> {
    entries: Mutex<Entries<K, S>>,
    wake: Notify,
    ended: Notify,
}

/// Entries of a [`DueQueue`].
#[derive(Debug)]
pub struct Entries<K, S> {
    due: BTreeSet<(DateTime<Utc>, K)>,
    at: HashMap<K, DateTime<Utc>>,
    /// Number of keys that were taken and are not finished.
    running: usize,
    /// State of the user of the queue.
    pub state: S,
}

impl<K: Copy + Ord + Hash, S> Entries<K, S> {
    /// Sets the due time of a key, in place of the one it had.
    pub fn put(&mut self, key: K, at: DateTime<Utc>) {
        if let Some(old) = self.at.insert(key, at) {
            self.due.remove(&(old, key));
        }
        self.due.insert((at, key));
    }

    /// Removes a key. It may be running.
    pub fn remove(&mut self, key: K) {
        if let Some(old) = self.at.remove(&key) {
            self.due.remove(&(old, key));
        }
    }

    /// Due time of a key; `None` if it has none, as while it is running.
    #[must_use]
    pub fn due_at(&self, key: K) -> Option<DateTime<Utc>> {
        self.at.get(&key).copied()
    }

    /// Key that is due first, if its time has come.
    #[must_use]
    pub fn first(&self, now: DateTime<Utc>) -> Option<K> {
        self.due.first().filter(|(at, _)| *at <= now).map(|(_, key)| *key)
    }

    /// Takes the key that is due first, if its time has come. It is running from then on.
    pub fn pop(&mut self, now: DateTime<Utc>) -> Option<K> {
        let key = self.first(now)?;
        self.remove(key);
        self.running += 1;
        Some(key)
    }

    fn next_at(&self) -> Option<DateTime<Utc>> {
        self.due.first().map(|(at, _)| *at)
    }
}

impl<K: Copy + Ord + Hash, S: Default> Default for DueQueue<K, S> {
    fn default() -> Self {
        let (due, at) = (BTreeSet::new(), HashMap::new());
        let entries = Entries { due, at, running: 0, state: S::default() };
        Self { entries: Mutex::new(entries), wake: Notify::new(), ended: Notify::new() }
    }
}

impl<K: Copy + Ord + Hash, S> DueQueue<K, S> {
    /// Reads the entries.
    pub fn read<T>(&self, read: impl FnOnce(&Entries<K, S>) -> T) -> T {
        read(&self.entries())
    }

    /// Changes the entries and wakes all workers: the one that waits for the first due time may
    /// take another key, or be dropped.
    pub fn change<T>(&self, change: impl FnOnce(&mut Entries<K, S>) -> T) -> T {
        let changed = change(&mut self.entries());
        self.wake.notify_waiters();
        changed
    }

    /// Takes what `take` finds to be due.
    ///
    /// # Errors
    /// Nothing is due: the first due time, if there is one.
    pub fn take<T>(
        &self,
        take: impl FnOnce(&mut Entries<K, S>) -> Option<T>,
    ) -> Result<T, Option<DateTime<Utc>>> {
        let mut entries = self.entries();
        take(&mut entries).ok_or_else(|| entries.next_at())
    }

    /// Waits until `take` finds something that is due by the clock, and takes it.
    pub async fn next<T>(
        &self,
        clock: &Clock,
        mut take: impl FnMut(&mut Entries<K, S>, DateTime<Utc>) -> Option<T>,
    ) -> T {
        loop {
            // Made before the look, so that no change is missed.
            let changed = self.wake.notified();
            match self.take(|entries| take(entries, clock.now())) {
                Ok(taken) => return taken,
                Err(None) => changed.await,
                Err(Some(at)) => tokio::select! {
                    () = clock.until(at) => {}
                    () = changed => {}
                },
            }
        }
    }

    /// Ends `count` keys that were taken, with a change of the entries in the same step.
    pub fn finish(&self, count: usize, change: impl FnOnce(&mut Entries<K, S>)) {
        let mut entries = self.entries();
        entries.running = entries.running.saturating_sub(count);
        change(&mut entries);
        drop(entries);
        self.wake.notify_waiters();
        self.ended.notify_waiters();
    }

    /// Waits until nothing is running and nothing is due at `now`.
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

    /// Returns `true` if nothing is running and nothing is due at `now`.
    #[must_use]
    pub fn is_idle(&self, now: DateTime<Utc>) -> bool {
        self.read(|entries| entries.running == 0 && entries.first(now).is_none())
    }

    fn entries(&self) -> MutexGuard<'_, Entries<K, S>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: u32) -> DateTime<Utc> {
        format!("2026-01-05T18:{minute:02}:00Z").parse().unwrap()
    }

    fn pop(queue: &DueQueue<u8, ()>, minute: u32) -> Result<u8, Option<DateTime<Utc>>> {
        queue.take(|entries| entries.pop(at(minute)))
    }

    #[test]
    fn keys_come_in_the_order_of_their_last_times() {
        let queue = DueQueue::<u8, ()>::default();
        for (key, minute) in [(1, 1), (2, 2), (3, 3), (1, 4)] {
            queue.change(|entries| entries.put(key, at(minute)));
        }
        queue.change(|entries| entries.remove(3));
        assert_eq!(pop(&queue, 1), Err(Some(at(2))));
        assert_eq!([pop(&queue, 9), pop(&queue, 9), pop(&queue, 9)], [Ok(2), Ok(1), Err(None)]);
    }

    #[tokio::test]
    async fn it_is_idle_when_nothing_is_due_or_running() {
        let queue = DueQueue::<u8, ()>::default();
        queue.change(|entries| entries.put(1, at(5)));
        assert!(queue.is_idle(at(4)) && !queue.is_idle(at(5)));
        assert_eq!(pop(&queue, 5), Ok(1));
        assert!(!queue.is_idle(at(5)));
        let work = async {
            tokio::task::yield_now().await;
            queue.finish(1, |entries| entries.put(1, at(6)));
        };
        tokio::join!(queue.idle(at(5)), work);
        assert_eq!(queue.read(|entries| entries.due_at(1)), Some(at(6)));
    }

    #[tokio::test]
    async fn a_worker_sleeps_until_the_first_key_is_due() {
        let (queue, clock) = (DueQueue::<u8, ()>::default(), Clock::fixed(at(0)));
        let step = async {
            tokio::task::yield_now().await;
            queue.change(|entries| entries.put(1, at(3)));
            tokio::task::yield_now().await;
            clock.step(chrono::TimeDelta::minutes(3)).unwrap();
        };
        let take = |entries: &mut Entries<u8, ()>, now| entries.pop(now);
        let (taken, ()) = tokio::join!(queue.next(&clock, take), step);
        assert_eq!(taken, 1);
    }
}
