//! Asking the operators' address of a running service.
use axum::body::Body;
use axum::http::{Method, Request, header};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use crate::commands::failure::Failure;

/// Sends a request to a path below the operators' address, and prints the answer.
pub(crate) async fn ask(
    admin: &str,
    method: Method,
    path: &str,
    body: String,
) -> Result<(), Failure> {
    let url = format!("{}/{path}", admin.trim_end_matches('/'));
    let failed = |reason: String| Failure::Unreachable { url: url.clone(), reason };
    let request = Request::builder()
        .method(method)
        .uri(&url)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body))
        .map_err(|error| failed(error.to_string()))?;
    let client = Client::builder(TokioExecutor::new()).build_http::<Body>();
    let answer = client.request(request).await.map_err(|error| failed(error.to_string()))?;
    let status = answer.status();
    let bytes = answer.into_body().collect().await.map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8_lossy(&bytes.to_bytes()).into_owned();
    let pretty = serde_json::from_str::<Value>(&text).map_or(text, |value| format!("{value:#}"));
    if status.is_success() {
        println!("{pretty}");
        Ok(())
    } else {
        Err(Failure::Refused { status: status.as_u16(), body: pretty })
    }
}
