//! A hundred thousand devices, kept in a database.
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::policy::flex::FlexRequest;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::reading::{Position, Reading};
use slackwater_integration::vendor::Connection;
use slackwater_service::clock::Clock;
use slackwater_service::config::Config;
use slackwater_service::linking::connect::{NewAccount, NewDevice, NewUser, connect};
use slackwater_service::state::{App, Urls};
use slackwater_store::client::{Client, Environment};
use slackwater_store::clients::{self, ClientRow};
use slackwater_store::database::Store;
use slackwater_store::devices::{self, DeviceState};
use slackwater_store::locations::{Location, LocationFacts};
use slackwater_store::policies::{self, FlexRow};
use slackwater_wire::version::dated::ApiVersion;
use uuid::Uuid;

use crate::Failure;

pub(crate) const USERS: usize = 10_000;
pub(crate) const DEVICES_EACH: usize = 10;
/// The client whose devices they are.
pub(crate) const CLIENT: &str = "load";

/// Users that are linked in one change.
const CHUNK: usize = 1_000;

/// The service on a database, without its sockets and jobs.
pub(crate) async fn load(config: &Config) -> Result<App, Failure> {
    let store = Store::open(&config.store.url).await?;
    let [base, auth, link] = ["base", "auth", "link"].map(ToOwned::to_owned);
    let world = (Environment::Sandbox, Clock::system(), Urls { base, auth, link });
    Ok(App::load(config.clone(), store, world).await?)
}

/// Keeps a client. Returns a token of it.
async fn client(app: &App) -> Result<String, Failure> {
    let client = Client {
        id: CLIENT.to_owned(),
        environment: Environment::Sandbox,
        name: String::new(),
        version: ApiVersion::LATEST,
        created_at: app.now(),
    };
    let row = ClientRow { client: client.clone(), secret_hash: String::new() };
    clients::insert_client(app.store(), &row).await?;
    let token =
        app.tokens().issue(app.store(), &Arc::new(client), app.clock().machine().moment()).await;
    token.map_err(|problem| format!("{problem:?}").into())
}

/// Keeps chargers that charge. Returns a token and their identifiers.
pub(crate) async fn chargers(config: &Config) -> Result<(String, Vec<Uuid>), Failure> {
    let app = load(config).await?;
    let token = client(&app).await?;
    let reading: Reading = serde_json::from_value(charger(app.now()))?;
    let mut all = Vec::new();
    for first in (0..USERS).step_by(CHUNK) {
        let new = (first..first + CHUNK).map(|number| user(number, DeviceKind::Charger));
        let users = new.collect::<Result<Vec<_>, _>>()?;
        let ids = connect(&app, CLIENT, users).await?;
        read(&app, &ids, &reading).await?;
        all.extend(ids);
    }
    app.store().close().await;
    Ok((token, all))
}

/// Keeps vehicles at home in one area, each under a flex policy. Returns a token
/// and their identifiers.
pub(crate) async fn vehicles(config: &Config) -> Result<(String, Vec<Uuid>), Failure> {
    let app = load(config).await?;
    let token = client(&app).await?;
    let reading: Reading = serde_json::from_value(vehicle(app.now()))?;
    let mut all = Vec::new();
    for first in (0..USERS).step_by(CHUNK) {
        let mut users = Vec::with_capacity(CHUNK);
        let mut places = Vec::with_capacity(CHUNK);
        for number in first..first + CHUNK {
            let place = place(number);
            places.push(place.id);
            users.push(NewUser { locations: vec![place], ..user(number, DeviceKind::Vehicle)? });
        }
        let ids = connect(&app, CLIENT, users).await?;
        read(&app, &ids, &reading).await?;
        let mut change = app.store().begin().await?;
        for (index, id) in ids.iter().enumerate() {
            let row = policy(*id, places[index / DEVICES_EACH], all.len() + index, app.now())?;
            policies::upsert_flex_policy(change.connection(), &row).await?;
        }
        change.commit(|| ()).await?;
        all.extend(ids);
    }
    app.store().close().await;
    Ok((token, all))
}

/// Keeps what devices say.
async fn read(app: &App, ids: &[Uuid], reading: &Reading) -> Result<(), Failure> {
    let reading = Arc::new(reading.clone());
    let mut change = app.store().begin().await?;
    for id in ids {
        let (heard_at, reading) = (Some(app.now()), Some(Arc::clone(&reading)));
        let is_reachable = Some(true);
        let state = DeviceState { heard_at, is_reachable, reading, ..DeviceState::default() };
        devices::set_state(change.connection(), *id, &state).await?;
    }
    Ok(change.commit(|| ()).await?)
}

