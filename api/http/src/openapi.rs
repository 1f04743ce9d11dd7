//! The service as an OpenAPI 3.1 document, made from one table of operations.
//!
//! The table is also what tests walk through: every row is asked for, with ids
//! of others too, and nothing answers that is not in it.
pub mod control;
mod money;
mod operation;
mod shapes;

use std::sync::LazyLock;

use axum::http::header;
use axum::response::IntoResponse;
use utoipa::openapi::path::OperationBuilder;
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::security::{
    ClientCredentials, Flow, OAuth2, Scopes, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    ComponentsBuilder, HttpMethod, InfoBuilder, OpenApi, Paths, Required, ResponseBuilder,
};

use crate::page::Pagination;
use crate::problem::Problem;
use crate::routes::batteries::Battery;
use crate::routes::chargers::{Charger, ChargerUpdate};
use crate::routes::flex::FlexPolicyUpdate;
use crate::routes::health::{Ready, VendorHealthBody};
use crate::routes::hvacs::Hvac;
use crate::routes::inverters::Inverter;
use crate::routes::sessions::{LinkBody, LinkSessionBody};
use crate::routes::smart_charging::{ChargerPolicyBody, ChargerPolicyUpdate, SmartChargingStatus};
use crate::routes::users::UserBody;
use crate::routes::vehicles::Vehicle;
use slackwater_service::plans::flex_body::FlexPolicyBody;

use self::operation::add;
pub use self::operation::{Answer, Operation};
use self::shapes::{content, of, parameters, success};

/// All operations: a table of those that read and link, and one for each further subject.
pub static OPERATIONS: LazyLock<Vec<Operation>> =
    LazyLock::new(|| [READING, control::OPERATIONS, money::OPERATIONS].concat());

/// Reading devices, linking them, and users.
const READING: &[Operation] = &[
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
        "/chargers/{chargerId}/smart-charging-policy",
        "Smart charging",
        "What smart charging is to do with a charger; off before anybody says so. Beta.",
        Answer::One("ChargerPolicyBody"),
    )
    .one(),
    Operation {
        method: "PUT",
        path: "/chargers/{chargerId}/smart-charging-policy",
        tag: "Smart charging",
        summary: "Changes parts of that; the charger is planned for anew. Beta.",
        body: Some("ChargerPolicyUpdate"),
        answer: Answer::One("ChargerPolicyBody"),
        refusals: &[400, 404],
    },
    Operation::get(
        "/chargers/{chargerId}/smart-charging-status",
        "Smart charging",
        "What smart charging is doing, and when the charger is to be on. Beta.",
        Answer::One("SmartChargingStatus"),
    )
    .one(),
    Operation::get(
        "/flex/vehicle-policies/{policyId}",
        "Flex",
        "A flex policy of a vehicle.",
        Answer::One("FlexPolicyBody"),
    )
    .one(),
    Operation {
        method: "PATCH",
        path: "/flex/vehicle-policies/{policyId}",
        tag: "Flex",
        summary: "Changes parts of a flex policy, all or none; the vehicle is planned for anew.",
        body: Some("FlexPolicyUpdate"),
        answer: Answer::One("FlexPolicyBody"),
        refusals: &[400, 404],
    },
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
#[must_use]
pub fn file() -> impl IntoResponse {
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
    for operation in OPERATIONS.iter() {
        let method = match operation.method {
            "PUT" => HttpMethod::Put,
            "PATCH" => HttpMethod::Patch,
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
    add::<ChargerPolicyBody>(&mut schemas);
    add::<ChargerPolicyUpdate>(&mut schemas);
    add::<SmartChargingStatus>(&mut schemas);
    add::<FlexPolicyBody>(&mut schemas);
    add::<FlexPolicyUpdate>(&mut schemas);
    add::<Hvac>(&mut schemas);
    add::<Inverter>(&mut schemas);
    add::<Battery>(&mut schemas);
    add::<UserBody>(&mut schemas);
    add::<LinkBody>(&mut schemas);
    add::<LinkSessionBody>(&mut schemas);
    add::<ChargerUpdate>(&mut schemas);
    control::add_schemas(&mut schemas);
    money::add_bodies(&mut schemas);
    add::<Ready>(&mut schemas);
    add::<VendorHealthBody>(&mut schemas);
    add::<Problem>(&mut schemas);
    add::<Pagination>(&mut schemas);
    schemas.sort_by(|(one, _), (other, _)| one.cmp(other));
    schemas.dedup_by(|(one, _), (other, _)| one == other);
    ComponentsBuilder::new().schemas_from_iter(schemas)
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

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    /// VER-09: no route or member comes or goes unseen. `UPDATE_EXPECT=1` writes it anew.
    #[test]
    fn the_committed_document_is_the_current_one() {
        expect_file!["../openapi.json"].assert_eq(&text());
    }

    #[test]
    fn beta_and_deprecated_labels_are_shown() {
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
