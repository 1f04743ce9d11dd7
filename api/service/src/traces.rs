//! Traces on their way to a collector, by OTLP (HTTP, protobuf).
//!
//! Spans that end wait in a queue of limited length, and a thread of OpenTelemetry sends them in
//! batches. Nobody waits for it: a span that finds the queue full is dropped and counted, and so is
//! a batch that the collector did not take. A collector that is gone costs a counter and, at most
//! once in ten minutes, a line in the log.
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use metrics::counter;
use opentelemetry::trace::TracerProvider;
use opentelemetry::{Context, KeyValue, global};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{
    ExporterBuildError, Protocol, SpanExporter as OtlpExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracer, SdkTracerProvider, Span, SpanData,
    SpanExporter, SpanProcessor,
};
use slackwater_https::client::{HttpsClient, TlsError, USER_AGENT, connect_https};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::warn;

use crate::config::telemetry::TraceSettings;

/// Spans that wait or are being sent, at most: some seconds of a busy service, in a megabyte or two.
const WAITING_MAX: usize = 4_096;

/// Spans in one request to the collector.
const BATCH_MAX: usize = 512;

/// Longest time that a span waits for others.
const BATCH_DELAY: Duration = Duration::from_secs(1);

/// Longest part of an answer that is read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Time between two lines in the log about spans that were lost.
const QUIET: Duration = Duration::from_mins(10);

/// Longest time that the last spans may take at the end of the process.
const LAST_WITHIN: Duration = Duration::from_secs(3);

/// Reason why no traces can be sent.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    /// TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The exporter refuses its settings, or variables of the environment that it reads
    /// (`OTEL_EXPORTER_OTLP_*`).
    #[error("telemetry.traces: {0}")]
    Exporter(#[from] ExporterBuildError),
}

/// Traces that are sent to a collector until the end of the process.
#[derive(Debug)]
pub struct TraceExport {
    provider: SdkTracerProvider,
}

impl TraceExport {
    /// Begins to send, from within the runtime that makes the requests.
    ///
    /// # Errors
    /// There is no TLS, or the exporter cannot be set up.
    pub fn start(settings: &TraceSettings) -> Result<Self, TracesError> {
        let patience = Duration::from_secs(settings.timeout_seconds.into());
        let client = CollectorClient {
            client: connect_https()?,
            headers: settings.headers.clone(),
            patience,
            runtime: Handle::current(),
        };
        let otlp = OtlpExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_endpoint(&settings.endpoint)
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(patience)
            .build()?;
        let processor = BoundedProcessor::new(otlp);
        let sampler = Sampler::TraceIdRatioBased(settings.sample_ratio);
        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_sampler(Sampler::ParentBased(Box::new(sampler)))
            .with_resource(resource_of(settings))
            .build();
        global::set_text_map_propagator(TraceContextPropagator::new());
        Ok(Self { provider })
    }

    /// Tracer of the spans, for the layer of `tracing`.
    #[must_use]
    pub fn tracer(&self) -> SdkTracer {
        self.provider.tracer("slackwater")
    }

    /// Sends what waits, and stops. It takes three seconds at most.
    pub async fn shut_down(self) {
        // The exporter blocks while it waits for the answer.
        let stop = spawn_blocking(move || self.provider.shutdown_with_timeout(LAST_WITHIN));
        if let Ok(Err(failure)) = stop.await {
            warn!(%failure, "the last spans were not sent");
        }
    }
}

/// Attributes of the service. Unlike the default of OpenTelemetry none comes from the environment.
fn resource_of(settings: &TraceSettings) -> Resource {
    let given = settings.attributes.iter();
    let given = given.map(|(name, value)| KeyValue::new(name.clone(), value.clone()));
    Resource::builder_empty()
        .with_service_name("slackwater-api")
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attributes(given)
        .build()
}

/// Requests to the collector, with the headers of the settings.
#[derive(Debug)]
struct CollectorClient {
    client: HttpsClient,
    headers: HeaderMap,
    patience: Duration,
    /// Runtime of the connections: the exporter calls from a thread without one.
    runtime: Handle,
}

#[async_trait::async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let mut request = request.map(Full::new);
        let headers = request.headers_mut();
        headers.extend(self.headers.clone());
        headers.insert(http::header::USER_AGENT, http::HeaderValue::from_static(USER_AGENT));
        let (client, patience) = (self.client.clone(), self.patience);
        let exchange = async move {
            let (head, body) = client.request(request).await?.into_parts();
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?.to_bytes();
            Ok(Response::from_parts(head, body))
        };
        // A time limit needs the runtime, too.
        self.runtime.spawn(async move { timeout(patience, exchange).await }).await??
    }
}

