//! Smart charging of chargers: the policy, and what comes of it.
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use deserr::{Deserr, IntoValue, Value, ValuePointerRef};
use serde::Serialize;
use slackwater_control::policy::ask::NoRequest;
use slackwater_control::policy::charger::{
    Change, ChargerFacts, ChargerPatch, ChargerPolicy, ChargingInterval, charger_state,
    intervals_shown,
};
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_wire::words::{charger_state_name, interval_status_name};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::auth::caller::Caller;
use crate::issues::{Issues, RequestBody};
use crate::problem::Problem;
use crate::request::{Body, Path};
use crate::routes::chargers::Charger;
use crate::routes::lists::find_device;
use slackwater_service::cache::tables::Tables;
use slackwater_service::plans::facts::device_facts;
use slackwater_service::plans::patching::patch_charger;
use slackwater_service::state::App;
use slackwater_store::devices::Device;
use slackwater_store::plans::{KeptPlan, Outcome};

/// Smart charging policy of a charger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChargerPolicyBody {
    /// True if smart charging controls the charger.
    pub is_enabled: bool,
    /// `HH:MM` by which charging is done, on the clocks of the location, else UTC.
    pub deadline: Option<String>,
    /// `HH:MM` for which the charger is on in each cycle, from plug-in to the deadline.
    pub charging_duration: Option<String>,
}

/// A change of that. What is left out stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserr, ToSchema)]
#[deserr(error = Issues, rename_all = camelCase)]
#[schema(rename_all = "camelCase")]
pub struct ChargerPolicyUpdate {
    /// True if smart charging controls the charger.
    #[deserr(default, from(bool) = Change::Set)]
    #[schema(value_type = Option<bool>, nullable = false)]
    pub is_enabled: Change<bool>,
    /// `HH:MM`, or null for no deadline.
    #[deserr(default, from(Option<HourMinute>) = Change::Set)]
    #[schema(value_type = Option<String>)]
    pub deadline: Change<Option<HourMinute>>,
    /// `HH:MM`, or null to plan nothing.
    #[deserr(default, from(Option<HourMinute>) = Change::Set)]
    #[schema(value_type = Option<String>)]
    pub charging_duration: Change<Option<HourMinute>>,
}

impl RequestBody for ChargerPolicyUpdate {
    const ORDER: &'static [&'static str] = &["isEnabled", "deadline", "chargingDuration"];
}

impl From<ChargerPolicyUpdate> for ChargerPatch {
    fn from(body: ChargerPolicyUpdate) -> Self {
        let ChargerPolicyUpdate { is_enabled, deadline, charging_duration } = body;
        Self { is_enabled, deadline, charging_duration }
    }
}

/// Status of smart charging.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SmartChargingStatus {
    /// The charger.
    pub charger_id: Uuid,
    /// The user who linked it.
    pub user_id: String,
    /// One of `DISABLED`, `CHARGER_NOT_REACHABLE`, `VEHICLE_NOT_PLUGGED_IN`, `AWAITING_PRICES`,
    /// `CHARGING` and `CHARGING_PAUSED`.
    #[schema(value_type = String)]
    pub state: &'static str,
    /// When it is to be on, as far as that is not over.
    pub charging_intervals: Vec<ChargingIntervalBody>,
}

/// A time in which a charger is to be on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChargingIntervalBody {
    /// `IN_PROGRESS` while it lasts; before that the word that the operator
    /// gives it, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// First instant.
    pub start_time: DateTime<Utc>,
    /// First instant after it.
    pub end_time: DateTime<Utc>,
}

impl From<ChargerPolicy> for ChargerPolicyBody {
    fn from(policy: ChargerPolicy) -> Self {
        let clock = |time: Option<HourMinute>| time.map(|time| time.to_string());
        Self {
            is_enabled: policy.is_enabled,
            deadline: clock(policy.deadline),
            charging_duration: clock(policy.charging_duration),
        }
    }
}

