//! Logs of actions and overrides, and what to do about an action next.
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use slackwater_control::device::action::{ActionEvent, FailureKind, Progress};
use slackwater_control::device::action_log::{ActionLog, Address, LogEvent};
use slackwater_control::device::command::DeviceReading;
use slackwater_control::device::override_::OverrideEvent;
use slackwater_control::device::override_log::OverrideLog;
use slackwater_control::device::power_state::PowerState;
use slackwater_control::device::pursuit::{Attempts, Persistence, Step, next_step};
use slackwater_engine::units::{Current, Power};

use crate::device::command;
use crate::error::{Named, Refused};
use crate::time::{Instant, Whole, is_in_python};

/// Time, kind, action, target, words for people.
type EventTuple = (Instant, String, Option<String>, Option<String>, Option<String>);

/// Action, target, state, creation, last change, end, reason and its words.
type ActionTuple = (
    String,
    String,
    &'static str,
    DateTime<Utc>,
    DateTime<Utc>,
    Option<DateTime<Utc>>,
    Option<(&'static str, String)>,
);

/// Actions, states entered, answers to those who cancelled.
type LogTuple = (Vec<ActionTuple>, Vec<(String, &'static str)>, Vec<&'static str>);

/// Next step, instant until which to wait, reason of the end.
type StepTuple = (&'static str, Option<DateTime<Utc>>, Option<&'static str>);

/// Creation, end, whether a start action was needed, whether it charged.
type OverrideTuple = (DateTime<Utc>, Option<DateTime<Utc>>, bool, bool);

/// Time, kind, whether the target charges, until when it may obey a stop.
type OverrideEventTuple = (Instant, String, Option<bool>, Option<Instant>);

fn log_event(index: usize, event: EventTuple) -> Result<(DateTime<Utc>, LogEvent), Refused> {
    let (at, kind, action_id, target_id, detail) = event;
    let refused = |what: &str| Refused::Input(format!("events[{index}]: {what}"));
    if kind == "created" {
        let (Some(action_id), Some(target_id)) = (action_id, target_id) else {
            return Err(refused("a created action needs action_id and target_id"));
        };
        return Ok((at.0, LogEvent::Created { action_id, target_id }));
    }
    let event = match kind.as_str() {
        "reached" => ActionEvent::Reached,
        "unnecessary" => ActionEvent::Unnecessary,
        "timed_out" => ActionEvent::TimedOut,
        "precondition_unmet" => ActionEvent::PreconditionUnmet(detail),
        "superseded" => ActionEvent::Superseded,
        "cancel_requested" => ActionEvent::CancelRequested,
        "owner_cancelled" => ActionEvent::OwnerCancelled,
        "target_deleted" => ActionEvent::TargetDeleted,
        other => return Err(refused(&format!("kind is {other:?}, which no event is"))),
    };
    let to = match (action_id, target_id) {
        (Some(action_id), _) => Address::Action(action_id),
        (None, Some(target_id)) => Address::Target(target_id),
        (None, None) => return Err(refused("an event needs action_id or target_id")),
    };
    Ok((at.0, LogEvent::Happened { to, event }))
}

/// See `slackwater.actions.replay_actions`.
#[pyfunction]
pub(crate) fn replay_actions(py: Python<'_>, events: Vec<EventTuple>) -> Result<LogTuple, Refused> {
    let numbered = events.into_iter().enumerate();
    let events: Vec<_> =
        numbered.map(|(index, event)| log_event(index, event)).collect::<Result<_, _>>()?;
    let log = py.detach(|| ActionLog::replay(&events))?;
    let actions = log.actions.into_iter().map(|(id, entry)| {
        let progress = entry.progress;
        let failure = progress.failure.map(|failure| (failure.kind.as_str(), failure.detail));
        let state = progress.state.as_str();
        let (created, updated) = (progress.created_at, progress.updated_at);
        (id, entry.target_id, state, created, updated, progress.completed_at, failure)
    });
    let told = log.notifications.into_iter().map(|(id, state)| (id, state.as_str()));
    let answers = log.cancel_answers.iter().map(|answer| answer.as_str());
    Ok((actions.collect(), told.collect(), answers.collect()))
}

/// See `slackwater.actions.replay_overrides`.
#[pyfunction]
pub(crate) fn replay_overrides(
    py: Python<'_>,
    events: Vec<OverrideEventTuple>,
) -> Result<(Vec<OverrideTuple>, Vec<&'static str>), Refused> {
    let event = |(index, (at, kind, is_charging, stop_until)): (usize, OverrideEventTuple)| {
        let event = match kind.as_str() {
            "requested" => stop_until.map_or(OverrideEvent::Requested(is_charging), |until| {
                OverrideEvent::RequestedAfterStop(is_charging, until.0)
            }),
            "end_requested" => OverrideEvent::EndRequested,
            "observed" => OverrideEvent::Observed(is_charging),
            "start_failed" => OverrideEvent::StartFailed,
            "start_unnecessary" => OverrideEvent::StartUnnecessary,
            other => {
                let text = format!("events[{index}]: kind is {other:?}, which no event is");
                return Err(Refused::Input(text));
            }
        };
        Ok((at.0, event))
    };
    let events: Vec<_> = events.into_iter().enumerate().map(event).collect::<Result<_, _>>()?;
    let log = py.detach(|| OverrideLog::replay(&events))?;
    let overrides = log.overrides.iter();
    let overrides =
        overrides.map(|one| (one.created_at, one.ended_at, one.has_start_action, one.has_charged));
    Ok((overrides.collect(), log.answers.iter().map(|answer| answer.as_str()).collect()))
}

/// A count, or a number of seconds.
fn whole(given: Whole, name: &str) -> Result<u32, Refused> {
    let given = given.0;
    u32::try_from(given).map_err(|_| {
        Refused::Input(format!("{name} is {given}; it is a whole number from 0 to {}", u32::MAX))
    })
}

/// See `slackwater.actions.next_step`.
#[pyfunction]
#[pyo3(signature = (
    command, *, value, created_at, now, sent_count, last_sent_at, power_state, is_fully_charged,
    max_current_amps, charge_rate_limit_kw, timeout_seconds, retry_seconds
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn action_next_step(
    command: &str,
    value: Option<f64>,
    created_at: Instant,
    now: Instant,
    sent_count: Whole,
    last_sent_at: Option<Instant>,
    power_state: &str,
    is_fully_charged: Option<bool>,
    max_current_amps: Option<f64>,
    charge_rate_limit_kw: Option<f64>,
    timeout_seconds: Whole,
    retry_seconds: Whole,
) -> Result<StepTuple, Refused> {
    let command = self::command(command, value)?;
    let state = PowerState::parse(power_state).named("power_state")?;
    let current = max_current_amps.map(Current::from_amps).transpose().named("max_current_amps")?;
    let limit =
        charge_rate_limit_kw.map(Power::from_kw).transpose().named("charge_rate_limit_kw")?;
    let reading = DeviceReading {
        is_fully_charged,
        max_current: current,
        charge_rate_limit: limit,
        ..DeviceReading::of(state)
    };
    let progress = Progress::created(created_at.0);
    let attempts = Attempts {
        count: whole(sent_count, "sent_count")?,
        last_at: last_sent_at.map(|at| at.0),
        rival_created_at: None,
    };
    let persistence = Persistence {
        timeout_seconds: whole(timeout_seconds, "timeout_seconds")?,
        retry_seconds: whole(retry_seconds, "retry_seconds")?,
    };
    Ok(match next_step(&command, &progress, attempts, &reading, persistence, now.0) {
        Step::Done => ("done", None, None),
        Step::Send => ("send", None, None),
        Step::WaitUntil(at) => ("wait", Some(at).filter(|at| is_in_python(*at)), None),
        Step::End(event) => {
            let ended = progress.after(&event, now.0).map(|ended| ended.state.as_str());
            (ended.unwrap_or("done"), None, event.failure().map(FailureKind::as_str))
        }
    })
}
