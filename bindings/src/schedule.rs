//! Schedules: what their rules say, when that changes, and how they stand.
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use slackwater_control::device::command::Switch;
use slackwater_control::device::control::Controller;
use slackwater_control::device::target::TargetReading;
use slackwater_control::schedule::control::Candidate;
use slackwater_control::schedule::place::{self, Place, TargetType};
use slackwater_control::schedule::rule::{DraftRule, Rules};
use slackwater_control::schedule::status::{
    ExpectedParts, ScheduleState, Snapshot, Status, StatusFacts,
};
use slackwater_control::schedule::transitions::Transition;
use slackwater_engine::units::Percent;

use crate::error::{Named, Refused};
use crate::time::{ClockWindow, Instant, Whole, is_in_python, time_zone};

/// Verdict, window, first and last instant, weekdays.
type RuleTuple = (bool, Option<ClockWindow>, Option<Instant>, Option<Instant>, Option<Vec<Whole>>);

/// Plug, charging, percent, limit, full, location, capable.
type ReadingTuple =
    (Option<bool>, Option<bool>, Option<f64>, Option<f64>, Option<bool>, Option<String>, bool);

/// State, charging, expected, its three parts, and the command that follows.
type StatusTuple = (&'static str, bool, bool, (bool, bool, bool), Option<&'static str>);

/// State, charging, expected, its three parts; the command follows from them.
type SeenStatus = (String, bool, bool, (bool, bool, bool), Option<String>);

/// Status, transitions, creation of the active override.
type SnapshotTuple = (SeenStatus, Vec<(Instant, bool)>, Option<Instant>);

/// Identifier, creation, enabled, location.
type CandidateTuple = (String, Instant, bool, Option<String>);

fn rules(default_should_charge: bool, rules: Vec<RuleTuple>) -> Result<Rules, Refused> {
    let draft = |(should_charge, hour_minute, from, to, weekdays): RuleTuple| DraftRule {
        should_charge,
        hour_minute: hour_minute.map(|window| (window.0.text(), window.1.text())),
        from_timestamp: from.map(|from| from.0),
        to_timestamp: to.map(|to| to.0),
        weekdays: weekdays.map(|days| days.into_iter().map(|day| day.0).collect()),
    };
    let drafts: Vec<DraftRule> = rules.into_iter().map(draft).collect();
    Ok(Rules::parse(default_should_charge, &drafts)?)
}

fn target_type(word: &str) -> Result<TargetType, Refused> {
    match word {
        "vehicle" => Ok(TargetType::Vehicle),
        "charger" => Ok(TargetType::Charger),
        other => {
            let text = format!("target_type is {other:?}; it is \"vehicle\" or \"charger\"");
            Err(Refused::Input(text))
        }
    }
}

/// See `slackwater.schedule.should_charge_each`.
#[pyfunction]
#[pyo3(signature = (rules, *, default_should_charge, time_zone, at))]
pub(crate) fn schedule_should_charge(
    py: Python<'_>,
    rules: Vec<RuleTuple>,
    default_should_charge: bool,
    time_zone: &str,
    at: Vec<Instant>,
) -> Result<Vec<bool>, Refused> {
    let rules = self::rules(default_should_charge, rules)?;
    let zone = self::time_zone(time_zone)?;
    Ok(py.detach(|| at.iter().map(|at| rules.should_charge(at.0, zone)).collect()))
}

/// See `slackwater.schedule.upcoming_transitions`.
#[pyfunction]
#[pyo3(signature = (rules, *, default_should_charge, time_zone, now))]
pub(crate) fn schedule_transitions(
    py: Python<'_>,
    rules: Vec<RuleTuple>,
    default_should_charge: bool,
    time_zone: &str,
    now: Instant,
) -> Result<Vec<(DateTime<Utc>, bool)>, Refused> {
    let rules = self::rules(default_should_charge, rules)?;
    let zone = self::time_zone(time_zone)?;
    let found = py.detach(|| rules.upcoming(now.0, zone));
    let presentable = found.into_iter().take_while(|next| is_in_python(next.at));
    Ok(presentable.map(|next| (next.at, next.should_charge)).collect())
}

