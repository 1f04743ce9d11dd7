//! Asking the operators' address of a running service.
use std::path::Path;

use axum::http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use slackwater_https::failure::describe_failure;
use slackwater_ocpp::edge::tls::configure_client;

use crate::commands::address::Server;
use crate::commands::failure::Failure;
use crate::commands::output::print;
use slackwater_service::config::Config;
use slackwater_service::config::admin::AdminToken;

/// A body and its media type. Empty by default.
#[derive(Debug, Default)]
pub(crate) struct Body {
    text: String,
    media_type: Option<&'static str>,
}

/// Client of the operators' address.
#[derive(Debug)]
pub(crate) struct Operator {
    url: String,
    token: Option<AdminToken>,
    client: Client<HttpsConnector<HttpConnector>, axum::body::Body>,
}

impl Body {
    /// A value in JSON.
    pub(crate) fn json(value: &Value) -> Self {
        Self { text: value.to_string(), media_type: Some("application/json") }
    }

    /// A text of a media type.
    pub(crate) fn text(text: String, media_type: &'static str) -> Self {
        Self { text, media_type: Some(media_type) }
    }
}

impl Operator {
    /// The server of the command line, or that of the settings.
    pub(crate) fn connect(server: &Server, file: Option<&Path>) -> Result<Self, Failure> {
        // Settings that the command line replaces need not be readable.
        let settings = match (&server.admin, &server.admin_token, file) {
            (Some(_), _, None) | (Some(_), Some(_), _) => None,
            _ => Some(Config::load(file)?.admin),
        };
        let own = || {
            let admin = settings.as_ref()?;
            let scheme = if admin.tls.is_some() { "https" } else { "http" };
            Some(format!("{scheme}://{}", admin.listen))
        };
        let certificate = server.admin_certificate.clone().map(|file| (file.clone(), file));
        let tls = configure_client(server.admin_ca.as_deref(), certificate.as_ref());
        let tls = tls.map_err(|error| Failure::AdminTls(error.to_string()))?;
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
        let url = server.admin.clone().or_else(own).unwrap_or_default();
        let token = server.admin_token.clone();
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            token: token.or_else(|| settings.and_then(|admin| admin.token)),
            client: Client::builder(TokioExecutor::new()).build(connector.enable_http1().build()),
        })
    }

    /// Sends a request to a path below the operators' address, and prints the answer.
    pub(crate) async fn print_answer(
        &self,
        method: Method,
        path: &str,
        body: Body,
    ) -> Result<(), Failure> {
        print(&indent_json(&self.read_answer(method, path, body).await?))
    }

    /// Sends a request to a path below the operators' address.
    pub(crate) async fn read_answer(
        &self,
        method: Method,
        path: &str,
        body: Body,
    ) -> Result<String, Failure> {
        let failed = |reason: String| Failure::Unreachable { url: self.url.clone(), reason };
        let mut request = Request::builder().method(method).uri(format!("{}/{path}", self.url));
        if let Some(media_type) = body.media_type {
            request = request.header(header::CONTENT_TYPE, media_type);
        }
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", token.text()));
        }
        let request = request.body(axum::body::Body::from(body.text));
        let request = request.map_err(|error| failed(error.to_string()))?;
        let answer =
            self.client.request(request).await.map_err(|error| failed(describe_failure(&error)))?;
        let status = answer.status();
        let bytes =
            answer.into_body().collect().await.map_err(|error| failed(describe_failure(&error)))?;
        let text = String::from_utf8_lossy(&bytes.to_bytes()).into_owned();
        if status.is_success() {
            return Ok(text);
        }
        Err(Failure::Refused(describe_problem(status, &text)))
    }
}

/// A text as one segment of a path.
pub(crate) fn path_segment(text: &str) -> String {
    let escaped = text.bytes().map(|byte| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    escaped.collect()
}

/// Text of a problem of an answer: its detail or all its issues, each in a line, and its title.
fn describe_problem(status: StatusCode, text: &str) -> String {
    let problem: Value = serde_json::from_str(text).unwrap_or_default();
    let issues = problem["issues"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let issues: Vec<&str> = issues.collect();
    let title = problem["title"].as_str().or(status.canonical_reason()).unwrap_or_default();
    let answered = format!("({} {title})", status.as_u16());
    match (problem["detail"].as_str(), issues.as_slice()) {
        (Some(detail), [] | [_]) => format!("{detail} {answered}"),
        (Some(detail), several) => format!("{detail} {answered}:\n  {}", several.join("\n  ")),
        (None, _) => format!("{} {answered}", indent_json(text)),
    }
}

/// JSON on lines of its own. An answer without a body is an empty object.
pub(crate) fn indent_json(text: &str) -> String {
    if text.is_empty() {
        return "{}".to_owned();
    }
    serde_json::from_str::<Value>(text)
        .map_or_else(|_| text.to_owned(), |value| format!("{value:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_in_words() {
        let one = r#"{"detail":"client not found","title":"Entity Not Found"}"#;
        let describe = |text| describe_problem(StatusCode::NOT_FOUND, text);
        assert_eq!(describe(one), "client not found (404 Entity Not Found)");
        let several = r#"{"detail":"2 parts make no sense","issues":["/a: is empty","/b: is 3"]}"#;
        let told = "2 parts make no sense (404 Not Found):\n  /a: is empty\n  /b: is 3";
        assert_eq!(describe(several), told);
        assert_eq!(describe("no JSON"), "no JSON (404 Not Found)");
    }

    #[test]
    fn names_become_segments_of_a_path() {
        assert_eq!(path_segment("ada-charger"), "ada-charger");
        assert_eq!(path_segment("a/b c?é"), "a%2Fb%20c%3F%C3%A9");
    }
}