impl ChargingIntervalBody {
    /// An interval; `planned` is the word for one that has not begun.
    fn of(interval: &ChargingInterval, planned: Option<&String>) -> Self {
        let word = interval.status.map(|status| interval_status_name(status).to_owned());
        Self {
            status: word.or_else(|| planned.cloned()),
            start_time: interval.start,
            end_time: interval.end,
        }
    }
}

/// The policy. Before anybody set one it is off.
#[utoipa::path(get, path = "/chargers/{chargerId}/smart-charging-policy", operation_id = "get_smart_charging_policy", tag = "Smart charging",
    summary = "The charger's smart charging policy; disabled by default. Beta.",
    responses((status = 200, body = ChargerPolicyBody), (status = 404)))]
pub(crate) async fn get_policy(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let device = find_device::<Charger>(&app, &caller, &id)?;
    let policy = app.cache().read(|tables| tables.plans.of_charger(device.id));
    Ok(Json(ChargerPolicyBody::from(policy)).into_response())
}

/// Changes parts of the policy.
#[utoipa::path(put, path = "/chargers/{chargerId}/smart-charging-policy", operation_id = "update_smart_charging_policy", tag = "Smart charging",
    summary = "Changes members of the charger's smart charging policy, and plans again. Beta.",
    request_body = ChargerPolicyUpdate,
    responses((status = 200, body = ChargerPolicyBody), (status = 404)))]
pub(crate) async fn put_policy(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Result<Body<ChargerPolicyUpdate>, Problem>,
) -> Result<Response, Problem> {
    let device = find_device::<Charger>(&app, &caller, &id)?;
    let Body(update) = body?;
    let policy = patch_charger(&app, device.id, update.into()).await?;
    Ok(Json(ChargerPolicyBody::from(policy)).into_response())
}

/// Status of smart charging of a charger.
#[utoipa::path(get, path = "/chargers/{chargerId}/smart-charging-status", operation_id = "get_smart_charging_status", tag = "Smart charging",
    summary = "State of smart charging, and the planned periods of charging. Beta.",
    responses((status = 200, body = SmartChargingStatus), (status = 404)))]
pub(crate) async fn get_status(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let device = find_device::<Charger>(&app, &caller, &id)?;
    let planned = app.config().names.charging_interval_planned.as_ref();
    let status = app.cache().read(|tables| describe_status(tables, &device, planned, caller.now));
    Ok(Json(status).into_response())
}

fn describe_status(
    tables: &Tables,
    device: &Device,
    word: Option<&String>,
    now: DateTime<Utc>,
) -> SmartChargingStatus {
    let known = device_facts(tables, device, now);
    let plan = tables.plans.plan(device.id);
    let waits =
        |plan: &KeptPlan| matches!(plan.state.outcome, Outcome::Idle(NoRequest::AwaitingPrices));
    let state = charger_state(ChargerFacts {
        is_enabled: tables.plans.of_charger(device.id).is_enabled,
        is_reachable: known.is_reachable,
        is_plugged_in: known.is_plugged_in,
        is_charging: known.is_charging,
        are_prices_known: plan.is_some_and(|plan| !waits(plan)),
    });
    let planned = plan.and_then(|plan| plan.planned());
    let intervals = planned.map(|planned| intervals_shown(&planned.summary.intervals, state, now));
    SmartChargingStatus {
        charger_id: device.id,
        user_id: device.user_id.to_string(),
        state: charger_state_name(state),
        charging_intervals: intervals
            .iter()
            .flatten()
            .map(|interval| ChargingIntervalBody::of(interval, word))
            .collect(),
    }
}

/// Whatever is a time of day in a body may be null instead.
impl Deserr<Issues> for HourMinute {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        at: ValuePointerRef<'_>,
    ) -> Result<Self, Issues> {
        let Value::String(text) = value else {
            return Err(Issues::new(at, "expected HH:MM or null"));
        };
        Self::parse(&text).map_err(|error| Issues::new(at, error.to_string()))
    }
}
