//! Users, locations and devices of all clients, for operators; and new locations (NS-15).
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::Uri;
use axum::routing::get;
use axum::{Json, Router};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::admin::body::read;
use crate::admin::console::worlds::{first, world_of};
use crate::admin::control::device_of;
use slackwater_control::device::scope::DeviceKind;
use slackwater_http::problem::Problem;
use slackwater_http::request::{Path, query_pairs};
use slackwater_integration::reading::Position;
use slackwater_service::cache::tables::{OfUser, Tables};
use slackwater_service::linking::connect::{NewUser, connect};
use slackwater_service::state::App;
use slackwater_store::clients;
use slackwater_store::devices::Device;
use slackwater_store::locations::{Location, LocationFacts};

/// A location that an operator makes, or puts in the place of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocationOrder {
    /// The client.
    pub client: String,
    /// The user whose place it is. One that is not known yet is made.
    pub user: String,
    /// Its identifier; a new one, if none is given.
    pub id: Option<Uuid>,
    /// Its time zone.
    pub time_zone: Option<Tz>,
    /// Its coordinates. Vehicles are found at it by their position.
    pub position: Option<Position>,
    /// The market zone that it lies in.
    pub zone: Option<String>,
    /// The client's own part of that zone.
    pub area: Option<String>,
}

/// Routes of users, locations and devices.
pub fn router(worlds: Vec<App>) -> Router {
    Router::new()
        .route("/users", get(list_users))
        .route("/users/{client}/{user}", get(show_user))
        .route("/locations", get(list_locations).post(make_location))
        .route("/locations/{location}", get(show_location))
        .route("/devices", get(list_devices))
        .route("/devices/{device}", get(show_device))
        .with_state(worlds)
}

/// Conditions of a list, from a query.
struct Filter(Vec<(String, String)>);

impl Filter {
    /// Reads the conditions of a query. One that means nothing is refused: its list would be empty, or
    /// be that of all.
    async fn read(uri: &Uri, names: &[&str], worlds: &[App]) -> Result<Self, Problem> {
        let mut issues = Vec::new();
        let mut all = Vec::new();
        for (name, value) in query_pairs(uri) {
            if !names.contains(&name.as_ref()) {
                issues.push(format!("/{name}: is not a condition; one of {}", names.join(", ")));
            } else if name == "kind"
                && let Err(error) = DeviceKind::parse(&value)
            {
                issues.push(format!("/kind: {error}"));
            } else if name == "client"
                && clients::get_client(first(worlds)?.store(), &value).await?.is_none()
            {
                return Err(Problem::no_entity(&format!("client {value:?}")));
            }
            all.push((name.into_owned(), value.into_owned()));
        }
        if issues.is_empty() { Ok(Self(all)) } else { Err(Problem::invalid(issues)) }
    }

    /// True unless the query asks for another value under the name.
    fn lets(&self, name: &str, value: &str) -> bool {
        self.0.iter().filter(|(given, _)| given == name).all(|(_, wanted)| wanted == value)
    }
}

/// All users, or those of `?client=`.
async fn list_users(State(worlds): State<Vec<App>>, uri: Uri) -> Result<Json<Value>, Problem> {
    let filter = Filter::read(&uri, &["client"], &worlds).await?;
    let all = first(&worlds)?.cache().read(|tables| {
        let named = tables.all_users().filter(|(client, _)| filter.lets("client", client));
        let users = named.filter_map(|(client, id)| Some((client, tables.user(client, id)?)));
        users.map(|(client, user)| shown_user(client, user)).collect()
    });
    Ok(Json(sorted(all, &["client", "id"])))
}

