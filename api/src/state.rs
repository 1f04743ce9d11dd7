//! What all requests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Handle to the shared state. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct App {
    stopping: Arc<AtomicBool>,
}

impl App {
    /// A service that takes requests.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on the service reports that it is not ready. Requests are still answered.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Whether [`stop`](Self::stop) was called.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}
