//! Chargers: reading them, and saying where they stand.
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use deserr::Deserr;
use serde::Serialize;
use slackwater_control::device::capability::{Ability, Capabilities, within_scopes};
use slackwater_control::device::charge_state::Reporter;
use slackwater_control::device::power_state::PowerState;
use slackwater_control::device::reading::{charger_is_reachable, last_seen, serial_number};
use slackwater_control::device::scope::DeviceKind;
use slackwater_engine::units::Power;
use slackwater_wire::version::field::Field;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::auth::caller::Caller;
use crate::issues::{Issues, RequestBody};
use crate::page::PageQuery;
use crate::problem::Problem;
use crate::request::{Body, Path};
use crate::routes::charge_state::{
    CapabilityBody, RangedCapabilityBody, amps, capability, power_word, ranged_capability,
};
use crate::routes::lists::{
    self, DeviceParts, DeviceView, ListParts, UserListParts, ViewContext, answer_device,
    find_device,
};
use crate::routes::refresh::{self, HintParts};
use crate::scope;
use slackwater_integration::reading::{ChargerFacts, Facts};
use slackwater_service::plans::replan;
use slackwater_service::state::App;
use slackwater_store::devices::{self, SetLocation};
use slackwater_store::error::StoreError;
use slackwater_store::finish::Finish;

/// A charger.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Charger {
    /// Its identifier.
    pub id: Uuid,
    /// The user who linked it.
    pub user_id: String,
    /// Its manufacturer.
    pub vendor: String,
    /// Last live data, or when it was linked.
    pub last_seen: DateTime<Utc>,
    /// True if its data are live.
    pub is_reachable: bool,
    /// State of charging.
    pub charge_state: ChargerChargeState,
    /// Abilities.
    pub capabilities: ChargerCapabilities,
    /// Scopes that its owner granted.
    pub scopes: Vec<String>,
    /// Model.
    pub information: ChargerInformation,
    /// Location that was set for it; from version 2023-08-01 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<StandingAt>,
    /// Location that was set for it, in version 2023-05-01.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charging_location_id: Option<Option<Uuid>>,
}

/// State of charging of a charger.
#[derive(Debug, Clone, PartialEq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChargerChargeState {
    /// True if a plug is in.
    pub is_plugged_in: Option<bool>,
    /// True if it charges.
    pub is_charging: Option<bool>,
    /// Power now in kW; null while it does not charge.
    pub charge_rate: Option<f64>,
    /// When this was read.
    pub last_updated: Option<DateTime<Utc>>,
    /// Limit of the current in A. Deprecated: use `chargeRateLimit`.
    pub max_current: Option<f64>,
    /// One of eight words; `UNKNOWN` also when the reading is over seven days old.
    #[schema(value_type = String)]
    pub power_delivery_state: &'static str,
    /// The user's vehicle that is plugged in, if both are linked and detected together.
    pub plugged_in_vehicle_id: Option<Uuid>,
    /// Limit of the power in kW (beta).
    pub charge_rate_limit: Option<f64>,
}

/// Abilities of a charger.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChargerCapabilities {
    /// Describe itself.
    pub information: CapabilityBody,
    /// Tell how its charging stands.
    pub charge_state: CapabilityBody,
    /// Start charging.
    pub start_charging: CapabilityBody,
    /// Stop charging.
    pub stop_charging: CapabilityBody,
    /// Limit its current.
    pub set_max_current: CapabilityBody,
    /// Limit its power.
    pub set_charge_rate_limit: RangedCapabilityBody,
}