/// A user with accounts, locations and devices.
async fn show_user(
    State(worlds): State<Vec<App>>,
    Path((client, id)): Path<(String, String)>,
) -> Result<Json<Value>, Problem> {
    let shown = first(&worlds)?.cache().read(|tables| {
        let user = tables.user(&client, &id)?;
        let mut shown = shown_user(&client, user);
        let accounts = user.accounts.values();
        shown["accounts"] = accounts
            .map(|account| json!({ "vendor": account.vendor, "is_valid": account.is_valid }))
            .collect();
        shown["locations"] = user.locations.iter().map(shown_location).collect();
        let devices = user.device_ids().into_iter().filter_map(|id| tables.any_device(id));
        shown["devices"] = devices.map(|device| shown_device(tables, device)).collect();
        Some(shown)
    });
    let missing = || Problem::no_entity(&format!("user {id:?} of the client {client:?}"));
    shown.map(Json).ok_or_else(missing)
}

fn shown_user(client: &str, user: &OfUser) -> Value {
    json!({
        "client": client,
        "id": user.id,
        "created_at": user.created_at,
        "is_deauthorised": user.is_deauthorised,
    })
}

/// All locations, or those of `?client=`, `?user=`, `?zone=` and `?area=`.
async fn list_locations(State(worlds): State<Vec<App>>, uri: Uri) -> Result<Json<Value>, Problem> {
    let filter = Filter::read(&uri, &["client", "user", "zone", "area"], &worlds).await?;
    let all = first(&worlds)?.cache().read(|tables| {
        let users = tables.all_users().filter_map(|(client, id)| tables.user(client, id));
        let shown = users.flat_map(|user| user.locations.iter().map(shown_location));
        let is_meant = |shown: &Value| {
            ["client", "user", "zone", "area"]
                .iter()
                .all(|name| filter.lets(name, shown[name].as_str().unwrap_or_default()))
        };
        shown.filter(is_meant).collect()
    });
    Ok(Json(sorted(all, &["client", "user", "id"])))
}

fn shown_location(location: &Location) -> Value {
    let LocationFacts { time_zone, position, zone_id, area_id } = &location.facts;
    json!({
        "id": location.id,
        "client": location.client_id,
        "user": location.user_id,
        "time_zone": time_zone,
        "position": position,
        "zone": zone_id,
        "area": area_id,
    })
}

/// A location with its tariff and the devices that are there.
async fn show_location(
    State(worlds): State<Vec<App>>,
    Path(given): Path<String>,
) -> Result<Json<Value>, Problem> {
    let app = first(&worlds)?;
    let shown = app.cache().read(|tables| {
        let (user, location) = find_location(tables, Uuid::parse_str(&given).ok()?)?;
        let mut shown = shown_location(location);
        let devices = user.device_ids().into_iter().filter_map(|id| tables.any_device(id));
        let is_there = |device: &&Arc<Device>| {
            tables.whereabouts(device).is_some_and(|place| place.id == location.id)
        };
        let devices = devices.filter(is_there).map(|device| shown_device(tables, device));
        shown["devices"] = devices.collect();
        Some((location.id, shown))
    });
    let missing = || Problem::no_entity(&format!("location {given:?}"));
    let (id, mut shown) = shown.ok_or_else(missing)?;
    shown["tariff"] = app.prices().read(|book| json!(book.schedule(id)));
    Ok(Json(shown))
}

/// A location of any user, with the user.
fn find_location(tables: &Tables, id: Uuid) -> Option<(&OfUser, &Location)> {
    let mut users = tables.all_users().filter_map(|(client, id)| tables.user(client, id));
    users.find_map(|user| Some((user, user.location(id)?)))
}

/// Makes a location, and answers with it.
async fn make_location(
    State(worlds): State<Vec<App>>,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let order: LocationOrder = read(&body)?;
    let app = world_of(&worlds, &order.client).await?;
    let location = checked_location(&app, order)?;
    let shown = shown_location(&location);
    let (client, id) = (location.client_id.clone(), location.user_id.clone());
    let user = NewUser { id, accounts: Vec::new(), locations: vec![location] };
    connect(&app, &client, vec![user]).await?;
    Ok(Json(shown))
}

