//! Headers of every page that forbid the browser to load or run anything, to show the page inside
//! another, to keep a copy, or to tell the address of the page.
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// Headers with one value for all pages.
const FIXED: [(HeaderName, &str); 7] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
    (HeaderName::from_static("x-robots-tag"), "noindex"),
];

/// Puts the headers on a page. `style` is the one style that it may have. Its forms lead back to it,
/// and their answers to `end`, where the session ends.
pub fn protect(headers: &mut HeaderMap, style: &str, end: Option<&str>) {
    protect_page(headers, &write_policy(style, end));
}

/// Puts the headers on a page with a policy of its own of what it may load and run.
pub fn protect_page(headers: &mut HeaderMap, policy: &str) {
    for (name, value) in FIXED {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(policy) = HeaderValue::from_str(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
}

fn write_policy(style: &str, end: Option<&str>) -> String {
    let end = end.map(|end| format!(" {end}")).unwrap_or_default();
    format!(
        "default-src 'none'; style-src 'sha256-{}'; img-src data:; form-action 'self'{end}; \
         base-uri 'none'; frame-ancestors 'none'",
        STANDARD.encode(Sha256::digest(style))
    )
}

/// Returns `true` if the browser says that another site made the request.
#[must_use]
pub fn is_cross_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
    site.is_some_and(|site| !matches!(site, "same-origin" | "none"))
}
