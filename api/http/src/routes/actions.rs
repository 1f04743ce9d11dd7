//! Commands to devices, and the actions that they become.
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use deserr::Deserr;
use slackwater_control::device::command::Command;
use slackwater_engine::units::{Current, Power};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::auth::caller::Caller;
use crate::issues::{Issues, RequestBody};
use crate::problem::Problem;
use crate::request::{Body, Path};
use crate::routes::batteries::Battery;
use crate::routes::chargers::Charger;
use crate::routes::hvacs::Hvac;
use crate::routes::lists::{DeviceView, find_device};
use slackwater_service::control::body::ActionBody;
use slackwater_service::control::orders::{self, Cancelled, order};
use slackwater_service::state::App;
use slackwater_store::actions::{Action, Origin};

/// A limit of the current.
#[derive(Debug, Clone, Copy, PartialEq, Deserr, ToSchema)]
#[deserr(error = Issues, rename_all = camelCase)]
#[schema(rename_all = "camelCase")]
pub struct MaxCurrentBody {
    /// In A, at least 0.
    #[deserr(try_from(f64) = read_current -> String)]
    #[schema(value_type = f64, minimum = 0)]
    pub max_current: Current,
}

impl RequestBody for MaxCurrentBody {}

/// A limit of the power.
#[derive(Debug, Clone, Copy, PartialEq, Deserr, ToSchema)]
#[deserr(error = Issues, rename_all = camelCase)]
#[schema(rename_all = "camelCase")]
pub struct ChargeRateLimitBody {
    /// In kW, at least 0.
    #[deserr(try_from(f64) = read_power -> String)]
    #[schema(value_type = f64, minimum = 0)]
    pub charge_rate_limit: Power,
}

impl RequestBody for ChargeRateLimitBody {}

/// Limits the current of a charger. Does not wait for it. Deprecated.
#[utoipa::path(post, path = "/chargers/{chargerId}/max-current", operation_id = "limit_charger_current", tag = "Chargers",
    request_body = MaxCurrentBody,
    responses((status = 200, body = ActionBody), (status = 403), (status = 404), (status = 422)))]
pub(crate) async fn limit_current(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Result<Body<MaxCurrentBody>, Problem>,
) -> Result<Json<ActionBody>, Problem> {
    let device = find_device::<Charger>(&app, &caller, &id)?;
    let Body(limit) = body?;
    send_command(&app, device.id, Command::MaxCurrent(limit.max_current)).await
}

/// Limits the power of a charger, and its current with it. Does not wait for it. Beta.
#[utoipa::path(post, path = "/chargers/{chargerId}/charge-rate-limit", operation_id = "limit_charger_power", tag = "Chargers",
    request_body = ChargeRateLimitBody,
    responses((status = 200, body = ActionBody), (status = 403), (status = 404), (status = 422)))]
pub(crate) async fn limit_charge_rate(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Result<Body<ChargeRateLimitBody>, Problem>,
) -> Result<Json<ActionBody>, Problem> {
    let device = find_device::<Charger>(&app, &caller, &id)?;
    let Body(limit) = body?;
    send_command(&app, device.id, Command::ChargeRateLimit(limit.charge_rate_limit)).await
}

/// Ends a hold: the unit follows the schedule on it. Takes no body and does not wait.
#[utoipa::path(post, path = "/hvacs/{hvacId}/follow-schedule", operation_id = "follow_hvac_schedule", tag = "HVAC units",
    responses((status = 200, body = ActionBody), (status = 403), (status = 404)))]
