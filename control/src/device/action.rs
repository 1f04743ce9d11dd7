//! The life of one command, from its creation to its end.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::device::command::Command;
use crate::device::scope::DeviceKind;
use slackwater_engine::words;

words! {
    /// State of an action (ACT-02).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum ActionState {
        /// The command is sent until something happens.
        Pending = "pending",
        /// The device was observed in the desired state.
        Confirmed = "confirmed",
        /// The device did not react in time.
        Failed = "failed",
        /// Given up for another reason.
        Cancelled = "cancelled",
    }
}

words! {
    /// Reason why an action did not end as wished (ACT-24).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum FailureKind {
        /// The device did not react within the window.
        NoResponse = "no_response",
        /// Something that the command needs was missing within the window.
        FailedPrecondition = "failed_precondition",
        /// The device was in the desired state before anything was sent.
        Unnecessary = "unnecessary",
        /// A newer action for the same device.
        Conflict = "conflict",
        /// The requester cancelled the action.
        RequestedCancellation = "requested_cancellation",
        /// The device was deleted.
        NotFound = "not_found",
    }
}

impl FailureKind {
    /// Explanation for users (ACT-23).
    #[must_use]
    pub const fn detail(self) -> &'static str {
        match self {
            Self::NoResponse => "The device did not react before the time was up.",
            Self::FailedPrecondition => "The device could not carry the command out.",
            Self::Unnecessary => "The device was in the desired state before it was told.",
            Self::Conflict => "A newer action for the same device took over.",
            Self::RequestedCancellation => "The action was called off.",
            Self::NotFound => "The device was deleted before the action was done.",
        }
    }

    /// The state that it ends in: failed without a response, else cancelled
    /// (ACT-12, AMB-01).
    #[must_use]
    pub const fn end(self) -> ActionState {
        match self {
            Self::NoResponse => ActionState::Failed,
            _ => ActionState::Cancelled,
        }
    }
}

/// Reason that an action was not confirmed, with a text for people.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The reason.
    pub kind: FailureKind,
    /// The reason in a sentence; never empty.
    pub detail: String,
}

/// Something that happens to a pending action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActionEvent {
    /// The device is observed in the desired state after the command was sent.
    #[serde(rename = "reached")]
    Reached,
    /// The device is observed in the desired state, and no command was sent (AMB-04).
    #[serde(rename = "unnecessary")]
    Unnecessary,
    /// The window is over.
    #[serde(rename = "timed_out")]
    TimedOut,
    /// Something that the command needs is missing; with words for people.
    #[serde(rename = "precondition_unmet")]
    PreconditionUnmet(Option<String>),
    /// A newer action for the same device.
    #[serde(rename = "superseded")]
    Superseded,
    /// A user cancels the action by hand.
    #[serde(rename = "cancel_requested")]
    CancelRequested,
    /// The schedule or smart override that created the action cancels it.
    #[serde(rename = "owner_cancelled")]
    OwnerCancelled,
    /// The device is deleted.
    #[serde(rename = "target_deleted")]
    TargetDeleted,
}

impl ActionEvent {
    /// Reason for which the event ends a pending action; `None` is confirmed.
    #[must_use]
    pub const fn failure(&self) -> Option<FailureKind> {
        match self {
            Self::Reached => None,
            Self::Unnecessary => Some(FailureKind::Unnecessary),
            Self::TimedOut => Some(FailureKind::NoResponse),
            Self::PreconditionUnmet(_) => Some(FailureKind::FailedPrecondition),
            Self::Superseded => Some(FailureKind::Conflict),
            Self::CancelRequested | Self::OwnerCancelled => {
                Some(FailureKind::RequestedCancellation)
            }
            Self::TargetDeleted => Some(FailureKind::NotFound),
        }
    }
}

/// Progress of an action.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// State of the action.
    pub state: ActionState,
    /// Time of creation.
    pub created_at: DateTime<Utc>,
    /// Time of the last change of state (ACT-20).
    pub updated_at: DateTime<Utc>,
    /// Time of the end, for any outcome; `None` while pending (ACT-19).
    pub completed_at: Option<DateTime<Utc>>,
    /// Reason that it was not confirmed; `None` while pending and if confirmed.
    pub failure: Option<Failure>,
}

impl Progress {
    /// A new action: pending, from this instant on (ACT-07).
    #[must_use]
    pub const fn created(at: DateTime<Utc>) -> Self {
        Self {
            state: ActionState::Pending,
            created_at: at,
            updated_at: at,
            completed_at: None,
            failure: None,
        }
    }

