//! Results that wait for a common commit.
use std::sync::{Mutex, PoisonError};

/// Results of tasks that are written together: each task adds its own, and the first of them that
/// gets the writer takes all.
#[derive(Debug)]
pub struct Waiting<T>(Mutex<Vec<T>>);

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T> Waiting<T> {
    /// Adds a result.
    pub fn add(&self, result: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(result);
    }

    /// Returns `true` if nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Takes all results, in the order in which they were added.
    #[must_use]
    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
