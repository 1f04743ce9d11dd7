//! Redirect of the user's browser at the end of a link session.
use http::Uri;
use serde::{Deserialize, Serialize};

/// Reason why a user comes back without devices: one of seven words (LNK-19).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The session makes no sense, or no longer.
    InvalidRequest,
    /// The client may not have it.
    UnauthorizedClient,
    /// The user said no.
    AccessDenied,
    /// An answer that nobody gives. Never sent by these pages.
    UnsupportedResponseType,
    /// Scopes that cannot be granted.
    InvalidScope,
    /// A defect on our side.
    ServerError,
    /// A manufacturer's service is down or slow.
    TemporarilyUnavailable,
}

impl Failure {
    /// All seven.
    pub const ALL: [Self; 7] = [
        Self::InvalidRequest,
        Self::UnauthorizedClient,
        Self::AccessDenied,
        Self::UnsupportedResponseType,
        Self::InvalidScope,
        Self::ServerError,
        Self::TemporarilyUnavailable,
    ];

    /// The word for `error`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::AccessDenied => "access_denied",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::InvalidScope => "invalid_scope",
            Self::ServerError => "server_error",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
        }
    }

    /// The words for `error_description`, for developers.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::InvalidRequest => "the link session has expired or was used before",
            Self::UnauthorizedClient => "the client's limit of connections is reached",
            Self::AccessDenied => "the user did not grant access",
            Self::UnsupportedResponseType => "the response type is not supported",
            Self::InvalidScope => "no manufacturer has devices with the scopes of the session",
            Self::ServerError => "the service failed",
            Self::TemporarilyUnavailable => "the manufacturer's service did not answer",
        }
    }
}

/// The address that a browser is sent to: the session's own, with `state` and
/// what went wrong. What the address had already stays, also a `state` of its
/// own: then no second one is added.
#[must_use]
pub fn address(redirect_uri: &str, state: &str, failure: Option<Failure>) -> String {
    let (base, fragment) = match redirect_uri.split_once('#') {
        Some((base, fragment)) => (base, Some(fragment)),
        None => (redirect_uri, None),
    };
    let mut query = form_urlencoded::Serializer::new(String::new());
    let own = base.split_once('?').map_or("", |(_, own)| own);
    if !form_urlencoded::parse(own.as_bytes()).any(|(name, _)| name == "state") {
        query.append_pair("state", state);
    }
    if let Some(failure) = failure {
        query.append_pair("error", failure.as_str());
        query.append_pair("error_description", failure.description());
    }
    let query = query.finish();
    let joint = match base.split_once('?') {
        _ if query.is_empty() => "",
        None => "?",
        Some((_, own)) if own.is_empty() || own.ends_with('&') => "",
        Some(_) => "&",
    };
    let fragment = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
    format!("{base}{joint}{query}{fragment}")
}

/// The address as a source in a content security policy: a form whose answer
/// leads there is stopped by browsers unless the policy names it.
#[must_use]
pub fn source(redirect_uri: &str) -> Option<String> {
    let base = redirect_uri.split('#').next()?;
    let uri: Uri = base.parse().ok()?;
    let scheme = uri.scheme_str()?.to_ascii_lowercase();
    let is_web = scheme == "http" || scheme == "https";
    let host = uri.host()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    // Policies have no form for other hosts, such as IPv6 addresses.
    if !is_web || !host.chars().all(is_plain) {
        return Some(format!("{scheme}:"));
    }
    let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{scheme}://{host}{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_carries_state_and_what_went_wrong() {
        let back = |to| address(to, "s-1", None);
        assert_eq!(
            back("https://app.example.org/linked"),
            "https://app.example.org/linked?state=s-1"
        );
        assert_eq!(back("https://a.org/?x=1"), "https://a.org/?x=1&state=s-1");
        assert_eq!(back("https://a.org/?"), "https://a.org/?state=s-1");
        assert_eq!(back("https://a.org/p#part"), "https://a.org/p?state=s-1#part");
        assert_eq!(back("myapp://done"), "myapp://done?state=s-1");
        assert_eq!(
            address("https://a.org/", "s", Some(Failure::AccessDenied)),
            "https://a.org/?state=s&error=access_denied\
             &error_description=the+user+did+not+grant+access",
        );
    }

    #[test]
    fn failures_have_seven_words() {
        let words = Failure::ALL.map(Failure::as_str);
        let expected = [
            "invalid_request",
            "unauthorized_client",
            "access_denied",
            "unsupported_response_type",
            "invalid_scope",
            "server_error",
            "temporarily_unavailable",
        ];
        assert_eq!(words, expected);
        for failure in Failure::ALL {
            // RFC 6749, section 4.1.2.1.
            let is_allowed = |c: char| matches!(c, ' '..='~') && c != '"' && c != '\\';
            assert!(failure.description().chars().all(is_allowed));
        }
    }

    #[test]
    fn policies_name_the_end() {
        for (uri, expected) in [
            ("https://app.example.org/linked?x=1#y", "https://app.example.org"),
            ("http://localhost:3000/", "http://localhost:3000"),
            ("http://[::1]:3000/", "http:"),
            ("myapp://done", "myapp:"),
        ] {
            assert_eq!(source(uri).as_deref(), Some(expected), "{uri}");
        }
        // Nothing that comes from outside can add to a policy.
        let odd = source("https://a.org;script-src/");
        assert!(odd.is_none_or(|source| !source.contains([';', ' ', ','])));
    }
}
