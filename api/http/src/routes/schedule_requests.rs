//! Request bodies of schedules, checked against users, devices and locations.
use std::ops::ControlFlow;

use chrono::{DateTime, Utc};
use deserr::{Deserr, IntoValue, MergeWithError, ValuePointerRef};
use serde::Serialize;
use serde_json::Value;
use slackwater_control::schedule::place::TargetType;
use slackwater_control::schedule::rule::{DraftRule, Rule, RuleIssue, Rules, RulesError};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::issues::{Issues, RequestBody};
use crate::problem::Problem;
use slackwater_service::cache::tables::Tables;
use slackwater_service::control::facts::target_type;
use slackwater_store::schedules::{Schedule, ScheduleRequest};

/// A schedule as somebody writes it. All members are required where it is made,
/// and none where it is changed.
#[derive(Debug, Clone, PartialEq, Deserr, ToSchema)]
#[deserr(error = Issues, rename_all = camelCase)]
#[schema(rename_all = "camelCase")]
pub struct NewSchedule {
    /// True if it is switched on.
    pub is_enabled: bool,
    /// Value that holds where no rule does.
    pub default_should_charge: bool,
    /// Earlier rules win.
    #[schema(value_type = Vec<RuleBody>)]
    pub rules: CheckedRules,
    /// The vehicle or charger.
    pub target_id: String,
    /// `vehicle` or `charger`.
    #[schema(value_type = String, pattern = "^(vehicle|charger)$")]
    pub target_type: TargetType,
    /// Location at which it applies; null must be said.
    #[schema(required = true)]
    pub location_id: Option<Uuid>,
}

/// Changes of a schedule: what is not named stays.
#[derive(Debug, Clone, PartialEq, Deserr, ToSchema)]
#[deserr(error = Issues, rename_all = camelCase)]
#[schema(rename_all = "camelCase")]
pub struct ScheduleUpdate {
    /// True if it is switched on.
    #[deserr(default, from(bool) = Some)]
    #[schema(nullable = false)]
    pub is_enabled: Option<bool>,
    /// Value that holds where no rule does.
    #[deserr(default, from(bool) = Some)]
    #[schema(nullable = false)]
    pub default_should_charge: Option<bool>,
    /// Earlier rules win.
    #[deserr(default, from(CheckedRules) = Some)]
    #[schema(value_type = Vec<RuleBody>, required = false)]
    pub rules: Option<CheckedRules>,
    /// The vehicle or charger.
    #[deserr(default, from(String) = Some)]
    #[schema(nullable = false)]
    pub target_id: Option<String>,
    /// `vehicle` or `charger`.
    #[deserr(default, from(TargetType) = Some)]
    #[schema(value_type = String, required = false)]
    pub target_type: Option<TargetType>,
    /// Location at which it applies; null for anywhere.
    #[deserr(default, from(Option<Uuid>) = Some)]
    #[schema(value_type = Option<Uuid>)]
    pub location_id: Option<Option<Uuid>>,
}

/// Order of the faults of a schedule.
const ORDER: &[&str] = &[
    "isEnabled",
    "defaultShouldCharge",
    "rules",
    "targetId",
    "targetType",
    "locationId",
    "hourMinute",
    "shouldCharge",
    "fromTimestamp",
    "toTimestamp",
    "weekdays",
];

impl RequestBody for NewSchedule {
    const ORDER: &'static [&'static str] = ORDER;
}

impl RequestBody for ScheduleUpdate {
    const ORDER: &'static [&'static str] = ORDER;
}

/// Rules that make sense, and how they were written.
#[derive(Debug, Clone, PartialEq, Deserr)]
#[deserr(error = Issues, try_from(Vec<RuleBody>) = check_rules -> RulesError)]
pub struct CheckedRules {
    drafts: Vec<DraftRule>,
    rules: Vec<Rule>,
}

