//! Control of the sandbox, on the operators' address only.
//!
//! Each call returns when readers of the service see what it did: what clients
//! hold is read from memory, so the devices that an order is about are polled
//! before the answer.
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::Uri;
use axum::routing::{get, post};
use axum::{Router, http::StatusCode};
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};
use slackwater_control::device::command::Command;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;
use uuid::Uuid;

use crate::admin::body::{order_problem, read, scenario_problem};
use crate::admin::link;
use crate::seeding::kept;
use crate::seeding::residents::SandboxSeeder;
use crate::seeding::samples::Keep;
use slackwater_http::problem::Problem;
use slackwater_http::request::{Path, query_pairs};
use slackwater_integration::reading::Reading;
use slackwater_integration::vendor::Linked;
use slackwater_sandbox::conduct::Conduct;
use slackwater_sandbox::control::{
    Applied, ClockOrder, ClockState, ConductOrder, HandOrder, ReceivedCommand,
};
use slackwater_sandbox::devices::Device;
use slackwater_sandbox::scenario::Scenario;
use slackwater_sandbox::schema::schema;
use slackwater_service::jobs::poller::poll_now;
use slackwater_service::plans::area;
use slackwater_service::state::App;
use slackwater_store::clients;
use slackwater_store::error::StoreError;

/// Longest wait of a call for readers, in time of the machine. A device that hangs, or a clock that
/// stands still, does not hold it up for ever.
const PATIENCE: Duration = Duration::from_secs(5);

/// Routes below `/sandbox`.
pub fn router(residents: SandboxSeeder) -> Router {
    Router::new()
        .route("/sandbox/scenario", get(show_scenario).post(apply_patch))
        .route("/sandbox/schema", get(async || Json(schema())))
        .route("/sandbox/devices", get(list_devices))
        .route("/sandbox/truth", get(list_truths))
        .route("/sandbox/metered", get(sum_meters))
        .route("/sandbox/devices/{device}", get(show_truth))
        .route("/sandbox/devices/{device}/reach", post(reach_device))
        .route("/sandbox/devices/{device}/send", post(send_command))
        .route("/sandbox/conduct", post(set_conduct))
        .route("/sandbox/hand", post(do_by_hand))
        .route("/sandbox/commands", get(list_commands))
        .route("/sandbox/clock", get(show_clock).post(set_clock))
        .route("/sandbox/link/accept", post(link::accept))
        .route("/sandbox/link/deny", post(link::deny))
        .with_state(residents)
}

/// All there is, patches included.
async fn show_scenario(State(residents): State<SandboxSeeder>) -> Json<Scenario> {
    Json(residents.sandbox.scenario())
}

/// Adds or changes what a patch in YAML or JSON names, and links it for the
/// client of the query, or the scenario's own.
async fn apply_patch(
    State(residents): State<SandboxSeeder>,
    uri: Uri,
    body: String,
) -> Result<Json<Applied>, Problem> {
    let client_id = find_client(&residents, &uri).await?;
    let applied = apply_and_keep(&residents, body).await?;
    let whole = residents.sandbox.scenario();
    let patched = patched(&whole, &applied);
    let ids = residents.apply_scenario(&patched, &client_id, Keep::All).await?;
    poll_devices(&residents, ids).await;
    Ok(Json(applied))
}

/// The part of a scenario that a patch named.
fn patched(whole: &Scenario, applied: &Applied) -> Scenario {
    let mut part = whole.clone();
    part.zones.retain(|zone| applied.zones.contains(&zone.id));
    part.tariffs.retain(|tariff| applied.tariffs.contains(&tariff.id));
    part.samples.retain(|samples| applied.samples.contains(&samples.device));
    part.locations.retain(|location| applied.locations.contains(&location.id));
    let named = |id: &String| applied.devices.contains(id);
    part.chargers.retain(|device| named(&device.id));
    part.vehicles.retain(|device| named(&device.id));
    part.hvacs.retain(|device| named(&device.id));
    part.inverters.retain(|device| named(&device.id));
    part.batteries.retain(|device| named(&device.id));
    part.meters.retain(|device| named(&device.id));
    part.flex_policies.retain(|policy| applied.flex_policies.contains(&policy.id));
    part.charger_policies.retain(|policy| applied.charger_policies.contains(&policy.charger));
    part.vehicle_policies.retain(|policy| applied.vehicle_policies.contains(&policy.vehicle));
    part
}

/// The client that `?client=` names; without it, the scenario's own.
async fn find_client(residents: &SandboxSeeder, uri: &Uri) -> Result<String, Problem> {
    let named = query_pairs(uri).find(|(name, _)| name == "client");
    let Some((_, id)) = named else { return Ok(residents.client_id.to_string()) };
    let known = clients::get_client(residents.app.store(), &id).await?;
    let known = known.filter(|row| row.client.environment == residents.app.environment());
    let missing = || Problem::no_entity(&format!("client {id:?} of the sandbox"));
    known.map(|row| row.client.id).ok_or_else(missing)
}

