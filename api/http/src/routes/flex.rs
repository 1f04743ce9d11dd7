//! Flex policies of vehicles: reading them, and changing parts of them.
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use deserr::{Deserr, IntoValue, Map, Value, ValuePointerRef};
use slackwater_control::policy::flex::{DayRequest, FlexPatch};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::auth::caller::Caller;
use crate::issues::{Issues, RequestBody};
use crate::problem::Problem;
use crate::request::{Body, Path};
use slackwater_service::plans::flex_body::{FlexDayBody, FlexPolicyBody};
use slackwater_service::plans::patching::patch_flex;
use slackwater_service::state::App;

/// A change of a flex policy.
#[derive(Debug, Clone, PartialEq, Deserr, ToSchema)]
#[deserr(error = Issues, rename_all = camelCase)]
#[schema(rename_all = "camelCase")]
pub struct FlexPolicyUpdate {
    /// Percent, 0 to 20; for one manufacturer 50.
    #[deserr(default, from(f64) = Some)]
    #[schema(nullable = false)]
    pub battery_reserve: Option<f64>,
    /// The days that change. Each has both members; other days stay.
    #[deserr(default)]
    #[schema(value_type = Option<BTreeMap<String, FlexDayBody>>, nullable = false)]
    pub schedule: Days,
}

impl RequestBody for FlexPolicyUpdate {}

/// A day of which both members may be missing: the engine says what that means.
#[derive(Debug, Clone, PartialEq, Deserr)]
#[deserr(error = Issues, rename_all = camelCase)]
pub struct DayUpdate {
    #[deserr(default, from(String) = Some)]
    deadline: Option<String>,
    #[deserr(default, from(f64) = Some)]
    minimum_charge_target: Option<f64>,
}

/// A flex policy of a vehicle.
#[utoipa::path(get, path = "/flex/vehicle-policies/{policyId}", operation_id = "get_flex_policy", tag = "Flex",
    responses((status = 200, body = FlexPolicyBody), (status = 404)))]
pub(crate) async fn get_policy(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id = parse_policy_id(&id)?;
    let row = app.cache().read(|tables| tables.plans.flex(id).cloned());
    let own = row.filter(|row| *row.client_id == *caller.client.id);
    let row = own.ok_or_else(|| Problem::no_entity("Policy"))?;
    Ok(Json(FlexPolicyBody::from_row(&row)).into_response())
}

/// Changes parts of a flex policy, all or none; the vehicle is planned for anew.
#[utoipa::path(patch, path = "/flex/vehicle-policies/{policyId}", operation_id = "update_flex_policy", tag = "Flex",
    request_body = FlexPolicyUpdate,
    responses((status = 200, body = FlexPolicyBody), (status = 404)))]
pub(crate) async fn patch_policy(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Result<Body<FlexPolicyUpdate>, Problem>,
) -> Result<Response, Problem> {
    let id = parse_policy_id(&id)?;
    let is_own = app.cache().read(|tables| {
        tables.plans.flex(id).is_some_and(|row| *row.client_id == *caller.client.id)
    });
    if !is_own {
        return Err(Problem::no_entity("Policy"));
    }
    let Body(update) = body?;
    let kept = patch_flex(&app, &caller.client.id, id, &update.into()).await?;
    Ok(Json(kept).into_response())
}

fn parse_policy_id(text: &str) -> Result<Uuid, Problem> {
    Uuid::parse_str(text).map_err(|_| Problem::no_entity("Policy"))
}

impl From<FlexPolicyUpdate> for FlexPatch {
    fn from(body: FlexPolicyUpdate) -> Self {
        let day = |day: DayUpdate| DayRequest {
            deadline: day.deadline,
            target_percent: day.minimum_charge_target,
        };
        let days = body.schedule.0.into_iter().map(|(name, change)| (name, day(change)));
        Self { reserve_percent: body.battery_reserve, schedule: days.collect() }
    }
}

/// The days of an update by name.
///
/// Not the map of `deserr`, which forgets the faults in it (0.6.4).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Days(BTreeMap<String, DayUpdate>);

impl Deserr<Issues> for Days {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        at: ValuePointerRef<'_>,
    ) -> Result<Self, Issues> {
        let Value::Map(members) = value else {
            return Err(Issues::new(at, "expected an object"));
        };
        let (mut days, mut issues) = (BTreeMap::new(), None);
        for (name, value) in members.into_iter() {
            match DayUpdate::deserialize_from_value(value.into_value(), at.push_key(&name)) {
                Ok(day) => drop(days.insert(name, day)),
                Err(more) => match Issues::add_after(issues, more) {
                    ControlFlow::Continue(all) => issues = Some(all),
                    ControlFlow::Break(all) => return Err(all),
                },
            }
        }
        issues.map_or(Ok(Self(days)), Err)
    }
}
