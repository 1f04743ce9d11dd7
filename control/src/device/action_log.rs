//! Replay of an event log into the states of many actions.
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::device::action::{ActionEvent, ActionState, Progress};
use slackwater_engine::words;

/// Action or device that an event belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Address {
    /// The action with this identifier.
    #[serde(rename = "action_id")]
    Action(String),
    /// The pending action of this device, if it has one.
    #[serde(rename = "target_id")]
    Target(String),
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogEvent {
    /// An action was created for a device.
    #[serde(rename = "created")]
    Created {
        /// The new action.
        action_id: String,
        /// The device.
        target_id: String,
    },
    /// Something happened to an action.
    #[serde(rename = "happened")]
    Happened {
        /// Action that the event belongs to.
        to: Address,
        /// The event.
        event: ActionEvent,
    },
}

words! {
    /// Response to a cancellation by hand.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum CancelAnswer {
        /// The action is cancelled (ACT-16).
        Cancelled = "cancelled",
        /// The action had ended before and is unchanged (ACT-18).
        AlreadyResolved = "already_resolved",
        /// There is no such action.
        NotFound = "not_found",
    }
}

/// Invalid sequence of events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// An event is older than the one before it.
    #[error("events[{event}] happened at {at}, before the event ahead of it at {previous}")]
    OutOfOrder {
        /// Position in the log.
        event: usize,
        /// Time of the event.
        at: DateTime<Utc>,
        /// Time of the event before it.
        previous: DateTime<Utc>,
    },
    /// Two actions with one identifier.
    #[error("events[{event}] creates action {id:?} a second time")]
    Duplicate {
        /// Position in the log.
        event: usize,
        /// The identifier.
        id: String,
    },
    /// Something happened to an action that was never created.
    #[error("events[{event}] is about action {id:?}, which was not created before")]
    UnknownAction {
        /// Position in the log.
        event: usize,
        /// The identifier.
        id: String,
    },
}

/// An action of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The device.
    pub target_id: String,
    /// Progress of the action.
    pub progress: Progress,
}

/// All actions, the commands sent, and the responses to callers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionLog {
    /// Actions by identifier.
    pub actions: BTreeMap<String, Entry>,
    /// Each state that an action entered, in order (ACT-22). Its creation is
    /// among them (AMB-06).
    pub notifications: Vec<(String, ActionState)>,
    /// Responses to cancellations by hand, in order.
    pub cancel_answers: Vec<CancelAnswer>,
    /// The one pending action of each device that has one (ACT-14).
    pending: BTreeMap<String, String>,
}

impl ActionLog {
    /// Replays a log from its first event.
    ///
    /// A device has at most one pending action: a new one ends the old one first (ACT-13,
    /// ACT-14). Devices do not affect each other (ACT-15). An event for a device without a
    /// pending action, or for an ended action, changes nothing.
    ///
    /// # Errors
    /// Events out of order, an identifier used twice, or an event about an
    /// action that does not exist. Calling such an action off is no error:
    /// the answer is [`CancelAnswer::NotFound`].
    pub fn replay(events: &[(DateTime<Utc>, LogEvent)]) -> Result<Self, LogError> {
        let mut log = Self::default();
        let mut previous = DateTime::<Utc>::MIN_UTC;
        for (event, (at, what)) in events.iter().enumerate() {
            if *at < previous {
                return Err(LogError::OutOfOrder { event, at: *at, previous });
            }
            previous = *at;
            match what {
                LogEvent::Created { action_id: id, .. } if log.actions.contains_key(id) => {
                    return Err(LogError::Duplicate { event, id: id.clone() });
                }
                LogEvent::Created { action_id, target_id } => log.create(action_id, target_id, *at),
                LogEvent::Happened { to, event: what } => {
                    log.happen(to, what, *at)
                        .map_err(|id| LogError::UnknownAction { event, id })?;
                }
            }
        }
        Ok(log)
    }

    fn create(&mut self, id: &str, target_id: &str, at: DateTime<Utc>) {
        // The older action ends first, so that its notification comes before that of the new one.
        if let Some(old) = self.pending.get(target_id).cloned() {
            self.apply(&old, &ActionEvent::Superseded, at);
        }
        let entry = Entry { target_id: target_id.to_string(), progress: Progress::created(at) };
        self.actions.insert(id.to_string(), entry);
        self.pending.insert(target_id.to_string(), id.to_string());
        self.notifications.push((id.to_string(), ActionState::Pending));
    }

    /// Lets something happen; the identifier of an action that does not exist is the error.
    fn happen(
        &mut self,
        to: &Address,
        event: &ActionEvent,
        at: DateTime<Utc>,
    ) -> Result<(), String> {
        let id = match to {
            Address::Action(id) => Some(id.clone()),
            Address::Target(target_id) => self.pending.get(target_id).cloned(),
        };
        let is_cancel = *event == ActionEvent::CancelRequested;
        // A cancellation always has an answer; any other event for an unknown action is an error of
        // the log.
        let answer = match id {
            Some(id) if !self.actions.contains_key(&id) && !is_cancel => return Err(id),
            Some(id) if self.actions.contains_key(&id) => {
                if self.apply(&id, event, at) {
                    CancelAnswer::Cancelled
                } else {
                    CancelAnswer::AlreadyResolved
                }
            }
            _ => CancelAnswer::NotFound,
        };
        if is_cancel {
            self.cancel_answers.push(answer);
        }
        Ok(())
    }