/// A rule: a verdict, and filters that all have to hold.
#[derive(Debug, Clone, PartialEq, Eq, Deserr, Serialize, ToSchema)]
#[deserr(error = Issues, rename_all = camelCase)]
#[serde(rename_all = "camelCase")]
pub struct RuleBody {
    /// Value of the rule while it holds.
    pub should_charge: bool,
    /// Holds in this part of each day.
    #[deserr(default, from(HourMinuteBody) = Some)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub hour_minute: Option<HourMinuteBody>,
    /// Holds from this instant on.
    #[deserr(default, try_from(&Value) = read_instant -> String)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub from_timestamp: Option<DateTime<Utc>>,
    /// Holds before this instant.
    #[deserr(default, try_from(&Value) = read_instant -> String)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub to_timestamp: Option<DateTime<Utc>>,
    /// Holds on these days: 0 is Monday, 6 Sunday.
    #[deserr(default, try_from(&Value) = read_integers -> String)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub weekdays: Option<Vec<i64>>,
}

/// A part of each day on the clock of the location. One that ends before it
/// begins goes over midnight.
#[derive(Debug, Clone, PartialEq, Eq, Deserr, Serialize, ToSchema)]
#[deserr(error = Issues)]
pub struct HourMinuteBody {
    /// First minute, `HH:MM`.
    pub from: String,
    /// First minute after it, `HH:MM`.
    pub to: String,
}

impl RuleBody {
    /// The shape of a rule, as it was written.
    #[must_use]
    pub fn from_draft(draft: &DraftRule) -> Self {
        let window = draft.hour_minute.clone();
        Self {
            should_charge: draft.should_charge,
            hour_minute: window.map(|(from, to)| HourMinuteBody { from, to }),
            from_timestamp: draft.from_timestamp,
            to_timestamp: draft.to_timestamp,
            weekdays: draft.weekdays.clone(),
        }
    }
}

impl From<RuleBody> for DraftRule {
    fn from(body: RuleBody) -> Self {
        Self {
            should_charge: body.should_charge,
            hour_minute: body.hour_minute.map(|window| (window.from, window.to)),
            from_timestamp: body.from_timestamp,
            to_timestamp: body.to_timestamp,
            weekdays: body.weekdays,
        }
    }
}

fn check_rules(rules: Vec<RuleBody>) -> Result<CheckedRules, RulesError> {
    let drafts: Vec<DraftRule> = rules.into_iter().map(DraftRule::from).collect();
    // The default is a member of its own.
    let Rules { rules, .. } = Rules::parse(false, &drafts)?;
    Ok(CheckedRules { drafts, rules })
}

impl MergeWithError<RulesError> for Issues {
    fn merge(
        before: Option<Self>,
        RulesError { issues }: RulesError,
        at: ValuePointerRef<'_>,
    ) -> ControlFlow<Self, Self> {
        Self::add_after(before, issues.iter().map(|issue| rule_issue_at(at, issue)).collect())
    }
}

fn rule_issue_at(at: ValuePointerRef<'_>, issue: &RuleIssue) -> Issues {
    let (rule, member, reason) = match issue {
        RuleIssue::From { rule, error } => (rule, "hourMinute/from", error.to_string()),
        RuleIssue::To { rule, error } => (rule, "hourMinute/to", error.to_string()),
        RuleIssue::Weekday { rule, error } => (rule, "weekdays", error.to_string()),
    };
    Issues::new_below(at, &format!("/{rule}/{member}"), reason)
}

/// Checks a new schedule of a user.
///
/// # Errors
/// There is no such device or location.
pub(crate) fn check_new(
    body: NewSchedule,
    tables: &Tables,
    user: (&str, &str),
) -> Result<ScheduleRequest, Problem> {
    check_location(tables, user, body.location_id)?;
    let CheckedRules { drafts, rules } = body.rules;
    Ok(ScheduleRequest {
        is_enabled: body.is_enabled,
        target_id: check_target(tables, user, &body.target_id, body.target_type)?,
        target_type: body.target_type,
        location_id: body.location_id,
        drafts,
        rules: Rules { default_should_charge: body.default_should_charge, rules },
    })
}

