//! Long work that obeys Ctrl-C.
//!
//! Python delivers a signal to its main thread, and only when that thread asks
//! for it. So the work goes to a thread of its own, while the thread that called
//! asks every [`PAUSE`]. After Ctrl-C the work is told to stop. A solver cannot be
//! told: the crate `highs` offers no callback. Its thread is left behind, and ends
//! when the solver reaches its own limits.
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::work::Pool;

/// Time between two looks for a signal.
const PAUSE: Duration = Duration::from_millis(50);

/// The clock that long work is given: the engine has none.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    until: Option<Instant>,
    is_stopped: Arc<AtomicBool>,
}

impl Clock {
    /// Seconds that are left: none after Ctrl-C, infinitely many without a limit.
    pub(crate) fn seconds_left(&self) -> f64 {
        if self.is_stopped.load(Ordering::Relaxed) {
            return 0.0;
        }
        self.until.map_or(f64::INFINITY, |until| {
            until.saturating_duration_since(Instant::now()).as_secs_f64()
        })
    }
}

/// Does work that may take long, for at most so many seconds if it asks the clock.
/// It may use rayon, in a forked child as well.
///
/// # Errors
/// A signal handler of Python raised, as that of Ctrl-C does.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    seconds_max: Option<f64>,
    work: impl FnOnce(&Clock) -> T + Send + 'static,
) -> PyResult<T> {
    let seconds = seconds_max.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let until = seconds.and_then(|seconds| Instant::now().checked_add(seconds));
    let clock = Clock { until, is_stopped: Arc::default() };
    let pool = Pool::new(py)?;
    let (sender, mut receiver) = sync_channel(1);
    let watched = clock.clone();
    let worker = thread::Builder::new().name("slackwater".to_owned()).spawn(move || {
        // Nobody listens any more after Ctrl-C.
        let _ = sender.send(pool.run(|| work(&watched)));
    })?;
    loop {
        let answer;
        (receiver, answer) = py.detach(move || {
            let answer = receiver.recv_timeout(PAUSE);
            (receiver, answer)
        });
        match answer {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => return Err(PyRuntimeError::new_err("the work gave no answer")),
            },
        }
        if let Err(raised) = py.check_signals() {
            clock.is_stopped.store(true, Ordering::Relaxed);
            return Err(raised);
        }
    }
}
