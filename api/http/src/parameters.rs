//! Parameters of operations in the OpenAPI document.
use utoipa::openapi::path::{ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

/// Optional parameter of an operation.
pub(crate) fn parameter(
    name: &str,
    place: ParameterIn,
    schema: Schema,
    about: &str,
) -> ParameterBuilder {
    let builder = ParameterBuilder::new().name(name).parameter_in(place).schema(Some(schema));
    builder.description(Some(about))
}

/// Schema of any text.
pub(crate) fn text_schema() -> Schema {
    ObjectBuilder::new().schema_type(Type::String).build().into()
}

/// Schema of a text that is one of these words.
pub(crate) fn word_schema<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Schema {
    let words: Vec<String> = words.into_iter().map(Into::into).collect();
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).build().into()
}
