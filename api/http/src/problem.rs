//! Every failure of the service, as status and RFC 7807 body.
//!
//! Status codes of failures exist in this file only. The errors of the service know nothing of
//! HTTP: the table [`refusals`](crate::refusals) says which problem each of them is. Titles that the
//! specification lists have a type of their own; where none of them fits, the
//! title is the phrase of the status and the type `about:blank`. The module `problem_meanings` says
//! when each of them is answered.

use std::any::Any;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::error;
use utoipa::ToSchema;

use slackwater_integration::error::VendorError;
use slackwater_service::control::body::ActionBody;
use slackwater_store::error::StoreError;

/// The type of a problem that its status explains well enough.
const NO_TYPE: &str = "about:blank";

/// Issues that a problem lists. A body of some megabytes can have a million.
pub const ISSUES_MAX: usize = 100;

/// Status, type and title of problems that belong together.
pub(crate) type Kind = (StatusCode, &'static str, &'static str);

pub(crate) const BAD_REQUEST: Kind =
    (StatusCode::BAD_REQUEST, "/problems/bad-request", "Bad request");
pub(crate) const UNAUTHORIZED: Kind =
    (StatusCode::UNAUTHORIZED, "/problems/unauthorized", "Unauthorized");
pub(crate) const FORBIDDEN: Kind = (StatusCode::FORBIDDEN, "/problems/forbidden", "Forbidden");
pub(crate) const NO_ENTITY: Kind =
    (StatusCode::NOT_FOUND, "/problems/entity-not-found", "Entity Not Found");
pub(crate) const NO_ROUTE: Kind = (StatusCode::NOT_FOUND, "/problems/not-found", "Not Found");
pub(crate) const NO_METHOD: Kind = (StatusCode::METHOD_NOT_ALLOWED, NO_TYPE, "Method Not Allowed");
pub(crate) const VENDOR_UNAVAILABLE: Kind =
    (StatusCode::METHOD_NOT_ALLOWED, "/problems/vendor-unavailable", "Vendor Unavailable");
pub(crate) const TIMEOUT: Kind = (StatusCode::REQUEST_TIMEOUT, "/problems/timeout", "Timeout");
pub(crate) const VENDOR_REJECTED: Kind =
    (StatusCode::CONFLICT, "/problems/vendor-rejected", "Vendor Rejected");
pub(crate) const DO_NOT_DISTURB: Kind =
    (StatusCode::CONFLICT, "/problems/should-not-disturb", "Should Not Disturb");
pub(crate) const CONFLICT: Kind = (StatusCode::CONFLICT, NO_TYPE, "Conflict");
pub(crate) const CONTROLLED: Kind = (
    StatusCode::UNPROCESSABLE_ENTITY,
    "/problems/enode-controlled-entity",
    "Enode Controlled Entity",
);
pub(crate) const MEDIA_TYPE: Kind =
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, NO_TYPE, "Unsupported Media Type");
pub(crate) const NOT_YET_REACHED: Kind =
    (StatusCode::FAILED_DEPENDENCY, "/problems/vendor-not-yet-reached", "Vendor Not Yet Reached");
pub(crate) const CREDENTIALS: Kind = (
    StatusCode::FAILED_DEPENDENCY,
    "/problems/permanently-invalid-credentials",
    "Permanently Invalid Credentials",
);
pub(crate) const FAILED_CHALLENGE: Kind =
    (StatusCode::UNAUTHORIZED, "/problems/failed-auth-challenge", "Failed Auth Challenge");
pub(crate) const FAILED_DEPENDENCY: Kind =
    (StatusCode::FAILED_DEPENDENCY, NO_TYPE, "Failed Dependency");
pub(crate) const TOO_LONG: Kind = (StatusCode::PAYLOAD_TOO_LARGE, NO_TYPE, "Content Too Large");
pub(crate) const RATE_LIMITED: Kind =
    (StatusCode::TOO_MANY_REQUESTS, "/problems/rate-limited", "Rate Limited");
pub(crate) const VENDOR_RATE_LIMITED: Kind =
    (StatusCode::TOO_MANY_REQUESTS, "/problems/vendor-rate-limited", "Vendor Rate Limited");
