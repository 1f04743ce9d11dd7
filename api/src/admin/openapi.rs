//! The service as an OpenAPI 3.1 document, made from one table of operations.
//!
//! The table is also what tests walk through: every row is asked for, with ids
//! of others too, and nothing answers that is not in it.
use std::sync::LazyLock;

use axum::http::header;
use axum::response::IntoResponse;
use slackwater_engine::statistics::resolution::Resolution;
use slackwater_engine::version::dated::ApiVersion;
use utoipa::ToSchema;
use utoipa::openapi::path::{OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{
    Array, KnownFormat, ObjectBuilder, OneOfBuilder, Ref, Schema, SchemaFormat, Type,
};
use utoipa::openapi::security::{
    ClientCredentials, Flow, OAuth2, Scopes, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    ComponentsBuilder, Content, Deprecated, HttpMethod, InfoBuilder, OpenApi, Paths, RefOr,
    Required, ResponseBuilder,
};

use crate::auth::gate::OPEN;
use crate::page::Pagination;
use crate::problem::Problem;
use crate::routes::batteries::Battery;
use crate::routes::chargers::{Charger, ChargerUpdate};
use crate::routes::health::{Ready, VendorHealthBody};
use crate::routes::hvacs::Hvac;
use crate::routes::inverters::Inverter;
use crate::routes::price_signals::PriceSignalBody;
use crate::routes::sessions::{LinkBody, LinkSessionBody};
use crate::routes::statistics::{ChargingSession, ChargingStatistic, ProductionStatistic};
use crate::routes::tariffs::TariffBody;
use crate::routes::users::UserBody;
use crate::routes::vehicles::Vehicle;

/// What an operation answers when nothing is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// 200 with one object of that name.
    One(&'static str),
    /// 200 with a page of such objects; a bare array of all in version 2023-05-01.
    Page(&'static str),
    /// 200 with all such objects.
    All(&'static str),
    /// 200 with an object whose members have no printed names.
    Unnamed,
    /// 204.
    Nothing,
}

/// An operation of the service.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// Its method.
    pub method: &'static str,
    /// Its path, with the names of its parameters.
    pub path: &'static str,
    /// The group that it is shown in.
    pub tag: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// The name of what it takes.
    pub body: Option<&'static str>,
    /// What it answers.
    pub answer: Answer,
    /// Statuses of its refusals, besides 401 and 429.
    pub refusals: &'static [u16],
}

impl Operation {
    const fn get(
        path: &'static str,
        tag: &'static str,
        summary: &'static str,
        answer: Answer,
    ) -> Self {
        Self { method: "GET", path, tag, summary, body: None, answer, refusals: &[400] }
    }

    const fn one(self) -> Self {
        Self { refusals: &[400, 404], ..self }
    }

    /// May wait for a manufacturer in version 2023-05-01.
    const fn fetched(self) -> Self {
        let one: &[u16] = &[400, 404, 405, 408, 409, 424];
        let refusals = if matches!(self.answer, Answer::One(_)) { one } else { &[400, 404, 424] };
        Self { refusals, ..self }
    }

    const fn hint(path: &'static str, tag: &'static str) -> Self {
        Self {
            method: "POST",
            path,
            tag,
            summary: "Asks for an early refresh. Takes no body and does not wait.",
            body: None,
            answer: Answer::Nothing,
            refusals: &[400, 404],
        }
    }

    const fn delete(path: &'static str, tag: &'static str, summary: &'static str) -> Self {
        let (method, answer) = ("DELETE", Answer::Nothing);
        Self { method, path, tag, summary, body: None, answer, refusals: &[400, 404] }
    }
}

/// The group of statistics.
const STATISTICS: &str = "Statistics";

/// All operations.
pub const OPERATIONS: &[Operation] = &[
    Operation::get(
        "/vehicles",
        "Vehicles",
        "The client's vehicles, newest first.",
        Answer::Page("Vehicle"),
    )
    .fetched(),
    Operation::get("/vehicles/{vehicleId}", "Vehicles", "One vehicle.", Answer::One("Vehicle"))
        .fetched(),
    Operation::hint("/vehicles/{vehicleId}/refresh-hint", "Vehicles"),
    Operation::get(
        "/chargers",
        "Chargers",
        "The client's chargers, newest first.",
        Answer::Page("Charger"),
    )
    .fetched(),
    Operation::get("/chargers/{chargerId}", "Chargers", "One charger.", Answer::One("Charger"))
        .fetched(),
    Operation {
        method: "PUT",
        path: "/chargers/{chargerId}",
        tag: "Chargers",
        summary: "Says where a charger stands.",
        body: Some("ChargerUpdate"),
        answer: Answer::One("Charger"),
        refusals: &[400, 404],
    },
    Operation::hint("/chargers/{chargerId}/refresh-hint", "Chargers"),
    Operation::get(
        "/hvacs",
        "HVAC units",
        "The client's units, newest first.",
        Answer::Page("Hvac"),
    )
    .fetched(),
    Operation::hint("/hvacs/{hvacId}/refresh-hint", "HVAC units"),
    Operation::get(
        "/inverters",
        "Inverters",
        "The client's inverters, newest first.",
        Answer::Page("Inverter"),
    )
    .fetched(),
    Operation::get(
        "/inverters/{inverterId}",
        "Inverters",
        "One inverter.",
        Answer::One("Inverter"),
    )
    .fetched(),
    Operation::hint("/inverters/{inverterId}/refresh-hint", "Inverters"),
    Operation::get(
        "/batteries",
        "Batteries",
        "The client's batteries, newest first. Beta.",
        Answer::Page("Battery"),
    ),
    Operation {
        summary: "Asks for an early refresh. Takes no body and does not wait. Beta.",
        ..Operation::hint("/batteries/{batteryId}/refresh-hint", "Batteries")
    },
    Operation::get(
        "/users",
        "Users",
        "The client's users, newest first.",
        Answer::Page("UserBody"),
    ),
    Operation::get("/users/{userId}", "Users", "One user.", Answer::One("UserBody")).one(),
    Operation::delete(
        "/users/{userId}",
        "Users",
        "Deletes a user with all that is theirs, for good.",
    ),
    Operation::delete(
        "/users/{userId}/authorization",
        "Users",
        "Forgets a user's credentials and ends their sessions. Other data stay, and no events come any more.",
    ),
    Operation {
        method: "POST",
        path: "/users/{userId}/link",
        tag: "Linking",
        summary: "Makes a session in which a user links devices. The user is created if there is none.",
        body: Some("LinkBody"),
        answer: Answer::One("LinkSessionBody"),
        refusals: &[400, 403],
    },
    Operation::get(
        "/users/{userId}/vendor/{vendor}",
        "Users",
        "The account of a user with a manufacturer. Its members are named by the operator.",
        Answer::Unnamed,
    )
    .one(),
    Operation::delete(
        "/users/{userId}/vendor/{vendor}",
        "Users",
        "Takes away a user's account with a manufacturer, and the devices on it.",
    ),
    Operation::get(
        "/users/{userId}/vehicles",
        "Vehicles",
        "A user's vehicles.",
        Answer::Page("Vehicle"),
    )
    .fetched(),
    Operation::get(
        "/users/{userId}/chargers",
        "Chargers",
        "A user's chargers.",
        Answer::Page("Charger"),
    )
    .fetched(),
    Operation::get("/users/{userId}/hvacs", "HVAC units", "A user's units.", Answer::Page("Hvac"))
        .fetched(),
    Operation::get(
        "/users/{userId}/inverters",
        "Inverters",
        "A user's inverters.",
        Answer::Page("Inverter"),
    )
    .fetched(),
    Operation {
        method: "POST",
        path: "/assets/{assetId}/relink",
        tag: "Linking",
        summary: "Makes a session in which a device is linked again, with its identifier.",
        body: None,
        answer: Answer::One("LinkSessionBody"),
        refusals: &[400, 404],
    },
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
    Operation::get(
        "/me",
        "Users",
        "The user in the header. In version 2023-05-01 only.",
        Answer::One("UserBody"),
    )
    .one(),
    Operation::delete(
        "/me/vendors/{vendor}",
        "Users",
        "Takes away an account of the user in the header. In version 2023-05-01 only.",
    ),
    Operation::get(
        "/health/ready",
        "Health",
        "Whether the service takes requests.",
        Answer::One("Ready"),
    ),
    Operation::get(
        "/health/chargers",
        "Health",
        "How the manufacturers of chargers do.",
        Answer::All("VendorHealthBody"),
    ),
];

/// The document, as it is committed.
static TEXT: LazyLock<String> = LazyLock::new(text);

/// Sends the document.
pub async fn file() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], TEXT.as_str())
}

