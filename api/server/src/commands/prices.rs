//! Prices and tariffs of a running server.
use std::path::Path;

use axum::http::Method;
use form_urlencoded::Serializer;
use serde_json::{Value, json};

use crate::commands::arguments::{Asked, Place, PricesCommand, TariffCommand};
use crate::commands::failure::Failure;
use crate::commands::operator::{Body, Operator};
use crate::commands::sandbox::read_file;

/// Keeps or looks up prices, and prints the answer.
pub(crate) async fn run_prices_command(
    settings: Option<&Path>,
    line: Asked<PricesCommand>,
) -> Result<(), Failure> {
    let mut query = Serializer::new(String::new());
    let (method, path, body) = match line.command {
        PricesCommand::Import { file, zone, currency, unit, time_zone } => {
            let options = [("currency", currency), ("unit", unit), ("time_zone", time_zone)];
            query.append_pair("zone", &zone);
            for (name, value) in options {
                if let Some(value) = value {
                    query.append_pair(name, &value);
                }
            }
            (Method::POST, "prices/market", Body::text(read_file(&file)?, "text/csv"))
        }
        PricesCommand::Feeds => (Method::GET, "prices/feeds", Body::default()),
        PricesCommand::Fetch { zone } => {
            query.append_pair("zone", &zone);
            (Method::POST, "prices/feeds/fetch", Body::default())
        }
        PricesCommand::At { place, at } => {
            of_place(&mut query, &place);
            query.append_pair("at", &at.to_rfc3339());
            (Method::GET, "prices/at", Body::default())
        }
        PricesCommand::Window { place, window } => {
            of_place(&mut query, &place);
            query.append_pair("from", &window.from.to_rfc3339());
            query.append_pair("to", &window.to.to_rfc3339());
            (Method::GET, "prices/window", Body::default())
        }
        PricesCommand::Signal { client, zone, area, window } => {
            query.append_pair("client", &client).append_pair("zone", &zone);
            query.append_pair("area", &area).append_pair("from", &window.from.to_rfc3339());
            query.append_pair("to", &window.to.to_rfc3339());
            (Method::GET, "prices/signal", Body::default())
        }
    };
    let operator = Operator::connect(&line.server, settings)?;
    operator.print_answer(method, &format!("{path}?{}", query.finish()), body).await
}

fn of_place(query: &mut Serializer<'_, String>, place: &Place) {
    query.append_pair("client", &place.client);
    query.append_pair("location", &place.location.to_string());
    query.append_pair("flex", if place.flex { "true" } else { "false" });
}

/// Gives a location a tariff.
pub(crate) async fn run_tariff_command(
    settings: Option<&Path>,
    line: Asked<TariffCommand>,
) -> Result<(), Failure> {
    let TariffCommand::Assign { client, location, tariff, intervals } = line.command;
    let intervals: Value = serde_json::from_str(&intervals)
        .map_err(|at| Failure::Json { what: "the intervals", at })?;
    let body = match tariff {
        Some(id) => json!({ "tariff_id": id, "intervals": intervals }),
        None => Value::Null,
    };
    let mut query = Serializer::new(String::new());
    query.append_pair("client", &client).append_pair("location", &location.to_string());
    let path = format!("tariffs/schedule?{}", query.finish());
    Operator::connect(&line.server, settings)?
        .print_answer(Method::PUT, &path, Body::json(&body))
        .await
}