/// See `slackwater.schedule.status`.
#[pyfunction]
#[pyo3(signature = (
    *, is_enabled, target_type, location_id, target, should_charge, is_overridden,
    is_action_pending
))]
#[expect(clippy::fn_params_excessive_bools, reason = "keyword arguments of a Python function")]
pub(crate) fn schedule_status(
    is_enabled: bool,
    target_type: &str,
    location_id: Option<String>,
    target: ReadingTuple,
    should_charge: bool,
    is_overridden: bool,
    is_action_pending: bool,
) -> Result<StatusTuple, Refused> {
    let (is_plugged_in, is_charging, soc, charge_limit, is_fully_charged, here, is_capable) =
        target;
    let percent =
        |value: Option<f64>, name: &str| value.map(Percent::from_percent).transpose().named(name);
    let target = TargetReading {
        is_plugged_in,
        is_charging,
        soc: percent(soc, "target.soc_percent")?,
        charge_limit: percent(charge_limit, "target.charge_limit_percent")?,
        is_fully_charged,
        location_id: here,
        is_capable,
    };
    let facts = StatusFacts {
        is_enabled,
        target_type: self::target_type(target_type)?,
        location_id,
        target,
        should_charge,
        is_overridden,
        is_action_pending,
    };
    let status = Status::of(&facts);
    let parts = status.parts;
    Ok((
        status.state.as_str(),
        status.is_charging,
        status.is_charging_expected,
        (parts.needs_charge, parts.is_plugged_in, parts.should_charge),
        status.switch().map(Switch::as_str),
    ))
}

/// See `slackwater.schedule.controller`.
#[pyfunction]
#[pyo3(signature = (
    schedules, *, target_type, location_id, is_overridden, is_smart_charging_enabled
))]
pub(crate) fn schedule_controller(
    schedules: Vec<CandidateTuple>,
    target_type: &str,
    location_id: Option<&str>,
    is_overridden: bool,
    is_smart_charging_enabled: bool,
) -> Result<(&'static str, Option<String>, bool), Refused> {
    let candidate = |(id, created_at, is_enabled, location_id): CandidateTuple| Candidate {
        id,
        created_at: created_at.0,
        is_enabled,
        location_id,
    };
    let schedules: Vec<Candidate> = schedules.into_iter().map(candidate).collect();
    let target_type = self::target_type(target_type)?;
    let controller = Controller::of(
        target_type,
        location_id,
        is_overridden,
        &schedules,
        is_smart_charging_enabled,
    );
    let refuses = controller.refuses_commands();
    Ok(match controller {
        Controller::Override => ("override", None, refuses),
        Controller::Schedule(id) => ("schedule", Some(id), refuses),
        Controller::SmartCharging => ("smart_charging", None, refuses),
        Controller::Nobody => ("nobody", None, refuses),
    })
}

fn snapshot((status, upcoming, override_created_at): SnapshotTuple) -> Result<Snapshot, Refused> {
    let (word, is_charging, is_charging_expected, parts, _) = status;
    let known = ScheduleState::ALL.into_iter().find(|state| state.as_str() == word);
    let unknown = || Refused::Input(format!("status.state is {word:?}, which no state is"));
    let (needs_charge, is_plugged_in, should_charge) = parts;
    let status = Status {
        state: known.ok_or_else(unknown)?,
        is_charging,
        is_charging_expected,
        parts: ExpectedParts { needs_charge, is_plugged_in, should_charge },
    };
    let transition = |(at, should_charge): (Instant, bool)| Transition { at: at.0, should_charge };
    let upcoming = upcoming.into_iter().map(transition).collect();
    Ok(Snapshot { status, upcoming, override_created_at: override_created_at.map(|at| at.0) })
}

/// See `slackwater.schedule.changed_at`.
#[pyfunction]
#[pyo3(signature = (seen, *, now, before))]
pub(crate) fn schedule_changed_at(
    seen: SnapshotTuple,
    now: Instant,
    before: Option<(SnapshotTuple, Instant)>,
) -> Result<DateTime<Utc>, Refused> {
    let seen = snapshot(seen)?;
    let before = before.map(|(before, at)| Ok::<_, Refused>((snapshot(before)?, at.0)));
    let before = before.transpose()?;
    Ok(seen.changed_at(before.as_ref().map(|(before, at)| (before, *at)), now.0))
}

/// See `slackwater.schedule.is_away`.
#[pyfunction]
#[pyo3(signature = (*, target_type, location_id, target_location_id))]
pub(crate) fn schedule_is_away(
    target_type: &str,
    location_id: Option<&str>,
    target_location_id: Option<&str>,
) -> Result<bool, Refused> {
    Ok(place::is_away(self::target_type(target_type)?, location_id, target_location_id))
}

/// See `slackwater.schedule.time_zone_of`.
#[pyfunction]
pub(crate) fn schedule_time_zone(
    own: Option<(Option<String>,)>,
    target: Option<(Option<String>,)>,
) -> Result<&'static str, Refused> {
    let place = |given: Option<(Option<String>,)>| {
        let place = given.map(|(name,)| name.map(|name| time_zone(&name)).transpose());
        Ok::<_, Refused>(place.transpose()?.map(|time_zone| Place { time_zone }))
    };
    Ok(place::time_zone_of(place(own)?, place(target)?).name())
}
