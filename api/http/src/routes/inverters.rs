//! Solar inverters: reading them.
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, NaiveDate, Utc};
use serde::Serialize;
use slackwater_control::device::reading::{Whereabouts, charger_is_reachable, last_seen};
use slackwater_control::device::scope::DeviceKind;
use slackwater_wire::version::field::Field;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::PageQuery;
use crate::problem::Problem;
use crate::routes::lists::{self, DeviceParts, DeviceView, ListParts, UserListParts, ViewContext};
use crate::routes::refresh::{self, HintParts};
use crate::scope;
use slackwater_integration::reading::{Facts, InverterFacts};

/// A solar inverter.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inverter {
    /// Its identifier.
    pub id: Uuid,
    /// Its manufacturer.
    pub vendor: String,
    /// Scopes that its owner granted.
    pub scopes: Vec<String>,
    /// The place that it stands at; from version 2023-08-01 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location_id: Option<Option<Uuid>>,
    /// Location that was set for it, in version 2023-05-01; absent where none is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charging_location_id: Option<Uuid>,
    /// Last live data, or when it was linked.
    pub last_seen: DateTime<Utc>,
    /// True if its data are live.
    pub is_reachable: bool,
    /// State of production.
    pub production_state: ProductionState,
    /// Model.
    pub information: InverterInformation,
    /// Position of the inverter.
    pub location: InverterLocation,
}

/// Production of an inverter.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProductionState {
    /// Power in kW; null before the first reading.
    pub production_rate: Option<f64>,
    /// True if it produces; null before the first reading.
    pub is_producing: Option<bool>,
    /// When this was read; null before the first reading.
    pub last_updated: Option<DateTime<Utc>>,
}

/// Model of an inverter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InverterInformation {
    /// The manufacturer's identifier.
    pub id: String,
    /// Make.
    pub brand: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Name that its owner gave the site.
    pub site_name: Option<String>,
    /// When it was put up.
    pub installation_date: Option<NaiveDate>,
}

/// Position of an inverter. Null without the scope `inverter:read:location`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, ToSchema)]
pub struct InverterLocation {
    /// Degrees east.
    pub longitude: Option<f64>,
    /// Degrees north.
    pub latitude: Option<f64>,
}

/// The client's inverters, newest first.
#[utoipa::path(get, path = "/inverters", tag = "Inverters", params(PageQuery),
    responses((status = 200, body = Vec<Inverter>), (status = 404), (status = 424)))]
pub(crate) async fn list_inverters(asked: ListParts) -> Result<Response, Problem> {
    lists::list_devices::<Inverter>(asked).await
}

/// A user's inverters.
#[utoipa::path(get, path = "/users/{userId}/inverters", tag = "Inverters", params(PageQuery),
    responses((status = 200, body = Vec<Inverter>), (status = 404), (status = 424)))]
pub(crate) async fn list_inverters_of_user(asked: UserListParts) -> Result<Response, Problem> {
    lists::list_devices_of_user::<Inverter>(asked).await
}

/// One inverter.
#[utoipa::path(get, path = "/inverters/{inverterId}", tag = "Inverters",
    responses((status = 200, body = Inverter), (status = 404), (status = 405), (status = 408),
        (status = 409), (status = 424)))]
pub(crate) async fn get_inverter(asked: DeviceParts) -> Result<Response, Problem> {
    lists::get_device::<Inverter>(asked).await
}

/// Asks for an early refresh. Takes no body and does not wait.
#[utoipa::path(post, path = "/inverters/{inverterId}/refresh-hint", tag = "Inverters",
    responses((status = 204), (status = 404)))]
pub(crate) async fn refresh_inverter(asked: HintParts) -> Result<StatusCode, Problem> {
    refresh::refresh_device::<Inverter>(asked)
}

impl DeviceView for Inverter {
    const KIND: DeviceKind = DeviceKind::Inverter;
    const LIST: &'static str = "inverters";
    const WORD: &'static str = "inverter";

    fn from_context(seen: &ViewContext<'_>) -> Self {
        let device = seen.device;
        let facts = device.state.reading.as_deref().and_then(|reading| match &reading.facts {
            Facts::Inverter(facts) => Some(&**facts),
            _ => None,
        });
        let stands = || device.location.and_then(|location| location.id);
        Self {
            id: device.id,
            vendor: device.vendor.to_string(),
            scopes: scope::scope_words(device.kind, &device.scopes),
            location_id: seen.version.shows(Field::InverterLocationId, stands),
            charging_location_id: seen
                .version
                .shows(Field::InverterChargingLocationId, stands)
                .flatten(),
            last_seen: last_seen(device.state.heard_at, device.linked_at),
            is_reachable: charger_is_reachable(device.state.is_reachable),
            production_state: ProductionState {
                production_rate: facts.map(|facts| facts.production.as_kw()),
                is_producing: facts.map(|facts| facts.is_producing),
                last_updated: facts.map(|facts| facts.production_at),
            },
            information: InverterInformation::from_facts(facts, &device.vendor_device),
            location: InverterLocation::from_facts(facts, seen),
        }
    }
}

impl InverterInformation {
    fn from_facts(facts: Option<&InverterFacts>, vendor_device: &str) -> Self {
        let information = facts.map(|facts| facts.information.clone());
        let named = information.as_ref();
        Self {
            id: vendor_device.to_owned(),
            brand: named.map(|information| information.brand.clone()),
            model: named.map(|information| information.model.clone()),
            site_name: named.map(|information| information.site_name.clone()),
            installation_date: named.map(|information| information.installed_on),
        }
    }
}

impl InverterLocation {
    fn from_facts(facts: Option<&InverterFacts>, seen: &ViewContext<'_>) -> Self {
        let position = facts.and_then(|facts| facts.position);
        let whereabouts = Whereabouts {
            longitude: position.map(|position| position.longitude),
            latitude: position.map(|position| position.latitude),
            ..Whereabouts::default()
        };
        let shown = whereabouts.shown(&seen.device.scopes);
        Self { longitude: shown.longitude, latitude: shown.latitude }
    }
}
