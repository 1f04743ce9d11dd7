//! Users of a client: seeing them, and letting go of them.
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::auth::caller::Caller;
use crate::page::{ListRequest, PageQuery};
use crate::problem::Problem;
use crate::request::Path;
use slackwater_integration::profile::VendorCode;
use slackwater_service::cache::tables::OfUser;
use slackwater_service::linking::connect;
use slackwater_service::state::App;
use slackwater_store::accounts::Account;

/// Length of a user in an answer, about.
const BYTES_EACH: usize = 64;

/// A user. Of its record nothing but the identifier is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct UserBody {
    /// The identifier that the client chose.
    pub id: String,
}

/// The client's users, newest first.
#[utoipa::path(get, path = "/users", tag = "Users", params(PageQuery),
    responses((status = 200, body = Vec<UserBody>)))]
pub(crate) async fn list_users(
    State(app): State<App>,
    caller: Caller,
    query: PageQuery,
) -> Result<Response, Problem> {
    let client_id = &*caller.client.id;
    let request = ListRequest::new(&app, (client_id, None), "users", &query, true)?;
    let listing = app.cache().read(|tables| {
        request.take_page(tables.users(client_id), |id| Some(UserBody { id: id.to_string() }))
    });
    request.answer(&listing, BYTES_EACH)
}

/// One user.
#[utoipa::path(get, path = "/users/{userId}", tag = "Users",
    responses((status = 200, body = UserBody), (status = 404)))]
pub(crate) async fn get_user(
    State(app): State<App>,
    caller: Caller,
    Path(user_id): Path<String>,
) -> Result<Json<UserBody>, Problem> {
    with_user(&app, &caller, &user_id, |_| ())?;
    Ok(Json(UserBody { id: user_id }))
}

/// The user in the header. In version 2023-05-01 only.
#[utoipa::path(get, path = "/me", tag = "Users",
    responses((status = 200, body = UserBody), (status = 404)))]
pub(crate) async fn get_own_user(caller: Caller) -> Result<Json<UserBody>, Problem> {
    let id = caller.user_id.ok_or_else(|| Problem::no_entity("user"))?;
    Ok(Json(UserBody { id: id.to_string() }))
}

/// Deletes a user with all that is theirs, for good.
#[utoipa::path(delete, path = "/users/{userId}", tag = "Users",
    responses((status = 204), (status = 404)))]
pub(crate) async fn delete_user(
    State(app): State<App>,
    caller: Caller,
    Path(user_id): Path<String>,
) -> Result<StatusCode, Problem> {
    let created_at = with_user(&app, &caller, &user_id, |user| user.created_at)?;
    let whose = (caller.client.id.as_str(), user_id.as_str());
    confirm_deletion(connect::delete_user(&app, whose, created_at).await?, "user")
}

/// Forgets a user's credentials and ends their sessions. Other data stay, and no events come any
/// more.
#[utoipa::path(delete, path = "/users/{userId}/authorization", tag = "Users",
    responses((status = 204), (status = 404)))]
pub(crate) async fn deauthorise_user(
    State(app): State<App>,
    caller: Caller,
    Path(user_id): Path<String>,
) -> Result<StatusCode, Problem> {
    with_user(&app, &caller, &user_id, |_| ())?;
    connect::deauthorise(&app, &caller.client.id, &user_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The account of a user with a manufacturer. Its members are named by the operator.
///
/// The operator may give a name to whether the credentials are valid.
#[utoipa::path(get, path = "/users/{userId}/vendor/{vendor}", operation_id = "get_user_vendor", tag = "Users",
    responses((status = 200, body = Object), (status = 404)))]
pub(crate) async fn get_account(
    State(app): State<App>,
    caller: Caller,
    Path((user_id, vendor)): Path<(String, String)>,
) -> Result<Json<Map<String, Value>>, Problem> {
    let account = find_account(&app, &caller, &user_id, &vendor)?;
    let name = app.config().names.credentials_valid.clone();
    let member = name.map(|name| (name, Value::Bool(account.is_valid)));
    Ok(Json(member.into_iter().collect()))
}

/// Takes away a user's account with a manufacturer, and the devices on it.
#[utoipa::path(delete, path = "/users/{userId}/vendor/{vendor}", operation_id = "disconnect_user_vendor", tag = "Users",
    responses((status = 204), (status = 404)))]
pub(crate) async fn disconnect_vendor(
    State(app): State<App>,
    caller: Caller,
    Path((user_id, vendor)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let account = find_account(&app, &caller, &user_id, &vendor)?;
    confirm_deletion(connect::disconnect(&app, &account).await?, "vendor")
}

/// Takes away an account of the user in the header. In version 2023-05-01 only.
#[utoipa::path(delete, path = "/me/vendors/{vendor}", tag = "Users",
    responses((status = 204), (status = 404)))]
pub(crate) async fn disconnect_own_vendor(
    State(app): State<App>,
    caller: Caller,
    Path(vendor): Path<String>,
) -> Result<StatusCode, Problem> {
    let user_id = caller.user_id.clone().ok_or_else(|| Problem::no_entity("user"))?;
    let account = find_account(&app, &caller, &user_id, &vendor)?;
    confirm_deletion(connect::disconnect(&app, &account).await?, "vendor")
}

/// Answer of a deletion: to one of many who ask at the same time, it is done.
fn confirm_deletion(is_done: bool, what: &str) -> Result<StatusCode, Problem> {
    if is_done { Ok(StatusCode::NO_CONTENT) } else { Err(Problem::no_entity(what)) }
}

/// The account of a user of the caller with a manufacturer.
fn find_account(
    app: &App,
    caller: &Caller,
    user_id: &str,
    vendor: &str,
) -> Result<Account, Problem> {
    let vendor = VendorCode::parse(vendor);
    let find = |user: &OfUser| vendor.ok().and_then(|vendor| user.accounts.get(&vendor).cloned());
    with_user(app, caller, user_id, find)?.ok_or_else(|| Problem::no_entity("vendor"))
}

/// Looks at a user of the caller. One of somebody else is none.
///
/// # Errors
/// There is none.
pub fn with_user<T>(
    app: &App,
    caller: &Caller,
    user_id: &str,
    look: impl FnOnce(&OfUser) -> T,
) -> Result<T, Problem> {
    let found = app.cache().read(|tables| tables.user(&caller.client.id, user_id).map(look));
    found.ok_or_else(|| Problem::no_entity("user"))
}
