//! Schedules of users: making, reading and changing them, and how they stand.
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Serialize;
use slackwater_control::schedule::status::ScheduleState;
use slackwater_wire::version::field::Field;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::auth::caller::Caller;
use crate::page::{ListRequest, PageQuery};
use crate::problem::Problem;
use crate::request::{Body, Path};
use crate::routes::overrides::SmartOverride;
use crate::routes::schedule_requests::{
    NewSchedule, RuleBody, ScheduleUpdate, check_change, check_new, target_word,
};
use crate::routes::users::with_user;
use slackwater_service::state::App;
use slackwater_service::steering::schedules::{self, Standing};
use slackwater_store::schedules::Schedule;

/// Length of a schedule in an answer, about.
const BYTES_EACH: usize = 512;

/// A user's rules for charging a device.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleBody {
    /// Its identifier.
    pub id: String,
    /// True if it is switched on.
    pub is_enabled: bool,
    /// Value that holds where no rule does.
    pub default_should_charge: bool,
    /// Earlier rules win.
    pub rules: Vec<RuleBody>,
    /// The vehicle or charger.
    pub target_id: String,
    /// `vehicle` or `charger`.
    #[schema(value_type = String)]
    pub target_type: &'static str,
    /// Location at which it applies. Null: a charger's anywhere, a vehicle's at every known
    /// location.
    pub location_id: Option<Uuid>,
}

/// Status of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleStatus {
    /// The schedule.
    pub schedule_id: Uuid,
    /// Always `CHARGE`.
    #[schema(value_type = String)]
    pub schedule_type: &'static str,
    /// When any value last changed.
    pub changed_at: DateTime<Utc>,
    /// One of seven words, such as `ALIGNED` or `INACTIVE:AWAY`.
    #[schema(value_type = String)]
    pub state: &'static str,
    /// True if the device charges.
    pub is_charging: bool,
    /// True if all of the parts hold.
    pub is_charging_expected: bool,
    /// Conditions under which charging is expected.
    pub is_charging_expected_parts: ExpectedPartsBody,
    /// The next changes of what the rules say, at most two.
    pub upcoming_transitions: Vec<TransitionBody>,
    /// The active override of the device.
    pub smart_override: Option<SmartOverride>,
}

/// Conditions under which charging is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExpectedPartsBody {
    /// There is something to charge.
    pub needs_charge: bool,
    /// A plug is in.
    pub is_plugged_in: bool,
    /// The rules want it.
    pub should_charge: bool,
}

/// A change of what the rules say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransitionBody {
    /// When.
    pub at: DateTime<Utc>,
    /// Value of the rules from then on.
    pub should_charge: bool,
}

impl ScheduleBody {
    /// The shape of a schedule.
    #[must_use]
    pub fn from_schedule(schedule: &Schedule) -> Self {
        let wish = &schedule.wish;
        Self {
            id: schedule.id.to_string(),
            is_enabled: wish.is_enabled,
            default_should_charge: wish.rules.default_should_charge,
            rules: wish.drafts.iter().map(RuleBody::from_draft).collect(),
            target_id: wish.target_id.to_string(),
            target_type: target_word(wish.target_type),
            location_id: wish.location_id,
        }
    }
}

impl ScheduleStatus {
    fn from_standing(standing: &Standing) -> Self {
        let (status, upcoming) = (&standing.snapshot.status, &standing.snapshot.upcoming);
        let parts = status.parts;
        Self {
            schedule_id: standing.schedule.id,
            schedule_type: "CHARGE",
            changed_at: standing.changed_at,
            state: state_word(status.state),
            is_charging: status.is_charging,
            is_charging_expected: status.is_charging_expected,
            is_charging_expected_parts: ExpectedPartsBody {
                needs_charge: parts.needs_charge,
                is_plugged_in: parts.is_plugged_in,
                should_charge: parts.should_charge,
            },
            upcoming_transitions: upcoming
                .iter()
                .map(|next| TransitionBody { at: next.at, should_charge: next.should_charge })
                .collect(),
            smart_override: standing.active_override.as_deref().map(SmartOverride::from_override),
        }
    }
}

pub(crate) const fn state_word(state: ScheduleState) -> &'static str {
    match state {
        ScheduleState::Aligned => "ALIGNED",
        ScheduleState::Misaligned => "MISALIGNED",
        ScheduleState::Pending => "PENDING",
        ScheduleState::Overridden => "INACTIVE:OVERRIDDEN",
        ScheduleState::Disabled => "INACTIVE:DISABLED",
        ScheduleState::Away => "INACTIVE:AWAY",
        ScheduleState::Incapable => "INACTIVE:INCAPABLE",
    }
}

/// Makes a schedule.
#[utoipa::path(post, path = "/users/{userId}/schedules", tag = "Schedules",
    request_body = NewSchedule, responses((status = 200, body = ScheduleBody), (status = 404)))]
