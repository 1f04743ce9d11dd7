//! Numbers for Prometheus.
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use metrics_process::Collector;
use tokio::time::interval;
use tracing::field::Empty;
use tracing::{Instrument, Span, info, info_span};
use uuid::Uuid;

use slackwater_service::config::proxies::Peer;
use slackwater_service::state::App;
use slackwater_store::trace::{TRACEPARENT, TRACES, continue_trace};

/// Upper ends of the buckets of answer times, in seconds.
const TIMES: &[f64] =
    &[0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 60.0];

/// Time between two rounds of upkeep. Each observation of a histogram takes memory
/// until then, so that a service which nobody scrapes would grow for ever.
const UPKEEP: Duration = Duration::from_secs(5);

/// Kind of a family of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// All families, each with its help text.
const FAMILIES: &[(Kind, &str, &str)] = &[
    (
        Kind::Gauge,
        "slackwater_action_oldest_seconds",
        "Age of the oldest action that has not ended, in seconds; 0 without one.",
    ),
    (Kind::Gauge, "slackwater_actions_pending", "Actions of devices that have not ended yet."),
    (Kind::Counter, "slackwater_actions_total", "Actions of devices that came to a state."),
    (
        Kind::Counter,
        "slackwater_admin_refusals_total",
        "Requests to the operators' address that its guard refused.",
    ),
    (Kind::Counter, "slackwater_answers_total", "Answers, by route, method and status."),
    (Kind::Histogram, "slackwater_answer_seconds", "Time from a request's head to its answer."),
    (
        Kind::Gauge,
        "slackwater_area_devices_waiting",
        "Devices of the area in work whose plans do not follow its new prices yet.",
    ),
    (
        Kind::Gauge,
        "slackwater_area_limit_kw",
        "Limit of an area in force, in kW; infinite without one.",
    ),
    (
        Kind::Gauge,
        "slackwater_area_load_kw",
        "Power of the planned devices of an area with a limit by their last readings, in kW; devices \
         that were not reached do not count.",
    ),
    (Kind::Counter, "slackwater_area_plans_total", "Plans made because prices changed."),
    (Kind::Histogram, "slackwater_area_plans_seconds", "Time to plan for a whole area."),
    (Kind::Gauge, "slackwater_build_info", "1, with the version as a label."),
    (
        Kind::Counter,
        "slackwater_commands_total",
        "Commands that were sent to manufacturers, by environment, manufacturer and outcome: \
         passed_on, or the kind of the failure.",
    ),
    (Kind::Counter, "slackwater_deliveries_total", "Attempts to deliver events, by outcome."),
    (
        Kind::Gauge,
        "slackwater_devices",
        "Linked devices, by manufacturer and by whether the last read reached them.",
    ),
    (
        Kind::Gauge,
        "slackwater_event_oldest_seconds",
        "Age of the oldest event that a receiver was not told of yet, in seconds.",
    ),
    (Kind::Gauge, "slackwater_events_behind", "Events that a receiver was not told of yet."),
    (
        Kind::Counter,
        "slackwater_evidence_failures_total",
        "Records of evidence that could not be written, and wait for the next one.",
    ),
    (
        Kind::Counter,
        "slackwater_grid_file_faults_total",
        "Faults of files with grid orders, each of which counts as silence.",
    ),
    (
        Kind::Gauge,
        "slackwater_grid_limit_kw",
        "Limit of a grid operator in force, in kW; infinite without one.",
    ),
    (Kind::Counter, "slackwater_heat_plans_total", "Plans of heating and cooling units."),
    (
        Kind::Gauge,
        "slackwater_home_assistant_connected",
        "1 while the service is connected to the broker of Home Assistant.",
    ),
    (
        Kind::Gauge,
        "slackwater_market_prices_ahead_seconds",
        "Time until the last known market price of a zone ends, in seconds.",
    ),
    (Kind::Gauge, "slackwater_ocpp_connections", "Charge points that are connected by OCPP."),
    (
        Kind::Counter,
        "slackwater_ocpp_requests_total",
        "Requests to charge points that ended, by kind and outcome; read_schedule by whether the \
         charge point agrees with the profiles that were written.",
    ),
    (Kind::Counter, "slackwater_panics_total", "Panics of jobs, each of which begins again."),
    (
        Kind::Gauge,
        "slackwater_plans",
        "Devices by the state of their last plan: planned, short if energy is missing at a deadline, \
         or the reason why there is no plan.",
    ),
    (Kind::Gauge, "slackwater_polled_devices", "Devices that this process polls."),
    (
        Kind::Counter,
        "slackwater_polls_total",
        "Reads of devices at manufacturers, by environment, manufacturer and outcome: answered, or the \
         kind of the failure.",
    ),
    (Kind::Counter, "slackwater_price_changes_total", "Changes of market prices and tariffs."),
    (
        Kind::Gauge,
        "slackwater_price_feed_age_seconds",
        "Time since the market prices of a zone were last fetched, in seconds; infinite before.",
    ),
    (
        Kind::Gauge,
        "slackwater_price_feed_failures",
        "Failures of a price feed since it last succeeded.",
    ),
    (
        Kind::Counter,
        "slackwater_price_fetches_total",
        "Tries to fetch the market prices of a zone, by outcome.",
    ),
    (
        Kind::Gauge,
        "slackwater_reading_oldest_seconds",
        "Age of the last reading of the device that was not heard of for the longest time, in seconds; 0 \
         without devices.",
    ),
    (Kind::Counter, "slackwater_replica_keys_total", "Rows read again that replicas changed."),
    (
        Kind::Counter,
        "slackwater_trace_spans_total",
        "Spans of traces that ended, by outcome: sent to the collector, failed to be sent, or \
         dropped because too many waited.",
    ),
];