/// The row of an order that makes sense.
fn checked_location(app: &App, order: LocationOrder) -> Result<Location, Problem> {
    let LocationOrder { client, user, id, time_zone, position, zone, area } = order;
    let mut issues = Vec::new();
    if user.trim().is_empty() {
        issues.push("/user: is empty".to_owned());
    }
    if let Some(Position { latitude, longitude }) = position {
        let coordinates = [("latitude", latitude, 90.0), ("longitude", longitude, 180.0)];
        let outside = coordinates.into_iter().filter(|(_, given, most)| given.abs() > *most);
        issues.extend(outside.map(|(name, given, most)| {
            format!("/position/{name}: is {given}°; it lies between -{most} and {most}°")
        }));
    }
    if area.is_some() && zone.is_none() {
        issues.push("/area: is part of a zone; give zone, too".to_owned());
    }
    let is_known = |zone: &String| app.price_lookup().zone(&client, zone).is_some();
    if let Some(zone) = zone.as_ref().filter(|zone| !is_known(zone)) {
        issues.push(format!("/zone: {zone:?} is not in [zones] of the settings"));
    }
    let is_of_other = id.is_some_and(|id| {
        app.cache().read(|tables| {
            let kept = find_location(tables, id).map(|(_, location)| location);
            kept.is_some_and(|kept| (&*kept.client_id, &*kept.user_id) != (&*client, &*user))
        })
    });
    if is_of_other {
        issues.push("/id: is a location of another user".to_owned());
    }
    if !issues.is_empty() {
        return Err(Problem::invalid(issues));
    }
    let facts = LocationFacts { time_zone, position, zone_id: zone, area_id: area };
    let id = id.unwrap_or_else(Uuid::new_v4);
    Ok(Location { id, client_id: client, user_id: user, facts })
}

/// All devices, or those of `?client=`, `?user=`, `?kind=` and `?vendor=`.
async fn list_devices(State(worlds): State<Vec<App>>, uri: Uri) -> Result<Json<Value>, Problem> {
    let filter = Filter::read(&uri, &["client", "user", "kind", "vendor"], &worlds).await?;
    let all = first(&worlds)?.cache().read(|tables| {
        let is_meant = |device: &&Arc<Device>| {
            filter.lets("client", &device.client_id)
                && filter.lets("user", &device.user_id)
                && filter.lets("kind", device.kind.as_str())
                && filter.lets("vendor", device.vendor.as_str())
        };
        tables.devices().filter(is_meant).map(|device| shown_device(tables, device)).collect()
    });
    Ok(Json(sorted(all, &["client", "user", "id"])))
}

/// A device with its last reading.
async fn show_device(
    State(worlds): State<Vec<App>>,
    Path(device): Path<String>,
) -> Result<Json<Value>, Problem> {
    let (app, device) = device_of(&worlds, &device).await?;
    let mut shown = app.cache().read(|tables| shown_device(tables, &device));
    shown["scopes"] = device.scopes.iter().map(|permission| permission.as_str()).collect();
    shown["reading"] = json!(device.state.reading);
    Ok(Json(shown))
}

fn shown_device(tables: &Tables, device: &Device) -> Value {
    json!({
        "id": device.id,
        "client": device.client_id,
        "user": device.user_id,
        "kind": device.kind.as_str(),
        "vendor": device.vendor,
        "vendor_device": device.vendor_device,
        "linked_at": device.linked_at,
        "location": tables.whereabouts(device).map(|location| location.id),
        "is_reachable": device.state.is_reachable,
        "heard_at": device.state.heard_at,
    })
}

/// Rows in the order of some of their texts.
fn sorted(mut rows: Vec<Value>, names: &[&str]) -> Value {
    rows.sort_by_cached_key(|row| {
        names
            .iter()
            .map(|name| row[name].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    });
    rows.into()
}
