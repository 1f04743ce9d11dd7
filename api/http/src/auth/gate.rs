//! The way in: every request passes here before it reaches a handler.
//!
//! In this order: who asks (401), in which version (400), whether the path is
//! there in that version (404), and how often (429). Paths and methods that do not
//! exist pass here, too: a stranger is told nothing of them (AMB-88). About which
//! user a request is, only requests that a handler answers are asked.
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use slackwater_wire::version::field::Field;

use crate::auth::caller::Caller;
use crate::problem::Problem;
use crate::telemetry::AnsweredClient;
use crate::version::{SERVICE_VERSION, Version, requested, served};
use slackwater_service::auth::secret::random;
use slackwater_service::config::RateLimitClass;
use slackwater_service::state::App;
use slackwater_store::client::Client;

/// The header that names the user in the oldest version.
pub const SERVICE_USER_ID: HeaderName = HeaderName::from_static("service-user-id");

/// Paths of a user's own resources, which the oldest version limits to the user in the header.
const OF_A_USER: &[&str] =
    &["/me", "/vehicles", "/chargers", "/hvacs", "/inverters", "/schedules", STATISTICS];

/// Path of statistics in the oldest version; later they lie under their user.
const STATISTICS: &str = "/statistics";

/// Lets a request in that may be answered, and says who asks.
pub async fn authenticate(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().cloned();
    let path = path.as_ref().map_or("", MatchedPath::as_str);
    let client = match find_client(&app, request.headers()).await {
        Ok(client) => client,
        Err(problem) => return problem.into_response(),
    };
    let pinned = client.version;
    let answered = AnsweredClient(client.id.as_str().into());
    let wanted = requested(request.headers());
    let (version, is_rejected) = served(
        &app.config().versions,
        wanted.as_ref().ok().copied().flatten().unwrap_or(pinned),
        app.now(),
        random::<1>().map_or(0, |[byte]| byte % 100),
    );
    let answer = match wanted {
        Err(error) => Err(error.into()),
        Ok(_) if is_rejected => Err(Problem::unavailable(format!(
            "version {} is about to end; use a later one",
            version.0
        ))),
        Ok(_) => read_caller(&app, client, version, path, &request),
    };
    let mut response = match answer {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    };
    response.headers_mut().insert(SERVICE_VERSION, version.header());
    response.extensions_mut().insert(answered);
    response
}

/// The client whose token the request carries.
async fn find_client(app: &App, headers: &HeaderMap) -> Result<Arc<Client>, Problem> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Err(Problem::unauthorized("no token was sent"));
    };
    let refused = || Problem::unauthorized("the token is invalid or expired");
    let (scheme, token) =
        value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(refused)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(refused());
    }
    let client =
        app.tokens().client(app.store(), token.trim(), app.clock().machine().moment()).await?;
    // ENV-09: a token of the other environment is no token here.
    client.filter(|client| client.environment == app.environment()).ok_or_else(refused)
}

/// Caller of a request that may be answered.
fn read_caller(
    app: &App,
    client: Arc<Client>,
    version: Version,
    path: &str,
    request: &Request,
) -> Result<Caller, Problem> {
    if !is_served(path, version) {
        return Err(Problem::no_such_route(request.method(), request.uri()));
    }
    app.check_rate_limit(&client.id, RateLimitClass::Requests)?;
    Ok(Caller { client, version, user_id: None, now: app.now() })
}

/// Adds the user of a request to what handlers are told of the caller.
pub async fn name_user(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().cloned();
    let path = path.as_ref().map_or("", MatchedPath::as_str);
    let Some(caller) = request.extensions().get::<Caller>().cloned() else {
        return Problem::unauthorized("no token was sent").into_response();
    };
    let user_id = match read_user(&app, &caller.client, caller.version, path, request.headers()) {
        Ok(user_id) => user_id,
        Err(problem) => return problem.into_response(),
    };
    request.extensions_mut().insert(Caller { user_id, ..caller });
    next.run(request).await
}

/// Returns `true` if a path exists in a version (VER-18).
pub(crate) fn is_served(path: &str, version: Version) -> bool {
    if path == "/me" || path.starts_with("/me/") {
        return version.has(Field::MeResource);
    }
    if path.starts_with(STATISTICS) {
        return !version.has(Field::PathsUnderUser);
    }
    !path.starts_with("/users/{userId}/statistics") || version.has(Field::PathsUnderUser)
}

/// The user that the oldest version names in a header, and later ones must not (AMB-59).
fn read_user(
    app: &App,
    client: &Client,
    version: Version,
    path: &str,
    headers: &HeaderMap,
) -> Result<Option<Arc<str>>, Problem> {
    let named = headers.get(SERVICE_USER_ID);
    if !version.has(Field::UserIdHeader) {
        return match named {
            Some(_) => Err(Problem::bad_request(format!(
                "the header Service-User-Id does not exist in version {}",
                version.0
            ))),
            None => Ok(None),
        };
    }
    let is_of_a_user = OF_A_USER.iter().any(|start| {
        path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    if !is_of_a_user {
        return Ok(None);
    }
    let Some(named) = named else {
        return Err(Problem::bad_request("the header Service-User-Id is required here"));
    };
    let id = std::str::from_utf8(named.as_bytes()).unwrap_or_default();
    let known =
        app.cache().read(|tables| tables.user(&client.id, id).map(|user| Arc::clone(&user.id)));
    known.map(Some).ok_or_else(|| Problem::no_entity("user"))
}