/// A process has one recorder, whoever starts it first.
static HANDLE: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Begins to count. Does nothing where something else counts already.
pub fn install() {
    HANDLE.get_or_init(|| {
        let seconds = Matcher::Suffix("_seconds".to_owned());
        let builder = PrometheusBuilder::new().set_buckets_for_metric(seconds, TIMES).ok()?;
        let handle = builder.install_recorder().ok();
        describe();
        process().describe();
        gauge!("slackwater_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
        handle
    });
}

/// Memory, processor and file descriptors of the process, under the names that Prometheus gives
/// them.
fn process() -> Collector {
    Collector::default()
}

/// Gives each family its help text.
fn describe() {
    for (kind, name, help) in FAMILIES {
        match kind {
            Kind::Counter => describe_counter!(*name, *help),
            Kind::Gauge => describe_gauge!(*name, *help),
            Kind::Histogram => describe_histogram!(*name, *help),
        }
    }
}

/// Folds observations of histograms into their buckets, again and again.
pub async fn keep_up() {
    keep_up_with(|| {
        if let Some(handle) = HANDLE.get().and_then(Option::as_ref) {
            handle.run_upkeep();
        }
    })
    .await;
}

async fn keep_up_with(mut run: impl FnMut()) {
    let mut rounds = interval(UPKEEP);
    loop {
        rounds.tick().await;
        run();
    }
}

/// Label of a method. Anybody may make one up, and a label is kept for ever.
fn method_label(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];
    KNOWN.into_iter().find(|known| method == *known).unwrap_or("other")
}

/// All numbers, in the text form of Prometheus.
#[must_use]
pub fn render() -> String {
    process().collect();
    HANDLE.get().and_then(Option::as_ref).map(PrometheusHandle::render).unwrap_or_default()
}

/// Client of a request, which its answer carries to the access log.
#[derive(Debug, Clone)]
pub(crate) struct AnsweredClient(pub(crate) Arc<str>);

/// Header of an answer with the identifier of its request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives a request an identifier, which all log lines about it and its answer carry; writes the
/// access log, as far as the settings want it; and counts the answer and its time.
pub async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    let line = AccessLine::of(&request);
    let trace = line.span(request.headers());
    let span = info_span!("request", id = %line.id);
    let start = Instant::now();
    // The span of the trace is the inner one: what is written continues from the present span.
    let mut response = next.run(request).instrument(trace.clone()).instrument(span).await;
    add_request_id(&mut response, line.id);
    let took = start.elapsed();
    end_span(&trace, &response);
    if app.config().serve.access_log.takes(response.status().as_u16()) {
        line.write(&response, took);
    }
    count(&line.route, line.method, &response, took);
    response
}

/// Gives a request an identifier, which all log lines about it and its answer carry. The access log
/// and the counts of answers are those of the other addresses.
pub async fn identify_request(request: Request, next: Next) -> Response {
    let id = Uuid::new_v4();
    let mut response = next.run(request).instrument(info_span!("request", %id)).await;
    add_request_id(&mut response, id);
    response
}

fn add_request_id(response: &mut Response, id: Uuid) {
    if let Ok(id) = HeaderValue::try_from(id.to_string()) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
}

/// A request as the access log tells of it: with its route, since a path may hold what nobody else
/// is to know, such as the token of a link session.
struct AccessLine {
    id: Uuid,
    route: String,
    method: &'static str,
    peer: Option<IpAddr>,
}

impl AccessLine {
    fn of(request: &Request) -> Self {
        let path = request.extensions().get::<MatchedPath>();
        Self {
            id: Uuid::new_v4(),
            route: path.map_or_else(|| "none".to_owned(), |path| path.as_str().to_owned()),
            method: method_label(request.method()),
            peer: request.extensions().get::<Peer>().map(|peer| peer.0),
        }
    }