/// The document as text, the same on every machine.
///
/// # Panics
/// Never: the document is made of text and numbers.
#[must_use]
pub fn text() -> String {
    let mut text = document().to_pretty_json().expect("the document is made of text and numbers");
    text.push('\n');
    text
}

/// The document.
#[must_use]
pub fn document() -> OpenApi {
    let mut paths = Paths::new();
    for operation in OPERATIONS {
        let method = match operation.method {
            "PUT" => HttpMethod::Put,
            "POST" => HttpMethod::Post,
            "DELETE" => HttpMethod::Delete,
            _ => HttpMethod::Get,
        };
        paths.add_path_operation(operation.path, vec![method], described(operation));
    }
    let token = Flow::ClientCredentials(ClientCredentials::new("/oauth2/token", Scopes::new()));
    let components =
        components().security_scheme("token", SecurityScheme::OAuth2(OAuth2::new([token])));
    let info = InfoBuilder::new()
        .title("Slackwater")
        .version("2024-10-01")
        .description(Some(ABOUT))
        .build();
    let mut document = OpenApi::new(info, paths);
    document.components = Some(components.build());
    document.security = Some(vec![requirement()]);
    document
}

fn requirement() -> SecurityRequirement {
    SecurityRequirement::new("token", [""; 0])
}

