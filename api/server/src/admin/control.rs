//! Commands whose paths the specification does not print, on the operators'
//! address only. They make the same actions, and are refused for the same
//! reasons, as those of clients.
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use slackwater_control::device::command::Command;
use slackwater_wire::version::operation_mode::parse_operation_mode;
use uuid::Uuid;

use crate::admin::body::read;
use crate::admin::console::worlds::{first, world_of};
use slackwater_http::problem::Problem;
use slackwater_http::request::Path;
use slackwater_http::routes::actions::answer_cancellation;
use slackwater_http::routes::overrides::SmartOverride;
use slackwater_service::control::body::ActionBody;
use slackwater_service::control::orders::{self, find_action, order};
use slackwater_service::control::overrides;
use slackwater_service::state::App;
use slackwater_store::actions::Origin;
use slackwater_store::clients;
use slackwater_store::devices::Device;

/// The services of all environments.
type Worlds = Vec<App>;

/// Routes below `/control`.
pub fn router(worlds: &[App]) -> Router {
    Router::new()
        .route("/control/devices/{device}/command", post(send_command))
        .route("/control/devices/{device}/override", post(start_override).delete(end_override))
        .route("/control/actions/{action}", get(show_action))
        .route("/control/actions/{action}/cancel", post(cancel_action))
        .with_state(worlds.to_vec())
}

/// Tells a device something, such as `{"charge": "start"}`.
async fn send_command(
    State(worlds): State<Worlds>,
    Path(device): Path<String>,
    body: Bytes,
) -> Result<Json<ActionBody>, Problem> {
    let (app, device) = device_of(&worlds, &device).await?;
    let command: Command = read(&body)?;
    check_version(&app, &device, &command).await?;
    let action = order(&app, device.id, command, Origin::Client).await?;
    Ok(Json(ActionBody::from_action(&action)))
}

/// Has a vehicle or charger charge now.
async fn start_override(
    State(worlds): State<Worlds>,
    Path(device): Path<String>,
) -> Result<Json<SmartOverride>, Problem> {
    let (app, device) = device_of(&worlds, &device).await?;
    Ok(Json(SmartOverride::from_override(&overrides::create(&app, device.id).await?)))
}

/// Ends that.
async fn end_override(
    State(worlds): State<Worlds>,
    Path(device): Path<String>,
) -> Result<Json<SmartOverride>, Problem> {
    let (app, device) = device_of(&worlds, &device).await?;
    let ended = overrides::end(&app, device.id).await?;
    let ended =
        ended.ok_or_else(|| Problem::no_entity(&format!("smart override of {}", device.id)))?;
    Ok(Json(SmartOverride::from_override(&ended)))
}

/// An action of any device.
async fn show_action(
    State(worlds): State<Worlds>,
    Path(action): Path<String>,
) -> Result<Json<ActionBody>, Problem> {
    let (app, id) = (first(&worlds)?, parse_action_id(&action)?);
    let found = find_action(app, id, None, |_| true).await?.ok_or_else(|| no_action(&action))?;
    Ok(Json(ActionBody::from_action(&found)))
}

/// Calls an action of any device off.
async fn cancel_action(
    State(worlds): State<Worlds>,
    Path(action): Path<String>,
) -> Result<Response, Problem> {
    let id = parse_action_id(&action)?;
    let found = find_action(first(&worlds)?, id, None, |_| true).await?;
    let found = found.ok_or_else(|| no_action(&action))?;
    let app = world_of(&worlds, &found.client_id).await?;
    answer_cancellation(orders::cancel_action(&app, id, None, |_| true).await?)
}

/// Devices by their identifier, or by their manufacturer's name of them.
fn find_devices(app: &App, given: &str) -> Vec<Arc<Device>> {
    let id = Uuid::parse_str(given).ok();
    app.cache().read(|tables| match id {
        Some(id) => tables.any_device(id).cloned().into_iter().collect(),
        None => tables.devices().filter(|one| one.vendor_device == given).cloned().collect(),
    })
}

/// A name that several devices have, with an identifier for each to use instead.
fn refuse_ambiguous_name(given: &str, devices: &[Arc<Device>]) -> Problem {
    let mut candidates: Vec<String> = devices
        .iter()
        .map(|device| {
            format!("{} (client {}, user {})", device.id, device.client_id, device.user_id)
        })
        .collect();
    candidates.sort();
    let (count, candidates) = (candidates.len(), candidates.join(", "));
    Problem::bad_request(format!("{count} devices are named {given}; say which: {candidates}"))
}

/// A device, and the service that it belongs to.
pub(crate) async fn device_of(worlds: &[App], given: &str) -> Result<(App, Arc<Device>), Problem> {
    let devices = find_devices(first(worlds)?, given);
    match devices.as_slice() {
        [device] => Ok((world_of(worlds, &device.client_id).await?, Arc::clone(device))),
        [] => Err(Problem::no_entity(&format!("device {given:?}"))),
        several => Err(refuse_ambiguous_name(given, several)),
    }
}

/// A mode that came with a later version than the client's does not exist for it (BAT-04).
async fn check_version(app: &App, device: &Device, command: &Command) -> Result<(), Problem> {
    let Command::OperationMode(mode) = command else { return Ok(()) };
    let client = clients::get_client(app.store(), &device.client_id).await?;
    let client =
        client.ok_or_else(|| Problem::no_entity(&format!("client {:?}", device.client_id)))?.client;
    let known = parse_operation_mode(mode.as_str(), client.version);
    known.map(|_| ()).map_err(|error| Problem::bad_request(error.to_string()))
}

fn no_action(given: &str) -> Problem {
    Problem::no_entity(&format!("action {given:?}"))
}

fn parse_action_id(id: &str) -> Result<Uuid, Problem> {
    Uuid::parse_str(id).map_err(|_| no_action(id))
}
