//! Flex policies of vehicles: reading them, and changing parts of them.
use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use slackwater_control::policy::flex::{DayRequest, FlexPatch};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::auth::caller::Caller;
use crate::problem::Problem;
use crate::request::{Body, BodyReader, Path, pointer, read_number, read_text};
use slackwater_service::plans::flex_body::{FlexDayBody, FlexPolicyBody};
use slackwater_service::plans::patching::patch_flex;
use slackwater_service::state::App;

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

/// A flex policy of a vehicle.
#[utoipa::path(get, path = "/flex/vehicle-policies/{policyId}", tag = "Flex",
    responses((status = 200, body = FlexPolicyBody), (status = 404)))]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id = id_of(&id)?;
    let row = app.cache().read(|tables| tables.plans.flex(id).cloned());
    let own = row.filter(|row| *row.client_id == *caller.client.id);
    let row = own.ok_or_else(|| Problem::no_entity("Policy"))?;
    Ok(Json(FlexPolicyBody::from_row(&row)).into_response())
}

/// Changes parts of a flex policy, all or none; the vehicle is planned for anew.
#[utoipa::path(patch, path = "/flex/vehicle-policies/{policyId}", tag = "Flex",
    request_body = FlexPolicyUpdate,
    responses((status = 200, body = FlexPolicyBody), (status = 404)))]
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
    let mut members = BodyReader::from(body);
    let reserve = members.optional("batteryReserve", read_number);
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
fn read_day(name: &str, value: &Value, members: &mut BodyReader) -> DayRequest {
    let path = format!("schedule/{}", pointer(name));
    let Some(day) = value.as_object() else {
        members.issue(&path, "expected an object");
        return DayRequest::default();
    };
    let mut note = |member: &str, reason: &str| {
        members.issue(&format!("{path}/{member}"), reason);
    };
    let deadline = day.get("deadline").map(read_text).transpose();
    let target = day.get("minimumChargeTarget").map(read_number).transpose();
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
