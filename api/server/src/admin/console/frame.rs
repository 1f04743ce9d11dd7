//! Frame that all pages of the console share.
use std::sync::LazyLock;

use axum::http::{HeaderValue, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};
use slackwater_http::problem::Problem;
use slackwater_http::request::query_pairs;
use slackwater_link::frame::PALETTE;
use slackwater_link::guard::protect_page;
use slackwater_link::icons;

/// Pages of the navigation: address and name.
const PAGES: [(&str, &str); 6] = [
    ("/console", "Overview"),
    ("/console/homes", "Homes"),
    ("/console/areas", "Areas"),
    ("/console/vendors", "Vendors"),
    ("/console/receivers", "Receivers"),
    ("/console/events", "Events"),
];

/// The style of all pages.
static STYLE: LazyLock<String> =
    LazyLock::new(|| format!("{PALETTE}{}", include_str!("style.css")));

/// The one script, of the page of events.
pub(super) const LIVE: &str = include_str!("live.js");

/// Policy of what pages may load and run: the style and the script, by their digests, and events.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    format!(
        "default-src 'none'; style-src {}; script-src {}; connect-src 'self'; img-src data:; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        hash(&STYLE),
        hash(LIVE),
    )
});

/// Refusal of a request for a page, as a page.
#[derive(Debug)]
pub(crate) struct Refusal(Problem);

impl<E: Into<Problem>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = self.0.status();
        let problem = serde_json::to_value(&self.0).unwrap_or_default();
        let text = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
        let content = html! { h1 { (text("title")) } p.lead { (text("detail")) } };
        (status, render(&text("title"), None, &content)).into_response()
    }
}

/// Page of the console, or why there is none.
pub(crate) type Page = Result<Html<String>, Refusal>;

/// Renders a whole page. `current` is the address of its place in the navigation.
pub(crate) fn render(title: &str, current: Option<&str>, content: &Markup) -> Html<String> {
    let page = html! {
        (DOCTYPE)
        html lang="en" class="system" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // Without it browsers ask the server for one.
                link rel="icon" href="data:,";
                title { (title) " – Slackwater" }
                style { (PreEscaped(&*STYLE)) }
            }
            body {
                a.skip href="#content" { "Skip to content" }
                header {
                    a.brand href="/console" { (icons::mark()) "Slackwater" }
                    nav aria-label="Console" {
                        @for (address, name) in PAGES {
                            a href=(address) aria-current=[(current == Some(address)).then_some("page")] {
                                (name)
                            }
                        }
                        a href="/docs" { "API" }
                    }
                    form.find action="/console/find" role="search" {
                        label.hidden for="find" { "Find a home or device" }
                        input #find name="q" type="search" required placeholder="Home or device ID"
                            autocomplete="off" spellcheck="false";
                        button type="submit" { "Find" }
                    }
                }
                main #content { (content) }
            }
        }
    };
    Html(page.into_string())
}

/// Puts the headers of a page on an answer.
pub(super) async fn protect(mut response: Response) -> Response {
    let media = response.headers().get(header::CONTENT_TYPE);
    if media.is_some_and(|media| media.as_bytes().starts_with(b"text/html")) {
        protect_page(response.headers_mut(), &POLICY);
    }
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Value of a parameter of the query; `None` if it is absent or empty.
pub(crate) fn given(uri: &Uri, name: &str) -> Option<String> {
    let found = query_pairs(uri).find(|(given, _)| given == name);
    found.map(|(_, value)| value.into_owned()).filter(|value| !value.is_empty())
}

/// Address of a page with parameters.
pub(crate) fn address(page: &str, parameters: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters);
    format!("{page}?{}", query.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_load_nothing_and_take_all_colours_from_the_palette() {
        let own = include_str!("style.css");
        for word in ["url(", "@import", "//", "</", "#", "rgb", "hsl"] {
            assert!(!own.contains(word), "{word}");
        }
        for word in ["http:", "https:", "</", "eval", "innerHTML"] {
            assert!(!LIVE.contains(word), "{word}");
        }
    }

    #[test]
    fn addresses_carry_any_identifier() {
        let uri: Uri =
            address("/console/home", &[("client", "a&b"), ("user", "ä /?")]).parse().unwrap();
        assert_eq!(given(&uri, "client").as_deref(), Some("a&b"));
        assert_eq!(given(&uri, "user").as_deref(), Some("ä /?"));
        assert_eq!(given(&uri, "other"), None);
    }
}
