//! Price signals: what a client pushes for an area of a market zone.
use std::fmt;

use axum::extract::State;
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use slackwater_engine::prices::signal::{PriceSignal, SignalError, SignalRequest, SignalValue};
use slackwater_engine::units::Price;
use utoipa::ToSchema;

use crate::auth::caller::Caller;
use crate::problem::Problem;
use crate::request::{Path, Raw, check_id, no_json};
use crate::rows::{Issues, OneScalar, Rows, Scalar, numbers_and_texts, others, skip_items, text};
use slackwater_service::prices::keep::{self};
use slackwater_service::state::App;

/// Longest body, in bytes: some years of quarters of an hour.
pub const BODY_MAX: usize = 32 * 1024 * 1024;

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

/// Replaces the prices of an area of a market zone, from the first value to `to`.
#[utoipa::path(put, path = "/flex/price-signals/{zoneId}/areas/{areaId}", tag = "Prices",
    request_body = PriceSignalBody, responses((status = 204), (status = 404)))]
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    Path((zone_id, area_id)): Path<(String, String)>,
    body: Result<Raw, Problem>,
) -> Result<StatusCode, Problem> {
    check_id("zoneId", &zone_id)?;
    check_id("areaId", &area_id)?;
    let signal = body?.read(signal).await?;
    keep::push(&app, &caller.client.id, &zone_id, &area_id, &signal).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The signal of a body, with all that has the wrong form.
fn signal(body: &[u8]) -> Result<PriceSignal, Problem> {
    let mut issues = Issues::default();
    let mut from = serde_json::Deserializer::from_slice(body);
    let parts = from.deserialize_any(Parts(&mut issues));
    let parts = parts.and_then(|parts| from.end().map(|()| parts));
    let parts = parts.map_err(|error| no_json(&error))?;
    let Some(parts) = parts else {
        return Err(Problem::invalid(vec![": expected an object".to_owned()]));
    };
    let mut first = Issues::default();
    let currency = first.required(|| "/currency".to_owned(), parts.currency.as_ref(), text);
    let to = first.required(|| "/to".to_owned(), parts.to.as_ref(), instant);
    let values = first.value(|| "/values".to_owned(), parts.values);
    let request = currency.zip(to).zip(values);
    let request = request.map(|((currency, to), values)| SignalRequest { currency, to, values });
    let request = first.followed_by(issues).finish(request)?;
    PriceSignal::new(&request).map_err(|error| refused(&error))
}

/// Members of a body as far as they are read.
#[derive(Default)]
struct Found {
    currency: Option<Scalar>,
    to: Option<Scalar>,
    values: Option<Result<Vec<SignalValue>, String>>,
}

/// Reads the members of a body; `None` if it is no object.
struct Parts<'a>(&'a mut Issues);

impl<'de> Visitor<'de> for Parts<'_> {
    type Value = Option<Found>;

    others!(None);
    numbers_and_texts!(None);

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        skip_items(items).map(|()| None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = Found::default();
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "currency" => found.currency = Some(members.next_value_seed(OneScalar)?),
                "to" => found.to = Some(members.next_value_seed(OneScalar)?),
                "values" => {
                    let names = ["at", "price"];
                    let rows = Rows { place: "/values", names, read: value, issues: self.0 };
                    let rows = members.next_value_seed(rows)?;
                    found.values = Some(rows.ok_or_else(|| "expected an array".to_owned()));
                }
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Some(found))
    }
}

/// A step; what is wrong with it is added to the issues.
fn value(
    [at, price]: [Option<Scalar>; 2],
    place: &dyn Fn(&str) -> String,
    issues: &mut Issues,
) -> Option<SignalValue> {
    let at = issues.required(|| place("/at"), at.as_ref(), instant);
    let price = issues.required(|| place("/price"), price.as_ref(), price_of);
    Some(SignalValue { at: at?, price: price? })
}

fn price_of(member: &Scalar) -> Result<Price, String> {
    match member {
        Scalar::Number(number) => Price::from_per_kwh(*number).map_err(|error| error.to_string()),
        _ => Err("expected a number".to_owned()),
    }
}

/// An instant with an offset (AMB-68).
fn instant(member: &Scalar) -> Result<DateTime<Utc>, String> {
    let read = match member {
        Scalar::Text(text) => DateTime::parse_from_rfc3339(text).ok(),
        _ => None,
    };
    let expected = || "expected a date-time such as 2026-01-05T18:00:00Z".to_owned();
    read.map(|at| at.to_utc()).ok_or_else(expected)
}

/// Problem of a price signal, with the place of the fault.
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
