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
        .routes(routes!(health::check_readiness))
        .routes(routes!(health::list_charger_vendors))
}

/// Devices of all kinds.
fn device_routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(vehicles::list_vehicles))
        .routes(routes!(vehicles::get_vehicle))
        .routes(routes!(vehicles::refresh_vehicle))
        .routes(routes!(chargers::list_chargers))
        .routes(routes!(chargers::get_charger, chargers::put_charger))
        .routes(routes!(chargers::refresh_charger))
        .routes(routes!(actions::limit_current))
        .routes(routes!(actions::limit_charge_rate))
        .routes(routes!(overrides::start_override, overrides::end_override))
        .routes(routes!(actions::get_charger_action))
        .routes(routes!(actions::cancel_charger_action))
        .routes(routes!(smart_charging::get_policy, smart_charging::put_policy))
        .routes(routes!(smart_charging::get_status))
        .routes(routes!(flex::get_policy, flex::patch_policy))
        .routes(routes!(hvacs::list_hvacs))
        .routes(routes!(hvacs::refresh_hvac))
        .routes(routes!(actions::follow_schedule))
        .routes(routes!(inverters::list_inverters))
        .routes(routes!(inverters::get_inverter))
        .routes(routes!(inverters::refresh_inverter))
        .routes(routes!(batteries::list_batteries))
        .routes(routes!(batteries::refresh_battery))
        .routes(routes!(actions::get_battery_action))
        .routes(routes!(actions::cancel_battery_action))
}

/// Users, and how they link devices.
fn user_routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(users::list_users))
        .routes(routes!(users::get_user, users::delete_user))
        .routes(routes!(users::deauthorise_user))
        .routes(routes!(sessions::create_link_session))
        .routes(routes!(users::get_account, users::disconnect_vendor))
        .routes(routes!(vehicles::list_vehicles_of_user))
        .routes(routes!(chargers::list_chargers_of_user))
        .routes(routes!(hvacs::list_hvacs_of_user))
        .routes(routes!(inverters::list_inverters_of_user))
        .routes(routes!(schedules::list_schedules, schedules::create_schedule))
        .routes(routes!(
            schedules::get_schedule,
            schedules::put_schedule,
            schedules::delete_schedule
        ))
        .routes(routes!(schedules::get_schedule_status))
        .routes(routes!(sessions::create_relink_session))
        .routes(routes!(users::get_own_user))
        .routes(routes!(users::disconnect_own_vendor))
}

/// Prices, and what energy cost.
fn price_routes() -> OpenApiRouter<App> {
    let body_limit = DefaultBodyLimit::max(price_signals::BODY_MAX);
    OpenApiRouter::default()
        .routes(routes!(price_signals::put_price_signal).layer(body_limit))
        .routes(routes!(tariffs::put_tariff))
        .routes(routes!(statistics::list_own_charging))
        .routes(routes!(statistics::list_own_sessions))
        .routes(routes!(statistics::list_own_production))
        .routes(routes!(statistics::list_charging))
        .routes(routes!(statistics::list_sessions))
        .routes(routes!(statistics::list_production))
}
