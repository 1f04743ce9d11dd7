//! Health of this service, and of those of manufacturers.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use slackwater_control::device::scope::DeviceKind;
use utoipa::ToSchema;

use crate::problem::Problem;
use slackwater_integration::profile::Health;
use slackwater_service::state::App;

/// Nothing more is promised than the status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Ready {}

/// Health of a manufacturer of chargers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VendorHealthBody {
    /// Its code.
    pub vendor: String,
    /// Name for people.
    pub display_name: String,
    /// `READY`, `ELEVATED_ERROR_RATE` or `OUTAGE`.
    #[schema(value_type = String)]
    pub status: &'static str,
    /// Name of the account that its customers log in to.
    pub portal_name: String,
    /// `READY`, or `ELEVATED_ERROR_RATE` if several attempts may be needed.
    #[schema(value_type = String)]
    pub linking_status: &'static str,
}

/// Answers 200 while the service takes requests, and 503 when it is told to stop
/// or the database does not answer or take writes.
///
/// # Errors
/// The service is stopping, or its database does not answer or takes no writes.
#[utoipa::path(get, path = "/health/ready", tag = "Health",
    summary = "Whether the service takes requests.", responses((status = 200, body = Ready)))]
pub async fn check_readiness(State(app): State<App>) -> Result<Json<Ready>, Problem> {
    if app.is_stopping() {
        return Err(Problem::unavailable("the service is stopping"));
    }
    // Tried as a write if the last one failed: a full disk is readable.
    app.store().ping().await.map_err(|failure| Problem::of_ping(&failure))?;
    Ok(Json(Ready {}))
}

/// Health of the manufacturers of chargers, in the order of their codes.
#[utoipa::path(get, path = "/health/chargers", tag = "Health",
    summary = "Health of the manufacturers of chargers.",
    responses((status = 200, body = Vec<VendorHealthBody>)))]
pub(crate) async fn list_charger_vendors(State(app): State<App>) -> Json<Vec<VendorHealthBody>> {
    let now = app.now();
    let makers = app
        .vendors()
        .into_iter()
        .filter(|vendor| vendor.profile().kinds.contains(&DeviceKind::Charger));
    let bodies = makers.map(|vendor| {
        let (profile, health) = (vendor.profile(), vendor.health(now));
        VendorHealthBody {
            vendor: profile.code.to_string(),
            display_name: profile.display_name.clone(),
            status: status_word(health.devices),
            portal_name: profile.portal_name.clone(),
            linking_status: linking_status_word(health.linking),
        }
    });
    Json(bodies.collect())
}

pub(crate) const fn status_word(health: Health) -> &'static str {
    match health {
        Health::Ready => "READY",
        Health::ElevatedErrorRate => "ELEVATED_ERROR_RATE",
        Health::Outage => "OUTAGE",
    }
}

/// Only two words are shown for it: an outage is one that several attempts may outlast.
pub(crate) const fn linking_status_word(health: Health) -> &'static str {
    match health {
        Health::Ready => "READY",
        Health::ElevatedErrorRate | Health::Outage => "ELEVATED_ERROR_RATE",
    }
}
