//! Work that is finished whoever waits for it.
//!
//! A server drops the future of a request whose client hangs up. Between a commit
//! and the tables in memory that must not happen: they would differ from then on.
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// Future that goes on in a task of its own when it is dropped before its end.
///
/// Whoever awaits it polls it in place, so that the ordinary case costs one box.
/// Work that panics is not begun again. Without a runtime the work ends with the drop.
#[must_use = "a future does nothing before it is polled"]
pub struct Finish<T: Send + 'static>(Option<Work<T>>);

/// The work that is left.
type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<T: Send + 'static> Finish<T> {
    /// Future that finishes this work.
    pub fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<T: Send + 'static> Future for Finish<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // Taken out while it runs: work that panicked is not there to be spawned.
        let mut work = self.0.take().expect("a future is not polled after its end");
        let polled = work.as_mut().poll(context);
        if polled.is_pending() {
            self.0 = Some(work);
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Finish<T> {
    fn drop(&mut self) {
        if let (Some(work), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::sync::oneshot;
    use tokio::task::yield_now;

    use super::*;

    /// Work that tells its end after so many turns.
    fn work(turns: usize) -> (Finish<usize>, oneshot::Receiver<usize>) {
        let (told, ended) = oneshot::channel();
        let work = Finish::new(async move {
            for _ in 0..turns {
                yield_now().await;
            }
            told.send(turns).unwrap();
            turns
        });
        (work, ended)
    }

    #[tokio::test]
    async fn work_that_is_dropped_at_any_turn_ends_once() {
        for polls in 0..6 {
            let (mut work, ended) = work(4);
            let mut context = Context::from_waker(Waker::noop());
            for poll in 0..polls {
                let is_ready = Pin::new(&mut work).poll(&mut context).is_ready();
                assert_eq!(is_ready, poll == 4);
            }
            drop(work);
            assert_eq!(ended.await, Ok(4), "dropped after {polls} polls");
        }
    }

    #[tokio::test]
    async fn work_that_panics_is_not_begun_again() {
        let (alive, ended) = oneshot::channel::<()>();
        let work = Finish::new(async move {
            let _alive = alive;
            yield_now().await;
            panic!("as it must");
        });
        assert!(tokio::spawn(work).await.unwrap_err().is_panic());
        // Dropped with the work, unsent.
        assert!(ended.await.is_err());
    }
}
