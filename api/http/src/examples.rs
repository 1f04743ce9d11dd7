//! Recorded requests, answers and events as examples of the OpenAPI document.
//!
//! `examples.json` is written by `scripts/openapi_examples.py` from the golden answers of the service,
//! which its tests compare with those of a sandbox. Random identifiers have others in their place.
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use utoipa::openapi::path::{HttpMethod, Operation, OperationBuilder, PathItem, Paths};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ObjectBuilder, SchemaType};
use utoipa::openapi::{Content, ContentBuilder, OpenApi, RefOr, ResponseBuilder};

use slackwater_service::control::actions::ACTION_UPDATED;

/// Media type of bodies.
const JSON: &str = "application/json";

const RECORDED: &str = include_str!("../examples.json");

const ABOUT_EVENT: &str = "An action of any device has entered a state. The service posts the \
    event to each receiver that is subscribed to it, in order. The body is made by the template of \
    the subscription, so that its members and their names are those of the receiver; the example \
    has the template `{\"type\": \"{name}\", \"id\": \"{id}\", \"version\": \"{version}\", \
    \"user\": \"{user}\", \"data\": \"{data}\"}`. The part `{data}` is the action, as the \
    operations that read it show it. Ignore events of unknown names, and unknown members.";

/// File of recorded calls and of an event.
#[derive(Debug, Deserialize)]
struct ExampleFile {
    calls: Vec<ExampleCall>,
    /// Body of an event.
    event: Value,
}

/// Recorded call of an operation.
#[derive(Debug, Deserialize)]
struct ExampleCall {
    /// Method and path of the operation in the document, such as `GET /chargers/{chargerId}`.
    operation: String,
    /// Path and query that were called.
    path: String,
    /// Headers of the request beside the token.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Body of the request.
    #[serde(default)]
    body: Option<Value>,
    /// Body of the answer.
    #[serde(default)]
    answer: Option<Value>,
}

/// Adds the recorded calls to their operations, and the events.
///
/// # Panics
/// Never: a test reads the file.
pub(crate) fn add_examples(document: &mut OpenApi) {
    let recorded: ExampleFile =
        serde_json::from_str(RECORDED).expect("a test writes the recorded examples");
    for call in recorded.calls {
        if let Some(operation) = find_operation(&mut document.paths, &call.operation) {
            add_call(operation, call);
        }
    }
    let mut events = Paths::new();
    let event = PathItem::new(HttpMethod::Post, describe_event(recorded.event));
    events.paths.insert(ACTION_UPDATED.to_owned(), event);
    document.webhooks = Some(events);
}

/// Operation of the document, such as `GET /chargers/{chargerId}`.
fn find_operation<'a>(paths: &'a mut Paths, name: &str) -> Option<&'a mut Operation> {
    let (method, path) = name.split_once(' ')?;
    let item = paths.paths.get_mut(path)?;
    let operation = match method {
        "GET" => &mut item.get,
        "PUT" => &mut item.put,
        "POST" => &mut item.post,
        "PATCH" => &mut item.patch,
        "DELETE" => &mut item.delete,
        _ => return None,
    };
    operation.as_mut()
}

fn add_call(operation: &mut Operation, call: ExampleCall) {
    operation.description = Some(write_command(&call));
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        set_example(body.content.get_mut(JSON), call.body);
    }
    let responses = &mut operation.responses.responses;
    let done = responses.iter_mut().find(|(status, _)| status.starts_with('2'));
    if let Some((_, RefOr::T(response))) = done {
        set_example(response.content.get_mut(JSON), call.answer);
    }
}

fn set_example(content: Option<&mut RefOr<Content>>, example: Option<Value>) {
    if let Some(known) = content
        && let RefOr::T(content) = known
    {
        content.example = example;
    }
}