/// Spans that wait or are being sent.
#[derive(Debug, Clone, Default)]
struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    /// Takes a place. Returns `false` if there is none.
    fn take_place(&self) -> bool {
        let is_free = |count: usize| (count < WAITING_MAX).then_some(count + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_free).is_ok()
    }

    fn give_back(&self, count: usize) {
        self.0.fetch_sub(count, Ordering::Relaxed);
    }
}

fn count_spans(outcome: &'static str, count: usize) {
    counter!("slackwater_trace_spans_total", "outcome" => outcome).increment(count as u64);
}

/// Queue of OpenTelemetry, with a count of the spans for which it has no place.
#[derive(Debug)]
struct BoundedProcessor {
    batches: BatchSpanProcessor,
    waiting: Waiting,
    losses: Losses,
}

impl BoundedProcessor {
    fn new(exporter: impl SpanExporter + 'static) -> Self {
        let (waiting, losses) = (Waiting::default(), Losses::default());
        let exporter =
            CountedExporter { exporter, waiting: waiting.clone(), losses: losses.clone() };
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(WAITING_MAX)
            .with_max_export_batch_size(BATCH_MAX)
            .with_scheduled_delay(BATCH_DELAY)
            .build();
        let batches = BatchSpanProcessor::new(exporter, config);
        Self { batches, waiting, losses }
    }
}

impl SpanProcessor for BoundedProcessor {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.waiting.take_place() {
            self.batches.on_end(span);
        } else {
            count_spans("dropped", 1);
            self.losses.log(1, "the queue is full");
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.batches.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}

/// Exporter that counts what was sent and what was not.
#[derive(Debug)]
struct CountedExporter<E> {
    exporter: E,
    waiting: Waiting,
    losses: Losses,
}

impl<E: SpanExporter> SpanExporter for CountedExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        let sent = self.exporter.export(batch).await;
        self.waiting.give_back(count);
        match &sent {
            Ok(()) => count_spans("sent", count),
            Err(failure) => {
                count_spans("failed", count);
                self.losses.log(count, &failure.to_string());
            }
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// Spans that were lost since the last line about them.
#[derive(Debug, Clone, Default)]
struct Losses(Arc<Mutex<(usize, Option<Instant>)>>);

impl Losses {
    /// Tells of lost spans, unless a line told of others a moment ago.
    fn log(&self, count: usize, reason: &str) {
        if let Some(spans) = self.take_due(count, Instant::now()) {
            warn!(spans, reason, "traces were not sent");
        }
    }

    /// Adds lost spans. Returns the sum since the last line if another line is due.
    fn take_due(&self, count: usize, now: Instant) -> Option<usize> {
        let mut losses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (lost, logged_at) = &mut *losses;
        *lost += count;
        if logged_at.is_some_and(|at| now.saturating_duration_since(at) < QUIET) {
            return None;
        }
        *logged_at = Some(now);
        Some(std::mem::take(lost))
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::Tracer;
    use opentelemetry_sdk::error::OTelSdkError;

    use super::*;

    /// Exporter whose collector refuses each batch.
    #[derive(Debug)]
    struct Refusing;

    impl SpanExporter for Refusing {
        async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
            Err(OTelSdkError::InternalFailure("refused".to_owned()))
        }
    }

    #[test]
    fn places_are_limited_and_given_back_by_refused_batches() {
        let processor = BoundedProcessor::new(Refusing);
        let waiting = processor.waiting.clone();
        let provider = SdkTracerProvider::builder().with_span_processor(processor).build();
        let tracer = provider.tracer("test");
        for _ in 0..WAITING_MAX + 7 {
            drop(tracer.start("span"));
        }
        // The thread sends meanwhile, so that only the bound is certain before the end.
        assert!(waiting.0.load(Ordering::Relaxed) <= WAITING_MAX);
        provider.shutdown().ok();
        assert_eq!(waiting.0.load(Ordering::Relaxed), 0);
        for _ in 0..WAITING_MAX {
            assert!(waiting.take_place());
        }
        assert!(!waiting.take_place());
        waiting.give_back(1);
        assert!(waiting.take_place());
    }

    #[test]
    fn a_collector_that_is_gone_gets_one_line_in_ten_minutes() {
        let (losses, start) = (Losses::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(losses.take_due(3, after(0)), Some(3));
        assert_eq!(losses.take_due(512, after(1)), None);
        assert_eq!(losses.take_due(1, after(599)), None);
        assert_eq!(losses.take_due(2, after(600)), Some(515));
        assert_eq!(losses.take_due(1, after(601)), None);
    }
}
