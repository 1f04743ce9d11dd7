//! Tariffs of a client: named prices of a kWh.
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use slackwater_engine::prices::tariff::{RateRequest, Rates, TariffError};
use utoipa::ToSchema;

use crate::auth::caller::Caller;
use crate::prices::keep;
use crate::problem::Problem;
use crate::request::Path;
use crate::state::App;
use crate::store::tariffs::TariffRow;

/// A named price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct RateBody {
    /// Its name, once in a tariff.
    pub name: String,
    /// Price of a kWh as a decimal string, such as `0.25`.
    pub cost: String,
}

/// The prices of a tariff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct TariffBody(pub Vec<RateBody>);

/// Puts named prices in the place of what the tariff had. One that is new is made.
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<StatusCode, Problem> {
    let rates = rates(&body)?;
    Rates::new(&rates).map_err(|error| Problem::invalid(vec![issue(&error)]))?;
    let row = TariffRow { client_id: caller.client.id.clone(), id, rates };
    keep::keep_tariff(&app, row).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The rates of a body, with all that has the wrong form.
fn rates(body: &[u8]) -> Result<Vec<RateRequest>, Problem> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| Problem::bad_request(format!("the body is no JSON: {error}")))?;
    let Value::Array(items) = body else {
        return Err(Problem::invalid(vec![": expected an array".to_owned()]));
    };
    let (mut rates, mut issues) = (Vec::with_capacity(items.len()), Vec::new());
    for (index, item) in items.iter().enumerate() {
        if !item.is_object() {
            issues.push(format!("/{index}: expected an object"));
            continue;
        }
        let mut text = |member: &str| match item.get(member) {
            Some(Value::String(text)) => text.clone(),
            found => {
                let reason = if found.is_none() { "is required" } else { "expected a string" };
                issues.push(format!("/{index}/{member}: {reason}"));
                String::new()
            }
        };
        rates.push(RateRequest { name: text("name"), cost: text("cost") });
    }
    if issues.is_empty() { Ok(rates) } else { Err(Problem::invalid(issues)) }
}

/// What is wrong with rates, and where.
fn issue(error: &TariffError) -> String {
    match error {
        TariffError::Cost { index, source } => format!("/{index}/cost: {source}"),
        TariffError::RepeatedName { index, first, name } => {
            format!("/{index}/name: {name:?} is the name of item {first}, too")
        }
        // Of rates alone nothing else can be wrong.
        other => format!(": {other}"),
    }
}
