//! Lists and single devices of all kinds.
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::Serialize;
use slackwater_control::device::scope::DeviceKind;
use slackwater_wire::version::field::Field;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::auth::caller::Caller;
use crate::page::{ListRequest, PageQuery};
use crate::problem::Problem;
use crate::request::{Path, query_pairs};
use crate::version::Version;
use slackwater_integration::error::VendorError;
use slackwater_service::cache::index::Index;
use slackwater_service::cache::tables::Tables;
use slackwater_service::jobs::reading::refresh;
use slackwater_service::state::App;
use slackwater_store::devices::Device;

/// View of a device for a client.
pub trait DeviceView: Serialize {
    /// The kind of device.
    const KIND: DeviceKind;
    /// The last word of the path of its lists.
    const LIST: &'static str;
    /// Name of the kind in problems.
    const WORD: &'static str;

    /// The shape of a device, as it is shown.
    fn from_context(seen: &ViewContext<'_>) -> Self;
}

/// A device and what is around it.
#[derive(Debug, Clone, Copy)]
pub struct ViewContext<'a> {
    /// The device.
    pub device: &'a Device,
    /// Everything else that is known.
    pub tables: &'a Tables,
    /// The version of the answer.
    pub version: Version,
    /// When it was asked for.
    pub now: DateTime<Utc>,
}

/// The kinds of device that a read can force a fetch for (ENV-16).
const FETCHED: [DeviceKind; 4] =
    [DeviceKind::Vehicle, DeviceKind::Charger, DeviceKind::Hvac, DeviceKind::Inverter];

/// Length of a device in an answer, about.
const BYTES_EACH: usize = 1_536;

/// The field that costs no call of a manufacturer (ENV-19).
const KEPT_HERE: &str = "smartChargingPolicy";

/// Request for the devices of a client.
pub(crate) type ListParts = (State<App>, Caller, Uri, PageQuery);

/// Request for the devices of one user, whose identifier is in the path.
pub(crate) type UserListParts = (State<App>, Caller, Path<String>, Uri, PageQuery);

/// Request for the device whose identifier is in the path.
pub(crate) type DeviceParts = (State<App>, Caller, Path<String>, Uri);

/// Devices of the client, newest first.
pub(crate) async fn list_devices<T: DeviceView>(
    (State(app), caller, uri, query): ListParts,
) -> Result<Response, Problem> {
    let user_id = caller.user_id.clone();
    answer_list::<T>(&app, &caller, user_id.as_deref(), &uri, &query).await
}

/// Devices of one user, newest first.
pub(crate) async fn list_devices_of_user<T: DeviceView>(
    (State(app), caller, Path(user_id), uri, query): UserListParts,
) -> Result<Response, Problem> {
    if app.cache().read(|tables| tables.user(&caller.client.id, &user_id).is_none()) {
        return Err(Problem::no_entity("user"));
    }
    answer_list::<T>(&app, &caller, Some(&user_id), &uri, &query).await
}

async fn answer_list<T: DeviceView>(
    app: &App,
    caller: &Caller,
    user_id: Option<&str>,
    uri: &Uri,
    query: &PageQuery,
) -> Result<Response, Problem> {
    let is_paged = caller.version.has(Field::PaginatedLists);
    let whose = (&*caller.client.id, user_id);
    let request = ListRequest::new(app, whose, T::LIST, query, is_paged)?;
    if must_fetch::<T>(caller, uri) {
        fetch_devices::<T>(app, caller, user_id).await?;
    }
    let listing = app.cache().read(|tables| {
        request.take_page(tables.list(&caller.client.id, user_id, T::KIND), |id| {
            let device = tables.device(&caller.client.id, *id)?;
            Some(T::from_context(&ViewContext {
                device,
                tables,
                version: caller.version,
                now: caller.now,
            }))
        })
    });
    // Written after the tables are free for others again.
    request.answer(&listing, BYTES_EACH)
}

/// One device.
pub(crate) async fn get_device<T: DeviceView>(
    (State(app), caller, Path(id), uri): DeviceParts,
) -> Result<Response, Problem> {
    let device = find_device::<T>(&app, &caller, &id)?;
    if must_fetch::<T>(&caller, &uri) {
        let was_heard_of = device.state.heard_at.is_some();
        refresh(&app, &device).await.map_err(|error| Problem::of_vendor(&error, was_heard_of))?;
    }
    answer_device::<T>(&app, &caller, device.id)
}

/// The device as it stands now.
///
/// # Errors
/// It was deleted meanwhile.
pub fn answer_device<T: DeviceView>(
    app: &App,
    caller: &Caller,
    id: Uuid,
) -> Result<Response, Problem> {
    app.cache().read(|tables| {
        let device = tables.device(&caller.client.id, id);
        let device = device.ok_or_else(|| Problem::no_entity(T::WORD))?;
        let seen = ViewContext { device, tables, version: caller.version, now: caller.now };
        Ok(Json(T::from_context(&seen)).into_response())
    })
}

/// A device of the caller, of that kind. One of somebody else is none.
///
/// # Errors
/// There is none.
pub fn find_device<T: DeviceView>(
    app: &App,
    caller: &Caller,
    id: &str,
) -> Result<Arc<Device>, Problem> {
    let device = find_any(app, caller, id).filter(|device| device.kind == T::KIND);
    device.ok_or_else(|| Problem::no_entity(T::WORD))
}

/// A device of the caller, of any kind.
#[must_use]
pub fn find_any(app: &App, caller: &Caller, id: &str) -> Option<Arc<Device>> {
    let id = Uuid::parse_str(id).ok()?;
    let device = app.cache().read(|tables| tables.device(&caller.client.id, id).cloned())?;
    let is_users = caller.user_id.as_ref().is_none_or(|user_id| *user_id == device.user_id);
    is_users.then_some(device)
}

/// Returns `true` if a read is to ask the manufacturer first.
fn must_fetch<T: DeviceView>(caller: &Caller, uri: &Uri) -> bool {
    let fields = query_pairs(uri).filter(|(name, _)| name == "fields" || name == "fields[]");
    let costs =
        |value: &str| value.split(',').any(|f| !f.trim().is_empty() && f.trim() != KEPT_HERE);
    caller.version.has(Field::SynchronousFields)
        && FETCHED.contains(&T::KIND)
        && fields.into_iter().any(|(_, value)| costs(&value))
}

/// Fetches all devices of a list at once, and waits for the slowest (ENV-18).
async fn fetch_devices<T: DeviceView>(
    app: &App,
    caller: &Caller,
    user_id: Option<&str>,
) -> Result<(), Problem> {
    let devices: Vec<Arc<Device>> = app.cache().read(|tables| {
        let index = tables.list(&caller.client.id, user_id, T::KIND);
        let ids = index.into_iter().flat_map(Index::iter);
        ids.filter_map(|id| tables.device(&caller.client.id, *id).cloned()).collect()
    });
    let of = devices.len();
    let mut reads = JoinSet::new();
    for device in devices {
        let app = app.clone();
        reads.spawn(async move { refresh(&app, &device).await });
    }
    let failed: Vec<VendorError> =
        reads.join_all().await.into_iter().filter_map(Result::err).collect();
    let failed = failed.iter().filter(|error| !is_of_device(error)).count();
    if failed > 0 { Err(Problem::some_vendors_failed(failed, of)) } else { Ok(()) }
}

/// Returns `true` if the device did not answer, not its manufacturer.
const fn is_of_device(error: &VendorError) -> bool {
    matches!(error, VendorError::Asleep { .. } | VendorError::Unreachable)
}
