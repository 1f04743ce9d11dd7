//! Prices, and what energy cost, as operations.
use slackwater_engine::statistics::resolution::Resolution;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{Deprecated, RefOr, Required};

use super::operation::{Answer, Operation, add};
use super::shapes::{parameter, text_schema};
use crate::routes::price_signals::PriceSignalBody;
use crate::routes::statistics::{ChargingSession, ChargingStatistic, ProductionStatistic};
use crate::routes::tariffs::TariffBody;

/// The group of statistics.
pub(super) const STATISTICS: &str = "Statistics";

/// The operations.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        method: "PUT",
        path: "/flex/price-signals/{zoneId}/areas/{areaId}",
        tag: "Prices",
        summary: "Replaces the prices of an area of a market zone, from the first value to `to`.",
        body: Some("PriceSignalBody"),
        answer: Answer::Nothing,
        refusals: &[400, 404],
    },
    Operation {
        method: "PUT",
        path: "/tariffs/{tariffId}",
        tag: "Prices",
        summary: "Puts named prices in the place of what the tariff had. One that is new is made.",
        body: Some("TariffBody"),
        answer: Answer::Nothing,
        refusals: &[400, 404],
    },
    Operation::get(
        "/statistics/charging",
        STATISTICS,
        "Energy that devices of the user in the header took, by bucket. In version 2023-05-01 only.",
        Answer::All("ChargingStatistic"),
    )
    .one(),
    Operation::get(
        "/statistics/charging/sessions",
        STATISTICS,
        "Ended charging sessions of the user in the header, oldest first. In version 2023-05-01 only.",
        Answer::All("ChargingSession"),
    )
    .one(),
    Operation::get(
        "/statistics/production",
        STATISTICS,
        "Energy that inverters of the user in the header gave, by bucket. In version 2023-05-01 only.",
        Answer::All("ProductionStatistic"),
    )
    .one(),
    Operation::get(
        "/users/{userId}/statistics/charging",
        STATISTICS,
        "Energy that a user's devices took, by bucket. Not in version 2023-05-01.",
        Answer::All("ChargingStatistic"),
    )
    .one(),
    Operation::get(
        "/users/{userId}/statistics/charging/sessions",
        STATISTICS,
        "A user's ended charging sessions, oldest first. Not in version 2023-05-01.",
        Answer::All("ChargingSession"),
    )
    .one(),
    Operation::get(
        "/users/{userId}/statistics/production",
        STATISTICS,
        "Energy that a user's inverters gave, by bucket. Not in version 2023-05-01.",
        Answer::All("ProductionStatistic"),
    )
    .one(),
];

/// The bodies that they take and answer.
pub(super) fn add_bodies(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    add::<PriceSignalBody>(schemas);
    add::<TariffBody>(schemas);
    add::<ChargingStatistic>(schemas);
    add::<ProductionStatistic>(schemas);
    add::<ChargingSession>(schemas);
}

/// The parameters of statistics. Others have the names that the operator gives them.
pub(super) fn of_statistics(path: &str) -> Vec<Parameter> {
    let words = |words: &[&str]| {
        let words = Some(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        Schema::from(ObjectBuilder::new().schema_type(Type::String).enum_values(words).build())
    };
    let query = |name, schema, about| parameter(name, ParameterIn::Query, schema, about);
    let kinds: &[&str] =
        if path.ends_with("production") { &["inverter"] } else { &["vehicle", "charger", "hvac"] };
    let kind = query("type", words(kinds), "The kind of device.").required(Required::True);
    let end = query("endDate", text_schema(), "First instant after the range; now if left out.");
    let mut all = vec![kind.build(), end.build()];
    if path.ends_with("sessions") {
        return all;
    }
    let resolutions = Resolution::ALL.map(|length| length.as_str().to_uppercase());
    let resolutions: Vec<&str> = resolutions.iter().map(String::as_str).collect();
    let about = "The length of the buckets. Provisional: the operator may give it another name.";
    let resolution = query("resolution", words(&resolutions), about).required(Required::True);
    let number = Schema::from(ObjectBuilder::new().schema_type(Type::Number).build());
    let about = "Hours from UTC at which buckets follow the calendar; -14 to 14. Deprecated.";
    let offset = query("utcOffset", number, about).deprecated(Some(Deprecated::True));
    all.extend([resolution.build(), offset.build()]);
    all
}
