//! Answers and parameters of an operation, in the words of OpenAPI.
use slackwater_wire::version::dated::ApiVersion;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{
    Array, KnownFormat, ObjectBuilder, OneOfBuilder, Ref, Schema, SchemaFormat, Type,
};
use utoipa::openapi::{Content, Required, ResponseBuilder};

use super::money;
use super::operation::{Answer, Operation};

/// The status of an answer.
pub(super) const fn success(answer: Answer) -> &'static str {
    if matches!(answer, Answer::Nothing) { "204" } else { "200" }
}

/// An answer with its body.
pub(super) fn content(answer: Answer) -> ResponseBuilder {
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

/// A body of that name.
pub(super) fn of(name: &str) -> Content {
    Content::new(Some(Ref::from_schema_name(name)))
}

/// Parameters of an operation in path, query and headers.
pub(super) fn parameters(operation: &Operation) -> Vec<Parameter> {
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
    if operation.tag == money::STATISTICS {
        all.extend(money::of_statistics(operation.path));
    }
    let versions = ApiVersion::ALL.map(ApiVersion::as_str);
    let version = Schema::from(
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(versions)).build(),
    );
    let about = "The dated version of the answer; without it, that of the client.";
    all.push(parameter("Service-Version", ParameterIn::Header, version, about).build());
    all
}

/// A parameter, as far as all have it.
pub(super) fn parameter(
    name: &str,
    place: ParameterIn,
    schema: Schema,
    about: &str,
) -> ParameterBuilder {
    let builder = ParameterBuilder::new().name(name).parameter_in(place).schema(Some(schema));
    builder.description(Some(about))
}

/// A text.
pub(super) fn text_schema() -> Schema {
    Schema::from(ObjectBuilder::new().schema_type(Type::String).build())
}