pub(crate) async fn follow_schedule(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<ActionBody>, Problem> {
    let device = find_device::<Hvac>(&app, &caller, &id)?;
    send_command(&app, device.id, Command::FollowSchedule).await
}

async fn send_command(
    app: &App,
    device_id: Uuid,
    command: Command,
) -> Result<Json<ActionBody>, Problem> {
    let action = order(app, device_id, command, Origin::Client).await?;
    Ok(Json(ActionBody::from_action(&action)))
}

fn read_current(amps: f64) -> Result<Current, String> {
    check_limit(amps)?;
    Current::from_amps(amps).map_err(|error| error.to_string())
}

fn read_power(kw: f64) -> Result<Power, String> {
    check_limit(kw)?;
    Power::from_kw(kw).map_err(|error| error.to_string())
}

fn check_limit(number: f64) -> Result<(), String> {
    if number < 0.0 { Err(format!("is {number}; a limit is at least 0")) } else { Ok(()) }
}

/// An action of a charger.
#[utoipa::path(get, path = "/chargers/actions/{actionId}", tag = "Chargers",
    responses((status = 200, body = ActionBody), (status = 404)))]
pub(crate) async fn get_charger_action(
    state: State<App>,
    caller: Caller,
    id: Path<String>,
) -> Result<Json<ActionBody>, Problem> {
    get_action::<Charger>(state, caller, id).await
}

/// An action of a battery. Beta.
#[utoipa::path(get, path = "/batteries/actions/{actionId}", tag = "Batteries",
    responses((status = 200, body = ActionBody), (status = 404)))]
pub(crate) async fn get_battery_action(
    state: State<App>,
    caller: Caller,
    id: Path<String>,
) -> Result<Json<ActionBody>, Problem> {
    get_action::<Battery>(state, caller, id).await
}

/// Calls an action of a charger off. What the manufacturer has may still be carried out.
#[utoipa::path(post, path = "/chargers/actions/{actionId}/cancel", tag = "Chargers",
    responses((status = 200, body = ActionBody), (status = 404), (status = 409)))]
pub(crate) async fn cancel_charger_action(
    state: State<App>,
    caller: Caller,
    id: Path<String>,
) -> Result<Response, Problem> {
    cancel_action::<Charger>(state, caller, id).await
}

/// Calls an action of a battery off. Beta.
#[utoipa::path(post, path = "/batteries/actions/{actionId}/cancel", tag = "Batteries",
    responses((status = 200, body = ActionBody), (status = 404), (status = 409)))]
pub(crate) async fn cancel_battery_action(
    state: State<App>,
    caller: Caller,
    id: Path<String>,
) -> Result<Response, Problem> {
    cancel_action::<Battery>(state, caller, id).await
}

async fn get_action<T: DeviceView>(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<ActionBody>, Problem> {
    let (id, client_id) = (parse_action_id(&id)?, Some(&*caller.client.id));
    let found = orders::find_action(&app, id, client_id, is_callers::<T>(&caller)).await?;
    let action = found.ok_or_else(|| Problem::no_entity("action"))?;
    Ok(Json(ActionBody::from_action(&action)))
}

async fn cancel_action<T: DeviceView>(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let (id, client_id) = (parse_action_id(&id)?, Some(&*caller.client.id));
    let cancelled = orders::cancel_action(&app, id, client_id, is_callers::<T>(&caller)).await?;
    answer_cancellation(cancelled)
}

/// Answer to a request to cancel an action.
///
/// # Errors
/// There is no such action, or it had ended before.
pub fn answer_cancellation(cancelled: Option<Cancelled>) -> Result<Response, Problem> {
    match cancelled {
        None => Err(Problem::no_entity("action")),
        Some(Cancelled::Now(action)) => Ok(Json(ActionBody::from_action(&action)).into_response()),
        Some(Cancelled::Before(action)) => {
            Err(Problem::already_resolved(&ActionBody::from_action(&action)))
        }
    }
}

/// Returns `true` if an action of the caller's client is one that the caller may see below a path.
fn is_callers<T: DeviceView>(caller: &Caller) -> impl Fn(&Action) -> bool {
    let user_id = caller.user_id.clone();
    move |action| action.kind == T::KIND && user_id.as_ref().is_none_or(|id| *id == action.user_id)
}

/// The identifier in a path. One that is none names no action.
fn parse_action_id(id: &str) -> Result<Uuid, Problem> {
    Uuid::parse_str(id).map_err(|_| Problem::no_entity("action"))
}