    /// Span of the request in traces. The socket leaves `traceparent` to requests of trusted proxies
    /// only.
    fn span(&self, headers: &HeaderMap) -> Span {
        let Self { id, route, method, .. } = self;
        let span = info_span!(
            target: TRACES, parent: None, "request", otel.name = %format_args!("{method} {route}"),
            otel.kind = "server", http.request.method = *method, http.route = route.as_str(),
            http.response.status_code = Empty, otel.status_code = Empty, request.id = %id
        );
        let traceparent = headers.get(TRACEPARENT).and_then(|value| value.to_str().ok());
        continue_trace(&span, traceparent);
        span
    }

    fn write(&self, response: &Response, took: Duration) {
        let Self { id, route, method, peer } = self;
        let status = response.status().as_u16();
        let seconds = took.as_secs_f64();
        let client = response.extensions().get::<AnsweredClient>();
        let client = client.map_or("", |AnsweredClient(client)| client);
        let peer = peer.map(|peer| peer.to_string()).unwrap_or_default();
        info!(request = %id, method, route, status, seconds, client, peer, "answered");
    }
}

/// Adds the status to the span of a request. Those from 500 on are errors of the service.
fn end_span(span: &Span, response: &Response) {
    let status = response.status();
    // OpenTelemetry knows signed numbers only.
    span.record("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}

/// Counts an answer and its time, by route, never by what identifies anything.
fn count(route: &str, method: &'static str, response: &Response, took: Duration) {
    let labels = [
        ("route", route.to_owned()),
        ("method", method.to_owned()),
        ("status", response.status().as_u16().to_string()),
    ];
    histogram!("slackwater_answer_seconds", &labels).record(took.as_secs_f64());
    counter!("slackwater_answers_total", &labels).increment(1);
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use axum::Router;
    use axum::body::Body;
    use axum::middleware::from_fn;
    use axum::routing::any;
    use tower::ServiceExt;

    use super::*;

    #[test]
    fn methods_that_are_made_up_share_a_label() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        let answer = async |request: Request, next: Next| {
            let line = AccessLine::of(&request);
            let response = next.run(request).await;
            count(&line.route, line.method, &response, Duration::ZERO);
            response
        };
        let router = Router::new().route("/", any(async || "")).layer(from_fn(answer));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        metrics::with_local_recorder(&recorder, || {
            for method in (0..1_000).map(|number| format!("M{number}")).chain(["GET".to_owned()]) {
                let request = Request::builder().method(method.as_str()).body(Body::empty());
                runtime.block_on(router.clone().oneshot(request.unwrap())).unwrap();
            }
        });
        let text = handle.render();
        let counted = |line: &str| line.starts_with("slackwater_answers_total{");
        let counts: Vec<&str> = text.lines().filter(|line| counted(line)).collect();
        assert_eq!(counts.len(), 2, "{text}");
        let other = |line: &&str| line.contains("method=\"other\"") && line.ends_with(" 1000");
        assert!(counts.iter().any(other), "{counts:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn upkeep_runs_each_five_seconds() {
        let mut rounds = 0;
        let kept = tokio::time::timeout(Duration::from_secs(61), keep_up_with(|| rounds += 1));
        kept.await.unwrap_err();
        assert_eq!(rounds, 13);
    }

    /// The first argument of each macro that counts something, in a file and in
    /// the folders below.
    fn counted(path: &Path, names: &mut Vec<String>) {
        if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                counted(&entry.unwrap().path(), names);
            }
            return;
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            return;
        }
        let text = fs::read_to_string(path).unwrap();
        for kind in ["counter", "gauge", "histogram"] {
            for rest in text.split(&format!("{kind}!(")).skip(1) {
                let argument = rest.trim_start().strip_prefix('"');
                names.extend(argument.and_then(|rest| rest.split('"').next()).map(str::to_owned));
            }
        }
    }

    #[test]
    fn every_family_has_a_help_text_and_a_use() {
        let mut names = Vec::new();
        for crates in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap() {
            let sources = crates.unwrap().path().join("src");
            if sources.is_dir() {
                counted(&sources, &mut names);
            }
        }
        names.sort();
        names.dedup();
        let mut known: Vec<&str> = FAMILIES.iter().map(|(_, name, _)| *name).collect();
        known.sort_unstable();
        assert_eq!(names, known);
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            describe();
            counter!(known[0]).increment(1);
        });
        let help = format!("# HELP {} {}", FAMILIES[0].1, FAMILIES[0].2);
        assert!(recorder.handle().render().contains(&help));
    }
}