pub(crate) const SERVER_ERROR: Kind =
    (StatusCode::INTERNAL_SERVER_ERROR, "/problems/server-error", "Server Error");
pub(crate) const BAD_ANSWER: Kind =
    (StatusCode::INTERNAL_SERVER_ERROR, "/problems/validation-error", "Validation Error");
pub(crate) const UNAVAILABLE: Kind =
    (StatusCode::SERVICE_UNAVAILABLE, "/problems/service-unavailable", "Service Unavailable");

/// A failure as the client sees it.
///
/// `detail` is for the client. What an operator needs goes to the log instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Problem {
    #[serde(skip)]
    status: StatusCode,
    /// URI reference that names the kind of problem. It is a name, not a route.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Kind of the problem, in words.
    title: &'static str,
    /// Description of this occurrence.
    detail: String,
    /// Faults of the request: JSON pointers, each followed by a reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    issues: Vec<String>,
    /// Members about the subject of the problem, beside the others (RFC 7807, 3.2).
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
    about: Option<Box<Map<String, Value>>>,
    #[serde(skip)]
    headers: Vec<(header::HeaderName, HeaderValue)>,
}

impl Problem {
    pub(crate) fn new((status, kind, title): Kind, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let (issues, headers) = (Vec::new(), Vec::new());
        Self { status, kind, title, detail, issues, about: None, headers }
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn with(mut self, name: header::HeaderName, value: impl Into<HeaderValue>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn retry_after(self, wait: Duration) -> Self {
        // Whole seconds, rounded up: an earlier attempt would fail again.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        self.with(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)))
    }

    /// 400: the request makes no sense.
    #[must_use]
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(BAD_REQUEST, detail)
    }

    /// 400: fields of the request are not valid. Each issue starts with a JSON pointer.
    /// After [`ISSUES_MAX`] of them the rest is not listed.
    #[must_use]
    pub fn invalid(mut issues: Vec<String>) -> Self {
        let detail = match issues.as_slice() {
            [only] => only.clone(),
            several if several.len() > ISSUES_MAX => {
                format!("more than {ISSUES_MAX} fields are not valid; see `issues`")
            }
            several => format!("{} fields are not valid; see `issues`", several.len()),
        };
        if issues.len() > ISSUES_MAX {
            issues.truncate(ISSUES_MAX);
            issues.push(": and more".to_owned());
        }
        Self { issues, ..Self::bad_request(detail) }
    }

    /// 413: the body is longer than the path takes.
    #[must_use]
    pub fn too_long() -> Self {
        Self::new(TOO_LONG, "the body is longer than is read here")
    }

    /// 401: nobody is known by what the request carries.
    #[must_use]
    pub fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(UNAUTHORIZED, detail)
            .with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// 403: known, and not allowed.
    #[must_use]
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(FORBIDDEN, detail)
    }

    /// 404: there is no such thing on the client's account. One of another
    /// client is no such thing, word for word.
    #[must_use]
    pub fn no_entity(what: &str) -> Self {
        Self::new(NO_ENTITY, format!("{what} not found"))
    }

    /// 404: there is no such thing, and the detail says why.
    #[must_use]
    pub fn absent(detail: impl Into<String>) -> Self {
        Self::new(NO_ENTITY, detail)
    }

    /// 404: the path leads nowhere, whatever the method.
    #[must_use]
    pub fn no_such_route(method: &Method, uri: &Uri) -> Self {
        Self::new(NO_ROUTE, format!("no route {method} {}", uri.path()))
    }

    /// 405: the path exists, but not with this method. The framework adds `Allow`.
    #[must_use]
    pub fn no_such_method(method: &Method, uri: &Uri) -> Self {
        Self::new(NO_METHOD, format!("{} has no {method}", uri.path()))
    }

    /// 408: the body of the request came too slowly. The connection ends with it.
    #[must_use]
    pub fn slow_body() -> Self {
        Self::new(TIMEOUT, "the body of the request came too slowly")
    }

