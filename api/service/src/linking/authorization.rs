//! Log-in at a manufacturer's own page: OAuth 2.0, authorization code with PKCE.
//!
//! | Step | Source |
//! |---|---|
//! | [`authorization_address`]: address of the page, with `state` and the challenge of a fresh verifier | RFC 6749, section 4.1.1; RFC 7636, section 4 |
//! | return to the one redirect URI of the manufacturer | RFC 9700, sections 2.1 and 4.4.2.2 |
//! | [`exchange_code`]: the code and the verifier for tokens | RFC 6749, section 4.1.3; RFC 7636, section 4.5 |
//! | [`refresh_tokens`]: the refresh token for further tokens | RFC 6749, section 6 |
//!
//! Each manufacturer has a redirect URI of its own, so that the code of one is never sent to another
//! (mix-up). The verifier is made for one attempt and forgotten with it.
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::{DateTime, TimeDelta, Utc};
use form_urlencoded::{Serializer, byte_serialize};
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tracing::warn;

use crate::auth::secret::{NoRandomness, generate};
use crate::state::App;
use slackwater_https::client::USER_AGENT;
use slackwater_https::failure::describe_failure;
use slackwater_integration::authorization::{AccountTokens, Authorization, ClientSecret};
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::VendorCode;

/// Longest answer of a token endpoint.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Path under the link address to which manufacturers send browsers back; their code follows.
pub const RETURN_PATH: &str = "/link/return";

/// Secrets of one attempt to log in. The debug form hides them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempted {
    /// Part of `state` that no other attempt has.
    pub nonce: String,
    /// Code verifier (RFC 7636, section 4.1): 43 characters of 256 random bits.
    pub verifier: String,
}

impl Attempted {
    /// Secrets of a new attempt.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn generate() -> Result<Self, NoRandomness> {
        Ok(Self { nonce: generate()?, verifier: generate()? })
    }
}

impl fmt::Debug for Attempted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Attempted(..)")
    }
}

/// Challenge of a verifier by the method `S256` (RFC 7636, section 4.2):
/// `BASE64URL(SHA256(ASCII(verifier)))`.
#[must_use]
pub fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

/// The address to which a manufacturer sends browsers back. It must be registered there, exactly.
#[must_use]
pub fn redirect_uri(app: &App, vendor: &VendorCode) -> String {
    format!("{}{RETURN_PATH}/{vendor}", app.urls().link)
}

/// Address of the manufacturer's page. What its endpoint has as query stays.
#[must_use]
pub fn authorization_address(
    authorization: &Authorization,
    (redirect_uri, state, challenge): (&str, &str, &str),
) -> String {
    let endpoint = authorization.authorization_endpoint.as_str();
    let joint = if endpoint.contains('?') { '&' } else { '?' };
    let mut query = Serializer::new(String::new());
    let client_id = authorization.client_id.as_str();
    query.append_pair("response_type", "code").append_pair("client_id", client_id);
    query.append_pair("redirect_uri", redirect_uri);
    if !authorization.scopes.is_empty() {
        query.append_pair("scope", &authorization.scopes.join(" "));
    }
    query.append_pair("state", state).append_pair("code_challenge", challenge);
    query.append_pair("code_challenge_method", "S256");
    query.extend_pairs(&authorization.parameters);
    format!("{endpoint}{joint}{}", query.finish())
}

/// A code that came back, with the verifier of its attempt.
#[derive(Clone, Copy)]
pub struct CodeGrant<'a> {
    /// The code.
    pub code: &'a str,
    /// Verifier of the attempt.
    pub verifier: &'a str,
    /// The redirect URI to which the code was sent.
    pub redirect_uri: &'a str,
}

/// Exchanges a code for tokens.
///
/// # Errors
/// [`VendorError::Unauthorised`] if the server does not accept the code, or what the call failed of.
/// An answer that no user can do anything about, such as a wrong secret of the service, is logged
/// and an outage.
pub async fn exchange_code(
    app: &App,
    vendor: &VendorCode,
    authorization: &Authorization,
    grant: CodeGrant<'_>,
) -> Result<AccountTokens, VendorError> {
    let form = [
        ("grant_type", "authorization_code"),
        ("code", grant.code),
        ("redirect_uri", grant.redirect_uri),
        ("code_verifier", grant.verifier),
    ];
    ask_for_tokens(app, vendor, authorization, &form).await
}

/// Asks for further tokens by a refresh token. An answer without another refresh token leaves the
/// one that was sent in use.
///
/// # Errors
/// As [`exchange_code`]; [`VendorError::Unauthorised`] if the server does not accept the refresh
/// token: the owner must log in again.
pub async fn refresh_tokens(
    app: &App,
    vendor: &VendorCode,
    authorization: &Authorization,
    refresh_token: &str,
) -> Result<AccountTokens, VendorError> {
    let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token)];
    let mut tokens = ask_for_tokens(app, vendor, authorization, &form).await?;
    tokens.refresh_token.get_or_insert_with(|| refresh_token.to_owned());
    Ok(tokens)
}