fn user(number: usize, kind: DeviceKind) -> Result<NewUser, Failure> {
    let device = |index: usize| NewDevice {
        id: None,
        vendor_device: format!("device-{number}-{index}"),
        kind,
        scopes: kind.permissions().iter().copied().collect(),
        location: None,
    };
    let account = NewAccount {
        vendor: VendorCode::parse("FJORD")?,
        connection: Connection::new("load"),
        devices: (0..DEVICES_EACH).map(device).collect(),
    };
    Ok(NewUser { id: format!("user-{number}"), accounts: vec![account], locations: Vec::new() })
}

/// A home in the area, where the vehicles of its user are.
fn place(number: usize) -> Location {
    let facts = LocationFacts {
        time_zone: Some(chrono_tz::Europe::Oslo),
        position: Some(Position { latitude: 59.91, longitude: 10.75 }),
        zone_id: Some("NO1".to_owned()),
        area_id: Some("north".to_owned()),
    };
    let (client_id, user_id) = (CLIENT.to_owned(), format!("user-{number}"));
    Location { id: Uuid::new_v4(), client_id, user_id, facts }
}

/// Deadlines and targets that differ, every day of the week.
fn policy(
    vehicle_id: Uuid,
    location_id: Uuid,
    number: usize,
    now: DateTime<Utc>,
) -> Result<FlexRow, Failure> {
    let day = json!({
        "deadline": format!("{:02}:{:02}", 4 + number % 6, 15 * (number % 4)),
        "target_percent": 60 + number % 5 * 5,
    });
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let schedule: serde_json::Map<String, Value> =
        days.iter().map(|name| ((*name).to_owned(), day.clone())).collect();
    let policy: FlexRequest = serde_json::from_value(json!({
        "reserve_percent": 10, "schedule": schedule, "observed_limit_percent": 80,
    }))?;
    Ok(FlexRow {
        id: Uuid::new_v4(),
        client_id: CLIENT.into(),
        vehicle_id,
        location_id,
        policy,
        created_at: now,
    })
}

fn able() -> Value {
    json!({ "is_capable": true, "intervention_ids": [], "allowed_range": null })
}

fn charger(now: DateTime<Utc>) -> Value {
    json!({
        "at": now, "is_reachable": true, "counters": null,
        "capabilities": {
            "information": able(), "charge_state": able(), "start_charging": able(),
            "stop_charging": able(), "set_max_current": able(), "set_charge_rate_limit": able(),
        },
        "facts": { "charger": {
            "information": {
                "brand": "Fjord", "model": "Wall", "display_name": "Garage", "year": 2024,
                "serial_number": "12345", "image_url": null,
            },
            "charging": {
                "power_state": "charging", "is_plugged_in": true, "is_charging": true,
                "is_fully_charged": null, "charge_rate_kw": 7.4,
                "charge_time_remaining_minutes": null, "charge_rate_limit_kw": 11.0,
                "last_updated": now,
            },
            "max_current_amps": 16.0, "plugged_into": null,
        } },
    })
}

fn vehicle(now: DateTime<Utc>) -> Value {
    json!({
        "at": now, "is_reachable": true, "counters": null,
        "capabilities": {
            "information": able(), "charge_state": able(), "location": able(),
            "start_charging": able(), "stop_charging": able(), "smart_charging": able(),
        },
        "facts": { "vehicle": {
            "information": { "vin": "1FJ", "brand": "Fjord", "model": "Two", "year": 2024 },
            "charging": {
                "power_state": "stopped", "is_plugged_in": true, "is_charging": false,
                "is_fully_charged": false, "charge_rate_kw": null,
                "charge_time_remaining_minutes": null, "charge_rate_limit_kw": 11.0,
                "last_updated": now,
            },
            "soc_percent": 30.0, "capacity_kwh": 75.0, "charge_limit_percent": 80.0,
            "max_current_amps": 16.0, "plugged_into": null,
            "odometer_km": null, "odometer_at": null,
            "sighting": { "position": { "latitude": 59.91, "longitude": 10.75 }, "at": now },
        } },
    })
}
