//! Work on all cores without the interpreter lock, also in a forked child.
//!
//! A child of `fork` inherits the global pool of rayon without its threads, so
//! that whoever asks that pool waits for ever. The process that works first
//! owns the global pool; any other process works in a pool of its own.
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Process that owns the global pool; 0 while there is none.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Pool of a forked process. It is only locked while the interpreter lock is
/// held, which whoever forks holds, too: no child finds it locked.
static FORKED: Mutex<Option<(u32, &'static ThreadPool)>> = Mutex::new(None);

/// The pool in which this process works: the global one if it is the owner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pool(Option<&'static ThreadPool>);

impl Pool {
    /// The pool of this process, which is made if there is none.
    pub(crate) fn new(py: Python<'_>) -> PyResult<Self> {
        forked_pool(py).map(Self)
    }

    /// Does work that uses rayon.
    pub(crate) fn run<T: Send>(self, work: impl FnOnce() -> T + Send) -> T {
        match self.0 {
            None => work(),
            Some(pool) => pool.install(work),
        }
    }
}

/// Releases the interpreter lock, and does work that uses rayon.
pub(crate) fn in_parallel<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let pool = Pool::new(py)?;
    Ok(py.detach(|| pool.run(work)))
}

/// The pool to work in, if this process does not own the global one.
fn forked_pool(_locked: Python<'_>) -> PyResult<Option<&'static ThreadPool>> {
    let process = std::process::id();
    let owner = OWNER.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed);
    if owner.is_ok() || owner == Err(process) {
        return Ok(None);
    }
    let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, pool)) = *forked
        && of == process
    {
        return Ok(Some(pool));
    }
    // Two at least: the current thread works only while it waits.
    let threads = rayon::current_num_threads().max(2);
    let builder = || ThreadPoolBuilder::new().num_threads(threads);
    // The current thread stays the one that works, so that it hears Ctrl-C. A
    // thread that a parent has put into a pool cannot join another.
    let built = builder().use_current_thread().build().or_else(|_| builder().build());
    let pool = built.map_err(|error| {
        PyRuntimeError::new_err(format!("a forked process can start no threads: {error}"))
    })?;
    // Kept for good: it works until the process ends.
    let pool: &'static ThreadPool = Box::leak(Box::new(pool));
    *forked = Some((process, pool));
    Ok(Some(pool))
}
