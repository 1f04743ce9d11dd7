//! Tariffs of a client: named prices of a kWh.
use std::ops::ControlFlow;

use axum::extract::State;
use axum::http::StatusCode;
use deserr::{Deserr, MergeWithError, ValuePointerRef};
use slackwater_engine::prices::tariff::{RateRequest, Rates, TariffError};
use utoipa::ToSchema;

use crate::auth::caller::Caller;
use crate::issues::{Issues, RequestBody};
use crate::problem::Problem;
use crate::request::{Body, Path, check_id};
use slackwater_service::prices::keep;
use slackwater_service::state::App;
use slackwater_store::tariffs::TariffRow;

/// A named price.
#[derive(Debug, Clone, PartialEq, Eq, Deserr, ToSchema)]
#[deserr(error = Issues)]
pub struct RateBody {
    /// Its name, once in a tariff.
    pub name: String,
    /// Price of a kWh as a decimal string, such as `0.25`.
    pub cost: String,
}

/// The prices of a tariff.
#[derive(Debug, Clone, PartialEq, Eq, Deserr, ToSchema)]
#[deserr(error = Issues, try_from(Vec<RateBody>) = check_rates -> TariffError)]
#[schema(value_type = Vec<RateBody>)]
pub struct TariffBody(pub Vec<RateRequest>);

impl RequestBody for TariffBody {}

/// Puts named prices in the place of what the tariff had. One that is new is made.
#[utoipa::path(put, path = "/tariffs/{tariffId}", tag = "Prices", request_body = TariffBody,
    responses((status = 204), (status = 404)))]
pub(crate) async fn put_tariff(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Result<Body<TariffBody>, Problem>,
) -> Result<StatusCode, Problem> {
    check_id("tariffId", &id)?;
    let Body(TariffBody(rates)) = body?;
    let row = TariffRow { client_id: caller.client.id.clone(), id, rates };
    keep::keep_tariff(&app, row).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn check_rates(rates: Vec<RateBody>) -> Result<TariffBody, TariffError> {
    let rates = rates.into_iter().map(|RateBody { name, cost }| RateRequest { name, cost });
    let rates: Vec<RateRequest> = rates.collect();
    Rates::new(&rates)?;
    Ok(TariffBody(rates))
}

impl MergeWithError<TariffError> for Issues {
    fn merge(
        before: Option<Self>,
        error: TariffError,
        at: ValuePointerRef<'_>,
    ) -> ControlFlow<Self, Self> {
        let (place, reason) = match error {
            TariffError::Cost { index, source } => (format!("/{index}/cost"), source.to_string()),
            TariffError::RepeatedName { index, first, name } => {
                (format!("/{index}/name"), format!("{name:?} is the name of item {first}, too"))
            }
            // Of rates alone nothing else can be wrong.
            other => (String::new(), other.to_string()),
        };
        Self::add_after(before, Self::new_below(at, &place, reason))
    }
}
