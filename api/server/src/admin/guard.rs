//! Guard of the operators' address, before every route that shows or changes anything.
//!
//! A browser on the same machine reaches the address, too, and any page in it may send
//! requests. Three rules keep pages out (OWASP, Cross-Site Request Forgery Prevention):
//!
//! * `Host` is this machine, so that a foreign name that resolves to it (DNS rebinding)
//!   leads nowhere. With a token the rule is not needed: a page does not know the token.
//! * `Origin` and `Sec-Fetch-Site`, which browsers set and pages cannot, are not foreign.
//! * A body has a type that a page sends only after asking in a preflight request, which
//!   is never answered with leave.
use std::net::IpAddr;

use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use slackwater_http::problem::Problem;
use slackwater_service::config::admin::AdminToken;

/// Media types of bodies: JSON, scenarios in YAML, price lists as text.
const BODY_TYPES: &[&str] =
    &["application/json", "application/yaml", "application/x-yaml", "text/yaml", "text/csv"];

/// Answers a request that passes all rules, and refuses any other.
pub(crate) async fn guard(
    State(token): State<Option<AdminToken>>,
    request: Request,
    next: Next,
) -> Response {
    let has_body = !request.body().is_end_stream();
    let method = request.method();
    let checked = check_token(token.as_ref(), request.headers())
        .and_then(|()| if token.is_some() { Ok(()) } else { check_host(&request) })
        .and_then(|()| check_site(request.headers()))
        .and_then(|()| check_body(method, request.headers(), has_body));
    match checked {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

/// Refuses a request without the token, if one is set.
fn check_token(token: Option<&AdminToken>, headers: &HeaderMap) -> Result<(), Problem> {
    let Some(token) = token else { return Ok(()) };
    let given = text(headers, header::AUTHORIZATION).and_then(|value| value.split_once(' '));
    let given = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    match given {
        Some((_, given)) if token.is(given.trim()) => Ok(()),
        _ => Err(Problem::unauthorized("the operators' address needs its token (admin.token)")),
    }
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
