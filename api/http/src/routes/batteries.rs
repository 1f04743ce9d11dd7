//! Home batteries: reading them, as far as the specification shows.
use serde::Serialize;
use slackwater_control::device::scope::DeviceKind;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::routes::lists::{DeviceView, ViewContext};
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

impl DeviceView for Battery {
    const KIND: DeviceKind = DeviceKind::Battery;
    const LIST: &'static str = "batteries";
    const WORD: &'static str = "battery";

    fn view(seen: &ViewContext<'_>) -> Self {
        let device = seen.device;
        Self {
            id: device.id,
            user_id: device.user_id.to_string(),
            vendor: device.vendor.to_string(),
            scopes: scope::scope_words(device.kind, &device.scopes),
        }
    }
}
