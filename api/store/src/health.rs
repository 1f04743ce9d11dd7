//! Memory of how the last change ended, for those who ask whether writes succeed.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Outcome of the last change. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Health {
    is_in_doubt: Arc<AtomicBool>,
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

    /// Returns `true` if nothing was made since a change was undone. Only a write can tell the
    /// reason.
    #[must_use]
    pub fn is_in_doubt(&self) -> bool {
        self.is_in_doubt.load(Ordering::Relaxed)
    }
}
