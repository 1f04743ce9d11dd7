//! Home batteries: reading them, as far as the specification shows.
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use slackwater_control::device::scope::DeviceKind;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::PageQuery;
use crate::problem::Problem;
use crate::routes::lists::{self, DeviceView, ListParts, ViewContext};
use crate::routes::refresh::{self, HintParts};
use crate::scope;

/// A home battery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Battery {
    /// Its identifier.
    pub id: Uuid,
    /// The user who linked it.
    pub user_id: String,
    /// Its manufacturer.
    pub vendor: String,
    /// Scopes that its owner granted.
    pub scopes: Vec<String>,
}

/// The client's batteries, newest first. Beta.
#[utoipa::path(get, path = "/batteries", tag = "Batteries", params(PageQuery),
    responses((status = 200, body = Vec<Battery>)))]
pub(crate) async fn list_batteries(asked: ListParts) -> Result<Response, Problem> {
    lists::list_devices::<Battery>(asked).await
}

/// Asks for an early refresh. Takes no body and does not wait. Beta.
#[utoipa::path(post, path = "/batteries/{batteryId}/refresh-hint", tag = "Batteries",
    responses((status = 204), (status = 404)))]
pub(crate) async fn refresh_battery(asked: HintParts) -> Result<StatusCode, Problem> {
    refresh::refresh_device::<Battery>(asked)
}

impl DeviceView for Battery {
    const KIND: DeviceKind = DeviceKind::Battery;
    const LIST: &'static str = "batteries";
    const WORD: &'static str = "battery";

    fn from_context(seen: &ViewContext<'_>) -> Self {
        let device = seen.device;
        Self {
            id: device.id,
            user_id: device.user_id.to_string(),
            vendor: device.vendor.to_string(),
            scopes: scope::scope_words(device.kind, &device.scopes),
        }
    }
}
