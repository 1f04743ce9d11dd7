//! The device-control service: HTTP at the edge, decisions in the engine.
//!
//! A handler parses, loads, calls the engine, keeps and replies. Nothing here
//! computes with a quantity, and the Python bindings are unknown to this crate.
//!
//! [`router`] is the whole service without a socket, so tests call it directly;
//! the process around it (arguments, listener, signals) is in `main.rs`.
//!
//! Every failure leaves as a [`problem::Problem`], those of the framework included.

pub mod clock;
pub mod config;
pub mod problem;
pub mod routes;
pub mod sandbox;
pub mod state;
pub mod vendor;

use axum::Router;
use axum::http::{Method, Uri};
use axum::routing::get;

use crate::problem::Problem;
use crate::routes::health;
use crate::state::App;

/// The service as a function from request to response.
///
/// A path that is not listed here answers 404, a method that a listed path does
/// not have answers 405 with the methods it has.
pub fn router(app: App) -> Router {
    Router::new()
        .route("/health/ready", get(health::ready))
        .fallback(async |method: Method, uri: Uri| Problem::no_such_route(&method, &uri))
        .method_not_allowed_fallback(async |method: Method, uri: Uri| {
            Problem::no_such_method(&method, &uri)
        })
        .with_state(app)
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::{HeaderMap, Request, StatusCode, header};
    use serde_json::{Value, json};
    use tower::ServiceExt;

    use super::*;

    /// The one place where these tests touch the service.
    async fn send(app: App, method: Method, path: &str) -> (StatusCode, HeaderMap, String) {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let response = router(app).oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        (head.status, head.headers, String::from_utf8(body.to_vec()).unwrap())
    }

    fn parsed(body: &str) -> Value {
        serde_json::from_str(body).unwrap()
    }

    #[tokio::test]
    async fn a_started_service_is_ready() {
        let (status, headers, body) = send(App::new(), Method::GET, "/health/ready").await;
        assert_eq!((status, body.as_str()), (StatusCode::OK, "{}"));
        assert_eq!(headers[header::CONTENT_TYPE], "application/json");
    }

    #[tokio::test]
    async fn a_stopping_service_is_not_ready() {
        let app = App::new();
        app.stop();
        let (status, headers, body) = send(app, Method::GET, "/health/ready").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(headers[header::CONTENT_TYPE], "application/problem+json");
        assert_eq!(parsed(&body)["title"], "Service Unavailable");
    }

    #[tokio::test]
    async fn an_unknown_path_is_a_problem() {
        for path in ["/", "/health", "/health/ready/", "/vehicles?after=x"] {
            let (status, headers, body) = send(App::new(), Method::GET, path).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
            assert_eq!(headers[header::CONTENT_TYPE], "application/problem+json");
            let expected = json!({
                "type": "/problems/not-found",
                "title": "Not Found",
                "detail": format!("no route GET {}", path.split('?').next().unwrap()),
            });
            assert_eq!(parsed(&body), expected);
        }
    }

    #[tokio::test]
    async fn a_wrong_method_is_told_the_right_ones() {
        let (status, headers, body) = send(App::new(), Method::DELETE, "/health/ready").await;
        assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(headers[header::ALLOW], "GET,HEAD");
        assert_eq!(headers[header::CONTENT_TYPE], "application/problem+json");
        let expected = json!({
            "type": "about:blank",
            "title": "Method Not Allowed",
            "detail": "/health/ready has no DELETE",
        });
        assert_eq!(parsed(&body), expected);
    }

    #[tokio::test]
    async fn a_head_request_has_no_body() {
        let (status, _, body) = send(App::new(), Method::HEAD, "/health/ready").await;
        assert_eq!((status, body.as_str()), (StatusCode::OK, ""));
    }
}
