//! Flex policies of vehicles: reading them, and changing parts of them.
use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use slackwater_control::policy::flex::{DayRequest, FlexPatch};
use slackwater_control::policy::flex_issue::{DAYS, FlexField, FlexIssue, FlexIssues};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::auth::caller::Caller;
use crate::plans::patching::{PolicyError, patch_flex};
use crate::problem::Problem;
use crate::request::{Body, Members, Path, number, text};
use crate::state::App;
use crate::store::policies::FlexRow;

/// A flex policy of a vehicle.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlexPolicyBody {
    /// Its identifier.
    pub id: Uuid,
    /// The vehicle.
    pub vehicle_id: Uuid,
    /// Where it holds.
    pub location_id: Uuid,
    /// Percent that the vehicle charges to at once on arrival, at any price.
    pub battery_reserve: f64,
    /// Charge limit of the vehicle, in percent, when it was last seen there.
    pub last_observed_location_charge_limit: f64,
    /// Wishes by weekday, `monday` to `sunday`.
    #[schema(value_type = BTreeMap<String, FlexDayBody>)]
    pub schedule: BTreeMap<String, FlexDayBody>,
}

/// The wish for a day.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlexDayBody {
    /// `HH:MM` on the clocks of the location.
    pub deadline: String,
    /// Least percent by then; the charge limit of the vehicle if that is lower.
    pub minimum_charge_target: f64,
}

/// A change of a flex policy.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlexPolicyUpdate {
    /// Percent, 0 to 20; for one manufacturer 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub battery_reserve: Option<f64>,
    /// The days that change. Each has both members; other days stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, FlexDayBody>>)]
    pub schedule: Option<BTreeMap<String, FlexDayBody>>,
}

impl FlexPolicyBody {
    /// A policy as it is kept.
    #[must_use]
    pub fn of(row: &FlexRow) -> Self {
        let day = |day: &DayRequest| FlexDayBody {
            deadline: day.deadline.clone().unwrap_or_default(),
            minimum_charge_target: day.target_percent.unwrap_or_default(),
        };
        let days = row.policy.schedule.iter();
        Self {
            id: row.id,
            vehicle_id: row.vehicle_id,
            location_id: row.location_id,
            battery_reserve: row.policy.reserve_percent,
            last_observed_location_charge_limit: row.policy.observed_limit_percent,
            schedule: days.map(|(name, wish)| (name.clone(), day(wish))).collect(),
        }
    }
}

/// One policy.
pub(crate) async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id = id_of(&id)?;
    let row = app.cache().read(|tables| tables.plans.flex(id).cloned());
    let own = row.filter(|row| *row.client_id == *caller.client.id);
    let row = own.ok_or_else(|| Problem::no_entity("Policy"))?;
    Ok(Json(FlexPolicyBody::of(&row)).into_response())
}

/// Changes parts of a policy.
pub(crate) async fn patch(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Result<Body, Problem>,
) -> Result<Response, Problem> {
    let id = id_of(&id)?;
    let is_own = app.cache().read(|tables| {
        tables.plans.flex(id).is_some_and(|row| *row.client_id == *caller.client.id)
    });
    if !is_own {
        return Err(Problem::no_entity("Policy"));
    }
    let body = body?;
    let patch = read_patch(body)?;
    let kept = patch_flex(&app, &caller.client.id, id, &patch).await?;
    Ok(Json(kept).into_response())
}

fn id_of(text: &str) -> Result<Uuid, Problem> {
    Uuid::parse_str(text).map_err(|_| Problem::no_entity("Policy"))
}

fn read_patch(body: Body) -> Result<FlexPatch, Problem> {
    let mut members = Members::from(body);
    let reserve = members.optional("batteryReserve", number);
    let days = members.optional("schedule", |value| {
        value.as_object().cloned().ok_or_else(|| "expected an object".to_owned())
    });
    let mut schedule = BTreeMap::new();
    for (name, value) in days.into_iter().flatten() {
        let day = read_day(&name, &value, &mut members);
        schedule.insert(name, day);
    }
    members.finish(Some(FlexPatch { reserve_percent: reserve, schedule }))
}

/// A day of which both members may be missing: the engine says what that means.
fn read_day(name: &str, value: &Value, members: &mut Members) -> DayRequest {
    let path = format!("schedule/{}", pointer(name));
    let Some(day) = value.as_object() else {
        members.issue(&path, "expected an object");
        return DayRequest::default();
    };
    let mut note = |member: &str, reason: &str| {
        members.issue(&format!("{path}/{member}"), reason);
    };
    let deadline = day.get("deadline").map(text).transpose();
    let target = day.get("minimumChargeTarget").map(number).transpose();
    let deadline = deadline.unwrap_or_else(|reason| {
        note("deadline", &reason);
        None
    });
    let target_percent = target.unwrap_or_else(|reason| {
        note("minimumChargeTarget", &reason);
        None
    });
    DayRequest { deadline, target_percent }
}

/// A name as a part of a JSON pointer.
fn pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Where an issue is, in the words of a body.
fn place(field: &FlexField) -> String {
    match field {
        FlexField::Reserve => "/batteryReserve".to_owned(),
        FlexField::ObservedLimit => "/lastObservedLocationChargeLimit".to_owned(),
        FlexField::Day(name) => format!("/schedule/{}", pointer(name)),
        FlexField::Deadline(day) => format!("/schedule/{}/deadline", DAYS[*day]),
        FlexField::Target(day) => format!("/schedule/{}/minimumChargeTarget", DAYS[*day]),
    }
}

impl From<FlexIssues> for Problem {
    fn from(FlexIssues(issues): FlexIssues) -> Self {
        let issue = |issue: &FlexIssue| format!("{}: {}", place(&issue.field), issue.fault);
        Self::invalid(issues.iter().map(issue).collect())
    }
}

impl From<PolicyError> for Problem {
    fn from(error: PolicyError) -> Self {
        match error {
            PolicyError::Missing("policy") => Self::no_entity("Policy"),
            PolicyError::Missing(what) => Self::no_entity(what),
            PolicyError::Flex(issues) => issues.into(),
            PolicyError::Vehicle(error) => Self::bad_request(error.to_string()),
            PolicyError::Store(error) => error.into(),
        }
    }
}
