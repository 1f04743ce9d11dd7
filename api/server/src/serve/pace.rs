//! The least rate at which a peer has to send or take bytes.
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// The span in which [`LEAST_BYTES`] have to be moved.
pub(super) const SPAN: Duration = Duration::from_secs(30);

/// Fewest bytes in a span: 4 kB/s, which the slowest mobile network reaches.
/// What is shorter has to be through within one span.
pub(super) const LEAST_BYTES: usize = 120 * 1024;

/// Measures a peer while the service waits for it, and only then.
#[derive(Debug, Default)]
pub(super) struct LeastRate {
    span: Option<(Pin<Box<Sleep>>, usize)>,
}

impl LeastRate {
    /// Counts bytes that were moved.
    pub(super) fn count_bytes(&mut self, bytes: usize) {
        if let Some((_, moved)) = &mut self.span {
            *moved = moved.saturating_add(bytes);
        }
    }

    /// Begins anew: nothing is waited for.
    pub(super) fn reset(&mut self) {
        self.span = None;
    }

    /// Waits for the end of a span in which too little was moved.
    pub(super) fn poll_too_slow(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (end, moved) = self.span.get_or_insert_with(|| (Box::pin(sleep(SPAN)), 0));
        while end.as_mut().poll(cx).is_ready() {
            if *moved < LEAST_BYTES {
                return Poll::Ready(());
            }
            *moved = 0;
            end.as_mut().reset(Instant::now() + SPAN);
        }
        Poll::Pending
    }
}
