//! "Charge now": an override of schedules and plans, from its creation to its end.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use slackwater_engine::words;

/// An override, active or ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Override {
    /// Time of creation.
    pub created_at: DateTime<Utc>,
    /// Time of the end; `None` while active (OVR-02).
    pub ended_at: Option<DateTime<Utc>>,
    /// True if a start action was needed; otherwise no command is sent (OVR-04, AMB-22).
    pub has_start_action: bool,
    /// True if charging has been observed at or after the creation.
    pub has_charged: bool,
    /// End of the time in which a target that does not charge is started: a stop was sent before
    /// the override began and may be executed late.
    #[serde(default)]
    pub restart_until: Option<DateTime<Utc>>,
}

impl Override {
    /// Returns true if the override is active.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.ended_at.is_none()
    }

    fn ended(&self, at: DateTime<Utc>) -> Self {
        Self { ended_at: Some(at), ..self.clone() }
    }

    fn restarted(&self) -> Self {
        let (has_start_action, has_charged) = (true, false);
        Self { has_start_action, has_charged, restart_until: None, ..self.clone() }
    }
}

/// Something that happens to a target that may have an override.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OverrideEvent {
    /// A caller requests an override; `Some(true)` if the target charges, `None` if unknown.
    #[serde(rename = "requested")]
    Requested(Option<bool>),
    /// A caller requests an override while a sent stop is pending. The instant is the end of the
    /// time in which the target may execute the stop. Until then a target that charges has only
    /// not yet executed it.
    #[serde(rename = "requested_after_stop")]
    RequestedAfterStop(Option<bool>, DateTime<Utc>),
    /// A caller ends the override.
    #[serde(rename = "end_requested")]
    EndRequested,
    /// The target was read: whether it charges, if that is known.
    #[serde(rename = "observed")]
    Observed(Option<bool>),
    /// The action that was to start charging failed or was cancelled.
    #[serde(rename = "start_failed")]
    StartFailed,
    /// The start action was not needed: the target charged before the command.
    #[serde(rename = "start_unnecessary")]
    StartUnnecessary,
}

words! {
    /// Response to a caller.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum OverrideAnswer {
        /// A new override (OVR-01).
        Created = "created",
        /// The one that is active (AMB-22).
        AlreadyActive = "already_active",
        /// The one that has just ended (OVR-06).
        Ended = "ended",
        /// There is none (OVR-07).
        NotFound = "not_found",
    }
}

/// Effect of an event on the actions of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OverrideEffect {
    /// Schedules and smart charging leave the target alone (OVR-05).
    #[serde(rename = "suspend_control")]
    SuspendControl,
    /// Cancel the pending action of the schedule or plan (OVR-10), and a pending stop of any
    /// requester.
    #[serde(rename = "cancel_controllers_action")]
    CancelControllersAction,
    /// Create an action that starts charging.
    #[serde(rename = "start_charging")]
    StartCharging,
    /// Call off that action; it may still be pending.
    #[serde(rename = "cancel_start_action")]
    CancelStartAction,
    /// Schedules and smart charging take over again (OVR-08).
    #[serde(rename = "return_control")]
    ReturnControl,
}

/// Outcome of an event for a target's latest override.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The override afterwards: new, changed or as it was.
    pub latest: Option<Override>,
    /// Response, if a caller made a request.
    pub answer: Option<OverrideAnswer>,
    /// Effects, in the order of execution.
    pub effects: Vec<OverrideEffect>,
}

