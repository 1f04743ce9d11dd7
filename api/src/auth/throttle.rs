//! Guessing secrets is slow, and never at the cost of who knows theirs.
//!
//! Wrong secrets are counted by where they come from. A source that has used up
//! its attempts is told to wait, but what it sends is still looked at, one
//! attempt at a time: the right secret always gets in, however many wrong ones
//! were sent before, from there or from elsewhere. Guesses thus cost the guesser
//! time and the service at most one processor.
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Secrets that are compared at one time: each takes a processor and 19 MiB.
const LANES: usize = 2;

/// Wrong secrets that a source may send in [`SPAN`] before it has to wait.
pub const FAILURES_MAX: u32 = 10;

/// The time in which they are counted.
pub const SPAN: Duration = Duration::from_mins(1);

/// Sources that are remembered. Beyond it, those that are over are forgotten.
const SOURCES_MAX: usize = 10_000;

/// Where attempts come from: an address, or the network of one in IPv6, since
/// there a household has as many addresses as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Source(IpAddr);

impl Source {
    /// The source that an address belongs to.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
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
pub struct Throttle {
    sources: Mutex<HashMap<Source, Failures>>,
    trusted: Semaphore,
    suspect: Semaphore,
}

impl Default for Throttle {
    fn default() -> Self {
        let sources = Mutex::default();
        Self { sources, trusted: Semaphore::new(LANES), suspect: Semaphore::new(1) }
    }
}

impl Throttle {
    /// Waits for the turn to compare a secret. Who sent many wrong ones stands in
    /// a queue of their own, which takes nobody else's turn.
    pub async fn turn(&self, is_suspect: bool) -> Option<SemaphorePermit<'_>> {
        let lane = if is_suspect { &self.suspect } else { &self.trusted };
        lane.acquire().await.ok()
    }

    /// How long the source has to wait before a wrong secret is just a wrong
    /// secret again; `None` if it may go on.
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
        let throttle = Throttle::default();
        let source = Source::of([192, 0, 2, 1].into());
        let second = Duration::from_secs;
        for attempt in 0..FAILURES_MAX {
            assert_eq!(throttle.wait(source, second(5)), None, "attempt {attempt}");
            throttle.failed(source, second(5));
        }
        assert_eq!(throttle.wait(source, second(5)), Some(second(60)));
        assert_eq!(throttle.wait(source, second(64)), Some(second(1)));
        assert_eq!(throttle.wait(source, second(65)), None);
        assert_eq!(throttle.wait(Source::of([192, 0, 2, 2].into()), second(5)), None);
        throttle.failed(source, second(65));
        assert_eq!(throttle.wait(source, second(65)), None);
    }

    #[test]
    fn an_ipv6_network_is_one_source() {
        let source = |text: &str| Source::of(text.parse().unwrap());
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:1"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
    }
}
