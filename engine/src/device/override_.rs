//! "Charge now": an override of schedules and plans, from its creation to its end.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// An override, active or ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Override {
    /// When it began.
    pub created_at: DateTime<Utc>,
    /// When it ended; `None` while active (OVR-02).
    pub ended_at: Option<DateTime<Utc>>,
    /// Whether a start action was needed; without one nothing has to be sent (OVR-04, AMB-22).
    pub has_start_action: bool,
    /// Whether charging has been observed since it began, or when it did.
    pub has_charged: bool,
}

impl Override {
    /// Whether it is in force.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.ended_at.is_none()
    }

    fn ended(&self, at: DateTime<Utc>) -> Self {
        Self { ended_at: Some(at), ..self.clone() }
    }
}

/// Something that happens to a target that may have an override.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OverrideEvent {
    /// Somebody asks for one; with whether the target charges, if that is known.
    #[serde(rename = "requested")]
    Requested(Option<bool>),
    /// Somebody ends it.
    #[serde(rename = "end_requested")]
    EndRequested,
    /// The target was read: whether it charges, if that is known.
    #[serde(rename = "observed")]
    Observed(Option<bool>),
    /// The action that was to start charging failed or was cancelled.
    #[serde(rename = "start_failed")]
    StartFailed,
}

/// What a caller is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OverrideAnswer {
    /// A new override (OVR-01).
    #[serde(rename = "created")]
    Created,
    /// The one that is active (AMB-22).
    #[serde(rename = "already_active")]
    AlreadyActive,
    /// The one that has just ended (OVR-06).
    #[serde(rename = "ended")]
    Ended,
    /// There is none (OVR-07).
    #[serde(rename = "not_found")]
    NotFound,
}

impl OverrideAnswer {
    /// The word that stands for it in data.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::AlreadyActive => "already_active",
            Self::Ended => "ended",
            Self::NotFound => "not_found",
        }
    }
}

/// What has to be done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OverrideEffect {
    /// Schedules and smart charging leave the target alone (OVR-05).
    #[serde(rename = "suspend_control")]
    SuspendControl,
    /// Call off the pending action of the schedule or plan (OVR-10).
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

/// What an event makes of a target's latest override.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The override afterwards: new, changed or as it was.
    pub latest: Option<Override>,
    /// The answer, if somebody asked.
    pub answer: Option<OverrideAnswer>,
    /// What to do, in this order.
    pub effects: Vec<OverrideEffect>,
}

