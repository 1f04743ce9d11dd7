//! Environments and devices by the names that operators give.
use std::sync::Arc;

use slackwater_http::problem::Problem;
use slackwater_service::state::App;
use slackwater_store::clients;
use slackwater_store::devices::Device;
use uuid::Uuid;

/// The service of any environment: tables and settings are those of all.
pub(crate) fn first(worlds: &[App]) -> Result<&App, Problem> {
    worlds.first().ok_or_else(|| Problem::no_entity("environment"))
}

/// The service of the environment that a client belongs to.
pub(crate) async fn world_of(worlds: &[App], client_id: &str) -> Result<App, Problem> {
    let client = clients::get_client(first(worlds)?.store(), client_id).await?;
    let client = client.ok_or_else(|| Problem::no_entity(&format!("client {client_id:?}")))?;
    let environment = client.client.environment;
    let world = worlds.iter().find(|app| app.environment() == environment);
    world
        .cloned()
        .ok_or_else(|| Problem::no_entity(&format!("environment {}", environment.as_str())))
}

/// A device by its identifier, and the service that it belongs to.
pub(crate) async fn device_of(worlds: &[App], id: &str) -> Result<(App, Arc<Device>), Problem> {
    let device = Uuid::parse_str(id)
        .ok()
        .and_then(|id| first(worlds).ok()?.cache().read(|tables| tables.any_device(id).cloned()));
    let device = device.ok_or_else(|| Problem::no_entity(&format!("device {id:?}")))?;
    Ok((world_of(worlds, &device.client_id).await?, device))
}
