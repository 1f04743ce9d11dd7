//! Price signals: what a client pushes for an area of a market zone.
use std::ops::ControlFlow;

use axum::extract::State;
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use deserr::{Deserr, MergeWithError, ValuePointerRef};
use serde_json::Value;
use slackwater_engine::prices::signal::{PriceSignal, SignalError, SignalRequest, SignalValue};
use slackwater_engine::units::Price;
use utoipa::ToSchema;

use crate::auth::caller::Caller;
use crate::issues::{Issues, RequestBody};
use crate::problem::Problem;
use crate::request::{Body, Path, check_id};
use slackwater_service::prices::keep::{self};
use slackwater_service::state::App;

/// Longest body, in bytes: some years of quarters of an hour.
pub const BODY_MAX: usize = 32 * 1024 * 1024;

/// Prices for a window.
#[derive(Debug, Clone, PartialEq, Deserr, ToSchema)]
#[deserr(error = Issues)]
pub struct PriceSignalBody {
    /// ISO 4217 code; that of the zone.
    pub currency: String,
    /// Exclusive end of the window that is replaced. It starts with the first value.
    #[deserr(try_from(&Value) = read_instant -> String)]
    pub to: DateTime<Utc>,
    /// The steps, oldest first, at least one. Each holds until the next, the last until `to`.
    pub values: Vec<PriceSignalValue>,
}

/// A step of a price signal.
#[derive(Debug, Clone, Copy, PartialEq, Deserr, ToSchema)]
#[deserr(error = Issues)]
pub struct PriceSignalValue {
    /// First instant of the step.
    #[deserr(try_from(&Value) = read_instant -> String)]
    pub at: DateTime<Utc>,
    /// Price of a kWh in the currency of the zone; may be negative.
    #[deserr(try_from(f64) = read_price -> String)]
    #[schema(value_type = f64)]
    pub price: Price,
}

/// A price signal that the engine takes.
#[derive(Debug, Deserr)]
#[deserr(error = Issues, try_from(PriceSignalBody) = check_signal -> SignalError)]
pub(crate) struct CheckedSignal(PriceSignal);

impl RequestBody for CheckedSignal {}

/// Replaces the prices of an area of a market zone, from the first value to `to`.
#[utoipa::path(put, path = "/flex/price-signals/{zoneId}/areas/{areaId}", tag = "Prices",
    request_body = PriceSignalBody, responses((status = 204), (status = 404)))]
pub(crate) async fn put_price_signal(
    State(app): State<App>,
    caller: Caller,
    Path((zone_id, area_id)): Path<(String, String)>,
    body: Result<Body<CheckedSignal>, Problem>,
) -> Result<StatusCode, Problem> {
    check_id("zoneId", &zone_id)?;
    check_id("areaId", &area_id)?;
    let Body(CheckedSignal(signal)) = body?;
    keep::push(&app, &caller.client.id, &zone_id, &area_id, &signal).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn check_signal(body: PriceSignalBody) -> Result<CheckedSignal, SignalError> {
    let values =
        body.values.into_iter().map(|value| SignalValue { at: value.at, price: value.price });
    let values = values.collect();
    PriceSignal::new(&SignalRequest { currency: body.currency, to: body.to, values })
        .map(CheckedSignal)
}

fn read_price(number: f64) -> Result<Price, String> {
    Price::from_per_kwh(number).map_err(|error| error.to_string())
}

/// An instant with an offset (AMB-68).
fn read_instant(value: &Value) -> Result<DateTime<Utc>, String> {
    let read = value.as_str().and_then(|text| DateTime::parse_from_rfc3339(text).ok());
    let expected = || "expected a date-time such as 2026-01-05T18:00:00Z".to_owned();
    read.map(|at| at.to_utc()).ok_or_else(expected)
}

impl MergeWithError<SignalError> for Issues {
    fn merge(
        before: Option<Self>,
        error: SignalError,
        at: ValuePointerRef<'_>,
    ) -> ControlFlow<Self, Self> {
        let place = match error {
            SignalError::Currency(_) => "/currency",
            SignalError::Empty => "/values",
            SignalError::NotChronological { index, .. }
            | SignalError::OutsideWindow { index, .. } => &format!("/values/{index}/at"),
            SignalError::NoWindow { .. } => "/to",
            SignalError::OutOfRange(_) => "",
        };
        Self::add_after(before, Self::new_below(at, place, error.to_string()))
    }
}
