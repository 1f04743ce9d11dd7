//! What Python hears of an area that is planned, and may say to it.
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use slackwater_engine::area::{self as engine, Observer, Progress, SavedRound};

use crate::area_crew::Crew;

/// Calls Python once a round: for signals, for who watches the progress, and
/// for who remembers what was answered.
pub(crate) struct Watched {
    pub(crate) progress: Option<Py<PyAny>>,
    /// Gives back what was kept, as text, in the same order, then `None`.
    pub(crate) recall: Option<Py<PyAny>>,
    /// Takes what is to be kept, as text without a line break.
    pub(crate) keep: Option<Py<PyAny>>,
    /// Asks the vehicles, if they are asked elsewhere.
    pub(crate) crew: Option<Crew>,
    pub(crate) failed: Option<PyErr>,
    /// Whether Ctrl-C came while Python was called.
    pub(crate) is_interrupted: bool,
}

impl Watched {
    /// The first exception that any of them raised.
    pub(crate) fn failure(&mut self) -> Option<PyErr> {
        let of_crew = self.crew.as_mut().and_then(|crew| crew.failed.take());
        of_crew.or(self.failed.take())
    }

    /// Keeps what a call raised. Ctrl-C while it runs is raised there, and asks for the
    /// plan so far, not for an exception.
    fn note(&mut self, py: Python<'_>, error: PyErr) {
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            self.is_interrupted = true;
        } else {
            self.failed = Some(error);
        }
    }

    fn asks_to_stop(&mut self, progress: &Progress) -> bool {
        Python::attach(|py| {
            if self.is_interrupted || py.check_signals().is_err() {
                return true;
            }
            let Some(watch) = &self.progress else { return false };
            let numbers = (progress.round, progress.cost, progress.bound, progress.gap);
            match watch.call1(py, numbers).and_then(|answer| answer.is_truthy(py)) {
                Ok(stop) => stop,
                Err(error) => {
                    self.note(py, error);
                    true
                }
            }
        })
    }

    fn recalled(&self, py: Python<'_>) -> PyResult<Option<SavedRound>> {
        let Some(recall) = &self.recall else { return Ok(None) };
        let Some(text) = recall.call0(py)?.extract::<Option<String>>(py)? else { return Ok(None) };
        // Text that is cut off or from elsewhere is nothing that is remembered.
        Ok(serde_json::from_str(&text).ok())
    }
}

impl Observer for Watched {
    fn stop(&mut self, progress: &Progress) -> bool {
        let has_failed = self.crew.as_ref().is_some_and(|crew| crew.failed.is_some());
        has_failed || self.failed.is_some() || self.asks_to_stop(progress)
    }

    fn hurries(&mut self) -> bool {
        self.is_interrupted || Python::attach(|py| py.check_signals().is_err())
    }

    fn recall(&mut self) -> Option<SavedRound> {
        Python::attach(|py| {
            self.recalled(py).unwrap_or_else(|error| {
                self.note(py, error);
                None
            })
        })
    }

    fn keep(&mut self, answered: &SavedRound) {
        let Some(keep) = &self.keep else { return };
        let text = serde_json::to_string(answered).unwrap_or_default();
        let kept = Python::attach(|py| keep.call1(py, (text,)));
        if let Err(error) = kept {
            Python::attach(|py| self.note(py, error));
        }
    }

    fn workers(&mut self) -> Option<&mut dyn engine::Workers> {
        self.crew.as_mut().map(|crew| crew as &mut dyn engine::Workers)
    }
}
