//! The time, as the edge passes it to everything else.
use std::sync::Arc;

use chrono::{DateTime, Utc};

/// Source of the time.
pub type Clock = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// The machine's clock.
#[must_use]
pub fn system() -> Clock {
    Arc::new(Utc::now)
}
