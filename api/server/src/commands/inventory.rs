//! Users, locations and devices of a running server.
use std::path::Path;

use axum::http::Method;
use form_urlencoded::Serializer;
use serde_json::json;
use slackwater_integration::reading::Position;

use crate::admin::inventory::LocationOrder;
use crate::commands::arguments::{
    Asked, CreateLocation, DeviceCommand, LocationCommand, UserCommand,
};
use crate::commands::failure::Failure;
use crate::commands::operator::{Body, Operator, path_segment};

/// Runs a command about users.
pub(crate) async fn run_user_command(
    settings: Option<&Path>,
    line: Asked<UserCommand>,
) -> Result<(), Failure> {
    let path = match line.command {
        UserCommand::List { client } => path_of("users", &[("client", client)]),
        UserCommand::Show { client, user } => {
            format!("users/{}/{}", path_segment(&client), path_segment(&user))
        }
    };
    let operator = Operator::connect(&line.server, settings)?;
    operator.print_answer(Method::GET, &path, Body::default()).await
}

/// Runs a command about locations.
pub(crate) async fn run_location_command(
    settings: Option<&Path>,
    line: Asked<LocationCommand>,
) -> Result<(), Failure> {
    let operator = Operator::connect(&line.server, settings)?;
    match line.command {
        LocationCommand::List { client, user, zone, area } => {
            let wanted = [("client", client), ("user", user), ("zone", zone), ("area", area)];
            let path = path_of("locations", &wanted);
            operator.print_answer(Method::GET, &path, Body::default()).await
        }
        LocationCommand::Show { location } => {
            let path = format!("locations/{}", path_segment(&location));
            operator.print_answer(Method::GET, &path, Body::default()).await
        }
        LocationCommand::Create(new) => {
            let order = Body::json(&json!(LocationOrder::from(new)));
            operator.print_answer(Method::POST, "locations", order).await
        }
    }
}

/// Runs a command about devices.
pub(crate) async fn run_device_command(
    settings: Option<&Path>,
    line: Asked<DeviceCommand>,
) -> Result<(), Failure> {
    let path = match line.command {
        DeviceCommand::List { client, user, kind, vendor } => path_of(
            "devices",
            &[
                ("client", client),
                ("user", user),
                ("kind", kind.map(|kind| kind.as_str().to_owned())),
                ("vendor", vendor),
            ],
        ),
        DeviceCommand::Show { device } => format!("devices/{}", path_segment(&device)),
    };
    let operator = Operator::connect(&line.server, settings)?;
    operator.print_answer(Method::GET, &path, Body::default()).await
}

/// A path with what is wanted as its query.
pub(crate) fn path_of(path: &str, wanted: &[(&str, Option<String>)]) -> String {
    let mut query = Serializer::new(String::new());
    for (name, value) in wanted {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

impl From<CreateLocation> for LocationOrder {
    fn from(new: CreateLocation) -> Self {
        let CreateLocation { client, user, id, time_zone, latitude, longitude, zone, area } = new;
        let position = latitude.zip(longitude);
        let position = position.map(|(latitude, longitude)| Position { latitude, longitude });
        Self { client, user, id, time_zone, position, zone, area }
    }
}
