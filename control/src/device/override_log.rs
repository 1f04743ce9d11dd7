//! Replay of an event log into a target's overrides.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::device::override_::{Override, OverrideAnswer, OverrideEvent, after};

/// All overrides of one target, oldest first, and the responses to callers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverrideLog {
    /// Overrides; at most the last one is active.
    pub overrides: Vec<Override>,
    /// Responses, in order.
    pub answers: Vec<OverrideAnswer>,
}

/// An event is older than the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("events[{event}] happened at {at}, before the event ahead of it at {previous}")]
pub struct OverrideLogError {
    /// Position in the log.
    pub event: usize,
    /// Time of the event.
    pub at: DateTime<Utc>,
    /// Time of the event before it.
    pub previous: DateTime<Utc>,
}

impl OverrideLog {
    /// Plays a log from its first event.
    ///
    /// # Errors
    /// Events out of order.
    pub fn replay(events: &[(DateTime<Utc>, OverrideEvent)]) -> Result<Self, OverrideLogError> {
        let mut log = Self::default();
        let mut previous = DateTime::<Utc>::MIN_UTC;
        for (event, &(at, what)) in events.iter().enumerate() {
            if at < previous {
                return Err(OverrideLogError { event, at, previous });
            }
            previous = at;
            let outcome = after(log.overrides.last(), what, at);
            log.answers.extend(outcome.answer);
            // An outcome replaces the latest override, except where it creates one.
            if outcome.answer != Some(OverrideAnswer::Created) {
                log.overrides.pop();
            }
            log.overrides.extend(outcome.latest);
        }
        Ok(log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;
    use proptest::prelude::*;

    fn at(second: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::seconds(second)
    }

    #[test]
    fn a_second_override_after_the_first_has_ended() {
        let events = [
            (at(0), OverrideEvent::Requested(Some(true))),
            (at(1), OverrideEvent::Requested(None)),
            (at(2), OverrideEvent::EndRequested),
            (at(3), OverrideEvent::Requested(None)),
        ];
        let log = OverrideLog::replay(&events).unwrap();
        let times: Vec<_> = log.overrides.iter().map(|o| (o.created_at, o.ended_at)).collect();
        assert_eq!(times, [(at(0), Some(at(2))), (at(3), None)]);
        let words: Vec<_> = log.answers.iter().map(|answer| answer.as_str()).collect();
        assert_eq!(words, ["created", "already_active", "ended", "created"]);
    }

    #[test]
    fn events_of_one_instant_keep_their_order() {
        let events =
            [(at(0), OverrideEvent::Requested(None)), (at(0), OverrideEvent::EndRequested)];
        let log = OverrideLog::replay(&events).unwrap();
        assert_eq!(log.overrides[0].ended_at, Some(at(0)));
    }

    #[test]
    fn events_out_of_order_are_named() {
        let event = OverrideEvent::EndRequested;
        let error = OverrideLog::replay(&[(at(1), event), (at(0), event)]).unwrap_err();
        assert_eq!(error, OverrideLogError { event: 1, at: at(0), previous: at(1) });
    }

    proptest! {
        /// One answer per question, at most one active override, and that the last.
        #[test]
        fn ovr_at_most_one_is_active(kinds in prop::collection::vec(0..10_usize, 0..40)) {
            let event = |kind: usize| match kind {
                0..=2 => OverrideEvent::Requested([None, Some(false), Some(true)][kind]),
                3 => OverrideEvent::EndRequested,
                4..=6 => OverrideEvent::Observed([None, Some(false), Some(true)][kind - 4]),
                7 => OverrideEvent::StartFailed,
                8 => OverrideEvent::StartUnnecessary,
                _ => OverrideEvent::RequestedAfterStop(Some(true), at(20)),
            };
            let events: Vec<_> = (0..).map(at).zip(kinds.iter().map(|&kind| event(kind))).collect();
            let log = OverrideLog::replay(&events).unwrap();
            let asked = kinds.iter().filter(|&&kind| kind <= 3 || kind == 9).count();
            prop_assert_eq!(log.answers.len(), asked);
            let count = log.overrides.len();
            let over = |one: &Override| one.ended_at.is_some_and(|end| end > one.created_at);
            prop_assert!(log.overrides.iter().take(count.saturating_sub(1)).all(over));
            let created = log.answers.iter().filter(|a| **a == OverrideAnswer::Created).count();
            prop_assert_eq!(created, count);
        }
    }
}
