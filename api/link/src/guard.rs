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
/// and their answers to `ends`, where the session ends or a manufacturer's page is.
pub fn protect(headers: &mut HeaderMap, style: &str, ends: &[String]) {
    protect_page(headers, &write_policy(style, ends));
    // With `no-referrer` browsers send `Origin: null` with forms, also to the site itself.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
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

fn write_policy(style: &str, ends: &[String]) -> String {
    let ends = ends.iter().fold(String::new(), |all, end| all + " " + end);
    format!(
        "default-src 'none'; style-src 'sha256-{}'; img-src data:; form-action 'self'{ends}; \
         base-uri 'none'; frame-ancestors 'none'",
        STANDARD.encode(Sha256::digest(style))
    )
}

/// Returns `true` if the browser says that another site made the request: by `Sec-Fetch-Site`, or by
/// an `Origin` that is neither the pages' `url` nor the host that was asked. A browser that says
/// neither is known by the word of its form only.
#[must_use]
pub fn is_cross_site(headers: &HeaderMap, url: &str) -> bool {
    let read = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let is_own_site = |site: &str| matches!(site, "same-origin" | "none");
    let host = read(header::HOST);
    let is_own_origin = |origin: &str| {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        origin.eq_ignore_ascii_case(url)
            || authority.zip(host).is_some_and(|(own, host)| own.eq_ignore_ascii_case(host))
    };
    !read(HeaderName::from_static("sec-fetch-site")).is_none_or(is_own_site)
        || !read(header::ORIGIN).is_none_or(is_own_origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_other_origins_are_foreign() {
        let url = "https://link.example.org";
        let is_foreign = |pairs: &[(&str, &str)]| {
            let pair = |(name, value): &(&str, &str)| {
                let name: HeaderName = name.parse().unwrap();
                (name, HeaderValue::from_str(value).unwrap())
            };
            is_cross_site(&pairs.iter().map(pair).collect(), url)
        };
        for own in [
            &[][..],
            &[("origin", "https://link.example.org")],
            &[("origin", "https://LINK.example.org"), ("sec-fetch-site", "same-origin")],
            // A proxy that keeps the host, and a setting without the address that users see.
            &[("origin", "http://localhost:8082"), ("host", "localhost:8082")],
            &[("sec-fetch-site", "none")],
        ] {
            assert!(!is_foreign(own), "{own:?}");
        }
        for foreign in [
            &[("origin", "https://evil.example")][..],
            &[("origin", "https://evil.example"), ("host", "link.example.org")],
            &[("origin", "https://link.example.org.evil.example")],
            &[("origin", "http://link.example.org")],
            &[("origin", "https://link.example.org:8443")],
            &[("origin", "null"), ("host", "null")],
            &[("origin", "")],
            &[("origin", "https://link.example.org"), ("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
        ] {
            assert!(is_foreign(foreign), "{foreign:?}");
        }
    }
}
