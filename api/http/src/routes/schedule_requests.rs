//! Request bodies of schedules, checked against users, devices and locations.
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Map, Value};
use slackwater_control::schedule::place::TargetType;
use slackwater_control::schedule::rule::{DraftRule, RuleIssue, Rules};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::problem::Problem;
use crate::request::{Body, BodyReader, read_bool, read_text};
use slackwater_service::cache::tables::Tables;
use slackwater_service::control::facts::target_type;
use slackwater_store::schedules::{Schedule, ScheduleRequest};

/// A schedule as somebody writes it. All members are required where it is made,
/// and none where it is changed.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewSchedule {
    /// True if it is switched on.
    pub is_enabled: bool,
    /// Value that holds where no rule does.
    pub default_should_charge: bool,
    /// Earlier rules win.
    pub rules: Vec<RuleBody>,
    /// The vehicle or charger.
    pub target_id: String,
    /// `vehicle` or `charger`.
    #[schema(pattern = "^(vehicle|charger)$")]
    pub target_type: String,
    /// Location at which it applies; null must be said.
    #[schema(required = true)]
    pub location_id: Option<Uuid>,
}

/// Changes of a schedule: what is not named stays.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleUpdate {
    /// True if it is switched on.
    #[schema(required = false)]
    pub is_enabled: bool,
    /// Value that holds where no rule does.
    #[schema(required = false)]
    pub default_should_charge: bool,
    /// Earlier rules win.
    #[schema(required = false)]
    pub rules: Vec<RuleBody>,
    /// The vehicle or charger.
    #[schema(required = false)]
    pub target_id: String,
    /// `vehicle` or `charger`.
    #[schema(required = false)]
    pub target_type: String,
    /// Location at which it applies; null for anywhere.
    pub location_id: Option<Uuid>,
}

/// A rule: a verdict, and filters that all have to hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleBody {
    /// Value of the rule while it holds.
    pub should_charge: bool,
    /// Holds in this part of each day.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub hour_minute: Option<HourMinuteBody>,
    /// Holds from this instant on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub from_timestamp: Option<DateTime<Utc>>,
    /// Holds before this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub to_timestamp: Option<DateTime<Utc>>,
    /// Holds on these days: 0 is Monday, 6 Sunday.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub weekdays: Option<Vec<i64>>,
}

/// A part of each day on the clock of the location. One that ends before it
/// begins goes over midnight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
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

/// The members of a body, each if it is there.
#[derive(Debug, Default)]
struct Draft {
    is_enabled: Option<bool>,
    default_should_charge: Option<bool>,
    rules: Option<Vec<DraftRule>>,
    target_id: Option<String>,
    target_type: Option<TargetType>,
    location: Option<Where>,
}

/// Location at which a schedule is to apply.
#[derive(Debug, Clone, Copy)]
enum Where {
    Anywhere,
    At(Uuid),
}

impl Where {
    const fn id(self) -> Option<Uuid> {
        match self {
            Self::Anywhere => None,
            Self::At(id) => Some(id),
        }
    }
}

/// Reads a body that asks for a new schedule of a user.
///
/// # Errors
/// A member is missing or makes no sense, or there is no such device.
pub(crate) fn read_new_schedule(
    body: Body,
    tables: &Tables,
    (client_id, user_id): (&str, &str),
) -> Result<ScheduleRequest, Problem> {
    let mut members = BodyReader::from(body);
    for name in
        ["isEnabled", "defaultShouldCharge", "rules", "targetId", "targetType", "locationId"]
    {
        members.required(name, |_| Ok(()));
    }
    let draft = read_draft(&mut members);
    let rules = parse_rules(&mut members, draft.default_should_charge, draft.rules.as_deref());
    check_location(&mut members, tables, (client_id, user_id), draft.location.and_then(Where::id));
    let wish = (|| {
        let target = (draft.target_id?, draft.target_type?);
        let others = (draft.is_enabled?, draft.location?.id(), draft.rules?, rules?);
        Some((target, others))
    })();
    let ((target_id, target_type), others) = members.finish(wish)?;
    let target_id = check_target(tables, (client_id, user_id), &target_id, target_type)?;
    let (is_enabled, location_id, drafts, rules) = others;
    Ok(ScheduleRequest { is_enabled, target_id, target_type, location_id, drafts, rules })
}

/// Reads a body that changes a schedule: members that it does not name stay (AMB-74).
///
/// # Errors
/// A member makes no sense, alone or with the others, or there is no such device.
pub(crate) fn read_schedule_change(
    body: Body,
    tables: &Tables,
    schedule: &Schedule,
) -> Result<ScheduleRequest, Problem> {
    let before = &schedule.wish;
    let user = (&*schedule.client_id, &*schedule.user_id);
    let mut members = BodyReader::from(body);
    let draft = read_draft(&mut members);
    let default = draft.default_should_charge.unwrap_or(before.rules.default_should_charge);
    let drafts = draft.rules.unwrap_or_else(|| before.drafts.clone());
    let rules = parse_rules(&mut members, Some(default), Some(&drafts));
    check_location(&mut members, tables, user, draft.location.and_then(Where::id));
    let rules = members.finish(rules)?;
    let target_type = draft.target_type.unwrap_or(before.target_type);
    let target_id = draft.target_id.unwrap_or_else(|| before.target_id.to_string());
    Ok(ScheduleRequest {
        is_enabled: draft.is_enabled.unwrap_or(before.is_enabled),
        target_id: check_target(tables, user, &target_id, target_type)?,
        target_type,
        location_id: draft.location.map_or(before.location_id, Where::id),
        drafts,
        rules,
    })
}