async fn ask_for_tokens(
    app: &App,
    vendor: &VendorCode,
    authorization: &Authorization,
    form: &[(&str, &str)],
) -> Result<AccountTokens, VendorError> {
    let failed = |reason: &str| {
        warn!(%vendor, reason, "a manufacturer issued no tokens");
        VendorError::Outage
    };
    let request = token_request(authorization, form).map_err(|error| failed(&error.to_string()))?;
    let client = app.https().map_err(|error| failed(&error.to_string()))?;
    let answer = client.request(request).await;
    let answer = answer.map_err(|error| failed(&describe_failure(&error)))?;
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
    let body = body.map_err(|error| failed(&describe_failure(error.as_ref())))?.to_bytes();
    if !status.is_success() {
        return Err(match refusal(status, &headers, &body) {
            Ok(error) => error,
            Err(reason) => failed(&reason),
        });
    }
    read_tokens(&body, app.now()).map_err(failed)
}

fn token_request(
    authorization: &Authorization,
    form: &[(&str, &str)],
) -> Result<Request<Full<Bytes>>, http::Error> {
    let mut body = Serializer::new(String::new());
    body.extend_pairs(form);
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(authorization.token_endpoint.as_str())
        .header(header::ACCEPT, "application/json")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::USER_AGENT, USER_AGENT);
    let client_id = &authorization.client_id;
    match &authorization.client_secret {
        // Both are encoded before they are joined (RFC 6749, section 2.3.1).
        Some(ClientSecret::Basic(secret)) => {
            let [name, secret] =
                [client_id, secret].map(|text| byte_serialize(text.as_bytes()).collect::<String>());
            let credentials = STANDARD.encode(format!("{name}:{secret}"));
            request = request.header(header::AUTHORIZATION, format!("Basic {credentials}"));
        }
        Some(ClientSecret::Post(secret)) => {
            body.append_pair("client_id", client_id).append_pair("client_secret", secret);
        }
        None => {
            body.append_pair("client_id", client_id);
        }
    }
    request.body(Full::new(Bytes::from(body.finish())))
}

/// Refusal of a token endpoint (RFC 6749, section 5.2), or the reason to log. The reason has the word
/// of the error only: a description may hold anything.
fn refusal(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Result<VendorError, String> {
    #[derive(Deserialize)]
    struct Refused {
        error: String,
    }
    if status == StatusCode::TOO_MANY_REQUESTS {
        let wait =
            headers.get(header::RETRY_AFTER).and_then(|wait| wait.to_str().ok()?.parse().ok());
        return Ok(VendorError::RateLimited { retry_after_seconds: wait });
    }
    let word =
        serde_json::from_slice(body).map_or("no error", |Refused { error }| known_error(&error));
    match word {
        "invalid_grant" if status.is_client_error() => Ok(VendorError::Unauthorised),
        word => Err(format!("answered {status}, {word}")),
    }
}

/// The word of an error, if it is one of RFC 6749, section 5.2.
fn known_error(word: &str) -> &'static str {
    let known = [
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
    ];
    known.into_iter().find(|known| *known == word).unwrap_or("another error")
}

