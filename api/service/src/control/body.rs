//! Action as JSON: in answers, and in events.
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Map, Value};
use slackwater_control::device::action::{ActionState, FailureKind};
use slackwater_control::device::battery::OperationMode;
use slackwater_control::device::command::{Command, Switch};
use utoipa::ToSchema;
use uuid::Uuid;

use slackwater_store::actions::Action;

/// One command to one device, and how far it has come.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActionBody {
    /// Its identifier.
    pub id: Uuid,
    /// The owner of the device.
    pub user_id: String,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When its state last changed.
    pub updated_at: DateTime<Utc>,
    /// When it ended; null while it is pending.
    pub completed_at: Option<DateTime<Utc>>,
    /// One of `PENDING`, `CONFIRMED`, `FAILED`, `CANCELLED`.
    #[schema(value_type = String)]
    pub state: &'static str,
    /// The device.
    pub target_id: String,
    /// `vehicle`, `charger`, `battery` or `hvac`.
    #[schema(value_type = String)]
    pub target_type: &'static str,
    /// Target state of the device; not of actions that start or stop charging.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_state: Option<TargetState>,
    /// `START` or `STOP`; of those actions only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub kind: Option<&'static str>,
    /// Reason why the action failed; null while pending and if confirmed.
    pub failure_reason: Option<FailureReason>,
}

/// Target state of a device: one of these.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetState {
    /// A battery's mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub operation_mode: Option<&'static str>,
    /// Limit of the current in A.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_current: Option<f64>,
    /// Limit of the power in kW.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charge_rate_limit: Option<f64>,
}

/// Reason why an action failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct FailureReason {
    /// One of `NO_RESPONSE`, `FAILED_PRECONDITION`, `UNNECESSARY`, `CONFLICT`,
    /// `REQUESTED_CANCELLATION` and `NOT_FOUND`.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub kind: &'static str,
    /// The reason in a sentence.
    pub detail: String,
}

impl ActionBody {
    /// The shape of an action.
    #[must_use]
    pub fn from_action(action: &Action) -> Self {
        let progress = &action.progress;
        let kind = match action.command {
            Command::Charge(Switch::Start) => Some("START"),
            Command::Charge(Switch::Stop) => Some("STOP"),
            _ => None,
        };
        Self {
            id: action.id,
            user_id: action.user_id.to_string(),
            created_at: progress.created_at,
            updated_at: progress.updated_at,
            completed_at: progress.completed_at,
            state: state_word(progress.state),
            target_id: action.target_id.to_string(),
            target_type: action.kind.as_str(),
            target_state: kind.is_none().then(|| TargetState::from_command(&action.command)),
            kind,
            failure_reason: progress.failure.as_ref().map(|failure| FailureReason {
                kind: failure_word(failure.kind),
                detail: failure.detail.clone(),
            }),
        }
    }

    /// Body as a JSON value.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_else(|_| Value::Object(Map::new()))
    }
}

impl TargetState {
    /// Of commands whose target the specification does not print, nothing is shown.
    fn from_command(command: &Command) -> Self {
        match command {
            Command::MaxCurrent(current) => {
                Self { max_current: Some(current.as_amps()), ..Self::default() }
            }
            Command::ChargeRateLimit(power) => {
                Self { charge_rate_limit: Some(power.as_kw()), ..Self::default() }
            }
            Command::OperationMode(mode) => {
                Self { operation_mode: Some(mode_word(*mode)), ..Self::default() }
            }
            Command::Charge(_) | Command::FollowSchedule | Command::Hold(_) => Self::default(),
        }
    }
}

const fn state_word(state: ActionState) -> &'static str {
    match state {
        ActionState::Pending => "PENDING",
        ActionState::Confirmed => "CONFIRMED",
        ActionState::Failed => "FAILED",
        ActionState::Cancelled => "CANCELLED",
    }
}

const fn failure_word(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::NoResponse => "NO_RESPONSE",
        FailureKind::FailedPrecondition => "FAILED_PRECONDITION",
        FailureKind::Unnecessary => "UNNECESSARY",
        FailureKind::Conflict => "CONFLICT",
        FailureKind::RequestedCancellation => "REQUESTED_CANCELLATION",
        FailureKind::NotFound => "NOT_FOUND",
    }
}

const fn mode_word(mode: OperationMode) -> &'static str {
    match mode {
        OperationMode::SelfReliance => "SELF_RELIANCE",
        OperationMode::TimeOfUse => "TIME_OF_USE",
        OperationMode::ImportFocus => "IMPORT_FOCUS",
        OperationMode::ExportFocus => "EXPORT_FOCUS",
        OperationMode::Idle => "IDLE",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn words_of_actions_are_those_of_the_specification() {
        let upper = |word: &str| word.to_uppercase();
        assert!(ActionState::ALL.iter().all(|state| state_word(*state) == upper(state.as_str())));
        assert!(FailureKind::ALL.iter().all(|kind| failure_word(*kind) == upper(kind.as_str())));
        assert!(OperationMode::ALL.iter().all(|mode| mode_word(*mode) == upper(mode.as_str())));
        let words: BTreeSet<&str> = FailureKind::ALL.map(failure_word).into_iter().collect();
        assert_eq!(words.len(), 6);
    }
}