/// Checks a change of a schedule: members that it does not name stay (AMB-74).
///
/// # Errors
/// There is no such device or location.
pub(crate) fn check_change(
    body: ScheduleUpdate,
    tables: &Tables,
    schedule: &Schedule,
) -> Result<ScheduleRequest, Problem> {
    let before = &schedule.wish;
    let user = (&*schedule.client_id, &*schedule.user_id);
    check_location(tables, user, body.location_id.flatten())?;
    let target_type = body.target_type.unwrap_or(before.target_type);
    let target_id = body.target_id.unwrap_or_else(|| before.target_id.to_string());
    let default = body.default_should_charge.unwrap_or(before.rules.default_should_charge);
    let (drafts, rules) = match body.rules {
        Some(CheckedRules { drafts, rules }) => (drafts, rules),
        None => (before.drafts.clone(), before.rules.rules.clone()),
    };
    Ok(ScheduleRequest {
        is_enabled: body.is_enabled.unwrap_or(before.is_enabled),
        target_id: check_target(tables, user, &target_id, target_type)?,
        target_type,
        location_id: body.location_id.unwrap_or(before.location_id),
        drafts,
        rules: Rules { default_should_charge: default, rules },
    })
}

fn check_location(
    tables: &Tables,
    (client_id, user_id): (&str, &str),
    location_id: Option<Uuid>,
) -> Result<(), Problem> {
    let user = tables.user(client_id, user_id);
    let is_known = |id| user.is_some_and(|user| user.location(id).is_some());
    if location_id.is_none_or(is_known) {
        return Ok(());
    }
    Err(Problem::invalid(vec!["/locationId: is no location of the user".to_owned()]))
}

/// The device of a user that a schedule is for (SCH-09).
fn check_target(
    tables: &Tables,
    (client_id, user_id): (&str, &str),
    id: &str,
    wanted: TargetType,
) -> Result<Uuid, Problem> {
    let id = Uuid::parse_str(id).ok();
    let device = id.and_then(|id| tables.device(client_id, id));
    let is_meant = |device: &&std::sync::Arc<slackwater_store::devices::Device>| {
        &*device.user_id == user_id && target_type(device.kind) == Some(wanted)
    };
    let device = device.filter(is_meant);
    device.map(|device| device.id).ok_or_else(|| Problem::no_entity(target_word(wanted)))
}

impl Deserr<Issues> for TargetType {
    fn deserialize_from_value<V: IntoValue>(
        value: deserr::Value<V>,
        at: ValuePointerRef<'_>,
    ) -> Result<Self, Issues> {
        let mut all = [Self::Vehicle, Self::Charger].into_iter();
        let is_meant = |known: &Self| matches!(&value, deserr::Value::String(word) if word == target_word(*known));
        all.find(is_meant).ok_or_else(|| Issues::new(at, "expected `vehicle` or `charger`"))
    }
}

/// Reads an instant: RFC 3339 with a zone, to the microsecond.
fn read_instant(value: &Value) -> Result<Option<DateTime<Utc>>, String> {
    let at = value.as_str().and_then(|text| DateTime::parse_from_rfc3339(text).ok());
    at.map(|at| Some(at.to_utc())).ok_or_else(|| "expected a date-time with a time zone".to_owned())
}

fn read_integers(value: &Value) -> Result<Option<Vec<i64>>, String> {
    let numbers = value.as_array().and_then(|list| list.iter().map(Value::as_i64).collect());
    numbers.map(Some).ok_or_else(|| "expected an array of integers".to_owned())
}

/// The word of the specification for a kind of target.
#[must_use]
pub const fn target_word(target_type: TargetType) -> &'static str {
    match target_type {
        TargetType::Vehicle => "vehicle",
        TargetType::Charger => "charger",
    }
}
