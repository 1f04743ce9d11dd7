//! Restart of background work after a panic.
use std::thread;

use chrono::TimeDelta;
use metrics::counter;
use tokio::task::{JoinHandle, JoinSet};
use tracing::error;

use crate::clock::Clock;

/// After a panic a loop rests so long before it is begun again.
const REST: TimeDelta = TimeDelta::seconds(1);

/// After a panic the work that it cut short is taken again so much later: others
/// are not kept waiting by what fails each time.
pub const RESTART_DELAY: TimeDelta = TimeDelta::minutes(1);

/// Runs a loop in the background, and begins it again after a panic. Without
/// that, a service would go on answering while nobody plans any more.
///
/// To abort the task that is returned ends the loop at its next await.
pub fn keep_running<Run>(
    job: &'static str,
    clock: Clock,
    run: impl Fn() -> Run + Send + 'static,
) -> JoinHandle<()>
where
    Run: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(async move {
        let mut turn = JoinSet::new();
        loop {
            turn.spawn(run());
            let Some(Err(failure)) = turn.join_next().await else { return };
            if !failure.is_panic() {
                return;
            }
            log_panic(job, &failure.to_string());
            clock.until(clock.now() + REST).await;
        }
    })
}

/// Tells operators of a panic: in the log, and in a count.
pub(crate) fn log_panic(job: &'static str, what: &str) {
    counter!("slackwater_panics_total", "job" => job).increment(1);
    error!(job, what, "work in the background panicked, and is taken up again");
}

/// Something to do if a panic ends the scope that holds it: to give back what
/// was taken.
pub(crate) struct OnPanic<Do: FnMut()>(pub(crate) Do);

impl<Do: FnMut()> Drop for OnPanic<Do> {
    fn drop(&mut self) {
        if thread::panicking() {
            (self.0)();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use std::future::pending;
    use std::panic;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn a_loop_that_panics_begins_again() {
        let clock = Clock::fixed(DateTime::UNIX_EPOCH);
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let job = keep_running("test", clock.clone(), move || {
            let run = counted.fetch_add(1, Ordering::SeqCst);
            async move { assert!(run == 2, "run {run}") }
        });
        while !job.is_finished() {
            clock.step(REST).unwrap();
            tokio::task::yield_now().await;
        }
        job.await.unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn a_loop_ends_with_its_task() {
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let job = keep_running("test", Clock::fixed(DateTime::UNIX_EPOCH), move || {
            let held = Arc::clone(&held);
            async move {
                pending::<()>().await;
                drop(held);
            }
        });
        while Arc::strong_count(&alive) < 3 {
            tokio::task::yield_now().await;
        }
        job.abort();
        assert!(job.await.unwrap_err().is_cancelled());
        while Arc::strong_count(&alive) > 1 {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn what_was_taken_is_given_back_after_a_panic_only() {
        let given_back = AtomicUsize::new(0);
        let take = |fails: bool| {
            let _taken = OnPanic(|| {
                given_back.fetch_add(1, Ordering::SeqCst);
            });
            assert!(!fails);
        };
        take(false);
        assert_eq!(given_back.load(Ordering::SeqCst), 0);
        panic::catch_unwind(panic::AssertUnwindSafe(|| take(true))).unwrap_err();
        assert_eq!(given_back.load(Ordering::SeqCst), 1);
    }
}