/// Model of a charger.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChargerInformation {
    /// Make; null before the first reading.
    pub brand: Option<String>,
    /// Model; null before the first reading.
    pub model: Option<String>,
    /// Name that its owner gave it.
    pub display_name: Option<String>,
    /// Year of the model.
    pub year: Option<i32>,
    /// Serial number; the manufacturer's identifier where it has none.
    pub serial_number: String,
    /// Address of a picture.
    pub image_url: Option<String>,
    /// The manufacturer's identifier; in version 2023-05-01 only. Deprecated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// The place that a device stands at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StandingAt {
    /// The place; null if none is set.
    pub id: Option<Uuid>,
    /// When it was set.
    pub last_updated: Option<DateTime<Utc>>,
}

/// Location of a charger, as a client sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserr, ToSchema)]
#[deserr(error = Issues, rename_all = camelCase)]
#[schema(rename_all = "camelCase")]
pub struct ChargerUpdate {
    /// A place of the same user, or null for none.
    #[schema(required = true)]
    pub charging_location_id: Option<Uuid>,
}

impl RequestBody for ChargerUpdate {}

/// The client's chargers, newest first.
#[utoipa::path(get, path = "/chargers", tag = "Chargers", params(PageQuery),
    responses((status = 200, body = Vec<Charger>), (status = 404), (status = 424)))]
pub(crate) async fn list_chargers(asked: ListParts) -> Result<Response, Problem> {
    lists::list_devices::<Charger>(asked).await
}

/// A user's chargers.
#[utoipa::path(get, path = "/users/{userId}/chargers", tag = "Chargers", params(PageQuery),
    responses((status = 200, body = Vec<Charger>), (status = 404), (status = 424)))]
pub(crate) async fn list_chargers_of_user(asked: UserListParts) -> Result<Response, Problem> {
    lists::list_devices_of_user::<Charger>(asked).await
}

/// One charger.
#[utoipa::path(get, path = "/chargers/{chargerId}", tag = "Chargers",
    responses((status = 200, body = Charger), (status = 404), (status = 405), (status = 408),
        (status = 409), (status = 424)))]
pub(crate) async fn get_charger(asked: DeviceParts) -> Result<Response, Problem> {
    lists::get_device::<Charger>(asked).await
}

/// Asks for an early refresh. Takes no body and does not wait.
#[utoipa::path(post, path = "/chargers/{chargerId}/refresh-hint", tag = "Chargers",
    responses((status = 204), (status = 404)))]
pub(crate) async fn refresh_charger(asked: HintParts) -> Result<StatusCode, Problem> {
    refresh::refresh_device::<Charger>(asked)
}

impl DeviceView for Charger {
    const KIND: DeviceKind = DeviceKind::Charger;
    const LIST: &'static str = "chargers";
    const WORD: &'static str = "charger";

    fn from_context(seen: &ViewContext<'_>) -> Self {
        let device = seen.device;
        let reading = device.state.reading.as_deref();
        let facts = reading.and_then(|reading| match &reading.facts {
            Facts::Charger(facts) => Some(&**facts),
            _ => None,
        });
        let can = reading.map(|reading| within_scopes(&reading.capabilities, &device.scopes));
        let stands = device.location;
        Self {
            id: device.id,
            user_id: device.user_id.to_string(),
            vendor: device.vendor.to_string(),
            last_seen: last_seen(device.state.heard_at, device.linked_at),
            is_reachable: charger_is_reachable(device.state.is_reachable),
            charge_state: facts.map_or_else(ChargerChargeState::unknown, |facts| {
                ChargerChargeState::from_facts(facts, seen)
            }),
            capabilities: ChargerCapabilities::from_abilities(&can.unwrap_or_default()),
            scopes: scope::scope_words(device.kind, &device.scopes),
            information: ChargerInformation::from_facts(facts, seen),
            location: seen.version.shows(Field::ChargerLocation, || {
                stands.map_or_else(StandingAt::default, |stands| StandingAt {
                    id: stands.id,
                    last_updated: Some(stands.at),
                })
            }),
            charging_location_id: seen
                .version
                .shows(Field::ChargerChargingLocationId, || stands.and_then(|stands| stands.id)),
        }
    }
}

