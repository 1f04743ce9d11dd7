//! Addresses of the pages.
use axum::Router;
use axum::middleware::map_response;
use axum::routing::get;
use slackwater_service::state::App;

use crate::admin::console::{area, device, events, frame, homes, overview, partners};

/// Routes below `/console`.
pub(crate) fn router(worlds: &[App]) -> Router {
    Router::new()
        .route("/console", get(overview::show_overview))
        .route("/console/find", get(homes::find))
        .route("/console/homes", get(homes::show_homes))
        .route("/console/home", get(homes::show_home))
        .route("/console/devices/{device}", get(device::show_device))
        .route("/console/areas", get(area::show_areas))
        .route("/console/area", get(area::show_area))
        .route("/console/vendors", get(partners::show_vendors))
        .route("/console/receivers", get(partners::show_receivers))
        .route("/console/events", get(events::show_events))
        .layer(map_response(frame::protect))
        .route("/console/events/stream", get(events::stream_events))
        .with_state(worlds.to_vec())
}