const ABOUT: &str = "Reads energy devices of a client's users. Every answer says in \
    `Service-Version` which dated version it is in; every failure is a problem of RFC 7807. \
    The tokens come from `/oauth2/token` at the address for authentication.";

fn components() -> ComponentsBuilder {
    let mut schemas = Vec::new();
    add::<Vehicle>(&mut schemas);
    add::<Charger>(&mut schemas);
    add::<Hvac>(&mut schemas);
    add::<Inverter>(&mut schemas);
    add::<Battery>(&mut schemas);
    add::<UserBody>(&mut schemas);
    add::<LinkBody>(&mut schemas);
    add::<LinkSessionBody>(&mut schemas);
    add::<ChargerUpdate>(&mut schemas);
    add::<Ready>(&mut schemas);
    add::<PriceSignalBody>(&mut schemas);
    add::<TariffBody>(&mut schemas);
    add::<ChargingStatistic>(&mut schemas);
    add::<ProductionStatistic>(&mut schemas);
    add::<ChargingSession>(&mut schemas);
    add::<VendorHealthBody>(&mut schemas);
    add::<Problem>(&mut schemas);
    add::<Pagination>(&mut schemas);
    schemas.sort_by(|(one, _), (other, _)| one.cmp(other));
    schemas.dedup_by(|(one, _), (other, _)| one == other);
    ComponentsBuilder::new().schemas_from_iter(schemas)
}

fn add<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}

fn described(operation: &Operation) -> OperationBuilder {
    let words: String = operation.path.split(['/', '{', '}', '-']).collect::<Vec<_>>().join("_");
    let id = format!("{}{}", operation.method.to_lowercase(), words.trim_end_matches('_'));
    let mut described = OperationBuilder::new()
        .operation_id(Some(id.replace("__", "_")))
        .tag(operation.tag)
        .summary(Some(operation.summary))
        .parameters(Some(parameters(operation)))
        .response(success(operation.answer), content(operation.answer));
    if operation.path == OPEN {
        // A token, or none.
        let none = SecurityRequirement::default();
        described = described.securities(Some([requirement(), none]));
    }
    for status in operation.refusals.iter().chain(&[401, 429]) {
        let problem = ResponseBuilder::new()
            .description("The request is refused.")
            .content("application/problem+json", of("Problem"));
        described = described.response(status.to_string(), problem);
    }
    match operation.body {
        None => described,
        Some(name) => described.request_body(Some(
            RequestBodyBuilder::new()
                .content("application/json", of(name))
                .required(Some(Required::True))
                .build(),
        )),
    }
}