    /// Lets something happen to an action that exists; whether it changed.
    fn apply(&mut self, id: &str, event: &ActionEvent, at: DateTime<Utc>) -> bool {
        let Some(entry) = self.actions.get_mut(id) else { return false };
        let Some(progress) = entry.progress.after(event, at) else { return false };
        self.notifications.push((id.to_string(), progress.state));
        entry.progress = progress;
        // Every event ends an action, and this one was the pending action of its target.
        self.pending.remove(&entry.target_id);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::action::FailureKind;
    use chrono::TimeDelta;
    use proptest::prelude::*;

    fn at(second: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::seconds(second)
    }

    fn create(id: &str, target: &str) -> LogEvent {
        LogEvent::Created { action_id: id.into(), target_id: target.into() }
    }

    fn action(id: &str, event: ActionEvent) -> LogEvent {
        LogEvent::Happened { to: Address::Action(id.into()), event }
    }

    fn target(id: &str, event: ActionEvent) -> LogEvent {
        LogEvent::Happened { to: Address::Target(id.into()), event }
    }

    fn replay(events: &[LogEvent]) -> Result<ActionLog, LogError> {
        let timed: Vec<_> = (0..).map(at).zip(events.iter().cloned()).collect();
        ActionLog::replay(&timed)
    }

    #[test]
    fn the_old_one_ends_before_the_new_one_begins() {
        let log = replay(&[create("a", "car"), create("b", "car"), create("c", "box")]).unwrap();
        let told: Vec<_> =
            log.notifications.iter().map(|(id, s)| format!("{id} {}", s.as_str())).collect();
        assert_eq!(told, ["a pending", "a cancelled", "b pending", "c pending"]);
        let failure = log.actions["a"].progress.failure.clone().unwrap();
        assert_eq!(failure.kind, FailureKind::Conflict);
    }

    #[test]
    fn cancelling_answers_the_caller_but_not_the_owner() {
        let cancel = || action("a", ActionEvent::CancelRequested);
        let unknown = action("z", ActionEvent::CancelRequested);
        let log = replay(&[create("a", "car"), cancel(), cancel(), unknown]).unwrap();
        let expected =
            [CancelAnswer::Cancelled, CancelAnswer::AlreadyResolved, CancelAnswer::NotFound];
        assert_eq!(log.cancel_answers, expected);
        assert_eq!(log.notifications.len(), 2);
        let owner =
            replay(&[create("a", "car"), action("a", ActionEvent::OwnerCancelled)]).unwrap();
        assert_eq!(owner.cancel_answers, []);
    }

    #[test]
    fn a_device_without_a_pending_action_takes_anything() {
        let log = replay(&[
            target("car", ActionEvent::Reached),
            create("a", "car"),
            target("car", ActionEvent::TargetDeleted),
            target("car", ActionEvent::Reached),
        ]);
        let progress = log.unwrap().actions["a"].progress.clone();
        assert_eq!(progress.failure.unwrap().kind, FailureKind::NotFound);
        assert_eq!(progress.completed_at, Some(at(2)));
    }

    #[test]
    fn a_log_that_makes_no_sense_is_refused_with_its_place() {
        let twice = replay(&[create("a", "car"), create("a", "box")]).unwrap_err();
        assert_eq!(twice.to_string(), "events[1] creates action \"a\" a second time");
        let unknown = replay(&[action("b", ActionEvent::TimedOut)]).unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "events[0] is about action \"b\", which was not created before"
        );
        let late = ActionLog::replay(&[(at(5), create("a", "car")), (at(4), create("b", "car"))]);
        assert_eq!(
            late.unwrap_err().to_string(),
            "events[1] happened at 2026-01-05 18:00:04 UTC, \
             before the event ahead of it at 2026-01-05 18:00:05 UTC"
        );
    }

    fn events() -> impl Strategy<Value = Vec<LogEvent>> {
        let what = prop::sample::select(vec![
            ActionEvent::Reached,
            ActionEvent::Unnecessary,
            ActionEvent::TimedOut,
            ActionEvent::PreconditionUnmet(None),
            ActionEvent::Superseded,
            ActionEvent::CancelRequested,
            ActionEvent::OwnerCancelled,
            ActionEvent::TargetDeleted,
        ]);
        let one = (any::<bool>(), any::<prop::sample::Index>(), 0..3_usize, what);
        prop::collection::vec(one, 0..30).prop_map(|drawn| {
            let mut created = 0;
            let mut events = Vec::new();
            for (creates, which, target_id, event) in drawn {
                let target_id = format!("t{target_id}");
                let to = match (creates, created) {
                    (true, _) | (_, 0) => {
                        events.push(create(&format!("a{created}"), &target_id));
                        created += 1;
                        continue;
                    }
                    _ if which.index(2) == 0 => Address::Target(target_id),
                    _ => Address::Action(format!("a{}", which.index(created))),
                };
                events.push(LogEvent::Happened { to, event });
            }
            events
        })
    }

    proptest! {
        /// EP-25 and EP-26 after any sequence of events, and after each part of it.
        #[test]
        fn one_pending_per_device_and_ends_are_final(events in events()) {
            let mut before = ActionLog::default();
            for count in 0..=events.len() {
                let log = replay(&events[..count]).unwrap();
                let mut entered = 0;
                let mut targets = Vec::new();
                for (id, entry) in &log.actions {
                    let progress = &entry.progress;
                    let pending = progress.state == ActionState::Pending;
                    prop_assert_eq!(progress.completed_at.is_none(), pending);
                    entered += if pending { 1 } else { 2 };
                    if pending {
                        targets.push(entry.target_id.clone());
                    }
                    let earlier = before.actions.get(id).map(|entry| &entry.progress);
                    let was_over = earlier.is_some_and(|p| p.state != ActionState::Pending);
                    prop_assert!(!was_over || earlier == Some(progress));
                }
                targets.sort();
                prop_assert!(targets.windows(2).all(|pair| pair[0] != pair[1]));
                prop_assert_eq!(log.notifications.len(), entered);
                before = log;
            }
        }
    }
}
