//! Spans of traces, and their context in rows and headers.
//!
//! A span of a trace is a span of `tracing` with the target [`TRACES`]. The log has none of them,
//! and without a collector in the settings they are disabled where they are made. Work that goes
//! on later, in another task or process, continues the trace by a text: the `traceparent` of [W3C
//! Trace Context](https://www.w3.org/TR/trace-context/), which rows of actions and events keep.
use std::collections::HashMap;

use opentelemetry::global::get_text_map_propagator;
use opentelemetry::trace::TraceContextExt;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Target of all spans that traces consist of.
pub const TRACES: &str = "slackwater_traces";

/// Name of the header with the trace context, and of the column.
pub const TRACEPARENT: &str = "traceparent";

/// Trace context of a span; `None` if it is not part of a trace, as while no traces are sent.
#[must_use]
pub fn traceparent_of(span: &Span) -> Option<String> {
    let mut fields = HashMap::new();
    let context = span.context();
    get_text_map_propagator(|propagator| propagator.inject_context(&context, &mut fields));
    fields.remove(TRACEPARENT)
}

/// Trace context of the present work; `None` if it is not part of a trace.
#[must_use]
pub fn current_traceparent() -> Option<String> {
    traceparent_of(&Span::current())
}

/// Lets a new span continue the trace of `traceparent`. A text that is no trace context is ignored,
/// as the standard demands: the span begins a trace of its own.
pub fn continue_trace(span: &Span, traceparent: Option<&str>) {
    let Some(traceparent) = traceparent.filter(|_| !span.is_disabled()) else { return };
    let fields = HashMap::from([(TRACEPARENT.to_owned(), traceparent.to_owned())]);
    let context = get_text_map_propagator(|propagator| propagator.extract(&fields));
    if context.span().span_context().is_valid() {
        // Fails only for a span that has begun, or without the layer that sends traces.
        let _: Result<(), _> = span.set_parent(context);
    }
}