const fn success(answer: Answer) -> &'static str {
    if matches!(answer, Answer::Nothing) { "204" } else { "200" }
}

fn content(answer: Answer) -> ResponseBuilder {
    let response = ResponseBuilder::new().description("Done.");
    let json = "application/json";
    match answer {
        Answer::Nothing => response,
        Answer::One(name) => response.content(json, of(name)),
        Answer::All(name) => response.content(json, Content::new(Some(list(name)))),
        Answer::Unnamed => {
            let object = ObjectBuilder::new().schema_type(Type::Object).build();
            response.content(json, Content::new(Some(Schema::from(object))))
        }
        Answer::Page(name) => {
            let page = ObjectBuilder::new()
                .schema_type(Type::Object)
                .property("data", list(name))
                .required("data")
                .property("pagination", Ref::from_schema_name("Pagination"))
                .required("pagination")
                .build();
            // In the oldest version a list is bare.
            let either = OneOfBuilder::new().item(Schema::from(page)).item(list(name)).build();
            response.content(json, Content::new(Some(Schema::from(either))))
        }
    }
}

fn list(name: &str) -> Schema {
    Schema::Array(Array::new(Ref::from_schema_name(name)))
}

fn of(name: &str) -> Content {
    Content::new(Some(Ref::from_schema_name(name)))
}

fn parameters(operation: &Operation) -> Vec<Parameter> {
    let named =
        operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut all: Vec<Parameter> = named
        .map(|name| {
            parameter(name, ParameterIn::Path, text_schema(), "Names what it is about.")
                .required(Required::True)
                .build()
        })
        .collect();
    if matches!(operation.answer, Answer::Page(_)) {
        let cursor =
            |name, about| parameter(name, ParameterIn::Query, text_schema(), about).build();
        all.push(cursor("after", "A cursor: the page of older items. Excludes `before`."));
        all.push(cursor("before", "A cursor: the page of newer items. Excludes `after`."));
        let size = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .minimum(Some(1))
            .default(Some(50.into()));
        let size = Schema::from(size.build());
        all.push(
            parameter("pageSize", ParameterIn::Query, size, "Most items on the page.").build(),
        );
    }
    if operation.tag == STATISTICS {
        all.extend(of_statistics(operation.path));
    }
    let versions = ApiVersion::ALL.map(ApiVersion::as_str);
    let version = Schema::from(
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(versions)).build(),
    );
    let about = "The dated version of the answer; without it, that of the client.";
    all.push(parameter("Service-Version", ParameterIn::Header, version, about).build());
    all
}

/// The parameters of statistics. Others have the names that the operator gives them.
fn of_statistics(path: &str) -> Vec<Parameter> {
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

fn parameter(name: &str, place: ParameterIn, schema: Schema, about: &str) -> ParameterBuilder {
    let builder = ParameterBuilder::new().name(name).parameter_in(place).schema(Some(schema));
    builder.description(Some(about))
}

fn text_schema() -> Schema {
    Schema::from(ObjectBuilder::new().schema_type(Type::String).build())
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    /// VER-09: no route or member comes or goes unseen. `UPDATE_EXPECT=1` writes it anew.
    #[test]
    fn the_committed_document_is_the_current_one() {
        expect_file!["../../openapi.json"].assert_eq(&text());
    }

    #[test]
    fn ver_16_ver_27_labels_are_shown() {
        let labelled = |path: &str, label: &str| {
            let mut rows = OPERATIONS.iter().filter(|operation| operation.path.starts_with(path));
            rows.all(|operation| operation.summary.contains(label))
        };
        assert!(labelled("/batteries", "Beta."));
        assert!(text().contains("Deprecated: use `chargeRateLimit`."));
    }

    #[test]
    fn it_is_version_3_1_of_openapi() {
        assert!(text().contains("\"openapi\": \"3.1.0\""));
    }
}