/// Computes the outcome of an event for a target's latest override.
///
/// Ended overrides are ignored. An active override ends when a caller ends it, when the target
/// stops charging after it has charged (OVR-09), or when its start action fails. A target that
/// never charged has not stopped (AMB-22); a target that charged before the command has charged.
/// A target that executes a stop from before the override has not stopped by itself, and is
/// started. An unknown reading changes nothing.
///
/// # Example
///
/// The car still charges, although a schedule has told it to stop.
///
/// ```
/// use slackwater_control::device::override_::{OverrideEffect, OverrideEvent, after};
/// let six = "2026-01-05T18:00:00Z".parse().unwrap();
/// let (a_little_later, until) = (six + chrono::TimeDelta::seconds(15), six + chrono::TimeDelta::minutes(15));
/// let event = OverrideEvent::RequestedAfterStop(Some(true), until);
/// let charging = after(None, event, six).latest.unwrap();
/// let obeyed = after(Some(&charging), OverrideEvent::Observed(Some(false)), a_little_later);
/// assert_eq!(obeyed.effects, [OverrideEffect::StartCharging]);
/// ```
#[must_use]
pub fn after(latest: Option<&Override>, event: OverrideEvent, at: DateTime<Utc>) -> Outcome {
    use OverrideEffect::{CancelStartAction, ReturnControl, StartCharging};
    let active = latest.filter(|latest| latest.is_active());
    let unchanged = |answer| Outcome { latest: latest.cloned(), answer, effects: Vec::new() };
    let changed = |latest, effects| Outcome { latest: Some(latest), answer: None, effects };
    match (active, event) {
        (Some(_), OverrideEvent::Requested(_) | OverrideEvent::RequestedAfterStop(..)) => {
            unchanged(Some(OverrideAnswer::AlreadyActive))
        }
        (None, OverrideEvent::Requested(is_charging)) => begun(is_charging, None, at),
        (None, OverrideEvent::RequestedAfterStop(is_charging, until)) => {
            begun(is_charging, Some(until), at)
        }
        (Some(active), OverrideEvent::EndRequested) => {
            // A start that may still be pending must not outlive its override.
            let unstarted = active.has_start_action && !active.has_charged;
            let effects = unstarted.then_some(CancelStartAction).into_iter().chain([ReturnControl]);
            let answer = Some(OverrideAnswer::Ended);
            Outcome { answer, ..changed(active.ended(at), effects.collect()) }
        }
        (None, OverrideEvent::EndRequested) => unchanged(Some(OverrideAnswer::NotFound)),
        // Only a stop after charging ends an override, so the first charging is remembered.
        (Some(active), OverrideEvent::Observed(Some(true)) | OverrideEvent::StartUnnecessary) => {
            changed(Override { has_charged: true, ..active.clone() }, Vec::new())
        }
        (Some(active), OverrideEvent::Observed(Some(false))) if active.has_charged => {
            if active.restart_until.is_some_and(|until| at < until) {
                // Once: a target that stops again does so of itself.
                changed(active.restarted(), vec![StartCharging])
            } else {
                changed(active.ended(at), vec![ReturnControl])
            }
        }
        (Some(active), OverrideEvent::StartFailed) if active.has_start_action => {
            changed(active.ended(at), vec![ReturnControl])
        }
        (
            _,
            OverrideEvent::Observed(_)
            | OverrideEvent::StartFailed
            | OverrideEvent::StartUnnecessary,
        ) => unchanged(None),
    }
}

