//! Hooks of an area's search that call Python: progress, and a store of priced rounds.
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use slackwater_engine::area::{Observer, Progress, RoundStore, SavedRound};

/// First exception that a hook raised, and whether Ctrl-C came while one ran. All hooks of a search
/// share it.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    failed: Option<PyErr>,
    is_interrupted: bool,
}

impl Raised {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.state().failed.is_some()
    }

    pub(crate) fn take_error(&self) -> Option<PyErr> {
        self.state().failed.take()
    }

    pub(crate) fn fail(&self, error: PyErr) {
        self.state().failed.get_or_insert(error);
    }

    /// Keeps an exception. Ctrl-C while a hook runs is raised there, and asks for the plan so far,
    /// not for an exception.
    fn note(&self, py: Python<'_>, error: PyErr) {
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            self.state().is_interrupted = true;
        } else {
            self.fail(error);
        }
    }
}

/// Calls a Python function with the progress of each round, and ends the search on Ctrl-C, on an
/// exception, or when that function says so.
pub(crate) struct Watched {
    pub(crate) progress: Option<Py<PyAny>>,
    pub(crate) raised: Raised,
}

impl Watched {
    fn stops(&self, progress: &Progress) -> bool {
        Python::attach(|py| {
            if self.raised.state().is_interrupted || py.check_signals().is_err() {
                return true;
            }
            let Some(watch) = &self.progress else { return false };
            let numbers = (progress.round, progress.cost, progress.bound, progress.gap);
            match watch.call1(py, numbers).and_then(|answer| answer.is_truthy(py)) {
                Ok(stop) => stop,
                Err(error) => {
                    self.raised.note(py, error);
                    true
                }
            }
        })
    }
}

fn break_if(stops: bool) -> ControlFlow<()> {
    if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

impl Observer for Watched {
    fn after_round(&mut self, progress: &Progress) -> ControlFlow<()> {
        break_if(self.raised.has_failed() || self.stops(progress))
    }

    fn during_recovery(&mut self) -> ControlFlow<()> {
        let is_interrupted = self.raised.state().is_interrupted;
        break_if(is_interrupted || Python::attach(|py| py.check_signals().is_err()))
    }
}

/// Store of priced rounds in Python, as text.
pub(crate) struct Store {
    /// Gives back what was saved, in the same order, then `None`.
    pub(crate) recall: Option<Py<PyAny>>,
    /// Takes a round as text without a line break.
    pub(crate) keep: Option<Py<PyAny>>,
    pub(crate) raised: Raised,
}

impl Store {
    fn recalled(&self, py: Python<'_>) -> PyResult<Option<SavedRound>> {
        let Some(recall) = &self.recall else { return Ok(None) };
        let Some(text) = recall.call0(py)?.extract::<Option<String>>(py)? else { return Ok(None) };
        // Text that is cut off or from elsewhere is no round.
        Ok(serde_json::from_str(&text).ok())
    }
}

impl RoundStore for Store {
    fn recall(&mut self) -> Option<SavedRound> {
        Python::attach(|py| {
            self.recalled(py).unwrap_or_else(|error| {
                self.raised.note(py, error);
                None
            })
        })
    }

    fn save(&mut self, round: &SavedRound) {
        let Some(keep) = &self.keep else { return };
        let text = serde_json::to_string(round).unwrap_or_default();
        Python::attach(|py| {
            if let Err(error) = keep.call1(py, (text,)) {
                self.raised.note(py, error);
            }
        });
    }
}
