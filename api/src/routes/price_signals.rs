//! Price signals: what a client pushes for an area of a market zone.
use axum::extract::State;
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use slackwater_engine::prices::signal::{PriceSignal, SignalError, SignalRequest, SignalValue};
use slackwater_engine::units::Price;
use utoipa::ToSchema;

use crate::auth::caller::Caller;
use crate::prices::keep::{self, SignalRefusal};
use crate::problem::Problem;
use crate::request::{Body, Members, Path, text};
use crate::state::App;

/// Longest body, in bytes: some years of quarters of an hour.
pub(crate) const BODY_MAX: usize = 32 * 1024 * 1024;

/// Prices for a window.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PriceSignalBody {
    /// ISO 4217 code; that of the zone.
    pub currency: String,
    /// Exclusive end of the window that is replaced. It starts with the first value.
    pub to: DateTime<Utc>,
    /// The steps, oldest first, at least one. Each holds until the next, the last until `to`.
    pub values: Vec<PriceSignalValue>,
}

/// A step of a price signal.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PriceSignalValue {
    /// First instant of the step.
    pub at: DateTime<Utc>,
    /// Price of a kWh in the currency of the zone; may be negative.
    pub price: f64,
}

/// Replaces the prices of an area in a window.
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    Path((zone_id, area_id)): Path<(String, String)>,
    body: Body,
) -> Result<StatusCode, Problem> {
    let request = request(body.into())?;
    let signal = PriceSignal::new(&request).map_err(|error| refused(&error))?;
    keep::push(&app, &caller.client.id, &zone_id, &area_id, &signal).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn request(mut members: Members) -> Result<SignalRequest, Problem> {
    let currency = members.required("currency", text);
    let to = members.required("to", instant);
    let mut issues = Vec::new();
    let values = members.required("values", |values| {
        let items = values.as_array().ok_or("expected an array")?;
        Ok(items.iter().enumerate().filter_map(|(i, item)| value(item, i, &mut issues)).collect())
    });
    for (place, reason) in issues {
        members.issue(&place, &reason);
    }
    let request = currency.zip(to).zip(values);
    members.finish(request.map(|((currency, to), values)| SignalRequest { currency, to, values }))
}

/// A step; what is wrong with it is added to the issues.
fn value(item: &Value, index: usize, issues: &mut Vec<(String, String)>) -> Option<SignalValue> {
    let mut member = |name: &str| {
        let found = item.get(name);
        if found.is_none() {
            issues.push((format!("values/{index}/{name}"), "is required".to_owned()));
        }
        found
    };
    let (at, price) = (member("at"), member("price"));
    let at = at.map(instant).transpose();
    let price = price.map(price_of).transpose();
    let mut good = |name: &str, error: Option<&String>| {
        if let Some(reason) = error {
            issues.push((format!("values/{index}/{name}"), reason.clone()));
        }
    };
    good("at", at.as_ref().err());
    good("price", price.as_ref().err());
    Some(SignalValue { at: at.ok()??, price: price.ok()?? })
}

fn price_of(value: &Value) -> Result<Price, String> {
    let number = value.as_f64().ok_or_else(|| "expected a number".to_owned())?;
    Price::from_per_kwh(number).map_err(|error| error.to_string())
}

/// An instant with an offset (AMB-68).
fn instant(value: &Value) -> Result<DateTime<Utc>, String> {
    let read = value.as_str().and_then(|text| DateTime::parse_from_rfc3339(text).ok());
    let expected = || "expected a date-time such as 2026-01-05T18:00:00Z".to_owned();
    read.map(|at| at.to_utc()).ok_or_else(expected)
}

/// What is wrong with a price signal, and where.
fn refused(error: &SignalError) -> Problem {
    let place = match error {
        SignalError::Currency(_) => "/currency".to_owned(),
        SignalError::Empty => "/values".to_owned(),
        SignalError::NotChronological { index, .. } | SignalError::OutsideWindow { index, .. } => {
            format!("/values/{index}/at")
        }
        SignalError::NoWindow { .. } => "/to".to_owned(),
        SignalError::OutOfRange(_) => String::new(),
    };
    Problem::invalid(vec![format!("{place}: {error}")])
}

impl From<SignalRefusal> for Problem {
    fn from(refusal: SignalRefusal) -> Self {
        match refusal {
            SignalRefusal::Zone(error) => Self::bad_request(error.to_string()),
            SignalRefusal::Store(error) => error.into(),
        }
    }
}
