//! The token endpoint of RFC 6749, for client credentials.
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{Extensions, HeaderMap, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use crate::problem::{OauthError, Problem};
use crate::request::Raw;
use slackwater_service::auth::secret::matches;
use slackwater_service::auth::throttle::{QUEUE_TIME, Source};
use slackwater_service::auth::token::LIFETIME;
use slackwater_service::config::proxies::Peer;
use slackwater_service::state::App;
use slackwater_store::client::Client;
use slackwater_store::clients;

/// A hash of no secret, compared where there is no client: the time of an
/// answer does not tell which identifiers exist.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$c2xhY2t3YXRlcg$\
     hdNJBUkmBN3Mb7EYV2SE7Y0zYwSKNLn2YvXMLuFk2gE";

/// A token that was issued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct TokenBody {
    /// Send it as `Authorization: Bearer …`.
    pub access_token: String,
    /// Seconds for which it is good.
    pub expires_in: i64,
    /// Empty.
    #[schema(value_type = String)]
    pub scope: &'static str,
    /// `bearer`.
    #[schema(value_type = String)]
    pub token_type: &'static str,
}

/// Issues a token for a client's identifier and secret.
///
/// Answers in the form of RFC 6749, also when it refuses.
pub(crate) async fn issue_token(
    State(app): State<App>,
    headers: HeaderMap,
    extensions: Extensions,
    body: Result<Raw, Problem>,
) -> Result<Response, OauthError> {
    let Raw(body) = body?;
    read_form(&headers, &body)?;
    let (id, secret) = read_credentials(&headers).ok_or_else(OauthError::invalid_client)?;
    let peer = extensions.get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.0);
    let source = Source::from_address(peer);
    let client = authenticate(&app, source, id, secret).await?;
    let moment = app.clock().machine().moment();
    let token = app.tokens().issue(app.store(), &client, moment).await.map_err(Problem::from)?;
    let body = TokenBody {
        access_token: token,
        expires_in: LIFETIME.num_seconds(),
        scope: "",
        token_type: "bearer",
    };
    let kept_nowhere = [(header::CACHE_CONTROL, "no-store"), (header::PRAGMA, "no-cache")];
    Ok((kept_nowhere, Json(body)).into_response())
}

/// The form asks for client credentials and nothing else.
fn read_form(headers: &HeaderMap, body: &[u8]) -> Result<(), OauthError> {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = media_type.and_then(|text| text.split(';').next()).map(str::trim);
    if !media_type
        .is_some_and(|text| text.eq_ignore_ascii_case("application/x-www-form-urlencoded"))
    {
        return Err(OauthError::invalid_request("the body is application/x-www-form-urlencoded"));
    }
    let mut grant = None;
    for (name, value) in form_urlencoded::parse(body) {
        match &*name {
            "grant_type" if grant.is_some() => {
                return Err(OauthError::invalid_request("grant_type is given twice"));
            }
            "grant_type" => grant = Some(value),
            "scope" if !value.is_empty() => return Err(OauthError::invalid_scope()),
            _ => {}
        }
    }
    match grant.as_deref() {
        Some("client_credentials") => Ok(()),
        Some("") | None => Err(OauthError::invalid_request("grant_type is missing")),
        Some(_) => Err(OauthError::unsupported_grant()),
    }
}

/// Identifier and secret of HTTP Basic, form-encoded as RFC 6749 has it.
fn read_credentials(headers: &HeaderMap) -> Option<(String, String)> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = decoded.split_once(':')?;
    let unescaped = |text: &str| {
        let mut pairs = form_urlencoded::parse(text.as_bytes());
        pairs.next().map(|(text, _)| text.into_owned()).unwrap_or_default()
    };
    scheme.eq_ignore_ascii_case("basic").then(|| (unescaped(id), unescaped(secret)))
}

/// The client whose secret it is. See `auth::throttle` for what happens to guesses.
async fn authenticate(
    app: &App,
    source: Source,
    id: String,
    secret: String,
) -> Result<Arc<Client>, OauthError> {
    let known = clients::get_client(app.store(), &id).await.map_err(Problem::from)?;
    // ENV-08: a client of the other environment is unknown here.
    let known = known.filter(|row| row.client.environment == app.environment());
    let hash = known.as_ref().map_or(NOBODY, |row| row.secret_hash.as_str());
    let is_right = if app.verified().knows(&id, &secret, hash) {
        true
    } else {
        let turn = app.throttle().turn(app.throttle().wait(source, app.uptime()).is_some()).await;
        let turn = turn.ok_or_else(|| OauthError::busy(QUEUE_TIME))?;
        let (hash, id, app) = (hash.to_owned(), id, app.clone());
        let compare = move || {
            let _turn = turn;
            let is_right = matches(&secret, &hash);
            if is_right {
                app.verified().keep(&id, &secret, &hash);
            }
            is_right
        };
        spawn_blocking(compare).await.unwrap_or(false)
    };
    match known {
        Some(row) if is_right => Ok(Arc::new(row.client)),
        _ => {
            let wait = app.throttle().wait(source, app.uptime());
            app.throttle().failed(source, app.uptime());
            Err(wait.map_or_else(OauthError::invalid_client, OauthError::slow_down))
        }
    }
}

#[cfg(test)]
mod tests {
    use argon2::password_hash::phc::PasswordHash;

    use super::*;

    /// Were it none, an unknown client would be refused faster than a known one.
    #[test]
    fn the_hash_of_nobody_costs_as_much_as_any() {
        let parameters = |hash: &str| PasswordHash::new(hash).unwrap().params.to_string();
        let any = slackwater_service::auth::secret::hash("x").unwrap();
        assert_eq!(parameters(NOBODY), parameters(&any));
        assert!(!matches("", NOBODY));
    }
}
