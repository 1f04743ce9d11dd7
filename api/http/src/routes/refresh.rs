//! Refresh hints: what is known is believed to be old.
use axum::extract::State;
use axum::http::StatusCode;

use crate::auth::caller::Caller;
use crate::problem::Problem;
use crate::request::Path;
use crate::routes::lists::{DeviceView, find_device};
use slackwater_service::config::RateLimitClass;
use slackwater_service::state::App;

/// Request to refresh the device whose identifier is in the path.
pub(crate) type HintParts = (State<App>, Caller, Path<String>);

/// Puts a device at the front of the queue. Does not wait for its manufacturer,
/// and takes no body.
pub(crate) fn refresh_device<T: DeviceView>(
    (State(app), caller, Path(id)): HintParts,
) -> Result<StatusCode, Problem> {
    let device = find_device::<T>(&app, &caller, &id)?;
    app.check_rate_limit(&caller.client.id, RateLimitClass::RefreshHint)?;
    app.poller().expedite(device.id);
    Ok(StatusCode::NO_CONTENT)
}
