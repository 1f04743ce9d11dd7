//! Whether the service can be sent requests.

use axum::Json;
use axum::extract::State;
use serde::Serialize;

use crate::problem::Problem;
use crate::state::App;

/// The answer of a ready service: an empty object. The status says it all.
#[derive(Debug, Serialize)]
pub struct Ready {}

/// Answers 200 while requests are taken, and 503 once the service is stopping,
/// so that a load balancer turns away before the connections end.
///
/// # Errors
///
/// [`Problem::unavailable`] while the service stops.
pub async fn ready(State(app): State<App>) -> Result<Json<Ready>, Problem> {
    if app.is_stopping() {
        return Err(Problem::unavailable("the service is stopping"));
    }
    Ok(Json(Ready {}))
}
