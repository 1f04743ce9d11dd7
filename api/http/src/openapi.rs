//! The service as an OpenAPI 3.1 document.
//!
//! Each handler names its path, its body and its answers in `#[utoipa::path]`; the first paragraph
//! of its documentation is the summary. [`build_document`] adds the parts that all operations share.
use std::collections::BTreeMap;

use slackwater_service::state::Urls;
use slackwater_store::client::Environment;
use slackwater_wire::version::dated::ApiVersion;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::security::{
    ClientCredentials, Flow, OAuth2, Scopes, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::server::ServerBuilder;
use utoipa::openapi::{Content, InfoBuilder, OpenApi, Ref, RefOr, Required, Response};
use utoipa::{PartialSchema, ToSchema};

use crate::auth::gate::is_served;
use crate::examples::add_examples;
use crate::handlers::documented_routes;
use crate::member_words::list_words;
use crate::page::Pagination;
use crate::parameters::{parameter, text_schema, word_schema};
use crate::problem::Problem;
use crate::problem_meanings::{describe_status, write_table};
use crate::version::Version;

const ABOUT: &str = "Read and control the energy devices of your users. Get a token: \
    `curl -u CLIENT_ID:CLIENT_SECRET -d grant_type=client_credentials AUTH_URL/oauth2/token`, and \
    send it as `Authorization: Bearer TOKEN`. Every answer says in `Service-Version` which dated \
    version it is in, and in `X-Request-Id` how the log of the service names the request; every \
    failure is a problem of RFC 7807 (`application/problem+json`) with one of the titles below. \
    Examples were recorded in the sandbox; `$BASE` is the address of the interface and `$TOKEN` a \
    token.";

/// Addresses of a service that runs with its defaults.
const DEFAULT_BASE: &str = "http://127.0.0.1:8080";
const DEFAULT_AUTH: &str = "http://127.0.0.1:8081";

/// The document of a running service: with the addresses of its environments. Tokens of the first
/// one are shown, because an OpenAPI document has room for one address.
#[must_use]
pub fn document_of(environments: &[(Environment, Urls)]) -> OpenApi {
    let mut document = build_document();
    let Some((_, first)) = environments.first() else { return document };
    let server = |(environment, urls): &(Environment, Urls)| {
        ServerBuilder::new().url(&urls.base).description(Some(environment.as_str())).build()
    };
    document.servers = Some(environments.iter().map(server).collect());
    set_token_url(&mut document, &first.auth);
    document
}

/// The document as text, the same on every machine.
///
/// # Panics
/// Never: the document is made of text and numbers.
#[must_use]
pub fn write_document() -> String {
    let mut text =
        build_document().to_pretty_json().expect("the document is made of text and numbers");
    text.push('\n');
    text
}

/// The document.
#[must_use]
pub fn build_document() -> OpenApi {
    let mut document = documented_routes().into_openapi();
    let info = InfoBuilder::new().title("Slackwater").version("2024-10-01");
    document.info = info.description(Some(format!("{ABOUT}\n\n{}", write_table()))).build();
    document.security = Some(vec![SecurityRequirement::new("token", [""; 0])]);
    let components = document.components.get_or_insert_default();
    components.schemas.insert(Problem::name().into_owned(), Problem::schema());
    components.schemas.insert(Pagination::name().into_owned(), Pagination::schema());
    list_words(components);
    set_token_url(&mut document, DEFAULT_AUTH);
    let server = ServerBuilder::new().url(DEFAULT_BASE);
    document.servers = Some(vec![server.description(Some("a sandbox on this machine")).build()]);
    for (path, item) in &mut document.paths.paths {
        let operations =
            [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            complete_operation(operation, path);
        }
    }
    add_examples(&mut document);
    document
}

/// Says where tokens come from.
fn set_token_url(document: &mut OpenApi, auth_url: &str) {
    let flow = ClientCredentials::new(format!("{auth_url}/oauth2/token"), Scopes::new());
    let token = OAuth2::new([Flow::ClientCredentials(flow)]);
    let components = document.components.get_or_insert_default();
    components.add_security_scheme("token", SecurityScheme::OAuth2(token));
}

/// Name of an operation in generated clients: `list_vehicles` is `listVehicles`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at_checked(1).unwrap_or((word, ""));
        name + &head.to_uppercase() + tail
    })
}

/// Meaning of a parameter of a path, by its name.
fn describe_path_parameter(name: &str) -> String {
    match name.strip_suffix("Id") {
        Some(thing) => format!("ID of the {}.", thing.replace("hvac", "HVAC unit")),
        None => format!("Code of the {name}."),
    }
}

/// Returns `true` if a path exists in the oldest version alone, which names the user in a header.
fn is_of_oldest_only(path: &str) -> bool {
    !is_served(path, Version(ApiVersion::LATEST))
}

