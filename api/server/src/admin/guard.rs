//! Guard of the operators' address, before every route that shows or changes anything.
//!
//! Where tokens are set, a request carries one, and its role says whether it may change anything.
//! Without tokens the address listens on this machine only, and its users may do everything; or it
//! takes connections with a certificate only (mutual TLS), whose owners may do everything.
//!
//! A browser on the same machine reaches the address, too, and any page in it may send
//! requests. Three rules keep pages out (OWASP, Cross-Site Request Forgery Prevention):
//!
//! * `Host` is this machine, so that a foreign name that resolves to it (DNS rebinding)
//!   leads nowhere. With a token the rule is not needed: a page does not know the token. With a
//!   certificate neither: the browser compares the name with the certificate of this address.
//! * `Origin` and `Sec-Fetch-Site`, which browsers set and pages cannot, are not foreign.
//! * A body has a type that a page sends only after asking in a preflight request, which
//!   is never answered with leave.
use std::net::IpAddr;

use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use metrics::counter;
use tracing::warn;

use slackwater_http::problem::Problem;
use slackwater_service::config::admin::{AdminSettings, ClientCertificate, Operator, Role};
use slackwater_service::state::App;

use crate::admin::audit::{Attempt, record};

/// Media types of bodies: JSON, scenarios in YAML, price lists as text.
const BODY_TYPES: &[&str] =
    &["application/json", "application/yaml", "application/x-yaml", "text/yaml", "text/csv"];

/// Answers a request that passes all rules, and refuses any other.
pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let act = Attempt::of(&request);
    let operator = match check_request(&app.config().admin, &request) {
        Ok(operator) => operator,
        Err(problem) => {
            // Anybody may send this: it is logged, and not kept.
            counter!("slackwater_admin_refusals_total").increment(1);
            let Attempt { method, path, peer } = act;
            warn!(%method, path, peer, "the operators' address refused a request");
            return problem.into_response();
        }
    };
    if request.method().is_safe() {
        return next.run(request).await;
    }
    let answer = match check_role(&operator) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    record(&app, operator, act, answer.status()).await;
    answer
}

/// Checks all rules that do not depend on the role, and says whose request it is.
fn check_request(admin: &AdminSettings, request: &Request) -> Result<Operator, Problem> {
    let headers = request.headers();
    let operator = if admin.needs_token() {
        find_operator(admin, headers)?
    } else if let Some(certificate) = request.extensions().get::<ClientCertificate>() {
        Operator::certified(certificate)
    } else {
        check_host(request)?;
        Operator::local()
    };
    check_site(headers)?;
    check_body(request.method(), headers, !request.body().is_end_stream())?;
    Ok(operator)
}

/// Refuses changes by a token that only reads.
fn check_role(operator: &Operator) -> Result<(), Problem> {
    match operator.role {
        Role::Operate => Ok(()),
        Role::Read => Err(Problem::forbidden(format!(
            "the token {:?} only reads; this needs one of the role operate",
            operator.name
        ))),
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

/// The operator whose token a request carries.
fn find_operator(admin: &AdminSettings, headers: &HeaderMap) -> Result<Operator, Problem> {
    let token = token_of(headers);
    let found = token.as_ref().and_then(|token| admin.find_operator(token));
    found.ok_or_else(|| {
        let needs = if token.is_some() {
            "the token is none of those of the operators' address (admin.tokens, admin.token)"
        } else {
            "the operators' address needs a token (admin.tokens, admin.token); commands send that of \
             SLACKWATER_ADMIN_TOKEN"
        };
        // A browser then asks for a name and a password: the password is the token.
        let asks =
            HeaderValue::from_static("Basic realm=\"slackwater operators\", charset=\"UTF-8\"");
        Problem::unauthorized(needs).with(header::WWW_AUTHENTICATE, asks)
    })
}

/// Token of a request: that of `Bearer`, or the password of `Basic` with any name, as browsers send it.
fn token_of(headers: &HeaderMap) -> Option<String> {
    let (scheme, given) = text(headers, header::AUTHORIZATION)?.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(given.trim().to_owned());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(given.trim()).ok()?).ok()?;
    decoded.split_once(':').map(|(_, password)| password.to_owned())
}

/// Refuses names of other machines. A request without a host is no browser's.
fn check_host(request: &Request) -> Result<(), Problem> {
    let named = request.headers().get_all(header::HOST).iter();
    let named = named.map(|value| value.to_str().unwrap_or_default());
    let mut all = named.chain(request.uri().authority().map(Authority::as_str));
    match all.find(|host| !is_this_machine(host)) {
        None => Ok(()),
        Some(host) => Err(Problem::forbidden(format!(
            "the host {host:?} is not this machine; use 127.0.0.1 or localhost, or set admin.token"
        ))),
    }
}

fn is_this_machine(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else { return false };
    let host = authority.host().trim_matches(['[', ']']).to_ascii_lowercase();
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Refuses requests that a page of another origin sent.
fn check_site(headers: &HeaderMap) -> Result<(), Problem> {
    let is_own_site = text(headers, header::HeaderName::from_static("sec-fetch-site"))
        .is_none_or(|site| ["same-origin", "none"].contains(&site));
    let host = text(headers, header::HOST);
    let is_own_origin = text(headers, header::ORIGIN).is_none_or(|origin| {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        authority.is_some() && authority == host
    });
    if is_own_site && is_own_origin {
        return Ok(());
    }
    Err(Problem::forbidden("pages of other origins may not use the operators' address"))
}

/// Refuses bodies of types that a page sends without asking first.
fn check_body(method: &Method, headers: &HeaderMap, has_body: bool) -> Result<(), Problem> {
    let given = text(headers, header::CONTENT_TYPE);
    if method.is_safe() || (given.is_none() && !has_body) {
        return Ok(());
    }
    let given = given.unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if BODY_TYPES.contains(&essence.as_str()) {
        return Ok(());
    }
    Err(Problem::media_type(format!(
        "Content-Type is {given:?}; it is application/json, for scenarios also application/yaml, \
         for price lists also text/csv"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_as_bearer_or_as_the_password_of_a_browser() {
        let token = |value: &str| {
            let headers = [(header::AUTHORIZATION, value.parse::<HeaderValue>().unwrap())];
            token_of(&headers.into_iter().collect())
        };
        assert_eq!(token("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(token("bearer  abc ").as_deref(), Some("abc"));
        assert_eq!(token("Basic YW55Ym9keTphOmI=").as_deref(), Some("a:b"));
        for value in ["abc", "Digest abc", "Basic abc", "Basic YW55Ym9keQ==", "Basic /w=="] {
            assert_eq!(token(value), None, "{value}");
        }
    }

    #[test]
    fn hosts_are_this_machine_or_refused() {
        for host in
            ["127.0.0.1:8083", "127.8.8.8", "localhost", "LOCALHOST:1", "a.localhost", "[::1]:8083"]
        {
            assert!(is_this_machine(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8083",
            "10.0.0.1",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "evil.example@evil.example",
        ] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
