//! Documentation of the interface: Swagger UI, which is part of the program, over the OpenAPI
//! document with the addresses of this service.
//!
//! The page loads nothing from elsewhere. It sends no requests of its readers: they would come from
//! the operators' address, and answers have no CORS headers. Only routes of the interface are
//! documented, none of operators. `make swagger-ui` brings a later version of the files.
use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use slackwater_http::openapi::document_of;
use slackwater_service::state::App;

const PAGE: &str = include_str!("swagger/index.html");
const START: &str = include_str!("swagger/start.js");
/// Files of the npm package `swagger-ui-dist`, packed by gzip.
const SCRIPT: &[u8] = include_bytes!("swagger/swagger-ui-bundle.js.gz");
const STYLE: &[u8] = include_bytes!("swagger/swagger-ui.css.gz");

/// Policy of what the page may load: files of this address, and the styles that it writes itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 3] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
];

/// Routes `/docs` and `/openapi.json`.
pub(crate) fn router(worlds: &[App]) -> Router {
    let environments = worlds.iter().map(|app| (app.environment(), app.urls().clone()));
    let document = document_of(&environments.collect::<Vec<_>>());
    let document = document.to_pretty_json().expect("the document is made of text and numbers");
    let send = |media: &'static str, body: &'static str| {
        get(async move || ([(header::CONTENT_TYPE, media)], body))
    };
    Router::new()
        .route("/docs", get(async || Redirect::to("/docs/")))
        .route("/docs/", send("text/html; charset=utf-8", PAGE))
        .route("/docs/start.js", send("text/javascript", START))
        .route("/docs/swagger-ui.js", get(async || send_packed("text/javascript", SCRIPT)))
        .route("/docs/swagger-ui.css", get(async || send_packed("text/css", STYLE)))
        .route(
            "/openapi.json",
            get(async move || ([(header::CONTENT_TYPE, "application/json")], document)),
        )
        .layer(map_response(protect))
}

/// A packed file. Browsers unpack it, and no other program asks for it.
fn send_packed(media: &'static str, body: &'static [u8]) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, media), (header::CONTENT_ENCODING, "gzip")], body)
}

async fn protect(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
