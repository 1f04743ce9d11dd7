//! Requests and answers. Every answer of every test is checked for its form.
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use serde_json::Value;
use slackwater_http::openapi;
use tower::ServiceExt;

/// Titles that the specification lists, and phrases of statuses where none fits.
const TITLES: &[(u16, &str)] = &[
    (400, "Bad request"),
    (401, "Unauthorized"),
    (401, "Failed Auth Challenge"),
    (403, "Forbidden"),
    (404, "Entity Not Found"),
    (404, "Not Found"),
    (405, "Vendor Unavailable"),
    (405, "Method Not Allowed"),
    (408, "Timeout"),
    (409, "Vendor Rejected"),
    (409, "Should Not Disturb"),
    (409, "Conflict"),
    (413, "Content Too Large"),
    (422, "Enode Controlled Entity"),
    (424, "Vendor Not Yet Reached"),
    (424, "Permanently Invalid Credentials"),
    (424, "Failed Dependency"),
    (429, "Rate Limited"),
    (429, "Vendor Rate Limited"),
    (500, "Server Error"),
    (500, "Validation Error"),
    (503, "Service Unavailable"),
];

/// Operation of the OpenAPI document.
pub(crate) struct Operation {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) summary: String,
    pub(crate) has_body: bool,
}

/// All operations of the OpenAPI document.
pub(crate) fn operations() -> Vec<Operation> {
    let document = serde_json::to_value(openapi::build_document()).unwrap();
    let operations = document["paths"].as_object().unwrap().iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(|(method, operation)| Operation {
            method: method.to_uppercase().parse().unwrap(),
            path: path.clone(),
            summary: operation["summary"].as_str().unwrap().to_owned(),
            has_body: operation.get("requestBody").is_some(),
        })
    });
    operations.collect()
}

/// An answer that has the right form.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn title(&self) -> &str {
        self.body["title"].as_str().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Identifiers of a page, or of a bare list.
    pub(crate) fn ids(&self) -> Vec<&str> {
        let list = self.body.get("data").unwrap_or(&self.body);
        list.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
    }

    /// Names of the members of an object, in order.
    #[track_caller]
    pub(crate) fn keys(value: &Value) -> Vec<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }
}

/// A request without a token.
pub(crate) fn request(method: Method, path: &str, body: Option<&Value>) -> Request<Body> {
    let builder = Request::builder().method(method).uri(path);
    match body {
        None => builder.body(Body::empty()).unwrap(),
        Some(body) => {
            let builder = builder.header(header::CONTENT_TYPE, "application/json");
            builder.body(Body::from(body.to_string())).unwrap()
        }
    }
}

/// Sends a request to a router that is a door for users.
#[track_caller]
pub(crate) fn send(router: Router, request: Request<Body>) -> impl Future<Output = Answer> {
    let what = format!("{} {}", request.method(), request.uri());
    async move {
        let response = router.oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let body = match bytes.as_ref() {
            b"" => Value::Null,
            bytes => serde_json::from_slice(bytes)
                .unwrap_or_else(|_| panic!("{what}: {}", String::from_utf8_lossy(bytes))),
        };
        let answer = Answer { status: head.status.as_u16(), headers: head.headers, body };
        check(&what, &answer);
        answer
    }
}

/// ENV-01, ENV-21, VER-04, ERR-01, ERR-02, ERR-31: what holds for every answer.
fn check(what: &str, answer: &Answer) {
    assert!(answer.headers.contains_key("service-version"), "{what} has no version");
    assert!(answer.headers.contains_key("x-request-id"), "{what} has no identifier");
    let status = StatusCode::from_u16(answer.status).unwrap();
    let media_type = answer.header("content-type");
    if status == StatusCode::NO_CONTENT {
        assert_eq!(answer.body, Value::Null, "{what}");
    } else if status.is_success() {
        assert_eq!(media_type, "application/json", "{what}");
        check_times(what, &answer.body);
    } else if answer.body.get("error").is_none() {
        assert_eq!(media_type, "application/problem+json", "{what}");
        check_problem(what, answer);
    }
}

/// Every time is UTC, and says so with a Z.
fn check_times(what: &str, value: &Value) {
    const TIMES: [&str; 8] = [
        "lastSeen",
        "lastUpdated",
        "createdAt",
        "updatedAt",
        "completedAt",
        "endedAt",
        "changedAt",
        "at",
    ];
    match value {
        Value::Array(items) => items.iter().for_each(|item| check_times(what, item)),
        Value::Object(members) => {
            for (name, value) in members {
                check_times(what, value);
                if let (true, Some(time)) = (TIMES.contains(&name.as_str()), value.as_str()) {
                    let read: Result<chrono::DateTime<chrono::Utc>, _> = time.parse();
                    assert!(read.is_ok() && time.ends_with('Z'), "{what}: {name} {time}");
                }
            }
        }
        _ => {}
    }
}

fn check_problem(what: &str, answer: &Answer) {
    let title = answer.title();
    assert!(TITLES.contains(&(answer.status, title)), "{what}: {} {title}", answer.status);
    let kind = answer.body["type"].as_str().unwrap();
    let slug = title.to_lowercase().replace(' ', "-");
    let is_plain = ["Method Not Allowed", "Failed Dependency", "Conflict", "Content Too Large"]
        .contains(&title);
    let expected = if is_plain { "about:blank".to_owned() } else { format!("/problems/{slug}") };
    assert_eq!(kind, expected, "{what}");
    assert!(!answer.body["detail"].as_str().unwrap().is_empty(), "{what}");
    for key in Answer::keys(&answer.body) {
        // AMB-03: an action that has ended is a problem and an action at once.
        let is_known = ["type", "title", "detail", "issues"].contains(&key);
        assert!(is_known || title == "Conflict", "{what}: {key}");
    }
    for issue in answer.body["issues"].as_array().into_iter().flatten() {
        let issue = issue.as_str().unwrap();
        assert!(issue.starts_with('/') || issue.starts_with(':'), "{what}: {issue}");
    }
    if answer.status == 405 {
        assert!(!answer.header("allow").is_empty(), "{what}");
    }
    if answer.status == 429 && title == "Rate Limited" {
        assert!(answer.header("retry-after").parse::<u32>().unwrap() >= 1, "{what}");
    }
}