/// Adds to an operation the parts that follow from its path, and those that all operations have.
fn complete_operation(operation: &mut Operation, path: &str) {
    operation.operation_id = operation.operation_id.as_deref().map(camel_case);
    operation.summary = operation.summary.as_deref().map(|summary| summary.replace('\n', " "));
    // Further paragraphs are for those who read the code.
    operation.description = None;
    let in_path = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = in_path.map(|name| {
        parameter(name, ParameterIn::Path, text_schema(), &describe_path_parameter(name))
            .required(Required::True)
            .build()
            .into()
    });
    let about = "The dated version of the answer; without it, that of the client.";
    let versions = word_schema(ApiVersion::ALL.map(ApiVersion::as_str));
    let version = parameter("Service-Version", ParameterIn::Header, versions, about).build();
    let user = is_of_oldest_only(path).then(|| {
        let about = "ID of the user. Later versions refuse the header.";
        let user = parameter("Service-User-Id", ParameterIn::Header, text_schema(), about);
        user.required(Required::True).build().into()
    });
    let own = operation.parameters.take().unwrap_or_default();
    let is_page_size =
        |one: &RefOr<Parameter>| matches!(one, RefOr::T(one) if one.name == "pageSize");
    let is_list = own.iter().any(is_page_size);
    operation.parameters = Some(in_path.chain(own).chain(user).chain([version.into()]).collect());
    let has_body = operation.request_body.is_some();
    complete_responses(&mut operation.responses.responses, is_list, has_body);
}

fn complete_responses(
    responses: &mut BTreeMap<String, RefOr<Response>>,
    is_list: bool,
    has_body: bool,
) {
    // A manufacturer that is unavailable is told by reads of one device only.
    let reads_device = responses.contains_key("405");
    let of_body: &[&str] = if has_body { &["408", "413", "415"] } else { &[] };
    for status in ["400", "401", "429", "500", "503"].iter().chain(of_body) {
        responses.insert((*status).to_owned(), Response::default().into());
    }
    for (status, response) in responses {
        let RefOr::T(response) = response else { continue };
        if !status.starts_with('2') {
            let problem = Content::new(Some(Ref::from_schema_name(Problem::name())));
            response.description = describe_status(status, reads_device);
            response.content.insert("application/problem+json".to_owned(), problem.into());
            continue;
        }
        response.description = "Done.".into();
        let body = response.content.get_mut("application/json");
        if let (true, Some(RefOr::T(body))) = (is_list, body) {
            body.schema = body.schema.take().map(page_or_items);
        }
    }
}

/// Schema of a page of items. In the oldest version a list is bare.
fn page_or_items(items: RefOr<Schema>) -> RefOr<Schema> {
    let page = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("data", items.clone())
        .required("data")
        .property("pagination", Ref::from_schema_name(Pagination::name()))
        .required("pagination");
    OneOfBuilder::new().item(Schema::from(page.build())).item(items).into()
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;
    use serde_json::{Value, json};

    use super::*;
    use crate::member_words::all_words;

    /// VER-09: no route or member comes or goes unseen. `UPDATE_EXPECT=1` writes it anew.
    #[test]
    fn the_committed_document_is_the_current_one() {
        expect_file!["../openapi.json"].assert_eq(&write_document());
    }

    #[test]
    fn every_member_with_words_lists_them() {
        let document = serde_json::to_value(build_document()).unwrap();
        for (schema, member, words) in all_words() {
            let shown = &document["components"]["schemas"][schema]["properties"][member];
            let listed = shown["enum"].as_array().unwrap();
            let texts: Vec<&str> = listed.iter().filter_map(Value::as_str).collect();
            assert_eq!(texts, words, "{schema}.{member}");
            let is_nullable = shown["type"] == json!(["string", "null"]);
            assert_eq!(listed.contains(&Value::Null), is_nullable, "{schema}.{member}");
        }
    }

    #[test]
    fn operations_have_names_of_their_own_for_generated_clients() {
        let mut names = std::collections::BTreeSet::new();
        for (path, item) in build_document().paths.paths {
            for operation in [item.get, item.put, item.post, item.patch, item.delete] {
                let Some(operation) = operation else { continue };
                let name = operation.operation_id.unwrap();
                let is_camel = name.bytes().all(|byte| byte.is_ascii_alphabetic());
                assert!(is_camel && name.starts_with(char::is_lowercase), "{path}: {name}");
                assert!(names.insert(name.clone()), "{path}: {name} is there twice");
            }
        }
        assert!(names.contains("listVehicles") && names.contains("getSmartChargingPolicy"));
    }

    #[test]
    fn the_document_of_a_service_names_its_addresses() {
        let urls = |name: &str| Urls {
            base: format!("https://{name}.example.org"),
            auth: format!("https://auth.{name}.example.org"),
            link: String::new(),
        };
        let both = [(Environment::Production, urls("api")), (Environment::Sandbox, urls("try"))];
        let text = document_of(&both).to_json().unwrap();
        for address in [
            "https://api.example.org",
            "https://try.example.org",
            "https://auth.api.example.org/oauth2/token",
        ] {
            assert!(text.contains(&format!("\"{address}\"")), "{address}");
        }
        assert!(!text.contains(DEFAULT_AUTH));
    }

    #[test]
    fn beta_and_deprecated_labels_are_shown() {
        let paths = build_document().paths.paths;
        let batteries = paths.iter().filter(|(path, _)| path.starts_with("/batteries"));
        let mut operations = batteries.flat_map(|(_, item)| [&item.get, &item.post]).flatten();
        assert!(
            operations.all(|one| one.summary.as_deref().is_some_and(|it| it.contains("Beta.")))
        );
        assert!(write_document().contains("Deprecated: use `chargeRateLimit`."));
    }

    #[test]
    fn it_is_version_3_1_of_openapi() {
        assert!(write_document().contains("\"openapi\": \"3.1.0\""));
    }
}
