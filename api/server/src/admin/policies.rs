//! Policies and plans for operators: what has no path on the public address
//! (NS-09, NS-35, NS-37).
use axum::extract::State;
use axum::routing::{get, put};
use axum::{Json, Router};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::policy::charger::{Change, ChargerPatch, ChargerPolicy};
use slackwater_control::policy::comfort::ComfortPolicy;
use slackwater_control::policy::flex::FlexRequest;
use slackwater_control::policy::vehicle::VehiclePolicyRequest;
use uuid::Uuid;

use crate::admin::body::read;
use crate::admin::control::device_of;
use slackwater_http::problem::Problem;
use slackwater_http::request::Path;
use slackwater_service::plans::crowding::{explain_crowding, find_crowding_devices};
use slackwater_service::plans::flex_body::FlexPolicyBody;
use slackwater_service::plans::patching::{keep_flex, patch_charger, set_comfort, set_vehicle};
use slackwater_service::plans::show::{explain_lack_of_plan, open_plan};
use slackwater_service::plans::unit::show_unit;
use slackwater_service::state::App;

/// A flex policy as an operator states it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlexOrder {
    /// The vehicle.
    pub vehicle_id: Uuid,
    /// Location at which it holds.
    pub location_id: Uuid,
    /// Request of the policy.
    pub policy: FlexRequest,
}

/// Routes below `/policies` and `/plans`.
pub fn router(worlds: Vec<App>) -> Router {
    Router::new()
        .route("/policies/devices/{device}", get(show_policies).put(set_policy))
        .route("/policies/flex/{policy}", put(set_flex))
        .route("/plans/{device}", get(show_plan))
        .with_state(worlds)
}

/// The policies of a device.
async fn show_policies(
    State(worlds): State<Vec<App>>,
    Path(device): Path<String>,
) -> Result<Json<Value>, Problem> {
    let (app, device) = device_of(&worlds, &device).await?;
    if device.kind == DeviceKind::Hvac {
        let comfort = app.cache().read(|tables| tables.plans.comfort(device.id).cloned());
        return Ok(Json(json!({ "comfort": comfort })));
    }
    let (charger, vehicle, flex) = app.cache().read(|tables| {
        let flex = tables.plans.flex_of(device.id).map(|row| FlexPolicyBody::from_row(row));
        let plans = &tables.plans;
        (plans.of_charger(device.id), plans.of_vehicle(device.id), flex.collect::<Vec<_>>())
    });
    Ok(Json(match device.kind {
        DeviceKind::Charger => json!({ "smart_charging": charger }),
        _ => json!({ "smart_charging": vehicle, "flex": flex }),
    }))
}

/// Sets the standing policy of a device, in the members of its kind. For a heating or cooling unit
/// `null` goes back to the policy of the settings.
async fn set_policy(
    State(worlds): State<Vec<App>>,
    Path(device): Path<String>,
    body: String,
) -> Result<Json<Value>, Problem> {
    let (app, device) = device_of(&worlds, &device).await?;
    if device.kind == DeviceKind::Charger {
        let policy: ChargerPolicy = read(body.as_bytes())?;
        let patch = ChargerPatch {
            is_enabled: Change::Set(policy.is_enabled),
            deadline: Change::Set(policy.deadline),
            charging_duration: Change::Set(policy.charging_duration),
        };
        return Ok(Json(json!(patch_charger(&app, device.id, patch).await?)));
    }
    if device.kind == DeviceKind::Hvac {
        let policy: Option<ComfortPolicy> = read(body.as_bytes())?;
        set_comfort(&app, device.id, policy).await?;
        let comfort = app.cache().read(|tables| tables.plans.comfort(device.id).cloned());
        return Ok(Json(json!({ "comfort": comfort })));
    }
    if device.kind != DeviceKind::Vehicle {
        let reason = "only vehicles, chargers, and heating and cooling units have policies";
        return Err(Problem::bad_request(reason));
    }
    let policy: VehiclePolicyRequest = read(body.as_bytes())?;
    set_vehicle(&app, &device, policy).await?;
    Ok(Json(json!(policy)))
}

/// Makes a flex policy, or puts it in the place of one.
async fn set_flex(
    State(worlds): State<Vec<App>>,
    Path(policy): Path<Uuid>,
    body: String,
) -> Result<Json<FlexPolicyBody>, Problem> {
    let order: FlexOrder = read(body.as_bytes())?;
    let (app, device) = device_of(&worlds, &order.vehicle_id.to_string()).await?;
    let places = (order.vehicle_id, order.location_id);
    Ok(Json(keep_flex(&app, &device.client_id, policy, places, order.policy).await?))
}

/// The last plan of a device, with its reasons in words, on the wall clock of its location.
async fn show_plan(
    State(worlds): State<Vec<App>>,
    Path(device): Path<String>,
) -> Result<Json<Value>, Problem> {
    let (app, device) = device_of(&worlds, &device).await?;
    let missing = || Problem::absent(explain_lack_of_plan(&app, &device));
    if device.kind == DeviceKind::Hvac {
        return Ok(Json(json!(show_unit(&app, device.id).ok_or_else(missing)?)));
    }
    let shown = open_plan(&app, device.id).await?.ok_or_else(missing)?.shown;
    let time_zone = app.cache().read(|tables| {
        let location = tables.whereabouts(&device);
        location.and_then(|location| location.facts.time_zone)
    });
    let sentences = shown.sentences(time_zone.unwrap_or(Tz::UTC));
    let mut sentences: Vec<String> = sentences.into_iter().map(|sentence| sentence.text).collect();
    let crowding = find_crowding_devices(&app, &device);
    sentences.extend(explain_crowding(&crowding));
    let mut answer = json!(shown);
    answer["sentences"] = json!(sentences);
    answer["crowded_by"] = json!(crowding);
    Ok(Json(answer))
}
