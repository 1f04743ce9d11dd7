//! Numbers for Prometheus.
use std::sync::OnceLock;
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use metrics::{counter, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// Upper ends of the buckets of answer times, in seconds.
const TIMES: &[f64] =
    &[0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 60.0];

/// A process has one recorder, whoever starts it first.
static HANDLE: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Begins to count. Does nothing where something else counts already.
pub fn install() {
    HANDLE.get_or_init(|| {
        let seconds = Matcher::Suffix("_seconds".to_owned());
        let builder = PrometheusBuilder::new().set_buckets_for_metric(seconds, TIMES).ok()?;
        builder.install_recorder().ok()
    });
}

/// All numbers, in the text form of Prometheus.
pub async fn render() -> String {
    HANDLE.get().and_then(Option::as_ref).map(PrometheusHandle::render).unwrap_or_default()
}

/// Counts an answer and its time, by route, never by what identifies anything.
pub async fn observe(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().cloned();
    let method = request.method().clone();
    let start = Instant::now();
    let response = next.run(request).await;
    let route = path.map_or_else(|| "none".to_owned(), |path| path.as_str().to_owned());
    let labels = [
        ("route", route),
        ("method", method.as_str().to_owned()),
        ("status", response.status().as_u16().to_string()),
    ];
    histogram!("slackwater_answer_seconds", &labels).record(start.elapsed().as_secs_f64());
    counter!("slackwater_answers_total", &labels).increment(1);
    response
}