pub(crate) async fn create_schedule(
    State(app): State<App>,
    caller: Caller,
    Path(user_id): Path<String>,
    body: Result<Body<NewSchedule>, Problem>,
) -> Result<Json<ScheduleBody>, Problem> {
    with_user(&app, &caller, &user_id, |_| ())?;
    let Body(body) = body?;
    let client_id = &caller.client.id;
    let wish = app.cache().read(|tables| check_new(body, tables, (client_id, &user_id)))?;
    let schedule = schedules::create(&app, client_id, &user_id, wish).await?;
    Ok(Json(ScheduleBody::from_schedule(&schedule)))
}

/// A user's schedules, newest first.
#[utoipa::path(get, path = "/users/{userId}/schedules", tag = "Schedules", params(PageQuery),
    responses((status = 200, body = Vec<ScheduleBody>), (status = 404)))]
pub(crate) async fn list_schedules(
    State(app): State<App>,
    caller: Caller,
    Path(user_id): Path<String>,
    query: PageQuery,
) -> Result<Response, Problem> {
    with_user(&app, &caller, &user_id, |_| ())?;
    let client_id = &*caller.client.id;
    let is_paged = caller.version.has(Field::PaginatedLists);
    let whose = (client_id, Some(user_id.as_str()));
    let request = ListRequest::new(&app, whose, "schedules", &query, is_paged)?;
    let listing = app.cache().read(|tables| {
        let control = tables.control();
        request.take_page(control.list(client_id, &user_id), |id| {
            Some(ScheduleBody::from_schedule(control.schedule(client_id, *id)?))
        })
    });
    request.answer(&listing, BYTES_EACH)
}

/// One schedule.
#[utoipa::path(get, path = "/schedules/{scheduleId}", tag = "Schedules",
    responses((status = 200, body = ScheduleBody), (status = 404)))]
pub(crate) async fn get_schedule(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<ScheduleBody>, Problem> {
    let id = find_schedule_id(&app, &caller, &id)?;
    let found = app.cache().read(|tables| {
        Some(ScheduleBody::from_schedule(tables.control().schedule(&caller.client.id, id)?))
    });
    found.map(Json).ok_or_else(missing)
}

/// Changes what the body names, and leaves the rest.
#[utoipa::path(put, path = "/schedules/{scheduleId}", operation_id = "update_schedule", tag = "Schedules",
    request_body = ScheduleUpdate, responses((status = 200, body = ScheduleBody), (status = 404)))]
pub(crate) async fn put_schedule(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Result<Body<ScheduleUpdate>, Problem>,
) -> Result<Json<ScheduleBody>, Problem> {
    let id = find_schedule_id(&app, &caller, &id)?;
    let Body(body) = body?;
    let merge =
        |schedule: &Schedule| app.cache().read(|tables| check_change(body, tables, schedule));
    let changed = schedules::change(&app, &caller.client.id, id, merge).await?;
    changed.map(|schedule| Json(ScheduleBody::from_schedule(&schedule))).ok_or_else(missing)
}

/// Deletes a schedule.
#[utoipa::path(delete, path = "/schedules/{scheduleId}", tag = "Schedules",
    responses((status = 204), (status = 404)))]
pub(crate) async fn delete_schedule(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let id = find_schedule_id(&app, &caller, &id)?;
    let was_there = schedules::delete(&app, &caller.client.id, id).await?;
    was_there.then_some(StatusCode::NO_CONTENT).ok_or_else(missing)
}

/// Status of a schedule.
#[utoipa::path(get, path = "/schedules/{scheduleId}/status", tag = "Schedules",
    summary = "Status of a schedule: whether it is in control, and its next transition.",
    responses((status = 200, body = ScheduleStatus), (status = 404)))]
pub(crate) async fn get_schedule_status(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<ScheduleStatus>, Problem> {
    let id = find_schedule_id(&app, &caller, &id)?;
    let standing = schedules::standing(&app, &caller.client.id, id).await?;
    standing.map(|standing| Json(ScheduleStatus::from_standing(&standing))).ok_or_else(missing)
}

/// The identifier in a path, if it is that of a schedule of the caller.
fn find_schedule_id(app: &App, caller: &Caller, id: &str) -> Result<Uuid, Problem> {
    let id = Uuid::parse_str(id).map_err(|_| missing())?;
    let owner = app.cache().read(|tables| {
        let schedule = tables.control().schedule(&caller.client.id, id);
        schedule.map(|schedule| schedule.user_id.clone())
    });
    let owner = owner.ok_or_else(missing)?;
    let is_users = caller.user_id.as_ref().is_none_or(|user_id| *user_id == owner);
    is_users.then_some(id).ok_or_else(missing)
}

fn missing() -> Problem {
    Problem::no_entity("schedule")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn schedule_states_have_seven_words() {
        let words: BTreeSet<&str> = ScheduleState::ALL.map(state_word).into_iter().collect();
        assert_eq!(words.len(), 7);
    }
}