    /// 409: an action that is called off had ended before. The answer is a problem
    /// and the action at once (AMB-03).
    #[must_use]
    pub fn already_resolved(action: &ActionBody) -> Self {
        let detail = format!("the action has ended: it is {}", action.state);
        let about = match action.to_value() {
            Value::Object(members) => Some(Box::new(members)),
            _ => None,
        };
        Self { about, ..Self::new(CONFLICT, detail) }
    }

    /// 415: the body has a type that is not taken.
    #[must_use]
    pub fn media_type(detail: impl Into<String>) -> Self {
        Self::new(MEDIA_TYPE, detail)
    }

    /// Problem of a read that waited for a manufacturer in vain.
    ///
    /// A device that was never heard of has no data to fall back on.
    #[must_use]
    pub fn of_vendor(error: &VendorError, was_heard_of: bool) -> Self {
        // No wildcard arm: a new failure must be given a status before this compiles.
        match error {
            VendorError::Asleep { may_be_woken: false } => {
                Self::new(DO_NOT_DISTURB, "waking the device now would do it harm")
            }
            VendorError::TimedOut => Self::new(
                TIMEOUT,
                "the manufacturer did not answer in time; without `fields` the last known data are read",
            ),
            VendorError::RateLimited { retry_after_seconds } => {
                let problem = Self::new(VENDOR_RATE_LIMITED, error.to_string());
                match retry_after_seconds {
                    Some(seconds) => problem.retry_after(Duration::from_secs((*seconds).into())),
                    None => problem,
                }
            }
            VendorError::ChallengeFailed => {
                Self::new(FAILED_CHALLENGE, "the code is not the one that was sent")
            }
            VendorError::Unauthorised => {
                Self::new(CREDENTIALS, "the manufacturer refuses the account; link it again")
            }
            VendorError::NoSuchDevice => Self::no_entity("device"),
            VendorError::Refused { .. } | VendorError::PreconditionLost { .. } => {
                Self::new(VENDOR_REJECTED, error.to_string())
            }
            VendorError::Unreachable | VendorError::Asleep { .. } | VendorError::Outage
                if was_heard_of =>
            {
                Self::new(VENDOR_UNAVAILABLE, error.to_string())
                    .with(header::ALLOW, HeaderValue::from_static("GET,HEAD"))
            }
            VendorError::Unreachable | VendorError::Asleep { .. } | VendorError::Outage => {
                Self::new(NOT_YET_REACHED, error.to_string())
            }
        }
    }

    /// 424: of several reads from manufacturers, some failed.
    #[must_use]
    pub fn some_vendors_failed(failed: usize, of: usize) -> Self {
        Self::new(FAILED_DEPENDENCY, format!("{failed} of {of} reads from manufacturers failed"))
    }

    /// 500: a defect of the service. What it is, is in the log.
    #[must_use]
    pub fn server_error() -> Self {
        Self::new(SERVER_ERROR, "the request failed inside the service")
    }

    /// 500: the answer would have been wrong, and is withheld.
    #[must_use]
    pub fn bad_answer() -> Self {
        Self::new(BAD_ANSWER, "what is stored does not fit the answer's form")
    }

    /// 503: the service cannot answer now; a later attempt may succeed.
    #[must_use]
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(UNAVAILABLE, detail)
    }

    /// Its status.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }
}

impl IntoResponse for Problem {
    fn into_response(mut self) -> Response {
        let headers = std::mem::take(&mut self.headers);
        let media_type = [(header::CONTENT_TYPE, "application/problem+json")];
        let mut response = (self.status, media_type, Json(self)).into_response();
        response.headers_mut().extend(headers);
        response
    }
}

/// The answer to a request in which the service panicked. What it said is in the log.
#[expect(clippy::needless_pass_by_value, reason = "the panic net gives it away")]
pub fn of_panic(panic: Box<dyn Any + Send>) -> Response {
    let said = panic.downcast_ref::<&str>().copied().map(ToOwned::to_owned);
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    error!(said, "a request panicked");
    Problem::server_error().into_response()
}

