//! Tariffs of a client: named prices of a kWh.
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use serde::de::DeserializeSeed;
use slackwater_engine::prices::tariff::{RateRequest, Rates, TariffError};
use utoipa::ToSchema;

use crate::auth::caller::Caller;
use crate::problem::Problem;
use crate::request::{Path, Raw, check_id, no_json};
use crate::rows::{Issues, Rows, Scalar, text};
use slackwater_service::prices::keep;
use slackwater_service::state::App;
use slackwater_store::tariffs::TariffRow;

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
#[utoipa::path(put, path = "/tariffs/{tariffId}", tag = "Prices", request_body = TariffBody,
    responses((status = 204), (status = 404)))]
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Result<Raw, Problem>,
) -> Result<StatusCode, Problem> {
    check_id("tariffId", &id)?;
    let rates = body?.read(rates).await?;
    let row = TariffRow { client_id: caller.client.id.clone(), id, rates };
    keep::keep_tariff(&app, row).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The rates of a body, with all that has the wrong form.
fn rates(body: &[u8]) -> Result<Vec<RateRequest>, Problem> {
    let mut issues = Issues::default();
    let mut from = serde_json::Deserializer::from_slice(body);
    let rows = Rows { place: "", names: ["name", "cost"], read: rate, issues: &mut issues };
    let rates = rows.deserialize(&mut from).and_then(|rates| from.end().map(|()| rates));
    let rates = rates.map_err(|error| no_json(&error))?;
    if rates.is_none() {
        issues.add(String::new, "expected an array");
    }
    let rates = issues.finish(rates)?;
    Rates::new(&rates).map_err(|error| Problem::invalid(vec![issue(&error)]))?;
    Ok(rates)
}

fn rate(
    [name, cost]: [Option<Scalar>; 2],
    at: &dyn Fn(&str) -> String,
    issues: &mut Issues,
) -> Option<RateRequest> {
    let name = issues.required(|| at("/name"), name.as_ref(), text);
    let cost = issues.required(|| at("/cost"), cost.as_ref(), text);
    Some(RateRequest { name: name?, cost: cost? })
}

/// Fault of rates, with its place.
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
