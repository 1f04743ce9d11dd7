//! Memory of how the last change ended, for those who ask whether writes succeed.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Outcome of the last change. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Health {
    is_in_doubt: Arc<AtomicBool>,
    lost_answer: Arc<Notify>,
}

impl Health {
    /// Remembers a change that was made.
    pub fn was_made(&self) {
        self.is_in_doubt.store(false, Ordering::Relaxed);
    }

    /// Remembers a change that was not made: it was refused, or the database failed.
    pub fn was_undone(&self) {
        self.is_in_doubt.store(true, Ordering::Relaxed);
    }

    /// Remembers a commit whose answer was lost: a server may have made the change.
    pub fn has_lost_answer(&self) {
        self.lost_answer.notify_one();
    }

    /// Waits for a commit whose answer was lost since the last one.
    pub async fn wait_for_lost_answer(&self) {
        self.lost_answer.notified().await;
    }

    /// Returns `true` if nothing was made since a change was undone. Only a write can tell the
    /// reason.
    #[must_use]
    pub fn is_in_doubt(&self) -> bool {
        self.is_in_doubt.load(Ordering::Relaxed)
    }
}
