//! Every failure of the service, as status and RFC 7807 body.
//!
//! Status codes of failures exist in this file only: what goes wrong elsewhere
//! is a fact, and here it is given its number, title and type. Titles that the
//! specification lists have a type of their own; where none of them fits, the
//! title is the phrase of the status and the type `about:blank`.

use axum::Json;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// The type of a problem that its status explains well enough.
const NO_TYPE: &str = "about:blank";

/// A failure as the client sees it.
///
/// `detail` is for the client. What an operator needs goes to the log instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    #[serde(skip)]
    status: StatusCode,
    /// URI reference that names the kind of problem. It is a name, not a route.
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    detail: String,
}

impl Problem {
    /// 404: the path leads nowhere, whatever the method.
    pub fn no_such_route(method: &Method, uri: &Uri) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            kind: "/problems/not-found",
            title: "Not Found",
            detail: format!("no route {method} {}", uri.path()),
        }
    }

    /// 405: the path exists, but not with this method. The framework adds `Allow`.
    pub fn no_such_method(method: &Method, uri: &Uri) -> Self {
        Self {
            status: StatusCode::METHOD_NOT_ALLOWED,
            kind: NO_TYPE,
            title: "Method Not Allowed",
            detail: format!("{} has no {method}", uri.path()),
        }
    }

    /// 503: the service cannot answer now; a later attempt may succeed.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            kind: "/problems/service-unavailable",
            title: "Service Unavailable",
            detail: detail.into(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let media_type = [(header::CONTENT_TYPE, "application/problem+json")];
        (self.status, media_type, Json(self)).into_response()
    }
}