/// A new override, of a target that may obey an earlier stop until `restart_until`.
fn begun(
    is_charging: Option<bool>,
    restart_until: Option<DateTime<Utc>>,
    at: DateTime<Utc>,
) -> Outcome {
    use OverrideEffect::{CancelControllersAction, StartCharging, SuspendControl};
    let has_charged = is_charging == Some(true);
    let has_start_action = !has_charged;
    let new =
        Override { created_at: at, ended_at: None, has_start_action, has_charged, restart_until };
    // Control is suspended before the start, so that no schedule or plan stops the target again.
    let mut effects = vec![SuspendControl, CancelControllersAction];
    effects.extend(has_start_action.then_some(StartCharging));
    Outcome { latest: Some(new), answer: Some(OverrideAnswer::Created), effects }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use std::fmt::Write;

    fn at(hour: u32) -> DateTime<Utc> {
        format!("2026-01-05T{hour:02}:00:00Z").parse().unwrap()
    }

    fn states() -> Vec<(&'static str, Option<Override>)> {
        let active = |has_start_action, has_charged, until: Option<u32>| {
            let restart_until = until.map(at);
            let created_at = at(1);
            let ended_at = None;
            Some(Override { created_at, ended_at, has_start_action, has_charged, restart_until })
        };
        let ended = active(true, true, Some(4)).map(|active| active.ended(at(2)));
        vec![
            ("none", None),
            ("starting", active(true, false, None)),
            ("started", active(true, true, None)),
            ("was charging", active(false, true, None)),
            ("ended", ended),
            ("may stop yet", active(false, true, Some(4))),
            ("may stop no more", active(false, true, Some(3))),
        ]
    }

    fn events() -> [OverrideEvent; 10] {
        [
            OverrideEvent::Requested(None),
            OverrideEvent::Requested(Some(false)),
            OverrideEvent::Requested(Some(true)),
            OverrideEvent::RequestedAfterStop(Some(true), at(4)),
            OverrideEvent::EndRequested,
            OverrideEvent::Observed(None),
            OverrideEvent::Observed(Some(false)),
            OverrideEvent::Observed(Some(true)),
            OverrideEvent::StartFailed,
            OverrideEvent::StartUnnecessary,
        ]
    }

    fn name(latest: Option<&Override>) -> &'static str {
        match latest {
            None => "none",
            Some(one) if !one.is_active() => "ended",
            Some(one) if one.restart_until == Some(at(4)) => "may stop yet",
            Some(one) if one.restart_until.is_some() => "may stop no more",
            Some(one) if !one.has_start_action => "was charging",
            Some(one) if one.has_charged => "started",
            Some(_) => "starting",
        }
    }

    fn drawn(states: &[(&'static str, Option<Override>)]) -> String {
        let mut table = String::new();
        for (state, latest) in states {
            for event in events() {
                let outcome = after(latest.as_ref(), event, at(3));
                let answer = outcome.answer.map_or("-", OverrideAnswer::as_str);
                let next = name(outcome.latest.as_ref());
                let effects = outcome.effects;
                writeln!(table, "{state} + {event:?} = {next}, {answer}, {effects:?}").unwrap();
            }
        }
        table
    }

    #[test]
    fn every_event_in_every_state() {
        expect![[r#"
            none + Requested(None) = starting, created, [SuspendControl, CancelControllersAction, StartCharging]
            none + Requested(Some(false)) = starting, created, [SuspendControl, CancelControllersAction, StartCharging]
            none + Requested(Some(true)) = was charging, created, [SuspendControl, CancelControllersAction]
            none + RequestedAfterStop(Some(true), 2026-01-05T04:00:00Z) = may stop yet, created, [SuspendControl, CancelControllersAction]
            none + EndRequested = none, not_found, []
            none + Observed(None) = none, -, []
            none + Observed(Some(false)) = none, -, []
            none + Observed(Some(true)) = none, -, []
            none + StartFailed = none, -, []
            none + StartUnnecessary = none, -, []
            starting + Requested(None) = starting, already_active, []
            starting + Requested(Some(false)) = starting, already_active, []
            starting + Requested(Some(true)) = starting, already_active, []
            starting + RequestedAfterStop(Some(true), 2026-01-05T04:00:00Z) = starting, already_active, []
            starting + EndRequested = ended, ended, [CancelStartAction, ReturnControl]
            starting + Observed(None) = starting, -, []
            starting + Observed(Some(false)) = starting, -, []
            starting + Observed(Some(true)) = started, -, []
            starting + StartFailed = ended, -, [ReturnControl]
            starting + StartUnnecessary = started, -, []
            started + Requested(None) = started, already_active, []
            started + Requested(Some(false)) = started, already_active, []
            started + Requested(Some(true)) = started, already_active, []
            started + RequestedAfterStop(Some(true), 2026-01-05T04:00:00Z) = started, already_active, []
            started + EndRequested = ended, ended, [ReturnControl]
            started + Observed(None) = started, -, []
            started + Observed(Some(false)) = ended, -, [ReturnControl]
            started + Observed(Some(true)) = started, -, []
            started + StartFailed = ended, -, [ReturnControl]
            started + StartUnnecessary = started, -, []
            was charging + Requested(None) = was charging, already_active, []
            was charging + Requested(Some(false)) = was charging, already_active, []
            was charging + Requested(Some(true)) = was charging, already_active, []
            was charging + RequestedAfterStop(Some(true), 2026-01-05T04:00:00Z) = was charging, already_active, []
            was charging + EndRequested = ended, ended, [ReturnControl]
            was charging + Observed(None) = was charging, -, []
            was charging + Observed(Some(false)) = ended, -, [ReturnControl]
            was charging + Observed(Some(true)) = was charging, -, []
            was charging + StartFailed = was charging, -, []
            was charging + StartUnnecessary = was charging, -, []
            ended + Requested(None) = starting, created, [SuspendControl, CancelControllersAction, StartCharging]
            ended + Requested(Some(false)) = starting, created, [SuspendControl, CancelControllersAction, StartCharging]
            ended + Requested(Some(true)) = was charging, created, [SuspendControl, CancelControllersAction]
            ended + RequestedAfterStop(Some(true), 2026-01-05T04:00:00Z) = may stop yet, created, [SuspendControl, CancelControllersAction]
            ended + EndRequested = ended, not_found, []
            ended + Observed(None) = ended, -, []
            ended + Observed(Some(false)) = ended, -, []
            ended + Observed(Some(true)) = ended, -, []
            ended + StartFailed = ended, -, []
            ended + StartUnnecessary = ended, -, []
        "#]].assert_eq(&drawn(&states()[..5]));
    }

    #[test]
    fn every_event_after_a_stop_that_was_sent() {
        expect![[r#"
            may stop yet + Requested(None) = may stop yet, already_active, []
            may stop yet + Requested(Some(false)) = may stop yet, already_active, []
            may stop yet + Requested(Some(true)) = may stop yet, already_active, []
            may stop yet + RequestedAfterStop(Some(true), 2026-01-05T04:00:00Z) = may stop yet, already_active, []
            may stop yet + EndRequested = ended, ended, [ReturnControl]
            may stop yet + Observed(None) = may stop yet, -, []
            may stop yet + Observed(Some(false)) = starting, -, [StartCharging]
            may stop yet + Observed(Some(true)) = may stop yet, -, []
            may stop yet + StartFailed = may stop yet, -, []
            may stop yet + StartUnnecessary = may stop yet, -, []
            may stop no more + Requested(None) = may stop no more, already_active, []
            may stop no more + Requested(Some(false)) = may stop no more, already_active, []
            may stop no more + Requested(Some(true)) = may stop no more, already_active, []
            may stop no more + RequestedAfterStop(Some(true), 2026-01-05T04:00:00Z) = may stop no more, already_active, []
            may stop no more + EndRequested = ended, ended, [ReturnControl]
            may stop no more + Observed(None) = may stop no more, -, []
            may stop no more + Observed(Some(false)) = ended, -, [ReturnControl]
            may stop no more + Observed(Some(true)) = may stop no more, -, []
            may stop no more + StartFailed = may stop no more, -, []
            may stop no more + StartUnnecessary = may stop no more, -, []
        "#]].assert_eq(&drawn(&states()[5..]));
    }

    #[test]
    fn an_end_is_final_and_keeps_its_time() {
        for (_, latest) in states() {
            for event in events() {
                let outcome = after(latest.as_ref(), event, at(3));
                let was_over = latest.as_ref().is_some_and(|one| !one.is_active());
                let is_new = outcome.answer == Some(OverrideAnswer::Created);
                assert!(!was_over || is_new || outcome.latest == latest);
                assert_eq!(is_new, outcome.effects.contains(&OverrideEffect::SuspendControl));
            }
        }
    }
}
