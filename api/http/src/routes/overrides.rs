//! Smart overrides of chargers: charge now.
use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::auth::caller::Caller;
use crate::problem::Problem;
use crate::request::Path;
use crate::routes::chargers::Charger;
use crate::routes::lists::find_device;
use slackwater_service::control::overrides;
use slackwater_service::state::App;
use slackwater_store::overrides::Override;

/// "Charge now" for a device: until then schedules and smart charging leave it alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SmartOverride {
    /// When it began.
    pub created_at: DateTime<Utc>,
    /// When it ended; null while it is active.
    pub ended_at: Option<DateTime<Utc>>,
    /// The device.
    pub target_id: Uuid,
    /// `charger`, or `vehicle`.
    #[schema(value_type = String)]
    pub target_type: &'static str,
    /// The action that starts charging; null if the device charged already.
    pub vendor_action_id: Option<Uuid>,
    /// The owner of the device.
    pub user_id: String,
    /// Its manufacturer.
    pub vendor: String,
}

impl SmartOverride {
    /// The shape of an override.
    #[must_use]
    pub fn from_override(override_: &Override) -> Self {
        Self {
            created_at: override_.life.created_at,
            ended_at: override_.life.ended_at,
            target_id: override_.target_id,
            target_type: override_.kind.as_str(),
            vendor_action_id: override_.action_id,
            user_id: override_.user_id.to_string(),
            vendor: override_.vendor.to_string(),
        }
    }
}

/// Has a charger charge now, whatever schedules and smart charging want.
///
/// The active override, if there is one, is the answer.
#[utoipa::path(post, path = "/chargers/{chargerId}/smart-override", operation_id = "start_smart_override", tag = "Chargers",
    responses((status = 200, body = SmartOverride), (status = 403), (status = 404)))]
pub(crate) async fn start_override(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<SmartOverride>, Problem> {
    let device = find_device::<Charger>(&app, &caller, &id)?;
    let override_ = overrides::create(&app, device.id).await?;
    Ok(Json(SmartOverride::from_override(&override_)))
}

/// Ends the override of a charger.
#[utoipa::path(delete, path = "/chargers/{chargerId}/smart-override", operation_id = "end_smart_override", tag = "Chargers",
    summary = "Ends the active smart override and returns it.",
    responses((status = 200, body = SmartOverride), (status = 404)))]
pub(crate) async fn end_override(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<SmartOverride>, Problem> {
    let device = find_device::<Charger>(&app, &caller, &id)?;
    let ended = overrides::end(&app, device.id).await?;
    let ended = ended.ok_or_else(|| Problem::no_entity("smart override"))?;
    Ok(Json(SmartOverride::from_override(&ended)))
}