/// Error of a page for people. The page says it in words; this is its number, for those who only
/// see that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPageError {
    /// Something is missing or wrong in what was entered: 422.
    Entry,
    /// The code of a second step was wrong: 401.
    Code,
    /// The form is not this browser's: 403.
    ForeignForm,
    /// The client may have no more connections: 403.
    Limit,
    /// There is no such session: 404.
    NoSession,
    /// The session, or the log-in that came back to it, was used or has expired: 410.
    SessionOver,
    /// The service failed: 500.
    Ours,
    /// The database does not answer or takes no writes: 503, for so long.
    Database(Duration),
    /// The manufacturer's service is down, slow, or does not want to: 503.
    Vendor,
}

impl LinkPageError {
    /// The status of the page.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Entry => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Code => StatusCode::UNAUTHORIZED,
            Self::ForeignForm | Self::Limit => StatusCode::FORBIDDEN,
            Self::NoSession => StatusCode::NOT_FOUND,
            Self::SessionOver => StatusCode::GONE,
            Self::Ours => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Database(_) | Self::Vendor => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// When to come again, if that is known.
    #[must_use]
    pub const fn wait(self) -> Option<Duration> {
        match self {
            Self::Database(wait) => Some(wait),
            _ => None,
        }
    }
}

impl From<&StoreError> for LinkPageError {
    fn from(error: &StoreError) -> Self {
        error.retry_after().map_or(Self::Ours, Self::Database)
    }
}

/// A failure of the token endpoint, in the form of RFC 6749, section 5.2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OauthError {
    status: StatusCode,
    error: &'static str,
    description: String,
    wait: Option<Duration>,
}

impl OauthError {
    fn new(status: StatusCode, error: &'static str, description: impl Into<String>) -> Self {
        Self { status, error, description: description.into(), wait: None }
    }

    /// 400: a parameter is missing, repeated, or not readable.
    pub fn invalid_request(description: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", description)
    }

    /// 401: no client, or not with this secret. Which of them is not said.
    #[must_use]
    pub fn invalid_client() -> Self {
        let description = "the client is unknown here, or the secret is wrong";
        Self::new(StatusCode::UNAUTHORIZED, "invalid_client", description)
    }

    /// 400: a grant that is not offered.
    #[must_use]
    pub fn unsupported_grant() -> Self {
        let description = "grant_type is client_credentials";
        Self::new(StatusCode::BAD_REQUEST, "unsupported_grant_type", description)
    }

    /// 400: a scope was asked for; tokens have none.
    #[must_use]
    pub fn invalid_scope() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_scope", "tokens have no scope of their own")
    }

    /// 429: too many wrong secrets from where this one came from.
    #[must_use]
    pub fn slow_down(wait: Duration) -> Self {
        let description = "too many wrong secrets; the right one is still accepted";
        let mut error = Self::new(StatusCode::TOO_MANY_REQUESTS, "invalid_client", description);
        error.wait = Some(wait);
        error
    }

    /// 503: as many secrets as may wait to be compared do.
    #[must_use]
    pub fn busy(wait: Duration) -> Self {
        let description = "too many requests for tokens at once; try again later";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let mut error = Self::new(status, "temporarily_unavailable", description);
        error.wait = Some(wait);
        error
    }
}

impl From<Problem> for OauthError {
    fn from(problem: Problem) -> Self {
        let error = match problem.status {
            StatusCode::SERVICE_UNAVAILABLE => "temporarily_unavailable",
            StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => "invalid_request",
            _ => "server_error",
        };
        let after = problem.headers.iter().find(|(name, _)| *name == header::RETRY_AFTER);
        let seconds = after.and_then(|(_, value)| value.to_str().ok()?.parse().ok());
        Self {
            wait: seconds.map(Duration::from_secs),
            ..Self::new(problem.status, error, problem.detail)
        }
    }
}

impl IntoResponse for OauthError {
    fn into_response(self) -> Response {
        let body = serde_json::json!({
            "error": self.error,
            "error_description": self.description,
        });
        let kept_nowhere = [(header::CACHE_CONTROL, "no-store"), (header::PRAGMA, "no-cache")];
        let mut response = (self.status, kept_nowhere, Json(body)).into_response();
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            let basic = HeaderValue::from_static("Basic realm=\"oauth2\", charset=\"UTF-8\"");
            headers.insert(header::WWW_AUTHENTICATE, basic);
        }
        if let Some(wait) = self.wait {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
        }
        response
    }
}
