//! The service as an OpenAPI 3.1 document.
//!
//! Each handler names its path, its body and its answers in `#[utoipa::path]`; the first paragraph
//! of its documentation is the summary. [`build_document`] adds the parts that all operations share.
use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::http::header;
use axum::response::IntoResponse;
use slackwater_wire::version::dated::ApiVersion;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::security::{
    ClientCredentials, Flow, OAuth2, Scopes, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{Content, InfoBuilder, OpenApi, Ref, RefOr, Required, Response};
use utoipa::{PartialSchema, ToSchema};

use crate::handlers::documented_routes;
use crate::page::Pagination;
use crate::parameters::{parameter, text_schema, word_schema};
use crate::problem::Problem;

const ABOUT: &str = "Reads energy devices of a client's users. Every answer says in \
    `Service-Version` which dated version it is in; every failure is a problem of RFC 7807. \
    The tokens come from `/oauth2/token` at the address for authentication.";

/// The document, as it is committed.
static TEXT: LazyLock<String> = LazyLock::new(write_document);

/// Sends the document.
#[must_use]
pub fn send_document() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], TEXT.as_str())
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
    document.info = info.description(Some(ABOUT)).build();
    document.security = Some(vec![SecurityRequirement::new("token", [""; 0])]);
    let components = document.components.get_or_insert_default();
    components.schemas.insert(Problem::name().into_owned(), Problem::schema());
    components.schemas.insert(Pagination::name().into_owned(), Pagination::schema());
    let token = Flow::ClientCredentials(ClientCredentials::new("/oauth2/token", Scopes::new()));
    components.add_security_scheme("token", SecurityScheme::OAuth2(OAuth2::new([token])));
    for (path, item) in &mut document.paths.paths {
        let operations = [
            ("get", &mut item.get),
            ("put", &mut item.put),
            ("post", &mut item.post),
            ("patch", &mut item.patch),
            ("delete", &mut item.delete),
        ];
        for (method, operation) in operations {
            if let Some(operation) = operation {
                complete_operation(operation, method, path);
            }
        }
    }
    document
}

/// Adds to an operation the parts that follow from its path, and those that all operations have.
fn complete_operation(operation: &mut Operation, method: &str, path: &str) {
    let words = path.split(['/', '{', '}', '-']).filter(|word| !word.is_empty());
    operation.operation_id = Some([method].into_iter().chain(words).collect::<Vec<_>>().join("_"));
    operation.summary = operation.summary.as_deref().map(|summary| summary.replace('\n', " "));
    // Further paragraphs are for those who read the code.
    operation.description = None;
    let in_path = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = in_path.map(|name| {
        parameter(name, ParameterIn::Path, text_schema(), "Names what it is about.")
            .required(Required::True)
            .build()
            .into()
    });
    let about = "The dated version of the answer; without it, that of the client.";
    let versions = word_schema(ApiVersion::ALL.map(ApiVersion::as_str));
    let version = parameter("Service-Version", ParameterIn::Header, versions, about).build();
    let own = operation.parameters.take().unwrap_or_default();
    let is_page_size =
        |one: &RefOr<Parameter>| matches!(one, RefOr::T(one) if one.name == "pageSize");
    let is_list = own.iter().any(is_page_size);
    operation.parameters = Some(in_path.chain(own).chain([version.into()]).collect());
    complete_responses(&mut operation.responses.responses, is_list);
}

fn complete_responses(responses: &mut BTreeMap<String, RefOr<Response>>, is_list: bool) {
    for status in ["400", "401", "429"] {
        responses.insert(status.to_owned(), Response::default().into());
    }
    for (status, response) in responses {
        let RefOr::T(response) = response else { continue };
        if !status.starts_with('2') {
            let problem = Content::new(Some(Ref::from_schema_name(Problem::name())));
            response.description = "The request is refused.".into();
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

    use super::*;

    /// VER-09: no route or member comes or goes unseen. `UPDATE_EXPECT=1` writes it anew.
    #[test]
    fn the_committed_document_is_the_current_one() {
        expect_file!["../openapi.json"].assert_eq(&write_document());
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