impl ChargerChargeState {
    fn unknown() -> Self {
        Self { power_delivery_state: power_word(PowerState::Unknown), ..Self::default() }
    }

    fn from_facts(facts: &ChargerFacts, seen: &ViewContext<'_>) -> Self {
        let shown = facts.charging.shown(Reporter::Charger, seen.now);
        Self {
            is_plugged_in: shown.is_plugged_in,
            is_charging: shown.is_charging,
            charge_rate: shown.charge_rate.map(Power::as_kw),
            last_updated: shown.last_updated,
            max_current: amps(facts.max_current),
            power_delivery_state: power_word(shown.power_state),
            plugged_in_vehicle_id: seen.tables.other_end(seen.device).map(|other| other.id),
            charge_rate_limit: shown.charge_rate_limit.map(Power::as_kw),
        }
    }
}

impl ChargerCapabilities {
    fn from_abilities(can: &Capabilities) -> Self {
        Self {
            information: capability(can, Ability::Information),
            charge_state: capability(can, Ability::ChargeState),
            start_charging: capability(can, Ability::StartCharging),
            stop_charging: capability(can, Ability::StopCharging),
            set_max_current: capability(can, Ability::SetMaxCurrent),
            set_charge_rate_limit: ranged_capability(can, Ability::SetChargeRateLimit),
        }
    }
}

impl ChargerInformation {
    fn from_facts(facts: Option<&ChargerFacts>, seen: &ViewContext<'_>) -> Self {
        let vendor_id = &seen.device.vendor_device;
        let id = seen.version.shows(Field::ChargerVendorId, || vendor_id.clone());
        let Some(facts) = facts else {
            return Self { serial_number: vendor_id.clone(), id, ..Self::default() };
        };
        let information = facts.information.clone();
        let serial = serial_number(information.serial_number.as_deref(), vendor_id).to_owned();
        Self {
            brand: Some(information.brand),
            model: Some(information.model),
            display_name: information.display_name,
            year: information.year,
            serial_number: serial,
            image_url: information.image_url,
            id,
        }
    }
}

/// Says where a charger stands.
///
/// Null: it stands at no place of its user.
#[utoipa::path(put, path = "/chargers/{chargerId}", operation_id = "set_charger_location", tag = "Chargers",
    request_body = ChargerUpdate, responses((status = 200, body = Charger), (status = 404)))]
pub(crate) async fn put_charger(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Result<Body<ChargerUpdate>, Problem>,
) -> Result<Response, Problem> {
    let device = find_device::<Charger>(&app, &caller, &id)?;
    let Body(ChargerUpdate { charging_location_id }) = body?;
    if let Some(location) = charging_location_id {
        let is_known = app.cache().read(|tables| {
            let user = tables.user(&device.client_id, &device.user_id);
            user.is_some_and(|user| user.location(location).is_some())
        });
        if !is_known {
            let issue = "/chargingLocationId: is no location of the charger's user";
            return Err(Problem::invalid(vec![issue.to_owned()]));
        }
    }
    let location = SetLocation { id: charging_location_id, at: caller.now };

    Finish::new(set_location(app.clone(), device.id, location)).await?;
    answer_device::<Charger>(&app, &caller, device.id)
}

/// Keeps where a charger stands, and has what rests on that follow.
async fn set_location(app: App, id: Uuid, location: SetLocation) -> Result<(), StoreError> {
    let mut change = app.store().begin().await?;
    devices::set_location(change.connection(), id, location).await?;
    let shown_in = app.clone();
    let show = move || {
        shown_in.cache().write(|tables| {
            tables.change_device(id, |device| device.location = Some(location));
        });
        // Schedules of other places may hold, or hold no longer.
        shown_in.control().schedule_evaluation(id);
    };
    change.commit(show).await?;
    // Prices and the clock of deadlines are those of the place (AMB-28, SCP-03).
    replan(&app, id).await;
    Ok(())
}
