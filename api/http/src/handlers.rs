//! All handlers of the interface, for router and OpenAPI document alike.
use axum::extract::DefaultBodyLimit;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

use crate::routes::{
    actions, batteries, chargers, flex, health, hvacs, inverters, overrides, price_signals,
    schedules, sessions, smart_charging, statistics, tariffs, users, vehicles,
};
use slackwater_service::state::App;

/// All routes, with their description in the OpenAPI document.
pub(crate) fn documented_routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .merge(device_routes())
        .merge(user_routes())
        .merge(price_routes())
        .routes(routes!(health::ready))
        .routes(routes!(health::chargers))
}

/// Devices of all kinds.
fn device_routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(vehicles::list_vehicles))
        .routes(routes!(vehicles::get_vehicle))
        .routes(routes!(vehicles::refresh_vehicle))
        .routes(routes!(chargers::list_chargers))
        .routes(routes!(chargers::get_charger, chargers::put))
        .routes(routes!(chargers::refresh_charger))
        .routes(routes!(actions::max_current))
        .routes(routes!(actions::charge_rate_limit))
        .routes(routes!(overrides::create, overrides::end))
        .routes(routes!(actions::get_of_charger))
        .routes(routes!(actions::cancel_of_charger))
        .routes(routes!(smart_charging::policy, smart_charging::put_policy))
        .routes(routes!(smart_charging::status))
        .routes(routes!(flex::get, flex::patch))
        .routes(routes!(hvacs::list_hvacs))
        .routes(routes!(hvacs::refresh_hvac))
        .routes(routes!(actions::follow_schedule))
        .routes(routes!(inverters::list_inverters))
        .routes(routes!(inverters::get_inverter))
        .routes(routes!(inverters::refresh_inverter))
        .routes(routes!(batteries::list_batteries))
        .routes(routes!(batteries::refresh_battery))
        .routes(routes!(actions::get_of_battery))
        .routes(routes!(actions::cancel_of_battery))
}

/// Users, and how they link devices.
fn user_routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(users::list))
        .routes(routes!(users::get, users::delete))
        .routes(routes!(users::deauthorise))
        .routes(routes!(sessions::link))
        .routes(routes!(users::vendor, users::disconnect))
        .routes(routes!(vehicles::list_vehicles_of_user))
        .routes(routes!(chargers::list_chargers_of_user))
        .routes(routes!(hvacs::list_hvacs_of_user))
        .routes(routes!(inverters::list_inverters_of_user))
        .routes(routes!(schedules::list, schedules::create))
        .routes(routes!(schedules::get, schedules::put, schedules::delete))
        .routes(routes!(schedules::status))
        .routes(routes!(sessions::relink))
        .routes(routes!(users::me))
        .routes(routes!(users::disconnect_me))
}

/// Prices, and what energy cost.
fn price_routes() -> OpenApiRouter<App> {
    let body_limit = DefaultBodyLimit::max(price_signals::BODY_MAX);
    OpenApiRouter::default()
        .routes(routes!(price_signals::put).layer(body_limit))
        .routes(routes!(tariffs::put))
        .routes(routes!(statistics::my_charging))
        .routes(routes!(statistics::my_sessions))
        .routes(routes!(statistics::my_production))
        .routes(routes!(statistics::charging))
        .routes(routes!(statistics::sessions))
        .routes(routes!(statistics::production))
}
