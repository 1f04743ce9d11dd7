//! Link sessions: the way by which a user connects devices.
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use deserr::{Deserr, ValuePointerRef};
use serde::Serialize;
use serde_json::Value;
use slackwater_control::device::scope::{DeviceKind, Granted, Permission};
use slackwater_wire::version::field::Field;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::auth::caller::Caller;
use crate::issues::Issues;
use crate::problem::Problem;
use crate::request::{Path, Raw, check_id, read_body};
use crate::routes::lists::find_any;
use crate::scope;
use slackwater_integration::profile::VendorCode;
use slackwater_service::auth::secret::{digest, generate};
use slackwater_service::config::RateLimitClass;
use slackwater_service::config::language::ColourScheme;
use slackwater_service::linking::session::{LIFETIME, LinkRequest};
use slackwater_service::state::App;
use slackwater_store::links::{self, LinkSession};
use slackwater_store::users;

/// The kinds of device that a session can be limited to (LNK-05).
const KINDS: [DeviceKind; 4] =
    [DeviceKind::Vehicle, DeviceKind::Charger, DeviceKind::Hvac, DeviceKind::Inverter];

/// Request for a link session.
#[derive(Debug, Clone, PartialEq, Eq, Deserr, ToSchema)]
#[deserr(error = Issues, rename_all = camelCase)]
#[schema(rename_all = "camelCase")]
pub struct LinkBody {
    /// The manufacturer; without it the user chooses.
    #[deserr(default, try_from(&Value) = read_vendor -> String)]
    #[schema(value_type = String, required = false)]
    pub vendor: Option<VendorCode>,
    /// `vehicle`, `charger`, `hvac` or `inverter`; without it any, in version 2023-05-01 `vehicle`.
    #[deserr(default, try_from(&Value) = read_kind -> String)]
    #[schema(value_type = String, required = false)]
    pub vendor_type: Option<DeviceKind>,
    /// Scopes that the user is asked to grant. At least one that reads data.
    #[deserr(default, try_from(&Value) = read_words -> String)]
    #[schema(value_type = Vec<String>)]
    pub scopes: Option<Vec<String>>,
    /// Language of the pages, in older versions.
    #[deserr(default, try_from(&Value) = read_language -> String)]
    #[schema(nullable = false)]
    pub force_language: Option<String>,
    /// Address to which the user's browser returns in the end.
    #[deserr(default, try_from(&Value) = read_redirect_uri -> String)]
    #[schema(nullable = false)]
    pub redirect_uri: Option<String>,
}

/// A session that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LinkSessionBody {
    /// Address to send the user to. Good for 24 hours, once.
    pub link_url: String,
    /// For software that shows the session itself.
    pub link_token: String,
    /// Opaque; in versions before 2024-10-01.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_state: Option<String>,
}

/// Makes a session in which a user links devices. The user is created if there is none.
#[utoipa::path(post, path = "/users/{userId}/link", tag = "Linking", request_body = LinkBody,
    responses((status = 200, body = LinkSessionBody), (status = 403)))]
pub(crate) async fn create_link_session(
    State(app): State<App>,
    caller: Caller,
    Path(user_id): Path<String>,
    body: Raw,
) -> Result<Json<LinkSessionBody>, Problem> {
    check_id("userId", &user_id)?;
    // All members may be left out in the oldest version, hence the body, too.
    let json = body.if_empty(b"{}").read(read_body).await?;
    let request = read_link_request(&app, &caller, json)?;
    app.check_rate_limit(&caller.client.id, RateLimitClass::Link)?;
    let session = store_session(&app, &caller, &user_id, &request, None).await?;
    Ok(Json(session))
}

/// Makes a session in which a device is linked again, with its identifier.
///
/// The user of the device logs in anew or changes scopes.
#[utoipa::path(post, path = "/assets/{assetId}/relink", tag = "Linking",
    responses((status = 200, body = LinkSessionBody), (status = 404)))]