/// Command that sends the request, as a block of Markdown.
fn write_command(call: &ExampleCall) -> String {
    let method = call.operation.split(' ').next().unwrap_or_default();
    let path = &call.path;
    let headers = call.headers.iter();
    let headers = headers.map(|(name, value)| format!(" \\\n    --header \"{name}: {value}\""));
    let headers: String = headers.collect();
    let body = call.body.as_ref().map(|body| format!(" \\\n    --json '{body}'"));
    let body = body.unwrap_or_default();
    format!(
        "```sh\ncurl --request {method} \"$BASE{path}\" \\\n    \
         --header \"Authorization: Bearer $TOKEN\"{headers}{body}\n```"
    )
}

/// Event that receivers are sent, as an operation of theirs.
fn describe_event(example: Value) -> Operation {
    let made = "Made by the template of the subscription.";
    let any = ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(made));
    let content = ContentBuilder::new().schema(Some(any)).example(Some(example)).build();
    let body = RequestBodyBuilder::new().content(JSON, content).build();
    let kept = "The receiver keeps the event. It is not posted to it again.";
    let refused = "The event is posted again with the same identifier, after growing pauses.";
    let answer = |about: &str| ResponseBuilder::new().description(about).build();
    OperationBuilder::new()
        .tag("Events")
        .operation_id(Some("actionUpdated"))
        .summary(Some("An action changed its state."))
        .description(Some(ABOUT_EVENT))
        .request_body(Some(body))
        .response("2XX", answer(kept))
        .response("default", answer(refused))
        .build()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::openapi::build_document;

    fn recorded() -> ExampleFile {
        serde_json::from_str(RECORDED).unwrap()
    }

    #[test]
    fn each_recorded_call_is_of_an_operation_once() {
        let mut document = build_document();
        let mut seen = BTreeSet::new();
        for call in recorded().calls {
            let name = &call.operation;
            assert!(find_operation(&mut document.paths, name).is_some(), "{name}");
            assert!(seen.insert(name.clone()), "{name}");
        }
    }

    #[test]
    fn every_operation_has_a_recorded_call() {
        let recorded: BTreeSet<String> =
            recorded().calls.into_iter().map(|call| call.operation).collect();
        let document = serde_json::to_value(build_document()).unwrap();
        let paths = document["paths"].as_object().unwrap().iter();
        let all = paths.flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys();
            methods.map(move |method| format!("{} {path}", method.to_uppercase()))
        });
        let missing: Vec<String> = all.filter(|name| !recorded.contains(name)).collect();
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn calls_of_the_oldest_version_name_it_and_the_user() {
        for call in recorded().calls {
            let is_old = call.operation.contains(" /me") || call.path.starts_with("/statistics/");
            let names = call.headers.keys().map(String::as_str).collect::<Vec<_>>();
            let expected: &[&str] =
                if is_old { &["Service-User-Id", "Service-Version"] } else { &[] };
            assert_eq!(names, expected, "{}", call.operation);
        }
    }

    #[test]
    fn the_event_is_a_webhook_with_an_example() {
        let document = serde_json::to_value(build_document()).unwrap();
        let event = &document["webhooks"][ACTION_UPDATED]["post"];
        let example = &event["requestBody"]["content"][JSON]["example"];
        assert_eq!(example["type"], ACTION_UPDATED);
        assert_eq!(example["data"]["state"], "PENDING");
    }

    #[test]
    fn the_template_of_the_event_is_that_of_the_guide() {
        let guide = include_str!("../../../docs/how-to/webhooks.md");
        let template = guide.split("echo '").nth(1).unwrap().split('\'').next().unwrap();
        assert!(template.starts_with('{') && ABOUT_EVENT.contains(template), "{template}");
    }

    #[test]
    fn commands_can_be_pasted_into_a_shell() {
        for call in recorded().calls {
            let command = write_command(&call);
            assert_eq!(command.matches('\'').count(), 2 * usize::from(call.body.is_some()));
            assert!(!call.path.contains(['{', '"', '$', '`']), "{}", call.path);
        }
    }
}