/// Every device, with what the scenario's client knows it by.
async fn list_devices(State(residents): State<SandboxSeeder>) -> Json<Value> {
    let all = residents.sandbox.devices().into_iter().map(|device| {
        let device = device.common();
        json!({
            "name": device.id,
            "kind": device.kind.as_str(),
            "user": device.user,
            "vendor": device.vendor,
            "linked_as": residents.linked_as(&device.id),
        })
    });
    Json(all.collect())
}

/// Reading of a device that is awake and whose manufacturer is honest.
async fn show_truth(
    State(residents): State<SandboxSeeder>,
    Path(device): Path<String>,
) -> Result<Json<Reading>, Problem> {
    let name = residents.device_name(&device);
    let reading = residents.sandbox.actual_reading(&name);
    reading.map(Json).ok_or_else(|| Problem::no_entity(&format!("device {device:?}")))
}

/// Readings of all devices, or of those of `?kind=`, as of [`show_truth`].
async fn list_truths(State(residents): State<SandboxSeeder>, uri: Uri) -> Json<Vec<Value>> {
    let kind = query_pairs(&uri).find(|(name, _)| name == "kind").map(|(_, kind)| kind);
    let all = residents.sandbox.devices();
    let common = all.iter().map(Device::common);
    let meant = common.filter(|device| kind.as_deref().is_none_or(|k| k == device.kind.as_str()));
    let truth = meant.filter_map(|device| {
        let reading = residents.sandbox.actual_reading(&device.id)?;
        Some(json!({ "device": device.id, "kind": device.kind.as_str(), "reading": reading }))
    });
    Json(truth.collect())
}

/// Counts of devices' own meters in each whole quarter of an hour of `[from, to)`, in kWh: of
/// `?device=`, or of all.
async fn sum_meters(
    State(residents): State<SandboxSeeder>,
    uri: Uri,
) -> Result<Json<Vec<Value>>, Problem> {
    let given = |name: &str| query_pairs(&uri).find(|(given, _)| given == name).map(|(_, v)| v);
    let instant = |name: &'static str| {
        let text = given(name).map(|text| text.replace(' ', "+"));
        let at = text.and_then(|text| DateTime::parse_from_rfc3339(&text).ok());
        let expected = || format!("/{name}: expected an instant such as 2026-01-05T18:00:00Z");
        at.map(|at| at.to_utc()).ok_or_else(|| Problem::invalid(vec![expected()]))
    };
    let (from, to) = (instant("from")?, instant("to")?);
    let only = given("device").map(|device| residents.device_name(&device));
    let all = residents.sandbox.devices();
    let names = all.iter().map(|device| device.common().id);
    let meant = names.filter(|name| only.as_ref().is_none_or(|only| only == name));
    let counted = meant.map(|name| {
        let quarters = residents.sandbox.metered(&name, from, to);
        let imported: Vec<_> = quarters.iter().map(|quarter| quarter.imported).collect();
        let exported: Vec<_> = quarters.iter().map(|quarter| quarter.exported).collect();
        let start = quarters.first().map(|quarter| quarter.start);
        json!({
            "device": name, "start": start,
            "imported_kwh": imported, "exported_kwh": exported,
        })
    });
    Ok(Json(counted.collect()))
}

