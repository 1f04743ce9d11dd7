//! Trials of a model as they are kept. What is done with them is in [`trials`](super::trials).
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use slackwater_control::quirk::kind::Quirk;
use slackwater_control::quirk::probe::Probe;

use crate::facts::Model;

/// Trials of a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trials {
    /// Model that was tried out to the end.
    pub(crate) of: Option<Model>,
    /// Deviations that it has shown.
    pub(crate) found: BTreeSet<Quirk>,
    /// Trials that are under way.
    #[serde(skip)]
    pub(crate) run: Option<Run>,
}

/// Trials that are under way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    pub(crate) probe: Probe,
    /// True if the trial was sent and not answered yet.
    pub(crate) is_sent: bool,
    /// True if a vehicle has come.
    pub(crate) is_interrupted: bool,
    /// Time at which the limit was accepted.
    pub(crate) limited_at: DateTime<Utc>,
    /// Time at which the last limit that was sent has ended.
    pub(crate) until: DateTime<Utc>,
}

impl Trials {
    /// Deviations that trials of a model have shown.
    pub(crate) fn found(&self, model: Option<&Model>) -> impl Iterator<Item = Quirk> {
        let is_same = model.is_some() && self.of.as_ref() == model;
        self.found.iter().copied().filter(move |_| is_same)
    }
}