/// Decides what an event makes of a target's latest override.
///
/// Ended overrides are history: they count as none. An active one ends when
/// somebody ends it, when the target stops charging after it has charged
/// (OVR-09), or when the action that was to start it comes to nothing. A
/// target that never charged has not stopped (AMB-22). An unknown reading
/// changes nothing.
#[must_use]
pub fn after(latest: Option<&Override>, event: OverrideEvent, at: DateTime<Utc>) -> Outcome {
    use OverrideEffect::{
        CancelControllersAction, CancelStartAction, ReturnControl, StartCharging, SuspendControl,
    };
    let active = latest.filter(|latest| latest.is_active());
    let unchanged = |answer| Outcome { latest: latest.cloned(), answer, effects: Vec::new() };
    let ended = |active: &Override, answer, effects| Outcome {
        latest: Some(active.ended(at)),
        answer,
        effects,
    };
    match (active, event) {
        (Some(_), OverrideEvent::Requested(_)) => unchanged(Some(OverrideAnswer::AlreadyActive)),
        (None, OverrideEvent::Requested(is_charging)) => {
            let has_charged = is_charging == Some(true);
            let has_start_action = !has_charged;
            let new = Override { created_at: at, ended_at: None, has_start_action, has_charged };
            let mut effects = vec![SuspendControl, CancelControllersAction];
            effects.extend(has_start_action.then_some(StartCharging));
            Outcome { latest: Some(new), answer: Some(OverrideAnswer::Created), effects }
        }
        (Some(active), OverrideEvent::EndRequested) => {
            let unstarted = active.has_start_action && !active.has_charged;
            let effects = unstarted.then_some(CancelStartAction).into_iter().chain([ReturnControl]);
            ended(active, Some(OverrideAnswer::Ended), effects.collect())
        }
        (None, OverrideEvent::EndRequested) => unchanged(Some(OverrideAnswer::NotFound)),
        (Some(active), OverrideEvent::Observed(Some(true))) => Outcome {
            latest: Some(Override { has_charged: true, ..active.clone() }),
            answer: None,
            effects: Vec::new(),
        },
        (Some(active), OverrideEvent::Observed(Some(false))) if active.has_charged => {
            ended(active, None, vec![ReturnControl])
        }
        (Some(active), OverrideEvent::StartFailed) if active.has_start_action => {
            ended(active, None, vec![ReturnControl])
        }
        (_, OverrideEvent::Observed(_) | OverrideEvent::StartFailed) => unchanged(None),
    }
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
        let active = |has_start_action, has_charged| {
            Some(Override { created_at: at(1), ended_at: None, has_start_action, has_charged })
        };
        let ended = active(true, true).map(|active| active.ended(at(2)));
        vec![
            ("none", None),
            ("starting", active(true, false)),
            ("started", active(true, true)),
            ("was charging", active(false, true)),
            ("ended", ended),
        ]
    }

    const EVENTS: [OverrideEvent; 8] = [
        OverrideEvent::Requested(None),
        OverrideEvent::Requested(Some(false)),
        OverrideEvent::Requested(Some(true)),
        OverrideEvent::EndRequested,
        OverrideEvent::Observed(None),
        OverrideEvent::Observed(Some(false)),
        OverrideEvent::Observed(Some(true)),
        OverrideEvent::StartFailed,
    ];

    fn name(latest: Option<&Override>) -> &'static str {
        match latest {
            None => "none",
            Some(one) if !one.is_active() => "ended",
            Some(one) if !one.has_start_action => "was charging",
            Some(one) if one.has_charged => "started",
            Some(_) => "starting",
        }
    }

    #[test]
    fn ovr_01_to_ovr_10_every_event_in_every_state() {
        let mut table = String::new();
        for (state, latest) in states() {
            for event in EVENTS {
                let outcome = after(latest.as_ref(), event, at(3));
                let answer = outcome.answer.map_or("-", OverrideAnswer::as_str);
                let next = name(outcome.latest.as_ref());
                let effects = outcome.effects;
                writeln!(table, "{state} + {event:?} = {next}, {answer}, {effects:?}").unwrap();
            }
        }
        expect![[r#"
            none + Requested(None) = starting, created, [SuspendControl, CancelControllersAction, StartCharging]
            none + Requested(Some(false)) = starting, created, [SuspendControl, CancelControllersAction, StartCharging]
            none + Requested(Some(true)) = was charging, created, [SuspendControl, CancelControllersAction]
            none + EndRequested = none, not_found, []
            none + Observed(None) = none, -, []
            none + Observed(Some(false)) = none, -, []
            none + Observed(Some(true)) = none, -, []
            none + StartFailed = none, -, []
            starting + Requested(None) = starting, already_active, []
            starting + Requested(Some(false)) = starting, already_active, []
            starting + Requested(Some(true)) = starting, already_active, []
            starting + EndRequested = ended, ended, [CancelStartAction, ReturnControl]
            starting + Observed(None) = starting, -, []
            starting + Observed(Some(false)) = starting, -, []
            starting + Observed(Some(true)) = started, -, []
            starting + StartFailed = ended, -, [ReturnControl]
            started + Requested(None) = started, already_active, []
            started + Requested(Some(false)) = started, already_active, []
            started + Requested(Some(true)) = started, already_active, []
            started + EndRequested = ended, ended, [ReturnControl]
            started + Observed(None) = started, -, []
            started + Observed(Some(false)) = ended, -, [ReturnControl]
            started + Observed(Some(true)) = started, -, []
            started + StartFailed = ended, -, [ReturnControl]
            was charging + Requested(None) = was charging, already_active, []
            was charging + Requested(Some(false)) = was charging, already_active, []
            was charging + Requested(Some(true)) = was charging, already_active, []
            was charging + EndRequested = ended, ended, [ReturnControl]
            was charging + Observed(None) = was charging, -, []
            was charging + Observed(Some(false)) = ended, -, [ReturnControl]
            was charging + Observed(Some(true)) = was charging, -, []
            was charging + StartFailed = was charging, -, []
            ended + Requested(None) = starting, created, [SuspendControl, CancelControllersAction, StartCharging]
            ended + Requested(Some(false)) = starting, created, [SuspendControl, CancelControllersAction, StartCharging]
            ended + Requested(Some(true)) = was charging, created, [SuspendControl, CancelControllersAction]
            ended + EndRequested = ended, not_found, []
            ended + Observed(None) = ended, -, []
            ended + Observed(Some(false)) = ended, -, []
            ended + Observed(Some(true)) = ended, -, []
            ended + StartFailed = ended, -, []
        "#]].assert_eq(&table);
    }

    #[test]
    fn an_end_is_final_and_keeps_its_time() {
        for (_, latest) in states() {
            for event in EVENTS {
                let outcome = after(latest.as_ref(), event, at(3));
                let was_over = latest.as_ref().is_some_and(|one| !one.is_active());
                let is_new = outcome.answer == Some(OverrideAnswer::Created);
                assert!(!was_over || is_new || outcome.latest == latest);
                assert_eq!(is_new, outcome.effects.contains(&OverrideEffect::SuspendControl));
            }
        }
    }
}