pub(crate) async fn create_relink_session(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<LinkSessionBody>, Problem> {
    let device = find_any(&app, &caller, &id).ok_or_else(|| Problem::no_entity("asset"))?;
    app.check_rate_limit(&caller.client.id, RateLimitClass::Link)?;
    let request = LinkRequest {
        vendor: Some(device.vendor.clone()),
        kind: Some(device.kind),
        scopes: vec![(device.kind, device.scopes.clone())],
        language: None,
        colour_scheme: None,
        redirect_uri: None,
    };
    let session = store_session(&app, &caller, &device.user_id, &request, Some(device.id)).await?;
    Ok(Json(session))
}

/// Keeps a session, and its user if there is none. One that was let go of stays
/// so until an account is linked: a session may never be opened (LNK-31).
async fn store_session(
    app: &App,
    caller: &Caller,
    user_id: &str,
    request: &LinkRequest,
    device_id: Option<Uuid>,
) -> Result<LinkSessionBody, Problem> {
    let token = generate()?;
    let client_id = caller.client.id.clone();
    // Whoever links is a person, whose time the sandbox's clock does not tell.
    let now = app.clock().machine().now();
    let session = LinkSession {
        hash: digest(&token),
        client_id: client_id.clone(),
        user_id: user_id.to_owned(),
        request: serde_json::to_string(request).expect("words have a JSON form"),
        device_id,
        created_at: now,
        expires_at: now + LIFETIME,
    };
    let mut change = app.store().begin().await?;
    if let (Some(most), None) = (app.config().limits.connections_max, device_id) {
        let connections = links::count_connections(change.connection(), &client_id, now);
        if connections.await? >= u64::from(most) {
            return Err(Problem::forbidden(format!("the limit of {most} connections is reached")));
        }
    }
    let created = app.cache().read(|tables| tables.created_now(&client_id, caller.now));
    users::insert_user(change.connection(), (&client_id, user_id), created).await?;
    links::insert_session(change.connection(), &session).await?;
    let (kept_in, user_id) = (app.clone(), user_id.to_owned());
    change
        .commit(move || {
            kept_in.cache().write(|tables| {
                tables.keep_user(&client_id, &user_id, created);
            });
        })
        .await?;
    Ok(LinkSessionBody {
        link_url: format!("{}/link/{token}", app.urls().link),
        link_state: caller.version.shows(Field::LinkState, || token.clone()),
        link_token: token,
    })
}

/// Reads a body. Two of its members have the names that the operator gave them.
fn read_link_request(app: &App, caller: &Caller, json: Value) -> Result<LinkRequest, Problem> {
    let names = &app.config().names;
    let names = [names.link_language.as_deref(), names.link_colour_scheme.as_deref()];
    let language = read_renamed(&json, names[0], read_language);
    let scheme = read_renamed(&json, names[1], read_colour_scheme);
    let is_bare = json.is_object() && json.get("scopes").is_none();
    let missing = (is_bare && !caller.version.has(Field::OldScopes))
        .then(|| Issues::new(ValuePointerRef::Origin.push_key("scopes"), "is required"));
    let body: Result<LinkBody, Issues> = deserr::deserialize(json);
    match (body, language, scheme, missing) {
        (Ok(body), Ok(language), Ok(scheme), None) => {
            check_link_request(app, caller, body, language, scheme)
        }
        (body, language, scheme, missing) => {
            let order = ["vendor", "vendorType", "forceLanguage"].into_iter();
            let order: Vec<&str> = order.chain(names.into_iter().flatten()).collect();
            let all = [body.err(), language.err(), scheme.err(), missing].into_iter().flatten();
            Err(all.collect::<Issues>().in_order(&order))
        }
    }
}

/// A member whose name the operator gave, if one is given.
fn read_renamed<T>(
    json: &Value,
    name: Option<&str>,
    read: fn(&Value) -> Result<Option<T>, String>,
) -> Result<Option<T>, Issues> {
    match name.and_then(|name| Some((name, json.get(name)?))) {
        Some((name, value)) => read(value)
            .map_err(|reason| Issues::new(ValuePointerRef::Origin.push_key(name), reason)),
        None => Ok(None),
    }
}

/// Holds a body against the manufacturers, the settings and the version.
fn check_link_request(
    app: &App,
    caller: &Caller,
    body: LinkBody,
    language: Option<String>,
    colour_scheme: Option<ColourScheme>,
) -> Result<LinkRequest, Problem> {
    let LinkBody { vendor, vendor_type, scopes, force_language, redirect_uri } = body;
    let mut issues = Vec::new();
    if let Some(code) = vendor.as_ref().filter(|code| app.vendor(code).is_none()) {
        let known = app.vendors();
        let known: Vec<String> = known.iter().map(|one| one.profile().code.to_string()).collect();
        let choices =
            if known.is_empty() { String::new() } else { format!("; one of {}", known.join(", ")) };
        issues.push(format!("/vendor: {:?} {NO_VENDOR}{choices}", code.as_str()));
    }
    let allowed = app.config().link.redirect_uris.get(&caller.client.id);
    let is_allowed = |address| allowed.is_none_or(|allowed| allowed.contains(page_of(address)));
    if !redirect_uri.as_deref().is_none_or(is_allowed) {
        let reason = "is none of the addresses that the settings allow for this client";
        issues.push(format!("/redirectUri: {reason}"));
    }
    let version = caller.version;
    let by_default = || version.shows(Field::LinkVehicleByDefault, || DeviceKind::Vehicle);
    let kind = vendor_type.or_else(by_default);
    let words = scopes.unwrap_or_else(|| vec!["all".to_owned()]);
    match read_scopes(&words, version.has(Field::OldScopes), kind) {
        Ok(scopes) if issues.is_empty() => {
            let language = language.or(force_language);
            Ok(LinkRequest { vendor, kind, scopes, language, colour_scheme, redirect_uri })
        }
        scopes => {
            issues.extend(scopes.err().map(|reason| format!("/scopes: {reason}")));
            Err(Problem::invalid(issues))
        }
    }
}

/// An address without query and fragment, which a client may choose freely.
fn page_of(address: &str) -> &str {
    address.split(['?', '#']).next().unwrap_or(address)
}

/// Fault of a manufacturer that is none.
const NO_VENDOR: &str = "is not a manufacturer whose devices can be linked";

fn read_vendor(value: &Value) -> Result<Option<VendorCode>, String> {
    VendorCode::parse(text_of(value)?).map(Some).map_err(|_| NO_VENDOR.to_owned())
}

fn read_kind(value: &Value) -> Result<Option<DeviceKind>, String> {
    let kind = DeviceKind::parse(text_of(value)?).ok().filter(|kind| KINDS.contains(kind));
    kind.map(Some).ok_or_else(|| "expected vehicle, charger, hvac or inverter".to_owned())
}

fn read_words(value: &Value) -> Result<Option<Vec<String>>, String> {
    let list = value.as_array().ok_or("expected an array of scopes")?;
    list.iter().map(|word| text_of(word).map(ToOwned::to_owned)).collect::<Result<_, _>>().map(Some)
}

fn read_scopes(
    words: &[String],
    has_old_names: bool,
    kind: Option<DeviceKind>,
) -> Result<scope::GrantedByKind, String> {
    let granted = scope::parse_scopes(words, has_old_names)
        .map_err(|index| format!("{:?} is not a scope; one of {}", words[index], all_scopes()))?;
    let reads = |(of, granted): &(DeviceKind, Granted)| {
        kind.is_none_or(|kind| kind == *of) && granted.contains(&Permission::ReadData)
    };
    // SCOPE-03. What old names grant beyond their words, nobody wrote down.
    let are_all_new = words.iter().all(|word| scope::parse_scope(word).is_some());
    if are_all_new && !granted.iter().any(reads) {
        let of = kind.map_or("vehicle", DeviceKind::as_str);
        return Err(format!("needs a scope that reads data, such as {of}:read:data"));
    }
    Ok(granted)
}

/// All scopes, for who has mistyped one.
fn all_scopes() -> String {
    let kinds = DeviceKind::ALL.into_iter();
    let words =
        kinds.flat_map(|kind| kind.permissions().iter().map(move |p| scope::scope_word(kind, *p)));
    words.collect::<Vec<_>>().join(", ")
}

fn read_language(value: &Value) -> Result<Option<String>, String> {
    let code = text_of(value)?;
    let is_subtag = |part: &str| {
        (1..=8).contains(&part.len()) && part.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let mut parts = code.split('-');
    let is_code = parts.next().is_some_and(|first| first.len() >= 2 && is_subtag(first));
    if is_code && parts.all(is_subtag) {
        Ok(Some(code.to_owned()))
    } else {
        Err("expected a language code".to_owned())
    }
}

fn read_colour_scheme(value: &Value) -> Result<Option<ColourScheme>, String> {
    let scheme = ColourScheme::from_word(text_of(value)?);
    scheme.map(Some).ok_or_else(|| "expected light, dark or system".to_owned())
}

fn text_of(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| "expected a string".to_owned())
}

/// Schemes of addresses that a browser runs as code, reads from a disk, shows of
/// itself, or hands to a program of the system. An application's own scheme is
/// none of them. A scheme that begins with `ms-` is of this kind, too.
const NEVER: [&str; 40] = [
    "about",
    "afp",
    "blob",
    "chrome",
    "chrome-extension",
    "data",
    "devtools",
    "edge",
    "feed",
    "file",
    "filesystem",
    "ftp",
    "ftps",
    "hcp",
    "help",
    "intent",
    "itms-services",
    "jar",
    "javascript",
    "ldap",
    "livescript",
    "mailto",
    "mhtml",
    "mk",
    "mocha",
    "moz-extension",
    "nfs",
    "res",
    "resource",
    "search",
    "search-ms",
    "shell",
    "sms",
    "smb",
    "ssh",
    "tel",
    "telnet",
    "vbscript",
    "view-source",
    "vnc",
];

/// An absolute address, of the web or of an application of its own. Without
/// user information: a reader takes `https://good.example@evil.example` for
/// the first of the two.
fn read_redirect_uri(value: &Value) -> Result<Option<String>, String> {
    let address = text_of(value)?;
    let refused = || "expected an absolute URI, such as https://app.example.org/linked".to_owned();
    let uri: Uri = address.parse().map_err(|_| refused())?;
    let scheme = uri.scheme_str().map(str::to_ascii_lowercase).ok_or_else(refused)?;
    let is_never = NEVER.contains(&scheme.as_str()) || scheme.starts_with("ms-");
    let has_user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    if is_never || has_user || uri.host().is_none_or(str::is_empty) {
        return Err(refused());
    }
    Ok(Some(address.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn redirects_lead_to_applications() {
        for good in ["https://app.example.org/linked?x=1", "http://localhost:3000/", "myapp://done"]
        {
            assert_eq!(read_redirect_uri(&json!(good)).unwrap().as_deref(), Some(good));
        }
        for bad in [
            "",
            "not a uri",
            "/linked",
            "example.org",
            "javascript://a/%0aalert(1)",
            "data:x",
            "https://good.example@evil.example/",
            "https://:x@evil.example/",
            "view-source://x",
            "intent://x",
            "MS-MSDT://id",
            "search-ms://query",
            "filesystem://x",
        ] {
            assert!(read_redirect_uri(&json!(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn languages_are_codes() {
        for good in ["en", "en-US", "zh-Hant-TW", "nb-NO"] {
            assert!(read_language(&json!(good)).is_ok(), "{good}");
        }
        for bad in ["", "e", "en_US", "en-", "-en", "englishlanguage"] {
            assert!(read_language(&json!(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn data_must_be_readable() {
        let ask = |given: &[&str], kind| {
            let given: Vec<String> = given.iter().map(ToString::to_string).collect();
            read_scopes(&given, false, kind).map(|granted| granted.len())
        };
        assert_eq!(ask(&["vehicle:read:data", "vehicle:control:charging"], None), Ok(1));
        assert!(ask(&["vehicle:control:charging"], None).is_err());
        assert!(ask(&[], None).is_err());
        assert!(ask(&["vehicle:read:data"], Some(DeviceKind::Charger)).is_err());
        assert!(read_scopes(&["offline_access".to_owned()], true, None).is_ok());
        let error = ask(&["vehicle:read:data", "offline_access"], None).unwrap_err();
        assert!(error.starts_with("\"offline_access\" is not a scope; one of battery:"), "{error}");
    }
}