/// Says what a device or manufacturer does when it is called.
async fn set_conduct(
    State(residents): State<SandboxSeeder>,
    body: Bytes,
) -> Result<StatusCode, Problem> {
    let order: ConductOrder = read(&body)?;
    let order = match order {
        ConductOrder::Device { device, conduct, ignores_commands } => {
            let device = residents.device_name(&device);
            ConductOrder::Device { device, conduct, ignores_commands }
        }
        ConductOrder::Vendor { .. } => order,
    };
    residents.sandbox.conduct(&order).map_err(order_problem)?;
    let (ids, does) = match &order {
        ConductOrder::Device { device, conduct, .. } => (residents.linked_as(device), conduct),
        ConductOrder::Vendor { vendor, conduct } => (residents.of_vendor(vendor), conduct),
    };
    if *does != Conduct::Hang {
        poll_devices(&residents, ids).await;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// A person on site does something to a device.
async fn do_by_hand(
    State(residents): State<SandboxSeeder>,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let order: HandOrder = read(&body)?;
    let order = HandOrder { device: residents.device_name(&order.device), ..order };
    let at = residents.sandbox.hand(&order).map_err(order_problem)?;
    poll_devices(&residents, find_neighbours(&residents, &order.device)).await;
    Ok(Json(json!({ "at": at })))
}

/// A device does now what it was told.
async fn reach_device(
    State(residents): State<SandboxSeeder>,
    Path(device): Path<String>,
) -> Result<Json<Value>, Problem> {
    let device = residents.device_name(&device);
    let at = residents.sandbox.reach(&device).map_err(order_problem)?;
    poll_devices(&residents, find_neighbours(&residents, &device)).await;
    Ok(Json(json!({ "at": at })))
}

/// Sends a command past all actions, such as `{"charge": "start"}`.
async fn send_command(
    State(residents): State<SandboxSeeder>,
    Path(device): Path<String>,
    body: Bytes,
) -> Result<StatusCode, Problem> {
    let command: Command = read(&body)?;
    if let Some(refusal) = command.impossible_limit() {
        return Err(refusal.into());
    }
    let name = residents.device_name(&device);
    let all = residents.sandbox.devices();
    let common = all.iter().map(Device::common).find(|c| c.id == name);
    let (user, vendor) = common
        .and_then(|common| Some((common.user, common.vendor?)))
        .ok_or_else(|| Problem::no_entity(&format!("device {device:?}")))?;
    let connection = residents.sandbox.connection(&user, &vendor);
    let missing = || Problem::no_entity(&format!("vendor {:?}", vendor.as_str()));
    let vendor = residents.sandbox.vendor(&vendor).ok_or_else(missing)?;
    let linked = Linked::new(connection, &name);
    let sent = vendor.send(&linked, &command, residents.app.now()).await;
    sent.map_err(|error| Problem::of_vendor(&error, true))?;
    poll_devices(&residents, find_neighbours(&residents, &name)).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Commands that manufacturers were sent, oldest first; `?device=` names one.
async fn list_commands(
    State(residents): State<SandboxSeeder>,
    uri: Uri,
) -> Result<Json<Vec<ReceivedCommand>>, Problem> {
    let device = query_pairs(&uri).find(|(name, _)| name == "device");
    let device = device.map(|(_, device)| residents.device_name(&device));
    Ok(Json(residents.sandbox.received(device.as_deref()).map_err(order_problem)?))
}

/// State of the clock.
async fn show_clock(State(residents): State<SandboxSeeder>) -> Result<Json<ClockState>, Problem> {
    let clock = residents.sandbox.set_clock(&ClockOrder::default());
    Ok(Json(clock.map_err(order_problem)?))
}

/// State of a clock, and if all that was due then is done.
#[derive(Debug, Serialize)]
struct Stepped {
    #[serde(flatten)]
    clock: ClockState,
    is_settled: bool,
}

/// Steps the clock or sets its speed. What falls due in a step is polled and
/// planned, and what schedules and plans want then is ordered, before the answer.
async fn set_clock(
    State(residents): State<SandboxSeeder>,
    body: Bytes,
) -> Result<Json<Stepped>, Problem> {
    let clock = residents.sandbox.set_clock(&read(&body)?).map_err(order_problem)?;
    kept::keep_clock(&residents.app).await?;
    // Whoever reads too early reads old data, which is no failure.
    let is_settled = match timeout(PATIENCE, settle(&residents.app, clock.now)).await {
        Ok(settled) => settled.map(|()| true)?,
        Err(_) => false,
    };
    Ok(Json(Stepped { clock, is_settled }))
}

/// Applies a patch to the sandbox and keeps it.
async fn apply_and_keep(residents: &SandboxSeeder, text: String) -> Result<Applied, Problem> {
    // One patch at a time, so that the later one is kept last.
    let _turn = residents.sandbox.patching().await;
    let sandbox = residents.sandbox.clone();
    // A long text takes seconds to read.
    let applied = spawn_blocking(move || sandbox.apply(&text)).await;
    let applied = applied.map_err(|_| Problem::server_error())?;
    let applied = applied.map_err(scenario_problem)?;
    kept::keep_patches(residents).await?;
    Ok(applied)
}

/// Waits until all that was due at `now` is done, and all that came of it.
async fn settle(app: &App, now: DateTime<Utc>) -> Result<(), StoreError> {
    let plans = app.planner();
    loop {
        app.poller().idle(now).await;
        plans.idle(now).await;
        area::idle(app).await?;
        app.control().idle(now).await;
        // What is ordered reads devices, and what is read is planned for.
        let is_read_and_planned =
            app.poller().is_idle(now) && plans.is_idle(now) && area::is_idle(app).await?;
        if is_read_and_planned && app.control().is_idle(now) {
            return Ok(());
        }
    }
}

/// A device and those of its user, which may be at the other end of its cable.
fn find_neighbours(residents: &SandboxSeeder, device: &str) -> Vec<Uuid> {
    residents.app.cache().read(|tables| {
        let owners = tables.devices().filter(|other| other.vendor_device == device);
        let users = owners.filter_map(|owner| tables.user(&owner.client_id, &owner.user_id));
        users.flat_map(slackwater_service::cache::tables::OfUser::device_ids).collect()
    })
}

/// Polls devices, so that readers see how they stand.
async fn poll_devices(residents: &SandboxSeeder, ids: Vec<Uuid>) {
    let mut polls = JoinSet::new();
    for id in ids {
        let app = residents.app.clone();
        polls.spawn(async move { poll_now(&app, id).await });
    }
    let _: Result<Vec<()>, _> = timeout(PATIENCE, polls.join_all()).await;
}