/// Reads an answer with tokens (RFC 6749, section 5.1), or says what is wrong with it.
fn read_tokens(body: &[u8], now: DateTime<Utc>) -> Result<AccountTokens, &'static str> {
    #[derive(Deserialize)]
    struct Issued {
        access_token: String,
        token_type: String,
        refresh_token: Option<String>,
        #[serde(default)]
        expires_in: Value,
    }
    let issued: Issued = serde_json::from_slice(body)
        .map_err(|_| "the answer has no access_token and token_type")?;
    if !issued.token_type.eq_ignore_ascii_case("bearer") || issued.access_token.is_empty() {
        return Err("the answer has no bearer token");
    }
    // Some servers write the number as a text.
    let seconds = match &issued.expires_in {
        Value::String(text) => text.parse().ok(),
        other => other.as_i64(),
    };
    let length = seconds.and_then(TimeDelta::try_seconds);
    let mut tokens = AccountTokens::new(issued.access_token);
    tokens.refresh_token = issued.refresh_token;
    tokens.expires_at = length.and_then(|length| now.checked_add_signed(length));
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use slackwater_integration::authorization::Endpoint;

    use super::*;

    fn authorization(page: &str, client_secret: Option<ClientSecret>) -> Authorization {
        Authorization {
            authorization_endpoint: Endpoint::parse(page).unwrap(),
            token_endpoint: Endpoint::parse("https://login.example.org/token").unwrap(),
            client_id: "slack water".to_owned(),
            client_secret,
            scopes: vec!["read".to_owned(), "offline_access".to_owned()],
            parameters: vec![("audience".to_owned(), "cars&co".to_owned())],
        }
    }

    /// RFC 7636, appendix B.
    #[test]
    fn the_challenge_is_that_of_the_standard() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let [one, other] = [Attempted::generate().unwrap(), Attempted::generate().unwrap()];
        assert!(one.verifier.len() == 43 && one.verifier != other.verifier);
        assert!(one.verifier != one.nonce && !format!("{one:?}").contains(&one.verifier));
    }

    #[test]
    fn the_page_keeps_its_query_and_gets_ours() {
        let address = |page| {
            authorization_address(
                &authorization(page, None),
                ("https://l.org/link/return/A", "s", "c"),
            )
        };
        let own = "response_type=code&client_id=slack+water\
             &redirect_uri=https%3A%2F%2Fl.org%2Flink%2Freturn%2FA&scope=read+offline_access&state=s\
             &code_challenge=c&code_challenge_method=S256&audience=cars%26co";
        assert_eq!(address("https://a.org/login"), format!("https://a.org/login?{own}"));
        assert_eq!(address("https://a.org/login?b=c"), format!("https://a.org/login?b=c&{own}"));
    }

    #[tokio::test]
    async fn a_client_proves_itself_in_the_header_or_in_the_body() {
        let usual = "grant_type=refresh_token&refresh_token=r%2F1";
        let secret = || "s:1&é".to_owned();
        // The base64 of `slack+water:s%3A1%26%C3%A9`.
        let header = "Basic c2xhY2srd2F0ZXI6cyUzQTElMjYlQzMlQTk=";
        for (secret, proof, rest) in [
            (None, None, "&client_id=slack+water"),
            (Some(ClientSecret::Basic(secret())), Some(header), ""),
            (
                Some(ClientSecret::Post(secret())),
                None,
                "&client_id=slack+water&client_secret=s%3A1%26%C3%A9",
            ),
        ] {
            let form = [("grant_type", "refresh_token"), ("refresh_token", "r/1")];
            let request = token_request(&authorization("https://a.org", secret), &form).unwrap();
            let shown = request.headers().get(header::AUTHORIZATION);
            assert_eq!(shown.map(|value| value.to_str().unwrap()), proof);
            let body = request.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, format!("{usual}{rest}"));
        }
    }

    #[test]
    fn tokens_are_bearer_tokens_with_an_end() {
        let now: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        let read = |text: &str| read_tokens(text.as_bytes(), now);
        for (expires_in, end) in [
            (", \"expires_in\": 3600", Some("2026-01-05T19:00:00Z")),
            (", \"expires_in\": \"60\"", Some("2026-01-05T18:01:00Z")),
            (", \"expires_in\": 9223372036854775807", None),
            (", \"expires_in\": null", None),
            ("", None),
        ] {
            let text = format!(r#"{{"access_token": "a", "token_type": "bEARER"{expires_in}}}"#);
            let tokens = read(&text).unwrap();
            assert_eq!(tokens.expires_at, end.map(|end| end.parse().unwrap()), "{text}");
            assert!(tokens.access_token == "a" && tokens.refresh_token.is_none());
        }
        for (text, reason) in [
            ("<html>", "the answer has no access_token and token_type"),
            (r#"{"access_token": "a"}"#, "the answer has no access_token and token_type"),
            (r#"{"access_token": "a", "token_type": "mac"}"#, "the answer has no bearer token"),
            (r#"{"access_token": "", "token_type": "Bearer"}"#, "the answer has no bearer token"),
        ] {
            assert_eq!(read(text).unwrap_err(), reason, "{text}");
        }
    }

    #[test]
    fn refusals_of_the_code_are_told_from_faults_of_the_service() {
        let refused = |status: u16, body: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, 30.into());
            refusal(StatusCode::from_u16(status).unwrap(), &headers, body.as_bytes())
        };
        let of =
            |word: &str| format!(r#"{{"error": "{word}", "error_description": "code s3cret"}}"#);
        assert_eq!(refused(400, &of("invalid_grant")), Ok(VendorError::Unauthorised));
        let limited = VendorError::RateLimited { retry_after_seconds: Some(30) };
        assert_eq!(refused(429, ""), Ok(limited));
        for (status, body, reason) in [
            (401, of("invalid_client"), "answered 401 Unauthorized, invalid_client"),
            (400, of("s3cret"), "answered 400 Bad Request, another error"),
            (503, "down".to_owned(), "answered 503 Service Unavailable, no error"),
            (302, of("invalid_grant"), "answered 302 Found, invalid_grant"),
        ] {
            assert_eq!(refused(status, &body), Err(reason.to_owned()));
        }
    }
}
