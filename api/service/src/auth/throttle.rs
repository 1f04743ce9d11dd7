//! Guessing secrets is slow, and never at the cost of who knows theirs.
//!
//! Wrong secrets are counted by where they come from. A source that has used up
//! its attempts is told to wait, but what it sends is still looked at, one
//! attempt at a time: the right secret always gets in, however many wrong ones
//! were sent before, from there or from elsewhere. Guesses thus cost the guesser
//! time and the service at most one processor.
//!
//! Queues are bounded: where [`QUEUE_MAX`] attempts wait, the next is told to come
//! again. A secret that was right before needs no turn, see
//! [`Verified`](crate::auth::secret::Verified).
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Secrets that are compared at one time: each takes a processor and 19 MiB.
const HASHES_MAX: usize = 2;

/// Wrong secrets that a source may send in [`SPAN`] before it has to wait.
pub const FAILURES_MAX: u32 = 10;

/// The time in which they are counted.
pub const SPAN: Duration = Duration::from_mins(1);

/// Attempts that wait for their turn in a lane: one and a half seconds of work.
pub const QUEUE_MAX: usize = 64;

/// Time in which a full queue is worked off.
pub const QUEUE_TIME: Duration = Duration::from_secs(2);

/// Sources that are remembered. Beyond it, those that are over are forgotten.
const SOURCES_MAX: usize = 10_000;

/// Origin of attempts: an address, or the network of one in IPv6, since a household has as many
/// addresses as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Source(IpAddr);

impl Source {
    /// The source that an address belongs to.
    #[must_use]
    pub fn from_address(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self(address),
            IpAddr::V6(long) => {
                let network = long.to_bits() & (u128::MAX << 64);
                Self(IpAddr::V6(network.into()))
            }
        }
    }
}

/// Wrong secrets since a time.
#[derive(Debug, Clone, Copy)]
struct Failures {
    since: Duration,
    count: u32,
}

/// Counts wrong secrets. Times are measured from the start of the process.
#[derive(Debug)]
pub struct FailedLoginLimiter {
    sources: Mutex<HashMap<Source, Failures>>,
    trusted: Lane,
    suspect: Lane,
}

/// A number of secrets that are compared at one time, and a queue before it.
#[derive(Debug)]
struct Lane {
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// A place in the queue of a lane.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Lane {
    fn new(turns: usize) -> Self {
        Self { turns: Arc::new(Semaphore::new(turns)), waiting: AtomicUsize::new(0) }
    }

    async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        let turns = || Arc::clone(&self.turns);
        if let Ok(turn) = turns().try_acquire_owned() {
            return Some(turn);
        }
        let next = |waiting| (waiting < QUEUE_MAX).then_some(waiting + 1);
        self.waiting.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).ok()?;
        // Given back as well when the client hangs up.
        let _waiting = Waiting(&self.waiting);
        turns().acquire_owned().await.ok()
    }
}

impl Default for FailedLoginLimiter {
    fn default() -> Self {
        let sources = Mutex::default();
        Self { sources, trusted: Lane::new(HASHES_MAX), suspect: Lane::new(1) }
    }
}

impl FailedLoginLimiter {
    /// Waits for the turn to compare a secret; `None` if too many wait already.
    /// Who sent many wrong ones stands in a queue of their own, which takes nobody
    /// else's turn. The turn lasts as long as the permit, which the comparison has
    /// to hold: a client that hangs up does not stop the processor.
    pub async fn turn(&self, is_suspect: bool) -> Option<OwnedSemaphorePermit> {
        let lane = if is_suspect { &self.suspect } else { &self.trusted };
        lane.turn().await
    }

    /// Time until a wrong secret of the source is checked again; `None` if it is checked now.
    #[must_use]
    pub fn wait(&self, source: Source, now: Duration) -> Option<Duration> {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = sources.get(&source)?;
        let over = failures.since.checked_add(SPAN)?;
        (failures.count >= FAILURES_MAX && now < over).then(|| over.saturating_sub(now))
    }

    /// Counts a wrong secret.
    pub fn failed(&self, source: Source, now: Duration) {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if sources.len() >= SOURCES_MAX {
            sources.retain(|_, failures| now < failures.since.saturating_add(SPAN));
        }
        let failures = sources.entry(source).or_insert(Failures { since: now, count: 0 });
        if now >= failures.since.saturating_add(SPAN) {
            *failures = Failures { since: now, count: 0 };
        }
        failures.count = failures.count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_waits_for_the_rest_of_its_minute() {
        let throttle = FailedLoginLimiter::default();
        let source = Source::from_address([192, 0, 2, 1].into());
        let second = Duration::from_secs;
        for attempt in 0..FAILURES_MAX {
            assert_eq!(throttle.wait(source, second(5)), None, "attempt {attempt}");
            throttle.failed(source, second(5));
        }
        assert_eq!(throttle.wait(source, second(5)), Some(second(60)));
        assert_eq!(throttle.wait(source, second(64)), Some(second(1)));
        assert_eq!(throttle.wait(source, second(65)), None);
        assert_eq!(throttle.wait(Source::from_address([192, 0, 2, 2].into()), second(5)), None);
        throttle.failed(source, second(65));
        assert_eq!(throttle.wait(source, second(65)), None);
    }

    #[tokio::test]
    async fn a_queue_is_bounded_and_the_other_lane_is_free() {
        let throttle = Arc::new(FailedLoginLimiter::default());
        let held = throttle.turn(true).await.unwrap();
        let waiting: Vec<_> = (0..QUEUE_MAX)
            .map(|_| {
                let throttle = Arc::clone(&throttle);
                tokio::spawn(async move { throttle.turn(true).await.is_some() })
            })
            .collect();
        while throttle.suspect.waiting.load(Ordering::Acquire) < QUEUE_MAX {
            tokio::task::yield_now().await;
        }
        assert!(throttle.turn(true).await.is_none());
        assert!(throttle.turn(false).await.is_some());
        // Who hangs up leaves the queue.
        waiting[0].abort();
        while !waiting[0].is_finished() {
            tokio::task::yield_now().await;
        }
        let last = tokio::spawn({
            let throttle = Arc::clone(&throttle);
            async move { throttle.turn(true).await.is_some() }
        });
        drop(held);
        for waiting in waiting.into_iter().skip(1).chain([last]) {
            assert!(waiting.await.unwrap());
        }
    }

    #[test]
    fn an_ipv6_network_is_one_source() {
        let source = |text: &str| Source::from_address(text.parse().unwrap());
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:1"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
    }
}