    /// Returns the progress after an event; `None` if the action has ended before, because an
    /// ended action does not change (ACT-18, ACT-21).
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_control::device::action::{ActionEvent, ActionState, FailureKind, Progress};
    /// let start = Progress::created("2026-01-05T18:00:00Z".parse().unwrap());
    /// let quarter_past = "2026-01-05T18:15:00Z".parse().unwrap();
    /// let ended = start.after(&ActionEvent::TimedOut, quarter_past).unwrap();
    /// assert_eq!(ended.state, ActionState::Failed);
    /// assert_eq!(ended.failure.as_ref().unwrap().kind, FailureKind::NoResponse);
    /// assert_eq!(ended.after(&ActionEvent::CancelRequested, quarter_past), None);
    /// ```
    #[must_use]
    pub fn after(&self, event: &ActionEvent, at: DateTime<Utc>) -> Option<Self> {
        if self.state != ActionState::Pending {
            return None;
        }
        let failure = event.failure().map(|kind| Failure { kind, detail: detail(kind, event) });
        let state = failure.as_ref().map_or(ActionState::Confirmed, |failure| failure.kind.end());
        Some(Self { state, updated_at: at, completed_at: Some(at), failure, ..self.clone() })
    }
}

fn detail(kind: FailureKind, event: &ActionEvent) -> String {
    match event {
        ActionEvent::PreconditionUnmet(Some(words)) if !words.is_empty() => words.clone(),
        _ => kind.detail().to_string(),
    }
}

/// One asynchronous command to one device (ACT-01).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Its identifier.
    pub id: String,
    /// Owner of the device (ACT-03).
    pub user_id: String,
    /// The device.
    pub target_id: String,
    /// Its kind (ACT-04, AMB-08).
    pub target_type: DeviceKind,
    /// Command to the device.
    pub command: Command,
    /// Progress of the action.
    pub progress: Progress,
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use std::fmt::Write;

    fn events() -> Vec<ActionEvent> {
        vec![
            ActionEvent::Reached,
            ActionEvent::Unnecessary,
            ActionEvent::TimedOut,
            ActionEvent::PreconditionUnmet(Some("The cable is out.".into())),
            ActionEvent::Superseded,
            ActionEvent::CancelRequested,
            ActionEvent::OwnerCancelled,
            ActionEvent::TargetDeleted,
        ]
    }

    fn at(minute: u32) -> DateTime<Utc> {
        format!("2026-01-05T18:{minute:02}:00Z").parse().unwrap()
    }

    #[test]
    fn every_event_on_a_pending_action() {
        let mut table = String::new();
        for event in events() {
            let ended = Progress::created(at(0)).after(&event, at(5)).unwrap();
            let failure = ended.failure.map_or("-".to_string(), |f| f.kind.as_str().to_string());
            writeln!(table, "{event:?}: {} {failure}", ended.state.as_str()).unwrap();
            assert_eq!((ended.updated_at, ended.completed_at), (at(5), Some(at(5))));
            assert_eq!(ended.created_at, at(0));
        }
        expect![[r#"
            Reached: confirmed -
            Unnecessary: cancelled unnecessary
            TimedOut: failed no_response
            PreconditionUnmet(Some("The cable is out.")): cancelled failed_precondition
            Superseded: cancelled conflict
            CancelRequested: cancelled requested_cancellation
            OwnerCancelled: cancelled requested_cancellation
            TargetDeleted: cancelled not_found
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn nothing_changes_an_ended_action() {
        for first in events() {
            let ended = Progress::created(at(0)).after(&first, at(5)).unwrap();
            for second in events() {
                assert_eq!(ended.after(&second, at(6)), None, "{second:?} after {first:?}");
            }
        }
    }

    #[test]
    fn a_detail_wherever_there_is_a_reason() {
        for event in events() {
            let ended = Progress::created(at(0)).after(&event, at(5)).unwrap();
            assert_eq!(ended.failure.is_none(), ended.state == ActionState::Confirmed);
            assert!(ended.failure.is_none_or(|failure| !failure.detail.is_empty()));
        }
        let words = ActionEvent::PreconditionUnmet(Some(String::new()));
        let ended = Progress::created(at(0)).after(&words, at(5)).unwrap();
        assert_eq!(ended.failure.unwrap().detail, FailureKind::FailedPrecondition.detail());
    }

    #[test]
    fn words_of_states_and_reasons_are_read_back() {
        for state in ActionState::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        for kind in FailureKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}