fn read_draft(members: &mut BodyReader) -> Draft {
    Draft {
        is_enabled: members.optional("isEnabled", read_bool),
        default_should_charge: members.optional("defaultShouldCharge", read_bool),
        rules: rules_of(members),
        target_id: members.optional("targetId", read_text),
        target_type: members.optional("targetType", |value| {
            let all = [TargetType::Vehicle, TargetType::Charger];
            let found = all.into_iter().find(|known| value.as_str() == Some(target_word(*known)));
            found.ok_or_else(|| "expected `vehicle` or `charger`".to_owned())
        }),
        location: members.optional("locationId", |value| match value {
            Value::Null => Ok(Where::Anywhere),
            Value::String(text) => Uuid::parse_str(text)
                .map(Where::At)
                .map_err(|_| "expected a UUID or null".to_owned()),
            _ => Err("expected a UUID or null".to_owned()),
        }),
    }
}

fn check_location(
    members: &mut BodyReader,
    tables: &Tables,
    (client_id, user_id): (&str, &str),
    location_id: Option<Uuid>,
) {
    let user = tables.user(client_id, user_id);
    let is_known = |id| user.is_some_and(|user| user.location(id).is_some());
    if location_id.is_some_and(|id| !is_known(id)) {
        members.issue("locationId", "is no location of the user");
    }
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

/// Parses rules; faults are added to the issues.
fn parse_rules(
    members: &mut BodyReader,
    default: Option<bool>,
    drafts: Option<&[DraftRule]>,
) -> Option<Rules> {
    match Rules::parse(default.unwrap_or_default(), drafts?) {
        Ok(rules) => Some(rules),
        Err(error) => {
            for issue in &error.issues {
                let (place, reason) = located(issue);
                members.issue(&place, &reason);
            }
            None
        }
    }
}

fn located(issue: &RuleIssue) -> (String, String) {
    match issue {
        RuleIssue::From { rule, error } => {
            (format!("rules/{rule}/hourMinute/from"), error.to_string())
        }
        RuleIssue::To { rule, error } => (format!("rules/{rule}/hourMinute/to"), error.to_string()),
        RuleIssue::Weekday { rule, error } => (format!("rules/{rule}/weekdays"), error.to_string()),
    }
}

/// Rules as they were written; what has the wrong form is added to the issues.
fn rules_of(members: &mut BodyReader) -> Option<Vec<DraftRule>> {
    let list = members.optional("rules", |value| {
        value.as_array().cloned().ok_or_else(|| "expected an array".to_owned())
    })?;
    let mut issues = Vec::new();
    let rules = list.iter().enumerate().map(|(at, rule)| {
        let at = format!("rules/{at}");
        if let Value::Object(rule) = rule {
            return read_rule(rule, &at, &mut issues);
        }
        issues.push((at, "expected an object".to_owned()));
        DraftRule::default()
    });
    let rules: Vec<DraftRule> = rules.collect();
    if issues.is_empty() {
        return Some(rules);
    }
    for (place, reason) in issues {
        members.issue(&place, &reason);
    }
    None
}

/// Faults: place and reason.
type Issues = Vec<(String, String)>;

fn read_rule(rule: &Map<String, Value>, at: &str, issues: &mut Issues) -> DraftRule {
    if !rule.contains_key("shouldCharge") {
        issues.push((format!("{at}/shouldCharge"), "is required".to_owned()));
    }
    let window = member(rule, at, "hourMinute", issues, |value| {
        value.as_object().cloned().ok_or_else(|| "expected an object".to_owned())
    });
    DraftRule {
        should_charge: member(rule, at, "shouldCharge", issues, read_bool).unwrap_or_default(),
        hour_minute: window.and_then(|window| hour_minute(&window, at, issues)),
        from_timestamp: member(rule, at, "fromTimestamp", issues, read_instant),
        to_timestamp: member(rule, at, "toTimestamp", issues, read_instant),
        weekdays: member(rule, at, "weekdays", issues, |value| {
            let numbers = value.as_array().map(|list| list.iter().map(Value::as_i64).collect());
            numbers.flatten().ok_or_else(|| "expected an array of integers".to_owned())
        }),
    }
}

fn hour_minute(
    window: &Map<String, Value>,
    at: &str,
    issues: &mut Issues,
) -> Option<(String, String)> {
    let at = format!("{at}/hourMinute");
    for name in ["from", "to"].into_iter().filter(|name| !window.contains_key(*name)) {
        issues.push((format!("{at}/{name}"), "is required".to_owned()));
    }
    let from = member(window, &at, "from", issues, read_text);
    let to = member(window, &at, "to", issues, read_text);
    Some((from?, to?))
}

fn member<T>(
    of: &Map<String, Value>,
    at: &str,
    name: &str,
    issues: &mut Issues,
    read: impl FnOnce(&Value) -> Result<T, String>,
) -> Option<T> {
    read(of.get(name)?).map_err(|reason| issues.push((format!("{at}/{name}"), reason))).ok()
}

/// Reads an instant: RFC 3339 with a zone, to the microsecond.
fn read_instant(value: &Value) -> Result<DateTime<Utc>, String> {
    let at = value.as_str().and_then(|text| DateTime::parse_from_rfc3339(text).ok());
    at.map(|at| at.to_utc()).ok_or_else(|| "expected a date-time with a time zone".to_owned())
}

/// The word of the specification for a kind of target.
#[must_use]
pub const fn target_word(target_type: TargetType) -> &'static str {
    match target_type {
        TargetType::Vehicle => "vehicle",
        TargetType::Charger => "charger",
    }
}
