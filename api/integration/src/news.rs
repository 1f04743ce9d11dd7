//! News of devices, told by an integration and taken by the service.
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Devices with news that the service has yet to read.
///
/// A manufacturer that learns of changes by itself keeps one of these, returns it from
/// [`Vendor::news`](crate::vendor::Vendor::news), and calls [`tell_of`](Self::tell_of). The service polls
/// such a device at once. A device that is told again before that is polled once, and one that
/// chatters is polled every ten seconds.
///
/// # Example
///
/// ```
/// use slackwater_integration::news::News;
///
/// let news = News::default();
/// news.tell_of("garage/1");
/// news.tell_of("garage/1");
/// let mut told = Vec::new();
/// news.take_each(|device| told.push(device.to_owned()));
/// assert_eq!(told, ["garage/1"]);
/// assert!(news.is_empty());
/// ```
#[derive(Debug, Default)]
pub struct News {
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    devices: BTreeSet<String>,
    /// The service, while it waits.
    waiting: Option<Waker>,
}

impl News {
    /// Tells the service that a device has news, by the identifier of the manufacturer. Costs nothing
    /// and never waits. Devices that nobody has linked are ignored.
    pub fn tell_of(&self, device: impl Into<String>) {
        let mut told = self.lock_told();
        told.devices.insert(device.into());
        let waiting = told.waiting.take();
        drop(told);
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// Waits until a device has news. One task waits at a time: of two, the last.
    pub async fn wait_for_news(&self) {
        poll_fn(|context| self.poll_told(context)).await;
    }

    /// Takes each device that has news now. A device counts as not taken while `take` looks at it,
    /// which must not tell any news.
    pub fn take_each(&self, mut take: impl FnMut(&str)) {
        let count = self.lock_told().devices.len();
        for _ in 0..count {
            let mut told = self.lock_told();
            if let Some(device) = told.devices.pop_first() {
                take(&device);
            }
        }
    }

    /// Returns true if no device has news.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock_told().devices.is_empty()
    }

    fn poll_told(&self, context: &Context<'_>) -> Poll<()> {
        let mut told = self.lock_told();
        if told.devices.is_empty() {
            told.waiting = Some(context.waker().clone());
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }

    fn lock_told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl Wake for Counting {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn taken(news: &News) -> Vec<String> {
        let mut taken = Vec::new();
        news.take_each(|device| taken.push(device.to_owned()));
        taken
    }

    #[test]
    fn whoever_waits_is_woken_once_and_finds_each_device_once() {
        let (news, counted) = (News::default(), Arc::new(Counting::default()));
        let waker = Waker::from(Arc::clone(&counted));
        let mut context = Context::from_waker(&waker);
        {
            let mut waiting = pin!(news.wait_for_news());
            assert_eq!(waiting.as_mut().poll(&mut context), Poll::Pending);
            for device in ["b", "a", "b"] {
                news.tell_of(device);
            }
            assert_eq!(counted.0.load(Ordering::SeqCst), 1);
            assert_eq!(waiting.as_mut().poll(&mut context), Poll::Ready(()));
        }
        assert!(!news.is_empty());
        assert_eq!(taken(&news), ["a", "b"]);
        assert!(news.is_empty() && taken(&news).is_empty());
    }

    #[test]
    fn news_that_came_before_anybody_waits_are_kept() {
        let news = News::default();
        news.tell_of("a");
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(pin!(news.wait_for_news()).as_mut().poll(&mut context), Poll::Ready(()));
        assert_eq!(taken(&news), ["a"]);
        assert_eq!(pin!(news.wait_for_news()).as_mut().poll(&mut context), Poll::Pending);
    }
}
