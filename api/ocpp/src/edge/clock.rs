//! The time, as the edge passes it to everything else, and waits by it.
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::{Instant, sleep_until};

/// Wait that ends when its time has passed.
pub type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Source of the time. A function that returns the time is one: its waits are those of the machine,
/// so that a wall clock that is set back delays none of them.
pub trait TimeSource: Send + Sync {
    /// The time.
    fn now(&self) -> DateTime<Utc>;

    /// Waits for `length`.
    fn wait(&self, length: Duration) -> Wait {
        Box::pin(sleep_until(Instant::now() + length))
    }
}

impl<Read: Fn() -> DateTime<Utc> + Send + Sync> TimeSource for Read {
    fn now(&self) -> DateTime<Utc> {
        self()
    }
}

/// Source of the time that the whole integration shares.
pub type Clock = Arc<dyn TimeSource>;

/// The machine's clock.
#[must_use]
pub fn system() -> Clock {
    Arc::new(Utc::now)
}
