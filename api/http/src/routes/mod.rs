//! One file per resource: handlers and the shapes that they send.

pub mod actions;
pub mod batteries;
pub mod charge_state;
pub mod chargers;
pub mod flex;
pub mod health;
pub mod hvacs;
pub mod inverters;
pub mod lists;
pub mod oauth;
pub mod overrides;
pub mod price_signals;
pub mod refresh;
pub mod schedule_requests;
pub mod schedules;
pub mod sessions;
pub mod smart_charging;
pub mod statistics;
pub mod tariffs;
pub mod users;
pub mod vehicles;
